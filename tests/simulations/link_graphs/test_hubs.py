"""Hubs and authorities, beside the eigenvectors that they are by definition."""

from __future__ import annotations

import numpy as np
import pytest

from simulations.link_graphs.graph import LinkGraph, graph_of
from simulations.link_graphs.hubs import (
    BASE_PAGES_MAX,
    INLINKS_MAX,
    TOLERANCE,
    base_set,
    between_hosts,
    hub_scores,
    voices_of_hosts,
)


def made(n: int, *links: tuple[int, int]) -> LinkGraph:
    source, target = np.array(links, np.int64).reshape(-1, 2).T
    return graph_of(n, source, target)


def test_hubs_and_authorities_of_three_links_are_those_worked_out_by_hand() -> None:
    # 0 and 1 link to 2, 0 to 3 as well. A^T A on (2, 3) is [[2, 1], [1, 1]]: its first eigenvector is
    # (golden ratio, 1), and that of A A^T on (0, 1) likewise.
    golden = (1 + 5**0.5) / 2
    length = (golden**2 + 1) ** 0.5
    found = hub_scores(made(4, (0, 2), (0, 3), (1, 2)))
    assert found.authorities == pytest.approx([0, 0, golden / length, 1 / length], abs=1e-6)
    assert found.hubs == pytest.approx([golden / length, 1 / length, 0, 0], abs=1e-6)
    assert found.change <= TOLERANCE


@pytest.mark.parametrize("seed", range(5))
def test_scores_are_the_first_eigenvectors(seed: int) -> None:
    random = np.random.default_rng(seed)
    matrix = (random.random((40, 40)) < 0.15).astype(float)
    source, target = np.nonzero(matrix)
    found = hub_scores(graph_of(40, source, target), tolerance=1e-12)
    for product, scores in ((matrix.T @ matrix, found.authorities), (matrix @ matrix.T, found.hubs)):
        _, vectors = np.linalg.eigh(product)
        assert scores == pytest.approx(np.abs(vectors[:, -1]), abs=1e-9)


def test_what_does_not_settle_says_so() -> None:
    found = hub_scores(made(4, (0, 2), (0, 3), (1, 2)), rounds_max=2)
    assert (found.rounds, found.change > TOLERANCE) == (2, True)


def test_a_graph_without_links_has_no_hubs() -> None:
    found = hub_scores(made(3))
    assert (found.rounds, found.hubs.tolist(), found.authorities.tolist()) == (0, [0] * 3, [0] * 3)


def test_a_host_has_one_voice_for_a_page_however_many_pages_it_has() -> None:
    # Three pages of host 0 link to 5, of which one has a second link to 6 of the same host; 3 links to 6, and
    # 4 to 6, pages of two hosts.
    graph = made(7, (0, 5), (1, 5), (2, 5), (2, 6), (3, 6), (4, 6))
    host = np.array([0, 0, 0, 1, 2, 3, 3])
    weights = voices_of_hosts(graph, host)
    assert weights.authority.tolist() == pytest.approx([1 / 3, 1 / 3, 1 / 3, 1, 1, 1])
    assert weights.hub.tolist() == [1, 1, 0.5, 0.5, 1, 1]
    plain, fair = hub_scores(graph), hub_scores(graph, weights=weights)
    assert plain.authorities[5] == pytest.approx(plain.authorities[6])
    assert fair.authorities[6] > 2 * fair.authorities[5]


@pytest.mark.parametrize("seed", range(3))
def test_scores_by_hosts_are_the_first_eigenvectors(seed: int) -> None:
    random = np.random.default_rng(seed)
    source, target = np.nonzero(random.random((30, 30)) < 0.2)
    graph, host = graph_of(30, source, target), random.integers(5, size=30)
    weights = voices_of_hosts(graph, host)
    given, had = np.zeros((30, 30)), np.zeros((30, 30))
    given[graph.source, graph.target], had[graph.source, graph.target] = weights
    values, vectors = np.linalg.eig(given.T @ had)
    first = np.abs(vectors[:, values.real.argmax()].real)
    found = hub_scores(graph, tolerance=1e-13, weights=weights)
    assert found.authorities == pytest.approx(first / np.linalg.norm(first), abs=1e-8)


def test_links_inside_of_a_host_do_not_count() -> None:
    across = between_hosts(made(3, (0, 1), (0, 2), (2, 1)), np.array([0, 0, 1]))
    assert list(zip(across.source.tolist(), across.target.tolist(), strict=True)) == [(0, 2), (2, 1)]


def test_around_a_page_is_what_it_links_to_and_some_of_what_links_to_it() -> None:
    n_linking = 2 * INLINKS_MAX
    fans = [(each, 0) for each in range(3, 3 + n_linking)]
    graph = made(3 + n_linking, (0, 1), (1, 2), *fans)
    found = base_set(graph, [0]).tolist()
    assert found[:2] == [0, 1]  # and not 2, which 1 links to
    assert len(found) == 2 + INLINKS_MAX
    assert (found[2], found[-1]) == (3, 2 + n_linking)  # spread over all
    assert base_set(graph, [2]).tolist() == [1, 2]


def test_a_base_set_is_bounded() -> None:
    n = BASE_PAGES_MAX + 10
    assert len(base_set(made(n, *((0, each) for each in range(1, n))), [0])) == BASE_PAGES_MAX
