"""How samples are put together."""

from __future__ import annotations

from peers.history.sample import Counts, Sample, added, coarsened, grown, merged


def sample(start_s: float, span_s: float = 10.0, pages: int = 1, queued: int = 0) -> Sample:
    return Sample(start_s, span_s, span_s, Counts({"pages": pages}), {"queued": queued})


def test_counters_add_up_name_by_name_and_class_by_class() -> None:
    one = Counts({"pages": 1, "cpu": 0.5, "old": 7}, (1, 2))
    other = Counts({"pages": 10, "cpu": 0.25, "new": 3}, (10, 20, 30))
    both = Counts({"pages": 11, "cpu": 0.75, "old": 7, "new": 3}, (11, 22, 30))
    assert added(one, other) == added(other, one) == both


def test_what_was_counted_between_two_looks_is_the_difference() -> None:
    before, now = Counts({"pages": 5, "cpu": 1.5}, (3,)), Counts({"pages": 9, "cpu": 2.0, "new": 7}, (4, 2))
    assert grown(now, before) == Counts({"pages": 4, "cpu": 0.5, "new": 7}, (1, 2))


def test_a_counter_that_began_anew_counts_from_nothing() -> None:
    before = Counts({"pages": 500, "messages": 7}, (9, 1))
    now = Counts({"pages": 3, "messages": 8}, (2, 2))
    assert grown(now, before) == Counts({"pages": 3, "messages": 1}, (2, 2))


def test_gauges_are_those_of_the_later_and_the_span_is_that_of_the_first() -> None:
    put = merged(sample(20.0, queued=5), sample(30.0, pages=2, queued=3))
    assert put == Sample(20.0, 10.0, 20.0, Counts({"pages": 3}), {"queued": 3})


def test_samples_are_put_together_by_the_span_they_begin_in_and_gaps_stay() -> None:
    fine = [sample(at) for at in (0.0, 10.0, 20.0, 30.0, 90.0)]
    assert [(each.start_s, each.span_s, each.counters.values["pages"]) for each in coarsened(fine, 30.0)] == [
        (0.0, 30.0, 3),
        (30.0, 30.0, 1),
        (90.0, 30.0, 1),
    ]


def test_a_sample_that_is_longer_stays_as_long() -> None:
    assert [each.span_s for each in coarsened([sample(0.0, 120.0), sample(120.0)], 30.0)] == [120.0, 30.0]
