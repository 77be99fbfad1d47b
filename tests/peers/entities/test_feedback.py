"""Weights learned from graded pages: pairs, the prior, and the owner's other entities."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest

from peers.entities.feedback import BASE, fitted, pair_order, pairs_of
from peers.entities.profile import GRADED_MAX, GradedPage, Profile, with_grade
from peers.entities.score import FEATURES, PRIOR

TRUE = {**PRIOR, "title": -2.0, "focus": 3.0, "features": 2.0}


def page(random: Random, weights: dict[str, float] = TRUE) -> GradedPage:
    values = tuple(random.random() if name != "name" else 1.0 for name in FEATURES)
    score = sum(value * weight for value, weight in zip(values, weights.values(), strict=True))
    grade = 2 if score > 6.1 else 1 if score > 5.2 else 0
    return GradedPage(random.randbytes(8), grade, values)


def entity(label: str, count: int, seed: int) -> Profile:
    random = Random(seed)
    return Profile(label=label, names=(label,), graded=tuple(page(random) for _ in range(count)))


def share_in_order(weights: tuple[float, ...], seed: int = 99) -> float:
    order = pair_order(entity("judged", 60, seed).graded, weights)
    return order.right / order.total


def test_without_pairs_the_weights_are_those_of_everybody() -> None:
    assert fitted(entity("a", 0, 1)) == tuple(PRIOR.values())
    one = Profile(label="a", names=("a",), graded=(page(Random(1)),))
    assert fitted(one) == tuple(PRIOR.values())


def test_pairs_are_all_of_two_grades() -> None:
    values = (0.0,) * len(FEATURES)
    graded = [GradedPage(bytes(7) + bytes([n]), grade, values) for n, grade in enumerate((2, 2, 1, 0, 0, 0))]
    assert len(pairs_of(graded)) == 2 * 1 + 1 * 3 + 2 * 3  # mn + nk + km
    assert pair_order(graded, tuple(PRIOR.values())) == (5.5, 11), "equal scores count half"
    assert len(pairs_of([*graded, GradedPage(b"12345678", 1, (1.0,))])) == 11, "of other features: no pair"


def test_feedback_orders_pages_that_were_not_graded_better() -> None:
    before = share_in_order(tuple(PRIOR.values()))
    few, many = share_in_order(fitted(entity("a", 12, 1))), share_in_order(fitted(entity("a", 80, 1)))
    assert before < few < many
    assert many > 0.9


def test_other_entities_of_the_owner_help_one_with_few_grades() -> None:
    alone = fitted(entity("a", 6, 1))
    helped = fitted(entity("a", 6, 1), [entity("b", 40, 2), entity("c", 40, 3)])
    assert share_in_order(helped) > share_in_order(alone)
    assert fitted(entity("a", 6, 1), [entity("a", 40, 2)]) == alone, "it is no other entity"


@pytest.mark.parametrize("size", [1e-9, 100.0])
def test_extreme_values_have_finite_weights(size: float) -> None:
    graded = tuple(GradedPage(bytes([n]) * 8, n % 3, (size * (-1) ** n,) * len(FEATURES)) for n in range(30))
    assert np.isfinite(fitted(Profile(label="a", names=("a",), graded=graded))).all()
    assert np.isfinite(BASE).all()


def test_a_page_has_one_grade_and_the_oldest_go_first() -> None:
    random = Random(1)
    profile = Profile(label="a", names=("a",))
    for _ in range(GRADED_MAX + 5):
        profile = with_grade(profile, page(random))
    assert len(profile.graded) == GRADED_MAX
    last = profile.graded[-1]
    again = with_grade(profile, GradedPage(last.digest, (last.grade + 1) % 3, last.values))
    assert len(again.graded) == GRADED_MAX
    assert again.graded[-1].grade != last.grade
