"""Graphs of links that are exported, read back by tools that are not ours, and by `tianmesh graph`."""

from __future__ import annotations

import gzip
from pathlib import Path
from random import Random

import pytest

from mesh.errors import ConfigError
from peers.crawler.model.wire_messages import LinkUse
from peers.exporting.graph import TsvGraphWriter, WebGraphWriter
from peers.exporting.rows import ExportedPage, LinkRow, Taken
from peers.importing.json_lines import LineEntry
from peers.importing.page import page_of_entry
from simulations.link_graphs.graph_files import read_named_graph
from tests.peers.exporting.test_export import AT, Shelf, export, query, shelves

LINKS = {
    "http://www.debian.org/": ("http://www.debian.org/a", "http://cc.test/", "http://www.debian.org/"),
    "http://www.debian.org/a": (),
    "http://cc.test/": ("http://lists.debian.org/x", "http://www.debian.org/a", "http://www.debian.org/a"),
    "http://192.0.2.7/": ("http://cc.test/",),
}
# By host names from the end: those of a domain follow each other, and an address stays as it is.
URLS = [
    "http://192.0.2.7/",
    "http://lists.debian.org/x",
    "http://www.debian.org/",
    "http://www.debian.org/a",
    "http://cc.test/",
]
HOSTS = ["192.0.2.7", "org.debian.lists", "org.debian.www", "test.cc"]
EDGES = [(0, 4), (2, 2), (2, 3), (2, 4), (4, 1), (4, 3)]
HOST_EDGES = [(0, 3), (2, 3), (3, 1), (3, 2)]


@pytest.fixture
def shelf(tmp_path: Path) -> Shelf:
    [only] = shelves(tmp_path)
    for url, targets in LINKS.items():
        links = tuple((target, f"link {number}") for number, target in enumerate(targets))
        only.keep(page_of_entry(LineEntry(url, "title", "text", links=links), AT, LinkUse.TEXT))
    return only


def test_vertices_and_edges_of_pages_and_hosts_are_lines(shelf: Shelf, tmp_path: Path) -> None:
    files = export("graph", [shelf], tmp_path / "out").files
    lines = [query(f"select * from read_csv('{file}', delim='\t', header=false)") for file in files]
    pages, edges, hosts, host_edges = lines
    # All pages have the same words, so each is like the first of them; what is no page is like itself.
    alike = [0 if url in LINKS else number for number, url in enumerate(URLS)]
    assert pages == [(number, url, int(url in LINKS), alike[number]) for number, url in enumerate(URLS)]
    assert hosts == list(zip(range(4), HOSTS, (1, 0, 2, 1), strict=True))
    assert (edges, host_edges) == (EDGES, HOST_EDGES)


def test_the_same_are_tables_that_duckdb_joins(shelf: Shelf, tmp_path: Path) -> None:
    files = export("graph-parquet", [shelf], tmp_path / "out").files
    assert [Path(file).name for file in files] == [
        "page-vertices.parquet",
        "page-edges.parquet",
        "host-vertices.parquet",
        "host-edges.parquet",
    ]
    pages, edges, hosts, host_edges = files
    found = query(
        f"select v.url, w.url from '{edges}' e join '{pages}' v on e.source = v.id "
        f"join '{pages}' w on e.target = w.id order by e.source, e.target"
    )
    assert found == [(URLS[source], URLS[target]) for source, target in EDGES]
    assert query(f"select host, pages from '{hosts}' where pages > 1") == [("org.debian.www", 2)]
    assert query(f"select * from '{host_edges}'") == HOST_EDGES


def test_the_text_form_of_webgraph_has_a_line_of_successors_for_each_page(
    shelf: Shelf, tmp_path: Path
) -> None:
    export("webgraph", [shelf], tmp_path)
    assert (tmp_path / "pages.graph-txt").read_text() == "5\n4\n\n2 3 4\n\n1 3\n"
    assert (tmp_path / "pages.names").read_text().split() == URLS
    assert (tmp_path / "hosts.graph-txt").read_text() == "4\n3\n\n3\n1 2\n"
    assert (tmp_path / "hosts.names").read_text().split() == HOSTS


@pytest.mark.parametrize("writer_of", [TsvGraphWriter, WebGraphWriter])
def test_a_graph_comes_back_as_it_went(
    writer_of: type[TsvGraphWriter | WebGraphWriter], tmp_path: Path
) -> None:
    random = Random(5)
    urls = [f"http://h{random.randrange(20)}.test/{number}" for number in range(400)]
    links = [(random.choice(urls[:200]), random.choice(urls)) for _ in range(2_000)]
    writer = writer_of(tmp_path)
    for at in range(0, len(links), 300):
        writer.write_taken(Taken([], [LinkRow(*each, "") for each in links[at : at + 300]], 0, 0, 0))
    writer.close()
    graph, names, is_page, host, _ = read_named_graph(tmp_path)
    found = [(names[a], names[b]) for a, b in zip(graph.source.tolist(), graph.target.tolist(), strict=True)]
    assert sorted(found) == sorted(set(links))
    assert {names[at] for at in is_page.nonzero()[0].tolist()} == {source for source, _ in links}
    assert sorted(names) == sorted({url for link in links for url in link})
    assert (host[1:] >= host[:-1]).all()


def test_an_export_without_pages_is_a_graph_without_vertices(tmp_path: Path) -> None:
    TsvGraphWriter(tmp_path).close()
    assert read_named_graph(tmp_path).graph.page_count == 0


@pytest.mark.parametrize("form", ["graph", "graph-parquet", "webgraph"])
def test_a_graph_wants_a_folder(form: str, shelf: Shelf, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="name a folder with --out"):
        export(form, [shelf], Path("-"))
    with pytest.raises(ConfigError, match=rf"x\.tsv is no name for {form}: name a folder"):
        export(form, [shelf], tmp_path / "x.tsv")


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("pages.graph-txt", "3\n1\n\n"),
        ("pages.graph-txt", "2\n7\n\n"),
        ("pages.graph-txt", "2\nx\n\n"),
        ("pages.names", "http://a.test/\n"),
    ],
)
def test_a_graph_that_is_damaged_is_refused(name: str, text: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="there is no graph in"):
        read_named_graph(tmp_path)
    (tmp_path / "pages.graph-txt").write_text("2\n1\n\n")
    (tmp_path / "pages.names").write_text("http://a.test/\nhttp://b.test/\n")
    assert read_named_graph(tmp_path).graph.link_count == 1
    (tmp_path / name).write_text(text)
    with pytest.raises(ConfigError, match="is damaged"):
        read_named_graph(tmp_path)


def test_pages_with_the_same_content_are_told_by_the_first_of_them(tmp_path: Path) -> None:
    contents = {"http://a.test/": 7, "http://b.test/": 9, "http://c.test/": 7, "http://d.test/": 0}
    rows = [ExportedPage(url, "", "", "", "", "", None, "", "") for url in contents]
    writer = TsvGraphWriter(tmp_path)
    # Two pages without a main text are not alike for that.
    link = LinkRow("http://e.test/", "http://f.test/", "")
    writer.write_taken(Taken(rows, [link], 0, 0, 0, contents=list(contents.values())))
    writer.close()
    assert read_named_graph(tmp_path).same_as.tolist() == [0, 1, 0, 3, 4, 5]


def test_a_graph_of_before_mirrors_were_told_is_read_and_one_that_is_wrong_refused(tmp_path: Path) -> None:
    (tmp_path / "page-edges.tsv.gz").write_bytes(gzip.compress(b"0\t1\n"))
    for more, same_as in (("", []), ("\t0", [0, 0])):
        lines = f"0\thttp://a.test/\t1{more}\n1\thttp://b.test/\t0{more}\n"
        (tmp_path / "page-vertices.tsv.gz").write_bytes(gzip.compress(lines.encode()))
        assert read_named_graph(tmp_path).same_as.tolist() == same_as
    (tmp_path / "page-vertices.tsv.gz").write_bytes(gzip.compress(b"0\thttp://a.test/\t1\t2\n"))
    with pytest.raises(ConfigError, match="is damaged"):
        read_named_graph(tmp_path)
