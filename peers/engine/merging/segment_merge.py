"""Merge segments: which ones, and how."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

import msgspec
import numpy as np
from msgspec.structs import replace
from numpy.typing import NDArray

from peers.engine.files.scratch import Scratch, in_memory, room
from peers.engine.files.stored_blocks import pack_blocks
from peers.engine.native.kernels import ANCHORS, merge_order
from peers.engine.pages.document import Document
from peers.engine.pages.filter_entries import NAME_PREFIX
from peers.engine.postings.dictionary import BLOCK_ENTRIES, BLOCK_NUMBERS, Dictionary
from peers.engine.postings.format import BLOCK, ENTRY_BYTES_MAX, POSTING_BYTES_MAX
from peers.engine.postings.merger import MergeSources, Relinked, merge_postings
from peers.engine.postings.reader import Inverted
from peers.engine.postings.writer import Written
from peers.engine.segments.live_segment import LiveSegment
from peers.engine.segments.segment import Segment
from peers.engine.segments.segment_format import SegmentData
from peers.kernel import Bytes, Ints, Lengths, Words

# A query costs about 0.1 ms a segment, with counting and features; a merge rewrites each document
# log(size) / log(factor) times.
MERGE_FACTOR = 8
# Smaller segments count as this size: many small commits are merged together, whatever their sizes.
SMALL_SEGMENT_BYTES = 2 * 1024 * 1024
# Larger segments are left alone, so that a merge needs bounded time, and room on the disk.
SEGMENT_BYTES_MAX = 2 * 1024 * 1024 * 1024
# A segment with more deleted documents than this is rewritten alone: they cost space and time of queries.
DELETED_SHARE_MAX = 0.4


# At rest the smaller segments are merged with one up to so many times as large as all of them: one or two
# remain. Measured on 54,000 pages on three peers, with 9 to 15 segments each: 12.0 ms of CPU a query, 7.4
# with one; to merge them took 3 s of CPU a peer.
REST_FACTOR = 4

# Merged in one go, of all sources together: large against the cost of a call, small against the memory that
# other work needs.
RANGE_BYTES = 16 * 1024 * 1024
ENTRY_BYTES = 100  # what an entry takes besides, while its range is merged
GATHERED_AT_ONCE = 4_096  # strings; each byte of theirs takes 24 meanwhile

_NONE_RELINKED: Final = np.empty(0, np.uint8)
# Of each document one item or row, which it keeps.
_COLUMNS: Final = (
    "slots",
    "visits",
    "fetched_at",
    "dates",
    "linking_hosts",
    "contents",
    "sketches",
    "lengths",
)


class SegmentSize(NamedTuple):
    """The size and document counts of a segment, by which the merge policy decides."""

    size_bytes: int
    document_count: int  # the deleted included
    live_count: int


def segments_to_merge(sizes: Sequence[SegmentSize]) -> list[int]:
    """Choose segments to be merged into one: their indexes, ascending, or none.

    Tiered: tier t holds segments of SMALL_SEGMENT_BYTES * MERGE_FACTOR^t bytes, the deleted left out. As
    soon as a tier has MERGE_FACTOR segments, the lowest first, all of it is merged; so there are never
    more than MERGE_FACTOR segments a tier for long. Failing that, the segment with most deleted
    documents is rewritten when they are more than DELETED_SHARE_MAX of it.
    """
    tiers: dict[int, list[int]] = {}
    for index, size in enumerate(sizes):
        live_bytes = size.size_bytes * size.live_count // size.document_count
        if live_bytes <= SEGMENT_BYTES_MAX // MERGE_FACTOR:
            tiers.setdefault(_tier_of(live_bytes), []).append(index)
    for _, members in sorted(tiers.items()):
        if len(members) >= MERGE_FACTOR:
            return members[: 2 * MERGE_FACTOR]
    shares = [1 - size.live_count / size.document_count for size in sizes]
    if shares and max(shares) > DELETED_SHARE_MAX:
        return [shares.index(max(shares))]
    return []


def segments_to_merge_at_rest(sizes: Sequence[SegmentSize]) -> list[int]:
    """Choose segments to be merged when nothing is written for a while: likewise.

    They cost every query, and no commit waits: the largest that is at most REST_FACTOR times as large as all
    smaller ones together, and these.
    """
    live_bytes = [size.size_bytes * size.live_count // size.document_count for size in sizes]
    small = [index for index, size in enumerate(live_bytes) if size <= SEGMENT_BYTES_MAX // MERGE_FACTOR]
    small.sort(key=lambda index: live_bytes[index])
    chosen, smaller_bytes = 0, 0
    for place, index in enumerate(small):
        if place and live_bytes[index] <= REST_FACTOR * smaller_bytes:
            chosen = place + 1
        smaller_bytes += live_bytes[index]
    return sorted(small[:chosen]) or segments_to_merge(sizes)


def _tier_of(size_bytes: int) -> int:
    tier, limit = 0, SMALL_SEGMENT_BYTES
    while size_bytes > limit:
        tier, limit = tier + 1, limit * MERGE_FACTOR
    return tier


class NewLinks(NamedTuple):
    """New link texts of some live documents of the sources, indexed already; they replace the old ones."""

    segment: Segment  # of what `builder.build_links` makes of them
    documents: Ints  # which they are, numbered over all sources


class MergedSegment(NamedTuple):
    """A segment made of others, and where their documents went."""

    data: SegmentData
    documents: list[Ints]  # for each source: new number of every document, -1 when it was deleted


def merge_segments(
    sources: Sequence[LiveSegment],
    scratch: Scratch = in_memory,
    range_bytes: int = RANGE_BYTES,
    links: NewLinks | None = None,
) -> MergedSegment:
    """Merge the live documents of segments that share no live URL; at least one document is live.

    Pure computation, nearly all of it without the GIL: run it on any thread.

    Args:
      scratch: for texts, addresses, postings and positions of the outcome.
      range_bytes: of postings, positions and entries, to be merged in one go.
      links: the outcome is what it would be if their documents had been indexed with these.

    Raises:
      DamagedSegmentError: a source is damaged; nothing of it gets a new checksum. OSError: no scratch.
    """
    segments: list[Segment] = [source.segment for source in sources]
    for segment in segments:
        segment.verify()
    bases = _starts_of([segment.document_count for segment in segments])
    live = np.concatenate([source.live for source in sources])
    urls, url_starts = _joined([(segment.urls, segment.url_starts) for segment in segments], scratch)
    documents = np.empty(len(live), np.int64)
    n_documents = merge_order(urls, url_starts, bases, live, documents)
    assert n_documents == int(live.sum()), "a URL is live in two segments"
    source_of = np.empty(n_documents, np.int64)  # new document -> old, numbered over all sources
    is_kept = documents >= 0
    source_of[documents[is_kept]] = np.flatnonzero(is_kept)
    merged_urls, merged_url_starts = gathered(urls, url_starts, source_of, scratch)
    columns = {
        name: np.concatenate([getattr(segment, name) for segment in segments])[source_of] for name in _COLUMNS
    }
    renumbered = _Renumbered(bases, documents, _NONE_RELINKED, columns["lengths"])
    encoded = _interleaved(sources, np.searchsorted(bases, source_of, "right") - 1)
    having_terms = segments
    if links is not None:
        having_terms, renumbered = [*segments, links.segment], _renumbered_with(renumbered, links)
        is_relinked = renumbered.is_relinked != 0
        columns["linking_hosts"][is_relinked] = links.segment.linking_hosts
        encoded = _with_links(encoded, is_relinked, links.segment)
    n_stored = sum(segment.stored_bytes for segment in segments)
    stored, block_starts, block_documents, block_sums = pack_blocks(encoded, scratch, n_stored)
    dictionary, postings, positions = _merge_dictionaries(having_terms, renumbered, scratch, range_bytes)
    data = SegmentData(
        **columns,
        urls=merged_urls,
        url_starts=merged_url_starts,
        stored=stored,
        block_starts=block_starts,
        block_documents=block_documents,
        block_sums=block_sums,
        dictionary=dictionary,
        postings=postings,
        positions=positions,
    )
    return MergedSegment(data, [documents[bases[i] : bases[i + 1]] for i in range(len(sources))])


class _Renumbered(NamedTuple):
    """How documents of segments become those of one."""

    bases: Ints  # where those of each segment start in `documents`, and the end
    documents: Ints  # the new number of each, -1 when it is dead
    is_relinked: Bytes  # of each new document: the last segment has what links tell of it; empty for none
    lengths: Lengths  # of the new documents


def _renumbered_with(before: _Renumbered, links: NewLinks) -> _Renumbered:
    """Put the segment of links, with its documents in ascending order, behind the others."""
    linked = before.documents[links.documents]
    is_relinked = np.zeros(len(before.lengths), np.uint8)
    is_relinked[linked] = 1
    before.lengths[linked, ANCHORS] = links.segment.lengths[:, ANCHORS]
    bases = np.append(before.bases, before.bases[-1] + len(linked))
    return _Renumbered(bases, np.concatenate([before.documents, linked]), is_relinked, before.lengths)


def _interleaved(sources: Sequence[LiveSegment], source_of: Ints) -> Iterator[bytes]:
    """Yield the stored documents of all live documents, each from the source that is next.

    One block a source is in memory, not all the text: documents of each come in their own order.
    """
    streams = [each.segment.encoded_documents(np.flatnonzero(each.live)) for each in sources]
    for source in source_of.tolist():
        yield bytes(next(streams[source]))


def _with_links(encoded: Iterator[bytes], is_relinked: NDArray[np.bool_], links: Segment) -> Iterator[bytes]:
    """Yield stored documents, some of them with the anchors and linking hosts of a segment of links."""
    linked = links.encoded_documents(np.arange(links.document_count))
    for raw, has_new in zip(encoded, is_relinked.tolist(), strict=True):
        if has_new:
            new = _decode(next(linked))
            document = replace(_decode(raw), anchors=new.anchors, linking_hosts=new.linking_hosts)
            yield msgspec.msgpack.encode(document)
        else:
            yield raw


def _merge_dictionaries(
    segments: Sequence[Segment], renumbered: _Renumbered, scratch: Scratch, range_bytes: int
) -> tuple[Dictionary, Bytes, Bytes]:
    """Merge terms and postings; terms of deleted documents only are dropped.

    Goes through the dictionaries from one range of terms to the next, so that beside the outcome only the
    entries and postings of one range are in memory.
    """
    bounds = _bounds(segments, range_bytes // len(segments))
    n_entries = sum(segment.entry_count for segment in segments)
    merged = _Merged(n_entries, segments, scratch)
    kept: list[tuple[Bytes, Ints]] = []  # the terms of each range
    n_terms = 0
    for first, end in zip([b"", *bounds], [*bounds, None], strict=True):
        dictionaries = [_entries_between(segment, first, end) for segment in segments]
        counts = [len(dictionary.doc_freqs) for dictionary in dictionaries]
        terms, term_starts = _joined([(d.terms, d.term_starts) for d in dictionaries])
        ranks = np.empty(sum(counts), np.int64)
        n_here = merge_order(terms, term_starts, _starts_of(counts), np.ones(len(ranks), np.uint8), ranks)
        order = np.argsort(ranks, kind="stable")  # sources of a term adjacent, in the order of segments
        order_starts = _starts_of(np.bincount(ranks, minlength=n_here))
        lists, starts, places, place_ends = _lists_in(segments, dictionaries)
        doc_freqs = np.concatenate([dictionary.doc_freqs for dictionary in dictionaries])
        document_bases = np.repeat(renumbered.bases[:-1], counts)
        sources = MergeSources(starts, doc_freqs, places, place_ends, document_bases, order, order_starts)
        firsts = terms[term_starts[order[order_starts[:-1]]]]
        merged.add(n_terms, lists, sources, renumbered, _fields_of_links(firsts))
        is_kept = merged.doc_freqs[n_terms : n_terms + n_here] > 0
        kept.append(gathered(terms, term_starts, order[order_starts[:-1][is_kept]]))
        n_terms += n_here
    kept_terms, kept_term_starts = _joined(kept)
    is_kept = merged.doc_freqs[:n_terms] > 0
    # Dropped terms wrote nothing, so the starts that remain still follow one another.
    dictionary = Dictionary(
        kept_terms,
        kept_term_starts,
        merged.doc_freqs[:n_terms][is_kept],
        np.append(merged.starts[:n_terms][is_kept], merged.starts[n_terms]),
        np.append(merged.places[:n_terms][is_kept], merged.places[n_terms]),
    )
    return dictionary, merged.postings[: merged.starts[n_terms]], merged.positions[: merged.places[n_terms]]


def _bounds(segments: Sequence[Segment], part_bytes: int) -> list[bytes]:
    """Return terms, ascending, between which no segment has more than so many bytes.

    One block of its dictionary may come on top, and a single term be more.
    """
    bounds: set[bytes] = set()
    for segment in segments:
        blocks = segment.dictionary_blocks.reshape(-1, BLOCK_NUMBERS)
        n_bytes = blocks[:, 1] + blocks[:, 2] + ENTRY_BYTES * BLOCK_ENTRIES * np.arange(len(blocks))
        cuts = np.searchsorted(n_bytes, np.arange(part_bytes, n_bytes[-1], part_bytes))
        for block in np.unique(cuts[cuts < len(blocks) - 1]).tolist():
            bounds.add(segment.first_of_block(block))
    return sorted(bounds)


def _fields_of_links(first_bytes: Bytes) -> Bytes:
    """Return of terms, by their first bytes, which fields documents have them in by links alone, as bits."""
    return np.where(first_bytes == ord(NAME_PREFIX), 0xFF, 1 << ANCHORS).astype(np.uint8)


def _entries_between(segment: Segment, first: bytes, end: bytes | None) -> Dictionary:
    """Return the entries from `first` to before `end`; None for all that follow."""
    first_block, end_block = segment.blocks_between(first, end)
    entries = segment.entries_of_blocks(first_block, end_block)
    starts = entries.term_starts
    terms = entries.terms.data
    numbers = range(len(entries.doc_freqs))

    def term(number: int) -> bytes:
        return bytes(terms[starts[number] : starts[number + 1]])

    begin = bisect_left(numbers, first, key=term)
    stop = len(numbers) if end is None else bisect_left(numbers, end, key=term)
    return Dictionary(
        entries.terms[starts[begin] : starts[stop]],
        starts[begin : stop + 1] - starts[begin],
        entries.doc_freqs[begin:stop],
        entries.postings_starts[begin : stop + 1],
        entries.positions_starts[begin : stop + 1],
    )


def _lists_in(
    segments: Sequence[Segment], dictionaries: Sequence[Dictionary]
) -> tuple[Inverted, Ints, Ints, Ints]:
    """Return the lists of some entries of each segment, where their postings start, and their positions."""
    postings: list[tuple[Bytes, Ints]] = []
    positions: list[tuple[Bytes, Ints]] = []
    for segment, dictionary in zip(segments, dictionaries, strict=True):
        starts = dictionary.postings_starts
        first = int(starts[0]) & -4  # words stay words
        end = -(-int(starts[-1]) // 4) * 4
        postings.append((segment.postings_words[first // 4 : end // 4].view(np.uint8), starts - first))
        places = dictionary.positions_starts
        positions.append((segment.positions[places[0] : places[-1]], places - places[0]))
    joined, all_starts, _ = _concatenated(postings)
    joined_positions, all_places, place_ends = _concatenated(positions)
    return Inverted(joined, joined.view(np.uint32), joined_positions), all_starts, all_places, place_ends


class _Merged:
    """Postings and positions as they are written, range by range."""

    def __init__(self, n_terms: int, segments: Sequence[Segment], scratch: Scratch) -> None:
        self.starts, self.places = np.zeros(n_terms + 1, np.int64), np.zeros(n_terms + 1, np.int64)
        self.doc_freqs = np.zeros(n_terms, np.int64)
        self.positions = room(scratch, sum(len(segment.positions) for segment in segments))
        self.postings: Bytes = np.empty(0, np.uint8)
        self._scratch = scratch
        self._words = self._room_for(sum(len(segment.postings_words) for segment in segments) + 1)

    def add(
        self, first: int, lists: Inverted, sources: MergeSources, renumbered: _Renumbered, from_links: Bytes
    ) -> None:
        """Merge the terms of a range, the first of which has the number `first`."""
        relinked = Relinked(renumbered.is_relinked, from_links, int(renumbered.bases[-2]))
        n_terms = len(sources.order_starts) - 1
        starts, places = self.starts[first : first + n_terms + 1], self.places[first : first + n_terms + 1]
        doc_freqs = self.doc_freqs[first : first + n_terms]
        done = 0
        while done < n_terms:
            words = self._words
            written = Written(words.view(np.uint8), words, self.positions, starts, places, doc_freqs)
            done = merge_postings(
                lists, sources, relinked, renumbered.documents, renumbered.lengths, done, written
            )
            if done < n_terms:
                wanting = sources.order[sources.order_starts[done] : sources.order_starts[done + 1]]
                n_postings = int(sources.doc_freqs[wanting].sum())
                needed = (n_postings + BLOCK) * POSTING_BYTES_MAX + ENTRY_BYTES_MAX
                grown = self._room_for(len(self._words) * 5 // 4 + needed // 4)
                used = -(-int(starts[done]) // 4)
                grown[:used] = self._words[:used]
                self._words = grown
        self.postings = self._words.view(np.uint8)

    def _room_for(self, n_words: int) -> Words:
        return room(self._scratch, 4 * n_words).view(np.uint32)


def _starts_of(counts: Sequence[int] | Ints) -> Ints:
    starts = np.zeros(len(counts) + 1, np.int64)
    np.cumsum(counts, out=starts[1:])
    return starts


def _concatenated(
    lists: Sequence[tuple[Bytes, Ints]], scratch: Scratch = in_memory
) -> tuple[Bytes, Ints, Ints]:
    """Join blobs; return (blob, starts, ends) of all their items."""
    bases = _starts_of([len(blob) for blob, _ in lists])
    starts = np.concatenate([s[:-1] + base for (_, s), base in zip(lists, bases[:-1], strict=True)])
    ends = np.concatenate([s[1:] + base for (_, s), base in zip(lists, bases[:-1], strict=True)])
    joined = room(scratch, int(bases[-1]))
    np.concatenate([blob for blob, _ in lists], out=joined)
    return joined, starts, ends


def _joined(lists: Sequence[tuple[Bytes, Ints]], scratch: Scratch = in_memory) -> tuple[Bytes, Ints]:
    """Join blobs that their items cover: return (blob, starts of all items and the end)."""
    blob, starts, _ = _concatenated(lists, scratch)
    return blob, np.append(starts, len(blob))


def gathered(blob: Bytes, starts: Ints, items: Ints, scratch: Scratch = in_memory) -> tuple[Bytes, Ints]:
    """Return (blob, starts) of some items, in the order given."""
    lengths = starts[items + 1] - starts[items]
    new_starts = _starts_of(lengths)
    joined = room(scratch, int(new_starts[-1]))
    for first in range(0, len(items), GATHERED_AT_ONCE):
        end = min(first + GATHERED_AT_ONCE, len(items))
        begin, stop = int(new_starts[first]), int(new_starts[end])
        places = np.repeat(starts[items[first:end]] - new_starts[first:end], lengths[first:end])
        joined[begin:stop] = blob[places + np.arange(begin, stop)]
    return joined, new_starts


_decode = msgspec.msgpack.Decoder(Document).decode
