"""The commands `sim crawl` and `sim replay`."""

from __future__ import annotations

import json
from itertools import count
from pathlib import Path

import pytest
from typer.testing import CliRunner

from mesh.errors import ConfigError
from simulations.commands import sim

CRAWL = ["crawl", "--peers", "2", "--pages", "100", "--seed", "5"]


def test_crawl_prints_one_json_document_and_nothing_else() -> None:
    result = CliRunner().invoke(sim, [*CRAWL, "--json"])
    assert result.exit_code == 0, result.output
    document = json.loads(result.stdout)
    assert document["pages_fetched"] == 100
    assert document["checks"]["duplicates"] == 0
    assert len(document["digest"]) == 32


def test_crawl_prints_a_table_for_people() -> None:
    result = CliRunner().invoke(sim, CRAWL)
    assert result.exit_code == 0, result.output
    assert "checks: all hold" in result.stdout
    assert "digest" in result.stdout


def test_a_recorded_crawl_can_be_replayed(tmp_path: Path) -> None:
    trace = str(tmp_path / "crawl.trace")
    recorded = CliRunner().invoke(sim, [*CRAWL, "--record", trace, "--json"])
    assert recorded.exit_code == 0, recorded.output
    result = CliRunner().invoke(sim, ["replay", trace, "--peers", "1,2", "--json"])
    assert result.exit_code == 0, result.output
    document = json.loads(result.stdout)
    assert [run["peers"] for run in document["runs"]] == [1, 2]
    assert document["pages"] >= 100
    table = CliRunner().invoke(sim, ["replay", trace, "--peers", "1,2"])
    assert "speed-" in table.stdout


def test_the_figure_of_a_replay_is_drawn(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib", reason="the extra `simulations` is not installed")
    trace, figure = tmp_path / "crawl.trace", tmp_path / "replay.svg"
    CliRunner().invoke(sim, [*CRAWL, "--record", str(trace)])
    result = CliRunner().invoke(sim, ["replay", str(trace), "--peers", "1,2", "--figure", str(figure)])
    assert result.exit_code == 0, result.output
    assert figure.read_text().lstrip().startswith("<?xml")


def test_a_file_that_is_no_trace_is_refused_with_advice(tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    path.write_text("buy milk")
    result = CliRunner().invoke(sim, ["replay", str(path)])
    assert isinstance(result.exception, ConfigError)
    assert "--record" in str(result.exception)


def test_an_empty_trace_is_refused_with_advice(tmp_path: Path) -> None:
    path = tmp_path / "empty.trace"
    path.write_bytes(b"")
    result = CliRunner().invoke(sim, ["replay", str(path)])
    assert isinstance(result.exception, ConfigError)
    assert "is empty" in str(result.exception)


@pytest.mark.parametrize("peers", ["", "0", "1,x", "5000"])
def test_sizes_that_are_no_sizes_are_wrong_usage(tmp_path: Path, peers: str) -> None:
    trace = str(tmp_path / "crawl.trace")
    CliRunner().invoke(sim, [*CRAWL, "--record", trace])
    assert CliRunner().invoke(sim, ["replay", trace, "--peers", peers]).exit_code == 2


@pytest.mark.parametrize("command", [["--help"], ["crawl", "--help"], ["replay", "--help"]])
def test_every_command_has_help(command: list[str]) -> None:
    result = CliRunner().invoke(sim, command)
    assert result.exit_code == 0
    if len(command) == 2:
        assert "Example: tianmesh sim" in result.stdout


def test_in_a_log_a_line_now_and_then_says_how_far_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    minutes = count(0.0, 60.0)
    monkeypatch.setattr("simulations.commands.time.monotonic", lambda: next(minutes))
    result = CliRunner().invoke(sim, CRAWL)
    assert result.exit_code == 0, result.output
    assert "crawling with 2 peers: 100 of 100\n" in result.stderr
    assert "crawling" not in result.stdout
