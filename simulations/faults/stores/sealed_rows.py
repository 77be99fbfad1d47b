"""Entities that the mesh keeps: those that were promised are there, forgotten ones leave nothing."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from functools import partial
from typing import ClassVar, Final

import msgspec
from msgspec.structs import replace

from mesh.actors.actor import Message
from mesh.actors.ownership import Ownership
from peers.actors import ENTITIES_SECTION
from peers.entities.entities import Entities
from peers.entities.seal import RowKey
from peers.entities.sealed_row import (
    KEY_BYTES,
    NONCE_BYTES,
    SealedRow,
    key_in_name,
    name_of,
    row_bytes,
    row_in,
    slot_of_key,
)
from peers.entities.wire_messages import KeepSealed
from peers.gateway.model.messages import FindRow, KeepRow, RowAnswered, RowFound
from peers.handover.item_store import Item
from peers.handover.wire_messages import ItemsChanged
from peers.policy.entity_rules import EntityRules
from peers.policy.rules import DAY_S
from simulations.faults.stores.store_use import TICKETS, StoreUse, UsedMachine, UsedRun, all_rows

ENTITIES: Final = 8
PAUSE_S: Final = 5.0  # mean, between two changes
FORGETS_SHARE: Final = 0.15  # of the changes to what is kept
DAYS: Final = 30
ANSWERED_S: Final = 6.0
_TICKETS: Final = 2 * TICKETS
_QUESTIONS: Final = 3 * TICKETS


class EntityUse(StoreUse):
    """Entities of one owner, changed and forgotten now and then.

    Attributes:
      kept: the last row of each, by its number, that a gateway said is kept.
    """

    switches: ClassVar = {"entities": EntityRules()}
    rows = ENTITIES_SECTION + Entities.rows_section
    questions = (KeepSealed,)
    chance = "entities"

    def __init__(self, run: UsedRun) -> None:
        super().__init__(run)
        self.kept: dict[int, SealedRow] = {}
        self._keys = [RowKey(number.to_bytes(KEY_BYTES, "big")) for number in range(ENTITIES)]
        self._tried: dict[int, list[SealedRow]] = defaultdict(list)
        self._ordered: dict[int, tuple[int, SealedRow]] = {}  # number and row, by ticket
        self._found: dict[int, RowFound] = {}  # by number, of those that were asked for last

    def begin(self, until: float) -> None:
        self.act_now_and_then(self._change, PAUSE_S, until)

    def _change(self) -> None:
        random = self._random
        number = random.randrange(ENTITIES)
        is_forgotten = number in self.kept and random.random() < FORGETS_SHARE
        self._order(number, self._forgetting(number) if is_forgotten else self._row(number))

    def _row(self, number: int) -> SealedRow:
        change = len(self._ordered) + 1
        content = b"fields of entity %d, change %d" % (number, change)
        until_day = int(self._world.now // DAY_S) + DAYS
        return self._keys[number].seal(change, until_day, content, change.to_bytes(NONCE_BYTES, "big"))

    def _forgetting(self, number: int) -> SealedRow:
        return self._keys[number].forget(self.kept[number])

    def _order(self, number: int, row: SealedRow) -> None:
        running = self._run.running()
        if not running:
            return
        machine, ticket = self._random.choice(running), _TICKETS + len(self._ordered)
        self._ordered[ticket] = number, row
        self._tried[number].append(row)
        what = "forgets" if row.is_forgotten else "changes"
        self._run.tell(f"the owner of entity {number} {what} it at {machine.name}")
        machine.order(KeepRow(ticket, self._keys[number].public, row))

    def told(self, machine: UsedMachine, message: Message) -> bool:
        match message:
            case RowAnswered(ticket, refusal):
                number, row = self._ordered[ticket]
                self._run.tell(f"{machine.name} says of entity {number}: {refusal or 'kept'}")
                if not refusal and not self._is_before(row, number):
                    self.kept[number] = row
                return True
            case RowFound(ticket):
                self._found[ticket - _QUESTIONS] = message
                return True
        return False

    def _is_before(self, row: SealedRow, number: int) -> bool:
        """Is a row that is kept by a late answer older than one that was kept before?"""
        kept = self.kept.get(number)
        return kept is not None and (kept.is_forgotten, kept.number) > (row.is_forgotten, row.number)

    def lacking(self) -> list[str]:
        said = [] if 0 in self.kept else ["entity 0"]
        return said if 1 in self.kept and self.kept[1].is_forgotten else [*said, "the end of entity 1"]

    def insist(self) -> None:
        if 0 not in self.kept:
            self._order(0, self._row(0))
        if 1 not in self.kept:
            self._order(1, self._row(1))
        elif not self.kept[1].is_forgotten:
            self._order(1, self._forgetting(1))

    # --- The member that lies

    def lie(self, machine: UsedMachine, until: float) -> None:
        """Have a member bring back rows of before, and forge others."""
        self.lie_now_and_then(machine, partial(self._lies, machine), until)

    def _lies(self, machine: UsedMachine, ownership: Ownership) -> Iterator[tuple[str, str, Message]]:
        tried = [number for number, rows in self._tried.items() if rows]
        if not tried:
            return
        number = self._random.choice(tried)
        old, public = self._random.choice(self._tried[number]), self._keys[number].public
        forged = replace(old, number=old.number + 1_000)
        other = replace(old, sealed=old.sealed[:-1] + b"?") if old.sealed else forged
        slot = slot_of_key(public, ownership.table.slot_count)
        for row in (forged, other, old):
            ticket = self._random.randrange(1 << 40)
            yield ownership.owner_of(slot) or "", Entities.name, KeepSealed(ticket, public, row)
            item = Item(slot, name_of(public), row_bytes(row))
            changed = ItemsChanged(ticket, machine.local_time(), msgspec.msgpack.encode([item]))
            for peer in ownership.team_of(slot):
                yield peer, Entities.name, changed

    # --- Judging

    def wrong(self, machines: Sequence[UsedMachine]) -> Iterator[str]:
        found = {key_in_name(key[2:]): row_in(value) for key, value in all_rows(machines, self.rows).items()}
        for number, kept in self.kept.items():
            row = found.get(self._keys[number].public)
            later = [each for each in self._tried[number] if each.is_forgotten or each.number >= kept.number]
            if row is None:
                yield f"entity {number} is lost, which was kept"
            elif kept.is_forgotten and not row.is_forgotten:
                yield f"entity {number} is back, which was forgotten"
            elif row not in later and row != kept:
                yield f"entity {number} is as of change {row.number}, and change {kept.number} was kept"
        yield from self._left(machines)
        yield from self._not_told(found)

    def _left(self, machines: Sequence[UsedMachine]) -> Iterator[str]:
        """Find content of forgotten entities, anywhere in the table of a peer."""
        contents = [
            (number, each.sealed)
            for number, kept in self.kept.items()
            for each in self._tried[number]
            if kept.is_forgotten and each.sealed
        ]
        for machine in machines:
            everything = b"".join(value for _, value in machine.disk.table.scan(b""))
            for number in sorted({number for number, content in contents if content in everything}):
                yield f"{machine.name} still has something of entity {number}, which was forgotten"

    def _not_told(self, found: dict[bytes | None, SealedRow]) -> Iterator[str]:
        """Rows that a gateway does not give as they are."""
        self._found.clear()
        for number, key in enumerate(self._keys):
            machine = self._run.some_gateway()
            assert machine is not None
            machine.order(FindRow(_QUESTIONS + number, key.public))
        self._world.run(until=self._world.now + ANSWERED_S)
        for number, key in enumerate(self._keys):
            answer = self._found.get(number)
            if answer is None or not answer.is_complete:
                yield f"no gateway knows whether entity {number} is kept"
            elif answer.row != found.get(key.public):
                yield f"a gateway gives another row of entity {number} than its team has"
