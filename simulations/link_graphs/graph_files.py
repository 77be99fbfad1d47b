"""Graphs of links on disk: those that `tianmesh export` writes, and WebGraph's. [io]"""

from __future__ import annotations

import gzip
from collections.abc import Sequence
from pathlib import Path
from typing import Final, NamedTuple

import numpy as np

from mesh.errors import ConfigError
from mesh.urls import host_of
from simulations.link_graphs.graph import LinkGraph, graph_of, graph_of_successors
from simulations.traces.columns import Ints
from simulations.traces.web_graph import read_graph

NOTHING: Final = np.zeros(0, np.int64)


class NamedGraph(NamedTuple):
    """A graph of URLs."""

    graph: LinkGraph
    urls: Sequence[str]  # of each page; none of a graph without names
    is_page: Ints  # of each: 1 where it was exported, 0 where others only link to it
    host: Ints  # of each: the number of its host; likewise
    same_as: Ints  # of each: the first page with the same content; likewise, and where that is not told


def read_named_graph(path: Path) -> NamedGraph:
    """Read the folder of an export of the format `graph` or `webgraph`, or a BVGraph by its base name.

    Of `webgraph`, which does not tell, what has no links is taken for what others only link to.

    Raises:
      ConfigError: there is no graph, or it is damaged.
    """
    try:
        if (path / "page-vertices.tsv.gz").is_file():
            return _of_lines(path)
        if (path / "pages.graph-txt").is_file():
            return _of_text(path)
    except (OSError, EOFError, ValueError, IndexError) as error:
        raise ConfigError(f"the graph in {path} is damaged: {error}") from error
    if path.is_dir():
        raise ConfigError(f"there is no graph in {path}: tianmesh export graph --out {path} writes one")
    graph = graph_of_successors(read_graph(path))
    return NamedGraph(graph, (), np.ones(graph.page_count, np.int64), NOTHING, NOTHING)


def _of_lines(folder: Path) -> NamedGraph:
    with gzip.open(folder / "page-vertices.tsv.gz", "rt", encoding="utf-8", newline="\n") as file:
        rows = [line.rstrip("\n").split("\t") for line in file]
    urls = [row[1] for row in rows]
    numbers = gzip.decompress((folder / "page-edges.tsv.gz").read_bytes()).split()
    links = np.fromiter(map(int, numbers), np.int64, len(numbers)).reshape(-1, 2)
    graph = graph_of(len(urls), links[:, 0], links[:, 1])
    columns = np.array([list(map(int, row[2:4])) for row in rows] or [[]], np.int64).T
    is_page, same_as = columns[0] if rows else NOTHING, NOTHING
    if len(columns) > 1:  # graphs of before contents were told have one
        same_as = columns[1]
        if same_as.min() < 0 or same_as.max() >= len(rows):
            raise ValueError("a page is like one that there is not")
    return _named(graph, urls, is_page, same_as)


def _of_text(folder: Path) -> NamedGraph:
    first, *lines = (folder / "pages.graph-txt").read_text(encoding="ascii").splitlines()
    successors = [list(map(int, line.split())) for line in lines]
    urls = (folder / "pages.names").read_text(encoding="utf-8").splitlines()
    if not int(first) == len(successors) == len(urls):
        raise ValueError(f"{first} pages are {len(successors)} lines and {len(urls)} names")
    graph = graph_of_successors(successors)
    return _named(graph, urls, np.array([int(bool(links)) for links in successors], np.int64))


def _named(graph: LinkGraph, urls: Sequence[str], is_page: Ints, same_as: Ints = NOTHING) -> NamedGraph:
    hosts: dict[str, int] = {}
    host = [hosts.setdefault(host_of(url), len(hosts)) for url in urls]
    return NamedGraph(graph, urls, is_page, np.array(host, np.int64), same_as)
