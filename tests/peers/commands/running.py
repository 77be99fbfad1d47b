"""Running commands against a gateway."""

from __future__ import annotations

from pathlib import Path

from typer.testing import CliRunner, Result

from peers import application
from tests.peers.fake_gateway import FakeGateway


def result_of(gateway: FakeGateway, *arguments: str | Path, typed: str | None = None) -> Result:
    """Run a command on a terminal of 80 columns. Args: typed: its standard input."""
    command = [*map(str, arguments), "--gateway", gateway.url]
    return CliRunner().invoke(application.app, command, input=typed, env={"COLUMNS": "80"})


def run(gateway: FakeGateway, *arguments: str | Path) -> str:
    """What a command that goes well writes; raises what it raises."""
    result = result_of(gateway, *arguments)
    if result.exception and not isinstance(result.exception, SystemExit):
        raise result.exception
    assert result.exit_code == 0, result.output
    return result.stdout
