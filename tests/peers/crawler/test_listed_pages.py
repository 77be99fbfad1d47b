"""Pages that the crawl comes to by sitemaps and feeds."""

from __future__ import annotations

from typing import Any

from mesh.urls import host_of
from peers.crawler.domain_budgets import DomainBudgets
from peers.crawler.model.messages import PageParsed, ParsePage
from peers.crawler.model.politeness import INDEXES_MAX, LISTS_PER_HOST_MAX
from peers.crawler.model.url_rows import LISTS_BIT, NO_DIGEST, UrlRow, hops_from_list
from peers.crawler.model.web_request import FailureReason, FetchPage
from peers.crawler.model.wire_messages import FoundLink, LinksFound
from peers.storage.messages import PageStored, StorePage
from tests.helpers import ME, fetched, owned_by, parsed, redirect
from tests.peers.crawler.desk import HOME, MINE, ORIGIN, OTHER, THEIRS, Desk, asked, of_kind

SITEMAP = f"{ORIGIN}/sitemap.xml"
NAMED = b"Sitemap: http://a.test/sitemap.xml\nUser-agent: *\nDisallow: /private/"


def list_of(url: str, *links: str) -> PageParsed:
    found = tuple(FoundLink(link, is_listed=True) for link in links)
    return PageParsed(url, b"", None, found, NO_DIGEST, is_list=True)


def with_sitemap_asked(**changes: Any) -> Desk:
    """A desk that has found nothing at the home page, and has asked for the sitemap that robots.txt names."""
    desk = Desk(**changes)
    desk.seed(HOME)
    assert asked(desk.allow(robots=NAMED)) == [HOME]
    desk.store(HOME)
    assert asked(desk.wake(2.0)) == [SITEMAP]
    return desk


def read(desk: Desk, url: str, *links: str) -> list[Any]:
    """Have the list that was asked for read; return what is to be stored."""
    assert of_kind(desk.tell(fetched(url)), ParsePage)
    return of_kind(desk.tell(list_of(url, *links), "parser"), StorePage)


def test_pages_of_a_sitemap_that_a_robots_txt_names_are_asked_for_within_its_rules() -> None:
    desk = with_sitemap_asked()
    assert read(desk, SITEMAP, f"{ORIGIN}/1", f"{ORIGIN}/private/2") == []
    assert asked(desk.wake(2.0)) == [f"{ORIGIN}/1"]
    desk.wake(2.0)
    assert desk.state_of(SITEMAP) == "D200"
    told = desk.observe()
    assert (told.lists_read, told.pages_stored) == (1, 1)
    desk.store(f"{ORIGIN}/1", at=desk.now)
    desk.wake(2.0)
    assert desk.state_of(f"{ORIGIN}/private/2") == "Xrobots"


def test_the_questions_for_lists_take_more_than_those_for_pages() -> None:
    desk = Desk()
    desk.seed(HOME)
    (question,) = of_kind(desk.allow(robots=NAMED), FetchPage)
    assert "text/xml" in question.media_types
    assert "application/gzip" not in question.media_types
    assert not question.may_be_cut
    desk.store(HOME)
    (question,) = of_kind(desk.wake(2.0), FetchPage)
    assert "application/gzip" in question.media_types
    assert question.may_be_cut


def test_a_crawl_may_do_without_sitemaps() -> None:
    desk = Desk(reads_sitemaps=False)
    desk.seed(HOME)
    (question,) = of_kind(desk.allow(robots=NAMED), FetchPage)
    assert "text/xml" not in question.media_types
    desk.store(HOME)
    assert asked(desk.wake(2.0)) == []


def test_a_sitemap_is_a_click_deeper_than_the_page_that_led_to_it_and_its_pages_one_more() -> None:
    desk = with_sitemap_asked(depth_max=1)
    read(desk, SITEMAP, f"{ORIGIN}/too/deep")
    assert asked(desk.wake(2.0)) == []
    desk = Desk(depth_max=0)
    desk.seed(HOME)
    desk.allow(robots=NAMED)
    desk.store(HOME)
    assert asked(desk.wake(2.0)) == []


def test_pages_of_other_peers_go_to_them() -> None:
    desk = Desk(peers=(ME, OTHER))
    desk.seed(f"{MINE}/sitemap.xml")
    desk.allow(MINE)
    read(desk, f"{MINE}/sitemap.xml", f"{THEIRS}/1")
    (batch,) = of_kind(desk.wake(1.0), LinksFound)
    assert batch.links == (FoundLink(f"{THEIRS}/1", depth=1, hops=hops_from_list(0), is_listed=True),)


def test_of_one_host_lists_queue_no_more_than_will_ever_be_asked_for() -> None:
    desk = with_sitemap_asked(pages_per_host_max=10)
    read(desk, SITEMAP, *(f"{ORIGIN}/{number}" for number in range(100)))
    told = desk.observe()
    assert told.queued == 8, "with the list itself, and two were asked for"
    assert told.links_overlisted == 93
    desk.seed(*(f"{ORIGIN}/linked/{number}" for number in range(5)))
    assert desk.observe().queued == 13, "links of pages are another matter"


def test_a_list_in_the_place_of_a_page_takes_the_page_away_first() -> None:
    desk = Desk(revisit_after_s=1_000.0, robots_ttl_s=1e9).with_home_asked()
    desk.store(HOME)
    desk.wake(2.0)
    desk.now += 1_100.0
    assert asked(desk.wake()) == [HOME]
    (stored,) = read(desk, HOME, f"{ORIGIN}/1")
    assert stored.page.document is None
    assert desk.state_of(f"{ORIGIN}/1") is None


def test_a_list_is_visited_again_like_a_page_and_is_none_in_the_archive() -> None:
    desk = with_sitemap_asked(revisit_after_s=1_000.0, robots_ttl_s=1e9)
    read(desk, SITEMAP)
    desk.wake(1.0)
    row = desk.controller._frontier.row_of(SITEMAP, owned_by().slot_of(host_of(SITEMAP)))
    assert row is not None
    assert (row.visit, row.outcome, row.is_stored) == (1, "D200", False)
    desk.now = row.due_s
    requested = asked(desk.wake()) + asked(desk.store(HOME, at=desk.now)) + asked(desk.wake(2.0))
    assert requested == [HOME, SITEMAP]
    assert read(desk, SITEMAP, f"{ORIGIN}/new") == []
    assert asked(desk.wake(2.0)) == [f"{ORIGIN}/new"]


def list_with_dates(url: str, *pages: tuple[str, float]) -> PageParsed:
    found = tuple(FoundLink(link, is_listed=True, changed_s=int(at)) for link, at in pages)
    return PageParsed(url, b"", None, found, NO_DIGEST, is_list=True)


def due_s_of(desk: Desk, url: str) -> float:
    row = desk.controller._frontier.row_of(url, owned_by().slot_of(host_of(url)))
    assert row is not None
    return row.due_s


def test_a_page_is_due_at_once_when_a_sitemap_says_that_it_has_changed_since_its_visit() -> None:
    desk = with_sitemap_asked(revisit_after_s=1e6, robots_ttl_s=1e9)
    visited_s = desk.now
    desk.now += 600.0
    pages = [(HOME, visited_s + 300.0)]
    assert of_kind(desk.tell(fetched(SITEMAP)), ParsePage)
    desk.tell(list_with_dates(SITEMAP, *pages), "parser")
    desk.wake(0.1)
    assert desk.now - 1.0 <= due_s_of(desk, HOME) <= desk.now + 1.0
    assert asked(desk.wake(2.0)) == [HOME]
    assert desk.observe().pages_told == 1
    desk.store(HOME, at=desk.now)
    desk.wake(2.0)
    desk.seed(HOME, changed_s=int(visited_s + 300.0))
    assert asked(desk.wake(100.0)) == [], "it was visited since"
    assert due_s_of(desk, HOME) > desk.now + 9e5


def test_a_page_that_changed_after_its_answer_and_before_it_was_stored_is_due_at_once() -> None:
    desk = Desk(revisit_after_s=1e6).with_home_asked()
    answered_s = desk.now
    sends = desk.tell(fetched(HOME, started_at=answered_s)) + desk.tell(parsed(HOME), "parser")
    (stored,) = of_kind(sends, StorePage)
    desk.now += 90.0
    desk.tell(PageStored(HOME, stored.page.stamp), "cell")
    desk.wake(2.0)
    assert due_s_of(desk, HOME) > desk.now + 9e5
    desk.seed(HOME, changed_s=int(answered_s + 30.0))
    assert due_s_of(desk, HOME) <= desk.now + 1.0


def test_what_a_site_says_of_the_future_or_of_the_past_or_of_what_it_forbids_makes_nothing_due() -> None:
    desk = with_sitemap_asked(revisit_after_s=1e6, robots_ttl_s=1e9)
    read(desk, SITEMAP, f"{ORIGIN}/private/2")
    desk.wake(2.0)
    desk.now += 600.0
    before = {url: due_s_of(desk, url) for url in (HOME, f"{ORIGIN}/private/2")}
    desk.seed(HOME, changed_s=int(desk.now + 60.0))
    desk.seed(HOME, changed_s=1)
    desk.seed(f"{ORIGIN}/private/2", changed_s=int(desk.now - 1.0))
    assert {url: due_s_of(desk, url) for url in before} == before
    assert desk.observe().pages_told == 0


def test_a_page_that_has_changed_and_is_unknown_is_new() -> None:
    desk = Desk(revisit_after_s=1e6).with_home_asked()
    desk.store(HOME, at=desk.now)
    desk.wake(2.0)
    desk.seed(f"{ORIGIN}/new", changed_s=int(desk.now))
    assert f"{ORIGIN}/new" in [*asked(desk.wake(2.0)), *desk.controller._visits.under_way]


def row_of(desk: Desk, url: str) -> UrlRow:
    row = desk.controller._frontier.row_of(url, owned_by().slot_of(host_of(url)))
    assert row is not None
    return row


def budgets_of(desk: Desk) -> DomainBudgets:
    return desk.controller._budgets


def test_an_index_of_sitemaps_is_followed_two_deep_over_restarts_and_redirects() -> None:
    desk = with_sitemap_asked(robots_ttl_s=1e9)
    url = SITEMAP
    for number in range(INDEXES_MAX):
        deeper = f"{ORIGIN}/sitemap{number}.xml"
        assert read(desk, url, deeper) == []
        desk.wake(0.5)
        desk.start()
        assert asked(desk.wake(2.0)) == [deeper]
        url = f"{ORIGIN}/moved{number}.xml"
        desk.tell(redirect(deeper, url, status=302))
        assert asked(desk.wake(2.0)) == [url]
        assert row_of(desk, url).hops == ((number + 1) << LISTS_BIT) + 1
    read(desk, url, f"{ORIGIN}/too-deep.xml")
    assert budgets_of(desk).lists_read("a.test") == INDEXES_MAX + 1
    assert asked(desk.wake(2.0)) == [f"{ORIGIN}/too-deep.xml"]
    read(desk, f"{ORIGIN}/too-deep.xml", f"{ORIGIN}/never")
    assert desk.state_of(f"{ORIGIN}/too-deep.xml") == "Ftoo_many_lists"
    assert (desk.state_of(f"{ORIGIN}/never"), desk.observe().links_overlisted) == (None, 1)


def test_links_of_a_page_that_a_sitemap_names_begin_anew() -> None:
    desk = with_sitemap_asked()
    read(desk, SITEMAP, f"{ORIGIN}/1")
    desk.wake(2.0)
    assert row_of(desk, f"{ORIGIN}/1").hops == hops_from_list(0)
    desk.store(f"{ORIGIN}/1", f"{ORIGIN}/feed.xml", at=desk.now)
    desk.wake(0.5)
    assert row_of(desk, f"{ORIGIN}/feed.xml").hops == 0


def test_of_one_host_so_many_sitemaps_are_read_and_those_again_that_were() -> None:
    desk = with_sitemap_asked(revisit_after_s=1_000.0, robots_ttl_s=1e9)
    for _ in range(LISTS_PER_HOST_MAX - 1):
        budgets_of(desk).count_list("a.test")
    read(desk, SITEMAP, f"{ORIGIN}/sitemap2.xml")
    assert asked(desk.wake(2.0)) == [f"{ORIGIN}/sitemap2.xml"]
    read(desk, f"{ORIGIN}/sitemap2.xml", f"{ORIGIN}/2")
    assert desk.state_of(f"{ORIGIN}/sitemap2.xml") == "Ftoo_many_lists"
    assert desk.state_of(f"{ORIGIN}/2") is None
    desk.now = row_of(desk, SITEMAP).due_s
    requested = asked(desk.wake())
    while SITEMAP not in requested:
        desk.fail(requested[-1], FailureReason.NOT_HTML)
        requested += asked(desk.wake(2.0))
    read(desk, SITEMAP, f"{ORIGIN}/new")
    desk.wake(0.1)
    assert desk.state_of(f"{ORIGIN}/new") == "Q"
    assert budgets_of(desk).lists_read("a.test") == LISTS_PER_HOST_MAX
