"""The two-level mapping: which peers are responsible for a host, without a coordinator.

Theory of operation
===================
Level 1 maps a host to a slot by hashing; it never changes in the life of a mesh. Level 2 ranks
the peers for every slot by weighted rendezvous hashing (`slot_ranking`): every peer draws a number
for every slot, and the R best draws are the owner and its standbys. A peer that comes takes only
the slots it wins, 1/(n+1) of them; a peer that goes gives up only its own: scheme 3 of Li, Yan,
Wang 2004, section 6.2, without an array that everybody would have to agree on.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Final

import numpy as np
import numpy.typing as npt
import xxhash

from mesh.slot_limits import SLOTS_MAX
from mesh.slot_ranking import NOBODY, rank_peers, scores_of

HOSTS_CACHED_MAX: Final = 1_024  # whose slots are remembered: a host is met with each of its pages
RECENT_MAX: Final = 8  # tables remembered in a process: the two of an ownership, and those before and after
CHANGE_COST: Final = 8  # to change one peer's weight takes as long as to rank so many peers anew

_RECENT: dict[tuple[int, int, tuple[tuple[str, int], ...]], SlotTable] = {}


@lru_cache(maxsize=HOSTS_CACHED_MAX)
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
    """The peers ranked first, second, ... R-th for every slot; immutable.

    A pure function of the slot count, the replica count, the weights of the peers, and pins if there are any.

    Attributes:
      peers: ids in sorted order; ranks refer to them by position.
      ranking: int16 array of shape (replicas, slot_count): positions in `peers`, NOBODY where
        there are fewer peers than replicas. With pins there is one rank more, which only pinned slots fill.
      pins: peer by slot, where somebody has said who it is to be (`pinned`).
      unpinned: this table without those.
    """

    def __init__(self, weights: Mapping[str, int], slot_count: int, replicas: int) -> None:
        """Rank all peers for all slots.

        Args:
          weights: peer id to weight, 0 to `slot_ranking.WEIGHT_MAX`; a peer of weight 0 holds no slots.
          slot_count: 1 to SLOTS_MAX.
          replicas: R, copies of everything including the owner's, at least 1.
        """
        assert 0 < slot_count <= SLOTS_MAX
        assert replicas >= 1
        self.slot_count = slot_count
        self.replicas = replicas
        self.weights = dict(sorted(weights.items()))
        self.peers: tuple[str, ...] = tuple(self.weights)
        self.ranking, self._scores = rank_peers(self.weights, np.arange(slot_count), replicas)
        self.pins: Mapping[int, str] = {}
        self.unpinned = self

    def pinned(self, pins: Mapping[int, str]) -> SlotTable:
        """The table in which some slots are a given peer's, and those ranked before follow it, all of them.

        So such a slot has one peer more, if it is a stranger to the team. A peer that has no weight, and so
        none of the slots, is passed over.

        Args:
          pins: peer by slot; `pins` of the result are those that count.
        """
        counting = {
            slot: peer
            for slot, peer in sorted(pins.items())
            if self.weights.get(peer, 0) > 0 and slot < self.slot_count
        }
        if not counting:
            return self
        table = self._with_weights(self.weights)
        table.pins, table.unpinned = counting, self
        table.ranking = np.vstack((self.ranking, np.full_like(self.ranking[:1], NOBODY)))
        positions = {peer: position for position, peer in enumerate(self.peers)}
        for slot, peer in counting.items():
            others = [
                position for position in self.ranking[:, slot] if position not in (positions[peer], NOBODY)
            ]
            table.ranking[: len(others) + 1, slot] = [positions[peer], *others]
            table.ranking[len(others) + 1 :, slot] = NOBODY
        return table

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
        table.ranking[:, given_up], table._scores[:, given_up] = rank_peers(
            table.weights, given_up, self.replicas
        )
        return table

    def _with_weights(self, weights: Mapping[str, int]) -> SlotTable:
        """A table of this mesh that has yet to be given its ranking and scores."""
        table = SlotTable.__new__(SlotTable)
        table.slot_count, table.replicas = self.slot_count, self.replicas
        table.weights = dict(sorted(weights.items()))
        table.peers = tuple(table.weights)
        table.pins, table.unpinned = {}, table
        return table

    def team_of(self, slot: int) -> tuple[str, ...]:
        """Owner and standbys of a slot in order of rank; shorter where peers are few."""
        positions: list[int] = self.ranking[:, slot].tolist()
        return tuple([self.peers[position] for position in positions if position != NOBODY])

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
        score = scores_of(self.peers[position], weight, np.arange(self.slot_count))
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
      near: a table of the same mesh without pins, from which this one differs in a few peers.
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
