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
from typing import Final

import numpy as np
import numpy.typing as npt
import xxhash

SLOTS_MAX: Final = 65_536  # a slot fits an unsigned 16-bit number in keys and index segments
WEIGHT_MAX: Final = 1 << 16
NOBODY: Final = -1  # a rank that no peer fills

_LOG_BITS: Final = 14  # table of 2^14 mantissas; the error of the logarithm stays below 2^-28
_FRACTION_BITS: Final = 32  # fixed point of the logarithm: 32 bits after the point
_U64 = np.uint64


def slot_of(host: str, slot_count: int) -> int:
    """Map a host to its slot, the first level of the two-level mapping.

    All URLs of a host share a slot, so one peer sees the whole site and can be polite to it.

    Args:
      host: scheme and authority as given by `urls.host_of`.
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
        self.ranking = np.full((replicas, slot_count), NOBODY, np.int16)
        self._scores = np.zeros((replicas, slot_count), np.uint64)
        for position, weight in enumerate(self.weights.values()):
            if weight > 0:
                self._enter(position, weight)

    def with_peer(self, peer: str, weight: int) -> SlotTable:
        """The table after `peer`, new or without weight so far, has joined, by one pass over the slots."""
        assert self.weights.get(peer, 0) == 0, "its slots would have to be taken back first"
        table = SlotTable.__new__(SlotTable)
        table.slot_count, table.replicas = self.slot_count, self.replicas
        table.weights = dict(sorted((self.weights | {peer: weight}).items()))
        table.peers = tuple(table.weights)
        position = table.peers.index(peer)
        if peer in self.weights:
            table.ranking = self.ranking.copy()
        else:
            table.ranking = self.ranking + (self.ranking >= position).astype(np.int16)
        table._scores = self._scores.copy()
        if weight > 0:
            table._enter(position, weight)
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
        score = _scores(self.peers[position], weight, self.slot_count)
        who = np.full(self.slot_count, position, np.int16)
        for rank in range(self.replicas):
            held, holder = self._scores[rank], self.ranking[rank]
            # Equal scores go to the lower position, which is the smaller id: the same on every peer
            # whatever the order of entering.
            wins = (score > held) | ((score == held) & ((holder == NOBODY) | (who < holder)))
            wins &= who != NOBODY
            self._scores[rank], score = np.where(wins, score, held), np.where(wins, held, score)
            self.ranking[rank], who = np.where(wins, who, holder), np.where(wins, holder, who)


def _scores(peer: str, weight: int, slot_count: int) -> npt.NDArray[np.uint64]:
    """The peer's draw for every slot: weight / -log2(hash / 2^64), in fixed point."""
    draws = _hashes(peer, slot_count)
    # weight < 2^17 and the logarithm has 32 fraction bits: the quotient keeps 46 bits.
    return (_U64(weight) << _U64(46)) // _minus_log2(draws)


def _hashes(peer: str, slot_count: int) -> npt.NDArray[np.uint64]:
    """Uniform 64-bit draws: splitmix64 (Steele, Lea, Flood 2014) over the slots, seeded by the peer."""
    seed = _U64(xxhash.xxh3_64_intdigest(peer.encode()))
    with np.errstate(over="ignore"):
        x = np.arange(1, slot_count + 1, dtype=np.uint64) * _U64(0x9E3779B97F4A7C15) + seed
        x = (x ^ (x >> _U64(30))) * _U64(0xBF58476D1CE4E5B9)
        x = (x ^ (x >> _U64(27))) * _U64(0x94D049BB133111EB)
        result: npt.NDArray[np.uint64] = x ^ (x >> _U64(31))
    return result


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
