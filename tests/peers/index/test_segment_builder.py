"""Segments that are built in a process: the same ones, whatever becomes of it."""

from __future__ import annotations

import sys
from collections.abc import Sequence

import pytest
import trio

from mesh.process.workshop import Workshop
from peers.engine.files.storage import MemoryStorage
from peers.engine.index import Index
from peers.engine.segments.builder import IndexedDocument, build_encoded, prepared
from peers.index import segment_process
from peers.index.messages import CommitDocuments, DocumentsCommitted
from peers.index.segment_builder import SegmentBuilder
from peers.index.segments_port import SegmentsPort
from tests.patience import PATIENCE_S
from tests.peers.engine.samples import random_documents
from tests.peers.index.test_segments_port import INDEXER, Served

PLACED = random_documents(7, 40)
DOCUMENTS = [prepared(slot, document) for slot, document in PLACED]

# Programs that take the place of the process, and what the log says of them.
PROGRAM = """
import os, time
from mesh.process.workshop_process import serve
from peers.index.segment_process import LIMITS, carry_out, order_of
from peers.engine.segments.builder import prepared
from tests.peers.engine.samples import random_documents
others = [prepared(slot, document) for slot, document in random_documents(8, 40)]
elsewhere = [prepared(slot ^ 1, document) for slot, document in random_documents(7, 40)]
def work(order):
    {work}
serve(work, LIMITS)
"""
FAILING = {
    "ends": ("os._exit(3)", "its process ended"),
    "runs out of memory": ("raise MemoryError", "its process ended"),
    "talks nonsense": ("return b'nonsense' * 100", "talks nonsense"),
    "says nothing": ("return b''", "talks nonsense"),
    "builds of others": ("return carry_out(order_of(others))", "talks nonsense"),
    "builds with other slots": ("return carry_out(order_of(elsewhere))", "talks nonsense"),
    "cuts it short": ("return carry_out(order)[:-8]", "talks nonsense"),
    "damages it": ("made = carry_out(order); return made[:-1] + bytes([made[-1] ^ 1])", "talks nonsense"),
}


def program(work: str) -> tuple[str, ...]:
    return sys.executable, "-c", PROGRAM.format(work=work)


async def built(workshop: Workshop, documents: Sequence[IndexedDocument], small_bytes: int = 0) -> bytes:
    """Have a segment built, as a thread of the port does."""

    def build() -> bytes:
        return b"".join(SegmentBuilder(workshop, small_bytes)(documents))

    made = b""
    with trio.fail_after(PATIENCE_S):
        async with trio.open_nursery() as nursery:
            nursery.start_soon(workshop.run)
            made = await trio.to_thread.run_sync(build)
            nursery.cancel_scope.cancel()
    return made


async def test_a_process_builds_the_same_segment_as_the_peer() -> None:
    workshop = Workshop(segment_process.COMMAND)
    assert await built(workshop, DOCUMENTS) == b"".join(build_encoded(DOCUMENTS))
    assert (workshop.observe().begun, workshop.observe().orders, workshop.observe().faults) == (1, 1, {})


async def test_few_documents_are_no_work_for_a_process() -> None:
    workshop = Workshop(segment_process.COMMAND)
    n_bytes = sum(len(item.encoded) for item in DOCUMENTS)
    assert await built(workshop, DOCUMENTS, n_bytes + 1) == b"".join(build_encoded(DOCUMENTS))
    assert workshop.observe().begun == 0


@pytest.mark.parametrize("how", FAILING)
async def test_the_peer_builds_a_segment_itself_when_its_process(
    how: str, caplog: pytest.LogCaptureFixture
) -> None:
    work, said = FAILING[how]
    assert await built(Workshop(program(work)), DOCUMENTS) == b"".join(build_encoded(DOCUMENTS))
    assert said in caplog.text


async def test_a_commit_has_its_segment_built_in_a_process() -> None:
    workshop = Workshop(segment_process.COMMAND)
    index = Index(MemoryStorage(), SegmentBuilder(workshop, 0))
    served = Served(SegmentsPort("me", index, 1 << 16, workshop))
    with trio.fail_after(PATIENCE_S):
        async with trio.open_nursery() as nursery:
            nursery.start_soon(served.port.run, served.deliver)
            served.port.receive(INDEXER, CommitDocuments(1, tuple(PLACED), ()))
            await served.wait_until(bool)
            nursery.cancel_scope.cancel()
    assert served.delivered == [("indexer", DocumentsCommitted(1, 1))]
    assert workshop.observe().orders == 1
    here = Index(MemoryStorage())
    here.add(PLACED)
    here.commit()
    assert sorted(index.snapshot().everything().urls()) == sorted(here.snapshot().everything().urls())


async def test_a_peer_that_ends_does_not_wait_for_a_segment() -> None:
    workshop = Workshop(program("time.sleep(1e6)"))
    index = Index(MemoryStorage(), SegmentBuilder(workshop, 0))
    served = Served(SegmentsPort("me", index, 1 << 16, workshop))
    with trio.fail_after(PATIENCE_S):
        async with trio.open_nursery() as nursery:
            nursery.start_soon(served.port.run, served.deliver)
            served.port.receive(INDEXER, CommitDocuments(1, tuple(PLACED), ()))
            while not workshop.observe().begun:
                await trio.sleep(0.01)
            nursery.cancel_scope.cancel()
    assert index.generation == 0
    assert workshop.observe().processes == 0
