"""An export from the files of peers to new ones: reads, has workers take apart, writes in order. [io]"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future
from contextlib import ExitStack, closing
from dataclasses import dataclass, field
from heapq import merge
from itertools import groupby
from operator import attrgetter
from pathlib import Path
from typing import Any, Final, NamedTuple

import msgspec

from mesh.errors import ConfigError
from mesh.stamp import Stamp
from mesh.urls import canonical, host_of
from peers.exporting.graph import GraphWriter, ParquetGraphWriter, TsvGraphWriter, WebGraphWriter
from peers.exporting.peer_files import ExportedVersion, PeerFiles
from peers.exporting.revisits import Revisits
from peers.exporting.rows import ExportTask, Taken, take_apart
from peers.exporting.tianwang import PackageWriter, RawWriter, SoifWriter
from peers.exporting.writers import (
    STDOUT,
    ArchiveLinksWriter,
    JsonWriter,
    LinksWriter,
    ParquetWriter,
    SyntaxWriter,
    WarcWriter,
    Writer,
    Writing,
    make_place,
)
from peers.policy.rules import EVERYTHING, Policy, policy_in
from peers.workers import Workers, result_of

BATCH_BYTES: Final = 512 << 10  # of packed records to one worker at a time
BATCH_PAGES: Final = 256
WRITERS: Final[dict[str, Callable[[Path], Writer]]] = {
    "warc": WarcWriter,
    "jsonl": JsonWriter,
    "links": LinksWriter,
    "archive-links": ArchiveLinksWriter,
    "syntax": SyntaxWriter,
    "parquet": ParquetWriter,
    "graph": TsvGraphWriter,
    "graph-parquet": ParquetGraphWriter,
    "webgraph": WebGraphWriter,
    "tianwang": RawWriter,
    "webobjects": PackageWriter,
    "soif": SoifWriter,
}
SMALL_PAGES: Final = 500  # that are taken apart here: to start workers would take longer


@dataclass
class ExportSummary:
    """The outcome of an export: counts of the pages written, and of those that were not."""

    versions: int = 0  # that were looked at
    pages: int = 0  # written, as records or rows
    links: int = 0
    archive_links: int = 0  # to pictures, scripts and the like, where they are wanted
    revisits: int = 0  # visits that found what was written already
    no_pages: int = 0  # answers that are none, as 404 and redirects: only in WARC
    not_indexed: int = 0  # pages that ask for that: likewise
    damaged: int = 0  # not there any more, or not as they were written, in any copy
    bytes: int = 0
    files: list[str] = field(default_factory=list)
    seconds: float = 0.0

    def as_json(self) -> dict[str, Any]:
        """For programs."""
        per_second = self.pages / self.seconds if self.seconds else 0.0
        return {**vars(self), "pages_per_second": round(per_second, 1)}


class WantedVersion(NamedTuple):
    """A version that is wanted."""

    copies: list[ExportedVersion]
    records: bytes


class ExportPlan(NamedTuple):
    """The settings of an export: format, peers, target, sites and workers."""

    format: str  # of WRITERS
    configs: list[Path]  # of the peers
    out: Path  # folder, or STDOUT
    sites: list[str]
    workers: int  # processes; 0 for as many as there are cores


def run(plan: ExportPlan, on_progress: Callable[[int, int], None]) -> ExportSummary:
    """Export to the end.

    Args:
      on_progress: called with the pages that were looked at so far and about how many there are.

    Raises:
      ConfigError: the files of a peer cannot be read, or there is no writing to the output.
    """
    summary = ExportSummary()
    began = time.perf_counter()
    with ExitStack() as stack:
        peers = [stack.enter_context(closing(PeerFiles(config))) for config in plan.configs]
        n_pages = sum(peer.page_count for peer in peers)
        writer = _writer(plan)
        stack.enter_context(Writing(writer))
        walks = [peer.versions() for peer in peers]
        versions = newest_versions(walks) if writer.needs_rows else all_versions(walks)
        policy = policy_of(peers)
        is_wanted = shown(of_sites(plan.sites), policy)
        if isinstance(writer, GraphWriter) and policy.link_graph is not None and policy.link_graph.ranks:
            from peers.exporting.graph_ranks import ranks_of_mesh  # for meshes that rank their pages alone

            writer.take_ranks(ranks_of_mesh(peers))
        found = _read(versions, is_wanted, summary, lambda done: on_progress(done, n_pages))
        if writer.needs_rows:
            _write_rows(found, writer, plan.workers, n_pages, summary)
        else:
            _write_records(found, writer, summary)
        on_progress(n_pages, n_pages)
    if plan.out != STDOUT:
        summary.files = [str(path) for path in writer.files]
        summary.bytes = sum(path.stat().st_size for path in writer.files)
    summary.seconds = time.perf_counter() - began
    return summary


def policy_of(peers: Iterable[PeerFiles]) -> Policy:
    """The newest policy that any of the peers knows.

    Raises:
      ConfigError: it was written by a newer version of this program.
    """
    known = [decree for decree in (peer.policy(time.time()) for peer in peers) if decree is not None]
    if not known:
        return EVERYTHING
    newest = max(known, key=lambda decree: decree.number)
    try:
        return policy_in(newest.body)
    except msgspec.MsgspecError as error:
        raise ConfigError(
            f"policy {newest.number} of the mesh says what is not to be exported, and was written by a newer "
            f"tianmesh ({error}): export with that version"
        ) from error


def shown(is_wanted: Callable[[str], bool], policy: Policy) -> Callable[[str], bool]:
    """Return a filter that also leaves out pages that are taken down."""
    return lambda url: is_wanted(url) and not policy.is_taken_down(url)


def _writer(plan: ExportPlan) -> Writer:
    if plan.out != STDOUT:
        make_place(plan.out, plan.format)
    return WRITERS[plan.format](plan.out)


def _read(
    versions: Iterator[list[ExportedVersion]],
    is_wanted: Callable[[str], bool],
    summary: ExportSummary,
    on_progress: Callable[[int], None],
) -> Iterator[WantedVersion]:
    """Yield the copies and records of the versions wanted, from the first peer that has them sound."""
    for copies in versions:
        summary.versions += 1
        if summary.versions % 100 == 0:
            on_progress(summary.versions)
        place = copies[0].place
        if not is_wanted(place.url):
            continue
        records = next(filter(None, (copy.peer.read(copy.place) for copy in copies)), b"")
        if records:
            yield WantedVersion(copies, records)
        else:
            summary.damaged += 1


def _write_records(found: Iterator[WantedVersion], writer: Writer, summary: ExportSummary) -> None:
    revisits = Revisits()
    for copies, records in found:
        written = revisits.records_of(copies[0].place.url, records) if writer.has_revisits else records
        again = [row for copy in copies if (row := copy.peer.found_again(copy)) is not None]
        if again and writer.has_revisits:
            written += revisits.unchanged(max(again, key=lambda row: row.visit))
        summary.pages += 1
        summary.bytes += len(written)
        writer.write_records(written)
    summary.revisits = revisits.count


def _write_rows(
    found: Iterator[WantedVersion], writer: Writer, processes: int, n_pages: int, summary: ExportSummary
) -> None:
    taking: deque[Future[Taken]] = deque()
    is_needed = bool(processes) or n_pages > SMALL_PAGES
    with Workers(take_apart, processes, is_needed=is_needed) as workers:
        for order in _orders(found, writer.has_archive_links):
            taking.append(workers.submit(order))
            while len(taking) > workers.most:
                _write_taken(result_of(taking.popleft()), writer, summary)
        while taking:
            _write_taken(result_of(taking.popleft()), writer, summary)


def _orders(found: Iterator[WantedVersion], has_archive_links: bool) -> Iterator[ExportTask]:
    pages: list[tuple[str, Stamp, bytes]] = []
    n_bytes = 0
    for copies, records in found:
        pages.append((copies[0].place.url, copies[0].place.stamp, records))
        n_bytes += len(records)
        if n_bytes >= BATCH_BYTES or len(pages) >= BATCH_PAGES:
            yield ExportTask(pages, has_archive_links)
            pages, n_bytes = [], 0
    if pages:
        yield ExportTask(pages, has_archive_links)


def _write_taken(taken: Taken, writer: Writer, summary: ExportSummary) -> None:
    writer.write_taken(taken)
    summary.pages += len(taken.rows)
    summary.links += len(taken.links)
    summary.archive_links += len(taken.archive_links)
    summary.no_pages += taken.n_no_page
    summary.not_indexed += taken.n_not_indexed
    summary.damaged += taken.n_damaged


def all_versions(of_peers: Iterable[Iterable[ExportedVersion]]) -> Iterator[list[ExportedVersion]]:
    """Yield every version of every page once, the oldest first, each as the copies there are of it."""
    for copies in pages_of(of_peers):
        by_stamp: dict[Stamp, list[ExportedVersion]] = {}
        for copy in copies:
            by_stamp.setdefault(copy.place.stamp, []).append(copy)
        for stamp in sorted(by_stamp):
            yield by_stamp[stamp]


def newest_versions(of_peers: Iterable[Iterable[ExportedVersion]]) -> Iterator[list[ExportedVersion]]:
    """Yield the newest version of every page, as the copies there are of it."""
    for copies in pages_of(of_peers):
        newest = max(copy.place.stamp for copy in copies)
        yield [copy for copy in copies if copy.place.stamp == newest]


def pages_of(of_peers: Iterable[Iterable[ExportedVersion]]) -> Iterator[list[ExportedVersion]]:
    """Bring the same pages of several peers together; all walk in the order of identities."""
    by_identity = attrgetter("identity")
    for _, copies in groupby(merge(*of_peers, key=by_identity), by_identity):
        yield list(copies)


def of_sites(sites: Iterable[str]) -> Callable[[str], bool]:
    """Return whether a URL is of one of some sites: of a host, on any scheme and port, or of one below it.

    Args:
      sites: host names, or URLs of which only the host counts; no sites are all.
    """
    names = tuple(map(_name_of, sites))
    below = tuple(f".{name}" for name in names)

    def is_wanted(url: str) -> bool:
        host = host_of(url)
        return not names or host in names or host.endswith(below)

    return is_wanted


def _name_of(site: str) -> str:
    url = canonical(site if "://" in site else f"http://{site}")
    return host_of(url) if url is not None else site
