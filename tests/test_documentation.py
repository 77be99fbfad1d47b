"""What README and docs tell people to type exists, and their links lead somewhere."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer

from peers.application import app
from peers.config import PeerConfig
from peers.engine.queries.query_language import Operator
from peers.gateway.openapi import openapi
from peers.gateway.site.texts import OPERATORS
from tests.budgets.static import settings_in
from tests.documented import ELSEWHERE, documented
from tests.settings_page import PAGE, settings_page

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", ROOT / "SECURITY.md", *sorted((ROOT / "docs").glob("*.md"))]


@pytest.fixture(scope="module")
def program() -> Any:
    program: Any = typer.main.get_command(app)
    context = typer.Context(program)
    for name in program.list_commands(context):
        program.get_command(context, name)
    return program


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_command_that_is_shown_exists_with_its_options(page: Path, program: Any) -> None:
    shown = list(_commands(page.read_text(encoding="utf-8")))
    for words in shown:
        command = program
        options: set[str] = set()
        for word in words:
            commands = getattr(command, "commands", None)  # of one that has others below it
            if commands and not options and not word.startswith("-"):
                assert word in commands, f"tianmesh {' '.join(words)}"
                command = commands[word]
            elif word.startswith("--"):
                options.add(word.partition("=")[0])
        known = {name for each in command.params for name in (*each.opts, *each.secondary_opts)} | {"--help"}
        assert options <= known, f"tianmesh {' '.join(words)}"


def test_every_command_that_a_message_names_exists(program: Any) -> None:
    """Whoever does as an error says shall not be told next that there is no such command."""
    for room in ("mesh", "peers", "bootstrap", "simulations"):
        for path in (ROOT / room).rglob("*.py"):
            for words in re.findall(r"`tianmesh((?: [a-z][a-z-]*)+)", path.read_text(encoding="utf-8")):
                commands = program.commands
                for word in words.split():
                    assert word in commands, f"{path}: tianmesh{words}"
                    commands = getattr(commands[word], "commands", None)
                    if not commands:  # what follows is no command
                        break


def test_nobody_is_told_to_install_by_a_name_that_nobody_has_published() -> None:
    files = [
        *PAGES,
        *(
            path
            for room in ("mesh", "peers", "bootstrap", "simulations")
            for path in (ROOT / room).rglob("*.py")
        ),
    ]
    for path in files:
        assert not re.search(
            r"pipx? install ['\"]?tianmesh|install = \"tianmesh", path.read_text(encoding="utf-8")
        ), path


def test_no_excuse_is_left_for_a_command_that_is_not_shown_any_more() -> None:
    shown = [each.command for each in documented()]
    assert len(shown) > 80
    idle = [beginning for beginning in ELSEWHERE if not any(each.startswith(beginning) for each in shown)]
    assert not idle


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_link_to_a_file_leads_to_one(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    for target in re.findall(r"\]\((?!https?:)([^)#\s]+)", text):
        assert (page.parent / target).exists(), target


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_link_to_a_heading_leads_to_one(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    for target, heading in re.findall(r"\]\((?!https?:)([^)#\s]*)#([^)\s]+)\)", text):
        led_to = page.parent / target if target else page
        headings = re.findall(r"^#+ (.*)", led_to.read_text(encoding="utf-8"), re.MULTILINE)
        # As GitHub makes its anchors: small letters, no signs, a hyphen for each blank.
        assert heading in {re.sub(r"[^\w -]", "", each.lower()).replace(" ", "-") for each in headings}


def test_every_test_that_is_named_exists() -> None:
    """SECURITY.md and others say by which test a promise is kept; files of tests are renamed now and then."""
    there = {path.name for path in (ROOT / "tests").rglob("*.py")}
    folders = ("mesh", "peers", "bootstrap", "simulations", "tests", "docs")
    texts = [
        path for folder in folders for path in (ROOT / folder).rglob("*") if path.suffix in (".md", ".py")
    ]
    named = {
        name: path.relative_to(ROOT)
        for path in [*texts, *ROOT.glob("*.md")]
        if path.name != "HISTORY.md"  # it tells of the past
        for name in re.findall(r"`(?:[\w/]*/)?((?:test|bench)_\w+\.py)", path.read_text(encoding="utf-8"))
    }
    assert len(named) > 50
    assert {name: path for name, path in named.items() if name not in there} == {}


def test_the_glossary_has_each_word_once() -> None:
    rows = re.findall(
        r"^\| ([a-z][^|]*) \|", (ROOT / "CONVENTIONS.md").read_text(encoding="utf-8"), re.MULTILINE
    )
    words = [word for row in rows for word in row.split(", ")]
    assert len(words) > 50
    assert sorted(words) == sorted(set(words))


def test_every_page_is_in_the_index() -> None:
    index = (ROOT / "docs" / "README.md").read_text(encoding="utf-8")
    linked = {target for target in re.findall(r"\]\(([^)#\s]+)", index) if "/" not in target}
    assert linked == {page.name for page in (ROOT / "docs").glob("*.md")} - {"README.md"}


def test_the_page_of_settings_is_made_from_their_declarations() -> None:
    assert PAGE.read_text(encoding="utf-8") == settings_page(), "python -m tests.settings_page writes it"


def test_up_has_fifteen_options_at_most_and_a_peer_51_settings(program: Any) -> None:
    shown = [each for each in program.commands["up"].params if each.param_type_name == "option"]
    assert len([each for each in shown if not each.hidden]) <= 15
    assert settings_in(PeerConfig) <= 51


def test_every_path_of_the_gateway_is_told_with_its_methods() -> None:
    text = (ROOT / "docs" / "api.md").read_text(encoding="utf-8")
    told = set(re.findall(r"`(GET|POST) (/[^`]*)`", text))
    paths = json.loads(openapi())["paths"]
    assert told == {(method.upper(), path) for path, methods in paths.items() for method in methods}


@pytest.mark.parametrize("language", ["en", "zh"])
def test_searchers_are_told_of_every_operator_and_of_all_that_the_gateway_tells(language: str) -> None:
    text = (ROOT / "docs" / f"searching.{language}.md").read_text(encoding="utf-8")
    assert all(f"{operator}:" in text for operator in Operator)
    assert all(f"`{example}`" in text for example, _ in OPERATORS[language])


def _commands(text: str) -> Iterator[list[str]]:
    """The words after `tianmesh` of each command, in lines of code and between backticks."""
    lines = re.findall(r"^    (?:sudo )?tianmesh (.*)$", text, re.M)
    for code in (*lines, *re.findall(r"`(?:sudo )?tianmesh ([^`\n]+)`", text)):
        for part in re.split(r"; tianmesh ", code.partition(" | ")[0]):
            words = shlex.split(part.partition("  #")[0].replace("...", ""), comments=True)
            if words and re.fullmatch(r"[a-z]+", words[0]):
                yield words
