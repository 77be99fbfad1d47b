"""What a web server saw: the log of nginx as `serve_web.py` sets it up."""

from __future__ import annotations

import itertools
import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable
from pathlib import Path
from typing import Final, NamedTuple

_LINE: Final = re.compile(
    r"(?P<at>[\d.]+) (?P<port>\d+) \S+ (?P<host>\S+) (?P<status>\d+) \d+ (?P<took>[\d.]+)"
    r' "(?P<method>\S+) (?P<target>\S+) [^"]*" "(?P<agent>[^"]*)" "[^"]*"'
    r" (?P<client>\S+) (?P<server_port>\d+)(?: (?P<serial>\d+))?"
)
CLOCK_S: Final = 0.005  # nginx reads its clock once per turn of its event loop, and logs milliseconds


class Access(NamedTuple):
    """One request. Times are in seconds since the epoch."""

    began_s: float
    ended_s: float
    client_port: int
    host: str
    target: str  # path and query
    status: int
    agent: str
    client: str = ""  # address of who asked
    server_port: int = 0  # that was asked, of the host's several
    serial: int = 0  # of the connection, where it is logged

    @property
    def connection(self) -> tuple[int, int, int]:
        """Its number, or the ports on both sides, which two connections may have one after the other."""
        return self.serial, self.client_port, self.server_port

    @property
    def url(self) -> str:
        return f"http://{self.host}{self.target}"

    @property
    def peer(self) -> int:
        """Number of the peer, where the test has given each an agent of its own; else 0."""
        name = re.search(r"peer-(\d+)", self.agent)
        return int(name[1]) if name else 0

    @property
    def is_robots(self) -> bool:
        return self.target == "/robots.txt"


def read_access_log(path: Path) -> list[Access]:
    """Read what there is; a last line that is still being written is left out."""
    text = path.read_text(encoding="utf-8") if path.exists() else ""
    return [_access(line) for line in text.splitlines(keepends=True) if line.endswith("\n")]


def page_counts(accesses: Iterable[Access]) -> Counter[str]:
    """How often each URL but robots.txt was asked for."""
    return Counter(access.url for access in accesses if not access.is_robots)


def by_host(accesses: Iterable[Access]) -> dict[str, list[Access]]:
    """The requests to each host, on whatever scheme and port, in the order of their beginning."""
    hosts: dict[str, list[Access]] = defaultdict(list)
    for access in sorted(accesses):
        hosts[access.host].append(access)
    return hosts


class Repeat(NamedTuple):
    """A page that was asked for again."""

    before: Access
    again: Access

    def __str__(self) -> str:
        first, then = (f"peer-{access.peer} at {access.began_s:.2f}" for access in self)
        return f"{self.again.url} by {first} and {then}"


class Excuse(NamedTuple):
    """What a peer asked for in this time need not have become durable anywhere: it was killed, or cut off."""

    peer: int
    from_s: float
    until_s: float


def repeats(accesses: Iterable[Access]) -> list[Repeat]:
    """Every request for a page after the first, beside the one before it; robots.txt does not count."""
    last: dict[str, Access] = {}
    found = []
    for access in sorted(accesses):
        if access.is_robots:
            continue
        if access.url in last:
            found.append(Repeat(last[access.url], access))
        last[access.url] = access
    return found


def unexcused(found: Iterable[Repeat], excuses: Collection[Excuse]) -> list[Repeat]:
    """Those pages asked for again for which there is no excuse."""
    return [
        repeat
        for repeat in found
        if not any(
            excuse.peer == repeat.before.peer and excuse.from_s <= repeat.before.ended_s <= excuse.until_s
            for excuse in excuses
        )
    ]


def assert_polite(accesses: Iterable[Access], delay_s: float) -> None:
    """Between the end of one request to a host and the beginning of the next there is the delay."""
    for host, asked in by_host(accesses).items():
        for before, after in itertools.pairwise(asked):
            pause_s = after.began_s - before.ended_s
            assert pause_s >= delay_s - CLOCK_S, f"{host}: {pause_s:.3f} s between {before} and {after}"


def assert_one_connection_at_a_time(accesses: Iterable[Access]) -> None:
    """No request to a host begins while another is being answered or another connection is in use."""
    for host, asked in by_host(accesses).items():
        in_turn = [connection for connection, _ in itertools.groupby(access.connection for access in asked)]
        assert len(in_turn) == len(set(in_turn)), f"{host}: connections take turns"
        for before, after in itertools.pairwise(asked):
            assert after.began_s >= before.ended_s - CLOCK_S, f"{host}: {before} and {after} overlap"


def _access(line: str) -> Access:
    match = _LINE.match(line)
    assert match is not None, f"not a line of the log: {line!r}"
    ended_s = float(match["at"])
    return Access(
        ended_s - float(match["took"]),
        ended_s,
        int(match["port"]),
        match["host"],
        match["target"],
        int(match["status"]),
        match["agent"],
        match["client"],
        int(match["server_port"]),
        int(match["serial"] or 0),
    )
