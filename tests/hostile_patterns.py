"""Every regular expression of the product, how it is asked, and texts that may be dear to it."""

from __future__ import annotations

import ast
import importlib.util
import pkgutil
import re
import re._parser as parser  # type: ignore[import-not-found]
import time
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from re._constants import (  # type: ignore[import-not-found]
    ASSERT,
    ASSERT_NOT,
    AT,
    BRANCH,
    CATEGORY,
    CATEGORY_DIGIT,
    CATEGORY_SPACE,
    IN,
    LITERAL,
    MAX_REPEAT,
    MIN_REPEAT,
    NEGATE,
    NOT_LITERAL,
    RANGE,
    SUBPATTERN,
)
from types import ModuleType
from typing import Any, Final, NamedTuple

import mesh
import peers

ROOMS: Final = (mesh, peers)
OWN: Final = ("peers.evaluation",)  # reads files of whoever develops it
# How those are asked that other modules ask.
ELSEWHERE: Final = {"peers.importing.warc_file._ARC_HEAD": ("match",)}
METHODS: Final = ("search", "match", "fullmatch", "finditer", "findall", "sub", "split")
PARTS_MAX: Final = 6
PUMPS: Final = (" ", "\n", "\t ", "a", "0", "<", ">", "/", "=", '"', "'", "-", ".", ",", ":", "\\", "[", "&")


class Asked(NamedTuple):
    """A pattern, and how the modules that have it ask it."""

    name: str
    pattern: re.Pattern[Any]
    methods: tuple[str, ...]


def patterns() -> Iterator[Asked]:
    """Yield every pattern that a module of the product compiles when it is imported."""
    for room in ROOMS:
        for found in pkgutil.walk_packages(room.__path__, f"{room.__name__}."):
            if not found.name.endswith("__main__") and not found.name.startswith(OWN):
                yield from _of_module(importlib.import_module(found.name))


def _of_module(module: ModuleType) -> Iterator[Asked]:
    file = Path(module.__file__ or "")
    if file.suffix != ".py":  # a kernel
        return
    tree = ast.parse(file.read_text(encoding="utf-8"))
    for name in _assigned(tree):
        value = getattr(module, name, None)
        for pattern in value.values() if isinstance(value, dict) else (value,):
            if isinstance(pattern, re.Pattern):
                full_name = f"{module.__name__}.{name}"
                methods = tuple(sorted(_methods(tree, name))) or ELSEWHERE.get(full_name, ("search", "match"))
                yield Asked(full_name, pattern, methods)


def in_place() -> Iterator[str]:
    """Yield the modules that ask a pattern which has no name."""
    for room in ROOMS:
        for found in pkgutil.walk_packages(room.__path__, f"{room.__name__}."):
            spec = importlib.util.find_spec(found.name)
            file = Path((spec and spec.origin) or "")
            if file.suffix == ".py" and not found.name.startswith(OWN):
                tree = ast.parse(file.read_text(encoding="utf-8"))
                named = {id(node) for each in tree.body for node in ast.walk(each) if _is_named(each)}
                calls = (
                    node for node in ast.walk(tree) if isinstance(node, ast.Call) and id(node) not in named
                )
                if any(_asks_re(node) for node in calls):
                    yield found.name


def _is_named(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.Assign | ast.AnnAssign)


def _asks_re(call: ast.Call) -> bool:
    asked = call.func
    return (
        isinstance(asked, ast.Attribute)
        and asked.attr in (*METHODS, "compile")
        and isinstance(asked.value, ast.Name)
        and asked.value.id == "re"
    )


def _assigned(tree: ast.Module) -> Iterator[str]:
    for node in tree.body:
        targets = node.targets if isinstance(node, ast.Assign) else []
        targets = [node.target] if isinstance(node, ast.AnnAssign) else targets
        yield from (each.id for each in targets if isinstance(each, ast.Name))


def _methods(tree: ast.Module, name: str) -> set[str]:
    return {
        node.attr
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute)
        and node.attr in METHODS
        and isinstance(node.value, ast.Name)
        and node.value.id == name
    }


def seconds(asked: Asked, text: str) -> float:
    """Return the processor time that a text costs by the dearest of the methods."""
    given: Any = text.encode("utf-8", "replace") if isinstance(asked.pattern.pattern, bytes) else text
    empty: Any = given[:0]
    worst = 0.0
    for method in asked.methods:
        started = time.process_time()
        if method == "sub":
            asked.pattern.sub(empty, given)
        elif method == "finditer":
            for _ in asked.pattern.finditer(given):
                pass
        else:
            getattr(asked.pattern, method)(given)
        worst = max(worst, time.process_time() - started)
    return worst


def texts(asked: Asked, n_chars: int) -> Iterator[str]:
    """Yield texts of about that length: what the pattern is made of, with one thing said again and again."""
    for head, unit in dict.fromkeys(_shapes(asked.pattern)):
        yield head + unit * (n_chars // len(unit))


def _shapes(pattern: re.Pattern[Any]) -> Iterator[tuple[str, str]]:
    """Yield what a text begins with, and what comes again and again behind it; the same more than once."""
    samples = list(dict.fromkeys(_samples(pattern)))
    pumps = dict.fromkeys((*PUMPS, *(each for sample in samples for each in sample if each.strip())))
    for sample in samples:
        heads = ["".join(sample[:at]) for at in range(len(sample) + 1)]
        yield from product(heads, pumps)
        for begin in range(len(sample)):  # what may come again and again, behind what comes before it
            for end in range(begin + 1, min(begin + PARTS_MAX, len(sample)) + 1):
                yield heads[begin], "".join(sample[begin:end])
        whole = "".join(sample)
        if whole:
            yield "", whole
        for pump in pumps:
            yield "", whole + pump


def _samples(pattern: re.Pattern[Any]) -> Iterator[tuple[str, ...]]:
    """Yield texts that it finds, or nearly, in parts, with what may be left out and without."""
    source = pattern.pattern if isinstance(pattern.pattern, str) else pattern.pattern.decode("latin-1")
    flags = pattern.flags if isinstance(pattern.pattern, str) else pattern.flags & ~re.UNICODE
    tree = parser.parse(source, flags)
    for branch in range(3):
        for optional in (1, 0):
            yield tuple(_parts(tree, branch, optional))


def _parts(tree: Any, branch: int, optional: int) -> Iterator[str]:
    for op, argument in tree:
        if op is LITERAL:
            yield chr(argument)
        elif op is NOT_LITERAL:
            yield "x" if argument != ord("x") else "y"
        elif op is IN:
            yield _one_of(argument, branch)
        elif op in (MAX_REPEAT, MIN_REPEAT):
            least, most, what = argument
            for _ in range(min(max(least, min(optional, most)), 8)):
                yield from _parts(what, branch, optional)
        elif op is SUBPATTERN:
            yield from _parts(argument[3], branch, optional)
        elif op is BRANCH:
            yield from _parts(argument[1][min(branch, len(argument[1]) - 1)], branch, optional)
        elif op in (ASSERT, ASSERT_NOT, AT):
            continue
        else:
            yield "x"


def _one_of(choices: Any, branch: int) -> str:
    if choices[0][0] is NEGATE:
        return "x"
    op, argument = choices[min(branch, len(choices) - 1)]
    if op is LITERAL:
        return chr(argument)
    if op is RANGE:
        return chr(argument[0])
    if op is CATEGORY:
        return " " if argument is CATEGORY_SPACE else "0" if argument is CATEGORY_DIGIT else "x"
    return "x"
