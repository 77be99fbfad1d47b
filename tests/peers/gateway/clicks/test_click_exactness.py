"""Clicks in the order of results: as on one peer on 3 and 5, bounded, and nothing while they are off."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import ExitStack
from math import inf

import pytest

from mesh.actors.actor import Address, Message
from mesh.actors.node import Node, Outgoing
from mesh.actors.ownership import Ownership, OwnershipChanged
from mesh.keys.decree import POLICY, Decree
from mesh.membership.model.messages import DecreesInForce
from mesh.tables.memory_table import MemoryTable
from peers.engine.queries.query import Sort
from peers.gateway.model.messages import PagesFound
from peers.gateway.searcher import Searcher
from peers.index.index_reader import IndexReader
from peers.index.indexer import Indexer
from peers.policy.log_rules import CLICK_WEIGHT_MAX, QueryLogRules, query_digest
from peers.policy.rules import DAY_S, EVERYTHING, Policy, policy_bytes
from peers.query_log.log_row import LogRow, RowName, number_in, row_bytes
from peers.query_log.query_log import OwnQueryLog
from peers.query_log.wire_messages import ClicksTold, ClicksWanted, SearchesTold, ToldRow
from tests.peers.gateway.test_exactness import SLOT_COUNT, Mesh, documents

QUERY = "天网 mesh"
DAY = 40
ON = QueryLogRules(days=30, clicks=True, click_weight=CLICK_WEIGHT_MAX, click_gateways=1, examined=(1.0, 0.5))


class ReadMesh(Mesh):
    """A mesh that keeps a log of clicks; `told` has the messages about these."""

    def __init__(self, count: int, stack: ExitStack) -> None:
        super().__init__([f"peer{n}" for n in range(count)], stack)
        self.told: list[Message] = []
        self.lies: tuple[tuple[str, int], ...] | None = None  # of whoever answers for the query
        self.is_silent = False
        self.now = DAY * DAY_S
        self.nodes = {
            peer: Node(
                peer, [Indexer(peer, IndexReader(index)), Searcher(peer), OwnQueryLog(peer, MemoryTable())]
            )
            for peer, index in self.indexes.items()
        }
        self.change_alive(self.indexes)
        for peer in self.nodes:
            change = OwnershipChanged(Ownership(peer, self.table, self.alive))
            self._deliver(peer, Address(peer, "membership"), "query_log", change)

    def obey(self, rules: QueryLogRules) -> None:
        body = policy_bytes(Policy(rules=EVERYTHING.rules, query_log=rules))
        decrees = DecreesInForce(POLICY, (Decree(POLICY, "", 1, 0.0, inf, body, b"", b""),))
        for peer in self.nodes:
            for actor in ("searcher", "query_log"):
                self._deliver(peer, Address(peer, "membership"), actor, decrees)

    @property
    def answerer(self) -> str:
        """The peer that keeps the log of the query."""
        slot = number_in(query_digest(QUERY)) % SLOT_COUNT
        peer = Ownership("peer0", self.table, self.alive).answerer_of(slot)
        assert peer is not None
        return peer

    @property
    def asker(self) -> str:
        """Another peer, whose messages to it are seen."""
        return next(peer for peer in self.nodes if peer != self.answerer)

    def wake(self, peer: str) -> None:
        """Let a peer do what is due, with what comes of that."""
        for item in self.nodes[peer].wake(self.now):
            for target, source, actor, message in self._carry(peer, item):
                self._deliver(target, source, actor, message)

    def click(self, url: str, rank: int, clients: Iterable[int], day: int = DAY - 1) -> None:
        row = row_bytes(LogRow(QUERY, ((1, 10),), ((rank, url),)))
        names = (RowName(query_digest(QUERY), day, client.to_bytes(8, "big")).encoded for client in clients)
        told = SearchesTold(1, tuple(ToldRow(name, row) for name in names))
        self._deliver(self.answerer, Address("other", "query_log"), "query_log", told)

    def _carry(self, peer: str, item: Outgoing) -> Iterable[tuple[str, Address, str, Message]]:
        _, target, message = item
        if isinstance(message, ClicksTold | ClicksWanted):
            self.told.append(message)
            if self.is_silent:
                return ()
            if isinstance(message, ClicksTold) and self.lies is not None:
                item = item._replace(message=ClicksTold(message.request, self.lies))
        if target.peer == "other" or target.actor in ("handover", "membership"):
            return ()
        return super()._carry(peer, item)


def order_of(found: PagesFound) -> list[tuple[str, float]]:
    return [(hit.url, hit.score) for hit in found.hits]


@pytest.fixture
def stack() -> Iterable[ExitStack]:
    with ExitStack() as stack:
        yield stack


def test_clicks_move_a_page_alike_on_1_3_and_5_peers(stack: ExitStack) -> None:
    answers = []
    for count in (1, 3, 5):
        mesh = ReadMesh(count, stack)
        mesh.index(documents(120))
        mesh.obey(ON)
        plain = mesh.search("peer0", QUERY, k=100)
        by_date = order_of(mesh.search("peer0", QUERY, k=100, order=Sort.DATE))
        clicked, rival = plain.hits[12].url, plain.hits[20].url
        mesh.click(clicked, 2, range(9))
        mesh.click(rival, 1, range(20, 26))
        mesh.click(plain.hits[28].url, 1, range(40, 44))  # four, on each of two days
        mesh.click(plain.hits[28].url, 1, range(40, 44), DAY - 2)
        mesh.now += DAY_S / 2
        assert order_of(mesh.search("peer0", QUERY, k=100)) == order_of(plain), "weights are those of a day"
        mesh.now += DAY_S / 2
        found = [mesh.search(peer, QUERY, k=100, wants_explanations=True) for peer in mesh.nodes]
        assert all(order_of(each) == order_of(found[0]) for each in found)
        scores, before = dict(order_of(found[0])), dict(order_of(plain))
        gains = {url: scores[url] - before[url] for url in before if scores[url] != before[url]}
        assert gains.keys() == {clicked, rival}
        assert gains[rival] == pytest.approx(gains[clicked] / 3, rel=0.01), (
            "6 clicks at the first place, 9 * 2"
        )
        assert [hit.url for hit in found[0].hits].index(clicked) < 12
        for hit in found[0].hits[:30]:
            assert hit.explanation is not None
            assert hit.explanation.value == pytest.approx(hit.score)
            assert any(part.name == "clicks" for part in hit.explanation.parts) == (hit.url in gains)
        assert order_of(mesh.search("peer0", QUERY, k=100, order=Sort.DATE)) == by_date
        answers.append((order_of(plain), order_of(found[0])))
    assert answers[0] == answers[1] == answers[2]


def test_while_clicks_have_no_weight_nobody_is_asked_for_them(stack: ExitStack) -> None:
    mesh = ReadMesh(3, stack)
    mesh.index(documents(120))
    mesh.obey(QueryLogRules(days=30, clicks=True))
    plain = order_of(mesh.search(mesh.asker, QUERY, k=100))
    mesh.click(plain[12][0], 1, range(50))
    mesh.now += DAY_S
    assert order_of(mesh.search(mesh.asker, QUERY, k=100)) == plain
    assert mesh.told == []
    mesh.obey(ON)
    assert order_of(mesh.search(mesh.asker, QUERY, k=100)) != plain
    assert [type(each) for each in mesh.told] == [ClicksWanted, ClicksTold]


def test_a_member_that_lies_about_clicks_moves_a_page_past_none_that_is_better_by_the_weight(
    stack: ExitStack,
) -> None:
    """It can say what it wants of each page: what changes places differs by scale * weight at most."""
    mesh = ReadMesh(3, stack)
    mesh.index(documents(120))
    mesh.obey(ON)
    plain = order_of(mesh.search(mesh.answerer, QUERY, k=100))
    mesh.lies = (("http://nowhere.test/", 1_000), *((url, 1_000) for url, _ in plain[1:30:2]))
    lied = mesh.search(mesh.asker, QUERY, k=100)
    assert {url for url, _ in order_of(lied)} == {url for url, _ in plain}, "no page comes in, none goes"
    before, place = dict(plain), {hit.url: n for n, hit in enumerate(lied.hits)}
    gain = max(hit.score - before[hit.url] for hit in lied.hits)
    assert gain > 0
    for number, (url, score) in enumerate(plain[:30]):
        for other, of_other in plain[number + 1 : 30]:
            if place[other] < place[url]:
                assert score - of_other <= gain + 1e-9
    full = mesh.search(mesh.asker, "mesh", k=10).hits[0].score
    assert gain < full


def test_where_the_log_is_silent_the_search_goes_on_without_and_is_not_kept(stack: ExitStack) -> None:
    mesh = ReadMesh(3, stack)
    mesh.index(documents(120))
    mesh.obey(ON)
    plain = order_of(mesh.search(mesh.asker, QUERY, k=100))
    mesh.click(plain[12][0], 1, range(50))
    mesh.now += DAY_S
    mesh.is_silent = True
    with pytest.raises(ValueError, match="not enough values"):
        mesh.search(mesh.asker, QUERY, k=100)
    mesh.now += 1.0
    mesh.wake(mesh.asker)
    assert order_of(mesh.answers[0]) == plain
    mesh.is_silent = False
    assert order_of(mesh.search(mesh.asker, QUERY, k=100)) != plain
