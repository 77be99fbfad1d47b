"""`tianmesh classes`: from samples to the decree of a mesh, against a gateway in memory."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from mesh.errors import ConfigError
from mesh.keys.decree import CLASSES, Signer, appoint
from mesh.keys.key_file import new_signing_key, save_administrator
from mesh.keys.signing_key import SigningKey
from peers.application import LateCommand
from peers.classes.cli import register
from peers.classes.commands import classes_app
from peers.classes.samples import append_samples, read_samples
from peers.engine.pages.class_model import model_in
from tests.peers.classes.texts import samples_of
from tests.peers.fake_gateway import FakeGateway

ROOT = SigningKey.of_secret(b"r" * 32)
PAGE = "http://www.pku.edu.cn/x"


@pytest.fixture
def key(tmp_path: Path) -> Path:
    key, path = new_signing_key(), tmp_path / "admin.key"
    save_administrator(path, Signer(key, b"mesh", appoint(ROOT, b"mesh", key.public)))
    return path


@pytest.fixture
def samples(tmp_path: Path) -> Path:
    append_samples(tmp_path / "samples.tsv", samples_of(20))
    return tmp_path / "samples.tsv"


def result_of(*arguments: str | Path) -> Result:
    return CliRunner().invoke(classes_app, list(map(str, arguments)), env={"COLUMNS": "80"})


def run(*arguments: str | Path) -> str:
    result = result_of(*arguments)
    if result.exception and not isinstance(result.exception, SystemExit):
        raise result.exception
    assert result.exit_code == 0, result.output
    return result.stdout


def test_the_commands_join_by_the_entry_point() -> None:
    commands: dict[str, LateCommand] = {}
    register(commands)
    assert commands["classes"].place == "peers.classes.commands:classes_app"


def test_a_model_goes_from_samples_to_the_mesh_and_is_shown(
    gateway: FakeGateway, key: Path, samples: Path, tmp_path: Path
) -> None:
    model = tmp_path / "classes.model"
    assert "7 classes by 100 samples" in run("fit", samples, "--into", model)
    shown = run("show", model)
    assert "  physics\t20 samples\t" in shown
    assert shown.index("science") < shown.index("  biology") < shown.index("sports")
    said = run("set", model, "--key", key, "--gateway", gateway.url)
    assert "7 of them, are on their way" in said
    [decree] = gateway.decrees
    assert (decree.kind, decree.subject) == (CLASSES, "")
    assert decree.body == model.read_bytes()
    told: dict[str, Any] = json.loads(run("show", "--json", "--gateway", gateway.url))
    assert told["number"] == decree.number
    assert {"physics", "food"} <= {row["name"] for row in told["classes"]}
    assert next(row for row in told["classes"] if row["name"] == "physics")["parent"] == "science"


def test_classes_end(gateway: FakeGateway, key: Path, samples: Path, tmp_path: Path) -> None:
    assert "in no classes" in run("show", "--gateway", gateway.url)
    run("fit", samples, "--into", tmp_path / "m")
    run("set", tmp_path / "m", "--key", key, "--gateway", gateway.url)
    run("end", "--key", key, "--gateway", gateway.url)
    assert gateway.decrees[-1].is_over(time.time())
    assert gateway.decrees[-1].number > gateway.decrees[0].number
    assert "in no classes" in run("show", "--gateway", gateway.url)


def test_stored_pages_become_samples(gateway: FakeGateway, tmp_path: Path) -> None:
    gateway.pages[PAGE] = {"url": PAGE, "title": "Quarks", "text": "quark\nneutron"}
    gateway.pages[f"{PAGE}/empty"] = {"url": f"{PAGE}/empty", "title": "", "text": ""}
    into = tmp_path / "s.tsv"
    assert "1 sample" in run("collect", "science/physics", PAGE, "--into", into, "--gateway", gateway.url)
    [sample] = read_samples(into)
    assert sample == (("science", "physics"), "Quarks quark neutron", PAGE)
    for url, told in (
        ("nothing", "is no URL"),
        (f"{PAGE}/other", "no copy of"),
        (f"{PAGE}/empty", "has no text"),
    ):
        with pytest.raises(ConfigError, match=told):
            run("collect", "science", url, "--into", into, "--gateway", gateway.url)
    with pytest.raises(ConfigError, match="is no class"):
        run("collect", "two words", PAGE, "--into", into, "--gateway", gateway.url)


def test_a_report_is_a_table_or_json(samples: Path, tmp_path: Path) -> None:
    text = run("report", samples)
    assert "# 80 samples, 20 judged, 5 classes" in text
    for name in ("kNN, cosine", "naive Bayes as printed", "Rocchio", "CHI 15%", "PCut", "SCut, level 1"):
        assert f"\n{name}" in text
    append_samples(tmp_path / "judge.tsv", samples_of(4, seed=9))
    rows = json.loads(run("report", samples, "--judge", tmp_path / "judge.tsv", "--json"))
    assert {row["table"] for row in rows} >= {"methods", "cuts, linear"}


def test_what_is_no_model_is_not_set(gateway: FakeGateway, key: Path, tmp_path: Path) -> None:
    (tmp_path / "bad").write_bytes(b"nothing")
    for name, told in (("bad", "is no model that"), ("none", "cannot read")):
        with pytest.raises(ConfigError, match=told):
            run("set", tmp_path / name, "--key", key, "--gateway", gateway.url)
    assert not gateway.decrees


def test_a_fitted_model_is_read_as_peers_read_it(samples: Path, tmp_path: Path) -> None:
    told = json.loads(run("fit", samples, "--into", tmp_path / "m", "--json"))
    body = (tmp_path / "m").read_bytes()
    assert told["bytes"] == len(body) <= told["bytes_max"]
    assert len(model_in(body).rows) == told["classes"] == 7
