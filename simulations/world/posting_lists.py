"""Posting lists as the engine writes them, of made-up text, and the words by which queries ask for them.

Words are drawn by Zipf's law, the n-th as often as 1 / n; lengths of documents are log-normal. Only the text
is made up: the index is that of the peers, so that bytes of lists are real ones.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Final, NamedTuple

import numpy as np

from peers.engine.files.storage import MemoryStorage
from peers.engine.index import Index
from peers.engine.pages.document import Document
from peers.engine.postings.dictionary import PLACE, PLACE_END
from peers.engine.queries.query import Mode, Query
from peers.engine.searching.effort import Effort
from peers.engine.snapshot import View
from simulations.traces.columns import Ints
from simulations.world.words import rare_word_of

VOCABULARY: Final = 50_000
WORDS_MEDIAN: Final = 150.0  # of a document
WORDS_SIGMA: Final = 0.7
FUNCTION_WORDS: Final = 100  # the most frequent ones, by which nobody asks
BEST: Final = 100  # documents that a search wants, as a gateway asks for
_BATCH: Final = 2_000


class PostingLists(NamedTuple):
    """Of each word, by the law's frequency, the highest first; words that no document has are not there."""

    doc_freqs: Ints
    frequencies: Ints  # occurrences
    starts: Ints  # of its postings, in the file
    n_bytes: Ints  # of its postings
    positional_bytes: Ints  # of its postings with their positions, as phrases read them
    words: list[str]
    view: View  # of all documents


def posting_lists(documents: int, seed: int) -> PostingLists:
    """Have the engine index some documents."""
    random = np.random.default_rng((seed, 8))
    lengths = np.maximum(1, random.lognormal(np.log(WORDS_MEDIAN), WORDS_SIGMA, documents)).astype(np.int64)
    ends = np.concatenate([[0], np.cumsum(lengths)])
    text = drawn_words(int(ends[-1]), VOCABULARY, 0, random)
    words = np.array([rare_word_of(str(number)) for number in range(VOCABULARY)], object)
    index = Index.open(MemoryStorage())
    for first in range(0, documents, _BATCH):
        places = pairwise(ends[first : first + _BATCH + 1].tolist())
        index.add(
            [
                (0, Document(f"http://a.test/{first + number}", text=" ".join(words[text[start:end]])))
                for number, (start, end) in enumerate(places)
            ]
        )
    index.commit()
    index.optimise()
    snapshot = index.snapshot()
    (part,) = snapshot.segments
    frequencies = np.bincount(text, minlength=VOCABULARY)
    there = np.flatnonzero(frequencies)
    known: list[str] = words[there].tolist()
    entries = part.segment.look_up(known)
    return PostingLists(
        entries.doc_freqs,
        frequencies[there],
        entries.starts,
        entries.ends - entries.starts,
        entries.ends - entries.starts + entries.found[:, PLACE_END] - entries.found[:, PLACE],
        known,
        snapshot.everything(),
    )


def bytes_read(lists: PostingLists, numbers: Sequence[int], mode: Mode) -> int:
    """Have the engine search for some words, and return the bytes of their postings that it has read."""
    words, effort = tuple(lists.words[number] for number in numbers), Effort()
    query = Query(words, words, (1.0,) * len(words), mode=mode)
    lists.view.search(query, lists.view.statistics(words), BEST, effort=effort)
    return effort.postings_read


def drawn_words(count: int, vocabulary: int, first: int, random: np.random.Generator) -> Ints:
    """Draw words as often as they are in the text, none of the `first` most frequent ones."""
    shares = np.cumsum(1.0 / np.arange(first + 1, vocabulary + 1))
    drawn = np.searchsorted(shares, random.random(count) * shares[-1], side="right")
    words: Ints = np.minimum(drawn, vocabulary - first - 1) + first
    return words


def words_of_queries(
    queries: int, vocabulary: int, mean: float, random: np.random.Generator
) -> list[list[int]]:
    """Draw the words of each of some queries, at least one."""
    lengths = 1 + random.poisson(mean - 1.0, queries)
    ends = np.concatenate([[0], np.cumsum(lengths)])
    words = drawn_words(int(ends[-1]), vocabulary, min(FUNCTION_WORDS, vocabulary - 1), random).tolist()
    return [list(dict.fromkeys(words[start:end])) for start, end in pairwise(ends.tolist())]
