"""Runs with faults: what the harness promises of itself, and that it finds bugs which were planted.

`test_fault_seeds.py` runs many seeds.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache, partial
from typing import NamedTuple

import msgspec
import pytest
from rich.console import Console

from mesh.slots import SlotTable
from simulations.faults.fault_run import REST_S_MAX, RunOutcome, run_faults
from simulations.faults.fault_runs import Sizes, run_all, sum_up
from simulations.faults.planted import Bug
from simulations.faults.run_extras import RunExtras
from simulations.report import faults_report
from tests.simulations.violations import missed

QUICK = (9, 3)  # seed and peers of a run with faults that takes a second
ONCE, LIAR = RunExtras(has_revisits=False), RunExtras(has_liar=True)


@cache
def quick_run() -> tuple[RunOutcome, list[str]]:
    """Return its outcome, and its transcript."""
    told: list[str] = []
    return run_faults(*QUICK, tell=told.append, has_revisits=False), told


@cache
def run_without_faults() -> RunOutcome:
    return run_faults(1, 3, only=frozenset(), has_revisits=False)


def test_a_run_without_faults_passes_and_all_its_searches_are_complete() -> None:
    outcome = run_without_faults()
    assert outcome.violations == ()
    assert outcome.requests > 50
    assert outcome.searches == outcome.complete_searches > 50
    assert outcome.refetched == 0


def test_what_runs_cost_is_told_as_spreads_over_them() -> None:
    run, _ = quick_run()
    assert 0 < run.moved_bytes < run.sent_bytes
    assert run.balance_s is not None
    assert 0 < run.balance_s < REST_S_MAX
    other = msgspec.structs.replace(
        run, seed=10, sent_bytes=3 * run.sent_bytes, balance_s=None, complete_searches=run.searches
    )
    result = sum_up([run, other], 9)
    sent, moved, balance, missing = result.costs
    assert [each.runs for each in result.costs] == [2, 2, 1, 2]
    assert (sent.least, sent.median, sent.most) == pytest.approx(
        [n * run.sent_bytes / 1e6 for n in (1, 2, 3)]
    )
    assert moved.mean == run.moved_bytes / 1e6
    assert (balance.least, balance.mean) == (run.balance_s, run.balance_s)
    assert missing.least == 0.0
    assert missing.most == pytest.approx(100 * (1 - run.complete_searches / run.searches))
    console = Console(record=True, width=100)
    console.print(faults_report(result))
    assert "from healing to balance" in console.export_text()


def test_after_ctrl_c_the_result_is_of_the_runs_that_are_done(monkeypatch: pytest.MonkeyPatch) -> None:
    def run(seed: int, peers: int, **options: object) -> RunOutcome:
        return msgspec.structs.replace(quick_run()[0], seed=seed)

    def stop_after_two(done: int, total: int, failed: int) -> None:
        if done == 2:
            raise KeyboardInterrupt

    monkeypatch.setattr("simulations.faults.fault_runs.run_faults", run)
    result = run_all([9, 10, 11], Sizes(3, 3), has_revisits=False, workers=0, progress=stop_after_two)
    assert (result.seeds, result.passed) == (2, 2)


def test_ctrl_c_before_any_run_is_done_has_no_result(monkeypatch: pytest.MonkeyPatch) -> None:
    def stop(*order: object, **options: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("simulations.faults.fault_runs.run_faults", stop)
    with pytest.raises(KeyboardInterrupt):
        run_all([9], Sizes(3, 3), workers=0)


def test_a_transcript_tells_the_faults_and_ends_with_the_last_lines_of_the_outcome() -> None:
    outcome, told = quick_run()
    assert tuple(told[-len(outcome.transcript) :]) == outcome.transcript
    assert any("everything is healed" in line for line in told)
    assert outcome.replay == "tianmesh sim faults --seeds 1 --first-seed 9 --peers 3 --no-revisits --verbose"


def test_a_run_without_faults_on_a_web_that_changes_passes_and_visits_pages_again() -> None:
    once = run_without_faults()
    again = run_faults(1, 3, only=frozenset())
    assert again.violations == ()
    assert again.requests > 2 * once.requests
    assert again.refetched == 0
    assert again.replay == "tianmesh sim faults --seeds 1 --first-seed 1 --peers 3 --verbose"


def test_an_exception_of_a_peer_is_a_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    def break_down(*_: object) -> None:
        raise ZeroDivisionError("by mistake")

    monkeypatch.setattr("peers.crawler.pages_in_progress.PagesInProgress.stored", break_down)
    outcome = run_faults(1, 3)
    assert not outcome.is_passed
    assert "ZeroDivisionError" in outcome.violations[0]


class Known(NamedTuple):
    """A run that finds a bug which is planted in it."""

    seed: int
    peers: int
    sentence: str = ""  # in what it tells
    extras: RunExtras = RunExtras()

    def run(self, bug: Bug | None, tell: Callable[[str], None] | None = None) -> RunOutcome:
        return run_faults(self.seed, self.peers, bug=bug, tell=tell, **self.extras._asdict())

    def finds(self, bug: Bug) -> bool:
        return not missed(partial(self.run, bug), self.sentence)


KNOWN = {
    Bug.EARLY_ACKNOWLEDGEMENT: Known(5, 3, "did not find", extras=ONCE),
    Bug.FORGOTTEN_CLOCKS: Known(1, 3, "too early", extras=ONCE),
    Bug.OLD_INCARNATION: Known(2, 3, "did not come to rest", extras=ONCE),
    Bug.ENDLESS_LICENCE: Known(43, 3, "too early", extras=ONCE),
    Bug.KEPT_REMOVALS: Known(1, 3, "which does not say so any more or is not there"),
    Bug.EARLY_VISITS: Known(1, 3, "before it is due in its own table"),
    Bug.HEARSAY: Known(4, 3, extras=LIAR),
    Bug.FORGED_DECREES: Known(2, 3, extras=LIAR),
    Bug.BOUNDLESS_WEIGHT: Known(3, 3, extras=LIAR),
    Bug.BOUNDLESS_QUOTAS: Known(13, 3, "more than quotas allow", extras=LIAR),
    Bug.ENDLESS_PATIENCE: Known(1, 3, "nobody put it into quarantine", extras=LIAR),
    Bug.FOREIGN_HITS: Known(1, 3, "by the word of", extras=LIAR),
    Bug.FOREIGN_PAGES: Known(12, 3, extras=LIAR),
    Bug.STORED_BY_HEARSAY: Known(4, 3, "was lost", extras=LIAR),
    Bug.BELIEVED_DENIALS: Known(1, 4, "which is honest", extras=LIAR),
    Bug.FOREIGN_NAMES: Known(1, 4, "did not find", extras=LIAR),
    Bug.FOREIGN_LEASES: Known(1, 4, "too early", extras=RunExtras(has_liar=True, has_machines=True)),
    Bug.UNASKED_EXCERPTS: Known(5, 4, "by the word of", extras=LIAR),
    Bug.FREE_TURNS: Known(1, 4, "too early"),
    Bug.HASTY_VERDICTS: Known(5, 4, "which is honest", extras=LIAR),
}


@pytest.mark.parametrize("bug", Bug)
def test_a_planted_bug_is_found(bug: Bug) -> None:
    """By the run that found it last, or by one of 50 seeds: a change of what peers send moves all draws."""
    known = KNOWN[bug]
    if not known.finds(bug):
        others = (known._replace(seed=seed) for seed in range(1, 51))
        other = next((other for other in others if other.finds(bug)), None)
        assert other is not None, f"neither {known} nor any other seed finds {bug}"
        print(f"{bug}: write {other} instead of {known}")
        assert other.run(None).violations == ()


# Several bugs are found by the same run.
@pytest.mark.parametrize("known", sorted({known._replace(sentence="") for known in KNOWN.values()}))
def test_where_a_planted_bug_is_found_nothing_is_found_without_it(known: Known) -> None:
    outcome = known.run(None)
    assert outcome.violations == (), outcome.replay
    assert outcome.searches > 10


def test_a_mesh_that_does_not_heed_the_last_policy_of_pins_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(SlotTable, "pinned", lambda table, pins: table)
    run = run_faults(2, 5, has_pins=True)
    assert any(re.fullmatch(r"p\d has \w+ own slot \d+, not \w+", each) for each in run.violations)
