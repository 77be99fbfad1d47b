"""Export the documents of some slots as segments that another index can adopt.

Theory of operation
  A segment is cut into slices of consecutive documents, each about as large as may be sent at once. Its
  terms have cursors into their postings, so each posting is read once, however many slices there are, and
  what is in memory is one slice, and some 60 bytes a term of the segment that is being cut. How large a
  slice will be is estimated from its share of the segment and from how the estimate of the last one turned
  out; one that got too large all the same is split in halves. Slices that are small, as of young segments or
  of few slots, are merged into larger ones.

  Building the same documents anew means cutting all their text into terms; here it is only compressed again.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

import numpy as np

from mesh.slot_limits import SLOTS_MAX
from mesh.slot_set import SlotMask
from peers.engine.files.errors import DamagedSegmentError
from peers.engine.files.stored_blocks import BLOCK_BYTES_MAX
from peers.engine.merging.segment_merge import gathered, merge_segments
from peers.engine.postings.dictionary import Dictionary
from peers.engine.postings.format import BLOCK, ENTRY_BYTES_MAX, POSTING_BYTES_MAX
from peers.engine.postings.reader import Inverted
from peers.engine.postings.slicer import Cursors, begin_slices, slice_postings
from peers.engine.postings.writer import new_lists
from peers.engine.segments.live_segment import LiveSegment
from peers.engine.segments.segment import Segment
from peers.engine.segments.segment_format import EXPORTED_BYTES_MAX, SegmentData, encode_segment
from peers.kernel import Floats, Ints

_FIRST_FACTOR: Final = 1.5  # a slice has more dictionary for its documents than the whole has


class ExportSizes(NamedTuple):
    """How large exported segments are."""

    bytes_meant: int = 6_000_000  # surprises have the rest of what is allowed; under half of it: merged
    bytes_max: int = EXPORTED_BYTES_MAX


DEFAULT_SIZES: Final = ExportSizes()


class Export(Iterator[bytes]):
    """Encoded segments with the live documents of some slots, each made when it is asked for.

    Attributes (complete when the last one has been given):
      left_out: URLs of documents that are too large to be sent as segments.
      damaged: segments that turned out to be damaged; what had not been taken of them is missing.
    """

    def __init__(self, segments: Sequence[LiveSegment], slots: SlotMask, sizes: ExportSizes) -> None:
        self.left_out: list[str] = []
        self.damaged: list[DamagedSegmentError] = []
        self._sources = segments
        self._sizes = sizes
        self._slots = np.zeros(SLOTS_MAX, np.bool_)
        self._slots[: len(slots)] = slots
        self._segments = self._merged(self._slices())

    def __next__(self) -> bytes:
        return next(self._segments)

    def _slices(self) -> Iterator[bytes]:
        bytes_meant = self._sizes.bytes_meant
        for source in self._sources:
            is_wanted = (source.live & self._slots[source.segment.slots]).view(np.bool_)
            try:
                if is_wanted.any():
                    for content in _slices_of(source.segment, np.flatnonzero(is_wanted), bytes_meant):
                        yield from self._fitting(content)
            except DamagedSegmentError as error:
                self.damaged.append(error)

    def _fitting(self, content: bytes) -> Iterator[bytes]:
        """Yield a segment, or if it is too large its halves."""
        segment = Segment("", memoryview(content))
        if len(content) <= self._sizes.bytes_max and segment.text_bytes <= BLOCK_BYTES_MAX:
            yield content
        elif segment.document_count == 1:
            self.left_out.append(segment.url(0).decode())
        else:
            is_first = np.zeros(segment.document_count, np.uint8)
            is_first[: segment.document_count // 2] = 1
            for half in (is_first, 1 - is_first):
                yield from self._fitting(_merge([LiveSegment(segment, half)]))

    def _merged(self, slices: Iterator[bytes]) -> Iterator[bytes]:
        small: list[bytes] = []
        bytes_meant = self._sizes.bytes_meant
        for content in slices:
            if len(content) > bytes_meant // 2:
                yield content
                continue
            if sum(map(len, small)) + len(content) > bytes_meant:
                yield from self._joined(small)
                small = []
            small.append(content)
        yield from self._joined(small)

    def _joined(self, contents: list[bytes]) -> Iterator[bytes]:
        if len(contents) <= 1:
            yield from contents
            return
        segments = [Segment("", memoryview(content)) for content in contents]
        yield from self._fitting(
            _merge([LiveSegment(each, np.ones(each.document_count, np.uint8)) for each in segments])
        )


def _merge(segments: Sequence[LiveSegment]) -> bytes:
    return b"".join(encode_segment(merge_segments(segments).data))


def _slices_of(segment: Segment, wanted: Ints, bytes_meant: int) -> Iterator[bytes]:
    """Yield the wanted documents of a segment, in order, in segments of about so many bytes.

    Raises:
      DamagedSegmentError.
    """
    segment.verify()
    sizes = np.cumsum(_estimated_bytes(segment)[wanted])
    slicer = _Slicer(segment)
    factor = _FIRST_FACTOR
    first, before = 0, 0.0
    while first < len(wanted):
        end = int(np.searchsorted(sizes, before + bytes_meant / factor, "right"))
        end = max(end, first + 1)
        content = b"".join(encode_segment(slicer.take(wanted[first:end])))
        yield content
        factor = len(content) / (float(sizes[end - 1]) - before)
        first, before = end, float(sizes[end - 1])


def _estimated_bytes(segment: Segment) -> Floats:
    """Return about how many bytes of the segment each document takes."""
    weights = segment.lengths.sum(axis=1, dtype=np.float64) + 10.0
    in_block = np.add.reduceat(weights, segment.block_documents[:-1])
    block_of = np.searchsorted(segment.block_documents, np.arange(segment.document_count), "right") - 1
    block_bytes = np.diff(segment.block_starts)
    inverted_bytes = segment.size_bytes - segment.stored_bytes
    estimated: Floats = weights * ((block_bytes / in_block)[block_of] + inverted_bytes / float(weights.sum()))
    return estimated


class _Slicer:
    """Takes documents out of a segment, from the first to the last."""

    def __init__(self, segment: Segment) -> None:
        n_terms = segment.entry_count
        self._segment = segment
        self._entries = segment.entries()
        doc_freqs, places = self._entries.doc_freqs, self._entries.positions_starts
        self._lists = Inverted(segment.postings, segment.postings_words, segment.positions)
        self._cursors = Cursors(np.empty(n_terms, np.int64), np.zeros(n_terms, np.int64), places[:-1].copy())
        begin_slices(self._lists, self._entries.postings_starts, doc_freqs, self._cursors.pending)
        self._is_atom = (places[1:] > places[:-1]).view(np.uint8)
        self._documents = np.full(segment.document_count, -1, np.int64)
        # Room for the worst case; pages that are never written to are never in memory.
        n_postings = int(doc_freqs.sum())
        room = n_postings * POSTING_BYTES_MAX + (n_postings // BLOCK + 2) * ENTRY_BYTES_MAX
        self._terms = np.empty(n_terms, np.int64)  # of a slice
        words, positions = np.empty(room // 4, np.uint32), np.empty(len(segment.positions), np.uint8)
        self._written = new_lists(n_terms, words, positions)

    def take(self, wanted: Ints) -> SegmentData:
        """Return a segment of these documents; ascending, all behind those taken before."""
        segment = self._segment
        self._documents[wanted] = np.arange(len(wanted))
        lengths = segment.lengths[wanted]
        n_terms = slice_postings(
            self._lists,
            self._entries.postings_starts,
            self._entries.doc_freqs,
            self._is_atom,
            self._documents,
            lengths,
            int(wanted[-1]) + 1,
            self._cursors,
            self._terms,
            self._written,
        )
        written = self._written
        urls, url_starts = gathered(segment.urls, segment.url_starts, wanted)
        terms, term_starts = gathered(self._entries.terms, self._entries.term_starts, self._terms[:n_terms])
        starts, places = written.starts[: n_terms + 1].copy(), written.places[: n_terms + 1].copy()
        stored, block_starts, block_documents, block_sums = segment.repacked(wanted)
        return SegmentData(
            slots=segment.slots[wanted],
            visits=segment.visits[wanted],
            fetched_at=segment.fetched_at[wanted],
            dates=segment.dates[wanted],
            linking_hosts=segment.linking_hosts[wanted],
            contents=segment.contents[wanted],
            sketches=segment.sketches[wanted],
            lengths=lengths,
            urls=urls,
            url_starts=url_starts,
            dictionary=Dictionary(terms, term_starts, written.doc_freqs[:n_terms].copy(), starts, places),
            postings=written.postings[: starts[-1]].copy(),
            positions=written.positions[: places[-1]].copy(),
            block_starts=block_starts,
            block_documents=block_documents,
            block_sums=block_sums,
            stored=stored,
        )
