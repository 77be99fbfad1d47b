"""Groups of pages by the words that they are about. Pure; the same on every gateway.

A page is a vector of its words. The n-th of its words, the weightiest first, weighs idf / sqrt(n), with
idf = log(N / df) over the pages at hand, since all of them have the words of the query. The two groups that
are most alike, by the mean of the cosines of their pages (average link), become one, until no two are as much
alike as `LIKE_MIN` and there are no more than `GROUPS_MAX`. A group of one page is none.

A group is called by the words that tell it from the others: those with the greatest weight within it times
the share of its pages with the word less that of the others. Source: Cutting, Karger, Pedersen, Tukey 1992
(Scatter/Gather), for grouping what a search has found; its names are words of the centroids.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from math import log
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

LIKE_MIN: Final = 0.06
GROUPS_MAX: Final = 8
LABEL_WORDS: Final = 3
COMMON_SHARE: Final = 0.6  # a word of more of the pages tells nothing

_Matrix = npt.NDArray[np.float64]


class WordGroup(NamedTuple):
    """Pages that are about the same."""

    words: tuple[str, ...]  # that tell it from the others
    places: tuple[int, ...]  # of its pages among all, rising


def groups_by_words(pages: Sequence[Sequence[str]]) -> tuple[list[WordGroup], tuple[int, ...]]:
    """Return the groups, the largest first, of equals that with the first page; and the pages in none.

    Time grows with the third power of the pages: 64 take 10 ms.

    Args:
      pages: the words of each, the weightiest first, without those of the query.
    """
    words = [[word.casefold() for word in page] for page in pages]
    vectors, vocabulary = _vectors(words)
    clusters = [each for each in _clusters(vectors @ vectors.T) if len(each) > 1]
    clusters.sort(key=lambda places: (-len(places), places[0]))
    spelled = {word.casefold(): word for page in reversed(pages) for word in page}
    groups = [
        WordGroup(tuple(spelled[word] for word in _label(vectors, vocabulary, places)), tuple(places))
        for places in clusters
    ]
    grouped = {place for each in clusters for place in each}
    return groups, tuple(place for place in range(len(pages)) if place not in grouped)


def _vectors(pages: Sequence[Sequence[str]]) -> tuple[_Matrix, list[str]]:
    """Return a row of length 1 for each page, and the words of the columns; a page without words is 0."""
    n_pages = len(pages)
    doc_freqs = Counter(word for page in pages for word in set(page))
    telling = {
        word: log(n_pages / count)
        for word, count in doc_freqs.items()
        if 1 < count <= max(2, COMMON_SHARE * n_pages)
    }
    vocabulary = sorted(telling)
    column_of = {word: column for column, word in enumerate(vocabulary)}
    vectors = np.zeros((n_pages, len(vocabulary)))
    for row, page in enumerate(pages):
        for number, word in enumerate(dict.fromkeys(page), 1):
            if word in telling:
                vectors[row, column_of[word]] = telling[word] / number**0.5
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    return vectors / np.where(lengths > 0, lengths, 1.0), vocabulary


def _clusters(likeness: _Matrix) -> list[list[int]]:
    """Join pages by average link."""
    n_pages = len(likeness)
    clusters = [[place] for place in range(n_pages)]
    sums = likeness.copy()  # of the cosines between the pages of two clusters
    sizes = np.ones(n_pages)
    np.fill_diagonal(sums, -np.inf)
    while len(clusters) > 1:
        means = sums / np.outer(sizes, sizes)
        first, second = sorted(map(int, np.unravel_index(int(np.argmax(means)), means.shape)))
        n_groups = sum(len(each) > 1 for each in clusters)
        if means[first, second] < LIKE_MIN and (n_groups <= GROUPS_MAX or means[first, second] <= 0):
            break
        clusters[first] = sorted(clusters[first] + clusters.pop(second))
        sums[first] += sums[second]
        sums[:, first] += sums[:, second]
        sums[first, first] = -np.inf
        sums = np.delete(np.delete(sums, second, 0), second, 1)
        sizes[first] += sizes[second]
        sizes = np.delete(sizes, second)
    return clusters


def _label(vectors: _Matrix, vocabulary: Sequence[str], places: Sequence[int]) -> list[str]:
    """Return the words that tell a group from the other pages, the most telling first."""
    within = np.zeros(len(vectors), bool)
    within[list(places)] = True
    share = (vectors[within] > 0).mean(axis=0)
    elsewhere = (vectors[~within] > 0).mean(axis=0) if (~within).any() else np.zeros(len(vocabulary))
    telling = vectors[within].mean(axis=0) * (share - elsewhere)
    best = sorted(range(len(vocabulary)), key=lambda column: (-telling[column], vocabulary[column]))
    return [vocabulary[column] for column in best[:LABEL_WORDS] if telling[column] > 0]
