"""A slot is known to be equal with a peer's until it changes here, and no peer is taken for another."""

from __future__ import annotations

import numpy as np
import pytest

from mesh.slots import SlotTable
from peers.handover.equal_slots import EqualSlots

SLOTS = 64
TABLE = SlotTable({"ann": 1_000, "ben": 1_000, "cat": 1_000}, SLOTS, 3)
NUMBERS = np.arange(4)
DIGESTS = np.array([5, 6, 0, 7], np.uint64)


@pytest.fixture
def equal() -> EqualSlots:
    equal = EqualSlots()
    equal.compare_anew(TABLE)
    return equal


def moved(equal: EqualSlots, peer: str, digests: object = DIGESTS) -> list[bool]:
    told: list[bool] = equal.have_moved(peer, NUMBERS, np.asarray(digests, np.uint64)).tolist()
    return told


def test_a_slot_that_was_never_compared_has_moved_even_without_items(equal: EqualSlots) -> None:
    assert moved(equal, "ben") == [True] * 4


def test_a_slot_has_moved_if_it_changed_since_it_was_equal(equal: EqualSlots) -> None:
    equal.note("ben", NUMBERS, DIGESTS)
    assert moved(equal, "ben") == [False] * 4
    assert moved(equal, "ben", [5, 1, 2, 0]) == [False, True, True, True]
    assert moved(equal, "ben") == [False] * 4


def test_what_is_equal_with_one_peer_is_not_with_another(equal: EqualSlots) -> None:
    equal.note("ben", NUMBERS, DIGESTS)
    assert moved(equal, "cat") == [True] * 4
    equal.note("cat", NUMBERS, DIGESTS)
    assert moved(equal, "cat") == moved(equal, "ben") == [False] * 4
    equal.note("cat", NUMBERS[:1], np.array([9], np.uint64))
    assert moved(equal, "ben", [9, 6, 0, 7]) == [True, False, False, False]
    assert moved(equal, "cat", [9, 6, 0, 7]) == [False] * 4


def test_of_a_peer_outside_the_team_nothing_is_noted(equal: EqualSlots) -> None:
    equal.note("dan", NUMBERS, DIGESTS)
    assert moved(equal, "ann") == moved(equal, "dan") == [True] * 4


def test_under_a_new_table_all_is_compared_anew(equal: EqualSlots) -> None:
    equal.note("ben", NUMBERS, DIGESTS)
    equal.compare_anew(TABLE.without_peer("cat"))
    assert moved(equal, "ben") == [True] * 4


def test_nothing_is_known_of_what_a_peer_is_asked_about_until_it_answers(equal: EqualSlots) -> None:
    equal.note("ben", NUMBERS, DIGESTS)
    equal.ask("ben", NUMBERS[:2])
    equal.note("ben", NUMBERS, DIGESTS)  # it has asked, too
    assert moved(equal, "ben") == [True, True, False, False]
    equal.end_question("ben", NUMBERS[:2])
    equal.note("ben", NUMBERS, DIGESTS)
    assert moved(equal, "ben") == [False] * 4


def test_a_question_is_the_newest_until_one_with_a_higher_number_is_heard(equal: EqualSlots) -> None:
    heard = [("ben", 3), ("ben", 3), ("ben", 5), ("ben", 4), ("cat", 1)]
    assert [equal.is_newest(peer, number) for peer, number in heard] == [True, True, True, False, True]
