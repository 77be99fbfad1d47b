"""A searcher whose mesh answers whatever fits the types: other peers are asked, and none is honest."""

from __future__ import annotations

from collections import deque
from random import Random
from typing import Final

from msgspec.structs import replace

from mesh.actors.actor import EVERYBODY, Address, Message, Send
from mesh.actors.ownership import Ownership, OwnershipChanged
from mesh.keys.decree import POLICY, TOPICS, WATCH, Decree
from mesh.membership.model.members import State
from mesh.membership.model.messages import DecreesInForce
from mesh.membership.model.wire_messages import MemberRecord, MembersTold, MembersWanted, Rumour
from mesh.slots import SlotTable
from peers.entities.wire_messages import KeepSealed, ReadSealed, SealedKept, SealedTold
from peers.gateway.http_port import Http
from peers.gateway.searcher import Searcher
from peers.link_graph.wire_messages import (
    BacklinksListed,
    ListBacklinks,
    ListNeighbours,
    ListRanks,
    NeighboursListed,
    RanksListed,
)
from peers.policy.rules import Policy, policy_bytes
from peers.query_log.wire_messages import ClicksTold, ClicksWanted, LogTold, LogWanted
from peers.submissions.wire_messages import (
    ClaimDomain,
    JudgeSubmission,
    ReadSubmissions,
    ReportPage,
    SubmissionAnswered,
    SubmissionsTold,
    SubmitSite,
)
from peers.topics.topic_list import list_body as topics_body
from peers.topics.wire_messages import CountsTold, CountsWanted
from peers.watch.list_file import entries_of
from peers.watch.watch_list import list_body
from peers.watch.wire_messages import NoticesTold, NoticesWanted
from tests.fuzzing.wire_frames import COUNTED, ITEMS_MAX, URLS, value_of

PEERS: Final = ("ann", "bob", "cyd")
ANSWERS: Final[dict[type[Message], type[Message]]] = {
    NoticesWanted: NoticesTold,
    CountsWanted: CountsTold,
    ListBacklinks: BacklinksListed,
    ListRanks: RanksListed,
    ListNeighbours: NeighboursListed,
    LogWanted: LogTold,
    ClicksWanted: ClicksTold,
    ClaimDomain: SubmissionAnswered,
    SubmitSite: SubmissionAnswered,
    JudgeSubmission: SubmissionAnswered,
    ReportPage: SubmissionAnswered,
    ReadSubmissions: SubmissionsTold,
    KeepSealed: SealedKept,
    ReadSealed: SealedTold,
}
LATE_S: Final = 100.0  # by then each order is answered, or refused


class HostileMesh:
    """Answers the orders of a gateway: by a real searcher, that hears answers drawn for its questions."""

    def __init__(self, http: Http, random: Random, policy: Policy) -> None:
        """Have gateway and searcher know a policy, a watch list and topics."""
        self._http, self._random, self._now = http, random, 0.0
        self._searcher = Searcher("ann")
        membership, table = Address("ann", "membership"), SlotTable(dict.fromkeys(PEERS, 100), 64, 2)
        watch = list_body(entries_of(["page", "标题 文本"]), 1.0)
        bodies = {POLICY: policy_bytes(policy), WATCH: watch, TOPICS: topics_body(COUNTED)}
        for kind, body in bodies.items():
            decree = Decree(kind, "", 1, 0.0, float("inf"), body, b"", b"")
            http.receive(membership, DecreesInForce(kind, (decree,)))
            if kind == POLICY:
                self._searcher.receive(membership, DecreesInForce(kind, (decree,)), self._now)
        self._searcher.receive(membership, OwnershipChanged(Ownership("ann", table, PEERS)), self._now)

    def deliver(self, source: Address, order: Message) -> None:
        """Answer an order within the call."""
        self._go_on(self._searcher.receive(source, order, self._now))
        self._now += LATE_S
        while self._searcher.wake_at() <= self._now:
            self._go_on(self._searcher.wake(self._now))

    def _go_on(self, sends: list[Send]) -> None:
        waiting = deque(sends)
        while waiting:
            target, message = waiting.popleft()
            if target == Address("ann", "http"):
                self._http.receive(Address("ann", "searcher"), message)
                continue
            for peer in PEERS if target.peer == EVERYBODY else (target.peer,):
                answer = self._answer(message)
                if answer is not None:
                    waiting += self._searcher.receive(Address(peer, target.actor), answer, self._now)

    def _answer(self, question: Message) -> Message | None:
        if isinstance(question, MembersWanted):
            records = (MemberRecord(peer, "", "", "", "http://a:1", b"", b"", b"", 1, 100) for peer in PEERS)
            return MembersTold(tuple(Rumour(record, State.ALIVE) for record in records))
        kind = ANSWERS.get(type(question))
        if kind is None or self._random.random() < 0.1:
            return None
        told: Message = value_of(self._random, PEERS, kind)
        if self._random.random() < 0.7 and isinstance(told, BacklinksListed | NoticesTold):
            told = self._with_pages(told)
        if isinstance(question, CountsWanted) and isinstance(told, CountsTold):
            is_last = self._random.random() < 0.8
            told = replace(told, epoch=question.epoch, next=b"" if is_last else told.next)
            if is_last:
                told = replace(
                    told, slices=tuple(replace(each, slice=question.first) for each in told.slices)
                )
        if self._random.random() < 0.9 and isinstance(question, ListBacklinks):
            told = replace(told, url=question.url)
        return replace(told, request=getattr(question, "request", 0))

    def _with_pages(self, told: BacklinksListed | NoticesTold) -> Message:
        """Have an answer speak of pages: it is not believed for other reasons."""
        pages = self._random.choices(URLS, k=ITEMS_MAX)
        if isinstance(told, BacklinksListed):
            links = zip(told.links, pages, strict=False)
            return replace(told, links=tuple(replace(link, url=page) for link, page in links))
        notices = zip(told.notices, pages, strict=False)
        return replace(told, notices=tuple(replace(notice, url=page) for notice, page in notices))
