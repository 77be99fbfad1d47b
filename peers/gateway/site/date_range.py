"""The dates that results are to be of: links to usual spans and a form, as `after:` and `before:`. Pure."""

from __future__ import annotations

import re
from datetime import date, timedelta
from typing import Final, NamedTuple

DATE_CHARS_MAX: Final = 20  # of one that was typed; what is longer is none
# Days, as people count them: a link says the same all day long.
SPANS: Final = (("past_month", 30), ("past_year", 365), ("past_five_years", 5 * 365 + 1))

# As `query_language` reads operators; in a phrase they are text.
_DATED: Final = re.compile(
    r"\"[^\"]*\"?|“[^”]*”?|(?<!\S)(?P<operator>after|before):(?P<value>[^\s\"()]+)\s*", re.IGNORECASE
)
_DATE: Final = re.compile(r"(\d{4})(?:-(\d{1,2})(?:-(\d{1,2}))?)?", re.ASCII)


class RecentSpan(NamedTuple):
    """A usual span of time that ends now."""

    text: str  # key of `texts`
    query: str  # narrowed to it
    is_chosen: bool


class DateRange(NamedTuple):
    """The dates of a query, as a form for them shows them."""

    query: str  # without its dates
    first: str  # day in ISO 8601; "" for none
    last: str  # likewise
    spans: tuple[RecentSpan, ...]


def dated_query(query: str, first: str, last: str) -> str:
    """Narrow a query to pages from one date to another, both included; other dates in it are left out.

    Args:
      first, last: a year, month or day in ISO 8601, or "" for none; what is no date stays as it was typed,
        and the results say so.
    """
    first, last = ("".join(each.split())[:DATE_CHARS_MAX] for each in (first, last))
    if not first and not last:
        return query
    parts = (
        _without_dates(query),
        first and f"after:{first}",
        last and f"before:{year_month_or_day_after(last)}",
    )
    return " ".join(filter(None, parts))


def date_range(query: str, today: date) -> DateRange:
    """Return the dates of a query for the form: the last ones in it that are dates."""
    first = last = ""
    for match in _DATED.finditer(query):
        day = _begin_of(match["value"] or "")
        if day is not None and match["operator"].lower() == "after":
            first = day.isoformat()
        elif day is not None and day > date.min:
            last = (day - timedelta(days=1)).isoformat()
    bare = _without_dates(query)
    spans = []
    for text, days in SPANS:
        since = (today - timedelta(days=days)).isoformat()
        spans.append(RecentSpan(text, f"{bare} after:{since}".strip(), first == since and not last))
    return DateRange(bare, first, last, tuple(spans))


def _without_dates(query: str) -> str:
    return _DATED.sub(lambda match: "" if match["operator"] else match[0], query).strip()


def _begin_of(text: str) -> date | None:
    """The first day of a year, month or day; None where it is none."""
    match = _DATE.fullmatch(text)
    if match is None:
        return None
    year, month, day = match.groups()
    try:
        return date(int(year), int(month or 1), int(day or 1))
    except ValueError:
        return None


def year_month_or_day_after(text: str) -> str:
    """Return the year, month or day after that one; a text that is none as it is."""
    begin = _begin_of(text)
    if begin is None or begin.year == date.max.year:
        return text
    match text.count("-"):
        case 0:
            return f"{begin.year + 1:04}"
        case 1:
            return f"{begin.year + begin.month // 12:04}-{begin.month % 12 + 1:02}"
        case _:
            return (begin + timedelta(days=1)).isoformat()
