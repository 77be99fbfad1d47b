"""The ranks of pages, which follow from the link graph: they are those of power iteration.

They are in memory alone, so no row is judged but those they follow from.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import ClassVar, Final

import numpy as np
from msgspec.structs import replace

from mesh.actors.actor import Message
from mesh.urls import fingerprint, host_of
from peers.link_graph.link_graph import MeshGraph
from peers.link_graph.source_row import marks_in, targets_of
from peers.link_graph.wire_messages import RanksTold
from peers.policy.graph_rules import LinkGraphRules
from simulations.faults.stores.links import GraphUse, sources_in
from simulations.faults.stores.store_use import UsedMachine, all_rows, ownership_of
from simulations.link_graphs.graph import graph_of
from simulations.link_graphs.ranks import distance, exact_ranks

DISTANCE_MAX: Final = 1e-3  # of all rank
RAISED: Final = 1_000  # times


class RankUse(GraphUse):
    """The link graph, by which pages are ranked."""

    switches: ClassVar = {"link_graph": LinkGraphRules(ranks=True)}

    def is_over(self, machines: Sequence[UsedMachine]) -> bool:
        """Has no peer anything to work out, or to tell of ranks?"""
        ranks = [self._graph(machine)._ranks for machine in machines]
        return all(each is not None and each.is_settled for each in ranks)

    def wrong(self, machines: Sequence[UsedMachine]) -> Iterator[str]:
        yield from super().wrong(machines)
        yield from self._wrong_ranks(machines)

    def twisted(self, message: Message) -> Message:
        """Give a thousand times the rank to pages of others: when its slots are others', nothing is left."""
        if not isinstance(message, RanksTold):
            return message
        return RanksTold(tuple(replace(part, values=_raised(part.values)) for part in message.parts))

    def _wrong_ranks(self, machines: Sequence[UsedMachine]) -> Iterator[str]:
        ownership, pages = ownership_of(machines), sources_in(all_rows(machines, self.rows))
        slots = {mark: slot for row in pages.values() for slot, mark in targets_of(row)}
        slots |= {fingerprint(url): ownership.slot_of(host_of(url)) for url in pages}
        marks = sorted(slots)
        number = {mark: at for at, mark in enumerate(marks)}
        links = sorted(
            (number[fingerprint(url)], number[mark]) for url, row in pages.items() for mark in marks_in(row)
        )
        if not links:
            yield "no page has a rank, as none has a link"
            return
        exact = exact_ranks(graph_of(len(marks), *np.array(links).T))
        graphs = {machine.peer: self._graph(machine) for machine in machines}
        found = np.zeros(len(marks))
        for mark, slot in slots.items():
            ranks = graphs[ownership.owner_of(slot) or ""]._ranks
            rank = None if ranks is None else ranks.rank_of(slot, mark)
            found[number[mark]] = 0.0 if rank is None else rank
        if (far := distance(found, exact)) > DISTANCE_MAX:
            worst = int(np.abs(found - exact).argmax())
            yield (
                f"ranks are {far:.4f} of all rank away from those of power iteration; the page"
                f" {marks[worst].hex()} has {found[worst]:.3f}, not {exact[worst]:.3f}"
            )

    def _graph(self, machine: UsedMachine) -> MeshGraph:
        graph = self.actor(machine, MeshGraph.name)
        assert isinstance(graph, MeshGraph)
        return graph


def _raised(values: bytes) -> bytes:
    return (np.frombuffer(values, ">f4") * RAISED).astype(">f4").tobytes()
