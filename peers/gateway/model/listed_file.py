"""Files and folders of a directory as an answer shows them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from mesh.urls import is_of_files
from peers.engine.pages.directory_entries import Entry, is_address
from peers.gateway.model.member_lines import harmless
from peers.index.wire_messages import ListedEntry


class ListedFile(NamedTuple):
    """A file or folder of a directory."""

    name: str  # of a folder with / at its end
    url: str  # "" where nothing leads there
    size: int | None  # bytes
    is_rounded: bool
    size_text: str  # "" when it is not known, as the next one
    day: str


def listed_files(url: str, entries: Iterable[ListedEntry]) -> list[ListedFile]:
    """Return entries of a directory with their URLs, all below its own, by whichever peer they are told.

    Args:
      url: of the directory.
    """
    base = "" if is_of_files(url) else url.partition("?")[0].rpartition("/")[0] + "/"
    return [_listed_file(base, Entry(e.name, e.size, e.is_rounded, e.date, e.address)) for e in entries]


def _listed_file(base: str, entry: Entry) -> ListedFile:
    return ListedFile(
        harmless(entry.name),
        base + entry.href if base and is_address(entry.href) else "",
        entry.size if entry.size >= 0 else None,
        entry.is_rounded,
        entry.size_text,
        entry.day,
    )
