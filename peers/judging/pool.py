"""Pools: the results of several engines that people are to judge, in an order that names no engine. [io]

The first results of every run are judged, all others count as not relevant: so recall comes out too high
(Zobel 1998), and a run that was not pooled is measured too low. An assessor sees of every page the same
title and an excerpt by the same rule, from the copy that the mesh has, whatever engine has found it. A result
without such a copy is passed over; so it has no judgement, and measures are to leave it out (`condensed`).

Source: Li, Yan, Wang 2004, section 10.4 (pooling, blind order, one rule for excerpts, pages of one archive).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from hashlib import blake2b
from itertools import islice
from pathlib import Path
from random import Random
from typing import NamedTuple

import msgspec

from mesh.errors import ConfigError, unreadable
from peers.judging.trec import Run, not_written
from peers.user_state import replace_whole


class PooledQuery(msgspec.Struct, frozen=True):
    """A query whose results are to be judged."""

    query: str  # its id
    text: str


class PooledPage(msgspec.Struct, frozen=True):
    """A result to be judged, without a trace of its engine."""

    query: str  # the id
    document: str  # its name in the runs, mostly a URL
    title: str = ""
    excerpt: str = ""
    highlights: tuple[tuple[int, int], ...] = ()  # of the excerpt


class Pool(msgspec.Struct, frozen=True):
    """All that is to be judged, query by query, and how it came about."""

    depth: int  # of each run so many results
    seed: int  # of the order
    queries: tuple[PooledQuery, ...]
    pages: tuple[PooledPage, ...]


class Shown(NamedTuple):
    """The title and an excerpt of a document, as a query finds it."""

    title: str
    excerpt: str
    highlights: tuple[tuple[int, int], ...]


def blind_order(rankings: Sequence[Sequence[str]], depth: int, random: Random) -> list[str]:
    """Merge the rankings of several engines for one query, so that no place in it tells an engine.

    Rank by rank the documents that the engines have there are shuffled; each stands where it came first.
    """
    order: dict[str, None] = {}
    for rank in range(depth):
        there = [ranking[rank] for ranking in rankings if rank < len(ranking)]
        random.shuffle(there)
        order.update(dict.fromkeys(there))
    return list(order)


def name_alone(document: str, text: str) -> Shown:
    """Show nothing of a document but its name."""
    return Shown("", "", ())


def pool_of(
    runs: Sequence[Run],
    topics: Sequence[tuple[str, str]],
    depth: int,
    seed: int,
    shown: Callable[[str, str], Shown | None] = name_alone,
) -> Pool:
    """Pool the first results of runs that can be shown.

    Args:
      topics: ids and texts of the queries, in the order in which they are judged; those without results are
        left out.
      depth: results of each run for a query, those that cannot be shown not counted.
      shown: of a document and the text of a query, None where there is nothing to be shown; asked again and
        again for the same.

    Raises:
      ConfigError: a run has a query that is none of the topics, or none has any result for them.
    """
    unknown = {query for run in runs for query in run} - {query for query, _ in topics}
    if unknown:
        raise ConfigError(f"the file of queries lacks {min(unknown)}, which a run has: give the right one")
    random = Random(seed)
    queries, pages = [], []
    for query, text in topics:
        documents = ([hit.document for hit in run.get(query, ())] for run in runs)
        rankings = [
            list(islice((each for each in ranking if shown(each, text) is not None), depth))
            for ranking in documents
        ]
        order = blind_order(rankings, depth, random)
        if order:
            queries.append(PooledQuery(query, text))
            pages += [PooledPage(query, each, *found) for each in order if (found := shown(each, text))]
    if not pages:
        raise ConfigError("no run has any result that can be shown")
    return Pool(depth, seed, tuple(queries), tuple(pages))


def shuffled_for(pool: Pool, assessor: str) -> dict[str, list[PooledPage]]:
    """Return the pages of each query in an order that tells neither ranks nor engines.

    Each assessor has another one, so that no page is first for all; it is the same at every look, and stays
    when pages are added to the pool. Pages stand by a digest of the seed, the assessor, the query and their
    names.
    """
    listed: dict[str, list[PooledPage]] = {each.query: [] for each in pool.queries}
    for page in pool.pages:
        listed[page.query].append(page)

    def place_of(page: PooledPage) -> bytes:
        said = f"{pool.seed}\n{assessor}\n{page.query}\n{page.document}"
        return blake2b(said.encode("utf-8", "replace"), digest_size=16).digest()

    return {query: sorted(pages, key=place_of) for query, pages in listed.items()}


def write_pool(path: Path, pool: Pool) -> None:
    """Write a pool as one JSON document. ConfigError when it cannot be written."""
    try:
        replace_whole(path, msgspec.json.format(msgspec.json.encode(pool), indent=1))
    except OSError as error:
        raise not_written(path, error) from error


def read_pool(path: Path) -> Pool:
    """Read a pool that `write_pool` wrote.

    Raises:
      ConfigError: it cannot be read or is something else.
    """
    try:
        return msgspec.json.decode(path.read_bytes(), type=Pool)
    except OSError as error:
        raise unreadable(path, error) from error
    except msgspec.MsgspecError as error:
        raise ConfigError(f"{path} is no pool: {error}; `tianmesh eval pool` makes one of runs") from error
