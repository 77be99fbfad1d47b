"""Settings of all tests."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest
from hypothesis import settings

from tests.fuzzing.harness import INPUTS, Fuzzer

pytest_plugins = ("pytester", "tests.run_report")

# CI judges a change by the same examples every time; elsewhere every run tries new ones, and what
# it finds becomes a test of its own.
# Tests are never timed: two of them run at once, and the machine has other work, too.
IS_CI = bool(os.environ.get("CI"))
settings.register_profile("here", deadline=None)
settings.register_profile("ci", derandomize=True, deadline=None)
settings.load_profile("ci" if IS_CI else "here")


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
