"""The command as a whole."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from importlib.metadata import EntryPoint, entry_points, version
from typing import Any

import pytest
import typer
from rich.text import Text
from typer.testing import CliRunner

from peers import application
from peers.application import BUILT_IN, app


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
    assert (
        not {"numpy", "trio", "zmq", "lmdb", "rjieba", "bootstrap.commands", "simulations.commands"} & loaded
    )
    assert len(loaded) < modules_max


def test_the_list_of_commands_loads_none_of_them() -> None:
    loaded = _loaded_by(["--help"])
    assert not {each.place.partition(":")[0] for each in BUILT_IN.values()} & loaded
    assert not {"numpy", "trio", "bootstrap.commands", "simulations.commands"} & loaded
    assert len(loaded) < 500


@pytest.mark.parametrize(
    ("typed", "meant"), [("serch", "search"), ("doktor", "doctor"), ("lab lunch", "launch")]
)
def test_a_mistyped_command_is_answered_by_the_one_that_was_meant(typed: str, meant: str) -> None:
    result = CliRunner().invoke(app, typed.split())
    assert result.exit_code == 2
    assert re.search(f"Did you mean .*'{meant}'", result.output)


def test_package_that_cannot_be_loaded_takes_no_commands_of_others_away(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    broken = EntryPoint("broken", "no_such_package:register", "tianmesh.commands")
    found = [broken, *entry_points(group="tianmesh.commands")]
    monkeypatch.setattr(application, "entry_points", lambda group: found)
    commands = application._late_commands.__wrapped__()
    assert {*BUILT_IN, "words"} <= commands.keys()
    assert "the commands of broken are missing" in capsys.readouterr().err


def test_each_command_is_listed_with_the_beginning_of_its_help() -> None:
    group: Any = typer.main.get_command(app)
    context = typer.Context(group)
    names = group.list_commands(context)
    helps = {name: " ".join(group.get_command(context, name).help.split()) for name in names}
    with CliRunner().isolation(env={"COLUMNS": "200"}) as (output, *_):
        print(group.get_help(context))
        listed = output.getvalue().decode()
    assert {"peer", "up", "lab", "sim", "eval", "words"} <= set(names)
    for name, help_text in helps.items():
        sentence = re.search(rf"^│ {name} +(.+?) +│$", listed, re.MULTILINE)
        assert sentence, name
        assert help_text.startswith(sentence[1]), name


def all_commands(command: Any, name: str = "tianmesh") -> Iterator[tuple[str, Any]]:
    """Yield a command and those below it, with their names."""
    yield name, command
    if isinstance(command, typer.core.TyperGroup):
        context = typer.Context(command)
        for each in command.list_commands(context):
            yield from all_commands(command.get_command(context, each), f"{name} {each}")


def help_texts() -> Iterator[tuple[str, str]]:
    """Yield the texts of the help of all commands."""
    for name, command in all_commands(typer.main.get_command(app)):
        for text in (command.help, command.epilog, *(getattr(each, "help", "") for each in command.params)):
            yield name, text or ""


def test_no_text_of_the_help_loses_what_stands_in_brackets() -> None:
    """They are markup of rich, where they are not escaped: `[link_graph]` was shown as nothing."""
    texts = list(help_texts())
    assert len(texts) > 500
    lost = [
        (name, part)
        for name, text in texts
        for part in re.findall(r"(?<!\\)\[[^\]]*\]", text)
        if part not in Text.from_markup(text).plain
    ]
    assert lost == []


def test_each_example_of_the_help_begins_a_line() -> None:
    shown = CliRunner().invoke(app, ["status", "--help"], env={"COLUMNS": "80"}).stdout
    lines = list(map(str.strip, shown.splitlines()))
    assert {"Examples:", "tianmesh status --watch", "TIANMESH_DATA=mymesh tianmesh status"} <= set(lines)
    commands = dict(all_commands(typer.main.get_command(app)))
    within = [name for name, each in commands.items() if re.search(r"\S   (?!\()", each.epilog or "")]
    assert within == []


def test_paragraphs_of_the_help_are_as_wide_as_the_terminal() -> None:
    shown = CliRunner().invoke(app, ["backlinks", "--help"], env={"COLUMNS": "80"}).stdout
    assert "Of a domain up to 32 are listed" in " ".join(shown.split())
    assert not re.search(r"Of a domain *\n", shown)


def test_who_may_name_a_gateway_may_name_the_folder_in_which_it_is_looked_for() -> None:
    asking = {
        name: {option for each in command.params for option in each.opts}
        for name, command in all_commands(typer.main.get_command(app))
        if any("in --data" in str(getattr(each, "show_default", "")) for each in command.params)
    }
    assert len(asking) > 30
    assert [name for name, options in asking.items() if "--data" not in options] == []


@pytest.mark.parametrize("words", [["lab", "--help"], ["config", "--help"], ["bootstrap", "--help"]])
def test_who_founds_and_governs_a_mesh_loads_no_dictionary(words: list[str]) -> None:
    assert not {"rjieba", "jieba", "peers.engine.index"} & _loaded_by(words)
