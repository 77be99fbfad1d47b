"""An immutable part of the index: one file, memory-mapped.

Format, version 1, little-endian; every section starts at a multiple of 64 bytes
  header    magic "TIANSEG\\0", format version u32, analysis version u32, documents u32, 0 u32, then for each
            section (offset u64, length u64, xxh3-64 u64), then the xxh3-64 of all that. A section's
            length and checksum include the zeros up to the next section, so no byte is unchecked.
  slots             u16 a document. Documents are numbered in the order of their URLs (bytes of UTF-8), so
                    that a lower number breaks ties in scores, and pages of a host are neighbours.
  lengths           u32 a document and field: title, anchor, heading, body, url. Terms, not atoms.
  urls, url_starts  the URLs one after the other, and i64 where each starts (documents + 1)
  terms, term_starts   the dictionary, sorted: terms; \\x01 + CJK character: an atom that is no term;
                    \\x02 + host: the documents of the host and its subdomains
  doc_freqs         i64 a term
  postings, postings_starts, positions, positions_starts   see `kernels`; a term with positions is an atom
  block_starts      i64: where each block of stored documents starts (blocks + 1)
  block_documents   i64: the first document of each block (blocks + 1)
  block_sums        u64: xxh3-64 of each block
  stored            blocks of documents: zstd of a msgpack array of `Document`

All sections but `stored` are checked when a segment is opened, a block of `stored` when it is read.
What is deleted is not in the segment: see `DeletedDocuments` in `manifest`.
"""

from __future__ import annotations

import struct
import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec
import numpy as np
import xxhash
import zstandard
from numpy.typing import NDArray

from mesh.document import Document
from peers.index.analysis import ANALYSIS_VERSION
from peers.index.kernels import FIELD_COUNT, Bytes, Ints, Lengths, find

FORMAT_VERSION = 1
HOST_PREFIX = "\x02"

# Blocks of this many bytes before compression: 3.5 times smaller than the text, 30 us to read one.
BLOCK_BYTES = 64 * 1024
# One document of the largest page the parser lets through, and more: a bound for decompression.
BLOCK_BYTES_MAX = 256 * 1024 * 1024

_MAGIC = b"TIANSEG\0"
_ALIGNMENT = 64
_SECTIONS: Mapping[str, type[Any]] = {
    "slots": np.uint16,
    "lengths": np.uint32,
    "urls": np.uint8,
    "url_starts": np.int64,
    "terms": np.uint8,
    "term_starts": np.int64,
    "doc_freqs": np.int64,
    "postings": np.uint8,
    "postings_starts": np.int64,
    "positions": np.uint8,
    "positions_starts": np.int64,
    "block_starts": np.int64,
    "block_documents": np.int64,
    "block_sums": np.uint64,
    "stored": np.uint8,
}
_FIXED_HEAD = struct.Struct("<8sIIII")
_SECTION_ENTRY = struct.Struct("<QQQ")
_HEADER_BYTES = _FIXED_HEAD.size + _SECTION_ENTRY.size * len(_SECTIONS)
_FIRST_OFFSET = -(-(_HEADER_BYTES + 8) // _ALIGNMENT) * _ALIGNMENT

assert sys.byteorder == "little", "segments are mapped as they are: little-endian machines only"


class CorruptIndexError(Exception):
    """Bytes on the medium are not what was written; the file has to be rebuilt or fetched from a standby."""


class OutdatedIndexError(Exception):
    """Written by a program whose analysis or format differs; the index has to be rebuilt from the pages."""


class SegmentData(msgspec.Struct, frozen=True):
    """All sections of a segment as arrays, see the format; the last four as `pack_blocks` gives them."""

    slots: NDArray[np.uint16]
    lengths: Lengths
    urls: Bytes
    url_starts: Ints
    terms: Bytes
    term_starts: Ints
    doc_freqs: Ints
    postings: Bytes
    postings_starts: Ints
    positions: Bytes
    positions_starts: Ints
    block_starts: Ints
    block_documents: Ints
    block_sums: NDArray[np.uint64]
    stored: Bytes


def encode_segment(data: SegmentData) -> list[bytes | memoryview]:
    """Return the parts of a segment file, to be written one after the other."""
    entries: list[bytes] = []
    body: list[bytes | memoryview] = []
    offset = _FIRST_OFFSET
    for name in _SECTIONS:
        content = np.ascontiguousarray(getattr(data, name)).reshape(-1).view(np.uint8).data
        padding = bytes(-len(content) % _ALIGNMENT)
        checksum = xxhash.xxh3_64(content)
        checksum.update(padding)
        entries.append(_SECTION_ENTRY.pack(offset, len(content), checksum.intdigest()))
        body += [content, padding]
        offset += len(content) + len(padding)
    head = _FIXED_HEAD.pack(_MAGIC, FORMAT_VERSION, ANALYSIS_VERSION, len(data.slots), 0) + b"".join(entries)
    head += xxhash.xxh3_64_intdigest(head).to_bytes(8, "little")
    return [head.ljust(_FIRST_OFFSET, b"\0"), *body]


def pack_blocks(documents: Iterator[bytes]) -> tuple[Bytes, Ints, Ints, NDArray[np.uint64]]:
    """Compress encoded documents, in order, into blocks.

    Returns:
      (stored, block_starts, block_documents, block_sums), see the format.
    """
    compressor = zstandard.ZstdCompressor(level=1)  # half a percent of indexing; level 3 saves 4 % of disk
    blocks: list[bytes] = []
    firsts = [0]
    pending: list[bytes] = []
    pending_bytes = 0
    n_documents = 0

    def pack() -> None:
        blocks.append(compressor.compress(_array_head(len(pending)) + b"".join(pending)))
        firsts.append(n_documents)
        pending.clear()

    for document in documents:
        pending.append(document)
        pending_bytes += len(document)
        n_documents += 1
        if pending_bytes >= BLOCK_BYTES:
            pack()
            pending_bytes = 0
    if pending:
        pack()
    starts = np.zeros(len(blocks) + 1, np.int64)
    np.cumsum([len(block) for block in blocks], out=starts[1:])
    sums = np.array([xxhash.xxh3_64_intdigest(block) for block in blocks], np.uint64)
    return as_bytes(b"".join(blocks)), starts, np.array(firsts, np.int64), sums


def _array_head(length: int) -> bytes:
    return b"\xdd" + length.to_bytes(4, "big")  # msgpack array 32


def as_bytes(content: bytes) -> Bytes:
    """View bytes as the array that kernels take."""
    return np.frombuffer(content, np.uint8)


def pack_strings(strings: Sequence[bytes]) -> tuple[Bytes, Ints]:
    """Return strings one after the other, and where each starts (n + 1)."""
    starts = np.zeros(len(strings) + 1, np.int64)
    np.cumsum(np.fromiter(map(len, strings), np.int64, len(strings)), out=starts[1:])
    return as_bytes(b"".join(strings)), starts


class Segment:
    """A segment opened for reading; immutable, any number of threads may use it."""

    def __init__(self, name: str, content: memoryview) -> None:
        """Check and map a segment file.

        Raises:
          CorruptIndexError: a byte differs from what was written, or some are missing.
          OutdatedIndexError: another version wrote it.
        """
        self.name = name
        self.size_bytes = len(content)
        self._content = content
        if len(content) < _FIRST_OFFSET:
            raise CorruptIndexError(f"segment {name} is cut off: {len(content)} bytes")
        magic, version, analysis, self.document_count, _ = _FIXED_HEAD.unpack_from(content)
        checksum = int.from_bytes(content[_HEADER_BYTES : _HEADER_BYTES + 8], "little")
        is_padded = not any(content[_HEADER_BYTES + 8 : _FIRST_OFFSET])
        if xxhash.xxh3_64_intdigest(content[:_HEADER_BYTES]) != checksum or magic != _MAGIC or not is_padded:
            raise CorruptIndexError(f"segment {name} is damaged in its header")
        if (version, analysis) != (FORMAT_VERSION, ANALYSIS_VERSION):
            raise OutdatedIndexError(
                f"segment {name} has format {version} and analysis {analysis}, this program writes "
                f"{FORMAT_VERSION} and {ANALYSIS_VERSION}: rebuild the index from the stored pages"
            )
        entries = _SECTION_ENTRY.iter_unpack(content[_FIXED_HEAD.size : _HEADER_BYTES])
        sections = dict(zip(_SECTIONS, entries, strict=True))
        stored_offset, stored_length, _ = sections["stored"]
        if stored_offset + stored_length + -stored_length % _ALIGNMENT != len(content):
            raise CorruptIndexError(f"segment {name} is cut off or has grown: {len(content)} bytes")
        self.slots: NDArray[np.uint16] = self._section("slots", *sections["slots"])
        self.lengths: Lengths = self._section("lengths", *sections["lengths"]).reshape(-1, FIELD_COUNT)
        self.urls: Bytes = self._section("urls", *sections["urls"])
        self.url_starts: Ints = self._section("url_starts", *sections["url_starts"])
        self.terms: Bytes = self._section("terms", *sections["terms"])
        self.term_starts: Ints = self._section("term_starts", *sections["term_starts"])
        self.doc_freqs: Ints = self._section("doc_freqs", *sections["doc_freqs"])
        self.postings: Bytes = self._section("postings", *sections["postings"])
        self.postings_starts: Ints = self._section("postings_starts", *sections["postings_starts"])
        self.positions: Bytes = self._section("positions", *sections["positions"])
        self.positions_starts: Ints = self._section("positions_starts", *sections["positions_starts"])
        self._block_starts: Ints = self._section("block_starts", *sections["block_starts"])
        self._block_documents: Ints = self._section("block_documents", *sections["block_documents"])
        self._block_sums: NDArray[np.uint64] = self._section("block_sums", *sections["block_sums"])
        self._stored = content[stored_offset : stored_offset + stored_length]
        if any(content[stored_offset + stored_length :]):
            raise CorruptIndexError(f"segment {name} is damaged after its documents")

    def _section(self, name: str, offset: int, length: int, checksum: int) -> NDArray[Any]:
        padded = self._content[offset : offset + length + -length % _ALIGNMENT]
        if xxhash.xxh3_64_intdigest(padded) != checksum:
            raise CorruptIndexError(f"segment {self.name} is damaged in its {name}")
        return np.frombuffer(padded[:length], _SECTIONS[name])

    def find_terms(self, terms: Sequence[str]) -> Ints:
        """Return the number of each dictionary entry in this segment, -1 for those it lacks."""
        return _find(self.terms, self.term_starts, [term.encode() for term in terms])

    def find_urls(self, urls: Sequence[bytes]) -> Ints:
        """Return the document of each URL (UTF-8), deleted or not, -1 when there is none."""
        return _find(self.urls, self.url_starts, urls)

    def url(self, document: int) -> bytes:
        """Return the URL of a document in UTF-8."""
        return self.urls[self.url_starts[document] : self.url_starts[document + 1]].tobytes()

    def stored(self, document: int) -> Document:
        """Read a stored document. CorruptIndexError when its block is damaged."""
        block = int(np.searchsorted(self._block_documents, document, "right")) - 1
        raw = self._read_block(block)
        documents = _raw_documents(raw)
        return msgspec.msgpack.decode(documents[document - int(self._block_documents[block])], type=Document)

    def encoded_documents(self) -> Iterator[msgspec.Raw]:
        """Read all stored documents in order, encoded as `pack_blocks` takes them."""
        for block in range(len(self._block_sums)):
            yield from _raw_documents(self._read_block(block))

    def _read_block(self, block: int) -> bytes:
        compressed = self._stored[self._block_starts[block] : self._block_starts[block + 1]]
        if xxhash.xxh3_64_intdigest(compressed) != int(self._block_sums[block]):
            raise CorruptIndexError(f"segment {self.name} is damaged in block {block} of its documents")
        return zstandard.ZstdDecompressor().decompress(compressed, max_output_size=BLOCK_BYTES_MAX)


def _raw_documents(raw: bytes) -> list[msgspec.Raw]:
    return msgspec.msgpack.decode(raw, type=list[msgspec.Raw])


def _find(blob: Bytes, starts: Ints, wanted: Sequence[bytes]) -> Ints:
    found = np.empty(len(wanted), np.int64)
    find(blob, starts, *pack_strings(wanted), found)
    return found
