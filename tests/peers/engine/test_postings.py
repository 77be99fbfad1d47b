from __future__ import annotations

import random
from typing import NamedTuple

import numpy as np
import pytest

from peers.engine.native.kernels import BODY, DOCUMENT_SHIFT, FIELD_COUNT, FIELD_SHIFT
from peers.engine.postings.builder import build_postings
from peers.engine.postings.format import (
    BLOCK,
    ENTRY_BYTES_MAX,
    POSTING_BYTES_MAX,
    SKIP_WORDS,
    documents_of,
)
from peers.engine.postings.inspection import inspect_postings
from peers.engine.postings.reader import Inverted
from peers.engine.postings.writer import new_lists
from peers.kernel import Bytes, Ints, Lengths, Words
from tests.peers.engine.posting_reader import field_bounds, read_postings, table_of

SIZES = [1, 2, BLOCK - 1, BLOCK, BLOCK + 1, 2 * BLOCK, 3 * BLOCK + 3, 3000]
DOCUMENT_COUNT = 5000


class Lists(NamedTuple):
    """One list of each size, encoded, and the occurrences that it is made of."""

    occurrences: list[list[tuple[int, int, int]]]  # of each list: document, field, position; rising
    lengths: Lengths
    data: Bytes
    words: Words
    positions: Bytes
    starts: Ints
    places: Ints
    doc_freqs: Ints


def lists_of(seed: int) -> Lists:
    random_ = random.Random(seed)
    occurrences = []
    for size in SIZES:
        chosen = sorted(random_.sample(range(DOCUMENT_COUNT), size))
        one = []
        for document in chosen:
            for field in sorted(random_.sample(range(FIELD_COUNT), random_.choice([1, 1, 1, 2]))):
                n = 1 if field != BODY else min(3000, int(random_.paretovariate(0.8)))
                one += [(document, field, p) for p in sorted(random_.sample(range(9000), n))]
        occurrences.append(one)
    lengths = np.array(
        [[random_.randrange(1, 90_000) for _ in range(FIELD_COUNT)] for _ in range(DOCUMENT_COUNT)], np.uint32
    )
    keys = [d << DOCUMENT_SHIFT | f << FIELD_SHIFT | p for one in occurrences for d, f, p in one]
    group_starts = np.cumsum([0, *map(len, occurrences)])
    n_lists = len(SIZES)
    words = np.empty((len(keys) * POSTING_BYTES_MAX + n_lists * ENTRY_BYTES_MAX * 30) // 4, np.uint32)
    positions = np.empty(len(keys) * 5, np.uint8)
    written = new_lists(n_lists, words, positions)
    are_atoms = np.ones(n_lists, np.uint8)
    build_postings(group_starts, np.array(keys, np.int64), np.arange(n_lists), are_atoms, lengths, written)
    data, places = written.postings[: written.starts[-1]], written.places
    positions = positions[: places[-1]]
    return Lists(occurrences, lengths, data, words, positions, written.starts, places, written.doc_freqs)


def frequencies_of(one: list[tuple[int, int, int]]) -> dict[int, list[int]]:
    counts: dict[int, list[int]] = {}
    for document, field, _ in one:
        counts.setdefault(document, [0] * FIELD_COUNT)[field] += 1
    return counts


@pytest.mark.parametrize("seed", [1, 2])
def test_lists_of_any_size_are_decoded_as_they_were_encoded(seed: int) -> None:
    lists = lists_of(seed)
    assert lists.doc_freqs.tolist() == SIZES
    for number, size in enumerate(SIZES):
        expected = frequencies_of(lists.occurrences[number])
        documents = np.empty(size + 4, np.int64)
        documents_of(lists.data, lists.words, int(lists.starts[number]), size, documents)
        assert documents[:size].tolist() == list(expected)
        read = read_postings(lists.data, lists.words, int(lists.starts[number]), size)
        assert dict(read) == expected


def test_every_posting_of_a_block_is_within_its_bounds_and_those_of_the_summary() -> None:
    lists = lists_of(3)
    words, n_checked = lists.words, 0
    for number, size in enumerate(SIZES):
        if size < BLOCK:
            continue
        table = table_of(int(lists.starts[number]))
        of_documents = list(frequencies_of(lists.occurrences[number]).items())
        for i, (document, frequencies) in enumerate(of_documents):
            for entry in (table, table + SKIP_WORDS * (1 + i // BLOCK)):
                points = [int(word) for word in words[entry + 3 : entry + 7]]
                for place, field in enumerate((0, 1, 2, 4)):
                    bounds = field_bounds(words, entry, place)
                    length = int(lists.lengths[document, field])
                    if frequencies[field]:
                        assert bounds >> 16 >= min(frequencies[field], 255)
                        assert bounds & 0xFFFF <= length
                if frequencies[BODY]:
                    length = int(lists.lengths[document, BODY])
                    assert any(
                        point >> 16 >= frequencies[BODY] and point & 0xFFFF <= length for point in points
                    )
                    n_checked += 1
    assert n_checked > 1000


def test_inspection_finds_what_was_built_right_and_every_changed_byte_of_it_wrong() -> None:
    lists = lists_of(4)

    def inspected(words: Words) -> tuple[int, list[int]]:
        data = words.view(np.uint8)[: lists.starts[-1]]
        totals = np.zeros(DOCUMENT_COUNT * FIELD_COUNT, np.int64)
        wrong = inspect_postings(
            Inverted(data, words, lists.positions),
            lists.starts,
            lists.places,
            lists.doc_freqs,
            np.ones(len(SIZES), np.uint8),
            lists.lengths,
            totals,
        )
        return wrong, totals.tolist()

    wrong, right_totals = inspected(lists.words)
    assert wrong == -1
    random_ = random.Random(5)
    for _ in range(500):
        words = lists.words.copy()
        place = random_.randrange(len(lists.data))
        words.view(np.uint8)[place] ^= 1 << random_.randrange(8)
        wrong, totals = inspected(words)
        if wrong >= 0:
            assert lists.starts[wrong] <= place < lists.starts[wrong + 1]
        else:  # another field or document, which is as good: what is counted differs
            assert totals != right_totals
