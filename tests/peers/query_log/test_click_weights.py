"""The weight of clicks: the book's formulas by hand, floors and bounds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from peers.query_log.click_weights import CLIP, ClickWeight, bounded_sum, click_weights, position_effect
from peers.query_log.log_row import CLIENTS_TOLD_MIN, WEIGHTS_MAX, GatewayRow, LogRow, list_of

A, B, C = "http://a.test/", "http://b.test/", "http://c.test/"
TODAY = 30


def rows(count: int, *clicks: tuple[int, str], lists: tuple[bytes, ...] = ()) -> list[LogRow]:
    return [LogRow("q", ((1, 10),), tuple(sorted(clicks)), (), lists)] * count


def weights(by_day: dict[int, list[LogRow]], examined: tuple[float, ...] = ()) -> dict[str, int]:
    return dict(click_weights(through("a", by_day), TODAY, examined))


def through(gateway: str, by_day: Mapping[int, Sequence[LogRow]]) -> dict[int, list[GatewayRow]]:
    return {day: [GatewayRow(gateway.encode(), row) for row in of_day] for day, of_day in by_day.items()}


def test_book_10_1_clicks_count_by_the_position_effect_of_their_rank() -> None:
    """Half as many look at the second place: 5 clicks there are worth 10 at the first."""
    by_day = {29: rows(10, (1, A)) + rows(5, (2, B))}
    assert weights(by_day) == {A: 1_000, B: 500}
    assert weights(by_day, (1.0, 0.5)) == {A: 1_000, B: 1_000}
    assert position_effect(7, (1.0, 0.5)) == 2.0, "what is not known counts as the last that is"
    assert position_effect(2, (1.0, 0.001)) == CLIP
    assert position_effect(2, (0.5, 1.0)) == 1.0


def test_book_10_3_a_day_counts_nine_tenths_of_the_day_after_it() -> None:
    """Of A on two days: 10 * .9 ^ 2 + 10 = 18.1; of B 10 on the later of them alone."""
    by_day = {27: rows(10, (1, A)), 29: rows(10, (1, A)) + rows(10, (1, B))}
    assert weights(by_day) == {A: 1_000, B: round(1_000 * 10 / 18.1)}


def test_book_10_4_a_page_that_is_new_has_a_tenth_of_the_greatest_weight() -> None:
    """C was first shown on the last day, and opened by few; B likewise, but it was always there."""
    before, after = list_of((A, B)), list_of((A, B, C))
    by_day = {
        28: rows(100, (1, A), lists=(before,)),
        29: rows(100, (1, A), lists=(after,)) + rows(5, (2, B), (3, C), lists=(after,)),
    }
    assert weights(by_day) == {A: 1_000, B: round(1_000 * 5 / 190), C: 100}


def test_clicks_of_few_of_today_and_of_long_ago_are_none() -> None:
    few, several = CLIENTS_TOLD_MIN - 1, CLIENTS_TOLD_MIN
    assert weights({28: rows(few, (1, A)), 29: rows(few, (1, A))}) == {}, "four people on every day"
    assert weights({29: rows(several, (1, A)) + rows(few, (1, B))}) == {A: 1_000}
    assert weights({TODAY: rows(several, (1, A)), TODAY + 1: rows(several, (1, A))}) == {}
    assert weights({8: rows(several, (1, A))}) == {}
    assert weights({}) == {}


def test_a_client_that_opens_a_page_at_several_ranks_counts_once() -> None:
    by_day = {29: rows(6, (1, A)) + rows(5, (1, B), (2, B), (9, B))}
    assert weights(by_day, (1.0, 0.1)) == {A: 1_000, B: round(1_000 * 5 / 6)}


@given(
    st.dictionaries(
        st.integers(0, 40),
        st.lists(
            st.lists(st.tuples(st.integers(1, 12), st.sampled_from([A, B, C])), max_size=5), max_size=20
        ),
        max_size=4,
    ),
    st.lists(st.floats(0.001, 1), max_size=10),
)
def test_weights_are_bounded_and_in_order(
    clicked: dict[int, list[list[tuple[int, str]]]], examined: list[float]
) -> None:
    by_day = {
        day: [LogRow("q", (), tuple(sorted(clicks))) for clicks in of_day] for day, of_day in clicked.items()
    }
    found = click_weights(through("a", by_day), TODAY, examined)
    assert found == sorted(found, key=lambda each: (-each.weight, each.url))
    assert all(0 < each.weight <= 1_000 for each in found)
    assert not found or found[0].weight == 1_000


def test_of_very_many_pages_those_of_the_greatest_weights_are_told() -> None:
    clicks = [rows(CLIENTS_TOLD_MIN + n, (1, f"http://h{n}.test/")) for n in range(WEIGHTS_MAX + 5)]
    found = click_weights(through("a", {29: [row for some in clicks for row in some]}), TODAY)
    assert len(found) == WEIGHTS_MAX
    assert found[0] == ClickWeight(f"http://h{WEIGHTS_MAX + 4}.test/", 1_000)


@pytest.mark.parametrize("examined", [(), (1.0,), (1.0, 0.5)])
def test_one_who_goes_on_for_weeks_moves_nothing(examined: tuple[float, ...]) -> None:
    honest = {day: rows(8, (1, A)) for day in range(10, 30)}
    flooded = {day: [*of_day, *rows(1, (10, B))] for day, of_day in honest.items()}
    assert weights(flooded, examined) == weights(honest, examined) == {A: 1_000}


def test_no_gateway_gives_more_than_its_part_whatever_it_says() -> None:
    """A liar has made up 1,000 clients that open B, that few open, and C, that nobody does."""
    honest = (
        through("a", {29: rows(6, (1, A))})[29] + through("b", {29: rows(4, (1, A)) + rows(3, (2, B))})[29]
    )
    made_up = through("c", {29: rows(1_000, (1, B), (2, C))})[29]
    assert dict(click_weights({29: honest}, TODAY, (), 2)) == {A: 1_000}
    assert dict(click_weights({29: honest + made_up}, TODAY, (), 2)) == {A: 1_000, B: 750}, (
        "twice three of eight"
    )
    assert dict(click_weights({29: honest + made_up}, TODAY, (), 1))[C] == 997, "where all are believed"
    assert click_weights({29: made_up}, TODAY, (), 2) == []


@given(st.lists(st.floats(0, 1e6), max_size=6), st.integers(1, 4))
def test_a_bounded_sum_is_that_of_equal_caps(parts: list[float], gateways: int) -> None:
    found = bounded_sum(parts, gateways)
    assert found == pytest.approx(sum(min(each, found / gateways) for each in parts), abs=1e-6)
    assert 0 <= found <= sum(parts) + 1e-6
    assert found == 0 or sum(each > 0 for each in parts) >= gateways
