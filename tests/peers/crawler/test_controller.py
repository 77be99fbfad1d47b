"""The controller by its inputs and outputs; see `test_small_crawls.py` for whole crawls."""

from __future__ import annotations

from itertools import pairwise
from math import inf

import msgspec
import pytest

from mesh.actors.actor import Address, Message, Send
from mesh.actors.departures import GATHER_S
from mesh.actors.port import DiskFilled
from mesh.errors import LocalProtocolError
from mesh.membership.model.messages import CrawlLicensed
from mesh.membership.model.wire_messages import Ping
from mesh.stamp import Stamp
from mesh.tables.memory_table import MemoryTable
from mesh.urls import fingerprint, host_of
from peers.crawler.controller import (
    ANCHORS_PER_TURN,
    DISK_FULL_PAUSE_S,
    Controller,
    CrawlStatistics,
)
from peers.crawler.frontier.anchor_rows import tag_of
from peers.crawler.links.outbox import RESEND_S
from peers.crawler.model import politeness
from peers.crawler.model.messages import ParseFailed, ParsePage, ParseRobots, RecordPage, StopCrawl
from peers.crawler.model.path_rules import COMPARISONS_AT_ONCE, WILDCARDS_MAX
from peers.crawler.model.robots import ROBOTS_BYTES_MAX
from peers.crawler.model.settings import Tuning
from peers.crawler.model.url_rows import visitor_tag
from peers.crawler.model.web_request import FailureReason, FetchFailed, FetchPage
from peers.crawler.model.wire_messages import LINKS_MAX, FoundLink, LinksAccepted, LinksFound
from peers.crawler.pages_in_progress import LINKS_PER_TURN
from peers.crawler.parsing.extraction import read_robots
from peers.crawler.visits import EXCLUSIONS_PER_TURN, LOCAL_FAILURE_PAUSE_S, VAIN_TURNS_MAX
from peers.documents.content import Lack
from peers.engine.pages.linkers import entries_of, entry_of, linker_of
from peers.storage.messages import LinkTextsChanged, PageRefused, PageStored, StorePage
from peers.storage.wire_messages import StoredPage
from tests.helpers import ME, NOTHING_STORED, fetched, owned_by, ownership_changed, parsed, redirect
from tests.peers.crawler.desk import HOME, MINE, ORIGIN, OTHER, ROBOTS, SETTINGS, THEIRS, Desk, asked, of_kind

# --- Robots first ---


def test_robots_txt_comes_first_and_whatever_type_it_has() -> None:
    desk = Desk()
    assert desk.seed(HOME) == [
        Send(Address(ME, "searcher"), LinksAccepted(1)),
        Send(Address(ME, "fetcher"), FetchPage(ROBOTS, (), ROBOTS_BYTES_MAX + 1, delay_s=2.0)),
    ]
    assert asked(desk.allow()) == [HOME]


def test_without_an_ownership_nothing_is_taken_in_or_asked() -> None:
    controller = Controller(ME, MemoryTable(), SETTINGS, NOTHING_STORED)
    links = LinksFound(1, (FoundLink(HOME),))
    assert controller.receive(Address(OTHER, "controller"), links, 0.0) == []
    assert controller.wake_at() == inf
    assert not controller.observe().urls_seen


def test_a_mesh_in_which_nobody_owns_slots_takes_no_links_in() -> None:
    desk = Desk(peers=())
    assert desk.seed(HOME) == []
    weightless = Controller(ME, MemoryTable(), SETTINGS, NOTHING_STORED)
    changed = ownership_changed((ME,))
    table = type(changed.ownership.table)({ME: 0}, changed.ownership.table.slot_count, 1)
    weightless.receive(
        Address(ME, "membership"), type(changed)(type(changed.ownership)(ME, table, (ME,))), 0.0
    )
    assert weightless.receive(Address(ME, "searcher"), LinksFound(1, (FoundLink(HOME),)), 0.0) == []


@pytest.mark.parametrize("status", [404, 403, 410, 304])
def test_rfc9309_2_3_1_3_an_absent_robots_txt_allows_all(status: int) -> None:
    desk = Desk()
    desk.seed(HOME)
    assert asked(desk.allow(status=status)) == [HOME]


@pytest.mark.parametrize("status", [500, 503, 429])
def test_rfc9309_2_3_1_4_an_unreachable_robots_txt_forbids_all_until_it_answers(status: int) -> None:
    desk = Desk()
    desk.seed(HOME)
    assert desk.tell(fetched(ROBOTS, status)) == []
    assert desk.controller.wake_at() == desk.now + 30.0
    assert asked(desk.wake(29.9)) == []
    assert asked(desk.wake(0.1)) == [ROBOTS]
    assert desk.observe().fetch_status == {f"robots_{status}": 1}
    assert asked(desk.allow()) == [HOME]


def test_rfc9110_15_statuses_that_are_none_are_counted_together() -> None:
    desk = Desk(delay_s=0.001, delay_factor=0.0)
    for status in range(1_000):
        origin = f"http://h{status}.test"
        desk.seed(f"{origin}/")
        desk.allow(origin)
        desk.tell(fetched(f"{origin}/", status))
    counted = desk.observe().fetch_status
    assert {name for name in counted if name.isdigit()} <= set(map(str, range(100, 600)))
    assert counted["404"] == 1
    assert counted["other"] == 500


def test_rfc9110_15_a_robots_txt_with_a_status_that_is_none_is_counted_as_other() -> None:
    desk = Desk()
    desk.seed(HOME)
    desk.tell(fetched(ROBOTS, 999))
    assert desk.observe().fetch_status == {"robots_other": 1}


@pytest.mark.parametrize("reason", [FailureReason.TIMEOUT, FailureReason.REFUSED, FailureReason.RESET])
def test_a_robots_txt_that_cannot_be_had_forbids_all_for_the_back_off(reason: FailureReason) -> None:
    desk = Desk()
    desk.seed(HOME)
    assert desk.fail(ROBOTS, reason) == []
    assert asked(desk.wake(29.9)) == []
    assert asked(desk.wake(0.1)) == [ROBOTS]


@pytest.mark.parametrize(
    "reason", [FailureReason.PROTOCOL, FailureReason.DECODING, FailureReason.HEADER_TOO_LARGE]
)
def test_rfc9309_2_3_1_4_a_robots_txt_that_cannot_be_read_forbids_all(reason: FailureReason) -> None:
    """It was taken for one that is not there, so for leave to fetch anything."""
    desk = Desk(give_up_s=1_000.0)
    desk.seed(HOME)
    desk.fail(ROBOTS, reason)
    pauses = []
    for _ in range(4):
        pause = desk.controller.wake_at() - desk.now
        pauses.append(pause)
        assert asked(desk.wake(pause)) == [ROBOTS]
        desk.fail(ROBOTS, reason)
    assert pauses == [30.0, 60.0, 120.0, 240.0]
    assert desk.controller.wake_at() == desk.now + 1_000.0
    assert desk.observe().fetch_status == {str(reason): 5}


def test_rfc9309_2_3_1_4_a_robots_txt_of_which_only_a_part_can_be_decoded_forbids_all() -> None:
    """What was lost of it may be what forbids: a gzip file that ends early is no whole robots.txt."""
    desk = Desk()
    desk.seed(HOME)
    part = fetched(ROBOTS, body=b"User-agent: *\nDisallow: /a\n", is_whole=False)
    assert asked(desk.tell(part)) == []
    assert asked(desk.wake(29.9)) == []
    assert asked(desk.wake(0.1)) == [ROBOTS]
    assert desk.observe().fetch_status == {"robots_decoding": 1}


def test_the_product_token_of_the_configured_user_agent_chooses_the_group() -> None:
    robots = b"User-agent: tianmesh\nDisallow: /\n\nUser-agent: otherbot\nDisallow: /private\n"
    desk = Desk(user_agent="OtherBot/3.1 (+https://other.example/)")
    (request,) = of_kind(desk.seed(HOME, f"{ORIGIN}/private/1"), FetchPage)
    assert request.user_agent == "OtherBot/3.1 (+https://other.example/)"
    (request,) = of_kind(desk.allow(robots=robots), FetchPage)
    assert (request.url, request.user_agent) == (HOME, "OtherBot/3.1 (+https://other.example/)")
    desk.tell(fetched(HOME, 404))
    desk.wake(2.0)
    assert desk.state_of(f"{ORIGIN}/private/1") == "Xrobots"


def test_half_a_rule_at_the_end_of_what_is_read_is_no_rule() -> None:
    desk = Desk()
    desk.seed(HOME)
    head, rule = b"User-agent: *\n", b"Disallow: /private\n"
    filler = b"#" * (ROBOTS_BYTES_MAX - len(head) - len(b"Disallow: /") - 1) + b"\n"
    assert asked(desk.allow(robots=(head + filler + rule)[: ROBOTS_BYTES_MAX + 1])) == [HOME]


def test_a_crawl_delay_of_minutes_is_waited_for() -> None:
    """Over 30 s it was taken for 30 s; of 4,231 real files 17 ask for 120 to 600 s."""
    desk = Desk()
    desk.seed(HOME)
    desk.tell(fetched(ROBOTS, body=b"User-agent: *\nCrawl-delay: 600"))
    assert asked(desk.wake(599.0)) == []
    assert asked(desk.wake(1.0)) == [HOME]


def test_a_host_with_a_crawl_delay_beyond_the_limit_is_left_out_and_counted() -> None:
    desk = Desk(crawl_delay_max_s=3_600.0)
    desk.seed(HOME, f"{ORIGIN}/2")
    desk.tell(fetched(ROBOTS, body=b"User-agent: *\nCrawl-delay: 3601"))
    assert asked(desk.wake(2.0)) == []
    assert desk.state_of(HOME) == "Xcrawl_delay"
    assert desk.observe().fetch_status == {"crawl_delay": 2}
    assert desk.observe().is_idle


def test_what_robots_txt_forbids_is_excluded_and_counted() -> None:
    desk = Desk()
    desk.seed(HOME, f"{ORIGIN}/private/1", f"{ORIGIN}/private/2")
    desk.allow(robots=b"User-agent: *\nDisallow: /private/")
    desk.tell(fetched(HOME, 404))
    assert asked(desk.wake(2.0)) == []
    assert desk.state_of(f"{ORIGIN}/private/1") == "Xrobots"
    assert desk.observe().fetch_status == {"404": 1, "robots": 2}
    assert desk.observe().is_idle


def test_robots_txt_is_asked_for_again_when_it_is_a_day_old() -> None:
    desk = Desk(robots_ttl_s=100.0).with_home_asked(f"{ORIGIN}/2", f"{ORIGIN}/3")
    desk.tell(fetched(HOME, 404))
    assert asked(desk.wake(97.0)) == [f"{ORIGIN}/2"]
    desk.tell(fetched(f"{ORIGIN}/2", 404))
    assert asked(desk.wake(2.0)) == [ROBOTS]


def test_a_robots_txt_that_moved_is_followed_five_times_after_the_delay() -> None:
    desk = Desk()
    requested = asked(desk.seed(HOME))
    for hop in range(1, 6):
        assert asked(desk.tell(redirect(requested[-1], f"{ORIGIN}/robots{hop}.txt"))) == []
        assert asked(desk.wake(1.9)) == []
        requested += asked(desk.wake(0.1))
    assert requested == [ROBOTS] + [f"{ORIGIN}/robots{hop}.txt" for hop in range(1, 6)]
    # RFC 9309, 2.3.1.2: after that it may be taken for absent.
    desk.tell(redirect(requested[-1], f"{ORIGIN}/robots6.txt"))
    assert asked(desk.wake(2.0)) == [HOME]


def test_the_rules_of_a_robots_txt_that_moved_hold_for_the_host_that_moved_it() -> None:
    desk = Desk()
    desk.seed(HOME)
    desk.tell(redirect(ROBOTS, "https://a.test/robots.txt"))
    assert asked(desk.wake(2.0)) == ["https://a.test/robots.txt"]
    desk.tell(fetched("https://a.test/robots.txt", body=b"User-agent: *\nDisallow: /"))
    assert asked(desk.wake(2.0)) == []
    assert desk.state_of(HOME) == "Xrobots"


def test_a_robots_txt_that_moved_to_a_host_that_is_being_asked_waits_for_it() -> None:
    """It was taken for one redirect too many, and so for leave to fetch anything."""
    desk = Desk()
    other = "http://b.test"
    assert asked(desk.seed(HOME, f"{other}/")) == [ROBOTS, f"{other}/robots.txt"]
    desk.tell(redirect(ROBOTS, f"{other}/robots.txt"))
    assert asked(desk.wake(2.0)) == []
    desk.tell(fetched(f"{other}/robots.txt", body=b"User-agent: *\nDisallow: /"))
    assert asked(desk.wake(1.9)) == []
    assert asked(desk.wake(0.1)) == [f"{other}/robots.txt"]
    desk.tell(fetched(f"{other}/robots.txt", body=b"User-agent: *\nDisallow: /"))
    desk.wake(2.0)
    assert (desk.state_of(HOME), desk.state_of(f"{other}/")) == ("Xrobots", "Xrobots")


# --- A host is a name: its schemes and ports share all but robots.txt ---

SECURE = "https://a.test"
PORT_81 = "http://a.test:81"


def test_book_6_2_schemes_and_ports_of_a_host_have_one_clock_and_a_robots_txt_each() -> None:
    desk = Desk()
    requested = asked(desk.seed(HOME)) + asked(desk.seed(f"{SECURE}/", f"{PORT_81}/", depth=1))
    while requests := asked(desk.tell(fetched(requested[-1], 404))) or asked(desk.wake(2.0)):
        assert len(requests) == 1
        assert asked(desk.wake(1_000.0)) == [], "nothing beside what is under way"
        requested += requests
    assert sorted(requested) == sorted(
        [ROBOTS, HOME, *(f"{origin}/{path}" for origin in (SECURE, PORT_81) for path in ("robots.txt", ""))]
    )
    for page in (HOME, f"{SECURE}/", f"{PORT_81}/"):
        assert requested.index(f"{page}robots.txt") < requested.index(page)


def test_between_two_origins_of_a_host_its_delay_passes() -> None:
    desk = Desk().with_home_asked(f"{SECURE}/")
    desk.tell(fetched(HOME, 404))
    assert asked(desk.wake(1.9)) == []
    assert asked(desk.wake(0.1)) == [f"{SECURE}/robots.txt"]


def test_rfc9309_2_3_what_one_origin_forbids_another_may_allow() -> None:
    desk = Desk()
    desk.seed(HOME, f"{SECURE}/", f"{ORIGIN}/1", f"{SECURE}/1")
    for _ in range(4):
        desk.tell(fetched(ROBOTS, body=b"User-agent: *\nDisallow: /"))
        desk.tell(fetched(f"{SECURE}/robots.txt", 404))
        desk.tell(fetched(f"{SECURE}/", 404))
        desk.tell(fetched(f"{SECURE}/1", 404))
        desk.wake(2.0)
    assert [desk.state_of(url) for url in (HOME, f"{ORIGIN}/1")] == ["Xrobots"] * 2
    assert [desk.state_of(url) for url in (f"{SECURE}/", f"{SECURE}/1")] == ["F404"] * 2


def test_the_longest_delay_that_any_origin_wants_holds_for_the_host() -> None:
    desk = Desk().with_home_asked(f"{SECURE}/", f"{ORIGIN}/2")
    desk.tell(fetched(HOME, 404))
    assert asked(desk.wake(2.0)) == [f"{SECURE}/robots.txt"]
    desk.tell(fetched(f"{SECURE}/robots.txt", body=b"User-agent: *\nCrawl-delay: 7"))
    for url in (f"{SECURE}/", f"{ORIGIN}/2"):
        assert asked(desk.wake(6.9)) == []
        assert asked(desk.wake(0.1)) == [url]
        desk.tell(fetched(url, 404))


def test_pages_of_all_origins_count_for_the_budget_of_their_host() -> None:
    desk = Desk(pages_per_host_max=1).with_home_asked(f"{SECURE}/")
    desk.tell(fetched(HOME, 404))
    assert asked(desk.wake(2.0)) == []
    assert desk.state_of(f"{SECURE}/") == "Xhost_budget"


def test_all_hosts_of_a_domain_share_a_budget_of_questions_over_all_lives() -> None:
    names = [f"http://x{number}.trap.test" for number in range(4)]
    desk = Desk(requests_per_domain_max=3)
    assert asked(desk.seed(f"{names[0]}/")) == [f"{names[0]}/robots.txt"]
    assert asked(desk.allow(names[0])) == [f"{names[0]}/"]
    desk.tell(fetched(f"{names[0]}/", 404))
    desk.start()
    assert asked(desk.seed(f"{names[1]}/")) == [f"{names[1]}/robots.txt"]
    desk.allow(names[1])
    assert asked(desk.seed(f"{names[2]}/", HOME)) == [ROBOTS]
    assert [desk.state_of(f"{name}/") for name in names[1:3]] == ["Xdomain_budget"] * 2


@pytest.mark.parametrize("is_document", [False, True])
def test_a_domain_whose_page_ended_a_parser_waits_under_all_its_names_twice_as_long_each_time(
    is_document: bool,
) -> None:
    names = [f"http://x{number}.dear.test" for number in range(4)]
    desk = Desk(backoff_s=30.0, backoff_max_s=100.0)
    for name, pause_s in zip(names, (30.0, 60.0, 100.0), strict=False):
        home = f"{name}/"
        desk.seed(home)
        assert asked(desk.allow(name)) == [home]
        desk.tell(fetched(home))
        lost = msgspec.structs.replace(parsed(home), lack=Lack.EXHAUSTING, is_fatal=True)
        failed = ParseFailed(home, FailureReason.EXHAUSTING, is_fatal=True)
        desk.tell(lost if is_document else failed, "parser")
        assert asked(desk.seed(f"{names[3]}/")) == []
        assert asked(desk.wake(pause_s - 1.0)) == []
        assert asked(desk.wake(1.0)) == [f"{names[3]}/robots.txt"]
        desk.fail(f"{names[3]}/robots.txt", FailureReason.TIMEOUT)
    assert asked(desk.seed(HOME)) == [ROBOTS]


def test_others_are_asked_while_a_domain_waits_for_what_it_cost() -> None:
    desk = Desk().with_home_asked()
    desk.tell(fetched(HOME))
    desk.tell(ParseFailed(HOME, FailureReason.EXHAUSTING, is_fatal=True), "parser")
    assert asked(desk.seed(f"{ORIGIN}/2", "http://b.test/")) == ["http://b.test/robots.txt"]
    assert asked(desk.wake(SETTINGS.backoff_s)) == [f"{ORIGIN}/2"]


def test_what_a_browser_asked_to_show_a_page_counts_in_the_day_of_its_host_and_in_its_domain() -> None:
    desk = Desk(requests_per_host_day_max=4, requests_per_domain_max=9).with_home_asked(f"{ORIGIN}/1")
    desk.tell(fetched(HOME, 404, further=2))  # and one for robots.txt before
    assert asked(desk.wake(politeness.DAY_S / 2)) == []
    assert asked(desk.wake(politeness.DAY_S)) == [ROBOTS]
    desk.allow()
    desk.tell(fetched(f"{ORIGIN}/1", 404, further=2))
    assert desk.controller._visits._budgets.asked_count("a.test") == 8


def test_origins_of_a_host_are_limited() -> None:
    desk = Desk(origins_per_host_max=2).with_home_asked(f"{SECURE}/", f"{PORT_81}/")
    desk.tell(fetched(HOME, 404))
    desk.wake(2.0)
    assert asked(desk.allow(SECURE)) == [f"{SECURE}/"]
    desk.tell(fetched(f"{SECURE}/", 404))
    assert asked(desk.wake(2.0)) == []
    assert desk.state_of(f"{PORT_81}/") == "Xhost_origins"
    assert desk.observe().fetch_status == {"404": 2, "host_origins": 1}


@pytest.mark.parametrize("is_first", [True, False])
def test_a_dead_port_does_not_stop_the_host(is_first: bool) -> None:
    dead, alive = (ORIGIN, SECURE) if is_first else (SECURE, ORIGIN)
    desk = Desk()
    asked_first = asked(desk.seed(f"{ORIGIN}/"))
    desk.seed(*(f"{dead}/{n}" for n in range(9)), f"{alive}/end", depth=1)
    requested = asked_first
    while requested:
        url = requested[-1]
        if url.startswith(f"{dead}/"):
            requested = asked(desk.fail(url, FailureReason.REFUSED))
        else:
            requested = asked(desk.tell(fetched(url, 404)))
        requested = requested or asked(desk.wake(2.0))
    assert desk.state_of(f"{alive}/end") == "F404"
    assert desk.observe().fetch_status["refused"] == 1
    assert desk.controller._frontier.given_up_count == 0


def test_a_page_that_is_being_fetched_as_somebodys_robots_txt_is_fetched_afterwards() -> None:
    desk = Desk()
    busy = "http://b.test"
    desk.seed(f"{busy}/")
    desk.allow(busy)
    desk.tell(fetched(f"{busy}/", 404))
    desk.seed(HOME)
    desk.tell(redirect(ROBOTS, f"{busy}/page"))
    assert asked(desk.wake(2.0)) == [f"{busy}/page"]
    desk.seed(f"{busy}/page")
    assert asked(desk.wake(2.0)) == []
    desk.tell(fetched(f"{busy}/page", 404))
    assert asked(desk.wake(1.9)) == []
    assert sorted(asked(desk.wake(0.1))) == [HOME, f"{busy}/page"]


# --- Politeness ---


def test_no_fetch_begins_when_the_licence_has_run_out_and_nothing_wakes_up_for_that() -> None:
    desk = Desk()
    desk.tell(CrawlLicensed(desk.now), "membership")
    assert asked(desk.seed(HOME)) == []
    desk.wake()
    assert desk.controller.wake_at() > desk.now
    assert asked(desk.tell(CrawlLicensed(desk.now + 5.0), "membership")) == [ROBOTS]


def test_a_host_is_asked_one_thing_at_a_time() -> None:
    desk = Desk(delay_s=0.0).with_home_asked(f"{ORIGIN}/2")
    assert asked(desk.wake(3_600.0)) == []
    assert asked(desk.tell(fetched(HOME, 404))) == [f"{ORIGIN}/2"]


def test_the_delay_runs_from_the_end_of_a_fetch_to_the_start_of_the_next() -> None:
    desk = Desk().with_home_asked(f"{ORIGIN}/2")
    desk.now += 10.0
    assert desk.tell(fetched(HOME, 404)) == []
    assert desk.controller.wake_at() == desk.now + 2.0
    assert asked(desk.wake(1.9)) == []
    assert asked(desk.wake(0.1)) == [f"{ORIGIN}/2"]


@pytest.mark.parametrize(
    "reason",
    [
        reason
        for reason in FailureReason
        if reason not in ("local", "no_contact", "dns", "private_address", "address_busy", "dns_open")
    ],
)
def test_the_delay_holds_after_every_kind_of_failure(reason: FailureReason) -> None:
    desk = Desk(backoff_s=0.0).with_home_asked(f"{ORIGIN}/2")
    assert asked(desk.fail(HOME, reason)) == []
    assert asked(desk.wake(1.9)) == []
    assert len(asked(desk.wake(0.1))) == 1


def test_a_crawl_delay_longer_than_ours_holds_and_a_shorter_one_does_not() -> None:
    for crawl_delay, wait_s in ((b"7", 7.0), (b"0.5", 2.0)):
        desk = Desk()
        desk.seed(HOME)
        desk.tell(fetched(ROBOTS, body=b"User-agent: *\nCrawl-delay: " + crawl_delay))
        desk.seed(f"{ORIGIN}/2", depth=1)
        assert desk.controller.wake_at() == desk.now + wait_s
        assert asked(desk.wake(wait_s)) == [HOME]
        desk.tell(fetched(HOME, 404))
        assert desk.controller.wake_at() == desk.now + wait_s


def test_hosts_of_inherited_slots_count_as_just_asked() -> None:
    """After a restart all slots are inherited: we may have died before the last question was durable."""
    desk = Desk()
    desk.seed(HOME, "http://b.test/")
    desk.seed(f"{ORIGIN}/2", depth=1)
    desk.tell(fetched(ROBOTS, body=b"User-agent: *\nCrawl-delay: 7"))
    desk.tell(fetched("http://b.test/robots.txt", 404))
    desk.now += 60.0
    desk.start(is_inherited=True)
    assert asked(desk.started) == []
    assert asked(desk.wake(1.9)) == []
    assert asked(desk.wake(0.1)) == ["http://b.test/"]
    assert asked(desk.wake(4.9)) == []
    assert asked(desk.wake(0.1)) == [HOME]


def test_a_longer_pause_survives_a_restart() -> None:
    desk = Desk().with_home_asked()
    desk.fail(HOME, FailureReason.TIMEOUT)
    due = desk.now + 30.0
    desk.start(is_inherited=True)
    assert desk.controller.wake_at() == due


def test_a_host_that_is_heard_of_after_its_slot_was_inherited_counts_as_just_asked() -> None:
    """Who crawled the slot before may have known it, and died before we heard of it."""
    desk = Desk()
    desk.start(is_inherited=True)
    desk.now += 0.5
    assert asked(desk.seed(HOME)) == []
    assert asked(desk.wake(1.4)) == []
    assert asked(desk.wake(0.1)) == [ROBOTS]


def test_hosts_of_slots_that_nobody_held_wait_for_nothing() -> None:
    assert asked(Desk(now=5.0).seed(HOME)) == [ROBOTS]


# --- Other settings while it runs ---


def test_other_settings_hold_from_the_next_question_on() -> None:
    desk = Desk().with_home_asked(f"{ORIGIN}/2", f"{ORIGIN}/3")
    desk.change(delay_s=10.0)
    desk.tell(fetched(HOME, 404))
    assert asked(desk.wake(9.9)) == []
    assert asked(desk.wake(0.1)) == [f"{ORIGIN}/2"]
    desk.change(delay_s=1.0)  # the clock was put forward when that was asked, and never goes back
    desk.tell(fetched(f"{ORIGIN}/2", 404))
    assert asked(desk.wake(9.9)) == []
    assert asked(desk.wake(0.1)) == [f"{ORIGIN}/3"]


def test_another_user_agent_is_another_group_of_a_robots_txt_that_is_known() -> None:
    robots = b"User-agent: otherbot\nDisallow: /\nUser-agent: *\nAllow: /\n"
    desk = Desk()
    desk.seed(HOME, f"{ORIGIN}/2")
    (first,) = asked(desk.allow(robots=robots))
    desk.change(user_agent="otherbot/1")
    desk.tell(fetched(first, 404))
    assert asked(desk.wake(2.0)) == []
    assert sorted((desk.state_of(HOME) or "", desk.state_of(f"{ORIGIN}/2") or "")) == ["F404", "Xrobots"]


def test_more_fetches_at_a_time_begin_when_the_settings_say_so() -> None:
    desk = Desk(fetches_in_flight_max=1)
    assert len(asked(desk.seed(HOME, "http://b.test/", "http://c.test/"))) == 1
    assert len(asked(desk.change(fetches_in_flight_max=3))) == 2


def test_hosts_that_are_taken_over_wait_for_the_delay_of_now() -> None:
    desk = Desk()
    desk.seed(HOME)
    desk.start()
    desk.change(delay_s=20.0)
    desk.share(desk.peers, is_inherited=True)
    assert asked(desk.wake(19.9)) == []
    assert asked(desk.wake(0.1)) == [ROBOTS]


# --- Failures ---


def test_the_back_off_doubles_and_then_the_host_is_given_up_for_a_day() -> None:
    desk = Desk(give_up_s=1_000.0).with_home_asked()
    desk.seed(*(f"{ORIGIN}/{n}" for n in range(2, 6)))
    url, pauses = HOME, []
    for _ in range(5):
        desk.fail(url, FailureReason.TIMEOUT)
        pause = desk.controller.wake_at() - desk.now
        pauses.append(pause)
        (url,) = asked(desk.wake(pause))
    assert pauses == [30.0, 60.0, 120.0, 240.0, 1_000.0]


def test_pages_that_fail_again_and_again_do_not_cost_the_whole_host() -> None:
    desk = Desk(host_failures_max=4)
    bad = sorted((f"{ORIGIN}/bad{n}" for n in range(3)), key=fingerprint)  # the order of the queue
    desk.seed(*bad, HOME)
    (url,) = asked(desk.allow())
    for _ in range(4):  # the bad ones once and the good one
        desk.tell(fetched(url, 404 if url == HOME else 500))
        (url,) = asked(desk.wake(desk.controller.wake_at() - desk.now))
    for n in range(6):  # the bad ones twice more
        assert url == bad[n % 3]
        desk.tell(fetched(url, 500))
        (url,) = asked(desk.wake(desk.controller.wake_at() - desk.now)) if n < 5 else ("",)
    assert [desk.state_of(page) for page in bad] == ["F500"] * 3
    desk.seed(f"{ORIGIN}/new")
    assert desk.controller.wake_at() == desk.now + 30.0
    assert asked(desk.wake(30.0)) == [f"{ORIGIN}/new"]


def test_the_back_off_has_a_limit_however_many_failures_are_allowed() -> None:
    desk = Desk(host_failures_max=5_000, backoff_max_s=100.0, robots_ttl_s=1e9).with_home_asked()
    n = 1_100  # 2^1,024 is no float
    for start in range(0, n, LINKS_MAX):
        links = tuple(FoundLink(f"{ORIGIN}/{number}") for number in range(start, min(start + LINKS_MAX, n)))
        desk.tell(LinksFound(start, links), "searcher")
    url = HOME
    for _ in range(n):
        desk.fail(url, FailureReason.TIMEOUT)
        (url,) = asked(desk.wake(100.0))
    assert desk.controller._frontier.find(host_of(ORIGIN)).record.failures == n  # type: ignore[union-attr]


def test_a_url_is_tried_three_times() -> None:
    desk = Desk().with_home_asked()
    for _ in range(2):
        desk.fail(HOME, FailureReason.TIMEOUT)
        assert asked(desk.wake(desk.controller.wake_at() - desk.now)) == [HOME]
    desk.fail(HOME, FailureReason.TIMEOUT)
    assert desk.state_of(HOME) == "Ftimeout"
    assert desk.observe().fetch_status == {"timeout": 3}


def test_a_success_forgives_the_failures_before() -> None:
    desk = Desk().with_home_asked(f"{ORIGIN}/2")
    desk.fail(HOME, FailureReason.TIMEOUT)
    desk.wake(30.0)  # the second page: the first one queues behind it
    desk.tell(fetched(f"{ORIGIN}/2", 404))
    desk.wake(2.0)
    desk.fail(HOME, FailureReason.TIMEOUT)
    assert desk.controller.wake_at() == desk.now + 30.0


@pytest.mark.parametrize("status", [429, 500, 502, 503, 504, 408, 425])
def test_statuses_that_may_pass_are_tried_again(status: int) -> None:
    desk = Desk().with_home_asked()
    desk.tell(fetched(HOME, status))
    assert desk.state_of(HOME) == "Q"
    assert desk.controller.wake_at() == desk.now + 30.0
    assert asked(desk.wake(30.0)) == [HOME]


@pytest.mark.parametrize(
    ("value", "pause_s"),
    [
        ("120", 120.0),
        ("5", 30.0),
        ("999999", 3_600.0),
        ("9999999999999", 30.0),
        ("-5", 30.0),
        ("١٢٠", 30.0),
        ("Thu, 01 Jan 1970 00:20:00.1 GMT", 30.0),  # an HTTP date has no fractions
        ("Thu, 01 Jan 1970 00:20:00 GMT", 199.9),  # the answer came 1,000.1 s after the epoch
        ("Thu, 01 Jan 2026 00:00:00 GMT", 3_600.0),
    ],
)
def test_retry_after_makes_the_pause_longer_within_limits(value: str, pause_s: float) -> None:
    desk = Desk().with_home_asked()
    desk.tell(fetched(HOME, 503, headers=(("Retry-After", value),)))
    assert desk.controller.wake_at() == pytest.approx(desk.now + pause_s)


@pytest.mark.parametrize("reason", [FailureReason.ADDRESS_BUSY, FailureReason.DNS_OPEN])
def test_a_host_whose_address_is_busy_or_not_known_waits_and_counts_as_not_asked(
    reason: FailureReason,
) -> None:
    desk = Desk(pages_per_host_max=1, requests_per_domain_max=2)
    desk.seed(HOME)
    for question in (ROBOTS, HOME):
        for pause_s in (7.0, 0.5):
            desk.tell(FetchFailed(question, reason, pause_s=pause_s))
            assert asked(desk.wake(pause_s - 0.1)) == []
            assert asked(desk.wake(0.1)) == [question]
        if question == ROBOTS:
            assert asked(desk.allow()) == [HOME]
    desk.tell(fetched(HOME, 404))
    assert desk.state_of(HOME) == "F404"
    assert desk.observe().fetch_status == {reason: 4, "404": 1}


@pytest.mark.parametrize("reason", [FailureReason.DNS, FailureReason.PRIVATE_ADDRESS])
def test_a_name_that_does_not_exist_is_given_up_at_once_and_keeps_its_urls(reason: FailureReason) -> None:
    desk = Desk(give_up_s=500.0)
    desk.seed(HOME)
    desk.seed(f"{ORIGIN}/2", depth=1)
    desk.fail(ROBOTS, reason)
    assert desk.controller.wake_at() == desk.now + 500.0
    seen = desk.observe()
    assert (seen.queued, seen.due, seen.is_idle) == (2, 0, True)
    assert seen.fetch_status == {str(reason): 1}
    assert asked(desk.wake(500.0)) == [ROBOTS]
    assert asked(desk.allow()) == [HOME]
    assert desk.observe().due == 2


def test_a_failure_of_this_machine_is_not_the_hosts() -> None:
    desk = Desk().with_home_asked(f"{ORIGIN}/2")
    desk.fail(HOME, FailureReason.LOCAL)
    assert asked(desk.wake(LOCAL_FAILURE_PAUSE_S - 0.1)) == []
    assert asked(desk.wake(0.1)) == [HOME]
    desk.fail(HOME, FailureReason.TIMEOUT)
    assert desk.controller.wake_at() == desk.now + 30.0  # the first of its failures


@pytest.mark.parametrize("status", [400, 403, 404, 410, 451])
def test_client_errors_are_final(status: int) -> None:
    desk = Desk().with_home_asked()
    desk.tell(fetched(HOME, status))
    assert desk.state_of(HOME) == f"F{status}"
    assert desk.observe().is_idle


@pytest.mark.parametrize(
    "reason", [FailureReason.NOT_HTML, FailureReason.BODY_TOO_LARGE, FailureReason.DECODING]
)
def test_what_is_wrong_with_one_page_is_final_for_that_page(reason: FailureReason) -> None:
    desk = Desk().with_home_asked()
    desk.fail(HOME, reason)
    assert desk.state_of(HOME) == f"F{reason}"


def test_answers_to_no_question_change_nothing() -> None:
    desk = Desk().with_home_asked()
    before = desk.observe()
    for message in (
        fetched(f"{ORIGIN}/2"),
        FetchFailed(f"{ORIGIN}/2", FailureReason.DNS),
        parsed(HOME),
        ParseFailed(HOME, FailureReason.NOT_HTML),
        PageStored(HOME, Stamp(1, 1_000.0)),
        PageRefused(HOME, Stamp(1, 1_000.0)),
        LinksAccepted(7),
    ):
        assert desk.tell(message) == []
    assert desk.observe() == before


def test_a_message_that_is_not_for_it_is_our_bug() -> None:
    with pytest.raises(LocalProtocolError, match="controller does not understand Ping"):
        Desk().tell(Ping(1))


# --- Redirects ---


def test_a_redirect_leads_to_its_target_and_is_done() -> None:
    desk = Desk().with_home_asked()
    desk.tell(redirect(HOME, "http://b.test/there"))
    desk.wake(GATHER_S)
    assert desk.state_of(HOME) == "D301"
    assert desk.state_of("http://b.test/there") == "Q"
    assert desk.observe().links_found == 1


def test_redirects_in_a_row_end_at_their_limit() -> None:
    desk = Desk(delay_s=0.0, redirects_max=3).with_home_asked()
    url = HOME
    for hop in range(1, 5):
        (following,) = asked(desk.tell(redirect(url, f"{ORIGIN}/{hop}"))) or [""]
        desk.wake(GATHER_S)
        if not following:
            break
        url = following
    assert url == f"{ORIGIN}/3"
    assert desk.state_of(url) == "Ftoo_many_redirects"
    assert desk.state_of(f"{ORIGIN}/4") is None
    assert desk.observe().is_idle


def test_a_redirect_to_itself_ends() -> None:
    desk = Desk().with_home_asked()
    desk.tell(redirect(HOME, HOME))
    desk.wake(GATHER_S)
    assert desk.state_of(HOME) == "D301"
    assert desk.observe().is_idle


def test_redirects_from_http_to_https_and_back_end() -> None:
    desk = Desk(delay_s=0.0).with_home_asked()
    told, urls = desk.tell(redirect(HOME, "https://a.test/")), [HOME]
    while new := asked(told) or asked(desk.wake(GATHER_S)):
        urls += new
        assert len(urls) < 10
        scheme, _, rest = new[0].partition("://")
        other = f"{'http' if scheme == 'https' else 'https'}://{rest}"
        told = desk.tell(fetched(new[0], 404) if rest.endswith("/robots.txt") else redirect(new[0], other))
    assert urls == [HOME, "https://a.test/robots.txt", "https://a.test/"]
    assert desk.observe().is_idle


def test_a_redirect_at_the_greatest_depth_is_followed() -> None:
    """It counted as a click, and the depth went beyond what its key can hold."""
    desk = Desk(depth_max=65_535)
    desk.seed(HOME, depth=65_535)
    desk.allow()
    desk.tell(redirect(HOME, f"{ORIGIN}/2"))
    assert desk.state_of(f"{ORIGIN}/2") == "Q"


def test_rfc9110_15_3_4_a_page_that_somebody_has_changed_is_one() -> None:
    desk = Desk().with_home_asked()
    assert of_kind(desk.tell(fetched(HOME, 203)), ParsePage)
    assert of_kind(desk.tell(parsed(HOME), "parser"), StorePage)


@pytest.mark.parametrize("status", [204, 206, 300])
def test_other_answers_are_done_without_being_stored(status: int) -> None:
    desk = Desk().with_home_asked()
    assert desk.tell(fetched(HOME, status)) == []
    desk.wake(GATHER_S)
    assert desk.state_of(HOME) == f"D{status}"


# --- From page to done ---


def test_a_page_goes_from_hand_to_hand_and_is_settled_last() -> None:
    desk = Desk()
    desk.seed(HOME, anchor="the home page")
    desk.allow()
    answer = fetched(HOME, body=b"<p>", started_at=1_234.5)
    assert desk.tell(answer) == [Send(Address(ME, "parser"), ParsePage(answer, 1))]
    said = parsed(HOME, f"{ORIGIN}/2")
    assert said.document is not None
    slot = owned_by().slot_of(host_of(ORIGIN))
    page = StoredPage(HOME, slot, 1_234.5, 200, said.records, said.document, 1)
    assert desk.tell(said, "parser") == [Send(Address(ME, "cell"), StorePage(page))]
    assert desk.state_of(f"{ORIGIN}/2") is None
    assert desk.tell(PageStored(HOME, Stamp(1, 1_234.5)), "cell") == []
    assert (desk.state_of(HOME), desk.state_of(f"{ORIGIN}/2")) == ("D200", "Q")


def test_a_page_that_is_not_to_be_indexed_is_stored_all_the_same() -> None:
    desk = Desk()
    desk.seed(HOME, anchor="the home page")
    desk.allow()
    desk.tell(fetched(HOME))
    (store,) = of_kind(desk.tell(parsed(HOME, document=None)), StorePage)
    assert store.page.document is None
    desk.tell(PageStored(HOME, Stamp(1, 1_000.0)))
    desk.wake(GATHER_S)
    assert desk.observe().anchors_changed == 0


def test_a_late_answer_of_the_cell_for_an_earlier_fetch_does_not_settle_this_one() -> None:
    desk = Desk().with_home_asked()
    desk.tell(fetched(HOME, started_at=2_000.0))
    for late in (PageStored(HOME, Stamp(1, 1_000.0)), PageRefused(HOME, Stamp(1, 1_000.0))):
        assert desk.tell(late, "cell") == []
    assert desk.observe().in_progress == 1
    desk.tell(parsed(HOME, f"{ORIGIN}/2"))
    desk.tell(PageStored(HOME, Stamp(1, 2_000.0)), "cell")
    assert desk.state_of(f"{ORIGIN}/2") == "Q"


@pytest.mark.parametrize(
    ("message", "state"),
    [
        (ParseFailed(HOME, FailureReason.NOT_HTML), "Fnot_html"),
        (PageRefused(HOME, Stamp(1, 1_000.0)), "Farchive"),
    ],
)
def test_a_page_that_is_no_page_is_done_with(message: Message, state: str) -> None:
    desk = Desk().with_home_asked()
    desk.tell(fetched(HOME, body=b"12345"))
    assert desk.observe().bytes_in_progress == 5
    desk.tell(message)
    assert desk.state_of(HOME) == state
    seen = desk.observe()
    assert (seen.in_progress, seen.bytes_in_progress, seen.fetch_status[state[1:]]) == (0, 0, 1)


def test_a_page_that_is_fetched_again_before_it_is_stored_is_in_progress_once() -> None:
    desk = Desk().with_home_asked()
    state = desk.controller._visits._visits[HOME].state
    taken = desk.controller._visits._visits[HOME].taken
    assert taken is not None
    desk.tell(fetched(HOME, body=b"first", started_at=1_000.0))
    desk.controller._frontier.put_back(state, taken)  # nothing does that by now; it must not cost memory
    desk.controller._frontier.release(state, desk.now)
    assert asked(desk.wake(10.0)) == [HOME]
    desk.tell(fetched(HOME, body=b"again", started_at=1_010.0))
    assert (desk.observe().in_progress, desk.observe().bytes_in_progress) == (1, 5)
    desk.tell(parsed(HOME), "parser")
    assert desk.tell(PageStored(HOME, Stamp(1, 1_000.0)), "cell") == []  # of the first
    desk.tell(PageStored(HOME, Stamp(1, 1_010.0)), "cell")
    desk.wake(GATHER_S)
    assert (desk.observe().in_progress, desk.observe().bytes_in_progress) == (0, 0)
    assert desk.state_of(HOME) == "D200"


def test_many_finished_pages_do_not_wait_for_the_flush() -> None:
    tuning = Tuning(flush_pages=2)
    desk = Desk(delay_s=0.0, peers=(ME, OTHER), tuning=tuning).with_home_asked(f"{MINE}/2", origin=MINE)
    desk.store(f"{MINE}/", f"{THEIRS}/1")
    assert desk.state_of(f"{MINE}/") == "Q"
    desk.store(f"{MINE}/2")
    assert (desk.state_of(f"{MINE}/"), desk.state_of(f"{MINE}/2")) == ("D200", "D200")


def test_the_recorder_hears_of_pages_and_redirects_if_a_trace_is_kept() -> None:
    desk = Desk(is_recorded=True, delay_s=0.0).with_home_asked(f"{ORIGIN}/2")
    sends = desk.store(HOME, f"{ORIGIN}/2", f"{ORIGIN}/3", at=1_000.0)
    sends += desk.tell(redirect(f"{ORIGIN}/2", HOME, started_at=1_001.0))
    sends += desk.wake(GATHER_S)
    recorded = [send for send in sends if send.target.actor == "recorder"]
    assert recorded == [
        Send(
            Address(ME, "recorder"),
            RecordPage(HOME, 1_000.0, 0.1, 100, (f"{ORIGIN}/2", f"{ORIGIN}/3"), (0, 0), status=200, visit=1),
        ),
        Send(
            Address(ME, "recorder"),
            RecordPage(f"{ORIGIN}/2", 1_001.0, 0.1, 100, (HOME,), (0,), status=301, visit=1),
        ),
    ]


# --- Links ---


def test_links_to_others_go_out_together_and_only_then_is_the_page_settled() -> None:
    desk = Desk(peers=(ME, OTHER)).with_home_asked(origin=MINE)
    theirs = FoundLink(f"{THEIRS}/x", "text")
    assert of_kind(desk.store(f"{MINE}/", theirs, f"{MINE}/2"), LinksFound) == []
    (send,) = [send for send in desk.wake(GATHER_S) if isinstance(send.message, LinksFound)]
    assert send.target == Address(OTHER, "controller")
    assert isinstance(send.message, LinksFound)
    assert send.message.links == (FoundLink(f"{THEIRS}/x", "text", depth=1),)
    assert desk.state_of(f"{MINE}/") == "D200"
    seen = desk.observe()
    assert (seen.links_found, seen.links_sent, seen.outbox, seen.is_idle) == (2, 1, 1, False)


def test_a_page_with_many_links_lets_others_have_their_turn_and_is_settled_after_the_last() -> None:
    desk = Desk(peers=(ME, OTHER)).with_home_asked(origin=MINE)
    n_links = 2 * LINKS_PER_TURN + 10
    desk.store(f"{MINE}/", *(f"{MINE}/{number}" for number in range(n_links)))
    for n_turns in (1, 2):
        assert desk.observe().urls_seen == 1 + n_turns * LINKS_PER_TURN
        assert desk.state_of(f"{MINE}/") != "D200"
        assert desk.controller.wake_at() < desk.now, "it goes on at once"
        assert not desk.observe().is_idle
        desk.wake()
    desk.wake(GATHER_S)
    assert desk.observe().urls_seen == 1 + n_links
    assert desk.state_of(f"{MINE}/") == "D200"


def batch_to_other(desk: Desk) -> LinksFound:
    """Have the desk send a link to the other peer; MINE must have been asked."""
    desk.store(f"{MINE}/", f"{THEIRS}/x")
    (batch,) = of_kind(desk.wake(GATHER_S), LinksFound)
    assert isinstance(batch, LinksFound)
    return batch


def test_links_are_sent_again_until_they_are_accepted() -> None:
    desk = Desk(peers=(ME, OTHER)).with_home_asked(origin=MINE)
    batch = batch_to_other(desk)
    assert of_kind(desk.wake(RESEND_S - 0.1), LinksFound) == []
    assert of_kind(desk.wake(0.1), LinksFound) == [batch]
    assert desk.tell(LinksAccepted(batch.batch), "controller", "another peer") == []
    assert desk.observe().outbox == 1
    assert desk.tell(LinksAccepted(batch.batch), "controller", OTHER) == []
    assert desk.observe().outbox == 0
    assert desk.tell(LinksAccepted(batch.batch), "controller", OTHER) == []
    assert desk.observe().is_idle
    assert desk.controller.wake_at() == inf


def test_links_that_nobody_accepted_survive_a_restart() -> None:
    desk = Desk(peers=(ME, OTHER)).with_home_asked(origin=MINE)
    batch = batch_to_other(desk)
    desk.start()
    assert of_kind(desk.wake(), LinksFound) == [batch]


def test_links_to_a_peer_that_died_go_to_who_owns_them_now_without_waiting() -> None:
    desk = Desk(peers=(ME, OTHER)).with_home_asked(origin=MINE)
    batch = batch_to_other(desk)
    desk.share((ME, "third"))
    assert desk.controller.wake_at() <= desk.now
    urls = [f"{THEIRS}/x"]
    ownership = owned_by((ME, "third"))
    if ownership.owner_of(ownership.slot_of(host_of(THEIRS))) == ME:
        desk.wake()
        assert desk.state_of(urls[0]) == "Q"
    else:
        (send,) = [send for send in desk.wake() if isinstance(send.message, LinksFound)]
        assert send.target.peer == "third"
        assert send.message.links == batch.links  # type: ignore[attr-defined]


def test_links_whose_owner_changed_go_to_the_new_one() -> None:
    desk = Desk(peers=(ME, OTHER)).with_home_asked(origin=MINE)
    batch_to_other(desk)
    desk.tell(ownership_changed(("third",)), "membership")
    assert of_kind(desk.wake(RESEND_S), LinksFound) == []
    assert desk.controller.wake_at() == -inf
    (send,) = [send for send in desk.wake() if isinstance(send.message, LinksFound)]
    assert send.target == Address("third", "controller")
    desk.peers = (ME,)
    desk.start()  # at once: what was taken from one peer's batch is in another's already
    desk.wake()
    assert desk.state_of(f"{THEIRS}/x") == "Q"
    assert desk.observe().outbox == 0


def test_a_link_is_not_sent_twice_in_a_row() -> None:
    desk = Desk(peers=(ME, OTHER), delay_s=0.0).with_home_asked(f"{MINE}/2", origin=MINE)
    batch_to_other(desk)
    desk.store(f"{MINE}/2", f"{THEIRS}/x", FoundLink(f"{THEIRS}/x", "another text"))
    (batch,) = of_kind(desk.wake(GATHER_S), LinksFound)
    assert batch.links == (FoundLink(f"{THEIRS}/x", "another text", depth=2),)


def test_the_memory_of_what_was_sent_is_bounded() -> None:
    desk = Desk(peers=(ME, OTHER), delay_s=0.0, tuning=Tuning(links_remembered=2))
    desk.with_home_asked(f"{MINE}/2", f"{MINE}/3", origin=MINE)
    many = [f"{THEIRS}/{number}" for number in range(5)]
    desk.store(f"{MINE}/", *many)
    desk.store(f"{MINE}/2", *many[-2:])
    (first,) = of_kind(desk.wake(GATHER_S), LinksFound)
    assert len(first.links) == 5
    desk.store(f"{MINE}/3", many[0])
    (again,) = of_kind(desk.wake(GATHER_S), LinksFound)
    assert [link.url for link in again.links] == [many[0]]


def test_links_that_look_like_a_trap_are_dropped() -> None:
    desk = Desk().with_home_asked()
    trap = f"{ORIGIN}/a/a/a/a"
    desk.store(HOME, trap)
    assert desk.state_of(trap) is None


def test_links_beyond_the_greatest_depth_are_dropped() -> None:
    desk = Desk(depth_max=1, delay_s=0.0).with_home_asked()
    desk.store(HOME, f"{ORIGIN}/1")
    desk.store(f"{ORIGIN}/1", f"{ORIGIN}/2")
    assert (desk.state_of(f"{ORIGIN}/1"), desk.state_of(f"{ORIGIN}/2")) == ("D200", None)


def test_links_of_others_are_taken_in_and_answered_as_often_as_they_come() -> None:
    desk = Desk(peers=(ME, OTHER))
    links = LinksFound(9, (FoundLink(f"{MINE}/1", "text"), FoundLink(f"{MINE}/2")))
    first = desk.tell(links, "controller", OTHER)
    assert first[0] == Send(Address(OTHER, "controller"), LinksAccepted(9))
    before = desk.observe()
    assert desk.tell(links, "controller", OTHER) == [Send(Address(OTHER, "controller"), LinksAccepted(9))]
    after = desk.observe()
    assert (before.urls_seen, before.links_received, after.urls_seen, after.links_received) == (2, 2, 2, 4)


def test_links_for_others_are_passed_on_after_a_pause_and_promised_when_they_are_safe() -> None:
    desk = Desk(peers=(ME, OTHER, "third"))
    ownership = owned_by((ME, OTHER, "third"))
    theirs = next(
        origin
        for origin in (f"http://h{n}.test" for n in range(100))
        if ownership.owner_of(ownership.slot_of(host_of(origin))) == "third"
    )
    links = (FoundLink(f"{theirs}/1", "text", depth=3, hops=2),)
    assert desk.tell(LinksFound(9, links), "controller", OTHER) == []
    assert desk.tell(LinksFound(9, links), "controller", OTHER) == []
    assert of_kind(desk.wake(), LinksFound) == []
    (send,) = [send for send in desk.wake(RESEND_S) if isinstance(send.message, LinksFound)]
    assert send.target == Address("third", "controller")
    assert isinstance(send.message, LinksFound)
    passed_on = tuple(msgspec.structs.replace(link, tellers=tag_of(visitor_tag(OTHER))) for link in links)
    assert send.message.links == passed_on
    accepted = LinksAccepted(send.message.batch)
    desk.wake(GATHER_S)
    promise = Send(Address(OTHER, "controller"), LinksAccepted(9))
    assert desk.tell(accepted, "controller", "third") == [promise]
    assert desk.observe().is_idle


def test_no_fetch_begins_while_more_links_wait_for_others_than_may() -> None:
    desk = Desk(peers=(ME, OTHER), delay_s=0.0, outbox_links_max=1).with_home_asked(f"{MINE}/2", origin=MINE)
    sends = desk.store(f"{MINE}/", f"{THEIRS}/1", f"{THEIRS}/2")
    assert asked(sends) == [f"{MINE}/2"], "asked for before the links were there"
    sends = desk.wake(GATHER_S)
    (batch,) = of_kind(sends, LinksFound)
    desk.seed(f"{MINE}/3")
    sends = desk.tell(fetched(f"{MINE}/2", 404))
    assert asked(sends) == []
    assert desk.observe().is_held_up
    assert desk.controller.wake_at() > desk.now
    sends = desk.tell(LinksAccepted(batch.batch), "controller", OTHER)
    assert asked(sends) == [f"{MINE}/3"]
    assert not desk.observe().is_held_up


def test_links_for_others_are_not_taken_while_too_many_wait() -> None:
    desk = Desk(peers=(ME, OTHER), tuning=Tuning(accepting_max=1))
    for number in (1, 2):
        desk.tell(LinksFound(number, (FoundLink(f"{THEIRS}/{number}"),)), "controller", "third")
    assert desk.observe().outbox == 1, "the second is to wait where it is"
    accepted = desk.tell(LinksFound(3, (FoundLink(f"{MINE}/1"),)), "controller", "third")
    assert of_kind(accepted, LinksAccepted) == [LinksAccepted(3)], "but ours is taken"


def test_no_member_gets_more_of_what_another_floods_us_with_than_it_lets_through() -> None:
    desk = Desk(peers=(ME, OTHER), tuning=Tuning(passed_on_per_minute=3))
    links = [(FoundLink(f"{THEIRS}/{number}a"), FoundLink(f"{THEIRS}/{number}b")) for number in range(3)]
    for number, pair in enumerate(links):
        desk.tell(LinksFound(number, pair), "controller", "third")
    assert desk.observe().outbox == 2, "the others are to wait where they are"
    accepted = desk.tell(LinksFound(3, (FoundLink(f"{MINE}/1"),)), "controller", "third")
    assert of_kind(accepted, LinksAccepted) == [LinksAccepted(3)], "but ours is taken"
    desk.tell(LinksFound(4, links[1]), "controller", ME)
    assert desk.observe().outbox == 4, "what this peer itself brings is no flood"
    desk.wake(60.0)
    desk.tell(LinksFound(1, links[1]), "controller", "third")
    assert desk.observe().outbox == 6


def test_hostile_links_are_refused_one_by_one_and_counted() -> None:
    desk = Desk()
    hostile = [
        "HTTP://A.test/",
        "http://a.test",
        "http://a.test/#x",
        "http://a.test/a/../b",
        "javascript:alert(1)",
        "gopher://a.test/",
        "x",
        "http:///",
        "http://a.test:80/",
        "http://[::1/",
        "http://user@a.test/",
        "\ud800",
    ]
    links = (*map(FoundLink, hostile), FoundLink(HOME, depth=60_000), FoundLink(HOME, hops=255))
    sends = desk.tell(LinksFound(3, links), "controller", OTHER)
    assert sends[0] == Send(Address(OTHER, "controller"), LinksAccepted(3))
    seen = desk.observe()
    assert (seen.urls_seen, seen.links_received, seen.links_refused) == (1, len(links), len(hostile) + 1)
    assert asked(sends) == [ROBOTS]
    desk.allow()
    desk.tell(redirect(HOME, f"{ORIGIN}/2"))
    assert desk.state_of(HOME) == "Ftoo_many_redirects"


# --- Ownership ---


def test_pages_in_progress_are_finished_whoever_owns_them_by_then() -> None:
    desk = Desk().with_home_asked(origin=THEIRS)
    desk.tell(ownership_changed((ME, OTHER)), "membership")
    desk.store(f"{THEIRS}/", f"{MINE}/1", f"{THEIRS}/2")
    (batch,) = of_kind(desk.wake(GATHER_S), LinksFound)
    assert [link.url for link in batch.links] == [f"{THEIRS}/2"]
    assert desk.state_of(f"{MINE}/1") == "Q"


# --- Anchors ---


def stored_home(desk: Desk) -> Desk:
    desk.with_home_asked(f"{ORIGIN}/2")
    desk.store(HOME)
    desk.wake(GATHER_S)
    return desk


def test_changed_anchors_are_indexed_as_soon_as_nothing_else_is_left() -> None:
    desk = stored_home(Desk())
    desk.wake(2.0)
    slot = owned_by().slot_of(host_of(ORIGIN))
    sends = desk.store(f"{ORIGIN}/2", FoundLink(HOME, "one"), FoundLink(HOME, "two"))
    assert of_kind(sends, LinkTextsChanged) == []
    assert desk.observe().anchors_changed == 1
    assert of_kind(desk.wake(GATHER_S), LinkTextsChanged) == [LinkTextsChanged(HOME, slot)]
    assert desk.anchors_of(HOME) == ("one", "two")
    assert desk.observe().is_idle


def test_changed_anchors_are_indexed_at_their_interval_while_the_crawl_goes_on() -> None:
    desk = stored_home(Desk(anchors_interval_s=30.0))
    slot = owned_by().slot_of(host_of(ORIGIN))
    desk.seed(HOME, anchor="one")
    desk.seed(HOME, anchor="two")
    assert of_kind(desk.wake(), LinkTextsChanged) == [LinkTextsChanged(HOME, slot)]
    assert desk.anchors_of(HOME) == ("one", "two")
    desk.seed(HOME, anchor="three")
    assert of_kind(desk.wake(29.9), LinkTextsChanged) == []
    assert of_kind(desk.wake(0.1), LinkTextsChanged) == [LinkTextsChanged(HOME, slot)]
    assert desk.anchors_of(HOME) == ("one", "three", "two")


def test_anchors_that_came_while_the_page_was_stored_are_not_forgotten() -> None:
    desk = Desk().with_home_asked()
    desk.tell(fetched(HOME))
    desk.tell(parsed(HOME))
    desk.seed(HOME, anchor="in between")
    desk.tell(PageStored(HOME, Stamp(1, 1_000.0)))
    slot = owned_by().slot_of(host_of(ORIGIN))
    assert of_kind(desk.wake(GATHER_S), LinkTextsChanged) == [LinkTextsChanged(HOME, slot)]
    assert desk.anchors_of(HOME) == ("in between",)


def test_hosts_that_link_to_a_page_are_handed_over_with_the_texts() -> None:
    desk = stored_home(Desk())
    slot = owned_by().slot_of(host_of(ORIGIN))
    linkers = [linker_of(f"http://{name}.test/", HOME) for name in ("one", "two")]
    for linker in (*linkers, linkers[0]):
        desk.seed(HOME, anchor="text", linker=linker)
    expected = tuple(sorted({entry for linker in linkers for entry in entries_of("text", linker)}))
    assert of_kind(desk.wake(GATHER_S), LinkTextsChanged) == [LinkTextsChanged(HOME, slot)]
    assert desk.anchors_of(HOME) == expected


def test_a_page_cannot_pass_texts_off_as_linking_hosts() -> None:
    desk = stored_home(Desk())
    desk.seed(HOME, anchor=entry_of(linker_of("http://one.test/", HOME)))
    desk.seed(HOME, linker="no hash")
    assert desk.observe().anchors_changed == 0


def test_the_same_text_from_another_host_is_passed_on() -> None:
    desk = Desk(peers=(ME, OTHER)).with_home_asked(origin=MINE)
    links = [FoundLink(f"{THEIRS}/x", "home", linker=f"{n:016x}") for n in range(2)]
    desk.store(f"{MINE}/", *links)
    [found] = of_kind(desk.wake(GATHER_S), LinksFound)
    assert [link.linker for link in found.links] == ["0" * 16, "0" * 15 + "1"]


def test_many_changed_anchors_are_handed_over_in_portions() -> None:
    desk = Desk()
    for number in range(ANCHORS_PER_TURN + 5):
        url = f"{ORIGIN}/{number}"
        desk.controller._frontier.changed_texts.mark(0, fingerprint(url), url)
    assert desk.controller.wake_at() == -inf
    assert len(of_kind(desk.wake(), LinkTextsChanged)) == ANCHORS_PER_TURN
    assert desk.controller.wake_at() == -inf
    assert len(of_kind(desk.wake(), LinkTextsChanged)) == 5
    assert desk.controller.wake_at() == inf


# --- Limits ---


def test_a_host_gives_so_many_pages_and_no_more() -> None:
    desk = Desk(pages_per_host_max=1, delay_s=0.0).with_home_asked(f"{ORIGIN}/2", f"{ORIGIN}/3")
    assert asked(desk.tell(fetched(HOME, 404))) == []
    assert desk.state_of(f"{ORIGIN}/2") == "Xhost_budget"
    assert desk.observe().fetch_status == {"404": 1, "host_budget": 2}


def origins(n: int) -> list[str]:
    return [f"http://h{number}.test" for number in range(n)]


def test_so_many_fetches_are_in_flight_and_no_more() -> None:
    desk = Desk(fetches_in_flight_max=3)
    sends = desk.seed(*(f"{origin}/" for origin in origins(5)))
    assert asked(sends) == [f"{origin}/robots.txt" for origin in origins(3)]
    assert desk.controller.wake_at() == inf
    assert asked(desk.fail(f"{origins(1)[0]}/robots.txt", FailureReason.DNS)) == ["http://h3.test/robots.txt"]


def with_homes_asked(desk: Desk, n: int) -> Desk:
    desk.seed(*(f"{origin}/" for origin in origins(n)))
    for origin in origins(n):
        desk.tell(fetched(f"{origin}/robots.txt", 404))
    desk.wake(desk.settings.delay_s)
    return desk


def test_so_many_pages_are_in_progress_and_no_more() -> None:
    desk = with_homes_asked(Desk(pages_in_progress_max=2), 2)
    desk.seed(HOME)
    for origin in origins(2):
        assert asked(desk.tell(fetched(f"{origin}/"))) == []
    assert desk.controller.wake_at() == inf
    assert asked(desk.tell(ParseFailed(f"{origins(1)[0]}/", FailureReason.NOT_HTML))) == [ROBOTS]


def test_so_many_bytes_of_pages_are_in_progress_and_no_more() -> None:
    desk = with_homes_asked(Desk(page_bytes_in_progress_max=1_000), 2)
    first, second = origins(2)
    desk.seed(HOME)
    desk.tell(fetched(ROBOTS, 404))
    desk.tell(fetched(f"{first}/", body=b"x" * 600))
    desk.tell(fetched(f"{second}/", body=b"x" * 600))
    assert desk.observe().bytes_in_progress == 1_200
    assert asked(desk.wake(10.0)) == []
    desk.tell(parsed(f"{first}/"))
    assert asked(desk.tell(PageStored(f"{first}/", Stamp(1, 1_000.0)))) == [HOME]
    assert desk.observe().bytes_in_progress == 600


def test_of_two_pauses_the_longer_one_counts() -> None:
    desk = Desk().with_home_asked()
    desk.tell(DiskFilled("no space"), "archive")
    desk.fail(HOME, FailureReason.LOCAL)
    assert desk.controller.wake_at() == desk.now + DISK_FULL_PAUSE_S


def test_a_full_disk_stops_fetching_for_a_while() -> None:
    desk = Desk().with_home_asked(f"{ORIGIN}/2")
    assert desk.tell(DiskFilled("no space"), "archive") == []
    desk.tell(fetched(HOME, 404))
    assert desk.controller.wake_at() == desk.now + DISK_FULL_PAUSE_S
    assert asked(desk.wake(DISK_FULL_PAUSE_S - 0.1)) == []
    assert asked(desk.wake(0.1)) == [f"{ORIGIN}/2"]


def test_after_stop_nothing_begins_and_what_was_begun_is_finished() -> None:
    desk = Desk(peers=(ME, OTHER), delay_s=0.0).with_home_asked(f"{MINE}/2", origin=MINE)
    desk.tell(fetched(f"{MINE}/"))
    assert desk.tell(StopCrawl()) == []
    sends = desk.tell(fetched(f"{MINE}/2"))
    assert asked(sends) == []
    for url in (f"{MINE}/", f"{MINE}/2"):
        desk.tell(parsed(url, f"{THEIRS}/1"))
        desk.tell(PageStored(url, Stamp(1, 1_000.0)))
    (batch,) = of_kind(desk.wake(GATHER_S), LinksFound)
    assert [link.url for link in batch.links] == [f"{THEIRS}/1"]
    seen = desk.observe()
    assert (seen.in_flight, seen.in_progress, desk.state_of(f"{MINE}/")) == (0, 0, "D200")


def test_long_queues_of_excluded_urls_do_not_hold_up_other_messages() -> None:
    n = EXCLUSIONS_PER_TURN * (VAIN_TURNS_MAX + 1)
    desk = Desk(delay_s=0.0)
    urls = [f"{ORIGIN}/{number}" for number in range(n)]
    for start in range(0, n, LINKS_MAX):
        desk.tell(LinksFound(start, tuple(map(FoundLink, urls[start : start + LINKS_MAX]))), "searcher")
    desk.tell(fetched(ROBOTS, body=b"User-agent: *\nDisallow: /"))
    assert desk.observe().queued == EXCLUSIONS_PER_TURN
    assert desk.controller.wake_at() <= desk.now
    desk.wake()
    assert desk.observe().is_idle


def test_urls_of_a_host_with_dear_rules_do_not_hold_up_other_messages() -> None:
    """With 2,000 patterns 300 long paths took 3.9 s in one step: each matches nearly all of a path."""
    patterns = "".join(f"Disallow: /*{'a' * 60}{n:04x}b\n" for n in range(WILDCARDS_MAX))
    desk = Desk(delay_s=0.0)
    desk.seed(*(f"{ORIGIN}/{'a' * 1_900}{number}" for number in range(99)))
    body = f"User-agent: *\n{patterns}Disallow: /aa\n".encode()
    [order] = of_kind(desk.tell(fetched(ROBOTS, body=body)), ParseRobots)
    queued = [desk.observe().queued]
    desk.tell(read_robots(order), "parser")
    queued.append(desk.observe().queued)
    while desk.controller.wake_at() <= desk.now:
        desk.wake()
        queued.append(desk.observe().queued)
    steps = [before - after for before, after in pairwise(queued)]
    assert (sum(steps), len(steps) > 30) == (99, True)
    assert max(steps) <= 1 + COMPARISONS_AT_ONCE // WILDCARDS_MAX
    assert desk.observe().is_idle
    assert desk.observe().fetch_status["robots"] == 99


# --- Statistics ---


def test_what_it_lets_be_seen_adds_up() -> None:
    desk = Desk(peers=(ME, OTHER), delay_s=0.0).with_home_asked(origin=MINE)
    urls = sorted((f"{MINE}/{number}" for number in range(2, 6)), key=fingerprint)
    desk.seed(*urls[:3], depth=1)
    desk.store(f"{MINE}/", f"{THEIRS}/1", urls[3])
    desk.tell(fetched(urls[0], 404))
    desk.fail(urls[1], FailureReason.NOT_HTML)
    desk.tell(fetched(urls[2], body=b"abc"))
    assert desk.observe() == CrawlStatistics(
        store=desk.observe().store,
        searched_words=(),
        brought_forward=0,
        pages_fetched=2,
        pages_stored=1,
        urls_seen=5,
        fetch_status={"200": 2, "404": 1, "not_html": 1},
        bytes_fetched=400,
        links_found=2,
        links_sent=0,
        links_received=4,
        links_refused=0,
        links_left_out=0,
        links_overlisted=0,
        aliases=0,
        lists_read=0,
        pages_told=0,
        hosts=1,
        queued=3,
        due=3,
        in_flight=1,
        in_progress=2,
        bytes_in_progress=3,
        outbox=1,
        anchors_changed=0,
        slots_held=int(owned_by((ME, OTHER)).owned.sum()),
        held_back=0,
        turns_lent=0,
        hot_hosts=((host_of(MINE), 3),),
        deaf=0,
        is_held_up=False,
        is_shared=True,
        is_idle=False,
        pages_max=0,
        policy_late_s=0.0,
    )


def test_a_controller_that_has_nothing_is_idle() -> None:
    desk = Desk()
    assert desk.observe().is_idle
    assert desk.controller.wake_at() == inf


def test_everything_it_remembers_is_let_go() -> None:
    """Nothing of a finished crawl stays in memory but its hosts."""
    desk = Desk().with_home_asked()
    desk.store(HOME)
    desk.wake(GATHER_S)
    controller = desk.controller
    assert not controller._visits._visits
    assert not controller._visits._asked
    assert not controller._pages
    assert not controller._visits.robots._moved
    assert not controller._frontier._queues.taken


def test_a_host_that_answers_slowly_is_asked_again_after_a_multiple_of_that() -> None:
    desk = Desk(delay_s=1.0).with_home_asked(f"{ORIGIN}/2")
    desk.tell(fetched(HOME, 404, seconds=3.0))
    assert asked(desk.wake(14.9)) == []
    (question,) = of_kind(desk.wake(0.1), FetchPage)
    assert question.delay_s == 15.0, "its address is left alone as long"


def test_a_host_is_asked_no_more_than_so_often_a_day() -> None:
    desk = Desk(delay_s=1.0, requests_per_host_day_max=2).with_home_asked(f"{ORIGIN}/2")
    desk.tell(fetched(HOME, 404))
    assert desk.controller.wake_at() == 86_400.0
