"""The rules that keep the packages apart: who imports whom, and which files touch the world."""

from __future__ import annotations

import ast
import re
import tomllib
from collections.abc import Mapping, Set
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
        "mesh.transport.descriptors",
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
CLASS_ATTRIBUTES_MAX = 12
PARAMETERS_MAX = 6  # of a constructor
# Classes that hold more, by the reason for it.
WIDE_CLASSES: Mapping[str, Set[str]] = {
    "an actor or a port, which holds its parts": {
        "Aliases",
        "Auditor",
        "Cell",
        "Controller",
        "Copies",
        "Fetcher",
        "Handover",
        "Historian",
        "Http",
        "HttpServer",
        "Importer",
        "Indexer",
        "Keeper",
        "Links",
        "Membership",
        "OptionalStoreActor",
        "QuestionsPort",
        "Renderer",
        "Runtime",
        "Searcher",
        "SegmentsPort",
        "Transport",
        "Vitals",
    },
    "a part of the membership: members, gossip, queues and the words of a turn are shared by all of them": {
        "Admission",
        "AntiEntropy",
        "CatchUp",
        "DecreeDissemination",
        "FailureDetector",
        "Gossip",
        "JoinProtocol",
        "Newcomers",
        "OwnRelay",
        "RumourIntake",
    },
    "one thing on its way: a page, a connection, a transfer, a search, a text that is read": {
        "Compaction",
        "Connection",
        "FitSample",
        "HitList",
        "HttpConnection",
        "IncomingTransfers",
        "Intake",
        "Inverter",
        "Lease",
        "MergedHits",
        "Mirror",
        "OutgoingTransfers",
        "OwnClaim",
        "PagesInProgress",
        "Readings",
        "Roles",
        "SearchStage",
        "SearchTask",
        "SharedState",
        "UrlExplainer",
        "Visits",
        "_Batch",
        "_Body",
        "_FileImport",
        "_Paragraphs",
        "_Reader",
    },
    "the columns of a file, a row or a sample": {
        "CellStore",
        "DomainState",
        "Frontier",
        "HeldHosts",
        "HostState",
        "Ownership",
        "Segment",
    },
    "what is committed, what waits for a commit, and the index of the past beside it": {"Index"},
    "a simulated world, or its judge": {
        "FalseAnswers",
        "FaultRun",
        "Liar",
        "Machine",
        "SearchedMesh",
        "SimulatedCrawl",
        "SyntheticWeb",
        "Watch",
        "World",
        "_Fetcher",
        "_Run",
    },
}

# Public classes that stand in two modules, each with its reason: else a reader has to ask which one is meant.
NAMED_TWICE: Mapping[str, str] = {}

# Files that are named after an activity, since no noun of the field says more: each with its reason.
ACTIVITIES: Mapping[str, str] = {
    "content_encoding": "HTTP's word, RFC 9110",
    "finding": "a thing: one result of the doctor",
    "folding": "Unicode's word",
    "indexing": "the field's word",
    "matching": "the field's word, the first of two steps of a search",
    "ranking": "the field's word, the second of them",
    "scoring": "the field's word",
    "reindexing": "the field's word",
    "slot_ranking": "the field's word",
    "stemming": "the field's word",
}

FOLDER_FILES_MAX = 25
MAP_LINES_MAX = 15
HOUSES = (  # folders that have rooms
    "mesh",
    "mesh/membership",
    "peers/crawler",
    "peers/engine",
    "peers/gateway",
    "peers/storage",
    "simulations",
)
LONGER_MAPS = {"peers/engine"}  # it is a doctest, and has what was measured and not kept

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
        for _, name in _imports(path, typing_too=False):
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


def test_packages_import_only_those_below_them() -> None:
    wrong = [
        f"{_place(path, line)} imports {name}"
        for path in MODULES
        for line, name in _imports(path, typing_too=True)
        if name in PACKAGES and name not in MAY_IMPORT[path.relative_to(ROOT).parts[0]]
    ]
    assert wrong == []


def test_only_files_marked_io_touch_the_world() -> None:
    wrong = [
        f"{_place(path, line)} imports {name}"
        for path in MODULES
        if "[io]" not in _text(path).partition("\n")[0]
        for line, name in _imports(path, typing_too=False)
        if name in WORLD
    ]
    assert wrong == []


def test_every_module_says_what_it_is() -> None:
    silent = [path for path in MODULES if _text(path) and not ast.get_docstring(_tree(path))]
    assert [_place(path, 1) for path in silent] == []


def test_no_docstring_begins_with_a_clause_for_a_noun() -> None:
    """ "What is owed to hosts" is for who knows already."""
    wrong = []
    for path in MODULES:
        for node in ast.walk(_tree(path)):
            if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
                first = (ast.get_docstring(node) or "").partition("\n")[0]
                if re.search(r"\b(who|what|whom|whoever|whatever)\b", first, re.IGNORECASE):
                    wrong.append(f"{_place(path, getattr(node, 'lineno', 1))}: {first}")
    assert wrong == []


def test_no_public_class_has_its_name_twice_without_a_reason() -> None:
    modules: dict[str, set[str]] = {}
    for path in MODULES:
        for node in _tree(path).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                modules.setdefault(node.name, set()).add(_name_of(path))
    assert len(modules) > 500
    twice = {name: sorted(of) for name, of in modules.items() if len(of) > 1}
    assert {name: of for name, of in twice.items() if name not in NAMED_TWICE} == {}
    assert twice.keys() == NAMED_TWICE.keys()


def test_no_file_is_named_after_an_activity_without_a_reason() -> None:
    """A newcomer could not tell `taking` from `bringing` from `pulling`."""
    activities = {
        path.stem: _place(path, 1) for path in MODULES if re.search(r"(^|_)[a-z]{3,}ing$", path.stem)
    }
    wrong = {stem: place for stem, place in activities.items() if stem not in ACTIVITIES}
    assert wrong == {}
    assert activities.keys() == ACTIVITIES.keys()


def test_a_folder_and_its_map_fit_one_look() -> None:
    """A map that needs more lines is a missing wall."""
    larger = set()
    for path in (path for path in MODULES if path.name == "__init__.py"):
        n_files = len([*path.parent.glob("*.py")]) - 1
        n_lines = (ast.get_docstring(_tree(path)) or "").count("\n") + 1
        if n_files > FOLDER_FILES_MAX or n_lines > MAP_LINES_MAX:
            larger.add(str(path.parent.relative_to(ROOT)))
    assert larger == LONGER_MAPS


def test_no_function_is_longer_than_a_screen() -> None:
    long = [
        f"{_place(path, node.lineno)} {node.name} has {_line_count(node)} lines"
        for path in MODULES
        for node in ast.walk(_tree(path))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and _line_count(node) > FUNCTION_LINES_MAX
    ]
    assert long == []


def test_no_class_has_more_attributes_or_parameters_than_one_noun_without_a_reason() -> None:
    wide: dict[str, str] = {}
    for path in MODULES:
        for node in ast.walk(_tree(path)):
            if not isinstance(node, ast.ClassDef) or not (begin := _constructor_of(node)):
                continue
            arguments = begin.args
            n_parameters = len(arguments.posonlyargs + arguments.args + arguments.kwonlyargs) - 1
            n_attributes = len(_attributes_of(node))
            if n_attributes > CLASS_ATTRIBUTES_MAX or n_parameters > PARAMETERS_MAX:
                place = _place(path, node.lineno)
                wide[node.name] = f"{place} {node.name}: {n_attributes} attributes, {n_parameters} parameters"
    named = set().union(*WIDE_CLASSES.values())
    assert [told for name, told in wide.items() if name not in named] == []
    assert named - wide.keys() == set()


def _constructor_of(node: ast.ClassDef) -> ast.FunctionDef | None:
    """None for what is made of fields: a message, a record."""
    methods = (each for each in node.body if isinstance(each, ast.FunctionDef))
    return next((each for each in methods if each.name == "__init__"), None)


def _attributes_of(node: ast.ClassDef) -> set[str]:
    """Names that methods give values to on `self`."""
    return {
        each.attr
        for each in ast.walk(node)
        if isinstance(each, ast.Attribute)
        and isinstance(each.ctx, ast.Store)
        and isinstance(each.value, ast.Name)
        and each.value.id == "self"
    }


def _line_count(node: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """From `def` to the last line, without decorators."""
    assert node.end_lineno is not None
    return node.end_lineno - node.lineno + 1


def test_c_files_say_what_they_are_and_have_no_long_functions() -> None:
    files = sorted(path for path in (ROOT / "peers").rglob("*") if path.suffix in (".c", ".h"))
    assert len(files) > 5
    wrong = []
    for path in files:
        text = _text(path)
        wrong += [] if text.startswith("/* ") else [f"{_place(path, 1)} does not say what it is"]
        for body in re.finditer(r"^\{\n(.*?)^\}", text, re.MULTILINE | re.DOTALL):
            if body[1].count("\n") > C_FUNCTION_LINES_MAX:
                line = text.count("\n", 0, body.start()) + 1
                wrong.append(f"{_place(path, line)} is a function of {body[1].count(chr(10))} lines")
    assert wrong == []


def _place(path: Path, line: int) -> str:
    return f"{path.relative_to(ROOT)}:{line}"


@cache
def _text(path: Path) -> str:
    return path.read_text(encoding="utf-8")


@cache
def _tree(path: Path) -> ast.Module:
    return ast.parse(_text(path))


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


@pytest.mark.parametrize("house", HOUSES)
def test_no_room_of_a_house_leads_back_to_itself(house: str) -> None:
    """The files beside the rooms of a house are one more room."""
    modules = [path for path in MODULES if path.is_relative_to(ROOT / house)]
    rooms = {_name_of(path): str(path.parent) for path in modules}
    arrows: dict[str, set[str]] = {room: set() for room in rooms.values()}
    for path in modules:
        arrows[str(path.parent)] |= {rooms[each] for each in _modules(path) if each in rooms} - {
            str(path.parent)
        }
    assert len(arrows) > 2
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


@cache
def _modules(path: Path) -> list[str]:
    """Names of the modules a file imports, anywhere in it."""
    names = []
    for node in ast.walk(_tree(path)):
        if isinstance(node, ast.Import):
            names += [name.name for name in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            # Names that are imported from a module may be modules, too.
            names += [node.module, *(f"{node.module}.{name.name}" for name in node.names)]
    return names


@cache
def _imports(path: Path, *, typing_too: bool) -> list[tuple[int, str]]:
    """Lines and top-level names of the modules a file imports, anywhere in it."""
    tree = _tree(path)
    for_types = {
        id(node)
        for block in ast.walk(tree)
        if isinstance(block, ast.If) and ast.unparse(block.test) == "TYPE_CHECKING"
        for node in ast.walk(block)
    }
    found = []
    for node in ast.walk(tree):
        if not typing_too and id(node) in for_types:
            continue
        if isinstance(node, ast.Import):
            found += [(node.lineno, name.name.partition(".")[0]) for name in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            found.append((node.lineno, node.module.partition(".")[0]))
    return found
