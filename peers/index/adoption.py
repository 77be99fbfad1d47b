"""Check a segment that came from another peer, byte by byte, before anything relies on it.

What is checked: that everything in it is as `builder` would have made it from some documents, so that the
kernels, which trust their input, stay within their arrays, and merging goes on with it as with our own;
and that the documents are what their URLs may be. What is not: that its terms are those of its documents'
texts. That would be building it again; who forges this could as well have forged the texts.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import isfinite

import msgspec
import numpy as np
import zstandard

from mesh.document import Document
from mesh.messages import BULK_BYTES_MAX
from mesh.slot_set import SlotMask
from mesh.slots import slot_of
from mesh.urls import canonical, host_of
from peers.index.analysis import counts_for_length, is_atom_key
from peers.index.kernels import Bytes, Ints, inspect_postings, is_ascending
from peers.index.segment import BLOCK_BYTES_MAX, CorruptIndexError, OutdatedIndexError, Segment


def check_segment(content: bytes, slots: SlotMask) -> Segment:
    """Open an exported segment.

    Args:
      content: from another peer.
      slots: mask over the slots of the mesh: what the documents may belong to.

    Raises:
      CorruptIndexError: it is not what an honest peer of this version sends.
    """
    if len(content) > BULK_BYTES_MAX:
        raise CorruptIndexError(f"segment of {len(content)} bytes")
    try:
        segment = Segment("of another peer", memoryview(content))
        segment.verify()
        _check_tables(segment)
        _check_dictionary(segment)
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


def _check_tables(segment: Segment) -> None:
    """Check that all tables have as many entries as there are documents, terms and blocks, and cover all."""
    n_documents, n_terms = segment.document_count, len(segment.doc_freqs)
    n_blocks = len(segment.block_starts) - 1
    stored_bytes = segment.stored_bytes
    _require(n_documents > 0 and n_blocks > 0, "documents: none")
    _require(len(segment.slots) == len(segment.fetched_at) == n_documents, "number of documents")
    _require(len(segment.block_sums) == n_blocks, "number of blocks")
    for name, starts, n_items, end, is_strict in (
        ("URLs", segment.url_starts, n_documents, len(segment.urls), True),
        ("terms", segment.term_starts, n_terms, len(segment.terms), True),
        ("postings", segment.postings_starts, n_terms, len(segment.postings), True),
        ("positions", segment.positions_starts, n_terms, len(segment.positions), False),
        ("blocks", segment.block_starts, n_blocks, stored_bytes, True),
        ("documents in blocks", segment.block_documents, n_blocks, n_documents, True),
    ):
        _require(len(starts) == n_items + 1 and starts[0] == 0 and starts[-1] == end, f"table of {name}")
        # Compared, not subtracted: differences of hostile numbers may wrap around.
        _require(
            (starts[1:] > starts[:-1] if is_strict else starts[1:] >= starts[:-1]).all(), f"order of {name}"
        )


def _check_dictionary(segment: Segment) -> None:
    """Check terms, postings and positions, and that field lengths are what the postings add up to."""
    _require(is_ascending(segment.terms, segment.term_starts), "order of terms")
    terms = _strings(segment.terms, segment.term_starts)
    has_positions = segment.positions_starts[1:] > segment.positions_starts[:-1]
    are_atoms = np.fromiter(map(is_atom_key, terms), np.bool_, len(terms))
    _require(np.array_equal(has_positions, are_atoms), "positions: not of atoms")
    do_count = np.fromiter(map(counts_for_length, terms), np.uint8, len(terms))
    lengths = np.zeros(segment.lengths.size, np.int64)
    wrong = inspect_postings(
        segment.postings,
        segment.positions,
        segment.postings_starts,
        segment.positions_starts,
        segment.doc_freqs,
        do_count,
        lengths,
    )
    if wrong >= 0:
        raise CorruptIndexError(f"segment of another peer has wrong postings of {terms[wrong]!r}")
    _require(np.array_equal(lengths, segment.lengths.reshape(-1)), "field lengths")


def _check_documents(segment: Segment, slots: SlotMask) -> None:
    """Check URLs, slots and stored documents."""
    _require(is_ascending(segment.urls, segment.url_starts), "order of URLs")
    _require(int(segment.slots.max()) < len(slots) and slots[segment.slots].all(), "slots: not asked for")
    urls = _strings(segment.urls, segment.url_starts)
    slot_of_host: dict[str, int] = {}
    for url, slot in zip(urls, segment.slots.tolist(), strict=True):
        _require(canonical(url) == url, f"URL {url[:100]!r}")
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
            is_version = document.fetched_at == segment.fetched_at[number] and isfinite(document.fetched_at)
            _require(is_version, f"time of {urls[number]}")


def _strings(blob: Bytes, starts: Ints) -> Sequence[str]:
    whole, places = blob.tobytes(), starts.tolist()
    return [whole[places[i] : places[i + 1]].decode() for i in range(len(places) - 1)]
