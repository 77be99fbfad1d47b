"""An immutable part of the index: one file, memory-mapped.

Format, version 4, little-endian; every section starts at a multiple of 64 bytes
  header    magic "TIANSEG\\0", format version u32, analysis version u32, documents u32, entries u32, then for
            each section (offset u64, length u64, xxh3-64 u64), then the xxh3-64 of all that. A section's
            length and checksum include the zeros up to the next section, so no byte is unchecked.
  slots             u16 a document. Documents are numbered in the order of their URLs (bytes of UTF-8), so
                    that a lower number breaks ties in scores, and pages of a host are neighbours.
  fetched_at        f64 a document: its version, the same as in the stored document
  dates             i64 a document, seconds since the epoch: what it says itself, else when it was fetched
  linking_hosts     u32 a document
  lengths           u32 a document and field: title, anchor, heading, body, url. Terms, not atoms.
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

Checks
  A medium may give other bytes than were written, at any time: pages that are not used leave memory and are
  read again. So what is searched at random (all but the three large sections: some 120 bytes a document and
  14 a dictionary entry) is checked and copied into memory when a segment is opened, and the large sections,
  `postings`, `positions` and `stored`, are mapped and checked block by block whenever they are read. A byte
  that differs is noticed by whoever would use it: DamagedSegmentError.
"""

from __future__ import annotations

import struct
import sys
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import accumulate, pairwise
from typing import Any, NamedTuple, TypeAlias

import msgspec
import numpy as np
import xxhash
import zstandard
from numpy.typing import NDArray

from mesh.document import Document
from peers.engine.dictionary import (
    BLOCK_ENTRIES,
    BLOCK_NUMBERS,
    DOC_FREQ,
    END,
    FOUND_COLUMNS,
    NUMBER,
    START,
    Dictionary,
    list_entries,
    look_up,
    pack_dictionary,
    unpack_dictionary,
)
from peers.engine.kernels import FIELD_COUNT, SUM_BLOCK_BYTES, find, find_damage, sum_blocks
from peers.engine.lists import Postings
from peers.engine.scratch import Scratch, Spool, in_memory
from peers.kernel import Bytes, Floats, Ints, Lengths, Sums, Words
from peers.text.analysis import ANALYSIS_VERSION

FORMAT_VERSION = 4
HOST_PREFIX = "\x02"
LANGUAGE_PREFIX = "\x04"
TYPE_PREFIX = "\x05"

# Blocks of this many bytes before compression: 3.5 times smaller than the text, 30 us to read one.
BLOCK_BYTES = 64 * 1024
# One document of the largest page the parser lets through, and more: a bound for decompression.
BLOCK_BYTES_MAX = 256 * 1024 * 1024
# Of a segment that is sent to another index, where the sender says nothing else.
EXPORTED_BYTES_MAX = 9 << 20

# Lists of entries that are packed: those of the queries that are being answered.
PACKED_MAX = 64

_MAGIC = b"TIANSEG\0"
_ALIGNMENT = 64
_SECTIONS: Mapping[str, type[Any]] = {
    "slots": np.uint16,
    "fetched_at": np.float64,
    "dates": np.int64,
    "linking_hosts": np.uint32,
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
_FIXED_HEAD = struct.Struct("<8sIIII")
_SECTION_ENTRY = struct.Struct("<QQQ")
_HEADER_BYTES = _FIXED_HEAD.size + _SECTION_ENTRY.size * len(_SECTIONS)
# Of formats with other sections.
_HEADER_BYTES_OF = {
    version: _FIXED_HEAD.size + _SECTION_ENTRY.size * n_sections for version, n_sections in ((1, 15), (2, 18))
}
_FIRST_OFFSET = -(-(_HEADER_BYTES + 8) // _ALIGNMENT) * _ALIGNMENT

assert sys.byteorder == "little", "segments are mapped as they are: little-endian machines only"


class CorruptIndexError(Exception):
    """Bytes on the medium are not what was written; the file has to be rebuilt or fetched from a standby."""


class DamagedSegmentError(CorruptIndexError):
    """An open segment turned out to be damaged: none of its documents can be relied on.

    Attributes:
      segment: name of its file.
      slots: those of its documents, the deleted included, distinct.
    """

    def __init__(self, place: str, segment: str, slots: NDArray[np.uint16]) -> None:
        super().__init__(f"segment {segment} is damaged in {place}")
        self.segment = segment
        self.slots = slots


class OutdatedIndexError(Exception):
    """Written by a program whose analysis or format differs; the index has to be rebuilt from the pages."""


class SegmentData(msgspec.Struct, frozen=True):
    """What a segment is made of, see the format; the last four as `pack_blocks` gives them."""

    slots: NDArray[np.uint16]
    fetched_at: Floats
    dates: Ints
    linking_hosts: Lengths
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
    for name in _SECTIONS:
        content = np.ascontiguousarray(arrays[name]).reshape(-1).view(np.uint8).data
        padding = bytes(-len(content) % _ALIGNMENT)
        checksum = xxhash.xxh3_64(content)
        checksum.update(padding)
        entries.append(_SECTION_ENTRY.pack(offset, len(content), checksum.intdigest()))
        body += [content, padding]
        offset += len(content) + len(padding)
    head = _FIXED_HEAD.pack(
        _MAGIC, FORMAT_VERSION, ANALYSIS_VERSION, len(data.slots), len(data.dictionary.doc_freqs)
    )
    head += b"".join(entries)
    head += xxhash.xxh3_64_intdigest(head).to_bytes(8, "little")
    return [head.ljust(_FIRST_OFFSET, b"\0"), *body]


def _sums_of(blob: Bytes) -> Sums:
    """Sum a section block by block as it will be in the file; only the last block is copied, to pad it."""
    n_whole = len(blob) // SUM_BLOCK_BYTES
    whole, rest = np.split(blob, [n_whole * SUM_BLOCK_BYTES])
    padded = np.append(rest, np.zeros(-len(rest) % _ALIGNMENT, np.uint8))
    sums = np.empty(n_whole + bool(len(rest)), np.uint64)
    sum_blocks(whole.view(np.uint64), sums[:n_whole])
    sum_blocks(padded.view(np.uint64), sums[n_whole:])
    return sums


Blocks: TypeAlias = tuple[Bytes, Ints, Ints, Sums]  # stored, block_starts, block_documents, block_sums


def pack_blocks(documents: Iterable[bytes], scratch: Scratch = in_memory, n_bytes: int = 0) -> Blocks:
    """Compress encoded documents, in order, into blocks, see the format.

    Args:
      scratch: for the blocks, which will have about `n_bytes`.
    """
    packer = _Packer(scratch, n_bytes)
    for document in documents:
        packer.add(document)
    return packer.finish()


class _Packer:
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


def as_bytes(content: bytes) -> Bytes:
    """View bytes as the array that kernels take."""
    return np.frombuffer(content, np.uint8)


def pack_strings(strings: Sequence[bytes]) -> tuple[Bytes, Ints]:
    """Return strings one after the other, and where each starts (n + 1)."""
    starts = list(accumulate(map(len, strings), initial=0))
    return as_bytes(b"".join(strings)), np.array(starts, np.int64)


@lru_cache(maxsize=PACKED_MAX)
def packed(entries: tuple[str, ...]) -> tuple[Bytes, Ints]:
    """Pack entries to be looked up: a query asks each segment for the same ones."""
    return pack_strings([entry.encode() for entry in entries])


class Entries(NamedTuple):
    """What the dictionary of a segment says of some entries."""

    found: Ints  # (entries, FOUND_COLUMNS), as `look_up` finds it

    @property
    def numbers(self) -> Ints:
        """The number of each; -1: it is not there, and the rest is 0."""
        return self.found[:, NUMBER]

    @property
    def doc_freqs(self) -> Ints:
        """How many documents have each."""
        return self.found[:, DOC_FREQ]

    @property
    def starts(self) -> Ints:
        """Where the postings of each start."""
        return self.found[:, START]

    @property
    def ends(self) -> Ints:
        """Where the postings of each end."""
        return self.found[:, END]

    def at(self, places: Ints | Sequence[int] | slice) -> Entries:
        """Return some of them, in this order."""
        return Entries(self.found[places])

    def __len__(self) -> int:
        return len(self.found)


class Segment:
    """A segment opened for reading; immutable, any number of threads may use it."""

    def __init__(self, name: str, content: memoryview) -> None:
        """Check and map a segment file.

        Raises:
          CorruptIndexError: a byte of what is checked now differs from what was written, or some are missing.
          OutdatedIndexError: another version wrote it.
        """
        self.name = name
        self.content = content
        self.size_bytes = len(content)
        self.document_count, self.entry_count, self._sections = _read_header(name, content)
        self.slots: NDArray[np.uint16] = self._resident("slots")
        self.fetched_at: Floats = self._resident("fetched_at")
        self.dates: Ints = self._resident("dates")
        self.linking_hosts: Lengths = self._resident("linking_hosts")
        if self._sections["lengths"][1] != self.document_count * FIELD_COUNT * 4:
            raise CorruptIndexError(f"segment {name} has lengths of other documents")
        self.lengths: Lengths = self._resident("lengths").reshape(-1, FIELD_COUNT)
        self.urls: Bytes = self._resident("urls")
        self.url_starts: Ints = self._resident("url_starts")
        # Other views of these: indexing one element of an array costs ten times as much.
        assert isinstance(self.urls.base, bytes), "a section that is resident is a copy"
        self._url_text: bytes = self.urls.base
        self._url_places: memoryview = self.url_starts.data
        self._slot_numbers: memoryview = self.slots.data
        self.dictionary: Bytes = self._resident("dictionary")
        self.dictionary_blocks: Ints = self._resident("dictionary_blocks")
        self.postings: Bytes = self._mapped("postings")
        self.positions: Bytes = self._mapped("positions")
        self.block_starts: Ints = self._resident("block_starts")
        self.block_documents: Ints = self._resident("block_documents")
        self.block_sums: Sums = self._resident("block_sums")
        self.postings_sums: Sums = self._resident("postings_sums")
        self.positions_sums: Sums = self._resident("positions_sums")
        # Other views of the two, with the zeros behind them.
        self.postings_words: Words = np.frombuffer(self._padded("postings"), np.uint32)
        self.postings_summed: Sums = np.frombuffer(self._padded("postings"), np.uint64)
        self.positions_summed: Sums = np.frombuffer(self._padded("positions"), np.uint64)
        for summed, sums in (
            (self.postings_summed, self.postings_sums),
            (self.positions_summed, self.positions_sums),
        ):
            if len(sums) != -(-summed.nbytes // SUM_BLOCK_BYTES):
                raise CorruptIndexError(f"segment {name} has sums of other postings")
        # As kernels get them.
        self.lexicon: tuple[Bytes, Ints, int] = (self.dictionary, self.dictionary_blocks, self.entry_count)
        self.lists: Postings = Postings(
            self.postings,
            self.postings_words,
            self.postings_summed,
            self.postings_sums,
            self.positions,
            self.positions_summed,
            self.positions_sums,
        )

    def place_of(self, section: str) -> range:
        """Return the bytes of the file that a section has, without what follows up to the next one."""
        offset, length, _ = self._sections[section]
        return range(offset, offset + length)

    @property
    def stored_bytes(self) -> int:
        """The length of the stored documents, compressed."""
        return self._sections["stored"][1]

    def _padded(self, name: str) -> memoryview:
        offset, length, _ = self._sections[name]
        return self.content[offset : offset + length + -length % _ALIGNMENT]

    def _mapped(self, name: str) -> NDArray[Any]:
        return np.frombuffer(self._padded(name)[: self._sections[name][1]], _SECTIONS[name])

    def _resident(self, name: str) -> NDArray[Any]:
        """Return a section that is checked, out of reach of the medium."""
        _, length, checksum = self._sections[name]
        padded = bytes(self._padded(name))
        if xxhash.xxh3_64_intdigest(padded) != checksum:
            raise CorruptIndexError(f"segment {self.name} is damaged in its {name}")
        return np.frombuffer(padded, _SECTIONS[name], length // np.dtype(_SECTIONS[name]).itemsize)

    def verify(self) -> None:
        """Check the large sections as a whole. DamagedSegmentError."""
        for name in ("postings", "positions", "stored"):
            if xxhash.xxh3_64_intdigest(self._padded(name)) != self._sections[name][2]:
                raise self._damaged(f"its {name}")

    def check_postings(self, known: Entries) -> None:
        """Check the postings of some entries, which are about to be read whole.

        Raises:
          DamagedSegmentError: a block of them is damaged.
        """
        starts, ends = known.starts.copy(), known.ends.copy()
        self.refuse_postings(find_damage(self.postings_summed, self.postings_sums, starts, ends))

    def refuse_postings(self, block: int) -> None:
        """Raise DamagedSegmentError for a damaged block, unless it is -1, which is none."""
        if block >= 0:
            raise self._damaged(f"block {block} of its postings")

    def refuse_positions(self, block: int) -> None:
        """Raise DamagedSegmentError for a damaged block, unless it is -1, which is none."""
        if block >= 0:
            raise self._damaged(f"block {block} of its positions")

    def _damaged(self, place: str) -> DamagedSegmentError:
        return DamagedSegmentError(place, self.name, np.unique(self.slots))

    def look_up(self, entries: Sequence[str]) -> Entries:
        """Return what the dictionary says of entries."""
        found = np.empty(len(entries) * FOUND_COLUMNS, np.int64)
        look_up(self.dictionary, self.dictionary_blocks, self.entry_count, *packed(tuple(entries)), found)
        return Entries(found.reshape(-1, FOUND_COLUMNS))

    def beginning_with(self, prefix: str, n_max: int = 1 << 40) -> Entries:
        """Return what the dictionary says of the entries that begin with a string, at most the first n_max.

        Its last character is not the last there is.
        """
        successor = prefix[:-1] + chr(ord(prefix[-1]) + 1)
        first, end = self._rank(prefix), self._rank(successor)
        return self._listed(first, min(end, first + n_max))

    def names(self, numbers: Ints) -> list[str]:
        """Return entries as strings."""
        return [self.term(number).decode() for number in numbers.tolist()]

    def term(self, number: int) -> bytes:
        """Return an entry of the dictionary in UTF-8."""
        name = b""
        at = int(self.dictionary_blocks[number // BLOCK_ENTRIES * BLOCK_NUMBERS])
        for _ in range(number % BLOCK_ENTRIES + 1):
            shared, at = _varint(self.dictionary, at)
            rest, at = _varint(self.dictionary, at)
            name = name[:shared] + self.dictionary[at : at + rest].tobytes()
            at += rest
            for _ in range(3):
                _, at = _varint(self.dictionary, at)
        return name

    def _listed(self, first: int, end: int) -> Entries:
        found = np.empty(max(end - first, 0) * FOUND_COLUMNS, np.int64)
        list_entries(self.dictionary, self.dictionary_blocks, first, end, found)
        return Entries(found.reshape(-1, FOUND_COLUMNS))

    def _rank(self, entry: str) -> int:
        found = np.empty(FOUND_COLUMNS, np.int64)
        # A surrogate, as the successor of U+D7FF is, has its place between its neighbours.
        strings = pack_strings([entry.encode(errors="surrogatepass")])
        return look_up(self.dictionary, self.dictionary_blocks, self.entry_count, *strings, found)

    def entries(self) -> Dictionary:
        """Return the whole dictionary as arrays: some 45 bytes an entry.

        Raises:
          CorruptIndexError: it is none. It was checked when the segment was opened: nobody wrote one.
        """
        dictionary = unpack_dictionary(self.dictionary, self.dictionary_blocks, self.entry_count)
        if dictionary is None:
            raise CorruptIndexError(f"segment {self.name} has no dictionary")
        return dictionary

    def find_urls(self, urls: Sequence[bytes]) -> Ints:
        """Return the document of each URL (UTF-8), deleted or not, -1 when there is none."""
        return _find(self.urls, self.url_starts, urls)

    def first_after(self, url: str) -> int:
        """Return the first document whose URL is greater than this one."""
        return bisect_right(range(self.document_count), url.encode(errors="replace"), key=self.url)

    def url(self, document: int) -> bytes:
        """Return the URL of a document in UTF-8."""
        return self._url_text[self._url_places[document] : self._url_places[document + 1]]

    def urls_of(self, documents: Sequence[int]) -> list[str]:
        """Return the URLs of documents."""
        text, places = self._url_text, self._url_places
        return [text[places[document] : places[document + 1]].decode() for document in documents]

    def slots_of(self, documents: Sequence[int]) -> list[int]:
        """Return the slots of documents."""
        slots = self._slot_numbers
        return [slots[document] for document in documents]

    def stored(self, document: int) -> Document:
        """Read a stored document. DamagedSegmentError when its block is damaged."""
        (raw,) = self.encoded_documents(np.array([document]))
        return msgspec.msgpack.decode(raw, type=Document)

    def encoded_documents(self, documents: Ints) -> Iterator[msgspec.Raw]:
        """Read stored documents, given in ascending order, encoded as `pack_blocks` takes them."""
        blocks = np.searchsorted(self.block_documents, documents, "right") - 1
        current, raws = -1, list[msgspec.Raw]()
        for document, block in zip(documents.tolist(), blocks.tolist(), strict=True):
            if block != current:
                current, raws = block, self.block(block)
            yield raws[document - int(self.block_documents[block])]

    @property
    def text_bytes(self) -> int:
        """The length of the stored documents before compression."""
        offset, _, _ = self._sections["stored"]
        return sum(
            zstandard.frame_content_size(self.content[offset + start : offset + end])
            for start, end in pairwise(self.block_starts.tolist())
        )

    def repacked(self, documents: Ints) -> Blocks:
        """Return some documents, given in ascending order, in blocks; whole blocks are not compressed again.

        Raises:
          DamagedSegmentError.
        """
        packer = _Packer()
        block_of = np.searchsorted(self.block_documents, documents, "right") - 1
        blocks, places, counts = np.unique(block_of, return_index=True, return_counts=True)
        for block, place, n_documents in zip(blocks.tolist(), places.tolist(), counts.tolist(), strict=True):
            first, end = self.block_documents[block : block + 2].tolist()
            if n_documents == end - first:
                packer.add_block(self._compressed(block), n_documents)
                continue
            raws = self.block(block)
            for document in documents[place : place + n_documents].tolist():
                packer.add(bytes(raws[document - first]))
        return packer.finish()

    def block(self, block: int) -> list[msgspec.Raw]:
        """Read a block of stored documents. DamagedSegmentError."""
        compressed = self._compressed(block)
        # A frame's own claim is what the decompressor allocates, whatever it is told.
        if not 0 <= zstandard.frame_content_size(compressed) <= BLOCK_BYTES_MAX:
            raise self._damaged(f"block {block} of its documents")
        return _raw_documents(zstandard.ZstdDecompressor().decompress(compressed))

    def _compressed(self, block: int) -> bytes:
        offset, _, _ = self._sections["stored"]
        start, end = self.block_starts[block : block + 2].tolist()
        # Copied first: what is checked is what is used.
        compressed = bytes(self.content[offset + start : offset + end])
        if xxhash.xxh3_64_intdigest(compressed) != int(self.block_sums[block]):
            raise self._damaged(f"block {block} of its documents")
        return compressed


def slots_in(content: memoryview) -> NDArray[np.uint16] | None:
    """Return the slots of the documents of a damaged segment file; None when not even they can be read."""
    try:
        _, _, sections = _read_header("", content)
    except (CorruptIndexError, OutdatedIndexError):
        return None
    offset, length, checksum = sections["slots"]
    padded = bytes(content[offset : offset + length + -length % _ALIGNMENT])
    if xxhash.xxh3_64_intdigest(padded) != checksum:
        return None
    return np.frombuffer(padded[:length], np.uint16)


def _read_header(name: str, content: memoryview) -> tuple[int, int, dict[str, tuple[int, int, int]]]:
    """Return how many documents and entries there are, and of each section offset, length and checksum.

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
    sections = dict(zip(_SECTIONS, entries, strict=True))
    expected = _FIRST_OFFSET
    for section, (offset, length, _) in sections.items():
        if offset != expected or length % np.dtype(_SECTIONS[section]).itemsize:
            raise CorruptIndexError(f"segment {name} is damaged in its header")
        expected += length + -length % _ALIGNMENT
    if expected != len(content):
        raise CorruptIndexError(f"segment {name} is cut off or has grown: {len(content)} bytes")
    offset, length, _ = sections["stored"]
    if any(content[offset + length :]):
        raise CorruptIndexError(f"segment {name} is damaged after its documents")
    return document_count, entry_count, sections


def _varint(data: Bytes, at: int) -> tuple[int, int]:
    """Read a varint of the dictionary, where calling a kernel would cost more; return (value, next)."""
    value, shift = int(data[at]) & 127, 7
    while data[at] >= 128:
        at += 1
        value |= (int(data[at]) & 127) << shift
        shift += 7
    return value, at + 1


def _raw_documents(raw: bytes) -> list[msgspec.Raw]:
    return msgspec.msgpack.decode(raw, type=list[msgspec.Raw])


def _find(blob: Bytes, starts: Ints, wanted: Sequence[bytes]) -> Ints:
    found = np.empty(len(wanted), np.int64)
    find(blob, starts, *pack_strings(wanted), found)
    return found
