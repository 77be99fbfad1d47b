"""A segment opened for reading: an immutable part of the index, one file, memory-mapped.

Its format is in `segment_format`.

Checks
  A medium may give other bytes than were written, at any time: pages that are not used leave memory and are
  read again. So what is searched at random (all but the three large sections: some 120 bytes a document and
  14 a dictionary entry) is checked and copied into memory when a segment is opened, and the large sections,
  `postings`, `positions` and `stored`, are mapped and checked block by block whenever they are read. A byte
  that differs is noticed by whoever would use it: DamagedSegmentError.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from functools import cached_property
from itertools import pairwise
from typing import Any

import msgspec
import numpy as np
import xxhash
import zstandard
from numpy.typing import NDArray

from mesh.stamp import Stamp
from peers.engine.files.errors import CorruptIndexError, DamagedSegmentError
from peers.engine.files.stored_blocks import BLOCK_BYTES_MAX, BlockPacker, Blocks, raw_documents
from peers.engine.native.compiled import strings_at
from peers.engine.native.kernels import FIELD_COUNT, SUM_BLOCK_BYTES, find
from peers.engine.native.lists import Postings, find_damage
from peers.engine.pages.document import Document
from peers.engine.pages.near_copies import SKETCH_WORDS, Sketches
from peers.engine.postings.dictionary import (
    BLOCK_ENTRIES,
    FOUND_COLUMNS,
    Dictionary,
    Lexicon,
    lexicon_of,
    list_entries,
    look_up,
    unpack_blocks,
    unpack_dictionary,
)
from peers.engine.postings.entries import Entries
from peers.engine.segments.segment_format import ALIGNMENT, SECTIONS, read_header, unpack_section
from peers.kernel import Bytes, Floats, Ints, Lengths, Strings, Sums, Words

_URLS_AT_ONCE = 1 << 16


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
        self.document_count, self.entry_count, self._sections = read_header(name, content)
        self.slots: NDArray[np.uint16] = self._resident("slots")
        self.visits: Lengths = self._resident("visits")
        self.fetched_at: Floats = self._resident("fetched_at")
        self.dates: Ints = self._resident("dates")
        self.linking_hosts: Lengths = self._resident("linking_hosts")
        self.contents: Ints = self._resident("contents")
        self.sketches: Sketches = self._resident("sketches").reshape(-1, SKETCH_WORDS)
        if self._sections["lengths"][2] != self.document_count * FIELD_COUNT * 4:
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
        """Return the range of bytes that a section has in the file, without the padding up to the next."""
        offset, length, *_ = self._sections[section]
        return range(offset, offset + length)

    @cached_property
    def lexicon(self) -> Lexicon:
        """The dictionary as kernels get it; of a segment that was checked, where it came from elsewhere."""
        return lexicon_of(self.dictionary, self.dictionary_blocks, self.entry_count)

    @cached_property
    def untils(self) -> Floats:
        """When each document was replaced, seconds since the epoch; of a segment of such (`pages.past`)."""
        ends = [np.empty(0)]
        for first in range(0, self.document_count, _URLS_AT_ONCE):
            places = self.url_starts[first + 1 : first + 1 + _URLS_AT_ONCE]
            digits = self.urls[places[:, None] + np.arange(-16, 0)]
            values = digits - np.where(digits < ord("a"), ord("0"), ord("a") - 10).astype(np.uint8)
            ends.append((values[:, ::2] << 4 | values[:, 1::2]).view(">f8").ravel())
        return np.concatenate(ends)

    def stamp(self, document: int) -> Stamp:
        """Return which version of its page a document is."""
        return Stamp(int(self.visits[document]), float(self.fetched_at[document]))

    @property
    def stored_bytes(self) -> int:
        """The length of the stored documents, compressed."""
        return self._sections["stored"][1]

    def _padded(self, name: str) -> memoryview:
        offset, length, *_ = self._sections[name]
        return self.content[offset : offset + length + -length % ALIGNMENT]

    def _mapped(self, name: str) -> NDArray[Any]:
        return np.frombuffer(self._padded(name)[: self._sections[name][1]], SECTIONS[name])

    def _resident(self, name: str) -> NDArray[Any]:
        """Return a section that is checked, out of reach of the medium."""
        _, length, unpacked, checksum = self._sections[name]
        padded = bytes(self._padded(name))
        if xxhash.xxh3_64_intdigest(padded) != checksum:
            raise CorruptIndexError(f"segment {self.name} is damaged in its {name}")
        section = unpack_section(self.name, padded, length, unpacked)
        return np.frombuffer(section, SECTIONS[name], unpacked // np.dtype(SECTIONS[name]).itemsize)

    def verify(self) -> None:
        """Check the large sections as a whole. DamagedSegmentError."""
        for name in ("postings", "positions", "stored"):
            if xxhash.xxh3_64_intdigest(self._padded(name)) != self._sections[name][-1]:
                raise self._damaged(f"its {name}")

    def check_postings(self, known: Entries) -> None:
        """Check the postings of some entries, which are about to be read whole.

        Raises:
          DamagedSegmentError: a block of them is damaged.
        """
        starts, ends = known.starts.copy(), known.ends.copy()
        self.refuse_postings(find_damage(self.lists, starts, ends))

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

    def look_up(self, entries: Strings) -> Entries:
        """Return the data that the dictionary has on entries."""
        found = np.empty(len(entries) * FOUND_COLUMNS, np.int64)
        look_up(self.lexicon, entries, found)
        return Entries(found.reshape(-1, FOUND_COLUMNS))

    def beginning_with(self, prefix: str, n_max: int = 1 << 40) -> Entries:
        """Return the dictionary's data on the entries that begin with a string, at most the first n_max.

        Its last character is not the last there is.
        """
        successor = prefix[:-1] + chr(ord(prefix[-1]) + 1)
        # A surrogate, as the successor of U+D7FF is, has its place between its neighbours.
        first, end = (self._rank(each.encode(errors="surrogatepass")) for each in (prefix, successor))
        return self._listed(first, min(end, first + n_max))

    def names(self, numbers: Ints) -> list[str]:
        """Return entries as strings; of neighbours the block is read once."""
        found: list[str] = []
        read, here = -1, None
        for number in numbers.tolist():
            block, place = divmod(number, BLOCK_ENTRIES)
            if here is None or block != read:
                read, here = block, self.entries_of_blocks(block, block + 1)
            found.append(here.terms[here.term_starts[place] : here.term_starts[place + 1]].tobytes().decode())
        return found

    def _listed(self, first: int, end: int) -> Entries:
        found = np.empty(max(end - first, 0) * FOUND_COLUMNS, np.int64)
        list_entries(self.dictionary, self.dictionary_blocks, first, end, found)
        return Entries(found.reshape(-1, FOUND_COLUMNS))

    def _rank(self, entry: bytes) -> int:
        """Return how many entries are less."""
        return look_up(self.lexicon, [entry], np.empty(FOUND_COLUMNS, np.int64))

    def entries(self) -> Dictionary:
        """Return the whole dictionary as arrays: some 45 bytes an entry.

        Raises:
          CorruptIndexError: it is none. It was checked when the segment was opened: nobody wrote one.
        """
        return self._whole(unpack_dictionary(self.dictionary, self.dictionary_blocks, self.entry_count))

    def entries_of_blocks(self, first: int, end: int) -> Dictionary:
        """Return the entries of some blocks of the dictionary; raises as `entries`."""
        blocks = unpack_blocks(self.dictionary, self.dictionary_blocks, self.entry_count, first, end)
        return self._whole(blocks)

    def _whole(self, dictionary: Dictionary | None) -> Dictionary:
        if dictionary is None:
            raise CorruptIndexError(f"segment {self.name} has no dictionary")
        return dictionary

    @cached_property
    def blocks_of_words(self) -> tuple[int, int]:
        """First and end of the blocks of the dictionary that may have words in Latin letters."""
        return self.blocks_between(b"a", b"{")

    def blocks_between(self, first: bytes, end: bytes | None) -> tuple[int, int]:
        """Return first and end of the blocks in which entries from `first` to before `end` are."""
        end_number = self.entry_count if end is None else max(self._rank(first), self._rank(end))
        return self._rank(first) // BLOCK_ENTRIES, -(-end_number // BLOCK_ENTRIES)

    def first_of_block(self, block: int) -> bytes:
        """Return the first entry of a block of the dictionary."""
        here = self.entries_of_blocks(block, block + 1)
        return here.terms[: here.term_starts[1]].tobytes()

    def find_urls(self, urls: Strings) -> Ints:
        """Return the document of each URL (UTF-8), deleted or not, -1 when there is none."""
        return _find(self.urls, self.url_starts, urls)

    def first_after(self, url: str) -> int:
        """Return the first document with a URL greater than this one."""
        return bisect_right(range(self.document_count), url.encode(errors="replace"), key=self.url)

    def url(self, document: int) -> bytes:
        """Return the URL of a document in UTF-8."""
        return self._url_text[self._url_places[document] : self._url_places[document + 1]]

    def urls_of(self, documents: Sequence[int]) -> list[str]:
        """Return the URLs of documents."""
        return strings_at(self.urls, self.url_starts, documents)

    def slots_of(self, documents: Sequence[int]) -> list[int]:
        """Return the slots of documents."""
        numbers = self._slot_numbers
        return [numbers[document] for document in documents]

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
        offset, *_ = self._sections["stored"]
        return sum(
            zstandard.frame_content_size(self.content[offset + start : offset + end])
            for start, end in pairwise(self.block_starts.tolist())
        )

    def repacked(self, documents: Ints) -> Blocks:
        """Return some documents, given in ascending order, in blocks; whole blocks are not compressed again.

        Raises:
          DamagedSegmentError.
        """
        packer = BlockPacker()
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
        return raw_documents(zstandard.ZstdDecompressor().decompress(compressed))

    def _compressed(self, block: int) -> bytes:
        offset, *_ = self._sections["stored"]
        start, end = self.block_starts[block : block + 2].tolist()
        # Copied first: what is checked is what is used.
        compressed = bytes(self.content[offset + start : offset + end])
        if xxhash.xxh3_64_intdigest(compressed) != int(self.block_sums[block]):
            raise self._damaged(f"block {block} of its documents")
        return compressed


def _find(blob: Bytes, starts: Ints, wanted: Strings) -> Ints:
    found = np.empty(len(wanted), np.int64)
    find(blob, starts, wanted, found)
    return found
