"""An import from the files to the peers: reads, has workers take apart, sends, and remembers how far. [io]

Theory of operation. One thread reads and cuts records out of the files, which is cheap; processes take pages
apart; a few threads send what they made to the gateway, which answers a request when its pages are durable
on their teams. Each stage hands on in the order of the file and waits when the next one has enough, so memory
is bounded and a checkpoint is one position: all before it is durable. What was under way when the import was
ended is sent again by the next one, and the peers say that they have it.
"""

from __future__ import annotations

import mmap
import threading
import time
from collections import Counter, deque
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, NamedTuple, Self

from mesh.client.gateway_client import GatewayBusy, GatewayClient, GatewayUnreachable
from mesh.counts import counted
from mesh.errors import CorruptionError, TianmeshError, unreadable
from peers.crawler.model.wire_messages import LinkUse
from peers.importing.batch import ImportTask, Made, decode, encode, make
from peers.importing.checkpoint import Checkpoint
from peers.importing.folder import Gone, Seen, bytes_in, read_folder
from peers.importing.inventory import FolderInventory
from peers.importing.json_lines import Line, read_lines
from peers.importing.messages import KNOWN, LATE, REFUSED, STORED
from peers.importing.originals import with_originals
from peers.importing.packed_file import ZIP_MAGIC, Data, Gzip, Packing, Plain, Zstd, member_of_zip, packing_of
from peers.importing.positions import FileDamage, Position
from peers.importing.tianwang import (
    DESCRIPTION_BEGIN,
    PACKAGE_BEGIN,
    RAW_BEGIN,
    SOIF_BEGIN,
    read_described,
    read_package,
    read_raw,
    read_soif,
)
from peers.importing.warc_file import ARC_BEGIN, Record, read_warc, with_contents
from peers.workers import Workers, result_of

BATCH_BYTES: Final = 1 << 20  # of records to one worker at a time, about 50 pages
BATCH_RECORDS: Final = 256
SENDERS: Final = 3  # requests at a time: one is being stored while others are on their way
DAMAGES_KEPT: Final = 100
LOOK_BYTES: Final = 512  # of a file, to see what it is
BYTE_ORDER_MARK: Final = b"\xef\xbb\xbf"
# What archives of pages are besides, and what to do.
FOREIGN: Final = (
    (b"\x04\x22\x4d\x18", "packed by lz4: `lz4 -d` unpacks it"),
    (b"BZh", "packed by bzip2: `bzip2 -dk` unpacks it"),
    (b"\xfd7zXZ\0", "packed by xz: `xz -dk` unpacks it"),
)
SMALL_BYTES: Final = 4 << 20  # files that are taken apart here: to start workers would take longer


class ImportFailed(TianmeshError):
    """The import cannot go on; the text says why, and the checkpoint where it was."""


@dataclass
class ImportSummary:
    """The outcome of an import: counts of files, records and pages, and examples of those refused."""

    files: int = 0
    read: int = 0  # records or lines
    pages: int = 0  # of those, that could be pages
    stored: int = 0
    known: int = 0  # were there already
    gone: int = 0  # whose files were deleted
    not_indexed: int = 0  # kept, but ask not to be indexed
    private_hosts: int = 0  # pages of hosts that nobody would crawl
    refused: Counter[str] = field(default_factory=Counter)
    examples: dict[str, str] = field(default_factory=dict)
    damaged: list[dict[str, Any]] = field(default_factory=list)
    n_damaged: int = 0
    unreadable: int = 0  # files that are nothing of what can be imported
    seconds: float = 0.0
    reading_cpu_s: float = 0.0
    making_cpu_s: float = 0.0

    def as_json(self) -> dict[str, Any]:
        """For programs."""
        per_second = self.pages / self.seconds if self.seconds else 0.0
        return {
            **vars(self),
            "refused": dict(self.refused),
            "pages_per_second": round(per_second, 1),
        }


class ImportPlan(NamedTuple):
    """The files to import, and how to import them."""

    files: list[Path]
    gateway: str
    token: str | Callable[[], str]
    use: LinkUse
    workers: int  # processes; 0 for as many as there are cores
    silence_s: float = 120.0  # without the gateway taking anything, until the import gives up
    pause_s: float = 0.2  # before the gateway is asked again
    is_own: bool = False  # the files are exports of this mesh
    sites: Mapping[Path, str] = {}  # of those that are folders: see `folder.site_of`
    seen: dict[Path, Seen] | None = None  # files of folders that are passed over while they are like this
    inventories: Mapping[Path, FolderInventory] = {}  # of folders: what was given of them


class OpenedFile(NamedTuple):
    file: Path
    data: Data
    changed_at: float


def run(
    plan: ImportPlan, checkpoint: Checkpoint, on_progress: Callable[[Path, int, ImportSummary], None]
) -> ImportSummary:
    """Import files to their end.

    Args:
      on_progress: called with the file, how many of its bytes are done, and the summary so far.

    Raises:
      ImportFailed: the gateway does not answer any more.
      GatewayError: it refuses what it is given.
      ConfigError: a file cannot be read.
    """
    summary = ImportSummary()
    began = time.perf_counter()
    try:
        n_bytes = sum(map(size_of, plan.files))
        with (
            Workers(make, plan.workers, is_needed=bool(plan.workers) or n_bytes > SMALL_BYTES) as makers,
            _Senders(plan) as senders,
        ):
            for file in plan.files:
                importing = _FileImport(file, plan, makers, senders, checkpoint, summary, on_progress)
                importing.run()
                summary.files += 1
    finally:
        summary.seconds = time.perf_counter() - began
        checkpoint.save()
    checkpoint.remove()
    return summary


class _FileImport:
    """One file on its way through the stages."""

    def __init__(
        self,
        file: Path,
        plan: ImportPlan,
        makers: Workers[ImportTask, Made],
        senders: _Senders,
        checkpoint: Checkpoint,
        summary: ImportSummary,
        on_progress: Callable[[Path, int, ImportSummary], None],
    ) -> None:
        self._file = file
        self._plan = plan
        self._makers = makers
        self._senders = senders
        self._checkpoint = checkpoint
        self._summary = summary
        self._on_progress = on_progress
        self._making: deque[Future[Made]] = deque()
        self._sending: deque[tuple[Made, list[Future[Counter[str]]]]] = deque()
        self._is_refused = False  # by a peer

    def run(self) -> None:
        position = self._checkpoint.position_in(self._file)
        if position is not None:
            with opened_file(self._file) as opened:
                for order in tasks_of(opened, position, self._plan, self._summary):
                    self._making.append(self._makers.submit(order))
                    while len(self._making) > self._makers.most or self._making[0].done():
                        self._send_made()
                        if not self._making:
                            break
                while self._making:
                    self._send_made()
                while self._sending:
                    self._finish_sent()
            if self._file in self._plan.inventories and not self._is_refused:
                self._plan.inventories[self._file].note_gone()
            self._checkpoint.note(self._file, Position(0), is_whole=True)
        self._on_progress(self._file, size_of(self._file), self._summary)

    def _send_made(self) -> None:
        """Hand on the batch made first, and wait for the one sent first when too much is on its way."""
        made = result_of(self._making.popleft())
        self._sending.append((made, [self._senders.submit(body) for body in made.bodies]))
        while sum(len(futures) for _, futures in self._sending) > SENDERS + 1 or _is_done(
            self._sending[0][1]
        ):
            self._finish_sent()
            if not self._sending:
                break

    def _finish_sent(self) -> None:
        made, futures = self._sending.popleft()
        outcomes: Counter[str] = Counter()
        for future in futures:
            outcomes += future.result()
        self._is_refused |= any(outcome.startswith(REFUSED) for outcome in outcomes)
        self._count(made, outcomes)
        self._checkpoint.note(self._file, made.after)
        self._on_progress(self._file, made.after.offset, self._summary)

    def _count(self, made: Made, outcomes: Counter[str]) -> None:
        summary = self._summary
        summary.read += made.n_read
        summary.pages += made.n_pages
        summary.gone += made.n_gone
        summary.not_indexed += made.n_noindex
        summary.private_hosts += made.n_private
        summary.making_cpu_s += made.cpu_s
        summary.stored += outcomes.pop(STORED, 0)
        summary.known += outcomes.pop(KNOWN, 0)
        for outcome, count in outcomes.items():
            summary.refused[outcome.removeprefix(REFUSED)] += count
        for reason, count in made.refused.items():
            summary.refused[reason] += count
            summary.examples.setdefault(reason, made.examples[reason])
        summary.n_damaged += len(made.damages)
        for damage in made.damages[: DAMAGES_KEPT - len(summary.damaged)]:
            summary.damaged.append({"file": str(self._file), "offset": damage.offset, "what": damage.what})


def size_of(file: Path) -> int:
    """Bytes of a file, or of those in a folder."""
    return bytes_in(file) if file.is_dir() else file.stat().st_size


# --- Reading -------------------------------------------------------------------------------------


@contextmanager
def opened_file(file: Path) -> Iterator[OpenedFile]:
    try:
        changed_at = file.stat().st_mtime
        if file.is_dir():
            yield OpenedFile(file, b"", changed_at)
            return
        with file.open("rb") as opened:
            if not file.stat().st_size:
                yield OpenedFile(file, b"", changed_at)
                return
            with mmap.mmap(opened.fileno(), 0, access=mmap.ACCESS_READ) as data:
                yield OpenedFile(file, data, changed_at)
    except OSError as error:
        raise unreadable(file, error) from error


def tasks_of(
    opened: OpenedFile, start: Position, plan: ImportPlan, summary: ImportSummary
) -> Iterator[ImportTask]:
    """Cut a file into orders of about the same size."""
    found: list[Record | Line | Gone] = []
    damages: list[FileDamage] = []
    n_bytes, after = 0, start
    began = time.process_time()
    site = plan.sites.get(opened.file)
    records: Iterator[Record | Line | Gone | FileDamage] = _records(opened, start, summary)
    if site is not None:
        records = read_folder(opened.file, site, start, plan.seen, plan.inventories.get(opened.file))
    for each in records:
        if isinstance(each, FileDamage):
            damages.append(each)
            continue
        found.append(each)
        after = each.after
        n_bytes += len(
            each.block if isinstance(each, Record) else each.text if isinstance(each, Line) else each.url
        )
        if n_bytes >= BATCH_BYTES or len(found) >= BATCH_RECORDS:
            summary.reading_cpu_s += time.process_time() - began
            yield ImportTask(found, damages, after, opened.changed_at, plan.use, plan.is_own)
            began = time.process_time()
            found, damages, n_bytes = [], [], 0
    summary.reading_cpu_s += time.process_time() - began
    if found or damages:
        yield ImportTask(found, damages, after, opened.changed_at, plan.use, plan.is_own)


def _records(
    opened: OpenedFile, start: Position, summary: ImportSummary
) -> Iterator[Record | Line | FileDamage]:
    """Tell the kind of a file by its first bytes, and read it; count it when it cannot be read."""
    try:
        packing = packing_of(opened.data)
        begin = _beginning(packing)
    except CorruptionError as error:
        summary.unreadable += 1
        yield FileDamage(0, f"this file cannot be unpacked: {error}")
        return
    foreign = next((what for magic, what in FOREIGN if begin.startswith(magic)), None)
    if foreign is not None:
        summary.unreadable += 1
        yield FileDamage(0, f"this file is {foreign}")
    elif begin.startswith((DESCRIPTION_BEGIN, ZIP_MAGIC)):
        try:
            yield from _read_beside(opened, begin, start)
        except CorruptionError as error:
            summary.unreadable += 1
            yield FileDamage(0, f"this file is {error}")
    elif begin.lstrip(BYTE_ORDER_MARK)[:1] == b"{":
        yield from read_lines(packing, start)
    elif (read := _reader_of_older(begin)) is not None:
        if isinstance(packing, Plain):
            yield from read(opened.data, start)
        else:
            summary.unreadable += 1
            yield FileDamage(0, "a file of this kind is read when it is unpacked")
    elif b"WARC/" in begin or begin.startswith(ARC_BEGIN) or isinstance(packing, Gzip | Zstd):
        yield from with_contents(with_originals(read_warc(packing, start), packing))
    elif begin:
        summary.unreadable += 1
        yield FileDamage(
            0, f"this is neither a WARC file nor JSON lines: it begins with {repr(begin[:16])[1:]}"
        )


def _read_beside(opened: OpenedFile, begin: bytes, start: Position) -> Iterator[Record | FileDamage]:
    """Read a package of web objects that is beside its description, or inside a transfer file.

    Raises:
      CorruptionError: it is not there.
    """
    if begin.startswith(ZIP_MAGIC):
        with member_of_zip(opened.file, opened.data, ".webop") as package:
            yield from read_package(package, start)
        return
    beside = opened.file.with_suffix("")
    if beside == opened.file or not beside.is_file():
        raise CorruptionError(f"the description of a package, which is no file {beside.name} beside it")
    with opened_file(beside) as package:
        yield from read_described(opened.data, package.data, start)


def _reader_of_older(begin: bytes) -> Callable[[Data, Position], Iterator[Record | Line | FileDamage]] | None:
    """Return the reader of a format of older engines; None for other formats."""
    if begin.startswith(RAW_BEGIN):
        return read_raw
    if begin.startswith(PACKAGE_BEGIN):
        return read_package
    return read_soif if SOIF_BEGIN.match(begin) else None


def _beginning(packing: Packing) -> bytes:
    for member in packing.members(0):
        return next(member.chunks(), b"").lstrip()[:LOOK_BYTES]
    return b""


def _is_done(futures: list[Future[Counter[str]]]) -> bool:
    return all(future.done() for future in futures)


# --- Sending -------------------------------------------------------------------------------------


class _Senders:
    """Threads that give pages to the gateway until it has them."""

    def __init__(self, plan: ImportPlan) -> None:
        self._plan = plan
        self._threads = ThreadPoolExecutor(SENDERS, "send")
        self._of_thread = threading.local()
        self._clients: list[GatewayClient] = []
        self._is_stopped = threading.Event()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self._is_stopped.set()
        self._threads.shutdown(cancel_futures=True)
        for client in self._clients:
            client.close()

    def submit(self, body: bytes) -> Future[Counter[str]]:
        return self._threads.submit(self._send, body)

    def _send(self, body: bytes) -> Counter[str]:
        """Give pages to the gateway, and again those that were late, until none is left.

        Raises:
          ImportFailed: it took nothing for too long.
        """
        outcomes: Counter[str] = Counter()
        silence_s = self._plan.silence_s
        heard_at = time.monotonic()
        while True:
            try:
                answer = self._client().import_pages(body)["outcomes"]
            except (GatewayBusy, GatewayUnreachable) as error:
                # It may be starting again, or have enough to do.
                if time.monotonic() > heard_at + silence_s:
                    raise ImportFailed(f"the gateway took nothing for {silence_s:g} s: {error}") from error
                if self._is_stopped.wait(self._plan.pause_s):
                    raise ImportFailed("stopped") from error
                continue
            outcomes.update(answer)
            n_late = outcomes.pop(LATE, 0)
            if n_late < len(answer):
                heard_at = time.monotonic()
            if not n_late:
                return outcomes
            if time.monotonic() > heard_at + silence_s:
                raise ImportFailed(
                    f"the owners of {counted(n_late, 'page')} took nothing for {silence_s:g} s"
                )
            late = [page for page, outcome in zip(decode(body), answer, strict=True) if outcome == LATE]
            body = encode(late)

    def _client(self) -> GatewayClient:
        client: GatewayClient | None = getattr(self._of_thread, "client", None)
        if client is None:
            client = self._of_thread.client = GatewayClient(self._plan.gateway, self._plan.token)
            self._clients.append(client)
        return client
