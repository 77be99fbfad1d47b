"""One peer's view of responsibility: who owns, who answers, and when two views are equal."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mesh.actors.ownership import Ownership
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


def serving_view(me: str) -> Ownership:
    """`b` is to own slots that `a` and `c` have answered for so far."""
    table = SlotTable({"a": 100, "b": 100, "c": 50, "gateway": 0}, SLOTS, 2)
    serving = SlotTable({"a": 100, "b": 0, "c": 50, "gateway": 0}, SLOTS, 2)
    return Ownership(me, table, set(table.weights), serving=serving)


def test_by_the_serving_table_each_slot_is_answered_by_one_peer() -> None:
    views = [serving_view(peer) for peer in WEIGHTS]
    assert (np.sum([one.answers for one in views], axis=0) == 1).all()
    for slot in range(SLOTS):
        assert views[0].answerer_of(slot) == views[0].serving.owner_of(slot) != "b"


def test_a_team_is_who_keeps_a_slot_and_then_who_answers_for_it_until_those_are_ready() -> None:
    one = serving_view("a")
    for slot in range(SLOTS):
        team, keepers = one.team_of(slot), one.table.team_of(slot)
        assert team[: len(keepers)] == keepers
        assert set(team) == {*keepers, *one.serving.team_of(slot)}
        assert one.owner_of(slot) == keepers[0]


def test_counts_of_answered_slots_add_up_to_all() -> None:
    counts = serving_view("gateway").slots_answered
    assert sum(counts.values()) == SLOTS
    assert set(counts) == {"a", "c"}


@pytest.mark.parametrize("absent", [set(), {"a"}, {"b", "c"}, {"a", "stranger"}])
def test_slots_of_who_is_absent_are_each_answered_by_the_next_best(absent: set[str]) -> None:
    views = [view(peer, set(WEIGHTS)) for peer in WEIGHTS]
    masks = [one.answered_instead(one.me, frozenset(absent)) for one in views]
    lost = sum((views[0].answered_by(peer) for peer in absent), np.zeros(SLOTS, np.bool_))
    assert (np.sum(masks, axis=0) <= lost).all()
    for slot in map(int, np.flatnonzero(lost)):
        heir = next((peer for peer in views[0].team_of(slot) if peer not in absent), None)
        assert [one.me for one, mask in zip(views, masks, strict=True) if mask[slot]] == (
            [heir] if heir else []
        )


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


def test_epochs_differ_when_only_who_serves_does() -> None:
    one = serving_view("a")
    assert one.epoch != Ownership("a", one.table, one.alive).epoch


def test_a_host_has_the_slot_of_the_table() -> None:
    assert view("a", set()).slot_of("http://example.org") == slot_of("http://example.org", SLOTS)


def test_serving_epochs_are_equal_exactly_when_the_same_peers_answer() -> None:
    one = view("a", {"b", "a"})
    newcomer = one.table.with_peer("new", 100)
    serving = one.serving.with_peer("new", 0)
    joining = Ownership("b", newcomer, {*one.alive, "new"}, serving=serving)
    assert joining.epoch != one.epoch
    assert joining.serving_epoch == one.serving_epoch
    assert Ownership("b", newcomer, {*one.alive, "new"}).serving_epoch != one.serving_epoch


def pinned_view(me: str, pins: dict[int, str], weights: dict[str, int] = WEIGHTS) -> Ownership:
    table = SlotTable(weights, SLOTS, 2)
    return Ownership(me, table.pinned(pins), set(weights), serving=table)


@pytest.mark.parametrize("pinned", ["c", "b"])
def test_a_pin_moves_who_crawls_and_not_who_answers(pinned: str) -> None:
    pins = dict.fromkeys(range(0, SLOTS, 2), pinned)
    before, after = view("a", set(WEIGHTS)), pinned_view("a", pins)
    assert after.serving_epoch == before.serving_epoch
    for slot in range(SLOTS):
        assert after.owner_of(slot) == pins.get(slot, before.owner_of(slot))
        assert after.answerer_of(slot) == before.answerer_of(slot)
        assert set(after.team_of(slot)) == {*before.team_of(slot), after.owner_of(slot)}
        assert after.team_of(slot) == after.table.team_of(slot)
    keepers = np.sum([pinned_view(peer, pins).kept for peer in WEIGHTS], axis=0)
    assert keepers.tolist() == [len(after.team_of(slot)) for slot in range(SLOTS)]


@pytest.mark.parametrize("replicas", [1, 2, 3])
def test_who_answers_for_a_pinned_slot_after_a_death_was_in_its_team_before(replicas: int) -> None:
    weights = dict.fromkeys("abcde", 100)
    pins = {slot: "abcde"[slot % 5] for slot in range(SLOTS)}
    table = SlotTable(weights, SLOTS, replicas).pinned(pins)
    for dead in weights:
        rest = SlotTable({peer: weight for peer, weight in weights.items() if peer != dead}, SLOTS, replicas)
        for slot in range(SLOTS):
            if replicas > 1:
                assert rest.owner_of(slot) in table.team_of(slot)
            assert rest.pinned(pins).owner_of(slot) == (
                pins[slot] if pins[slot] != dead else rest.owner_of(slot)
            )


def test_an_answerer_leaves_a_slot_to_who_is_to_answer_and_not_to_who_is_to_crawl() -> None:
    pins = dict.fromkeys(range(SLOTS), "c")
    assert not any(pinned_view(peer, pins).leaving.any() for peer in WEIGHTS)
    table, serving = SlotTable(WEIGHTS | {"a": 0}, SLOTS, 2), SlotTable(WEIGHTS, SLOTS, 2)
    for one in (table, table.pinned(pins)):
        drained = Ownership("a", one, set(WEIGHTS), serving=serving)
        assert (drained.leaving == serving.slots_of("a")).all()


def test_views_with_other_pins_are_other_epochs_and_pins_that_come_to_nothing_are_none() -> None:
    plain, one, other = (pinned_view("a", pins) for pins in ({}, {3: "a"}, {3: "b"}))
    assert len({plain.epoch, one.epoch, other.epoch}) == 3
    assert (
        plain.epoch == pinned_view("b", {3: "stranger", 4: "gateway"}).epoch == view("a", set(WEIGHTS)).epoch
    )
