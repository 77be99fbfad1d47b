"""The file of a segment: the layout of its sections, and how it is written.

Format, version 8, little-endian; every section starts at a multiple of 64 bytes
  header    magic "TIANSEG\\0", format version u32, analysis version u32, documents u32, entries u32, then for
            each section (offset u64, length u64, length unpacked u64, xxh3-64 u64), then the xxh3-64 of all
            that. A checksum includes the zeros up to the next section, so no byte is unchecked. A section of
            PACKED whose lengths differ is a zstd frame of it.
  slots             u16 a document. Documents are numbered in the order of their URLs (bytes of UTF-8), so
                    that a lower number breaks ties in scores, and pages of a host are neighbours.
  visits            u32 a document, and
  fetched_at        f64 a document: its version, the same as in the stored document
  dates             i64 a document, seconds since the epoch: what it says itself, else when it was fetched
  linking_hosts     u32 a document
  contents          i64 a document: `document.content_digest`
  sketches          four u64 a document: `near_copies.sketch_of`
  lengths           u32 a document and field: title, anchor, heading, body, url, boilerplate.
                    Terms, not atoms.
  urls, url_starts  the URLs one after the other, and i64 where each starts (documents + 1)
  dictionary, dictionary_blocks   see `dictionary`. Entries are terms and, behind a control character:
                    \\x01 and one or two CJK characters, an atom; \\x02 and a host, of the host and its
                    subdomains; \\x04 and a language; \\x05 and a media type
  postings, positions   see `postings`; an entry with positions is an atom
  postings_sums, positions_sums   u64: the sum (`kernels`) of each KiB of those two, up to the next section
  block_starts      i64: where each block of stored documents starts (blocks + 1)
  block_documents   i64: the first document of each block (blocks + 1)
  block_sums        u64: xxh3-64 of each block
  stored            blocks of documents: zstd of a msgpack array of `Document`

What is deleted is not in the segment: see `encode_deletions` in `manifest`.
"""

from __future__ import annotations

import struct
import sys
from collections.abc import Collection, Mapping
from typing import Any

import msgspec
import numpy as np
import xxhash
import zstandard
from numpy.typing import NDArray

from peers.engine.files.errors import CorruptIndexError, OutdatedIndexError
from peers.engine.native.kernels import SUM_BLOCK_BYTES, sum_blocks
from peers.engine.pages.near_copies import SKETCH_BYTES, Sketches
from peers.engine.postings.dictionary import Dictionary, pack_dictionary
from peers.kernel import Bytes, Floats, Ints, Lengths, Sums
from peers.text.version import ANALYSIS_VERSION

FORMAT_VERSION = 8

# Of a segment that is sent to another index, where the sender says nothing else.
EXPORTED_BYTES_MAX = 9 << 20

_MAGIC = b"TIANSEG\0"
ALIGNMENT = 64
SECTIONS: Mapping[str, type[Any]] = {
    "slots": np.uint16,
    "visits": np.uint32,
    "fetched_at": np.float64,
    "dates": np.int64,
    "linking_hosts": np.uint32,
    "contents": np.int64,
    "sketches": np.uint64,
    "lengths": np.uint32,
    "urls": np.uint8,
    "url_starts": np.int64,
    "dictionary": np.uint8,
    "dictionary_blocks": np.int64,
    "postings": np.uint8,
    "postings_sums": np.uint64,
    "positions": np.uint8,
    "positions_sums": np.uint64,
    "block_starts": np.int64,
    "block_documents": np.int64,
    "block_sums": np.uint64,
    "stored": np.uint8,
}
# Those that are kept in memory, and are in the file only to be read once: but `slots`, which say of a damaged
# segment what is lost, and what is as good as random.
PACKED: Collection[str] = {
    *("visits", "fetched_at", "dates", "linking_hosts", "lengths", "urls", "url_starts"),
    *("dictionary", "dictionary_blocks", "block_starts", "block_documents"),
}
# Half a percent of indexing; level 1 would leave a tenth more.
_PACKING_LEVEL = 3
# What unpacks to more than so many times its bytes, and so many bytes a document, is left as it is: nobody
# makes a small segment that takes all memory.
_UNPACKED_TIMES_MAX = 16
_COLUMN_BYTES_MAX = 32

_FIXED_HEAD = struct.Struct("<8sIIII")
_SECTION_ENTRY = struct.Struct("<QQQQ")
_HEADER_BYTES = _FIXED_HEAD.size + _SECTION_ENTRY.size * len(SECTIONS)
# Of formats with other sections, of which there were three numbers each.
_HEADER_BYTES_OF = {
    version: _FIXED_HEAD.size + 24 * n_sections
    for version, n_sections in ((1, 15), (2, 18), (3, 17), (4, 17), (5, 18), (6, 18), (7, 20))
}
_FIRST_OFFSET = -(-(_HEADER_BYTES + 8) // ALIGNMENT) * ALIGNMENT

assert sys.byteorder == "little", "segments are mapped as they are: little-endian machines only"


class SegmentData(msgspec.Struct, frozen=True):
    """The parts of a segment, see the format; the last four as `pack_blocks` gives them."""

    slots: NDArray[np.uint16]
    visits: Lengths
    fetched_at: Floats
    dates: Ints
    linking_hosts: Lengths
    contents: Ints
    sketches: Sketches
    lengths: Lengths
    urls: Bytes
    url_starts: Ints
    dictionary: Dictionary
    postings: Bytes
    positions: Bytes
    block_starts: Ints
    block_documents: Ints
    block_sums: NDArray[np.uint64]
    stored: Bytes


def encode_segment(data: SegmentData) -> list[bytes | memoryview]:
    """Return the parts of a segment file, to be written one after the other."""
    arrays: dict[str, NDArray[Any]] = msgspec.structs.asdict(data)
    arrays["dictionary"], arrays["dictionary_blocks"] = pack_dictionary(data.dictionary)
    arrays["postings_sums"] = _sums_of(data.postings)
    arrays["positions_sums"] = _sums_of(data.positions)
    entries: list[bytes] = []
    body: list[bytes | memoryview] = []
    offset = _FIRST_OFFSET
    compressor = zstandard.ZstdCompressor(level=_PACKING_LEVEL)
    for name in SECTIONS:
        content: bytes | memoryview = np.ascontiguousarray(arrays[name]).reshape(-1).view(np.uint8).data
        unpacked = len(content)
        if name in PACKED:
            frame = compressor.compress(content)
            if len(frame) < unpacked <= _unpacked_most(len(frame), len(data.slots)):
                content = frame
        padding = bytes(-len(content) % ALIGNMENT)
        checksum = xxhash.xxh3_64(content)
        checksum.update(padding)
        entries.append(_SECTION_ENTRY.pack(offset, len(content), unpacked, checksum.intdigest()))
        body += [content, padding]
        offset += len(content) + len(padding)
    head = _FIXED_HEAD.pack(
        _MAGIC, FORMAT_VERSION, ANALYSIS_VERSION, len(data.slots), len(data.dictionary.doc_freqs)
    )
    head += b"".join(entries)
    head += xxhash.xxh3_64_intdigest(head).to_bytes(8, "little")
    return [head.ljust(_FIRST_OFFSET, b"\0"), *body]


def _unpacked_most(length: int, document_count: int) -> int:
    return _UNPACKED_TIMES_MAX * length + _COLUMN_BYTES_MAX * document_count


def unpack_section(name: str, content: bytes, length: int, unpacked: int) -> bytes:
    """Return a section of so many bytes, and zeros, whose checksum is right.

    Raises:
      CorruptIndexError: it was written wrong.
    """
    if length == unpacked:
        return content
    frame = content[:length]
    try:
        # A frame's own claim is what the decompressor allocates, whatever it is told.
        if zstandard.frame_content_size(frame) == unpacked:
            return zstandard.ZstdDecompressor().decompress(frame, allow_extra_data=False)
    except zstandard.ZstdError as error:
        raise CorruptIndexError(f"segment {name} has a section that is no frame: {error}") from error
    raise CorruptIndexError(f"segment {name} has a section of another length")


def _sums_of(blob: Bytes) -> Sums:
    """Sum a section block by block as it will be in the file; only the last block is copied, to pad it."""
    n_whole = len(blob) // SUM_BLOCK_BYTES
    whole, rest = np.split(blob, [n_whole * SUM_BLOCK_BYTES])
    padded = np.append(rest, np.zeros(-len(rest) % ALIGNMENT, np.uint8))
    sums = np.empty(n_whole + bool(len(rest)), np.uint64)
    sum_blocks(whole.view(np.uint64), sums[:n_whole])
    sum_blocks(padded.view(np.uint64), sums[n_whole:])
    return sums


def slots_in(content: memoryview) -> NDArray[np.uint16] | None:
    """Return the slots of the documents of a damaged segment file; None when not even they can be read."""
    try:
        _, _, sections = read_header("", content)
    except (CorruptIndexError, OutdatedIndexError):
        return None
    offset, length, _, checksum = sections["slots"]
    padded = bytes(content[offset : offset + length + -length % ALIGNMENT])
    if xxhash.xxh3_64_intdigest(padded) != checksum:
        return None
    return np.frombuffer(padded[:length], np.uint16)


def read_header(name: str, content: memoryview) -> tuple[int, int, dict[str, tuple[int, int, int, int]]]:
    """Return how many documents and entries there are, and of each section the numbers in the header.

    Raises:
      CorruptIndexError: it is damaged or sections do not follow one another to the end of the file.
      OutdatedIndexError.
    """
    if len(content) < _FIRST_OFFSET:
        raise CorruptIndexError(f"segment {name} is cut off: {len(content)} bytes")
    magic, version, analysis, document_count, entry_count = _FIXED_HEAD.unpack_from(content)
    header_bytes = _HEADER_BYTES_OF.get(version, _HEADER_BYTES)
    checksum = int.from_bytes(content[header_bytes : header_bytes + 8], "little")
    if xxhash.xxh3_64_intdigest(content[:header_bytes]) != checksum or magic != _MAGIC:
        raise CorruptIndexError(f"segment {name} is damaged in its header")
    if (version, analysis) != (FORMAT_VERSION, ANALYSIS_VERSION):
        raise OutdatedIndexError(
            f"segment {name} has format {version} and analysis {analysis}, this program writes "
            f"{FORMAT_VERSION} and {ANALYSIS_VERSION}: its pages have to be indexed anew"
        )
    if any(content[_HEADER_BYTES + 8 : _FIRST_OFFSET]):
        raise CorruptIndexError(f"segment {name} is damaged after its header")
    entries = _SECTION_ENTRY.iter_unpack(content[_FIXED_HEAD.size : _HEADER_BYTES])
    sections = dict(zip(SECTIONS, entries, strict=True))
    if sections["sketches"][1] != document_count * SKETCH_BYTES:
        raise CorruptIndexError(f"segment {name} has sketches of other documents")
    expected = _FIRST_OFFSET
    for section, (offset, length, unpacked, _) in sections.items():
        may_differ = section in PACKED and length < unpacked <= _unpacked_most(length, document_count)
        if (
            offset != expected
            or not (may_differ or length == unpacked)
            or unpacked % np.dtype(SECTIONS[section]).itemsize
        ):
            raise CorruptIndexError(f"segment {name} is damaged in its header")
        expected += length + -length % ALIGNMENT
    if expected != len(content):
        raise CorruptIndexError(f"segment {name} is cut off or has grown: {len(content)} bytes")
    offset, length, *_ = sections["stored"]
    if any(content[offset + length :]):
        raise CorruptIndexError(f"segment {name} is damaged after its documents")
    return document_count, entry_count, sections
