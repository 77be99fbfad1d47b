"""Texts as vectors: gain of a word's frequency times its idf, as `class_model` has it, of length one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from itertools import chain
from math import log
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from peers.engine.pages.class_model import GAINS, IDF_MAX, IDF_STEPS, TERM_BYTES_MAX
from peers.kernel import Floats, Ints
from peers.text.analysis import analyse


def counts_of(text: str) -> Counter[str]:
    """Count the words of a text, as the index does in titles and main texts."""
    return Counter(term for term in analyse(text) if len(term.encode()) <= TERM_BYTES_MAX)


class Vocabulary(NamedTuple):
    """The terms that vectors are made of."""

    numbers: Mapping[str, int]  # of terms, in their order
    idf: Ints  # of each, in steps

    @property
    def terms(self) -> tuple[str, ...]:
        """All of them, ascending."""
        return tuple(self.numbers)

    def only(self, kept: NDArray[np.bool_]) -> Vocabulary:
        """Return those that are True."""
        terms = [term for term, is_kept in zip(self.numbers, kept.tolist(), strict=True) if is_kept]
        return Vocabulary({term: n for n, term in enumerate(terms)}, self.idf[kept])


def vocabulary_of(counted: Sequence[Counter[str]]) -> Vocabulary:
    """Return the terms of texts: idf = 1 + ln((N + 1) / (n + 1)), N texts, n of them with the term."""
    doc_freqs = Counter(chain.from_iterable(counted))
    terms = sorted(doc_freqs, key=str.encode)
    n_texts = len(counted)
    steps = [round(IDF_STEPS * (1 + log((n_texts + 1) / (doc_freqs[term] + 1)))) for term in terms]
    idf = np.clip(np.array(steps, np.int64), 1, IDF_MAX)
    return Vocabulary({term: n for n, term in enumerate(terms)}, idf)


class Vectors:
    """Sparse vectors, one a text.

    Attributes:
      n_terms: dimensions.
      starts: vectors + 1; where the entries of each are among the following.
      terms: rows of the vocabulary, ascending in each vector.
      frequencies: of each in the text.
      units: gain times idf, whole numbers.
      values: the same, with vectors of length one.
    """

    def __init__(self, starts: Ints, terms: Ints, frequencies: Ints, idf: Ints) -> None:
        self.n_terms = len(idf)
        self.starts = starts
        self.terms = terms
        self.frequencies = frequencies
        self.units: Ints = GAINS[np.minimum(frequencies, len(GAINS) - 1)] * idf[terms]
        self._idf = idf
        squares = np.bincount(self.rows, self.units.astype(np.float64) ** 2, len(self))
        self.norms: Floats = np.sqrt(squares)
        self.values: Floats = self.units / np.maximum(self.norms, 1.0)[self.rows]

    def __len__(self) -> int:
        return len(self.starts) - 1

    @cached_property
    def rows(self) -> Ints:
        """The vector of each entry."""
        return np.repeat(np.arange(len(self)), np.diff(self.starts))

    @cached_property
    def by_term(self) -> tuple[Ints, Ints, Floats]:
        """The entries in the order of terms: where those of each start, their vectors, their values."""
        order = np.argsort(self.terms, kind="stable")
        starts = np.concatenate(([0], np.cumsum(np.bincount(self.terms, minlength=self.n_terms))))
        return starts, self.rows[order], self.values[order]

    def times(self, weights: Floats) -> Floats:
        """Return the product of each vector and the weights."""
        return np.bincount(self.rows, self.values * weights[self.terms], len(self)).astype(np.float64)

    def summed(self, factors: Floats) -> Floats:
        """Return the sum of all vectors, each times its factor; the transposed product."""
        return np.bincount(self.terms, self.values * factors[self.rows], self.n_terms).astype(np.float64)

    def chosen(self, indexes: Ints) -> Vectors:
        """Return some of the vectors."""
        sizes = np.diff(self.starts)[indexes]
        starts = np.concatenate(([0], np.cumsum(sizes)))
        places = np.arange(int(starts[-1])) + np.repeat(self.starts[indexes] - starts[:-1], sizes)
        return Vectors(starts, self.terms[places], self.frequencies[places], self._idf)

    def without(self, is_kept: NDArray[np.bool_]) -> Vectors:
        """Return the vectors with those of their entries that are True."""
        n_before = np.concatenate(([0], np.cumsum(is_kept)))
        return Vectors(n_before[self.starts], self.terms[is_kept], self.frequencies[is_kept], self._idf)


def vectors_of(counted: Iterable[Counter[str]], vocabulary: Vocabulary) -> Vectors:
    """Return the vectors of texts; words that the vocabulary lacks are left out."""
    numbers = vocabulary.numbers
    starts, terms, frequencies = [0], list[int](), list[int]()
    for counts in counted:
        known = sorted((numbers[term], n) for term, n in counts.items() if term in numbers)
        terms += [term for term, _ in known]
        frequencies += [n for _, n in known]
        starts.append(len(terms))
    return Vectors(
        np.array(starts, np.int64),
        np.array(terms, np.int64),
        np.array(frequencies, np.int64),
        vocabulary.idf,
    )
