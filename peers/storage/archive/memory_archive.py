"""The archive of a simulated peer: the same behaviour as `archive.py`, in memory.

It keeps what was appended for as long as it lives, so that a simulated crash, which loses only what
was not told, is one that loses nothing here. It writes no records of its own.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from mesh.errors import CorruptionError, StorageFull
from peers.storage.archive.warc import is_sound
from peers.storage.ledger.extent import Extent


class MemoryArchive:
    """Segments as byte arrays."""

    def __init__(self, segment_bytes_max: int = 1_000_000_000, space_bytes: float = float("inf")) -> None:
        """Begin an empty archive on a disk of `space_bytes`, which tests may change at any time."""
        self.space_bytes = space_bytes
        self.byte_count = 0
        self._segment_bytes_max = segment_bytes_max
        self._segments = {1: bytearray()}

    def append(self, batch: Sequence[bytes | memoryview]) -> list[Extent | None]:
        """Keep the records and tell where each item is; see `Archive.append`."""
        sound = [item if is_sound(item) else b"" for item in batch]
        size = sum(map(len, sound))
        assert size <= self._segment_bytes_max, "a batch is larger than a segment"
        if self.byte_count + size > self.space_bytes:
            raise StorageFull("no space is left in the simulated archive")
        last = max(self._segments)
        if len(self._segments[last]) + size > self._segment_bytes_max:
            self._segments[last + 1] = bytearray()
        self.byte_count += size
        return [self._append_item(item) if item else None for item in sound]

    def read(self, extent: Extent) -> bytes:
        """Return the bytes that were appended at an extent; see `Archive.read`."""
        if extent.end > len(self._segments.get(extent.segment, b"")):
            raise CorruptionError(f"the simulated archive has no {extent}")
        return bytes(self._segments[extent.segment][extent.offset : extent.end])

    def read_many(self, extents: Sequence[Extent]) -> list[bytes | memoryview | None]:
        """Return the bytes appended at each extent, None where there are none."""
        return [self._read_or_nothing(extent) for extent in extents]

    def remove(self, segments: Iterable[int]) -> None:
        """Delete segments, but the last; see `Archive.remove`."""
        for number in set(segments) - {max(self._segments)}:
            self.byte_count -= len(self._segments.pop(number, b""))

    def close(self) -> None:
        """Do nothing: closing an archive ends a process, and this one outlives simulated processes."""

    def _read_or_nothing(self, extent: Extent) -> bytes | None:
        try:
            return self.read(extent)
        except CorruptionError:
            return None

    def _append_item(self, item: bytes | memoryview) -> Extent:
        number = max(self._segments)
        segment = self._segments[number]
        extent = Extent(number, len(segment), len(item))
        segment += item
        return extent
