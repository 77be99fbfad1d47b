"""Copies and near copies are one result, and sites take turns, whatever is asked for at once."""

from __future__ import annotations

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from peers.engine.pages.near_copies import LONG_BITS_MAX, SKETCH_BYTES
from peers.engine.segments.live_segment import FOLDED
from peers.gateway.search.deduplication import (
    BLOCK,
    LOOKAHEAD,
    OF_SITE_MAX,
    Likeness,
    Placed,
    folded,
    needed_for,
    spread,
)

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


def sketched(n_bits: int, content: int = 0) -> Likeness:
    """A long text that differs in so many bits from the first."""
    return Likeness(content, ((1 << 255) + (1 << n_bits) - 1).to_bytes(SKETCH_BYTES, "little"))


def test_near_copies_stand_behind_the_first_of_them_that_is_shown() -> None:
    near = LONG_BITS_MAX
    assert folded([sketched(0), sketched(near), sketched(2 * near)]) == [Placed(0, 0, 1), Placed(2)]
    assert folded([sketched(near), sketched(0), sketched(2 * near)]) == [Placed(0, 0, 2)]
    assert folded([sketched(0), sketched(near + 1)]) == [Placed(0), Placed(1)]


def test_any_digest_that_fits_a_message_is_taken() -> None:
    assert folded([Likeness((1 << 64) - 1), Likeness(1 << 63), Likeness((1 << 64) - 1)]) == [
        Placed(0, 1, copy_numbers=(2,)),
        Placed(1),
    ]


def test_a_hit_that_gives_way_has_the_place_of_the_one_it_gives_way_to() -> None:
    hits = [
        Likeness(8),
        Likeness(7, copies=FOLDED),
        Likeness(9),
        Likeness(7, copies=5),
        Likeness(7),
    ]
    assert folded(hits) == [Placed(0), Placed(3, 5, copy_numbers=(1, 4)), Placed(2)]
    assert folded(hits[:3]) == [Placed(0), Placed(1), Placed(2)], "it is found where the other is not"
    assert folded([hits[1], hits[4]]) == [Placed(1, 1, copy_numbers=(0,))]


def test_copies_and_near_copies_are_counted_apart() -> None:
    hits = [sketched(0, 7), Likeness(8), sketched(9, 5), sketched(0, 7), sketched(9, 5), Likeness(8)]
    assert folded(hits) == [
        Placed(0, 1, 2, copy_numbers=(3,)),
        Placed(1, 1, copy_numbers=(5,)),
    ]


def test_hits_of_peers_that_tell_no_sketch_are_folded_by_their_contents() -> None:
    assert folded([sketched(0, 7), Likeness(7), Likeness(8), Likeness(0), Likeness(9, b"no sketch")]) == [
        Placed(0, 1, copy_numbers=(1,)),
        Placed(2),
        Placed(3),
        Placed(4),
    ]


@given(st.lists(st.tuples(st.integers(0, 90), st.integers(0, 4)), max_size=60), st.integers(0, 60))
def test_what_is_folded_depends_on_nothing_further_down(hits: list[tuple[int, int]], end: int) -> None:
    likenesses = [sketched(*hit) for hit in hits]
    whole, known = folded(likenesses), folded(likenesses[:end])
    assert [each.number for each in whole if each.number < end] == [each.number for each in known]
    assert sum(1 + each.copies + each.near_copies for each in whole) == len(hits)


@given(digests)
def test_sites_take_turns_and_nothing_is_lost(sites: list[int]) -> None:
    placed = [Placed(number) for number in range(len(sites))]
    ordered = spread(placed, list(map(str, sites)))
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
    whole = spread(placed, list(map(str, sites)))
    known = spread(placed[: needed_for(end)], list(map(str, sites)))
    assert [each.number for each in known[:end]] == [each.number for each in whole[:end]]


def test_the_last_result_of_a_crowded_site_says_that_there_are_more() -> None:
    sites = "aaabcdefghijkl"
    ordered = spread([Placed(number) for number in range(len(sites))], sites)
    assert "".join(sites[each.number] for each in ordered) == "aabcdefghiajkl"
    assert [each.number for each in ordered if each.has_more_of_site] == [1]
