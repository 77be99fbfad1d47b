"""When a page was published and last changed, by the page, its address and its server. Pure.

Nothing of it is sure, so the order is by who knows best. Behind each: how many it dates of 1,000 and of 1,044
pages whose day of publication is known, those before it being asked first, and how many of them rightly.

1. the day in its address, /2024/03/05/, alone (15 of 15);
2. <meta>, `article:published_time` and the like (986, 944), microdata (114, 111), JSON-LD of what the page is
   about (259, 222);
3. a <time> whose class says that it is of the post (41, 39), any <time> (80, 75), <meta> that may be of the
   file (29, 23), an element whose class speaks of a date (143, 135);
4. a line beside the title that is hardly more than a date (147, 136). It comes before <time> and those behind
   it, which may be clocks and of other pages, decides where one place tells several days, and counts where it
   tells an earlier day: nothing is published after it was.

Left out are several days of <time> or of classes without such a line, of which 22 of 50 were wrong, and any
day that a line says to be of a change. A moment in UTC that is told with an offset, too, is of the day that
it has there.

The rules were made by half of the domains of both sets, and judged by the other half: see HISTORY and
`tests/benchmarks/bench_dates.py`. Of 114 pages that are dated wrongly 58 are known by the day of their
change, which is given besides.

Of its last change <meta>, microdata and JSON-LD tell, else the same; without any of them the `Last-Modified`
header, unless it is the moment of the answer: then the page was made for us. What contradicts the month in
the address, /2024/03/, is of something else. Credible is what lies between 1990, before which there was no
web, and the time of the fetch.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, date, datetime, timedelta
from email.utils import parsedate_to_datetime
from itertools import groupby, islice
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
_CHANGE_WORDS: Final = re.compile(
    "updat|edited|modif|aktuali[sz]|ge\xe4ndert|mise? \xe0 jour|actuali[sz]|aggiorn|atualiz|bijgewerkt"
    "|gewijzigd|uppdater|opdater|oppdater|обновл|измен|更新|修改|修订|修訂|编辑|編輯|업데이트|수정",
    re.IGNORECASE,
)
_ISSUE_WORDS: Final = re.compile(
    "publi|posted|written|ver\xf6ffentlicht|erstellt|pubblicat|опубл|发布|發布|发表|發表|公開|公开|掲載|게시",
    re.IGNORECASE,
)
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
    return Said(rank, bool(is_change) or (rank >= POST_TIME and _speaks_of_change(text)), text)


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
    lines = lines[:LINES_MAX]
    by_address, fits = _told_by_address(url)
    if not YEAR.search("\n".join(lines)):  # as in most
        if not said:
            return _texts(by_address), _texts(by_address)
        lines = ()
    beside = list(filter(fits, _in_lines(lines, heads, language)))
    changed: list[datetime] = []
    published: list[datetime] = []
    if said:
        known = sorted(said, key=itemgetter(0))
        changed = [each for _, moments in _read(known, language, is_change=True) for each in moments]
        told = _read(known, language, is_change=False)
        read = [(rank, fitting) for rank, moments in told if (fitting := list(filter(fits, moments)))]
        published = _published(read, next(iter(beside), None)) if read else []
        is_unsure = published and read[0][0] >= POST_TIME
        if is_unsure and published[0].date() in _days_of_changes(lines, language):
            changed, published = changed or published, []
        if published and not published[0].utcoffset():
            published = _with_offsets(published, known)
    if not published:
        published = by_address or beside
        changed = changed or published or _in_lines(lines, heads, language, is_change=True)
    return _texts([*changed, *published]), _texts(published)


def _told_by_address(url: str) -> tuple[list[datetime], Callable[[datetime], bool]]:
    """Return the day that is in an address, if one is, and whether a moment may be of a page with it."""
    day, month = _DAY_IN_ADDRESS.search(url), _MONTH_IN_ADDRESS.search(url)
    named = None if day is None else read_moment("-".join(filter(None, day.group(1, 3, 4, 5, 6))))
    if named is not None:
        return [named], lambda each: each.date() == named.date()
    if day is None and month is not None:
        year, number = int(month[1]), int(month[2])
        return [], lambda each: _is_of_month(each, year, number)
    return [], lambda each: True


def _read(known: Sequence[Said], language: str, *, is_change: bool) -> Iterator[tuple[int, list[datetime]]]:
    """Yield the first ranks that tell dates, and those; of running text its first date."""
    n_read = 0
    for rank, group in groupby([each for each in known if each.is_change is is_change], itemgetter(0)):
        moments: list[datetime] = []
        for each in islice(group, SAID_MAX):
            moment = read_moment(each.text, language)
            if moment is None and rank >= PROPERTY:
                moment = next(moments_in(each.text, language), None)
            if moment is not None:
                moments.append(moment)
        if moments:
            yield rank, moments
        n_read += len(moments)
        if n_read >= READ_MAX:
            break


def _published(read: Sequence[tuple[int, list[datetime]]], beside: datetime | None) -> list[datetime]:
    """Return of the dates of elements those that may be of the page's publication, the best first.

    The line beside the title decides between several days in one place, over places that lists and clocks
    have, too, and where it tells an earlier day. Without it several days of such places tell nothing.

    Args:
      read: by rank, not empty.
      beside: told by that line.
    """
    first = read[0][0]
    found: list[datetime] = []
    for _, moments in read:
        of_day = [each for each in moments if beside and each.date() == beside.date()]
        found += of_day if beside and len({each.date() for each in moments}) > 1 else moments
    if beside and (not found or first >= TIME or beside.date() < found[0].date()):
        return [each for each in found if each.date() == beside.date()] or [beside]
    return [] if first >= TIME and len({each.date() for each in found}) > 1 else found


def _with_offsets(moments: list[datetime], known: Sequence[Said]) -> list[datetime]:
    """Return moments in UTC by the clock of where they were written, if they are told by that, too."""
    texts = [each.text for each in known if not each.is_change and _OFFSET.search(each.text)]
    local = {moment: moment for moment in map(read_moment, texts) if moment is not None}
    return [local.get(moment, moment) for moment in moments] if local else moments


def _is_of_month(moment: datetime, year: int, month: int) -> bool:
    """Is it within a day of a month? Clocks differ."""
    near = (moment - timedelta(days=1), moment, moment + timedelta(days=1))
    return any((each.year, each.month) == (year, month) for each in near)


def _in_lines(
    lines: Sequence[str], heads: Sequence[str], language: str, *, is_change: bool = False
) -> list[datetime]:
    """Return the date of the line nearest to the title that says hardly more, below it, else above; or none.

    The title is the longest line that is in a head. Where no such line is there, the first just before the
    first paragraph counts. The title itself tells nothing.

    Args:
      is_change: of a line that speaks of a change, else of one that does not.
    """
    dated = _dated(lines)
    if not dated:
        return []
    all_heads = "\n".join(heads)
    named = [i for i, line in enumerate(lines) if len(line) >= HEAD_CHARS_MIN and line in all_heads]
    longest = max((len(lines[i]) for i in named), default=0)
    titles = [i for i in named if len(lines[i]) == longest]
    paragraph = next((i for i, line in enumerate(lines) if len(line) >= PARAGRAPH_CHARS_MIN), 0)
    near = dict.fromkeys(range(paragraph - 4, paragraph), LINES_MAX)
    for title in titles:
        for distance, i in enumerate((*range(title + 1, title + 6), *range(title - 1, title - 4, -1))):
            near[i] = min(distance, near.get(i, LINES_MAX))
    places = sorted((i for i in dated if i in near and i not in titles), key=near.__getitem__)
    told = (lines[i] for i in places if _speaks_of_change(lines[i]) is is_change)
    return list(islice((moment for line in told for moment in moments_in(line, language)), 1))


def _dated(lines: Sequence[str]) -> list[int]:
    return [i for i, line in enumerate(lines) if len(line) <= LINE_CHARS_MAX and YEAR.search(line)]


def _days_of_changes(lines: Sequence[str], language: str) -> set[date]:
    """Return the days that lines tell of changes."""
    spoken = (lines[i] for i in _dated(lines) if _speaks_of_change(lines[i]))
    return {moment.date() for line in spoken for moment in islice(moments_in(line, language), 1)}


def _speaks_of_change(text: str) -> bool:
    return bool(_CHANGE_WORDS.search(text) and not _ISSUE_WORDS.search(text))


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
