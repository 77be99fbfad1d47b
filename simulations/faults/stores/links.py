"""The link graph: in a mesh at rest it is told, and as the pages are.

Which pages have rows is not judged, as peers hear of the policy when they have visited some.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import ClassVar, Final

from mesh.actors.actor import Message
from mesh.actors.ownership import Ownership
from mesh.tables.table import TableSection
from mesh.urls import fingerprint, host_of
from peers.actors import CELL_SECTION, LINK_GRAPH_SECTION
from peers.link_graph.link_graph import MeshGraph
from peers.link_graph.source_row import (
    GoneLink,
    SourceRow,
    TargetLink,
    is_name_of_source,
    marks_in,
    source_row_in,
)
from peers.link_graph.target_row import (
    SOURCES_MAX,
    TargetRow,
    is_name_of_target,
    mark_in,
    target_row_in,
)
from peers.link_graph.wire_messages import GraphTold
from peers.policy.graph_rules import LinkGraphRules
from peers.policy.rules import DAY_S
from peers.storage.ledger.stored_versions import StoredVersions
from simulations.faults.stores.store_use import StoreUse, UsedMachine, UsedRun, all_rows, ownership_of

AHEAD_S: Final = 3 * DAY_S  # of a time to come
HEARD_S: Final = 5.0  # from when something is said until it is taken or refused
VISITS_OF_LIES: Final = 3


class GraphUse(StoreUse):
    """The link graph, of which the crawl makes use enough."""

    switches: ClassVar = {"link_graph": LinkGraphRules()}
    rows = LINK_GRAPH_SECTION + MeshGraph.rows_section

    def __init__(self, run: UsedRun) -> None:
        super().__init__(run)
        self._made_up: set[str] = set()  # pages that a member which lies may say to link anywhere
        self._n_lies = 0

    def wrong(self, machines: Sequence[UsedMachine]) -> Iterator[str]:
        yield from self._wrong_links(machines)

    def lie(self, machine: UsedMachine, until: float) -> None:
        """Have a member tell of links of pages that there are not, of its own slots and of others."""
        self.lie_now_and_then(machine, partial(self._lies, machine), until)

    def _lies(self, machine: UsedMachine, ownership: Ownership) -> Iterator[tuple[str, str, Message]]:
        urls = list(self._run.watch.stored)
        if not urls:
            return
        target = self._random.choice(urls)
        owner = ownership.owner_of(ownership.slot_of(host_of(target))) or ""
        for fetched_at in (machine.local_time(), machine.local_time() + AHEAD_S):
            self._n_lies += 1
            page = f"{self._random.choice(urls)}/made-up-{self._n_lies}"
            links = (TargetLink(target, "made up"), TargetLink("HTTP://A.TEST", "none"))
            gone = (GoneLink(ownership.table.slot_count, b"n" * 16),) if self._n_lies % 3 == 0 else ()
            told = GraphTold(self._n_lies, page, VISITS_OF_LIES, fetched_at, "made up", links, gone)
            if fetched_at <= machine.local_time():
                self._note_lie(machine, owner, page)
            yield owner, MeshGraph.name, told

    def _note_lie(self, machine: UsedMachine, owner: str, page: str) -> None:
        """Note whether a member keeps the slot of a page, as itself or the owner of a target sees it."""
        asked = next((each for each in self._run.running() if each.peer == owner), machine)

        def look() -> None:
            for each in (machine, asked):
                ownership = each.ownership
                if ownership is None or machine.peer in ownership.team_of(ownership.slot_of(host_of(page))):
                    self._made_up.add(page)

        look()
        for later_s in (1.0, HEARD_S):
            self._world.plan(self._world.now + later_s, look)

    def _wrong_links(self, machines: Sequence[UsedMachine]) -> Iterator[str]:
        """Yield a sentence for each row that is not as it has to be."""
        ownership, rows, run = ownership_of(machines), all_rows(machines, self.rows), self._run
        sources, targets = sources_in(rows), targets_in(rows)
        by_peer = {machine.peer: machine for machine in machines}
        for url, row in sources.items():
            if url in run.hidden:
                yield f"{url} is taken down, and its links are known"
            yield from _wrong_page(url, row, by_peer, ownership, run, targets)
        for mark, found in targets.items():
            for target in found:
                for link in target.links:
                    source = sources.get(link.url)
                    if link.url in self._made_up:
                        continue
                    if link.is_there and (source is None or mark not in marks_in(source)):
                        yield f"{link.url} is said to link to {target.url}"


def _wrong_page(
    url: str,
    row: SourceRow,
    by_peer: Mapping[str, UsedMachine],
    ownership: Ownership,
    run: UsedRun,
    targets: Mapping[bytes, list[TargetRow]],
) -> Iterator[str]:
    if not row.is_told:
        yield f"the links of {url} are not told"
    slot = ownership.slot_of(host_of(url))
    owner = by_peer[ownership.owner_of(slot) or ""]
    newest = StoredVersions(TableSection(owner.disk.table, CELL_SECTION)).newest(slot, url)
    is_shown = newest is not None and newest.has_document
    links = run.web.links(url) if is_shown else ()
    expected = {fingerprint(link.url) for link in links if link.url != url}
    if marks_in(row) != expected:
        yield f"{url} has {row.n_links} links in the graph, and {len(expected)} in truth"
    hidden = {fingerprint(link.url) for link in links if link.url in run.hidden}
    for mark in marks_in(row) - hidden:
        known = {link.url for each in targets[mark] for link in each.links if link.is_there}
        is_full = any(len(each.links) == SOURCES_MAX for each in targets[mark])
        if url not in known and not is_full:
            yield f"a page does not know of the link from {url}"


def sources_in(rows: Mapping[bytes, bytes]) -> dict[str, SourceRow]:
    """Return the rows of pages by their URLs."""
    found = (source_row_in(value) for key, value in rows.items() if is_name_of_source(key[2:]))
    return {row.url: row for row in found}


def targets_in(rows: Mapping[bytes, bytes]) -> dict[bytes, list[TargetRow]]:
    """Return the rows of links to pages by the fingerprints of these."""
    found: dict[bytes, list[TargetRow]] = defaultdict(list)
    for key, value in rows.items():
        if is_name_of_target(key[2:]):
            found[mark_in(key[2:])].append(target_row_in(value))
    return found
