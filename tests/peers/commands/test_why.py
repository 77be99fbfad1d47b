"""`tianmesh why`, against a gateway that answers from memory."""

from __future__ import annotations

import json

import msgspec
import pytest

from mesh.errors import ConfigError
from peers.crawler.explanations import (
    ArchiveFacts,
    CrawlFacts,
    DelayBy,
    DueBy,
    Hold,
    HostFacts,
    HostWait,
    IndexState,
    RobotsFacts,
    Ruling,
    Underway,
    UrlFacts,
    UrlState,
    Wait,
)
from peers.gateway.model.messages import WhyAnswered, WhyIdleAnswered
from peers.gateway.why.why_json import idle_json, url_json
from tests.peers.commands.running import result_of, run
from tests.peers.fake_gateway import fake_gateway

URL = "http://a.test/x"
NOW = 1_000_000.0
FACTS = UrlFacts(
    at_s=NOW,
    url=URL,
    state=UrlState.STORED,
    is_held=True,
    depth=2,
    visits=3,
    outcome="200",
    visited_s=NOW - 7_200,
    changed_s=NOW - 864_000,
    due_s=NOW + 3_600,
    due_by=DueBy.INTERVAL,
    interval_s=10_800.0,
    revisit="adaptive",
    checks=9,
    changes=2,
    misses=2,
    missed_s=NOW - 900,
    place=4,
    waits=(Wait(Hold.NOT_DUE, NOW + 3_600),),
    texts=("a\x1b[31m page",),
    linkers=7,
    robots=RobotsFacts("http://a.test", 200, NOW + 600, NOW - 3_000, True, True, None, 3, "Allow: /x"),
    host=HostFacts("a.test", NOW + 90, 2.0, DelayBy.SETTING, 12, 0, False, 5, "192.0.2.1", 2.0),
    rulings=(Ruling(2, "crawl", "domains a.test"),),
    archive=ArchiveFacts(3, False, 45_678, NOW - 7_200, 200, True, True, IndexState.INDEXED),
)
CRAWL = CrawlFacts(
    at_s=NOW,
    slots_owned=50_000,
    slots_held=50_000,
    hosts=9,
    looked_at=9,
    ready=1,
    waiting={Hold.BACK_OFF: 1, Hold.DELAY: 6},
    urls_waiting={Hold.DELAY: 90},
    queued=1_234,
    next_s=NOW + 2,
    in_flight=1,
    in_flight_max=200,
    in_progress_max=256,
    slowest=(Underway("http://slow.test/", 45.0),),
    longest=(HostWait("big.test", 900, Hold.DELAY, NOW + 2),),
    answers={"200": 1_000, "timeout": 3},
    links_left_out=55,
)


def known(facts: UrlFacts | None = FACTS) -> object:
    told = () if facts is None else (("ann", facts), ("bob", facts))
    return msgspec.to_builtins(url_json(WhyAnswered(1, URL, 77, "ann", ("ann", "bob"), told)))


def test_all_that_is_known_of_a_url_stands_in_aligned_lines_with_times_in_words() -> None:
    with fake_gateway() as gateway:
        gateway.why[URL] = known()
        lines = run(gateway, "why", "HTTP://a.test:80/x").splitlines()
        told = json.loads(run(gateway, "why", URL, "--json"))
    found = "2 of its last 9 visits found it changed"
    assert lines == [
        "url         http://a.test/x",
        "slot        77 of a.test, owner ann, standby bob",
        "answered by ann",
        "state       stored",
        "found       2 clicks from a seed, linked from 7 other domains",
        "links say   'a\\x1b[31m page'",
        "last visit  2 h ago, visit 3: 200, changed 10 days ago",
        f"due         in 60 min: {DueBy.INTERVAL} of 3 h, by the policy adaptive: {found}",
        "missed      2 visits in a row, the first 15 min ago",
        "queue       place 4 of its host",
        "waits for   it is not due yet, in 60 min",
        "host        a.test at 192.0.2.1: 12 pages asked for, 5 new URLs queued",
        "            2 s between two questions, by delay_s of the peer's settings",
        "            may be asked again in 90 s",
        "robots.txt  answered 200 50 min ago, believed until in 10 min",
        "            allows it: line 3, Allow: /x",
        "policy      rule 2 by domains a.test says crawl",
        "kept at     ann: 3 versions, newest 2 h ago (200), 45,678 bytes; in the index",
        "            bob: 3 versions, newest 2 h ago (200), 45,678 bytes; in the index",
        "",
        "It is stored, in the index.",
    ]
    assert told["peers"]["ann"]["depth"] == 2


def test_unknown_url_is_answered_by_the_command_that_adds_it() -> None:
    unknown = UrlFacts(at_s=NOW, url=URL, state=UrlState.UNKNOWN, is_held=True, rulings=(Ruling(1, "crawl"),))
    with fake_gateway() as gateway:
        gateway.why[URL] = known(unknown)
        said = run(gateway, "why", URL)
    assert "state       unknown\n" in said
    assert said.endswith("links to it; `tianmesh seed URL` adds it.\n")


def test_owner_and_standbys_that_do_not_answer_are_a_failure_with_a_sentence() -> None:
    with fake_gateway() as gateway:
        gateway.why[URL] = known(None)
        for more in ((), ("--json",)):
            result = result_of(gateway, "why", URL, *more)
            assert result.exit_code == 1
            assert "did not answer" in result.stdout


@pytest.mark.parametrize("text", ["a.test", "http:/", "idel", "gopher://a.test/"])
def test_what_is_no_url_is_answered_by_one_sentence_before_anybody_is_asked(text: str) -> None:
    with fake_gateway() as gateway:
        result = result_of(gateway, "why", text)
    assert isinstance(result.exception, ConfigError)
    assert "give one with http:// or https://, or the word idle" in str(result.exception)


def test_idle_says_of_every_peer_what_its_hosts_wait_for_and_what_to_do() -> None:
    with fake_gateway() as gateway:
        answer = WhyIdleAnswered(1, (("ann", CRAWL),), ("bob",), ("cyd",), (("cyd", "mill"),))
        gateway.why["idle"] = msgspec.to_builtins(idle_json(answer))
        lines = run(gateway, "why", "idle").splitlines()
        told = json.loads(run(gateway, "why", "idle", "--json"))
    assert lines == [
        "peer        ann",
        "slots       50,000 of 50,000 crawled",
        "fetches     1 of at most 200",
        "pages       0 of at most 256 fetched and not stored yet",
        "slowest         45 s  http://slow.test/",
        "queue       1,234 URLs never visited",
        "hosts       9 known, 9 looked at: 1 ready",
        "waiting            6  the politeness delay of the host or its address",
        "                   1  left alone for a while after a failure",
        "next        a host may be asked in 2 s",
        "answers     1,000 200, 3 timeout",
        "left out    55 links out of scope since the start",
        "longest          900  big.test: the politeness delay of the host or its address, in 2 s",
        "",
        "bob has not answered",
        "mill (cyd) is down",
        "1 fetch under way; most new URLs, 90 of 6 hosts, wait for this: the politeness delay of the host or",
        "its address, the next may be asked in 2 s; nothing is wrong: a host is asked one thing at a time;",
        "more hosts are fetched from faster; http://slow.test/ has not answered for 45 s.",
    ]
    assert told["peers"]["ann"]["facts"]["queued"] == 1_234


def test_gateway_of_another_version_is_said_to_be_one() -> None:
    with fake_gateway() as gateway:
        gateway.why["idle"] = {"why": "?", "peers": {"ann": {}}}
        result = result_of(gateway, "why", "idle")
    assert "another version" in str(result.exception)
