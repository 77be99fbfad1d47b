"""How the port "archive" carries out an order, and the port of a simulation, which does it at once."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence
from typing import Protocol, TypeAlias

from xxhash import xxh3_64_intdigest

from mesh.actors.actor import Message
from mesh.actors.port import DiskFilled
from mesh.errors import LocalProtocolError, StorageFull
from peers.storage.ledger.extent import Extent
from peers.storage.messages import (
    AppendBulk,
    AppendRecords,
    BulkAppended,
    ExtentsRead,
    ReadExtents,
    ReadRecords,
    RecordsAppended,
    RecordsRead,
    RecordsRefused,
    RemoveSegments,
    SegmentsRemoved,
)

Append: TypeAlias = AppendRecords | AppendBulk
Read: TypeAlias = ReadRecords | ReadExtents


class RecordStore(Protocol):
    """The methods of an archive that a port needs (`archive.Archive`, `memory_archive.MemoryArchive`)."""

    def append(self, batch: Sequence[bytes | memoryview]) -> list[Extent | None]: ...

    def read_many(self, extents: Sequence[Extent]) -> list[bytes | memoryview | None]: ...

    def remove(self, segments: Iterable[int]) -> None: ...


class ArchiveTwin:
    """Takes the messages of the port and returns its answers, each with the actor it is for."""

    def __init__(self, store: RecordStore) -> None:
        self._store = store
        self._orders: deque[Append] = deque()

    def receive(self, message: Message) -> list[tuple[str, Message]]:
        match message:
            case AppendRecords() | AppendBulk():
                self._orders.append(message)
                return self.append()
            case ReadRecords() | ReadExtents():
                return [("cell", read(self._store, message))]
            case RemoveSegments(segments):
                self._store.remove(segments)
                return [("cell", SegmentsRemoved(segments))]
        raise LocalProtocolError(f"archive does not understand {type(message).__name__}")

    def append(self) -> list[tuple[str, Message]]:
        """Append all waiting orders, which a full disk left; to be tried again from time to time."""
        if not self._orders:
            return []
        try:
            answers = append(self._store, list(self._orders))
        except StorageFull as error:
            return [(actor, DiskFilled(str(error))) for actor in ("cell", "controller")]
        self._orders.clear()
        return [("cell", answer) for answer in answers]


def append(store: RecordStore, orders: Sequence[Append]) -> list[Message]:
    """Append the records of all the orders in one go; return their answers."""
    extents = store.append([records for order in orders for records in records_in(order)])
    answers: list[Message] = []
    start = 0
    for order in orders:
        end = start + len(records_in(order))
        answers.append(_answer_to(order, extents[start:end]))
        start = end
    return answers


def records_in(order: Append) -> Sequence[bytes | memoryview]:
    return (order.records,) if isinstance(order, AppendRecords) else order.records


def _answer_to(order: Append, extents: Sequence[Extent | None]) -> Message:
    if isinstance(order, AppendBulk):
        return BulkAppended(order.ticket, tuple(extents))
    (extent,) = extents
    if extent is None:
        return RecordsRefused(order.url, order.stamp)
    return RecordsAppended(order.url, order.stamp, extent.segment, extent.offset, extent.length)


def read(store: RecordStore, order: Read) -> Message:
    """Read the records an order wants; nothing leaves here but bytes as they were appended."""
    if isinstance(order, ReadRecords):
        place = Extent(order.segment, order.offset, order.length)
        (records,) = store.read_many((place,))
        is_sound = records is not None and xxh3_64_intdigest(records) == order.checksum
        return RecordsRead(
            order.url, order.stamp, bytes(records) if is_sound and records is not None else b""
        )
    found = store.read_many(order.extents)
    sound = [
        records is not None and xxh3_64_intdigest(records) == checksum
        for records, checksum in zip(found, order.checksums, strict=True)
    ]
    bulk = b"".join(
        records for records, is_sound in zip(found, sound, strict=True) if is_sound and records is not None
    )
    return ExtentsRead(order.ticket, bulk, tuple(sound))
