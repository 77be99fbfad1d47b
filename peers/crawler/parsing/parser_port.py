"""The port "parser": has pages taken apart in processes of their own, see `mesh.process.workshop`. [io]

A page of 34 kB costs the event loop 0.09 ms for the way there and back, beside 2.0 ms in the process. The
whole path (`tests/benchmarks/bench_whole_path.py`, in turn with threads, on a busy machine) made 148 pages
per CPU-second of all processes, 152 with threads, which had the interpreter's lock while they parsed.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Set
from typing import ClassVar, Final, NamedTuple, TypeAlias

import msgspec
import trio

from mesh.actors.actor import Address, Message
from mesh.actors.port import Deliver
from mesh.domains import registrable_domain
from mesh.errors import LocalProtocolError
from mesh.keys.decree import TOPICS
from mesh.membership.model.messages import DecreesInForce
from mesh.process.workshop import Answer, Workshop, WorkshopFault
from mesh.stamp import Stamp
from mesh.urls import host_of
from peers.crawler.model.messages import PageParsed, ParseFailed, ParsePage, ParseRobots, RobotsParsed
from peers.crawler.model.page_tasks import (
    NO_LIST,
    ListWanted,
    ParserAnswer,
    ParserOrder,
    ParseWatched,
    SoughtList,
    decode_answer,
    encode,
    given_up,
)
from peers.crawler.model.robots import RobotsRules
from peers.crawler.model.web_request import PAGE_MEDIA_TYPES, FailureReason, header_of
from peers.crawler.parsing.parser_queue import ParserQueue
from peers.documents.content import Lack
from peers.documents.formats import named_media_type
from peers.storage.messages import ParseRecords, RecordsParsed
from peers.topics.topic_list import TopicsInForce, topics_of
from peers.watch.watch_list import WatchInForce, watch_of

# What goes to a process at once: a trip costs 0.2 ms, a page 2 ms. While one is under way the next
# pages gather by themselves; to wait for them before a trip costs as much as it saves.
PAGES_PER_TRIP: Final = 8
BYTES_PER_TRIP: Final = 1 << 20  # after the first page; the process holds all of a trip
LIST_WANTED: Final = encode(ListWanted())
FATAL_CPU_S: Final = 10.0  # that who ends a process counts as having had; most have, see `page_process`


class StoredText(NamedTuple):
    """The text of a stored page, for the gateway that shows it."""

    title: str = ""
    text: str = ""  # main text; "" for a page that asks not to be indexed
    lack: Lack | None = None  # why a document has no text
    is_barred: bool = False  # its site asks that no copy of it be shown, or nothing of its text
    base: str = ""  # URL that its links are relative to; "" for its own
    language: str = ""  # primary subtag, "" if it is not known
    published: str = ""  # ISO 8601, as the page says; "" when it does not
    icon: str = ""  # URL of the icon that it names for its site; "" for none


class _Sought(NamedTuple):
    """The lists of strings that are sought in pages."""

    watch: WatchInForce | None = None
    topics: TopicsInForce | None = None

    @property
    def is_anything(self) -> bool:
        return self.watch is not None or self.topics is not None

    def may_say(self, said: PageParsed) -> bool:
        """Are all strings that were found of these lists? A page may have taken its process over."""
        watched, marks = said.watched, said.topics
        if watched is not None:
            watch = self.watch
            if watch is None or watched.number != watch.number:
                return False
            if not watch.names.issuperset(hit.entry for hit in watched.hits):
                return False
        if marks is None:
            return True
        topics = self.topics
        is_of_list = topics is not None and marks.digest == topics.digest
        return is_of_list and topics is not None and all(key in topics.by_key for key, _ in marks.levels)


def _list_of(sought: WatchInForce | TopicsInForce | None, *, has_body: bool) -> SoughtList:
    if sought is None:
        return NO_LIST
    return SoughtList(sought.number, sought.digest, sought.body if has_body else b"")


ReadStored: TypeAlias = Callable[[str, bytes], Awaitable[StoredText]]  # of a URL and its records
Order: TypeAlias = tuple[str, ParserOrder]

logger = logging.getLogger(__name__)


class ParserPort:
    """Works through its orders with the processes of a workshop, which it runs."""

    name: ClassVar[str] = "parser"

    def __init__(self, me: str, workshop: Workshop) -> None:
        self._address = Address(me, self.name)
        self._workshop = workshop
        self._orders: ParserQueue[Order] = ParserQueue()
        self._has_orders = trio.Event()
        self._sought = _Sought()
        self._unlisted: set[tuple[str, int]] = set()  # visits that go again, to a process without the list

    def receive(self, source: Address, message: Message) -> None:
        match message:
            case ParsePage() | ParseRecords() | ParseRobots():
                self._orders.add(_domain_of(message), (source.actor, message))
                self._has_orders.set()
            case DecreesInForce(kind, decrees) if kind == TOPICS:
                self._sought = self._sought._replace(topics=topics_of(decrees, self._sought.topics))
            case DecreesInForce(decrees=decrees):
                self._sought = self._sought._replace(watch=watch_of(decrees, self._sought.watch))
            case _:
                raise LocalProtocolError(f"the parser got a {type(message).__name__}")

    async def run(self, deliver: Deliver) -> None:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self._workshop.run)
            for _ in range(self._workshop.processes_max):
                nursery.start_soon(self._work, deliver)

    async def _work(self, deliver: Deliver) -> None:
        while True:
            await self._has_orders.wait()
            orders = self._next_orders()
            if not self._orders:
                self._has_orders = trio.Event()
            if orders:
                await self._have_carried_out(orders, deliver)

    def _next_orders(self) -> list[Order]:
        orders: list[Order] = []
        n_bytes = 0
        while self._orders and len(orders) < PAGES_PER_TRIP and n_bytes < BYTES_PER_TRIP:
            domain, order = self._orders.take()
            orders.append(order)
            n_bytes += _size_of(order[1])
            if self._orders.is_dear(domain):  # nobody is to wait behind it
                break
        return orders

    async def _have_carried_out(self, orders: list[Order], deliver: Deliver) -> None:
        waiting, sought = iter(orders), self._sought
        encoded = [encode(order) for _, order in orders]
        listed: Set[tuple[str, int]] = frozenset()
        if sought.is_anything:
            listed = self._unlisted.intersection(_visit_of(order) for _, order in orders)
            encoded = [self._encoded(order, sought) for _, order in orders]

        def take(answer: Answer) -> None:
            actor, order = next(waiting)
            if answer == LIST_WANTED and sought.is_anything and _visit_of(order) not in listed:
                self._unlisted.add(_visit_of(order))
                self._charge(order, 0.0)
                self.receive(Address(self._address.peer, actor), order)
            elif (
                isinstance(answer, WorkshopFault)
                and not isinstance(order, ParseRobots)
                and _may_be_read_less(order)
            ):
                logger.warning("document not read, it ended its process url=%s fault=%s", order.url, answer)
                self._charge(order, FATAL_CPU_S)
                self.receive(
                    Address(self._address.peer, actor), msgspec.structs.replace(order, is_unread=True)
                )
            else:
                said = _understood(order, answer)
                if isinstance(said, PageParsed) and not sought.may_say(said):
                    logger.error("page not searched, its process talks nonsense url=%s", said.url)
                    said = msgspec.structs.replace(said, watched=None, topics=None)
                self._charge(order, FATAL_CPU_S if isinstance(answer, WorkshopFault) else said.cpu_s)
                deliver(self._address, actor, said)

        await self._workshop.carry_out(encoded, take)

    def _encoded(self, order: ParserOrder, sought: _Sought) -> bytes:
        """Return an order as a process takes it; lists go with it when that process has asked for them."""
        if not isinstance(order, ParsePage):
            return encode(order)
        visit = _visit_of(order)
        has_bodies = visit in self._unlisted
        self._unlisted.discard(visit)
        lists = (_list_of(each, has_body=has_bodies) for each in sought)
        return encode(ParseWatched(order, *lists))

    def _charge(self, order: ParserOrder, cpu_s: float) -> None:
        self._orders.charge(_domain_of(order), cpu_s)
        if self._orders:
            self._has_orders.set()


def _size_of(order: ParserOrder) -> int:
    match order:
        case ParsePage(page):
            return len(page.body)
        case ParseRobots(_, body) | ParseRecords(_, _, body):
            return len(body)


def _may_be_read_less(order: ParsePage | ParseRecords) -> bool:
    """Tell whether an order that has ended its process may do no harm when no document is read for it.

    Of what came from the archive only a process can tell what it is.
    """
    if isinstance(order, ParseRecords):
        return not order.is_unread
    media_type = named_media_type(header_of(order.page, "content-type"))
    return not order.is_unread and media_type not in PAGE_MEDIA_TYPES


def _visit_of(order: ParserOrder) -> tuple[str, int]:
    return order.url, order.visit if isinstance(order, ParsePage) else 0


def _domain_of(order: ParserOrder) -> str:
    return registrable_domain(host_of(order.url))


def _understood(order: ParserOrder, answer: Answer) -> ParserAnswer:
    """Return the meaning of an answer; the page may have taken over the process that gave it."""
    if isinstance(answer, WorkshopFault):
        logger.warning("page ended the process that took it apart url=%s fault=%s", order.url, answer)
        lost = given_up(order, FailureReason.EXHAUSTING)
        return msgspec.structs.replace(lost, is_fatal=True) if isinstance(lost, ParseFailed) else lost
    try:
        match order, decode_answer(answer):
            case (ParsePage(), PageParsed() | ParseFailed() as said) if _is_of(order.url, said):
                # Said by a process that strangers may have taken over: we know that better.
                is_right = said.is_fatal == order.is_unread
                return said if is_right else msgspec.structs.replace(said, is_fatal=order.is_unread)
            case (ParseRecords(), RecordsParsed() as said) if _is_of(order.url, said):
                return said
            case (ParseRobots(), RobotsParsed() as said) if _is_about(order, said):
                return said
    except msgspec.MsgspecError:
        pass
    logger.error("page not taken apart, its process talks nonsense url=%s", order.url)
    return given_up(order, FailureReason.PARSER)


def _is_of(url: str, said: PageParsed | ParseFailed | RecordsParsed) -> bool:
    """Does an answer speak of this page, and of no other?"""
    document = None if isinstance(said, ParseFailed) else said.document
    return said.url == url and (document is None or document.url == url)


def _is_about(order: ParseRobots, said: RobotsParsed) -> bool:
    return (said.origin, said.judged) == (order.origin, order.judged)


def robots_reading_in(workshop: Workshop) -> Callable[[str, bytes, str], Awaitable[RobotsRules]]:
    """Return a reader of an origin's robots.txt for an agent in a workshop, for a browser's requests."""

    async def read(origin: str, body: bytes, agent: str) -> RobotsRules:
        answers: list[Answer] = []
        order = ParseRobots(origin, body, agent)
        await workshop.carry_out([encode(order)], answers.append)
        said = _understood(order, *answers)
        assert isinstance(said, RobotsParsed)
        return said.rules

    return read


def reading_in(workshop: Workshop) -> ReadStored:
    """Return a reader of stored pages in the processes of a workshop, for a gateway to show them."""

    async def read(url: str, records: bytes) -> StoredText:
        answers: list[Answer] = []
        await workshop.carry_out([encode(ParseRecords(url, Stamp(0, 0.0), records))], answers.append)
        (answer,) = answers
        if isinstance(answer, WorkshopFault):
            return StoredText(lack=Lack.EXHAUSTING)
        said = decode_answer(answer)
        return stored_text(said) if isinstance(said, RecordsParsed) else StoredText(lack=Lack.DAMAGED)

    return read


def stored_text(said: RecordsParsed) -> StoredText:
    """Return the part of an answer that is needed to show the page."""
    if said.document is None:
        return StoredText("", "", said.lack, said.is_barred, said.base, icon=said.icon)
    page = said.document
    about = (page.language, page.published, said.icon)
    return StoredText(page.title, page.text, said.lack, said.is_barred, said.base, *about)
