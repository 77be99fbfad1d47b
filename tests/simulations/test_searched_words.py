"""What several searched for in vain at one gateway, on its way to the crawls of all members."""

from __future__ import annotations

from peers.gateway.model.messages import SearchedInVain
from peers.gateway.search.searched_words import ASKERS_MIN
from peers.gateway.searcher import TELL_WORDS_S
from peers.policy.crawl_order import CrawlOrder, Order
from peers.policy.rules import EVERYTHING, Policy, policy_bytes
from tests.simulations.test_page_limit import Mesh


def obey(mesh: Mesh, number: int, ordering: CrawlOrder) -> None:
    policy = Policy(rules=EVERYTHING.rules, ordering=ordering)
    mesh.machines[0].publish(mesh.members.policy(number, policy_bytes(policy)))
    mesh.pass_time(2.0)


def search_in_vain(mesh: Mesh) -> None:
    for asker in range(ASKERS_MIN):
        mesh.machines[1].order(SearchedInVain(asker, ("glacier",)))
    mesh.pass_time(TELL_WORDS_S + 1.0)


def test_all_crawls_go_by_it_as_long_as_the_policy_says_so() -> None:
    mesh = Mesh()
    search_in_vain(mesh)
    obey(mesh, 1, CrawlOrder(order=Order.WEIGHT, searched_words_max=4))
    mesh.pass_time(TELL_WORDS_S + 1.0)
    assert {machine.crawl().searched_words for machine in mesh.machines} == {()}, "nothing was counted"
    search_in_vain(mesh)
    assert {machine.crawl().searched_words for machine in mesh.machines} == {("glacier",)}
    obey(mesh, 2, CrawlOrder(order=Order.WEIGHT))
    assert {machine.crawl().searched_words for machine in mesh.machines} == {()}
