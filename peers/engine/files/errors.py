"""Errors of the bytes that an index reads: damage, or another version of analysis or format."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


class CorruptIndexError(Exception):
    """Bytes on the medium differ from those written; the file has to be rebuilt or fetched from a standby."""


class DamagedSegmentError(CorruptIndexError):
    """An open segment turned out to be damaged: none of its documents can be relied on.

    Attributes:
      segment: name of its file.
      slots: those of its documents, the deleted included, distinct.
    """

    def __init__(self, place: str, segment: str, slots: NDArray[np.uint16]) -> None:
        super().__init__(f"segment {segment} is damaged in {place}")
        self.segment = segment
        self.slots = slots


class OutdatedIndexError(Exception):
    """The index was written by a program with another analysis or format; rebuild it from the pages."""
