"""When an address may be asked next, whatever the names of the hosts that are there. Pure.

An address that is public is asked one thing at a time and left alone for the delay after each, though
thousands of names lead to it: it is one machine that answers. Who comes while it is not its turn gets a place
in the queue and is told when to come again, so that names that share an address take turns.

What is promised. By one peer: never two questions at a time, and the delay between them. By the mesh: no
more than one question at a time for each peer, and in the mean about one in a delay where many names share
the address. Peers do not tell each other whom they ask; but names are dealt out to peers by their hash, so
who has many names of an address knows that the others have as many, and leaves it alone for as many delays
as there are peers, or as it has met names there if these are fewer. That never keeps a name waiting that is
alone, and costs a site of two names that one peer happens to have twice the delay, not a hundred times; an
address with a few names at each of many peers is asked more often than once in a delay: of n peers with k
names each n / min(n, k) times.

An IPv6 address stands for its /64, of which whoever has one address has all. What is not public is the
operator's own and is not held back: a laboratory has a hundred hosts on one machine.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from ipaddress import IPv6Address
from typing import Final

from xxhash import xxh32_intdigest

from peers.crawler.addresses import is_public

BOOKED_S_MAX: Final = 3_600.0  # ahead; who would come later is told to ask again then, without a place
QUEUE_HOSTS_MAX: Final = 2_000  # likewise
LATE_S_MAX: Final = 5.0  # who comes later than that has lost its place
ADDRESSES_MAX: Final = 16_384  # with more, those that anybody may ask are forgotten now and then
# Names that are met at an address are counted by the bits that they set: 160 bytes, whatever comes. So 100
# names are counted as about 95, and 1,000 as 640.
_NAME_BITS: Final = 1_024
_GROUPS_OF_NETWORK: Final = 4  # of an IPv6 address: /64, RFC 4291, 2.5.4


class _Turn:
    """What is known of one address."""

    __slots__ = ("delay_s", "free_s", "is_taken", "names", "queue", "seconds", "since_s")

    def __init__(self) -> None:
        self.is_taken = False
        self.since_s = 0.0  # when it was
        self.seconds = 0.0  # that the last question took
        self.delay_s = 0.0
        self.free_s = 0.0  # not before
        self.names = 0  # a bit for each that was met here, of some the same one
        self.queue: dict[str, float] = {}  # hosts in the order of their turns, and when each was told to come

    def meet(self, host: str, delay_s: float, peers: int) -> float:
        """Note that a name is here; return the delay of the one machine behind all names of all peers."""
        self.names |= 1 << xxh32_intdigest(host.encode()) % _NAME_BITS
        return delay_s * max(1, min(peers, self.names.bit_count()))

    def next_host(self, now: float) -> str | None:
        """Who has the next turn; who has not come for it is left out."""
        while self.queue:
            host = next(iter(self.queue))
            if now <= self.queue[host] + LATE_S_MAX:
                return host
            del self.queue[host]
        return None

    def likely_free_s(self, now: float) -> float:
        """When it can be asked next: a question takes what the last one took, or twice what it has taken."""
        if not self.is_taken:
            return max(now, self.free_s)
        return self.since_s + max(self.seconds, 2.0 * (now - self.since_s)) + self.delay_s

    def is_of_use(self, now: float) -> bool:
        return self.is_taken or self.free_s > now or self.next_host(now) is not None


class AddressTurns:
    """Who may ask which address now; times are of any clock that does not go back."""

    def __init__(self, is_shared: Callable[[str], bool] = is_public) -> None:
        """Begin without having asked anybody.

        Args:
          is_shared: tells whether an address is held back at all.
        """
        self.is_shared = is_shared
        self._turns: dict[str, _Turn] = {}
        self._count_to_tidy = ADDRESSES_MAX

    def take(self, address: str, host: str, delay_s: float, now: float, peers: int = 1) -> bool:
        """Begin to ask a host at an address, which is left alone for the delay after; False: not now.

        Args:
          peers: among whom names are dealt out, this one too.
        """
        if not self.is_shared(address):
            return True
        turn = self._turn_of(address, now)
        delay_s = turn.meet(host, delay_s, peers)
        if turn.is_taken or now < turn.free_s or turn.next_host(now) not in (None, host):
            return False
        turn.queue.pop(host, None)
        turn.is_taken, turn.since_s, turn.delay_s = True, now, delay_s
        return True

    def release(self, address: str, now: float) -> None:
        """End a question, whatever came of it."""
        turn = self._turns.get(_network(address))
        if turn is not None and turn.is_taken:
            turn.is_taken = False
            turn.seconds = now - turn.since_s
            turn.free_s = now + turn.delay_s

    def give_back(self, address: str) -> None:
        """Undo `take`: nothing was asked."""
        turn = self._turns.get(_network(address))
        if turn is not None:
            turn.is_taken = False

    def book(self, addresses: Iterable[str], host: str, delay_s: float, now: float, peers: int = 1) -> float:
        """Return in how many seconds a host is to come again, at least the delay, and keep its place."""
        turn = min((self._turn_of(address, now) for address in addresses), key=lambda each: len(each.queue))
        turn_s = turn.seconds + turn.meet(host, delay_s, peers)
        n_before = list(turn.queue).index(host) if host in turn.queue else len(turn.queue)
        first_s = max(turn.likely_free_s(now), now + delay_s)
        pause_s = first_s + n_before * turn_s - now
        if n_before >= QUEUE_HOSTS_MAX or pause_s >= BOOKED_S_MAX:
            return BOOKED_S_MAX
        turn.queue[host] = now + pause_s
        return pause_s

    def _turn_of(self, address: str, now: float) -> _Turn:
        if len(self._turns) >= self._count_to_tidy:
            self._tidy(now)
        return self._turns.setdefault(_network(address), _Turn())

    def _tidy(self, now: float) -> None:
        """Forget addresses that anybody may ask."""
        self._turns = {network: turn for network, turn in self._turns.items() if turn.is_of_use(now)}
        self._count_to_tidy = max(ADDRESSES_MAX, 2 * len(self._turns))


def _network(address: str) -> str:
    if ":" not in address:
        return address
    return IPv6Address(address).exploded[: 5 * _GROUPS_OF_NETWORK - 1]
