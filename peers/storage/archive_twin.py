"""The port "archive" of a simulation: answers at once, over an archive in memory."""

from __future__ import annotations

from collections import deque
from typing import Protocol

from mesh.actor import Message
from mesh.errors import CorruptionError, LocalProtocolError, StorageFull
from peers.storage.extent import Extent
from peers.storage.messages import (
    AppendRecords,
    DiskFilled,
    ReadRecords,
    RecordsAppended,
    RecordsRead,
    RecordsRefused,
)


class RecordStore(Protocol):
    """What a port needs of an archive (`archive.Archive`, `memory_archive.MemoryArchive`)."""

    def append(self, batch: list[bytes]) -> list[Extent | None]: ...

    def read(self, extent: Extent) -> bytes: ...


class ArchiveTwin:
    """Takes the messages of the port and returns its answers, each with the actor it is for."""

    def __init__(self, store: RecordStore) -> None:
        self._store = store
        self._orders: deque[AppendRecords] = deque()

    def receive(self, message: Message) -> list[tuple[str, Message]]:
        match message:
            case AppendRecords():
                self._orders.append(message)
                return self.append()
            case ReadRecords(url, fetched_at, segment, offset, length):
                try:
                    records = self._store.read(Extent(segment, offset, length))
                except CorruptionError:
                    records = b""
                return [("cell", RecordsRead(url, fetched_at, records))]
        raise LocalProtocolError(f"archive does not understand {type(message).__name__}")

    def append(self) -> list[tuple[str, Message]]:
        """Append all that waits, which is what a full disk left; to be tried again from time to time."""
        if not self._orders:
            return []
        try:
            extents = self._store.append([order.records for order in self._orders])
        except StorageFull as error:
            return [(actor, DiskFilled(str(error))) for actor in ("cell", "controller")]
        orders = list(self._orders)
        self._orders.clear()
        return [("cell", answer_to(order, extent)) for order, extent in zip(orders, extents, strict=True)]


def answer_to(order: AppendRecords, extent: Extent | None) -> Message:
    """Return what the cell is told of records that were appended, or not (None)."""
    if extent is None:
        return RecordsRefused(order.url, order.fetched_at)
    return RecordsAppended(order.url, order.fetched_at, extent.segment, extent.offset, extent.length)
