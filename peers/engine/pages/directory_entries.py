"""A directory as a document: its text has an entry a line, beside it stand their sizes, dates, addresses.

So names are words of the index as those of any page are, and nothing of an ordinary page is different. The
lines are read again when a question asks for entries by size and date, and when a result shows some.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from itertools import zip_longest
from typing import Final, NamedTuple
from urllib.parse import quote

ENTRIES_MAX: Final = 10_000  # of one directory; those behind are left out
NAME_CHARS_MAX: Final = 1_000  # a path in ls-lR; names have 255 bytes at most
LINES_CHARS_MAX: Final = 500_000  # of all names, and of all that stands beside them
CUTS_MAX: Final = 8  # within a name: what has more is a number or a digest, not words
SIZE_MAX: Final = 1 << 60
_NUMBER: Final = re.compile(r"([0-9]{1,19})(~?)", re.ASCII)
_SECONDS: Final = re.compile(r"[0-9]{1,11}", re.ASCII)
# Where words touch in a name: fileName, HTTPServer, report2024, 7zip. Others have separators between them.
_CUT: Final = re.compile(
    r"(?<=[a-z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])|(?<=[A-Za-z])(?=[0-9])|(?<=[0-9])(?=[A-Za-z])"
)
# What stands in a path of a URL as it is (RFC 3986, 3.3), and escapes.
_ADDRESS: Final = re.compile(r"[A-Za-z0-9._~!$&'()*+,;=:@/%-]{1,3000}", re.ASCII)
_SAFE: Final = "!$&'()*+,;=:@/~"
_UNITS: Final = ("bytes", "KB", "MB", "GB", "TB", "PB", "EB")


class Entry(NamedTuple):
    """An entry of a directory."""

    name: str  # that of a directory ends with /
    size: int = -1  # bytes; -1 when it is not said
    is_rounded: bool = False  # its size is said like 1.2M
    date: int = 0  # last changed, seconds since the epoch, its clock read as UTC; 0 when it is not said
    address: str = ""  # relative to the directory, escaped; "" for the name in UTF-8

    @property
    def href(self) -> str:
        """The address relative to the directory."""
        return self.address or quote(self.name, safe=_SAFE)

    @property
    def day(self) -> str:
        """The date as 2024-05-31; "" when it is not known."""
        return datetime.fromtimestamp(self.date, UTC).date().isoformat() if self.date > 0 else ""

    @property
    def size_text(self) -> str:
        """The size in units of 1,024, as servers round it; "" when it is not known."""
        if self.size < 0:
            return ""
        size, unit = float(self.size), 0
        while size >= 1_000 and unit < len(_UNITS) - 1:
            size, unit = size / 1_024, unit + 1
        return f"{size:.1f} {_UNITS[unit]}" if unit and size < 100 else f"{size:.0f} {_UNITS[unit]}"


class Lines(NamedTuple):
    """The entries of a directory as a document keeps them, a line each in both."""

    names: str  # each with its parts behind a tab, where words touch in it
    details: str  # size, "~" when it is rounded, date, address; with tabs between them


def lines_of(entries: Sequence[Entry]) -> Lines:
    """Put entries into lines, as many as fit."""
    names: list[str] = []
    details: list[str] = []
    n_chars = n_beside = 0
    for entry in entries[:ENTRIES_MAX]:
        name = " ".join(entry.name.split())[:NAME_CHARS_MAX]
        parts = parts_of(name)
        size = f"{entry.size}{'~' if entry.is_rounded else ''}" if entry.size >= 0 else ""
        line = f"{name}\t{parts}" if parts else name
        beside = f"{size}\t{entry.date or ''}\t{entry.address}"
        n_chars += len(line) + 1
        n_beside += len(beside) + 1
        if max(n_chars, n_beside) > LINES_CHARS_MAX:
            break
        names.append(line)
        details.append(beside)
    return Lines("\n".join(names), "\n".join(details))


def parts_of(name: str) -> str:
    """Return a name with blanks where words touch in it; "" where none do, or so many that they are none."""
    parts, n_cuts = _CUT.subn(" ", name)
    return parts if 0 < n_cuts <= CUTS_MAX else ""


def entries_in(names: str, details: str | Sequence[str]) -> Iterator[Entry]:
    """Read lines as of `lines_of`, or any others: a document may have come from another peer."""
    beside = details.split("\n") if isinstance(details, str) else details
    lines = names.split("\n")[:ENTRIES_MAX]
    for line, detail in zip_longest(lines, beside[: len(lines)], fillvalue=""):
        yield _entry(line, detail)


def _entry(line: str, detail: str) -> Entry:
    size, _, rest = detail.partition("\t")
    date, _, address = rest.partition("\t")
    said = _NUMBER.fullmatch(size)
    return Entry(
        line.partition("\t")[0][:NAME_CHARS_MAX],
        min(int(said[1]), SIZE_MAX) if said else -1,
        bool(said and said[2]),
        int(date) if _SECONDS.fullmatch(date) else 0,
        address if is_address(address) else "",
    )


def is_address(address: str) -> bool:
    """Tell whether a text is the address of an entry below its directory."""
    return bool(_ADDRESS.fullmatch(address)) and ".." not in address.split("/")
