"""When a page was last changed, by what it and its server say. Pure.

Nothing of it is sure, so the order is by who knows best:

1. what the page says of itself in its head: `article:modified_time` and the like, then
   `article:published_time` and the like, the first of each kind that is credible;
2. the first `<time datetime>` on the page: on news and blogs it stands beside the title;
3. the `Last-Modified` header, unless it is the moment of the answer: then the page was made for us.

Credible is what lies between 1990, before which there was no web, and the time of the fetch.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta, timezone
from email.utils import parsedate_to_datetime
from typing import Final

# As `name`, `property` or `itemprop` of <meta>, in lower case; a smaller number is asked first.
META_RANKS: Final = {
    "article:modified_time": 0,
    "og:updated_time": 0,
    "dcterms.modified": 0,
    "datemodified": 0,
    "last-modified": 0,
    "revised": 0,
    "article:published_time": 1,
    "og:published_time": 1,
    "dcterms.issued": 1,
    "dcterms.created": 1,
    "dcterms.date": 1,
    "dc.date": 1,
    "dc.date.issued": 1,
    "datepublished": 1,
    "date": 1,
    "pubdate": 1,
    "publishdate": 1,
    "publish_date": 1,
}
TIME_RANK: Final = 2  # of <time datetime>
DATE_CHARS_MAX: Final = 64  # of what is looked at

EARLIEST_S: Final = datetime(1990, 1, 1, tzinfo=UTC).timestamp()
FRESH_S: Final = 60.0  # before the fetch: a page that was made for it

# ISO 8601 with what people write instead of its separators, 2024/3/5 or 2024年3月5日 too.
_DATE: Final = re.compile(
    r"\s*(?P<year>[12]\d{3})(?:[-/.年](?P<month>\d{1,2})(?:[-/.月](?P<day>\d{1,2}))?)?日?"
    r"(?:[T\s]\s*(?P<hour>\d{1,2}):(?P<minute>\d{2})(?::(?P<second>\d{2}))?(?:[.,](?P<fraction>\d+))?"
    r"\s*(?P<zone>Z|[+-]\d{2}:?\d{2})?)?",
    re.IGNORECASE,
)


def page_date(said: Iterable[str], last_modified: str | None, fetched_at: float) -> float:
    """Return when a page was last changed, seconds since the epoch; 0.0 when nothing credible is said.

    Args:
      said: by the page, best first.
      last_modified: value of the header.
    """
    for text in said:
        at = seconds_of(text)
        if EARLIEST_S <= at <= fetched_at:
            return at
    at = http_seconds_of(last_modified or "")
    return at if EARLIEST_S <= at <= fetched_at - FRESH_S else 0.0


def seconds_of(text: str) -> float:
    """Read an ISO 8601 date, or one that looks like it, with a time or without; 0.0 for what is none.

    Without a zone it is taken for UTC. A year or month alone is its first day.
    """
    match = _DATE.match(text[:DATE_CHARS_MAX])
    if match is None:
        return 0.0
    number = {
        name: int(value) for name, value in match.groupdict("1").items() if name not in ("zone", "fraction")
    }
    if match["hour"] is None:
        number |= {"hour": 0, "minute": 0}
    if match["second"] is None:
        number["second"] = 0
    try:
        moment = datetime(
            number["year"],
            number["month"],
            number["day"],
            number["hour"],
            number["minute"],
            number["second"],
            tzinfo=_zone(match["zone"]),
        )
    except ValueError:  # the 31st of February
        return 0.0
    return moment.timestamp()


def precise_seconds_of(text: str) -> float:
    """Read it with the fraction of a second, to the microsecond, by which versions are told apart."""
    seconds, match = seconds_of(text), _DATE.match(text[:DATE_CHARS_MAX])
    fraction = match["fraction"] if match is not None and seconds else None
    return round(seconds + float(f"0.{fraction}"), 6) if fraction else seconds


def http_seconds_of(text: str) -> float:
    """Read the date of an HTTP header (RFC 9110, 5.6.7); 0.0 for what is none."""
    try:
        moment = parsedate_to_datetime(text[:DATE_CHARS_MAX])
        return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
    except (ValueError, TypeError, IndexError, OverflowError):
        return 0.0


def _zone(text: str | None) -> timezone:
    if text is None or text in "zZ":
        return UTC
    minutes = 60 * int(text[1:3]) + int(text[-2:])
    return timezone(timedelta(minutes=minutes if text[0] == "+" else -minutes))
