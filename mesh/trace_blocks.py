"""The blocks of a trace: zstd frames that give the size and the checksum of their content.

Each is a frame of RFC 8878 with its content size and checksum, so `zstd -d` unpacks the whole file, and one
that is damaged is noticed. Behind it the next is found by the number that frames begin with.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import BinaryIO, Final, NamedTuple

import zstandard

MAGIC: Final = b"\x28\xb5\x2f\xfd"  # RFC 8878, 3.1.1
BLOCK_BYTES_MAX: Final = 256 << 20  # unpacked; a frame that says more is damaged, or a bomb
LEVEL: Final = 3  # zstd's own default: 400 MB/s, and links of a page are much alike
_HEAD_BYTES: Final = 18  # of a frame, at most
_READ_BYTES: Final = 1 << 20


class Block(NamedTuple):
    """The content of one frame, and its place in the file."""

    number: int  # from 0
    offset: int  # in the file
    end: int
    content: bytes


class TraceDamage(NamedTuple):
    """A place at which a trace is not whole."""

    block: int  # -1 for none
    offset: int  # in the file
    reason: str  # what the trace does there

    def __str__(self) -> str:
        if self.block < 0:
            return f"{self.reason}, at byte {self.offset:,}"
        return f"{self.reason}, in block {self.block:,} at byte {self.offset:,}"


def pack_block(content: bytes) -> bytes:
    """Make a frame."""
    packer = zstandard.ZstdCompressor(level=LEVEL, write_checksum=True, write_content_size=True)
    return packer.compress(content)


def read_blocks(file: BinaryIO) -> Iterator[Block | TraceDamage]:
    """Yield all blocks from the position of the file on, and a `TraceDamage` for each part that is none."""
    window = _Window(file)
    number = 0
    while window.fill(_HEAD_BYTES):
        offset = window.offset
        try:
            content = _content_of_next(window)
        except _CutOffError:
            yield TraceDamage(number, offset, "is cut off")
            return
        except zstandard.ZstdError as error:
            yield TraceDamage(number, offset, f"is damaged ({error})")
            window.go_to_next(offset)
        else:
            yield Block(number, offset, window.offset, content)
        number += 1


class _CutOffError(Exception):
    """The file ends within a frame."""


class _Window:
    """The part of a file from some offset on that has been read."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._start = file.tell()
        self.data = b""

    @property
    def offset(self) -> int:
        return self._start

    def fill(self, n_bytes: int) -> int:
        """Have so many bytes at hand, or as many as there are; return how many."""
        if len(self.data) < n_bytes:
            self.data += self._file.read(_READ_BYTES)
        return len(self.data)

    def take_all(self) -> bytes:
        """Return all bytes at hand, or the next ones if there are none, and move past them."""
        self.fill(1)
        data, self.data = self.data, b""
        self._start += len(data)
        return data

    def give_back(self, data: bytes) -> None:
        self.data = data + self.data
        self._start -= len(data)

    def go_to_next(self, after: int) -> None:
        """Go to the next apparent frame behind the one at an offset, or to the end of the file."""
        self._start = after + 1
        self._file.seek(self._start)
        self.data = b""
        while self.fill(len(MAGIC)) >= len(MAGIC):
            at = self.data.find(MAGIC)
            passed = at if at >= 0 else len(self.data) - len(MAGIC) + 1
            self.data = self.data[passed:]
            self._start += passed
            if at >= 0:
                return
        self._start += len(self.data)
        self.data = b""


def _content_of_next(window: _Window) -> bytes:
    head = window.data[:_HEAD_BYTES]
    if not head.startswith(MAGIC):
        if MAGIC.startswith(head):
            raise _CutOffError
        raise zstandard.ZstdError("no zstd frame")
    try:
        size = zstandard.frame_content_size(head)
    except zstandard.ZstdError:
        if len(head) < _HEAD_BYTES:
            raise _CutOffError from None
        raise
    if not 0 <= size <= BLOCK_BYTES_MAX:
        raise zstandard.ZstdError(f"a size of {size}")
    unpacking = zstandard.ZstdDecompressor(max_window_size=BLOCK_BYTES_MAX).decompressobj()
    parts, unpacked = [], 0
    while not unpacking.eof:
        data = window.take_all()
        if not data:
            raise _CutOffError
        parts.append(unpacking.decompress(data))
        unpacked += len(parts[-1])
        if unpacked > size:
            raise zstandard.ZstdError("more than it says")
    window.give_back(unpacking.unused_data)
    if unpacked != size:
        raise zstandard.ZstdError("less than it says")
    return b"".join(parts)
