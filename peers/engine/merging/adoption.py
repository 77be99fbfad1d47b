"""Check a segment that came from another peer, byte by byte, before anything relies on it.

What is checked: that everything in it is as `builder` would have made it from some documents, so that the
kernels, which trust their input, stay within their arrays, and merging goes on with it as with our own;
and that the documents are what their URLs may be. What is not: that its terms are those of its documents'
texts. That would be building it again; who forges this could as well have forged the texts.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from math import isfinite

import msgspec
import numpy as np
import zstandard

from mesh.slot_set import SlotMask
from mesh.slots import slot_of
from mesh.urls import host_of, is_canonical
from peers.engine.files.errors import CorruptIndexError, OutdatedIndexError
from peers.engine.files.stored_blocks import BLOCK_BYTES_MAX
from peers.engine.native.kernels import is_ascending
from peers.engine.pages.document import Document, content_digest
from peers.engine.pages.near_copies import sketch_of
from peers.engine.postings.dictionary import Dictionary, pack_dictionary
from peers.engine.postings.inspection import inspect_postings
from peers.engine.postings.reader import Inverted
from peers.engine.segments.builder import date_of, linking_hosts_of
from peers.engine.segments.segment import Segment
from peers.engine.segments.segment_format import EXPORTED_BYTES_MAX
from peers.engine.segments.working_segment import WorkingSegment
from peers.kernel import Bytes, Ints
from peers.text.analysis import counts_for_length, is_atom_key


def check_segment(content: bytes, slots: SlotMask, bytes_max: int = EXPORTED_BYTES_MAX) -> Segment:
    """Open an exported segment.

    Args:
      content: from another peer.
      slots: mask over the slots of the mesh: what the documents may belong to.

    Raises:
      CorruptIndexError: it is not what an honest peer of this version sends.
    """
    if len(content) > bytes_max:
        raise CorruptIndexError(f"segment of {len(content)} bytes")
    try:
        segment = Segment("of another peer", memoryview(content))
        segment.verify()
        dictionary = segment.entries()
        _check_tables(segment, dictionary)
        _check_dictionary(segment, dictionary)
        _check_documents(segment, slots)
    except (CorruptIndexError, OutdatedIndexError) as error:
        raise CorruptIndexError(str(error)) from error  # damage of our own has another class
    # DecodeError and UnicodeDecodeError are ValueErrors.
    except (ValueError, RecursionError, MemoryError, zstandard.ZstdError) as error:
        raise CorruptIndexError(f"segment of another peer cannot be decoded: {error}") from error
    return segment


def _require(is_right: object, what: str) -> None:
    if not is_right:
        raise CorruptIndexError(f"segment of another peer has wrong {what}")


def same_documents(
    segment: Segment, candidates: Ints, working: Iterable[WorkingSegment], waiting: Mapping[bytes, bytes]
) -> Ints:
    """Return which of these documents of a segment are here exactly as they are there.

    Args:
      working: the segments that are here.
      waiting: documents that are in none so far, encoded, by URL.
    """
    urls = [segment.url(document) for document in candidates.tolist()]
    theirs = list(segment.encoded_documents(candidates))
    is_same = np.zeros(len(urls), np.bool_)
    for each in working:
        documents = each.segment.find_urls(urls)
        is_here = np.flatnonzero((documents >= 0) & (each.live[documents] != 0))
        ours = each.segment.encoded_documents(documents[is_here])
        for number, raw in zip(is_here.tolist(), ours, strict=True):
            is_same[number] = bytes(raw) == bytes(theirs[number])
    for number, url in enumerate(urls):
        if url in waiting:
            is_same[number] = waiting[url] == bytes(theirs[number])
    return candidates[is_same]


def _check_tables(segment: Segment, dictionary: Dictionary) -> None:
    """Check that all tables have as many entries as there are documents, terms and blocks, and cover all."""
    n_documents, n_terms = segment.document_count, segment.entry_count
    n_blocks = len(segment.block_starts) - 1
    stored_bytes = segment.stored_bytes
    _require(n_documents > 0 and n_blocks > 0, "documents: none")
    for column in (
        segment.slots,
        segment.visits,
        segment.fetched_at,
        segment.dates,
        segment.linking_hosts,
        segment.contents,
    ):
        _require(len(column) == n_documents, "number of documents")
    _require(len(segment.block_sums) == n_blocks, "number of blocks")
    for name, starts, n_items, end, is_strict in (
        ("URLs", segment.url_starts, n_documents, len(segment.urls), True),
        ("terms", dictionary.term_starts, n_terms, len(dictionary.terms), True),
        ("postings", dictionary.postings_starts, n_terms, len(segment.postings), True),
        ("positions", dictionary.positions_starts, n_terms, len(segment.positions), False),
        ("blocks", segment.block_starts, n_blocks, stored_bytes, True),
        ("documents in blocks", segment.block_documents, n_blocks, n_documents, True),
    ):
        _require(len(starts) == n_items + 1 and starts[0] == 0 and starts[-1] == end, f"table of {name}")
        # Compared, not subtracted: differences of hostile numbers may wrap around.
        _require(
            (starts[1:] > starts[:-1] if is_strict else starts[1:] >= starts[:-1]).all(), f"order of {name}"
        )


def _check_dictionary(segment: Segment, dictionary: Dictionary) -> None:
    """Check terms, postings and positions, and that the postings add up to the field lengths."""
    _require(is_ascending(dictionary.terms, dictionary.term_starts), "order of terms")
    packed, blocks = pack_dictionary(dictionary)
    is_ours = np.array_equal(packed, segment.dictionary) and np.array_equal(blocks, segment.dictionary_blocks)
    _require(is_ours, "dictionary")
    terms = _strings(dictionary.terms, dictionary.term_starts)
    has_positions = dictionary.positions_starts[1:] > dictionary.positions_starts[:-1]
    are_atoms = np.fromiter(map(is_atom_key, terms), np.bool_, len(terms))
    _require(np.array_equal(has_positions, are_atoms), "positions: not of atoms")
    do_count = np.fromiter(map(counts_for_length, terms), np.uint8, len(terms))
    totals = np.zeros(segment.lengths.size, np.int64)
    wrong = inspect_postings(
        Inverted(segment.postings, segment.postings_words, segment.positions),
        dictionary.postings_starts,
        dictionary.positions_starts,
        dictionary.doc_freqs,
        do_count,
        segment.lengths,
        totals,
    )
    if wrong >= 0:
        raise CorruptIndexError(f"segment of another peer has wrong postings of {terms[wrong]!r}")
    _require(np.array_equal(totals, segment.lengths.reshape(-1)), "field lengths")


def _check_documents(segment: Segment, slots: SlotMask) -> None:
    """Check URLs, slots and stored documents."""
    _require(is_ascending(segment.urls, segment.url_starts), "order of URLs")
    _require(int(segment.slots.max()) < len(slots) and slots[segment.slots].all(), "slots: not asked for")
    urls = _strings(segment.urls, segment.url_starts)
    slot_of_host: dict[str, int] = {}
    for url, slot in zip(urls, segment.slots.tolist(), strict=True):
        _require(is_canonical(url), f"URL {url[:100]!r}")
        host = host_of(url)
        if host not in slot_of_host:
            slot_of_host[host] = slot_of(host, len(slots))
        _require(slot_of_host[host] == slot, f"slot of {url}")
    n_bytes = 0
    for block in range(len(segment.block_sums)):
        first, end = segment.block_documents[block : block + 2].tolist()
        raws = segment.block(block)
        n_bytes += sum(memoryview(raw).nbytes for raw in raws)
        _require(n_bytes <= BLOCK_BYTES_MAX, "size of documents")
        _require(len(raws) == end - first, "number of documents in a block")
        for number, raw in enumerate(raws, first):
            document = msgspec.msgpack.decode(raw, type=Document)
            _require(document.url == urls[number], f"document of {urls[number]}")
            is_version = document.stamp == segment.stamp(number) and isfinite(document.fetched_at)
            _require(is_version, f"version of {urls[number]}")
            _require(date_of(document) == segment.dates[number], f"date of {urls[number]}")
            is_linked = linking_hosts_of(document) == segment.linking_hosts[number]
            _require(is_linked, f"linking hosts of {urls[number]}")
            is_content = content_digest(document) == segment.contents[number]
            _require(is_content, f"digest of {urls[number]}")
            is_sketch = np.array_equal(sketch_of(document), segment.sketches[number])
            _require(is_sketch, f"sketch of {urls[number]}")


def _strings(blob: Bytes, starts: Ints) -> Sequence[str]:
    whole, places = blob.tobytes(), starts.tolist()
    return [whole[places[i] : places[i + 1]].decode() for i in range(len(places) - 1)]
