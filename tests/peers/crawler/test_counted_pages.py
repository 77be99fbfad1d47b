"""Pages that count for topics, from the processes that take them apart to the message of the controller."""

from __future__ import annotations

import sys
from math import inf

import pytest

from mesh.actors.actor import Address
from mesh.keys.decree import TOPICS, Decree
from mesh.membership.model.messages import DecreesInForce
from mesh.urls import fingerprint
from peers.crawler.model.messages import PageParsed, ParsePage
from peers.crawler.parsing.parser_port import PAGES_PER_TRIP, ParserPort
from peers.crawler.topic_visits import TopicVisits
from peers.engine.pages.document import Document, content_digest
from peers.topics.messages import PagesVisited, VisitedPage
from peers.topics.topic_list import FORMAT, CountedTopic, TopicList, TopicMarks, list_body, topics_of
from tests.helpers import ME, fetched
from tests.peers.crawler.test_ports import CONTROLLER, parser_port, running, url_of
from tests.peers.crawler.test_watched_pages import watch

MEMBERSHIP = Address(ME, "membership")
BODY = "<title>A title</title><p>我在台灣 with slow glass".encode()
TAIWAN, GLASS = CountedTopic("taiwan", "T", ("台湾",)), CountedTopic("glass", "G", ("iron",), ("slow glass",))
LIST = TopicList(FORMAT, (TAIWAN, GLASS), 3_600)
TAIWAN_KEY, GLASS_KEY = (LIST.key_of(topic) for topic in LIST.topics)
LEVELS = {TAIWAN_KEY: 2, GLASS_KEY: 1}


def decrees(topics: TopicList | None = LIST, number: int = 3) -> DecreesInForce:
    if topics is None:
        return DecreesInForce(TOPICS, ())
    return DecreesInForce(TOPICS, (Decree(TOPICS, "", number, 0.0, inf, list_body(topics), b"", b""),))


def count(port: ParserPort, topics: TopicList | None = LIST, number: int = 3) -> None:
    """Have a port hear of topics."""
    port.receive(MEMBERSHIP, decrees(topics, number))


def found(message: object) -> dict[bytes, int] | None:
    assert isinstance(message, PageParsed)
    return None if message.topics is None else dict(message.topics.levels)


@pytest.mark.parametrize("is_watched", [False, True])
async def test_every_page_is_searched_for_strings_beside_watched_words(is_watched: bool) -> None:
    port, n = parser_port(2), 3 * PAGES_PER_TRIP + 1
    count(port)
    if is_watched:
        watch(port, "glass")
    async with running(port) as inbox:
        for number in range(n):
            page = fetched(f"http://h{number % 5}.test/{number}", body=BODY)
            port.receive(CONTROLLER, ParsePage(page, 1))
        messages = await inbox.holds(n)
    assert [found(each) for each in messages] == [LEVELS] * n
    assert {each.watched is not None for each in messages if isinstance(each, PageParsed)} == {is_watched}


async def test_another_list_counts_at_once_and_none_ends_it_whatever_is_watched() -> None:
    port = parser_port()
    one = TopicList(FORMAT, (TAIWAN,), 3_600)
    async with running(port) as inbox:
        for n, (topics, words) in enumerate(
            [(None, ()), (one, ()), (LIST, ("glass",)), (LIST, ()), (None, ("glass",)), (None, ())]
        ):
            count(port, topics, n)
            watch(port, *words)
            port.receive(CONTROLLER, ParsePage(fetched(url_of(n), body=BODY), 1))
            await inbox.holds(n + 1)
    told = [found(message) for _, _, message in inbox.delivered]
    assert told == [None, {TAIWAN_KEY: 2}, LEVELS, LEVELS, None, None]
    pages = [message for _, _, message in inbox.delivered if isinstance(message, PageParsed)]
    watched = [page.watched is not None for page in pages]
    assert watched == [False, False, True, False, True, False]


@pytest.mark.parametrize("marks", ["TopicMarks(digest, ((b'none', 2),))", "TopicMarks(b'other', ())"])
async def test_a_process_that_a_page_took_over_tells_of_no_topic_that_is_not_counted(marks: str) -> None:
    program = f"""
import msgspec
from peers.crawler.model.page_tasks import ListWanted, decode_answer, decode_task, encode
from peers.crawler.parsing import page_process
from peers.topics.topic_list import TopicMarks
def carry_out(order):
    digest = decode_task(order).topics.digest
    said = decode_answer(page_process.carry_out(order))
    if isinstance(said, ListWanted):
        return encode(said)
    return encode(msgspec.structs.replace(said, topics={marks}))
page_process.serve(carry_out, page_process.LIMITS)
"""
    port = parser_port(command=(sys.executable, "-c", program))
    count(port)
    async with running(port) as inbox:
        port.receive(CONTROLLER, ParsePage(fetched(url_of(0), body=BODY), 1))
        assert found((await inbox.holds(1))[0]) is None


async def test_a_bug_in_the_search_for_strings_costs_counts_and_no_page() -> None:
    program = """
from peers.crawler.parsing import page_process
from peers.topics import string_matcher
string_matcher.StringMatcher.marks = None
page_process.serve(page_process.carry_out, page_process.LIMITS)
"""
    port = parser_port(command=(sys.executable, "-c", program))
    count(port)
    async with running(port) as inbox:
        port.receive(CONTROLLER, ParsePage(fetched(url_of(0), body=BODY), 1))
        [message] = await inbox.holds(1)
    assert found(message) is None
    assert isinstance(message, PageParsed)
    assert message.document is not None


# --- The visits of a controller

URL = "http://a.test/1"
DOCUMENT = Document(URL, title="A", text="some text", fetched_at=7_300.0, visit=1)


def visits(topics: TopicList = LIST) -> TopicVisits:
    in_force = topics_of(decrees(topics).decrees, None)
    assert in_force is not None
    return TopicVisits(in_force)


def test_a_page_counts_in_the_slice_of_its_visit_with_its_content_and_levels() -> None:
    counted = visits()
    marks = TopicMarks(counted.topics.digest, ((TAIWAN_KEY, 2),))
    page = PageParsed(URL, b"", DOCUMENT, (), b"12345678", topics=marks)
    visit = counted.visit_of(page, 5, 7_300.0)
    keys = tuple(sorted((TAIWAN_KEY, GLASS_KEY)))
    assert visit == VisitedPage(5, fingerprint(URL), 2, keys, content_digest(DOCUMENT), ((TAIWAN_KEY, 2),))
    assert not counted
    counted.add(visit)
    counted.add_unchanged(URL, 5, 10_900.0)
    told = counted.take()
    assert told == PagesVisited((visit, VisitedPage(5, fingerprint(URL), 3, keys, is_unchanged=True)))
    assert not counted


def test_pages_of_other_sites_of_another_list_and_those_not_to_be_found_count_for_none() -> None:
    counted = visits(TopicList(FORMAT, (CountedTopic("b", "B", ("x",), (), ("b.test",)),)))
    marks = TopicMarks(counted.topics.digest, ())
    page = PageParsed(URL, b"", DOCUMENT, (), b"12345678", topics=marks)
    assert counted.visit_of(page, 5, 0.0) is None
    counted.add_unchanged(URL, 5, 0.0)
    assert not counted
    counted = visits()
    assert counted.visit_of(page, 5, 0.0) is None, "it was read by another list"
    hidden = PageParsed(URL, b"", None, (), b"12345678", topics=TopicMarks(counted.topics.digest, ()))
    assert counted.visit_of(hidden, 5, 0.0) is None
