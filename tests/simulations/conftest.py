"""Settings of the tests of simulations."""

from __future__ import annotations

import pytest

from mesh.process.collector import relax_collector


@pytest.fixture(scope="session", autouse=True)
def _relaxed_collector() -> None:
    """Simulate as the commands do."""
    relax_collector()
