"""How many readers look at each place of a list, estimated from clicks on results that were in several.

Theory of operation
===================
A result that is clicked on twice as often at the first place as at the second says how much the second is
looked at, whatever the result is worth. Such results are there without an experiment: two rankings draft
lists of their own, and indexes change. Three models of readers are fitted.

*Position*: the share that looks at rank r is e(r), e(1) = 1, whatever stands there. Clicks k of result u on
n times shown have the mean n e(r) a(u). With the worth a(u) eliminated, of the K(u) clicks on u those at r
are in proportion to n(u, r) e(r); the iteration

    e(r) = sum_u k(u, r) / sum_u K(u) n(u, r) / sum_s n(u, s) e(s)

goes to the most likely e, and its equations hold in the mean for any a. Ranks that no chain of moved results
connects with the first one are not known.

*Power*: e(r) = r^-n, which is one number, and so less noisy where few have read far down.

*Cascade*: a reader goes down and stops after a click, with a probability that grows with the result's worth:
of those that look at rank r of a list, 1 - a (s + t a) look at r + 1. The worths follow from the clicks, for
given s and t, which are looked for on a grid by the same likelihood, in which the worths are eliminated.

The model is taken that explains the clicks best of queries that it was not fitted to. Of the first two, of
which the first has nine numbers where the second has one, it is the second, unless the first explains more by
at least a standard error: few clicks far down make shares there, and all that is computed of them, wrong.
Whether readers look at places, or go down and stop, a log of few clicks may not tell: where the other kind of
model explains clicks less well by under two standard errors, its shares are told as well (`rivals`).

Sources: Agarwal et al., "Estimating position bias without intrusive interventions", WSDM 2019 (moved
results); Hunter, "MM algorithms for generalized Bradley-Terry models", 2004 (the iteration); Guo, Liu, Wang,
"Efficient multiple-click models in web search", WSDM 2009 (cascade).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from peers.query_log.log_row import LISTED_MAX

ROUNDS_MAX: Final = 500
CLOSE_ENOUGH: Final = 1e-6  # of shares, between two rounds
CASCADE_ROUNDS: Final = 12  # from the top each settles one rank more, and there are ten
GRID: Final = (0.0, 0.25, 0.5, 0.75, 1.0)  # of s and t
POWERS: Final = (0.0, 0.25, 0.5, 0.75, 1.0, 1.25, 1.5, 1.75, 2.0)
STEPS: Final = (2**-3, 2**-4, 2**-5)  # around the best of it: sums of these are exact
# A rank that is looked at less is of no use for an estimate, and one click there, which a model has held for
# next to impossible, would outweigh all others by which models are told apart.
SHARE_MIN: Final = 1e-2
PRIOR: Final = 5.0  # looks at the usual result that count in each worth: few looks say little
FOLDS: Final = 5
ERRORS_TOLD: Final = 2.0  # standard errors by which kinds of models are told apart, as for 95 %
SEED: Final = 1  # the same log has the same figures
POSITION: Final = "position"
POWER: Final = "power"
CASCADE: Final = "cascade"

Floats = npt.NDArray[np.float64]


class ShownList(NamedTuple):
    """A list of results that several clients were shown, and how many of them clicked on each."""

    query: str
    results: Sequence[bytes]
    clients: int
    clicks: Sequence[int]


class Examination(NamedTuple):
    """The share of readers that look at each result of each list, by the best of the models."""

    model: str  # POSITION, POWER or CASCADE
    by_list: Floats  # a row a list, a column a rank; NaN where that is not known, and behind its end
    ranks: tuple[float | None, ...]  # mean over the lists, of the first one on; None where it is not known
    moved: int  # results that were shown in places of different shares
    gain: float  # by which it explains a click left out better than the next model, mean log-likelihood
    rivals: tuple[Examination, ...] = ()  # by models that clicks do not tell from this one, which have none

    def of_lists(self, numbers: Sequence[int]) -> Examination:
        """Return the shares of these lists alone."""
        rivals = tuple(each.of_lists(numbers) for each in self.rivals)
        return self._replace(by_list=self.by_list[[*numbers]], rivals=rivals)


@dataclass(frozen=True)
class _Shown:
    """Lists as arrays: a row a list, a column a rank; -1 and 0 behind the end of a list."""

    results: npt.NDArray[np.int64]  # number of the query's result, over all queries
    clients: Floats
    clicks: Floats
    query: npt.NDArray[np.int64]  # of each list

    @cached_property
    def is_there(self) -> npt.NDArray[np.bool_]:
        return self.results >= 0

    @cached_property
    def numbers(self) -> npt.NDArray[np.int64]:
        """The numbers of results, 0 behind the end of a list."""
        return np.maximum(self.results, 0)

    @cached_property
    def n_results(self) -> int:
        return int(self.results.max(initial=-1)) + 1


def examination_of(lists: Sequence[ShownList]) -> Examination:
    """Fit all models to lists, and take the one that explains clicks left out best."""
    shown = _arrays_of(lists)
    by_query = _explained_left_out(shown)
    explained = {name: float(of_queries.sum()) for name, of_queries in by_query.items()}
    # Where nothing moved nothing tells them apart: then the first, which supposes least of readers.
    of_places = POWER if _is_within_errors(by_query[POSITION] - by_query[POWER], 1.0) else POSITION
    is_cascade = max(explained, key=explained.__getitem__) == CASCADE
    model, other = (CASCADE, of_places) if is_cascade else (of_places, CASCADE)
    second = max(value for name, value in explained.items() if name != model)
    found = _examination(shown, model, explained[model] - second)
    if not _is_within_errors(by_query[model] - by_query[other], ERRORS_TOLD):
        return found
    return found._replace(rivals=(_examination(shown, other, 0.0),))


class RedrawnClicks(NamedTuple):
    """Clicks of readers that are as a model says, and the shares by these."""

    lists: list[ShownList]
    shares: Examination


def worths_by(lists: Sequence[ShownList], shares: Examination) -> Floats:
    """Return the share of readers that click on a result they look at: a row a list, NaN as in the shares."""
    shown = _arrays_of(lists)
    is_known = np.isfinite(shares.by_list)
    looked = np.where(is_known, np.nan_to_num(shares.by_list) * shown.clients[:, None], 0.0)
    worth = _worth_of(_sums_by_result(shown, shown.clicks * is_known), _sums_by_result(shown, looked))
    return np.where(is_known, worth[shown.numbers], np.nan)


def examinations_redrawn(
    lists: Sequence[ShownList], shares: Examination, worths: Floats, count: int
) -> Iterator[RedrawnClicks]:
    """Yield the lists with clicks drawn as the model has them, and the shares by these.

    How much anything that is computed of lists and shares varies over them, and how far its mean is from what
    it would be by the shares and worths that they are drawn by, is its error: the parametric bootstrap. One
    that draws anew from the clicks themselves sees how noisy these are, but not that shares which are fitted
    to noise are wrong to one side. Where no share is known clicks stay as they are.
    """
    random = np.random.default_rng(SEED)
    shown = _arrays_of(lists)
    clicked = np.minimum(1.0, np.nan_to_num(shares.by_list * worths))
    is_known = np.isfinite(shares.by_list)
    for _ in range(count):
        drawn = random.binomial(shown.clients.astype(np.int64)[:, None], clicked)
        clicks = np.where(is_known, drawn, shown.clicks).astype(np.int64).tolist()
        redrawn = [each._replace(clicks=row) for each, row in zip(lists, clicks, strict=True)]
        yield RedrawnClicks(redrawn, _examination(_arrays_of(redrawn), shares.model, 0.0))


def _examination(shown: _Shown, model: str, gain: float) -> Examination:
    shares = _FITS[model](shown, shown)
    by_list = np.where(shown.results >= 0, shares, np.nan)
    is_known = np.isfinite(by_list)
    clients = is_known * shown.clients[:, None]
    sums, weights = (np.nan_to_num(by_list) * clients).sum(axis=0), clients.sum(axis=0)
    ranks = tuple(
        float(total / weight) if weight else None for total, weight in zip(sums, weights, strict=True)
    )
    return Examination(model, by_list, ranks, _moved_count(shown, by_list), gain)


def _arrays_of(lists: Sequence[ShownList]) -> _Shown:
    numbers: dict[tuple[str, bytes], int] = {}
    queries: dict[str, int] = {}
    results = np.full((len(lists), LISTED_MAX), -1, np.int64)
    clicks = np.zeros((len(lists), LISTED_MAX))
    for place, shown in enumerate(lists):
        queries.setdefault(shown.query, len(queries))
        for rank, (result, clicked) in enumerate(zip(shown.results[:LISTED_MAX], shown.clicks, strict=False)):
            results[place, rank] = numbers.setdefault((shown.query, result), len(numbers))
            clicks[place, rank] = clicked
    clients = np.array([float(shown.clients) for shown in lists])
    return _Shown(results, clients, clicks, np.array([queries[each.query] for each in lists], np.int64))


def _sums_by_result(shown: _Shown, values: Floats) -> Floats:
    """Add up values by result.

    Args:
      values: by list and rank; 0 behind the end of a list.
    """
    sums = np.bincount(shown.numbers.ravel(), values.ravel(), shown.n_results)
    return sums[: shown.n_results].astype(np.float64)


# --- The models: each fits to some lists, and gives the shares of others ---


def _by_position(fitted: _Shown, shown: _Shown) -> Floats:
    return np.broadcast_to(_position_shares(fitted), shown.results.shape)


def _position_shares(shown: _Shown) -> Floats:
    """Return e(r) by rank, NaN where it is not known."""
    seen = _seen_by_rank(shown)
    is_moved = ((seen > 0).sum(axis=1) > 1) & (_sums_by_result(shown, shown.clicks) > 0)
    known = _connected(seen[is_moved] > 0)
    if known.sum() == 1:  # nothing moved from or to the first rank, of whose shares all others are
        return np.where(known, 1.0, np.nan)
    counts = shown.is_there & is_moved[shown.numbers] & known
    impressions, clicks = counts * shown.clients[:, None], counts * shown.clicks
    of_result, at_rank = _sums_by_result(shown, clicks), clicks.sum(axis=0)
    shares = np.where(known, 1.0, 0.0)
    for _ in range(ROUNDS_MAX):
        looked = _sums_by_result(shown, impressions * shares)
        rate = np.divide(of_result, looked, out=np.zeros_like(looked), where=looked > 0)
        expected = (impressions * rate[shown.numbers]).sum(axis=0)
        after = np.divide(at_rank, expected, out=np.zeros_like(shares), where=expected > 0)
        after = np.where(known, np.maximum(after / after[0] if after[0] else after, SHARE_MIN), 0.0)
        is_close = np.abs(after - shares).max() < CLOSE_ENOUGH
        shares = after
        if is_close:
            break
    return np.where(known, np.minimum(shares, 1.0), np.nan)


def _by_power(fitted: _Shown, shown: _Shown) -> Floats:
    return np.broadcast_to(_power_shares(_power_of(fitted)), shown.results.shape)


def _power_shares(power: float) -> Floats:
    return np.arange(1.0, LISTED_MAX + 1) ** -power


def _power_of(shown: _Shown) -> float:
    """Return the likeliest power: the best of a grid, and from there in ever smaller steps."""

    def likelihood(power: float) -> float:
        return _likelihood(shown, np.broadcast_to(_power_shares(power), shown.results.shape))

    best = max(POWERS, key=likelihood)
    for step in STEPS:
        best = max((each for each in (best, best - step, best + step) if each >= 0), key=likelihood)
    return best


def _seen_by_rank(shown: _Shown) -> Floats:
    """Return how often each result was shown at each rank: a row a result."""
    seen = np.zeros((shown.n_results, LISTED_MAX))
    lists, ranks = np.nonzero(shown.is_there)
    np.add.at(seen, (shown.numbers[lists, ranks], ranks), shown.clients[lists])
    return seen


def _connected(moved: npt.NDArray[np.bool_]) -> npt.NDArray[np.bool_]:
    """Return which ranks moved results connect with the first one. Args: moved: a row a result, by rank."""
    known = np.zeros(LISTED_MAX, np.bool_)
    known[0] = True
    for _ in range(LISTED_MAX):
        reached = moved[(moved & known).any(axis=1)].any(axis=0)
        known |= reached
    return known


def _by_cascade(fitted: _Shown, shown: _Shown) -> Floats:
    return _cascade_shares(shown, *_stops_of(fitted))


def _stops_of(shown: _Shown) -> tuple[float, float]:
    """Return the likeliest s and t: the best of a grid, and from there in ever smaller steps."""
    likelihoods: dict[tuple[float, float], float] = {}

    def likelihood(stops: tuple[float, float]) -> float:
        if stops not in likelihoods:
            likelihoods[stops] = _likelihood(shown, _cascade_shares(shown, *stops))
        return likelihoods[stops]

    best = max(product(GRID, GRID), key=likelihood)
    for step in STEPS:
        while True:
            around = product(
                (best[0] - step, best[0], best[0] + step), (best[1] - step, best[1], best[1] + step)
            )
            better = max((each for each in around if min(each) >= 0), key=likelihood)
            if likelihood(better) <= likelihood(best):
                break
            best = better
    return best


def _cascade_shares(shown: _Shown, stop: float, stop_by_worth: float) -> Floats:
    """Return the shares by list and rank, with the worths that agree with them."""
    clicks, clients = _sums_by_result(shown, shown.clicks), shown.is_there * shown.clients[:, None]
    shares = np.ones(shown.results.shape)
    for _ in range(CASCADE_ROUNDS):
        looked = _sums_by_result(shown, shares * clients)
        worths = shown.is_there * _worth_of(clicks, looked)[shown.numbers]
        goes_on = 1.0 - worths * np.minimum(1.0, stop + stop_by_worth * worths)
        shares[:, 1:] = np.maximum(np.cumprod(goes_on, axis=1)[:, :-1], SHARE_MIN)
    return shares


def _worth_of(clicks: Floats, looked: Floats) -> Floats:
    """Return the worth of each result by its clicks and the readers that have looked at it."""
    usual = clicks.sum() / max(looked.sum(), 1.0)
    worth: Floats = np.minimum(1.0, (clicks + PRIOR * usual) / (looked + PRIOR))
    return worth


# --- How well shares explain clicks ---


def _explained_left_out(shown: _Shown) -> dict[str, Floats]:
    """Return by model the log-likelihood of the clicks of each query that it was not fitted to.

    They are shares of the number of clicks, so that their sum is the mean of a click.
    """
    n_queries = int(shown.query.max(initial=-1)) + 1
    explained, n_clicks = {name: np.zeros(n_queries) for name in _FITS}, 0.0
    for fold in range(FOLDS):
        is_out = shown.query % FOLDS == fold
        out, rest = _part(shown, is_out), _part(shown, ~is_out)
        if len(out.results) and len(rest.results):
            shares = {name: fit(rest, out) for name, fit in _FITS.items()}
            is_known = np.isfinite(np.stack(list(shares.values()))).all(axis=0)  # the same clicks for both
            for name, of_model in shares.items():
                of_lists = _likelihoods(out, np.where(is_known, of_model, np.nan))
                explained[name] += np.bincount(out.query, of_lists, n_queries)
            n_clicks += float((out.clicks * is_known).sum())
    return {name: of_queries / max(n_clicks, 1.0) for name, of_queries in explained.items()}


def _is_within_errors(differences: Floats, count: float) -> bool:
    """Tell whether a sum is above 0 by less than so many standard errors, or below, but not just 0."""
    total = float(differences.sum())
    if not total:
        return False
    return total < float(count * np.sqrt(len(differences)) * differences.std(ddof=1))


def _likelihood(shown: _Shown, shares: Floats) -> float:
    return float(_likelihoods(shown, shares).sum())


def _likelihoods(shown: _Shown, shares: Floats) -> Floats:
    """Return by list the log-likelihood of where clicks are, given how many each result has."""
    is_known = shown.is_there & np.isfinite(shares)
    looked = np.where(is_known, np.nan_to_num(shares) * shown.clients[:, None], 0.0)
    of_result = _sums_by_result(shown, looked)[shown.numbers]
    counts = is_known & (shown.clicks > 0)
    by_place = np.zeros(shown.clicks.shape)
    by_place[counts] = shown.clicks[counts] * np.log(looked[counts] / of_result[counts])
    of_lists: Floats = by_place.sum(axis=1)
    return of_lists


def _moved_count(shown: _Shown, shares: Floats) -> int:
    """Return the number of results whose shares differ between lists."""
    known = shown.is_there & np.isfinite(shares)
    least, most = np.full(shown.n_results, np.inf), np.full(shown.n_results, -np.inf)
    np.minimum.at(least, shown.results[known], shares[known])
    np.maximum.at(most, shown.results[known], shares[known])
    return int((most > least).sum())


def _part(shown: _Shown, chosen: npt.NDArray[np.bool_]) -> _Shown:
    return _Shown(shown.results[chosen], shown.clients[chosen], shown.clicks[chosen], shown.query[chosen])


_FITS: Final[dict[str, Callable[[_Shown, _Shown], Floats]]] = {
    POSITION: _by_position,
    POWER: _by_power,
    CASCADE: _by_cascade,
}
