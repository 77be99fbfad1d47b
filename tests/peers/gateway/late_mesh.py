"""A searcher and the indexers it asks, on a virtual clock: they can be slow, dead, incomplete or deaf."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from heapq import heappop, heappush
from itertools import count

import numpy as np

from mesh.actors.actor import EVERYBODY, Address, Message, Send
from mesh.actors.ownership import Ownership, OwnershipChanged
from mesh.slot_set import SlotMask
from mesh.slots import SlotTable
from mesh.urls import host_of
from peers.gateway.model.messages import PagesFound, SearchPages
from peers.gateway.model.settings import GatewaySettings
from peers.gateway.searcher import Searcher, SearcherStatistics
from peers.index.wire_messages import (
    CountTerms,
    Excerpt,
    ExcerptsRead,
    Hit,
    HitsFound,
    ReadExcerpts,
    SearchSlots,
    TermsCounted,
)

SLOT_COUNT = 64
HERE = "ann"
ANSWER_S = 0.005  # from question to answer
URLS = tuple(f"http://host{n}.test/" for n in range(200))


SCORE_UNIT = 1e-6


@dataclass
class FakeIndexer:
    """Has the pages of its slots; every page has the same one word."""

    peer: str
    delay_s: float = 0.0
    is_dead: bool = False
    generation: int = 1
    incomplete: frozenset[int] = frozenset()  # slots
    lost: frozenset[str] = frozenset()  # pages that are not here although the slot is
    asked: list[Message] = field(default_factory=list)

    def answer(self, question: Message, ownership: Ownership) -> Message | None:
        """What an indexer says under that ownership."""
        self.asked.append(question)
        epoch = ownership.serving_epoch
        match question:
            case CountTerms():
                urls, missing = self._pages(ownership, question.absent)
                n = len(urls)
                return TermsCounted(
                    question.request, epoch, self.generation, n, (n,) * 5, (n,) * len(question.terms), missing
                )
            case SearchSlots():
                urls, missing = self._pages(ownership, question.absent)
                # Scores tell the statistics that they were made with.
                hits = [Hit(url, score_of(number, question.document_count)) for number, url in urls]
                hits = [hit for hit in hits if hit.score >= question.floor][: question.k]
                return HitsFound(question.request, epoch, self.generation, len(urls), tuple(hits), missing)
            case ReadExcerpts():
                texts = [Excerpt(url, f"title by {self.peer}", "", (), (), 7.0) for url in question.urls]
                return ExcerptsRead(question.request, tuple(texts))
        return None

    def _pages(self, ownership: Ownership, absent: tuple[str, ...]) -> tuple[list[tuple[int, str]], int]:
        """Pages by falling score, and the number of slots left out."""
        mask: SlotMask
        if absent:
            mask = ownership.answered_instead(self.peer, frozenset(absent))
        else:
            mask = ownership.answered_by(self.peer)
        slots = set(np.flatnonzero(mask).tolist())
        pages = [(n, url) for n, url in enumerate(URLS) if ownership.slot_of(host_of(url)) in slots]
        here = [
            (n, url)
            for n, url in pages
            if url not in self.lost and ownership.slot_of(host_of(url)) not in self.incomplete
        ]
        return here, len(slots & self.incomplete)


def score_of(number: int, document_count: int) -> float:
    """What a page scores; small enough for a word that all pages have."""
    return (document_count + 1 / (2 + number)) * SCORE_UNIT


class LateMesh:
    """The searcher of `ann` and an indexer on every peer."""

    def __init__(self, peers: Iterable[str] = ("ann", "bob", "cyd", "dan"), replicas: int = 2) -> None:
        table = SlotTable(dict.fromkeys(peers, 100), SLOT_COUNT, replicas)
        self.ownership = Ownership(HERE, table, table.peers)
        self.indexers = {peer: FakeIndexer(peer) for peer in table.peers}
        self.searcher = Searcher(HERE, settings=GatewaySettings(cache_bytes_max=0))
        self.now = 0.0
        self.before_answer: Callable[[str, Message], None] = lambda peer, question: None
        self._events: list[tuple[float, int, Address, Message]] = []
        self._numbers = count()
        self._answers: list[PagesFound] = []
        self._carry(self.searcher.receive(Address(HERE, "membership"), OwnershipChanged(self.ownership), 0.0))

    def search(self, text: str = "word", k: int = 10) -> tuple[PagesFound, float]:
        """Ask; return the answer and the seconds it took."""
        began = self.now
        self._carry(self.searcher.receive(Address(HERE, "http"), SearchPages(1, text, k), self.now))
        while not self._answers:
            self._step()
        return self._answers.pop(), self.now - began

    def rest(self, seconds: float) -> None:
        """Let what is under way arrive."""
        until = self.now + seconds
        while min(self._next_event(), self.searcher.wake_at()) <= until:
            self._step()
        self.now = until

    def warm_up(self) -> None:
        """Searches from which the searcher knows how fast the peers are."""
        for number in range(10):
            self.search(f"warm{number}")

    @property
    def statistics(self) -> SearcherStatistics:
        return self.searcher.observe()

    def slots_of(self, peer: str) -> int:
        return self.ownership.slots_answered[peer]

    def answerer_of(self, url: str) -> str | None:
        return self.ownership.answerer_of(self.ownership.slot_of(host_of(url)))

    def _step(self) -> None:
        wake_at = self.searcher.wake_at()
        if self._next_event() <= wake_at:
            self.now, _, source, message = heappop(self._events)
            self._carry(self.searcher.receive(source, message, self.now))
        else:
            assert wake_at >= self.now, "it would be woken without end"
            self.now = wake_at
            self._carry(self.searcher.wake(self.now))

    def _next_event(self) -> float:
        return self._events[0][0] if self._events else float("inf")

    def _carry(self, sends: list[Send]) -> None:
        for target, message in sends:
            if target.actor == "http":
                assert isinstance(message, PagesFound)
                self._answers.append(message)
            for peer in self.indexers if target.peer == EVERYBODY else (target.peer,):
                if target.actor == "indexer":
                    self._ask(self.indexers[peer], message)

    def _ask(self, indexer: FakeIndexer, question: Message) -> None:
        self.before_answer(indexer.peer, question)
        if indexer.is_dead:
            return
        answer = indexer.answer(question, self.ownership)
        if answer is not None:
            at = self.now + ANSWER_S + indexer.delay_s
            heappush(self._events, (at, next(self._numbers), Address(indexer.peer, "indexer"), answer))


def shown(found: PagesFound) -> tuple[int, list[tuple[str, float]]]:
    """What must not depend on who answers."""
    return found.total, [(hit.url, hit.score) for hit in found.hits]
