"""The crawl under a policy of the mesh: what is queued, what is asked, and when."""

from __future__ import annotations

from datetime import UTC, datetime
from math import inf
from typing import Any

import msgspec
import pytest

from mesh.actors.actor import Send
from mesh.actors.departures import GATHER_S
from mesh.keys.decree import POLICY, Decree
from mesh.membership.model.messages import DecreesInForce
from mesh.urls import host_of
from peers.crawler.model import politeness
from peers.crawler.model.messages import ParsePage
from peers.crawler.model.politeness import PAUSED_LOOK_S, POLICY_REVIEW_S
from peers.crawler.model.settings import Tuning
from peers.crawler.model.web_request import FetchPage
from peers.crawler.model.wire_messages import FoundLink, LinksAccepted, LinksFound
from peers.engine.pages.document import Document
from peers.policy.rules import Action, Policy, Rule, policy_bytes
from peers.storage.messages import StorePage
from tests.helpers import ME, fetched, parsed
from tests.peers.crawler.desk import OTHER as OTHER_PEER
from tests.peers.crawler.desk import Desk, asked, host_of_peer, of_kind

ORIGIN = "http://www.pku.edu.cn"
HOME, OTHER = f"{ORIGIN}/", "http://www.debian.org/"
REST = Rule(action=Action.SKIP)


def decree(desk: Desk, *rules: Rule, number: int = 1) -> list[Send]:
    body = policy_bytes(Policy(rules=rules))
    made = Decree(POLICY, "", number, 0.0, inf, body, b"", b"")
    return desk.tell(DecreesInForce(POLICY, (made,)), "membership")


def crawl(**limits: Any) -> Rule:
    return Rule(action=Action.CRAWL, domains=("pku.edu.cn",), **limits)


def test_links_out_of_scope_are_counted_and_kept_as_texts_but_not_queued() -> None:
    desk = Desk(delay_s=0.0)
    decree(desk, crawl(), REST)
    desk.seed(HOME, OTHER, anchor="a word", linker="x.org")
    assert desk.state_of(HOME) is not None
    assert desk.state_of(OTHER) is None
    assert desk.anchors_of(OTHER) != ()
    assert desk.observe().links_left_out == 1


def test_links_left_out_are_queued_once_a_wider_policy_wants_them() -> None:
    """They were found again only when the pages that have them were visited again."""
    desk = Desk(delay_s=0.0)
    decree(desk, crawl(depth_max=1), REST)
    desk.seed(OTHER)
    desk.seed(f"{ORIGIN}/deep", depth=3)
    desk.start()  # another life
    decree(desk, crawl(), REST, number=2)
    desk.wake()
    assert desk.state_of(f"{ORIGIN}/deep") is not None
    assert desk.state_of(OTHER) is None
    decree(desk, Rule(action=Action.CRAWL), number=3)
    assert asked(desk.wake()) == ["http://www.debian.org/robots.txt"]


def test_links_left_out_go_to_who_owns_them_by_now() -> None:
    desk = Desk(delay_s=0.0)
    decree(desk, REST)
    theirs = f"{host_of_peer(OTHER_PEER)}/"
    desk.seed(theirs, depth=3, anchor="a word")
    desk.share((ME, OTHER_PEER))
    decree(desk, Rule(action=Action.CRAWL), number=2)
    assert not desk.observe().is_idle
    (batch,) = of_kind(desk.wake(), LinksFound)
    assert (batch.links, batch.policy) == ((FoundLink(theirs, depth=3),), 2)
    desk.tell(LinksAccepted(batch.batch), "controller", OTHER_PEER)
    decree(desk, Rule(action=Action.CRAWL), REST, number=3)
    assert of_kind(desk.wake(1.0), LinksFound) == [], "it is kept here no more"


def test_what_was_queued_before_is_not_asked_once_the_policy_leaves_it_out() -> None:
    desk = Desk(delay_s=0.0)
    desk.seed(HOME)
    decree(desk, REST)
    assert asked(desk.allow(ORIGIN)) == []
    assert desk.observe().fetch_status == {"policy": 1}
    decree(desk, crawl())
    assert asked(desk.wake(POLICY_REVIEW_S + 1.0)) == [f"{ORIGIN}/robots.txt"]


def test_page_that_no_rule_is_about_is_counted_as_an_error_of_the_policy() -> None:
    desk = Desk(delay_s=0.0)
    desk.seed(HOME)
    decree(desk, Rule(action=Action.CRAWL, domains=("debian.org",)))
    desk.allow(ORIGIN)
    assert desk.observe().fetch_status == {"unruled": 1}


@pytest.mark.parametrize(
    ("limits", "delay_s"), [({"delay_s": 9.0}, 9.0), ({"delay_s": 0.5}, 0.5), ({"pages_a_day": 2_880}, 30.0)]
)
def test_delay_of_a_rule_stands_for_the_peers_own(limits: dict[str, float], delay_s: float) -> None:
    desk = Desk(delay_s=2.0)
    decree(desk, crawl(**limits), REST)
    desk.seed(HOME)
    desk.allow(ORIGIN)
    assert asked(desk.wake(delay_s - 2.0)) == ([HOME] if delay_s > 2.0 else [])
    assert desk.observe().in_flight == 1


def test_robots_txt_that_wants_a_longer_delay_gets_it() -> None:
    desk = Desk(delay_s=2.0)
    decree(desk, crawl(delay_s=1.0), REST)
    desk.seed(HOME)
    desk.allow(ORIGIN, b"User-agent: *\nCrawl-delay: 20")
    assert asked(desk.wake(17.9)) == []
    assert asked(desk.wake(0.1)) == [HOME]


def test_paused_host_is_left_alone_and_asked_as_soon_as_it_is_resumed() -> None:
    desk = Desk(delay_s=0.0)
    decree(desk, Rule(action=Action.PAUSE, hosts=("www.pku.edu.cn",)), crawl())
    assert asked(desk.seed(HOME)) == []
    assert asked(desk.wake(10 * PAUSED_LOOK_S)) == []
    assert desk.observe().queued == 1
    assert asked(decree(desk, crawl())) == [f"{ORIGIN}/robots.txt"]


def test_paused_mesh_asks_nobody_and_need_not_wake_for_it() -> None:
    desk = Desk(delay_s=0.0)
    decree(desk, Rule(action=Action.PAUSE), crawl())
    assert asked(desk.seed(HOME)) == []
    assert asked(desk.wake(1_000.0)) == []
    assert asked(decree(desk, crawl())) == [f"{ORIGIN}/robots.txt"]


def test_host_is_asked_only_within_its_hours() -> None:
    midnight = 20_000 * 86_400.0
    desk = Desk(delay_s=0.0, now=midnight + 3_600.0)
    decree(desk, crawl(hours="02:00-03:00"), REST)
    assert asked(desk.seed(HOME)) == []
    assert asked(desk.wake(3_599.0)) == []
    assert asked(desk.wake(1.0)) == [f"{ORIGIN}/robots.txt"]


def test_depth_and_pages_of_a_rule_are_limits() -> None:
    desk = Desk(delay_s=0.0)
    decree(desk, crawl(depth_max=1, pages_per_host_max=1), REST)
    desk.seed(HOME)
    desk.allow(ORIGIN)
    desk.store(HOME, FoundLink(f"{ORIGIN}/1"), FoundLink(f"{ORIGIN}/2"))
    desk.seed(f"{ORIGIN}/deep", depth=2)
    assert desk.state_of(f"{ORIGIN}/deep") is None
    desk.wake()
    assert desk.observe().fetch_status["policy_budget"] == 2


def test_pages_left_out_by_limits_of_a_policy_come_back_with_another_one() -> None:
    desk = Desk(delay_s=0.0)
    decree(desk, crawl(pages_per_host_max=1), REST)
    desk.seed(HOME)
    desk.seed(f"{ORIGIN}/1", depth=1)
    desk.allow(ORIGIN)
    desk.store(HOME)
    desk.wake()
    assert desk.state_of(f"{ORIGIN}/1") == "Xpolicy_budget"
    decree(desk, crawl())
    assert asked(desk.wake(POLICY_REVIEW_S + 1.0)) == [f"{ORIGIN}/robots.txt"]
    assert asked(desk.allow(ORIGIN)) == [f"{ORIGIN}/1"]


def test_limits_of_the_peer_itself_are_not_those_of_a_policy() -> None:
    desk = Desk(delay_s=0.0, pages_per_host_max=1)
    decree(desk, crawl(pages_per_host_max=1), REST)
    desk.seed(HOME)
    desk.seed(f"{ORIGIN}/1", depth=1)
    desk.allow(ORIGIN)
    desk.store(HOME)
    desk.wake()
    assert desk.state_of(f"{ORIGIN}/1") == "Xhost_budget"


def test_page_found_before_a_rule_on_depth_is_left_out_when_its_turn_comes() -> None:
    desk = Desk(delay_s=0.0)
    desk.seed(HOME)
    desk.seed(f"{ORIGIN}/deep", depth=2)
    decree(desk, crawl(depth_max=1), REST)
    assert asked(desk.allow(ORIGIN)) == [HOME]
    desk.store(HOME)
    desk.wake()
    assert desk.state_of(f"{ORIGIN}/deep") == "Xpolicy_budget"
    decree(desk, crawl(depth_max=2), REST)
    assert asked(desk.wake(POLICY_REVIEW_S + 1.0)) == [f"{ORIGIN}/robots.txt"]
    assert asked(desk.allow(ORIGIN)) == [f"{ORIGIN}/deep"]


def test_link_that_was_left_out_is_brought_to_its_owner_again_under_another_policy() -> None:
    desk = Desk(delay_s=0.0)
    decree(desk, crawl(), REST)
    desk.seed(HOME)
    desk.seed(f"{ORIGIN}/1", depth=1)
    desk.allow(ORIGIN)
    desk.store(HOME, OTHER)
    desk.wake()
    assert desk.state_of(OTHER) is None
    decree(desk, Rule(action=Action.CRAWL))
    desk.store(f"{ORIGIN}/1", OTHER)
    assert desk.state_of(OTHER) is not None


@pytest.mark.parametrize(
    ("limits", "delay_s"), [({"delay_s": 9.0}, 9.0), ({"delay_s": 0.5}, 0.5), ({"pages_a_day": 2_880}, 2.0)]
)
def test_delay_of_a_rule_holds_at_the_address_too_and_pages_a_day_are_of_the_host(
    limits: dict[str, float], delay_s: float
) -> None:
    desk = Desk(delay_s=2.0)
    decree(desk, crawl(**limits), Rule(action=Action.CRAWL))
    questions = [*of_kind(desk.seed(HOME), FetchPage), *of_kind(desk.seed(OTHER), FetchPage)]
    assert [question.delay_s for question in questions] == [delay_s, 2.0]


@pytest.mark.parametrize(
    "closed", [Rule(action=Action.PAUSE, domains=("test",)), Rule(action=Action.CRAWL, hours="02:00-03:00")]
)
def test_looks_at_hosts_that_a_policy_closes_write_nothing(closed: Rule) -> None:
    """Each wrote the clock of the host, and had it sent to the team."""
    desk = Desk(delay_s=0.0, peers=(ME, OTHER_PEER), replicas=2)
    origin = host_of_peer(ME)
    decree(desk, closed, Rule(action=Action.CRAWL))
    desk.seed(f"{origin}/")
    assert desk.controller._store.has_changes, "of what was found the others hear"
    desk.controller._store.take_changes()
    rows = dict(desk.table.scan(b"f", b"g"))
    for _ in range(5):
        desk.wake(PAUSED_LOOK_S / 10)
        assert not desk.controller._store.has_changes
        assert dict(desk.table.scan(b"f", b"g")) == rows
        assert desk.controller._visits.next_time() > desk.now


def test_host_is_not_asked_before_its_clock_when_a_pause_is_lifted() -> None:
    desk = Desk(delay_s=5.0)
    desk.seed(HOME)
    desk.tell(fetched(f"{ORIGIN}/robots.txt", 404))
    decree(desk, Rule(action=Action.PAUSE, hosts=("www.pku.edu.cn",)), crawl())
    assert asked(desk.wake(5.0)) == []
    assert asked(decree(desk, crawl(delay_s=5.0), number=2)) == [HOME]
    desk.tell(fetched(HOME, 404))
    desk.seed(f"{ORIGIN}/2")
    decree(desk, Rule(action=Action.PAUSE, hosts=("www.pku.edu.cn",)), number=3)
    assert asked(decree(desk, crawl(delay_s=5.0), number=4)) == []
    assert asked(desk.wake(4.9)) == []
    assert asked(desk.wake(0.1)) == [f"{ORIGIN}/2"]


def test_paused_hosts_of_a_domain_leave_their_places_to_others_and_come_back_when_resumed() -> None:
    desk = Desk(delay_s=0.0, hosts_per_domain_max=3)
    paused = [f"p{number}.pku.edu.cn" for number in range(9)]
    decree(desk, Rule(action=Action.PAUSE, hosts=tuple(paused)), crawl())
    for host in paused:
        assert asked(desk.seed(f"http://{host}/")) == []
    assert asked([*desk.seed(HOME), *desk.wake()]) == [f"{ORIGIN}/robots.txt"]
    for _ in range(20):
        desk.wake()
    assert desk.controller.wake_at() > desk.now, "nobody is looked at again and again"
    sends = [*desk.tell(fetched(f"{ORIGIN}/robots.txt", 404)), *decree(desk, crawl(), number=2)]
    hosts = set()
    for _ in range(40):
        urls = asked(sends)
        hosts |= {host_of(url) for url in urls}
        sends = [send for url in urls for send in desk.tell(fetched(url, 404))] + desk.wake()
    assert hosts == {*paused, "www.pku.edu.cn"}


def test_seed_by_a_newer_policy_is_taken_once_that_is_known() -> None:
    desk = Desk(delay_s=0.0)
    decree(desk, REST)
    seed = LinksFound(9, (FoundLink(HOME),), policy=2)
    assert desk.tell(seed, "searcher") == [], "it would be left out by the policy of before"
    assert desk.observe().links_left_out == 0
    decree(desk, crawl(), number=2)
    assert of_kind(desk.tell(seed, "searcher"), LinksAccepted) == [LinksAccepted(9)]
    assert desk.state_of(HOME) is not None


CHINESE = crawl(languages=("zh",), media_types=("text/html",))


@pytest.mark.parametrize(
    ("language", "media_type", "is_kept"),
    [("zh", "text/html", True), ("en", "text/html", False), ("zh", "text/plain", False), ("", "", False)],
)
def test_page_of_a_language_or_type_that_nobody_wants_is_not_kept_nor_are_its_links(
    language: str, media_type: str, is_kept: bool
) -> None:
    desk = Desk(delay_s=0.0)
    decree(desk, CHINESE, REST)
    desk.seed(HOME)
    desk.allow(ORIGIN)
    desk.tell(fetched(HOME))
    page = parsed(HOME, f"{ORIGIN}/next")
    page = msgspec.structs.replace(page, document=Document(HOME, language=language, type=media_type))
    sends = desk.tell(page, "parser")
    assert bool(of_kind(sends, StorePage)) is is_kept
    if not is_kept:
        desk.wake()
        assert desk.state_of(f"{ORIGIN}/next") is None
        assert desk.observe().fetch_status == {"200": 1, "policy": 1}
        assert desk.observe().in_progress == 0
        decree(desk, crawl())
        assert asked(desk.wake(POLICY_REVIEW_S + 1.0)) == [f"{ORIGIN}/robots.txt"], "it is looked at again"


def test_page_that_asks_not_to_be_indexed_fulfils_no_condition_on_its_language() -> None:
    desk = Desk(delay_s=0.0)
    decree(desk, Rule(action=Action.SKIP, languages=("en",)), crawl())
    desk.seed(HOME)
    desk.allow(ORIGIN)
    desk.tell(fetched(HOME))
    page = msgspec.structs.replace(parsed(HOME), document=None)
    assert of_kind(desk.tell(page, "parser"), StorePage)


def test_without_a_policy_seeds_are_crawled_again() -> None:
    desk = Desk(delay_s=0.0)
    decree(desk, REST)
    desk.tell(DecreesInForce(POLICY, ()), "membership")
    assert asked(desk.seed(HOME)) == [f"{ORIGIN}/robots.txt"]


def test_a_rule_lets_a_site_be_asked_more_often_a_day_than_others() -> None:
    desk = Desk(delay_s=0.0, requests_per_host_day_max=2)
    decree(desk, crawl(requests_a_day=4), Rule(action=Action.CRAWL))
    desk.with_home_asked(f"{ORIGIN}/2", f"{ORIGIN}/3", f"{ORIGIN}/4", origin=ORIGIN)
    assert asked(desk.tell(fetched(HOME, 404))) == [f"{ORIGIN}/2"]
    assert asked(desk.tell(fetched(f"{ORIGIN}/2", 404))) == [f"{ORIGIN}/3"]
    assert asked(desk.tell(fetched(f"{ORIGIN}/3", 404))) == []
    assert desk.controller.wake_at() == 86_400.0
    assert politeness.requests_a_day(desk.settings) == 2


BROTHER = "http://mail.pku.edu.cn/"


def test_without_a_policy_links_to_other_domains_wait_for_one() -> None:
    """Whoever may give seeds, and no orders, cannot send a mesh anywhere."""
    desk = Desk(delay_s=0.0, tuning=Tuning(measure_s=0.0)).with_home_asked(origin=ORIGIN)
    desk.store(HOME, f"{ORIGIN}/b", OTHER, BROTHER)
    desk.wake(GATHER_S)
    states = [desk.state_of(url) for url in (f"{ORIGIN}/b", BROTHER, OTHER)]
    assert states[-1] is None not in states[:-1]
    assert desk.observe().links_left_out == 1
    decree(desk, Rule(action=Action.CRAWL))
    desk.wake(GATHER_S)
    assert desk.state_of(OTHER) is not None


def test_without_a_policy_a_page_of_another_domain_is_crawled_once_its_own_leads_to_it() -> None:
    desk = Desk(delay_s=0.0, tuning=Tuning(measure_s=0.0)).with_home_asked(origin=ORIGIN)
    there = f"{OTHER}doc"
    desk.store(HOME, there)
    desk.wake(GATHER_S)
    assert desk.state_of(there) is None
    desk.seed(OTHER)
    desk.allow(OTHER.rstrip("/"))
    desk.store(OTHER, there)
    desk.wake(GATHER_S)
    assert desk.state_of(there) is not None


def test_without_a_policy_a_redirect_to_another_domain_is_not_followed() -> None:
    desk = Desk(delay_s=0.0, tuning=Tuning(measure_s=0.0)).with_home_asked(origin=ORIGIN)
    desk.tell(fetched(HOME, 301, headers=(("Location", OTHER),)))
    desk.wake(GATHER_S)
    assert desk.state_of(OTHER) is None
    assert desk.observe().links_left_out == 1


def test_rule_ends_when_it_says_and_what_it_left_out_is_asked_for() -> None:
    desk = Desk(delay_s=0.0)
    end = datetime.fromtimestamp(desk.now + 60.0, UTC)
    decree(desk, Rule(action=Action.SKIP, until=end), Rule(action=Action.CRAWL))
    assert asked(desk.seed(HOME)) == []
    assert desk.controller.wake_at() <= end.timestamp()
    assert asked(desk.wake(59.0)) == []
    assert asked(desk.wake(1.0) + desk.wake()) == [f"{ORIGIN}/robots.txt"]


def test_when_the_crawl_is_over_nothing_is_due_any_more_and_what_is_under_way_is_finished() -> None:
    """So a run that ends when nothing is left to do ends then, whatever is queued."""
    desk = Desk(now=1_000.0).with_home_asked(origin=ORIGIN)
    ends_at = datetime.fromtimestamp(desk.now + 5.0, UTC)
    body = policy_bytes(Policy(rules=(Rule(action=Action.CRAWL),), ends_at=ends_at))
    made = Decree(POLICY, "", 1, 0.0, inf, body, b"", b"")
    desk.tell(DecreesInForce(POLICY, (made,)), "membership")
    desk.now += 5.0
    desk.store(HOME, f"{ORIGIN}/next", at=desk.now)
    assert [asked(desk.wake(60.0)) for _ in range(2)] == [[], []]
    assert desk.state_of(f"{ORIGIN}/next") == "Q"
    assert desk.observe().is_idle
    again = msgspec.structs.replace(
        made, number=2, body=policy_bytes(Policy(rules=(Rule(action=Action.CRAWL),)))
    )
    assert asked(desk.tell(DecreesInForce(POLICY, (again,)), "membership")) == [f"{ORIGIN}/next"]


def test_pages_are_searched_for_ftp_servers_where_a_rule_names_one() -> None:
    server = "ftp://ftp.pku.edu.cn/"
    names = Rule(action=Action.CRAWL, urls=(f"{server}*",))
    for rules, is_asked in (((crawl(),), False), ((crawl(), names), True)):
        desk = Desk(delay_s=0.0)
        decree(desk, *rules)
        robots = asked(desk.seed(HOME, server))
        assert robots == [f"{ORIGIN}/robots.txt", f"{server}robots.txt"][: 1 + is_asked]
        assert desk.observe().links_left_out == (not is_asked)
        assert asked(desk.tell(fetched(robots[0], 404))) == [HOME]
        (order,) = of_kind(desk.tell(fetched(HOME)), ParsePage)
        assert order.finds_ftp is is_asked
