"""Merging goes through the terms range by range, with the same outcome; memory does not grow with them."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest

from peers.engine.files.scratch import in_memory
from peers.engine.merging.segment_merge import merge_segments
from peers.engine.pages.document import Document
from peers.engine.segments.builder import build_segment, prepared
from peers.engine.segments.live_segment import LiveSegment
from peers.engine.segments.segment import Segment
from peers.engine.segments.segment_format import encode_segment
from tests.peers.engine.samples import random_documents

ALL_AT_ONCE = 1 << 40


def segment_of(documents: list[tuple[int, Document]], dead: slice = slice(0)) -> LiveSegment:
    data = build_segment([prepared(slot, document) for slot, document in documents])
    segment = Segment("", memoryview(b"".join(bytes(part) for part in encode_segment(data))))
    live = np.ones(segment.document_count, np.uint8)
    live[dead] = 0
    return LiveSegment(segment, live)


def many_words(part: int, n_words: int) -> list[tuple[int, Document]]:
    """Return documents of words that no other part has."""
    words = [f"w{part}x{number:x}" for number in range(n_words)]
    return [
        (0, Document(f"http://p{part}.test/{at}", text=" ".join(words[at : at + 500])))
        for at in range(0, n_words, 500)
    ]


@pytest.mark.parametrize("range_bytes", [8, 4_096, 100_000])
def test_what_is_merged_range_by_range_is_the_same_as_at_once(range_bytes: int) -> None:
    documents = random_documents(3, 120)
    sources = [
        segment_of(documents[:40], slice(0, 40, 3)),
        segment_of(documents[40:41]),
        segment_of(documents[41:], slice(5, 60)),
        segment_of(many_words(1, 1_000)),
    ]
    at_once = encode_segment(merge_segments(sources, range_bytes=ALL_AT_ONCE).data)
    by_ranges = encode_segment(merge_segments(sources, range_bytes=range_bytes).data)
    assert [bytes(part) for part in by_ranges] == [bytes(part) for part in at_once]


def test_terms_of_deleted_documents_only_are_dropped_in_every_range() -> None:
    words = segment_of(many_words(1, 2_000), slice(1, 4))
    others = segment_of(many_words(2, 2_000))
    data = merge_segments([words, others], range_bytes=8).data
    assert data.dictionary.terms.tobytes().count(b"w1x") == 500
    assert data.dictionary.terms.tobytes().count(b"w2x") == 2_000


def test_memory_of_a_merge_is_that_of_a_range_and_of_the_outcome() -> None:
    sources = [segment_of(many_words(part, 4_000)) for part in range(8)]

    def peak_of(range_bytes: int) -> int:
        tracemalloc.start()
        merge_segments(sources, in_memory, range_bytes)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return peak

    assert peak_of(1 << 18) < 0.65 * peak_of(ALL_AT_ONCE)
