"""When an address may be asked next, with one queue for all the hosts at it, by any name. Pure.

An address that is public is asked one thing at a time and left alone for the delay after each, though
thousands of names lead to it: it is one machine that answers. Who comes while it is not its turn gets a place
in the queue and is told when to come again, so that names that share an address take turns.

That is so over all peers: an address is asked only under a *lease*, which the lessor gets from that of the
peer that owns the address's slot (`lessor`). Nothing has to be said for each question: as long as nobody else
wants the address a lease is renewed ahead, while it is used; when others do it is given back after a few
turns. A question begins only while a lease lasts as long as any question may take. Where nobody grants leases
the lessor lends the address without knowing of others. Then names that are dealt out to peers by their hash
are as many at each, so who meets many names at an address leaves it alone for as many delays as there are
peers, or as it has met names there if these are fewer: about one question in a delay, in the mean.

An IPv6 address stands for its /64, of which whoever has one address has all. What is not public is the
operator's own and is not held back, unless he wants it: a laboratory has a hundred hosts on one machine.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from ipaddress import IPv6Address
from math import inf
from typing import Final

from xxhash import xxh32_intdigest

from mesh.actors.actor import Message
from peers.crawler.addresses.addresses import is_public
from peers.crawler.model.messages import AddressLent, LeaveAddress, WantAddress

BOOKED_S_MAX: Final = 3_600.0  # ahead; who would come later is told to ask again then, without a place
QUEUE_HOSTS_MAX: Final = 2_000  # likewise
LATE_S_MAX: Final = 5.0  # who comes later than that has lost its place
PAUSE_S_MIN: Final = 0.05  # after which anybody is to come again
ADDRESSES_MAX: Final = 16_384  # with more, those that anybody may ask are forgotten now and then
QUESTION_S_MAX: Final = 30.0  # that a question takes, `FetchLimits.total_s`
RENEWED_S: Final = 36.0  # of a lease in use, with less left it is renewed
TURNS_MAX: Final = 4  # of a lease that others want
ASK_S: Final = 0.1  # after which a lease that was asked for is there, as a rule
# After which the first in the queue looks again, while others have the lease; when they give it back the
# delay after their last question begins, at most half of which is over then.
WAIT_S: Final = 0.5
# Names that are met at an address are counted by the bits that they set: 160 bytes, whatever comes. So 100
# names are counted as about 95, and 1,000 as 640.
_NAME_BITS: Final = 1_024
_GROUPS_OF_NETWORK: Final = 4  # of an IPv6 address: /64, RFC 4291, 2.5.4


class _Lease:
    """That we may ask an address, and how that ends."""

    __slots__ = ("from_s", "is_wanted", "number", "peers", "turns", "until_s")

    def __init__(self, lent: AddressLent, now: float, turns: int) -> None:
        self.number = lent.number
        self.from_s = now + lent.after_s
        self.until_s = now + lent.seconds
        self.is_wanted = lent.is_wanted
        self.peers = lent.peers
        self.turns = turns  # that were had

    def is_good(self, now: float) -> bool:
        """May a question begin now or later?"""
        return now <= self.until_s - QUESTION_S_MAX


class _Turn:
    """The turn, lease and queue of one address."""

    __slots__ = ("delay_s", "free_s", "is_taken", "lease", "look_s", "names", "queue", "seconds", "since_s")

    def __init__(self) -> None:
        self.is_taken = False
        self.since_s = 0.0  # when it was
        self.seconds = 0.0  # that the last question took
        self.delay_s = 0.0
        self.free_s = 0.0  # not before
        self.names = 0  # a bit for each that was met here, of some the same one
        self.queue: dict[str, float] = {}  # hosts in the order of their turns, and when each was told to come
        self.lease: _Lease | None = None
        self.look_s = 0.0  # others have the lease until then at least; 0.0 when that is not known

    def meet(self, host: str, delay_s: float) -> float:
        """Note that a name is here; return the delay of the one machine behind all the names."""
        self.names |= 1 << xxh32_intdigest(host.encode()) % _NAME_BITS
        peers = 1 if self.lease is None else self.lease.peers
        return delay_s * max(1, min(peers, self.names.bit_count()))

    def next_host(self, now: float) -> str | None:
        """Return the host that has the next turn; hosts that have not come for it are left out."""
        while self.queue:
            host = next(iter(self.queue))
            if now <= self.queue[host] + LATE_S_MAX:
                return host
            del self.queue[host]
        return None

    def likely_free_s(self, now: float) -> float:
        """Estimate when it is free: a question takes as long as the last one, or twice its time so far."""
        if not self.is_taken:
            return max(now, self.free_s)
        seconds = now - self.since_s
        return self.since_s + (self.seconds if seconds < self.seconds else 2.0 * seconds) + self.delay_s

    def is_of_use(self, now: float) -> bool:
        is_leased = self.lease is not None and self.lease.until_s > now
        return self.is_taken or self.free_s > now or is_leased or self.next_host(now) is not None


class AddressQueues:
    """Which host may ask which address now; times are of any clock that does not go back."""

    def __init__(self, is_shared: Callable[[str], bool] = is_public, *, is_leasing: bool = False) -> None:
        """Begin without having asked anybody.

        Args:
          is_shared: tells whether an address is held back at all.
          is_leasing: a lessor answers `orders`, and nothing is asked without a lease.
        """
        self.is_shared = is_shared
        self._is_leasing = is_leasing
        self._turns: dict[str, _Turn] = {}
        self._count_to_tidy = ADDRESSES_MAX
        self._orders: list[Message] = []

    def take(self, address: str, host: str, delay_s: float, now: float) -> bool:
        """Begin to ask a host at an address, which is left alone for the delay after; False: not now."""
        if not self.is_shared(address):
            return True
        network = network_of(address)
        turn = self._turn_of(network, now)
        delay_s = turn.meet(host, delay_s)
        if turn.is_taken or now < turn.free_s or turn.next_host(now) not in (None, host):
            return False
        if self._is_leasing and not self._has_lease(network, turn, delay_s, now):
            return False
        turn.queue.pop(host, None)
        turn.is_taken, turn.since_s, turn.delay_s = True, now, delay_s
        return True

    def release(self, address: str, now: float) -> None:
        """End a question, with or without an answer."""
        network = network_of(address)
        turn = self._turns.get(network)
        if turn is not None and turn.is_taken:
            turn.is_taken = False
            turn.seconds = now - turn.since_s
            turn.free_s = now + turn.delay_s
            self._return_wanted(network, turn, now)

    def give_back(self, address: str) -> None:
        """Undo `take`: nothing was asked."""
        turn = self._turns.get(network_of(address))
        if turn is not None:
            turn.is_taken = False

    def book(self, addresses: Iterable[str], host: str, delay_s: float, now: float) -> float:
        """Return in how many seconds a host is to come again, and keep its place."""
        turns = {network_of(address): self._turn_of(network_of(address), now) for address in addresses}
        network, turn = min(turns.items(), key=lambda each: len(each[1].queue))
        turn_s = turn.seconds + turn.meet(host, delay_s)
        n_before = list(turn.queue).index(host) if host in turn.queue else len(turn.queue)
        first_s = turn.likely_free_s(now)
        if self._is_leasing:
            first_s = max(first_s, self._leased_s(network, turn, delay_s, now))
        pause_s = max(first_s + n_before * turn_s - now, PAUSE_S_MIN)
        if n_before >= QUEUE_HOSTS_MAX or pause_s >= BOOKED_S_MAX:
            return BOOKED_S_MAX
        turn.queue[host] = now + pause_s
        return pause_s

    # --- leases ---

    def take_orders(self) -> list[Message]:
        """Return the messages to the lessor, each once."""
        orders, self._orders = self._orders, []
        return orders

    def lend(self, lent: AddressLent, now: float) -> None:
        """Take the lessor's answer about an address: a lease, a refusal, or that others want it."""
        turn = self._turn_of(lent.network, now)
        lease = turn.lease
        if lent.seconds > 0.0:
            is_renewed = lease is not None and lease.until_s > now
            turn.lease = _Lease(lent, now, lease.turns if lease is not None and is_renewed else 0)
            turn.look_s = 0.0
        elif lease is not None and lease.peers > 1:  # who grants leases is there again, so this was the last
            turn.look_s, lease.until_s, lease.is_wanted = now + lent.after_s, -inf, True
        elif lease is None or lease.number != lent.number:
            turn.look_s = now + lent.after_s
        else:
            lease.is_wanted = lent.is_wanted
        self._return_wanted(lent.network, turn, now)

    def drop_leases(self, now: float) -> None:
        """Ask nothing until leased again; an address that is being asked is given back after its question."""
        for network, turn in self._turns.items():
            lease = turn.lease
            if lease is not None:
                lease.until_s, lease.is_wanted = -inf, True
                self._return_wanted(network, turn, now)

    def _has_lease(self, network: str, turn: _Turn, delay_s: float, now: float) -> bool:
        """Is a question covered that begins now? If so, see to it that the next ones are."""
        lease = turn.lease
        if lease is None or not lease.is_good(now) or now < lease.from_s:
            return False
        lease.turns += 1
        if lease.until_s - now < RENEWED_S and not lease.is_wanted:
            self._orders.append(WantAddress(network, delay_s, is_held=lease.peers == 1))
        return True

    def _leased_s(self, network: str, turn: _Turn, delay_s: float, now: float) -> float:
        """When there is a lease, or it is worth looking whether there is."""
        lease = turn.lease
        if lease is not None and lease.is_good(max(now, lease.from_s)):
            return lease.from_s
        self._return_wanted(network, turn, now)
        lease = turn.lease
        is_held = lease is not None and lease.until_s > now and lease.peers == 1
        self._orders.append(WantAddress(network, delay_s, is_held))
        return max(turn.look_s, now + (min(WAIT_S, delay_s / 2) if turn.look_s else ASK_S))

    def _return_wanted(self, network: str, turn: _Turn, now: float) -> None:
        """Give a lease back that others want, when we have had our turns or nobody comes for them."""
        lease = turn.lease
        if lease is None or not lease.is_wanted or turn.is_taken:
            return
        if lease.turns >= TURNS_MAX or not lease.is_good(now) or turn.next_host(now) is None:
            turn.lease = None
            self._orders.append(LeaveAddress(network, lease.number, max(0.0, turn.free_s - now)))

    def _turn_of(self, network: str, now: float) -> _Turn:
        if len(self._turns) >= self._count_to_tidy:
            self._tidy(now)
        return self._turns.setdefault(network, _Turn())

    def _tidy(self, now: float) -> None:
        """Forget addresses that anybody may ask."""
        self._turns = {network: turn for network, turn in self._turns.items() if turn.is_of_use(now)}
        self._count_to_tidy = max(ADDRESSES_MAX, 2 * len(self._turns))


def network_of(address: str) -> str:
    """Return the network an address counts for: itself, or the first half of an IPv6 address."""
    if ":" not in address:
        return address
    return IPv6Address(address).exploded[: 5 * _GROUPS_OF_NETWORK - 1]
