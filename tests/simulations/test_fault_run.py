"""Runs with faults: what the harness promises of itself, and that it finds bugs which were planted.

`test_fault_seeds.py` runs many seeds.
"""

from __future__ import annotations

import re

import msgspec
import pytest
from rich.console import Console

from mesh.slots import SlotTable
from simulations.fault_run import REST_S_MAX, run_faults
from simulations.fault_runs import Sizes, run_all, sum_up
from simulations.planted import Bug
from simulations.report import faults_report

QUICK = (9, 3)  # seed and peers of a run with faults that takes a second


def test_a_run_without_faults_passes_and_all_its_searches_are_complete() -> None:
    outcome = run_faults(1, 3, only=frozenset(), has_revisits=False)
    assert outcome.violations == ()
    assert outcome.requests > 50
    assert outcome.searches == outcome.complete_searches > 50
    assert outcome.refetched == 0


def test_what_runs_cost_is_told_as_spreads_over_them() -> None:
    run = run_faults(4, 5, has_revisits=False)
    assert 0 < run.moved_bytes < run.sent_bytes
    assert run.balance_s is not None
    assert 0 < run.balance_s < REST_S_MAX
    other = msgspec.structs.replace(
        run, seed=5, sent_bytes=3 * run.sent_bytes, balance_s=None, complete_searches=run.searches
    )
    result = sum_up([run, other], 4)
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


def test_after_ctrl_c_the_result_is_of_the_runs_that_are_done() -> None:
    def stop_after_two(done: int, total: int, failed: int) -> None:
        if done == 2:
            raise KeyboardInterrupt

    result = run_all([9, 10, 11], Sizes(3, 3), has_revisits=False, workers=0, progress=stop_after_two)
    assert (result.seeds, result.passed) == (2, 2)


def test_ctrl_c_before_any_run_is_done_has_no_result(monkeypatch: pytest.MonkeyPatch) -> None:
    def stop(*order: object, **options: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("simulations.fault_runs.run_faults", stop)
    with pytest.raises(KeyboardInterrupt):
        run_all([9], Sizes(3, 3), workers=0)


def test_a_transcript_tells_the_faults_and_ends_with_the_last_lines_of_the_outcome() -> None:
    told: list[str] = []
    outcome = run_faults(*QUICK, tell=told.append, has_revisits=False)
    assert tuple(told[-len(outcome.transcript) :]) == outcome.transcript
    assert any("everything is healed" in line for line in told)
    assert outcome.replay == "tianmesh sim faults --seeds 1 --first-seed 9 --peers 3 --no-revisits --verbose"


def test_a_run_without_faults_on_a_web_that_changes_passes_and_visits_pages_again() -> None:
    once = run_faults(1, 3, only=frozenset(), has_revisits=False)
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


# With seeds that found each of them when this was written, in little time: they are tried before all others.
@pytest.mark.parametrize(
    ("bug", "seeds"),
    [
        (Bug.EARLY_ACKNOWLEDGEMENT, (2, 6)),
        (Bug.FORGOTTEN_CLOCKS, (11, 1)),
        (Bug.OLD_INCARNATION, (2, 4)),
        (Bug.ENDLESS_LICENCE, (43, 4)),
    ],
)
def test_a_planted_bug_is_found_within_200_seeds(bug: Bug, seeds: tuple[int, ...]) -> None:
    sizes = Sizes(3, 9)
    chosen = dict.fromkeys((*seeds, *range(1, 201)))
    outcomes = (run_faults(seed, sizes.of(seed), bug=bug, has_revisits=False) for seed in chosen)
    found = next((outcome for outcome in outcomes if not outcome.is_passed), None)
    assert found is not None
    assert run_faults(found.seed, found.peers, has_revisits=False).is_passed


@pytest.mark.parametrize(
    ("bug", "sentence"),
    [
        (Bug.KEPT_REMOVALS, "which does not say so any more or is not there"),
        (Bug.EARLY_VISITS, "before it is due in its own table"),
    ],
)
def test_a_planted_bug_of_visits_is_found_within_20_seeds(bug: Bug, sentence: str) -> None:
    sizes = Sizes(3, 6)
    runs = (run_faults(seed, sizes.of(seed), bug=bug) for seed in range(1, 21))
    found = next((run for run in runs if not run.is_passed), None)
    assert found is not None
    assert any(sentence in violation for violation in found.violations)
    assert run_faults(found.seed, found.peers).is_passed


def test_a_mesh_that_does_not_heed_the_last_policy_of_pins_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(SlotTable, "pinned", lambda table, pins: table)
    run = run_faults(2, 5, has_pins=True)
    assert any(re.fullmatch(r"p\d has \w+ own slot \d+, not \w+", each) for each in run.violations)


@pytest.mark.parametrize(
    "bug",
    [
        Bug.HEARSAY,
        Bug.FORGED_DECREES,
        Bug.BOUNDLESS_WEIGHT,
        Bug.BOUNDLESS_QUOTAS,
        Bug.ENDLESS_PATIENCE,
        Bug.FOREIGN_HITS,
        Bug.FOREIGN_PAGES,
        Bug.STORED_BY_HEARSAY,
    ],
)
def test_a_defence_that_is_missing_is_found_by_a_malicious_member_within_10_seeds(bug: Bug) -> None:
    runs = (run_faults(seed, 5, bug=bug, has_liar=True) for seed in range(1, 11))
    found = next((run for run in runs if not run.is_passed), None)
    assert found is not None
    assert "--byzantine" in found.replay
    assert run_faults(found.seed, 5, has_liar=True).is_passed
