"""Where the conformance data is that others wrote: a folder `shared` beside the checkout."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

SHARED = Path(__file__).resolve().parents[2] / "shared"


def shared(path: str) -> Path:
    """Return a file or folder of the shared data; without it skip the test, or fail it under CI."""
    found = SHARED / path
    if not found.exists():
        message = f"no conformance data at ../shared/{path}"
        if os.environ.get("CI"):
            pytest.fail(message)
        pytest.skip(message)
    return found
