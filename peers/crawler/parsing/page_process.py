"""A process of the crawler's `mesh.process.workshop`: `python -m peers.crawler.parsing.page_process`. [io]

It takes pages apart and undoes content codings. It loads neither numpy nor anything of the network: a
process has 18 MB of its own.
"""

from __future__ import annotations

import logging
import sys
import time
from typing import Final

import msgspec

from mesh.process.workshop_process import LOG_FORMAT, WorkLimits, serve
from peers.crawler.fetching.content_encoding import Undecodable, decode_beginning
from peers.crawler.model.messages import ParsePage, ParseRobots
from peers.crawler.model.page_tasks import (
    Answer,
    BeginningDecoded,
    DecodeBeginning,
    ListWanted,
    NotDecoded,
    Order,
    ParserAnswer,
    ParseWatched,
    decode_task,
    encode,
    given_up,
)
from peers.crawler.model.web_request import FailureReason
from peers.crawler.parsing.extraction import FindWatched, extract, extract_again, read_robots
from peers.crawler.parsing.page_reader import read_nothing
from peers.crawler.parsing.parser import ParsedPage
from peers.documents.reader import read_document
from peers.storage.messages import ParseRecords
from peers.watch.watched import PageWatch

COMMAND: Final = (sys.executable, "-P", "-m", "peers.crawler.parsing.page_process")
# The dearest pages that the limits of `parser` and `content_encoding` let through take about a second.
LIMITS: Final = WorkLimits(cpu_s=10.0, memory_bytes=1 << 30)

logger = logging.getLogger(__name__)


def carry_out(encoded: bytes) -> bytes:
    """Answer one order. Never raises: an error of our code must cost one page, and not the process."""
    order = decode_task(encoded)
    # There is one thread; that of the process moves by ticks while it has a limit.
    began_s = time.thread_time()
    try:
        if isinstance(order, ParseWatched) and order.body and order.digest != _watch.digest:
            _watch.take(order)
            began_s = time.thread_time()  # the page has no part in what a new list costs
        answer = _answer(order)
        if isinstance(answer, ParserAnswer):
            answer = msgspec.structs.replace(answer, cpu_s=time.thread_time() - began_s)
        return encode(answer)
    except MemoryError:
        reason = FailureReason.EXHAUSTING
    except Exception:
        logger.exception("page not worked on url=%s", getattr(order, "url", "robots.txt"))
        reason = FailureReason.PARSER
    if isinstance(order, DecodeBeginning):
        return encode(NotDecoded(reason))
    cost = time.thread_time() - began_s
    return encode(msgspec.structs.replace(given_up(order, reason), cpu_s=cost))


def _answer(order: Order) -> Answer:
    match order:
        case ParsePage(page, visit, is_unread, finds_ftp):
            read = read_nothing if is_unread else read_document
            return extract(page, visit, read, finds_ftp=finds_ftp)
        case ParseWatched(ParsePage(page, visit, is_unread, finds_ftp), digest=digest):
            if digest != _watch.digest:
                return ListWanted()
            read = read_nothing if is_unread else read_document
            return extract(page, visit, read, _watch.find, finds_ftp=finds_ftp)
        case ParseRecords():
            return extract_again(order, read_nothing if order.is_unread else read_document)
        case ParseRobots():
            return read_robots(order)
        case DecodeBeginning(body, codings, n_bytes):
            try:
                return BeginningDecoded(*decode_beginning(body, codings, n_bytes))
            except Undecodable as error:
                return NotDecoded(str(error))


class _Watch:
    """The automaton of the watch list that came last."""

    def __init__(self) -> None:
        self.digest = b""
        self.find: FindWatched | None = None

    def take(self, order: ParseWatched) -> None:
        """Build that of a list; the one before goes first. Its modules are loaded with the first."""
        from peers.watch.matcher import Matcher
        from peers.watch.watch_list import list_in

        self.digest, self.find = order.digest, None
        try:
            matcher = Matcher(order.number, list_in(order.body).entries)
        except Exception:  # as below
            logger.exception("watch list not used number=%d", order.number)
            return

        def find(page: ParsedPage) -> PageWatch | None:
            try:
                return matcher.watch(page.title, page.text, is_quotable=not page.is_nosnippet)
            except Exception:  # an error of our code must cost notices, and no page
                logger.exception("page not searched for watched words url=%s", page.url)
                return None

        self.find = find


_watch: Final = _Watch()


if __name__ == "__main__":
    logging.basicConfig(format=LOG_FORMAT)
    serve(carry_out, LIMITS)
