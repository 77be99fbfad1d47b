"""Where records lie in an archive."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, order=True)
class Extent:
    """A run of bytes in one segment of the archive of one peer; it never changes its content."""

    segment: int  # number of the segment, from 1
    offset: int  # bytes from the start of the segment
    length: int  # bytes, at least 1

    def __post_init__(self) -> None:
        assert self.segment >= 1, self
        assert self.offset >= 0, self
        assert self.length >= 1, self

    @property
    def end(self) -> int:
        """The offset of the first byte behind it."""
        return self.offset + self.length
