"""Reports whose receivers and sources change while they wait."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from mesh.actors.actor import Message
from mesh.actors.ownership import Ownership
from mesh.actors.slot_reports import ReportKind, SlotReports
from mesh.slots import SlotTable
from mesh.tables.memory_table import MemoryTable

SLOTS = 64
BEFORE = SlotTable(dict.fromkeys(("ann", "bob", "cyd"), 100), SLOTS, 2)
AFTER = SlotTable(dict.fromkeys(("ann", "bob", "cyd", "dan"), 100), SLOTS, 2)


class Said(NamedTuple):
    """An item: of a slot, about another."""

    source: int
    number: int


class SaidTold(Message, frozen=True, tag=9_999):
    """A batch of them."""

    batch: int
    items: tuple[Said, ...]


def ownership(table: SlotTable) -> Ownership:
    return Ownership("ann", table, frozenset(table.peers))


def reports_of(source_of: Callable[[Said], int] | None) -> SlotReports[Said]:
    kind = ReportKind(Said, lambda item: item.number, SaidTold, items_max=10, source_of=source_of)
    reports = SlotReports("ann", "actor", MemoryTable(), 1, kind)
    reports.change_ownership(ownership(BEFORE), 0.0)
    return reports


def source_slots() -> tuple[int, int]:
    """A slot that is ann's before and after, and one that is before only."""
    before, after = ownership(BEFORE), ownership(AFTER)
    ours = [slot for slot in range(SLOTS) if "ann" in before.team_of(slot)]
    kept = next(slot for slot in ours if "ann" in after.team_of(slot))
    return kept, next(slot for slot in ours if "ann" not in after.team_of(slot))


def told(reports: SlotReports[Said], now: float) -> list[Said]:
    messages = [send.message for send in reports.wake(now)]
    return [item for message in messages if isinstance(message, SaidTold) for item in message.items]


def test_what_comes_from_a_slot_that_was_given_away_is_told_no_more_and_holds_back_nothing() -> None:
    """Its receiver takes no batch with it, so all that was in one with it was told in vain for ever."""
    kept, lost = source_slots()
    number = next(slot for slot in range(SLOTS) if ownership(AFTER).answerer_of(slot) == "bob")
    items = [Said(kept, number), Said(lost, number)]
    for source_of, left in ((None, items), (lambda item: item.source, items[:1])):
        reports = reports_of(source_of)
        reports.tell(items, 0.0)
        assert told(reports, 0.0) == items
        reports.change_ownership(ownership(AFTER), 1.0)
        assert {item for now in (1.0, 5.0) for item in told(reports, now)} == set(left)
        assert reports.waiting_count == reports.n_told == len(left)
