"""The pages around pages in the link graph, of which hubs and authorities are told, as gateways gather them.

A member that lies makes up links and titles, for pages that it was asked about and for others: of pages that
a second member keeps, too, nothing is told but links that are in the link graph, with their titles or none.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from msgspec.structs import replace

from mesh.actors.actor import Message
from mesh.urls import fingerprint, host_of
from peers.gateway.model.messages import GatherNeighbours, NeighboursGathered
from peers.link_graph.source_row import MARK_BYTES, marks_in
from peers.link_graph.wire_messages import (
    NEIGHBOURS_OF_MAX,
    SOURCES_LISTED_MAX,
    TARGETS_LISTED_MAX,
    LinkingPage,
    MarkedPage,
    NeighboursListed,
    PageNeighbours,
)
from simulations.faults.stores.links import GraphUse, sources_in, targets_in
from simulations.faults.stores.store_use import (
    TICKETS,
    StoreUse,
    UsedMachine,
    UsedRun,
    all_rows,
    ownership_of,
)

ANSWERED_S: Final = 3.0
_TICKETS: Final = 8 * TICKETS
_MADE_UP: Final = MarkedPage(0, b"m" * MARK_BYTES)
_TITLE: Final = "made up"


class HubUse(StoreUse):
    """Lists of neighbours, at rest; the rows that they are read from are those of the link graph."""

    chance = "hubs"

    def __init__(self, run: UsedRun) -> None:
        super().__init__(run)
        self._asked: tuple[str, ...] = ()
        self._gathered: NeighboursGathered | None = None

    def told(self, machine: UsedMachine, message: Message) -> bool:
        if not isinstance(message, NeighboursGathered):
            return False
        self._gathered = message
        return True

    def wrong(self, machines: Sequence[UsedMachine]) -> Iterator[str]:
        ownership, rows = ownership_of(machines), all_rows(machines, GraphUse.rows)
        sources, targets = sources_in(rows), targets_in(rows)
        kept_twice = [
            url for url in sources if len(ownership.serving.team_of(ownership.slot_of(host_of(url)))) > 1
        ]
        n_asked = min(NEIGHBOURS_OF_MAX // 2, len(kept_twice))
        self._asked = tuple(self._random.sample(kept_twice, n_asked))
        for machine in machines:
            if machine is self._run.liar:
                continue
            gathered = self._gather(machine)
            if gathered is None or gathered.silent:
                yield f"{machine.name} has no answer of somebody about the pages around others"
                continue
            for page in (page for told in gathered.told for page in told.pages):
                linking = [link for row in targets[fingerprint(page.url)] for link in row.links]
                titles = {link.url: link.title for link in linking if link.is_there}
                named = {each.url: each.title for each in page.sources}
                if any(title not in ("", titles.get(url, "")) for url, title in named.items()):
                    yield f"{machine.name} is told a title that no page has, around {page.url}: {named}"
                marks = marks_in(sources[page.url]) if page.url in sources else set()
                told = {each.mark for each in page.targets}
                if page.url not in self._asked or named.keys() - titles or told - marks:
                    yield f"{machine.name} is told links that there are not, around {page.url}"

    def _gather(self, machine: UsedMachine) -> NeighboursGathered | None:
        self._gathered = None
        with self.lying(self._forged):
            machine.order(GatherNeighbours(_TICKETS, self._asked))
            self._world.run(until=self._world.now + ANSWERED_S)
        return self._gathered

    def _forged(self, message: Message) -> Message:
        """Return the answer of a member that lies, also about pages that it was not asked about."""
        if not isinstance(message, NeighboursListed):
            return message
        told = {page.url: page for page in message.pages}
        pages = [told.get(url, PageNeighbours(url)) for url in (*self._asked, "http://made-up.test/")]
        return replace(message, is_on=True, pages=tuple(map(_with_made_up, pages)))


def _with_made_up(page: PageNeighbours) -> PageNeighbours:
    renamed = tuple(replace(each, title=_TITLE) for each in page.sources)
    sources = (LinkingPage(f"{page.url}made-up", _TITLE), *renamed)
    targets = (_MADE_UP, *page.targets)
    return replace(page, sources=sources[:SOURCES_LISTED_MAX], targets=targets[:TARGETS_LISTED_MAX])
