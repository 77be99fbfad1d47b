"""`tianmesh events`, against a gateway that answers from memory."""

from __future__ import annotations

import json

from msgspec.structs import replace

from peers.gateway.site.history_view import ToldEvent
from tests.peers.commands.running import result_of, run
from tests.peers.fake_gateway import fake_gateway

EVENTS = (
    ToldEvent(1_750_000_060.0, "hand-over ended", "ann", 90.0, "", ("ann",)),
    ToldEvent(1_750_000_000.0, "down", "bob\x1b", 0.0, "", ("ann", "cyd")),
    ToldEvent(1e300, "shrunk", "of a later version", 0.0, "", ("ann",)),
)


def test_events_are_lines_the_last_at_the_end() -> None:
    with fake_gateway() as gateway:
        gateway.history = replace(gateway.history, events=EVENTS)
        shown = run(gateway, "events")
    assert shown.splitlines() == [
        "2025-06-15 15:06:40Z  bob is down (told by 2 peers)",
        "2025-06-15 15:07:40Z  ann has brought what belongs to its slots, in 90 s",
    ]
    assert gateway.searches == [{"span": "day"}]


def test_members_are_called_by_their_names() -> None:
    with fake_gateway() as gateway:
        gateway.history = replace(
            gateway.history, events=EVENTS, silent=("dan",), names={"ann": "mill\u202e"}
        )
        shown = result_of(gateway, "events").output
    assert "15:07:40Z  mill (ann) has brought" in shown
    assert "bob is down" in shown


def test_events_for_programs_are_all_there_is() -> None:
    with fake_gateway() as gateway:
        gateway.history = replace(gateway.history, events=EVENTS, silent=("dan",))
        told = json.loads(run(gateway, "events", "--last", "month", "--json"))
    assert [each["kind"] for each in told["events"]] == [each.kind for each in EVENTS]
    assert told["silent"] == ["dan"]
    assert gateway.searches == [{"span": "month"}]


def test_who_has_not_answered_is_named_and_a_time_that_is_none_breaks_nothing() -> None:
    with fake_gateway() as gateway:
        odd = ToldEvent(1e300, "down", "bob", 0.0, "", ("ann",))
        gateway.history = replace(gateway.history, events=(odd,), silent=("dan",))
        result = result_of(gateway, "events")
    assert result.exit_code == 0
    assert "?  bob is down" in result.output
    assert "have not answered: dan" in result.output
