"""Unpack `ls-lR.gz`, `.xz` and `.zst`, the packed lists of all files that mirrors have, within limits. Pure.

Only a beginning is unpacked, as long as what is read of a list; so a bomb costs that much and no more. An xz
file that wants more memory than `MEMORY_BYTES_MAX` is not read.
"""

from __future__ import annotations

import lzma
from typing import Final

from peers.crawler.fetching.content_encoding import Undecodable, decode_beginning
from peers.crawler.parsing.directory_index import READ_CHARS_MAX

# As `xz -6`, the default, wants 9 MB to read; `-9` 65.
MEMORY_BYTES_MAX: Final = 100 << 20
_XZ: Final = b"\xfd7zXZ\0"
_MAGIC: Final = {b"\x1f\x8b": "gzip", b"\x28\xb5\x2f\xfd": "zstd"}


def unpacked(body: bytes) -> bytes:
    """Return the first `READ_CHARS_MAX` bytes of a packed list; b"" where it is in no form read here."""
    if body.startswith(_XZ):
        return _of_xz(body)
    coding = next((name for magic, name in _MAGIC.items() if body.startswith(magic)), "")
    try:
        return decode_beginning(body, coding, READ_CHARS_MAX).body if coding else b""
    except Undecodable:
        return b""


def _of_xz(body: bytes) -> bytes:
    try:
        return lzma.LZMADecompressor(lzma.FORMAT_XZ, MEMORY_BYTES_MAX).decompress(body, READ_CHARS_MAX)
    except (lzma.LZMAError, EOFError, MemoryError):
        return b""
