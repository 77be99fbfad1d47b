"""Settings of the C library's allocator, made before a node starts threads, and return of freed memory. [io]

Theory of operation
===================
glibc keeps an arena for each thread that ever took memory, eight for each core at most, and freed pieces stay
in the arena that they are of. Commits, merges and parsing make large arrays in several threads; and a large
array that is freed raises the size from which glibc takes arrays of the system and gives them back as a whole
(`M_MMAP_THRESHOLD`, up to 32 MB by itself). So after a crawl a peer is full of holes. Both sizes are fixed
here, and there are two arenas: one for the event loop, one for who works beside it.

What the environment says (`MALLOC_ARENA_MAX` and the others, mallopt(3)) goes first. Elsewhere than on glibc,
as with musl or on macOS, there are no such calls, and nothing is done.

Measured, one peer, on a busy machine, in turn; private MB at most, a while later, and CPU seconds:

    4,625 pages of the dev web crawled   as glibc has it     606 547 492   224 272 218   37 31 34
                                         the sizes fixed     486 439 408   160 173 163   33 35 38
                                         and two arenas      408 377 363   160 159 167   35 33 36
    50,000 texts imported                as glibc has it     442           289           75
                                         as it is here       324           228           82, others at work

Two arenas alone left 190 and 202, one of them 172 and 174; sizes of 1 MB instead of 4, with two arenas, 155
and 168: no less, and arrays of a commit are mapped anew each time, page by page.
"""

from __future__ import annotations

import ctypes
import os
import sys
from collections.abc import Callable
from functools import partial
from typing import Any, Final, NamedTuple


class _Option(NamedTuple):
    """A setting of mallopt(3)."""

    number: int  # in malloc.h of glibc
    variable: str  # of the environment, which says the same
    value: int


# A commit of 512 pages makes arrays of up to some megabytes, again and again; what is larger is rare.
_LARGE_BYTES: Final = 4 << 20
_OPTIONS: Final = (
    _Option(-8, "MALLOC_ARENA_MAX", 2),
    _Option(-3, "MALLOC_MMAP_THRESHOLD_", _LARGE_BYTES),
    _Option(-1, "MALLOC_TRIM_THRESHOLD_", _LARGE_BYTES),
)


def settle_allocator() -> None:
    """Tell the allocator of this process; threads that there are keep the arenas that they have."""
    mallopt = _of_c_library("mallopt")
    for option in _OPTIONS if mallopt is not None else ():
        if option.variable not in os.environ:
            mallopt(option.number, option.value)


def giver_back() -> Callable[[], object] | None:
    """Return a function that gives freed memory back to the system; None where the allocator does that."""
    trim = _of_c_library("malloc_trim")
    return None if trim is None else partial(trim, 0)


def _of_c_library(name: str) -> Any:
    """Return a function of glibc, None where there is none."""
    return getattr(ctypes.CDLL(None), name, None) if sys.platform == "linux" else None
