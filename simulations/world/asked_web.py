"""A synthetic web with several topics, and people that search for some of them while it is crawled.

A host is about one topic or none, as those of `topical_web`. Of the topics half are searched for, the first
most; people see the best pages that the mesh has by then, and its gateways hear of the search as of any.
"""

from __future__ import annotations

from bisect import insort
from typing import Final

from msgspec.structs import replace

from mesh.actors.actor import Address
from mesh.urls import host_of
from peers.gateway.model.messages import Coverage, FoundPage, PagesFound, Searched
from simulations.webs.web import WebShape
from simulations.world.chance import random_of
from simulations.world.crawl import SimulatedCrawl
from simulations.world.ports import LoggedRequest
from simulations.world.topical_web import Topic, TopicalWeb

WORDS: Final = ("glacier", "violin", "harbour", "lantern", "orchid", "pepper", "saddle", "walrus")
ASKED: Final = WORDS[: len(WORDS) // 2]  # the k-th 1/k times as often as the first
CLIENTS: Final = 200
SHOWN: Final = 3  # pages of an answer
_NOTHING: Final = PagesFound(1, (), 0, 0.0, Coverage(1, 1, 0), ())


def asked_shares() -> dict[str, float]:
    """Return the share of all searches that each word has."""
    whole = sum(1 / place for place in range(1, len(ASKED) + 1))
    return {word: 1 / place / whole for place, word in enumerate(ASKED, 1)}


class AskedWeb(TopicalWeb):
    """A web of pages about one of some words, and of others."""

    def __init__(self, seed: int, pages: int, shape: WebShape, topic: Topic) -> None:
        super().__init__(seed, pages, shape, topic)
        self._kin = {word: self._topical[place :: len(WORDS)] for place, word in enumerate(WORDS)}
        self._word_of_host = {host_of(each): word for word, kin in self._kin.items() for each in kin}

    def word_of(self, url: str) -> str:
        word = self._word_of_host.get(host_of(url))
        return word or WORDS[int(self._draw(url, "word") * len(WORDS))]

    def merit_of(self, url: str) -> float:
        """Return how good a page is for its word: the least is best."""
        return self._draw(url, "merit")

    def _kin_of(self, url: str) -> list[str]:
        return self._kin[self._word_of_host[host_of(url)]]


class Searchers:
    """People that search, at all gateways of a crawl."""

    def __init__(self, crawl: SimulatedCrawl, web: AskedWeb, seed: int, pause_s: float) -> None:
        """Have somebody search each `pause_s`, from now on."""
        self.shown: list[tuple[float, tuple[str, ...]]] = []  # when, and the pages
        self._crawl, self._web, self._pause_s = crawl, web, pause_s
        self._random = random_of(seed, "searchers")
        self._known: dict[str, list[tuple[float, str]]] = {word: [] for word in WORDS}  # best first
        self._seen: set[str] = set()
        self._n_read = 0  # of the log of the web's servers
        self._under_way: list[LoggedRequest] = []  # of these
        self._plan()

    def _plan(self) -> None:
        self._crawl.world.plan(self._crawl.world.now + self._pause_s, self._search)

    def _search(self) -> None:
        self._read()
        (word,) = self._random.choices(ASKED, list(asked_shares().values()))
        client = self._random.randrange(CLIENTS)
        known = self._known[word]
        urls = tuple(url for _, url in known[:SHOWN])
        hits = tuple(FoundPage(url, "", "", (), (), 1.0, "", 0.0, "") for url in urls)
        self.shown.append((self._crawl.world.now, urls))
        peer = self._crawl.peers[client % len(self._crawl.peers)]
        searched = Searched(client, word, replace(_NOTHING, total=len(known), hits=hits))
        self._crawl.world.deliver(Address(peer, "http"), Address(peer, "searcher"), searched)
        self._plan()

    def _read(self) -> None:
        """Note the pages that were fetched since: the order of a word's pages is theirs for good."""
        log, now = self._crawl.log, self._crawl.world.now
        requests, self._n_read = [*self._under_way, *log[self._n_read :]], len(log)
        self._under_way = [each for each in requests if each.until_s > now]
        for request in requests:
            url = request.url
            is_new_page = request.until_s <= now and request.status == 200 and url not in self._seen
            if is_new_page and not url.endswith("/robots.txt"):
                self._seen.add(url)
                if self._web.is_relevant(url):
                    insort(self._known[self._web.word_of(url)], (self._web.merit_of(url), url))
