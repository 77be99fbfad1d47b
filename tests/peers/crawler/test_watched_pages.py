"""Watched words on their way: from the processes that take pages apart, over the port, to the watcher."""

from __future__ import annotations

import sys
from math import inf

import pytest

from mesh.actors.actor import Address
from mesh.keys.decree import WATCH, Decree
from mesh.membership.model.messages import DecreesInForce
from peers.crawler.model.messages import PageParsed, ParseFailed, ParsePage
from peers.crawler.model.web_request import FailureReason
from peers.crawler.parsing.parser_port import PAGES_PER_TRIP, ParserPort
from peers.watch.list_file import entries_of
from peers.watch.watch_list import list_body
from tests.helpers import ME, fetched
from tests.peers.crawler.test_ports import CONTROLLER, parser_port, running, url_of

MEMBERSHIP = Address(ME, "membership")
BODY = "<title>A title</title><p>我在台灣 with slow glass".encode()


def watch(port: ParserPort, *words: str, number: int = 3, at: float = 1.0) -> None:
    """Have a port hear of a list."""
    body = list_body(entries_of(words), at)
    decrees = (Decree(WATCH, "", number, 0.0, inf, body, b"", b""),) if words else ()
    port.receive(MEMBERSHIP, DecreesInForce(WATCH, decrees))


def found(message: object) -> tuple[int, list[str]] | None:
    assert isinstance(message, PageParsed)
    told = message.watched
    return None if told is None else (told.number, [hit.entry for hit in told.hits])


@pytest.mark.parametrize("processes_max", [1, 3])
async def test_every_page_is_searched_by_the_list_whichever_process_has_it(processes_max: int) -> None:
    port, n = parser_port(processes_max), 3 * PAGES_PER_TRIP + 1
    watch(port, "台湾", "glass", "iron")
    async with running(port) as inbox:
        for number in range(n):
            page = fetched(f"http://h{number % 5}.test/{number}", body=BODY)
            port.receive(CONTROLLER, ParsePage(page, 1))
        messages = await inbox.holds(n)
    assert [found(each) for each in messages] == [(3, ["台湾", "glass"])] * n
    assert len({message.url for message in messages if isinstance(message, PageParsed)}) == n, "each once"


async def test_a_new_list_counts_at_once_also_one_of_the_same_words_and_none_ends_it() -> None:
    port = parser_port()
    async with running(port) as inbox:
        for n, (words, number) in enumerate(
            [((), 0), (("glass",), 3), (("台湾",), 4), (("台湾",), 5), (("iron",), 6), ((), 7)]
        ):
            watch(port, *words, number=number)
            port.receive(CONTROLLER, ParsePage(fetched(url_of(n), body=BODY), 1))
            await inbox.holds(n + 1)
    told = [found(message) for _, _, message in inbox.delivered]
    assert told == [None, (3, ["glass"]), (4, ["台湾"]), (5, ["台湾"]), None, None]


async def test_a_page_that_asks_for_it_has_no_excerpt_and_one_without_document_is_searched_too() -> None:
    port = parser_port()
    watch(port, "glass")
    async with running(port) as inbox:
        for n, wish in enumerate(("nosnippet", "noindex")):
            body = f"<meta name=robots content={wish}><p>slow glass".encode()
            port.receive(CONTROLLER, ParsePage(fetched(url_of(n), body=body), 1))
        first, second = await inbox.holds(2)
    assert isinstance(first, PageParsed)
    assert isinstance(second, PageParsed)
    assert first.watched is not None
    assert second.watched is not None
    assert [hit.excerpt for hit in first.watched.hits] == [""]
    assert (second.document, second.watched.hits[0].excerpt) == (None, "slow glass")


LYING = """
import msgspec
from peers.crawler.model.page_tasks import ListWanted, decode_answer, encode
from peers.crawler.parsing import page_process
from peers.watch.watched import PageWatch, WatchHit
def carry_out(order):
    said = decode_answer(page_process.carry_out(order))
    if isinstance(said, ListWanted) or b"again" in order:
        return encode(ListWanted())
    hit = WatchHit("glass" if b"other" in order else "iron", 1)
    return encode(msgspec.structs.replace(said, watched=PageWatch(9 if b"other" in order else 3, "", (hit,))))
page_process.serve(carry_out, page_process.LIMITS)
"""


async def test_a_process_that_a_page_took_over_tells_of_no_word_that_is_not_watched() -> None:
    port = parser_port(command=(sys.executable, "-c", LYING))
    watch(port, "glass")
    async with running(port) as inbox:
        for n, text in enumerate((b"iron", b"other", b"again")):
            port.receive(CONTROLLER, ParsePage(fetched(url_of(n), body=b"<p>" + text), 1))
        messages = await inbox.holds(3)
    by_url = {message.url: message for message in messages if isinstance(message, PageParsed | ParseFailed)}
    assert found(by_url[url_of(0)]) is None, "no such entry"
    assert found(by_url[url_of(1)]) is None, "another list"
    assert by_url[url_of(2)] == ParseFailed(url_of(2), FailureReason.PARSER), "who asks again and again ends"


@pytest.mark.parametrize("method", ["watch", "__init__"])
async def test_a_bug_in_the_search_for_words_costs_notices_and_no_page(method: str) -> None:
    program = f"""
from peers.crawler.parsing import page_process
from peers.watch import matcher
matcher.Matcher.{method} = None
page_process.serve(page_process.carry_out, page_process.LIMITS)
"""
    port = parser_port(command=(sys.executable, "-c", program))
    watch(port, "glass")
    async with running(port) as inbox:
        port.receive(CONTROLLER, ParsePage(fetched(url_of(0), body=BODY), 1))
        [message] = await inbox.holds(1)
    assert found(message) is None
    assert isinstance(message, PageParsed)
    assert message.document is not None


async def test_what_nobody_watches_for_is_not_believed() -> None:
    program = """
import msgspec
from peers.crawler.model.page_tasks import decode_answer, encode
from peers.crawler.parsing import page_process
from peers.watch.watched import PageWatch, WatchHit
def carry_out(order):
    said = decode_answer(page_process.carry_out(order))
    return encode(msgspec.structs.replace(said, watched=PageWatch(3, "", (WatchHit("iron", 1),))))
page_process.serve(carry_out, page_process.LIMITS)
"""
    port = parser_port(command=(sys.executable, "-c", program))
    async with running(port) as inbox:
        port.receive(CONTROLLER, ParsePage(fetched(url_of(0), body=BODY), 1))
        assert found((await inbox.holds(1))[0]) is None
