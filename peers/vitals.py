"""How a peer is: what its actors count, and what the system says of its process. [io]"""

from __future__ import annotations

import os
import resource
import sys
import time

from mesh.member import Member
from mesh.membership import MembershipStatistics
from mesh.runtime import Runtime
from peers.crawler.controller import CrawlStatistics
from peers.gateway.status import FrontierSize, PeerStatus
from peers.index.index import Index
from peers.index.indexer import IndexerStatistics
from peers.storage.cell import CellStatistics


class Vitals:
    """Takes the status of one peer."""

    def __init__(self, member: Member, runtime: Runtime, index: Index, gateway: str) -> None:
        self._member = member
        self._runtime = runtime
        self._index = index
        self._gateway = gateway
        self._started = time.monotonic()

    def measure(self) -> PeerStatus:
        """The status now; takes well below a millisecond."""
        seen = self._runtime.observe()
        crawl, cell, indexer = seen["controller"], seen["cell"], seen["indexer"]
        membership = seen["membership"]
        assert isinstance(crawl, CrawlStatistics)
        assert isinstance(cell, CellStatistics)
        assert isinstance(indexer, IndexerStatistics)
        assert isinstance(membership, MembershipStatistics)
        sent = self._member.transport.observe()
        seconds = time.monotonic() - self._started
        waiting = _waiting_count(cell, indexer)
        snapshot = self._index.snapshot()
        return PeerStatus(
            id=self._member.peer_id,
            pid=os.getpid(),
            endpoint=self._member.record.endpoint,
            gateway=self._gateway,
            pages_fetched=crawl.pages_fetched,
            pages_stored=cell.stored,
            pages_indexed=indexer.documents,
            urls_seen=crawl.urls_seen,
            fetch_status=crawl.fetch_status,
            bytes_fetched=crawl.bytes_fetched,
            links_found=crawl.links_found,
            links_sent=crawl.links_sent,
            messages_sent=sent.messages_sent + sent.multicasts_sent,
            bytes_sent=sent.bytes_sent + sent.multicast_bytes_sent,
            seconds=seconds,
            cpu_seconds=time.process_time(),
            pages_per_second=crawl.pages_fetched / seconds,
            rss_bytes=_rss_bytes(),
            documents=snapshot.document_count,
            index_bytes=snapshot.index_bytes,
            archive_bytes=cell.archive_bytes,
            idle=crawl.is_idle and not waiting,
            disk_full=cell.is_full,
            frontier=FrontierSize(hosts=crawl.hosts, queued=crawl.due, in_flight=crawl.in_flight),
            pending=crawl.in_progress + crawl.outbox + crawl.anchors_changed + waiting,
            members=membership.alive,
            epoch=membership.epoch,
            activity=_activity(crawl, cell, indexer),
        )


def _waiting_count(cell: CellStatistics, indexer: IndexerStatistics) -> int:
    """What is not yet durable on every peer where it belongs, or not yet findable."""
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
    """A number that grows with whatever this peer does; equal twice means nothing happened."""
    fetches = sum(crawl.fetch_status.values())
    links = crawl.links_found + crawl.links_sent + crawl.links_received
    return fetches + links + crawl.urls_seen + cell.stored + cell.replicated + indexer.committed


def _rss_bytes() -> int:
    """Resident memory now on Linux; elsewhere the most there ever was."""
    try:
        with open("/proc/self/statm", encoding="ascii") as file:
            return int(file.read().split()[1]) * resource.getpagesize()
    except OSError:
        most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return most if sys.platform == "darwin" else most * 1024
