"""Copies are one result, and sites take turns, whatever is asked for at once."""

from __future__ import annotations

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from peers.gateway.folding import BLOCK, LOOKAHEAD, OF_SITE_MAX, Likeness, Placed, folded, needed_for, spread

digests = st.lists(st.integers(0, 6), max_size=80)


@given(digests)
def test_of_copies_the_first_is_shown_and_stands_for_the_others(given_digests: list[int]) -> None:
    placed = folded(list(map(Likeness, given_digests)))
    shown = [given_digests[each.number] for each in placed if given_digests[each.number]]
    assert len(set(shown)) == len(shown)
    assert all(each.number == given_digests.index(d) for each in placed if (d := given_digests[each.number]))
    assert sum(1 + each.copies for each in placed) == len(given_digests)


def test_pages_without_text_are_no_copies() -> None:
    assert folded([Likeness(0), Likeness(0)]) == [Placed(0), Placed(1)]


@given(digests)
def test_sites_take_turns_and_nothing_is_lost(sites: list[int]) -> None:
    placed = [Placed(number) for number in range(len(sites))]
    ordered = spread(placed, lambda each: str(sites[each.number]))
    assert sorted(each.number for each in ordered) == list(range(len(sites)))
    for start in range(0, len(ordered), BLOCK):
        block = ordered[start : start + BLOCK]
        of_block = Counter(sites[each.number] for each in block)
        if any(count > OF_SITE_MAX for count in of_block.values()):
            # No other site was near.
            window = sorted(each.number for each in ordered[start:])[: BLOCK + LOOKAHEAD]
            in_window = Counter(sites[number] for number in window)
            assert sum(min(count, OF_SITE_MAX) for count in in_window.values()) < BLOCK


@given(digests, st.integers(1, 60))
def test_what_is_shown_depends_on_nothing_further_down(sites: list[int], end: int) -> None:
    placed = [Placed(number) for number in range(len(sites))]
    whole = spread(placed, lambda each: str(sites[each.number]))
    known = spread(placed[: needed_for(end)], lambda each: str(sites[each.number]))
    assert [each.number for each in known[:end]] == [each.number for each in whole[:end]]


def test_the_last_result_of_a_crowded_site_says_that_there_are_more() -> None:
    sites = "aaabcdefghijkl"
    ordered = spread([Placed(number) for number in range(len(sites))], lambda each: sites[each.number])
    assert "".join(sites[each.number] for each in ordered) == "aabcdefghiajkl"
    assert [each.number for each in ordered if each.has_more_of_site] == [1]
