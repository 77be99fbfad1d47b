"""The figures of graphs of links, for people and for programs."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from mesh.errors import ConfigError
from peers.exporting.graph import TsvGraphWriter
from peers.exporting.rows import LinkRow, Taken
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
    writer = TsvGraphWriter(tmp_path)
    writer.write_taken(Taken([], [LinkRow(*link, "") for link in LINKS], 0, 0, 0))
    writer.close()
    return tmp_path


def run(*words: object) -> str:
    result = CliRunner().invoke(app, [str(word) for word in words])
    if isinstance(result.exception, ConfigError):
        raise result.exception
    assert result.exit_code == 0, result.output
    return result.output


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
