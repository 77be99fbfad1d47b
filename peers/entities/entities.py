"""The actor that keeps the sealed rows of entities: opaque bytes in the slots of a peer.

It cannot read them. It checks that the owner of each has signed it and that its day has not passed, and
deletes it then; a row that its owner has forgotten has no content, and goes on its last day as all do.
Without `[entities]` in the policy there is nothing, and what was is deleted.
"""

from __future__ import annotations

from math import inf
from typing import ClassVar, Final

from mesh.actors.actor import Address, Message, Send, Statistics
from mesh.actors.ownership import Ownership, OwnershipChanged
from mesh.membership.model.messages import DecreesInForce
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
from peers.handover.item_store import ItemStore, key_of
from peers.handover.keeper import Keeper
from peers.handover.messages import SlotsSynchronised, SynchroniseSlots, UseStore
from peers.handover.mirror import Mirror, Pledge
from peers.handover.store import STORE_MESSAGES, HolderStatistics, StoreActor, StoreDeclaration
from peers.policy.decreed import policy_of
from peers.policy.entity_rules import KEPT_DAYS_MAX, ROWS_MAX, EntityRules
from peers.policy.rules import DAY_S

SWEEP_ROWS: Final = 1_000  # looked through in a turn
SWEEP_PAUSE_S: Final = 0.05
SWEEP_S: Final = 3_600.0  # between two passes over all rows
# Of other peers, with old slots of ours, twice as many are taken as a policy can let a peer have.
ROWS_OF_OTHERS_MAX: Final = 2 * ROWS_MAX


class EntityStatistics(HolderStatistics, frozen=True):
    """The work on entities: gauges of now, counts since the start; nothing that is in them."""

    is_on: bool  # does the policy say so?
    rows: int  # gauge, as of the last pass over them and since
    taken: int  # count
    refused: int  # count: by a limit, or since they were not their owner's or not of their time
    dropped: int  # count: rows whose day has passed, or that no policy wants any more


class Entities(StoreActor):
    """Neighbours: gateways, the entities of others of the team."""

    name: ClassVar[str] = "entities"
    keeps: ClassVar = StoreDeclaration("entities", name, is_optional=True)
    remote_messages: ClassVar[frozenset[type[Message]]] = STORE_MESSAGES | {KeepSealed, ReadSealed}

    def __init__(self, me: str, table: Table, life: int = 1) -> None:
        """Begin without looking at the table: most meshes keep no entities.

        Args:
          table: the section of this actor.
          life: of the peer, see `mesh.tables.lives`.
        """
        self._me, self._table, self._life = me, table, life
        self.is_dormant = True
        self._ownership: Ownership | None = None
        self._rules: EntityRules | None = None
        self._now = 0.0
        self._swept_to, self._sweep_at = b"", inf
        self._n_rows = self._n_swept = 0
        self._n_taken = self._n_refused = self._n_dropped = 0

    def _begin(self) -> None:
        """Take up the rows in the table."""
        self._store = ItemStore(self._table, join, changed=self._changed, accepts=self._accepts)
        self._mirror = Mirror(self._me, self.name, self._store, self._life)
        self._keeper = Keeper(self._me, self.keeps, self._store, life=self._life, mirror=self._mirror)
        self.is_dormant = False

    def receive(self, source: Address, message: Message, now: float) -> list[Send]:
        self._now = now
        sends: list[Send] = []
        match message:
            case KeepSealed():
                sends = self._answer(source, message)
            case ReadSealed():
                sends = [Send(source, self._told(message))]
            case DecreesInForce():
                sends = self._hear_policy(message, now)
            case SynchroniseSlots(task=task, slots=slots) if self._rules is None:
                # That no entities are kept here must keep no slot from changing hands.
                sends = [Send(source, SlotsSynchronised(task, slots))]
            case OwnershipChanged(ownership):
                self._ownership = ownership
                if not self.is_dormant:
                    self._keeper.change_ownership(ownership, now)
            case _ if not self.is_dormant:
                sends = self._keeper.receive(source, message, now)
            case _:
                pass  # others have heard of the policy already, and repeat what they say
        return sends + self._end_turn(now) if not self.is_dormant else sends

    def wake(self, now: float) -> list[Send]:
        self._now = now
        sends = self._keeper.wake(now) if self._keeper.wake_at() <= now else []
        if self._sweep_at <= now:
            self._sweep(now)
        return sends + self._end_turn(now)

    def wake_at(self) -> float:
        return min(self._keeper.wake_at(), self._sweep_at)

    @property
    def has_news(self) -> bool:
        return self._keeper.has_news

    def before_commit(self, now: float) -> list[Send]:
        return self._keeper.before_commit(now) + self._redeem()

    def observe(self) -> Statistics:
        if self.is_dormant:
            return Statistics()
        return EntityStatistics(
            store=self._keeper.observe(),
            is_on=self._rules is not None,
            rows=self._n_rows,
            taken=self._n_taken,
            refused=self._n_refused,
            dropped=self._n_dropped,
        )

    def _end_turn(self, now: float) -> list[Send]:
        return self._redeem() + self._keeper.end_turn(now)

    def _redeem(self) -> list[Send]:
        if not self._mirror.has_pledges:
            return []
        return [send for pledge in self._mirror.redeem() for send in pledge.sends]

    # --- Gateways

    def _answer(self, gateway: Address, message: KeepSealed) -> list[Send]:
        """Answer a gateway, once the living team has the row."""
        refusal = self._keep(message)
        answer = Send(gateway, SealedKept(message.request, refusal))
        if refusal:
            self._n_refused += refusal not in (ELSEWHERE, OFF)
            return [answer]
        self._mirror.pledge(Pledge(sends=(answer,)))
        return []

    def _keep(self, message: KeepSealed) -> str:
        """Take a row as its owner says; return why not."""
        ownership, rules, public = self._ownership, self._rules, message.public
        if ownership is None or rules is None:
            return OFF
        slot = slot_of_key(public, ownership.table.slot_count)
        if ownership.owner_of(slot) != self._me:
            return ELSEWHERE
        value = row_bytes(message.row)
        before = self._store.get(slot, name_of(public))
        if before == value:
            return ""
        if not is_of_its_time(message.row, self._today, rules.days) or not is_row(public, message.row):
            return UNTRUE
        if before is None and self._n_rows >= rules.rows_max:
            return FULL
        self._store.put(slot, name_of(public), value)
        if self._store.get(slot, name_of(public)) != value:
            return OUTDATED
        self._n_taken += 1
        return ""

    def _told(self, message: ReadSealed) -> SealedTold:
        ownership = self._ownership
        if ownership is None or self._rules is None:
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
        self._n_rows += before is None

    def _accepts(self, slot: int, name: bytes, value: bytes) -> bool:
        """Is this a row in its place, signed by its owner, if another peer says so?"""
        ownership, public = self._ownership, key_in_name(name)
        if ownership is None or public is None or slot_of_key(public, ownership.table.slot_count) != slot:
            return False
        before = self._store.get(slot, name)
        if before == value:
            return True
        if before is None and self._n_rows >= ROWS_OF_OTHERS_MAX:
            return False
        try:
            row = row_in(value)
        except ValueError:
            return False
        return is_of_its_time(row, self._today, KEPT_DAYS_MAX) and is_row(public, row)

    # --- Policy and time

    @property
    def _today(self) -> int:
        return int(self._now // DAY_S)

    def _hear_policy(self, message: DecreesInForce, now: float) -> list[Send]:
        policy = policy_of(message)
        if policy is None:
            return []
        before, self._rules = self._rules, policy.entities
        if self.is_dormant:
            if self._rules is None and next(self._table.scan(b"", limit=1), None) is None:
                return []
            self._begin()
            if self._ownership is not None:
                self._keeper.change_ownership(self._ownership, now)
        if self._rules is None or before is None:
            self._swept_to, self._sweep_at, self._n_swept = b"", now, 0
        if self._rules is not None and before is None:
            return [Send(Address(self._me, "handover"), UseStore())]
        return []

    def _sweep(self, now: float) -> None:
        """Delete some rows whose day has passed, or all where the policy wants none, and count the rest."""
        items = self._store.items_after(self._swept_to, SWEEP_ROWS)
        for item in items:
            if self._rules is None or row_in(item.value).until_day < self._today:
                self._store.drop(item.slot, item.name)
                self._n_dropped += 1
            else:
                self._n_swept += 1
        if len(items) == SWEEP_ROWS:
            self._swept_to, self._sweep_at = key_of(items[-1]), now + SWEEP_PAUSE_S
            return
        self._n_rows, self._n_swept, self._swept_to = self._n_swept, 0, b""
        self._sweep_at = inf if self._rules is None else now + SWEEP_S
