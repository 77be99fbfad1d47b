"""The cost of searching pages as they were: five sites, written anew in parts and visited six times.

    python -m tests.benchmarks.bench_past [PAGES]

Prints how large the indexes are with the newest versions alone and with all, and the CPU time of one search
(median of 400 queries of one to three words, statistics and hits, one peer, everything merged).
"""

from __future__ import annotations

import statistics
import sys
import time
from itertools import pairwise
from random import Random
from typing import Final

import numpy as np

from mesh.slot_limits import SLOTS_MAX
from peers.engine.files.storage import MemoryStorage
from peers.engine.index import Index
from peers.engine.pages.document import Document
from peers.engine.pages.past import Lifetime, PastPage, TimeSpan
from peers.engine.past_index import settle
from peers.engine.queries.query_parser import parse_query
from peers.index.index_reader import IndexReader
from tests.demo_texts import demo_documents

ROUNDS: Final = 6
CHANGED: Final = 0.5  # of the pages, from one round to the next
DAY_S: Final = 86_400.0
QUERIES: Final = 400
_EVERYWHERE: Final = np.ones(SLOTS_MAX, np.bool_)


def versions_of_sites(n_pages: int, random: Random) -> dict[str, list[Document]]:
    """Return all versions of each page, the oldest first: each has some lines of a page of the demo web."""
    lines = [line for page in demo_documents() for line in page.text.split("\n") if line]
    titles = [page.title for page in demo_documents()]
    versions: dict[str, list[Document]] = {}
    for number in range(n_pages):
        url = f"http://site{number % 5}.test/{number}"
        of_page = versions[url] = []
        for round_ in range(ROUNDS):
            if round_ == 0 or random.random() < CHANGED:
                text = "\n".join(random.sample(lines, random.randrange(5, 60)))
                at_s = (1 + round_) * DAY_S
                of_page.append(Document(url, random.choice(titles), text=text, fetched_at=at_s))
    return versions


def built(versions: dict[str, list[Document]], *, with_past: bool) -> Index:
    index = Index(MemoryStorage())
    index.add([(0, of_page[-1]) for of_page in versions.values()])
    index.optimise()
    if with_past:
        pages = []
        for url, of_page in versions.items():
            lifetimes = [Lifetime(one.fetched_at, next_.fetched_at) for one, next_ in pairwise(of_page)]
            pages.append(PastPage(0, url, tuple(lifetimes), (), tuple(of_page[:-1])))
        settle(index.past(), pages, index.snapshot())
        index.past().optimise()
    return index


def search_ms(index: Index, texts: list[str], span: TimeSpan | None) -> float:
    """Return the median CPU time of a search, in ms."""
    reader, times = IndexReader(index), []
    for text in texts:
        query = parse_query(text)
        began = time.process_time()
        view = reader.over(_EVERYWHERE, span)
        view.search(query, view.statistics(query.terms), 30)
        times.append(1_000 * (time.process_time() - began))
    return statistics.median(times)


def main() -> None:
    random = Random(1)
    n_pages = int(sys.argv[1]) if len(sys.argv) > 1 else 600
    versions = versions_of_sites(n_pages, random)
    words = [word for page in demo_documents() for word in page.title.split() if len(word) > 3]
    texts = [" ".join(random.sample(words, random.randrange(1, 4))) for _ in range(QUERIES)]
    alone, both = (built(versions, with_past=is_on) for is_on in (False, True))
    n_versions = sum(map(len, versions.values()))
    sizes = [alone.snapshot().index_bytes, both.past().snapshot().index_bytes]
    print(
        f"{n_pages} pages, {n_versions} versions; MB: index {sizes[0] / 1e6:.1f}, past {sizes[1] / 1e6:.1f}"
    )
    as_they_are = [search_ms(index, texts, None) for index in (alone, both, alone, both)]
    print(
        "pages as they are, CPU ms, without, with, without, with:", *(f"{each:.3f}" for each in as_they_are)
    )
    for round_ in (1, 4, ROUNDS):
        end = (round_ + 1) * DAY_S - 1.0
        print(f"as of round {round_}: {search_ms(both, texts, TimeSpan(end, end)):.3f}")
    print(f"any version: {search_ms(both, texts, TimeSpan(0.0, end)):.3f}")


if __name__ == "__main__":
    main()
