"""By which weights slots are answered for, for members that serve, are ready, or are neither."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from mesh.membership.model.wire_messages import MemberRecord
from mesh.membership.own.serving_weights import READY, is_ready, serving_weights, serving_weights_with
from tests.mesh.membership_world import record_of


def members(*servings: int, weight: int = 100) -> list[MemberRecord]:
    """Peers "a", "b", ... of the same weight."""
    return [
        replace(record_of(peer, weight=weight), serving=serving)
        for peer, serving in zip("abcdef", servings, strict=False)
    ]


@pytest.mark.parametrize(
    ("servings", "expected"),
    [
        ((0, 0, 0), (100, 100, 100)),  # all have just started: whoever owns answers
        ((READY, 0, 0), (100, 100, 100)),
        ((READY, READY, READY), (100, 100, 100)),
        ((100, 0, 0), (100, 0, 0)),
        ((100, READY, 0), (100, 0, 0)),  # who is ready waits for the last
        ((100, READY, READY), (100, 100, 100)),
        ((80, READY, 100), (80, 100, 100)),  # whose slots are moving does not keep others waiting
    ],
)
def test_who_is_ready_counts_when_nobody_is_neither(
    servings: tuple[int, ...], expected: tuple[int, ...]
) -> None:
    assert tuple(serving_weights(members(*servings)).values()) == expected


def test_members_without_weight_keep_nobody_waiting() -> None:
    bootstrap = replace(record_of("z", weight=0), serving=0)
    assert serving_weights([*members(100, READY), bootstrap]) == {"a": 100, "b": 100, "z": 0}


def test_the_first_to_serve_would_answer_alone_and_the_last_with_all() -> None:
    assert serving_weights_with("a", members(0, READY, 0)) == {"a": 100, "b": 0, "c": 0}
    assert serving_weights_with("a", members(0, READY, READY)) == dict.fromkeys("abc", 100)


def test_a_member_of_the_least_weight_serves_when_it_says_so() -> None:
    (least,) = members(READY, weight=READY)
    assert not is_ready(least)
