"""Searches that aggregators merge: the answers of one peer, whoever is late, dead or malicious."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import pytest
from msgspec.structs import replace

from mesh.actors.actor import Address, Message
from mesh.actors.conduct import ConductStatistics
from mesh.config import WEIGHT_DEFAULT
from mesh.slots import SlotTable, slot_of
from mesh.urls import host_of
from peers.gateway.aggregation.wire_messages import AskGroup, GroupAnswered
from peers.gateway.searcher import SearcherStatistics
from peers.index.wire_messages import Hit, HitsFound, TermsCounted
from simulations.studies.multicast import is_same
from simulations.world.members import SLOT_COUNT_DEFAULT
from simulations.world.searched_mesh import SearchedMesh, SlowPeers, made_up_documents, made_up_queries
from simulations.world.world import Twist

DOCUMENTS = made_up_documents(400, 1)
QUERIES = made_up_queries(40, 1)
LIAR, VICTIM = "p7", "p3"
PEERS = 17

Lie = Callable[[GroupAnswered], GroupAnswered | None]


@cache
def alone() -> SearchedMesh:
    """The peer that has all documents: what it answers is right."""
    return SearchedMesh(DOCUMENTS, 1, seed=1)


def mesh_of(peers: int = PEERS, *, seed: int = 1, slow: float = 0.0, loss: float = 0.0) -> SearchedMesh:
    return SearchedMesh(DOCUMENTS, peers, seed=seed, slow=SlowPeers(slow), aggregated_from=4, loss=loss)


def of_searcher(mesh: SearchedMesh) -> SearcherStatistics:
    told = mesh.observe("searcher")
    assert isinstance(told, SearcherStatistics)
    return told


def blamed_by(mesh: SearchedMesh, peer: str) -> dict[str, dict[str, int]]:
    """The offences that a peer blames on others, by member."""
    told = mesh.observe("conduct", peer)
    assert isinstance(told, ConductStatistics)
    return {each.peer: each.offences for each in told.members}


def is_right(mesh: SearchedMesh, text: str, k: int = 10) -> bool:
    found, right = mesh.search(text, k)[0], alone().search(text, k)[0]
    return found.coverage.missing == 0 and is_same(found, right)


@pytest.mark.parametrize("peers", [9, 16, 30])
def test_answers_of_aggregators_are_those_of_one_peer(peers: int) -> None:
    mesh = mesh_of(peers)
    for number, text in enumerate(QUERIES):
        assert is_right(mesh, text, k=10 if number % 4 else 60), text
    assert of_searcher(mesh).mistrusted_peers == 0
    direct = SearchedMesh(DOCUMENTS, peers, seed=1)
    costs = [each.search(QUERIES[2])[1] for each in (mesh, direct)]
    assert costs[0].messages < 0.6 * costs[1].messages


def test_a_mesh_below_the_limit_has_no_aggregators() -> None:
    asked = []

    def note(_: Address, __: Address, message: Message) -> Message:
        asked.append(message)
        return message

    mesh = SearchedMesh(DOCUMENTS, PEERS, seed=1)
    mesh.twist("p0", note)
    assert is_right(mesh, QUERIES[0])
    assert not any(isinstance(message, AskGroup) for message in asked)


@pytest.mark.parametrize("seed", range(1, 7))
def test_losses_slow_and_dead_peers_make_no_answer_false(seed: int) -> None:
    mesh = mesh_of(30, seed=seed, slow=0.1, loss=0.02)
    mesh.kill(0.07)
    covered = []
    for text in QUERIES[:12]:
        found, right = mesh.search(text)[0], alone().search(text)[0]
        covered.append(found.coverage.answered / found.coverage.slots)
        assert found.coverage.missing or is_same(found, right), text
    assert sum(covered) > 0.9 * len(covered)
    assert of_searcher(mesh).mistrusted_peers == 0
    assert blamed_by(mesh, "p0") == {}


def test_members_of_a_silent_aggregator_are_asked_directly() -> None:
    mesh = mesh_of()
    mesh.twist(LIAR, lie_of(lambda told: None))
    for text in QUERIES[:15]:
        found, cost = mesh.search(text)
        assert found.coverage.missing == 0
        assert is_same(found, alone().search(text)[0]), text
        assert cost.seconds < 0.5
    assert of_searcher(mesh).silent_peers == 0


def test_what_an_aggregator_makes_up_is_neither_shown_nor_blamed_on_members() -> None:
    """Second members deny three pages of one member: if it had given them, it would be suspect."""
    table = SlotTable(dict.fromkeys(mesh_of().peers, WEIGHT_DEFAULT), SLOT_COUNT_DEFAULT, 2)
    made_up = [host_in(table, VICTIM, number) for number in range(3)]

    def put_first(peer: str, found: HitsFound) -> tuple[Hit, ...]:
        top = max((hit.score for hit in found.hits), default=0.01)
        return (*(Hit(url, top) for url in made_up if peer == VICTIM), *found.hits)

    mesh = mesh_of()
    mesh.twist(LIAR, lie_of(lambda told: with_hits(told, put_first)))
    for text in QUERIES:
        assert is_right(mesh, text), text
    assert blamed_by(mesh, "p0") == {}
    assert of_searcher(mesh).mistrusted_peers == 2  # with it, an honest one


def test_hits_that_no_aggregator_passes_on_are_its_own_fault() -> None:
    mesh = mesh_of()
    foreign = (Hit("http://host1.test/", 1e6), Hit("http://host2.test/", 1e6), Hit("http://host3.test/", 1e6))
    mesh.twist(LIAR, lie_of(lambda told: with_hits(told, lambda _, found: (*foreign, *found.hits))))
    assert all(is_right(mesh, text) for text in QUERIES)
    assert blamed_by(mesh, "p0").keys() == {LIAR}


def test_an_aggregator_cannot_say_that_members_lack_slots() -> None:
    mesh = mesh_of()
    mesh.twist(LIAR, lie_of(lambda told: with_answers(told, lambda _, answer: replace(answer, missing=5))))
    assert all(is_right(mesh, text) for text in QUERIES[:20])
    assert of_searcher(mesh).tardy_peers == 0


@pytest.mark.parametrize(
    "lie",
    [
        lambda told: with_hits(told, lambda peer, found: found.hits if peer == LIAR else ()),
        lambda told: with_answers(
            told,
            lambda _, answer: (
                replace(answer, document_count=answer.document_count + 100)
                if isinstance(answer, TermsCounted)
                else answer
            ),
        ),
    ],
    ids=["hits left out", "counts made up"],
)
def test_an_aggregator_that_tells_other_than_members_is_found_out(lie: Lie) -> None:
    mesh = mesh_of()
    mesh.twist(LIAR, lie_of(lie))
    right = [is_right(mesh, text) for text in QUERIES + QUERIES]
    assert of_searcher(mesh).mistrusted_peers == 2  # with it, an honest one
    assert all(right[-20:])
    assert blamed_by(mesh, "p0") == {}


def test_a_member_cannot_push_others_out_of_the_best_of_its_group() -> None:
    table = SlotTable(dict.fromkeys(mesh_of().peers, WEIGHT_DEFAULT), SLOT_COUNT_DEFAULT, 2)

    made_up = sorted(host_in(table, LIAR, number) for number in range(150))

    def push(_: Address, __: Address, message: Message) -> Message:
        if not isinstance(message, HitsFound):
            return message
        top = max((hit.score for hit in message.hits), default=0.01)
        return replace(message, hits=tuple(Hit(url, top) for url in made_up))

    direct, mesh = SearchedMesh(DOCUMENTS, PEERS, seed=1), mesh_of()
    for each in (direct, mesh):
        each.twist(LIAR, push)
    n_left = 0
    for text in QUERIES[:8]:
        left, found = (
            [hit.url for hit in each.search(text)[0].hits if hit.peer != LIAR] for each in (direct, mesh)
        )
        assert [url for url in found if url in left] == left, text
        n_left += len(left)
    assert n_left > 10


def host_in(table: SlotTable, peer: str, number: int = 0) -> str:
    """The number-th URL of a page that does not exist, of a slot that a peer answers for."""
    urls = (f"http://made-up{n}.test/" for n in range(100_000))
    of_peer = (url for url in urls if table.owner_of(slot_of(host_of(url), SLOT_COUNT_DEFAULT)) == peer)
    return next(url for n, url in enumerate(of_peer) if n == number)


def lie_of(lie: Lie) -> Twist:
    def twisted(_: Address, __: Address, message: Message) -> Message | None:
        return lie(message) if isinstance(message, GroupAnswered) else message

    return twisted


def with_answers(
    told: GroupAnswered, of: Callable[[str, TermsCounted | HitsFound], TermsCounted | HitsFound]
) -> GroupAnswered:
    return replace(told, answers=tuple((peer, of(peer, answer)) for peer, answer in told.answers))


def with_hits(told: GroupAnswered, of: Callable[[str, HitsFound], tuple[Hit, ...]]) -> GroupAnswered:
    return with_answers(
        told,
        lambda peer, answer: (
            replace(answer, hits=of(peer, answer)) if isinstance(answer, HitsFound) else answer
        ),
    )
