"""The freshness of pages by each policy of revisits, for a budget of visits; beside the optimum.

A model in arrays, without peers: a million pages, each of which changes at random with a rate of its own
(Poisson), visits at the turn of every step as long as the budget lasts, those first that have been due
longest. A page is fresh until it changes after its last visit; its age is the time since then. The policies
`fixed` and `optimal` are those of `peers.crawler.model.revisit_policies`, over arrays; peers have no others,
as these are less fresh for the same visits:

    adaptive  x 1.4 while a page stays as it is, x 0.8 when it has changed
    cho       as long as a page takes to change, by the estimator of Cho and Garcia-Molina (2003)
    expiry    in classes that double, one up or down: packages of pages that expire together

How long pages live is as was found of 720,000 pages (Cho and Garcia-Molina 2000, The Evolution of the Web):
23 % change within a day, 15 % more within a week, 16 % within a month, 16 % within four months; half of all
pages have changed after 50 days.

The optimum for rates that are known is theirs as well (2003, Effective Page Refresh Policies): each visit
goes where it adds most, so that for all pages that are visited at all, (1 - e^-x (1 + x)) / rate is the same,
for x changes between two visits. What changes too fast is given up.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from typing import Final, TypeAlias

import msgspec
import numpy as np
from numpy.typing import NDArray

from peers.crawler.model.revisit_policies import OPTIMAL_WORTH, STRETCH_MAX, SURE
from peers.crawler.model.visit_memory import CHECKS_MAX

Floats: TypeAlias = NDArray[np.float64]

# Part of all pages, and between how many days they live.
LIVES: Final = (
    (0.23, 0.25, 1.0),
    (0.15, 1.0, 7.0),
    (0.16, 7.0, 30.0),
    (0.16, 30.0, 120.0),
    (0.30, 120.0, 1_500.0),
)
STEP_DAYS: Final = 0.5
MEASURED_SHARE: Final = 0.5  # of the time, at its end
HALVINGS: Final = 60
PILOT_PAGES: Final = 5_000
TRIALS: Final = 8
SPENT_SHARE: Final = 0.98  # of the budget, that counts as all of it
LEAST: Final = 0.25  # intervals of policies that learn, as multiples of the first one
LONGEST: Final = 16.0
GROWTH: Final = 1.4  # of an interval after which a page was the same, `adaptive`
SHRINKAGE: Final = 0.8  # and after which it was not
EXPIRY_BASE: Final = 2.0


class Visiting(StrEnum):
    """A policy of the model by which pages are visited again."""

    FIXED = "fixed"
    ADAPTIVE = "adaptive"
    CHO = "cho"
    OPTIMAL = "optimal"
    EXPIRY = "expiry"


LEARNING: Final = frozenset((Visiting.ADAPTIVE, Visiting.EXPIRY, Visiting.CHO, Visiting.OPTIMAL))


class Freshness(msgspec.Struct, frozen=True):
    """The results of one policy."""

    policy: str
    freshness: float  # mean share of pages that are as they were found
    age_days: float  # mean time since they are not, 0 for those that are
    visits_per_page: float  # a day
    beside_fixed: float = 1.0  # freshness, as a multiple


class FreshnessResult(msgspec.Struct, frozen=True):
    """The results of several policies, for one budget."""

    pages: int
    days: int
    period_days: float  # in which the budget is enough for each page once
    changed_in_50_days: float  # share of the pages
    optimum: float  # freshness, for rates that are known
    optimum_beside_fixed: float
    policies: tuple[Freshness, ...]


def compare(
    policies: Sequence[Visiting],
    pages: int = 1_000_000,
    days: int = 720,
    period_days: float = 60.0,
    seed: int = 1,
) -> FreshnessResult:
    """Let each policy visit the same pages with the same budget, `pages` / `period_days` visits a day."""
    lives = lives_of(pages, np.random.default_rng(seed))
    made = []
    for policy in policies:
        first = period_days * _pace(policy, lives[:PILOT_PAGES], period_days, days, seed)
        made.append(_Run(policy, lives, period_days, first, seed).carry_out(days))
    base = freshness_at(1.0 / lives, np.full(pages, period_days))
    results = tuple(msgspec.structs.replace(each, beside_fixed=each.freshness / base) for each in made)
    best = optimum(1.0 / lives, period_days)
    changed = float(np.mean(-np.expm1(-50.0 / lives)))
    return FreshnessResult(pages, days, period_days, changed, best, best / base, results)


def lives_of(pages: int, random: np.random.Generator) -> Floats:
    """Draw how many days pages live in the mean, each between two changes."""
    kinds = random.choice(len(LIVES), size=pages, p=[share for share, _, _ in LIVES])
    least, most = (np.log(np.array([each[at] for each in LIVES]))[kinds] for at in (1, 2))
    lives: Floats = np.exp(least + random.random(pages) * (most - least))
    return lives


def changes_between(worth: Floats) -> Floats:
    """Do as `revisiting.changes_between` for many pages: by a table, to a part in a thousand."""
    between: Floats = np.interp(worth, _WORTHS, _BETWEEN, right=np.inf)
    return between


_BETWEEN: Final = np.geomspace(1e-6, 50.0, 20_000)
_WORTHS: Final = -np.expm1(-_BETWEEN) - _BETWEEN * np.exp(-_BETWEEN)


def freshness_at(rates: Floats, intervals: Floats) -> float:
    """Mean freshness of pages that are visited at these intervals: (1 - e^-x) / x."""
    between = rates * intervals
    return float(np.mean(-np.expm1(-between) / between))


def optimum(rates: Floats, period_days: float) -> float:
    """Mean freshness when the budget is spent as well as can be, for rates that are known."""
    least, most = 0.0, float(1.0 / rates.min())
    for _ in range(HALVINGS):
        worth = (least + most) / 2
        frequencies = rates / changes_between(worth * rates)
        if frequencies.sum() > rates.size / period_days:
            least = worth
        else:
            most = worth
    is_visited = frequencies > 0.0
    between = rates[is_visited] / frequencies[is_visited]
    return float(np.sum(-np.expm1(-between) / between) / rates.size)


def _pace(policy: Visiting, lives: Floats, period_days: float, days: int, seed: int) -> float:
    """Find the longest first interval, in periods, with which a policy still spends the budget: by trials."""
    least, most = 1.0 / 64, 8.0
    if policy not in LEARNING:
        return 1.0
    for _ in range(TRIALS):
        pace = (least * most) ** 0.5
        tried = _Run(policy, lives, period_days, period_days * pace, seed).carry_out(days)
        if tried.visits_per_page * period_days > SPENT_SHARE:
            least = pace
        else:
            most = pace
    return least


class _Run:
    """One policy over time; all times are days."""

    def __init__(self, policy: Visiting, lives: Floats, period: float, first: float, seed: int) -> None:
        """Begin.

        Args:
          period: in which the budget is enough for all pages.
          first: interval of the policy.
        """
        self._policy, self._lives, self._period, self._first = policy, lives, period, first
        self._random = np.random.default_rng((seed, 1))
        n = lives.size
        self._due = self._random.random(n) * period
        self._visited = self._due - period
        self._changes_at = self._visited + self._random.exponential(lives)
        self._intervals = np.full(n, first)
        self._checks, self._changes, self._spans = (np.zeros(n) for _ in range(3))
        self._n_visits = 0

    def carry_out(self, days: int) -> Freshness:
        steps, n = round(days / STEP_DAYS), self._lives.size
        fresh, ages, saved = [], [], 0.0
        for step in range(1, steps + 1):
            now = step * STEP_DAYS
            saved += n / self._period * STEP_DAYS
            chosen = self._chosen(now, int(saved))
            saved = min(saved - chosen.size, n / self._period)  # what is not used today is not kept for ever
            self._visit(chosen, now)
            if step > steps * (1.0 - MEASURED_SHARE):
                self._n_visits += chosen.size
                late = now + STEP_DAYS / 2 - self._changes_at
                fresh.append(np.mean(late < 0.0))
                ages.append(np.mean(np.maximum(late, 0.0)))
        visits = self._n_visits / n / (days * MEASURED_SHARE)
        return Freshness(self._policy.value, float(np.mean(fresh)), float(np.mean(ages)), visits)

    def _chosen(self, now: float, budget: int) -> NDArray[np.intp]:
        """Which pages are visited now: those that have been due longest."""
        due = np.flatnonzero(self._due <= now)
        if due.size <= budget:
            return due
        return due[np.argpartition(self._due[due], budget)[:budget]]

    def _visit(self, chosen: NDArray[np.intp], now: float) -> None:
        is_changed = self._changes_at[chosen] <= now
        full = chosen[self._checks[chosen] >= CHECKS_MAX]
        for counts in (self._checks, self._changes, self._spans):
            counts[full] //= 2
        self._checks[chosen] += 1
        self._changes[chosen] += is_changed
        self._spans[chosen] += now - self._visited[chosen]
        self._visited[chosen] = now
        self._changes_at[chosen] = now + self._random.exponential(self._lives[chosen])
        memory = self._checks[chosen], self._changes[chosen], self._spans[chosen]
        self._intervals[chosen] = intervals_by(
            self._policy, self._intervals[chosen], is_changed, memory, self._first
        )
        self._due[chosen] = now + self._intervals[chosen]


def intervals_by(
    policy: Visiting,
    last: Floats,
    is_changed: NDArray[np.bool_],
    memory: tuple[Floats, Floats, Floats],
    period: float,
) -> Floats:
    """Return the next intervals of pages, as `revisit_policies` has them one by one.

    Args:
      last: their intervals before.
      memory: checks, changes and spans, see `visit_memory`.
      period: the first interval; the least one is a quarter of it, the longest sixteen times it.
    """
    checks, changes, spans = memory
    match policy:
        case Visiting.ADAPTIVE:
            wanted = last * np.where(is_changed, SHRINKAGE, GROWTH)
        case Visiting.EXPIRY:
            wanted = last * np.where(is_changed, 1.0 / EXPIRY_BASE, EXPIRY_BASE)
        case Visiting.CHO | Visiting.OPTIMAL:
            few = 0.5 if policy is Visiting.CHO else SURE
            rates = -np.log((checks - changes + few) / (checks + few)) * checks / spans
            with np.errstate(divide="ignore"):
                if policy is Visiting.CHO:
                    wanted = 1.0 / rates
                else:
                    wanted = changes_between(OPTIMAL_WORTH * period * rates) / rates
            wanted = np.minimum(np.where(rates > 0.0, wanted, np.inf), STRETCH_MAX * last)
        case _:
            wanted = np.full(last.size, period)
    return np.clip(wanted, LEAST * period, LONGEST * period) if policy in LEARNING else wanted
