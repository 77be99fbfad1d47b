"""Until when a peer may crawl: majorities, witnesses, and what a licence outlives."""

from __future__ import annotations

from math import inf

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mesh.membership.model.licence import WITNESSES_MAX, Licence, earned_until, has_majority, is_calm

SUBSETS = st.lists(st.sampled_from("abcdefgh"), min_size=1, unique=True)


@pytest.mark.parametrize(
    ("members", "present", "expected"),
    [
        ("a", "a", True),
        ("ab", "a", True),  # of two halves the one with the smallest id
        ("ab", "b", False),
        ("abc", "a", False),
        ("abc", "bc", True),
        ("abcd", "ad", True),
        ("abcd", "bc", False),
        ("abcd", "bcd", True),
        ("abcde", "ab", False),
    ],
)
def test_a_majority_is_more_than_half_or_the_half_with_the_smallest_id(
    members: str, present: str, expected: bool
) -> None:
    assert has_majority(set(members), set(present)) is expected


@given(SUBSETS, st.data())
def test_of_two_sides_exactly_one_has_the_majority(members: list[str], data: st.DataObject) -> None:
    side = data.draw(st.sets(st.sampled_from(members)))
    assert has_majority(members, side) != has_majority(members, set(members) - side)


@given(SUBSETS, st.dictionaries(st.sampled_from("abcdefgh"), st.floats(0, 9)))
def test_since_then_witnesses_and_oneself_were_a_majority(
    members: list[str], answered: dict[str, float]
) -> None:
    me = max(members)
    answered = {peer: at for peer, at in answered.items() if peer in members and peer != me}
    since = earned_until(me, members, answered, 10.0)
    witnesses = {peer for peer, at in answered.items() if since is not None and at >= since}
    if since is None:
        assert not has_majority(members, {me, *answered})
    else:
        assert has_majority(members, {me, *witnesses})


def test_in_a_large_mesh_the_newest_few_witnesses_count() -> None:
    members = [f"p{i:03}" for i in range(100)]
    answered = {members[i]: float(i) for i in range(90, 90 + WITNESSES_MAX - 1)}
    assert earned_until("p000", members, answered, 100.0) is None
    answered["p050"] = 1.0
    assert earned_until("p000", members, answered, 100.0) == 1.0
    answered["p051"] = 2.0
    assert earned_until("p000", members, answered, 100.0) == 2.0


def test_many_suspects_make_a_sample_worthless_and_a_census_not() -> None:
    assert is_calm(4, 2 * WITNESSES_MAX + 1)
    assert is_calm(2, 16)
    assert not is_calm(3, 16)
    assert is_calm(32, 256)
    assert not is_calm(33, 256)


def test_the_only_member_is_licensed_for_ever_until_there_is_another() -> None:
    licence = Licence("b", 2.0)
    assert licence.renew({"b"}, ["b"], 0, 1.0)
    assert licence.until == inf
    assert licence.renew({"a", "b"}, ["a", "b"], 0, 5.0)
    assert licence.until == 7.0
    assert not licence.renew({"a", "b"}, ["a", "b"], 0, 6.0)
    licence.witness("a", 7.5)
    assert licence.renew({"a", "b"}, ["a", "b"], 0, 6.0)
    assert licence.until == 7.5


def test_a_licence_counts_from_the_time_the_ping_was_sent() -> None:
    licence = Licence("b", 2.0)
    licence.witness("a", 12.0)
    licence.witness("a", 11.0)  # an older one that came later
    licence.renew({"a", "b"}, ["a", "b"], 0, 60.0)
    assert licence.until == 12.0


def test_a_lost_majority_renews_nothing_and_revokes_nothing() -> None:
    licence = Licence("b", 2.0)
    licence.witness("a", 12.0)
    licence.renew({"a", "b"}, ["a", "b"], 0, 10.1)
    licence.witness("a", 13.0)
    assert not licence.renew({"a", "b"}, ["b"], 1, 11.1)
    assert licence.until == 12.0


def test_who_was_suspected_must_answer_again_to_be_a_witness() -> None:
    licence = Licence("b", 2.0)
    members = {"a", "b", "c", "d"}
    licence.witness("c", 12.0)
    licence.witness("d", 12.0)
    licence.renew(members, ["a", "b", "d"], 1, 10.1)
    licence.renew(members, ["a", "b", "c", "d"], 0, 10.2)
    assert licence.until == 0.0
    licence.witness("c", 12.2)
    licence.renew(members, ["a", "b", "c", "d"], 0, 10.3)
    assert licence.until == 12.0


def test_half_of_the_mesh_with_the_smallest_id_needs_no_witness() -> None:
    licence = Licence("a", 2.0)
    licence.renew({"a", "b"}, ["a"], 0, 10.0)
    assert licence.until == 12.0
