"""Stored documents in blocks that are compressed as a whole, some of them to a block."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeAlias

import msgspec
import numpy as np
import xxhash
import zstandard

from peers.engine.files.scratch import Scratch, Spool, in_memory
from peers.kernel import Bytes, Ints, Sums

# Blocks of this many bytes before compression. An excerpt reads one, most of which it does not want: of
# 64 KiB that takes twice as long, and they are 2 % smaller.
BLOCK_BYTES = 16 * 1024
# One document of the largest page the parser lets through, and more: a bound for decompression.
BLOCK_BYTES_MAX = 256 * 1024 * 1024

Blocks: TypeAlias = tuple[Bytes, Ints, Ints, Sums]  # stored, block_starts, block_documents, block_sums


def pack_blocks(documents: Iterable[bytes], scratch: Scratch = in_memory, n_bytes: int = 0) -> Blocks:
    """Compress encoded documents, in order, into blocks, see the format.

    Args:
      scratch: for the blocks, which will have about `n_bytes`.
    """
    packer = BlockPacker(scratch, n_bytes)
    for document in documents:
        packer.add(document)
    return packer.finish()


class BlockPacker:
    """Makes the blocks of a segment."""

    def __init__(self, scratch: Scratch = in_memory, n_bytes: int = 0) -> None:
        # Level 1 is half a percent of indexing; level 3 saves 4 % of disk.
        self._compressor = zstandard.ZstdCompressor(level=1)
        self._blocks = Spool(scratch, n_bytes)
        self._starts = [0]
        self._sums: list[int] = []
        self._firsts = [0]
        self._pending: list[bytes] = []
        self._pending_bytes = 0

    def add(self, document: bytes) -> None:
        self._pending.append(document)
        self._pending_bytes += len(document)
        if self._pending_bytes >= BLOCK_BYTES:
            self._end_block()

    def add_block(self, block: bytes, n_documents: int) -> None:
        """Take over a block as it is in another segment."""
        self._end_block()
        self._put(block, n_documents)

    def finish(self) -> Blocks:
        self._end_block()
        starts, firsts = np.array(self._starts, np.int64), np.array(self._firsts, np.int64)
        return self._blocks.content(), starts, firsts, np.array(self._sums, np.uint64)

    def _end_block(self) -> None:
        if self._pending:
            content = _array_head(len(self._pending)) + b"".join(self._pending)
            self._put(self._compressor.compress(content), len(self._pending))
            self._pending.clear()
            self._pending_bytes = 0

    def _put(self, block: bytes, n_documents: int) -> None:
        self._blocks.put(block)
        self._starts.append(self._blocks.n_bytes)
        self._sums.append(xxhash.xxh3_64_intdigest(block))
        self._firsts.append(self._firsts[-1] + n_documents)


def _array_head(length: int) -> bytes:
    return b"\xdd" + length.to_bytes(4, "big")  # msgpack array 32


def raw_documents(raw: bytes) -> list[msgspec.Raw]:
    return msgspec.msgpack.decode(raw, type=list[msgspec.Raw])
