"""Samples of an hour, a day and a month: complete, bounded, and there again after a restart."""

from __future__ import annotations

from itertools import pairwise

import pytest

from mesh.tables.memory_table import MemoryTable
from peers.history.sample import Counts
from peers.history.series import COARSE, FINE, MEDIUM, POINTS, Series, level_for

NOW = 1_750_000_200.0  # some time; a whole multiple of two minutes
HOUR, DAY, MONTH = 3_600.0, 86_400.0, 30 * 86_400.0


class CountingTable(MemoryTable):
    """Counts what is put into it."""

    puts = 0

    def put(self, key: bytes, value: bytes) -> None:
        self.puts += 1
        super().put(key, value)


def run(series: Series, start: float, seconds: float, every: float = 2.0, queued: int = 7) -> float:
    """One page a second; returns when it ended."""
    steps = int(seconds / every)
    for n in range(1, steps + 1):
        series.note(start + n * every, every, Counts({"pages": int(every)}), {"queued": queued})
    return start + steps * every


def pages_in(series: Series, now: float, span_s: float) -> float:
    return sum(float(each.counters.values["pages"]) for each in series.last(now, level_for(span_s)))


@pytest.mark.parametrize("span_s", [HOUR, DAY, MONTH])
def test_everything_is_in_every_span_that_is_long_enough(span_s: float) -> None:
    series = Series(MemoryTable())
    now = run(series, NOW, 3_000.0)
    assert pages_in(series, now, span_s) == 3_000
    assert series.last(now, level_for(span_s))[-1].gauges["queued"] == 7


@pytest.mark.parametrize("span_s", [HOUR, DAY, MONTH])
def test_answers_are_as_long_as_asked_and_have_so_many_points(span_s: float) -> None:
    series = Series(MemoryTable())
    now = run(series, NOW, MONTH + DAY, every=90.0)
    samples = series.last(now, level_for(span_s))
    assert POINTS <= len(samples) <= POINTS + 1 or span_s == HOUR  # in which 90 s leave gaps
    assert {each.span_s for each in samples} == {span_s / POINTS}
    assert all(now - span_s - span_s / POINTS <= each.start_s <= now for each in samples)
    assert [each.start_s for each in samples] == sorted(each.start_s for each in samples)


def test_rows_are_bounded_and_written_once_in_two_minutes() -> None:
    table = CountingTable()
    series = Series(table)
    run(series, NOW, HOUR)
    assert table.puts == 2 * HOUR / MEDIUM.span_s
    run(series, NOW + HOUR, MONTH + DAY, every=60.0)
    assert len(table) <= MEDIUM.kept + COARSE.kept


def test_nothing_is_written_before_two_minutes_are_over() -> None:
    table = CountingTable()
    run(Series(table), NOW, MEDIUM.span_s - 2.0)
    assert table.puts == 0


def test_after_a_restart_the_rows_are_taken_up_and_the_hole_stays() -> None:
    table = MemoryTable()
    run(Series(table), NOW, HOUR)
    again = Series(table)
    now = run(again, NOW + HOUR + 600.0, 300.0)
    for span_s in (DAY, MONTH):
        assert pages_in(again, now, span_s) == pytest.approx(HOUR + 300.0, abs=MEDIUM.span_s)
    starts = [each.start_s for each in again.last(now, FINE)]
    assert max(later - one for one, later in pairwise(starts)) >= 600.0


def test_a_half_hour_goes_on_after_a_restart() -> None:
    table = MemoryTable()
    start = NOW // COARSE.span_s * COARSE.span_s
    now = run(Series(table), start, 604.0)
    again = Series(table)
    now = run(again, now, 600.0)
    [half_hour] = again._from(COARSE, start)
    assert half_hour.counters.values["pages"] >= 1_196


def test_what_the_hour_has_no_fine_samples_of_it_has_longer_ones_of() -> None:
    table = MemoryTable()
    now = run(Series(table), NOW, 1_800.0)
    again = Series(table)
    now = run(again, now, 60.0)
    samples = again.last(now, FINE)
    assert {each.span_s for each in samples} == {MEDIUM.span_s, 4 * FINE.span_s}
    assert sum(each.counters.values["pages"] for each in samples) == pytest.approx(1_860, abs=MEDIUM.span_s)


def test_a_clock_that_jumps_back_leaves_nothing_in_the_future_and_breaks_nothing() -> None:
    table = MemoryTable()
    series = Series(table)
    run(series, NOW + 10 * DAY, HOUR)
    now = run(series, NOW, HOUR)
    for span_s in (HOUR, DAY, MONTH):
        samples = series.last(now, level_for(span_s))
        assert all(each.start_s <= now for each in samples)
        assert [each.start_s for each in samples] == sorted(each.start_s for each in samples)
    assert pages_in(series, now, DAY) == pytest.approx(HOUR, abs=MEDIUM.span_s)
    again = Series(table)
    assert all(each.start_s <= now for each in again.last(now, COARSE))


def test_what_is_known_of_a_span_that_comes_again_is_added_to() -> None:
    series = Series(MemoryTable())
    now = run(series, NOW, 590.0)
    now = run(series, now - 100.0, 100.0)
    assert pages_in(series, now, DAY) == 690


def test_a_span_is_told_by_the_finest_level_that_is_long_enough() -> None:
    spans = (1.0, HOUR, HOUR + 1.0, DAY, MONTH, 2 * MONTH)
    assert [level_for(span_s) for span_s in spans] == [FINE, FINE, MEDIUM, MEDIUM, COARSE, COARSE]
