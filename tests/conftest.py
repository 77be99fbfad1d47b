"""Settings of all tests."""

from __future__ import annotations

import os

from hypothesis import settings

# CI judges a change by the same examples every time; elsewhere every run tries new ones, and what
# it finds becomes a test of its own.
# Tests are never timed: two of them run at once, and the machine has other work, too.
settings.register_profile("here", deadline=None)
settings.register_profile("ci", derandomize=True, deadline=None)
settings.load_profile("ci" if os.environ.get("CI") else "here")
