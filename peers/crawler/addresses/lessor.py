"""The actor that leases addresses of the web from the peers that lend them, and lends those of our own slots.

Theory of operation
===================
An address, like a host, has a slot, and is lent by the peer that holds the slot: one at any time, since a
slot is held only when all others have yielded it (`peers.handover`). Who wants to ask an address leases it
from there; the fetcher keeps the lease (`address_queues`), here goes only what is said of it. A lease is
counted from when it was asked for, and cut by what clocks may differ, so it ends here before it ends there.

*Nobody has to be told for an address to be safe.* Questions and answers get lost, come late and twice. An
answer counts once, and only from who lends the address by our own view; numbers tell leases apart. Who was
held for dead has no leases any more when it may crawl again. What was lent by somebody else before a slot
moved is told to who lends it now, and what is on its way from the former one counts no more from then on.

*Nobody stops anybody.* Who has an address and dies has it until its licence is over. When who lends it is
silent for `PATIENCE_S`, the address is lent here, for as many delays as there are others who may do the same.
Not while that is merely separated from us (`mesh.membership.failures.separations`): it lives, and lends it to
others. A lease of our own is told like any other, and ends with the first word of who lends the address.
"""

from __future__ import annotations

from math import inf
from typing import ClassVar, Final

from mesh.actors.actor import Actor, Address, Message, Send, Statistics
from mesh.actors.ownership import Ownership, OwnershipChanged
from mesh.errors import LocalProtocolError
from mesh.membership.model.messages import MembersSeparated
from mesh.slot_set import decode_slots
from mesh.tables.lives import numbers_of
from peers.crawler.addresses.lent_addresses import AHEAD_S, LEASE_S, WAITING_S_MAX, Answers, LentAddresses
from peers.crawler.model.messages import AddressLent, LeasesLost, LeaveAddress, WantAddress
from peers.crawler.model.wire_messages import (
    LEASES_TOLD_MAX,
    PAUSE_S_MAX,
    AddressLeased,
    AddressReturned,
    LeaseAddress,
    LeasesTold,
    TellLeases,
)
from peers.handover.messages import HoldSlots

PATIENCE_S: Final = LEASE_S  # with who lends an address and says nothing
AGAIN_S: Final = 2.0  # before an address is asked for again
CLOCKS_DIFFER: Final = 0.05  # those of two peers, in a second
WISHES_MAX: Final = 16_384  # with more, those of long ago are forgotten now and then


class LessorStatistics(Statistics, frozen=True):
    """The leases at present, and counts since the start."""

    leased: int  # addresses that we may ask
    lent: int  # that members may ask, we too
    waiting: int  # members for those
    on_our_own: int  # count: lent here since nobody granted any turns


class _Wish:
    """An address that is wanted here."""

    __slots__ = ("asked", "asked_s", "is_own", "number", "silent_s", "until_s", "want", "wanted_s")

    def __init__(self, want: WantAddress) -> None:
        self.want = want  # the last one
        self.asked: dict[int, float] = {}  # questions to which an answer counts, and when they were asked
        self.asked_s = -inf  # when the last one was
        self.wanted_s = -inf  # when it was wanted last
        self.silent_s = inf  # since when there is no answer
        self.number = 0  # of the lease
        self.until_s = -inf  # when that ends
        self.is_own = False  # it was lent here


class Lessor(Actor):
    """Neighbours: lessors, fetcher, handover, membership."""

    name: ClassVar[str] = "lessor"
    remote_messages: ClassVar[frozenset[type[Message]]] = frozenset(
        {LeaseAddress, AddressLeased, AddressReturned, TellLeases, LeasesTold}
    )

    def __init__(self, me: str, life: int, fence_s: float) -> None:
        """Begin with nothing leased or lent.

        Args:
          fence_s: from when a member is held for dead until it certainly asks nothing any more.
        """
        self._me = me
        self._fetcher = Address(me, "fetcher")
        self._numbers = numbers_of(life)
        self._ownership: Ownership | None = None
        self._separated: frozenset[str] = frozenset()  # members that live, and cannot answer us
        self._lent = LentAddresses(fence_s)
        self._wishes: dict[str, _Wish] = {}
        self._wishes_to_tidy = WISHES_MAX
        self._now = 0.0
        self._own_count = 0

    def receive(self, source: Address, message: Message, now: float) -> list[Send]:
        self._now = now
        match message:
            case OwnershipChanged(ownership):
                return self._change_ownership(ownership, now)
            case MembersSeparated(peers):
                self._separated = peers
                return []
            case _ if self._ownership is None:
                return []  # others repeat what they want
            case HoldSlots(slots):
                return self._hold(self._ownership, slots, now)
            case WantAddress():
                return self._want(self._ownership, message, now)
            case LeaveAddress():
                return self._leave(self._ownership, message)
            case LeaseAddress(network):
                slot = self._ownership.slot_of(network)
                return _to_lessors(self._lent.lease(source.peer, message, slot, now))
            case AddressReturned(network, number, free_s):
                return _to_lessors(self._lent.take_back(source.peer, network, number, free_s, now))
            case AddressLeased():
                return self._note_leased(self._ownership, source.peer, message, now)
            case TellLeases():
                return self._tell_leases(self._ownership, source, message, now)
            case LeasesTold():
                slot_of = self._ownership.slot_of
                return _to_lessors(self._lent.note_told(source.peer, message, slot_of, now))
        raise LocalProtocolError(f"the lessor does not understand {type(message).__name__}")

    def wake(self, now: float) -> list[Send]:
        self._now = now
        return [Send(Address(peer, self.name), tell) for peer, tell in self._lent.inquire(now)]

    def wake_at(self) -> float:
        return self._lent.next_inquiry_s()

    def observe(self) -> LessorStatistics:
        leased = sum(wish.until_s > self._now for wish in self._wishes.values())
        return LessorStatistics(leased, self._lent.lent_count, self._lent.waiting_count, self._own_count)

    # --- what we want ---

    def _want(self, ownership: Ownership, want: WantAddress, now: float) -> list[Send]:
        wish = self._wish_of(want, now)
        sends: list[Send] = []
        owner = ownership.owner_of(ownership.slot_of(want.network))
        # What was left without an answer before is long over, or the answer went to others.
        is_new = now >= wish.wanted_s + PATIENCE_S or owner in self._separated
        wish.silent_s = now if is_new else min(wish.silent_s, now)
        wish.wanted_s = now
        if owner is not None and now >= wish.asked_s + AGAIN_S:
            sends.append(self._ask(owner, wish, now))
        if now >= wish.silent_s + PATIENCE_S:
            self._own_count += 1
            peers = sum(weight > 0 for weight in ownership.table.weights.values())
            wish.number, wish.until_s, wish.is_own = next(self._numbers), now + LEASE_S, True
            lent = AddressLent(want.network, wish.number, 0.0, LEASE_S, peers=max(1, peers))
            sends.append(Send(self._fetcher, lent))
        return sends

    def _ask(self, owner: str, wish: _Wish, now: float) -> Send:
        number, want = next(self._numbers), wish.want
        wish.asked = {each: at_s for each, at_s in wish.asked.items() if now < at_s + LEASE_S}
        wish.asked[number] = wish.asked_s = now
        delay_s = min(want.delay_s, PAUSE_S_MAX)
        return Send(Address(owner, self.name), LeaseAddress(want.network, number, delay_s, want.is_held))

    def _note_leased(self, ownership: Ownership, peer: str, leased: AddressLeased, now: float) -> list[Send]:
        """Take an answer, once, and only from the peer that lends the address by our own view."""
        wish = self._wishes.get(leased.network)
        if wish is None or peer != ownership.owner_of(ownership.slot_of(leased.network)):
            return []
        asked_s = wish.asked.get(leased.number)
        if asked_s is None and leased.number != wish.number:
            return []
        wish.silent_s = inf
        number, seconds = leased.number, 0.0
        if leased.seconds > 0.0:
            if asked_s is None:
                return []  # it was taken already
            wish.asked = {each: at_s for each, at_s in wish.asked.items() if each > number}
            seconds = min(leased.seconds, LEASE_S + AHEAD_S) * (1.0 - CLOCKS_DIFFER) - (now - asked_s)
            if seconds <= 0.0:
                return []
            wish.number, wish.until_s, wish.is_own = number, now + seconds, False
        lent = AddressLent(leased.network, number, min(leased.after_s, AHEAD_S), seconds, leased.is_wanted)
        return [Send(self._fetcher, lent)]

    def _leave(self, ownership: Ownership, leave: LeaveAddress) -> list[Send]:
        wish = self._wishes.get(leave.network)
        owner = ownership.owner_of(ownership.slot_of(leave.network))
        if wish is None or wish.number != leave.number or owner is None:
            return []
        wish.until_s = wish.asked_s = -inf
        returned = AddressReturned(leave.network, leave.number, min(leave.free_s, PAUSE_S_MAX))
        return [Send(Address(owner, self.name), returned)]

    def _wish_of(self, want: WantAddress, now: float) -> _Wish:
        if len(self._wishes) >= self._wishes_to_tidy:
            self._wishes = {
                name: wish
                for name, wish in self._wishes.items()
                if wish.until_s > now or wish.asked_s > now - PATIENCE_S
            }
            self._wishes_to_tidy = max(WISHES_MAX, 2 * len(self._wishes))
        wish = self._wishes.setdefault(want.network, _Wish(want))
        wish.want = want
        return wish

    # --- slots and members ---

    def _change_ownership(self, ownership: Ownership, now: float) -> list[Send]:
        self._ownership = ownership
        self._lent.change_members(ownership.alive, now)
        return []

    def _hold(self, ownership: Ownership, slots: bytes, now: float) -> list[Send]:
        """Lend the addresses of these slots; where there are none, others may have all that was ours.

        But for what is being asked: that is told to who lends it now, and given back when it is over.
        """
        mask = decode_slots(slots, ownership.table.slot_count)
        self._lent.hold(mask, next(self._numbers), ownership, now)
        if mask.any() or not self._wishes:
            return []
        self._wishes = {network: wish for network, wish in self._wishes.items() if wish.until_s > now}
        for wish in self._wishes.values():
            wish.asked.clear()
        return [Send(self._fetcher, LeasesLost())]

    def _tell_leases(self, ownership: Ownership, source: Address, tell: TellLeases, now: float) -> list[Send]:
        """Tell the peer that lends addresses now which leases we have, and take none that was lent before.

        What we have asked for is asked again; what was lent here is given back, after what is being asked.
        """
        slots = decode_slots(tell.slots, ownership.table.slot_count)
        if (slots & ~ownership.table.slots_of(source.peer)).any():
            return []  # soon both have the same table
        of_slots = [
            (network, wish) for network, wish in self._wishes.items() if slots[ownership.slot_of(network)]
        ]
        leases = tuple((network, wish.number) for network, wish in of_slots if wish.until_s > now)
        if len(leases) > LEASES_TOLD_MAX:
            return []
        sends = [Send(source, LeasesTold(tell.number, leases))]
        for network, wish in of_slots:
            if wish.is_own and wish.until_s > now:
                sends.append(Send(self._fetcher, AddressLent(network, wish.number, 0.0, 0.0, is_wanted=True)))
            is_wanted = wish.asked and now < wish.asked_s + WAITING_S_MAX
            wish.asked.clear()
            if is_wanted:
                sends.append(self._ask(source.peer, wish, now))
        return sends


def _to_lessors(answers: Answers) -> list[Send]:
    return [Send(Address(peer, Lessor.name), answer) for peer, answer in answers]
