"""Query traces as numbers: of a log of people's queries, and made-up ones.

Made-up ones follow chapter 9 of Li, Yan, Wang 2004: how popular queries are is its fit (9-2),

    y = (-0.04103 + 1.01689 x)^0.1346,

the share y of all queries that the share x of the most popular distinct ones has. It holds from x = 0.0404
on; below x = 0.06 a power law goes on from it. That alone gives a cache of some hundred queries a quarter of
the hits that table 9-2 has: people turn pages and ask again. So a query repeats, with probability `repeat`,
one asked some seconds ago: their logarithm is normal, and the busier the engine, the more lie between.

Nothing here is fitted to table 9-2, which is left to judge it (`sim cache`).
"""

from __future__ import annotations

from array import array
from pathlib import Path
from typing import Final

import numpy as np

from peers.query_log.log_files import BACKWARDS_MAX, digest_of, read_log, requests_of
from simulations.traces.columns import Floats, Ints

FIT_BEGIN: Final = 0.06  # of x, from where on (9-2) is taken
HEAD_EXPONENT: Final = (
    0.2  # y ~ x^0.2 below: fits hit rates of SogouQ's sample best, of 0.15, 0.2, 0.25 and 0.3
)
# Of the 2,181 repetitions in Excite's log of a day in 1997: their logarithms have this mean and deviation.
REPEAT_GAP_MEDIAN_S: Final = 57.0
REPEAT_GAP_SIGMA: Final = 1.74
BOOK_REPEAT: Final = 0.53  # (9-5): 52.7 % of the requests are for other pages of results than the first
BOOK_RATE_PER_S: Final = 0.195  # 960,000 requests from 15 April to 10 June 1999 (9.2)


def read_queries(path: Path) -> Ints:
    """Read the requests of a query log as numbers: equal queries have equal numbers.

    They are sorted by time where more than 1 % go backwards, as in a log by client. The first query in the
    file has number 0, the next other one 1. Held are some 16 bytes for each request.

    Raises:
      ConfigError: the file cannot be read, has no queries, or a line that does not fit (`log_files`).
    """
    asked, times = array("Q"), array("d")
    for entry in requests_of(read_log(path).entries):
        asked.append(digest_of(entry.query))
        times.append(entry.at)
    _, first, place_of = np.unique(np.array(asked, np.uint64), return_index=True, return_inverse=True)
    numbered: Ints = np.argsort(np.argsort(first))[place_of]
    at = np.array(times)
    is_by_time = np.count_nonzero(np.diff(at) < 0) <= BACKWARDS_MAX * len(at)
    return numbered if is_by_time else numbered[np.argsort(at, kind="stable")]


def made_up_queries(
    count: int, distinct: int, repeat: float, rate_per_s: float = BOOK_RATE_PER_S, *, seed: int
) -> Ints:
    """Draw a query log.

    Args:
      count: of queries.
      distinct: queries that people may ask; some are never drawn.
      repeat: probability that a query is one of the last once more.
      rate_per_s: queries a second, which decides how many lie between the two.
    """
    random = np.random.default_rng(seed)
    ranks = np.searchsorted(_concentration(np.arange(1, distinct + 1) / distinct), random.random(count))
    queries = np.minimum(ranks, distinct - 1).astype(np.int64)
    gaps_s = random.lognormal(np.log(REPEAT_GAP_MEDIAN_S), REPEAT_GAP_SIGMA, count)
    back = np.minimum(gaps_s * rate_per_s, count).astype(np.int64) + 1
    again = np.flatnonzero((random.random(count) < repeat) & (back <= np.arange(count)))
    listed = queries.tolist()
    for at, distance in zip(again.tolist(), back[again].tolist(), strict=True):
        listed[at] = listed[at - distance]
    return np.array(listed, np.int64)


def _concentration(x: Floats) -> Floats:
    """The fit (9-2), normed to 1 at 1, with a power law for the head."""
    begin = (-0.04103 + 1.01689 * FIT_BEGIN) ** 0.1346
    fit = np.maximum(-0.04103 + 1.01689 * x, 0.0) ** 0.1346
    head = begin * (x / FIT_BEGIN) ** HEAD_EXPONENT
    y = np.where(x < FIT_BEGIN, head, fit)
    result: Floats = y / y[-1]
    return result
