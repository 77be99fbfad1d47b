"""An aggregator asks the members of a group, and tells the gateway the best of their answers."""

from __future__ import annotations

from math import inf

import msgspec

from mesh.actors.actor import Address, Message, Send
from mesh.actors.conduct import Misbehaved, Offence
from peers.engine.queries.query import Query
from peers.gateway.aggregation.aggregation import AGGREGATIONS_MAX, ANSWERS_S_MAX, PATIENCE_S
from peers.gateway.aggregation.wire_messages import AskGroup, GroupAnswered
from peers.gateway.model.messages import SearchPages
from peers.gateway.searcher import Searcher
from peers.index.wire_messages import CountTerms, Hit, HitsFound, SearchSlots, TermsCounted
from tests.peers.gateway.mesh_of_three import PEERS, ownership, searcher_of, url_of

GATEWAY = Address("zoe", "searcher")
QUERY = msgspec.msgpack.encode(Query(("web",), ("web",), (1.0,)))
SEARCH = SearchSlots(9, QUERY, 100, (500,) * 5, ("web",), (10,), 3)
VIEW = ownership()


class Aggregator:
    """The searcher of ann, and what it has sent."""

    def __init__(self) -> None:
        self.searcher = searcher_of(VIEW)
        self.sent: list[Send] = []

    def ask(self, question: CountTerms | SearchSlots, members: tuple[str, ...] = PEERS) -> None:
        self.sent = self.searcher.receive(GATEWAY, AskGroup(question, members), 0.0)
        self.asked = [message for _, message in self.sent if isinstance(message, CountTerms | SearchSlots)]

    def answer(self, peer: str, *hits: tuple[str, float], now: float = 0.001, epoch: bytes = b"") -> None:
        given = tuple(Hit(url, score) for url, score in hits)
        epoch = epoch or VIEW.serving_epoch
        self.hear(peer, HitsFound(self.asked[0].request, epoch, 4, 50, given), now)

    def hear(self, peer: str, message: Message, now: float = 0.001) -> None:
        self.sent = self.searcher.receive(Address(peer, "indexer"), message, now)

    def wake(self) -> float:
        at = self.searcher.wake_at()
        self.sent = self.searcher.wake(at)
        return at

    def told(self) -> dict[str, list[tuple[str, float]]]:
        """The hits of each member, of the one message to the gateway."""
        [message] = [message for to, message in self.sent if to == GATEWAY]
        assert isinstance(message, GroupAnswered)
        assert message.request == SEARCH.request
        return {
            peer: [(hit.url, hit.score) for hit in answer.hits]
            for peer, answer in message.answers
            if isinstance(answer, HitsFound)
        }


def test_members_are_asked_each_and_the_best_of_all_are_told_with_their_members() -> None:
    ann = Aggregator()
    ann.ask(SEARCH)
    assert [to for to, _ in ann.sent] == [Address(peer, "indexer") for peer in PEERS]
    assert all(message == msgspec.structs.replace(SEARCH, request=message.request) for message in ann.asked)
    pages = {peer: [url_of(peer, n) for n in range(3)] for peer in PEERS}
    ann.answer("ann", (pages["ann"][0], 0.5), (pages["ann"][1], 0.2))
    ann.answer("cyd", (pages["cyd"][0], 0.1))
    assert ann.sent == []
    ann.answer("bob", (pages["bob"][0], 0.5), (pages["bob"][1], 0.3), (pages["bob"][2], 0.2))
    assert ann.told() == {
        "ann": [(pages["ann"][0], 0.5)],
        "cyd": [],
        "bob": [(pages["bob"][0], 0.5), (pages["bob"][1], 0.3)],
    }
    assert ann.searcher.observe().in_flight == 0


def test_counts_are_told_as_they_came() -> None:
    ann = Aggregator()
    ann.ask(CountTerms(9, ("web",)), ("bob",))
    counted = TermsCounted(ann.asked[0].request, VIEW.serving_epoch, 4, 50, (500,) * 5, (10,))
    ann.hear("bob", counted)
    assert ann.sent == [Send(GATEWAY, GroupAnswered(9, (("bob", counted),)))]


def test_who_is_late_is_told_of_later_and_does_not_make_others_late() -> None:
    ann = Aggregator()
    ann.ask(SEARCH)
    ann.answer("ann", (url_of("ann"), 0.1))
    ann.answer("bob")
    assert ann.wake() == PATIENCE_S
    assert ann.told() == {"ann": [(url_of("ann"), 0.1)], "bob": []}
    assert ann.searcher.wake_at() == ANSWERS_S_MAX
    late = [(url_of("cyd", n), 0.05) for n in range(3)]
    ann.answer("cyd", *late, now=0.3)
    assert ann.told() == {"cyd": sorted(late)}
    assert ann.searcher.observe().in_flight == 0


def test_nothing_more_is_told_when_nobody_waits_any_more() -> None:
    ann = Aggregator()
    ann.ask(SEARCH)
    assert ann.wake() == ANSWERS_S_MAX
    assert ann.sent == []
    assert ann.searcher.wake_at() == inf
    ann.answer("bob", now=ANSWERS_S_MAX)
    assert ann.sent == []


def test_hits_that_no_honest_member_gives_are_not_told_and_are_its_fault() -> None:
    ann = Aggregator()
    ann.ask(SEARCH, ("bob", "cyd"))
    ann.answer("bob", (url_of("cyd"), 0.2), (url_of("bob"), 0.1), ("no url", 0.1))
    ann.answer("cyd", (url_of("cyd"), 1e6), (url_of("cyd", 1), float("nan")), (url_of("cyd", 2), 0.1))
    assert ann.told() == {"bob": [(url_of("bob"), 0.1)], "cyd": [(url_of("cyd", 2), 0.1)]}
    blamed = {(message.peer, message.offence) for _, message in ann.sent if isinstance(message, Misbehaved)}
    assert blamed == {("bob", Offence.FOREIGN_HITS), ("cyd", Offence.IMPOSSIBLE_SCORES)}


def test_stand_ins_may_give_the_hits_of_those_that_are_absent_and_no_others() -> None:
    ann = Aggregator()
    ann.ask(msgspec.structs.replace(SEARCH, absent=("cyd",)), ("bob",))
    of_cyd, own = url_of("cyd", witness="bob"), url_of("bob")
    ann.answer("bob", (of_cyd, 0.2), (own, 0.1), (url_of("cyd", witness="ann"), 0.1))
    assert ann.told() == {"bob": [(of_cyd, 0.2)]}


def test_hits_under_another_table_cannot_be_judged_and_are_not_told() -> None:
    ann = Aggregator()
    ann.ask(SEARCH, ("bob",))
    ann.answer("bob", (url_of("cyd"), 0.2), epoch=b"another")
    assert ann.told() == {"bob": []}
    assert not any(isinstance(message, Misbehaved) for _, message in ann.sent)


def test_what_cannot_be_asked_for_is_left_to_the_gateway() -> None:
    ann = Aggregator()
    for question in (SEARCH, msgspec.structs.replace(SEARCH, query=b"none"), CountTerms(9, ("web",))):
        members = ("nobody",) if question.request and question != SEARCH else ()
        ann.ask(question, members)
        assert ann.sent == [Send(GATEWAY, GroupAnswered(9, ()))]
    early = Searcher("ann").receive(GATEWAY, AskGroup(SEARCH, PEERS), 0.0)
    assert early == [Send(GATEWAY, GroupAnswered(9, ()))]


def test_what_others_have_asked_does_not_take_the_place_of_our_own_searches() -> None:
    ann = Aggregator()
    for _ in range(AGGREGATIONS_MAX):
        ann.ask(SEARCH, ("bob",))
        assert len(ann.asked) == 1
    ann.ask(SEARCH, ("bob",))
    assert ann.sent == [Send(GATEWAY, GroupAnswered(9, ()))]
    own = ann.searcher.receive(Address("ann", "http"), SearchPages(1, "web", 10), 0.0)
    assert [type(message) for _, message in own] == [CountTerms]
