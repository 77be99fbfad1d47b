"""The command as a whole."""

from __future__ import annotations

import subprocess
import sys
from importlib.metadata import version

import pytest
from typer.testing import CliRunner

from peers import application


def test_the_version_is_told() -> None:
    shown = CliRunner().invoke(application.app, ["--version"])
    assert shown.output == f"tianmesh {version('tianmesh')}\n"


def _loaded_by(words: list[str]) -> set[str]:
    told = "atexit.register(lambda: print(*sys.modules))"
    code = f"import atexit, sys; from peers.cli import main; {told}; main()"
    done = subprocess.run([sys.executable, "-c", code, *words], capture_output=True, text=True, check=True)
    return set(done.stdout.splitlines()[-1].split())


@pytest.mark.parametrize(("words", "modules_max"), [(["--version"], 300), (["status", "--help"], 600)])
def test_a_command_loads_little_besides_what_it_needs(words: list[str], modules_max: int) -> None:
    """Seconds would be those of the machine: a module is half a millisecond or so."""
    loaded = _loaded_by(words)
    assert not {"numpy", "trio", "zmq", "lmdb", "rjieba", "bootstrap.cli", "simulations.cli"} & loaded
    assert len(loaded) < modules_max


@pytest.mark.parametrize("words", [["lab", "--help"], ["config", "--help"], ["bootstrap", "--help"]])
def test_who_founds_and_governs_a_mesh_loads_no_dictionary(words: list[str]) -> None:
    assert not {"rjieba", "jieba", "peers.engine.index"} & _loaded_by(words)
