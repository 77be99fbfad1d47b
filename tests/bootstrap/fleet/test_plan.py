"""What follows from what machines tell."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from bootstrap.fleet.inventory import LabMachine
from bootstrap.fleet.plan import (
    DOOR_PORTS,
    PEER_PORTS,
    Facts,
    clock_ahead_s,
    cut_off,
    differing,
    founder_among,
    ports_of,
    rewritten,
    trouble_of,
    why_cut_off,
)

MACHINE = LabMachine(name="a", address="10.0.0.1", folder="tianmesh", weight=100, gateway="127.0.0.1:8017")
FACTS = Facts(python=(3, 12, 1), clock_s=0.0, free_bytes=1 << 40)
PEER = replace(FACTS, has=("peer",), settings={"inbox_port": "7430", "weight": "100"})


@pytest.mark.parametrize(
    ("changes", "ahead_s", "said"),
    [
        ({}, 0.0, ""),
        ({}, 4.0, ""),
        ({}, 90.0, "90 s ahead"),
        ({}, -90.0, "90 s behind"),
        ({"python": (3, 9, 2)}, 0.0, "Python 3.9.2"),
        ({"free_bytes": 1 << 20}, 0.0, "make room"),
        ({"free_bytes": 1 << 20, "has": ("peer",)}, 0.0, ""),  # it is there already
        ({"taken": (7_410,)}, 0.0, "port 7410"),
    ],
)
def test_who_cannot_be_of_the_lab_is_told_why(changes: dict[str, Any], ahead_s: float, said: str) -> None:
    trouble = trouble_of(replace(MACHINE, python="python3"), replace(FACTS, **changes), ahead_s)
    assert (said in trouble) if said else not trouble


def test_what_the_way_takes_is_no_fault_of_the_clock() -> None:
    assert clock_ahead_s(105.0, 100.0, 110.0) == 0.0
    assert clock_ahead_s(112.0, 100.0, 110.0) == 2.0
    assert clock_ahead_s(97.0, 100.0, 110.0) == -3.0


def test_the_ports_of_a_peer_are_those_that_it_has_and_the_founder_has_a_door_besides() -> None:
    assert ports_of(MACHINE, FACTS, "b") == PEER_PORTS
    assert ports_of(MACHINE, PEER, "b") == (7_430, 7_431, 7_432)
    assert ports_of(MACHINE, FACTS, "a") == (*DOOR_PORTS, *PEER_PORTS)
    assert ports_of(MACHINE, FACTS, "a", relays=2) == (*DOOR_PORTS, *PEER_PORTS, *range(9_400, 9_406))
    assert ports_of(MACHINE, FACTS, "b", relays=2) == PEER_PORTS


def test_the_first_machine_that_can_founds_the_mesh_and_only_once() -> None:
    machines = [replace(MACHINE, name=name) for name in "abc"]
    new = dict.fromkeys("bc", FACTS)
    assert founder_among(machines, new, "") == "b"
    assert founder_among(machines, new, "a") == ""  # which does not answer now
    assert founder_among(machines, new | {"c": PEER}, "") == ""  # it belongs to a mesh already
    assert founder_among(machines, new | {"c": replace(PEER, is_founder=True)}, "") == "c"
    assert founder_among(machines, {}, "") == ""


def _why(closed: set[tuple[str, str]], names: str = "abcd") -> dict[tuple[str, str], str]:
    pairs = [(one, other) for one in names for other in names if one != other]
    return {pair: "no answer" * (pair in closed) for pair in pairs}


def test_who_is_reached_by_nobody_is_cut_off_alone() -> None:
    assert cut_off(_why(set())) == {}
    assert cut_off(_why({("a", "c"), ("b", "c"), ("d", "c")})) == {"c": ["a", "b", "d"]}
    # Its own connections fail, too, as where its address is a wrong one.
    both = {("a", "c"), ("b", "c"), ("d", "c"), ("c", "a"), ("c", "b"), ("c", "d")}
    assert list(cut_off(_why(both))) == ["c"]


def test_who_is_missed_by_few_stays() -> None:
    assert cut_off(_why({("a", "c")})) == {}


def test_of_two_that_do_not_see_each_other_one_is_cut_off() -> None:
    assert len(cut_off(_why({("a", "b"), ("b", "a")}, "ab"))) == 1


def test_who_is_cut_off_is_told_by_whom_and_what_to_do() -> None:
    said = why_cut_off(MACHINE, PEER_PORTS, ["b", "c", "d", "e"])
    assert "b, c, d and 1 more" in said
    assert "ports 7410 to 7412 of 10.0.0.1" in said


def test_what_differs_from_the_inventory_is_told() -> None:
    assert differing(MACHINE, PEER) == ""
    assert "weight is 100 there and 50 here" in differing(replace(MACHINE, weight=50), PEER)
    assert differing(MACHINE, FACTS) == ""


def test_a_peer_that_was_expelled_is_told_from_one_that_has_ended() -> None:
    ended = replace(FACTS, has=("peer",), last_words={"peer": ["tianmesh: no space left on the device"]})
    why = "tianmesh: peer abc was expelled from the mesh: it takes new keys and a new certificate"
    assert not ended.is_expelled
    assert replace(ended, last_words={"peer": ["stopped", why]}).is_expelled


def test_a_peer_goes_by_what_the_inventory_says_of_its_machine_now() -> None:
    had = {"announce": "10.0.0.9", "gateway": "127.0.0.1:8017", "weight": "50"}
    assert rewritten(MACHINE, replace(PEER, settings=had), "") == {
        "member.announce": "10.0.0.1",
        "member.name": "a",
    }
    has = {"announce": "10.0.0.1", "gateway": "127.0.0.1:8017", "name": "a"}
    assert rewritten(MACHINE, replace(PEER, settings=has), "") == {}


def test_a_contact_that_is_written_down_later_reaches_peers_and_none_takes_theirs_away() -> None:
    has = {"announce": "10.0.0.1", "gateway": "127.0.0.1:8017", "name": "a"}
    new = {"crawl.contact": "li@a.test"}
    assert rewritten(MACHINE, replace(PEER, settings=has), "li@a.test") == new
    there = replace(PEER, settings={**has, "contact": "me@a.test"})
    assert rewritten(MACHINE, there, "li@a.test") == new
    assert rewritten(MACHINE, there, "me@a.test") == {}
    assert rewritten(MACHINE, there, "") == {}
