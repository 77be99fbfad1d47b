"""The synopsis that a manual gives of a command or function: the answer to a query that is just its name."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

NAME_CHARS_MAX: Final = 60
SYNOPSIS_CHARS_MAX: Final = 600
SYNOPSIS_LINES_MAX: Final = 6

# A name as people type it: ls, git rebase, CREATE INDEX, fs.readFile, std::vector, printf().
_NAME: Final = re.compile(r"[\w.:+#$@/-]+(?: [\w.:+#$@/-]+){0,2}(?:\(\))?")
_OPERATOR: Final = re.compile(r"(?:^|\s)-|\w:(?!:)")
_JOINTS: Final = re.compile(r"[\s_-]+")
# What follows a name in a title or heading: ls(1), ls - list files, fs.readFile(path), CREATE INDEX — define.
_BEHIND_NAME: Final = re.compile(r"\(| - |[—–|]|:(?:\s|$)")
# The section of a manual, as in ls(1): no arguments.
_SECTION: Final = re.compile(r"\(\d\w?\)")
_HEADINGS: Final = frozenset(
    ("synopsis", "syntax", "usage", "概要", "语法", "語法", "用法", "使用方法", "大纲")
)


def has_synopsis(headings: Sequence[str]) -> bool:
    """Tell whether one of the headings is of a synopsis."""
    return any(_is_of_synopsis(each) for each in headings)


def called_name(query: str) -> str:
    """Return the name that a query is, without its signs between words; "" for a query that is none."""
    typed = query.strip()
    if len(typed) > NAME_CHARS_MAX or not _NAME.fullmatch(typed) or _OPERATOR.search(typed):
        return ""
    return _normal(typed.removesuffix("()"))


def synopsis_of(name: str, title: str, headings: Sequence[str], text: str, beside: str = "") -> str:
    """Return the lines by which a page says how something of that name is called; "" for none.

    That is the text below a heading such as `Synopsis` on a page with that name as its title or first
    heading, or a heading that is the name with its arguments, as `fs.readFile(path)`. Takes time in
    proportion to the text.

    Args:
      name: as `called_name` has it.
      headings: those of the page, in order.
      text: with the headings as lines; of a page whose text is not to be shown "".
      beside: text that does not count as main text, as lines of code often do not.
    """
    if _is_named(name, title) or (headings and _is_named(name, headings[0])):
        known = frozenset(headings)
        of_synopsis = {each for each in known if _is_of_synopsis(each)}
        lines = text.split("\n") if of_synopsis else []
        for number, line in enumerate(lines):
            if line in of_synopsis:
                below = _until_heading(lines[number + 1 : number + 1 + SYNOPSIS_LINES_MAX], known)
                return _shown(below or [each for each in beside.split("\n") if _begins_with(name, each)])
    called = next((each for each in headings if "(" in each and _is_named(name, each)), "")
    has_arguments = bool(called) and not _SECTION.search(called)
    return _shown([called.rstrip(" ¶#")]) if has_arguments and text else ""


def _is_of_synopsis(heading: str) -> bool:
    return heading.strip(" :：¶#").casefold() in _HEADINGS


def _is_named(name: str, title: str) -> bool:
    """Tell whether a title begins with that name, and only says of it, if anything, which kind it is."""
    shown = title[: 4 * NAME_CHARS_MAX].strip(" ¶#")
    behind = _BEHIND_NAME.search(shown)
    return _normal(shown[: behind.start()] if behind else shown) == name


def _begins_with(name: str, line: str) -> bool:
    return _normal(line[: 4 * NAME_CHARS_MAX]).startswith(f"{name} ")


def _normal(name: str) -> str:
    return _JOINTS.sub(" ", name.casefold()).strip() if len(name) > 1 else name.casefold()


def _until_heading(lines: Sequence[str], headings: frozenset[str]) -> list[str]:
    end = next((number for number, line in enumerate(lines) if line in headings), len(lines))
    return list(lines[:end])


def _shown(lines: Sequence[str]) -> str:
    return "\n".join(lines[:SYNOPSIS_LINES_MAX])[:SYNOPSIS_CHARS_MAX].rstrip()
