"""The figures of graphs of links, for people and for programs."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import pytest
from typer.testing import CliRunner

from mesh.errors import ConfigError
from peers.exporting.graph import TsvGraphWriter
from peers.exporting.rows import ExportedPage, LinkRow, Taken
from simulations.link_graphs.commands import app
from simulations.link_graphs.graph_files import read_named_graph
from simulations.link_graphs.report import GraphReport, report_of
from tests.simulations.traces.test_web_graph import graph as bv_graph

pytest.importorskip("scipy", reason="the extra `simulations` is not installed")

__all__ = ["bv_graph"]

# The root of a leads to 1 and 2, which lead to each other and out; nothing leads to c/d but c/e, and back.
LINKS = [
    ("http://a.test/", "http://a.test/1"),
    ("http://a.test/1", "http://a.test/2"),
    ("http://a.test/2", "http://a.test/1"),
    ("http://a.test/2", "http://b.test/x"),
    ("http://c.test/d", "http://c.test/e"),
    ("http://c.test/e", "http://c.test/d"),
]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return written(tmp_path, LINKS)


def written(folder: Path, links: Sequence[tuple[str, str]]) -> Path:
    writer = TsvGraphWriter(folder)
    writer.write_taken(Taken([], [LinkRow(*link, "") for link in links], 0, 0, 0))
    writer.close()
    return folder


def run(*words: object) -> str:
    result = CliRunner().invoke(app, [str(word) for word in words])
    if isinstance(result.exception, ConfigError):
        raise result.exception
    assert result.exit_code == 0, result.output
    return result.stdout


def test_pages_are_counted_by_degree_bow_tie_and_depth(folder: Path) -> None:
    found = report_of(read_named_graph(folder))
    assert (found.pages, found.linked_only, found.links) == (5, 1, 6)
    assert (found.hosts, found.host_links, found.inside_share) == (3, 1, 5 / 6)
    assert (found.outlinks.mean, found.outlinks.max, found.inlinks.mean) == (6 / 5, 2.0, 1.0)
    assert found.host_inlinks.max == 1.0
    assert found.strong_components == 3
    assert (found.bow_tie.core, found.bow_tie.into, found.bow_tie.apart) == (0.4, 0.2, 0.4)
    assert (found.depth.max, found.unreached_share) == (2.0, 0.4)


def test_pages_and_hosts_that_rank_first_are_named(folder: Path) -> None:
    found = report_of(read_named_graph(folder))
    assert [each.name for each in found.first_pages[:3]] == [
        "http://c.test/d",
        "http://c.test/e",
        "http://a.test/2",
    ]
    assert found.first_pages[0].rank == 1.0
    assert [each.name for each in found.first_hosts] == ["b.test", "a.test", "c.test"]


def test_the_report_is_for_people_and_for_programs(folder: Path) -> None:
    text = " ".join(run("report", folder).split())
    assert "5 pages, 6 links" in text
    assert "3 hosts; pairs of them with links: 1; 83.3%" in text
    assert GraphReport(**json.loads(run("report", folder, "--json"))).pages == 5
    with pytest.raises(ConfigError, match="there is no graph in"):
        run("report", folder.parent)


def test_of_a_graph_without_names_nothing_is_said_of_hosts(bv_graph: list[list[int]], tmp_path: Path) -> None:
    found = json.loads(run("report", tmp_path / "g", "--json"))
    assert (found["pages"], found["links"]) == (len(bv_graph), sum(map(len, bv_graph)))
    assert (found["hosts"], found["first_hosts"], found["first_pages"]) == (0, [], [])
    assert "hosts" not in run("report", tmp_path / "g").partition("entrances")[0]


def test_a_graph_without_pages_is_refused(tmp_path: Path) -> None:
    TsvGraphWriter(tmp_path).close()
    with pytest.raises(ConfigError, match="has no pages"):
        run("report", tmp_path)


def test_hosts_and_domains_rank_by_the_pages_that_link_to_them(tmp_path: Path) -> None:
    # Two pages of x.a.test link to b.test, one of them to two pages there, and one to c.test.
    links = [
        ("http://x.a.test/1", "http://b.test/1"),
        ("http://x.a.test/1", "http://b.test/2"),
        ("http://x.a.test/2", "http://b.test/1"),
        ("http://x.a.test/2", "http://c.test/1"),
        ("http://x.a.test/2", "http://y.a.test/1"),
    ]
    found = report_of(read_named_graph(written(tmp_path, links)))
    ranks = {each.name: each.rank for each in found.first_hosts}
    base = 0.15
    given = 0.85 * base / 4  # for each of four pairs of a page and a host
    assert ranks == pytest.approx(
        {
            "x.a.test": base,
            "b.test": base + 2 * given,
            "c.test": base + given,
            "y.a.test": base + given,
        },
        abs=1e-6,
    )
    of_domains = {each.name: each.rank for each in found.first_domains}
    third = 0.85 * base / 3
    assert of_domains == pytest.approx(
        {"a.test": base, "b.test": base + 2 * third, "c.test": base + third}, abs=1e-6
    )
    assert (found.hosts, found.host_links, found.domains, found.domain_links) == (4, 3, 3, 2)


def test_mirror_degrees_count_pages_of_the_same_content(tmp_path: Path) -> None:
    contents = {"http://a.test/": 7, "http://b.test/": 9, "http://c.test/": 7, "http://d.test/": 7}
    rows = [ExportedPage(url, "", "", "", "", "", None, "", "") for url in contents]
    writer = TsvGraphWriter(tmp_path)
    link = LinkRow("http://b.test/", "http://linked.test/", "")  # is no page, and no content
    writer.write_taken(Taken(rows, [link], 0, 0, 0, contents=list(contents.values())))
    writer.close()
    mirrors = report_of(read_named_graph(tmp_path)).mirrors
    assert mirrors is not None
    assert (mirrors.contents, mirrors.replication, mirrors.mirrored_share) == (2, 2.0, 0.75)
    assert (mirrors.degree.mean, mirrors.degree.max) == (10 / 4, 3)
    assert [(each.name, each.rank) for each in mirrors.most] == [("http://a.test/", 3.0)]


def test_hubs_and_authorities_are_looked_for_around_pages(folder: Path, tmp_path: Path) -> None:
    told = json.loads(run("report", folder, "--json"))["hubs"]
    assert told["authorities"] == [{"name": "http://b.test/x", "rank": 1.0}]
    assert told["hubs"] == [{"name": "http://a.test/2", "rank": 1.0}]
    assert (told["pages"], told["links"], told["has_settled"]) == (6, 1, True)
    listed = tmp_path / "found.txt"
    listed.write_text("http://c.test/d\nhttp://nowhere.test/\n")
    around = json.loads(run("report", folder, "--around", listed, "--json"))["hubs"]
    assert (around["pages"], around["links"], around["hubs"]) == (2, 0, [])
    listed.write_text('{"total": 1, "hits": [{"url": "http://c.test/e", "title": "E"}]}')
    assert json.loads(run("report", folder, "--around", listed, "--json"))["hubs"] == around
    listed.write_text('{"hits": 1}')
    with pytest.raises(ConfigError, match="cannot read URLs"):
        run("report", folder, "--around", listed)
    text = run("report", folder, "--around", "http://a.test/2#top")
    assert "authorities, by 1 link between hosts among 3 pages: settled" in " ".join(text.split())
    for given in ("http://nowhere.test/", tmp_path / "missing.txt"):
        with pytest.raises(ConfigError, match=r"none of these|cannot read URLs"):
            run("report", folder, "--around", given)
