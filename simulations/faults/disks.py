"""The disk of a simulated peer: a table, an archive and an index that a crash, a fault or a thief can reach.

The real archive twin and the real index in memory work on it. What takes time live takes time here, a factor
longer while the disk is slow. A *crash* leaves everything that was handed to the system; the loss of *power*
leaves what had been told to be durable, and the rest not.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from typing import Final, TypeVar

from mesh.actors.actor import Address, Message
from mesh.actors.port import DiskFilled
from peers.engine.files.storage import MemoryStorage
from peers.engine.index import Index
from peers.index.messages import CommitDocuments
from peers.index.segments_twin import SegmentsTwin
from peers.storage.archive.archive_twin import ArchiveTwin
from peers.storage.archive.memory_archive import MemoryArchive
from simulations.world.hardware import COMMIT_PAGE_S, COMMIT_S, SYNC_S
from simulations.world.revertible_table import RevertibleTable
from simulations.world.world import PortAnswer

_Before = TypeVar("_Before")

READ_S: Final = 0.001  # of a page from an SSD
FULL_RETRY_S: Final = 5.0  # as `peers.storage.archive.archive_port` does


class DamageableArchive(MemoryArchive):
    """An archive of which the last records can be lost, and bits can flip."""

    def end(self) -> tuple[int, int]:
        """Where the next record will be: number of the last segment, its bytes."""
        last = max(self._segments)
        return last, len(self._segments[last])

    def cut(self, end: tuple[int, int]) -> None:
        """Lose the data behind an earlier `end`."""
        last, size = end
        for number in [number for number in self._segments if number > last]:
            self.byte_count -= len(self._segments.pop(number))
        segment = self._segments[last]
        self.byte_count -= len(segment) - size
        del segment[size:]

    def flip(self, place: float) -> None:
        """Flip a bit at a place that is told as a share of the first segment, if there is anything."""
        segment = self._segments[min(self._segments)]
        if segment:
            segment[int(place * len(segment))] ^= 1 << int(place * 8_000) % 8


class Disk:
    """The data that survive the process."""

    def __init__(self) -> None:
        self.table = RevertibleTable()
        self.archive = DamageableArchive()
        self.storage = MemoryStorage()
        self.factor = 1.0  # how much longer everything takes
        self._unsynced_archive: deque[tuple[float, tuple[int, int]]] = deque()
        self._unsynced_index: deque[tuple[float, dict[str, bytes]]] = deque()

    def fill(self) -> None:
        """Leave no space for the archive."""
        self.archive.space_bytes = 0.0

    def free(self) -> None:
        self.archive.space_bytes = float("inf")

    def appended(self, end: tuple[int, int], told_at: float) -> None:
        """Note that the data behind `end` are durable only at a time."""
        self._unsynced_archive.append((told_at, end))

    def committed(self, before: dict[str, bytes], told_at: float) -> None:
        """Note that a commit of the index is durable only at a time, and the files before it."""
        self._unsynced_index.append((told_at, before))

    def lose_power(self, now: float) -> None:
        """Lose the data that were not yet reported as durable."""
        _drop_told(self._unsynced_archive, now)
        _drop_told(self._unsynced_index, now)
        if self._unsynced_archive:
            self.archive.cut(self._unsynced_archive[0][1])
        if self._unsynced_index:
            self.storage.files = self._unsynced_index[0][1]
        self.forget_unsynced()

    def forget_unsynced(self) -> None:
        """Note that the process has ended; the system still writes the data that it was given."""
        self._unsynced_archive.clear()
        self._unsynced_index.clear()


def _drop_told(unsynced: deque[tuple[float, _Before]], now: float) -> None:
    while unsynced and unsynced[0][0] <= now:
        unsynced.popleft()


class _Retry(Message, frozen=True):
    """The archive to itself: is there space now?"""


class DiskArchive:
    """Port `archive` of one life of a peer."""

    name = "archive"

    def __init__(self, peer: str, disk: Disk) -> None:
        self._address = Address(peer, self.name)
        self._disk = disk
        self._twin = ArchiveTwin(disk.archive)
        self._free_at = 0.0
        self._is_retrying = False

    def receive(self, source: Address, message: Message, now: float) -> Iterable[PortAnswer]:
        disk = self._disk
        end = disk.archive.end()
        if isinstance(message, _Retry):
            self._is_retrying = False
            said = self._twin.append()
        else:
            said = self._twin.receive(message)
        has_written = disk.archive.end() != end
        seconds = (SYNC_S if has_written else READ_S) * disk.factor
        # One order after the other, so that what is told first is also durable first.
        self._free_at = max(self._free_at, now + seconds)
        if has_written:
            disk.appended(end, self._free_at)
        delay_s = self._free_at - now
        answers = [PortAnswer(delay_s, Address(self._address.peer, actor), answer) for actor, answer in said]
        is_full = any(isinstance(answer, DiskFilled) for _, answer in said)
        if is_full and not self._is_retrying:
            self._is_retrying = True
            answers.append(PortAnswer(FULL_RETRY_S, self._address, _Retry()))
        return answers


class DiskSegments:
    """Port `segments` of one life of a peer."""

    name = "segments"

    def __init__(self, disk: Disk, index: Index, slot_count: int = 50_000) -> None:
        self._disk = disk
        self._twin = SegmentsTwin(index, slot_count)
        self._free_at = 0.0

    def begin(self) -> list[tuple[str, Message]]:
        """Return the messages of the port when the peer starts, and the actors that they go to."""
        return self._twin.begin()

    def receive(self, source: Address, message: Message, now: float) -> Iterable[PortAnswer]:
        disk = self._disk
        before = dict(disk.storage.files)
        said = self._twin.receive(message)
        has_written = disk.storage.files != before
        seconds = COMMIT_S if has_written else READ_S
        if isinstance(message, CommitDocuments):
            seconds += COMMIT_PAGE_S * len(message.documents)
        self._free_at = max(self._free_at, now + seconds * disk.factor)
        if has_written:
            disk.committed(before, self._free_at)
        return [
            PortAnswer(self._free_at - now, Address(source.peer, actor), answer) for actor, answer in said
        ]
