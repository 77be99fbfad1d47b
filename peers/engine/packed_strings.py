"""Strings one after the other, and where each starts: as kernels take them and sections have them."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from itertools import accumulate

import numpy as np

from peers.kernel import Bytes, Ints

# Lists of entries that are packed: those of the queries that are being answered.
PACKED_MAX = 64


def as_bytes(content: bytes) -> Bytes:
    """View bytes as the array that kernels take."""
    return np.frombuffer(content, np.uint8)


def pack_strings(strings: Sequence[bytes]) -> tuple[Bytes, Ints]:
    """Return strings one after the other, and where each starts (n + 1)."""
    starts = list(accumulate(map(len, strings), initial=0))
    return as_bytes(b"".join(strings)), np.array(starts, np.int64)


@lru_cache(maxsize=PACKED_MAX)
def packed(entries: tuple[str, ...]) -> tuple[Bytes, Ints]:
    """Pack entries to be looked up: a query asks each segment for the same ones."""
    return pack_strings([entry.encode() for entry in entries])
