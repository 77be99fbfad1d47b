"""Read log lines of web servers: the host, URL, agent and time of each request. Pure.

Read are the combined format of Apache and nginx, with the name of the host in front (Apache's
`vhost_combined`) or not, with the time of the request at the end (nginx's `$request_time`) or not, and the
same with the time in seconds since the epoch (nginx's `$msec`) in front. Servers note when an answer ended.
"""

from __future__ import annotations

import re
from datetime import datetime
from typing import Final, NamedTuple

from peers.crawler.gaps import CLOCK_S

_MSEC: Final = re.compile(r"(\d{9,11}\.\d{1,6})\s")
_DATE: Final = re.compile(r"\[(\d{2}/[A-Za-z]{3}/\d{4}:\d{2}:\d{2}:\d{2})(\.\d{1,6})? ([+-]\d{4})\]")
_QUOTED: Final = re.compile(r'"((?:[^"\\]|\\.)*+)("?)')
_REQUEST: Final = re.compile(r"[A-Z]+ (\S+)(?: HTTP/[\d.]+)?")
_VHOST: Final = re.compile(r"([A-Za-z0-9](?:[A-Za-z0-9.-]*[A-Za-z0-9])?)(?::\d+)? \S+ \S+ \S+ \[")
_TOOK: Final = re.compile(r"(?:^|[\s=])(\d+\.\d+)\s*$")


class Access(NamedTuple):
    """One request in a log."""

    began_s: float
    ended_s: float
    host: str  # "" when the line does not say
    target: str  # path and query
    agent: str
    resolution_s: float


def access_in(line: str) -> Access | None:
    """Read a line of a log; None when it is none of these formats."""
    at = _time_in(line)
    quoted = [text for text, end in _QUOTED.findall(line) if end]
    request = _REQUEST.fullmatch(quoted[0]) if quoted else None
    if at is None or request is None:
        return None
    ended_s, resolution_s = at
    took = _TOOK.search(line)
    vhost = _VHOST.match(line)
    return Access(
        ended_s - (float(took[1]) if took else 0.0),
        ended_s,
        vhost[1].lower() if vhost else "",
        request[1],
        quoted[-1] if len(quoted) > 1 else "",
        resolution_s,
    )


def _time_in(line: str) -> tuple[float, float] | None:
    """When a request ended, and how exactly that is known."""
    msec = _MSEC.match(line)
    if msec is not None:
        return float(msec[1]), CLOCK_S
    date = _DATE.search(line)
    if date is None:
        return None
    try:
        whole = datetime.strptime(f"{date[1]} {date[3]}", "%d/%b/%Y:%H:%M:%S %z").timestamp()
    except ValueError:
        return None
    return (whole + float(date[2]), CLOCK_S) if date[2] else (whole, 1.0)
