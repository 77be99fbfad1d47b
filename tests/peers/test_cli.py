"""The command as a whole."""

from __future__ import annotations

from importlib.metadata import version

from typer.testing import CliRunner

from peers import application


def test_the_version_is_told() -> None:
    shown = CliRunner().invoke(application.app, ["--version"])
    assert shown.output == f"tianmesh {version('tianmesh')}\n"
