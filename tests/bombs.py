"""Bodies that are small on the wire and large when they are unpacked."""

from __future__ import annotations

import gzip
import zlib

import brotli
import zstandard

COMPRESS = {
    "gzip": gzip.compress,
    "deflate": zlib.compress,
    "br": lambda body: brotli.compress(body, quality=5),
    "zstd": zstandard.compress,
}


def bomb(coding: str, size: int) -> bytes:
    """Return so many bytes in a coding of HTTP."""
    packed: bytes = COMPRESS[coding](bytes(size))
    return packed
