"""The synthetic web: what it promises about its pages, links and hosts."""

from __future__ import annotations

from collections import Counter

import pytest

from mesh.urls import canonical, host_of
from peers.crawler.model.robots import rules_for_status
from simulations.webs.web import SyntheticWeb, WebShape
from simulations.world.checks import reachable


def every_page(web: SyntheticWeb) -> list[str]:
    return list(reachable(web))


@pytest.mark.parametrize("pages", [1, 2, 49, 50, 1_000, 5_000])
def test_every_page_can_be_reached_and_there_are_as_many_as_asked_for(pages: int) -> None:
    assert len(every_page(SyntheticWeb(3, pages))) == pages


def test_a_web_is_a_function_of_its_seed() -> None:
    first, second = SyntheticWeb(3, 500), SyntheticWeb(3, 500)
    for url in every_page(first):
        assert first.serve(url) == second.serve(url)
        assert first.links(url) == second.links(url)
    assert not set(every_page(first)) & set(every_page(SyntheticWeb(4, 500)))


def test_urls_and_links_are_canonical_and_a_page_names_each_link_once() -> None:
    web = SyntheticWeb(3, 500)
    for url in every_page(web):
        links = [link.url for link in web.links(url)]
        assert len(links) == len(set(links))
        assert url not in links
        for link in links:
            assert canonical(link) == link


def test_links_have_the_shares_of_the_real_web() -> None:
    web = SyntheticWeb(5, 20_000)
    pages = every_page(web)
    links = [(host_of(url) == host_of(link.url), link.url) for url in pages for link in web.links(url)]
    inside = sum(is_inside for is_inside, _ in links) / len(links)
    missing = sum(web.serve(url).status == 404 for _, url in links) / len(links)
    assert 0.90 < inside < 0.96
    assert 0.005 < missing < 0.03
    assert 8 < len(links) / len(pages) < 14


def test_host_sizes_fall_by_a_power_law() -> None:
    web = SyntheticWeb(5, 50_000)
    assert sum(web.sizes) == 50_000
    assert web.sizes == sorted(web.sizes, reverse=True)
    assert min(web.sizes) >= 1
    assert 0.05 < web.sizes[0] / 50_000 < 0.25
    assert web.sizes[0] / web.sizes[9] == pytest.approx(10**0.9, rel=0.2)


def test_links_to_other_hosts_prefer_large_ones() -> None:
    web = SyntheticWeb(5, 20_000)
    named: Counter[str] = Counter()
    for url in every_page(web):
        named.update(host_of(link.url) for link in web.links(url) if host_of(link.url) != host_of(url))
    first_tenth = [f"h{n}.s5.test" for n in range(web.host_count // 10)]
    assert sum(named[host] for host in first_tenth) > 0.25 * named.total()


def test_there_are_dead_slow_and_forbidding_hosts() -> None:
    web = SyntheticWeb(5, 50_000)
    answers = [web.serve(f"http://h{n}.s5.test/robots.txt") for n in range(web.host_count)]
    statuses = Counter(answer.status for answer in answers)
    assert set(statuses) == {200, 404}
    assert sum(answer.seconds > 2.0 for answer in answers) > 0
    assert max(web.crawl_delay_s(f"http://h{n}.s5.test") for n in range(web.host_count)) >= 2.0
    dead = [web.serve(f"http://h{web.host_count + n}.s5.test/") for n in range(20)]
    assert {answer.failure for answer in dead} == {"dns", "timeout"}


def test_robots_txt_says_what_the_checks_believe_it_says() -> None:
    web = SyntheticWeb(5, 20_000)
    for number in range(web.host_count):
        origin = f"http://h{number}.s5.test"
        served = web.serve(f"{origin}/robots.txt")
        rules = rules_for_status(served.status, served.body, "tianmesh")
        assert rules.allows(f"{origin}/private/p1") is not web.is_forbidden(f"{origin}/private/p1")
        assert rules.allows(f"{origin}/p1")
        assert (rules.crawl_delay_s or 0.0) == web.crawl_delay_s(origin)


def test_redirects_lead_to_pages() -> None:
    web = SyntheticWeb(5, 20_000)
    redirects = [link.url for url in every_page(web) for link in web.links(url) if "/r" in link.url]
    assert redirects
    for url in redirects:
        served = web.serve(url)
        assert served.status == 301
        assert web.serve(served.location).status == 200


def test_a_web_can_be_without_any_trouble() -> None:
    shape = WebShape(missing_share=0, redirect_share=0, forbidden_share=0, dead_hosts_share=0)
    web = SyntheticWeb(5, 2_000, shape)
    statuses = {web.serve(link.url).status for url in every_page(web) for link in web.links(url)}
    assert statuses == {200}
