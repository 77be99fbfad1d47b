"""What a policy leaves out is kept within bounds, and looked at bit by bit under the next one."""

from __future__ import annotations

from math import inf

from mesh.tables.memory_table import MemoryTable
from mesh.urls import host_of
from peers.crawler.links.left_out_links import PER_HOST, REVIEW_PAUSE_S, REVIEWED_AT_ONCE, LeftOutLinks
from peers.crawler.model.wire_messages import FoundLink
from peers.policy.rules import EVERYTHING, Action, Policy, Rule

PLACES = 1 << 20
ONE_HOST = Policy(rules=(Rule(action=Action.CRAWL, hosts=("a.test",)),))


def kept(table: MemoryTable) -> int:
    return len(list(table.scan(b"")))


def taken(links: LeftOutLinks, policy: Policy) -> list[FoundLink]:
    """All that a policy wants, with no more at once than may be."""
    now, found = 0.0, list[FoundLink]()
    links.begin_review()
    while links.review_at_s < inf:
        now = max(now, links.review_at_s)
        some = links.review(policy, now)
        assert len(some) <= REVIEWED_AT_ONCE
        assert links.review_at_s in (now + REVIEW_PAUSE_S, inf)
        found += some
    return found


def test_a_host_has_so_many_places_and_all_have_so_many() -> None:
    table, few = MemoryTable(), MemoryTable()
    links, bounded = LeftOutLinks(table, PLACES), LeftOutLinks(few, 300)
    for number in range(2_000):
        links.keep(FoundLink(f"http://a.test/{number}"))
        bounded.keep(FoundLink(f"http://x{number}.test/"))
    assert PER_HOST - 5 < kept(table) <= PER_HOST
    assert 250 < kept(few) <= 300


def test_of_links_for_one_place_the_one_nearest_to_a_seed_stays() -> None:
    links = LeftOutLinks(MemoryTable(), 1)
    for depth, host in ((5, "a"), (3, "b"), (4, "c"), (3, "d")):
        links.keep(FoundLink(f"http://{host}.test/", "a word", depth, 2, linker="x.org"))
    assert taken(links, EVERYTHING) == [FoundLink("http://b.test/", "", 3, 2)]


def test_a_review_takes_out_what_the_policy_wants_and_leaves_the_rest() -> None:
    table = MemoryTable()
    links = LeftOutLinks(table, PLACES)
    assert links.review_at_s == inf
    for number in range(3 * REVIEWED_AT_ONCE):
        links.keep(FoundLink(f"http://x{number}.test/"))
        links.keep(FoundLink(f"http://a.test/{number}"))
    n_before = kept(table)
    found = taken(LeftOutLinks(table, PLACES), ONE_HOST)
    assert {host_of(link.url) for link in found} == {"a.test"}
    assert len({link.url for link in found}) == len(found) > PER_HOST - 20
    assert kept(table) == n_before - len(found)
    assert taken(links, ONE_HOST) == []
    assert len(taken(links, EVERYTHING)) == n_before - len(found)
    assert kept(table) == 0


def test_another_policy_in_the_middle_of_a_review_begins_it_anew() -> None:
    links = LeftOutLinks(MemoryTable(), PLACES)
    for number in range(2 * REVIEWED_AT_ONCE):
        links.keep(FoundLink(f"http://x{number}.test/"))
    links.begin_review()
    assert links.review(ONE_HOST, 0.0) == []
    assert len(taken(links, EVERYTHING)) == 2 * REVIEWED_AT_ONCE
