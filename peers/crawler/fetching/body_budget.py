"""How much memory the bodies that are coming in may take together, and which of them gives way. [io]

A body that stalls holds what has come of it until its time is over, so many slow and large ones would take
all memory there is. When they have more than they may, the largest gives way: it is the one that helps most,
and hosts that send ordinary pages are not disturbed by those that send large ones on purpose.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

import trio

PIECE_BYTES: Final = 64  # of a piece beside its content, as Python keeps it


class IncomingBody:
    """The number of bytes received of one body, and the scope that cancels it."""

    def __init__(self) -> None:
        self.scope = trio.CancelScope()  # cancelled when it has to give way
        self.n_bytes = 0


class BodyBudget:
    """The memory of all bodies that have begun to come and are not complete."""

    def __init__(self, n_bytes_max: int) -> None:
        self._n_bytes_max = n_bytes_max
        self._bodies: set[IncomingBody] = set()
        self.n_bytes = 0

    @contextmanager
    def body(self) -> Iterator[IncomingBody]:
        """Count a body while the block runs; when it has to give way the block is cancelled."""
        body = IncomingBody()
        self._bodies.add(body)
        try:
            with body.scope:
                yield body
        finally:
            self._forget(body)

    def count(self, body: IncomingBody, n_bytes: int) -> None:
        """Count a piece that has come; the largest bodies give way when there is too much."""
        if body not in self._bodies:
            return  # it gave way and has not noticed so far
        body.n_bytes += n_bytes + PIECE_BYTES
        self.n_bytes += n_bytes + PIECE_BYTES
        while self.n_bytes > self._n_bytes_max:
            largest = max(self._bodies, key=lambda each: each.n_bytes)
            largest.scope.cancel()
            self._forget(largest)

    def _forget(self, body: IncomingBody) -> None:
        if body in self._bodies:
            self._bodies.remove(body)
            self.n_bytes -= body.n_bytes
