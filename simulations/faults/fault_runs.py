"""Many runs with faults, on all cores. [io]"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import as_completed
from typing import NamedTuple

import numpy as np

from mesh.process.cores import core_count
from peers.workers import Workers, result_of
from simulations.faults.fault_run import RunOutcome, run_faults
from simulations.faults.planted import Bug
from simulations.faults.run_extras import RunExtras
from simulations.world.chance import random_of
from simulations.world.results import CostSpread, FailedSeed, FaultsResult


class Sizes(NamedTuple):
    """How many peers the meshes have."""

    least: int
    most: int

    def of(self, seed: int) -> int:
        """Choose for a seed."""
        return random_of(seed, f"peers {self.least} {self.most}").randint(self.least, self.most)


def run_all(
    seeds: Iterable[int],
    sizes: Sizes,
    *,
    bug: Bug | None = None,
    workers: int | None = None,
    progress: Callable[[int, int, int], None] | None = None,
    **extras: bool,
) -> FaultsResult:
    """Run every seed; after Ctrl-C the result is of those that are done by then, if any are.

    Args:
      bug: to be planted in all of them.
      workers: processes; None for one on each core, 0 for none but this one.
      progress: is told how many runs are done, of how many, and how many have failed.
      extras: as `RunExtras` names them.
    """
    chosen = list(seeds)
    outcomes: list[RunOutcome] = []
    orders = [RunTask(seed, sizes.of(seed), bug, RunExtras(**extras)) for seed in chosen]
    try:
        for outcome in outcomes_of(orders, workers):
            outcomes.append(outcome)
            if progress is not None:
                progress(len(outcomes), len(chosen), sum(not each.is_passed for each in outcomes))
    except KeyboardInterrupt:
        if not outcomes:
            raise
    return sum_up(outcomes, min(chosen, default=0))


def sum_up(outcomes: Iterable[RunOutcome], first_seed: int) -> FaultsResult:
    """Add up the outcomes of the runs."""
    by_seed = sorted(outcomes, key=lambda outcome: outcome.seed)
    events = sum(outcome.events for outcome in by_seed)
    seconds = sum(outcome.real_seconds for outcome in by_seed)
    return FaultsResult(
        seeds=len(by_seed),
        first_seed=first_seed,
        passed=sum(outcome.is_passed for outcome in by_seed),
        failures=tuple(_failure(outcome) for outcome in by_seed if not outcome.is_passed),
        events=events,
        virtual_seconds=sum(outcome.virtual_seconds for outcome in by_seed),
        events_per_second=events / seconds if seconds else 0.0,
        requests=sum(outcome.requests for outcome in by_seed),
        refetched=sum(outcome.refetched for outcome in by_seed),
        searches=sum(outcome.searches for outcome in by_seed),
        complete_searches=sum(outcome.complete_searches for outcome in by_seed),
        costs=tuple(_costs(by_seed)),
    )


def costs_of(outcome: RunOutcome) -> dict[str, float]:
    """Return the costs of a run's faults for the mesh, by names with units, as far as the run has them."""
    costs = {
        "sent between peers, MB": outcome.sent_bytes / 1e6,
        "moved to peers that lacked it, MB": outcome.moved_bytes / 1e6,
    }
    if outcome.balance_s is not None:
        costs["from healing to balance, virtual s"] = outcome.balance_s
    if outcome.searches:
        missing = 1 - outcome.complete_searches / outcome.searches
        costs["answers that miss slots or are missing, %"] = 100 * missing
    return costs


def _costs(outcomes: Sequence[RunOutcome]) -> Iterator[CostSpread]:
    costs: dict[str, list[float]] = {}
    for outcome in outcomes:
        for cost, value in costs_of(outcome).items():
            costs.setdefault(cost, []).append(value)
    for cost, values in costs.items():
        least, median, p90, most = np.percentile(values, (0, 50, 90, 100)).tolist()
        yield CostSpread(cost, len(values), least, median, p90, most, sum(values) / len(values))


def outcomes_of(orders: list[RunTask], workers: int | None) -> Iterable[RunOutcome]:
    """Carry out the runs, on so many processes; yield the outcome of each when it is done."""
    if workers == 0:
        yield from map(_run, orders)
        return
    with Workers(_run, min(workers or core_count(), max(1, len(orders)))) as processes:
        runs = [processes.submit(order) for order in orders]
        for run in as_completed(runs):
            yield result_of(run)


class RunTask(NamedTuple):
    """One run; see `run_faults`."""

    seed: int
    peers: int
    bug: Bug | None = None
    extras: RunExtras = RunExtras()


def _run(order: RunTask) -> RunOutcome:
    return run_faults(order.seed, order.peers, bug=order.bug, **order.extras._asdict())


def _failure(outcome: RunOutcome) -> FailedSeed:
    return FailedSeed(
        seed=outcome.seed,
        peers=outcome.peers,
        replay=outcome.replay,
        violations=outcome.violations,
        transcript=outcome.transcript,
    )
