"""A peer's answers to a search as functions of its documents: CPU and latency of counts, hits and excerpts.

    TIANMESH_BENCH_WEB=FOLDER BENCH_ANSWER_DOCUMENTS=5000,400000 pytest tests/benchmarks/bench_answers.py -s

The documents are those of `real_documents`, as many times as it takes, each with lines of several of them: no
two are alike, and a word is in the same share of the documents whatever their number. One index grows from
size to size as a peer's does; at each, the judged queries are asked of the whole of it, one after the other,
in this process: without network, HTTP and other peers, which do not grow with the documents.

Measured (2 shared vCPU AMD EPYC, load 5 to 19, one run, 2026-11-29), ms of CPU a query, means but for p50 and
p99; `simulations.model.costs.ANSWERS` has them:

    documents  segments  counts and hits  excerpts of ten  p50   p99
    5,000      4         1.15             2.74             3.51  12.05
    25,000     4         1.61             4.85             6.04  19.43
    100,000    5         1.81             4.59             6.07  15.65
    400,000    9         3.23             4.34             7.26  15.79
"""

from __future__ import annotations

import os
import random
import time
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Final, NamedTuple

import msgspec
import numpy as np
import pytest

from mesh.actors.actor import Address
from mesh.slot_set import encode_slots
from peers.engine.index import Index
from peers.engine.pages.document import Document
from peers.engine.queries.query_parser import parse_query
from peers.engine.rescoring.model import MODEL_DEPTH
from peers.index.answerer import Answerer
from peers.index.index_reader import IndexReader
from peers.index.messages import AnswerQuestion, QuestionAnswered
from peers.index.wire_messages import (
    CountTerms,
    ExcerptsRead,
    HitsFound,
    ReadExcerpts,
    SearchSlots,
    TermsCounted,
)
from tests.benchmarks.bench_search import judged_queries
from tests.benchmarks.real_documents import real_documents

SIZES: Final = [int(size) for size in os.environ.get("BENCH_ANSWER_DOCUMENTS", "25000,100000").split(",")]
BATCH: Final = 500
QUERIES: Final = 1_000
SHOWN: Final = 10
SLOT_COUNT: Final = 50_000
EVERY_SLOT: Final = encode_slots(np.ones(SLOT_COUNT, np.bool_))
PARTS: Final = ("counts", "hits", "excerpts")


class Took(NamedTuple):
    """Seconds of the parts of one query: of processor, and on the wall."""

    cpu_s: tuple[float, ...]
    wall_s: tuple[float, ...]


def mixed_documents(count: int) -> Iterator[tuple[int, Document]]:
    """Yield documents with the title of one real page, and lines of it and of two others."""
    real = real_documents(count)
    chance = random.Random(20_041)
    for number in range(count):
        first = real[number % len(real)]
        lines = [line for each in (first, *chance.sample(real, 2)) for line in each.text.splitlines()]
        wanted = first.text.count("\n") + 1
        text = "\n".join(chance.sample(lines, min(wanted, len(lines))))
        url = first.url.replace("://", f"://n{number}.", 1)
        document = msgspec.structs.replace(first, url=url, text=text, headings="")
        yield number * 7_919 % SLOT_COUNT, document


def grow(index: Index, documents: Iterator[tuple[int, Document]]) -> None:
    """Take documents in as a peer does, with merges in between."""
    while batch := list(islice(documents, BATCH)):
        index.add(batch)
        if index.plan_merge() is not None:
            index.commit()
            index.merge_if_needed()
    index.commit()
    index.merge_if_needed()


def ask(answerer: Answerer, text: str) -> Took:
    """Ask all that a gateway asks for a page of results, of one peer that has everything."""
    query = parse_query(text)
    encoded = msgspec.msgpack.encode(query)
    cpu_s, wall_s = [time.thread_time()], [time.perf_counter()]

    def answer_to(question: CountTerms | SearchSlots | ReadExcerpts) -> object:
        order = AnswerQuestion(Address("ann", "searcher"), question, EVERY_SLOT, 0, b"")
        message = answerer.answer(order).message
        assert isinstance(message, QuestionAnswered)
        cpu_s.append(time.thread_time())
        wall_s.append(time.perf_counter())
        return message.answer

    counted = answer_to(CountTerms(1, query.terms))
    assert isinstance(counted, TermsCounted)
    known = counted.document_count, counted.field_lengths, query.terms, counted.doc_freqs
    found = answer_to(SearchSlots(2, encoded, *known, MODEL_DEPTH + 1))
    assert isinstance(found, HitsFound)
    shown = answer_to(ReadExcerpts(3, encoded, tuple(hit.url for hit in found.hits[:SHOWN])))
    assert isinstance(shown, ExcerptsRead)
    assert len(shown.excerpts) == min(SHOWN, len(found.hits))
    return Took(tuple(np.diff(cpu_s)), tuple(np.diff(wall_s)))


@pytest.mark.timeout(0)
def test_answers_of_a_peer_by_its_documents(tmp_path: Path) -> None:
    queries = [text for text in judged_queries() if parse_query(text).terms][: QUERIES + 100]
    documents = mixed_documents(SIZES[-1])
    size_before = 0
    with Index.open(tmp_path / "index") as index:
        for size in SIZES:
            grow(index, islice(documents, size - size_before))
            size_before = size
            answerer = Answerer(IndexReader(index), SLOT_COUNT)
            took = [ask(answerer, text) for text in queries][100:]
            cpu_ms = 1e3 * np.array([each.cpu_s for each in took])
            wall_ms = 1e3 * np.array([each.wall_s for each in took]).sum(axis=1)
            parts = ", ".join(
                f"{name} {each:.2f}" for name, each in zip(PARTS, cpu_ms.mean(axis=0), strict=True)
            )
            p50, p99 = np.percentile(cpu_ms.sum(axis=1), (50, 99))
            wall_p50, wall_p99 = np.percentile(wall_ms, (50, 99))
            print(
                f"\n{size:,} documents in {len(index.snapshot().segments)} segments: CPU mean "
                f"{cpu_ms.sum(axis=1).mean():.2f} ({parts}), p50 {p50:.2f}, p99 {p99:.2f} ms; "
                f"wall p50 {wall_p50:.2f}, p99 {wall_p99:.2f} ms",
                flush=True,
            )
