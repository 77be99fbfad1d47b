"""Strong components, the bow-tie and depth, beside what follows from all ways there are."""

from __future__ import annotations

import time
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mesh.trace import TracedPage
from simulations.traces.columns import columns_of
from simulations.traces.link_structure import BowTie, LinkStructure, structure_of

pytest.importorskip("scipy", reason="the extra `simulations` is not installed")


def web(links: list[list[int]]) -> list[TracedPage]:
    return [
        TracedPage(f"http://a.test/{n}", float(n), 0.1, 100, tuple(f"http://a.test/{to}" for to in targets))
        for n, targets in enumerate(links)
    ]


def shape_of(links: list[list[int]]) -> LinkStructure:
    columns = columns_of(web(links))
    is_there = columns.link_target >= 0
    return structure_of(columns.link_page[is_there], columns.link_target[is_there], columns.parent < 0)


def test_a_bow_tie_has_all_of_its_parts() -> None:
    links = [
        [1, 7],  # 0 leads to the core, by a tube to what it leads to, and to a tendril
        [2],
        [3],
        [1, 4],  # 1, 2, 3: the core
        [],  # 4 is what it leads to
        [4],  # 5 leads to that only: a tendril
        [],  # 6 is apart
        [4],  # 7 is the tube
        [0, 9],  # 8 leads to the core, too
        [],  # 9 is a tendril
        [99],  # 10 leads out of the trace
    ]
    found = shape_of(links)
    assert found.strong_components == 9
    expected = BowTie(core=3 / 11, into=2 / 11, out=1 / 11, tubes=1 / 11, tendrils=2 / 11, apart=2 / 11)
    assert found.bow_tie == expected
    assert found.depths == [0, 1, 2, 3, 1, 0, 0, 1, 0, 1, 0]


WEBS = st.integers(1, 9).flatmap(
    lambda n: st.lists(st.lists(st.integers(0, n - 1), max_size=3), min_size=n, max_size=n)
)


@given(WEBS)
def test_components_and_the_bow_tie_follow_from_all_ways(links: list[list[int]]) -> None:
    n = len(links)
    ways = np.eye(n, dtype=bool)
    for source, targets in enumerate(links):
        ways[source, targets] = True
    joined = ways | ways.T
    for _ in range(n):
        ways, joined = ways @ ways, joined @ joined
    components = Counter(frozenset(np.flatnonzero(ways[page] & ways[:, page]).tolist()) for page in range(n))
    found = shape_of(links)
    assert found.strong_components == len(components)
    shape = found.bow_tie
    assert round(shape.core * n) == max(components.values())
    assert sum(getattr(shape, name) for name in shape.__struct_fields__) == pytest.approx(1.0)
    possible = [
        (ways[:, core[0]].mean(), ways[core[0]].mean(), joined[core[0]].mean())
        for component, size in components.items()
        if size == max(components.values()) and (core := list(component))
    ]
    ours = shape.core + shape.into, shape.core + shape.out, 1 - shape.apart
    assert any(ours == pytest.approx(each) for each in possible)
    assert min(found.depths) == 0


def test_a_long_chain_of_pages_takes_time_linear_in_its_links() -> None:
    page = np.arange(30_000)
    begin = time.process_time()
    found = structure_of(page[:-1], page[1:], page == 0)
    assert time.process_time() - begin < 5.0
    assert found.depths[-1] == 29_999


def test_a_link_that_stands_twice_counts_once() -> None:
    assert shape_of([[1, 0, 1], [0, 0]]) == shape_of([[1], [0]])  # scipy alone would never end
