"""Merge segments: which ones, and how."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import msgspec
import numpy as np

from peers.index.kernels import Bytes, Ints, merge_order, merge_postings
from peers.index.part import Part
from peers.index.segment import SegmentData, pack_blocks

# A query costs about 15 us a segment; a merge rewrites each document log(size) / log(factor) times.
MERGE_FACTOR = 8
# Smaller segments count as this size: many small commits are merged together, whatever their sizes.
SMALL_SEGMENT_BYTES = 2 * 1024 * 1024
# Larger segments are left alone, so that a merge needs bounded memory (about three times this) and time.
SEGMENT_BYTES_MAX = 2 * 1024 * 1024 * 1024
# A segment with more deleted documents than this is rewritten alone: they cost space and time of queries.
DELETED_SHARE_MAX = 0.4


class SegmentSize(NamedTuple):
    """What the merge policy knows of a segment."""

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


def _tier_of(size_bytes: int) -> int:
    tier, limit = 0, SMALL_SEGMENT_BYTES
    while size_bytes > limit:
        tier, limit = tier + 1, limit * MERGE_FACTOR
    return tier


class MergedSegment(NamedTuple):
    """A segment made of others, and where their documents went."""

    data: SegmentData
    documents: list[Ints]  # for each source: new number of every document, -1 when it was deleted


def merge_parts(parts: Sequence[Part]) -> MergedSegment:
    """Merge the live documents of segments whose live URLs are distinct; at least one is live.

    Pure computation, nearly all of it without the GIL: run it on any thread.

    Raises:
      DamagedSegmentError: a source is damaged; nothing of it gets a new checksum.
    """
    segments = [part.segment for part in parts]
    for segment in segments:
        segment.verify()
    bases = _starts_of([segment.document_count for segment in segments])
    live = np.concatenate([part.live for part in parts])
    urls, url_starts = _joined([(segment.urls, segment.url_starts) for segment in segments])
    documents = np.empty(len(live), np.int64)
    n_documents = merge_order(urls, url_starts, bases, live, documents)
    assert n_documents == int(live.sum()), "a URL is live in two segments"
    source_of = np.empty(n_documents, np.int64)  # new document -> old, numbered over all sources
    is_kept = documents >= 0
    source_of[documents[is_kept]] = np.flatnonzero(is_kept)
    merged_urls, merged_url_starts = gathered(urls, url_starts, source_of)
    encoded = _interleaved(parts, np.searchsorted(bases, source_of, "right") - 1)
    stored, block_starts, block_documents, block_sums = pack_blocks(encoded)
    dictionary = _merge_dictionaries(parts, bases, documents)
    data = SegmentData(
        slots=np.concatenate([segment.slots for segment in segments])[source_of],
        fetched_at=np.concatenate([segment.fetched_at for segment in segments])[source_of],
        lengths=np.concatenate([segment.lengths for segment in segments])[source_of],
        urls=merged_urls,
        url_starts=merged_url_starts,
        stored=stored,
        block_starts=block_starts,
        block_documents=block_documents,
        block_sums=block_sums,
        **msgspec.structs.asdict(dictionary),
    )
    return MergedSegment(data, [documents[bases[i] : bases[i + 1]] for i in range(len(parts))])


def _interleaved(parts: Sequence[Part], part_of: Ints) -> Iterator[bytes]:
    """Yield the stored documents of all live documents, each from the part that is next.

    One block a part is in memory, not all the text: documents of each part come in their own order.
    """
    streams = [part.segment.encoded_documents(np.flatnonzero(part.live)) for part in parts]
    for part in part_of.tolist():
        yield bytes(next(streams[part]))


class _Dictionary(msgspec.Struct):
    terms: Bytes
    term_starts: Ints
    doc_freqs: Ints
    postings: Bytes
    postings_starts: Ints
    positions: Bytes
    positions_starts: Ints


def _merge_dictionaries(parts: Sequence[Part], bases: Ints, documents: Ints) -> _Dictionary:
    """Merge terms and postings; terms of deleted documents only are dropped."""
    segments = [part.segment for part in parts]
    n_entries = [len(segment.doc_freqs) for segment in segments]
    terms, term_starts = _joined([(segment.terms, segment.term_starts) for segment in segments])
    ranks = np.empty(sum(n_entries), np.int64)
    n_terms = merge_order(terms, term_starts, _starts_of(n_entries), np.ones(len(ranks), np.uint8), ranks)
    order = np.argsort(ranks, kind="stable")  # sources of a term adjacent, in the order of segments
    order_starts = _starts_of(np.bincount(ranks, minlength=n_terms))
    postings, starts, ends = _concatenated([(s.postings, s.postings_starts) for s in segments])
    positions, places, place_ends = _concatenated([(s.positions, s.positions_starts) for s in segments])
    segment_of = np.repeat(np.arange(len(segments)), n_entries)
    n_postings = sum(int(segment.doc_freqs.sum()) for segment in segments)
    out_postings = np.empty(len(postings) + 4 * n_postings, np.uint8)
    out_positions = np.empty(len(positions), np.uint8)
    out_starts, out_places = np.zeros(n_terms + 1, np.int64), np.zeros(n_terms + 1, np.int64)
    doc_freqs = np.zeros(n_terms, np.int64)
    merge_postings(
        postings,
        positions,
        starts[order],
        ends[order],
        places[order],
        place_ends[order],
        order_starts,
        bases[segment_of[order]],
        documents,
        out_postings,
        out_positions,
        out_starts,
        out_places,
        doc_freqs,
    )
    is_kept = doc_freqs > 0
    kept_terms, kept_term_starts = gathered(terms, term_starts, order[order_starts[:-1][is_kept]])
    # Dropped terms wrote nothing, so the starts that remain still follow one another.
    return _Dictionary(
        terms=kept_terms,
        term_starts=kept_term_starts,
        doc_freqs=doc_freqs[is_kept],
        postings=out_postings[: out_starts[-1]].copy(),
        postings_starts=np.append(out_starts[:-1][is_kept], out_starts[-1]),
        positions=out_positions[: out_places[-1]].copy(),
        positions_starts=np.append(out_places[:-1][is_kept], out_places[-1]),
    )


def _starts_of(counts: Sequence[int] | Ints) -> Ints:
    starts = np.zeros(len(counts) + 1, np.int64)
    np.cumsum(counts, out=starts[1:])
    return starts


def _concatenated(lists: Sequence[tuple[Bytes, Ints]]) -> tuple[Bytes, Ints, Ints]:
    """Join blobs; return (blob, starts, ends) of all their items."""
    bases = _starts_of([len(blob) for blob, _ in lists])
    starts = np.concatenate([s[:-1] + base for (_, s), base in zip(lists, bases[:-1], strict=True)])
    ends = np.concatenate([s[1:] + base for (_, s), base in zip(lists, bases[:-1], strict=True)])
    return np.concatenate([blob for blob, _ in lists]), starts, ends


def _joined(lists: Sequence[tuple[Bytes, Ints]]) -> tuple[Bytes, Ints]:
    """Join blobs that their items cover: return (blob, starts of all items and the end)."""
    blob, starts, _ = _concatenated(lists)
    return blob, np.append(starts, len(blob))


def gathered(blob: Bytes, starts: Ints, items: Ints) -> tuple[Bytes, Ints]:
    """Return (blob, starts) of some items, in the order given."""
    lengths = starts[items + 1] - starts[items]
    new_starts = _starts_of(lengths)
    places = np.repeat(starts[items] - new_starts[:-1], lengths) + np.arange(int(new_starts[-1]))
    return blob[places], new_starts
