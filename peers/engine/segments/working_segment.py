"""A segment as the next commit will have it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

import numpy as np

from peers.engine.files.storage import Storage
from peers.engine.segments.live_segment import Copies, LiveSegment
from peers.engine.segments.manifest import (
    ManifestEntry,
    decode_copies,
    decode_deletions,
    encode_copies,
    encode_deletions,
)
from peers.engine.segments.segment import Segment
from peers.engine.segments.segment_file import write_file
from peers.kernel import Bytes

UNWRITTEN = "?"  # instead of the name of a file that has what is deleted, or what is known of copies


class WorkingSegment:
    """A segment as the next commit will have it."""

    def __init__(
        self, segment: Segment, live: Bytes, deletions: str, copies: Copies, copies_file: str = ""
    ) -> None:
        self.segment = segment
        self.live = live
        self.deletions = deletions  # name of the file that has `live` as it is, "" when all are live
        self.copies = copies
        self.copies_file = copies_file  # likewise, "" when nothing is known of any
        self._shared: LiveSegment | None = None  # has `live` and `copies`
        self._before: LiveSegment | None = None  # the one shared before

    def delete(self, documents: Iterable[int]) -> None:
        self._unshare()
        self.live[list(documents)] = 0
        self.deletions = UNWRITTEN

    def mark_copies(self, of_documents: Mapping[int, int]) -> None:
        """Set the copy marks of some documents; a mark that is set already is no change."""
        changed = {number: n for number, n in of_documents.items() if self.copies[number] != n}
        if changed:
            self._unshare()
            self.copies[list(changed)] = list(changed.values())
            self.copies_file = UNWRITTEN

    def write(self, storage: Storage, new_name: Callable[[str], str]) -> None:
        """Write the deletions and the copy marks that are not in a file so far. OSError."""
        if self.deletions == UNWRITTEN:
            name = new_name("deletions-")
            write_file(storage, name, [encode_deletions(self.live)])
            self.deletions = name
        if self.copies_file == UNWRITTEN:
            name = new_name("copies-") if self.copies.any() else ""
            if name:
                write_file(storage, name, [encode_copies(self.copies)])
            self.copies_file = name

    def _unshare(self) -> None:
        """Leave the arrays to the snapshots that have them, and go on with copies, before a change."""
        if self._shared is not None:
            self.live, self.copies = self.live.copy(), self.copies.copy()
            self._before, self._shared = self._shared, None

    def share(self) -> LiveSegment:
        """Return the live documents; the same object, with its views, as long as they do not change."""
        if self._shared is None:
            self._shared = LiveSegment(self.segment, self.live, self.copies, self._before)
            self._before = None
        return self._shared


def written_segment(segment: Segment, entry: ManifestEntry, storage: Storage) -> WorkingSegment:
    """Return a segment as the manifest has it. CorruptIndexError, FileNotFoundError."""
    n = segment.document_count
    live, copies = np.ones(n, np.uint8), np.zeros(n, np.int32)
    if entry.deletions:
        live = decode_deletions(storage.read(entry.deletions), n, entry.deletions)
    if entry.copies:
        copies = decode_copies(storage.read(entry.copies), n, entry.copies)
    return WorkingSegment(segment, live, entry.deletions, copies, entry.copies)


def working_segment(segment: Segment) -> WorkingSegment:
    """Return a segment of which nothing is deleted."""
    n = segment.document_count
    return WorkingSegment(segment, np.ones(n, np.uint8), "", np.zeros(n, np.int32))
