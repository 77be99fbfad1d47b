"""The live ports of the crawler: orders in, answers out, and what may go wrong costs one page."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import cast

import pytest
import trio

from mesh.actor import Address, Message
from mesh.errors import LocalProtocolError
from mesh.membership.wire_messages import Ping
from mesh.port import Port
from peers.crawler import parser_port
from peers.crawler.extraction import extract
from peers.crawler.fetcher import Fetcher
from peers.crawler.fetcher_port import CLEANING_S, FetcherPort
from peers.crawler.messages import PageParsed, ParseFailed, ParsePage
from peers.crawler.parser_port import PAGES_PER_TRIP, ParserPort
from peers.crawler.web_request import (
    AbandonFetches,
    FailureReason,
    FetchFailed,
    FetchPage,
    FetchResult,
    PageFetched,
)
from peers.storage.messages import ParseRecords, RecordsParsed
from tests.helpers import ME, fetched, seen

CONTROLLER = Address(ME, "controller")
HTML = b"<title>t</title><a href=/x>x</a>"


def url_of(number: int) -> str:
    return f"http://a.test/{number}"


class Inbox:
    """What a port delivered."""

    def __init__(self) -> None:
        self.delivered: list[tuple[Address, str, Message]] = []
        self._news = trio.Event()

    def deliver(self, source: Address, actor: str, message: Message) -> None:
        self.delivered.append((source, actor, message))
        self._news.set()

    async def holds(self, n: int) -> list[Message]:
        with trio.fail_after(30):
            while len(self.delivered) < n:
                self._news = trio.Event()
                await self._news.wait()
        return [message for _, _, message in self.delivered]


@asynccontextmanager
async def running(port: Port) -> AsyncIterator[Inbox]:
    inbox = Inbox()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(port.run, inbox.deliver)
        yield inbox
        nursery.cancel_scope.cancel()


# --- Parser ---


@pytest.mark.parametrize("threads", [1, 3])
async def test_pages_are_taken_apart_for_who_ordered_it(threads: int) -> None:
    port = ParserPort(ME, threads)
    n = 5 * PAGES_PER_TRIP + 3
    async with running(port) as inbox:
        for number in range(n):
            port.receive(CONTROLLER, ParsePage(fetched(url_of(number), body=HTML), 1))
        messages = await inbox.holds(n)
        assert {message.url for message in messages if isinstance(message, PageParsed)} == {
            url_of(number) for number in range(n)
        }
        assert {(source, actor) for source, actor, _ in inbox.delivered} == {
            (Address(ME, "parser"), "controller")
        }


async def test_one_thread_answers_in_the_order_of_the_orders() -> None:
    port = ParserPort(ME, 1)
    async with running(port) as inbox:
        for number in range(20):
            port.receive(CONTROLLER, ParsePage(fetched(url_of(number), body=HTML), 1))
        messages = await inbox.holds(20)
    assert [cast(PageParsed, message).url for message in messages] == [url_of(number) for number in range(20)]


async def test_records_are_taken_apart_for_the_cell() -> None:
    port = ParserPort(ME, 1)
    page = extract(fetched(url_of(1), body=HTML), 1)
    assert isinstance(page, PageParsed)
    async with running(port) as inbox:
        port.receive(Address(ME, "cell"), ParseRecords(url_of(1), seen(7.0), page.records))
        await inbox.holds(1)
    ((_, actor, answer),) = inbox.delivered
    assert actor == "cell"
    assert isinstance(answer, RecordsParsed)
    assert answer.document is not None
    assert answer.document.title == "t"


async def test_a_page_that_breaks_the_parser_costs_that_page_only(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def breaks(page: PageFetched, visit: int) -> PageParsed | ParseFailed:
        if page.url == url_of(1):
            raise ZeroDivisionError("a bug of ours")
        return extract(page, visit)

    monkeypatch.setattr(parser_port, "extract", breaks)
    port = ParserPort(ME, 1)
    with caplog.at_level(logging.ERROR):
        async with running(port) as inbox:
            for number in range(3):
                port.receive(CONTROLLER, ParsePage(fetched(url_of(number), body=HTML), 1))
            messages = await inbox.holds(3)
    assert messages[1] == ParseFailed(url_of(1), FailureReason.PARSER)
    assert isinstance(messages[0], PageParsed)
    assert isinstance(messages[2], PageParsed)
    assert "page not parsed url=http://a.test/1" in caplog.text
    assert "ZeroDivisionError" in caplog.text


async def test_records_that_break_the_parser_have_nothing_to_index(caplog: pytest.LogCaptureFixture) -> None:
    port = ParserPort(ME, 1)
    async with running(port) as inbox:
        port.receive(Address(ME, "cell"), ParseRecords(url_of(1), seen(7.0), b"no records"))
        assert await inbox.holds(1) == [RecordsParsed(url_of(1), seen(7.0), None)]


async def test_the_parser_ends_when_it_is_told_with_orders_left_over() -> None:
    port = ParserPort(ME, 1)
    with trio.fail_after(30):
        async with running(port) as inbox:
            for number in range(200):
                port.receive(CONTROLLER, ParsePage(fetched(url_of(number), body=HTML), 1))
            await inbox.holds(1)
    assert len(inbox.delivered) < 200


def test_orders_that_no_port_knows_are_our_bug() -> None:
    ports: list[Port] = [ParserPort(ME, 1), FetcherPort(ME, cast(Fetcher, FakeFetcher()))]
    for port in ports:
        with pytest.raises(LocalProtocolError, match="got a Ping"):
            port.receive(CONTROLLER, Ping(1))


# --- Fetcher ---


class FakeFetcher:
    """Answers when it is told to."""

    def __init__(self) -> None:
        self.may_answer = trio.Event()
        self.asked: list[str] = []
        self.cleanings = 0
        self.is_closed = False

    async def fetch(self, request: FetchPage) -> FetchResult:
        self.asked.append(request.url)
        await self.may_answer.wait()
        if request.url.endswith("/bug"):
            raise ZeroDivisionError("a bug of ours")
        return fetched(request.url)

    def close_idle(self) -> None:
        self.cleanings += 1

    def close(self) -> None:
        self.is_closed = True


async def test_fetches_run_beside_each_other_and_answer_who_asked(autojump_clock: trio.abc.Clock) -> None:
    fetcher = FakeFetcher()
    port = FetcherPort(ME, cast(Fetcher, fetcher))
    async with running(port) as inbox:
        for number in range(50):
            port.receive(CONTROLLER, FetchPage(url_of(number)))
        await trio.sleep(1)
        assert sorted(fetcher.asked) == sorted(url_of(number) for number in range(50))
        fetcher.may_answer.set()
        messages = await inbox.holds(50)
    assert {cast(PageFetched, message).url for message in messages} == set(fetcher.asked)
    assert {(source, actor) for source, actor, _ in inbox.delivered} == {
        (Address(ME, "fetcher"), "controller")
    }


async def test_abandoned_fetches_end_at_once_and_later_ones_are_made(autojump_clock: trio.abc.Clock) -> None:
    fetcher = FakeFetcher()
    port = FetcherPort(ME, cast(Fetcher, fetcher))
    async with running(port) as inbox:
        port.receive(CONTROLLER, FetchPage(url_of(1)))
        await trio.sleep(1)
        port.receive(CONTROLLER, FetchPage(url_of(2)))  # not even begun
        port.receive(CONTROLLER, AbandonFetches())
        broken_off = await inbox.holds(2)
        assert broken_off == [FetchFailed(url_of(number), FailureReason.UNLICENSED) for number in (1, 2)]
        fetcher.may_answer.set()
        port.receive(CONTROLLER, FetchPage(url_of(3)))
        messages = await inbox.holds(3)
    assert [cast(PageFetched, message).url for message in messages[2:]] == [url_of(3)]


async def test_an_answer_that_breaks_the_fetcher_costs_that_url_only(
    caplog: pytest.LogCaptureFixture,
) -> None:
    fetcher = FakeFetcher()
    fetcher.may_answer.set()
    port = FetcherPort(ME, cast(Fetcher, fetcher))
    with caplog.at_level(logging.ERROR):
        async with running(port) as inbox:
            port.receive(CONTROLLER, FetchPage("http://a.test/bug"))
            port.receive(CONTROLLER, FetchPage(url_of(1)))
            messages = await inbox.holds(2)
    assert FetchFailed("http://a.test/bug", FailureReason.FETCHER) in messages
    assert fetched(url_of(1)) in messages
    assert "ZeroDivisionError" in caplog.text


async def test_idle_connections_are_looked_through_now_and_then(autojump_clock: trio.abc.Clock) -> None:
    fetcher = FakeFetcher()
    async with running(FetcherPort(ME, cast(Fetcher, fetcher))):
        await trio.sleep(3.5 * CLEANING_S)
    assert fetcher.cleanings == 3


async def test_cancelled_fetches_answer_nothing_and_connections_are_closed(
    autojump_clock: trio.abc.Clock,
) -> None:
    fetcher = FakeFetcher()
    port = FetcherPort(ME, cast(Fetcher, fetcher))
    async with running(port) as inbox:
        port.receive(CONTROLLER, FetchPage(url_of(1)))
        await trio.sleep(1)
    assert fetcher.asked
    assert inbox.delivered == []
    assert fetcher.is_closed
