from __future__ import annotations

import json
from collections.abc import Sequence
from itertools import repeat
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner, Result

from mesh.errors import ConfigError
from peers.application import app
from peers.judging.agreement import cohens_kappa, fleiss_kappa, joined
from peers.judging.trec import read_qrels, write_qrels

Grades = dict[str, dict[str, int]]

# Fleiss 1971's formula on the example that textbooks print: 10 subjects, 14 raters, 5 categories.
FLEISS = """
0 0 0 0 14
0 2 6 4 2
0 0 3 5 6
0 3 9 2 0
2 2 8 1 1
7 7 0 0 0
3 2 6 3 0
2 5 3 2 2
6 5 2 1 0
0 2 2 3 7
"""


def judgements(grades: Sequence[int]) -> Grades:
    """Return the judgements of pages of one query."""
    return {"q": {f"page{number}": grade for number, grade in enumerate(grades)}}


def judges(counts: dict[tuple[int, int], int]) -> tuple[Grades, Grades]:
    """Return two assessors with so many pages for each pair of grades."""
    pairs = [pair for pair, count in counts.items() for pair in repeat(pair, count)]
    return judgements([one for one, _ in pairs]), judgements([other for _, other in pairs])


def test_cohen_s_kappa_is_that_of_manning_raghavan_schuetze_2008_table_8_2() -> None:
    """400 pages; the book has .776, by the marginals of both judges together, which are nearly the same."""
    found = cohens_kappa(*judges({(1, 1): 300, (1, 0): 20, (0, 1): 10, (0, 0): 70}))
    assert (found.n_pages, found.observed) == (400, 370 / 400)
    assert found.expected == pytest.approx(320 / 400 * 310 / 400 + 80 / 400 * 90 / 400)
    assert found.kappa == pytest.approx(0.776, abs=5e-4)


def test_cohen_s_kappa_is_computed_by_hand() -> None:
    """p = (20 + 15) / 50 = .7; e = .5 x .6 + .5 x .4 = .5."""
    assert cohens_kappa(*judges({(1, 1): 20, (1, 0): 5, (0, 1): 10, (0, 0): 15})).kappa == pytest.approx(0.4)


def test_fleiss_s_kappa_is_that_of_the_textbook_s_example() -> None:
    rows = [
        [grade for grade, count in enumerate(map(int, line.split())) for _ in range(count)]
        for line in FLEISS.strip().splitlines()
    ]
    found = fleiss_kappa([judgements(column) for column in zip(*rows, strict=True)])
    assert found.observed == pytest.approx(0.378, abs=5e-4)
    assert found.expected == pytest.approx(0.213, abs=5e-4)
    assert found.kappa == pytest.approx(0.210, abs=5e-4)


def test_only_pages_that_all_have_judged_count() -> None:
    one, other = {"q": {"a": 1, "b": 0}, "r": {"c": 2}}, {"q": {"a": 1}, "s": {"c": 2}}
    assert cohens_kappa(one, other).n_pages == fleiss_kappa([one, other]).n_pages == 1


def test_kappa_is_not_defined_where_chance_would_agree_as_well() -> None:
    same = judgements([1, 1, 1])
    assert cohens_kappa(same, same).kappa is None
    assert fleiss_kappa([same, same]).kappa is None
    assert cohens_kappa(same, {"r": {"a": 1}}).kappa is None


GRADES = st.lists(st.tuples(st.integers(0, 2), st.integers(0, 2), st.integers(0, 2)), min_size=1, max_size=20)


@given(GRADES)
def test_kappa_does_not_depend_on_who_is_first_and_is_1_for_equals(rows: list[tuple[int, ...]]) -> None:
    a, b, c = (judgements(column) for column in zip(*rows, strict=True))
    assert cohens_kappa(a, b) == cohens_kappa(b, a)
    assert fleiss_kappa([a, b, c]) == fleiss_kappa([c, a, b])
    assert cohens_kappa(a, a).kappa in (1.0, None)


@pytest.mark.parametrize(
    ("grades", "expected"),
    [([2], 2), ([0, 2], 0), ([2, 2, 0], 2), ([0, 1, 2], 1), ([2, 0, 2, 2], 2), ([1, 2], 1)],
)
def test_the_joined_grade_is_that_of_the_majority_and_else_in_the_middle(
    grades: list[int], expected: int
) -> None:
    assert joined([judgements([grade]) for grade in grades]) == judgements([expected])


def test_a_page_that_some_have_judged_is_joined_from_these() -> None:
    assert joined([{"q": {"a": 2}}, {"q": {"a": 2, "b": 1}, "r": {"c": 0}}]) == {
        "q": {"a": 2, "b": 1},
        "r": {"c": 0},
    }


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name, grades in (("ann", [0, 1, 2, 2]), ("bob", [0, 1, 2, 0]), ("cho", [0, 0, 2, 2])):
        write_qrels(tmp_path / name, judgements(grades))
    return tmp_path


def agreed(folder: Path, *names: str) -> Result:
    words = [str(folder / name) for name in names]
    return CliRunner().invoke(app, ["eval", "agreement", *words, "--joined", str(folder / "all"), "--json"])


def test_the_command_tells_pairs_and_all_and_writes_the_joined_judgements(folder: Path) -> None:
    told = json.loads(agreed(folder, "ann", "bob", "cho").stdout)
    pairs = {(pair["one"], pair["other"]): pair["agreement"] for pair in told["pairs"]}
    # ann and bob: p = 3/4; e = (1 x 2 + 1 x 1 + 2 x 1) / 16 = 5/16
    assert pairs["ann", "bob"]["kappa"] == pytest.approx((3 / 4 - 5 / 16) / (11 / 16))
    # pairs that agree: 3 + 1 + 3 + 1 of 12; grades given: 5, 2, 5 of 12
    expected = (25 + 4 + 25) / 144
    assert told["all"]["kappa"] == pytest.approx((8 / 12 - expected) / (1 - expected))
    assert read_qrels(folder / "all") == judgements([0, 1, 2, 2])


def test_what_is_printed_is_what_programs_are_told(folder: Path) -> None:
    words = [str(folder / name) for name in ("ann", "bob")]
    shown = CliRunner().invoke(app, ["eval", "agreement", *words]).output
    assert f"{(3 / 4 - 5 / 16) / (11 / 16):.3f}" in shown


def test_assessors_without_a_page_in_common_are_refused(folder: Path) -> None:
    write_qrels(folder / "dan", {"other": {"page": 1}})
    assert isinstance(agreed(folder, "ann", "dan").exception, ConfigError)
    assert agreed(folder, "ann").exit_code == 2
