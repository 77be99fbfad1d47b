"""What is wrong with bytes that an index reads."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


class CorruptIndexError(Exception):
    """Bytes on the medium are not what was written; the file has to be rebuilt or fetched from a standby."""


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
    """Written by a program whose analysis or format differs; the index has to be rebuilt from the pages."""
