"""A process of the crawler's `mesh.process.workshop`: `python -m peers.crawler.parsing.page_process`. [io]

It takes pages apart and undoes content codings. It loads neither numpy nor anything of the network: a
process has 18 MB of its own.
"""

from __future__ import annotations

import logging
import sys
import time
from collections.abc import Callable
from typing import Final, Generic, TypeAlias, TypeVar

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
    SoughtList,
    decode_task,
    encode,
    given_up,
)
from peers.crawler.model.web_request import FailureReason
from peers.crawler.parsing.extraction import Sought, extract, extract_again, read_robots
from peers.crawler.parsing.page_reader import read_nothing
from peers.crawler.parsing.parser import ParsedPage
from peers.documents.reader import read_document
from peers.storage.messages import ParseRecords
from peers.topics.topic_list import TopicMarks
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
        if isinstance(order, ParseWatched) and _lists.take(order):
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
        case ParseWatched(ParsePage(page, visit, is_unread, finds_ftp)):
            if not _lists.are_those_of(order):
                return ListWanted()
            read = read_nothing if is_unread else read_document
            return extract(page, visit, read, _lists.find, finds_ftp=finds_ftp)
        case ParseRecords():
            return extract_again(order, read_nothing if order.is_unread else read_document)
        case ParseRobots():
            return read_robots(order)
        case DecodeBeginning(body, codings, n_bytes):
            try:
                return BeginningDecoded(*decode_beginning(body, codings, n_bytes))
            except Undecodable as error:
                return NotDecoded(str(error))


Found = TypeVar("Found")
Find: TypeAlias = Callable[[ParsedPage], Found]


class _Automaton(Generic[Found]):
    """The automaton of the list of one kind that came last."""

    def __init__(self, called: str, build: Callable[[SoughtList], Find[Found]]) -> None:
        self._called, self._build = called, build
        self._find: Find[Found] | None = None
        self.digest = b""

    def take(self, sought: SoughtList) -> bool:
        """Build that of a list, unless it is here; the one before goes first."""
        if sought.digest == self.digest or (sought.digest and not sought.body):
            return False
        self.digest, self._find = sought.digest, None
        try:
            self._find = self._build(sought) if sought.body else None
        except Exception:  # as below
            logger.exception("%s not used number=%d", self._called, sought.number)
        return True

    def find(self, page: ParsedPage) -> Found | None:
        """Return the strings of the list in a page."""
        if self._find is None:
            return None
        try:
            return self._find(page)
        except Exception:  # an error of our code must cost notices and counts, and no page
            logger.exception("page not searched for %s url=%s", self._called, page.url)
            return None


class _Lists:
    """The automatons of all lists. Their modules are loaded with the first list."""

    def __init__(self) -> None:
        self._watch = _Automaton("watch list", _find_watched)
        self._topics = _Automaton("topics", _find_topics)

    def take(self, order: ParseWatched) -> bool:
        is_new = self._watch.take(order.watch)
        return self._topics.take(order.topics) or is_new

    def are_those_of(self, order: ParseWatched) -> bool:
        return (self._watch.digest, self._topics.digest) == (order.watch.digest, order.topics.digest)

    def find(self, page: ParsedPage) -> Sought:
        return Sought(self._watch.find(page), self._topics.find(page))


def _find_watched(sought: SoughtList) -> Find[PageWatch | None]:
    from peers.watch.matcher import Matcher
    from peers.watch.watch_list import list_in

    matcher = Matcher(sought.number, list_in(sought.body).entries)
    return lambda page: matcher.watch(page.title, page.text, is_quotable=not page.is_nosnippet)


def _find_topics(sought: SoughtList) -> Find[TopicMarks]:
    from peers.topics.string_matcher import StringMatcher
    from peers.topics.topic_list import list_in

    matcher = StringMatcher(sought.digest, list_in(sought.body))
    return lambda page: matcher.marks(page.title, page.text)


_lists: Final = _Lists()


if __name__ == "__main__":
    logging.basicConfig(format=LOG_FORMAT)
    serve(carry_out, LIMITS)
