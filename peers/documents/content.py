"""The content read from a document, how much of it is kept, and why there may be none. Pure."""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum
from typing import Final, TypeAlias

import msgspec

# Kept of the text: twice of a page's, some 400 pages of a book. With the records of the largest body that is
# kept (`extraction.KEPT_BYTES_MAX`) it goes into one frame between peers (16 MiB).
TEXT_CHARS_MAX: Final = 1_000_000
TITLE_CHARS_MAX: Final = 1_000
HEADINGS_CHARS_MAX: Final = 20_000
LINKS_MAX: Final = 6_000  # as of a page
ANCHOR_CHARS_MAX: Final = 500  # of the text of one, before white space is folded
HREF_CHARS_MAX: Final = 4_000


class Lack(StrEnum):
    """Why a document that is kept has no text."""

    ENCRYPTED = "encrypted"  # it wants a password
    SCANNED = "scanned"  # pictures of pages: there is no text layer
    DAMAGED = "damaged"  # or not of the format that it claims
    EXHAUSTING = "exhausting"  # to read it takes more time or memory than a document may have
    OLD = "old"  # of a format that nothing here reads, as that of Works, or of PowerPoint 95


class Unreadable(Exception):
    """There is no text to be had of a document."""

    def __init__(self, lack: Lack, detail: str = "") -> None:
        super().__init__(detail or lack.value)
        self.lack = lack


class Content(msgspec.Struct, frozen=True):
    """The content of a document that is kept: title, headings, text, links, language and dates."""

    title: str = ""  # as its author gave it, repaired; "" when there is none that says anything
    headings: str = ""  # one a line
    text: str = ""  # one block a line, white space folded
    links: tuple[tuple[str, str], ...] = ()  # where to, as it stands there, and the text of the link
    language: str = ""  # primary subtag in lower case, as the document says
    dates: tuple[str, ...] = ()  # in ISO 8601, best first
    is_cut: bool = False  # there is more than is kept
    lack: Lack | None = None  # why there is no text
    boilerplate: str = ""  # of markup inside of it, as `parser.ParsedPage` has it: readings of words, menus


# Reads a page of HTML that is inside of a document.
ReadMarkup: TypeAlias = Callable[[bytes], Content]


class TextLimit:
    """Collects lines until there are enough of them. One per document."""

    def __init__(self, chars_max: int = TEXT_CHARS_MAX) -> None:
        self._lines: list[str] = []
        self._room = chars_max
        self.is_cut = False

    @property
    def is_full(self) -> bool:
        return self._room <= 0

    def add(self, line: str) -> None:
        """Add a block, its white space folded; empty ones are left out."""
        folded = " ".join(line.split())
        if not folded:
            return
        self.is_cut = self.is_cut or len(folded) > self._room
        if self._room > 0:
            self._lines.append(folded[: self._room])
            self._room -= len(folded) + 1

    def text(self) -> str:
        return "\n".join(self._lines)


def sound(text: str) -> str:
    """Join surrogates that belong together, and replace single ones, which have no UTF-8 form."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace").replace("\0", " ")
