"""What a controller does with hosts that are other names of a site."""

from __future__ import annotations

from typing import Any

import pytest

from mesh.urls import fingerprint, host_of
from peers.crawler.links.outbox import RESEND_S
from peers.crawler.model import politeness
from peers.crawler.model.messages import CallAlias, HostGrown
from peers.crawler.model.politeness import ALIAS_SAMPLE, HostRecord, is_to_compare, join, judged
from peers.crawler.model.wire_messages import FoundLink, LinksAccepted, LinksFound, LinkUse
from tests.helpers import ME
from tests.peers.crawler.desk import MINE, OTHER, THEIRS, Desk, asked, host_of_peer, of_kind

NAME, FIRST = host_of(MINE), host_of(THEIRS)  # crawled by us, and by another peer
PASSED_ON_S = RESEND_S + 0.1  # after which what another peer brought has gone to its owner


def is_sampled(path: str, origin: str = MINE) -> bool:
    return fingerprint(f"{origin}{path}")[0] < ALIAS_SAMPLE


PATHS = [path for path in (f"/{n}" for n in range(200)) if not is_sampled(path)]
SAMPLED = next(path for path in (f"/{n}" for n in range(10_000)) if is_sampled(path))


def desk_of_alias(first: str = FIRST, **settings: Any) -> Desk:
    desk = Desk(peers=(ME, OTHER), delay_s=0.0, **settings)
    desk.seed(f"{MINE}/")
    desk.allow(MINE)
    desk.store(f"{MINE}/")
    call(desk, first)
    return desk


def call(desk: Desk, first: str) -> None:
    assert desk.tell(CallAlias(NAME, first), "aliases") == []


def brought(desk: Desk, after_s: float = 0.2) -> list[str]:
    """The URLs of the links that go to the other peer."""
    sends = of_kind(desk.wake(after_s), LinksFound)
    for found in sends:
        desk.tell(LinksAccepted(found.batch), "controller", OTHER)
    return [link.url for found in sends for link in found.links]


def test_a_link_to_an_alias_is_visited_under_the_first_name_of_its_site_and_its_text_counts_there() -> None:
    desk = desk_of_alias()
    link = FoundLink(f"{MINE}{PATHS[0]}", "words", depth=3, linker="c.test")
    desk.tell(LinksFound(70, (link,)), "controller", OTHER)
    (found,) = of_kind(desk.wake(PASSED_ON_S), LinksFound)
    assert [(each.url, each.anchor, each.depth, each.linker) for each in found.links] == [
        (f"{THEIRS}{PATHS[0]}", "words", 3, "c.test")
    ]
    assert desk.state_of(f"{MINE}{PATHS[0]}") == "Xalias"


def test_who_sends_a_link_to_an_alias_hears_that_it_is_safe_when_it_is_so_under_the_first_name() -> None:
    desk = desk_of_alias()
    link = FoundLink(f"{MINE}{PATHS[0]}", depth=3)
    assert of_kind(desk.tell(LinksFound(70, (link,)), "controller", OTHER), LinksAccepted) == []
    (found,) = of_kind(desk.wake(PASSED_ON_S), LinksFound)
    sends = desk.tell(LinksAccepted(found.batch), "controller", OTHER)
    assert of_kind(sends, LinksAccepted) == [LinksAccepted(70)]


def test_links_of_our_pages_to_an_alias_go_there_too() -> None:
    desk = Desk(peers=(ME, OTHER), delay_s=0.0)
    other = host_of_peer(ME, 1)
    desk.seed(f"{MINE}/", f"{other}/")
    call(desk, FIRST)
    desk.allow(other)
    desk.store(f"{other}/", f"{MINE}{PATHS[0]}")
    assert brought(desk) == [f"{THEIRS}{PATHS[0]}"]
    assert desk.state_of(f"{MINE}{PATHS[0]}") == "Q"


def test_what_waits_under_another_name_is_not_asked_for_and_visited_under_the_first() -> None:
    desk = Desk(peers=(ME, OTHER), delay_s=0.0)
    desk.seed(f"{MINE}/")
    desk.seed(*(f"{MINE}{path}" for path in PATHS[:20]), depth=2)
    desk.allow(MINE)
    call(desk, FIRST)
    sends = desk.store(f"{MINE}/")
    assert asked(sends) == []
    assert sorted(brought(desk)) == sorted(f"{THEIRS}{path}" for path in PATHS[:20])
    assert {desk.state_of(f"{MINE}{path}") for path in PATHS[:20]} == {"Xalias"}
    statistics = desk.observe()
    assert (statistics.aliases, statistics.fetch_status["alias"], statistics.in_progress) == (1, 20, 0)


@pytest.mark.parametrize(
    "link",
    [
        FoundLink(f"{MINE}{PATHS[0]}"),
        FoundLink(f"{MINE}{PATHS[0]}", depth=3, hops=1),
        FoundLink(f"{MINE}{SAMPLED}", depth=3),
    ],
    ids=["seed", "redirect", "sample"],
)
def test_some_pages_of_an_alias_are_visited_all_the_same(link: FoundLink) -> None:
    desk = desk_of_alias()
    assert asked(desk.tell(LinksFound(70, (link,)), "controller", OTHER)) == [link.url]


def test_a_page_that_was_stored_under_another_name_is_visited_again_there() -> None:
    desk = Desk(peers=(ME, OTHER), delay_s=0.0, revisit_after_s=100.0)
    desk.seed(f"{MINE}{PATHS[0]}", depth=2)
    desk.allow(MINE)
    desk.store(f"{MINE}{PATHS[0]}")
    desk.wake(0.1)
    call(desk, FIRST)
    assert asked(desk.wake(101.0)) == [f"{MINE}{PATHS[0]}"]


def test_a_page_that_was_imported_stays_where_it_is() -> None:
    desk = desk_of_alias()
    link = FoundLink(f"{MINE}{PATHS[0]}", depth=2, use=LinkUse.STORED)
    desk.tell(LinksFound(70, (link,)), "controller")
    assert brought(desk, PASSED_ON_S) == []
    assert desk.state_of(f"{MINE}{PATHS[0]}") == "D200"


def test_when_a_host_is_no_alias_any_more_its_pages_are_asked_for_within_a_day() -> None:
    desk = desk_of_alias()
    desk.seed(f"{MINE}{PATHS[0]}", depth=2)
    desk.wake(0.2)
    assert asked(desk.wake(politeness.POLICY_REVIEW_S + 2.0)) == [], "it still is one"
    call(desk, "")
    desk.wake(0.2)
    assert asked(desk.wake(politeness.POLICY_REVIEW_S + 2.0)) == [f"{MINE}/robots.txt"]
    assert asked(desk.allow(MINE)) == [f"{MINE}{PATHS[0]}"]
    assert desk.observe().aliases == 0


def test_a_host_is_still_an_alias_after_a_restart() -> None:
    desk = desk_of_alias()
    desk.start()
    desk.seed(f"{MINE}{PATHS[0]}", depth=2)
    assert brought(desk, PASSED_ON_S) == [f"{THEIRS}{PATHS[0]}"]


def test_names_that_lead_from_one_to_the_next_are_followed_to_the_first() -> None:
    desk = Desk(delay_s=0.0)
    desk.seed("http://a.test/", "http://b.test/", "http://c.test/")
    desk.tell(CallAlias("c.test", "b.test"), "aliases")
    desk.tell(CallAlias("b.test", "a.test"), "aliases")
    desk.seed("http://c.test/x", depth=3)
    assert desk.state_of("http://a.test/x") == "Q"


# --- Records ---


@pytest.mark.parametrize(("fetched", "is_compared"), [(16, False), (32, True), (33, False), (64, True)])
def test_a_host_is_compared_when_its_pages_have_doubled(fetched: int, is_compared: bool) -> None:
    assert is_to_compare(HostRecord("a.test", fetched=fetched)) is is_compared
    assert is_to_compare(HostRecord("a.test", fetched=fetched, alias_of="b.test"))


def test_a_page_of_an_alias_is_a_reason_to_compare_it_again() -> None:
    desk = desk_of_alias()
    desk.tell(LinksFound(70, (FoundLink(f"{MINE}{SAMPLED}", depth=3),)), "controller", OTHER)
    assert of_kind(desk.store(f"{MINE}{SAMPLED}"), HostGrown) == [HostGrown(NAME)]


def test_who_wants_each_name_of_a_site_crawled_has_it_crawled() -> None:
    desk = desk_of_alias(finds_aliases=False)
    url = f"{MINE}{PATHS[0]}"
    assert asked(desk.tell(LinksFound(70, (FoundLink(url, depth=3),)), "controller", OTHER)) == [url]
    assert of_kind(desk.store(url), HostGrown) == []
    assert brought(desk, PASSED_ON_S) == [], "no link goes to another name"


def test_the_last_judgement_holds_on_all_of_a_team_whoever_has_the_later_clock() -> None:
    first = judged(HostRecord("a.test", next_fetch_s=9.0), "b.test")
    last = judged(HostRecord("a.test", next_fetch_s=5.0, judged=1, alias_of="b.test"), "")
    assert judged(first, "b.test") == first
    for joined in (join(first, last), join(last, first)):
        assert (joined.next_fetch_s, joined.judged, joined.alias_of) == (9.0, 2, "")
