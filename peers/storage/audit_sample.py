"""Which of the pages that others bring are looked at once more: a share of them that nobody can foretell."""

from __future__ import annotations

from typing import NamedTuple

from xxhash import xxh3_64_intdigest

from mesh.stamp import Stamp


class Sampling(NamedTuple):
    """A share of all versions of pages, drawn by a secret, so that no other member can know it."""

    rate: float = 0.0  # 0 for none, 1 for all
    secret: bytes = b""  # of this peer in this life

    def has(self, url: str, stamp: Stamp) -> bool:
        """Tell whether a version of a page is in the sample; the same each time."""
        return xxh3_64_intdigest(self.secret + f"{stamp.visit} {url}".encode()) < self.rate * (1 << 64)
