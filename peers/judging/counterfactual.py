"""The worth of a ranking, estimated from clicks on lists of another one that readers were shown.

A result that a reader clicks on at a place that a share e of readers looks at stands for 1 / e readers that
would have clicked on it had all looked: an inverse propensity, which is clipped, since one click at a place
that nobody looks at says little. The *value* of a ranking is the mean of clicks so weighted, each counting
1 / log2(1 + rank) of its place in that ranking, as DCG has it. *Self-normalised* it is divided by the same
sum with each counting 1: the mean gain of the place at which a ranking puts what readers look for, which
does not depend on how many look at the first place.

The error is that of the clicks, and of the shares e that are estimated from them (`examination`), by the
parametric bootstrap: clicks are drawn as the model and the worths it finds have them, all is computed again,
and compared with the worth that a ranking has by these. So it has both parts: estimates vary, and they lean
to one side, since a clip makes weights too low, and shares that are fitted to noise weights too even. The
lean is as uncertain as the model: an interval holds those around the estimate as it is and without the lean,
of weights with a clip and without. Where clicks do not tell of which kind readers are, it holds those by the
models of both kinds. Readers of a third one are in neither.

Sources: Joachims, Swaminathan, Schnabel, "Unbiased learning-to-rank with biased feedback", WSDM 2017;
Swaminathan, Joachims, "The self-normalized estimator for counterfactual learning", NIPS 2015.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import inf, isfinite, log2
from operator import attrgetter
from statistics import mean, stdev
from typing import Final

import msgspec

from peers.judging.examination import Examination, Floats, ShownList, examinations_redrawn, worths_by

CLIP: Final = 10.0  # weight of a click at most
DRAWS: Final = 30  # of the clicks anew, for the error: known to an eighth then
SIDE_95: Final = 2.04  # of Student's distribution of so many draws, in standard errors


class Estimate(msgspec.Struct, frozen=True):
    """An estimate by clipped weights, and its 95 % interval, which holds that of the weights as they are."""

    value: float
    low: float
    high: float


class RankingWorth(msgspec.Struct, frozen=True):
    """The worth of a ranking by a log."""

    clipped: Estimate  # gain a reader, by clipped inverse propensities
    normalised: Estimate  # 0 to 1: gain of the place of each result that is looked for
    clients: int  # of the queries that it ranks
    clicks: int
    unplaced: int  # of these clicks, those on results that the ranking does not have: they count 0
    unknown: int  # clicks left out, since nothing tells how many look at their places


def gain_at(place: int) -> float:
    """Return the gain of a place, from 0, as DCG has it."""
    return 1.0 / log2(2.0 + place)


def worth_of(
    ranking_of: Mapping[str, Sequence[bytes]], lists: Sequence[ShownList], shares: Examination
) -> RankingWorth:
    """Estimate the worth of a ranking for the queries that it ranks.

    Args:
      ranking_of: by query, digests of results in order.
      shares: of all these lists.
    """
    places = {
        query: {result: place for place, result in reversed([*enumerate(ranking)])}
        for query, ranking in ranking_of.items()
    }
    clipped, normalised = _estimates(lists, places, shares)
    for rival in shares.rivals:
        by_rival = _estimates(lists, places, rival)
        clipped, normalised = map(_holding, (clipped, normalised), by_rival)
    sums = _Sums(lists, places, shares, CLIP)
    return RankingWorth(clipped, normalised, sums.clients, sums.clicks, sums.unplaced, sums.unknown)


def _holding(estimate: Estimate, other: Estimate) -> Estimate:
    """Have the interval of an estimate hold that of another one."""
    return Estimate(estimate.value, min(estimate.low, other.low), max(estimate.high, other.high))


def _estimates(
    lists: Sequence[ShownList], places: Mapping[str, Mapping[bytes, int]], shares: Examination
) -> tuple[Estimate, Estimate]:
    """Estimate the worth by one model of readers: clipped, and self-normalised."""
    sums, whole = (_Sums(lists, places, shares, clip) for clip in (CLIP, inf))
    worths = worths_by(lists, shares)
    expected = _Expected(lists, places, worths)
    redrawn = [
        [_Sums(drawn.lists, places, drawn.shares, clip) for clip in (CLIP, inf)]
        for drawn in examinations_redrawn(lists, shares, worths, DRAWS)
    ]
    clipped, normalised = (
        _estimate([of(sums), of(whole)], of(expected), [[of(each) for each in pair] for pair in redrawn])
        for of in (attrgetter("value"), attrgetter("normalised"))
    )
    return clipped, normalised


def _estimate(values: Sequence[float], expected: float, redrawn: Sequence[Sequence[float]]) -> Estimate:
    """Make an estimate of the values by clipped and by other weights, and of draws of both.

    Args:
      expected: that all draws are an estimate of.
    """
    sides = []
    for value, of_draws in zip(values, zip(*redrawn, strict=True), strict=True):
        unbiased, side = value - (mean(of_draws) - expected), SIDE_95 * stdev(of_draws)
        sides += [value - side, value + side, unbiased - side, unbiased + side]
    return Estimate(values[0], max(0.0, min(sides)), max(sides))


class _Expected:
    """The worth of a ranking by the worths of results, where the log tells them."""

    def __init__(
        self, lists: Sequence[ShownList], places: Mapping[str, Mapping[bytes, int]], worths: Floats
    ) -> None:
        self._clients = self._gained = self._wanted = 0.0
        for shown, of_list in zip(lists, worths.tolist(), strict=True):
            place_of = places.get(shown.query)
            if place_of is None:
                continue
            self._clients += shown.clients
            for result, worth in zip(shown.results, of_list, strict=False):
                if isfinite(worth):
                    place = place_of.get(result)
                    self._wanted += shown.clients * worth
                    self._gained += shown.clients * worth * (0.0 if place is None else gain_at(place))

    @property
    def value(self) -> float:
        return self._gained / self._clients if self._clients else 0.0

    @property
    def normalised(self) -> float:
        return self._gained / self._wanted if self._wanted else 0.0


class _Sums:
    """The sums over clicks of which the estimates are made."""

    def __init__(
        self,
        lists: Sequence[ShownList],
        places: Mapping[str, Mapping[bytes, int]],
        shares: Examination,
        clip: float,
    ) -> None:
        self.clients = self.clicks = self.unplaced = self.unknown = 0
        self._weighted: list[tuple[int, float, float]] = []  # clicks, weight, gain
        for shown, of_list in zip(lists, shares.by_list.tolist(), strict=True):
            place_of = places.get(shown.query)
            if place_of is None:
                continue
            self.clients += shown.clients
            for result, clicks, share in zip(shown.results, shown.clicks, of_list, strict=False):
                if not clicks:
                    continue
                self.clicks += clicks
                if not isfinite(share):
                    self.unknown += clicks
                    continue
                place = place_of.get(result)
                self.unplaced += clicks if place is None else 0
                gain = 0.0 if place is None else gain_at(place)
                self._weighted.append((clicks, min(clip, 1.0 / share), gain))

    @property
    def value(self) -> float:
        return self._gained / self.clients if self.clients else 0.0

    @property
    def normalised(self) -> float:
        return self._gained / self._weight if self._weight else 0.0

    @property
    def _gained(self) -> float:
        return sum(clicks * weight * gain for clicks, weight, gain in self._weighted)

    @property
    def _weight(self) -> float:
        return sum(clicks * weight for clicks, weight, _ in self._weighted)
