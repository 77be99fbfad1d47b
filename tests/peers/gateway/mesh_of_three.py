"""Three peers as the searcher of one of them sees them, and answers with boring defaults."""

from __future__ import annotations

from itertools import count

from mesh.actors.actor import Address, Message, Send
from mesh.actors.conduct import Misbehaved
from mesh.actors.ownership import Ownership, OwnershipChanged
from mesh.slots import SlotTable
from mesh.urls import host_of
from peers.gateway.model.messages import PagesFound, SearchPages
from peers.gateway.searcher import Searcher
from peers.index.wire_messages import (
    Excerpt,
    ExcerptsRead,
    FurtherHits,
    Hit,
    HitsFound,
    ReadExcerpts,
    TermsCounted,
)

SLOT_COUNT = 64
PEERS = ("ann", "bob", "cyd")
EVERY_INDEXER = Address("*", "indexer")


def ownership(alive: tuple[str, ...] = PEERS, replicas: int = 2) -> Ownership:
    """All live members weigh the same; who is dead is in no table."""
    return Ownership("ann", SlotTable(dict.fromkeys(alive, 100), SLOT_COUNT, replicas), alive)


def searcher_of(view: Ownership) -> Searcher:
    searcher = Searcher("ann")
    membership = Address("ann", "membership")
    assert searcher.receive(membership, OwnershipChanged(view), 0.0) == []
    return searcher


def url_of(peer: str, number: int = 0, view: Ownership | None = None, witness: str = "") -> str:
    """The number-th URL, of as many hosts, that the index of `peer` answers for.

    Args:
      witness: of those that this one answers for if `peer` is absent.
    """
    view = view or ownership()
    urls = (f"http://host{i}.test/" for i in count())
    teams = ((url, view.serving.team_of(view.slot_of(host_of(url)))) for url in urls)
    fitting = (url for url, team in teams if team[0] == peer and (not witness or team[1] == witness))
    return next(url for i, url in enumerate(fitting) if i == number)


class Conversation:
    """One searcher with what it sent last; answers name the question they are for."""

    def __init__(self, view: Ownership | None = None) -> None:
        self.view = view or ownership()
        self.searcher = searcher_of(self.view)
        self.now = 0.0
        self.sent: list[Send] = []
        self.asked_for: dict[str, str] = {}  # of pages to be read, who was asked last

    def order(self, message: Message) -> list[Send]:
        return self._note(self.searcher.receive(Address("ann", "http"), message, self.now))

    def search(
        self, text: str, k: int = 10, offset: int = 0, ticket: int = 1, *, is_verbatim: bool = False
    ) -> list[Send]:
        return self.order(SearchPages(ticket, text, k, offset, is_verbatim=is_verbatim))

    def wait(self, seconds: float) -> list[Send]:
        self.now += seconds
        return self._note(self.searcher.wake(self.now))

    def from_peer(self, peer: str, message: Message, actor: str = "indexer") -> list[Send]:
        return self._note(self.searcher.receive(Address(peer, actor), message, self.now))

    def change_ownership(self, view: Ownership) -> list[Send]:
        self.view = view
        return self._note(
            self.searcher.receive(Address("ann", "membership"), OwnershipChanged(view), self.now)
        )

    def counted(
        self,
        peer: str,
        doc_freqs: tuple[int, ...],
        generation: int = 1,
        epoch: bytes | None = None,
        request: int | None = None,
        missing: int = 0,
        documents: int = 100,
    ) -> list[Send]:
        lengths = (documents, 10, 100, 1_000, 100)
        request = self.request if request is None else request
        message = TermsCounted(request, self.epoch(epoch), generation, documents, lengths, doc_freqs, missing)
        return self.from_peer(peer, message)

    def found(
        self,
        peer: str,
        *hits: tuple[str, float],
        total: int | None = None,
        generation: int = 1,
        epoch: bytes | None = None,
        request: int | None = None,
        missing: int = 0,
        is_cut: bool = False,
        content: int = 0,
        further: FurtherHits | None = None,
    ) -> list[Send]:
        n = len(hits) if total is None else total
        request = self.request if request is None else request
        found = tuple(Hit(url, score, content=content) for url, score in hits)
        answer = HitsFound(
            request,
            self.epoch(epoch),
            generation,
            n,
            found,
            missing,
            not is_cut,
            is_cut=is_cut,
            further=further,
        )
        return self.from_peer(peer, answer)

    def read(self, *urls: str, title: str = "") -> list[Send]:
        """Let those who were asked for these pages answer, and know no others."""
        sends: list[Send] = []
        for peer in sorted({self.asked_for[url] for url in urls}):
            excerpts = tuple(
                Excerpt(url, title or f"title of {url}", "the snippet", ((4, 11),), (), 7.0)
                for url in urls
                if self.asked_for[url] == peer
            )
            sends += self.from_peer(peer, ExcerptsRead(self.request, excerpts))
        self.sent = sends
        return sends

    def epoch(self, epoch: bytes | None) -> bytes:
        return self.view.serving_epoch if epoch is None else epoch

    def all_counted(self, *doc_freqs: int, generation: int = 1) -> list[Send]:
        for peer in PEERS[:-1]:
            assert self.counted(peer, doc_freqs, generation) == []
        return self.counted(PEERS[-1], doc_freqs, generation)

    @property
    def request(self) -> int:
        """Of the last question asked."""
        return self._request

    def answer(self) -> PagesFound:
        """The one thing sent last, to HTTP."""
        [(target, message)] = [each for each in self.sent if not isinstance(each[1], Misbehaved)]
        assert target == Address("ann", "http")
        assert isinstance(message, PagesFound)
        return message

    def _note(self, sends: list[Send]) -> list[Send]:
        self.sent = sends
        for send in sends:
            if isinstance(send.message, ReadExcerpts):
                self.asked_for |= dict.fromkeys(send.message.urls, send.target.peer)
            self._request = getattr(send.message, "request", getattr(self, "_request", 0))
        return sends
