"""The checksum by which the receiver of a part of a transfer sees that it is as it was sent."""

from __future__ import annotations

from xxhash import xxh3_64


def checksum_of(items: bytes, bulk: bytes) -> int:
    """XXH3-64 of both, one after the other, as the checksum of a part."""
    digest = xxh3_64(items)
    digest.update(bulk)
    return int(digest.intdigest())
