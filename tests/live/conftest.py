"""Fixtures of the tests that start real peers."""

from __future__ import annotations

import pytest

from tests.live.loaded_processes import end_source
from tests.live.sites import split_sites
from tests.live.truth import Truth, truth_of
from tests.peers.gateway.test_browser import browser

__all__ = ["browser"]


@pytest.fixture(scope="session")
def truth() -> Truth:
    """Of the bundled pages on eleven hosts."""
    return truth_of(split_sites())


@pytest.hookimpl(tryfirst=True)  # before the processor time is summed up
def pytest_sessionfinish() -> None:
    end_source()
