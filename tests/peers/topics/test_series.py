"""The eight series of a topic: sums, shares, and values put in for lost slices by the four-point formula."""

from __future__ import annotations

from math import sqrt

import pytest

from peers.topics.series import SliceValue, lost_among, mended, topic_series
from peers.topics.wire_messages import ContentCounts, SliceCounts


@pytest.mark.parametrize("lost", [2, 3, 4, 7])
def test_book_13_2_a_cubic_is_mended_exactly(lost: int) -> None:
    good = {n: float(n**3 - 4 * n**2 + 7) for n in range(10) if n != lost}
    value = mended(good, lost)
    assert value == pytest.approx(lost**3 - 4 * lost**2 + 7)


def test_two_neighbours_of_each_side_are_taken_and_three_of_one_where_the_other_has_one() -> None:
    good = {0: 100.0, 1: 1.0, 2: 2.0, 4: 4.0, 5: 5.0, 6: 100.0}
    assert mended(good, 3) == pytest.approx(3.0)
    assert mended({1: 1.0, 3: 3.0, 4: 4.0, 5: 5.0, 6: 100.0}, 2) == pytest.approx(2.0)
    assert mended({0: 100.0, 1: 1.0, 2: 2.0, 3: 3.0, 5: 5.0}, 4) == pytest.approx(4.0)


def test_nothing_is_put_in_beyond_the_good_slices_or_from_fewer_than_four() -> None:
    good = {n: float(n) for n in range(5)}
    assert mended(good, 5) is None
    assert mended(good, -1) is None
    assert mended({0: 1.0, 1: 1.0, 3: 1.0}, 2) is None
    assert mended({}, 0) is None


def test_a_slice_with_far_fewer_pages_than_others_is_lost() -> None:
    assert lost_among([100, 49, 51, 120, 0, 101, 102]) == (False, True, False, False, True, False, False)
    assert lost_among([0, 0, 0]) == (True, True, True)


def test_series_have_totals_means_and_deviations_and_mark_what_was_put_in() -> None:
    slices = [SliceCounts(n, 100, 2 * n, n, 50, n, n) for n in (10, 11, 13, 14, 15)]
    slices.insert(2, SliceCounts(12, 3, 3, 3, 3, 3, 3))
    series = topic_series(slices, ContentCounts(200, 40, 20))
    assert series is not None
    assert (series.first, series.lost) == (10, (False, False, True, False, False, False))
    absolute = series.topic.absolute
    value, is_mended = absolute.values[2]
    assert is_mended
    assert value == pytest.approx(12.0)
    assert [each.is_mended for each in absolute.values] == [False, False, True, False, False, False]
    assert absolute.total == 10 + 11 + 3 + 13 + 14 + 15, "of what was counted"
    assert absolute.mean == pytest.approx(12.5)
    assert absolute.deviation == pytest.approx(sqrt(35 / 12))
    assert series.topic.share.values[0].value == pytest.approx(0.1)
    assert series.topic.share.total == pytest.approx(66 / 503)
    assert series.topic_contents.absolute.total == 20, "each content once, in whatever slices it is"
    assert series.topic_contents.share.total == pytest.approx(0.1)
    assert series.related.absolute.values[2].value == pytest.approx(24.0)


def test_a_slice_without_any_page_is_lost_and_values_stay_within_what_can_be() -> None:
    counts = [SliceCounts(n, 10, 10, topic, 10, 10, topic) for n, topic in ((0, 9), (1, 0), (3, 0), (4, 9))]
    series = topic_series(counts, ContentCounts(10, 10, 9))
    assert series is not None
    assert series.counts[2] == SliceCounts(2)
    assert series.topic.absolute.values[2] == SliceValue(0.0, is_mended=True), "a cubic goes below nothing"
    assert topic_series([], ContentCounts()) is None
