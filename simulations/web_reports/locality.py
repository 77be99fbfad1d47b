"""Topical locality: how alike are pages that links join, beside pages that nothing joins.

As Davison 2000, "Topical locality in the Web", has it, and by it Li, Yan, Wang 2004, 13.1: the cosine of two
pages by their words, of pairs of four kinds. The book says of 100,000 pages that SameDomain > Sibling >
DiffDomain, and all far above Random; its figures are lost. Beside that, pairs by the least number of links
that lead from one to the other: a focused crawl may tunnel as far as they are more alike than any two.

Pages of equal content say nothing about topics, and are no pair.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final, NamedTuple

import msgspec
import numpy as np

from simulations.link_graphs.graph import LinkGraph
from simulations.traces.columns import Floats, Ints
from simulations.web_reports.page_words import WordedPages

PAIRS: Final = 20_000  # of each kind: the error of a mean is below .003
STARTS: Final = 1_000  # from which links are followed
PAIRS_OF_START: Final = 10  # of each distance
DISTANCES: Final = 5
KINDS: Final = ("same domain", "siblings", "other domain", "random")  # the order that the book has


class PairCosines(msgspec.Struct, frozen=True):
    """How alike the pages of pairs are."""

    pairs: int
    mean: float | None  # cosine; None without pairs
    error: float | None  # of the mean, its standard deviation
    median: float | None


class Locality(msgspec.Struct, frozen=True):
    """How alike pages are, by the links between them."""

    part: str  # why it is of a part only; "" for all of it
    pages: int
    worded: int  # of these: with words that not all have
    links: int
    kinds: dict[str, PairCosines]  # by `KINDS`; siblings are linked from one page
    distances: list[PairCosines]  # by the links on the shortest way, from 1
    is_in_the_books_order: bool | None  # None where a kind has no pairs


class _Pages(NamedTuple):
    vectors: Any
    contents: Ints
    is_worded: Ints


def locality_of(gathered: WordedPages, seed: int, part: str = "") -> Locality:
    """Compare pairs that are drawn.

    Raises:
      ConfigError: scipy is not installed.
    """
    columns, graph, random = gathered.columns(), gathered.graph(), np.random.default_rng(seed)
    vectors = gathered.vectors()
    pages = _Pages(vectors, columns.content.view(np.int64), np.diff(vectors.indptr) > 0)
    domain = gathered.domains()[columns.host]
    drawn = dict(zip(KINDS, _kinds(graph, domain, random), strict=True))
    kinds = {kind: _likeness(pages, *pairs) for kind, pairs in drawn.items()}
    means = [each.mean for each in kinds.values()]
    known = [mean for mean in means if mean is not None]
    return Locality(
        part=part,
        pages=graph.page_count,
        worded=int(pages.is_worded.sum()),
        links=int((graph.source != graph.target).sum()),
        kinds=kinds,
        distances=[_likeness(pages, *pairs) for pairs in _by_distance(graph, random)],
        is_in_the_books_order=None if len(known) < len(means) else sorted(known, reverse=True) == known,
    )


def _kinds(graph: LinkGraph, domain: Ints, random: np.random.Generator) -> Iterator[tuple[Ints, Ints]]:
    """Yield pairs of pages of each of `KINDS`."""
    is_inside = domain[graph.source] == domain[graph.target]
    yield _links(graph, np.flatnonzero(is_inside), random)
    yield _siblings(graph, random)
    yield _links(graph, np.flatnonzero(~is_inside), random)
    yield random.integers(graph.page_count, size=PAIRS), random.integers(graph.page_count, size=PAIRS)


def _links(graph: LinkGraph, chosen: Ints, random: np.random.Generator) -> tuple[Ints, Ints]:
    drawn = random.choice(chosen, min(PAIRS, len(chosen)), replace=False)
    return graph.source[drawn], graph.target[drawn]


def _siblings(graph: LinkGraph, random: np.random.Generator) -> tuple[Ints, Ints]:
    """Draw two targets of a page that has so many, of each such page as likely."""
    starts = graph.starts
    counts = np.diff(starts)
    parents = np.flatnonzero(counts > 1)
    if not len(parents):
        return parents, parents
    parent = random.choice(parents, PAIRS)
    first = random.integers(counts[parent])
    second = (first + 1 + random.integers(counts[parent] - 1)) % counts[parent]
    return graph.target[starts[parent] + first], graph.target[starts[parent] + second]


def _by_distance(graph: LinkGraph, random: np.random.Generator) -> list[tuple[Ints, Ints]]:
    """Draw pages at each distance from pages that are drawn."""
    starts = graph.starts
    is_reached = np.zeros(graph.page_count, np.bool_)
    found: list[list[Ints]] = [[] for _ in range(2 * DISTANCES)]
    for start in random.permutation(graph.page_count)[:STARTS]:
        level = reached = np.array([start])
        is_reached[level] = True
        for distance in range(DISTANCES):
            level = np.unique(_targets(graph, starts, level))
            level = level[~is_reached[level]]
            is_reached[level] = True
            reached = np.concatenate((reached, level))
            drawn = random.permutation(level)[:PAIRS_OF_START]
            found[2 * distance].append(np.full(len(drawn), start))
            found[2 * distance + 1].append(drawn)
        is_reached[reached] = False
    joined = [np.concatenate([np.empty(0, np.int64), *each]) for each in found]
    return list(zip(joined[::2], joined[1::2], strict=True))


def _targets(graph: LinkGraph, starts: Ints, level: Ints) -> Ints:
    """Return the targets of the pages of a level, one after the other."""
    counts = starts[level + 1] - starts[level]
    before = np.repeat(np.cumsum(counts) - counts, counts)
    targets: Ints = graph.target[np.repeat(starts[level], counts) + np.arange(counts.sum()) - before]
    return targets


def _likeness(pages: _Pages, first: Ints, second: Ints) -> PairCosines:
    is_pair = (first != second) & pages.is_worded[first].astype(bool) & pages.is_worded[second].astype(bool)
    is_pair &= (pages.contents[first] != pages.contents[second]) | (pages.contents[first] == 0)
    first, second = first[is_pair], second[is_pair]
    if not len(first):
        return PairCosines(0, None, None, None)
    products = pages.vectors[first].multiply(pages.vectors[second])
    cosines: Floats = np.asarray(products.sum(axis=1)).ravel()
    error = float(cosines.std() / np.sqrt(len(cosines)))
    return PairCosines(len(cosines), float(cosines.mean()), error, float(np.median(cosines)))
