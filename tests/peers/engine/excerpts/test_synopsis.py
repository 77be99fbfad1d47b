"""How a command or function is called, by the manual that has it."""

from __future__ import annotations

import pytest

from peers.engine.excerpts.synopsis import SYNOPSIS_CHARS_MAX, called_name, synopsis_of
from tests.processor import processor_seconds

MANUAL = "ls\nName\nls lists\nSynopsis\nls [-a] [FILE]\nls --help\nDescription\nlong"
HEADINGS = ["ls", "Name", "Synopsis", "Description"]


@pytest.mark.parametrize(
    ("query", "name"),
    [
        ("ls", "ls"),
        (" git-rebase ", "git rebase"),
        ("CREATE INDEX", "create index"),
        ("printf()", "printf"),
        ("std::vector", "std::vector"),
        ("pg_dump_all", "pg dump all"),
        ("-x", ""),
        ("site:a.test", ""),
        ("one two three four", ""),
        ('"ls"', ""),
        ("a OR (b c)", ""),
        ("x" * 61, ""),
        ("", ""),
    ],
)
def test_a_query_is_a_name_when_it_is_up_to_three_words_without_signs(query: str, name: str) -> None:
    assert called_name(query) == name


@pytest.mark.parametrize("title", ["ls", "ls(1)", "LS - list files", "ls — list", "ls | Manual", "ls: list"])
def test_a_page_with_the_name_as_its_title_says_its_synopsis(title: str) -> None:
    headings = ["Contents", *HEADINGS[1:]]
    text = f"Contents\n{MANUAL}"
    assert synopsis_of("ls", title, headings, text) == "ls [-a] [FILE]\nls --help"


def test_a_page_about_something_else_says_none() -> None:
    assert synopsis_of("ls", "lsof", ["lsof", "Synopsis"], "lsof\nSynopsis\nlsof [-x]") == ""
    assert synopsis_of("ls", "ls and others", ["Others", "Synopsis"], MANUAL) == ""
    assert synopsis_of("ls", "ls", ["ls"], MANUAL) == "", "a line that reads so is no heading"
    assert synopsis_of("name", "", [""], "") == ""


def test_the_first_heading_names_a_page_too_and_names_are_joined_in_any_way() -> None:
    text = "CREATE_INDEX\n语法\nCREATE INDEX name\nmore"
    assert (
        synopsis_of("create index", "Manual", ["CREATE_INDEX", "语法", "more"], text) == "CREATE INDEX name"
    )


def test_a_function_is_called_as_its_heading_says() -> None:
    headings = ["File system", "fs.readFile(path[, options])#", "fs.readFileSync(path)#", "std::swap(a, b)"]
    text = "\n".join([headings[0], headings[1], "Reads it.", *headings[2:]])
    assert synopsis_of("fs.readfile", "Node", headings, text) == "fs.readFile(path[, options])"
    assert synopsis_of("std::swap", "Node", headings, text) == "std::swap(a, b)"
    assert synopsis_of("std::swap", "Node", headings, "") == "", "its text is not to be shown"
    assert synopsis_of("ls", "Manual", ["Manual", "ls(1)"], "Manual\nls(1)\nlists") == ""


def test_a_synopsis_of_a_hostile_page_is_short_and_costs_linear_time() -> None:
    def seconds(n: int) -> float:
        text = "ls\nSynopsis\n" + "x" * n
        found = synopsis_of("ls", "ls" + " " * n, ["ls", "Synopsis", *["ls("] * n], text + "\nls(" * n)
        assert len(found) <= SYNOPSIS_CHARS_MAX
        return processor_seconds(
            lambda: synopsis_of("lss", "ls" + " " * n, ["ls", "Synopsis", *["ls("] * n], text)
        )

    assert seconds(40_000) < 40 * max(seconds(4_000), 0.001)


def test_a_synopsis_that_does_not_count_as_main_text_is_found_beside_it() -> None:
    text, beside = (
        "DROP RULE\nSynopsis\nDescription\nlong",
        "Home\nDROP RULE\nDROP RULE [ IF EXISTS ] name\nNext",
    )
    headings = ["DROP RULE", "Synopsis", "Description"]
    assert synopsis_of("drop rule", "DROP RULE", headings, text, beside) == "DROP RULE [ IF EXISTS ] name"
    assert synopsis_of("drop rule", "DROP RULE", headings, text) == ""
