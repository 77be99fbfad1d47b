"""The rules that keep the packages apart: who imports whom, and which files touch the world."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Set
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGES = ("mesh", "peers", "bootstrap", "simulations")

# simulations -> bootstrap -> peers -> mesh
MAY_IMPORT = {
    "mesh": {"mesh"},
    "peers": {"peers", "mesh"},
    "bootstrap": {"bootstrap", "peers", "mesh"},
    "simulations": set(PACKAGES),
}

# Only files marked [io] may touch these: tasks, sockets, processes, wall time, chance.
WORLD = {
    "trio",
    "zmq",
    "socket",
    "ssl",
    "threading",
    "time",
    "random",
    "secrets",
    "subprocess",
    "multiprocessing",
    "signal",
    "hypercorn",
}

# Rooms of peers/ that could be distributions of their own, with all that they may import of ours: the text
# analysis knows no index, the index engine no messages and no actors.
LIBRARIES = {
    "peers/text": ("peers.text.", "peers.kernel"),
    "peers/engine": (
        "peers.engine.",
        "peers.text.",
        "peers.kernel",
        "mesh.document",
        "mesh.slot_set",
        "mesh.slots",
        "mesh.urls",
    ),
}

MODULES = sorted(path for package in PACKAGES for path in (ROOT / package).rglob("*.py"))


def test_there_is_something_to_check() -> None:
    assert len(MODULES) > 50


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(ROOT)))
def test_packages_import_only_those_below_them(path: Path) -> None:
    package = path.relative_to(ROOT).parts[0]
    ours = {name for name in _imported(path, typing_too=True) if name in PACKAGES}
    assert ours <= MAY_IMPORT[package]


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(ROOT)))
def test_only_files_marked_io_touch_the_world(path: Path) -> None:
    first_line = path.read_text(encoding="utf-8").partition("\n")[0]
    touched = set(_imported(path, typing_too=False)) & WORLD
    assert not touched or "[io]" in first_line


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(ROOT)))
def test_every_module_says_what_it_is(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert not text or ast.get_docstring(ast.parse(text))


@pytest.mark.parametrize("library", LIBRARIES)
def test_libraries_know_nothing_of_what_uses_them(library: str) -> None:
    modules = [path for path in MODULES if path.is_relative_to(ROOT / library)]
    assert len(modules) > 5
    ours = {name for path in modules for name in _modules(path) if name.partition(".")[0] in PACKAGES}
    assert {name for name in ours if not name.startswith(LIBRARIES[library])} == set()


def test_no_module_leads_back_to_itself() -> None:
    names = {_name_of(path): path for path in MODULES}
    arrows = {name: {each for each in _modules(path) if each in names} for name, path in names.items()}
    assert _in_circles(arrows) == set()


def test_no_room_of_peers_leads_back_to_itself() -> None:
    rooms = {path: path.relative_to(ROOT / "peers").parts[0] for path in MODULES if _is_in_a_room(path)}
    arrows: dict[str, set[str]] = {room: set() for room in rooms.values()}
    for path, room in rooms.items():
        others = (name.split(".")[1] for name in _modules(path) if name.startswith("peers."))
        arrows[room] |= {other for other in others if other in arrows and other != room}
    assert {"crawler", "storage", "index", "gateway", "handover", "importing"} <= arrows.keys()
    assert _in_circles(arrows) == set()


def _is_in_a_room(path: Path) -> bool:
    return path.is_relative_to(ROOT / "peers") and path.parent != ROOT / "peers"


def _name_of(path: Path) -> str:
    return ".".join(path.relative_to(ROOT).with_suffix("").parts)


def _in_circles(arrows: Mapping[str, Set[str]]) -> set[str]:
    """Those from which arrows lead back to them: what is left when ends and beginnings are taken away."""
    left = dict(arrows)
    while True:
        pointed_at = set().union(*left.values())
        ends = {name for name, to in left.items() if not to & left.keys() or name not in pointed_at}
        if not ends:
            return set(left)
        left = {name: to for name, to in left.items() if name not in ends}


@pytest.mark.parametrize(
    ("arrows", "circles"),
    [
        ({"a": {"b"}, "b": {"c"}, "c": set()}, set()),
        ({"a": {"b"}, "b": {"c", "d"}, "c": {"b"}, "d": set()}, {"b", "c"}),
        ({"a": {"a"}}, {"a"}),
    ],
)
def test_circles_are_found(arrows: Mapping[str, Set[str]], circles: Set[str]) -> None:
    assert _in_circles(arrows) == circles


def _modules(path: Path) -> Iterator[str]:
    """Names of the modules a file imports, anywhere in it."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (name.name for name in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
            yield from (f"{node.module}.{name.name}" for name in node.names)  # which may be modules, too


def _imported(path: Path, *, typing_too: bool) -> Iterator[str]:
    """Top-level names of the modules a file imports, anywhere in it."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    for_types = {
        id(node)
        for block in ast.walk(tree)
        if isinstance(block, ast.If) and ast.unparse(block.test) == "TYPE_CHECKING"
        for node in ast.walk(block)
    }
    for node in ast.walk(tree):
        if not typing_too and id(node) in for_types:
            continue
        if isinstance(node, ast.Import):
            yield from (name.name.partition(".")[0] for name in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.module.partition(".")[0]
