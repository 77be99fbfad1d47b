"""When nodes that have ended are started again."""

from __future__ import annotations

from bootstrap.nodes import ENDS_MAX, FORGIVEN_S, Supervision


def test_pauses_double_while_a_node_ends_again_and_again_until_it_is_left_alone() -> None:
    supervision = Supervision()
    pauses = []
    for now in range(ENDS_MAX):
        supervision.began("peer-1", now)
        pauses.append(supervision.ended("peer-1", now + 0.5))
    assert pauses == [1.0, 2.0, 4.0, 8.0, 16.0, None]


def test_a_long_life_forgives_the_ends_before() -> None:
    supervision = Supervision()
    supervision.began("peer-1", 0.0)
    for now in (1.0, 2.0, 3.0):
        supervision.ended("peer-1", now)
        supervision.began("peer-1", now)
    assert supervision.ended("peer-1", 3.0 + FORGIVEN_S) == 1.0


def test_a_node_is_due_when_its_pause_is_over_until_it_has_begun() -> None:
    supervision = Supervision()
    for name in ("peer-1", "peer-2"):
        supervision.began(name, 0.0)
    supervision.ended("peer-1", 10.0)
    assert supervision.due(10.9) == []
    assert supervision.due(11.0) == ["peer-1"]
    assert supervision.due(12.0) == ["peer-1"]
    supervision.began("peer-1", 12.0)
    assert supervision.due(13.0) == []


def test_the_ends_of_one_node_are_none_of_another() -> None:
    supervision = Supervision()
    for _ in range(ENDS_MAX):
        supervision.ended("peer-1", 1.0)
    assert supervision.ended("peer-2", 1.0) == 1.0
