"""Which standings make which events, and which of them are kept."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from mesh.membership.model.members import State
from mesh.tables.memory_table import MemoryTable
from peers.history.event import (
    MOVING_TOLD_S,
    Crawling,
    Event,
    EventKind,
    PeerCondition,
    continued,
    events_between,
    line_of,
)
from peers.history.historian import EVENT_S_MAX, EVENTS_MAX, EVENTS_OF_MEMBER_MAX, EventLog

WELL = PeerCondition(at_s=100.0, version="1", slots_owned=10)
ALIVE, SUSPECT, DEAD, LEFT = State.ALIVE, State.SUSPECT, State.DEAD, State.LEFT


def told(before: PeerCondition, now: PeerCondition) -> list[tuple[str, str, float, str]]:
    now = continued(before, now)
    return [(each.kind, each.peer, each.amount, each.text) for each in events_between(before, now)]


@pytest.mark.parametrize(
    ("was", "state", "kinds"),
    [
        (None, ALIVE, [EventKind.JOINED]),
        (None, SUSPECT, [EventKind.JOINED]),
        (None, DEAD, []),  # who was gone before we came is no news
        (None, LEFT, []),
        (ALIVE, ALIVE, []),
        (ALIVE, SUSPECT, [EventKind.SUSPECTED]),
        (SUSPECT, ALIVE, []),
        (ALIVE, DEAD, [EventKind.DOWN]),
        (SUSPECT, DEAD, [EventKind.DOWN]),
        (DEAD, ALIVE, [EventKind.BACK]),
        (DEAD, SUSPECT, [EventKind.BACK, EventKind.SUSPECTED]),
        (DEAD, LEFT, [EventKind.LEFT]),
        (ALIVE, LEFT, [EventKind.LEFT]),
        (LEFT, ALIVE, [EventKind.BACK]),
    ],
)
def test_a_member_that_changes_its_state_is_an_event(
    was: State | None, state: State, kinds: list[EventKind]
) -> None:
    before = replace(WELL, members={} if was is None else {"bob": was})
    assert told(before, replace(WELL, members={"bob": state})) == [(kind, "bob", 0.0, "") for kind in kinds]


@pytest.mark.parametrize(
    ("before", "now", "events"),
    [
        ({}, {}, []),
        ({"version": ""}, {"version": "2"}, [(EventKind.STARTED, "", 0.0, "2")]),
        ({}, {"slots_owned": 15}, [(EventKind.TOOK_OVER, "", 5.0, "")]),
        ({}, {"slots_owned": 0}, [(EventKind.GAVE_UP, "", 10.0, "")]),
        ({}, {"is_disk_full": True}, [(EventKind.DISK_FULL, "", 0.0, "")]),
        ({"is_disk_full": True}, {}, [(EventKind.DISK_FREE, "", 0.0, "")]),
        ({}, {"quarantined": frozenset({"eve"})}, [(EventKind.QUARANTINED, "eve", 0.0, "")]),
        ({}, {"unreachable": frozenset({"eve"})}, [(EventKind.KEPT_OUT, "eve", 0.0, "")]),
        ({"quarantined": frozenset({"eve"})}, {}, [(EventKind.RELEASED, "eve", 0.0, "")]),
        ({}, {"crawling": Crawling.CUT_OFF}, [(EventKind.CUT_OFF, "", 0.0, "")]),
        ({}, {"crawling": Crawling.UNLICENSED}, [(EventKind.UNLICENSED, "", 0.0, "")]),
        ({"crawling": Crawling.CUT_OFF}, {}, [(EventKind.CONNECTED, "", 0.0, "")]),
        ({}, {"is_draining": True}, [(EventKind.DRAINING, "", 0.0, "")]),
        ({"policy_number": 1}, {"policy_number": 2}, [(EventKind.POLICY, "", 2.0, "")]),
        ({}, {"taken_down": 2}, [(EventKind.TAKEN_DOWN, "", 2.0, "")]),
        ({"taken_down": 2}, {"taken_down": 1}, [(EventKind.RESTORED, "", 1.0, "")]),
    ],
)
def test_a_standing_that_changes_is_an_event(
    before: dict[str, object], now: dict[str, object], events: list[tuple[str, str, float, str]]
) -> None:
    assert told(replace(WELL, **before), replace(WELL, **now)) == events


def test_a_handover_is_told_when_it_lasts_and_when_it_ends() -> None:
    seen: list[Event] = []
    standing = WELL
    for second, wanted in enumerate((0, 5, 90, 80, 40, 20, 0, 0)):
        now = continued(standing, replace(WELL, at_s=100.0 + 2.0 * second, slots_wanted=wanted))
        seen += events_between(standing, now)
        standing = now
    assert seen == [
        Event(102.0 + MOVING_TOLD_S, EventKind.HANDOVER_BEGUN, amount=80.0),
        Event(112.0, EventKind.HANDOVER_ENDED, amount=10.0),
    ]


def test_a_handover_that_is_over_at_once_is_not_told() -> None:
    moving = continued(WELL, replace(WELL, at_s=102.0, slots_wanted=5))
    assert events_between(WELL, moving) == []
    assert events_between(moving, replace(WELL, at_s=102.0 + MOVING_TOLD_S)) == []


def test_since_when_and_how_many_at_most_is_noted() -> None:
    first = continued(WELL, replace(WELL, at_s=102.0, slots_wanted=5))
    second = continued(first, replace(WELL, at_s=104.0, slots_wanted=3))
    assert (second.wanted_since_s, second.wanted_most) == (102.0, 5)
    assert continued(second, WELL) == WELL


def test_lines_of_the_log_have_what_there_is() -> None:
    assert line_of(Event(1.0, EventKind.HANDOVER_ENDED, amount=3.2)) == "event hand-over_ended amount=3"
    assert line_of(Event(1.0, EventKind.STARTED, text="1.0")) == "event started text='1.0'"


# --- The log ---


def test_events_are_there_again_after_a_restart_and_numbers_go_on() -> None:
    table = MemoryTable()
    events = tuple(Event(float(n), EventKind.JOINED, f"p{n}") for n in range(3))
    for event in events[:2]:
        EventLog(table).add(event)
    again = EventLog(table)
    again.add(events[2])
    assert again.since(0.0, 10) == EventLog(table).since(0.0, 10) == events
    assert again.since(1.0, 10) == events[1:]
    assert again.since(0.0, 1) == events[2:]


def test_events_are_bounded_by_number_and_by_age() -> None:
    table = MemoryTable()
    log = EventLog(table)
    for n in range(EVENTS_MAX + 10):
        log.add(Event(float(n), EventKind.JOINED, f"p{n}"))
    assert len(log.since(0.0, 10_000)) == len(table) == EVENTS_MAX
    log.add(Event(EVENT_S_MAX + 20.5, EventKind.JOINED, "late"))
    assert log.since(0.0, 10_000)[0].at_s == 21.0


def test_who_comes_and_goes_all_the_time_does_not_push_out_all_else() -> None:
    log = EventLog(MemoryTable())
    log.add(Event(0.0, EventKind.DISK_FULL))
    for n in range(2 * EVENTS_MAX):
        log.add(Event(float(n), EventKind.BACK, "flapping"))
    kept = log.since(0.0, 10_000)
    assert kept[0].kind == EventKind.DISK_FULL
    assert len(kept) == 1 + EVENTS_OF_MEMBER_MAX
    assert kept[-1].at_s == 2 * EVENTS_MAX - 1
