"""A segment as the next commit will have it."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from peers.engine.live_segment import LiveSegment
from peers.engine.segment import Segment
from peers.kernel import Bytes

UNWRITTEN = "?"  # instead of the name of a file of deletions


class WorkingSegment:
    """A segment as the next commit will have it."""

    def __init__(self, segment: Segment, live: Bytes, deletions: str) -> None:
        self.segment = segment
        self.live = live
        self.deletions = deletions  # name of the file that has `live` as it is, "" when all are live
        self._shared: LiveSegment | None = None  # has `live`

    def delete(self, documents: Iterable[int]) -> None:
        if self._shared is not None:
            self.live = self.live.copy()
            self._shared = None
        self.live[list(documents)] = 0
        self.deletions = UNWRITTEN

    def share(self) -> LiveSegment:
        """Return what is live now; the same object, with its views, as long as that does not change."""
        if self._shared is None:
            self._shared = LiveSegment(self.segment, self.live)
        return self._shared


def working_segment(segment: Segment) -> WorkingSegment:
    """Return a segment of which nothing is deleted."""
    return WorkingSegment(segment, np.ones(segment.document_count, np.uint8), "")
