"""A mesh that is only searched: the same answers whatever its size, and costs that are counted, not timed."""

from __future__ import annotations

import pytest

from simulations.studies.multicast import is_same
from simulations.world.searched_mesh import SearchedMesh, SlowPeers, made_up_documents, made_up_queries

DOCUMENTS = made_up_documents(400, 1)
QUERIES = made_up_queries(12, 1)


@pytest.mark.parametrize("peers", [2, 7, 40])
def test_answers_of_many_peers_are_those_of_one(peers: int) -> None:
    alone, mesh = SearchedMesh(DOCUMENTS, 1, seed=1), SearchedMesh(DOCUMENTS, peers, seed=1)
    for text in QUERIES:
        right, _ = alone.search(text)
        found, cost = mesh.search(text)
        assert found.coverage.missing == 0
        assert found.hits
        assert is_same(found, right), text
        assert cost.messages >= 4 * (peers - 1)  # counts and hits, a question and an answer of each


def test_the_same_seed_gives_the_same_costs() -> None:
    costs = [
        [SearchedMesh(DOCUMENTS, 10, seed=seed, slow=SlowPeers(0.2)).search(text)[1] for text in QUERIES[:3]]
        for seed in (1, 1, 1, 2)  # the first also loads what a process loads once
    ]
    assert costs[1] == costs[2] != costs[3]


def test_dead_peers_of_a_whole_team_are_missing_from_the_coverage() -> None:
    mesh = SearchedMesh(DOCUMENTS, 12, seed=1)
    mesh.kill(0.25)
    covered = [mesh.search(text)[0].coverage for text in QUERIES[:3]]
    assert all(0.8 * each.slots < each.answered < each.slots for each in covered)


def test_an_answer_costs_the_gateway_no_more_the_more_peers_are_late() -> None:
    """With each answer all shares of all plans were looked at: 200 calls a message of 30 peers."""
    mesh = SearchedMesh(DOCUMENTS, 30, seed=1, slow=SlowPeers(0.1))
    mesh.kill(0.05)
    costs = [mesh.search(text)[1] for text in QUERIES]
    assert sum(cost.work for cost in costs) < 70 * sum(cost.messages for cost in costs)
