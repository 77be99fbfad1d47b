"""The full model: what beside the words' frequencies speaks for a page, mixed in at the gateway.

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
    linking_hosts  min(1, (log(1 + n) + compensation) / log(1 + LINKING_HOSTS_FULL)), n other hosts that link
                   here. New pages had no time to be linked to: for a page younger than T days compensation =
                   log(T / max(age, 1 day)) * NEWNESS; Li, Yan, Wang 2004, section 10.3, with a factor since
                   most new pages never get many links
    depth          1 / (1 + depth), depth segments of the path: the front page of a host has 1
    freshness      1 / (1 + age / FRESHNESS_HALF)
The age of a page is how much older it is than the newest candidate: there is no clock in a score.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

import msgspec

from peers.index.explanation import Explanation
from peers.index.query import Query
from peers.index.ranking import Statistics, idf_of, in_scoring_order

# Candidates that the model orders anew. BM25F has the page that is looked for among its first 100 in 97 of
# 100 queries on the LibreOffice help; more cost every peer the reading of their postings.
MODEL_DEPTH: Final = 100

LINKING_HOSTS_FULL: Final = 10_000  # linked to from everywhere; more tell nothing more
COMPENSATED_DAYS: Final = 90.0  # the threshold T of the book
NEWNESS: Final = 0.25
FRESHNESS_HALF_DAYS: Final = 365.0  # a page a year old has half of the freshness of the newest

_DAY_S: Final = 86_400.0


class Features(NamedTuple):
    """What a peer tells of one of its pages for one query; raw, and on the wire a tuple in this order."""

    proximity: float = 0.0
    title: float = 0.0
    url: float = 0.0
    coverage: float = 0.0
    linking_hosts: float = 0.0  # how many
    depth: float = 0.0  # segments of the path
    date: float = 0.0  # seconds since the epoch; 0.0 when it is not known


FEATURE_COUNT: Final = len(Features._fields)


class ModelWeights(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """What each feature is worth beside BM25F; 0 leaves it out."""

    proximity: float = 0.5
    title: float = 0.25
    url: float = 0.1
    coverage: float = 0.1
    linking_hosts: float = 0.1
    depth: float = 0.02
    freshness: float = 0.02

    def __post_init__(self) -> None:
        if not all(0 <= weight <= 2 for weight in msgspec.structs.astuple(self)):
            raise ValueError(f"weights of features must be between 0 and 2: {self}")


class Candidate(NamedTuple):
    """One of the best pages by BM25F."""

    url: str
    score: float
    features: Features


_DEFAULT_WEIGHTS: Final = ModelWeights()
_UNKNOWN: Final = Features()


def features_in(told: Sequence[float]) -> Features:
    """Return the features that came over the wire; none for anything that an honest peer does not send."""
    if len(told) != FEATURE_COUNT or not all(map(math.isfinite, told)):
        return _UNKNOWN
    features = Features(*told)
    is_sane = all(0 <= value <= 1 for value in features[:4]) and min(features[4:6]) >= 0
    return features if is_sane else _UNKNOWN


def scale_of(query: Query, statistics: Statistics) -> float:
    """Return what a feature of value 1 and weight 1 adds to a score; see above."""
    scoring = in_scoring_order(query.scoring, statistics)
    weight_of = dict(zip(query.scoring, query.weights, strict=True))
    idf = idf_of(scoring, statistics).tolist()
    scale = 0.0
    for entry, of_entry in zip(scoring, idf, strict=True):
        if statistics.doc_freqs.get(entry, 0):
            scale += of_entry * weight_of[entry]
    return scale


def reranked(
    candidates: Sequence[Candidate], scale: float, weights: ModelWeights = _DEFAULT_WEIGHTS
) -> list[Candidate]:
    """Return the candidates with the score of the full model, by falling score, ties by URL."""
    newest = newest_of(candidates)
    scored = [each._replace(score=_mixed(each, scale, weights, newest)) for each in candidates]
    return sorted(scored, key=lambda each: (-each.score, each.url))


def newest_of(candidates: Iterable[Candidate]) -> float:
    """Return the date from which the ages of candidates count."""
    return max((each.features.date for each in candidates), default=0.0)


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
    parts = tuple(
        Explanation(
            name,
            scale * weight * value,
            f"scale {scale:.6f} * weight {weight:.6g} * value {value:.6f}",
            (Explanation("value", value, how),),
        )
        for (name, weight, value), how in zip(
            _terms(candidate.features, weights, newest), _formulas(candidate.features, newest), strict=True
        )
        if weight
    )
    total = _mixed(candidate, scale, weights, newest)
    return Explanation("score", total, "bm25f + the features", (bm25f, *parts))


def _mixed(candidate: Candidate, scale: float, weights: ModelWeights, newest: float) -> float:
    total = candidate.score
    for _, weight, value in _terms(candidate.features, weights, newest):
        total += scale * weight * value
    return total


def _terms(features: Features, weights: ModelWeights, newest: float) -> tuple[tuple[str, float, float], ...]:
    """Return (name, weight, value) of each feature, in the order in which they are added up."""
    age_days = _age_days(features, newest)
    return (
        ("proximity", weights.proximity, features.proximity),
        ("title", weights.title, features.title),
        ("url", weights.url, features.url),
        ("coverage", weights.coverage, features.coverage),
        ("linking hosts", weights.linking_hosts, linkedness(features.linking_hosts, age_days)),
        ("depth", weights.depth, _rounded(1.0 / (1.0 + features.depth))),
        ("freshness", weights.freshness, _rounded(1.0 / (1.0 + age_days / FRESHNESS_HALF_DAYS))),
    )


def linkedness(linking_hosts: float, age_days: float) -> float:
    """Return the value, 0 to 1, of being linked to by so many other hosts at such an age."""
    links = math.log(1.0 + linking_hosts)
    if age_days < COMPENSATED_DAYS:
        links += NEWNESS * math.log(COMPENSATED_DAYS / max(age_days, 1.0))
    return _rounded(min(1.0, links / math.log(1.0 + LINKING_HOSTS_FULL)))


def _age_days(features: Features, newest: float) -> float:
    """Return the age in days; that of a page without a date is longer than any."""
    return max(0.0, newest - features.date) / _DAY_S


def _rounded(value: float) -> float:
    """To 2^-24, because logarithms of different C libraries may differ in the last bit."""
    return round(value * (1 << 24)) / (1 << 24)


def _formulas(features: Features, newest: float) -> tuple[str, ...]:
    age = f"age {_age_days(features, newest):.0f} days behind the newest"
    return (
        "closeness of the query's terms to each other in the text, as a share of what is possible",
        "2 c p / (c + p), c of the query is in the title, p of the title is in the query",
        "of the query, by weight, in the URL",
        "of the query, by weight, anywhere in the page",
        f"log(1 + n) / log(1 + {LINKING_HOSTS_FULL}), n = {features.linking_hosts:.0f} other hosts; {age}",
        f"1 / (1 + {features.depth:.0f} segments of the path)",
        f"1 / (1 + age / {FRESHNESS_HALF_DAYS:.0f} days), {age}",
    )
