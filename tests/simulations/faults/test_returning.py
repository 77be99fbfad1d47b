"""Peers that come, or come back, while a gateway is asked all the time."""

from __future__ import annotations

from mesh.actors.actor import Message
from mesh.urls import host_of
from peers.engine.index import Index
from peers.engine.pages.document import Document
from peers.gateway.model.messages import AddSeeds, FindPage, PageFound, PagesFound, SearchPages
from peers.policy.rules import Action, Policy, Rule, policy_bytes
from simulations.faults.final_checks import documents_on
from simulations.faults.machine import Machine
from simulations.webs.web import SyntheticWeb
from simulations.world.chance import random_of
from simulations.world.members import Members
from simulations.world.network import Network
from simulations.world.words import rare_word_of
from simulations.world.world import World
from tests.simulations.machines import PlayedMesh

SEED = 7
STORED_S = 60.0  # within which a web of few pages is crawled, kept twice and indexed
RETURNED_S = 30.0  # after which a peer that returns answers again, whoever else is there


class Mesh(PlayedMesh):
    """Machines, three that keep everything if not said otherwise, and what their gateways answered."""

    def __init__(self, n_peers: int = 3, *, replicas: int = 3, n_started: int | None = None) -> None:
        self.network = Network(random_of(SEED, "network"))
        self.world = World(self.network, start_s=1_000.0)
        self.members = Members(SEED, n_peers, replicas=replicas, slot_count=64)
        self.answers: list[tuple[str, Message]] = []
        self.web = SyntheticWeb(SEED, pages=3)
        self.page = self.web.seeds[0]
        self.begin(
            n_peers,
            self.web,
            started=n_started,
            told=lambda machine, answer: self.answers.append((machine.name, answer)),
        )
        self.pass_time(10.0)
        self.machines[0].order(AddSeeds(1, self.web.seeds))
        self.pass_time(STORED_S)

    def ask(self, machine: Machine) -> None:
        machine.order(SearchPages(2, rare_word_of(self.page)))
        machine.order(FindPage(3, self.page))

    def ask_all_the_time(self, machine: Machine, seconds: float) -> list[bool]:
        """Whether each answer shows the page."""
        self.answers.clear()
        for _ in range(round(20 * seconds)):
            self.ask(machine)
            self.pass_time(0.05)
        shown = [self.shows(answer) for name, answer in self.answers if name == machine.name]
        return [each for each in shown if each is not None]

    def missing_while(self, machine: Machine, seconds: float) -> list[int]:
        """How many slots each answer lacks, from the first that lacks none."""
        self.ask_all_the_time(machine, seconds)
        answers = [answer for _, answer in self.answers if isinstance(answer, PagesFound)]
        missing = [answer.coverage.missing for answer in answers]
        return missing[missing.index(0) :]

    def shows(self, answer: Message) -> bool | None:
        match answer:
            case PagesFound():
                return any(hit.url == self.page for hit in answer.hits)
            case PageFound():
                return bool(answer.records)
        return None

    def take_down(self, machine: Machine) -> None:
        policy = Policy(rules=(Rule(action=Action.TAKE_DOWN, urls=(self.page,)), Rule(action=Action.CRAWL)))
        machine.publish(self.members.policy(1, policy_bytes(policy)))


def test_peer_that_finds_all_doors_shut_shows_nothing_that_was_taken_down_meanwhile() -> None:
    mesh = Mesh()
    away = mesh.machines[1]
    assert all(mesh.ask_all_the_time(away, 1.0))
    away.crash()
    mesh.pass_time(10.0)
    mesh.take_down(mesh.machines[0])
    mesh.pass_time(10.0)
    mesh.network.part([away.peer], [machine.peer for machine in mesh.machines if machine is not away])
    away.start()
    while not away.membership().is_member:
        mesh.pass_time(0.05)
    mesh.network.heal()
    answers = mesh.ask_all_the_time(away, RETURNED_S)
    assert len(answers) > 100
    assert not any(answers)


def test_mesh_that_starts_again_shows_its_pages_after_a_second() -> None:
    mesh = Mesh()
    for machine in mesh.machines:
        machine.crash()
    for machine in mesh.machines:
        machine.start()
    mesh.pass_time(2.0)
    assert all(mesh.ask_all_the_time(mesh.machines[0], 1.0))


def test_answers_that_are_complete_after_a_restart_stay_so() -> None:
    mesh = Mesh(replicas=2)
    for machine in mesh.machines:
        machine.crash()
    mesh.machines[0].start()
    mesh.pass_time(0.3)
    mesh.machines[1].start()
    mesh.pass_time(3.0)
    mesh.machines[2].start()
    missing = mesh.missing_while(mesh.machines[0], RETURNED_S)
    assert len(missing) > 100
    assert not any(missing)


def test_newcomers_that_come_at_once_cost_no_answer() -> None:
    mesh = Mesh(6, replicas=2, n_started=1)
    first, *others = mesh.machines
    for machine in others:
        machine.start()
    missing = mesh.missing_while(first, RETURNED_S)
    assert len(missing) > 100
    assert not any(missing)
    assert [machine.membership().serving for machine in others] == [first.membership().weight] * len(others)


def test_document_of_a_slot_that_was_forgotten_is_gone_after_a_restart() -> None:
    mesh = Mesh(replicas=2)
    page = mesh.page
    [other] = [machine for machine in mesh.machines if page not in documents_on(machine)]
    other.crash()
    assert other.ownership is not None
    index = Index.open(other.disk.storage)  # as it is when the power fails before the index has forgotten too
    index.add([(other.ownership.slot_of(host_of(page)), Document(page, title="t", text="x", fetched_at=1.0))])
    index.commit()
    assert page in documents_on(other)
    other.start()
    mesh.pass_time(RETURNED_S)
    assert page not in documents_on(other)
    assert sum(page in documents_on(machine) for machine in mesh.machines) == 2
