"""Facts of pages as columns: 99 bytes a page, 8 a link, and the names of hosts.

While they are counted it is ten times as much: 1.6 GB of a million pages with ten links each.

A page counts when its last column is written: so Ctrl-C leaves whole pages.
"""

from __future__ import annotations

from array import array
from collections.abc import Mapping
from typing import Any, Final, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt
from xxhash import xxh3_64_intdigest

from mesh.domains import registrable_domain
from mesh.urls import host_of
from peers.exporting.markup_tags import DESCRIPTION, KEYWORDS, ROBOTS
from simulations.link_graphs.graph import LinkGraph, graph_of
from simulations.link_graphs.report import is_root
from simulations.traces.columns import Ints
from simulations.traces.link_structure import Flags
from simulations.web_reports.page_facts import PageFacts, page_number

LINKS_MAX: Final = 10_000_000  # some 140 bytes each, while their graph is looked at
FEW_MAX: Final = 1_000  # languages, and types: what is beyond them is `other`
OTHER: Final = "other"
# Weights of words in elements: Li, Yan, Wang 2004, table 10-2; 0 where it has none.
TAG_WEIGHTS: Final[Mapping[str, int]] = {
    "title": 40,
    "h1": 12,
    "h2": 8,
    "h3": 4,
    "h4": 1,
    "h5": 1,
    "h6": 0,
    "b": 4,
    "strong": 4,
    "i": 2,
    "em": 2,
    "big": 4,
    "cite": 8,
    "font": 16,
    "a": 4,
    "ul": 4,
    "li": 4,
    "dt": 4,
} | dict.fromkeys(
    (
        *(DESCRIPTION, KEYWORDS, ROBOTS, "link canonical", "base", "frameset", "iframe", "table", "img"),
        *("script", "noscript", "form", "p", "div", "main", "article", "nav", "header", "footer", "time"),
    ),
    0,
)
IMPORTANT: Final = ("b", "i", "strong", "em", "big", "cite", "h1", "h2", "h3", "h4", "h5", "h6")

Column: TypeAlias = npt.NDArray[np.int64]


class Columns(NamedTuple):
    """Of each page once, in the order in which they came."""

    number: npt.NDArray[np.uint64]  # `page_number`
    host: Ints  # position in `hosts`
    first_s: npt.NDArray[np.float64]
    n_bytes: Ints
    text_bytes: Ints
    visible_bytes: Ints
    n_words: Ints
    n_distinct: Ints
    title_chars: Ints
    title: npt.NDArray[np.uint64]  # digest of host and title
    content: npt.NDArray[np.uint64]  # digest; 0 without a main text
    word_digest: npt.NDArray[np.uint64]  # 0 without words in it
    tags: npt.NDArray[np.uint64]  # a bit for each of `TAG_WEIGHTS`
    language: Ints
    type: Ints
    inside: Ints
    domain: Ints
    across: Ints
    levels: Ints  # of the path
    flags: Ints


IS_HTML, IS_NOINDEX, IS_ROOT, SAYS_NOTHING = 1, 2, 4, 8
_TYPECODES: Final = "QidiiiiiiQQQQhhiiihb"


class PageColumns:
    """Takes facts, one page after the other."""

    def __init__(self, links_max: int = LINKS_MAX) -> None:
        """Begin with no page.

        Args:
          links_max: as soon as there are more, none of them are kept.
        """
        self.hosts: dict[str, int] = {}
        self.languages: dict[str, int] = {}
        self.types: dict[str, int] = {}
        self._columns: list[array[Any]] = [array(code) for code in _TYPECODES]
        self._targets = array("Q")
        self._n_targets = array("i")
        self._links_max = links_max
        self.has_links = True

    def __len__(self) -> int:
        return len(self._n_targets)

    @property
    def held_bytes(self) -> int:
        """Bytes of all columns."""
        return sum(each.itemsize * len(each) for each in (*self._columns, self._targets, self._n_targets))

    def add(self, page: PageFacts) -> None:
        host = host_of(page.url)
        tags = sum(1 << bit for bit, name in enumerate(TAG_WEIGHTS) if name in page.names)
        flags = (
            IS_HTML * page.is_html
            + IS_NOINDEX * page.is_noindex
            + IS_ROOT * is_root(page.url)
            + SAYS_NOTHING * page.says_nothing
        )
        row = (
            page_number(page.url),
            self.hosts.setdefault(host, len(self.hosts)),
            page.first_s,
            page.n_bytes,
            page.text_bytes,
            page.visible_bytes,
            page.n_words,
            page.n_distinct,
            len(page.title),
            xxh3_64_intdigest(f"{host}\n{page.title}".encode(errors="replace")),
            page.content,
            page.word_digest,
            tags,
            _few(self.languages, page.language),
            _few(self.types, page.type),
            *page.links,
            levels_of(page.url),
            flags,
        )
        for column, value in zip(self._columns, row, strict=True):
            column.append(value)
        self._targets.extend(page.targets if self.has_links else ())
        self._n_targets.append(len(page.targets))
        if len(self._targets) > self._links_max:
            self.has_links, self._targets = False, array("Q")

    def columns(self) -> Columns:
        """Return the columns of all pages; of a URL that came several times the first."""
        kept = self._kept()
        arrays = [np.array(column[: len(self)]) for column in self._columns]
        return Columns._make(
            each[kept] if each.dtype.kind in "uf" else each[kept].astype(np.int64) for each in arrays
        )

    def graph(self) -> LinkGraph:
        """Return the links from page to page, by their positions in `columns`; none if they were too many."""
        kept = self._kept()
        number = self._numbers()[kept]
        order = np.argsort(number)
        position = np.full(len(self), -1, np.int64)
        position[kept] = np.arange(len(kept))
        counts = np.array(self._n_targets) if self.has_links else np.zeros(len(self), np.int64)
        targets = np.array(self._targets[: int(counts.sum())])
        source = np.repeat(position, counts)
        place = np.minimum(np.searchsorted(number[order], targets), len(kept) - 1)
        target = order[place]
        is_there = (number[target] == targets) & (source >= 0)
        return graph_of(len(kept), source[is_there], target[is_there])

    def labels(self) -> Ints:
        """Return how many labels the name of each host has."""
        return np.array([host.count(".") + 1 for host in self.hosts], np.int64)

    def domains(self) -> Ints:
        """Return the number of each host's domain."""
        numbers: dict[str, int] = {}
        found = [numbers.setdefault(registrable_domain(host), len(numbers)) for host in self.hosts]
        return np.array(found, np.int64)

    def _kept(self) -> Ints:
        return np.sort(np.unique(self._numbers(), return_index=True)[1])

    def _numbers(self) -> npt.NDArray[np.uint64]:
        return np.array(self._columns[0][: len(self)])


def has_tag(tags: npt.NDArray[np.uint64], *names: str) -> Flags:
    """Tell of each page whether it has one of some elements."""
    bits = {name: 1 << bit for bit, name in enumerate(TAG_WEIGHTS)}
    mask = np.uint64(sum(bits[name] for name in names))
    found: Flags = (tags & mask) > 0
    return found


def levels_of(url: str) -> int:
    """Return the levels of the path of a canonical URL: 0 of http://www.pku.edu.cn/, 1 of /cs.

    Source: Li, Yan, Wang 2004, section 3.9.
    """
    path = url.split("/", 3)[3].partition("?")[0]
    return sum(map(bool, path.split("/")))


def _few(numbers: dict[str, int], name: str) -> int:
    if name not in numbers and len(numbers) >= FEW_MAX:
        name = OTHER
    return numbers.setdefault(name, len(numbers))
