"""Query and click logs of other engines: read in the layouts that are known, written in the book's. [io]

The layout is told from the first record. A file that has none of them is refused, and so is one with a line
that does not fit: a log that is read in the wrong way gives figures that look right. Text is UTF-8 or GB18030
(as GBK and GB 2312 are), the same for a whole file. Times have no zone in these logs: they are taken as UTC.

Sources: Li, Yan, Wang 2004, sections 5.3 (the line of TSE) and 9.1 (query log and click log, five lines a
record); Sogou Labs, SogouQ of 2008 and 2012; Pass et al. 2006 (AOL); the log of Excite of 1997, as
Apache Pig's tutorial has it; TREC topics.
"""

from __future__ import annotations

import csv
import re
from collections import Counter, OrderedDict
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import UTC, datetime
from functools import lru_cache
from itertools import chain, islice
from pathlib import Path
from typing import Final, NamedTuple

import xxhash

from mesh.errors import ConfigError

LINE_BYTES_MAX: Final = 1 << 16  # the longest line of SogouQ's sample has 2 KiB
PAGE_RESULTS: Final = 10  # of a page of results: the book's, Sogou's and AOL's
DATABASE: Final = "Database"  # in the book's log, where no cache answered
NO_CLIENT: Final = "-"  # where a log does not tell
# Of the entries, those earlier than the one before: merged logs of servers differ by seconds, and a log of
# days with the time of day alone goes back at midnight. One with more is not by time.
BACKWARDS_MAX: Final = 0.01
CLIENTS_REMEMBERED: Final = 100_000  # with the page that each has before it
_CACHE_FLAGS: Final = frozenset(("database", "cache"))
_NO_TEXT: Final = "is no text in UTF-8 or GB18030"
_CHARS_SHOWN: Final = 40  # of a line that is refused
_MONTHS: Final = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]
_DAYS: Final = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"]
_BOOK_TIME: Final = re.compile(  # Fri Mar 21 00:00:02 2003, and TSE's with hyphens for the spaces
    rf"(?:{'|'.join(_DAYS)})[ -](?P<month>{'|'.join(_MONTHS)})[ -]{{1,2}}(?P<day>\d\d?)[ -]"
    r"(?P<hour>\d\d):(?P<minute>\d\d):(?P<second>\d\d)[ -](?P<year>\d{4})"
)
_DIGITS_TIME: Final = re.compile(  # 20111230000005 (Sogou 2012) and 2006-03-01 07:17:12 (AOL)
    r"(?P<year>\d{4})-?(?P<month>\d\d)-?(?P<day>\d\d) ?"
    r"(?P<hour>\d\d):?(?P<minute>\d\d):?(?P<second>\d\d)"
)
_TIME_OF_DAY: Final = re.compile(r"([01]\d|2[0-3]):([0-5]\d):([0-5]\d)")
_NO_QUERY: Final = (
    re.compile(  # how lines of other logs begin: an address or a time with more behind it, JSON
        r"\d{1,3}(?:\.\d{1,3}){3}\s+\S|\d{4}-\d\d-\d\d[T ]\d\d:\d\d|\d\d:\d\d:\d\d\s|\{\"|<\?|"
        + _BOOK_TIME.pattern
    )
)


class LoggedQuery(NamedTuple):
    """A record of a log: a request of a page of results, or a click on one of them."""

    query: str
    at: float = 0.0  # seconds since the epoch, of the day where a log has only these; 0 if it has no times
    client: str = NO_CLIENT  # address, or a number in place of it
    page: int = 1  # of the results
    rank: int = 0  # of the page clicked on, from 1; 0 for a request
    url: str = ""  # clicked on
    answered_by: str = DATABASE  # or Cache, as the book's log has it


class QueryLog(NamedTuple):
    """A log whose layout is known."""

    layout: str  # for people
    entries: Iterator[LoggedQuery]  # raises ConfigError at a line that does not fit


def read_log(path: Path) -> QueryLog:
    """Open a log and find out which layout it has.

    Raises:
      ConfigError: the file cannot be read, has no records, or is in no layout that is known; the entries
        raise it at the first line that does not fit. The sentence names the line.
    """
    lines = _lines_in(path)
    first = list(islice(lines, _RECORD_LINES_MAX))
    if not first:
        raise ConfigError(f"{path} has no queries; give a query a line, TREC topics or a query log")
    texts = [text for _, text in first]
    rest = chain(first, lines)
    if texts[0].lstrip().startswith(("<top", "<title>")):
        return QueryLog("TREC topics", _topics_in(path, rest))
    for layout in _LAYOUTS:
        if layout.fits(texts):
            return QueryLog(layout.name, _entries_in(path, rest, layout))
    known = ", ".join(layout.name for layout in _LAYOUTS)
    raise ConfigError(
        f"{path} line {first[0][0]:,}: {_short(texts[0])} begins no log of a known layout ({known})"
    )


def requests_of(entries: Iterable[LoggedQuery]) -> Iterator[LoggedQuery]:
    """Yield the entries that are requests: all but further clicks on a page that a client has before it.

    A click log has a line for each click, and the engine is asked once for the page of results they are on.
    Which page that is is known of the last 100,000 clients.
    """
    shown = OrderedDict[str, tuple[str, int]]()  # of each client: the query and the page it has before it
    for entry in entries:
        page, before = (entry.query, entry.page), shown.pop(entry.client, None)
        if not entry.rank or entry.client == NO_CLIENT or before != page:
            yield entry
        shown[entry.client] = page
        if len(shown) > CLIENTS_REMEMBERED:
            shown.popitem(last=False)


def clients_of(asked: Iterable[tuple[str, str]]) -> Counter[str]:
    """Count the clients of each text; where a log does not tell them, each request counts as one.

    Held are some 100 bytes for each pair that is distinct.

    Args:
      asked: texts with their clients, `NO_CLIENT` where it is not told.
    """
    counts = Counter[str]()
    seen = set[int]()
    for text, client in asked:
        pair = digest_of(f"{client}\0{text}")
        if client == NO_CLIENT or pair not in seen:
            seen.add(pair)
            counts[text] += 1
    return counts


def digest_of(text: str) -> int:
    """Return 64 bits in place of a query, a client or a page, so that logs are counted in little memory."""
    return xxhash.xxh3_64_intdigest(text.encode("utf-8", "surrogatepass"))


def write_book_queries(path: Path, entries: Iterable[LoggedQuery]) -> int:
    """Write the requests as the book's query log (section 9.1): time, address, cache flag, query, page.

    Returns: how many there are.

    Raises:
      ConfigError: the file cannot be written.
    """
    return _write(
        path,
        (
            (_book_time(entry.at), entry.client, entry.answered_by, entry.query, str(entry.page))
            for entry in requests_of(entries)
        ),
    )


def write_book_clicks(path: Path, entries: Iterable[LoggedQuery]) -> int:
    """Write the clicks as the book's click log (section 9.1): time, address, query, URL, rank.

    Returns: how many there are.

    Raises:
      ConfigError: the file cannot be written.
    """
    return _write(
        path,
        (
            (_book_time(entry.at), entry.client, entry.query, entry.url, str(entry.rank))
            for entry in entries
            if entry.rank
        ),
    )


def _write(path: Path, records: Iterable[tuple[str, ...]]) -> int:
    count = 0
    try:
        with path.open("w", encoding="utf-8", newline="\n") as file:
            for record in records:
                count += 1
                assert not any("\n" in text for text in record)
                file.write("\n".join(record) + "\n")
    except OSError as error:
        raise ConfigError(f"cannot write {path}: {error.strerror}; give another file") from error
    return count


# --- Lines ---


def _lines_in(path: Path) -> Iterator[tuple[int, str]]:
    """Yield the lines with their numbers, none of them blank before the first that is not."""
    encoding = ""  # until there is a line that tells
    is_begun = False
    try:
        with path.open("rb") as file:
            for number, line in enumerate(iter(lambda: file.readline(LINE_BYTES_MAX + 1), b""), 1):
                if len(line) > LINE_BYTES_MAX:
                    raise _refused(path, number, f"has more than {LINE_BYTES_MAX:,} bytes, as no query has")
                if number == 1:
                    line = line.removeprefix(b"\xef\xbb\xbf")
                if b"\0" in line:
                    raise _refused(path, number, _NO_TEXT)
                if not encoding and not line.isascii():
                    encoding = "utf-8" if _is_in(line, "utf-8") else "gb18030"
                try:
                    text = line.decode(encoding or "ascii").rstrip("\r\n")
                except UnicodeDecodeError as error:
                    reason = "is not UTF-8, as lines before it" if encoding == "utf-8" else _NO_TEXT
                    raise _refused(path, number, reason) from error
                is_begun = is_begun or bool(text.strip())
                if is_begun:
                    yield number, text
    except OSError as error:
        raise ConfigError(f"cannot read the queries {path}: {error.strerror}; give another file") from error


def _is_in(line: bytes, encoding: str) -> bool:
    try:
        line.decode(encoding)
    except UnicodeDecodeError:
        return False
    return True


def _refused(path: Path, number: int, reason: str) -> ConfigError:
    return ConfigError(f"{path} line {number:,} {reason}")


def _short(text: str) -> str:
    return repr(text if len(text) <= _CHARS_SHOWN else text[:_CHARS_SHOWN] + "...")


# --- Records ---


class _UnfitError(Exception):
    """A record is not of a layout; the arguments are the place of a line in it, and the reason."""


class _Layout(NamedTuple):
    name: str
    n_lines: int  # of a record
    entry_of: Callable[[Sequence[str]], LoggedQuery]  # raises _UnfitError
    heading: str = ""  # how a first line that is no record begins

    def fits(self, lines: Sequence[str]) -> bool:
        """Does a file that begins so have this layout?"""
        if self.heading and lines[0].startswith(self.heading):
            return True
        try:
            self.entry_of(lines[: self.n_lines])
        except _UnfitError:
            return False
        return True


def _entries_in(path: Path, lines: Iterator[tuple[int, str]], layout: _Layout) -> Iterator[LoggedQuery]:
    is_first = True
    for number, text in lines:
        if is_first and layout.heading and text.startswith(layout.heading):
            is_first = False
            continue
        is_first = False
        if not text.strip():
            continue  # between records
        record = [text, *(line for _, line in islice(lines, layout.n_lines - 1))]
        try:
            yield layout.entry_of(record)
        except _UnfitError as error:
            place, reason = error.args
            raise _refused(path, number + place, f"{reason}; the log began as: {layout.name}") from None


def _topics_in(path: Path, lines: Iterator[tuple[int, str]]) -> Iterator[LoggedQuery]:
    """The text behind each `<title>`, which may stand on the next line."""
    is_found = is_wanted = False
    for _, text in lines:
        at = text.lower().find("<title>")
        if at < 0 and not is_wanted:
            continue
        title = text[at + len("<title>") :] if at >= 0 else text
        title = title.strip().removeprefix("Topic:").partition("<")[0].strip()
        is_wanted = not title
        if title:
            is_found = True
            yield LoggedQuery(title)
    if not is_found:
        raise ConfigError(f"{path} has no queries: there is no <title> in it")


def _book_query(lines: Sequence[str]) -> LoggedQuery:
    at = _time_at_begin(lines)
    _, client, flag, query, page = lines
    if flag.strip().casefold() not in _CACHE_FLAGS:
        raise _UnfitError(2, f"is {_short(flag)}, not Database or Cache")
    return LoggedQuery(query.strip(), at, client.strip(), _number(page, 4), answered_by=flag.strip())


def _book_click(lines: Sequence[str]) -> LoggedQuery:
    at = _time_at_begin(lines)
    _, client, query, url, rank = lines
    if "." not in url or " " in url.strip():
        raise _UnfitError(3, f"is {_short(url)}, not a URL")
    return _click(query, at, client, rank, url, 4)


def _time_at_begin(lines: Sequence[str]) -> float:
    """The time that is the first line of a record of the book, which has all its lines."""
    at = _seconds(lines[0].strip(), _BOOK_TIME)
    if len(lines) < _RECORD_LINES_MAX:
        raise _UnfitError(len(lines), f"is missing: a record has {_RECORD_LINES_MAX} lines")
    return at


def _tse(lines: Sequence[str]) -> LoggedQuery:
    time, is_cut, query = lines[0].strip().partition(" ")
    if "-" not in time or not is_cut:
        raise _UnfitError(0, "has no time with a query behind it")
    return LoggedQuery(query.strip(), _seconds(time, _BOOK_TIME))


def _sogou_2008(lines: Sequence[str]) -> LoggedQuery:
    time, client, query, places, url = _fields(lines[0], 5)
    rank, is_cut, order = places.partition(" ")
    if not (is_cut and query.startswith("[") and query.endswith("]")):
        raise _UnfitError(0, "has no [query], or not two numbers behind it")
    _number(order, 0)
    return _click(query[1:-1], _seconds_of_day(time), client, rank, url, 0)


def _sogou_2012(lines: Sequence[str]) -> LoggedQuery:
    time, client, query, rank, order, url = _fields(lines[0], 6)
    _number(order, 0)
    return _click(query, _seconds(time, _DIGITS_TIME), client, rank, url, 0)


def _sogou_csv(lines: Sequence[str]) -> LoggedQuery:
    try:
        (row,) = csv.reader(lines)
        time, client, query, rank, order, url = row
    except (ValueError, csv.Error) as error:
        raise _UnfitError(0, "is not six fields with commas between") from error
    _number(order, 0)
    return _click(query, _seconds_of_day(time), client, rank, url, 0)


def _aol(lines: Sequence[str]) -> LoggedQuery:
    fields = lines[0].split("\t")
    if len(fields) not in (3, 5):
        raise _UnfitError(0, "is not three or five fields with tabs between")
    client, query, time, *clicked = fields
    at = _seconds(time, _DIGITS_TIME)
    if len(clicked) == 2 and any(clicked):
        return _click(query, at, client, clicked[0], clicked[1], 0)
    return LoggedQuery(query.strip(), at, client.strip())


def _excite(lines: Sequence[str]) -> LoggedQuery:
    client, time, query = _fields(lines[0], 3)
    if len(time) != 12:
        raise _UnfitError(0, f"has {_short(time)}, not a time")
    return LoggedQuery(query.strip(), _seconds("19" + time, _DIGITS_TIME), client.strip())


def _named(lines: Sequence[str]) -> LoggedQuery:
    name, query = _fields(lines[0], 2)
    if not name.strip():
        raise _UnfitError(0, "has nothing before its tab")
    return LoggedQuery(query.strip())


def _plain(lines: Sequence[str]) -> LoggedQuery:
    line = lines[0].strip()
    if "\t" in line or _NO_QUERY.match(line):
        raise _UnfitError(0, f"is {_short(line)}, not a query alone")
    return LoggedQuery(line)


def _click(query: str, at: float, client: str, rank: str, url: str, place: int) -> LoggedQuery:
    number = _number(rank, place)
    page = (number - 1) // PAGE_RESULTS + 1
    return LoggedQuery(query.strip(), at, client.strip(), page, number, url.strip())


def _fields(line: str, count: int) -> list[str]:
    fields = line.split("\t")
    if len(fields) != count:
        raise _UnfitError(0, f"is {len(fields)} fields with tabs between, not {count}")
    return fields


def _number(text: str, place: int) -> int:
    """A count from 1."""
    text = text.strip()
    if not (text.isascii() and text.isdecimal() and len(text) < 10) or int(text) < 1:
        raise _UnfitError(place, f"has {_short(text)}, not a number from 1")
    return int(text)


@lru_cache(maxsize=64)  # lines of the same second follow each other
def _seconds(text: str, pattern: re.Pattern[str]) -> float:
    """Seconds since the epoch."""
    match = pattern.fullmatch(text)
    if match is None:
        raise _UnfitError(0, f"has {_short(text)}, not a time")
    named = match.groupdict()
    month = named["month"]
    named["month"] = str(_MONTHS.index(month) + 1) if month in _MONTHS else month
    try:
        return datetime(**{name: int(value) for name, value in named.items()}, tzinfo=UTC).timestamp()
    except ValueError as error:
        raise _UnfitError(0, f"has {_short(text)}, not a time") from error


def _seconds_of_day(text: str) -> float:
    match = _TIME_OF_DAY.fullmatch(text)
    if match is None:
        raise _UnfitError(0, f"has {_short(text)}, not a time")
    hour, minute, second = map(int, match.groups())
    return float(hour * 3_600 + minute * 60 + second)


def _book_time(at: float) -> str:
    """Write a time as ctime of C does, in English always: Fri Mar 21 00:00:02 2003."""
    time = datetime.fromtimestamp(int(at), UTC)
    day, month = _DAYS[time.weekday()], _MONTHS[time.month - 1]
    return f"{day} {month} {time.day:2d} {time:%H:%M:%S} {time.year:04d}"


_LAYOUTS: Final = (
    _Layout("the book's query log", 5, _book_query),
    _Layout("the book's click log", 5, _book_click),
    _Layout("the log of TSE", 1, _tse),
    _Layout("SogouQ of 2008", 1, _sogou_2008),
    _Layout("SogouQ of 2012", 1, _sogou_2012),
    _Layout("SogouQ with commas", 1, _sogou_csv, heading="访问时间,"),
    _Layout("the log of AOL", 1, _aol, heading="AnonID\tQuery\tQueryTime"),
    _Layout("the log of Excite", 1, _excite),
    _Layout("an id and a query, with a tab between", 1, _named),
    _Layout("a query a line", 1, _plain),
)
_RECORD_LINES_MAX: Final = max(layout.n_lines for layout in _LAYOUTS)
