"""The leases of the addresses that are ours to lend, as their slots are held here. Pure.

One peer has an address at a time. Who wants one that another has waits for it, in the order of coming and as
long as it says so again; who has it is told. What is given back goes at once to who has waited longest, to be
asked when the delay is over, so that no time is lost.

What was lent before a slot came here is not known. So at the first question for one of its addresses all
members are asked what they have of it (`TellLeases`); until all have told, or all leases that there can be
have ended, only those are renewed that somebody has. The dead have none for longer than their licence lasts.
Several may have one that nobody lent for a while, each by a lease of its own: then none is renewed, and the
address is lent when all have ended.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from math import inf
from typing import Final, NamedTuple, TypeAlias

import numpy as np

from mesh.actors.ownership import Ownership
from mesh.slot_set import SlotMask, encode_slots
from peers.crawler.model.wire_messages import AddressLeased, LeaseAddress, LeasesTold, TellLeases

LEASE_S: Final = 45.0  # a question may take 30, so that it is good for new ones for 15
AHEAD_S: Final = 10.0  # an address is lent at most so long before it may be asked
# Who has had it for so long while others wait gets it for no longer; that is a peer that does not give back.
HELD_S_MAX: Final = 180.0
WAITING_S_MAX: Final = 10.0  # who has not said for so long that it wants an address waits no more
TOLD_AGAIN_S: Final = 4.0  # until who has an address is told again that others want it
TELL_AGAIN_S: Final = 2.0  # until members that have not told what they have are asked again
ADDRESSES_MAX: Final = 65_536  # 30 MB; with more, others are not lent

Answers: TypeAlias = list[tuple[str, AddressLeased]]  # each with the peer that it is for


class _Waiting(NamedTuple):
    number: int  # of its last question
    at_s: float  # when that came
    delay_s: float


class _Address:
    """One address, the peer that has leased it, and the peers that wait."""

    __slots__ = (
        "also",
        "delay_s",
        "free_s",
        "network",
        "number",
        "peer",
        "since_s",
        "slot",
        "told_s",
        "until_s",
        "waiting",
    )

    def __init__(self, network: str, slot: int, free_s: float) -> None:
        self.network = network
        self.slot = slot
        self.peer = ""  # that has it; "" for nobody
        self.number = 0  # of its lease
        self.since_s = self.until_s = -inf
        self.delay_s = 0.0  # that is kept after its last question
        self.free_s = free_s  # not to be asked before
        self.told_s = -inf  # when who has it was told last that others wait
        self.also: dict[str, tuple[int, float]] = {}  # who has it too, with number and end of its lease
        self.waiting: dict[str, _Waiting] = {}  # peers in the order of their turns

    def end_if_over(self, now: float) -> None:
        while self.peer and self.until_s <= now:
            self._end(self.until_s + self.delay_s)

    def take_back(self, peer: str, number: int, free_s: float) -> bool:
        """End a lease, if the peer has it; return whether it had."""
        if (self.peer, self.number) == (peer, number):
            self._end(free_s)
        elif peer in self.also and self.also[peer][0] == number:
            del self.also[peer]
            self.free_s = max(self.free_s, free_s)
        else:
            return False
        return True

    def _end(self, free_s: float) -> None:
        self.peer, self.free_s = "", max(self.free_s, free_s)
        if self.also:
            self.peer = next(iter(self.also))
            self.number, self.until_s = self.also.pop(self.peer)

    def next_peer(self, now: float) -> str | None:
        """Return the peer that waits longest; peers that have not asked again of late are left out."""
        self.waiting = {peer: each for peer, each in self.waiting.items() if now < each.at_s + WAITING_S_MAX}
        return next(iter(self.waiting), None)

    def lend(self, peer: str, number: int, delay_s: float, now: float) -> Answers:
        """Let a peer have it, or have it for longer."""
        if self.peer != peer:
            self.since_s, self.told_s = now, -inf
        after_s = max(0.0, self.free_s - now)
        self.peer, self.number, self.delay_s = peer, number, delay_s
        self.until_s = now + after_s + LEASE_S
        is_wanted = self.next_peer(now) is not None
        return [(peer, AddressLeased(self.network, number, after_s, after_s + LEASE_S, is_wanted))]

    def lend_next(self, now: float) -> Answers:
        """Lend it to the peer that waits longest, if no peer has it."""
        peer = self.next_peer(now)
        if self.peer or peer is None or self.free_s > now + AHEAD_S:
            return []
        waiting = self.waiting.pop(peer)
        return self.lend(peer, waiting.number, waiting.delay_s, now)

    def renew(self, message: LeaseAddress, now: float) -> Answers:
        """Renew the lease of the peer that has it.

        Who does not know that it has it did not get our answer, or was started again and may just have asked.
        """
        if self.next_peer(now) is not None and now > self.since_s + HELD_S_MAX:
            return [(self.peer, self._wanted())]
        self.free_s = now if message.is_held else max(self.free_s, now + message.delay_s)
        return self.lend(self.peer, message.number, message.delay_s, now)

    def have_wait(self, peer: str, message: LeaseAddress, now: float) -> Answers:
        """Tell a peer that others have it or will before, and the peer that has it that it is wanted."""
        n_before = list(self.waiting).index(peer)
        after_s = min(n_before * message.delay_s, WAITING_S_MAX / 2)  # each has one turn at least
        answers: Answers = [(peer, AddressLeased(self.network, message.number, after_s, 0.0))]
        if self.peer and self.told_s + TOLD_AGAIN_S <= now:
            self.told_s = now
            answers.append((self.peer, self._wanted()))
        return answers

    def _wanted(self) -> AddressLeased:
        return AddressLeased(self.network, self.number, 0.0, 0.0, is_wanted=True)


class _Inquiry:
    """An inquiry after the leases that others have in slots that came here together."""

    def __init__(self, number: int, slots: SlotMask, ownership: Ownership, now: float) -> None:
        self.number = number
        self.slots = slots
        self.silent = set(ownership.alive)
        self.until_s = now + LEASE_S + AHEAD_S  # when all leases have ended
        self.again_s = inf  # when the silent ones are asked again; inf before it matters
        self.asked_s = now  # until when those asked who are held for dead

    def is_over(self, now: float) -> bool:
        return not self.silent or now >= self.until_s or not self.slots.any()


class LentAddresses:
    """The addresses of the slots held here."""

    def __init__(self, fence_s: float) -> None:
        """Begin with none.

        Args:
          fence_s: from when a member is held for dead until it certainly asks nothing any more.
        """
        self._fence_s = fence_s
        self._addresses: dict[str, _Address] = {}
        self._held: SlotMask = np.zeros(0, np.bool_)
        self._asked_s = np.zeros(0)  # by slot: until when somebody may have asked whom we do not know of
        self._inquiries: list[_Inquiry] = []

    @property
    def lent_count(self) -> int:
        return sum(bool(each.peer) for each in self._addresses.values())

    @property
    def waiting_count(self) -> int:
        return sum(len(each.waiting) for each in self._addresses.values())

    def hold(self, slots: SlotMask, number: int, ownership: Ownership, now: float) -> None:
        """Lend the addresses of exactly these slots from now on.

        Args:
          number: of the inquiry what others have of those that are new.
        """
        if len(self._held) != len(slots):
            self._held, self._asked_s = np.zeros_like(slots), np.full(len(slots), -inf)
        new = slots & ~self._held
        self._held = slots.copy()
        self._asked_s[new] = now + LEASE_S + AHEAD_S
        self._addresses = {name: each for name, each in self._addresses.items() if slots[each.slot]}
        for inquiry in self._inquiries:
            inquiry.slots &= slots & ~new
        self._inquiries = [each for each in self._inquiries if not each.is_over(now)]
        self._inquiries.append(_Inquiry(number, new, ownership, now))

    def change_members(self, alive: frozenset[str], now: float) -> None:
        """Let those have nothing that are held for dead, as soon as they cannot ask anything any more."""
        dead_s = now + self._fence_s
        for inquiry in self._inquiries:
            if inquiry.silent - alive:
                inquiry.silent &= alive
                inquiry.asked_s = dead_s
                if not inquiry.silent:
                    self._open(inquiry, now)
        for each in self._addresses.values():
            if each.peer and each.peer not in alive:
                each.until_s = min(each.until_s, dead_s)

    def lease(self, peer: str, message: LeaseAddress, slot: int, now: float) -> Answers:
        """Answer a peer that wants an address; with nothing when its slot is not held here."""
        address = self._address_of(message.network, slot, message.delay_s, now)
        if address is None:
            return []
        address.end_if_over(now)
        is_known = self._is_known(slot, now)
        if not address.peer and message.is_held and not is_known:
            address.peer, address.since_s = peer, now
        # Who has told of a lease, and asks as if it had none, waits for what others tell.
        if address.peer == peer and not address.also and (is_known or message.is_held):
            return address.renew(message, now)
        address.waiting[peer] = _Waiting(message.number, now, message.delay_s)
        answers = address.lend_next(now) if is_known else []
        is_lent = bool(answers) and address.peer == peer
        return answers if is_lent else answers + address.have_wait(peer, message, now)

    def take_back(self, peer: str, network: str, number: int, free_s: float, now: float) -> Answers:
        """Let others have an address, unless it is by another lease that a peer has it."""
        address = self._addresses.get(network)
        if address is None or not address.take_back(peer, number, now + free_s):
            return []
        return address.lend_next(now)

    # --- what others have of slots that came here ---

    def note_told(self, peer: str, told: LeasesTold, slot_of: Callable[[str], int], now: float) -> Answers:
        """Take up the leases that a member got from earlier holders; lend the rest when all have told."""
        inquiry = next((each for each in self._inquiries if each.number == told.number), None)
        if inquiry is None or peer not in inquiry.silent:
            return []
        inquiry.silent.discard(peer)
        for network, number in told.leases:
            slot = slot_of(network)
            address = self._address_of(network, slot, 0.0, now) if inquiry.slots[slot] else None
            if address is None or address.peer == peer:
                continue
            address.waiting.pop(peer, None)
            if address.peer:
                address.also[peer] = number, now + LEASE_S
            else:
                address.free_s = now
                address.lend(peer, number, 0.0, now)
        if inquiry.silent:
            return []
        self._open(inquiry, now)
        known = [each for each in self._addresses.values() if each.waiting and inquiry.slots[each.slot]]
        return [answer for each in known for answer in each.lend_next(now)]

    def _open(self, inquiry: _Inquiry, now: float) -> None:
        """Begin to lend addresses without a lease: an earlier leaseholder may have asked until it told."""
        asked_s = max(now, inquiry.asked_s)
        self._asked_s[inquiry.slots] = asked_s
        for each in self._addresses.values():
            if inquiry.slots[each.slot] and not each.peer:
                each.free_s = asked_s + max(
                    (waiting.delay_s for waiting in each.waiting.values()), default=0.0
                )

    def next_inquiry_s(self) -> float:
        return min((each.again_s for each in self._inquiries), default=inf)

    def inquire(self, now: float) -> Iterator[tuple[str, TellLeases]]:
        """Ask the members that have not told their leases so far, where it matters."""
        self._inquiries = [each for each in self._inquiries if not each.is_over(now)]
        for inquiry in self._inquiries:
            if inquiry.again_s <= now:
                inquiry.again_s = now + TELL_AGAIN_S
                told = TellLeases(inquiry.number, encode_slots(inquiry.slots))
                for peer in sorted(inquiry.silent):
                    yield peer, told

    def _is_known(self, slot: int, now: float) -> bool:
        """Is all known that is lent of a slot? If not, it is asked for."""
        for inquiry in self._inquiries:
            if not inquiry.is_over(now) and inquiry.slots[slot]:
                if inquiry.again_s == inf:
                    inquiry.again_s = now
                return False
        return True

    def _address_of(self, network: str, slot: int, delay_s: float, now: float) -> _Address | None:
        if slot >= len(self._held) or not self._held[slot]:
            return None
        address = self._addresses.get(network)
        if address is None:
            if len(self._addresses) >= ADDRESSES_MAX and not self._tidy(now):
                return None
            free_s = float(self._asked_s[slot]) + delay_s
            address = self._addresses[network] = _Address(network, slot, free_s)
        return address

    def _tidy(self, now: float) -> bool:
        """Forget addresses that anybody may have; tell whether there were any."""
        for each in self._addresses.values():
            each.end_if_over(now)
        self._addresses = {
            name: each
            for name, each in self._addresses.items()
            if each.peer or each.next_peer(now) is not None or each.free_s > now
        }
        return len(self._addresses) < ADDRESSES_MAX
