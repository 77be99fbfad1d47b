"""Fixtures of the tests that start real peers."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.live.web import web_packages
from tests.peers.gateway.test_browser import browser

__all__ = ["browser", "packages"]


@pytest.fixture(scope="session")
def packages() -> Path:
    """The sites that can be served, unpacked."""
    return web_packages()
