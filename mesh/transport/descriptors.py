"""File descriptors that are kept for the disk: no crowd of connections can take the last ones. [io]

Theory of operation. Every connection is a descriptor, and libzmq accepts whoever comes before it asks for a
key: idlers without one took all, and a peer that could not open its next file ended. So the process lowers
its own limit, and raises it only for the moment in which a file is opened. Whoever else wants a descriptor
meanwhile gets the usual refusal, which is temporary everywhere.
"""

from __future__ import annotations

import errno
import resource
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

# Of the machine at this moment, and no fault of a disk: what failed so is done again a little later.
SHORTAGES: Final = frozenset((errno.EMFILE, errno.ENFILE, errno.ENOMEM))
RESERVED_MAX: Final = 64  # files that a commit, a merge, an archive and a reader open at a time: some 20
RESERVED_PART: Final = 8  # of very few descriptors only one in so many


class _Reserve:
    """The limits of this process; there is one."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.low = self.high = 0  # no reserve while both are 0
        self.users = 0  # who opens files at this moment, in any thread


_reserve: Final = _Reserve()


def keep_reserve() -> None:
    """Take all the descriptors that this process may have, but for some that only `for_disk` gives."""
    high = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    with _reserve.lock:
        _reserve.high = high
        _reserve.low = high - min(RESERVED_MAX, high // RESERVED_PART)
        resource.setrlimit(resource.RLIMIT_NOFILE, (_reserve.low, high))


@contextmanager
def for_disk() -> Iterator[None]:
    """Let the block open files from the reserve of descriptors; it should do nothing else. Costs 3 us."""
    _note_user(1)
    try:
        yield
    finally:
        _note_user(-1)


def _note_user(change: int) -> None:
    with _reserve.lock:
        before, _reserve.users = _reserve.users, _reserve.users + change
        if _reserve.high and not (before and _reserve.users):
            limit = _reserve.high if _reserve.users else _reserve.low
            resource.setrlimit(resource.RLIMIT_NOFILE, (limit, _reserve.high))
