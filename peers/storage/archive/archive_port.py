"""The port "archive": appends, reads and removes in threads, so that no disk holds up the event loop. [io]

All that has come while one append was being synced goes into the next one: one fsync for all of it. A
full disk loses nothing: what waits stays in the queue and is tried again.
"""

from __future__ import annotations

import logging
from collections import deque
from typing import ClassVar, Final

import trio

from mesh.actors.actor import Address, Message
from mesh.actors.port import Deliver, DiskFilled
from mesh.errors import LocalProtocolError, StorageError, StorageFull
from peers.storage.archive.archive_twin import Append, Read, RecordStore, append, read, records_in
from peers.storage.messages import (
    AppendBulk,
    AppendRecords,
    ReadExtents,
    ReadRecords,
    RemoveSegments,
    SegmentsRemoved,
)

BATCH_BYTES_MAX: Final = 64 << 20  # of one append: a second of a slow disk, and far below a segment
MANY_ORDERS: Final = 3  # of one append: more are to come
GATHERING_S: Final = 0.05  # behind such a one: what comes meanwhile shares the next one
READS_AT_ONCE: Final = 4  # threads; a disk gains little from more
RETRY_S: Final = 5.0  # until a full disk is tried again

logger = logging.getLogger(__name__)


class ArchivePort:
    """Serves one archive; the only one to append to it."""

    name: ClassVar[str] = "archive"

    def __init__(
        self,
        me: str,
        store: RecordStore,
        *,
        retry_s: float = RETRY_S,
        batch_bytes_max: int = BATCH_BYTES_MAX,
    ) -> None:
        self.n_appends = 0  # each one fsync
        self.n_appended = 0  # orders they carried
        self._address = Address(me, self.name)
        self._store = store
        self._retry_s = retry_s
        self._batch_bytes_max = batch_bytes_max
        self._orders: deque[Append | RemoveSegments] = deque()
        self._has_orders = trio.Event()
        self._reads, self._reads_inbox = trio.open_memory_channel[Read](float("inf"))
        self._is_full = False

    def receive(self, source: Address, message: Message) -> None:
        match message:
            case AppendRecords() | AppendBulk() | RemoveSegments():
                self._orders.append(message)
                self._has_orders.set()
            case ReadRecords() | ReadExtents():
                self._reads.send_nowait(message)  # the cell bounds how many it wants at a time
            case _:
                raise LocalProtocolError(f"archive does not understand {type(message).__name__}")

    async def run(self, deliver: Deliver) -> None:
        """Serve until cancelled, then append everything that had come before.

        Raises:
          ExceptionGroup: of a StorageError: the disk failed; the archive has to be opened anew.
        """
        try:
            async with trio.open_nursery() as nursery:
                for _ in range(READS_AT_ONCE):
                    nursery.start_soon(self._read_forever, deliver)
                await self._append_forever(deliver)
        finally:
            with trio.CancelScope(shield=True):
                await self._append_last(deliver)

    async def _append_forever(self, deliver: Deliver) -> None:
        while True:
            await self._has_orders.wait()
            n_appended = 0
            try:
                n_appended = await self._append(deliver)
            except StorageFull as error:
                self._tell_full(deliver, str(error))
                await trio.sleep(self._retry_s)
            if not self._orders:
                self._has_orders = trio.Event()
            if n_appended >= MANY_ORDERS:
                await trio.sleep(GATHERING_S)

    async def _append(self, deliver: Deliver) -> int:
        """Append waiting orders, up to the limit; they leave the queue only once on disk; return how many."""
        while self._orders and isinstance(self._orders[0], RemoveSegments):
            await self._remove(self._orders[0], deliver)
            self._orders.popleft()
        batch = self._next_batch()
        if not batch:
            return 0
        answers = await trio.to_thread.run_sync(append, self._store, batch)
        self.n_appends += 1
        self.n_appended += len(batch)
        self._is_full = False
        for _ in batch:
            self._orders.popleft()
        for answer in answers:
            deliver(self._address, "cell", answer)
        return len(batch)

    def _next_batch(self) -> list[Append]:
        batch: list[Append] = []
        n_bytes = 0
        for order in self._orders:
            if isinstance(order, RemoveSegments):
                break
            n_bytes += sum(map(len, records_in(order)))
            if batch and n_bytes > self._batch_bytes_max:
                break
            batch.append(order)
        return batch

    async def _remove(self, order: RemoveSegments, deliver: Deliver) -> None:
        await trio.to_thread.run_sync(self._store.remove, order.segments)
        logger.info("archive segments removed segments=%s", order.segments)
        deliver(self._address, "cell", SegmentsRemoved(order.segments))

    async def _append_last(self, deliver: Deliver) -> None:
        """Append the orders left when the peer stops; nobody waits for a disk to be emptied then."""
        try:
            while self._orders:
                await self._append(deliver)
        except StorageError as error:
            # Those pages were never acknowledged: they are fetched again after the next start.
            logger.warning("pages not kept at the end pages=%d error=%s", len(self._orders), error)

    def _tell_full(self, deliver: Deliver, detail: str) -> None:
        if not self._is_full:
            self._is_full = True
            logger.warning("fetching stops for now: %s", detail)
        for actor in ("cell", "controller"):
            deliver(self._address, actor, DiskFilled(detail))

    async def _read_forever(self, deliver: Deliver) -> None:
        async for order in self._reads_inbox:
            deliver(self._address, "cell", await self._read(order))

    async def _read(self, order: Read) -> Message:
        """Read, however long a lack of files or memory makes it wait: it is no damage."""
        while True:
            try:
                return await trio.to_thread.run_sync(read, self._store, order)
            except StorageError as error:
                logger.error("archive cannot be read now: %s", error)
            await trio.sleep(self._retry_s)
