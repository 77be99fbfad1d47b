"""Small bodies that are large when they are decoded."""

from __future__ import annotations

import gzip
import zlib
from typing import Final

import brotli
import zstandard

BOMB_BYTES: Final = 100_000_000
CODINGS: Final = ("gzip", "deflate", "br", "zstd")


def bomb_of(coding: str) -> bytes:
    """Return zeros, packed."""
    zeros = bytes(BOMB_BYTES)
    match coding:
        case "gzip":
            return gzip.compress(zeros)
        case "deflate":
            return zlib.compress(zeros)
        case "br":
            packed: bytes = brotli.compress(zeros, quality=1)
            return packed
        case _:
            return zstandard.compress(zeros)
