"""Build a segment from documents: `inversion` finds the occurrences of terms, this packs them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from itertools import accumulate
from typing import TypeAlias

import msgspec
import numpy as np

from peers.engine.files.storage import Buffer
from peers.engine.files.stored_blocks import pack_blocks
from peers.engine.pages.document import Document, content_digest
from peers.engine.pages.filter_entries import HOST_PREFIX, LANGUAGE_PREFIX, TYPE_PREFIX, UNQUOTABLE
from peers.engine.pages.near_copies import sketch_of
from peers.engine.postings.builder import build_postings
from peers.engine.postings.dictionary import Dictionary, sort_strings
from peers.engine.postings.format import BLOCK, ENTRY_BYTES_MAX, POSTING_BYTES_MAX
from peers.engine.postings.writer import new_lists
from peers.engine.segments.inversion import Inverter
from peers.engine.segments.segment_format import SegmentData, encode_segment
from peers.kernel import Bytes, Ints
from peers.text.analysis import are_atom_keys

# A domain name has at most 127 labels (RFC 1035); names made to fill indexes have many.
_HOST_LABELS_MAX = 16

# Longer than any language tag or media type in use.
_MARK_CHARS_MAX = 127
# Beyond every calendar; floats hold it exactly.
_DATE_MAX = float(1 << 52)

_HOST = re.compile(r"[^:/?#]+://(?:[^/?#]*@)?(\[[^\]]*\]|[^/:?#]*)")
_ADDRESS = re.compile(r"\[|[0-9.]+$")


class IndexedDocument(msgspec.Struct, frozen=True):
    """A document prepared for the builder: with its slot, and encoded as it will be stored."""

    slot: int
    document: Document
    encoded: bytes  # the document in msgpack, as it will be stored


# Makes the content of a segment file of documents with distinct URLs, at least one.
Build: TypeAlias = Callable[[Sequence[IndexedDocument]], Iterable[Buffer]]


def host_of_url(url: str) -> str:
    """Return the host name of a canonical URL without the port, "" when it has none."""
    match = _HOST.match(url)
    return match[1] if match else ""


def host_and_parents(host: str) -> list[str]:
    """Return the host and its parent domains: the names under which `site:` finds it."""
    if not host or _ADDRESS.match(host):
        return [host] if host else []
    labels = host.split(".")
    return [".".join(labels[i:]) for i in range(max(0, len(labels) - _HOST_LABELS_MAX), len(labels))]


def _marks_of(document: Document, other_language: str) -> list[str]:
    """Return the entries of a document that are not from its text.

    Args:
      other_language: that a part of it is in.
    """
    marks = [HOST_PREFIX + host for host in host_and_parents(host_of_url(document.url))]
    for language in filter(None, (document.language, other_language)):
        marks.append(LANGUAGE_PREFIX + language[:_MARK_CHARS_MAX])
    if document.type:
        marks.append(TYPE_PREFIX + document.type[:_MARK_CHARS_MAX])
    if not document.is_quotable:
        marks.append(UNQUOTABLE)
    return marks


def date_of(document: Document) -> int:
    """Return a document's date in seconds since the epoch: its own, else when it was fetched."""
    date = document.date or document.fetched_at
    return int(min(max(date, -_DATE_MAX), _DATE_MAX)) if date == date else 0


def linking_hosts_of(document: Document) -> int:
    """Return how many hosts link to a document, as far as 32 bits count."""
    return min(max(document.linking_hosts, 0), (1 << 32) - 1)


def build_segment(documents: Sequence[IndexedDocument]) -> SegmentData:
    """Index documents with distinct URLs, at least one."""
    by_url = sorted(documents, key=lambda item: item.document.key.encode())
    inverter = Inverter(len(by_url))
    for number, item in enumerate(by_url):
        inverter.add(number, item.document)
    for number, (item, other) in enumerate(zip(by_url, inverter.languages(), strict=True)):
        inverter.mark(number, _marks_of(item.document, other))
    return _packed(by_url, inverter)


def build_encoded(documents: Sequence[IndexedDocument]) -> Iterable[Buffer]:
    """Index documents as `build_segment` does; return the content of the segment's file."""
    return encode_segment(build_segment(documents))


def build_links(documents: Sequence[IndexedDocument], other_languages: Sequence[str]) -> SegmentData:
    """Index only the data that links give of documents, at least one, in the order of their URLs.

    Args:
      other_languages: of each the one besides its own that a part of it is in, or "".
    """
    inverter = Inverter(len(documents))
    for number, (item, other) in enumerate(zip(documents, other_languages, strict=True)):
        inverter.add_links(number, item.document, other)
    return _packed(documents, inverter)


def _packed(by_url: Sequence[IndexedDocument], inverter: Inverter) -> SegmentData:
    occurrences = inverter.finish()
    entries = occurrences.entries
    # Number 0 is the break between runs, no entry.
    terms = entries[1:]
    # Bytes of UTF-8 sort as the characters do.
    order, term_blob, term_starts = sort_strings(*pack_texts(terms))
    is_atom = are_atom_keys(terms)[order].astype(np.uint8)
    order += 1
    n_keys = len(occurrences.keys)
    # Room for the worst case; pages that are never written to are never in memory.
    room = n_keys * POSTING_BYTES_MAX + (n_keys // BLOCK + 2) * ENTRY_BYTES_MAX
    written = new_lists(len(order), np.empty(room // 4, np.uint32), np.empty(n_keys * 5 + 1, np.uint8))
    build_postings(occurrences.starts, occurrences.keys, order, is_atom, inverter.lengths, written)
    urls, url_starts = pack_strings([item.document.key.encode() for item in by_url])
    stored, block_starts, block_documents, block_sums = pack_blocks(item.encoded for item in by_url)
    return SegmentData(
        slots=np.array([item.slot for item in by_url], np.uint16),
        visits=np.array([item.document.visit for item in by_url], np.uint32),
        fetched_at=np.array([item.document.fetched_at for item in by_url], np.float64),
        dates=np.array([date_of(item.document) for item in by_url], np.int64),
        linking_hosts=np.array([linking_hosts_of(item.document) for item in by_url], np.uint32),
        contents=np.array([content_digest(item.document) for item in by_url], np.int64),
        sketches=np.stack([sketch_of(item.document) for item in by_url]),
        lengths=inverter.lengths,
        urls=urls,
        url_starts=url_starts,
        dictionary=Dictionary(term_blob, term_starts, written.doc_freqs, written.starts, written.places),
        postings=written.postings[: written.starts[-1]],
        positions=written.positions[: written.places[-1]],
        block_starts=block_starts,
        block_documents=block_documents,
        block_sums=block_sums,
        stored=stored,
    )


def prepared(slot: int, document: Document) -> IndexedDocument:
    """Encode a document as it will be stored. Lone surrogates, which no encoding has, become "?"."""
    assert 0 <= slot < 1 << 16, slot
    try:
        encoded = msgspec.msgpack.encode(document)
    except UnicodeEncodeError:
        texts = {
            name: _cleaned(value)
            for name, value in msgspec.structs.asdict(document).items()
            if isinstance(value, str)
        }
        anchors = tuple(map(_cleaned, document.anchors))
        document = msgspec.structs.replace(document, **texts, anchors=anchors)
        encoded = msgspec.msgpack.encode(document)
    return IndexedDocument(slot, document, encoded)


def _cleaned(text: str) -> str:
    return text.encode(errors="replace").decode()


def as_bytes(content: bytes) -> Bytes:
    """View bytes as the array that kernels take."""
    return np.frombuffer(content, np.uint8)


def pack_strings(strings: Sequence[bytes]) -> tuple[Bytes, Ints]:
    """Return strings one after the other, and where each starts (n + 1)."""
    starts = list(accumulate(map(len, strings), initial=0))
    return as_bytes(b"".join(strings)), np.array(starts, np.int64)


def pack_texts(texts: Sequence[str]) -> tuple[Bytes, Ints]:
    """Return the same of texts in UTF-8, in a fifth of the time."""
    packed = as_bytes("\0".join(texts).encode())
    ends = np.flatnonzero(packed == 0)
    if len(ends) != len(texts) - 1:  # none, or there is a NUL in one of them
        return pack_strings([text.encode() for text in texts])
    starts = np.zeros(len(texts) + 1, np.int64)
    starts[1:-1] = ends - np.arange(len(ends))
    starts[-1] = len(packed) - len(ends)
    return packed[packed != 0], starts
