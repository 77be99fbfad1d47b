"""The port "fetcher": one task per fetch the controller asks for, 10 us each to start. [io]"""

from __future__ import annotations

import logging
from math import inf
from typing import ClassVar, NamedTuple, Protocol

import trio

from mesh.actors.actor import Address, Message
from mesh.actors.port import Deliver
from mesh.errors import LocalProtocolError
from mesh.process.workshop import Answer, Workshop, WorkshopFault
from peers.crawler.fetching.content_encoding import Decoded, Undecodable
from peers.crawler.fetching.fetcher import DecodeBeginning, Fetcher
from peers.crawler.model import page_tasks
from peers.crawler.model.messages import AddressLent, LeasesLost
from peers.crawler.model.page_tasks import BeginningDecoded, NotDecoded, decode_answer, encode
from peers.crawler.model.web_request import AbandonFetches, FailureReason, FetchFailed, FetchPage, FetchResult

CLEANING_S = 5.0  # how often idle connections are looked through when nothing is fetched

logger = logging.getLogger(__name__)


class Renders(Protocol):
    """Shows pages in a browser that have to be; see `rendering.renderer`."""

    async def run(self) -> None: ...

    async def rendered(self, request: FetchPage, fetched: FetchResult) -> FetchResult: ...


class _Order(NamedTuple):
    actor: str  # that wants it
    request: FetchPage
    scope: trio.CancelScope  # ends it


class FetcherPort:
    """Runs as many fetches at a time as the controller lets be in flight, where addresses are lent to us."""

    name: ClassVar[str] = "fetcher"

    def __init__(self, me: str, fetcher: Fetcher, renderer: Renders | None = None) -> None:
        self._address = Address(me, self.name)
        self._fetcher = fetcher
        self._renderer = renderer
        self._orders, self._inbox = trio.open_memory_channel[_Order | AddressLent | LeasesLost](float("inf"))
        self._scopes: set[trio.CancelScope] = set()  # of the fetches ordered and not answered

    def receive(self, source: Address, message: Message) -> None:
        match message:
            case FetchPage():
                scope = trio.CancelScope(deadline=trio.current_time() + message.within_s)
                self._scopes.add(scope)
                self._orders.send_nowait(_Order(source.actor, message, scope))
            case AddressLent() | LeasesLost():
                self._orders.send_nowait(message)
            case AbandonFetches():
                for scope in self._scopes:
                    scope.cancel()
            case _:
                raise LocalProtocolError(f"the fetcher got a {type(message).__name__}")

    async def run(self, deliver: Deliver) -> None:
        try:
            async with trio.open_nursery() as nursery:
                nursery.start_soon(self._close_idle)
                if self._renderer is not None:
                    nursery.start_soon(self._renderer.run)
                async for order in self._inbox:
                    match order:
                        case AddressLent():
                            self._fetcher.turns.lend(order, trio.current_time())
                            self._tell_lessor(deliver)
                        case LeasesLost():
                            self._fetcher.turns.drop_leases(trio.current_time())
                            self._tell_lessor(deliver)
                        case _:
                            nursery.start_soon(self._fetch, deliver, *order)
        finally:
            self._fetcher.close()

    async def _fetch(self, deliver: Deliver, actor: str, request: FetchPage, scope: trio.CancelScope) -> None:
        result: FetchResult = FetchFailed(request.url, FailureReason.UNLICENSED)
        try:
            with scope:
                result = await self._fetcher.fetch(request)
                if self._renderer is not None and request.within_s == inf:
                    result = await self._renderer.rendered(request, result)
        except Exception:  # a bug of ours, found by what a server sent; it must cost that URL only
            logger.exception("not fetched url=%s", request.url)
            result = FetchFailed(request.url, FailureReason.FETCHER)
        finally:
            self._scopes.discard(scope)
        deliver(self._address, actor, result)
        self._tell_lessor(deliver)

    def _tell_lessor(self, deliver: Deliver) -> None:
        for message in self._fetcher.turns.take_orders():
            deliver(self._address, "lessor", message)

    async def _close_idle(self) -> None:
        while True:
            await trio.sleep(CLEANING_S)
            self._fetcher.close_idle()


def decoding_in(workshop: Workshop) -> DecodeBeginning:
    """Return a function that undoes content codings in the processes of a workshop."""

    async def decode_beginning(body: bytes, codings: str, n_bytes: int) -> Decoded:
        answers: list[Answer] = []
        await workshop.carry_out([encode(page_tasks.DecodeBeginning(body, codings, n_bytes))], answers.append)
        (answer,) = answers
        if isinstance(answer, WorkshopFault):
            raise Undecodable(f"its decoding ended by {answer}")
        match decode_answer(answer):
            case BeginningDecoded(body, is_whole):
                return Decoded(body[:n_bytes], is_whole)
            case NotDecoded(detail):
                raise Undecodable(detail)
        raise Undecodable("its process talks nonsense")

    return decode_beginning
