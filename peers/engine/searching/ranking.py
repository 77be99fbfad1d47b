"""BM25F over statistics of the whole mesh.

    score(d) = sum over terms t of idf(t) * tf(t, d) * (k1 + 1) / (k1 + tf(t, d))
    tf(t, d) = sum over fields f of frequency_f(t, d) * (weight_f / (1 - b_f + b_f * length_f(d) / average_f))
    idf(t)   = log(1 + (N - n + 0.5) / (n + 0.5))
    k1       = its value for long pages * average_body / (average_body + k1_half)
    N documents, n of them with the term in any field; average_f = total length of f / N

Source: Robertson, Zaragoza, Taylor, "Simple BM25 extension to multiple weighted fields", CIKM 2004, with
the non-negative idf of Lucene. With one field of weight 1 it is Okapi BM25. k1 grows with the length of the
pages of the mesh, ours: a word that comes twice says more in an abstract of 40 words than in a manual.

Scores do not depend on how documents are spread over segments and peers: statistics are sums of
integers, every product and sum is float64 in one fixed order (terms by rising document frequency, then
name; fields as `segment_format` orders them), and idf is rounded to 2^-24, because logarithms of different C
libraries may differ in the last bit.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache

import msgspec
import numpy as np

from peers.engine.native.kernels import BODY, FIELD_COUNT, LENGTH_COUNT
from peers.kernel import Floats

_IDF_STEPS = 1 << 24
_ROUNDING = 1e-9  # of sums of some hundred terms


class RankingWeights(msgspec.Struct, frozen=True, array_like=True, cache_hash=True):
    """The weight of a match in each field, and how much the length of the field counts against it.

    Six fields: title, anchor, heading, body, url, boilerplate. The same on every peer that answers one query.
    The length of the boilerplate does not count, so that its sum over the mesh need not be known.

    The weights and b were fitted together with the weights of forms and pairs (`analysis`) by `tianmesh eval
    fit`, before CISI and NPL were there; on 528 to 596 queries of each collection (225 of Cranfield), in two
    folds: MRR@10, of Cranfield nDCG@10

                           before   fitted to all   folds fitted to   folds left out
        CMRC 2018          .9953    .9946           .9946             .9949
        Cranfield          .3939    .4060           .4013             .4002
        help, zh-CN        .6322    .6446           .6448             .6371
        help, en-US        .6158    .6535           .6622             .6593

    One k1 for all does not do: nDCG@10 of NPL, whose pages have 42 words, is .448 at 1.2 and .429 at 2.8,
    MRR@10 of the English help, 302 words, .639 and .653; with `k1_half` they are .441 and .670. Fitting all
    weights to all collections but one is not better on that one than these (`tianmesh eval quality` prints
    it): CISI .375 for .388, Cranfield .410 for .407, NPL .446 for .445, the help .644 for .649 and .670 for
    .672; the full model on top, see `model.ModelWeights`. The help links within itself only, and its anchors
    are mostly titles: on the open web they may be worth less than the 4 that the fit gives them.

    What of a page is not its main text, or `hidden` until a script shows it, is boilerplate. MRR@10 of the
    help by the full model, all queries, at weights of it of .05, .35 and .7: zh-CN .6496, .6540, .6566;
    en-US .6788, .6830, .6846; de .6327, .6380, .6389. With hidden text left out and .05 it was .6483, .6779
    and .6320. The help has hardly a menu, so the fit would have .7; no judged collection has the menus of the
    open web, which speak for less.
    """

    weights: tuple[float, float, float, float, float, float] = (5.0, 4.0, 1.0, 1.0, 1.4, 0.35)
    b: tuple[float, float, float, float, float] = (0.9, 0.35, 0.25, 0.375, 0.5)  # 0: length is ignored
    k1: float = 4.0  # of a mesh of long pages
    k1_half: float = 100.0  # terms in the average body where it is half of that; 0: whatever their length

    def __post_init__(self) -> None:
        if not (all(0 <= w < math.inf for w in self.weights) and all(0 <= b <= 1 for b in self.b)):
            raise ValueError(f"weights must be at least 0 and b between 0 and 1: {self.weights} {self.b}")
        if not (0 < self.k1 < math.inf and 0 <= self.k1_half < math.inf):
            raise ValueError(f"k1 must be positive: {self.k1} {self.k1_half}")


class CollectionStatistics(msgspec.Struct, frozen=True, array_like=True):
    """The statistics of a collection that ranking needs; those of disjoint collections add up."""

    document_count: int = 0
    field_lengths: tuple[int, int, int, int, int] = (0, 0, 0, 0, 0)  # terms in all documents, by field
    doc_freqs: Mapping[str, int] = {}  # documents with the term in any field; absent means 0

    def __post_init__(self) -> None:
        # They come from other peers, and logarithms are taken of them.
        if min((self.document_count, *self.field_lengths, *self.doc_freqs.values())) < 0:
            raise ValueError("statistics are counts, none is negative")

    def __add__(self, other: CollectionStatistics) -> CollectionStatistics:
        a, b = self.field_lengths, other.field_lengths
        doc_freqs = dict(self.doc_freqs)
        for term, doc_freq in other.doc_freqs.items():
            doc_freqs[term] = doc_freqs.get(term, 0) + doc_freq
        lengths = (a[0] + b[0], a[1] + b[1], a[2] + b[2], a[3] + b[3], a[4] + b[4])
        return CollectionStatistics(self.document_count + other.document_count, lengths, doc_freqs)


def in_scoring_order(terms: Iterable[str], statistics: CollectionStatistics) -> list[str]:
    """Sort terms the one way in which every peer adds up their scores: the rarest first."""
    known = statistics.doc_freqs
    return [term for _, term in sorted([(known.get(term, 0), term) for term in terms])]


def idf_of(terms: Sequence[str], statistics: CollectionStatistics) -> Floats:
    """Return the inverse document frequency of each term.

    A peer may know documents that the statistics, gathered earlier, do not count: N is never taken as
    less than n, so that no weight is negative.
    """
    return np.array(idfs_of(terms, statistics), np.float64)


def idfs_of(terms: Sequence[str], statistics: CollectionStatistics) -> list[float]:
    """Do as `idf_of`, for few terms, of which there is no array to be made."""
    total, known = statistics.document_count, statistics.doc_freqs
    doc_freqs = [known.get(term, 0) for term in terms]
    return [_idf(max(n, total), n) for n in doc_freqs]


def scored(
    terms: Sequence[str], weights: Sequence[float], statistics: CollectionStatistics
) -> tuple[list[str], list[float]]:
    """Return terms in scoring order, and idf times weight of each."""
    # Loops: a comprehension is a call, and so are zip and its arguments.
    total, doc_freq_of = statistics.document_count, statistics.doc_freqs.get
    ordered: list[tuple[int, str, float]] = []
    for number, term in enumerate(terms):
        ordered.append((doc_freq_of(term, 0), term, weights[number]))
    ordered.sort()
    in_order: list[str] = []
    factors: list[float] = []
    for doc_freq, term, weight in ordered:
        in_order.append(term)
        factors.append(_idf(doc_freq if doc_freq > total else total, doc_freq) * weight)
    return in_order, factors


def greatest_score(
    terms: Sequence[str], weights: Sequence[float], statistics: CollectionStatistics, ranking: RankingWeights
) -> float:
    """Return an upper bound of all scores: each term as often as can be, tf without a bound."""
    _, factors = scored(terms, weights, statistics)
    return sum(factors) * (k1_of(statistics, ranking) + 1.0) * (1.0 + _ROUNDING)


@lru_cache(maxsize=1 << 16)
def _idf(document_count: int, doc_freq: int) -> float:
    idf = math.log(1 + (document_count - doc_freq + 0.5) / (doc_freq + 0.5))
    return round(idf * _IDF_STEPS) / _IDF_STEPS


def k1_of(statistics: CollectionStatistics, weights: RankingWeights) -> float:
    """Return k1, which is positive."""
    total = max(statistics.field_lengths[BODY], statistics.document_count, 1)
    return weights.k1 * total / (total + weights.k1_half * statistics.document_count)


def length_normalisation(statistics: CollectionStatistics, weights: RankingWeights) -> tuple[Floats, Floats]:
    """Return (base, slope) of each field: 1 - b + b * length / average is base + slope * length."""
    base, slope = np.ones(FIELD_COUNT), np.zeros(FIELD_COUNT)
    for field in range(LENGTH_COUNT):
        b, total = weights.b[field], statistics.field_lengths[field]
        base[field] = 1.0 - b
        slope[field] = b * statistics.document_count / total if total > 0 else 0.0
        if base[field] == 0.0 and slope[field] == 0.0:
            base[field] = 1.0  # an empty field that is normalised fully: nothing to divide by
    return base, slope
