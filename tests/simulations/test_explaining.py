"""Peers of a whole mesh say why a URL is as it is, and why nothing is fetched; the owner may be dead."""

from __future__ import annotations

from typing import TypeVar

from mesh.actors.actor import Message
from peers.crawler.explanations import Hold, UndoneVisits, UrlState
from peers.gateway.model.messages import AddSeeds, AskWhy, AskWhyIdle, WhyAnswered, WhyIdleAnswered
from peers.gateway.why.why_idle import sentence_of as said_of_crawl
from peers.gateway.why.why_url import is_owner_heard
from peers.gateway.why.why_url import sentence_of as said_of_url
from peers.policy.rules import Action, Policy, Rule, policy_bytes
from simulations.webs.web import SyntheticWeb
from simulations.world.chance import random_of
from simulations.world.members import Members
from simulations.world.network import Network
from simulations.world.world import World
from tests.simulations.machines import PlayedMesh

Answer = TypeVar("Answer")

SEED, PEERS = 5, 3
STORED_S = 60.0  # within which a web of few pages is crawled, kept twice and indexed


class Mesh(PlayedMesh):
    """Machines that crawl a small web, and what the gateway of the first answered last."""

    def __init__(self) -> None:
        self.world = World(Network(random_of(SEED, "network")), start_s=1_000.0)
        self.members = Members(SEED, PEERS, replicas=2, slot_count=64)
        self.answers: list[Message] = []
        self.web = SyntheticWeb(SEED, pages=12)
        self.begin(PEERS, self.web, told=lambda _, answer: self.answers.append(answer))
        self.pass_time(10.0)

    def why(self, url: str, asked: int = 0) -> WhyAnswered:
        return self._ask(AskWhy(9, url), asked, WhyAnswered)

    def why_idle(self, peer: str = "") -> WhyIdleAnswered:
        return self._ask(AskWhyIdle(9, peer, 0.0, 2_000.0), 0, WhyIdleAnswered)

    def _ask(self, order: Message, asked: int, kind: type[Answer]) -> Answer:
        self.machines[asked].order(order)
        self.pass_time(3.0)
        [*_, answer] = [answer for answer in self.answers if isinstance(answer, kind)]
        return answer


def test_any_peer_says_what_became_of_a_url_also_when_its_owner_is_dead() -> None:
    mesh = Mesh()
    url = mesh.web.seeds[0]
    assert "`tianmesh seed URL` adds it" in said_of_url(mesh.why(url))
    assert "nothing is queued" in said_of_crawl(mesh.why_idle())
    mesh.machines[0].order(AddSeeds(1, (url,)))
    mesh.pass_time(STORED_S)
    told = [mesh.why(url, asked) for asked in range(PEERS)]
    assert len({(each.owner, each.team) for each in told}) == 1
    for each in told:
        assert is_owner_heard(each)
        assert {facts.state for _, facts in each.told} == {UrlState.STORED}
        assert all(facts.archive and facts.archive.is_indexed for _, facts in each.told)
        assert [facts.is_held for _, facts in each.told] == [True, False]
    # Nobody has noticed yet that the owner is dead: a standby says what it keeps.
    owner = next(machine for machine in mesh.machines if machine.peer == told[0].owner)
    asked = next(number for number, machine in enumerate(mesh.machines) if machine is not owner)
    owner.crash()
    answer = mesh.why(url, asked)
    [(standby, facts)] = answer.told
    assert (standby, facts.state) == (answer.team[1], UrlState.STORED)
    assert said_of_url(answer).startswith(f"{owner.peer}, which owns the slot, did not answer")


def test_paused_mesh_says_that_it_is_paused_and_what_goes_on() -> None:
    mesh = Mesh()
    rules = (Rule(action=Action.PAUSE), Rule(action=Action.CRAWL))
    mesh.machines[0].publish(mesh.members.policy(1, policy_bytes(Policy(rules=rules))))
    mesh.pass_time(5.0)
    mesh.machines[1].order(AddSeeds(1, mesh.web.seeds))
    answer = mesh.why_idle()
    assert [[halt.hold for halt in facts.halts] for _, facts in answer.told] == [[Hold.ALL_PAUSED]] * PEERS
    assert said_of_crawl(answer).endswith("`tianmesh resume` goes on")


def test_each_peer_says_how_many_pages_it_has_by_the_word_of_another_alone() -> None:
    mesh = Mesh()
    mesh.machines[0].order(AddSeeds(8, mesh.web.seeds))
    mesh.pass_time(STORED_S)
    found: dict[str, dict[str, UndoneVisits | None]] = {}
    for member in mesh.members.peers:
        begun, done = (dict(mesh.why_idle(member).told) for _ in range(2))
        assert all(facts.told_alone == UndoneVisits(2_000.0, is_done=False) for facts in begun.values())
        found[member] = {peer: facts.told_alone for peer, facts in done.items()}
        assert all(told is not None and told.is_done for told in found[member].values())
    assert len(found) == PEERS
    visits = [told.visits for by_peer in found.values() for told in by_peer.values() if told is not None]
    stored = sum(machine.cell().stored for machine in mesh.machines)
    assert sum(visits) >= stored > 0, "each visit is some member's, on all peers that keep the page"
