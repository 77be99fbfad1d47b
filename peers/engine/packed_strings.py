"""Strings one after the other, and where each starts: as kernels take them and sections have them."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate

import numpy as np

from peers.kernel import Bytes, Ints


def as_bytes(content: bytes) -> Bytes:
    """View bytes as the array that kernels take."""
    return np.frombuffer(content, np.uint8)


def pack_strings(strings: Sequence[bytes]) -> tuple[Bytes, Ints]:
    """Return strings one after the other, and where each starts (n + 1)."""
    starts = list(accumulate(map(len, strings), initial=0))
    return as_bytes(b"".join(strings)), np.array(starts, np.int64)


def pack_texts(texts: Sequence[str]) -> tuple[Bytes, Ints]:
    """Return the same of texts in UTF-8, in a fifth of the time."""
    packed = as_bytes("\0".join(texts).encode())
    ends = np.flatnonzero(packed == 0)
    if len(ends) != len(texts) - 1:  # none, or there is a NUL in one of them
        return pack_strings([text.encode() for text in texts])
    starts = np.zeros(len(texts) + 1, np.int64)
    starts[1:-1] = ends - np.arange(len(ends))
    starts[-1] = len(packed) - len(ends)
    return packed[packed != 0], starts
