"""The graph of links between pages, and that of their hosts, for tools that take vertices and edges. [io]

The vertices are all pages that are exported, and all URLs that they link to. They have numbers from 0, by
the name of their host from its end and then by URL, so that those of a host and of a domain follow each
other, as in the graphs of Common Crawl, and as the compression of WebGraph likes them. The edges are links,
each pair of URLs once, those of a page to itself among them; between hosts there are none from a host to
itself. Images, scripts and style sheets are no edges: the parser does not take them for links.

Where the policy of the mesh says that pages are ranked, pages, hosts and domains have their PageRank there.

Pages with the same words, their mirrors, are told by the first of them, see `document.content_digest`.

All of it is in memory, 8 bytes a link and some 200 a vertex, and three times as much while it is written.
"""

from __future__ import annotations

from abc import abstractmethod
from array import array
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from mesh.errors import ConfigError
from mesh.tables.private_files import put_in_place
from mesh.urls import host_of
from peers.exporting.rows import Taken
from peers.exporting.writers import PART, STDOUT, PackedLines, TakenWriter, pyarrow_with_parquet

if TYPE_CHECKING:
    from peers.exporting.graph_ranks import MeshRanks

Numbers: TypeAlias = npt.NDArray[np.int64]
Column: TypeAlias = Sequence[str] | Numbers | npt.NDArray[np.float64]

LINES_AT_ONCE: Final = 100_000
PAGES, HOSTS = "page", "host"


class Edges(NamedTuple):
    """Edges by the numbers of their vertices, each once, by source and then by target."""

    source: Numbers
    target: Numbers


class ExportedGraph(NamedTuple):
    """Vertices and edges."""

    names: Sequence[str]  # of each vertex: its URL, or its host name from the end, as `org.debian.www`
    pages: Numbers  # of each vertex: exported pages: 0 or 1 for a URL
    edges: Edges
    same_as: Numbers | None = None  # of each URL: the first page with the same content, or itself
    ranks: Mapping[str, npt.NDArray[np.float64]] = MappingProxyType({})  # columns of ranks, if there are any

    @property
    def columns(self) -> dict[str, Column]:
        """Return the columns of the vertices behind those of numbers and names."""
        found: dict[str, Column] = {"pages": self.pages}
        if self.same_as is not None:
            found["same_as"] = self.same_as
        return {**found, **self.ranks}


class GraphWriter(TakenWriter):
    """Gathers the graph of the pages, and writes it with that of the hosts when all pages are there."""

    def __init__(self, out: Path) -> None:
        """Raises: ConfigError: the output is no folder."""
        if out == STDOUT:
            raise ConfigError("a graph is several files: name a folder with --out")
        self._out = out
        self._numbers: dict[str, int] = {}  # of URLs, as they come
        self._is_page = bytearray()
        self._contents = array("q")  # digests; 0 of what is no page, and of a page without a main text
        self._source, self._target = array("i"), array("i")
        self.files: list[Path] = []
        self._ranks: MeshRanks | None = None

    def take_ranks(self, ranks: MeshRanks) -> None:
        """Have ranks written, too."""
        self._ranks = ranks

    def write_taken(self, taken: Taken) -> None:
        for row, content in zip(taken.rows, taken.contents, strict=True):
            page = self._number(row.url)
            self._is_page[page] = True
            self._contents[page] = content
        for link in taken.links:
            source = self._number(link.source)
            self._is_page[source] = True
            self._source.append(source)
            self._target.append(self._number(link.target))

    def close(self) -> None:
        of_pages = self._graph()
        of_hosts = host_graph(of_pages)
        if self._ranks is not None:
            ranks = self._ranks.of_hosts(list(map(_from_the_end, of_hosts.names)))
            of_pages = of_pages._replace(ranks={"rank": self._ranks.of_pages(of_pages.names)})
            of_hosts = of_hosts._replace(ranks={"rank": ranks.of_host, "domain_rank": ranks.of_domain})
        self._write(PAGES, of_pages)
        self._write(HOSTS, of_hosts)

    def _number(self, url: str) -> int:
        number = self._numbers.setdefault(url, len(self._numbers))
        if number == len(self._is_page):
            self._is_page.append(False)
            self._contents.append(0)
        return number

    def _graph(self) -> ExportedGraph:
        urls = sorted(self._numbers, key=lambda url: (_from_the_end(host_of(url)), url))
        old = np.fromiter((self._numbers[url] for url in urls), np.int64, len(urls))
        new = np.empty_like(old)
        new[old] = np.arange(len(old))
        edges = edges_of(new[np.array(self._source, np.int64)], new[np.array(self._target, np.int64)])
        pages = np.frombuffer(self._is_page, np.uint8)[old].astype(np.int64)
        return ExportedGraph(urls, pages, edges, first_alike(np.array(self._contents, np.int64)[old]))

    @abstractmethod
    def _write(self, of: str, graph: ExportedGraph) -> None:
        """Write a graph, of pages or of hosts, into files of this name in the folder."""


class TsvGraphWriter(GraphWriter):
    """Lines in gzip: number, name and pages of vertices, first alike of URLs, ranks; ends of edges."""

    def _write(self, of: str, graph: ExportedGraph) -> None:
        vertices = (np.arange(len(graph.names)), graph.names, *graph.columns.values())
        for name, columns in (("vertices", vertices), ("edges", graph.edges)):
            output = PackedLines(self._out, f"{of}-{name}.tsv.gz")
            for lines in _lines(columns):
                output.write(lines)
            output.close()
            self.files.append(output.path)


class ParquetGraphWriter(GraphWriter):
    """Vertices and edges as tables of Parquet."""

    def __init__(self, out: Path) -> None:
        """Raises: ConfigError: pyarrow is not there, or the output is no folder."""
        super().__init__(out)
        self._pyarrow: Any = pyarrow_with_parquet()

    def _write(self, of: str, graph: ExportedGraph) -> None:
        numbers = np.arange(len(graph.names))
        vertices = {"id": numbers, "url" if of == PAGES else "host": graph.names, **graph.columns}
        for name, columns in (("vertices", vertices), ("edges", graph.edges._asdict())):
            path = self._out / f"{of}-{name}.parquet"
            part = path.with_name(path.name + PART)
            self._pyarrow.parquet.write_table(self._pyarrow.table(columns), part, compression="zstd")
            put_in_place(part, path)
            self.files.append(path)


class WebGraphWriter(GraphWriter):
    """The text form of WebGraph, a line of successors for each vertex, beside lists of names and ranks.

    Source: `ASCIIGraph` of WebGraph (Boldi and Vigna), whose tools make it a BVGraph. The first line of a
    `.graph-txt` is the number of vertices.
    """

    def _write(self, of: str, graph: ExportedGraph) -> None:
        listed = PackedLines(self._out, f"{of}s.names")
        for lines in _lines([graph.names]):
            listed.write(lines)
        output = PackedLines(self._out, f"{of}s.graph-txt")
        n = len(graph.names)
        output.write(f"{n}\n".encode())
        starts = np.searchsorted(graph.edges.source, np.arange(n + 1)).tolist()
        for at in range(0, n, LINES_AT_ONCE):
            some = range(at, min(n, at + LINES_AT_ONCE))
            rows = (graph.edges.target[starts[page] : starts[page + 1]].tolist() for page in some)
            output.write("".join(" ".join(map(str, row)) + "\n" for row in rows).encode())
        outputs = [listed, output]
        if graph.ranks:
            outputs.append(ranks := PackedLines(self._out, f"{of}s.ranks"))
            for lines in _lines(list(graph.ranks.values())):
                ranks.write(lines)
        for each in outputs:
            each.close()
            self.files.append(each.path)


def edges_of(source: Numbers, target: Numbers) -> Edges:
    """Put edges in order, each once."""
    order = np.lexsort((target, source))
    source, target = source[order], target[order]
    is_first = np.ones(len(source), np.bool_)
    is_first[1:] = (source[1:] != source[:-1]) | (target[1:] != target[:-1])
    return Edges(source[is_first], target[is_first])


def first_alike(contents: Numbers) -> Numbers:
    """Return for each digest the place of the first that is equal; 0 is like no other."""
    places = np.arange(len(contents))
    _, first, group = np.unique(contents, return_index=True, return_inverse=True)
    return np.where(contents == 0, places, first[group])


def host_graph(graph: ExportedGraph) -> ExportedGraph:
    """Make the graph of the hosts of a graph of URLs whose numbers are in the order of their hosts."""
    names: dict[str, int] = {}
    host = [names.setdefault(_from_the_end(host_of(url)), len(names)) for url in graph.names]
    of = np.array(host, np.int64)
    source, target = of[graph.edges.source], of[graph.edges.target]
    is_other = source != target
    pages = np.bincount(of, graph.pages, len(names)).astype(np.int64)
    return ExportedGraph(list(names), pages, edges_of(source[is_other], target[is_other]))


def _from_the_end(host: str) -> str:
    """Turn a host name round, `www.debian.org` into `org.debian.www`; an address stays as it is."""
    is_address = host.startswith("[") or host.rpartition(".")[2].isdigit()
    return host if is_address else ".".join(reversed(host.split(".")))


def _lines(columns: Sequence[Column]) -> Iterator[bytes]:
    for at in range(0, len(columns[0]), LINES_AT_ONCE):
        cells = (column[at : at + LINES_AT_ONCE] for column in columns)
        rows = zip(*(each.tolist() if isinstance(each, np.ndarray) else each for each in cells), strict=True)
        yield "".join("\t".join(map(_cell, row)) + "\n" for row in rows).encode("utf-8", "replace")


def _cell(value: str | int | float) -> str:
    return f"{value:.9g}" if isinstance(value, float) else str(value)
