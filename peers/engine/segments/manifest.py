"""The manifest, the list of an index's files and the only file ever replaced, and the files of deletions.

A file named in the manifest is complete and durable; any other file is left over from a crash.
"""

from __future__ import annotations

import msgspec
import numpy as np
import xxhash

from mesh.slot_limits import SLOTS_MAX
from mesh.slot_set import NO_SLOTS, encode_slots
from peers.engine.files.errors import CorruptIndexError, OutdatedIndexError
from peers.engine.segments.live_segment import Copies
from peers.kernel import Bytes

MANIFEST_NAME = "manifest"
_VERSION = 1
_CHECKSUM_BYTES = 8


class ManifestEntry(msgspec.Struct, frozen=True, array_like=True):
    """A segment in use."""

    segment: str  # name of its file
    deletions: str = ""  # name of the file that says which of its documents are deleted, "" when none is
    copies: str = ""  # name of the file that says which are copies, "" when that is not known of any


class Manifest(msgspec.Struct, frozen=True, array_like=True):
    """One committed state of an index."""

    version: int = _VERSION
    generation: int = 0
    next_file: int = 1  # number for the next file name; names are never used twice
    entries: tuple[ManifestEntry, ...] = ()
    damaged: bytes = NO_SLOTS  # slot set: of these there were documents in segments that had to be given up

    def file_names(self) -> set[str]:
        """Return the names of all files in use, the manifest included."""
        names = {
            name for entry in self.entries for name in (entry.segment, entry.deletions, entry.copies) if name
        }
        return names | {MANIFEST_NAME}


def encode_manifest(manifest: Manifest) -> bytes:
    """Return the content of a manifest file."""
    return _with_checksum(msgspec.msgpack.encode(manifest))


def manifest_of_lost() -> bytes:
    """Return the manifest of an index that has lost all it had: the holders of the pages add them again."""
    everything = encode_slots(np.ones(SLOTS_MAX, np.bool_))
    return encode_manifest(Manifest(generation=1, damaged=everything))


def decode_manifest(content: memoryview) -> Manifest:
    """Read a manifest file. CorruptIndexError, OutdatedIndexError."""
    body = _checked(content, MANIFEST_NAME)
    version: object = msgspec.msgpack.decode(body)[0]
    if version != _VERSION:
        raise OutdatedIndexError("another version wrote the index: its pages have to be indexed anew")
    return msgspec.msgpack.decode(body, type=Manifest)


def encode_deletions(live: Bytes) -> bytes:
    """Return the content of a file that says which documents are live: one bit each."""
    return _with_checksum(np.packbits(live).tobytes())


def decode_deletions(content: memoryview, document_count: int, name: str) -> Bytes:
    """Read such a file: 1 for each live document, 0 for the deleted. CorruptIndexError."""
    body = _checked(content, name)
    if len(body) != (document_count + 7) // 8:
        raise CorruptIndexError(f"{name} belongs to another segment")
    return np.unpackbits(np.frombuffer(body, np.uint8), count=document_count)


def encode_copies(copies: Copies) -> bytes:
    """Return the content of a file of copy marks: the numbers of the documents, then the mark of each."""
    known = np.flatnonzero(copies).astype(np.int32)
    return _with_checksum(np.stack([known, copies[known]]).tobytes())


def decode_copies(content: memoryview, document_count: int, name: str) -> Copies:
    """Read such a file. CorruptIndexError."""
    known, values = np.frombuffer(_checked(content, name), np.int32).reshape(2, -1)
    if len(known) and known[-1] >= document_count:
        raise CorruptIndexError(f"{name} belongs to another segment")
    copies = np.zeros(document_count, np.int32)
    copies[known] = values
    return copies


def _with_checksum(body: bytes) -> bytes:
    return body + xxhash.xxh3_64_intdigest(body).to_bytes(_CHECKSUM_BYTES, "little")


def _checked(content: memoryview, name: str) -> memoryview:
    body, checksum = content[:-_CHECKSUM_BYTES], content[-_CHECKSUM_BYTES:]
    if xxhash.xxh3_64_intdigest(body).to_bytes(_CHECKSUM_BYTES, "little") != checksum:
        raise CorruptIndexError(f"{name} is damaged")
    return body
