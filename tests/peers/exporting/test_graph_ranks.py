"""Ranks in exports of graphs: those that the mesh comes to, from the rows of its peers."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from mesh.stamp import Stamp
from mesh.tables.lmdb_table import LmdbTable
from mesh.tables.table import TableSection
from mesh.urls import fingerprint, host_of
from peers.actors import LINK_GRAPH_SECTION
from peers.exporting.graph import GraphWriter, ParquetGraphWriter, TsvGraphWriter, WebGraphWriter
from peers.exporting.graph_ranks import MeshRanks, ranks_of_mesh
from peers.exporting.peer_files import PeerFiles
from peers.exporting.rows import ExportedPage, LinkRow, Taken
from peers.handover.item_store import key_at
from peers.link_graph.link_graph import MeshGraph
from peers.link_graph.slot_ranks import DAMPING
from peers.link_graph.source_row import (
    SourceRow,
    TargetLink,
    is_name_of_source,
    name_of_source,
    row_after,
    source_row_bytes,
    source_row_in,
)
from simulations.link_graphs.graph_files import read_named_graph
from simulations.link_graphs.ranks import exact_ranks
from tests.peers.exporting.test_export import SLOTS, Shelf, query, shelves
from tests.simulations.test_page_ranks import ToldMesh

LEAST = 1 - DAMPING
A, B, C = "http://a.test/", "http://www.b.test/", "http://lists.b.test/c"
LINKS = {A: (B, C), B: (C,), C: ("http://d.test/",)}
RANK_B = LEAST + DAMPING * LEAST / 2
RANK_C = RANK_B + DAMPING * RANK_B
RANK_D = LEAST + DAMPING * RANK_C


def row_of(url: str, *targets: str, visit: int = 1) -> SourceRow:
    links = [TargetLink(each) for each in targets]
    row = row_after(None, url, Stamp(visit, float(visit)), "", links, lambda host: len(host))
    assert row is not None
    return row


def keep(shelf: Shelf, *rows: SourceRow) -> None:
    """Store rows as the link graph does, and commit."""
    table = LmdbTable(shelf.data / "table")
    links = TableSection(TableSection(table, LINK_GRAPH_SECTION), MeshGraph.rows_section)
    for row in rows:
        slot = len(host_of(row.url)) % SLOTS
        links.put(key_at(slot, name_of_source(fingerprint(row.url))), source_row_bytes(row))
        links.put(key_at(slot, b"t" + fingerprint(row.url)), b"the row of a target")
    table.commit()
    table.close()


def test_ranks_are_of_the_newest_rows_of_all_peers(tmp_path: Path) -> None:
    shelved = shelves(tmp_path, 2)
    for shelf in shelved:
        shelf.keep()
    keep(shelved[0], row_of(A, B, C), row_of(B, A))
    keep(shelved[1], row_of(B, C, visit=2), row_of(C, "http://d.test/"))
    peers = [PeerFiles(shelf.config) for shelf in shelved]
    ranks = ranks_of_mesh(peers)
    for peer in peers:
        peer.close()
    urls = [*LINKS, "http://d.test/", "http://unknown.test/"]
    assert ranks.of_pages(urls) == pytest.approx([LEAST, RANK_B, RANK_C, RANK_D, LEAST])
    of_host, of_domain = ranks.of_hosts(["a.test", "www.b.test", "lists.b.test", "d.test", "b.test"])
    assert of_host == pytest.approx([LEAST, RANK_B, RANK_C, 0.0, 0.0])
    assert of_domain == pytest.approx([LEAST, RANK_B + RANK_C, RANK_B + RANK_C, 0.0, RANK_B + RANK_C])


@pytest.mark.parametrize("machines", [1, 3])
def test_ranks_are_those_of_the_mesh_at_rest_however_many_peers_it_has(machines: int) -> None:
    mesh = ToldMesh(machines, seed=7, page_count=400)
    mesh.rest()
    newest = {}
    for machine in mesh.machines:
        for item in mesh.rows(machine):
            if is_name_of_source(item.name):
                newest[item.name] = source_row_in(item.value)
    found = MeshRanks(newest.values()).of_pages(mesh.urls)
    assert found == pytest.approx(exact_ranks(mesh.told), abs=1e-6)
    assert np.abs(found - mesh.found_ranks()).sum() < 1e-3 * found.sum()


def taken() -> Taken:
    rows = [ExportedPage(url, "", "", "", "", "", None, "", "") for url in LINKS]
    links = [LinkRow(url, target, "") for url, targets in LINKS.items() for target in targets]
    return Taken(rows, links, 0, 0, 0, contents=[1, 2, 3])


def test_ranks_are_columns_of_lines_and_tables_and_lists_beside_those_of_webgraph(tmp_path: Path) -> None:
    ranks = MeshRanks([row_of(url, *targets) for url, targets in LINKS.items()])
    for number in range(3):
        (tmp_path / str(number)).mkdir()
    writers: list[GraphWriter] = [TsvGraphWriter(tmp_path / "0"), ParquetGraphWriter(tmp_path / "1")]
    for writer in (*writers, WebGraphWriter(tmp_path / "2")):
        writer.take_ranks(ranks)
        writer.write_taken(taken())
        writer.close()
    read = f"read_csv('{tmp_path}/0/%s-vertices.tsv.gz', delim='\t', header=false)"
    of_page = {A: LEAST, B: RANK_B, C: RANK_C, "http://d.test/": RANK_D}
    both = RANK_B + RANK_C
    of_host = {
        "test.a": (LEAST, LEAST),
        "test.b.lists": (RANK_C, both),
        "test.b.www": (RANK_B, both),
        "test.d": (0, 0),
    }
    tables = f"'{tmp_path}/1/%s-vertices.parquet'"
    for pages, hosts in (
        (
            f"select column1, column4 from {read % 'page'}",
            f"select column1, column3, column4 from {read % 'host'}",
        ),
        (
            f"select url, rank from {tables % 'page'}",
            f"select host, rank, domain_rank from {tables % 'host'}",
        ),
    ):
        found = {str(url): rank for url, rank in query(pages)}
        assert found == pytest.approx(of_page)
        assert {host: pytest.approx(ranks) for host, *ranks in query(hosts)} == {
            host: list(ranks) for host, ranks in of_host.items()
        }
    text = tmp_path / "2"
    names, values = ((text / f"pages.{what}").read_text().split() for what in ("names", "ranks"))
    assert {name: float(value) for name, value in zip(names, values, strict=True)} == pytest.approx(of_page)
    assert (text / "hosts.ranks").read_text().splitlines()[-1] == "0\t0"
    assert read_named_graph(tmp_path / "0").graph.link_count == read_named_graph(text).graph.link_count == 4
