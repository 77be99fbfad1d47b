"""Find the addresses of host names, through the system or from a table. [io]

Judging the addresses is not done here but in `addresses.py`, for every answer of every resolver alike.
"""

from __future__ import annotations

import socket
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Iterable
from functools import partial
from ipaddress import ip_address
from itertools import zip_longest
from pathlib import Path
from typing import Any, NamedTuple, Protocol, TypeAlias

import msgspec
import trio

LOOKUP_S_MAX = 10.0  # glibc alone tries for 5 s per server; a name that takes longer waits for the next time
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


class Resolver(Protocol):
    """Finds where a host is. An address as a name resolves to itself."""

    async def resolve(self, hostname: str, port: int) -> Endpoints:
        """Return addresses and port to connect to for a host and port of a URL.

        Raises:
          NoSuchName: definitively not there.
          LookupFailed: no answer now.
        """


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
        # An own limiter: look-ups that were given up go on in their threads and must not take those of all.
        self._threads = trio.CapacityLimiter(lookups_max)
        self._lookup = lookup or self._ask_system

    async def resolve(self, hostname: str, port: int) -> Endpoints:
        if is_address(hostname):
            return Endpoints((hostname,), port)
        remembered = self._cache.get(hostname)
        if remembered is not None and remembered[0] > trio.current_time():
            addresses = remembered[1]
        else:
            addresses = await self._ask(hostname)
        if not addresses:
            raise NoSuchName(f"no such name: {hostname}")
        return Endpoints(addresses, port)

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
    """Where a table puts a host; the ports stand in for 80 and 443, other ports of URLs stay as they are."""

    ip: str
    http: int | None = None
    https: int | None = None


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
        stand_in = {80: endpoint.http, 443: endpoint.https}.get(port)
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
