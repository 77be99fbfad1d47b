"""Settings of all tests."""

from __future__ import annotations

import os

from hypothesis import settings

# CI judges a change by the same examples every time; elsewhere every run tries new ones, and what
# it finds becomes a test of its own.
settings.register_profile("ci", derandomize=True)
if os.environ.get("CI"):
    settings.load_profile("ci")
