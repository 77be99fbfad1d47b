"""Repetitions on all cores, what is kept of them, the commands, the files, the page and the notebook."""

from __future__ import annotations

import csv
import functools
import json
import sys
from importlib.metadata import version
from pathlib import Path
from typing import Any

import msgspec
import pytest
from typer.testing import CliRunner

from mesh.errors import ConfigError
from simulations.commands import sim
from simulations.outcomes.figures import figure_of
from simulations.outcomes.study import Row, Study
from simulations.studies import commands, plan, politeness
from simulations.studies.catalogue import QUICK, STUDIES
from simulations.studies.report import report
from simulations.studies.sweep import check_versions, run_on_cluster, sweep, varied
from tests.simulations.studies.test_studies import small

STUDY = politeness.STUDY
PARAMETERS = STUDY.parameters(**QUICK["politeness"])


def test_a_sweep_on_two_cores_is_that_on_one() -> None:
    alone, together = (sweep(STUDY, [PARAMETERS], range(3), jobs=jobs) for jobs in (1, 2))
    assert alone[0].runs == together[0].runs


@pytest.mark.live
def test_a_sweep_on_a_dask_cluster_is_that_on_one_core(tmp_path: Path) -> None:
    distributed = pytest.importorskip("distributed", reason="the extra `dask` is not installed")
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, host="127.0.0.1", dashboard_address="127.0.0.1:0"
    ) as cluster:
        address = cluster.scheduler_address
        (there,) = sweep(STUDY, [PARAMETERS], range(3), scheduler=address, kept=tmp_path)
        words = ("politeness", *options(STUDY), "--seeds", 3, "--first-seed", 0, "--json")
        (told,) = [json.loads(line) for line in run(*words, "--scheduler", address).splitlines()]
        with pytest.raises(ConfigError, match=r"none\.trace"):
            sweep(plan.STUDY, [plan.PlanParameters(trace="none.trace")], [1], scheduler=address)
    (here,) = sweep(STUDY, [PARAMETERS], range(3), jobs=1)
    assert there.runs == here.runs
    assert told["runs"] == [list(rows) for rows in here.runs]
    # What is done needs no cluster any more.
    assert sweep(STUDY, [PARAMETERS], range(3), scheduler=address, kept=tmp_path)[0].runs == here.runs


@pytest.mark.live
def test_a_cluster_without_workers_is_refused_with_advice() -> None:
    distributed = pytest.importorskip("distributed", reason="the extra `dask` is not installed")
    with (
        distributed.LocalCluster(n_workers=0, host="127.0.0.1", dashboard_address="127.0.0.1:0") as cluster,
        pytest.raises(ConfigError, match="has no workers; start some"),
    ):
        list(run_on_cluster(cluster.scheduler_address, STUDY, [PARAMETERS], [(0, 1)], patience_s=1.0))


def test_an_address_without_a_scheduler_is_refused_with_advice() -> None:
    pytest.importorskip("distributed", reason="the extra `dask` is not installed")
    with pytest.raises(ConfigError, match="no Dask scheduler answers at tcp:"):
        list(run_on_cluster("tcp://127.0.0.1:1", STUDY, [PARAMETERS], [(0, 1)], patience_s=0.5))


def test_without_dask_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(ConfigError, match=r"pip install distributed"):
        sweep(STUDY, [PARAMETERS], [1], scheduler="tcp://127.0.0.1:1")


def test_workers_of_another_version_are_refused() -> None:
    with pytest.raises(ConfigError, match="worker b has not tianmesh"):
        check_versions({"a": version("tianmesh"), "b": "0.0.1"})
    with pytest.raises(ConfigError, match="No module"):
        check_versions({"a": ModuleNotFoundError("No module named 'simulations'")})


def counting(runs: list[int]) -> Study:
    def run(parameters: Any, seed: int) -> list[Row]:
        if seed == 2 and 2 not in runs:
            runs.append(seed)
            raise KeyboardInterrupt
        runs.append(seed)
        return STUDY.run(parameters, seed)

    return Study("counted", "?", "", STUDY.parameters, run, STUDY.keys, STUDY.columns, STUDY.draw, "")


def test_a_sweep_that_was_stopped_goes_on_and_more_seeds_cost_only_themselves(tmp_path: Path) -> None:
    runs: list[int] = []
    study = counting(runs)
    with pytest.raises(KeyboardInterrupt):
        sweep(study, [PARAMETERS], range(4), kept=tmp_path)
    seen: list[tuple[int, int]] = []
    sweep(
        study, [PARAMETERS], range(4), kept=tmp_path, progress=lambda done, total: seen.append((done, total))
    )
    assert runs == [0, 1, 2, 2, 3]
    assert seen == [(2, 4), (3, 4), (4, 4)]
    (outcome,) = sweep(study, [PARAMETERS], range(5), kept=tmp_path)
    assert runs == [0, 1, 2, 2, 3, 4]
    assert outcome.runs == sweep(STUDY, [PARAMETERS], range(5), jobs=1)[0].runs
    for path in tmp_path.iterdir():
        path.write_text("[half of i")
    sweep(study, [PARAMETERS], range(1), kept=tmp_path)
    assert runs[-1] == 0


def test_kept_runs_with_other_columns_are_made_again(tmp_path: Path) -> None:
    runs: list[int] = []
    study = counting(runs)
    sweep(study, [PARAMETERS], [1], kept=tmp_path)
    (path,) = tmp_path.iterdir()
    path.write_text('[{"peers": 1, "delay_s": 0.0, "pages_per_minute": 5.0}]')
    (outcome,) = sweep(study, [PARAMETERS], [1], kept=tmp_path)
    assert runs == [1, 1]
    assert outcome.summary()


def test_values_of_parameters_are_combined() -> None:
    named = varied(PARAMETERS, ["hosts=100,200", "delays=0;0,10"])
    assert [name for name, _ in named] == [
        "hosts=100, delays=0",
        "hosts=100, delays=0,10",
        "hosts=200, delays=0",
        "hosts=200, delays=0,10",
    ]
    assert msgspec.to_builtins(named[-1][1])["hosts"] == 200
    for wrong in ("no=1", "hosts", "hosts=many", "hosts=0"):
        with pytest.raises(ConfigError, match="--vary"):
            varied(PARAMETERS, [wrong])


def options(study: Study) -> list[str]:
    given = QUICK[study.name]
    return [word for name, value in given.items() for word in (f"--{name.replace('_', '-')}", str(value))]


def run(*words: object) -> str:
    result = CliRunner().invoke(sim, [str(word) for word in words])
    assert result.exit_code == 0, (result.output, result.exception)
    return result.stdout


def test_a_command_prints_a_table_and_writes_its_files(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib", reason="the extra `simulations` is not installed")
    output = run("politeness", *options(STUDY), "--seeds", 2, "--jobs", 1, "--out", tmp_path)
    assert "as said" in output
    rows = list(csv.DictReader((tmp_path / "politeness.csv").read_text().splitlines()))
    assert {row["peers"] for row in rows} == {"1", "16"}
    document = json.loads((tmp_path / "politeness.json").read_text())
    assert (document["seeds"], document["parameters"]["hosts"]) == ([1, 2], 500)
    assert (tmp_path / "politeness.png").read_bytes().startswith(b"\x89PNG")
    assert (tmp_path / "politeness.svg").read_text().lstrip().startswith("<?xml")


def test_all_experiments_go_on_after_a_stop_and_end_with_one_page(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("matplotlib", reason="the extra `simulations` is not installed")
    runs: list[int] = []
    stopped, quiet = counting(runs), politeness.STUDY
    monkeypatch.setattr(commands, "STUDIES", {"politeness": quiet, "counted": stopped})
    monkeypatch.setattr(commands, "QUICK", dict.fromkeys(("politeness", "counted"), QUICK["politeness"]))
    words = ["all", "--out", str(tmp_path), "--quick", "--first-seed", "1", "--seeds", "3", "--jobs", "1"]
    assert CliRunner().invoke(sim, words).exit_code == 130  # Ctrl-C, in the second run of the second
    assert not (tmp_path / "index.html").exists()
    assert runs == [1, 2]
    output = run(*words)
    assert runs == [1, 2, 2, 3]
    assert "politeness" in output
    assert "index.html" in output
    page = (tmp_path / "index.html").read_text()
    assert page.count("<svg") == 2


def test_a_command_tells_programs_everything_and_runs_variations() -> None:
    words = ("politeness", *options(STUDY), "--seeds", 1, "--json", "--vary", "hosts=100,200")
    documents = [json.loads(line) for line in run(*words).splitlines()]
    assert [document["parameters"]["hosts"] for document in documents] == [100, 200]


@pytest.mark.parametrize("name", STUDIES)
def test_every_experiment_has_help_with_its_parameters(name: str) -> None:
    output = run(name, "--help")
    assert "Source:" in output
    assert f"Example: tianmesh sim {name}" in output


def test_a_value_out_of_its_range_is_wrong_usage() -> None:
    assert CliRunner().invoke(sim, ["plan", "--replicas", "9"]).exit_code == 2
    with pytest.raises(ConfigError, match="hours"):
        commands.check(plan.PlanParameters(hours=0.0))


@functools.cache
def figure_drawn(name: str) -> Any:
    matplotlib = pytest.importorskip("matplotlib.figure", reason="the extra `simulations` is not installed")
    figure = matplotlib.Figure()
    STUDIES[name].draw(figure, small(STUDIES[name]))
    return figure


@pytest.mark.parametrize("name", STUDIES)
def test_every_figure_can_be_drawn_with_units_on_its_axes(name: str) -> None:
    figure = figure_drawn(name)
    assert all(axes.get_xlabel() and axes.get_ylabel() and axes.get_title() for axes in figure.axes)
    labels = [label for axes in figure.axes for label in axes.get_legend_handles_labels()[1]]
    assert "1 peers" not in labels


@pytest.mark.parametrize("name", STUDIES)
def test_no_interval_of_a_figure_is_cut_by_an_axis(name: str) -> None:
    for axes in figure_drawn(name).axes:
        low, high = axes.get_ylim()
        for container in axes.containers:
            _, _, bars = getattr(container, "errorbar", None) or container
            for bar in bars:
                ends = [y for segment in bar.get_segments() for _, y in segment]
                assert all(low <= end <= high for end in ends), container.get_label()


def test_the_page_has_all_figures_in_it_and_needs_nothing_else() -> None:
    pytest.importorskip("matplotlib", reason="the extra `simulations` is not installed")
    outcomes = [small(STUDIES[name]) for name in ("politeness", "plan")]
    page = report(outcomes)
    assert page.count("<svg") == 2
    assert "You need" in page
    assert "src=" not in page
    assert 'href="http' not in page.replace('xlink:href="http', "")
    assert figure_of(outcomes[0], "svg") == figure_of(outcomes[0], "svg")


def test_the_cells_of_the_notebook_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("matplotlib", reason="the extra `simulations` is not installed")
    path = Path(__file__).parents[3] / "docs" / "notebooks" / "experiments.ipynb"
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    for cell in cells:
        if cell["cell_type"] == "code":
            exec(compile("".join(cell["source"]), path.name, "exec"), names)
    assert names["outcome"].summary()
    assert list(tmp_path.glob("*.png"))
