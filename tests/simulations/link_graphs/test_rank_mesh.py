"""Meshes that rank come to the exact ranks, whatever the network and the peers do."""

from __future__ import annotations

import numpy as np
import pytest

from peers.link_graph.slot_ranks import DAMPING
from simulations.link_graphs.drawn_graph import drawn_graph
from simulations.link_graphs.graph import graph_of_successors
from simulations.link_graphs.rank_mesh import RankMesh, RankNetwork, RankTraffic
from simulations.link_graphs.ranks import distance, exact_ranks, tau_of_top

pytest.importorskip("scipy", reason="the extra `simulations` is not installed")

TOLERANCE = 1e-5


def mesh_of(n_peers: int, seed: int, network: RankNetwork) -> RankMesh:
    graph, host = drawn_graph(400, 12, seed)
    return RankMesh(graph, host, n_peers, TOLERANCE, network, seed)


def is_exact(mesh: RankMesh) -> bool:
    """Are the ranks as exact as `RankExchange` says?"""
    error = np.abs(mesh.ranks() - exact_ranks(mesh.graph)).sum()
    return bool(error <= TOLERANCE * (mesh.graph.page_count + mesh.graph.link_count) / (1 - DAMPING))


def test_power_iteration_solves_the_equations_as_a_solver_does() -> None:
    graph = drawn_graph(200, 5, seed=3).graph
    matrix = np.zeros((200, 200))
    for page, targets in enumerate(graph.successors):
        others = [target for target in targets.tolist() if target != page]
        matrix[others, page] = DAMPING / max(1, len(others))
    exact = np.linalg.solve(np.eye(200) - matrix, np.full(200, 1 - DAMPING))
    assert exact_ranks(graph) == pytest.approx(exact)


def test_rankings_are_compared_by_distance_and_by_the_order_of_the_first() -> None:
    exact = np.array([4.0, 3.0, 2.0, 1.0])
    assert distance(exact, exact) == 0.0
    assert tau_of_top(exact, exact) == pytest.approx(1.0)
    turned = np.array([4.0, 2.0, 3.0, 1.0])
    assert distance(turned, exact) == pytest.approx(0.2)
    assert tau_of_top(turned, exact) == pytest.approx(2 / 3)
    assert tau_of_top(turned, exact, n_top=2) == pytest.approx(1.0)


@pytest.mark.parametrize("n_peers", [1, 3, 8])
@pytest.mark.parametrize("seed", range(5))
def test_a_mesh_comes_to_the_exact_ranks_through_faults_of_all_kinds(n_peers: int, seed: int) -> None:
    mesh = mesh_of(n_peers, seed, RankNetwork(loss=0.3, repeat=0.3))
    mesh.run(1.0)
    mesh.crash(mesh.peers[-1])
    mesh.run()
    assert is_exact(mesh)
    for _ in range(3):
        mesh.change_links(0.05, 0.02)
        mesh.run(0.7)
        mesh.crash(mesh.peers[-1])
        if n_peers > 1:
            mesh.hand_over(mesh.peers[0], mesh.peers[-1], 0.5)
            mesh.run(0.7)
            mesh.hand_over(mesh.peers[-1], mesh.peers[0], 0.5)
        mesh.change_links(0.05, 0.02)
        mesh.run(0.7)
        if len(mesh.peers) > 2:
            mesh.lose(mesh.peers[1])
    mesh.run()
    assert is_exact(mesh)


def test_a_course_follows_from_its_seed() -> None:
    def course(seed: int) -> tuple[RankTraffic, float]:
        mesh = mesh_of(3, seed, RankNetwork(loss=0.1, repeat=0.1))
        mesh.run()
        return mesh.traffic, mesh.now

    assert course(1) == course(1)
    assert course(1) != course(2)


def test_a_mesh_at_rest_sends_nothing_and_one_peer_never_does() -> None:
    mesh = mesh_of(3, 1, RankNetwork())
    mesh.run()
    traffic = mesh.traffic
    mesh.run(100.0)
    assert mesh.traffic == traffic
    assert mesh.now > 100.0
    alone = mesh_of(1, 1, RankNetwork())
    alone.run()
    assert alone.traffic == RankTraffic(0, 0)


def test_a_network_that_loses_everything_leaves_wrong_ranks() -> None:
    """So `is_exact` can fail."""
    mesh = mesh_of(3, 1, RankNetwork(loss=1.0))
    mesh.run(60.0)
    assert not is_exact(mesh)


def test_a_page_that_links_and_one_that_is_linked_to_are_numbers_of_the_graph() -> None:
    with pytest.raises(ValueError, match="what there is not"):
        graph_of_successors([[1], [2]])
