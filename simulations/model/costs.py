"""The measured costs of a peer, each with the least and the most that was seen, and draws of all of them.

They were measured on two shared cores of an AMD EPYC (`tests/benchmarks/README.md`, `HISTORY.md`). What is
not known is drawn: every cost by itself, log-triangular from the least over the usual to the most. The draws
are common random numbers: they follow from the seed alone, so plans differ by what is wanted, not by luck.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import msgspec
import numpy as np


class Costs(msgspec.Struct, frozen=True, kw_only=True):
    """The costs of one peer, as usual."""

    stored_share: float = 0.25  # bytes of the archive for a byte of a page, as WARC with gzip
    index_bytes: float = 3_300.0  # of a page's document: 3.1 GB for 1,000,000
    query_cpu_s: float = 0.0035  # of each peer for a query, with `MESH_DOCUMENTS` each
    answer_ms: float = 5.0  # of a peer, median and 99 of 100, with `LATENCY_DOCUMENTS` each
    answer_p99_ms: float = 14.0
    growth: float = 0.42  # of the CPU of hits beyond `ANSWERS`: documents to this power
    memory_mb: float = 250.0  # of a peer that crawls
    memory_page_bytes: float = 415.0  # resident of a page's document while it is searched
    url_row_bytes: float = 120.0  # of the frontier, for each URL that is known
    known_urls: float = 3.0  # for each page
    link_bytes: float = 108.0  # of a link to another peer
    peer_cores: float = 1.7  # that one peer keeps busy, with the processes that take pages apart for it
    core_speed: float = 1.0  # pages of a core, as a multiple of those given


# The least and the most that was measured, in several runs or states.
RANGES: Final = {
    "index_bytes": (3_100.0, 3_360.0),  # 1,000,000 and 100,000 documents
    "query_cpu_s": (0.0027, 0.0049),  # peers that answer only, and the gateway; idle and busy machine
    "answer_ms": (5.0, 8.0),  # one client alone
    "answer_p99_ms": (14.0, 22.0),
    "growth": (0.34, 1.0),  # `bench_index`; where all postings are read. .42 from 100,000 to 400,000 below
    "memory_mb": (159.0, 408.0),  # at rest, and at most while it crawls
    "peer_cores": (1.68, 1.77),
    "core_speed": (0.75, 1.1),  # where others fill the cores, and in the best run
}
ASSUMED: Final = 1.25  # of the others, of which there is one measurement: so many times less, or more


class Answers(NamedTuple):
    """Milliseconds of a peer for a search, by `tests/benchmarks/bench_answers.py`."""

    documents: float
    hits: float  # mean of the CPU of counts and hits, which grows with the documents
    median: float  # of all, with excerpts of ten pages
    p99: float


ANSWERS: Final = (
    Answers(5_000, 1.15, 3.51, 12.05),
    Answers(25_000, 1.61, 6.04, 19.43),
    Answers(100_000, 1.81, 6.07, 15.65),
    Answers(400_000, 3.23, 7.26, 15.79),
)
MESH_DOCUMENTS: Final = 36_000  # of each of three peers by which `query_cpu_s` was measured
LATENCY_DOCUMENTS: Final = 3_083  # and `answer_ms`
HITS_MS_MAX: Final = 200.0  # a question may cost no more effort: `peers.index.answerer.VISITS_MAX`


def answers(documents: float, costs: Costs) -> Answers:
    """Interpolate between the sizes that were measured, by the logarithm of the documents.

    Below the least it is as at the least; beyond the most, hits cost documents^growth, and all times rise by
    as much as they do, the slowest as many times more as they were slower than the median.
    """
    last = ANSWERS[-1]
    sizes = np.log([each.documents for each in ANSWERS])
    at = np.log(max(documents, 1.0))
    hits, median, p99 = (
        float(np.interp(at, sizes, [each[column] for each in ANSWERS])) for column in (1, 2, 3)
    )
    if documents > last.documents:
        grown = min(last.hits * (documents / last.documents) ** costs.growth, HITS_MS_MAX)
        slowest = min((grown - last.hits) * last.p99 / last.median, HITS_MS_MAX)
        hits, median, p99 = grown, median + grown - last.hits, p99 + slowest
    return Answers(documents, hits, median, p99)


def query_cpu_s(documents: float, costs: Costs) -> float:
    """Return the CPU of each peer for a query: as measured in a mesh, and the growth of the index's part."""
    added_ms = answers(documents, costs).hits - answers(MESH_DOCUMENTS, costs).hits
    return costs.query_cpu_s + added_ms / 1e3


def answer_ms(documents: float, costs: Costs) -> tuple[float, float]:
    """Return the median and the 99th of 100 of a peer's answers: as measured, and the index's growth."""
    here, there = answers(documents, costs), answers(LATENCY_DOCUMENTS, costs)
    return costs.answer_ms + here.median - there.median, max(
        costs.answer_p99_ms + here.p99 - there.p99, costs.answer_ms + here.median - there.median
    )


def drawn_costs(count: int, seed: int) -> list[Costs]:
    """Draw costs, each independently of the others."""
    random = np.random.default_rng((seed, 20_041))
    columns = {}
    for field in msgspec.structs.fields(Costs):
        usual = float(field.default)
        least, most = RANGES.get(field.name, (usual / ASSUMED, usual * ASSUMED))
        drawn = random.triangular(np.log(least), np.log(usual), np.log(most), count)
        columns[field.name] = np.exp(drawn).tolist()
    return [Costs(**dict(zip(columns, row, strict=True))) for row in zip(*columns.values(), strict=True)]
