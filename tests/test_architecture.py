"""The rules that keep the packages apart: who imports whom, and which files touch the world."""

from __future__ import annotations

import ast
import re
import tomllib
from collections.abc import Iterator, Mapping, Set
from functools import cache
from importlib.metadata import packages_distributions
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
        "mesh.descriptors",
        "mesh.domains",
        "mesh.slot_limits",
        "mesh.slot_set",
        "mesh.slots",
        "mesh.stamp",
        "mesh.urls",
    ),
}

# What a reader is asked to hold in mind at once.
FUNCTION_LINES_MAX = 60
C_FUNCTION_LINES_MAX = 90  # a kernel is one loop over arrays, with all that it needs declared
CLASS_LINES_MAX = 400
LARGER_CLASSES: Mapping[str, str] = {}  # each with its reason

MODULES = sorted(path for package in PACKAGES for path in (ROOT / package).rglob("*.py"))


# Whoever makes the demo web anew needs what tests need, and who builds the package what that needs.
TOOLS = {ROOT / "bootstrap" / "make_demo_web.py", ROOT / "peers" / "build_kernels.py"}
# Loaded by commands that say which extra they need.
OPTIONAL = ROOT / "peers" / "evaluation"


def test_there_is_something_to_check() -> None:
    assert len(MODULES) > 50


def test_whatever_the_product_loads_is_installed_with_it() -> None:
    """Tests have more installed than a user, so none of them would miss it."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    asked = {_bare_name(each) for each in project["dependencies"]}
    extras = {
        _bare_name(each)
        for name, of in project["optional-dependencies"].items()
        if name != "test"
        for each in of
    }
    providers = packages_distributions()
    missing = set()
    for path in {*MODULES} - TOOLS:
        for name in _imported(path, typing_too=False):
            is_needed = name in _loaded_at_once(path) and OPTIONAL not in path.parents
            has = asked if is_needed else asked | extras
            if name in providers and name not in PACKAGES and not has & {*map(_bare_name, providers[name])}:
                missing.add((str(path.relative_to(ROOT)), name))
    assert not missing


def _bare_name(requirement: str) -> str:
    return re.split(r"[\[<>=~!; ]", requirement, maxsplit=1)[0].lower().replace("_", "-")


def _loaded_at_once(path: Path) -> set[str]:
    """What is imported outside functions and type checking."""
    body = _tree(path).body
    names = [each.names[0].name for each in body if isinstance(each, ast.Import)]
    names += [each.module or "" for each in body if isinstance(each, ast.ImportFrom)]
    return {name.partition(".")[0] for name in names}


@cache
def _tree(path: Path) -> ast.Module:
    """Parse a file once for all rules."""
    return ast.parse(path.read_text(encoding="utf-8"))


def _place(path: Path, line: int = 1) -> str:
    return f"{path.relative_to(ROOT)}:{line}"


def test_packages_import_only_those_below_them() -> None:
    wrong = {
        (_place(path), name)
        for path in MODULES
        for name in _imported(path, typing_too=True)
        if name in PACKAGES and name not in MAY_IMPORT[path.relative_to(ROOT).parts[0]]
    }
    assert not wrong


def test_only_files_marked_io_touch_the_world() -> None:
    wrong = {
        (_place(path), name)
        for path in MODULES
        if "[io]" not in path.read_text(encoding="utf-8").partition("\n")[0]
        for name in _imported(path, typing_too=False)
        if name in WORLD
    }
    assert not wrong


def test_every_module_says_what_it_is() -> None:
    silent = [_place(path) for path in MODULES if _tree(path).body and not ast.get_docstring(_tree(path))]
    assert not silent


def test_the_docstring_of_a_package_names_all_that_is_in_it() -> None:
    unnamed = {}
    for path in MODULES:
        if path.name == "__init__.py":
            inside = {
                module.relative_to(path.parent).parts[0].removesuffix(".py")
                for module in MODULES
                if module.is_relative_to(path.parent)
            }
            missing = inside - {"__init__"} - set(re.findall(r"\w+", ast.get_docstring(_tree(path)) or ""))
            if missing:
                unnamed[_place(path)] = missing
    assert not unnamed


def test_no_function_is_longer_than_a_screen() -> None:
    long = [
        (_place(path, node.lineno), node.name, _line_count(node))
        for path in MODULES
        for node in ast.walk(_tree(path))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and _line_count(node) > FUNCTION_LINES_MAX
    ]
    assert not long


def test_no_class_is_larger_than_one_noun_needs_without_a_reason() -> None:
    classes = [node for path in MODULES for node in ast.walk(_tree(path)) if isinstance(node, ast.ClassDef)]
    assert {each.name for each in classes if _line_count(each) > CLASS_LINES_MAX} == LARGER_CLASSES.keys()


def _line_count(node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) -> int:
    """From `def` or `class` to the last line, without decorators."""
    assert node.end_lineno is not None
    return node.end_lineno - node.lineno + 1


C_FILES = sorted(path for path in (ROOT / "peers").rglob("*") if path.suffix in (".c", ".h"))


def test_c_files_say_what_they_are_and_have_no_long_functions() -> None:
    for path in C_FILES:
        text = path.read_text(encoding="utf-8")
        assert text.startswith("/* "), _place(path)
        bodies = re.findall(r"^\{\n(.*?)^\}", text, re.MULTILINE | re.DOTALL)
        assert [body for body in bodies if body.count("\n") > C_FUNCTION_LINES_MAX] == [], _place(path)


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
    for node in ast.walk(_tree(path)):
        if isinstance(node, ast.Import):
            yield from (name.name for name in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
            yield from (f"{node.module}.{name.name}" for name in node.names)  # which may be modules, too


def _imported(path: Path, *, typing_too: bool) -> Iterator[str]:
    """Top-level names of the modules a file imports, anywhere in it."""
    tree = _tree(path)
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
