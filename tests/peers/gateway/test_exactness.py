"""Ranking does not depend on how many peers there are: searchers and indexers, without a network."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from contextlib import ExitStack
from random import Random

import pytest

from mesh.actor import EVERYBODY, Address, Message
from mesh.codec import decode, encode
from mesh.document import Document
from mesh.node import Node, Outgoing
from mesh.ownership import Ownership, OwnershipChanged
from mesh.slot_set import encode_slot_list
from mesh.slots import SlotTable
from mesh.urls import host_of
from peers.gateway.messages import PagesFound, SearchPages
from peers.gateway.searcher import Searcher
from peers.handover.messages import SlotsComplete
from peers.index.index import Index
from peers.index.index_reader import IndexReader
from peers.index.indexer import Indexer
from peers.index.storage import MemoryStorage

SLOT_COUNT = 256
REPLICAS = 2
WORDS = (
    *("天网", "搜索", "引擎", "网页", "爬虫", "web", "crawler", "index", "query"),
    *("peer", "slot", "owner", "epoch", "mesh", "search", "page"),
)


def documents(count: int) -> list[Document]:
    random = Random(7)

    def text(length: int) -> str:
        return " ".join(random.choice(WORDS) for _ in range(random.randrange(1, length)))

    return [
        Document(f"http://host{n % 97}.test/{n}", text(5), text(8), text(60), (text(3),), "zh", 7.0)
        for n in range(count)
    ]


class Mesh:
    """Peers that share an index of documents; messages between them arrive at once, encoded."""

    def __init__(self, peers: Iterable[str], stack: ExitStack) -> None:
        self.indexes = {peer: stack.enter_context(Index.open(MemoryStorage())) for peer in sorted(peers)}
        self.nodes = {
            peer: Node(peer, [Indexer(peer, IndexReader(index)), Searcher(peer)])
            for peer, index in self.indexes.items()
        }
        self.answers: list[PagesFound] = []
        self.change_alive(self.indexes)

    def change_alive(self, alive: Iterable[str]) -> None:
        """All that live weigh the same and have their slots; who is dead is in no table."""
        self.alive = frozenset(alive)
        self.table = SlotTable(dict.fromkeys(self.alive, 100), SLOT_COUNT, REPLICAS)
        for peer in self.alive:
            change = OwnershipChanged(Ownership(peer, self.table, self.alive))
            for actor in ("indexer", "searcher"):
                self._deliver(peer, Address(peer, "membership"), actor, change)
            complete = SlotsComplete(encode_slot_list(range(SLOT_COUNT), SLOT_COUNT))
            self._deliver(peer, Address(peer, "handover"), "indexer", complete)

    def index(self, pages: list[Document]) -> None:
        for peer, index in self.indexes.items():
            ownership = Ownership(peer, self.table, self.alive)
            slots = [(ownership.slot_of(host_of(page.url)), page) for page in pages]
            index.add([(slot, page) for slot, page in slots if peer in ownership.team_of(slot)])
            index.commit()

    def search(self, peer: str, text: str, k: int = 10, offset: int = 0) -> PagesFound:
        self.answers.clear()
        self._deliver(peer, Address(peer, "http"), "searcher", SearchPages(1, text, k, offset))
        [answer] = self.answers
        return answer

    def _deliver(self, peer: str, source: Address, actor: str, message: Message) -> None:
        queue = deque([(peer, source, actor, message)])
        while queue:
            peer, source, actor, message = queue.popleft()
            for item in self.nodes[peer].receive(source, actor, message, 0.0):
                queue.extend(self._carry(peer, item))

    def _carry(self, peer: str, item: Outgoing) -> Iterable[tuple[str, Address, str, Message]]:
        source, target, message = item
        if target == Address(peer, "http"):
            assert isinstance(message, PagesFound)
            self.answers.append(message)
            return
        envelope = decode(encode(source.actor, target.actor, message))
        for other in self.alive - {peer} if target.peer == EVERYBODY else {target.peer}:
            yield other, Address(peer, envelope.source), envelope.target, envelope.message


QUERIES = [
    "天网",
    "搜索引擎",
    "crawler",
    "web search",
    "天网 index",
    '"web crawler"',
    '"搜索 引擎" page',
    "peer -slot",
    "site:host5.test mesh",
    "site:host5.test",
    "-mesh epoch owner query",
    "missingword 天网",  # falls back to any
    "missingword otherword",
]


@pytest.fixture
def stack() -> Iterable[ExitStack]:
    with ExitStack() as stack:
        yield stack


@pytest.mark.parametrize("count", [2, 3, 5])
def test_every_gateway_of_any_mesh_answers_as_one_peer_would(stack: ExitStack, count: int) -> None:
    pages = documents(600)
    alone, mesh = Mesh(["solo"], stack), Mesh([f"peer{n}" for n in range(count)], stack)
    alone.index(pages)
    mesh.index(pages)
    for text in QUERIES:
        for offset in (0, 10):
            expected = alone.search("solo", text, offset=offset)
            shown = [(hit.url, hit.score, hit.title, hit.snippet) for hit in expected.hits]
            for peer in mesh.nodes:
                found = mesh.search(peer, text, offset=offset)
                assert [(hit.url, hit.score, hit.title, hit.snippet) for hit in found.hits] == shown, text
                assert (found.total, found.is_fallback) == (expected.total, expected.is_fallback)
                assert found.coverage.missing == 0


def test_answers_are_exact_after_every_commit_and_loss(stack: ExitStack) -> None:
    pages = documents(600)
    alone, mesh = Mesh(["solo"], stack), Mesh(["ann", "bob", "cyd"], stack)
    for start in range(0, 600, 200):
        for each in (alone, mesh):
            each.index(pages[start : start + 200])
        for text in QUERIES:
            assert scores(mesh.search("bob", text)) == scores(alone.search("solo", text)), text
    mesh.change_alive(["ann", "bob"])  # those ranked after the third
    for text in QUERIES:
        found = mesh.search("bob", text)
        assert scores(found) == scores(alone.search("solo", text)), text
        assert found.coverage.missing == 0


def scores(found: PagesFound) -> list[tuple[str, float]]:
    return [(hit.url, hit.score) for hit in found.hits]
