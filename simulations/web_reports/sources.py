"""Pages for a report: of the peers on this machine, or of files, with workers that take them apart. [io]"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future
from contextlib import ExitStack, closing
from dataclasses import dataclass, field
from heapq import merge
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Final, NamedTuple

from mesh.counts import counted
from peers.crawler.model.url_rows import SAME, UrlRow
from peers.crawler.model.wire_messages import LinkUse
from peers.exporting.export_run import BATCH_BYTES, BATCH_PAGES, of_sites, pages_of, policy_of, shown
from peers.exporting.peer_files import PeerFiles
from peers.importing.batch import ImportTask
from peers.importing.import_run import ImportPlan, ImportSummary, opened_file, size_of, tasks_of
from peers.importing.positions import BEGINNING
from peers.workers import Workers, result_of
from simulations.web_reports.page_columns import PageColumns
from simulations.web_reports.page_facts import StoredPages, TakenFacts, take_facts, take_words
from simulations.web_reports.page_words import WordedPages

SMALL_PAGES: Final = 500  # that are taken apart here: to start workers would take longer
SMALL_BYTES: Final = 4 << 20  # of files, likewise
INTERRUPTED_PART: Final = "interrupted"
QUEUED: Final = "queued"  # a URL that was never visited


class ReportPlan(NamedTuple):
    """The pages that are looked at."""

    configs: list[Path]  # of peers
    files: list[Path]  # instead of these
    sites: list[str]
    workers: int  # processes; 0 for as many as there are cores
    pages_max: int  # bounds the memory, see `page_columns`
    wants_words: bool = False  # of pages, which are `WordedPages` then


@dataclass
class GatheredPages:
    """The pages that were looked at."""

    pages: PageColumns = field(default_factory=PageColumns)
    answers: Counter[str] = field(default_factory=Counter)
    damaged: int = 0
    part: str = ""  # why there are not all of them


class _Source(NamedTuple):
    orders: Iterator[tuple[int, StoredPages | ImportTask]]  # pages, or bytes, done with each, and the order
    size: int  # of all
    is_small: bool


def gather(plan: ReportPlan, on_progress: Callable[[int, int], None]) -> GatheredPages:
    """Look at all pages; Ctrl-C, and the most pages that are wanted, leave a part of them.

    Args:
      on_progress: called with the pages, or bytes of files, done so far, and about how many there are.

    Raises:
      ConfigError: files cannot be read.
    """
    gathered = GatheredPages(WordedPages() if plan.wants_words else PageColumns())
    try:
        with ExitStack() as stack:
            peers = [stack.enter_context(closing(PeerFiles(config))) for config in plan.configs]
            source = _of_files(plan) if plan.files else _of_peers(peers, plan, gathered)
            _take(source, plan, gathered, on_progress)
            if peers and not plan.sites and not gathered.part:
                gathered.answers = _answers(peers)
    except KeyboardInterrupt:
        gathered.part = INTERRUPTED_PART
    return gathered


def _take(
    source: _Source, plan: ReportPlan, gathered: GatheredPages, on_progress: Callable[[int, int], None]
) -> None:
    under_way: deque[tuple[int, Future[TakenFacts]]] = deque()

    def take(at_most: int) -> None:
        while len(under_way) > at_most and not gathered.part:
            done, future = under_way.popleft()
            _add(result_of(future), plan, gathered)
            on_progress(done, source.size)

    take_pages = take_words if plan.wants_words else take_facts
    with Workers(take_pages, plan.workers, is_needed=bool(plan.workers) or not source.is_small) as workers:
        for done, order in source.orders:
            if gathered.part:
                return
            under_way.append((done, workers.submit(order)))
            take(workers.most)
        take(0)


def _add(taken: TakenFacts, plan: ReportPlan, gathered: GatheredPages) -> None:
    is_wanted = of_sites(plan.sites if plan.files else ())  # those of peers were chosen before
    if not plan.sites:  # nobody knows of which site they are
        gathered.answers.update(taken.others)
        gathered.damaged += taken.n_damaged
    for page in taken.pages:
        if len(gathered.pages) >= plan.pages_max:
            gathered.part = f"the first {counted(plan.pages_max, 'page')}"
            return
        if is_wanted(page.url):
            gathered.pages.add(page)
            gathered.answers["200"] += 1


def _of_peers(peers: list[PeerFiles], plan: ReportPlan, gathered: GatheredPages) -> _Source:
    is_wanted = shown(of_sites(plan.sites), policy_of(peers))
    n_pages = sum(peer.page_count for peer in peers)

    def orders() -> Iterator[tuple[int, StoredPages]]:
        pages, n_bytes, done = StoredPages([]), 0, 0
        for copies in pages_of([peer.versions() for peer in peers]):
            done += len(copies)
            newest = max(copy.place.stamp for copy in copies)
            chosen = [copy for copy in copies if copy.place.stamp == newest]
            url = chosen[0].place.url
            if not is_wanted(url):
                continue
            records = next(filter(None, (copy.peer.read(copy.place) for copy in chosen)), b"")
            if not records:
                gathered.damaged += 1
                continue
            first_s = min(copy.place.fetched_at for copy in copies)
            pages.pages.append((url, first_s, newest, records))
            n_bytes += len(records)
            if n_bytes >= BATCH_BYTES or len(pages.pages) >= BATCH_PAGES:
                yield done, pages
                pages, n_bytes = StoredPages([]), 0
        if pages.pages:
            yield done, pages

    return _Source(orders(), n_pages, n_pages <= SMALL_PAGES)


def _of_files(plan: ReportPlan) -> _Source:
    taking = ImportPlan(plan.files, "", "", LinkUse.TEXT, plan.workers)
    sizes = [size_of(file) for file in plan.files]
    n_bytes = sum(sizes)

    def orders() -> Iterator[tuple[int, ImportTask]]:
        for number, file in enumerate(plan.files):
            with opened_file(file) as opened:
                for task in tasks_of(opened, BEGINNING, taking, ImportSummary()):
                    yield sum(sizes[:number]) + task.after.offset, task

    return _Source(orders(), n_bytes, n_bytes <= SMALL_BYTES)


def _answers(peers: Iterable[PeerFiles]) -> Counter[str]:
    """Count the URLs that the crawler knows by the outcomes of their last visits."""
    by_key = itemgetter(0)
    answers = Counter[str]()
    for _, rows in groupby(merge(*(peer.url_rows() for peer in peers), key=by_key), by_key):
        newest = max((row for _, row in rows), key=_age)
        outcome = "D200" if newest.outcome == SAME else newest.outcome
        answers[outcome[1:] or QUEUED] += 1
    return answers


def _age(row: UrlRow) -> tuple[int, float]:
    return row.visit, row.visited_s
