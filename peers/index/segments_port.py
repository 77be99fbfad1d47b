"""The port "segments": commits, merges, exports and adoptions in threads, one writer at a time. [io]

A merge is computed and written, at a pace, while commits go on; only its plan and its end take the writer's
turn. So is a part of an export, and a segment from another peer is checked before its turn comes. A large
segment is built in a process, see `segment_builder`. While
nothing else is written, segments are merged that would be left apart otherwise, for each of them costs every
query. Stopping the peer abandons what is being computed: it has touched nothing that counts.

A segment that turns out to be damaged, whoever meets it, is put aside, the cell and the indexer are told
which slots have lost documents, and what was interrupted is done again without it.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import ClassVar, Final, TypeAlias

import trio

from mesh.actors.actor import Address, Message
from mesh.actors.port import Deliver, DiskFilled, SpaceFound
from mesh.errors import LocalProtocolError, RemoteProtocolError, StorageError
from mesh.process.background import run_in_background
from mesh.process.workshop import Workshop
from mesh.slot_set import NO_SLOTS, decode_slots
from mesh.stamp import Stamp
from mesh.tables.disk_space import NO_SPACE
from mesh.transport.descriptors import SHORTAGES
from peers.engine.files.errors import CorruptIndexError, DamagedSegmentError
from peers.engine.files.storage import Buffer
from peers.engine.index import Index
from peers.engine.merging.adoption import check_segment
from peers.engine.merging.merge import Merge
from peers.engine.segments.segment import Segment
from peers.handover.wire_messages import BULK_BYTES_MAX
from peers.index.commit import commit_documents
from peers.index.damage import given_up, told_at_start
from peers.index.export_parts import ExportParts
from peers.index.messages import (
    AdoptDocuments,
    CommitDocuments,
    DocumentsAdopted,
    DocumentsCommitted,
    ExportDocuments,
    GiveUpSegment,
    NextDocuments,
    PastSettled,
    SettlePast,
    SlotsDamaged,
    SlotsRepaired,
    StopExport,
)

RETRY_S: Final = 5.0  # until a full disk is tried again
REST_S: Final = 5.0  # without an order to write, until the index is merged further than writing lets it be
# Merges leave the disk to what somebody waits for: commits, the archive, pages that are shown. What they read
# is paced by what they compute, about 40 MB a second.
MERGE_BYTES_PER_S: Final = 64e6
_PIECE_BYTES: Final = 1 << 20

_WriteOrder: TypeAlias = CommitDocuments | AdoptDocuments | GiveUpSegment | SlotsRepaired | SettlePast

logger = logging.getLogger(__name__)


class SegmentsPort:
    """Serves one index; the only one to write to it."""

    name: ClassVar[str] = "segments"

    def __init__(
        self,
        me: str,
        index: Index,
        slot_count: int,
        workshop: Workshop | None = None,
        *,
        retry_s: float = RETRY_S,
        rest_s: float = REST_S,
    ) -> None:
        """Args: workshop: in which the index has segments built, if it has; it runs while this does."""
        self.n_documents = 0  # committed
        self.n_merges = 0
        self.n_exported_bytes = 0
        self.n_adopted = 0  # documents
        self.n_refused = 0  # segments of other peers
        self.n_damaged = 0  # segments given up
        self._address = Address(me, self.name)
        self._index = index
        self._slot_count = slot_count
        self._workshop = workshop
        self._retry_s = retry_s
        self._rest_s = rest_s
        # The indexer and the cell have few orders outstanding; they repeat them after a restart.
        self._orders, self._inbox = trio.open_memory_channel[_WriteOrder](float("inf"))
        self._exports: dict[int, ExportParts] = {}
        self._wanted, self._to_export = trio.open_memory_channel[int](float("inf"))  # tickets
        self._writing = trio.Lock()
        self._is_merging = False
        self._is_full = False
        self._has_written = trio.Event()

    def receive(self, source: Address, message: Message) -> None:
        match message:
            case CommitDocuments() | AdoptDocuments() | GiveUpSegment() | SlotsRepaired() | SettlePast():
                self._orders.send_nowait(message)
            case ExportDocuments(ticket):
                index = self._index
                self._exports[ticket] = ExportParts(
                    index.snapshot(), index.damaged, message, self._slot_count
                )
                self._wanted.send_nowait(ticket)
            case NextDocuments(ticket):
                self._wanted.send_nowait(ticket)
            case StopExport(ticket):
                self._exports.pop(ticket, None)
            case _:
                raise LocalProtocolError(f"segments does not understand {type(message).__name__}")

    async def run(self, deliver: Deliver) -> None:
        """Serve until cancelled; a commit that was begun ends.

        Raises:
          ExceptionGroup: of a StorageError: the disk failed.
        """
        for actor, told in told_at_start(self._index, self._slot_count):
            deliver(self._address, actor, told)
        async with trio.open_nursery() as nursery:
            if self._workshop is not None:
                nursery.start_soon(self._workshop.run)
            nursery.start_soon(self._merge, self._index.plan_merge, deliver)  # what an earlier run has left
            nursery.start_soon(self._merge_at_rest, deliver)
            nursery.start_soon(self._serve_exports, deliver)
            async for order in self._inbox:
                self._has_written.set()
                await self._carry_out(order, deliver)
                if not self._is_merging:
                    nursery.start_soon(self._merge, self._index.plan_merge, deliver)

    async def _carry_out(self, order: _WriteOrder, deliver: Deliver) -> None:
        match order:
            case CommitDocuments(batch):
                generation = await self._write(lambda: self._commit(order), deliver)
                deliver(self._address, "indexer", DocumentsCommitted(batch, generation))
            case AdoptDocuments():
                deliver(self._address, "cell", await self._adopt(order, deliver))
            case GiveUpSegment(segment):
                if not await self._give_up(segment, deliver):
                    deliver(self._address, "indexer", SlotsDamaged(NO_SLOTS))
            case SlotsRepaired(slots):
                mask = decode_slots(slots, self._slot_count)
                await self._write(lambda: self._index.mend(mask), deliver)
            case SettlePast():
                deliver(self._address, "cell", await self._settle_past(order, deliver))

    async def _write(self, change: Callable[[], int], deliver: Deliver) -> int:
        """Do something in the writer's turn, however long a full disk makes it wait."""
        while True:
            try:
                async with self._writing:
                    generation = await trio.to_thread.run_sync(change)
                self._tell_space(deliver)
                return generation
            except DamagedSegmentError as damage:
                await self._give_up(damage.segment, deliver)
            except OSError as error:
                self._tell_full(error, deliver)
                await trio.sleep(self._retry_s)

    async def _settle_past(self, order: SettlePast, deliver: Deliver) -> PastSettled:
        from peers.index.past_orders import settle_past

        def settle() -> int:
            settled[:] = [settle_past(self._index, order)]
            return self._index.generation

        settled: list[PastSettled] = []
        await self._write(settle, deliver)
        return settled[0]

    def _commit(self, order: CommitDocuments) -> int:
        generation = commit_documents(self._index, order)
        self.n_documents += len(order.documents)
        return generation

    def _tell_full(self, error: OSError, deliver: Deliver) -> None:
        if error.errno in SHORTAGES:
            detail = f"the index is written a little later: {error.strerror}"
        elif error.errno in NO_SPACE:
            detail = "no space is left for the index: free some, nothing that was kept is lost"
        else:
            raise StorageError(f"the index cannot be written, check its disk: {error}") from error
        if not self._is_full:
            self._is_full = True
            logger.warning("fetching stops for now: %s", detail)
        for actor in ("cell", "controller"):
            deliver(self._address, actor, DiskFilled(detail))

    def _tell_space(self, deliver: Deliver) -> None:
        if self._is_full:
            self._is_full = False
            deliver(self._address, "cell", SpaceFound())

    # --- What other peers send

    async def _adopt(self, order: AdoptDocuments, deliver: Deliver) -> DocumentsAdopted:
        """Take over a segment, unless no honest peer would send it."""
        try:
            segment = await trio.to_thread.run_sync(self._check, order)
        except (CorruptIndexError, RemoteProtocolError) as error:
            self.n_refused += 1
            logger.warning("segment of another peer refused: %s", error)
            return DocumentsAdopted(order.ticket, self._index.generation, ())
        pages: list[tuple[str, Stamp]] = []
        removed = dict(order.removed)

        def adopt() -> int:
            pages[:] = self._index.adopt_checked(segment, removed)
            return self._index.commit()

        generation = await self._write(adopt, deliver)
        self.n_adopted += len(pages)
        return DocumentsAdopted(order.ticket, generation, tuple(pages))

    def _check(self, order: AdoptDocuments) -> Segment:
        slots = decode_slots(order.slots, self._slot_count)
        return check_segment(order.content, slots, BULK_BYTES_MAX)

    # --- What is sent to other peers

    async def _serve_exports(self, deliver: Deliver) -> None:
        """Make parts of exports, one at a time: they take the time of a core that others want as well."""
        async for ticket in self._to_export:
            export = self._exports.get(ticket)
            if export is None:
                continue
            part = await run_in_background(export.next, abandon_on_cancel=True)
            self.n_exported_bytes += len(part.content)
            if ticket in self._exports:  # not stopped meanwhile
                deliver(self._address, "cell", part)
            if part.is_last:
                self._exports.pop(ticket, None)
                for damage in export.damage:
                    await self._give_up(damage.segment, deliver)

    # --- Damage

    async def _give_up(self, name: str, deliver: Deliver) -> bool:
        """Put a segment aside, and tell which slots lost documents; False when there were none."""

        def put_aside() -> int:
            told[:] = given_up(self._index, name, self._slot_count)
            return self._index.generation

        told: list[tuple[str, Message]] = []
        await self._write(put_aside, deliver)
        self.n_damaged += bool(told)
        for actor, message in told:
            deliver(self._address, actor, message)
        return bool(told)

    # --- Merging

    async def _merge_at_rest(self, deliver: Deliver) -> None:
        """Merge further when nothing has been written for a while, once until something is."""
        while True:
            with trio.move_on_after(self._rest_s) as waiting:
                await self._has_written.wait()
            if waiting.cancelled_caught and not self._is_merging:
                await self._merge(self._index.plan_merge_at_rest, deliver)
                await self._has_written.wait()
            self._has_written = trio.Event()

    async def _merge(self, plan: Callable[[], Merge | None], deliver: Deliver) -> None:
        """Merge until the policy is content."""
        if self._is_merging:
            return
        self._is_merging = True
        try:
            while await self._merge_once(plan):
                self.n_merges += 1
        except OSError as error:
            # Nothing is lost: there are more segments for a while, and the next commit leads here again.
            logger.warning("index not merged: %s", error)
        except DamagedSegmentError as damage:
            await self._give_up(damage.segment, deliver)
        finally:
            self._is_merging = False

    async def _merge_once(self, plan: Callable[[], Merge | None]) -> bool:
        async with self._writing:
            merge = await trio.to_thread.run_sync(plan)
        if merge is None:
            return False
        try:
            merged = await run_in_background(partial(merge.run, _paced), abandon_on_cancel=True)
        except BaseException:
            self._index.abandon_merge(merge)
            raise
        async with self._writing:
            await trio.to_thread.run_sync(self._index.apply_merge, merge, merged)
        return True


def _paced(parts: Iterable[Buffer]) -> Iterator[Buffer]:
    """Yield the bytes to be written in pieces, MERGE_BYTES_PER_S a second."""
    started, n_bytes = time.monotonic(), 0
    for part in parts:
        for at in range(0, len(part), _PIECE_BYTES):
            piece = memoryview(part)[at : at + _PIECE_BYTES]
            yield piece
            n_bytes += len(piece)
            time.sleep(max(0.0, started + n_bytes / MERGE_BYTES_PER_S - time.monotonic()))
