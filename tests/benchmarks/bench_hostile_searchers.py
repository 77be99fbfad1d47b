"""How long honest searches, and the event loop, wait while others ask the most expensive things.

    TIANMESH_BENCH_WEB=... pytest tests/benchmarks/bench_hostile_searchers.py --benchmark-enable -s

One index, its port "questions" and an event loop, as in a peer. Each hostile searcher asks for any of the
commonest words, a hundred of them, again as soon as it has an answer; honest ones ask for words of titles at
a constant rate. What the loop waits stands for gossip and /healthz: a task that wants to run every
5 ms. BENCH_DOCUMENTS and BENCH_INDEX (a folder to keep the index in) may be set.
"""

from __future__ import annotations

import os
import random
from collections.abc import Sequence
from math import inf
from pathlib import Path
from typing import Final
from zlib import crc32

import msgspec
import numpy as np
import pytest
import trio

from mesh.actors.actor import Address, Message
from mesh.slot_set import encode_slots
from mesh.urls import host_of
from peers.engine.files.directory import DirectoryStorage
from peers.engine.index import Index
from peers.engine.queries.query import Mode, Query
from peers.engine.queries.query_parser import read_query
from peers.index.index_reader import IndexReader
from peers.index.messages import AnswerQuestion, QuestionAnswered
from peers.index.questions_port import QuestionsPort
from peers.index.wire_messages import HitsFound, SearchSlots
from tests.benchmarks.real_documents import each_real_document

DOCUMENTS: Final = int(os.environ.get("BENCH_DOCUMENTS", "50000"))
BATCH: Final = 2_000
SLOTS: Final = 50_000
HOSTILE: Final = 8
HONEST_PER_S: Final = 50.0
SECONDS: Final = 20.0
TICK_S: Final = 0.005
COMMONEST: Final = (
    "the of and to in a is for this that with from be as by on or are it an at not can if you which will all "
    "use used have has may one more other when value function return type name file data set list string "
    "class object method module error default version example index note using new only int command number "
    "system line code option time page next table section also see no then any each its was but so do make"
)


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Index:
    folder = Path(os.environ.get("BENCH_INDEX") or tmp_path_factory.mktemp("index"))
    index = Index.open(DirectoryStorage(folder))
    if index.snapshot().document_count < DOCUMENTS:
        documents = ((crc32(host_of(d.url).encode()) % SLOTS, d) for d in each_real_document(DOCUMENTS))
        while batch := [item for item, _ in zip(documents, range(BATCH), strict=False)]:
            index.add(batch)
            index.commit()
            index.merge_if_needed()
    return index


class Asker:
    """Puts questions to a port, and waits for the answers."""

    def __init__(self, index: Index) -> None:
        self._view = index.snapshot().everything()
        self.port = QuestionsPort("me", IndexReader(index), SLOTS)
        self._slots = encode_slots(np.ones(SLOTS, np.bool_))
        self._answers: dict[int, trio.MemorySendChannel[HitsFound]] = {}
        self._next = 1

    async def ask(self, query: Query, gateway: str) -> HitsFound:
        statistics = self._view.statistics(query.terms)
        doc_freqs = tuple(statistics.doc_freqs.get(term, 0) for term in query.terms)
        lengths = statistics.field_lengths
        number, self._next = self._next, self._next + 1
        encoded = msgspec.msgpack.encode(query)
        question = SearchSlots(
            number, encoded, statistics.document_count, lengths, query.terms, doc_freqs, 31
        )
        send, receive = trio.open_memory_channel[HitsFound](1)
        self._answers[number] = send
        order = AnswerQuestion(Address(gateway, "searcher"), question, self._slots, 0, b"epoch")
        self.port.receive(Address("me", "indexer"), order)
        return await receive.receive()

    def deliver(self, source: Address, actor: str, message: Message) -> None:
        assert isinstance(message, QuestionAnswered)
        assert isinstance(message.answer, HitsFound)
        self._answers.pop(message.answer.request).send_nowait(message.answer)


class Run:
    """What came of one run, in seconds."""

    def __init__(self) -> None:
        self.honest_s: list[float] = []
        self.tick_s: list[float] = []
        self.hostile = self.cut = self.honest_cut = 0


async def run_of(index: Index, hostile: int, seconds: float = SECONDS) -> Run:
    asker, run = Asker(index), Run()
    attack = read_query(COMMONEST).query.with_mode(Mode.OR)
    honest = [read_query(title).query for title in _titles()]

    async def attack_again(number: int) -> None:
        while True:
            found = await asker.ask(attack, f"hostile-{number}")
            run.hostile += 1
            run.cut += found.is_cut

    async def ask_honestly(query: Query) -> None:
        began_s = trio.current_time()
        found = await asker.ask(query, "honest")
        run.honest_s.append(trio.current_time() - began_s)
        run.honest_cut += found.is_cut

    async def tick() -> None:
        while True:
            due_s = trio.current_time() + TICK_S
            await trio.sleep_until(due_s)
            run.tick_s.append(trio.current_time() - due_s)

    async with trio.open_nursery() as nursery:
        nursery.start_soon(asker.port.run, asker.deliver)
        await trio.sleep(0.1)
        await asker.ask(honest[0], "honest")  # views are made
        nursery.start_soon(tick)
        for number in range(hostile):
            nursery.start_soon(attack_again, number)
        for number in range(int(seconds * HONEST_PER_S)):
            nursery.start_soon(ask_honestly, honest[number % len(honest)])
            await trio.sleep(1 / HONEST_PER_S)
        with trio.move_on_after(2.0):
            await trio.sleep(inf if not run.honest_s else 1.0)
        nursery.cancel_scope.cancel()
    return run


def _titles() -> list[str]:
    titles = [document.title for document in each_real_document(2_000) if document.title]
    random.Random(3).shuffle(titles)
    return [" ".join(title.split()[:4]) for title in titles[:500]]


def _shown(values: Sequence[float]) -> str:
    p50, p99 = np.percentile(values, (50, 99)) * 1_000
    return f"p50 {p50:6.1f}  p99 {p99:6.1f}  max {max(values) * 1_000:6.1f} ms"


@pytest.mark.benchmark
@pytest.mark.parametrize("hostile", [0, HOSTILE])
async def test_honest_searches_beside_hostile_ones(index: Index, hostile: int) -> None:
    run = await run_of(index, hostile)
    print(f"\n{index.snapshot().document_count:,} documents, {hostile} hostile searchers")
    print(f"  honest, {HONEST_PER_S:g} a second  {_shown(run.honest_s)}, {run.honest_cut} cut")
    print(f"  the event loop         {_shown(run.tick_s)}")
    print(f"  hostile searches       {run.hostile}, {run.cut} cut")
    assert len(run.honest_s) >= 0.99 * SECONDS * HONEST_PER_S
    assert np.percentile(run.honest_s, 99) < 0.15
    assert np.percentile(run.tick_s, 99) < 0.05
