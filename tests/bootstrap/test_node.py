"""Processes of a lab's nodes: they load at once, and begin at a word."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

LOADED = """
import sys
from bootstrap.node import _loaded
_loaded(sys.argv[1])
print(*sys.modules)
"""


def run_node(config: Path, word: bytes) -> subprocess.CompletedProcess[bytes]:
    command = [sys.executable, "-m", "bootstrap.node", "peer", str(config)]
    return subprocess.run(command, input=word, capture_output=True, timeout=300, check=False)


def test_a_node_whose_lab_ends_before_the_word_does_nothing(tmp_path: Path) -> None:
    done = run_node(tmp_path / "config.toml", b"")
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


def test_a_node_reads_its_configuration_after_the_word_and_tells_what_is_wrong_by_a_sentence(
    tmp_path: Path,
) -> None:
    done = run_node(tmp_path / "config.toml", b"\n")
    assert done.returncode == 1
    assert done.stderr.startswith(b"tianmesh: ")
    assert done.stderr.count(b"\n") == 1


@pytest.mark.parametrize("kind", ["peer", "bootstrap"])
def test_a_node_of_a_lab_loads_no_commands(kind: str) -> None:
    command = [sys.executable, "-c", LOADED, kind]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=True)
    assert not {"typer", "rich", "tomlkit", "peers.application", "bootstrap.commands"} & set(
        done.stdout.split()
    )
