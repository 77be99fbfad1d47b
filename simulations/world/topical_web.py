"""A synthetic web of which some pages are about a topic, as topics are spread on the web.

A few hosts are about it, and most of their pages are; of the others hardly any is. Pages of the first link to
each other across hosts (topical locality: Davison 2000; book, 13.1). A page that is relevant says the word of
the topic a few times, others now and then once; texts of links mostly tell what they lead to, and sometimes
lie. All that is a pure function of URL and seed.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy as np
from numpy.typing import NDArray

from mesh.stamp import Stamp
from mesh.urls import host_of
from peers.crawler.model.wire_messages import FoundLink
from peers.engine.pages.document import Document
from peers.engine.pages.linkers import linker_of
from simulations.webs.web import SyntheticWeb, WebShape
from simulations.world.hardware import LIMITLESS, Hardware
from simulations.world.ports import VirtualParser

TOPIC: Final = "topic"
DAMPING: Final = 0.85
STEPS: Final = 50


@dataclass(frozen=True, slots=True)
class Topic:
    """How a topic is spread."""

    hosts_share: float = 0.1  # hosts that are about it
    inside_share: float = 0.6  # of their pages that are
    elsewhere_share: float = 0.01  # of the pages of others
    locality: float = 0.7  # of the links from a host that is about it to another, those to a third that is
    told_share: float = 0.5  # of the links to relevant pages whose text says so
    lying_share: float = 0.02  # of the others whose text says so


class TopicalWeb(SyntheticWeb):
    """A web of relevant and other pages."""

    def __init__(self, seed: int, pages: int, shape: WebShape, topic: Topic) -> None:
        """Lay out the hosts, and choose those that are about the topic, at least one."""
        super().__init__(seed, pages, shape)
        self._topic = topic
        draws = [(self._draw(origin, "topic"), origin) for origin in self._first_origins[: self.host_count]]
        count = max(1, round(self.host_count * topic.hosts_share))
        self._topical = [origin for _, origin in sorted(draws)[:count]]
        self._topical_hosts = frozenset(map(host_of, self._topical))

    def is_relevant(self, url: str) -> bool:
        is_inside = host_of(url) in self._topical_hosts
        share = self._topic.inside_share if is_inside else self._topic.elsewhere_share
        return self._draw(url, "relevant") < share

    def text_of(self, url: str) -> str:
        """Return the text of a page."""
        draw = self._draw(url, "text")
        count = 3 + int(6 * draw) if self.is_relevant(url) else int(draw < 0.1)
        return " and ".join(["something else", *[self.word_of(url)] * count])

    def word_of(self, url: str) -> str:
        """Return the word of a page's topic, if it is relevant."""
        return TOPIC

    def links(self, url: str) -> tuple[FoundLink, ...]:
        return tuple(
            FoundLink(link, self._words(url, link), linker=linker_of(url, link)) for link in self.targets(url)
        )

    def _words(self, url: str, link: str) -> str:
        share = self._topic.told_share if self.is_relevant(link) else self._topic.lying_share
        is_told = self._draw(f"{url} {link}", "words") < share
        return f"about the {self.word_of(link)}" if is_told else "more"

    def targets(self, url: str) -> list[str]:
        found = super().targets(url)
        host = host_of(url)
        if host not in self._topical_hosts:
            return found
        return list(
            dict.fromkeys(link if host_of(link) == host else self._third(url, link) for link in found)
        )

    def _third(self, url: str, link: str) -> str:
        """Where a link to another host leads instead, mostly: to a page of a host that is about the topic."""
        draw = self._draw(f"{url} {link}", "third")
        if draw >= self._topic.locality:
            return link
        kin = self._kin_of(url)
        origin = kin[int(draw / self._topic.locality * len(kin))]
        page = int(self._draw(f"{url} {link}", "page") * self.sizes[self._host_index[origin]])
        return f"{origin}/p{page}" if page else f"{origin}/"

    def _kin_of(self, url: str) -> list[str]:
        """Return the origins that are about the same as that of a URL."""
        return self._topical

    @cached_property
    def all_pages(self) -> list[str]:
        """Every URL that answers with a page."""
        return [
            self._page_url(host, page) for host, size in enumerate(self.sizes) for page in range(int(size))
        ]

    @cached_property
    def importance(self) -> dict[str, float]:
        """PageRank of every page, 1 in all."""
        number = {url: place for place, url in enumerate(self.all_pages)}
        ends = [[number[link] for link in self.targets(url) if link in number] for url in self.all_pages]
        counts = np.array([len(each) for each in ends])
        sources = np.repeat(np.arange(len(ends)), counts)
        targets = np.array([target for each in ends for target in each], np.int64)
        ranks: NDArray[np.float64] = np.full(len(ends), 1.0 / len(ends))
        for _ in range(STEPS):
            flows = np.bincount(targets, (ranks / np.maximum(counts, 1))[sources], len(ends))
            lost = 1.0 - DAMPING * flows.sum()
            ranks = DAMPING * flows + lost / len(ends)
        return dict(zip(self.all_pages, ranks.tolist(), strict=True))


class TopicalParser(VirtualParser):
    """Port `parser` of such a web."""

    def __init__(
        self, web: TopicalWeb, *, has_documents: bool = True, hardware: Hardware = LIMITLESS
    ) -> None:
        super().__init__(web, has_documents=has_documents, hardware=hardware)
        self._topical = web

    def document(self, url: str, stamp: Stamp, body: bytes) -> Document:
        text = self._topical.text_of(url)
        return Document(url, title="a page", text=text, fetched_at=stamp.fetched_at, visit=stamp.visit)
