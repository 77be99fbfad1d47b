"""A soak that is stopped goes on with the seeds that are missing, and remembers failures."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest
from typer.testing import CliRunner

from mesh.errors import ConfigError
from simulations.commands import sim
from simulations.faults.fault_run import RunOutcome, run_faults
from simulations.faults.fault_runs import Sizes
from simulations.faults.run_extras import RunExtras
from simulations.faults.soak import FRESH_FROM, Finished, Soak


def test_a_soak_goes_on_where_it_was_stopped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its runs are judged elsewhere, and fresh seeds are for those that soak."""
    file = tmp_path / "soak.jsonl"
    outcome = run_faults(9, 3, only=frozenset(), has_revisits=False)

    def run(seed: int, peers: int, *, bug: None, **extras: bool) -> RunOutcome:
        return msgspec.structs.replace(outcome, seed=seed, peers=peers, extras=RunExtras(**extras))

    monkeypatch.setattr("simulations.faults.fault_runs.run_faults", run)

    def stop(done: Finished) -> None:
        raise KeyboardInterrupt

    first = Soak(file, 2, Sizes(3, 3))
    with pytest.raises(KeyboardInterrupt):
        first.run(stop, workers=0)
    seed = first.campaign.first_seed
    assert seed >= FRESH_FROM
    assert list(first.finished) == [seed]
    with file.open("ab") as cut_off:
        cut_off.write(b'{"seed":')
    told: list[Finished] = []
    again = Soak(file, 99, Sizes(9, 9))
    again.run(told.append, workers=0)
    assert [each.seed for each in told] == [seed + 1]
    assert sum("--byzantine" in each.replay for each in again.finished.values()) == 1
    assert again.campaign == first.campaign
    assert Soak(file, 2, Sizes(3, 3)).finished == again.finished


def test_failures_are_listed_with_what_repeats_them(tmp_path: Path) -> None:
    file = tmp_path / "soak.jsonl"
    file.write_text(
        '{"first_seed":7,"seeds":1,"least":3,"most":3}\n'
        '{"seed":7,"replay":"tianmesh sim faults --first-seed 7","violations":["a page was lost"]}\n'
    )
    result = CliRunner().invoke(sim, ["soak", "--file", str(file)])
    assert result.exit_code == 1
    assert "tianmesh sim faults --first-seed 7\n  a page was lost" in result.output
    assert "1 of 1 run done, 1 failed" in result.output


def test_a_file_that_is_of_no_soak_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "soak.jsonl"
    file.write_text("letters\n")
    with pytest.raises(ConfigError, match="no file of a soak"):
        Soak(file, 1, Sizes(3, 3))
