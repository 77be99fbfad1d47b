"""What a run of the tests says of itself: skips by name, quarantine, budgets, and CPU seconds. [io]

A test that fails now and then, of itself, is put into `quarantine.toml` with the reason and taken out when it
is mended. Such tests are left out of every run, which says so at its end; `make quarantine` runs them alone.
"""

from __future__ import annotations

import os
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest

QUARANTINE: Final = "quarantine.toml"
CPU_S: Final = "cpu_s"  # what a worker tells the controller
BUDGET: Final = "budget"  # the property by which a test says that a limit can be lowered
_workers_s = pytest.StashKey[float]()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--quarantined", action="store_true", help="run the tests in quarantine and no others")


def quarantined(root: Path) -> dict[str, str]:
    """Return the reasons by the names of tests, as pytest prints them, with parameters or without."""
    path = root / "tests" / QUARANTINE
    return {} if not path.exists() else tomllib.loads(path.read_text("utf-8"))


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    reasons = quarantined(config.rootpath)
    named = {id(item): name for item in items for name in _names(item) if name in reasons}
    kept = [item for item in items if (id(item) in named) == config.getoption("--quarantined")]
    away = [item for item in items if (id(item) in named) != config.getoption("--quarantined")]
    if away:
        config.hook.pytest_deselected(items=away)
    items[:] = kept


def _names(item: pytest.Item) -> tuple[str, str]:
    return item.nodeid, item.nodeid.partition("[")[0]


def pytest_sessionfinish(session: pytest.Session) -> None:
    output: dict[str, Any] | None = getattr(session.config, "workeroutput", None)
    if output is not None:
        output[CPU_S] = _cpu_s()


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    output = getattr(node, "workeroutput", {})  # a worker that crashed has none
    stash = node.config.stash
    stash[_workers_s] = stash.get(_workers_s, 0.0) + output.get(CPU_S, 0.0)


def _cpu_s() -> float:
    """Of this process and of those that it has had and waited for."""
    return sum(os.times()[:4])


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    skips = [(report.nodeid, _reason(report)) for report in terminalreporter.stats.get("skipped", [])]
    if skips:
        terminalreporter.section(f"{len(skips)} skipped")
        for name, reason in sorted(skips):
            terminalreporter.write_line(f"{name}: {reason}")
    reasons = quarantined(config.rootpath)
    if reasons:
        is_their_run = config.getoption("--quarantined")
        terminalreporter.section(f"{len(reasons)} in quarantine, {'run' if is_their_run else 'not run'}")
        for name, reason in sorted(reasons.items()):
            terminalreporter.write_line(f"{name}: {reason}")
    lower = {text for reports in terminalreporter.stats.values() for text in _lower_budgets(reports)}
    for text in sorted(lower):
        terminalreporter.write_line(f"can be lowered in tests/budgets.toml: {text}")
    # Workers are children of the controller, and have counted themselves.
    own = os.times()
    workers_s = config.stash.get(_workers_s, None)
    cpu_s = _cpu_s() if workers_s is None else workers_s + own.user + own.system
    terminalreporter.write_line(f"{cpu_s:,.1f} CPU seconds")


def _lower_budgets(reports: list[Any]) -> Iterator[str]:
    """What tests of budgets have noted."""
    for report in reports:
        for name, text in getattr(report, "user_properties", ()):
            if name == BUDGET:
                yield str(text)


def _reason(report: pytest.TestReport | pytest.CollectReport) -> str:
    where = report.longrepr
    return str(where[2] if isinstance(where, tuple) else where).removeprefix("Skipped: ")
