"""Find the addresses of host names, through the system or from a table. [io]

A name server that is slow holds up nobody but the hosts that it is asked for: who asks waits a moment, is
told that the question is still open, and comes again.

Judging the addresses is not done here but in `addresses.py`, for every answer of every resolver alike.
"""

from __future__ import annotations

import socket
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Iterable
from functools import partial
from ipaddress import ip_address
from itertools import zip_longest
from math import inf
from pathlib import Path
from typing import Any, NamedTuple, Protocol, TypeAlias

import msgspec
import trio

LOOKUP_S_MAX = 10.0  # glibc alone tries for 5 s per server; a name that takes longer waits for the next time
PATIENCE_S = 0.5  # of who asks; most answers take a tenth of that
LOOK_AGAIN_S = 2.0  # then that one comes again
OPEN_MAX = 200  # questions at a time, as many as fetches; with more the name servers are the bottleneck
CACHE_ENTRIES_MAX = 10_000  # as Scrapy and BUbiNG
CACHE_S = 600.0  # the system does not tell the TTL; long enough for a visit, short enough for a move
CACHE_FAILURE_S = 60.0  # as BUbiNG
ADDRESSES_MAX = 16  # of one name; more are not looked at, and none is connected to unjudged


Lookup: TypeAlias = Callable[[str], Awaitable[list[str]]]


class Endpoints(NamedTuple):
    """Where a web host is to be reached."""

    addresses: tuple[str, ...]  # IPv4 and IPv6 as text, best first, at least one
    port: int


class NoSuchName(Exception):
    """The name does not exist, or has no address: asking again soon is useless."""


class LookupFailed(Exception):
    """There was no answer this time."""


class StillOpen(Exception):
    """The name server has not answered so far: the question goes on, ask again in `LOOK_AGAIN_S`."""


class Resolver(Protocol):
    """Finds where a host is. An address as a name resolves to itself."""

    async def resolve(self, hostname: str, port: int) -> Endpoints:
        """Return addresses and port to connect to for a host and port of a URL.

        Raises:
          NoSuchName: definitively not there.
          LookupFailed: no answer now.
          StillOpen: no answer so far.
        """


class _Question:
    """A name that the system is asked for."""

    def __init__(self) -> None:
        self.is_answered = trio.Event()
        self.addresses: tuple[str, ...] = ()
        self.failure: LookupFailed | None = None


class SystemResolver:
    """Asks the operating system (getaddrinfo in a thread) and remembers, up to a limit."""

    def __init__(
        self,
        cache_s: float = CACHE_S,
        lookups_max: int = 32,
        lookup: Lookup | None = None,
        *,
        cache_entries_max: int = CACHE_ENTRIES_MAX,
    ) -> None:
        """Make a resolver; `lookup` stands in for the system's, and fails as it does."""
        self._cache_s = cache_s
        self._cache_entries_max = cache_entries_max
        # Name to expiry and addresses, none for a name that does not exist.
        self._cache: OrderedDict[str, tuple[float, tuple[str, ...]]] = OrderedDict()
        self._questions: dict[str, _Question] = {}  # open, or failed and nobody was told so far
        # An own limiter: look-ups that were given up go on in their threads and must not take those of all.
        self._threads = trio.CapacityLimiter(lookups_max)
        self._lookup = lookup or self._ask_system

    async def resolve(self, hostname: str, port: int) -> Endpoints:
        if is_address(hostname):
            return Endpoints((hostname,), port)
        addresses = self._remembered(hostname)
        if addresses is None:
            addresses = await self._wait_for(hostname)
        if not addresses:
            raise NoSuchName(f"no such name: {hostname}")
        return Endpoints(addresses, port)

    def _remembered(self, hostname: str) -> tuple[str, ...] | None:
        expiry, addresses = self._cache.get(hostname, (-inf, ()))
        return addresses if expiry > trio.current_time() else None

    async def _wait_for(self, hostname: str) -> tuple[str, ...]:
        """Ask the system, or wait for an answer to the question that is open."""
        question = self._questions.get(hostname)
        if question is None:
            question = self._begin(hostname)
        with trio.move_on_after(PATIENCE_S):
            await question.is_answered.wait()
        if not question.is_answered.is_set():
            raise StillOpen(f"no answer for {hostname} so far")
        self._close(hostname, question)
        if question.failure is not None:
            raise question.failure
        return question.addresses

    def _begin(self, hostname: str) -> _Question:
        if len(self._questions) >= OPEN_MAX:
            questions = self._questions.items()
            self._questions = {name: each for name, each in questions if not each.is_answered.is_set()}
        if len(self._questions) >= OPEN_MAX:
            raise StillOpen(f"{hostname} is not asked for before other questions are answered")
        question = self._questions[hostname] = _Question()
        trio.lowlevel.spawn_system_task(self._answer, hostname, question)
        return question

    def _close(self, hostname: str, question: _Question) -> None:
        if self._questions.get(hostname) is question:
            del self._questions[hostname]

    async def _answer(self, hostname: str, question: _Question) -> None:
        """Look up a name, even if no caller waits for it any more."""
        try:
            question.addresses = await self._ask(hostname)
            self._close(hostname, question)  # who comes later finds it remembered
        except LookupFailed as failure:
            question.failure = failure
        except Exception as error:  # of the system's resolver: no task may end the process
            question.failure = LookupFailed(f"{hostname}: {error!r}")
        question.is_answered.set()

    async def _ask(self, hostname: str) -> tuple[str, ...]:
        try:
            with trio.fail_after(LOOKUP_S_MAX):
                found = await self._lookup(hostname)
        except trio.TooSlowError:
            raise LookupFailed(f"no answer for {hostname} in {LOOKUP_S_MAX:g} s") from None
        except UnicodeError:  # labels longer than 63 or empty: no name server has them
            return self._remember(hostname, (), CACHE_FAILURE_S)
        except socket.gaierror as error:
            if error.errno not in _NO_SUCH_NAME:
                raise LookupFailed(f"{hostname}: {error.strerror}") from error
            return self._remember(hostname, (), CACHE_FAILURE_S)
        return self._remember(hostname, tuple(alternating(found)[:ADDRESSES_MAX]), self._cache_s)

    async def _ask_system(self, hostname: str) -> list[str]:
        lookup = partial(socket.getaddrinfo, hostname, None, type=socket.SOCK_STREAM)
        found = await trio.to_thread.run_sync(lookup, abandon_on_cancel=True, limiter=self._threads)
        return [str(address[0]) for _, _, _, _, address in found]

    def _remember(self, hostname: str, addresses: tuple[str, ...], seconds: float) -> tuple[str, ...]:
        self._cache[hostname] = (trio.current_time() + seconds, addresses)
        self._cache.move_to_end(hostname)
        while len(self._cache) > self._cache_entries_max:
            self._cache.popitem(last=False)
        return addresses


def alternating(addresses: Iterable[str]) -> list[str]:
    """Return distinct addresses so that those of IPv4 and of IPv6 take turns, beginning with the first one.

    Of a name only a few are tried: a machine whose IPv6 leads nowhere is to come to one of IPv4 among them.

    Source: RFC 8305, 4.
    """
    distinct = list(dict.fromkeys(addresses))
    first = [address for address in distinct if (":" in address) == (":" in distinct[0])]
    others = [address for address in distinct if (":" in address) != (":" in distinct[0])]
    pairs = zip_longest(first, others)
    return [address for pair in pairs for address in pair if address is not None]


class FixedEndpoint(msgspec.Struct, frozen=True):
    """Where a table puts a host; the ports stand in for 80, 443 and 21; others of URLs stay as they are."""

    ip: str
    http: int | None = None
    https: int | None = None
    ftp: int | None = None


class FixedResolver:
    """Answers from a table alone, which stands for the whole web: nothing that is not in it exists.

    So a crawl of a copy never asks the original, whether a link names its host or its public address.
    Private addresses are none of a web's; whether they may be asked is for `AddressPolicy` to say.
    """

    def __init__(self, table: dict[str, FixedEndpoint]) -> None:
        self._table = table

    @classmethod
    def load(cls, path: Path) -> FixedResolver:
        """Read a table from JSON: `{"host": "ip"}` or `{"host": {"ip": ..., "http": port, "https": port}}`.

        Raises:
          OSError: the file cannot be read.
          ValueError: it is not such a table.
        """
        entries: dict[str, Any] = msgspec.json.decode(path.read_bytes(), type=dict[str, str | FixedEndpoint])
        return cls({name: FixedEndpoint(at) if isinstance(at, str) else at for name, at in entries.items()})

    async def resolve(self, hostname: str, port: int) -> Endpoints:
        endpoint = self._table.get(hostname)
        if endpoint is None and is_address(hostname) and not ip_address(hostname).is_global:
            return Endpoints((hostname,), port)
        if endpoint is None:
            raise NoSuchName(f"not in the resolver's table: {hostname}")
        stand_in = {80: endpoint.http, 443: endpoint.https, 21: endpoint.ftp}.get(port)
        return Endpoints((endpoint.ip,), stand_in or port)


def is_address(hostname: str) -> bool:
    """Tell whether a host name is an address."""
    try:
        ip_address(hostname)
    except ValueError:
        return False
    return True


# EAI_NODATA is not in every platform's headers.
_NO_SUCH_NAME = (socket.EAI_NONAME, socket.EAI_FAMILY, getattr(socket, "EAI_NODATA", socket.EAI_NONAME))
