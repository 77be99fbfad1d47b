"""Fixtures of the tests that start real peers."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.live.truth import Truth, truth_of
from tests.live.web import DEV_HOSTS, SMALL_HOSTS, web_packages
from tests.peers.gateway.test_browser import browser

__all__ = ["browser", "packages"]


@pytest.fixture(scope="session")
def packages() -> Path:
    """The sites that can be served, unpacked."""
    return web_packages()


@pytest.fixture(scope="session")
def small_truth(packages: Path) -> Truth:
    return truth_of(packages, SMALL_HOSTS, gbk=True)


@pytest.fixture(scope="session")
def dev_truth(packages: Path) -> Truth:
    return truth_of(packages, DEV_HOSTS, gbk=True)
