"""Vectors, methods, selections, cuts and measures, each beside what can be worked out by hand."""

from __future__ import annotations

from collections import Counter
from itertools import product
from math import inf, log, sqrt
from random import Random

import numpy as np
import pytest

from peers.classes.bayes import bayes_scores
from peers.classes.cuts import by_proportion, by_rank, by_score, thresholds_of
from peers.classes.linear import COST, fitted_plane
from peers.classes.measures import f1_of, quality_of
from peers.classes.neighbours import neighbour_scores
from peers.classes.prototypes import prototype_scores
from peers.classes.selection import SELECTIONS, best_terms, texts_by_term
from peers.classes.vectors import Vectors, counts_of, vectors_of, vocabulary_of
from peers.engine.pages.class_model import GAINS
from peers.kernel import Floats, Ints

TEXTS = ("apple pear", "apple apple plum", "pear plum fig", "iron steel", "iron iron gold", "steel gold fig")
CLASSES = np.array([0, 0, 0, 1, 1, 1])


def vectors(texts: tuple[str, ...] = TEXTS) -> Vectors:
    counted = [counts_of(text) for text in texts]
    return vectors_of(counted, vocabulary_of([counts_of(text) for text in TEXTS]))


def dense(made: Vectors) -> Floats:
    table = np.zeros((len(made), made.n_terms))
    table[made.rows, made.terms] = made.values
    return table


def test_vectors_are_of_length_one_and_made_as_the_model_says() -> None:
    vocabulary = vocabulary_of([counts_of(text) for text in TEXTS])
    assert vocabulary.terms == ("apple", "fig", "gold", "iron", "pear", "plum", "steel")
    assert set(vocabulary.idf.tolist()) == {round(16 * (1 + log(7 / 3)))}
    made = vectors_of([Counter({"apple": 2, "fig": 1, "stranger": 9}), Counter()], vocabulary)
    idf = int(vocabulary.idf[0])
    assert made.units.tolist() == [round(16 * (1 + log(2))) * idf, 16 * idf]
    assert made.values.tolist() == pytest.approx([27 / sqrt(27**2 + 256), 16 / sqrt(27**2 + 256)])
    assert np.diff(made.starts).tolist() == [2, 0]
    assert GAINS[[0, 1, 2]].tolist() == [0, 16, 27]


def test_products_are_those_of_the_dense_matrix() -> None:
    made, random = vectors(), np.random.default_rng(3)
    weights, factors = random.normal(size=made.n_terms), random.normal(size=len(made))
    assert np.allclose(made.times(weights), dense(made) @ weights)
    assert np.allclose(made.summed(factors), dense(made).T @ factors)
    chosen = np.array([4, 1])
    assert np.allclose(dense(made.chosen(chosen)), dense(made)[chosen])
    starts, rows, values = made.by_term
    assert np.allclose(np.add.reduceat(values, starts[:-1]), dense(made).sum(axis=0))
    assert len(rows) == len(made.terms)


def test_a_plane_has_the_least_loss_there_is() -> None:
    """No step in any direction makes the loss less, and the gradient is next to nothing."""
    random = Random(5)
    words = [f"w{n}" for n in range(30)]
    texts = tuple(" ".join(random.choices(words, k=9)) for _ in range(80))
    counted = [counts_of(text) for text in texts]
    made = vectors_of(counted, vocabulary_of(counted))
    is_in = np.array([random.random() < 0.4 for _ in texts])
    plane = fitted_plane(made, is_in)
    table = np.hstack([dense(made), np.ones((80, 1))])
    signs = np.where(is_in, 1.0, -1.0)

    def loss(w: Floats) -> float:
        return float(w @ w / 2 + COST * (np.maximum(0.0, 1 - signs * (table @ w)) ** 2).sum())

    best = np.append(plane.weights, plane.bias)
    gradient = best - 2 * COST * table.T @ (signs * np.maximum(0.0, 1 - signs * (table @ best)))
    assert np.linalg.norm(gradient) < 2e-3 * np.linalg.norm(2 * COST * table.T @ signs)
    steps = np.random.default_rng(1).normal(size=(200, len(best)))
    assert all(loss(best + 0.1 * step) > loss(best) for step in steps)


@pytest.mark.parametrize("by_cosine", [True, False])
def test_neighbours_are_the_nearest(by_cosine: bool) -> None:
    texts = vectors(("apple fig fig", "gold", "plum steel iron"))
    samples = vectors()
    found = neighbour_scores(samples, CLASSES, 2, texts, 3, by_cosine=by_cosine)
    near = dense(texts) @ dense(samples).T
    if not by_cosine:
        plain, own = dense(samples) * samples.norms[:, None], dense(texts) * texts.norms[:, None]
        near = 1 / (1 + np.sqrt(((own[:, None] - plain[None]) ** 2).sum(axis=2)))
    for row, expected in zip(found, near, strict=True):
        assert row.sum() == pytest.approx(np.sort(expected)[-3:].sum())  # of equal ones any may be nearest
        assert row.argmax() == CLASSES[expected.argmax()]


def test_prototypes_are_means_less_a_part_of_the_others() -> None:
    samples, texts = vectors(), vectors(("fig", "apple iron"))
    for beta in (0.0, 0.25):
        table = dense(samples)
        means = np.stack([table[:3].mean(axis=0), table[3:].mean(axis=0)])
        prototypes = np.maximum(0.0, means - beta * means[::-1])
        prototypes /= np.linalg.norm(prototypes, axis=1)[:, None]
        assert np.allclose(prototype_scores(samples, CLASSES, 2, texts, beta), dense(texts) @ prototypes.T)


def test_one_unseen_word_rules_a_class_out_as_printed_but_not_smoothed() -> None:
    samples, texts = vectors(), vectors(("apple fig", "apple iron"))
    printed = bayes_scores(samples, CLASSES, 2, texts, is_smoothed=False)
    assert printed[0].tolist() == pytest.approx([log(1 / 2) + log(2 / 3) + log(1 / 3), -inf])
    assert printed[1].tolist() == [-inf, -inf]
    smoothed = bayes_scores(samples, CLASSES, 2, texts, is_smoothed=True)
    assert smoothed[1].tolist() == pytest.approx([log(1 / 2) + log(3 / 5) + log(1 / 5)] * 2)
    assert by_rank(printed).tolist() == [0, -1]


def counted_terms() -> tuple[Floats, Floats]:
    return texts_by_term(vectors(), CLASSES, 2), np.array([3.0, 3.0])


def test_selections_are_their_formulas() -> None:
    both, sizes = counted_terms()
    terms = {"apple": 0, "fig": 1, "gold": 2}
    assert both[:, 0].tolist() == [2, 0]
    told = {name: choose(both, sizes) for name, choose in SELECTIONS.items()}
    n = 6
    for place in terms.values():
        a_of = both[:, place]
        with_term = a_of.sum()
        assert told["DF"][place] == with_term
        chi, mi, ig = 0.0, 0.0, log(2)
        for a in a_of:
            b, c = with_term - a, 3 - a
            d = n - a - b - c
            chi += n * (a * d - c * b) ** 2 / ((a + c) * (b + d) * (a + b) * (c + d)) / 2
            mi += log(max(a, 0.5) * n / ((a + c) * (a + b))) / 2
            for inside, total in ((a, with_term), (c, n - with_term)):
                ig += inside / n * log(inside / total) if inside else 0.0
        assert told["CHI"][place] == pytest.approx(chi)
        assert told["MI"][place] == pytest.approx(mi)
        assert told["IG"][place] == pytest.approx(ig)
    assert told["IG"][terms["fig"]] == pytest.approx(0.0)
    assert best_terms("CHI", vectors(), CLASSES, 2, 0.3).sum() == 2


def test_cuts_give_the_classes_that_their_rules_say() -> None:
    scores = np.array([[0.9, 0.1], [0.8, 0.7], [0.2, 0.3], [-inf, -inf]])
    assert by_rank(scores).tolist() == [0, 0, 1, -1]
    assert by_proportion(scores, np.array([0.25, 0.5])).tolist() == [0, 1, 1, -1]
    assert by_score(scores, np.array([0.85, 0.3])).tolist() == [0, -1, 1, -1]


def test_thresholds_have_the_best_f1_of_all_that_there_could_be() -> None:
    random = np.random.default_rng(11)
    for _ in range(40):
        scores = np.round(random.normal(size=(30, 3)), 1)  # with ties
        true = random.integers(-1, 3, 30)
        thresholds = thresholds_of(scores, true)
        for number in range(3):
            levels = [*scores[:, number].tolist(), 99.0]
            possible = [f1_at(scores, true, number, level) for level in levels]
            assert f1_at(scores, true, number, float(thresholds[number])) == pytest.approx(max(possible))


def f1_at(scores: Floats, true: Ints, number: int, threshold: float) -> float:
    given = (by_rank(scores) == number) & (scores[:, number] >= threshold)
    right = int((given & (true == number)).sum())
    return f1_of(right / max(1, int(given.sum())), right / max(1, int((true == number).sum())))


def test_qualities_are_those_of_the_book() -> None:
    true, given = np.array([0, 0, 0, 1, 1, 2]), np.array([0, 0, 1, 1, -1, 0])
    quality = quality_of(given, true, 3)
    assert quality.micro == pytest.approx(f1_of(3 / 5, 3 / 6))
    precision, recall = (2 / 3 + 1 / 2 + 0) / 3, (2 / 3 + 1 / 2 + 0) / 3
    assert quality.macro == pytest.approx(f1_of(precision, recall))
    nothing: Ints = np.full(6, -1)
    assert quality_of(nothing, true, 3) == (0.0, 0.0)
    assert all(f1_of(p, r) <= max(p, r) for p, r in product((0.0, 0.5, 1.0), repeat=2))
