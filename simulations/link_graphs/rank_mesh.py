"""A mesh that does nothing but rank: peers with `RankExchange`, a virtual clock, and a network that fails.

Everything follows from a seed. Messages get lost, come twice, and overtake each other; peers hear of new
owners at different times; they crash, and are lost with their disks; links change and pages go meanwhile.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from heapq import heappop, heappush
from math import inf
from typing import Final, NamedTuple, TypeAlias

import numpy as np

from peers.link_graph.rank_exchange import RankEnvelope, RankExchange, SumsTold
from peers.link_graph.slot_ranks import DAMPING, NO_SUMS, PageLinks, SlotRows
from simulations.link_graphs.graph import LinkGraph, graph_of
from simulations.traces.columns import Floats, Ints

TURN_S: Final = 0.1  # a peer takes no turn sooner after another
EVENTS_MAX: Final = 5_000_000  # a mesh that has no rest by then never has


class RankNetwork(NamedTuple):
    """The conduct of the network."""

    loss: float = 0.0  # share of envelopes
    repeat: float = 0.0  # share that comes once more, likewise delayed
    delay_s: float = 0.5  # at most; drawn evenly


class RankTraffic(NamedTuple):
    """Counts of all that was sent from peer to peer."""

    envelopes: int
    sums: int  # in statements: one for each page of each statement, again when it is told again


class _Frame(NamedTuple):
    sender: str
    envelope: RankEnvelope


class _Owners(NamedTuple):
    peer: str  # that hears who owns the slots now


class _Turn(NamedTuple):
    peer: str


_Event: TypeAlias = _Frame | _Owners | _Turn


class RankMesh:
    """Peers that rank the pages of a graph, each those of its slots."""

    def __init__(
        self,
        graph: LinkGraph,
        page_slot: Ints,
        n_peers: int,
        tolerance: float,
        network: RankNetwork,
        seed: int,
    ) -> None:
        """Begin with all pages known to their owners, and nothing told.

        Args:
          page_slot: of each page; slots without a page may be left out.
          tolerance: see `RankExchange`.
        """
        self.graph = graph
        self.now = 0.0
        self._page_slot = page_slot
        self._tolerance = tolerance
        self._network = network
        self._random = np.random.default_rng(seed)
        self._events: list[tuple[float, int, _Event]] = []
        self._counts = Counter[str]()
        self._turn_at: dict[str, float] = {}  # of each peer that will take one
        names = [f"peer-{number}" for number in range(n_peers)]
        slot_count = int(page_slot.max()) + 1
        self._owners = tuple(names[number] for number in self._random.integers(n_peers, size=slot_count))
        self._peers = {name: RankExchange(name, self._owners, tolerance) for name in names}
        for slot, owner in enumerate(self._owners):
            self._peers[owner].take_slot(slot)
        self._link(range(graph.page_count))

    @property
    def peers(self) -> list[str]:
        return list(self._peers)

    @property
    def traffic(self) -> RankTraffic:
        """All that was sent since the beginning."""
        return RankTraffic(self._counts["envelopes"], self._counts["sums"])

    def ranks(self) -> Floats:
        """Return the rank of each page at the owner of its slot; of one unknown there the least there is."""
        found = np.full(self.graph.page_count, 1.0 - DAMPING)
        for slot, owner in enumerate(self._owners):
            ranks = self._peers[owner].slots[slot].ranks
            found[ranks.names] = ranks.values
        return found

    def run(self, for_s: float = inf) -> None:
        """Let time pass, or all come to rest: no message under way, and nobody with anything to do."""
        until_s = self.now + for_s
        for name in self._peers:
            self._plan(name)
        for _ in range(EVENTS_MAX):
            if not self._events or self._events[0][0] > until_s:
                self.now = until_s if until_s < inf else self.now
                return
            self.now, _, event = heappop(self._events)
            self._play(event)
        raise AssertionError(f"no rest after {EVENTS_MAX} events")

    # --- What happens to it

    def change_links(self, share: float, removed: float) -> None:
        """Change this share of all links, and remove this share of all pages.

        A changed link leads where another link of its slot does, drawn evenly: so they stay as local as webs
        are, and most go to the pages with the highest ranks.
        """
        graph, random = self.graph, self._random
        changed = random.random(graph.link_count) < share
        slot = self._page_slot[graph.source]
        order, counts = np.argsort(slot, kind="stable"), np.bincount(slot)
        drawn = (np.cumsum(counts) - counts)[slot] + (counts[slot] * random.random(len(slot))).astype(int)
        target = np.where(changed, graph.target[order[drawn]], graph.target)
        is_gone = random.random(graph.page_count) < removed
        stays = ~is_gone[graph.source]
        self.graph = graph_of(graph.page_count, graph.source[stays], target[stays])
        for page in np.flatnonzero(is_gone).tolist():
            self._exchange_of(page).remove(int(self._page_slot[page]), page)
        self._link(np.setdiff1d(graph.source[changed], np.flatnonzero(is_gone)).tolist())

    def crash(self, peer: str) -> None:
        """Kill a peer, and start it again with its rows, but without its ranks and the statements made."""
        rows = self._rows_of(peer)
        exchange = self._peers[peer] = RankExchange(peer, self._owners, self._tolerance)
        for slot, each in rows.items():
            exchange.take_slot(slot, each._replace(ranks=NO_SUMS))
        self._plan(peer)

    def hand_over(self, peer: str, to: str, share: float) -> None:
        """Give a share of the slots of a peer, drawn evenly, to another one, with all that is kept."""
        moved = {slot: rows for slot, rows in self._rows_of(peer).items() if self._random.random() < share}
        self._change_owners(dict.fromkeys(moved, to), moved)

    def lose(self, peer: str) -> None:
        """Lose a peer and its disk: others have the links of its pages from replicas, and nothing else."""
        kept = self._rows_of(peer).items()
        rows = {slot: SlotRows(each.links, {}, {}, NO_SUMS) for slot, each in kept}
        del self._peers[peer]
        names = self.peers
        self._change_owners({slot: names[slot % len(names)] for slot in rows}, rows)

    # --- Details

    def _rows_of(self, peer: str) -> dict[int, SlotRows]:
        """Return the rows of the slots of a peer, without those that it does not know to have lost."""
        slots = self._peers[peer].slots
        return {slot: slots[slot].rows for slot, owner in enumerate(self._owners) if owner == peer}

    def _exchange_of(self, page: int) -> RankExchange:
        return self._peers[self._owners[int(self._page_slot[page])]]

    def _link(self, pages: Iterable[int]) -> None:
        starts = self.graph.starts
        for page in pages:
            targets = self.graph.target[starts[page] : starts[page + 1]]
            links = PageLinks(self._page_slot[targets], targets)
            self._exchange_of(page).link(int(self._page_slot[page]), page, links)

    def _change_owners(self, new: Mapping[int, str], rows: Mapping[int, SlotRows]) -> None:
        """Have new owners begin at once, and all others hear of it later, the old ones too."""
        self._owners = tuple(new.get(slot, owner) for slot, owner in enumerate(self._owners))
        for name, exchange in self._peers.items():
            if name not in new.values():
                self._at(self.now + self._random.uniform(0, 4 * self._network.delay_s), _Owners(name))
                continue
            exchange.change_owners(self._owners)
            for slot in (slot for slot, owner in new.items() if owner == name):
                exchange.take_slot(slot, rows[slot])
            self._plan(name)

    def _at(self, time_s: float, event: _Event) -> None:
        self._counts["events"] += 1
        heappush(self._events, (time_s, self._counts["events"], event))

    def _plan(self, name: str) -> None:
        """Have a peer take a turn when it has something to do."""
        at = max(self._peers[name].wake_at(), self.now + TURN_S)
        if at < self._turn_at.get(name, inf):
            self._turn_at[name] = at
            self._at(at, _Turn(name))

    def _play(self, event: _Event) -> None:
        match event:
            case _Owners(name):
                if name in self._peers:
                    self._peers[name].change_owners(self._owners)
                    self._plan(name)
            case _Turn(name):
                if name in self._peers and self._turn_at.get(name) == self.now:
                    del self._turn_at[name]
                    self._send(name, self._peers[name].wake(self.now))
                    self._plan(name)
            case _Frame(sender, (name, messages)):
                if name in self._peers:
                    self._send(name, self._peers[name].receive(sender, messages))
                    self._plan(name)

    def _send(self, sender: str, envelopes: Iterable[RankEnvelope]) -> None:
        for envelope in envelopes:
            told = (each for each in envelope.messages if isinstance(each, SumsTold))
            self._counts["envelopes"] += 1
            self._counts["sums"] += sum(len(each.statement.sums.names) for each in told)
            n_copies = 1 + int(self._random.random() < self._network.repeat)
            for _ in range(n_copies):
                if self._random.random() >= self._network.loss:
                    delay_s = self._random.uniform(0, self._network.delay_s)
                    self._at(self.now + delay_s, _Frame(sender, envelope))
