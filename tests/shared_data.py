"""Where the conformance data is that others wrote: a folder `shared` beside the checkout.

Tests that want it are marked `more` and run by `make test-more`; what we promise is judged without them.
"""

from __future__ import annotations

from pathlib import Path

import pytest

SHARED = Path(__file__).resolve().parents[2] / "shared"


def shared(path: str) -> Path:
    """Return a file or folder of the shared data; without it skip the test."""
    found = SHARED / path
    if not found.exists():
        pytest.skip(f"no conformance data at ../shared/{path}")
    return found
