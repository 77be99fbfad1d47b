"""Settings of all tests."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import settings

from tests.fuzzing.harness import INPUTS, Fuzzer

# CI judges a change by the same examples every time; elsewhere every run tries new ones, and what
# it finds becomes a test of its own.
# Tests are never timed: two of them run at once, and the machine has other work, too.
IS_CI = bool(os.environ.get("CI"))
settings.register_profile("here", deadline=None)
settings.register_profile("ci", derandomize=True, deadline=None)
settings.load_profile("ci" if IS_CI else "here")


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Tell by name what was skipped, which budgets could be lower, and what the run has cost."""
    for report in terminalreporter.getreports("skipped"):
        reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else report.longrepr
        terminalreporter.write_line(f"skipped: {report.nodeid}: {str(reason).removeprefix('Skipped: ')}")
    lower = {line for name, line in _properties(terminalreporter) if name == "budget"}
    for line in sorted(lower):
        terminalreporter.write_line(f"can be lowered in tests/budgets.toml: {line}")
    total_s = sum([_used_s(), *_workers_used_s])
    terminalreporter.write_line(f"{total_s:.0f} CPU seconds")


_workers_used_s: list[float] = []


def _used_s() -> float:
    used = os.times()
    return used.user + used.system + used.children_user + used.children_system


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Have a worker of pytest-xdist tell what it has used."""
    if hasattr(session.config, "workeroutput"):
        session.config.workeroutput["used_s"] = _used_s()


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    _workers_used_s.append(getattr(node, "workeroutput", {}).get("used_s", 0.0))


def _properties(terminalreporter: pytest.TerminalReporter) -> Iterator[tuple[str, str]]:
    for reports in terminalreporter.stats.values():
        for report in reports:
            yield from getattr(report, "user_properties", ())


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--fuzz-times", type=int, default=1, help="so many times as many inputs of fuzzers")
    parser.addoption("--fuzz-seed", type=int, default=None, help="draw the inputs of an earlier run again")


@pytest.fixture
def fuzzer(request: pytest.FixtureRequest) -> Iterator[Fuzzer]:
    """Draws inputs; see `tests.fuzzing.harness`."""
    seed = request.config.getoption("--fuzz-seed")
    if seed is None:
        seed = 1 if IS_CI else int.from_bytes(os.urandom(4))
    mark = request.node.get_closest_marker("inputs")
    count = mark.args[0] if mark else INPUTS
    fuzzer = Fuzzer(count * request.config.getoption("--fuzz-times"), seed)
    yield fuzzer
    print(fuzzer.describe())
