"""The draws by which peers win slots: weighted rendezvous hashing, in integers.

Theory of operation
===================
Every peer draws a number for every slot, and the R best draws are the owner and its standbys. The draw
of peer p with weight w for slot s is

    score = w / -log2(u),   u = hash(p, s) uniform in (0, 1)

which makes p win with probability w / sum(w) (Thaler and Ravishankar 1998; Schindelhauer and
Schomaker 2005). Everything is computed in integers, with a logarithm table that is itself made
by integer arithmetic, so the result is the same bits on every machine.

What is kept of the result, and how it changes when a peer comes or goes, is `slots`.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Final, Literal

import numpy as np
import numpy.typing as npt
import xxhash

WEIGHT_MAX: Final = 1 << 16  # of a peer; a larger one by 2^46 would not fit 64 bits, see `_score`
NOBODY: Final = -1  # a rank that no peer fills

_LOG_BITS: Final = 14  # table of 2^14 mantissas; the error of the logarithm stays below 2^-28
_FRACTION_BITS: Final = 32  # fixed point of the logarithm: 32 bits after the point
_U64 = np.uint64

CHUNK_DRAWS: Final = 1 << 16  # ranked at a time: half a megabyte, which stays in the processor's cache

# Bounds for `_contenders`, each with a factor of ten or more to spare. Single precision keeps 2^-24 of u
# and thus 1.5 * 2^-24 of its logarithm; NumPy promises 4 units in the last place of that.
_LOG_ERROR: Final = 2.0**-20
_COST_ERROR: Final = 2.0**-18
_SIDES: Final[tuple[Literal["left"], Literal["right"]]] = ("left", "right")


def rank_peers(
    weights: Mapping[str, int], slots: npt.NDArray[np.intp], replicas: int
) -> tuple[npt.NDArray[np.int16], npt.NDArray[np.uint64]]:
    """Rank all peers for some slots.

    Args:
      weights: in the order of the positions.

    Returns:
      Positions and scores, both of shape (replicas, len(slots)), best first; NOBODY and 0 where there are
      fewer peers of any weight than replicas.

    The exact score costs some fifty passes over the draws, an approximate one a dozen. So all draws are
    scored approximately, and exactly only those that may be among the R best: with bounds of the error
    that hold on any machine, the result is that of scoring all of them exactly.
    """
    ranking = np.full((replicas, len(slots)), NOBODY, np.int16)
    scores = np.zeros((replicas, len(slots)), np.uint64)
    positions = np.flatnonzero(np.fromiter(weights.values(), np.int64, len(weights)))
    if not len(positions):
        return ranking, scores
    peers = list(weights)
    seeds = np.array([_seed(peers[position]) for position in positions], np.uint64)
    shares = np.array([weights[peers[position]] for position in positions], np.uint64)
    step = max(1, CHUNK_DRAWS // len(positions))
    for start in range(0, len(slots), step):
        part = slice(start, start + step)
        draws = _draws(slots[part, np.newaxis], seeds)
        rows, columns = np.nonzero(_contenders(draws, shares, replicas))
        score = _score(draws[rows, columns], shares[columns])
        # Equal scores go to the lower position, which is the smaller id.
        order = np.lexsort((columns, ~score, rows))
        first, end = (np.searchsorted(rows, np.arange(len(draws)), side) for side in _SIDES)
        for rank in range(min(replicas, len(positions))):
            assert (first + rank < end).all()
            chosen = order[first + rank]
            ranking[rank, part] = positions[columns[chosen]]
            scores[rank, part] = score[chosen]
    return ranking, scores


def scores_of(peer: str, weight: int, slots: npt.NDArray[np.intp]) -> npt.NDArray[np.uint64]:
    """Score one peer for some slots, exactly, as `rank_peers` does."""
    return _score(_draws(slots, _seed(peer)), _U64(weight))


def _contenders(
    draws: npt.NDArray[np.uint64], weights: npt.NDArray[np.uint64], replicas: int
) -> npt.NDArray[np.bool_]:
    """Mask over draws of shape (slots, peers): a superset of the R best of each slot, mostly not larger.

    The cost -log2(u) / w, the inverse of the score, is computed in single precision: with an absolute
    error of the logarithm below _LOG_ERROR, that of the exact one's table included, and a relative error
    below _COST_ERROR. Let b be the R-th lowest cost. R peers have a true cost of at most
    b' = b (1 + _COST_ERROR) + _LOG_ERROR / w_min, so a score of at least 2^14 / b' - 1, the quotient being
    cut off. Who costs so much more that its score is sure to be below that is no contender.
    """
    uniform = draws.astype(np.float32)
    np.maximum(uniform, np.float32(1), out=uniform)
    uniform *= np.float32(2.0**-64)
    cost = np.log(uniform, out=uniform)
    cost *= (-1 / np.log(2) / weights.astype(np.float64)).astype(np.float32)
    bound = _lowest(cost, replicas).astype(np.float64)
    slack = _LOG_ERROR / float(weights.min())
    least_score = 2.0**14 / (bound * (1 + _COST_ERROR) + slack) - 2
    with np.errstate(divide="ignore"):
        limit = np.where(least_score > 0, 2.0**14 / np.maximum(least_score, 0), np.inf)
    limit = limit * (1 + _COST_ERROR) + slack
    result: npt.NDArray[np.bool_] = cost <= limit[:, np.newaxis]
    return result


def _lowest(cost: npt.NDArray[np.float32], rank: int) -> npt.NDArray[np.float32]:
    """The `rank`-th lowest value of each row, or the highest where there are fewer."""
    if cost.shape[1] <= rank:
        highest: npt.NDArray[np.float32] = cost.max(axis=1)
        return highest
    rest, rows = cost.copy(), np.arange(len(cost))
    for _ in range(rank - 1):
        rest[rows, rest.argmin(axis=1)] = np.inf
    lowest: npt.NDArray[np.float32] = rest.min(axis=1)
    return lowest


def _score(
    draws: npt.NDArray[np.uint64], weights: npt.NDArray[np.uint64] | np.uint64
) -> npt.NDArray[np.uint64]:
    """weight / -log2(draw / 2^64), in fixed point."""
    # weight <= WEIGHT_MAX < 2^17 and the logarithm has 32 fraction bits: the quotient keeps 46 bits.
    result: npt.NDArray[np.uint64] = (weights << _U64(46)) // _minus_log2(draws)
    return result


def _seed(peer: str) -> np.uint64:
    return _U64(xxhash.xxh3_64_intdigest(peer.encode()))


def _draws(slots: npt.NDArray[np.intp], seeds: npt.NDArray[np.uint64] | np.uint64) -> npt.NDArray[np.uint64]:
    """Uniform 64-bit draws: splitmix64 (Steele, Lea, Flood 2014) over the slots, seeded by the peers."""
    with np.errstate(over="ignore"):
        x = (slots.astype(np.uint64) + _U64(1)) * _U64(0x9E3779B97F4A7C15) + seeds
        for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
            x ^= x >> _U64(shift)
            x *= _U64(factor)
        x ^= x >> _U64(31)
    return x


def _minus_log2(draws: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
    """-log2(draw / 2^64) with 32 fraction bits, at least 1."""
    x = np.maximum(draws, _U64(1))
    exponent = _bit_length(x) - _U64(1)
    mantissa = x << (_U64(63) - exponent)  # leading bit at position 63
    index = (mantissa >> _U64(63 - _LOG_BITS)) & _U64((1 << _LOG_BITS) - 1)
    rest = (mantissa >> _U64(63 - _LOG_BITS - 16)) & _U64(0xFFFF)
    table = _log2_table()
    low, high = table[index], table[index + _U64(1)]
    log2_mantissa = low + (((high - low) * rest) >> _U64(16))
    whole = (exponent << _U64(_FRACTION_BITS)) + log2_mantissa
    result: npt.NDArray[np.uint64] = np.maximum(_U64(64 << _FRACTION_BITS) - whole, _U64(1))
    return result


def _bit_length(x: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
    length = np.zeros_like(x)
    for step in (32, 16, 8, 4, 2, 1):
        is_longer = x >> _U64(step) != 0
        length += np.where(is_longer, _U64(step), _U64(0))
        x = np.where(is_longer, x >> _U64(step), x)
    length += (x != 0).astype(np.uint64)
    return length


@lru_cache(maxsize=1)
def _log2_table() -> npt.NDArray[np.uint64]:
    """log2(1 + i / 2^14) with 32 fraction bits for i in 0..2^14, by repeated squaring in integers."""
    size = 1 << _LOG_BITS
    value = (np.arange(size, dtype=np.uint64) + _U64(size)) << _U64(31 - _LOG_BITS)  # 1.0 is 2^31
    result = np.zeros(size + 1, np.uint64)
    for bit in range(_FRACTION_BITS - 1, -1, -1):
        value = (value * value) >> _U64(31)
        overflows = value >= _U64(1 << 32)
        value = np.where(overflows, value >> _U64(1), value)
        result[:size] |= np.where(overflows, _U64(1 << bit), _U64(0))
    result[size] = _U64(1 << _FRACTION_BITS)
    return result
