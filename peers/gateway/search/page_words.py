"""The words of a stored page that tell most of it, by which pages like it are searched. Pure.

Of all its words, weighted by `keywords`, those count that are also rare in the mesh: weight times idf, as of
a query that the page itself would be. All counts are sums over the mesh, so the choice is the same however
many peers there are.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from peers.engine.searching.ranking import CollectionStatistics, idfs_of

TELLING_MAX: Final = 10  # from which on nothing changes, see `keywords`


def with_words(text: str, typed: str, words: Sequence[tuple[str, float]]) -> str:
    """Put the first words of a page, of which those like it have any, in the place of a typed condition."""
    return text.replace(typed, _any_of([word for word, _ in words[:TELLING_MAX]]), 1)


def with_telling_words(
    text: str, words: Sequence[tuple[str, float]], doc_freqs: Mapping[str, int], page_count: int
) -> str:
    """Put the words that tell most in the place of the first ones.

    Args:
      text: as made by `with_words`.
      doc_freqs: of the words, over the mesh.
      page_count: of all pages.
    """
    statistics = CollectionStatistics(page_count, doc_freqs=doc_freqs)
    idfs = idfs_of([word for word, _ in words], statistics)
    factors = {word: weight * idf for (word, weight), idf in zip(words, idfs, strict=True)}
    telling = sorted(factors, key=lambda word: (-factors[word], word))[:TELLING_MAX]
    return with_words(
        text, _any_of([word for word, _ in words[:TELLING_MAX]]), [(word, 0.0) for word in telling]
    )


def _any_of(words: Sequence[str]) -> str:
    return f"({' OR '.join(words)})"
