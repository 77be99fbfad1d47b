"""A robots.txt that takes long: read by the parser, while its host is asked nothing."""

from __future__ import annotations

import pytest

from mesh.actors.actor import Address
from mesh.slot_set import NO_SLOTS, encode_slot_list
from mesh.urls import host_of
from peers.crawler.controller import STOP_CHECK_S
from peers.crawler.explanations import Hold, UrlFacts, url_facts_in
from peers.crawler.frontier.host_state import HostState
from peers.crawler.frontier.items import RobotsRecord
from peers.crawler.model.messages import ParseRobots, RobotsParsed
from peers.crawler.model.page_tasks import decode_answer, encode, given_up
from peers.crawler.model.robots import AT_ONCE_BYTES_MAX, ROBOTS_BYTES_MAX, RobotsLine, parse, sitemaps_named
from peers.crawler.model.web_request import FailureReason
from peers.crawler.model.wire_messages import ExplainUrl, UrlExplained
from peers.crawler.parsing.extraction import read_robots
from peers.crawler.parsing.page_process import carry_out
from peers.crawler.robots_files import READING_PAUSE_S, READINGS_MAX
from peers.handover.messages import HoldSlots, SlotsStopped
from simulations.webs.web import SyntheticWeb
from simulations.world.ports import VirtualParser
from tests.helpers import ME, SLOT_COUNT, fetched, redirect
from tests.peers.crawler.desk import HOME, ORIGIN, OTHER, ROBOTS, SETTINGS, Desk, asked, of_kind
from tests.processor import processor_seconds

FILLER = b"#" * AT_ONCE_BYTES_MAX + b"\n"
LONG = b"User-agent: *\nCrawl-delay: 7\nDisallow: /private\n" + FILLER
PRIVATE = f"{ORIGIN}/private/x"
SITEMAP = f"{ORIGIN}/map.xml"


def waiting_desk(*urls: str, robots: bytes = LONG) -> tuple[Desk, ParseRobots]:
    """A desk that has had the parser read the robots.txt of a host, and what the parser was told."""
    desk = Desk()
    desk.seed(*(urls or (HOME,)))
    [send] = desk.tell(fetched(ROBOTS, body=robots))
    assert send.target == Address(ME, "parser")
    assert isinstance(send.message, ParseRobots)
    return desk, send.message


def host_at(desk: Desk) -> HostState:
    state = desk.controller._frontier.find(host_of(HOME))
    assert state is not None
    return state


def why(desk: Desk, url: str) -> UrlFacts:
    [order] = of_kind(desk.tell(ExplainUrl(7, url), "searcher", OTHER), ParseRobots)
    [answer] = desk.tell(read_robots(order), "parser")
    assert answer.target == Address(OTHER, "searcher")
    assert isinstance(answer.message, UrlExplained)
    return url_facts_in(answer.message.facts)


def test_a_host_is_asked_nothing_while_its_robots_txt_is_read_and_by_what_it_says_then() -> None:
    desk, order = waiting_desk(PRIVATE, HOME)
    assert desk.wake(100.0) == []
    assert asked(desk.tell(read_robots(order), "parser")) == [HOME]
    desk.tell(fetched(HOME, 404))
    assert asked(desk.wake(7.0)) == []
    assert desk.state_of(PRIVATE) == "Xrobots"


def test_the_delay_that_a_long_robots_txt_wants_counts_from_when_it_came() -> None:
    desk, order = waiting_desk()
    desk.wake(1.0)
    assert asked(desk.tell(read_robots(order), "parser")) == []
    assert asked(desk.wake(5.9)) == []
    assert asked(desk.wake(0.1)) == [HOME]


def test_sitemaps_of_a_long_robots_txt_are_found_from_where_it_has_moved_to() -> None:
    desk = Desk()
    desk.seed(HOME)
    desk.tell(redirect(ROBOTS, f"{ORIGIN}/folder/robots.txt"))
    assert asked(desk.wake(2.0)) == [f"{ORIGIN}/folder/robots.txt"]
    body = b"Sitemap: ../map.xml\n" + FILLER
    [order] = of_kind(desk.tell(fetched(f"{ORIGIN}/folder/robots.txt", body=body)), ParseRobots)
    assert desk.state_of(SITEMAP) is None
    desk.tell(read_robots(order), "parser")
    assert desk.state_of(SITEMAP) is not None


def test_after_a_restart_a_long_robots_txt_is_read_again_before_its_host_is_asked() -> None:
    desk, order = waiting_desk(PRIVATE, HOME)
    desk.tell(read_robots(order), "parser")
    desk.start()
    sends = desk.wake(7.0)
    assert of_kind(sends, ParseRobots) == [ParseRobots(ORIGIN, LONG, "tianmesh")]
    assert asked(sends) == asked(desk.wake(50.0)) == []
    assert asked(desk.tell(read_robots(order), "parser")) == [HOME]


def test_a_crawl_is_not_at_rest_while_a_robots_txt_is_read() -> None:
    desk = Desk(revisit_after_s=1_000.0, robots_ttl_s=1e9)
    desk.seed(HOME)
    desk.allow(robots=LONG)
    desk.wake(7.0)
    desk.store(HOME, at=desk.now)
    desk.wake(1.0)
    assert desk.observe().is_idle
    desk.start()
    desk.wake(2_000.0)
    assert (desk.observe().due, desk.observe().is_idle) == (0, False)


def test_what_the_parser_says_of_an_older_file_counts_no_more() -> None:
    desk, order = waiting_desk()
    newer = LONG.replace(b"/private", b"/")
    expires_s = desk.now + SETTINGS.robots_ttl_s + 1.0
    desk.controller._frontier.origins.merge(host_at(desk).slot, RobotsRecord(ORIGIN, 200, expires_s, newer))
    desk.wake(100.0)
    [again] = of_kind(desk.tell(read_robots(order), "parser"), ParseRobots)
    assert again.body == newer
    assert asked(desk.tell(read_robots(again), "parser")) == []
    assert desk.state_of(HOME) == "Xrobots"


def test_an_answer_that_comes_twice_changes_nothing() -> None:
    desk, order = waiting_desk()
    desk.wake(100.0)
    assert asked(desk.tell(read_robots(order), "parser")) == [HOME]
    assert desk.tell(read_robots(order), "parser") == []


@pytest.mark.parametrize("reason", [FailureReason.EXHAUSTING, FailureReason.PARSER])
def test_a_file_that_nobody_can_read_forbids_everything(reason: FailureReason) -> None:
    desk, order = waiting_desk()
    said = given_up(order, reason)
    assert asked(desk.tell(said, "parser")) == asked(desk.wake(100.0)) == []
    assert desk.state_of(HOME) == "Xrobots"


def test_a_slot_is_let_go_only_when_the_robots_txt_of_its_host_was_read() -> None:
    desk, order = waiting_desk()
    slot = host_at(desk).slot
    desk.tell(HoldSlots(NO_SLOTS, NO_SLOTS), "handover")
    assert of_kind(desk.wake(STOP_CHECK_S), SlotsStopped) == []
    assert asked(desk.tell(read_robots(order), "parser")) == []
    [stopped] = of_kind(desk.wake(STOP_CHECK_S), SlotsStopped)
    assert stopped.slots == encode_slot_list([slot], SLOT_COUNT)


def test_so_many_files_of_the_table_are_with_the_parser_at_a_time_and_the_others_wait() -> None:
    desk = Desk()
    origins = [f"http://h{number}.test" for number in range(READINGS_MAX + 3)]
    desk.seed(*(f"{origin}/" for origin in origins))
    for origin in origins:
        desk.tell(fetched(f"{origin}/robots.txt", body=LONG))
    desk.start()
    orders = of_kind(desk.wake(100.0), ParseRobots)
    while more := of_kind(desk.wake(), ParseRobots):
        orders += more
    assert len(orders) == READINGS_MAX
    for order in orders:
        desk.tell(read_robots(order), "parser")
    assert len(of_kind(desk.wake(READING_PAUSE_S), ParseRobots)) == 3


def test_why_of_a_host_with_a_long_robots_txt_names_the_line_that_the_parser_has_found() -> None:
    desk, order = waiting_desk(HOME, PRIVATE)
    assert Hold.ROBOTS_TXT in [wait.hold for wait in why(desk, HOME).waits]
    desk.tell(read_robots(order), "parser")
    robots = why(desk, PRIVATE).robots
    assert robots is not None
    assert (robots.is_allowed, robots.line_number, robots.line) == (False, 3, "Disallow: /private")
    assert robots.crawl_delay_s == 7.0


def test_a_process_says_of_a_robots_txt_what_it_says() -> None:
    order = ParseRobots(ORIGIN, LONG + b"Sitemap: /map.xml\n", "tianmesh", ROBOTS, PRIVATE)
    said = decode_answer(carry_out(encode(order)))
    assert isinstance(said, RobotsParsed)
    line = RobotsLine(3, "Disallow: /private")
    assert said == RobotsParsed(ORIGIN, parse(LONG, "tianmesh"), (SITEMAP,), PRIVATE, line, said.cpu_s)


def test_the_parser_of_a_simulation_says_the_same() -> None:
    order = ParseRobots(ORIGIN, LONG, "tianmesh")
    [answer] = VirtualParser(SyntheticWeb(1, 10)).receive(Address(ME, "controller"), order, 1_000.0)
    assert (answer.target, answer.message) == (Address(ME, "controller"), read_robots(order))


WORST = {
    "paths in strange encodings": b"Allow:/\xe4\xff%x\n",
    "long paths in them": b"Allow:/" + b"\xe4" * 100 + b"%x\n",
    "mixed with letters": b"Allow:/" + b"\xe4a" * 50 + b"%x\n",
    "short paths in them": b"Allow:/x\xff\n",
    "wildcards": b"Allow:/*%x*$\n",
    "escapes": b"Allow:/%%41%%%x\n",
    "escapes of others": b"Allow:/" + b"%%e4%%BD" * 30 + b"%x\n",
    "lone escapes": b"Allow:" + b"%%" * 40 + b"%x\n",
    "escapes that end in another encoding": b"Allow:/%%4\xc3\xa1%x\n",
    "marks": b"Allow:'$%x\n",
    "nothing": b"Allow:\n",
    "agents": b"User-agent: *,tianmesh%x\nAllow:/\n",
    "many agents": b"User-agent: " + b"t," * 2_000 + b"%x\n",
    "pauses": b"User-agent: tianmesh\nCrawl-delay: %d\n",
    "sitemaps": b"Sitemap: '%%\xe4%x\n",
}


@pytest.mark.parametrize("name", WORST)
def test_no_robots_txt_takes_the_event_loop_long(name: str) -> None:
    """It reads short files itself, and of long ones the rules that another process has found in them.

    The worst took 5 ms on a quiet machine; a step may take 50.
    """
    line = WORST[name]
    lines = (line % number if b"%" in line else line for number in range(ROBOTS_BYTES_MAX // len(line)))
    body = b"User-agent: *\nUser-agent: tianmesh\n" + b"".join(lines)
    short = body[:AT_ONCE_BYTES_MAX]
    assert processor_seconds(lambda: parse(short, "tianmesh"), tries=9) < 0.02
    assert processor_seconds(lambda: sitemaps_named(ROBOTS, short), tries=9) < 0.02
    _, order = waiting_desk(robots=body)
    said = encode(read_robots(order))
    assert processor_seconds(lambda: decode_answer(said), tries=9) < 0.02
