"""Strings and sites of topics as people write them: one a line; # begins a remark."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from mesh.errors import ConfigError, unreadable
from peers.text.folding import fold
from peers.topics.topic_list import STRING_CHARS_MAX
from peers.watch.list_file import entry_in
from peers.watch.matcher import symbols_of

_SITE: Final = re.compile(r"[a-z0-9.:-]{1,253}")


def lines_of(file: Path) -> list[str]:
    """Read the lines of a file, without remarks; of columns behind tabs the first.

    Raises:
      ConfigError: it cannot be read.
    """
    try:
        text = file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise unreadable(file, error) from error
    lines = (line.partition("\t")[0].strip() for line in text.splitlines())
    return [line for line in lines if line and not line.startswith("#")]


def strings_of(lines: Iterable[str]) -> tuple[str, ...]:
    """Return the strings of some lines; of those that are found in the same pages the first.

    Raises:
      ConfigError: one is too long, or nothing that can be found, as signs alone.
    """
    found: dict[tuple[str, ...], str] = {}
    for line in lines:
        if "\t" in line or len(line) > STRING_CHARS_MAX:
            raise ConfigError(f"{line[:80]!r}: a string has up to {STRING_CHARS_MAX} characters, and no tab")
        text = entry_in(line).text
        found.setdefault(tuple(symbols_of(fold(text)).symbols), text)
    return tuple(found.values())


def sites_of(lines: Iterable[str]) -> tuple[str, ...]:
    """Return hosts and domains, each once.

    Raises:
      ConfigError: one is no name of a host.
    """
    sites = dict.fromkeys(line.strip().lower().rstrip(".") for line in lines)
    for site in sites:
        if not _SITE.fullmatch(site):
            raise ConfigError(f"{site[:80]!r} is no host or domain: write it as news.example.org")
    return tuple(sites)
