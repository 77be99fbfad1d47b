"""Ships the changes in a store to the other live members of each slot's team, until they have kept them.

Nothing of it is in a table: what was not kept when this process dies, or what a member missed that stayed
silent too long or had too much before it, is found by comparison later. What must not happen before the team
has kept something waits here as a *pledge*: an answer to who sent us links, or the news that a page is done.
It is redeemed when everything shipped up to it has been kept and the links that it covers have been accepted
by their owners.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterable
from dataclasses import dataclass, field
from math import inf, isfinite
from typing import Final

from mesh.actors.actor import Address, Send
from mesh.actors.delivery import Delivery, DeliverySettings
from mesh.actors.ownership import Ownership
from mesh.errors import RemoteProtocolError
from mesh.slot_set import encode_slot_list
from mesh.tables.lives import numbers_of
from peers.handover.messages import SlotsDiffer
from peers.handover.store import MirroredStore, Shipment
from peers.handover.wire_messages import ItemsChanged, ItemsKept

RESEND_S: Final = 1.0  # first pause before an unanswered shipment goes out again; doubled each time
RESEND_S_MAX: Final = 2.0
# Who lives and does not answer so long is left to comparison, and for as long gets nothing. What is accepted
# then is with us alone for a while, so it must not happen for want of repetitions: of 15, none is answered
# once in 25,000 times where a third of all messages gets lost.
SILENT_S: Final = 30.0
SHIPMENTS_UNDER_WAY: Final = 64  # to one member; a commit, which its answer waits for, is 0.1 s
BYTES_UNDER_WAY: Final = 8 << 20  # 80 ms of a gigabit
BYTES_WAITING_MAX: Final = 32 << 20  # for one member; with more it is left to comparison at once
FORMER_KEPT: Final = 4  # ownerships before the one of now: who was in a team by them has things to tell yet


@dataclass(slots=True, eq=False)
class Pledge:
    """Messages and rows that are held back until the other members have kept the changes before."""

    batches: set[int] = field(default_factory=set)  # of the outbox, not yet accepted
    sends: tuple[Send, ...] = ()
    keys: tuple[bytes, ...] = ()  # of rows that the others may hear of then
    shipped_to: float = inf  # the number of the last shipment that it waits for


class Mirror:
    """Shipments by member and number, and the pledges that wait for them."""

    def __init__(self, me: str, actor: str, store: MirroredStore, life: int) -> None:
        """Begin without members.

        Args:
          actor: name of the actor it belongs to, here and at the other peers.
          life: of this peer, whose numbers no shipment of an earlier life has.
        """
        self._me = me
        self._actor = actor
        self._store = store
        self._ownership: Ownership | None = None
        self._former: deque[Ownership] = deque(maxlen=FORMER_KEPT)
        self._members: dict[int, tuple[str, ...]] = {}  # cache: whom a slot is shipped to
        self._delivery: Delivery[int, Shipment] = Delivery(_SETTINGS)
        self._silent_until_s: dict[str, float] = {}
        self._numbers = numbers_of(life)
        self._last = 0  # number drawn
        self._unshipped: list[Pledge] = []
        self._unkept: deque[Pledge] = deque()  # in the order of shipping
        self._by_batch: dict[int, list[Pledge]] = defaultdict(list)
        self.shipped_count = 0  # items, once for each member
        self.merged_count = 0  # items of others
        self.refused_count = 0  # messages of others with changes
        self.told_refused_count = 0  # items of ours that others have left out

    def change_ownership(self, ownership: Ownership) -> None:
        """Forget the parts of shipments to peers that are not alive or not in the team any more.

        Of a shipment that has other slots, too, those go on: its receiver refuses what is not for it, and
        with that the whole.
        """
        if self._ownership is not None:
            self._former.append(self._ownership)
        self._ownership = ownership
        self._members.clear()
        for peer, number, shipment in self._delivery.parcels():
            slots = frozenset(slot for slot in shipment.slots if peer in self._members_of(slot))
            if not slots:
                self._delivery.withdraw(peer, number)
            elif slots != shipment.slots:
                self._delivery.replace(peer, number, self._store.only(shipment, slots))
        self._store.note_changes(is_wanted=self.has_members)

    def receive(self, source: Address, message: ItemsChanged | ItemsKept, now: float) -> list[Send]:
        """Take in changes of another member of a team, or its answer that it has kept changes of ours."""
        if isinstance(message, ItemsChanged):
            return self._merge(source, message, now)
        if self._delivery.note_answer(source.peer, message.batch, now) is not None:
            self.told_refused_count += message.refused
        return []

    def _merge(self, source: Address, message: ItemsChanged, now: float) -> list[Send]:
        """Take in changes. Without an answer they are sent again.

        The sender may be ahead of us in who belongs to the team, or behind. Who was in it until a moment ago
        may have visited something before it stopped, which nobody else knows of.
        """
        ownership, me = self._ownership, self._me
        if ownership is None:
            return []

        def is_taken(slot: int) -> bool:
            if slot >= ownership.table.slot_count or me not in ownership.team_of(slot):
                return False
            return any(source.peer in each.team_of(slot) for each in (ownership, *self._former))

        refused_before = self._store.items_refused
        try:
            if not isfinite(message.sent_at):
                raise RemoteProtocolError("changes at no time")
            offset_s = now - message.sent_at
            self.merged_count += self._store.merge_changes(source.peer, message.items, is_taken, offset_s)
        except RemoteProtocolError:
            self.refused_count += 1
            return []
        return [Send(source, ItemsKept(message.batch, self._store.items_refused - refused_before))]

    @property
    def has_members(self) -> bool:
        """May any slot have a team with others in it?"""
        ownership = self._ownership
        return (
            ownership is not None
            and len(ownership.alive) > 1
            and (ownership.table.replicas > 1 or ownership.serving is not ownership.table)
        )

    @property
    def has_news(self) -> bool:
        """Is there anything to ship?"""
        return self._store.has_changes or bool(self._unshipped)

    def ship(self, now: float) -> list[Send]:
        """Send rows that have changed as they are at this commit; the pledges made so far wait for them."""
        by_peer: dict[str, list[bytes]] = defaultdict(list)
        for key in self._store.take_changes():
            for peer in self._members_of(int.from_bytes(key[:2], "big")):
                by_peer[peer].append(key)
        sends: list[Send] = []
        for peer, keys in by_peer.items():
            if self._silent_until_s.get(peer, -inf) > now:
                sends.append(self._differ(peer, {int.from_bytes(key[:2], "big") for key in keys}))
            else:
                sends += self._ship_to(peer, keys, now)
        sends += self._send_due(now)
        for pledge in self._unshipped:
            pledge.shipped_to = self._last
        self._unkept.extend(self._unshipped)
        self._unshipped.clear()
        return sends

    def pledge(self, pledge: Pledge) -> None:
        """Take a pledge; redeem it once all changes before it are kept, and its batches are accepted."""
        self._unshipped.append(pledge)
        for batch in pledge.batches:
            self._by_batch[batch].append(pledge)

    def accepted(self, batch: int) -> list[Pledge]:
        """Note that the links of a batch are safe; return the pledges that may be redeemed at once."""
        ready = []
        for pledge in self._by_batch.pop(batch, ()):
            pledge.batches.discard(batch)
            if not pledge.batches and pledge.shipped_to == -inf:
                ready.append(pledge)
        return ready

    def replaced(self, batch: int, others: Iterable[int]) -> None:
        """The links of a batch are in others now, and some perhaps in our own frontier, not yet shipped."""
        pledges = self._by_batch.pop(batch, [])
        others = list(others)
        for pledge in pledges:
            pledge.batches.discard(batch)
            pledge.batches.update(others)
            for other in others:
                self._by_batch[other].append(pledge)
            if pledge.shipped_to == -inf:
                pledge.shipped_to = inf
                self._unshipped.append(pledge)
            # Else it waits for a shipment that is older than these links: it has to wait for the next.
            elif pledge.shipped_to < inf:
                self._unkept.remove(pledge)
                pledge.shipped_to = inf
                self._unshipped.append(pledge)

    def redeem(self) -> list[Pledge]:
        """Return the pledges of which everything is kept and accepted."""
        first = min(self._delivery.first_keys(), default=self._last + 1)
        ready = []
        while self._unkept and self._unkept[0].shipped_to < first:
            pledge = self._unkept.popleft()
            pledge.shipped_to = -inf
            if not pledge.batches:
                ready.append(pledge)
        return ready

    def wake(self, now: float) -> list[Send]:
        """Repeat unanswered shipments, leave members silent for too long to comparison."""
        return self._send_due(now) if self._delivery.wake_at_s <= now else []

    def wake_at(self) -> float:
        return self._delivery.wake_at_s

    @property
    def waiting_count(self) -> int:
        """Shipments that are not kept so far."""
        return len(self._delivery)

    @property
    def has_pledges(self) -> bool:
        """Does any pledge wait for shipments that are under way?"""
        return bool(self._unkept)

    @property
    def has_any_pledge(self) -> bool:
        """Does any pledge wait, for shipments that are under way or for the next ones?"""
        return bool(self._unshipped or self._unkept)

    @property
    def is_idle(self) -> bool:
        """Have all members kept the changes they are to hear of, and is every pledge redeemed?"""
        is_waiting = len(self._delivery) or self._unshipped or self._unkept or self._by_batch
        return not (is_waiting or self._store.has_changes)

    def _members_of(self, slot: int) -> tuple[str, ...]:
        members = self._members.get(slot)
        if members is None:
            ownership = self._ownership
            assert ownership is not None
            team = ownership.team_of(slot)
            members = tuple(peer for peer in team if peer != self._me and peer in ownership.alive)
            self._members[slot] = members
        return members

    def _ship_to(self, peer: str, keys: list[bytes], now: float) -> list[Send]:
        for shipment in self._store.shipments(keys):
            self._last = next(self._numbers)
            if not self._delivery.add(peer, self._last, shipment, len(shipment.items), now):
                return [self._give_up(peer, {int.from_bytes(key[:2], "big") for key in keys}, now)]
            self.shipped_count += shipment.n_items
        return []

    def _send_due(self, now: float) -> list[Send]:
        leaving, given_up = self._delivery.wake(now)
        sends = [
            Send(Address(peer, self._actor), ItemsChanged(number, now, shipment.items))
            for peer, number, shipment in leaving
        ]
        silent: dict[str, set[int]] = defaultdict(set)
        for peer, _, shipment in given_up:
            silent[peer] |= shipment.slots
        return sends + [self._give_up(peer, slots, now) for peer, slots in sorted(silent.items())]

    def _give_up(self, peer: str, slots: set[int], now: float) -> Send:
        """Leave these slots, and all other changes that wait for a member, to comparison."""
        for parcel in self._delivery.remove_receiver(peer):
            slots |= parcel.item.slots
        self._silent_until_s[peer] = now + SILENT_S
        return self._differ(peer, slots)

    def _differ(self, peer: str, slots: Iterable[int]) -> Send:
        assert self._ownership is not None
        encoded = encode_slot_list(slots, self._ownership.table.slot_count)
        return Send(Address(self._me, "handover"), SlotsDiffer(peer, encoded))


_SETTINGS: Final = DeliverySettings(
    again_s=RESEND_S,
    again_max_s=RESEND_S_MAX,
    give_up_s=SILENT_S,
    window=SHIPMENTS_UNDER_WAY,
    window_bytes=BYTES_UNDER_WAY,
    waiting_bytes_max=BYTES_WAITING_MAX,
)
