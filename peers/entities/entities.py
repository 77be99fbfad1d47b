"""The actor that keeps the sealed rows of entities: opaque bytes in the slots of a peer.

It cannot read them. It checks that the owner of each has signed it and that its day has not passed, and
deletes it then; a row that its owner has forgotten has no content, and goes on its last day as all do.
Without `[entities]` in the policy nothing is taken, and all that was is deleted, but for such rows.
"""

from __future__ import annotations

from math import inf
from typing import ClassVar, Final

from mesh.actors.actor import Address, Message, Send
from mesh.actors.ownership import Ownership
from mesh.tables.table import Table
from peers.entities.sealed_row import (
    SealedRow,
    is_of_its_time,
    is_row,
    join,
    key_in_name,
    name_of,
    row_bytes,
    row_in,
    slot_of_key,
)
from peers.entities.wire_messages import (
    ELSEWHERE,
    FULL,
    OFF,
    OUTDATED,
    UNTRUE,
    KeepSealed,
    ReadSealed,
    SealedKept,
    SealedTold,
)
from peers.handover.item_store import Item, ItemStore
from peers.handover.mirror import Pledge
from peers.handover.optional_store import OptionalStoreActor, Places
from peers.handover.store import STORE_MESSAGES, HolderStatistics, StoreDeclaration, StoreStatistics
from peers.policy.entity_rules import KEPT_DAYS_MAX, ROWS_MAX
from peers.policy.rules import DAY_S, Policy

SWEEP_S: Final = 3_600.0  # between two passes over all rows
# Of other peers twice as many are taken as a policy lets a peer have, and of each half of these.
ROWS_OF_OTHERS_MAX: Final = 2 * ROWS_MAX
# Rows in a message of another peer: to check the signature of one takes .11 ms, and this 30 ms.
CHECKED_MAX: Final = 256


class EntityStatistics(HolderStatistics, frozen=True):
    """The work on entities: gauges of now, counts since the start; nothing that is in them."""

    is_on: bool  # does the policy say so?
    rows: int  # gauge, as of the last pass over them and since
    taken: int  # count
    refused: int  # count: by a limit, or since they were not their owner's or not of their time
    dropped: int  # count: rows whose day has passed, or that no policy wants any more


class Entities(OptionalStoreActor):
    """Neighbours: gateways, the entities of others of the team."""

    name: ClassVar[str] = "entities"
    keeps: ClassVar = StoreDeclaration("entities", name, is_optional=True)
    rows_section: ClassVar[bytes] = b"e"
    remote_messages: ClassVar[frozenset[type[Message]]] = STORE_MESSAGES | {KeepSealed, ReadSealed}

    def _begin(self) -> None:
        super()._begin()
        self._n_rows = self._n_swept = 0
        self._places, self._bringer = Places(), ""  # of the slots kept here; of the message at hand
        self._n_taken = self._n_refused = self._n_dropped = 0

    def _is_wanted(self, policy: Policy) -> bool:
        return policy.entities is not None

    def _open_store(self, rows: Table) -> ItemStore:
        return ItemStore(rows, join, items_max=CHECKED_MAX, changed=self._changed, accepts=self._accepts)

    def _observe(self, store: StoreStatistics) -> EntityStatistics:
        return EntityStatistics(
            store=store,
            is_on=self._is_on,
            rows=self._n_rows,
            taken=self._n_taken,
            refused=self._n_refused,
            dropped=self._n_dropped,
        )

    def _handle(self, source: Address, message: Message) -> list[Send]:
        self._bringer = source.peer
        match message:
            case KeepSealed():
                return self._answer(source, message)
            case ReadSealed():
                return [Send(source, self._told(message))]
            case _:
                return super()._handle(source, message)

    def _follow(self, ownership: Ownership) -> None:
        """Count the rows of the slots that are kept from now on, not an hour later."""
        super()._follow(ownership)
        count, kept = ownership.table.slot_count, ownership.kept
        self._places.keep(lambda name: bool(kept[slot_of_key(name[1:], count)]))
        if self._is_on:
            self._n_swept = 0
            self._sweep_anew()

    def _follow_policy(self, before: Policy, *, was_on: bool) -> None:
        self._n_swept = 0
        super()._follow_policy(before, was_on=was_on)

    def _look_at(self, item: Item) -> None:
        """Delete a row whose day has passed, and count the others.

        What was forgotten stays until then also without the policy: a peer that was away, or a member that
        kept the old row, would bring it back when the policy has entities again.
        """
        row = row_in(item.value)
        if row.until_day >= self._today and (self._is_on or row.is_forgotten):
            self._n_swept += 1
            if item.name not in self._places and self._keeps(item.slot):
                self._places.add(item.name, "")  # of a life before, or of a slot that has come back
            return
        self._store.drop(item.slot, item.name)
        self._places.discard(item.name)
        self._n_dropped += 1

    def _next_sweep_at(self) -> float:
        self._n_rows, self._n_swept = self._n_swept, 0
        return self._now + SWEEP_S if self._is_on or self._n_rows else inf

    # --- Gateways

    def _answer(self, gateway: Address, message: KeepSealed) -> list[Send]:
        """Answer a gateway, once the living team has the row."""
        refusal = self._keep(message)
        answer = Send(gateway, SealedKept(message.request, refusal))
        if refusal:
            if refusal not in (ELSEWHERE, OFF):
                self._n_refused += 1
            return [answer]
        self._mirror.pledge(Pledge(sends=(answer,)))
        return []

    def _keep(self, message: KeepSealed) -> str:
        """Take a row as its owner says; return why not."""
        ownership, rules, public = self._ownership, self._policy.entities, message.public
        if ownership is None or rules is None:
            return OFF
        slot = slot_of_key(public, ownership.table.slot_count)
        if ownership.owner_of(slot) != self._me:
            return ELSEWHERE
        value = row_bytes(message.row)
        before = self._store.get(slot, name_of(public))
        if before == value:
            return ""
        if not self._is_timely(message.row, before, rules.days) or not is_row(public, message.row):
            return UNTRUE
        if before is None and not self._has_place(rules.rows_max, is_alone=len(ownership.alive) == 1):
            return FULL
        self._store.put(slot, name_of(public), value)
        if self._store.get(slot, name_of(public)) != value:
            return OUTDATED
        self._n_taken += 1
        return ""

    def _has_place(self, rows_max: int, *, is_alone: bool) -> bool:
        """May the gateway bring one more? One gets half of the places, and takes none of others.

        Who has brought the rows of a life before is forgotten: there are twice as many at most all the same.
        """
        if is_alone:
            return len(self._places) < rows_max
        if len(self._places) >= 2 * rows_max:
            return False
        return self._places.count_of(self._bringer) < self._places.free(rows_max, max(rows_max // 2, 1))

    def _is_timely(self, row: SealedRow, before: bytes | None, days: int) -> bool:
        """May a row be kept today? One that was there may stay until its day, though the policy has fewer."""
        if before is not None and self._today <= row.until_day <= row_in(before).until_day:
            return True
        return is_of_its_time(row, self._today, days)

    def _told(self, message: ReadSealed) -> SealedTold:
        ownership = self._ownership
        if ownership is None or not self._is_on:
            return SealedTold(message.request)
        row = self.row_of(message.public, ownership)
        is_kept = row is not None and is_of_its_time(row, self._today, KEPT_DAYS_MAX)
        return SealedTold(message.request, is_on=True, row=row if is_kept else None)

    # --- Rows

    def row_of(self, public: bytes, ownership: Ownership) -> SealedRow | None:
        """Return a row as it stands here; None where there is none."""
        value = self._store.get(slot_of_key(public, ownership.table.slot_count), name_of(public))
        return None if value is None else row_in(value)

    def _changed(self, slot: int, name: bytes, before: bytes | None, value: bytes) -> None:
        if before is None:
            self._n_rows += 1
            if self._keeps(slot):
                self._places.add(name, self._bringer)

    def _keeps(self, slot: int) -> bool:
        return self._ownership is not None and bool(self._ownership.kept[slot])

    def _accepts(self, slot: int, name: bytes, value: bytes) -> bool:
        """Is this a row in its place, signed by its owner, if another peer says so?"""
        ownership, public = self._ownership, key_in_name(name)
        if ownership is None or public is None or slot_of_key(public, ownership.table.slot_count) != slot:
            return False
        before = self._store.get(slot, name)
        if before == value:
            return True
        rules = self._policy.entities
        places = ROWS_OF_OTHERS_MAX if rules is None else 2 * rules.rows_max
        if before is None and not self._places.has_room(self._bringer, places, is_alone=False):
            return False
        try:
            row = row_in(value)
        except ValueError:
            return False
        return is_of_its_time(row, self._today, KEPT_DAYS_MAX) and is_row(public, row)

    @property
    def _today(self) -> int:
        return int(self._now // DAY_S)
