"""When a page was published and last changed, by the page, its address and its server. Pure.

Nothing of it is sure, so the order is by who knows best. Behind each: how many it dates of 995 pages whose
day of publication is known, those before it being asked first, and how many of them rightly.

1. the day in its address, /2024/03/05/, alone (13, 12);
2. <meta>, `article:published_time` and the like (468, 450), microdata (48, 47), JSON-LD of what the page is
   about (144, 128);
3. a <time> whose class says that it is of the post (28, 27), any <time> (37, 34), <meta> that may be of the
   file (24, 17), an element whose class speaks of a date (95, 85), a line beside the title that is hardly
   more than a date (53, 49).

Where one of these tells several days, as lists of other pages do, the line beside the title decides, if there
is one. A moment in UTC that is told with an offset, too, is of the day that it has there.

The order was found on 388 of these pages. What is told twice, and where <meta> of the file stands, was found
on half of their domains and kept as it wins on the other half, too; the rule for lines was chosen with all
pages in sight. Of 61 pages that are dated wrongly 18 say when they were published, and were judged by when
they were changed.

Of its last change <meta>, microdata and JSON-LD tell, else the same; without any of them the `Last-Modified`
header, unless it is the moment of the answer: then the page was made for us. What contradicts the month in
the address, /2024/03/, is of something else. Credible is what lies between 1990, before which there was no
web, and the time of the fetch.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from functools import partial
from itertools import chain, groupby, islice
from operator import itemgetter
from typing import Any, Final, NamedTuple

from peers.crawler.parsing.date_texts import YEAR, fraction_of, moments_in, read_moment

DATE_CHARS_MAX: Final = 64  # of what is kept
LINE_CHARS_MAX: Final = 60  # of one that says a date and hardly more
LINES_MAX: Final = 100  # that are looked at
HEAD_CHARS_MIN: Final = 8  # of a line that is the title or in it
PARAGRAPH_CHARS_MIN: Final = 150
SAID_MAX: Final = 16  # of each rank that are looked at
READ_MAX: Final = 3  # dates, after which no other ranks are asked
VALUES_MAX: Final = 1_000  # of the JSON-LD of a page

EARLIEST_S: Final = datetime(1990, 1, 1, tzinfo=UTC).timestamp()
FRESH_S: Final = 60.0  # before the fetch: a page that was made for it
AHEAD_S: Final = 14 * 3_600.0  # clocks without a zone may be ahead of UTC as far

# As `name`, `property` or `itemprop` of <meta>, in lower case, the best first.
_NAMES: Final = {
    kind: names.split()
    for kind, names in {
        "changed": """article:modified_time article:modified og:article:modified_time datemodified
            og:updated_time dcterms.modified dcterms:modified dc.date.modified last-modified lastmod
            revised""",
        "published": """article:published_time article:published og:article:published_time og:published_time
            datepublished rnews:datepublished""",
        # That may be of the file, too.
        "dated": """dcterms.issued dc.date.issued dcterms.created dcterms:created dc.date.created dcterms.date
            dc.date citation_publication_date citation_date bt:pubdate sailthru.date parsely-pub-date
            publication_date publication-date published_date date_published published_time pubdate pub_date
            publishdate publish_date datecreated createdate displaydate date""",
    }.items()
}
# Ranks of other places.
ADDRESS, PROPERTY, DATA, POST_TIME, TIME, OTHER_META, NAMED, LINE = range(0, 800, 100)
# Of each name its rank, and whether it is of a change.
META_RANKS: Final = {
    name: (rank + (OTHER_META if kind == "dated" else 0), kind == "changed")
    for kind, names in _NAMES.items()
    for rank, name in enumerate(names)
}

_DAY_IN_ADDRESS: Final = re.compile(
    r"/(199\d|20\d\d)(?:([-/_])(\d\d?)\2(\d\d|\d(?!-)|(?<=-)\d)|(\d\d)(\d\d))(?=[/_.-])"
)
_MONTH_IN_ADDRESS: Final = re.compile(r"/(199\d|20\d\d)[/-]?(0[1-9]|1[0-2])/")
_OFFSET: Final = re.compile(r"\d[+-](?!00:?00)\d\d:?\d\d$")
_OF_POST: Final = re.compile(r"publish|entry|post|pubdate|article", re.IGNORECASE)
_OF_CHANGE: Final = re.compile(r"modif|updat|chang", re.IGNORECASE)
_DATA_NAMES: Final = (("datePublished", False), ("dateCreated", False), ("dateModified", True))
_ABOUT: Final = ("@graph", "mainEntity", "mainEntityOfPage")  # what of JSON-LD is of the page, too
_APART: Final = re.compile("Image|Video|Media|Comment|Review|Organization|Person|Event")  # what is not


class Said(NamedTuple):
    """A text that may say when a page was written."""

    rank: int  # of who says it; a smaller one is asked first
    is_change: bool  # when it was last changed, else when it was published
    text: str


def said_by_element(is_time: bool, attributes: Mapping[str, str]) -> Said:
    """Return the date that an element gives: <time>, microdata, or one with a class that speaks of a date."""
    names = attributes["class"]
    is_change = _OF_CHANGE.search(attributes["itemprop"] or names) and not _OF_POST.search(names)
    rank = PROPERTY if attributes["itemprop"] else NAMED if not is_time else TIME
    if rank == TIME and _OF_POST.search(names):
        rank = POST_TIME
    text = (
        attributes["datetime"] or attributes["content"] or attributes["title"] or attributes.get("text", "")
    )
    return Said(rank, bool(is_change), text)


def said_by_data(text: str) -> Iterator[Said]:
    """Yield the dates that JSON-LD gives for the page, or for the things on it."""
    if not any(name in text for name, _ in _DATA_NAMES):
        return
    try:
        values = [json.loads(text, strict=False)]
    except (ValueError, RecursionError):
        return
    for value in islice(_inner(values), VALUES_MAX):
        for name, is_change in _DATA_NAMES:
            if isinstance(value.get(name), str):
                yield Said(DATA, is_change, value[name])


def _inner(values: list[Any]) -> Iterator[dict[str, Any]]:
    """Yield the objects that are about the page, the outer ones first."""
    for value in values:
        if isinstance(value, list):
            values += value
        elif isinstance(value, dict) and not _APART.search(str(value.get("@type", ""))):
            yield value
            values += [value[name] for name in _ABOUT if name in value]


def dates_said(
    url: str, said: Sequence[Said], lines: Sequence[str], heads: Sequence[str], language: str
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the dates of a page's last change, and of its publication, the best first, in ISO 8601.

    Args:
      said: by its elements.
      lines: of its text.
      heads: its title and first heading, beside which it says its date if it does without markup.
      language: as its `lang` has it, by which 3/4/2024 is read; "" when it does not tell.
    """
    changed: list[datetime] = []
    published: list[datetime] = []
    if said:
        known = sorted(said, key=itemgetter(0))
        line = partial(_in_lines, lines[:LINES_MAX], heads, language)
        changed = list(chain.from_iterable(_read(known, language, is_change=True)))
        for moments in _read(known, language, is_change=False):
            published += moments if len(moments) == 1 else _of_page(moments, line)
        if published and not published[0].utcoffset():
            published = _with_offsets(published, known)
    day, month = _DAY_IN_ADDRESS.search(url), _MONTH_IN_ADDRESS.search(url)
    if day is not None:
        named = read_moment("-".join(filter(None, day.group(1, 3, 4, 5, 6))))
        if named is not None:
            published = [each for each in published if each.date() == named.date()] or [named]
    elif month is not None:
        published = [each for each in published if _is_of_month(each, int(month[1]), int(month[2]))]
    if not published and YEAR.search("\n".join(lines[:LINES_MAX])):
        beside = _in_lines(lines[:LINES_MAX], heads, language)
        published = [] if beside is None else [beside]
    return (_texts([*changed, *published]), _texts(published)) if changed or published else ((), ())


def _read(known: Sequence[Said], language: str, *, is_change: bool) -> list[list[datetime]]:
    """Return by rank the first that are dates; of running text its first date."""
    read: list[list[datetime]] = []
    n_read = 0
    for rank, group in groupby([each for each in known if each.is_change is is_change], itemgetter(0)):
        moments: list[datetime] = []
        for each in islice(group, SAID_MAX):
            moment = read_moment(each.text, language)
            if moment is None and rank >= PROPERTY:
                moment = next(moments_in(each.text, language), None)
            if moment is not None:
                moments.append(moment)
        read.append(moments)
        n_read += len(moments)
        if n_read >= READ_MAX:
            break
    return read


def _of_page(moments: list[datetime], line: Callable[[], datetime | None]) -> list[datetime]:
    """Leave out, where one place tells several days, all but the day of the line beside the title."""
    beside = line() if len({each.date() for each in moments}) > 1 else None
    return moments if beside is None else [each for each in moments if each.date() == beside.date()]


def _with_offsets(moments: list[datetime], known: Sequence[Said]) -> list[datetime]:
    """Return moments in UTC by the clock of where they were written, if they are told by that, too."""
    texts = [each.text for each in known if not each.is_change and _OFFSET.search(each.text)]
    local = {moment: moment for moment in map(read_moment, texts) if moment is not None}
    return [local.get(moment, moment) for moment in moments] if local else moments


def _is_of_month(moment: datetime, year: int, month: int) -> bool:
    """Is it within a day of a month? Clocks differ."""
    near = (moment - timedelta(days=1), moment, moment + timedelta(days=1))
    return any((each.year, each.month) == (year, month) for each in near)


def _in_lines(lines: Sequence[str], heads: Sequence[str], language: str) -> datetime | None:
    """Return the date of a line that says hardly more, beside a head or before the first paragraph."""
    short = [i for i, line in enumerate(lines) if len(line) <= LINE_CHARS_MAX and YEAR.search(line)]
    near: set[int] = set()
    for i, line in enumerate(lines) if short else ():
        if len(line) >= HEAD_CHARS_MIN and any(line in head for head in heads):
            near.update(range(i - 3, i + 6))
        elif len(line) >= PARAGRAPH_CHARS_MIN:
            near.update(range(i - 4, i))
            break
    for i in short:
        moment = next(moments_in(lines[i], language), None) if i in near else None
        if moment is not None:
            return moment
    return None


def _texts(moments: Iterable[datetime]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(each.isoformat() for each in moments))


def page_date(said: Iterable[str], last_modified: str | None, fetched_at: float) -> float:
    """Return when a page was last changed, seconds since the epoch; 0.0 when nothing credible is said.

    Args:
      said: by the page, best first.
      last_modified: value of the header.
    """
    for text in said:
        at = seconds_of(text)
        if EARLIEST_S <= at <= fetched_at + AHEAD_S:
            return min(at, fetched_at)
    at = http_seconds_of(last_modified or "")
    return at if EARLIEST_S <= at <= fetched_at - FRESH_S else 0.0


def published_at(said: Iterable[str], fetched_at: float) -> str:
    """Return when a page was published, ISO 8601 by the clock of its source; "" when nothing is credible."""
    for text in said:
        moment = read_moment(text)
        if moment is not None and EARLIEST_S <= moment.timestamp() <= fetched_at + AHEAD_S:
            return moment.isoformat()
    return ""


def seconds_of(text: str) -> float:
    """Read a date as `date_texts` does, in whole seconds since the epoch; 0.0 for a text that is none."""
    moment = read_moment(text)
    return 0.0 if moment is None else moment.timestamp()


def precise_seconds_of(text: str) -> float:
    """Read it with the fraction of a second, to the microsecond, by which versions are told apart."""
    seconds = seconds_of(text)
    return round(seconds + fraction_of(text), 6) if seconds else 0.0


def http_seconds_of(text: str) -> float:
    """Read the date of an HTTP header (RFC 9110, 5.6.7); 0.0 for a text that is none."""
    try:
        moment = parsedate_to_datetime(text[:DATE_CHARS_MAX])
        return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
    except (ValueError, TypeError, IndexError, OverflowError):
        return 0.0
