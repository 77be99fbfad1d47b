"""The live ports of the crawler: orders in, answers out, and what may go wrong costs one page."""

from __future__ import annotations

import gzip
import logging
import sys
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from typing import cast

import pytest
import trio

from mesh.actors.actor import Address, Message
from mesh.actors.port import Port
from mesh.errors import LocalProtocolError
from mesh.membership.model.wire_messages import Ping
from mesh.process.workshop import Answer, Workshop
from peers.crawler.addresses.address_queues import AddressQueues
from peers.crawler.fetching.content_encoding import Decoded, Undecodable
from peers.crawler.fetching.fetcher import Fetcher
from peers.crawler.fetching.fetcher_port import CLEANING_S, FetcherPort, decoding_in
from peers.crawler.model.messages import (
    AddressLent,
    LeasesLost,
    LeaveAddress,
    PageParsed,
    ParseFailed,
    ParsePage,
    ParseRobots,
    RobotsParsed,
    WantAddress,
)
from peers.crawler.model.robots import DISALLOW_FOR_NOW
from peers.crawler.model.web_request import (
    AbandonFetches,
    FailureReason,
    FetchFailed,
    FetchPage,
    FetchResult,
    PageFetched,
)
from peers.crawler.parsing import page_process
from peers.crawler.parsing.extraction import extract, read_robots
from peers.crawler.parsing.parser_port import (
    BYTES_PER_TRIP,
    PAGES_PER_TRIP,
    ParserPort,
    StoredText,
    reading_in,
)
from peers.documents.content import Lack
from peers.storage.messages import ParseRecords, RecordsParsed
from tests.helpers import ME, fetched, free_of_charge, seen
from tests.patience import PATIENCE_S
from tests.peers.documents import files

CONTROLLER = Address(ME, "controller")
URL = "http://a.test/"
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
        with trio.fail_after(PATIENCE_S):
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


def parser_port(processes_max: int = 1, command: Sequence[str] = page_process.COMMAND) -> ParserPort:
    return ParserPort(ME, Workshop(command, processes_max=processes_max))


def crashing_port(pattern: bytes) -> ParserPort:
    """A port whose processes crash at pages that contain `pattern`, as by a bug in libxml2."""
    program = f"""
import os
from peers.crawler.parsing import page_process
def carry_out(order):
    if {pattern!r} in order:
        os.abort()
    return page_process.carry_out(order)
page_process.serve(carry_out, page_process.LIMITS)
"""
    return parser_port(command=(sys.executable, "-c", program))


@pytest.mark.parametrize("processes_max", [1, 3])
async def test_pages_are_taken_apart_for_who_ordered_it(processes_max: int) -> None:
    port = parser_port(processes_max)
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


async def test_a_robots_txt_is_read_in_a_process_and_what_ends_it_forbids_everything(
    caplog: pytest.LogCaptureFixture,
) -> None:
    port = crashing_port(b"killer")
    body = b"User-agent: *\nDisallow: /private\nSitemap: /map.xml\n"
    orders = [ParseRobots("http://a.test", each, "tianmesh", url_of(1)) for each in (body, b"killer" + body)]
    async with running(port) as inbox:
        for order in orders:
            port.receive(CONTROLLER, order)
        messages = await inbox.holds(2)
    said = [read_robots(orders[0]), RobotsParsed("http://a.test", DISALLOW_FOR_NOW)]
    assert list(map(free_of_charge, messages)) == said
    assert "url=http://a.test/robots.txt fault=crash" in caplog.text


async def test_a_process_says_of_a_page_what_the_extraction_says() -> None:
    port = parser_port()
    head = (("Content-Type", "text/html"), ("Content-Encoding", "gzip"), ("X-Latin", "\xe9\x80"))
    pages = [
        fetched(url_of(1), body=HTML),
        fetched(url_of(2), body=gzip.compress(HTML), headers=head, codings="gzip"),
        fetched(url_of(3), body=b"%PDF-1.7"),
        fetched(url_of(4), 404, body=b"\xff\xfe nothing"),
        fetched(url_of(5), body="<p>\U0001f600 &#xD800; \ufffe</p>".encode()),
        fetched(url_of(6), body=b"\1\2", headers=head, codings="gzip"),
    ]
    async with running(port) as inbox:
        for page in pages:
            port.receive(CONTROLLER, ParsePage(page, 7))
        messages = await inbox.holds(len(pages))
    assert all(cast(PageParsed, message).cpu_s > 0.0 for message in messages)
    assert [free_of_charge(message) for message in messages] == [extract(page, 7) for page in pages]


async def test_one_process_answers_in_the_order_of_the_orders() -> None:
    port = parser_port()
    async with running(port) as inbox:
        for number in range(20):
            port.receive(CONTROLLER, ParsePage(fetched(url_of(number), body=HTML), 1))
        messages = await inbox.holds(20)
    assert [cast(PageParsed, message).url for message in messages] == [url_of(number) for number in range(20)]


async def test_domains_take_turns_however_many_pages_one_has_under_whatever_names() -> None:
    port = parser_port()
    many = [f"http://h{number}.many.test/" for number in range(3 * PAGES_PER_TRIP)]
    few = ["http://a.test/1", "http://b.test/1", "http://a.test/2"]
    for url in (*many, *few):
        port.receive(CONTROLLER, ParsePage(fetched(url, body=HTML), 1))
    async with running(port) as inbox:
        messages = await inbox.holds(len(many) + len(few))
    urls = [cast(PageParsed, message).url for message in messages]
    assert urls == [many[0], few[0], few[1], many[1], few[2], *many[2:]]


async def test_large_pages_do_not_travel_together(monkeypatch: pytest.MonkeyPatch) -> None:
    port = parser_port()
    carry_out, trips = Workshop.carry_out, []

    async def noted(self: Workshop, orders: Sequence[bytes], take: Callable[[Answer], None]) -> None:
        trips.append(sum(map(len, orders)))
        await carry_out(self, orders, take)

    monkeypatch.setattr(Workshop, "carry_out", noted)
    async with running(port) as inbox:
        for number in range(6):
            body = HTML + b"<!--" + b"x" * BYTES_PER_TRIP
            port.receive(CONTROLLER, ParsePage(fetched(url_of(number), body=body), 1))
        await inbox.holds(6)
    assert len(trips) == 6
    assert max(trips) < BYTES_PER_TRIP + 1_000


async def test_records_are_taken_apart_for_the_cell() -> None:
    port = parser_port()
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


async def test_a_page_that_crashes_the_parser_costs_that_page_only(caplog: pytest.LogCaptureFixture) -> None:
    port = crashing_port(b"<killer>")
    with caplog.at_level(logging.WARNING):
        async with running(port) as inbox:
            for number in range(3):
                body = HTML + b"<killer>" * (number == 1)
                port.receive(CONTROLLER, ParsePage(fetched(url_of(number), body=body), 1))
            port.receive(Address(ME, "cell"), ParseRecords(url_of(3), seen(7.0), b"<killer>"))
            messages = await inbox.holds(4)
    assert messages[1] == ParseFailed(url_of(1), FailureReason.EXHAUSTING, is_fatal=True)
    assert isinstance(messages[0], PageParsed)
    assert isinstance(messages[2], PageParsed)
    assert messages[3] == RecordsParsed(url_of(3), seen(7.0), None)
    assert "page ended the process that took it apart url=http://a.test/1" in caplog.text


LYING = """
from mesh.process.workshop_process import serve
from peers.crawler.model.messages import PageParsed
from peers.crawler.model.page_tasks import decode_task, encode
from peers.crawler.parsing.page_process import LIMITS
from peers.engine.pages.document import Document
def carry_out(order):
    page = decode_task(order).page
    if page.url.endswith("/1"):
        return encode(PageParsed("http://bank.test/", b"", None, (), bytes(8)))
    if page.url.endswith("/2"):
        return encode(PageParsed(page.url, b"", Document("http://bank.test/"), (), bytes(8)))
    return b"nonsense"
serve(carry_out, LIMITS)
"""


async def test_a_document_that_ends_its_process_is_kept_without_its_text() -> None:
    """Where reading it is what ends the process; a page of HTML that does so is lost, see above."""
    program = """
import os
from peers.crawler.parsing import page_process
page_process.read_document = lambda *_: os.abort()
page_process.serve(page_process.carry_out, page_process.LIMITS)
"""
    port = parser_port(command=(sys.executable, "-c", program))
    page = fetched(URL, body=b"%PDF-1.5", headers=(("Content-Type", "application/pdf"),))
    async with running(port) as inbox:
        port.receive(CONTROLLER, ParsePage(page, 1))
        [parsed] = await inbox.holds(1)
        assert isinstance(parsed, PageParsed)
        assert (parsed.lack, parsed.records != b"", parsed.is_fatal) == (Lack.EXHAUSTING, True, True)
        port.receive(Address(ME, "cell"), ParseRecords(URL, seen(1_000.0, 1), parsed.records))
        assert free_of_charge((await inbox.holds(2))[1]) == RecordsParsed(
            URL, seen(1_000.0, 1), parsed.document, Lack.EXHAUSTING
        )


async def test_a_stored_document_is_read_in_a_process_for_who_shows_it() -> None:
    workshop = Workshop(page_process.COMMAND)
    parsed = extract(fetched(URL, body=files.pdf(files.line("text"))), 1)
    assert isinstance(parsed, PageParsed)
    read = reading_in(workshop)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(workshop.run)
        said = await read(URL, parsed.records)
        assert (said.text, said.lack, said.is_barred) == ("text", None, False)
        assert await read(URL, b"rubbish") == StoredText()  # which the gateway has refused before
        page = extract(fetched(URL, body=b"<meta name=robots content=noarchive>secret"), 1)
        assert isinstance(page, PageParsed)
        assert (await read(URL, page.records)).is_barred
        nursery.cancel_scope.cancel()


async def test_a_process_that_a_page_took_over_cannot_speak_of_other_pages() -> None:
    port = parser_port(command=(sys.executable, "-c", LYING))
    async with running(port) as inbox:
        for number in range(4):
            port.receive(CONTROLLER, ParsePage(fetched(url_of(number), body=HTML), 1))
        messages = await inbox.holds(4)
    assert messages == [ParseFailed(url_of(number), FailureReason.PARSER) for number in range(4)]


async def test_records_that_break_the_parser_have_nothing_to_index() -> None:
    port = parser_port()
    async with running(port) as inbox:
        port.receive(Address(ME, "cell"), ParseRecords(url_of(1), seen(7.0), b"no records"))
        assert list(map(free_of_charge, await inbox.holds(1))) == [RecordsParsed(url_of(1), seen(7.0), None)]


async def test_the_parser_ends_when_it_is_told_with_orders_left_over() -> None:
    port = parser_port()
    with trio.fail_after(PATIENCE_S):
        async with running(port) as inbox:
            for number in range(200):
                port.receive(CONTROLLER, ParsePage(fetched(url_of(number), body=HTML), 1))
            await inbox.holds(1)
    assert len(inbox.delivered) < 200


# --- Decoding of beginnings ---


async def test_beginnings_are_decoded_in_a_process() -> None:
    workshop = Workshop(page_process.COMMAND)
    decode_beginning = decoding_in(workshop)
    async with running(ParserPort(ME, workshop)):
        assert await decode_beginning(gzip.compress(HTML), "gzip", 1_000) == Decoded(HTML, True)
        assert await decode_beginning(gzip.compress(HTML), "gzip", 5) == Decoded(HTML[:5], False)
        with pytest.raises(Undecodable, match="unknown content coding"):
            await decode_beginning(b"\1\2", "compress", 1_000)
        assert workshop.observe().orders == 3


async def test_a_beginning_that_ends_the_process_is_not_decodable() -> None:
    port = crashing_port(b"killer")
    async with running(port):
        with pytest.raises(Undecodable, match="crash"):
            await decoding_in(port._workshop)(b"killer", "gzip", 1_000)


def test_orders_that_no_port_knows_are_our_bug() -> None:
    ports: list[Port] = [parser_port(), FetcherPort(ME, cast(Fetcher, FakeFetcher()))]
    for port in ports:
        with pytest.raises(LocalProtocolError, match="got a Ping"):
            port.receive(CONTROLLER, Ping(1))


# --- Fetcher ---


class FakeFetcher:
    """Answers when it is told to."""

    def __init__(self) -> None:
        self.may_answer = trio.Event()
        self.asked: list[str] = []
        self.turns = AddressQueues(is_leasing=True)
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


async def test_what_is_said_of_leases_goes_to_the_lessor_and_comes_from_there(
    autojump_clock: trio.abc.Clock,
) -> None:
    fetcher, lessor = FakeFetcher(), Address(ME, "lessor")
    fetcher.may_answer.set()
    port = FetcherPort(ME, cast(Fetcher, fetcher))
    async with running(port) as inbox:
        fetcher.turns.book(("8.8.8.8",), "a.test", 1.0, trio.current_time())
        port.receive(CONTROLLER, FetchPage(URL))
        await inbox.holds(2)
        assert inbox.delivered[1:] == [(port._address, "lessor", WantAddress("8.8.8.8", 1.0, is_held=False))]
        port.receive(lessor, AddressLent("8.8.8.8", 1, 0.0, 40.0))
        await trio.sleep(0.1)
        assert fetcher.turns.take("8.8.8.8", "a.test", 1.0, trio.current_time())
        fetcher.turns.give_back("8.8.8.8")
        port.receive(lessor, AddressLent("8.8.8.8", 1, 0.0, 0.0, is_wanted=True))
        await inbox.holds(3)
        assert inbox.delivered[2:] == [(port._address, "lessor", LeaveAddress("8.8.8.8", 1, 0.0))]
        port.receive(lessor, AddressLent("8.8.8.8", 2, 0.0, 40.0))
        port.receive(lessor, LeasesLost())
        await trio.sleep(0.1)
        assert not fetcher.turns.take("8.8.8.8", "a.test", 1.0, trio.current_time())


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
