"""The ranks of one slot: the printed formula, and statements in any order."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from peers.link_graph.slot_ranks import DAMPING, PageLinks, RankSums, SlotRanks, Statement, Version

HERE, THERE = 3, 5
LEAST = 1 - DAMPING


def links(*targets: tuple[int, int]) -> PageLinks:
    slots, names = np.array(targets, np.int64).reshape(-1, 2).T
    return PageLinks(slots, names)


def statement(number: int, sums: dict[int, float], teller: str = "a") -> Statement:
    names = np.array(sorted(sums), np.int64)
    return Statement(
        Version(number, teller), RankSums(names, np.array([sums[name] for name in sorted(sums)]))
    )


def settled(slot: SlotRanks) -> dict[int, float]:
    slot.settle(1e-12)
    names, values = slot.ranks
    return dict(zip(names.tolist(), values.tolist(), strict=True))


def test_brin_and_page_2_1_1_a_rank_is_what_is_given_by_all_that_link_to_it() -> None:
    slot = SlotRanks(HERE)
    slot.link(1, links((HERE, 2), (HERE, 3)))
    slot.link(2, links((HERE, 3)))
    slot.link(3, links())
    two = LEAST + DAMPING * LEAST / 2
    three = two + DAMPING * two
    assert settled(slot) == pytest.approx({1: LEAST, 2: two, 3: three})


def test_a_circle_shares_all_rank_and_pages_without_links_give_nothing() -> None:
    slot = SlotRanks(HERE)
    slot.link(1, links((HERE, 2)))
    slot.link(2, links((HERE, 1)))
    assert settled(slot) == pytest.approx({1: 1.0, 2: 1.0})
    slot.link(1, links())
    assert settled(slot) == pytest.approx({1: LEAST + DAMPING * LEAST, 2: LEAST})


def test_links_to_the_page_itself_and_repeated_ones_do_not_count() -> None:
    slot, plain = SlotRanks(HERE), SlotRanks(HERE)
    slot.link(1, links((HERE, 2), (HERE, 1), (THERE, 1), (HERE, 2), (THERE, 1)))
    plain.link(1, links((HERE, 2), (THERE, 1)))
    assert settled(slot) == settled(plain)
    assert slot.sums_for(THERE).values.tolist() == plain.sums_for(THERE).values.tolist()


def test_a_page_gives_to_other_slots_by_all_of_its_links() -> None:
    slot = SlotRanks(HERE)
    slot.link(1, links((THERE, 9), (HERE, 2)))
    slot.link(2, links((THERE, 9), (THERE, 8)))
    ranks = settled(slot)
    names, values = slot.sums_for(THERE)
    given = [DAMPING * ranks[2] / 2, DAMPING * ranks[1] / 2 + DAMPING * ranks[2] / 2]
    assert (names.tolist(), values.tolist()) == ([8, 9], pytest.approx(given))
    assert len(slot.sums_for(7).names) == 0


def test_a_page_that_is_only_linked_to_has_a_rank_and_one_that_went_stays_while_it_is() -> None:
    slot = SlotRanks(HERE)
    slot.link(1, links((HERE, 2)))
    slot.link(2, links((HERE, 3)))
    slot.hear(THERE, statement(1, {4: 0.5}))
    assert settled(slot)[4] == pytest.approx(LEAST + 0.5)
    slot.remove(2)
    assert settled(slot) == pytest.approx({1: LEAST, 2: LEAST + DAMPING * LEAST, 4: LEAST + 0.5})
    slot.remove(1)
    assert settled(slot) == pytest.approx({4: LEAST + 0.5})


@given(st.lists(st.integers(0, 5), min_size=1))
def test_statements_that_get_lost_come_twice_or_late_leave_the_latest_that_came(arrivals: list[int]) -> None:
    told = [statement(number // 2, {number: 0.1 * number}, "ab"[number % 2]) for number in range(6)]
    slot, other = SlotRanks(HERE), SlotRanks(HERE)
    for number in arrivals:
        slot.hear(THERE, told[number])
        settled(slot)
    other.hear(THERE, told[max(arrivals)])
    assert {name: rank for name, rank in settled(slot).items() if rank != LEAST} == {
        name: rank for name, rank in settled(other).items() if rank != LEAST
    }


def test_a_statement_replaces_all_of_the_one_before() -> None:
    slot = SlotRanks(HERE)
    assert slot.hear(THERE, statement(1, {1: 0.5, 2: 0.25}))
    assert slot.hear(THERE, statement(2, {2: 0.75}))
    assert not slot.hear(THERE, statement(1, {1: 0.5, 2: 0.25}))
    assert slot.hear(THERE + 1, statement(1, {2: 0.25}))
    ranks = settled(slot)
    assert ranks[2] == pytest.approx(LEAST + 1.0)
    assert ranks.get(1, LEAST) == LEAST


def test_a_slot_goes_on_from_its_rows() -> None:
    slot = SlotRanks(HERE)
    slot.link(1, links((THERE, 9), (HERE, 2)))
    slot.hear(THERE, statement(1, {1: 0.5}))
    settled(slot)
    slot.state(THERE, "a")
    again = SlotRanks(HERE, slot.rows)
    assert settled(again) == settled(slot)
    slot.link(1, links())
    settled(slot)
    assert slot.targets == {THERE}  # that is to hear that there is nothing more
    assert again.state(THERE, "a").version == Version(2, "a")
    assert again.state(THERE, "a", after=7).version == Version(8, "a")


def test_the_distance_of_sums_counts_pages_that_one_of_them_names() -> None:
    one, other = statement(1, {1: 0.5, 2: 0.25}).sums, statement(1, {2: 0.5, 3: 1.0}).sums
    assert one.distance(other) == other.distance(one) == pytest.approx(1.75)
    assert one.distance(one) == 0.0
