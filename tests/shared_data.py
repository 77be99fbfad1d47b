"""Where larger data of others is: a folder `shared` beside the checkout. For tests that are marked `more`."""

from __future__ import annotations

from pathlib import Path

import pytest

SHARED = Path(__file__).resolve().parents[2] / "shared"


def shared(path: str) -> Path:
    """Return a file or folder of the shared data; without it skip the test."""
    found = SHARED / path
    if not found.exists():
        pytest.skip(f"no data at ../shared/{path}")
    return found
