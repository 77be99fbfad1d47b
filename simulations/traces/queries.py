"""Query traces as numbers: of a log of people's queries, and made-up ones.

Made-up ones follow chapter 9 of Li, Yan, Wang 2004: how popular queries are is its fit (9-2),

    y = (-0.04103 + 1.01689 x)^0.1346,

the share y of all queries that the share x of the most popular distinct ones has. It holds from x = 0.0404
on; below x = 0.06 a power law goes on from it. That alone gives a cache of some hundred queries less than
half of the hits that table 9-2 has: people turn pages and ask again. So a query repeats, with probability
`repeat`, one of the last, at a distance whose logarithm is normal.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

import numpy as np

from simulations.traces.columns import Floats, Ints
from simulations.traces.query_logs import read_log, requests_of

FIT_BEGIN: Final = 0.06  # of x, from where on (9-2) is taken
HEAD_EXPONENT: Final = (
    0.25  # y ~ x^0.25 below: the fit has y ~ x^0.18 at 0.1 and falls off a cliff below 0.05
)
REPEAT_DISTANCE_MEDIAN: Final = 4.0  # queries between a query and its repetition: a page turned at once
REPEAT_DISTANCE_SIGMA: Final = 2.2


def read_queries(path: Path) -> Ints:
    """Read the requests of a query log as numbers: equal queries have equal numbers.

    Raises:
      ConfigError: the file cannot be read, has no queries, or a line that does not fit (`query_logs`).
    """
    numbers: dict[str, int] = {}
    asked = (numbers.setdefault(entry.query, len(numbers)) for entry in requests_of(read_log(path).entries))
    return np.fromiter(asked, np.int64)


def made_up_queries(count: int, distinct: int, repeat: float, seed: int) -> Ints:
    """Draw a query log.

    Args:
      count: of queries.
      distinct: queries that people may ask; some are never drawn.
      repeat: probability that a query is one of the last once more.
    """
    random = np.random.default_rng(seed)
    ranks = np.searchsorted(_concentration(np.arange(1, distinct + 1) / distinct), random.random(count))
    queries = np.minimum(ranks, distinct - 1).astype(np.int64)
    back = random.lognormal(np.log(REPEAT_DISTANCE_MEDIAN), REPEAT_DISTANCE_SIGMA, count).astype(np.int64) + 1
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
