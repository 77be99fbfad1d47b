"""Searches issued all along, and every answer checked. [io]

Twenty times a second the next gateway is asked for the next known page, by the word that only it has. What
comes back is kept; afterwards it tells from when to when which page was missing, and whether the answers
said that they were not complete. A page counts as known to the mesh from the first answer that has it: from
then on every answer must.
"""

from __future__ import annotations

import http.client
import json
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from itertools import count, groupby
from math import inf
from typing import Any, Final, NamedTuple
from urllib.parse import urlsplit

from tests.live.known_pages import KnownPage
from tests.live.lab_process import get

PER_SECOND: Final = 20.0
HITS: Final = 20  # a word may be in the text of links too; more pages than these have none of ours
WORKERS: Final = 128  # a gateway that is cut off answers within its deadline of some seconds
NO_ANSWER: Final = -1


class Answer(NamedTuple):
    """What one search brought. Times are in seconds since the epoch."""

    asked_s: float
    took_s: float
    gateway: str
    page: str
    status: int  # of HTTP; 0 when nothing came
    missing: int  # slots that the answer says it does not cover; NO_ANSWER without one
    is_found: bool
    wrong: str = ""  # what is wrong with it in itself
    told: str = ""  # what it says of itself besides its hits, as JSON

    @property
    def answered_s(self) -> float:
        return self.asked_s + self.took_s


class Miss(NamedTuple):
    """A page that was known and for a while in no answer."""

    page: str
    began_s: float  # the first search without it was asked
    ended_s: float  # the last one was answered
    unsaid: tuple[Answer, ...]  # those of these answers that did not say that they were not complete
    is_over: bool  # a later one had it

    @property
    def is_said(self) -> bool:
        return not self.unsaid

    @property
    def seconds(self) -> float:
        return self.ended_s - self.began_s


class Searching:
    """Asks until it is ended."""

    def __init__(
        self,
        gateways: Callable[[], Sequence[str]],
        pages: Sequence[KnownPage],
        per_second: float = PER_SECOND,
    ) -> None:
        """Note what to ask.

        Args:
          gateways: those that can be asked at the moment; what fails while one stops being among them
            does not count.
        """
        assert pages
        self.answers: list[Answer] = []
        self.left_out = 0  # could not be asked in time: the test itself was too slow
        self._gateways = gateways
        self._pages = pages
        self._per_second = per_second
        self._ended = threading.Event()
        self._workers = ThreadPoolExecutor(WORKERS, "search")
        self._free = threading.Semaphore(WORKERS)
        self._thread = threading.Thread(target=self._run, name="searching")

    def start(self) -> None:
        self._thread.start()

    def end(self) -> None:
        """Ask nothing more, and wait for the answers that are due."""
        self._ended.set()
        self._thread.join()
        self._workers.shutdown()
        self.answers.sort()

    def _run(self) -> None:
        began = time.monotonic()
        for number in count():
            wait_s = began + number / self._per_second - time.monotonic()
            if self._ended.wait(max(0.0, wait_s)):
                return
            gateways = self._gateways()
            if not gateways:
                continue
            if not self._free.acquire(blocking=False):
                self.left_out += 1
                continue
            # Pages and gateways in turn, so that every page is asked of every gateway.
            page = self._pages[number % len(self._pages)]
            turn = number + number // len(self._pages)
            self._workers.submit(self._ask, gateways[turn % len(gateways)], page)

    def _ask(self, gateway: str, page: KnownPage) -> None:
        try:
            answer = ask(gateway, page)
            if answer.status == 200 or gateway in self._gateways():
                self.answers.append(answer)
        finally:
            self._free.release()


@contextmanager
def searching(
    gateways: Callable[[], Sequence[str]], pages: Sequence[KnownPage], per_second: float = PER_SECOND
) -> Iterator[Searching]:
    """Search while the block runs; afterwards all answers are there."""
    asked = Searching(gateways, pages, per_second)
    asked.start()
    try:
        yield asked
    finally:
        asked.end()


def ask(gateway: str, page: KnownPage) -> Answer:
    """Ask once, and look at the answer."""
    asked_s, began = time.time(), time.monotonic()
    try:
        status, body = get(gateway, "/api/search", q=page.word, k=str(HITS))
    except (OSError, http.client.HTTPException) as error:
        took_s = time.monotonic() - began
        return Answer(asked_s, took_s, gateway, page.url, 0, NO_ANSWER, False, f"{error!r}")
    took_s = time.monotonic() - began
    if status != 200:
        return Answer(asked_s, took_s, gateway, page.url, status, NO_ANSWER, False, body[:200])
    answer = json.loads(body)
    is_found = page.url in {hit["url"] for hit in answer["hits"]}
    missing = int(answer["coverage"]["missing"])
    told = json.dumps({name: value for name, value in answer.items() if name != "hits"})
    return Answer(asked_s, took_s, gateway, page.url, 200, missing, is_found, _wrong_with(answer, page), told)


def misses(answers: Iterable[Answer]) -> list[Miss]:
    """From when to when each page was missing after it had been found once, by the beginning.

    Answers that did not come are no misses; see `failures`.
    """
    by_page: dict[str, list[Answer]] = defaultdict(list)
    for answer in sorted(answers):
        if answer.status == 200:
            by_page[answer.page].append(answer)
    found = [miss for asked in by_page.values() for miss in _misses_of_page(asked)]
    return sorted(found, key=lambda miss: miss.began_s)


def failures(answers: Iterable[Answer]) -> list[Answer]:
    """Searches to which a gateway that ran did not answer as it should."""
    return [answer for answer in answers if answer.status != 200]


def wrong(answers: Iterable[Answer]) -> list[Answer]:
    """Answers that cannot be right, whatever the mesh knows."""
    return [answer for answer in answers if answer.status == 200 and answer.wrong]


def percentile_s(answers: Iterable[Answer], percent: float) -> float:
    """How long the answers took that so many percent of them were faster than."""
    took = sorted(answer.took_s for answer in answers if answer.status == 200)
    return took[min(len(took) - 1, int(len(took) * percent / 100))]


def told(answers: Sequence[Answer]) -> str:
    """A line of figures for a transcript."""
    missed = misses(answers)
    silent = [miss for miss in missed if not miss.is_said]
    return (
        f"{len(answers)} searches, {len(failures(answers))} failed, "
        f"{sum(answer.missing > 0 for answer in answers)} said incomplete, p50 "
        f"{percentile_s(answers, 50) * 1e3:.0f} ms, p99 {percentile_s(answers, 99) * 1e3:.0f} ms; "
        f"{len(missed)} misses, longest {max((m.seconds for m in missed), default=0.0):.2f} s, "
        f"{len(silent)} unsaid, longest {max((m.seconds for m in silent), default=0.0):.2f} s"
    )


def incomplete(answers: Iterable[Answer]) -> list[tuple[float, float, str, int]]:
    """From when to when the answers of which gateway said that slots were missing, and at most how many."""
    spans = []
    by_gateway: dict[str, list[Answer]] = defaultdict(list)
    for answer in sorted(answers):
        if answer.status == 200:
            by_gateway[answer.gateway].append(answer)
    for gateway, mine in by_gateway.items():
        for is_incomplete, run in groupby(mine, lambda each: each.missing > 0):
            if is_incomplete:
                span = list(run)
                most = max(answer.missing for answer in span)
                spans.append((span[0].asked_s, span[-1].asked_s, gateway, most))
    return sorted(spans)


def _misses_of_page(asked: Sequence[Answer]) -> Iterator[Miss]:
    # What was asked before the first answer with the page had come proves nothing.
    known_s = min((answer.answered_s for answer in asked if answer.is_found), default=inf)
    later = [answer for answer in asked if answer.asked_s >= known_s]
    runs = [(is_found, list(run)) for is_found, run in groupby(later, lambda each: each.is_found)]
    for position, (is_found, run) in enumerate(runs):
        if not is_found:
            yield Miss(
                run[0].page,
                run[0].asked_s,
                max(answer.answered_s for answer in run),
                tuple(answer for answer in run if answer.missing <= 0),
                position + 1 < len(runs),
            )


def _wrong_with(answer: dict[str, Any], page: KnownPage) -> str:
    coverage, hits = answer["coverage"], answer["hits"]
    if coverage["answered"] + coverage["missing"] != coverage["slots"]:
        return f"coverage does not add up: {coverage}"
    by_site: dict[str, list[float]] = {}
    for hit in hits:  # sites take turns, so only those of one are in order
        by_site.setdefault(hit["host"], []).append(hit["score"])
    for site, scores in by_site.items():
        if scores != sorted(scores, reverse=True):
            return f"not by score: {scores} of {site}"
    urls = [hit["url"] for hit in hits]
    if len(set(urls)) != len(urls):
        return f"a page twice: {urls}"
    if answer["total"] < len(hits):
        return f"{len(hits)} hits of {answer['total']}"
    others = [url for url in urls if not (urlsplit(url).hostname or "").endswith(".test")]
    return f"no page of the web: {others}, asked for {page}" if others else ""
