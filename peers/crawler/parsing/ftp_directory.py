"""Read the listing of a directory of an FTP server, the answer to MLSD or to LIST, as a directory. Pure.

MLSD has a form (RFC 3659, 7.2). LIST has none: servers write what `ls -l` writes, or what DIR of DOS wrote.
Lines of neither are passed over, as greetings and totals are. Names are octets: what is no UTF-8 is read as
GB 18030, and stays at the address of its octets; so are all names beside it, of which some could be either.
Links lead to the directories below, and to no file: files are found by their names, and fetched by nobody.
Symbolic links lead nowhere, as they may lead in circles.

Dates of `ls -l` are kept to the day: of a file it writes the minute for half a year, and then no more.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from typing import Final, NamedTuple
from urllib.parse import urlsplit

from mesh.urls import canonical_with_ftp, host_of
from peers.crawler.model.ftp_listings import is_mlsd, listed_on
from peers.crawler.parsing.directory_index import MONTHS, as_listing, entry_named, name_of
from peers.crawler.parsing.parser import LINKS_MAX, Link, ParsedPage
from peers.engine.pages.directory_entries import ENTRIES_MAX, SIZE_MAX, Entry
from peers.text.runs import HAN

LINE_OCTETS_MAX: Final = 4_096  # a name has 255 in most systems, and facts 200 before it
LINES_MAX: Final = 4 * ENTRIES_MAX  # of which some are no entries

# Kind and rights, whatever a server has for links, owner and group, then size, date and name.
_UNIX: Final = re.compile(
    r"(?P<kind>[-dlbcpsD])[-rwxsStTlL]{3,9}[.+@]?[ ]++(?:[^ ]++[ ]++){1,6}?(?P<size>\d{1,19})[ ]+"
    r"(?:(?P<month>[A-Za-z]{3})[ ]+(?P<day>\d{1,2})|(?P<day_first>\d{1,2})[ ]+(?P<month_last>[A-Za-z]{3}))"
    r"[ ]+(?:(?P<year>\d{4})|\d{1,2}:\d\d)[ ](?P<name>[ ]*[^ ].*)",
    re.ASCII,
)
_UNIX_ISO: Final = re.compile(
    r"(?P<kind>[-dlbcpsD])[-rwxsStTlL]{3,9}[.+@]?[ ]++(?:[^ ]++[ ]++){1,6}?(?P<size>\d{1,19})[ ]+"
    r"(?P<year>\d{4})-(?P<month>\d\d)-(?P<day>\d\d)[ ]+\d\d:\d\d(?::\d\d(?:\.\d{1,9})?)?(?:[ ][+-]\d{4})?"
    r"[ ](?P<name>[ ]*[^ ].*)",
    re.ASCII,
)
_DOS: Final = re.compile(
    r"(?P<month>\d\d)[-/](?P<day>\d\d)[-/](?P<year>\d{4}|\d\d)[ ]+(?P<hour>\d\d):(?P<minute>\d\d)[ ]?"
    r"(?P<half>[AaPp][Mm])?[ ]+(?:(?P<kind><DIR>|<JUNCTION>|<SYMLINKD?>)|(?P<size>[\d,]{1,25}))[ ]+"
    r"(?P<name>[^ ].*)",
    re.ASCII,
)
_MODIFY: Final = re.compile(r"(\d{14})(?:\.\d{1,9})?", re.ASCII)
_SIZE: Final = re.compile(r"\d{1,19}", re.ASCII)

# A character of GB 18030 alone beside a letter, as an accented letter of Latin 1 and the one behind it read.
_LONE: Final = re.compile(f"[A-Za-z][{HAN}](?![{HAN}])|(?<![{HAN}])[{HAN}][A-Za-z]")
# Letters of two scripts, of those below U+0800, side by side; signs and accents go with any.
_SCRIPTS: Final = ("\xc0-\u02af", "\u0370-\u03ff", "\u0400-\u052f", "\u0530-\u05ff", "\u0600-\u07ff")
_MIXED: Final = re.compile("|".join(f"[{each}](?=[^\x00-\xbf\u02b0-\u036f{each}])" for each in _SCRIPTS))


def listing_page(url: str, body: bytes, content_type: str) -> ParsedPage:
    """Return the page of a directory.

    Args:
      url: of the directory.
      body: as its server has sent it; the last line may be cut.
      content_type: see `ftp_listings`.
    """
    lines = body.decode("latin-1").replace("\r", "").split("\n", LINES_MAX)
    lines, rest = lines[:LINES_MAX], lines[LINES_MAX:]
    on = listed_on(content_type)
    rows = map(_of_facts, lines) if is_mlsd(content_type) else (_of_line(line, on) for line in lines)
    is_gb = _is_in_gb(lines)
    entries = list(_distinct(_entry(row, is_gb=is_gb) for row in rows if row is not None))
    page = ParsedPage(
        url=url,
        title=host_of(url) + name_of(urlsplit(url).path),
        headings="",
        text="",
        links=_links(url, entries),
        language="",
        charset="utf-8",
        replacement_count=0,
        is_cut=bool(rest),
    )
    return as_listing(page, entries)


def _is_in_gb(lines: list[str]) -> bool:
    """Tell whether the names of a listing, as far as they could be GB 18030 or UTF-8, are in the former.

    图片 in GB 18030 is ͼƬ in UTF-8, as other words of two octets a character are. Names of three octets are
    UTF-8; else more names must speak for GB 18030 than against it. For it speak letters of two scripts that
    touch, and what is no UTF-8, but for what reads as lone characters between letters: that is Latin 1.
    """
    votes = 0
    for line in lines[:-1] or lines:  # the last may be cut
        if not line.isascii():
            try:
                text = line.encode("latin-1").decode()
            except UnicodeDecodeError:
                votes += -1 if _LONE.search(line.encode("latin-1").decode("gb18030", "replace")) else 1
            else:
                if max(text) >= "\u0800":  # of three octets
                    return False
                votes += _MIXED.search(text) is not None
    return votes > 0


def _distinct(read: Iterator[Entry | None]) -> Iterator[Entry]:
    seen: set[tuple[str, str]] = set()  # several names may be shown alike
    for entry in read:
        if entry is not None and (entry.name, entry.address) not in seen:
            seen.add((entry.name, entry.address))
            yield entry
            if len(seen) > ENTRIES_MAX:  # one more tells that there are more
                return


def _links(url: str, entries: list[Entry]) -> tuple[Link, ...]:
    folders = [entry for entry in entries[:ENTRIES_MAX] if entry.name.endswith("/")]
    links = ((canonical_with_ftp(url + entry.href.replace("?", "%3F")), entry.name) for entry in folders)
    return tuple(Link(target, name[:-1]) for target, name in links if target is not None)[:LINKS_MAX]


class _Row(NamedTuple):
    """A line of a listing."""

    name: str  # one character an octet
    is_folder: bool
    size: int  # bytes; -1 when it is not said
    at: datetime | None


def _of_facts(line: str) -> _Row | None:
    """Read `type=file;size=12;modify=20240531120000; name`."""
    facts, blank, name = line.partition(" ")
    if not blank or len(line) > LINE_OCTETS_MAX:
        return None
    told = dict(fact.lower().partition("=")[::2] for fact in facts.split(";"))
    kind = told.get("type", "")
    if kind in ("cdir", "pdir"):
        return None
    size = told.get("size", "")
    is_file = kind == "file"
    return _Row(
        name,
        is_folder=kind == "dir",
        size=int(size) if is_file and _SIZE.fullmatch(size) else -1,
        at=_moment(told.get("modify", "")),
    )


def _of_line(line: str, on: date | None) -> _Row | None:
    if len(line) > LINE_OCTETS_MAX:
        return None
    row = _UNIX.fullmatch(line) or _UNIX_ISO.fullmatch(line)
    if row is None:
        return _of_dos(line)
    said = row.groupdict()
    name, kind = said["name"], said["kind"]
    if kind == "l":
        name = name.partition(" -> ")[0]
    month = said["month"] or said["month_last"]
    return _Row(
        name,
        is_folder=kind == "d",
        size=int(said["size"]) if kind == "-" else -1,
        at=_day(
            said["year"],
            int(month) if month.isdecimal() else MONTHS.get(month.capitalize(), 0),
            int(said["day"] or said["day_first"]),
            on,
        ),
    )


def _of_dos(line: str) -> _Row | None:
    row = _DOS.fullmatch(line)
    if row is None:
        return None
    year, hour = int(row["year"]), int(row["hour"])
    if len(row["year"]) == 2:
        year += 1900 if year >= 70 else 2000  # POSIX, strptime: 69 is 1969; no file is of then
    if row["half"]:
        hour = hour % 12 + (12 if row["half"].lower() == "pm" else 0)
    try:
        at = datetime(year, int(row["month"]), int(row["day"]), hour, int(row["minute"]), tzinfo=UTC)
    except ValueError:
        at = None
    size = (row["size"] or "").replace(",", "")
    return _Row(
        row["name"],
        is_folder=row["kind"] == "<DIR>",
        size=int(size) if _SIZE.fullmatch(size) else -1,
        at=at,
    )


def _entry(row: _Row, *, is_gb: bool) -> Entry | None:
    name = row.name
    if name in (".", "..") or "/" in name:
        return None
    seconds = max(0, int(row.at.timestamp())) if row.at is not None else 0
    return entry_named(f"{name}/" if row.is_folder else name, min(row.size, SIZE_MAX), seconds, is_gb=is_gb)


def _moment(text: str) -> datetime | None:
    """Read `20240531120000` or with a fraction, UTC: RFC 3659, 2.3."""
    found = _MODIFY.fullmatch(text)
    try:
        return datetime.strptime(found[1], "%Y%m%d%H%M%S").replace(tzinfo=UTC) if found else None
    except ValueError:
        return None


def _day(year: str | None, month: int, day: int, on: date | None) -> datetime | None:
    """Return a day; without a year the last one that is not after that on which it was said."""
    try:
        if year is None and on is None:
            return None
        at = datetime(int(year) if year else on.year if on else 0, month, day, tzinfo=UTC)
        if year is None and on is not None and at.date() > on + timedelta(days=1):  # of another zone
            at = at.replace(year=at.year - 1)
    except (ValueError, OverflowError):  # 29 February of no leap year too
        return None
    return at
