"""Rows as they stand on a disk: the value, then a checksum of key and value. Pure.

LMDB keeps no checksums: of 22 bits that were flipped in its file 6 changed what was read, and nobody noticed.
The key is part of the sum, so that a row at another place than it was written is damaged as well.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from xxhash import xxh3_64_digest

from mesh.errors import CorruptionError

SUM_BYTES: Final = 4  # of XXH3-64: one damage in four billion goes unnoticed


def all_sealed(rows: Sequence[tuple[bytes, bytes]]) -> list[tuple[bytes, bytes]]:
    """Return keys with their rows, for keys with their values; one call for many."""
    return [(key, value + xxh3_64_digest(key + value)[:SUM_BYTES]) for key, value in rows]


def opened(key: bytes, row: bytes) -> bytes:
    """Return the value of a row.

    Raises:
      CorruptionError: it is not as it was written.
    """
    value = row[:-SUM_BYTES]
    if xxh3_64_digest(key + value)[:SUM_BYTES] != row[-SUM_BYTES:]:
        raise CorruptionError(f"row {key[:20].hex()} is not as it was written")
    return value
