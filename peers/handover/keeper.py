"""The part of an actor with a store that handles all of the conversation about whole slots.

The actor hands it every message that it does not understand itself, its `OwnershipChanged` and its wakes, and
ends every turn with `end_turn`. The keeper compares the store with those of other peers and moves what is
lacking (`exchange`), ships what changes to the team if there is a mirror, forgets what the handover says, a
little at a time, and tells the handover where something has come.
"""

from __future__ import annotations

from math import inf
from typing import Final

from mesh.actors.actor import Address, Message, Send
from mesh.actors.ownership import Ownership, OwnershipChanged
from mesh.errors import LocalProtocolError, RemoteProtocolError
from mesh.slot_set import SlotMask, decode_slots, encode_slot_list, encode_slots
from peers.handover.exchange import Exchange
from peers.handover.messages import (
    ForgetSlots,
    SlotsComplete,
    SlotsFilled,
    StopSynchronising,
    SynchroniseSlots,
)
from peers.handover.mirror import Mirror
from peers.handover.settings import ExchangeSettings
from peers.handover.store import Part, Store, StoreDeclaration, StoreStatistics
from peers.handover.wire_messages import (
    CompareSlots,
    ItemsChanged,
    ItemsKept,
    ItemsSent,
    ItemsTaken,
    SendItems,
    SlotsCompared,
)

FORGET_ENTRIES: Final = 1_000  # some milliseconds
FORGET_PAUSE_S: Final = 0.02  # for messages, and a commit, in between


class Keeper:
    """Brings a store together with the same store of other peers, as the handover of this peer says."""

    def __init__(
        self,
        me: str,
        declaration: StoreDeclaration,
        store: Store,
        settings: ExchangeSettings | None = None,
        life: int = 1,
        mirror: Mirror | None = None,
        forget_entries: int = FORGET_ENTRIES,
    ) -> None:
        """Begin without knowing the mesh.

        Args:
          life: of this peer, as `mesh.tables.lives` counts them.
          forget_entries: deleted at a time.
          mirror: of the same store, if what changes is to be told as it happens; None when the actor sees to
            that in another way, or leaves it to comparison.
        """
        self._declaration = declaration
        self._store = store
        self._exchange = Exchange(me, declaration.actor, store, settings, life)
        self._mirror = mirror
        self._forget_entries = forget_entries
        self._handover = Address(me, "handover")
        self._slot_count = 0  # of the mesh, once that is known
        self._has_told_filled = False
        self._forget_at = inf
        self._postponed: list[SynchroniseSlots] = []  # until all is forgotten

    def receive(self, source: Address, message: Message, now: float) -> list[Send]:
        """React to a message about whole slots.

        Raises:
          RemoteProtocolError: it is of a mirror, and this store has none.
          LocalProtocolError: it is about something else, so the actor should have understood it.
        """
        match message:
            case ItemsChanged() | ItemsKept():
                if self._mirror is None:
                    raise RemoteProtocolError(f"{self._declaration.name} are not mirrored")
                return self._mirror.receive(source, message, now)
            case SynchroniseSlots() if self._store.is_forgetting:
                self._postponed.append(message)
                return []
            case StopSynchronising(task):
                self._postponed = [each for each in self._postponed if each.task != task]
                return self._exchange.receive(source, message, now)
            case (
                SynchroniseSlots()
                | CompareSlots()
                | SlotsCompared()
                | SendItems()
                | ItemsSent()
                | ItemsTaken()
            ):
                return self._exchange.receive(source, message, now)
            case SlotsComplete(slots):
                self._exchange.note_complete(self.decode(slots))
                return []
            case ForgetSlots(slots):
                self._store.forget_later(self.decode(slots))
                self._forget_at = now
                return []
            case OwnershipChanged(ownership):
                self.change_ownership(ownership, now)
                return []
        raise LocalProtocolError(f"{self._declaration.actor} does not understand {type(message).__name__}")

    def change_ownership(self, ownership: Ownership, now: float) -> None:
        """Follow a new view of which peers keep which slots; the first one says how many slots there are."""
        self._slot_count = ownership.table.slot_count
        self._exchange.change_ownership(ownership)
        if self._mirror is not None:
            self._mirror.change_ownership(ownership)
        if self._store.is_forgetting:  # what an earlier life was asked to
            self._forget_at = min(self._forget_at, now)

    def wake(self, now: float) -> list[Send]:
        sends: list[Send] = []
        if self._mirror is not None and self._mirror.wake_at() <= now:
            sends += self._mirror.wake(now)
        if self._exchange.wake_at_s <= now:
            sends += self._exchange.wake(now)
        if self._forget_at <= now:
            self._store.forget_some(self._forget_entries)
            self._forget_at = now + FORGET_PAUSE_S if self._store.is_forgetting else inf
        if self._postponed and not self._store.is_forgetting:
            postponed, self._postponed = self._postponed, []
            for message in postponed:
                sends += self._exchange.receive(self._handover, message, now)
        return sends

    def wake_at(self) -> float:
        at = min(self._exchange.wake_at_s, self._forget_at)
        return at if self._mirror is None else min(at, self._mirror.wake_at())

    @property
    def has_news(self) -> bool:
        """Has anything changed that the team is to hear of by `before_commit`?"""
        return self._mirror is not None and self._mirror.has_news

    def before_commit(self, now: float) -> list[Send]:
        """Ship rows that have changed; every `before_commit` of an actor with a mirror calls this."""
        return self._mirror.ship(now) if self.has_news and self._mirror is not None else []

    def end_turn(self, now: float) -> list[Send]:
        """Send the news of anything that may have happened; every turn of the actor ends with this."""
        if not self._slot_count or (self._has_told_filled and not self._store.newly_filled):
            return []
        return [Send(self._handover, self._filled())]

    def _filled(self) -> SlotsFilled:
        """The first time all at once, also that there is nothing: no slot is yielded before that is known."""
        newly_filled = self._store.newly_filled
        if self._has_told_filled:
            told = encode_slot_list(newly_filled, self._slot_count)
        else:
            told = encode_slots(self._store.filled_mask(self._slot_count))
        self._has_told_filled = True
        newly_filled.clear()
        return SlotsFilled(told)

    # --- What goes by way of a port

    def give_part(self, ticket: int, part: Part, now: float) -> list[Send]:
        """Send a part that an order of `Store.parts` was for."""
        return self._exchange.give_part(ticket, part, now)

    def end_merge(self, ticket: int, now: float) -> list[Send]:
        """Go on after an order of `Store.merge` has been carried out."""
        return self._exchange.end_merge(ticket, now)

    # --- Looking

    @property
    def is_bringing(self) -> bool:
        """Is anything to be brought here?"""
        return bool(self._postponed) or self._exchange.is_pulling

    def decode(self, slots: bytes) -> SlotMask:
        assert self._slot_count, "slots before the first OwnershipChanged"
        return decode_slots(slots, self._slot_count)

    def observe(self) -> StoreStatistics:
        exchange, mirror = self._exchange.observe(), self._mirror
        slot_count = self._slot_count
        return StoreStatistics(
            name=self._declaration.name,
            slots_filled=int(self._store.filled_mask(slot_count).sum()) if slot_count else 0,
            is_forgetting=self._store.is_forgetting,
            tasks=exchange.tasks + len(self._postponed),
            transfers=exchange.transfers,
            parts_received=exchange.parts_received,
            bytes_received=exchange.bytes_received,
            parts_sent=exchange.parts_sent,
            bytes_sent=exchange.bytes_sent,
            parts_refused=exchange.parts_refused,
            slots_compared=exchange.slots_compared,
            slots_differing=exchange.slots_differing,
            items_shipped=mirror.shipped_count if mirror is not None else 0,
            items_merged=mirror.merged_count if mirror is not None else 0,
            items_refused=self._store.items_refused,
            items_told_refused=mirror.told_refused_count if mirror is not None else 0,
            changes_refused=mirror.refused_count if mirror is not None else 0,
            unkept=mirror.waiting_count if mirror is not None else 0,
        )
