"""What a controller says of a URL, and of why so much is fetched and no more."""

from __future__ import annotations

import msgspec
import pytest

from mesh.actors.actor import Address
from mesh.actors.port import DiskFilled
from mesh.errors import RemoteProtocolError
from mesh.membership.model.messages import CrawlLicensed
from mesh.stamp import Stamp
from mesh.tables.memory_table import MemoryTable
from mesh.urls import host_of
from peers.crawler.controller import DISK_FULL_PAUSE_S, Controller
from peers.crawler.explanations import (
    CrawlFacts,
    DueBy,
    Hold,
    Ruling,
    Underway,
    UrlFacts,
    UrlState,
    Wait,
    crawl_facts_in,
    encode_facts,
    url_facts_in,
)
from peers.crawler.model.messages import StopCrawl
from peers.crawler.model.settings import Revisit
from peers.crawler.model.web_request import FailureReason
from peers.crawler.model.wire_messages import (
    FACTS_BYTES_MAX,
    CrawlExplained,
    ExplainCrawl,
    ExplainUrl,
    LinkUse,
    UrlExplained,
)
from peers.gateway.why.why_rows import _state_rows
from peers.policy.crawl_order import CrawlOrder, Order
from peers.policy.rules import Action, Rule
from peers.storage.ledger.ledger import Ledger
from peers.storage.ledger.ledger_keys import identity_of
from peers.storage.ledger.place import Place
from tests.helpers import ME, NOTHING_STORED, fetched, owned_by
from tests.peers.crawler.desk import HOME, MINE, ORIGIN, OTHER, ROBOTS, SETTINGS, THEIRS, Desk, asked, of_kind
from tests.peers.crawler.test_policy import decree

PAGE = f"{ORIGIN}/page"


def url_facts(desk: Desk, url: str) -> UrlFacts:
    """What the controller of a desk knows of a URL, as another peer gets to know it."""
    [answer] = of_kind(desk.tell(ExplainUrl(7, url), "searcher", OTHER), UrlExplained)
    assert answer.request == 7
    return url_facts_in(answer.facts)


def crawl_facts(desk: Desk) -> CrawlFacts:
    [answer] = of_kind(desk.tell(ExplainCrawl(8), "searcher", OTHER), CrawlExplained)
    assert answer.request == 8
    return crawl_facts_in(answer.facts)


def holds(facts: UrlFacts) -> list[Hold]:
    return [wait.hold for wait in facts.waits]


def test_url_that_nobody_has_found_is_unknown() -> None:
    facts = url_facts(Desk(), HOME)
    assert (facts.state, facts.is_held, facts.waits, facts.host) == (UrlState.UNKNOWN, True, (), None)
    assert facts.rulings == (Ruling(1, "crawl"),)


def test_queued_url_has_its_depth_texts_place_and_what_it_waits_for() -> None:
    desk = Desk().with_home_asked(PAGE, f"{ORIGIN}/other")
    desk.seed(PAGE, depth=1, anchor="a page", linker="0123456789abcdef")
    facts = url_facts(desk, PAGE)
    assert (facts.state, facts.depth, facts.due_by) == (UrlState.QUEUED, 1, DueBy.FIRST)
    assert (facts.texts, facts.linkers) == (("a page",), 1)
    assert (facts.place, facts.is_place_cut) == (2, False), "behind the home page, which is out"
    assert holds(facts) == [Hold.BEING_ASKED, Hold.BEHIND]
    assert facts.host is not None
    assert (facts.host.delay_s, facts.host.delay_by) == (2.0, "delay_s of the peer's settings")
    desk.now += 3.0
    home = url_facts(desk, HOME)
    assert (home.state, home.asking) == (UrlState.FETCHING, Underway(HOME, 3.0))


def test_queued_url_says_by_what_order_it_waits_and_how_far_one_may_go_from_it() -> None:
    ordering = CrawlOrder(order=Order.FOCUSED, guide_words=("climate",), steps=2)
    desk = Desk(ordering=ordering).with_home_asked()
    desk.seed(PAGE, depth=1, anchor="on climate", levels=4, steps=2)
    facts = url_facts(desk, PAGE)
    assert (facts.order, facts.levels, facts.steps) == ("focused", 4, 2)
    assert facts.rank is not None
    rows = dict(_state_rows(facts))
    assert rows["queue"] == (
        f"place 2 of its host, by the order focused, rank {facts.rank:,}, 4 clicks from it at most, as its "
        "seed wants, 2 clicks from it at most without a relevant page"
    )
    assert url_facts(Desk().with_home_asked(), HOME).order == "breadth"


def test_url_waits_for_its_robots_txt_which_is_being_asked_for() -> None:
    desk = Desk()
    desk.seed(HOME, PAGE)
    facts = url_facts(desk, PAGE)
    asking = {url_facts(desk, url).asking for url in (HOME, PAGE)}
    assert asking == {Underway(ROBOTS, 0.0), None}, "for one of them, whichever is first"
    assert {url_facts(desk, url).state for url in (HOME, PAGE)} == {UrlState.FETCHING, UrlState.QUEUED}
    assert facts.robots is None
    assert crawl_facts(desk).robots_in_flight == 1


def test_stored_page_has_its_visit_its_next_one_and_its_versions() -> None:
    desk = Desk(peers=(ME, OTHER), revisit_after_s=3_600.0).with_home_asked(origin=MINE)
    asked_s, home = desk.now, f"{MINE}/"
    desk.store(home, THEIRS + "/", at=asked_s)
    facts = url_facts(desk, home)
    assert facts.state is UrlState.IN_PROGRESS, "its link to a host of another peer waits for a commit"
    desk.wake(1.0)
    slot = owned_by(desk.peers).slot_of(host_of(home))
    ledger = Ledger(desk.cell_table)
    for visit, at in ((1, 10.0), (2, 20.0)):
        ledger.keep(identity_of(slot, home), Place(home, at, 200, 1, visit * 1_000, 100, visit, True, visit))
    facts = url_facts(desk, home)
    assert (facts.state, facts.outcome, facts.visits) == (UrlState.STORED, "200", 1)
    assert (facts.visited_s, facts.due_by, facts.interval_s) == (asked_s, DueBy.INTERVAL, 3_600.0)
    assert facts.due_s == desk.now + 3_600.0
    assert holds(facts)[-1] is Hold.NOT_DUE
    assert facts.archive is not None
    assert (facts.archive.versions, facts.archive.n_bytes, facts.archive.newest_s) == (2, 200, 20.0)
    assert facts.archive.is_indexed
    ledger.marks.mark_page(identity_of(slot, home), Stamp(2, 20.0))
    archive = url_facts(desk, home).archive
    assert archive is not None
    assert not archive.is_indexed


def test_page_says_by_which_policy_it_is_due_and_what_its_visits_have_found() -> None:
    desk = Desk(revisit=Revisit.OPTIMAL, revisit_after_s=4_000.0, robots_ttl_s=1e9).with_home_asked()
    for _ in range(3):
        desk.store(HOME, at=desk.now)
        desk.wake(1.0)
        desk.now = url_facts(desk, HOME).due_s or 0.0
        assert asked(desk.wake()) == [HOME]
    facts = url_facts(desk, HOME)
    assert (facts.revisit, facts.checks, facts.changes) == ("optimal", 2, 0)
    assert facts.interval_s == pytest.approx(4_000.0 * 2.0**2, abs=2.0)
    assert not facts.is_out_of_turn
    desk.tell(fetched(HOME, 404))
    facts = url_facts(desk, HOME)
    assert facts.misses == 1
    assert facts.missed_s == pytest.approx(desk.now, abs=1.0)


def test_page_whose_site_says_that_it_has_changed_says_so() -> None:
    desk = Desk(revisit_after_s=4_000.0, robots_ttl_s=1e9).with_home_asked()
    desk.store(HOME, at=desk.now)
    desk.wake(1.0)
    desk.wake(100.0)
    assert not url_facts(desk, HOME).is_out_of_turn
    desk.change(fetches_in_flight_max=1)
    desk.seed(PAGE)
    desk.seed(HOME, changed_s=int(desk.now))
    assert url_facts(desk, HOME).is_out_of_turn


def test_page_that_is_visited_once_is_due_never() -> None:
    desk = Desk().with_home_asked()
    desk.tell(fetched(HOME, 404))
    facts = url_facts(desk, HOME)
    assert (facts.state, facts.outcome, facts.due_s, facts.due_by) == (
        UrlState.FAILED,
        "404",
        None,
        DueBy.ONCE,
    )


def test_imported_page_is_said_to_come_from_a_file() -> None:
    desk = Desk()
    desk.seed(HOME, use=LinkUse.STORED)
    facts = url_facts(desk, HOME)
    assert (facts.state, facts.visited_s, facts.due_by) == (UrlState.IMPORTED, None, None)


def test_line_of_the_robots_txt_that_forbids_is_told_with_its_number() -> None:
    desk = Desk()
    desk.seed(HOME, depth=0)
    desk.seed(f"{ORIGIN}/private/x", depth=1)
    robots = """User-agent: other
Disallow: /

User-agent: *
Crawl-delay: 9
Disallow: /private
"""
    desk.allow(robots=robots.replace("\n", "\r\n").encode())
    facts = url_facts(desk, f"{ORIGIN}/private/x")
    assert facts.robots is not None
    assert facts.robots.asked_s == desk.now - SETTINGS.delay_s
    assert not facts.robots.is_allowed
    assert (facts.robots.line_number, facts.robots.line) == (6, "Disallow: /private")
    assert facts.host is not None
    assert (facts.host.delay_s, facts.host.delay_by) == (9.0, "Crawl-delay of its robots.txt")
    home = url_facts(desk, HOME)
    assert home.robots is not None
    assert home.robots.is_allowed
    assert not home.robots.line_number


def test_host_that_has_failed_is_left_alone_until_a_time_that_is_told() -> None:
    desk = Desk().with_home_asked(PAGE)
    desk.fail(HOME, FailureReason.TIMEOUT)
    facts = url_facts(desk, HOME)
    assert (facts.state, facts.attempts, facts.due_by) == (UrlState.QUEUED, 1, DueBy.AGAIN)
    assert facts.waits[0] == Wait(Hold.BACK_OFF, desk.now + SETTINGS.backoff_s)
    crawl = crawl_facts(desk)
    assert crawl.answers == {"timeout": 1}
    assert (crawl.waiting, crawl.ready, crawl.next_s) == ({Hold.BACK_OFF: 1}, 0, desk.now + 30.0)
    [longest] = crawl.longest
    assert (longest.name, longest.queued, longest.hold) == ("a.test", 2, Hold.BACK_OFF)


def test_host_without_an_address_is_said_to_have_none() -> None:
    desk = Desk().with_home_asked()
    desk.fail(HOME, FailureReason.DNS)
    assert holds(url_facts(desk, HOME)) == [Hold.NO_ADDRESS]
    assert crawl_facts(desk).given_up == 1


def test_rule_that_pauses_leaves_out_or_takes_down_is_told_by_its_number() -> None:
    desk = Desk()
    skip = Rule(action=Action.SKIP, urls=(f"{ORIGIN}/no*",), reason="asked for")
    take_down = Rule(action=Action.TAKE_DOWN, urls=(f"{ORIGIN}/gone",))
    decree(desk, take_down, skip, Rule(action=Action.PAUSE, domains=("test",)), Rule(action=Action.CRAWL))
    desk.seed(f"{ORIGIN}/no/1", HOME, depth=3)
    left_out = url_facts(desk, f"{ORIGIN}/no/1")
    assert left_out.state is UrlState.LEFT_OUT
    assert left_out.left_out_depth == 3
    assert left_out.rulings == (
        Ruling(2, "skip", f"urls {ORIGIN}/no*", reason="asked for", refusal="policy"),
    )
    paused = url_facts(desk, HOME)
    assert [(each.number, each.action, each.condition) for each in paused.rulings] == [
        (3, "pause", "domains test")
    ]
    assert holds(paused)[0] is Hold.POLICY
    assert crawl_facts(desk).waiting == {Hold.POLICY: 1}
    assert crawl_facts(desk).urls_waiting[Hold.POLICY] > 0
    assert url_facts(desk, f"{ORIGIN}/gone").is_taken_down


def test_host_of_another_peer_is_not_held_and_what_is_kept_of_it_is_told() -> None:
    desk = Desk(peers=(OTHER, ME), replicas=2)
    facts = url_facts(desk, f"{THEIRS}/")
    assert (facts.is_held, facts.state) == (False, UrlState.UNKNOWN)
    desk.seed(f"{MINE}/")
    assert url_facts(desk, f"{MINE}/").is_held


def test_crawl_says_what_stops_all_of_it() -> None:
    desk = Desk()
    desk.tell(DiskFilled(""), "archive")
    assert crawl_facts(desk).halts == (Wait(Hold.DISK_FULL, desk.now + DISK_FULL_PAUSE_S),)
    desk.tell(CrawlLicensed(desk.now - 1.0), "membership")
    desk.tell(StopCrawl(), "lab")
    assert [halt.hold for halt in crawl_facts(desk).halts] == [Hold.STOPPED, Hold.UNLICENSED, Hold.DISK_FULL]


def test_crawl_says_that_pages_are_due_again_which_wait_for_their_host() -> None:
    desk = Desk(revisit_after_s=1_000.0, robots_ttl_s=1e9, delay_s=100.0).with_home_asked(PAGE)
    for url in (HOME, PAGE):
        desk.store(url, at=desk.now)
        desk.wake(100.0)
    assert not crawl_facts(desk).is_due_again
    assert asked(desk.wake(1_000.0)) == [HOME]
    desk.store(HOME, at=desk.now)
    desk.wake(1.0)
    facts = crawl_facts(desk)
    assert (facts.queued, facts.ready, facts.is_due_again) == (0, 0, True)


def test_crawl_names_the_fetches_that_take_longest() -> None:
    desk = Desk().with_home_asked()
    desk.now += 40.0
    [slowest] = crawl_facts(desk).slowest
    assert (slowest.url, slowest.seconds) == (HOME, 40.0)


@pytest.mark.parametrize("url", ["x", "http://a.test", "HTTP://a.test/", "http://a.test/#x", "http:///"])
def test_question_about_what_is_no_canonical_url_is_refused(url: str) -> None:
    desk = Desk()
    with pytest.raises(RemoteProtocolError, match="no canonical URL"):
        desk.tell(ExplainUrl(7, url), "searcher", OTHER)


def test_host_without_a_place_in_memory_is_explained_by_its_row() -> None:
    desk = Desk(hosts_per_domain_max=1)
    urls = ("http://a.wild.test/", "http://b.wild.test/")
    desk.seed(*urls)
    found = (url_facts(desk, url) for url in urls)
    [facts] = [each for each in found if each.host is not None and each.host.queued is None]
    assert facts.state is UrlState.QUEUED
    assert holds(facts) == [Hold.ROBOTS_TXT]


def test_question_changes_nothing() -> None:
    desk = Desk().with_home_asked(PAGE)
    before = dict(desk.table.scan(b""))
    wake_at = desk.controller.wake_at()
    url_facts(desk, PAGE), url_facts(desk, "http://never.test/"), crawl_facts(desk)
    assert dict(desk.table.scan(b"")) == before
    assert desk.controller.wake_at() == wake_at


def test_controller_that_knows_no_owners_says_nothing() -> None:
    controller = Controller(ME, MemoryTable(), SETTINGS, NOTHING_STORED)
    assert controller.receive(Address(OTHER, "searcher"), ExplainUrl(1, HOME), 0.0) == []


def test_facts_with_the_longest_texts_fit_and_what_is_none_is_refused() -> None:
    desk = Desk()
    url = HOME + "x" * 2_000
    rules = [
        Rule(action=Action.SKIP, urls=(f"{url[:-n]}*",), addresses=(f"10.{n}.0.0/16",), reason="界" * 500)
        for n in range(1, 20)
    ]
    decree(desk, *rules, Rule(action=Action.CRAWL))
    desk.seed(url, *(f"{url[:-1]}{n}" for n in range(9)), anchor="界" * 200)
    facts = url_facts(desk, url)
    assert len(facts.rulings) == 8
    assert len(encode_facts(facts)) < FACTS_BYTES_MAX
    for encoded in (b"", b"\xc1", msgspec.msgpack.encode({"at_s": "x"})):
        with pytest.raises(RemoteProtocolError):
            url_facts_in(encoded)
        with pytest.raises(RemoteProtocolError):
            crawl_facts_in(encoded)
