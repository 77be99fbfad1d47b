"""The worth of a ranking, estimated from clicks on lists of another one that readers were shown.

A result that a reader clicks on at a place that a share e of readers looks at stands for 1 / e readers that
would have clicked on it had all looked: an inverse propensity, which is clipped, since one click at a place
that nobody looks at says little. The *value* of a ranking is the mean of clicks so weighted, each counting
1 / log2(1 + rank) of its place in that ranking, as DCG has it. *Self-normalised* it is divided by the same
sum with each counting 1: the mean gain of the place at which a ranking puts what readers look for, which
does not depend on how many look at the first place.

The error is that of the clicks, and of the shares e that are estimated from them (`examination`), by the
bootstrap: clicks are drawn anew and all is computed again. A clip makes estimates too low, and none makes
them vary: the interval holds those of both. Readers of another kind than the model's are in neither.

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

from peers.judging.examination import Examination, ShownList, examinations_redrawn

CLIP: Final = 10.0  # weight of a click at most
DRAWS: Final = 30  # of the clicks anew, for the error: known to an eighth then
SIDE_95: Final = 1.96  # of a normal distribution, in standard errors


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
    sums, whole = (_Sums(lists, places, shares, clip) for clip in (CLIP, inf))
    redrawn = [
        [_Sums(drawn, places, of_drawn, clip) for clip in (CLIP, inf)]
        for drawn, of_drawn in examinations_redrawn(lists, shares.model, DRAWS)
    ]
    clipped, normalised = (
        _estimate([of(sums), of(whole)], [[of(each) for each in pair] for pair in redrawn])
        for of in (attrgetter("value"), attrgetter("normalised"))
    )
    return RankingWorth(clipped, normalised, sums.clients, sums.clicks, sums.unplaced, sums.unknown)


def _estimate(values: Sequence[float], redrawn: Sequence[Sequence[float]]) -> Estimate:
    """Make an estimate of the values by clipped and by other weights, and of draws of both."""
    sides = []
    for value, of_draws in zip(values, zip(*redrawn, strict=True), strict=True):
        unbiased, side = 2 * value - mean(of_draws), SIDE_95 * stdev(of_draws)
        sides += [value, unbiased - side, unbiased + side]
    return Estimate(values[0], min(sides), max(sides))


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
