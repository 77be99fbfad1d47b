"""The link graph: in a mesh at rest it is told, and as the pages are.

Which pages have rows is not judged, as peers hear of the policy when they have visited some.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import ClassVar

from mesh.actors.ownership import Ownership
from mesh.tables.table import TableSection
from mesh.urls import fingerprint, host_of
from peers.actors import CELL_SECTION, LINK_GRAPH_SECTION
from peers.link_graph.link_graph import MeshGraph
from peers.link_graph.source_row import SourceRow, is_name_of_source, marks_in, source_row_in
from peers.link_graph.target_row import (
    SOURCES_MAX,
    TargetRow,
    is_name_of_target,
    mark_in,
    target_row_in,
)
from peers.policy.graph_rules import LinkGraphRules
from peers.storage.ledger.stored_versions import StoredVersions
from simulations.faults.stores.store_use import StoreUse, UsedMachine, UsedRun, all_rows, ownership_of


class GraphUse(StoreUse):
    """The link graph, of which the crawl makes use enough."""

    switches: ClassVar = {"link_graph": LinkGraphRules()}
    rows = LINK_GRAPH_SECTION + MeshGraph.rows_section

    def wrong(self, machines: Sequence[UsedMachine]) -> Iterator[str]:
        if not self._run.has_liar:
            yield from self._wrong_links(machines)

    def _wrong_links(self, machines: Sequence[UsedMachine]) -> Iterator[str]:
        """Yield a sentence for each row that is not as it has to be."""
        ownership, rows, run = ownership_of(machines), all_rows(machines, self.rows), self._run
        sources, targets = sources_in(rows), _targets(rows)
        by_peer = {machine.peer: machine for machine in machines}
        for url, row in sources.items():
            if url in run.hidden:
                yield f"{url} is taken down, and its links are known"
            yield from _wrong_page(url, row, by_peer, ownership, run, targets)
        for mark, found in targets.items():
            for target in found:
                for link in target.links:
                    source = sources.get(link.url)
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


def _targets(rows: Mapping[bytes, bytes]) -> dict[bytes, list[TargetRow]]:
    found: dict[bytes, list[TargetRow]] = defaultdict(list)
    for key, value in rows.items():
        if is_name_of_target(key[2:]):
            found[mark_in(key[2:])].append(target_row_in(value))
    return found
