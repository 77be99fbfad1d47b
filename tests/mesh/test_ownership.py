"""One peer's view of responsibility: who owns, who answers, and when two views are equal."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mesh.ownership import Ownership
from mesh.slots import SlotTable, slot_of

WEIGHTS = {"a": 100, "b": 100, "c": 50, "gateway": 0}
SLOTS = 400


def view(me: str, alive: set[str], weights: dict[str, int] = WEIGHTS, slots: int = SLOTS) -> Ownership:
    return Ownership(me, SlotTable(weights, slots, 2), alive)


def test_exactly_one_peer_owns_each_slot() -> None:
    views = [view(peer, set(WEIGHTS)) for peer in WEIGHTS]
    for slot in range(SLOTS):
        owners = [one.me for one in views if one.owner_of(slot) == one.me]
        assert owners == [views[0].owner_of(slot)]


def test_a_dead_owner_keeps_its_slots() -> None:
    before, after = view("a", {"a", "b", "c"}), view("a", {"a"})
    assert [before.team_of(slot) for slot in range(SLOTS)] == [after.team_of(slot) for slot in range(SLOTS)]


@pytest.mark.parametrize("alive", [{"a", "b", "c"}, {"a", "b"}, {"c", "gateway"}, set()])
def test_each_slot_is_answered_by_its_best_live_peer_and_by_nobody_else(alive: set[str]) -> None:
    views = [view(peer, alive) for peer in WEIGHTS]
    answering = np.sum([one.answers for one in views], axis=0)
    for slot in range(SLOTS):
        expected = next((peer for peer in views[0].team_of(slot) if peer in alive), None)
        assert views[0].answerer_of(slot) == expected
        assert answering[slot] == (expected is not None)
        assert expected is None or views[0].answered_by(expected)[slot]


def test_counts_of_answered_slots_add_up_to_those_that_are_not_missing() -> None:
    ownership = view("gateway", {"a", "b"})
    missing = sum(ownership.answerer_of(slot) is None for slot in range(SLOTS))
    assert sum(ownership.slots_answered.values()) == SLOTS - missing
    assert set(ownership.slots_answered) == {"a", "b"}


def test_a_stranger_answers_for_nothing() -> None:
    assert not view("stranger", {"a"}).answers.any()


def test_a_mesh_without_weight_has_no_owner() -> None:
    ownership = view("gateway", {"gateway"}, {"gateway": 0})
    assert ownership.owner_of(0) is None
    assert ownership.team_of(0) == ()
    assert ownership.slots_answered == {}


def test_epoch_is_the_same_on_all_peers_that_agree() -> None:
    assert {view(peer, {"a", "b"}).epoch for peer in WEIGHTS} == {view("a", {"b", "a"}).epoch}


@given(
    st.dictionaries(st.sampled_from("abcd"), st.integers(0, 2), min_size=1),
    st.dictionaries(st.sampled_from("abcd"), st.integers(0, 2), min_size=1),
    st.sets(st.sampled_from("abcd")),
    st.sets(st.sampled_from("abcd")),
)
@settings(max_examples=200, deadline=None)
def test_epochs_are_equal_exactly_when_weights_and_live_members_are(
    weights: dict[str, int], other_weights: dict[str, int], alive: set[str], other_alive: set[str]
) -> None:
    one = view("a", alive & set(weights), weights, 10)
    other = view("a", other_alive & set(other_weights), other_weights, 10)
    is_equal = (weights, alive & set(weights)) == (other_weights, other_alive & set(other_weights))
    assert (one.epoch == other.epoch) is is_equal


def test_a_host_has_the_slot_of_the_table() -> None:
    assert view("a", set()).slot_of("http://example.org") == slot_of("http://example.org", SLOTS)
