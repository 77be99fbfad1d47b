"""The port "segments": commits and merges in threads, one writer at a time. [io]

A merge is computed while commits go on; only its plan and its end take the writer's turn. Stopping the
peer abandons a merge that is being computed: it has touched nothing.
"""

from __future__ import annotations

import errno
import logging
import time
from typing import ClassVar, Final

import trio

from mesh.actor import Address, Message
from mesh.errors import LocalProtocolError, StorageError
from mesh.port import Deliver
from peers.index.index import Index, Merge
from peers.index.merging import MergedSegment
from peers.index.messages import CommitDocuments, DocumentsCommitted
from peers.index.segments_twin import commit_documents
from peers.storage.messages import DiskFilled

RETRY_S: Final = 5.0  # until a full disk is tried again
_NO_SPACE: Final = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)

logger = logging.getLogger(__name__)


class SegmentsPort:
    """Serves one index; the only one to write to it."""

    name: ClassVar[str] = "segments"

    def __init__(self, me: str, index: Index, *, retry_s: float = RETRY_S) -> None:
        self.n_documents = 0  # committed
        self.cpu_s = 0.0  # of the threads that committed them
        self.merge_cpu_s = 0.0
        self.n_merges = 0
        self._address = Address(me, self.name)
        self._index = index
        self._retry_s = retry_s
        # The indexer has one order outstanding; it is in the table until it is told of its commit.
        self._orders, self._inbox = trio.open_memory_channel[CommitDocuments](float("inf"))
        self._writing = trio.Lock()
        self._is_merging = False
        self._is_full = False

    def receive(self, source: Address, message: Message) -> None:
        match message:
            case CommitDocuments():
                self._orders.send_nowait(message)
            case _:
                raise LocalProtocolError(f"segments does not understand {type(message).__name__}")

    async def run(self, deliver: Deliver) -> None:
        """Serve until cancelled; a commit that was begun ends.

        Raises:
          ExceptionGroup: of a StorageError: the disk failed.
        """
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self._merge)  # what an earlier run has left
            async for order in self._inbox:
                generation = await self._commit(order, deliver)
                deliver(self._address, "indexer", DocumentsCommitted(order.batch, generation))
                if not self._is_merging:
                    nursery.start_soon(self._merge)

    async def _commit(self, order: CommitDocuments, deliver: Deliver) -> int:
        """Commit, however long a full disk makes it wait."""
        while True:
            try:
                async with self._writing:
                    return await trio.to_thread.run_sync(self._commit_in_thread, order)
            except OSError as error:
                self._tell_full(error, deliver)
            await trio.sleep(self._retry_s)

    def _commit_in_thread(self, order: CommitDocuments) -> int:
        started = time.thread_time()
        generation = commit_documents(self._index, order)
        self._is_full = False
        self.cpu_s += time.thread_time() - started
        self.n_documents += len(order.documents)
        return generation

    def _tell_full(self, error: OSError, deliver: Deliver) -> None:
        if error.errno not in _NO_SPACE:
            raise StorageError(f"the index cannot be written, check its disk: {error}") from error
        detail = "no space is left for the index: free some, nothing that was kept is lost"
        if not self._is_full:
            self._is_full = True
            logger.error("disk full, fetching stops: %s", detail)
        for actor in ("cell", "controller"):
            deliver(self._address, actor, DiskFilled(detail))

    async def _merge(self) -> None:
        """Merge until the policy is content."""
        if self._is_merging:
            return
        self._is_merging = True
        try:
            while await self._merge_once():
                self.n_merges += 1
        except OSError as error:
            # Nothing is lost: there are more segments for a while, and the next commit leads here again.
            logger.warning("index not merged: %s", error)
        finally:
            self._is_merging = False

    async def _merge_once(self) -> bool:
        async with self._writing:
            merge = await trio.to_thread.run_sync(self._index.plan_merge)
        if merge is None:
            return False
        merged, cpu_s = await trio.to_thread.run_sync(_run, merge, abandon_on_cancel=True)
        async with self._writing:
            await trio.to_thread.run_sync(self._index.apply_merge, merge, merged)
        self.merge_cpu_s += cpu_s
        return True


def _run(merge: Merge) -> tuple[MergedSegment, float]:
    """Compute a merge; return it and the CPU seconds it took."""
    started = time.thread_time()
    merged = merge.run()
    return merged, time.thread_time() - started
