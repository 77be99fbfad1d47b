"""Words and pages that several ask for at one gateway, on their way to the crawls of all members."""

from __future__ import annotations

from msgspec.structs import replace

from peers.crawler.model.settings import CrawlSettings
from peers.gateway.model.messages import AddSeeds, Coverage, FoundPage, PagesFound, Searched
from peers.gateway.search.demand import ASKERS_MIN
from peers.gateway.searcher import TELL_DEMAND_S
from peers.policy.crawl_order import CrawlOrder, Order
from peers.policy.rules import EVERYTHING, Policy, policy_bytes
from tests.simulations.test_page_limit import Mesh

NOTHING = PagesFound(1, (), 0, 0.0, Coverage(64, 64, 0), ())


def obey(mesh: Mesh, number: int, ordering: CrawlOrder) -> None:
    policy = Policy(rules=EVERYTHING.rules, ordering=ordering)
    mesh.machines[0].publish(mesh.members.policy(number, policy_bytes(policy)))
    mesh.pass_time(2.0)


def search_in_vain(mesh: Mesh) -> None:
    for asker in range(ASKERS_MIN):
        mesh.machines[1].order(Searched(asker, "glacier", NOTHING))
    mesh.pass_time(TELL_DEMAND_S + 1.0)


def test_all_crawls_go_by_it_as_long_as_the_policy_says_so() -> None:
    mesh = Mesh()
    search_in_vain(mesh)
    obey(mesh, 1, CrawlOrder(order=Order.WEIGHT, searched_words_max=4))
    mesh.pass_time(TELL_DEMAND_S + 1.0)
    assert {machine.crawl().searched_words for machine in mesh.machines} == {()}, "nothing was counted"
    search_in_vain(mesh)
    assert {machine.crawl().searched_words for machine in mesh.machines} == {("glacier",)}
    obey(mesh, 2, CrawlOrder(order=Order.WEIGHT))
    assert {machine.crawl().searched_words for machine in mesh.machines} == {()}


def test_pages_that_several_were_shown_are_visited_sooner_than_others() -> None:
    interval_s = 8_000.0
    mesh = Mesh(CrawlSettings(delay_s=0.2, revisit_after_s=interval_s))
    obey(mesh, 1, CrawlOrder(asked_pages_max=4))
    mesh.machines[1].order(AddSeeds(1, mesh.web.seeds))
    mesh.pass_time(10.0)
    while not mesh.is_at_rest():
        mesh.pass_time(10.0)
    stored = [url for url in sorted(mesh.visited_s) if mesh.web.serve(url).status == 200]
    wanted = stored[len(stored) // 2]
    found = replace(NOTHING, hits=(FoundPage(wanted, "", "", (), (), 1.0, "", 0.0, ""),))
    for asker in range(ASKERS_MIN):
        mesh.machines[1].order(Searched(asker, "glacier", found))
    mesh.pass_time(1.1 * interval_s)
    first_s, second_s, *_ = mesh.visited_s[wanted]
    assert second_s - first_s < 0.55 * interval_s
