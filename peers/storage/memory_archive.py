"""The archive of a simulated peer: the same behaviour as `archive.py`, in memory.

It keeps what was appended for as long as it lives, so that a simulated crash, which loses only what
was not told, is one that loses nothing here. It writes no records of its own.
"""

from __future__ import annotations

from collections.abc import Sequence

from mesh.errors import CorruptionError, StorageFull
from peers.storage.extent import Extent
from peers.storage.warc import is_sound


class MemoryArchive:
    """Segments as byte arrays."""

    def __init__(self, segment_bytes_max: int = 1_000_000_000, space_bytes: float = float("inf")) -> None:
        """Begin an empty archive on a disk of `space_bytes`, which tests may change at any time."""
        self.space_bytes = space_bytes
        self.byte_count = 0
        self._segment_bytes_max = segment_bytes_max
        self._segments = [bytearray()]

    def append(self, batch: Sequence[bytes]) -> list[Extent | None]:
        """Keep the records and tell where each item is; see `Archive.append`."""
        sound = [item if is_sound(item) else b"" for item in batch]
        size = sum(map(len, sound))
        assert size <= self._segment_bytes_max, "a batch is larger than a segment"
        if self.byte_count + size > self.space_bytes:
            raise StorageFull("no space is left in the simulated archive")
        if len(self._segments[-1]) + size > self._segment_bytes_max:
            self._segments.append(bytearray())
        self.byte_count += size
        return [self._append_item(item) if item else None for item in sound]

    def read(self, extent: Extent) -> bytes:
        """Return what was appended at an extent; see `Archive.read`."""
        if extent.segment > len(self._segments) or extent.end > len(self._segments[extent.segment - 1]):
            raise CorruptionError(f"the simulated archive has no {extent}")
        return bytes(self._segments[extent.segment - 1][extent.offset : extent.end])

    def close(self) -> None:
        """Do nothing: closing an archive ends a process, and this one outlives simulated processes."""

    def _append_item(self, item: bytes) -> Extent:
        segment = self._segments[-1]
        extent = Extent(len(self._segments), len(segment), len(item))
        segment += item
        return extent
