"""A use that asks gateways at rest, and the pages on the disks of peers by which they are to answer."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import ClassVar, Final

from mesh.actors.actor import Message
from mesh.stamp import BEFORE_ALL
from mesh.tables.table import TableSection
from mesh.urls import host_of
from peers.actors import CELL_SECTION
from peers.engine.pages.document import Document
from peers.gateway.model.messages import PagesFound, SearchPages
from peers.storage.ledger.place import Place
from peers.storage.ledger.stored_versions import StoredVersions
from simulations.faults.stores.store_use import TICKETS, StoreUse, UsedMachine, UsedRun, ownership_of
from simulations.faults.stores.versions import body_at
from simulations.world.varied_pages import VariedParser

ANSWERED_S: Final = 6.0
SHOWN: Final = 100  # pages of an answer


class AskedUse(StoreUse):
    """A use of its own searches.

    Attributes:
      place: among those that ask, so that no two have a ticket in common.
    """

    place: ClassVar[int]

    def __init__(self, run: UsedRun) -> None:
        super().__init__(run)
        self._n_asked = 0
        self._waiting: set[int] = set()
        self._answers: dict[int, PagesFound] = {}

    def told(self, machine: UsedMachine, message: Message) -> bool:
        if not isinstance(message, PagesFound) or message.ticket not in self._waiting:
            return False
        self._waiting.discard(message.ticket)
        self._answers[message.ticket] = message
        return True

    def ask(self, machine: UsedMachine, text: str, *, wants_facets: bool = False) -> int:
        """Search at a gateway; return by which ticket `answer` has it after a while."""
        self._n_asked += 1
        ticket = self.place * TICKETS + self._n_asked
        self._waiting.add(ticket)
        machine.order(SearchPages(ticket, text, k=SHOWN, wants_facets=wants_facets))
        return ticket

    def answer(self, ticket: int) -> PagesFound | None:
        """Return an answer for all slots; None where there is none."""
        found = self._answers.pop(ticket, None)
        return None if found is None or found.coverage.missing or not found.is_exact else found

    def answers_to(self, texts: Iterable[str]) -> Iterator[tuple[str, PagesFound | None]]:
        """Search for each at some gateway, and yield the answers."""
        tickets = {}
        for text in texts:
            machine = self._run.some_gateway()
            assert machine is not None
            tickets[text] = self.ask(machine, f"{text} copies:all")
        self._world.run(until=self._world.now + ANSWERED_S)
        for text, ticket in tickets.items():
            yield text, self.answer(ticket)

    def shown_pages(self, machines: Sequence[UsedMachine]) -> dict[str, tuple[Document, bytes]]:
        """Return the pages that are to be found, with their bodies, as the owners of their slots have it."""
        ownership, parser = ownership_of(machines), VariedParser(self._run.web)
        by_peer = {machine.peer: machine for machine in machines}
        pages = {}
        for url in {**self._run.watch.stored, **dict.fromkeys(self._run.watch.last)}:
            if url in self._run.hidden:
                continue
            slot = ownership.slot_of(host_of(url))
            owner = by_peer[ownership.owner_of(slot) or ""]
            newest = StoredVersions(TableSection(owner.disk.table, CELL_SECTION)).newest(slot, url)
            body = None if newest is None else _body_of(owner, newest)
            document = None if body is None else parser.document(url, BEFORE_ALL, body)
            if body is not None and document is not None:
                pages[url] = document, body
        return pages

    def may_differ(self, url: str, body: bytes) -> bool:
        """Has a page a version of which the liar may have told another text?"""
        return self._run.is_told_by_liar(url, body)


def _body_of(machine: UsedMachine, place: Place) -> bytes | None:
    return body_at(machine, place.extent) if place.has_document else None
