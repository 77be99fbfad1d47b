"""The port "questions" over a real index, and over one that takes its time."""

from __future__ import annotations

import random
from collections.abc import Iterator
from math import inf
from threading import Event
from typing import cast

import msgspec
import numpy as np
import pytest
import trio
import trio.testing

from mesh.actors.actor import Address, Message
from mesh.errors import LocalProtocolError
from mesh.keys.decree import CLASSES, Decree
from mesh.membership.model.messages import DecreesInForce
from mesh.slot_set import SlotMask, encode_slots
from peers.engine.files.storage import MemoryStorage
from peers.engine.index import Index
from peers.engine.matching.page_classes import classing_cost
from peers.engine.pages.class_model import ClassRow, TermWeights, model_bytes, model_in
from peers.engine.pages.document import Document
from peers.engine.pages.past import TimeSpan
from peers.engine.queries.query import Mode, Query
from peers.engine.queries.query_parser import parse_query, read_query
from peers.engine.searching.effort import Effort
from peers.engine.searching.ranking import CollectionStatistics
from peers.index.answerer import Answerer
from peers.index.counting_index import CountingIndex
from peers.index.index_reader import IndexReader
from peers.index.messages import AnswerQuestion, GiveUpSegment, QuestionAnswered
from peers.index.questions_port import QuestionsPort
from peers.index.wire_messages import CountTerms, Hit, HitsFound, ReadExcerpts, SearchSlots, TermsCounted
from tests.patience import PATIENCE_S
from tests.peers.engine.plain_terms import plain_terms

SLOTS = 16
ALL_SLOTS = encode_slots(np.ones(SLOTS, np.bool_))
ME, GATEWAY = "me", Address("other", "searcher")
WORDS = [f"w{n}" for n in range(40)]


@pytest.fixture(scope="module", autouse=True)
def _plain_terms() -> Iterator[None]:
    with plain_terms():
        yield


@pytest.fixture(scope="module")
def index() -> Index:
    index = Index(MemoryStorage())
    chance = random.Random(7)
    index.add(
        [
            (n % SLOTS, Document(f"http://a.test/{n}", text=" ".join(chance.choices(WORDS, k=20))))
            for n in range(2_000)
        ]
    )
    index.commit()
    return index


def asked(question: CountTerms | SearchSlots | ReadExcerpts) -> AnswerQuestion:
    return AnswerQuestion(GATEWAY, question, ALL_SLOTS, 0, b"epoch")


def search_for(text: str, mode: Mode = Mode.OR) -> AnswerQuestion:
    query = parse_query(text, mode)
    terms, n = query.terms, len(query.terms)
    return asked(SearchSlots(1, msgspec.msgpack.encode(query), 2_000, (40_000,) * 5, terms, (500,) * n, 10))


class Told:
    """Where the port delivers to."""

    def __init__(self) -> None:
        self._send, self._receive = trio.open_memory_channel[Message](inf)

    def deliver(self, source: Address, actor: str, message: Message) -> None:
        assert (source, actor) == (Address(ME, "questions"), "indexer")
        self._send.send_nowait(message)

    async def next(self) -> Message:
        with trio.fail_after(PATIENCE_S):
            return await self._receive.receive()


async def started(port: QuestionsPort, nursery: trio.Nursery) -> Told:
    told = Told()
    nursery.start_soon(port.run, told.deliver)
    await trio.testing.wait_all_tasks_blocked()
    return told


def give(port: QuestionsPort, order: AnswerQuestion) -> None:
    port.receive(Address(ME, "indexer"), order)


async def test_what_a_thread_answers_is_what_the_loop_and_a_simulation_answer(
    index: Index, nursery: trio.Nursery
) -> None:
    orders = [
        search_for(" ".join(WORDS)),
        search_for("w1 w2", Mode.AND),
        search_for('"w1 w2"', Mode.AND),
        asked(CountTerms(1, ("w1", "w2"))),
        asked(ReadExcerpts(1, msgspec.msgpack.encode(parse_query("w1")), ("http://a.test/5",))),
    ]
    on_loop = QuestionsPort(ME, IndexReader(index), SLOTS, at_once_visits_max=1 << 40, deadline_s=PATIENCE_S)
    in_thread = QuestionsPort(ME, IndexReader(index), SLOTS, at_once_visits_max=0, deadline_s=PATIENCE_S)
    told_on_loop, told_in_thread = await started(on_loop, nursery), await started(in_thread, nursery)
    simulated = Answerer(IndexReader(index), SLOTS)
    for order in orders:
        give(on_loop, order)
        give(in_thread, order)
        expected = simulated.answer(order).message
        assert await told_on_loop.next() == expected
        assert await told_in_thread.next() == expected
    assert on_loop.n_at_once > 0
    assert in_thread.n_in_threads >= 3  # counting all of a segment, and what is remembered, costs nothing


class SlowIndex(CountingIndex):
    """Any search with more than a little effort goes on until it is stopped, or may end."""

    def __init__(self) -> None:
        super().__init__()
        self.has_begun, self.may_end = Event(), Event()

    def over(self, slots: SlotMask, span: TimeSpan | None = None) -> SlowIndex:
        return self

    def search(
        self,
        query: Query,
        statistics: CollectionStatistics,
        k: int,
        after: tuple[float, str] | None = None,
        floor: float = -inf,
        effort: Effort | None = None,
    ) -> tuple[int, bool, list[Hit]]:
        assert effort is not None
        first = [Hit("http://a.test/", 1.0)]
        if effort.cells[0] <= 100:
            effort.cells[0] = 0
            return 1, False, first
        self.has_begun.set()
        while not effort.is_spent and not self.may_end.wait(0.001):
            pass
        return 2, not effort.is_spent, [Hit("http://b.test/", 2.0), *first]


async def test_the_event_loop_goes_on_while_a_search_takes_its_time(nursery: trio.Nursery) -> None:
    index = SlowIndex()
    port = QuestionsPort(ME, index, SLOTS, at_once_visits_max=100, deadline_s=PATIENCE_S)
    told = await started(port, nursery)
    give(port, search_for("w1"))
    assert await trio.to_thread.run_sync(index.has_begun.wait, PATIENCE_S)
    give(port, asked(CountTerms(3, ("w1",))))  # answered at once beside it
    counted = await told.next()
    assert cast(QuestionAnswered, counted).answer is not None
    index.may_end.set()
    found = cast(QuestionAnswered, await told.next()).answer
    assert isinstance(found, HitsFound)
    assert (found.total, found.is_cut) == (2, False)


async def test_a_cheap_question_does_not_wait_for_costly_ones(nursery: trio.Nursery) -> None:
    index = SlowIndex()
    port = QuestionsPort(ME, index, SLOTS, at_once_visits_max=100, deadline_s=PATIENCE_S)
    told = await started(port, nursery)
    for _ in range(4):
        give(port, search_for("w1"))
    assert await trio.to_thread.run_sync(index.has_begun.wait, PATIENCE_S)
    port._loop_time.spend(60.0)  # the loop has none left
    give(port, asked(CountTerms(3, ("w1",))))
    counted = cast(QuestionAnswered, await told.next()).answer
    assert isinstance(counted, TermsCounted)
    assert port.n_in_threads == 1
    index.may_end.set()


async def test_at_the_deadline_the_best_so_far_is_told_and_that_it_is_that(nursery: trio.Nursery) -> None:
    index = SlowIndex()
    port = QuestionsPort(ME, index, SLOTS, at_once_visits_max=100, deadline_s=1.0)
    told = await started(port, nursery)
    for _ in range(8):  # the later ones never get a thread
        give(port, search_for("w1"))
    answers = [cast(QuestionAnswered, await told.next()).answer for _ in range(8)]
    assert all(isinstance(answer, HitsFound) and answer.is_cut for answer in answers)
    assert {len(cast(HitsFound, answer).hits) for answer in answers} == {1, 2}
    assert port.n_cut == 8


async def test_a_port_that_is_stopped_stops_its_threads() -> None:
    index = SlowIndex()
    with trio.fail_after(PATIENCE_S):
        async with trio.open_nursery() as nursery:
            port = QuestionsPort(ME, index, SLOTS, at_once_visits_max=100)
            await started(port, nursery)
            give(port, search_for("w1"))
            await trio.to_thread.run_sync(index.has_begun.wait, PATIENCE_S)
            nursery.cancel_scope.cancel()


async def test_the_loop_spends_a_share_of_its_time_on_searches_and_no_more(
    index: Index, nursery: trio.Nursery
) -> None:
    port = QuestionsPort(ME, IndexReader(index), SLOTS)
    told = await started(port, nursery)
    for _ in range(400):
        give(port, search_for(" ".join(WORDS[:6])))
        await told.next()
    assert port.n_at_once
    assert port.n_in_threads


def test_other_messages_are_refused() -> None:
    port = QuestionsPort(ME, CountingIndex(), SLOTS)
    with pytest.raises(LocalProtocolError):
        port.receive(Address(ME, "indexer"), GiveUpSegment("segment-1"))


async def test_a_snapshot_in_a_thread_is_untouched_by_commits_and_merges() -> None:
    """What is searched in one thread is what was committed when it began, whatever another one does."""
    index = Index(MemoryStorage())
    index.add([(n % SLOTS, Document(f"http://a.test/{n}", text="old common")) for n in range(500)])
    index.commit()
    view = index.snapshot().everything()
    statistics = view.statistics(("common",))
    query = parse_query("common", Mode.OR)
    expected = view.search(query, statistics, 1_000)
    is_over = Event()

    found: list[bool] = []

    def search_again_and_again() -> None:
        while not is_over.is_set() or len(found) <= 5:
            found.append(view.search(query, statistics, 1_000) == expected)

    def change() -> None:
        for n in range(30):
            index.add([(0, Document(f"http://a.test/{n}", text="new words"))])
            index.delete([f"http://a.test/{n + 100}"])
            index.commit()
            index.merge_if_needed()
        is_over.set()

    async with trio.open_nursery() as both:
        both.start_soon(trio.to_thread.run_sync, search_again_and_again)
        await trio.to_thread.run_sync(change)
    assert all(found)
    assert len(index.snapshot().everything().search(query, statistics, 1_000)[2]) == 440


def classes_by_words() -> bytes:
    """Two classes, each of the pages that have more of its word."""
    rows = (ClassRow("one", -1, threshold=0.1), ClassRow("two", -1, threshold=0.1))
    places = np.arange(2)
    weights = TermWeights(("w1", "w2"), np.full(2, 16), np.arange(3), places, np.full(2, 9))
    return model_bytes(rows, weights)


async def test_classes_are_found_in_a_thread_before_anybody_asks(index: Index, nursery: trio.Nursery) -> None:
    reader = IndexReader(index)
    port = QuestionsPort(ME, reader, SLOTS, at_once_visits_max=1 << 40, deadline_s=PATIENCE_S)
    told = await started(port, nursery)
    decrees = DecreesInForce(CLASSES, (Decree(CLASSES, "", 1, 0.0, inf, classes_by_words(), b"", b""),))
    port.receive(Address(ME, "membership"), decrees)
    model = model_in(classes_by_words())
    [live] = index.snapshot().segments
    with trio.fail_after(PATIENCE_S):
        while classing_cost(live.segment, model):
            await trio.sleep(0.01)
    query = read_query("w3", classes=model.names).query
    question = SearchSlots(1, msgspec.msgpack.encode(query), 2_000, (40_000,) * 5, ("w3",), (500,), 10)
    give(port, asked(msgspec.structs.replace(question, wants_facets=True)))
    answered = await told.next()
    assert isinstance(answered, QuestionAnswered)
    assert isinstance(answered.answer, HitsFound)
    assert answered.answer.facets is not None
    counts = dict(answered.answer.facets.classes)
    texts = [live.segment.stored(number).text.split() for number in range(2_000)]
    with_three = [text for text in texts if "w3" in text]
    # Of pages that have both as often, the first class takes those: ties go up.
    ones = sum(text.count("w1") >= text.count("w2") and "w1" in text for text in with_three)
    twos = sum(text.count("w2") > text.count("w1") for text in with_three)
    assert counts == {"one": ones, "two": twos}
    port.receive(Address(ME, "membership"), DecreesInForce(CLASSES, ()))
    give(port, asked(msgspec.structs.replace(question, wants_facets=True)))
    answered = await told.next()
    assert isinstance(answered, QuestionAnswered)
    assert isinstance(answered.answer, HitsFound)
    assert answered.answer.facets is not None
    assert answered.answer.facets.classes == ()
