"""Settings of all tests."""

from __future__ import annotations

import gc
import os
from collections.abc import Generator, Iterator

import pytest
from hypothesis import settings

from mesh.process.collector import relax_collector
from tests.fuzzing.harness import INPUTS, Fuzzer

pytest_plugins = ("pytester", "tests.run_report")

# CI judges a change by the same examples every time; elsewhere every run tries new ones, and what
# it finds becomes a test of its own.
# Tests are never timed: two of them run at once, and the machine has other work, too.
IS_CI = bool(os.environ.get("CI"))
settings.register_profile("here", deadline=None)
settings.register_profile("ci", derandomize=True, deadline=None)
settings.load_profile("ci" if IS_CI else "here")


# Tests that take seconds. What is begun last decides how long workers wait for each other.
LONG = ("tests/simulations/", "tests/fuzzing/", "tests/peers/gateway/test_exactness.py")


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Import all tests without Python's collector of garbage, which takes a third of that time.

    Then it runs as in a peer: seldom, and it never looks again at what is there by then.
    """
    gc.disable()
    try:
        return (yield)
    finally:
        gc.collect()
        relax_collector()
        gc.enable()


@pytest.hookimpl(trylast=True)  # after those that `-m` leaves out
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Let every worker begin with its share of the long tests: at first each has as many as the others."""
    workers = getattr(config, "workerinput", {}).get("workercount", 1)
    if workers > 1 and not any(item.get_closest_marker("live") for item in items):
        is_long = {item: item.nodeid.startswith(LONG) for item in items}
        kinds = [[item for item in items if is_long[item] is kind] for kind in (True, False)]
        items[:] = [
            item
            for worker in range(workers)
            for kind in kinds
            for item in kind[len(kind) * worker // workers : len(kind) * (worker + 1) // workers]
        ]


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--fuzz-inputs", type=int, default=None, help="how many inputs each fuzzer tries")
    parser.addoption("--fuzz-seed", type=int, default=None, help="draw the inputs of an earlier run again")


@pytest.fixture
def fuzzer(request: pytest.FixtureRequest) -> Iterator[Fuzzer]:
    """Draws inputs; see `tests.fuzzing.harness`."""
    seed = request.config.getoption("--fuzz-seed")
    if seed is None:
        seed = 1 if IS_CI else int.from_bytes(os.urandom(4))
    marker = request.node.get_closest_marker("inputs")
    count = request.config.getoption("--fuzz-inputs") or (marker.args[0] if marker else INPUTS)
    fuzzer = Fuzzer(count, seed)
    yield fuzzer
    print(fuzzer.describe())
