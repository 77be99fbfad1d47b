"""Why things are as they are: the sentences, and what the gateway gives to administrators."""

from __future__ import annotations

from typing import Final

import pytest
from msgspec.structs import replace

from peers.crawler.explanations import (
    ArchiveFacts,
    CrawlFacts,
    DelayBy,
    Hold,
    HostFacts,
    IndexState,
    RobotsFacts,
    Ruling,
    Underway,
    UrlFacts,
    UrlState,
    Wait,
)
from peers.gateway.model.messages import AskWhy, AskWhyIdle, WhyAnswered, WhyIdleAnswered
from peers.gateway.model.time_words import span, when
from peers.gateway.routes import application
from peers.gateway.why import why_idle, why_url
from tests.peers.gateway.asgi_client import ask
from tests.peers.gateway.fake_backend import RIGHTS, FakeBackend

URL = "http://a.test/x"
UNKNOWN = UrlFacts(at_s=1_000.0, url=URL, state=UrlState.UNKNOWN, is_held=True, rulings=(Ruling(1, "crawl"),))
FORBIDDING = RobotsFacts("http://a.test", 200, 1.0, 0.0, False, True, None, 4, "Disallow: /x")
INDEXED = ArchiveFacts(1, False, 5, 1.0, 200, True, True, IndexState.INDEXED)
ALIAS = HostFacts("www.a.test", 0.0, 1.0, DelayBy.SETTING, 5, 0, False, alias_of="a.test")
MOVED = ArchiveFacts(2, False, 9, 1.0, 301, False, False, IndexState.MOVED, "http://a.test/y")
UNRULED = (Ruling(0, refusal="unruled"),)
IDLE = CrawlFacts(at_s=1_000.0, slots_owned=10, slots_held=10)


def told_of_url(facts: UrlFacts | None, teller: str = "ann") -> WhyAnswered:
    told = () if facts is None else ((teller, facts),)
    return WhyAnswered(7, URL, 5, "ann", ("ann", "bob"), told)


def told_of_crawl(*facts: CrawlFacts) -> WhyIdleAnswered:
    return WhyIdleAnswered(7, tuple((f"peer{n}", each) for n, each in enumerate(facts)), (), ())


ABOUT_URLS: Final[tuple[tuple[UrlFacts | None, tuple[str, ...]], ...]] = (
    (UNKNOWN, ("nobody has found it", "`tianmesh seed URL` adds it")),
    (
        replace(UNKNOWN, rulings=(Ruling(3, "skip", "domains a.test", refusal="policy"),)),
        ("out of scope", "rule 3 by domains a.test says skip", "--within"),
    ),
    (
        replace(UNKNOWN, state=UrlState.LEFT_OUT, left_out_depth=2, rulings=UNRULED),
        ("a link to it was found", "no rule of the policy matches it"),
    ),
    (
        replace(UNKNOWN, robots=FORBIDDING),
        ("its robots.txt forbids it in line 4",),
    ),
    (
        replace(UNKNOWN, state=UrlState.QUEUED, waits=(Wait(Hold.BEHIND), Wait(Hold.DELAY, 1_180.0))),
        ("queued", "politeness delay", "in 3 min"),
    ),
    (
        replace(UNKNOWN, state=UrlState.LEFT_OUT, left_out_depth=2),
        ("a link to it was found and left out", "looked at again"),
    ),
    (
        replace(UNKNOWN, state=UrlState.LEFT_OUT, left_out_depth=2, is_left_out_abroad=True),
        ("only pages of other domains link to it", "`tianmesh seed URL` adds it"),
    ),
    (replace(UNKNOWN, url="http://a.test/x/x/x/x/"), ("repeat themselves",)),
    (replace(UNKNOWN, state=UrlState.QUEUED), ("as soon as there is room",)),
    (
        replace(UNKNOWN, state=UrlState.FAILED, visits=1, outcome="404"),
        ("its last visit failed: 404", "not visited again"),
    ),
    (
        replace(UNKNOWN, state=UrlState.FAILED, visits=1, outcome="timeout", due_s=8_200.0),
        ("timeout", "visited again in 2 h"),
    ),
    (
        replace(UNKNOWN, state=UrlState.STORED, visits=1, archive=INDEXED),
        ("it is stored, in the index",),
    ),
    (
        replace(UNKNOWN, state=UrlState.LEFT_OUT, visits=1, outcome="host_budget"),
        ("as many pages of its host",),
    ),
    (
        replace(UNKNOWN, state=UrlState.LEFT_OUT, visits=1, outcome="alias", host=ALIAS),
        ("taken for another name", "pages of a.test", "visited there"),
    ),
    (
        replace(UNKNOWN, state=UrlState.VISITED, visits=1, outcome="301"),
        ("answered 301", "where that leads"),
    ),
    (
        replace(UNKNOWN, state=UrlState.VISITED, visits=2, outcome="301", archive=MOVED),
        ("has moved to http://a.test/y, which is found instead",),
    ),
    (replace(UNKNOWN, is_taken_down=True), ("taken down",)),
    (replace(UNKNOWN, state=UrlState.FETCHING), ("it is being fetched",)),
    (None, ("ann, which owns the slot, did not answer",)),
)


@pytest.mark.parametrize(("facts", "words"), ABOUT_URLS)
def test_sentence_about_a_url_says_why_and_what_to_do(facts: UrlFacts | None, words: tuple[str, ...]) -> None:
    said = why_url.sentence_of(told_of_url(facts))
    assert all(word in said for word in words), said


def test_sentence_says_that_the_owner_did_not_answer_and_what_a_standby_knows() -> None:
    said = why_url.sentence_of(told_of_url(UNKNOWN, teller="bob"))
    assert said.startswith(
        "ann, which owns the slot, did not answer; by what bob keeps of it nobody has found it"
    )


ABOUT_CRAWLS: Final[tuple[tuple[tuple[CrawlFacts, ...], tuple[str, ...]], ...]] = (
    ((), ("no peer has answered",)),
    ((IDLE,), ("nothing is queued", "`tianmesh seed URL` adds pages")),
    ((replace(IDLE, links_left_out=1_234),), ("1,234 links led out of scope", "--within")),
    ((replace(IDLE, slots_held=0, slots_owned=0),), ("nobody has a share of the slots",)),
    ((replace(IDLE, slots_held=3),), ("not all slots are crawled yet",)),
    (
        (replace(IDLE, halts=(Wait(Hold.PAGE_LIMIT),)), replace(IDLE, halts=(Wait(Hold.PAGE_LIMIT),))),
        ("no peer fetches anything", "--pages-max N"),
    ),
    (
        (replace(IDLE, halts=(Wait(Hold.DISK_FULL),)), replace(IDLE, in_flight=3, ready=2)),
        ("3 fetches under way", "fetching nothing: 1 of 2 peers: the disk is full; make room"),
    ),
    (
        (
            replace(
                IDLE,
                waiting={Hold.DELAY: 1, Hold.NO_ADDRESS: 8},
                urls_waiting={Hold.DELAY: 900, Hold.NO_ADDRESS: 200},
                next_s=1_002.0,
            ),
        ),
        ("nothing is fetched now", "900 of 1 host,", "politeness delay", "in 2 s", "nothing is wrong"),
    ),
    (
        (replace(IDLE, in_flight=1, waiting={Hold.BEING_ASKED: 1}, slowest=(Underway(URL, 45.0),)),),
        ("1 fetch under way", f"{URL} has not answered for 45 s"),
    ),
)


@pytest.mark.parametrize(("crawls", "words"), ABOUT_CRAWLS)
def test_sentence_about_the_crawl_says_why_and_what_to_do(
    crawls: tuple[CrawlFacts, ...], words: tuple[str, ...]
) -> None:
    said = why_idle.sentence_of(told_of_crawl(*crawls))
    assert all(word in said for word in words), said


def test_everything_that_can_be_waited_for_has_an_advice_or_needs_none() -> None:
    without = {Hold.BEHIND, Hold.ROBOTS_TXT}  # of URLs, and not of peers and hosts
    assert set(Hold) - set(why_idle._ADVICE) == without


def test_times_are_in_words() -> None:
    assert [span(each) for each in (0.0, 90.0, 180.0, 7_200.0, 864_000.0)] == [
        "0 s",
        "90 s",
        "3 min",
        "2 h",
        "10 days",
    ]
    assert [when(each, 1_000.0) for each in (1_000.4, 1_180.0, 0.0, float("inf"))] == [
        "now",
        "in 3 min",
        "17 min ago",
        "never",
    ]


async def test_gateway_tells_administrators_what_is_known_of_a_url_in_canonical_form() -> None:
    backend = FakeBackend()
    reply = await ask(application(backend), "/api/why?url=HTTP://A.test:80/x%23y", headers=RIGHTS)
    assert backend.orders == [AskWhy(7, "http://a.test/x")]
    told = reply.json
    assert (told["host"], told["slot"], told["owner"], told["standbys"]) == ("a.test", 5, "ann", ["bob"])
    assert (told["answered_by"], told["is_owner_heard"]) == ("ann", True)
    assert told["peers"]["ann"]["state"] == "unknown"
    assert "tianmesh seed" in told["why"]
    chinese = await ask(application(backend), "/api/why?lang=zh&url=http://a.test/", headers=RIGHTS)
    assert "尚未发现" in chinese.json["why"]


@pytest.mark.parametrize("url", ["", "a.test", "gopher://a.test/", "http://", "x" * 9_000])
async def test_what_is_no_url_is_refused_in_one_sentence(url: str) -> None:
    backend = FakeBackend()
    reply = await ask(application(backend), f"/api/why?url={url}", headers=RIGHTS)
    assert (reply.status, backend.orders) == (400, [])
    assert "http://" in reply.json["error"]


async def test_gateway_has_peers_asked_for_the_word_of_a_member_in_some_time() -> None:
    backend = FakeBackend()
    await ask(application(backend), "/api/why/idle?peer=ann&since_s=5&until_s=1e9", headers=RIGHTS)
    asked = [each for each in backend.orders if isinstance(each, AskWhyIdle)]
    assert [(each.peer, each.since_s, each.until_s) for each in asked] == [("ann", 5.0, 1e9)]


@pytest.mark.parametrize(
    "asked", [f"peer={'x' * 65}", "peer=a&since_s=nan", "peer=a&since_s=2&until_s=1", "peer=a&until_s=1e13"]
)
async def test_a_member_or_time_that_cannot_be_is_refused_in_one_sentence(asked: str) -> None:
    backend = FakeBackend()
    reply = await ask(application(backend), f"/api/why/idle?{asked}", headers=RIGHTS)
    assert (reply.status, backend.orders) == (400, [])
    assert "since_s" in reply.json["error"]


async def test_gateway_tells_administrators_why_so_little_is_fetched() -> None:
    reply = await ask(application(FakeBackend()), "/api/why/idle", headers=RIGHTS)
    told = reply.json
    assert (told["silent"], told["down"]) == (["bob"], ["cyd"])
    assert told["peers"]["ann"]["facts"]["waiting"] == {Hold.DELAY: 2}
    assert "politeness delay" in told["peers"]["ann"]["why"]
    assert "politeness delay" in told["why"]
