"""The virtual twins of a peer's ports: same names, same messages, virtual time, nothing behind them.

They answer as the live ports do when nothing goes wrong with the machine. What takes time live takes as long
here as the `hardware` says; pages have no bodies, so the records and texts they become are short.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar, Final, NamedTuple, Protocol

from msgspec.structs import replace
from xxhash import xxh3_64_digest

from mesh.actors.actor import Address, Message
from mesh.actors.port import BACKGROUND, CarriedOut, CarryOut
from mesh.errors import LocalProtocolError
from mesh.keys.decree import TOPICS, WATCH
from mesh.membership.model.messages import DecreesInForce
from mesh.stamp import Stamp
from mesh.trace import TracedPage
from mesh.urls import host_of
from peers.crawler.addresses.address_queues import AddressQueues
from peers.crawler.fetching.recorder import traced
from peers.crawler.model.messages import (
    AddressLent,
    LeasesLost,
    PageParsed,
    ParsePage,
    ParseRobots,
    RecordPage,
)
from peers.crawler.model.web_request import AbandonFetches, FailureReason, FetchFailed, FetchPage, PageFetched
from peers.crawler.model.wire_messages import FoundLink
from peers.crawler.parsing.extraction import read_robots
from peers.engine.pages.document import Document
from peers.index.answerer import Answerer, IndexView
from peers.index.messages import AdoptDocuments, AnswerQuestion, CommitDocuments
from peers.storage.ledger.extent import Extent
from peers.storage.messages import (
    AppendBulk,
    AppendRecords,
    BulkAppended,
    ExtentsRead,
    PageStored,
    ParseRecords,
    ReadExtents,
    ReadRecords,
    RecordsAppended,
    RecordsParsed,
    RecordsRead,
    RemoveSegments,
    SegmentsRemoved,
    StorePage,
)
from peers.topics.string_matcher import StringMatcher
from peers.topics.topic_list import TopicMarks, TopicsInForce, topics_of
from peers.watch.matcher import Matcher
from peers.watch.watch_list import WatchInForce, watch_of
from peers.watch.watched import PageWatch
from simulations.webs.web import Served, Web
from simulations.world.hardware import LIMITLESS, Hardware
from simulations.world.world import PortAnswer

_IP: Final = "203.0.113.1"  # RFC 5737: for documentation
_ABANDONED: Final = FailureReason.UNLICENSED


class VirtualBackground:
    """Port `background`: work is done while others wait, and takes no time of the virtual clock."""

    name = BACKGROUND

    def receive(self, source: Address, message: Message, now: float) -> list[PortAnswer]:
        if not isinstance(message, CarryOut):
            raise LocalProtocolError(f"{source} sent a {type(message).__name__} to the background")
        return [PortAnswer(0.0, source, CarriedOut(message.ticket, message.work()))]


class LoggedRequest(NamedTuple):
    """A line of the log of all web servers."""

    at_s: float  # virtual clock, when the request came
    until_s: float  # when the answer was complete
    url: str
    peer: str
    status: int  # HTTP; 0 when there was no answer


class VirtualFetcher:
    """Port `fetcher` over a virtual web; writes the log that the web's servers would write."""

    name = "fetcher"

    def __init__(self, peer: str, web: Web, log: list[LoggedRequest], hardware: Hardware = LIMITLESS) -> None:
        self._here = Address(peer, self.name)
        self._hardware = hardware
        self._web = web
        self._log = log
        self._n_fetches = 0
        self._fetching: dict[
            int, tuple[str, PortAnswer]
        ] = {}  # by number: where, and what is said at the end
        self._turns = AddressQueues(lambda address: True, is_leasing=True)

    def receive(self, source: Address, message: Message, now: float) -> list[PortAnswer]:
        answers = list(self._carry_out(source, message, now))
        orders = self._turns.take_orders()
        if orders:
            lessor = Address(self._here.peer, "lessor")
            answers += [PortAnswer(0.0, lessor, order) for order in orders]
        return answers

    def dated(self, now: float) -> float:
        """Return the time on the wall clock."""
        return now

    def _carry_out(self, source: Address, message: Message, now: float) -> Iterable[PortAnswer]:
        match message:
            case FetchPage():
                return (self._fetch(source, message, now),)
            case _FetchEnds(number):
                if number not in self._fetching:
                    return ()
                ip, answer = self._fetching.pop(number)
                self._turns.release(ip, now)
                return (answer,)
            case AbandonFetches():
                abandoned = [
                    answer._replace(delay_s=0.0, message=FetchFailed(_url_of(answer.message), _ABANDONED))
                    for _, answer in self._fetching.values()
                ]
                for ip, _ in self._fetching.values():
                    self._turns.release(ip, now)
                self._fetching.clear()
                return abandoned
            case AddressLent():
                self._turns.lend(message, now)
                return ()
            case LeasesLost():
                self._turns.drop_leases(now)
                return ()
        raise _misunderstood(self, message)

    def _fetch(self, source: Address, request: FetchPage, now: float) -> PortAnswer:
        url, delay_s, rules = request.url, request.delay_s, request.address_rules
        served = self._web.serve(url)
        if rules is not None:
            ip = served.ip or _IP
            verdict = rules.at(ip)
            if not verdict.is_to_ask:
                pause_s = 0.0 if verdict.reason else verdict.pause_s
                failed = FetchFailed(url, FailureReason.POLICY, verdict.reason, pause_s, ip)
                return PortAnswer(0.0, source, failed)
            delay_s = verdict.delay_s
        if served.ip and not self._turns.take(served.ip, host_of(url), delay_s, now):
            pause_s = self._turns.book((served.ip,), host_of(url), delay_s, now)
            return PortAnswer(0.0, source, FetchFailed(url, FailureReason.ADDRESS_BUSY, "", pause_s))
        received_s = self._hardware.receive(served.n_bytes, now)
        if received_s > served.seconds:
            served = served._replace(seconds=received_s)
        if served.seconds > request.within_s:
            served = cut(served, request)
        at_s = self.dated(now)
        self._log.append(LoggedRequest(at_s, at_s + served.seconds, url, self._here.peer, served.status))
        is_known = bool(request.etag) and request.etag == served.etag
        result: Message = _not_modified(url, served, at_s) if is_known else _fetched(url, served, at_s)
        if served.failure is not None:
            result = FetchFailed(url, served.failure)
        self._n_fetches += 1
        self._fetching[self._n_fetches] = served.ip, PortAnswer(0.0, source, result)
        return PortAnswer(served.seconds, self._here, _FetchEnds(self._n_fetches))


def cut(served: Served, request: FetchPage) -> Served:
    """Return the part of an answer that comes in time: all of it, or nothing."""
    if served.seconds <= request.within_s:
        return served
    return served._replace(status=0, seconds=request.within_s, n_bytes=0, failure=_ABANDONED)


def _url_of(result: Message) -> str:
    assert isinstance(result, PageFetched | FetchFailed)
    return result.url


class _FetchEnds(Message, frozen=True):
    """The fetcher to itself: that fetch is over, unless it was abandoned."""

    number: int


class VirtualParser:
    """Port `parser`: asks the web itself for a page's content; a robots.txt has a body, which is read."""

    name = "parser"
    hears_decrees: ClassVar[bool] = False  # is it told of topics and of a watch, as the live port is?

    def __init__(self, web: Web, *, has_documents: bool = True, hardware: Hardware = LIMITLESS) -> None:
        self._web = web
        self._hardware = hardware
        self._has_documents = has_documents
        self.watch: WatchInForce | None = None  # may be set
        self.topics: TopicsInForce | None = None  # likewise
        # What these are found by, made once for each of them.
        self._matcher: tuple[WatchInForce, Matcher] | None = None
        self._strings: tuple[TopicsInForce, StringMatcher] | None = None

    def receive(self, source: Address, message: Message, now: float) -> Iterable[PortAnswer]:
        match message:
            case ParsePage(page, visit):
                url, stamp = page.url, Stamp(visit, page.started_at)
                is_there = page.status == 200
                has_document = is_there and self._has_documents
                document = self.document(url, stamp, page.body) if has_document else None
                links = self._links(url) if is_there else ()
                digest = xxh3_64_digest(page.body)
                records, mark = self.records(url, stamp, page.body), self.text_mark(url)
                watched = None if document is None else self._watched_in(document)
                parsed = PageParsed(url, records, document, links, digest, text_mark=mark, watched=watched)
                if self.topics is not None and document is not None:
                    parsed = replace(parsed, topics=self._marks_in(self.topics, document))
                return (PortAnswer(self._hardware.parse(now), source, parsed),)
            case ParseRecords(url, stamp, records):
                document = self.document(url, stamp, self.body_in(records))
                parsed_s = self._hardware.parse(now)
                return (PortAnswer(parsed_s, source, RecordsParsed(url, stamp, document)),)
            case ParseRobots():
                return (PortAnswer(self._hardware.parse(now), source, read_robots(message)),)
            case DecreesInForce(kind, decrees):
                if kind == TOPICS:
                    self.topics = topics_of(decrees, self.topics)
                elif kind == WATCH:
                    self.watch = watch_of(decrees, self.watch)
                return ()
        raise _misunderstood(self, message)

    def _watched_in(self, document: Document) -> PageWatch | None:
        if self.watch is None:
            return None
        if self._matcher is None or self._matcher[0] is not self.watch:
            self._matcher = self.watch, Matcher(self.watch.number, self.watch.entries)
        return self._matcher[1].watch(document.title, document.text)

    def _marks_in(self, topics: TopicsInForce, document: Document) -> TopicMarks:
        if self._strings is None or self._strings[0] is not topics:
            self._strings = topics, StringMatcher(topics.digest, topics.list)
        return self._strings[1].marks(document.title, document.text)

    def _links(self, url: str) -> tuple[FoundLink, ...]:
        """Where no document takes up the texts of links there are none."""
        if self._has_documents:
            return self._web.links(url)
        return tuple([FoundLink(target) for target in self._web.targets(url)])

    def records(self, url: str, stamp: Stamp, body: bytes) -> bytes:
        """Stands for the WARC records of a page with this body."""
        return records_of(url)

    def body_in(self, records: bytes) -> bytes:
        """The body that records stand for."""
        return b""

    def text_mark(self, url: str) -> int:
        """The mark of the text of a page; 0 where that is not known."""
        return 0

    def document(self, url: str, stamp: Stamp, body: bytes) -> Document | None:
        """Stands for the document of a page; None when it asks not to be indexed."""
        return document_of(url, stamp)


class VirtualArchive:
    """Port `archive`: knows the URLs and places of records, but not the bytes, which follow from the URL."""

    name = "archive"

    def __init__(self, hardware: Hardware = LIMITLESS) -> None:
        self.hardware = hardware
        self.pages: dict[str, int] = {}  # URL to how many times it was appended, in order of appending
        self.n_bytes = 0
        self._places: dict[int, str] = {}  # offset to the URL of what is there

    def receive(self, source: Address, message: Message, now: float) -> Iterable[PortAnswer]:
        match message:
            case AppendRecords(url, stamp, records):
                place = self._append(url, len(records))
                appended = RecordsAppended(url, stamp, place.segment, place.offset, place.length)
                return (PortAnswer(self.hardware.sync(now), source, appended),)
            case AppendBulk(ticket, items):
                places = tuple(self._append(_url_in(bytes(item)), len(item)) for item in items)
                return (PortAnswer(self.hardware.sync(now), source, BulkAppended(ticket, places)),)
            case ReadRecords(url, stamp):
                records = records_of(url) if url in self.pages else b""
                return (PortAnswer(0.0, source, RecordsRead(url, stamp, records)),)
            case ReadExtents(ticket, extents):
                bulk = b"".join(records_of(self._places[extent.offset]) for extent in extents)
                return (PortAnswer(0.0, source, ExtentsRead(ticket, bulk, (True,) * len(extents))),)
            case RemoveSegments(segments):
                return (PortAnswer(0.0, source, SegmentsRemoved(segments)),)
        raise _misunderstood(self, message)

    def _append(self, url: str, length: int) -> Extent:
        place = Extent(1, self.n_bytes, length)
        self._places[self.n_bytes] = url
        self.n_bytes += length
        self.pages[url] = self.pages.get(url, 0) + 1
        return place


class VirtualCell:
    """Stands for the cell of a peer without documents: that a page is stored is all that is noted of it."""

    name = "cell"

    def __init__(self, archive: VirtualArchive) -> None:
        self._pages, self._hardware = archive.pages, archive.hardware

    def receive(self, source: Address, message: Message, now: float) -> Iterable[PortAnswer]:
        match message:
            case StorePage(page):
                self._pages[page.url] = self._pages.get(page.url, 0) + 1
                stored = PageStored(page.url, page.stamp)
                return (PortAnswer(self._hardware.sync(now), source, stored),)
        return ()


class IndexTwin(Protocol):
    """`peers.index.segments_twin.SegmentsTwin` over an index in memory, or a `CountingIndex`."""

    def receive(self, message: Message) -> list[tuple[str, Message]]:
        """Carry out an order; return answers with the actors they are for."""


class VirtualSegments:
    """Port `segments`: an index twin that takes time."""

    name = "segments"

    def __init__(self, twin: IndexTwin, hardware: Hardware = LIMITLESS) -> None:
        self._twin = twin
        self._hardware = hardware

    def receive(self, source: Address, message: Message, now: float) -> Iterable[PortAnswer]:
        seconds = 0.0
        if isinstance(message, CommitDocuments):
            seconds = self._hardware.commit(len(message.documents), now)
        elif isinstance(message, AdoptDocuments):
            seconds = self._hardware.commit(0, now)
        return [
            PortAnswer(seconds, Address(source.peer, actor), answer)
            for actor, answer in self._twin.receive(message)
        ]


class VirtualQuestions:
    """Port `questions`: answers each with all the effort that it may cost."""

    name = "questions"

    def __init__(self, index: IndexView, slot_count: int, hardware: Hardware = LIMITLESS) -> None:
        self._answerer = Answerer(index, slot_count)
        self._hardware = hardware

    def receive(self, source: Address, message: Message, now: float) -> Iterable[PortAnswer]:
        match message:
            case AnswerQuestion():
                answer = self._answerer.answer(message).message
                return (PortAnswer(self._hardware.answer(now), source, answer),)
            case DecreesInForce(decrees=decrees):
                self._answerer.follow_classes(decrees)
                return ()
        raise _misunderstood(self, message)


class VirtualRecorder:
    """Port `recorder`: keeps the trace in memory."""

    name = "recorder"

    def __init__(self, pages: list[TracedPage]) -> None:
        """Make a recorder; several may share `pages`."""
        self._pages = pages

    def receive(self, source: Address, message: Message, now: float) -> Iterable[PortAnswer]:
        match message:
            case RecordPage():
                self._pages.append(traced(message))
                return ()
        raise _misunderstood(self, message)


class Listener:
    """A port, or an actor that does not take part, that only listens."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.heard: list[Message] = []

    def receive(self, source: Address, message: Message, now: float) -> Iterable[PortAnswer]:
        self.heard.append(message)
        return ()


_RECORDS: Final = b"records of "


def records_of(url: str) -> bytes:
    """Stands for the WARC records of a page."""
    return _RECORDS + url.encode()


def _url_in(records: bytes) -> str:
    return records.removeprefix(_RECORDS).decode()


def document_of(url: str, stamp: Stamp) -> Document:
    """Stands for the document of a page."""
    path = url[8:].replace("/", " ").replace(".", " ")
    text = f"page {path}\nof a web that does not exist"
    return Document(url, title=f"page {path}", text=text, fetched_at=stamp.fetched_at, visit=stamp.visit)


def _fetched(url: str, served: Served, now: float) -> PageFetched:
    header = ("location", served.location) if served.location else ("content-type", "text/html")
    return PageFetched(
        url=url,
        status=served.status,
        reason_phrase="",
        http_version="1.1",
        headers=(header, ("etag", served.etag)) if served.etag else (header,),
        body=served.body,
        request_head=b"",
        ip=served.ip or _IP,
        started_at=now,
        seconds=served.seconds,
        bytes_received=served.n_bytes,
    )


def _not_modified(url: str, served: Served, now: float) -> PageFetched:
    return _fetched(url, served._replace(status=304, n_bytes=0, body=b""), now)


def _misunderstood(port: object, message: Message) -> LocalProtocolError:
    return LocalProtocolError(f"{type(port).__name__} does not understand {type(message).__name__}")
