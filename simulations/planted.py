"""Bugs on purpose: what the harness has to find. They are put into the peers' code from outside.

Each was a plausible way to write that code. None of it is reachable but through `planted`.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from enum import StrEnum


class Bug(StrEnum):
    """What can be planted."""

    EARLY_ACKNOWLEDGEMENT = "early-acknowledgement"  # a page counts as stored before its standbys have it
    FORGOTTEN_CLOCKS = "forgotten-clocks"  # politeness clocks stay behind when slots change hands
    OLD_INCARNATION = "old-incarnation"  # an older record of a member beats a newer one
    ENDLESS_LICENCE = "endless-licence"  # who is cut off goes on crawling


@contextmanager
def planted(bug: Bug) -> Iterator[None]:
    """Have the bug in the code while the context lasts; not for two threads."""
    raise NotImplementedError(bug)
    yield
