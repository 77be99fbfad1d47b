"""Judges the link graph of a mesh at rest: alike at all of a team, told, and as the pages are.

Which pages have rows is not judged, as peers hear of the policy when they have visited some.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from mesh.actors.ownership import Ownership
from mesh.tables.table import TableSection
from mesh.urls import fingerprint, host_of
from peers.actors import CELL_SECTION, LINK_GRAPH_SECTION
from peers.handover.item_store import slot_in
from peers.link_graph.link_graph import MeshGraph
from peers.link_graph.source_row import SourceRow, is_name_of_source, marks_in, source_row_in
from peers.link_graph.target_row import (
    SOURCES_MAX,
    TargetRow,
    is_name_of_target,
    mark_in,
    target_row_in,
)
from peers.storage.ledger.stored_versions import StoredVersions
from simulations.faults.machine import Machine
from simulations.webs.web import Web

ROWS_MAX: Final = 1_000_000


def wrong_links(present: Sequence[Machine], web: Web) -> Iterator[str]:
    """Yield a sentence for each row that is not as it has to be."""
    ownership = present[0].ownership
    assert ownership is not None, "who is at rest has joined"
    copies: dict[bytes, dict[str, bytes]] = defaultdict(dict)
    for machine in present:
        for key, value in _rows_of(machine).scan(b"", limit=ROWS_MAX):
            copies[key][machine.peer] = value
    for key, values in copies.items():
        if set(values) != set(ownership.team_of(slot_in(key))) or len(set(values.values())) > 1:
            yield f"a row of the link graph is not the same at all of its team: {key.hex()} {values}"
    owned = {key: values.get(ownership.owner_of(slot_in(key)) or "") for key, values in copies.items()}
    sources = _sources(owned)
    targets = _targets(owned)
    by_peer = {machine.peer: machine for machine in present}
    for url, row in sources.items():
        yield from _wrong_page(url, row, by_peer, ownership, web, targets)
    for mark, rows in targets.items():
        for target in rows:
            for link in target.links:
                source = sources.get(link.url)
                if link.is_there and (source is None or mark not in marks_in(source)):
                    yield f"{link.url} is said to link to {target.url}"


def _wrong_page(
    url: str,
    row: SourceRow,
    by_peer: Mapping[str, Machine],
    ownership: Ownership,
    web: Web,
    targets: Mapping[bytes, list[TargetRow]],
) -> Iterator[str]:
    if not row.is_told:
        yield f"the links of {url} are not told"
    slot = ownership.slot_of(host_of(url))
    owner = by_peer[ownership.owner_of(slot) or ""]
    newest = StoredVersions(TableSection(owner.disk.table, CELL_SECTION)).newest(slot, url)
    is_shown = newest is not None and newest.has_document
    expected = {fingerprint(link.url) for link in web.links(url) if link.url != url} if is_shown else set()
    if marks_in(row) != expected:
        yield f"{url} has {row.n_links} links in the graph, and {len(expected)} in truth"
    for mark in marks_in(row):
        known = {link.url for each in targets[mark] for link in each.links if link.is_there}
        is_full = any(len(each.links) == SOURCES_MAX for each in targets[mark])
        if url not in known and not is_full:
            yield f"a page does not know of the link from {url}"


def _sources(rows: Mapping[bytes, bytes | None]) -> dict[str, SourceRow]:
    found = (source_row_in(value) for key, value in rows.items() if value and is_name_of_source(key[2:]))
    return {row.url: row for row in found}


def _targets(rows: Mapping[bytes, bytes | None]) -> dict[bytes, list[TargetRow]]:
    found: dict[bytes, list[TargetRow]] = defaultdict(list)
    for key, value in rows.items():
        if value and is_name_of_target(key[2:]):
            found[mark_in(key[2:])].append(target_row_in(value))
    return found


def _rows_of(machine: Machine) -> TableSection:
    return TableSection(TableSection(machine.disk.table, LINK_GRAPH_SECTION), MeshGraph.rows_section)
