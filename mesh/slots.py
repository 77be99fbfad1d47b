"""The two-level mapping: which peers are responsible for a host, without a coordinator.

Theory of operation
===================
Level 1 maps a host to a slot by hashing; it never changes in the life of a mesh. Level 2 ranks
the peers for every slot by weighted rendezvous hashing: every peer draws a number for every slot,
and the R best draws are the owner and its standbys. A peer that comes takes only the slots it
wins, 1/(n+1) of them; a peer that goes gives up only its own: scheme 3 of Li, Yan, Wang 2004,
section 6.2, without an array that everybody would have to agree on.

The draw of peer p with weight w for slot s is

    score = w / -log2(u),   u = hash(p, s) uniform in (0, 1)

which makes p win with probability w / sum(w) (Thaler and Ravishankar 1998; Schindelhauer and
Schomaker 2005). Everything is computed in integers, with a logarithm table that is itself made
by integer arithmetic, so the result is the same bits on every machine.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Final, Literal

import numpy as np
import numpy.typing as npt
import xxhash

SLOTS_MAX: Final = 65_536  # a slot fits an unsigned 16-bit number in keys and index segments
WEIGHT_MAX: Final = 1 << 16
NOBODY: Final = -1  # a rank that no peer fills

_LOG_BITS: Final = 14  # table of 2^14 mantissas; the error of the logarithm stays below 2^-28
_FRACTION_BITS: Final = 32  # fixed point of the logarithm: 32 bits after the point
_U64 = np.uint64

RECENT_MAX: Final = 8  # tables remembered in a process: the two of an ownership, and those before and after
CHANGE_COST: Final = 8  # to change one peer's weight takes as long as to rank so many peers anew
CHUNK_DRAWS: Final = 1 << 16  # ranked at a time: half a megabyte, which stays in the processor's cache

# Bounds for `_contenders`, each with a factor of ten or more to spare. Single precision keeps 2^-24 of u
# and thus 1.5 * 2^-24 of its logarithm; NumPy promises 4 units in the last place of that.
_LOG_ERROR: Final = 2.0**-20
_COST_ERROR: Final = 2.0**-18
_SIDES: Final[tuple[Literal["left"], Literal["right"]]] = ("left", "right")

_RECENT: dict[tuple[int, int, tuple[tuple[str, int], ...]], SlotTable] = {}


def slot_of(host: str, slot_count: int) -> int:
    """Map a host to its slot, the first level of the two-level mapping.

    All URLs of a host share a slot, so one peer sees the whole site and can be polite to it.

    Args:
      host: lower-case ASCII name as given by `urls.host_of`.
      slot_count: slots in the mesh, 1 to 65,536, the same on every peer.

    Source: Li, Yan, Wang 2004, section 6.2, figure 6-8; the host is hashed, not the URL, since
    balance and one owner per host need it.
    """
    return int(xxhash.xxh3_64_intdigest(host.encode()) % slot_count)


class SlotTable:
    """Who is ranked first, second, ... R-th for every slot; immutable.

    A pure function of the slot count, the replica count and the weights of the peers.

    Attributes:
      peers: ids in sorted order; ranks refer to them by position.
      ranking: int16 array of shape (replicas, slot_count): positions in `peers`, NOBODY where
        there are fewer peers than replicas.
    """

    def __init__(self, weights: Mapping[str, int], slot_count: int, replicas: int) -> None:
        """Rank all peers for all slots.

        Args:
          weights: peer id to weight, 0 to WEIGHT_MAX; a peer of weight 0 holds no slots.
          slot_count: 1 to SLOTS_MAX.
          replicas: R, copies of everything including the owner's, at least 1.
        """
        assert 0 < slot_count <= SLOTS_MAX
        assert replicas >= 1
        self.slot_count = slot_count
        self.replicas = replicas
        self.weights = dict(sorted(weights.items()))
        self.peers: tuple[str, ...] = tuple(self.weights)
        self.ranking, self._scores = _rank(self.weights, np.arange(slot_count), replicas)

    def with_peer(self, peer: str, weight: int) -> SlotTable:
        """The table after `peer` has joined or has another weight, by a pass or two over the slots."""
        if self.weights.get(peer):
            return self.without_peer(peer).with_peer(peer, weight)
        table = self._with_weights(self.weights | {peer: weight})
        position = table.peers.index(peer)
        if peer in self.weights:
            table.ranking = self.ranking.copy()
        else:
            table.ranking = self.ranking + (self.ranking >= position).astype(np.int16)
        table._scores = self._scores.copy()
        if weight > 0:
            table._enter(position, weight)
        return table

    def without_peer(self, peer: str) -> SlotTable:
        """The table after `peer` has gone: others are ranked anew where it was, and nowhere else."""
        position = self.peers.index(peer)
        table = self._with_weights({name: w for name, w in self.weights.items() if name != peer})
        table.ranking = self.ranking - (self.ranking > position).astype(np.int16)
        table._scores = self._scores.copy()
        given_up = np.flatnonzero((self.ranking == position).any(axis=0))
        table.ranking[:, given_up], table._scores[:, given_up] = _rank(table.weights, given_up, self.replicas)
        return table

    def _with_weights(self, weights: Mapping[str, int]) -> SlotTable:
        """A table of this mesh that has yet to be given its ranking and scores."""
        table = SlotTable.__new__(SlotTable)
        table.slot_count, table.replicas = self.slot_count, self.replicas
        table.weights = dict(sorted(weights.items()))
        table.peers = tuple(table.weights)
        return table

    def team_of(self, slot: int) -> tuple[str, ...]:
        """Owner and standbys of a slot in order of rank; shorter where peers are few."""
        return tuple(self.peers[position] for position in self.ranking[:, slot] if position != NOBODY)

    def owner_of(self, slot: int) -> str | None:
        """The peer ranked first, None in a mesh without any weight."""
        position = int(self.ranking[0, slot])
        return None if position == NOBODY else self.peers[position]

    def slots_of(self, peer: str, rank: int = 0) -> npt.NDArray[np.bool_]:
        """Mask over slots: where `peer` has exactly this rank."""
        if peer not in self.weights:
            return np.zeros(self.slot_count, np.bool_)
        mask: npt.NDArray[np.bool_] = self.ranking[rank] == self.peers.index(peer)
        return mask

    def answering(self, alive: frozenset[str]) -> npt.NDArray[np.int16]:
        """For every slot the position of its best ranked peer in `alive`, NOBODY if all are down.

        It is the peer whose index answers for the slot: the owner, or while that is dead a standby.
        """
        is_alive = np.array([peer in alive for peer in self.peers] + [False])
        answer = np.full(self.slot_count, NOBODY, np.int16)
        for rank in range(self.replicas - 1, -1, -1):
            candidate = self.ranking[rank]
            np.copyto(answer, candidate, where=is_alive[candidate])
        return answer

    def _enter(self, position: int, weight: int) -> None:
        """Insert a peer's draws into the ranking, slot by slot, all slots at once."""
        score = _score(_draws(np.arange(self.slot_count), _seed(self.peers[position])), _U64(weight))
        who = np.full(self.slot_count, position, np.int16)
        for rank in range(self.replicas):
            held, holder = self._scores[rank], self.ranking[rank]
            # Equal scores go to the lower position, which is the smaller id: the same on every peer
            # whatever the order of entering.
            wins = (score > held) | ((score == held) & ((holder == NOBODY) | (who < holder)))
            wins &= who != NOBODY
            self._scores[rank], score = np.where(wins, score, held), np.where(wins, held, score)
            self.ranking[rank], who = np.where(wins, who, holder), np.where(wins, holder, who)


def slot_table(
    weights: Mapping[str, int], slot_count: int, replicas: int, near: SlotTable | None = None
) -> SlotTable:
    """The table of these weights: one of the last ones made in this process, or made from `near`.

    Tables are values, so peers of one process, as in a simulation, may share them.

    Args:
      near: a table of the same mesh, from which this one differs in a few peers.
    """
    key = slot_count, replicas, tuple(sorted(weights.items()))
    table = _RECENT.pop(key, None)
    if table is None:
        table = _derived(near, weights) if near is not None else SlotTable(weights, slot_count, replicas)
    _RECENT[key] = table
    if len(_RECENT) > RECENT_MAX:
        del _RECENT[next(iter(_RECENT))]
    return table


def _derived(near: SlotTable, weights: Mapping[str, int]) -> SlotTable:
    """Change the table peer by peer if that is less work than to make it anew."""
    gone = [peer for peer in near.weights if peer not in weights]
    changed = {peer: weight for peer, weight in weights.items() if near.weights.get(peer) != weight}
    if CHANGE_COST * (len(gone) + len(changed)) > len(weights) + CHANGE_COST:
        return SlotTable(weights, near.slot_count, near.replicas)
    table = near
    for peer in gone:
        table = table.without_peer(peer)
    for peer, weight in changed.items():
        table = table.with_peer(peer, weight)
    return table


def _rank(
    weights: Mapping[str, int], slots: npt.NDArray[np.intp], replicas: int
) -> tuple[npt.NDArray[np.int16], npt.NDArray[np.uint64]]:
    """Rank all peers for some slots.

    Args:
      weights: in the order of the positions.

    Returns:
      Positions and scores, both of shape (replicas, len(slots)), as `SlotTable` keeps them.

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
    # weight < 2^17 and the logarithm has 32 fraction bits: the quotient keeps 46 bits.
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
