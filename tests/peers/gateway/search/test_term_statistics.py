from __future__ import annotations

from peers.gateway.search.plan import Share
from peers.gateway.search.term_statistics import TermStatistics
from peers.index.answerer import COUNT_MAX
from peers.index.wire_messages import TermsCounted

ANN, BOB = Share("ann", ()), Share("bob", ())
TERMS = ("one", "two")


def counted(*doc_freqs: int, generation: int = 1) -> TermsCounted:
    return TermsCounted(1, b"e" * 16, generation, 10, (10,) * 5, doc_freqs)


def test_sums_follow_each_change_of_the_counts() -> None:
    statistics = TermStatistics()
    shares = [ANN, BOB]
    statistics.add(ANN, TERMS, counted(1, 2))
    assert statistics.totals(shares, TERMS).doc_freqs == (1, 2)
    assert statistics.lacking(shares, TERMS) == [BOB]
    statistics.add(BOB, TERMS, counted(3, 4))
    assert statistics.totals(shares, TERMS).doc_freqs == (4, 6)
    assert statistics.totals(shares, ()).doc_freqs == ()
    assert statistics.totals(shares, TERMS).doc_freqs == (4, 6)
    assert statistics.totals([ANN], TERMS).doc_freqs == (1, 2)
    assert statistics.totals(shares, TERMS[1:]).doc_freqs == (6,)
    statistics.add(BOB, TERMS[:1], counted(5, generation=2))
    assert statistics.totals(shares, TERMS).doc_freqs == (1, 2)
    assert statistics.totals(shares, TERMS[:1]).doc_freqs == (6,)
    statistics.forget(ANN)
    assert statistics.totals(shares, TERMS).doc_freqs == (0, 0)
    assert statistics.lacking(shares, ()) == [ANN]


def test_no_sum_is_more_than_indexers_believe() -> None:
    statistics = TermStatistics()
    for share in (ANN, BOB):
        statistics.add(share, TERMS, counted(COUNT_MAX - 1, 2))
    assert statistics.totals([ANN, BOB], TERMS).doc_freqs == (COUNT_MAX, 4)
