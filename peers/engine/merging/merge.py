"""Several segments on their way to become one: planned and applied by `Index`, computed on any thread."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple, TypeAlias

import numpy as np

from peers.engine.files.storage import Buffer, Storage
from peers.engine.merging.copies import marks_moved
from peers.engine.merging.segment_merge import merge_segments
from peers.engine.segments.live_segment import LiveSegment
from peers.engine.segments.segment import Segment
from peers.engine.segments.segment_file import write_segment
from peers.engine.segments.segment_format import encode_segment
from peers.engine.segments.working_segment import WorkingSegment, working_segment
from peers.kernel import Ints


class Merged(NamedTuple):
    """The outcome of a merge: a segment that does not count yet, and where the documents went."""

    segment: Segment
    documents: list[Ints]  # as `MergedSegment` has them


# Yields what is to be written, in what pieces and as slowly as it likes.
Pace: TypeAlias = Callable[[Iterable[Buffer]], Iterable[Buffer]]


def _at_once(parts: Iterable[Buffer]) -> Iterable[Buffer]:
    return parts


class Merge(NamedTuple):
    """Segments chosen to become one; `run` may be called on any thread."""

    sources: tuple[LiveSegment, ...]
    name: str  # of the file of the merged segment
    storage: Storage

    def run(self, pace: Pace = _at_once) -> Merged:
        """Compute the merged segment and write its file, which counts after `Index.apply_merge`.

        Raises:
          DamagedSegmentError. OSError: there is no room, or the medium fails.
        """
        merged = merge_segments(self.sources, self.storage.scratch)
        segment = write_segment(self.storage, self.name, pace(encode_segment(merged.data)))
        return Merged(segment, merged.documents)


def carried_over(
    sources: Iterable[LiveSegment], merged: Merged, working: Iterable[WorkingSegment]
) -> WorkingSegment:
    """Return the merged segment as the next commit will have it.

    Args:
      sources: as they were when the merge was planned.
      working: as all segments are now: what is no more live there is not in the outcome either.
    """
    present = {each.segment.name: each for each in working}
    replacement = working_segment(merged.segment)
    gone: list[int] = []
    for source, documents in zip(sources, merged.documents, strict=True):
        now = present.get(source.segment.name)
        live_now = now.live if now else np.zeros_like(source.live)
        gone += documents[(source.live != 0) & (live_now == 0)].tolist()
        if now is not None:
            replacement.mark_copies(marks_moved(now, documents))
    if gone:
        replacement.delete(gone)
    return replacement
