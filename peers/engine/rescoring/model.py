"""The full model: the features besides term frequencies that rank a page, mixed in at the gateway.

    score(d) = bm25f(d) + scale * sum over features of weight * value
    scale    = sum over the scoring entries that occur anywhere of idf * weight, the same for every page

`bm25f` picks the candidates, the `MODEL_DEPTH` best of the mesh; each comes with its raw features, measured
by the peer that holds the page (`features`). Candidates and features do not depend on how many peers there
are, and the mix is computed in one place in one fixed order: neither do the scores. The scale puts the
features, which are about 0 to 1, on the footing of BM25F, which grows with number and rarity of the terms.

The values of the features, from the raw ones:
    proximity      as it is; Büttcher, Clarke, Lushman, "Term proximity scoring for ad-hoc retrieval on very
                   large text collections", SIGIR 2006, as a share of what is possible
    title, url     as they are, 0 to 1: how much of the query is in the title and of the title in the query;
                   how much of the query is in the URL
    coverage       as it is, 0 to 1: how much of the query, by weight, occurs in the page at all
    linking_hosts  min(1, log(1 + n) / log(1 + LINKING_HOSTS_FULL)), n other domains that link here
    newness        max(0, log(T / max(age, 1 day)) / log(T / 1 day)), T = COMPENSATED_DAYS: new pages had no
                   time to be linked to; Li, Yan, Wang 2004, section 10.3
    depth          1 / (1 + depth), depth segments of the path: the front page of a host has 1
    freshness      1 / (1 + age / FRESHNESS_HALF_DAYS)
The age of a page is how much older it is than the newest candidate: there is no clock in a score.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from operator import attrgetter
from typing import Final, NamedTuple

import msgspec
import numpy as np

from peers.engine.queries.query import Query
from peers.engine.rescoring.explanation import Explanation
from peers.engine.searching.ranking import CollectionStatistics, idfs_of, in_scoring_order
from peers.kernel import Floats

# Candidates that the model orders anew: more cost every peer the reading of their postings, and change
# nothing that is shown first. At 20, 30, 50 and 100, nDCG@10 and MRR@10 of Cranfield, CMRC 2018 and the help
# in both languages (5,600 queries) are the same in all four digits, MAP differs by .0001 at most.
MODEL_DEPTH: Final = 30

LINKING_HOSTS_FULL: Final = 10_000  # linked to from everywhere; more tell nothing more
COMPENSATED_DAYS: Final = 90.0  # the threshold T of the book
FRESHNESS_HALF_DAYS: Final = 365.0  # a page a year old has half of the freshness of the newest

_DAY_S: Final = 86_400.0


class Features(NamedTuple):
    """The features of a peer's page for one query; raw, and on the wire a tuple in this order."""

    proximity: float = 0.0
    title: float = 0.0
    url: float = 0.0
    coverage: float = 0.0
    linking_hosts: float = 0.0  # how many
    depth: float = 0.0  # segments of the path
    date: float = 0.0  # seconds since the epoch; 0.0 when it is not known


FEATURE_COUNT: Final = len(Features._fields)
_SHARE_COUNT: Final = 4  # of the first ones, which are 0 to 1
_DATE: Final = 6


class ModelWeights(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The weight of each feature beside BM25F; 0 leaves it out.

    The first four were fitted by `tianmesh eval fit`, after those of BM25F and on the same queries
    (`ranking.RankingWeights`): MRR@10, of Cranfield nDCG@10

                           before   fitted to all   folds fitted to   folds left out
        CMRC 2018          .9940    .9949           .9940             .9937
        Cranfield          .4071    .4063           .4067             .4039
        help, zh-CN        .6520    .6559           .6518             .6474
        help, en-US        .6708    .6732           .6804             .6664

    `before` is with 0.5, 0.25, 0.1, 0.1, and BM25F fitted. Since CISI and NPL are among the collections,
    proximity is .5: CISI .3892 to .3882, CMRC 2018 .9899 to .9897, Cranfield .4063 to .4108, NPL .4452 to
    .4495, the help .6587 to .6582 and .6852 to .6866, on all queries.
    The others are small by choice: no judged collection has several hosts, or dates. The book adds newness
    to the logarithm of the links in full, so that a page of today counts as one that 89 hosts link to; since
    most new pages never get many links, the weight here is a quarter of that: as one that two hosts link to.
    """

    proximity: float = 0.5
    title: float = 0.3
    url: float = 0.1
    coverage: float = 0.2
    linking_hosts: float = 0.1
    depth: float = 0.02
    freshness: float = 0.02
    newness: float = 0.012

    def __post_init__(self) -> None:
        if not all(0 <= weight <= 2 for weight in msgspec.structs.astuple(self)):
            raise ValueError(f"weights of features must be between 0 and 2: {self}")


class Candidate(msgspec.Struct, frozen=True, gc=False):
    """One of the best pages by BM25F."""

    url: str
    score: float
    features: tuple[float, ...]  # as told: `Features`, or anything from a peer that is not honest
    clicked: float = 0.0  # weight of the clicks on it, of the mesh's log: 0 to the weight that these have


_DEFAULT_WEIGHTS: Final = ModelWeights()
_URL: Final = attrgetter("url")
_SCORE: Final = attrgetter("score")


def scale_of(query: Query, statistics: CollectionStatistics) -> float:
    """Return the amount that a feature of value 1 and weight 1 adds to a score; see above."""
    scoring = in_scoring_order(query.scoring, statistics)
    weight_of = dict(zip(query.scoring, query.weights, strict=True))
    occur = [statistics.doc_freqs.get(entry, 0) > 0 for entry in scoring]
    return scale_in_order(idfs_of(scoring, statistics), [weight_of[entry] for entry in scoring], occur)


def scale_in_order(idfs: Sequence[float], weights: Sequence[float], occur: Sequence[bool]) -> float:
    """Do as `scale_of`, of entries in scoring order, some of which occur."""
    scale = 0.0
    for idf, weight, does in zip(idfs, weights, occur, strict=True):
        if does:
            scale += idf * weight
    return scale


def reranked(
    candidates: Sequence[Candidate],
    scale: float,
    weights: ModelWeights = _DEFAULT_WEIGHTS,
    *,
    has_clicks: bool = False,
) -> list[Candidate]:
    """Return the candidates with the score of the full model, by falling score, ties by URL.

    Args:
      has_clicks: whether clicks on any of them count.
    """
    if not candidates:
        return []
    given = np.array([each.score for each in candidates])
    mixed = _mixed(given, values_of(candidates), scale, weights)
    if has_clicks:
        mixed = mixed + scale * np.array([each.clicked for each in candidates])
    scores = mixed.tolist()
    scored = [
        Candidate(each.url, score, each.features) for each, score in zip(candidates, scores, strict=True)
    ]
    scored.sort(key=_URL)
    scored.sort(key=_SCORE, reverse=True)
    return scored


def values_of(candidates: Sequence[Candidate]) -> Floats:
    """Return the values of the features, a row a feature, in the order of `ModelWeights`."""
    told = _told(candidates)
    return _values(told, float(told[:, _DATE].max()) if len(told) else 0.0)


def newest_of(candidates: Sequence[Candidate]) -> float:
    """Return the date from which the ages of candidates count."""
    return float(_told(candidates)[:, _DATE].max()) if candidates else 0.0


def explain_mix(
    candidate: Candidate,
    bm25f: Explanation,
    scale: float,
    newest: float,
    weights: ModelWeights = _DEFAULT_WEIGHTS,
) -> Explanation:
    """Explain the score that `reranked` gives a candidate.

    Args:
      candidate: with its score by BM25F, which `bm25f` explains.
      newest: `newest_of` all candidates.
    """
    told = _told([candidate])
    values = _values(told, newest)
    formulas = _formulas(Features(*told[0].tolist()), newest)
    terms = zip(NAMES, msgspec.structs.astuple(weights), values[:, 0].tolist(), formulas, strict=True)
    parts = tuple(
        Explanation(
            name,
            scale * weight * value,
            f"scale {scale:.6f} * weight {weight:.6g} * value {value:.6f}",
            (Explanation("value", value, formula),),
        )
        for name, weight, value, formula in terms
        if weight
    )
    total = float(_mixed(np.array([candidate.score]), values, scale, weights)[0])
    if candidate.clicked:
        by_clicks = scale * candidate.clicked
        said = f"scale {scale:.6f} * weight and value {candidate.clicked:.6f}, of readers that opened it"
        parts, total = (*parts, Explanation("clicks", by_clicks, said)), total + by_clicks
    return Explanation("score", total, "bm25f + the features", (bm25f, *parts))


NAMES: Final = ("proximity", "title", "url", "coverage", "linking hosts", "depth", "freshness", "newness")


def _mixed(scores: Floats, values: Floats, scale: float, weights: ModelWeights) -> Floats:
    """Add the features to scores, one after the other."""
    for weight, of_feature in zip(msgspec.structs.astuple(weights), values, strict=True):
        scores = scores + scale * weight * of_feature
    return scores


def _told(candidates: Sequence[Candidate]) -> Floats:
    """Return the raw features, a row a candidate; zeros for anything that an honest peer does not send."""
    rows = [each.features if len(each.features) == FEATURE_COUNT else Features() for each in candidates]
    told = np.array(rows, np.float64)
    is_sane = np.isfinite(told).all(axis=1) & (told[:, :_DATE] >= 0).all(axis=1)
    is_sane &= (told[:, :_SHARE_COUNT] <= 1).all(axis=1)
    told[~is_sane] = 0.0
    return told


def _values(told_by_candidate: Floats, newest: float) -> Floats:
    """Return the values computed from the raw features, where ages count from a date."""
    told = told_by_candidate.T
    age_days = np.maximum(0.0, newest - told[_DATE]) / _DAY_S
    values = np.vstack([told, newness(age_days)])
    values[4] = linkedness(told[4])
    values[5] = _rounded(1.0 / (1.0 + told[5]))
    values[6] = _rounded(1.0 / (1.0 + age_days / FRESHNESS_HALF_DAYS))
    return values


def linkedness(linking_hosts: Floats) -> Floats:
    """Return the value, 0 to 1, of being linked to by so many other domains."""
    return _rounded(np.minimum(1.0, np.log(1.0 + linking_hosts) / math.log(1.0 + LINKING_HOSTS_FULL)))


def newness(age_days: Floats) -> Floats:
    """Return the value, 0 to 1, of having had so little time to be linked to."""
    left = np.log(COMPENSATED_DAYS / np.maximum(age_days, 1.0)) / math.log(COMPENSATED_DAYS)
    return _rounded(np.maximum(0.0, left))


def _rounded(values: Floats) -> Floats:
    """To 2^-24, because logarithms of different C libraries may differ in the last bit."""
    return np.rint(values * (1 << 24)) / (1 << 24)


def _formulas(features: Features, newest: float) -> tuple[str, ...]:
    age = f"age {max(0.0, newest - features.date) / _DAY_S:.0f} days behind the newest"
    return (
        "closeness of the query's terms to each other in the text, as a share of what is possible",
        "2 c p / (c + p), c of the query is in the title, p of the title is in the query",
        "of the query, by weight, in the URL",
        "of the query, by weight, anywhere in the page",
        f"log(1 + n) / log(1 + {LINKING_HOSTS_FULL}), n = {features.linking_hosts:.0f} other domains",
        f"1 / (1 + {features.depth:.0f} segments of the path)",
        f"1 / (1 + age / {FRESHNESS_HALF_DAYS:.0f} days), {age}",
        f"log({COMPENSATED_DAYS:.0f} days / age) / log({COMPENSATED_DAYS:.0f}), at least 0, {age}",
    )
