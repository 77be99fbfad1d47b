"""Versions of pages in the terms of Memento: points in time, addresses, lists. Pure.

A URI-R is the page itself, a URI-M one version of it here, `/page?url=...&at=20261125120000`; the TimeGate
`/timegate/URL` leads to the version of a time, the TimeMap `/timemap/link/URL` lists them all.

Source: RFC 7089, and RFC 6690 for the list.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import UTC, datetime
from email.utils import format_datetime, parsedate_to_datetime
from math import floor
from typing import Final
from urllib.parse import quote

from peers.gateway.model.messages import VersionsFound
from peers.gateway.model.time_words import utc
from peers.storage.wire_messages import ToldVersion

LINK_FORMAT: Final = "application/link-format"
_DIGITS: Final = re.compile(r"\d{4,14}")
_END_OF_SECOND_S: Final = 0.999_999  # a time in whole seconds means all of the second


def moment_in(text: str) -> float | None:
    """Read a point in time as people and archives write it; None when it is none.

    That is 14 digits or fewer (`20261125`, the beginning of that day), ISO 8601, or HTTP's form.
    """
    text = text.strip()[:64]
    try:
        if _DIGITS.fullmatch(text):
            whole = text + "00000101000000"[len(text) :]
            return datetime.strptime(whole, "%Y%m%d%H%M%S").replace(tzinfo=UTC).timestamp()
        at = datetime.fromisoformat(text) if text[:4].isdigit() else parsedate_to_datetime(text)
        return at.replace(tzinfo=at.tzinfo or UTC).timestamp()
    except (ValueError, TypeError, IndexError, OverflowError):
        return None


def end_in(digits: str) -> float | None:
    """Return the end of a year, a day or a second in 4, 8 or 14 digits; None when they are none.

    A day ends at midnight UTC: who asks for it sees all that was there on it.
    """
    if len(digits) not in (4, 8, 14) or not (digits.isascii() and digits.isdigit()):
        return None
    moment_s = moment_in(digits + "1231235959"[len(digits) - 4 :])
    return None if moment_s is None else latest_in(moment_s)


def latest_in(moment_s: float) -> float:
    """Return the end of the second of a time that was written without parts of it."""
    return floor(moment_s) + _END_OF_SECOND_S


def digits_of(seconds: float) -> str:
    """Return a time as `moment_in` reads it; a number that is no time is the beginning of 1970."""
    at = utc(seconds)
    return f"{at:%Y%m%d%H%M%S}" if at is not None else "19700101000000"


def http_date(seconds: float) -> str:
    at = utc(seconds) or datetime.fromtimestamp(0, UTC)
    return format_datetime(at, usegmt=True)


def iso_date(seconds: float) -> str:
    at = utc(seconds) or datetime.fromtimestamp(0, UTC)
    return f"{at:%Y-%m-%dT%H:%M:%SZ}"


def version_path(url: str, version_s: float) -> str:
    """Return where a version is shown here: its URI-M."""
    return f"/page?url={quote(url, safe='')}&at={digits_of(version_s)}"


def links_of(base: str, url: str) -> str:
    """Return the Link header of a version, and of the TimeGate: original, TimeGate and TimeMap."""
    return ", ".join(_ways(base, url))


def chosen(versions: Sequence[ToldVersion], at_s: float) -> ToldVersion | None:
    """Return the last version that shows the page at or before a time, else the first; None without any."""
    shown = sorted((each for each in versions if each.has_content), key=lambda each: each.fetched_at)
    before = [each for each in shown if each.fetched_at <= at_s]
    return before[-1] if before else next(iter(shown), None)


def time_map(base: str, found: VersionsFound) -> str:
    """List the versions of a page, the first one first, and lists of where it was before (RFC 7089, 5.1)."""
    url = found.url
    shown = sorted((each for each in found.versions if each.has_content), key=lambda each: each.fetched_at)
    lines = [*_ways(base, url), f'<{base}/timemap/link/{url}>; rel="self"; type="{LINK_FORMAT}"']
    lines += [_list_of(base, move) for move in found.moved_from]
    for number, version in enumerate(shown):
        places = [("first", number == 0), ("last", number == len(shown) - 1)]
        rel = " ".join([name for name, is_there in places if is_there] + ["memento"])
        date = http_date(version.fetched_at)
        lines.append(f'<{base}{version_path(url, version.fetched_at)}>; rel="{rel}"; datetime="{date}"')
    return ",\n".join(lines) + "\n"


def _ways(base: str, url: str) -> list[str]:
    return [
        f'<{url}>; rel="original"',
        f'<{base}/timegate/{url}>; rel="timegate"',
        _list_of(base, url),
    ]


def _list_of(base: str, url: str) -> str:
    return f'<{base}/timemap/link/{url}>; rel="timemap"; type="{LINK_FORMAT}"'
