"""A recorded crawl as a web."""

from __future__ import annotations

from mesh.trace import TracedPage
from peers.crawler.model.web_request import FailureReason
from simulations.webs.trace import TraceWeb


def page(url: str, *links: str) -> TracedPage:
    return TracedPage(url, 1.0, 0.5, 700, links)


WEB = TraceWeb(
    [
        page("http://a.test/", "http://a.test/1", "http://b.test/"),
        page("http://a.test/1", "http://a.test/gone"),
        page("http://c.test/", "http://a.test/"),
        page("http://a.test/1", "http://a.test/other"),
    ]
)


def test_a_page_answers_as_it_was_recorded_the_first_time() -> None:
    served = WEB.serve("http://a.test/1")
    assert (served.status, served.seconds, served.n_bytes) == (200, 0.5, 700)
    assert [link.url for link in WEB.links("http://a.test/1")] == ["http://a.test/gone"]


def test_what_was_not_recorded_is_not_there() -> None:
    assert WEB.serve("http://a.test/gone").status == 404
    assert WEB.serve("http://b.test/").failure is FailureReason.DNS


def test_seeds_are_the_pages_that_nothing_before_them_links_to() -> None:
    assert WEB.seeds == ("http://a.test/", "http://c.test/")


def test_pages_and_hosts_are_counted_once() -> None:
    assert (WEB.pages, WEB.host_count) == (3, 2)


def test_book_6_2_schemes_and_ports_of_a_name_are_one_host() -> None:
    web = TraceWeb([page("http://a.test/"), page("https://a.test/"), page("http://a.test:8080/")])
    assert (web.pages, web.host_count) == (3, 1)
    assert web.serve("https://a.test:8443/").status == 404
