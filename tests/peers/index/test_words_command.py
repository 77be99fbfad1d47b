from __future__ import annotations

import json
from pathlib import Path

from typer.testing import CliRunner

from mesh.errors import ConfigError
from peers.application import app
from tests.peers.text.test_word_discovery import TEXTS


def test_the_command_prints_what_it_finds(tmp_path: Path) -> None:
    file = tmp_path / "titles.txt"
    # Among many other words a pair is no chance.
    others = [f"{a}{b}" for a in "天地玄黄宇宙洪荒寒来暑往" for b in "日月盈昃辰宿列张云腾致雨秋收冬藏"]
    file.write_text("\n".join(TEXTS + others), "utf-8")
    shown = CliRunner().invoke(app, ["words", "discover", str(file)])
    assert [line.split("\t")[:2] for line in shown.stdout.splitlines()] == [["逻辑节点", "6"]]
    as_json = CliRunner().invoke(app, ["words", "discover", "--json", str(file)])
    assert [found["word"] for found in json.loads(as_json.stdout)] == ["逻辑节点"]


def test_a_file_that_cannot_be_read_is_told(tmp_path: Path) -> None:
    result = CliRunner().invoke(app, ["words", "discover", str(tmp_path / "none")])
    assert isinstance(result.exception, ConfigError)
