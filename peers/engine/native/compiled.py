"""The decorator that puts the C function of a kernel of the engine in place of its Python signature."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from peers.kernel import Bytes, Ints, kernels_of

kernel: Final = kernels_of("peers.engine._kernels")


@kernel
def strings_at(blob: Bytes, starts: Ints, indexes: Sequence[int]) -> list[str]:
    """Return some of the strings that are one after the other in UTF-8. IndexError."""
