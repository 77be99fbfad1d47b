"""The port "parser": takes pages apart in threads of its own, so that none holds up the event loop. [io]"""

from __future__ import annotations

import logging
from collections import deque
from typing import ClassVar, Final, TypeAlias

import trio

from mesh.actor import Address, Message
from mesh.errors import LocalProtocolError
from mesh.port import Deliver
from peers.crawler.extraction import extract, extract_again
from peers.crawler.messages import ParseFailed, ParsePage
from peers.crawler.web_request import FailureReason
from peers.storage.messages import ParseRecords, RecordsParsed

# Pages for one trip to the thread: a trip costs 0.1 ms, a page 2 ms. While one is under way the next
# pages gather by themselves; to wait for them before a trip costs as much as it saves.
PAGES_PER_TRIP: Final = 8

Order: TypeAlias = tuple[str, ParsePage | ParseRecords]

logger = logging.getLogger(__name__)


class ParserPort:
    """Works through its orders with a fixed number of threads."""

    name: ClassVar[str] = "parser"

    def __init__(self, me: str, threads: int) -> None:
        self._address = Address(me, self.name)
        self._threads = threads
        self._orders: deque[Order] = deque()
        self._has_orders = trio.Event()

    def receive(self, source: Address, message: Message) -> None:
        match message:
            case ParsePage() | ParseRecords():
                self._orders.append((source.actor, message))
                self._has_orders.set()
            case _:
                raise LocalProtocolError(f"the parser got a {type(message).__name__}")

    async def run(self, deliver: Deliver) -> None:
        async with trio.open_nursery() as nursery:
            for _ in range(self._threads):
                nursery.start_soon(self._work, deliver)

    async def _work(self, deliver: Deliver) -> None:
        while True:
            await self._has_orders.wait()
            orders = [self._orders.popleft() for _ in range(min(PAGES_PER_TRIP, len(self._orders)))]
            if not self._orders:
                self._has_orders = trio.Event()
            if not orders:
                continue
            answers = await trio.to_thread.run_sync(_carry_out, [order for _, order in orders])
            for (actor, _), answer in zip(orders, answers, strict=True):
                deliver(self._address, actor, answer)


def _carry_out(orders: list[ParsePage | ParseRecords]) -> list[Message]:
    return [_answer(order) for order in orders]


def _answer(order: ParsePage | ParseRecords) -> Message:
    """Never raises: a page that breaks the parser is a bug of ours, and must cost that page only."""
    try:
        return extract(order.page, order.visit) if isinstance(order, ParsePage) else extract_again(order)
    except Exception:
        if isinstance(order, ParsePage):
            logger.exception("page not parsed url=%s", order.page.url)
            return ParseFailed(order.page.url, FailureReason.PARSER)
        logger.exception("records not parsed url=%s", order.url)
        return RecordsParsed(order.url, order.stamp, None)
