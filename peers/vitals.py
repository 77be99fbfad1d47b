"""The vitals of a peer: the counts of its actors, and the system's figures of its process. [io]"""

from __future__ import annotations

import os
import shutil
import socket
import time
from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Final, NamedTuple

from mesh.actors.actor import Statistics
from mesh.actors.conduct import CONDUCT, ConductStatistics
from mesh.membership.membership import MembershipStatistics
from mesh.process.member import Member
from mesh.process.memory import memory_used
from mesh.process.runtime import Runtime
from mesh.process.workshop import Workshop
from peers.crawler.controller import CrawlStatistics
from peers.engine.index import Index
from peers.gateway.model.quantity import Kind, kept_values, observed
from peers.gateway.model.status import (
    TEXT_CHARS_MAX,
    MemberMisconduct,
    PeerState,
    PeerStatus,
    SlotCounts,
    StoreCounts,
    state_of,
)
from peers.handover.handover import HandoverStatistics
from peers.handover.store import HolderStatistics
from peers.history.event import Crawling, PeerCondition
from peers.history.messages import VitalsTaken
from peers.history.sample import Counts
from peers.index.indexer import IndexerStatistics
from peers.program_version import VERSION
from peers.storage.cell import CellStatistics
from peers.storage.disk_limit import DiskLimit, DiskUse

SPEED_S: Final = 4.0  # over which the speed of moving slots is taken
DISK_SPEED_S: Final = 600.0  # and that of the disk's getting full: merges write and delete for minutes


class _Used(NamedTuple):
    """The resources of the machine that the process of a peer uses, with its helpers."""

    cpu_seconds: float  # user and system, since the start
    private_bytes: int
    rss_bytes: int


class _Disk(NamedTuple):
    """The free space of a peer's disk, the speed at which it fills, and a limit reached; see `PeerStatus`."""

    free_bytes: int
    bytes_per_s: float
    stop: str


class Vitals:
    """Takes the status of one peer; now and then even if nobody asks, so that speeds are those of now."""

    def __init__(
        self,
        member: Member,
        runtime: Runtime,
        index: Index,
        workshops: Sequence[Workshop | None],
        gateway: str,
        data: Path,
        disk_limit: DiskLimit,
    ) -> None:
        """Args: data: the folder of archive, index and table."""
        self._member = member
        self._data = data
        self._disk_limit = disk_limit
        self._runtime = runtime
        self._index = index
        self._workshops = workshops
        self._gateway = gateway
        self._started = time.monotonic()
        self._moved = Speed(self._started)
        self._fetched = Speed(self._started)
        self._filled = Speed(self._started, self._on_disk(_of_actors(runtime.observe()).cell), DISK_SPEED_S)

    def measure(self) -> PeerStatus:
        """The status now; takes well below a millisecond."""
        seen = self._runtime.observe()
        crawl, cell, indexer, membership, handover = _of_actors(seen)
        sent, seconds = self._member.transport.observe(), time.monotonic() - self._started
        waiting, stores = _waiting_count(cell, indexer), store_counts(seen.values(), handover.wanted)
        moved = sum(store.bytes_received for store in stores.values())
        slots = observed(SlotCounts, seen, wanted=sum(handover.wanted.values()))
        disk, misconduct = self._disk(cell), misconduct_of(seen)
        is_full = cell.is_full or self._runtime.is_disk_full
        return observed(
            PeerStatus,
            seen,
            id=self._member.peer_id,
            pid=os.getpid(),
            endpoint=self._member.record.endpoint,
            gateway=self._gateway,
            machine=socket.gethostname()[:TEXT_CHARS_MAX],
            version=VERSION,
            messages_sent=sent.messages_sent + sent.multicasts_sent,
            bytes_sent=sent.bytes_sent + sent.multicast_bytes_sent,
            seconds=seconds,
            pages_per_second=crawl.pages_fetched / seconds,
            pages_per_second_now=self._fetched.note(crawl.pages_fetched, time.monotonic()),
            **self._used()._asdict(),
            documents=self._index.snapshot().document_count,
            index_bytes=self._index.snapshot().index_bytes,
            disk_bytes=self._on_disk(cell),
            disk_free_bytes=disk.free_bytes,
            disk_bytes_per_s=disk.bytes_per_s,
            disk_stop=disk.stop,
            disk_full=is_full,
            is_out_of_space=is_full or bool(disk.stop),
            idle=_is_at_rest(crawl, disk.stop) and not waiting and _is_settled(handover, membership),
            pending=crawl.in_progress + crawl.outbox + crawl.anchors_changed + waiting,
            activity=_activity(crawl, cell, indexer) + handover.takeovers + moved,
            state=_state(slots, membership, handover, self._runtime.clock.now()),
            slots=slots,
            stores=stores,
            bytes_moved=moved,
            bytes_moved_per_s=self._moved.note(moved, time.monotonic()),
            misconduct=misconduct,
            members_quarantined=sum(each.is_quarantined for each in misconduct),
            unreachable=tuple(membership.unreachable.items()),
            relayed=self._member.n_relayed,
        )

    def _used(self) -> _Used:
        memory, others = memory_used(), [workshop.observe() for workshop in self._workshops if workshop]
        return _Used(
            time.process_time() + sum(other.cpu_seconds for other in others),
            memory.private_bytes + sum(other.private_bytes for other in others),
            memory.rss_bytes + sum(other.rss_bytes for other in others),
        )

    def _disk(self, cell: CellStatistics) -> _Disk:
        free, filled = _free_bytes(self._data), self._filled.note(self._on_disk(cell), time.monotonic())
        use = DiskUse(self._on_disk(cell) + _table_bytes(self._data), free)
        return _Disk(free or 0, max(filled, 0.0), self._disk_limit.stop(use))

    def _on_disk(self, cell: CellStatistics) -> int:
        return cell.archive_bytes + self._index.snapshot().index_bytes


def vitals_of(status: PeerStatus, search_classes: tuple[int, ...]) -> VitalsTaken:
    """Return the part of a status that the history of a peer is told.

    Args:
      search_classes: searches of people and programs here, by how long they took.
    """
    slots = status.slots
    return VitalsTaken(
        Counts(kept_values(status, Kind.COUNTER), search_classes),
        kept_values(status, Kind.GAUGE),
        PeerCondition(
            version=status.version,
            slots_owned=slots.owned,
            slots_wanted=slots.wanted,
            is_disk_full=status.is_out_of_space,
            is_draining=status.is_draining,
            quarantined=frozenset(each.peer for each in status.misconduct if each.is_quarantined),
            unreachable=frozenset(peer for peer, _ in status.unreachable),
            crawling=_CRAWLING.get(status.state, Crawling.ALLOWED),
        ),
        has_joined=bool(status.epoch),
    )


_CRAWLING: Final = {PeerState.CUT_OFF: Crawling.CUT_OFF, PeerState.UNLICENSED: Crawling.UNLICENSED}


def misconduct_of(seen: Mapping[str, Statistics]) -> tuple[MemberMisconduct, ...]:
    """Return the offences of other members, the worst first."""
    conduct = seen[CONDUCT]
    assert isinstance(conduct, ConductStatistics)
    return tuple(
        MemberMisconduct(each.peer, each.points, each.is_quarantined, each.offences)
        for each in conduct.members
    )


class _OfActors(NamedTuple):
    """The statistics of those actors that the status of a peer tells of."""

    crawl: CrawlStatistics
    cell: CellStatistics
    indexer: IndexerStatistics
    membership: MembershipStatistics
    handover: HandoverStatistics


def _of_actors(seen: Mapping[str, Statistics]) -> _OfActors:
    crawl, cell, indexer = seen["controller"], seen["cell"], seen["indexer"]
    membership, handover = seen["membership"], seen["handover"]
    assert isinstance(crawl, CrawlStatistics)
    assert isinstance(cell, CellStatistics)
    assert isinstance(indexer, IndexerStatistics)
    assert isinstance(membership, MembershipStatistics)
    assert isinstance(handover, HandoverStatistics)
    return _OfActors(crawl, cell, indexer, membership, handover)


class Speed:
    """How fast a number grows now."""

    def __init__(self, now: float, count: int = 0, span_s: float = SPEED_S) -> None:
        self._span_s = span_s
        self._seen = deque([(now, count)])  # oldest first

    def note(self, count: int, now: float) -> float:
        """Growth a second over the last `span_s`, or since the last look if that was longer ago."""
        least_s = self._span_s / 8
        while len(self._seen) > 1 and self._seen[1][0] <= now - self._span_s:
            self._seen.popleft()
        (then, before), newest = self._seen[0], self._seen[-1]
        if now >= newest[0] + least_s:
            self._seen.append((now, count))
        return (count - before) / max(now - then, least_s)


def _free_bytes(folder: Path) -> int | None:
    """The bytes that a disk has left for us; None when it cannot be asked."""
    try:
        return shutil.disk_usage(folder).free
    except OSError:
        return None


def _table_bytes(folder: Path) -> int:
    """The bytes of the disk that the table takes, however large its file says it is."""
    try:
        return 512 * (folder / "table" / "data.mdb").stat().st_blocks
    except OSError:
        return 0


def _is_at_rest(crawl: CrawlStatistics, disk_stop: str) -> bool:
    """Is nothing on its way, and nothing to be fetched: all is done, or the disk has enough?"""
    is_done = not (crawl.in_flight or crawl.in_progress or crawl.outbox or crawl.anchors_changed)
    return crawl.is_idle or (bool(disk_stop) and is_done)


def _is_settled(handover: HandoverStatistics, membership: MembershipStatistics) -> bool:
    """Will no slots move?"""
    return handover.is_quiet and _is_balanced(membership)


def _state(
    slots: SlotCounts, membership: MembershipStatistics, handover: HandoverStatistics, now: float
) -> PeerState:
    return state_of(
        slots,
        has_majority=membership.has_majority,
        is_licensed=now < membership.licence_until,
        is_draining=membership.is_draining,
        is_quiet=handover.is_quiet,
    )


def _is_balanced(membership: MembershipStatistics) -> bool:
    """Has it the weight that a person gave it? If not, slots will move once all queues are empty."""
    return membership.is_draining or membership.weight == membership.weight_wanted


def store_counts(seen: Iterable[Statistics], wanted: Mapping[str, int]) -> dict[str, StoreCounts]:
    """Return the counts of each store of a peer, by its name.

    Args:
      seen: the statistics of its actors.
      wanted: as `HandoverStatistics.wanted`.
    """
    stores = [statistics.store for statistics in seen if isinstance(statistics, HolderStatistics)]
    return {
        store.name: StoreCounts(
            slots=store.slots_filled,
            wanted=wanted.get(store.name, 0),
            moving=store.tasks + store.transfers,
            unkept=store.unkept,
            bytes_received=store.bytes_received,
            bytes_sent=store.bytes_sent,
        )
        for store in stores
    }


def _waiting_count(cell: CellStatistics, indexer: IndexerStatistics) -> int:
    """The number of changes not yet durable on every peer where they belong, or not yet findable."""
    return (
        cell.pending
        + cell.unindexed
        + cell.anchors_unindexed
        + cell.replicas_waiting
        + cell.reading
        + indexer.waiting
        + indexer.committing
    )


def _activity(crawl: CrawlStatistics, cell: CellStatistics, indexer: IndexerStatistics) -> int:
    """A number that grows with every action of this peer; equal twice means nothing happened."""
    fetches = sum(crawl.fetch_status.values())
    links = crawl.links_found + crawl.links_sent + crawl.links_received
    return fetches + links + crawl.urls_seen + cell.stored + cell.replicated + indexer.committed
