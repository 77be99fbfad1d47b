"""How samples are put together."""

from __future__ import annotations

from peers.history.sample import Counters, Gauges, Sample, added, coarsened, grown, merged


def sample(start_s: float, span_s: float = 10.0, pages: int = 1, queued: int = 0) -> Sample:
    return Sample(start_s, span_s, span_s, Counters(pages=pages), Gauges(queued=queued))


def test_counters_add_up_field_by_field_and_class_by_class() -> None:
    one = Counters(1, 2, 3, 4, 5, 0.5, (1, 2))
    other = Counters(10, 20, 30, 40, 50, 0.25, (10, 20, 30))
    assert added(one, other) == added(other, one) == Counters(11, 22, 33, 44, 55, 0.75, (11, 22, 30))


def test_what_was_counted_between_two_looks_is_the_difference() -> None:
    before, now = Counters(pages=5, cpu_s=1.5, search_classes=(3,)), Counters(9, 0, 7, 0, 0, 2.0, (4, 2))
    assert grown(now, before) == Counters(4, 0, 7, 0, 0, 0.5, (1, 2))


def test_a_counter_that_began_anew_counts_from_nothing() -> None:
    before = Counters(pages=500, messages=7, search_classes=(9, 1))
    now = Counters(pages=3, messages=8, search_classes=(2, 2))
    assert grown(now, before) == Counters(pages=3, messages=1, search_classes=(2, 2))


def test_gauges_are_those_of_the_later_and_the_span_is_that_of_the_first() -> None:
    put = merged(sample(20.0, queued=5), sample(30.0, pages=2, queued=3))
    assert put == Sample(20.0, 10.0, 20.0, Counters(pages=3), Gauges(queued=3))


def test_samples_are_put_together_by_the_span_they_begin_in_and_gaps_stay() -> None:
    fine = [sample(at) for at in (0.0, 10.0, 20.0, 30.0, 90.0)]
    assert [(each.start_s, each.span_s, each.counters.pages) for each in coarsened(fine, 30.0)] == [
        (0.0, 30.0, 3),
        (30.0, 30.0, 1),
        (90.0, 30.0, 1),
    ]


def test_a_sample_that_is_longer_stays_as_long() -> None:
    assert [each.span_s for each in coarsened([sample(0.0, 120.0), sample(120.0)], 30.0)] == [120.0, 30.0]
