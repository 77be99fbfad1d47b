"""Fit the model of a tree of classes: for each class a plane against its siblings, thresholds by SCut.

Weights become whole numbers, the greatest of a class WEIGHT_MAX; then the smallest are left out until the
model fits a decree, terms without any go, and the others get theirs anew. Thresholds are made on samples that
were held out, with a model of the others; the model that is returned is fitted to all samples.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

import numpy as np

from mesh.counts import counted
from mesh.errors import ConfigError
from mesh.keys.decree import DECREE_BYTES_MAX
from peers.classes.cuts import by_rank, thresholds_of
from peers.classes.linear import fitted_plane
from peers.classes.samples import LabelledText, divided
from peers.classes.vectors import Vectors, Vocabulary, counts_of, vectors_of, vocabulary_of
from peers.engine.pages.class_model import (
    EXAMPLE_CHARS_MAX,
    EXAMPLES_MAX,
    NO_CLASS,
    TERMS_MAX,
    WEIGHT_MAX,
    ClassRow,
    TermWeights,
    model_bytes,
)
from peers.kernel import Floats, Ints

HELD_OUT_PARTS: Final = 5  # every fifth sample of a class is held out for the thresholds
SAMPLES_MIN: Final = 2  # of a class
ALWAYS: Final = -1e9  # a threshold below all scores


class _Weights(NamedTuple):
    """Of each class the terms with a weight that is not 0, and these; scale and bias of its scores."""

    terms: list[Ints]
    values: list[Ints]
    scales: Floats
    biases: Floats


class FittedModel(NamedTuple):
    """A model that was fitted, with the parts that its body has."""

    body: bytes  # of a decree
    rows: tuple[ClassRow, ...]
    vocabulary: Vocabulary
    weights: _Weights
    least: int  # weights below this were left out


def class_rows(samples: Sequence[LabelledText]) -> tuple[list[ClassRow], dict[tuple[str, ...], int]]:
    """Return the rows of all classes, and the number of each path; the children of one stand together.

    Raises:
      ConfigError: a class has too few samples, or two have one name.
    """
    sizes: dict[tuple[str, ...], int] = {}
    examples: dict[tuple[str, ...], list[str]] = {}
    for sample in samples:
        for depth in range(1, len(sample.path) + 1):
            path = sample.path[:depth]
            sizes[path] = sizes.get(path, 0) + 1
            known = examples.setdefault(path, [])
            if 0 < len(sample.url) <= EXAMPLE_CHARS_MAX and len(known) < EXAMPLES_MAX:
                known.append(sample.url)
    few = sorted("/".join(path) for path, size in sizes.items() if size < SAMPLES_MIN)
    if few:
        raise ConfigError(f"too few samples of {', '.join(few[:5])}: give {SAMPLES_MIN} or more, better 15")
    numbers: dict[tuple[str, ...], int] = {}
    level: list[tuple[str, ...]] = [()]
    while level:
        level = [path for above in level for path in sorted(sizes) if path[:-1] == above]
        for path in level:
            numbers[path] = len(numbers)
    names = [path[-1].casefold() for path in numbers]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise ConfigError(
            f"two classes are called {twice[0]}: name them apart, `class:` asks by the name alone"
        )
    rows = [
        ClassRow(
            path[-1],
            numbers.get(path[:-1], NO_CLASS),
            n_samples=sizes[path],
            examples=tuple(examples.get(path, ())),
        )
        for path in numbers
    ]
    return rows, numbers


def fitted_model(samples: Sequence[LabelledText], bytes_max: int = DECREE_BYTES_MAX) -> FittedModel:
    """Fit a model to samples, whose body has so many bytes at most.

    Raises:
      ConfigError: there are too few samples of a class, or the model does not fit.
    """
    kept, held_out = divided(samples, HELD_OUT_PARTS)
    thresholds = None
    if held_out:
        rows, numbers = class_rows(samples)
        trial = _fitted(kept, rows, numbers, bytes_max)
        thresholds = _thresholds(trial, held_out, numbers)
    rows, numbers = class_rows(samples)
    if thresholds is not None:
        rows = [
            ClassRow(row.name, row.parent, row.scale, row.bias, threshold, row.n_samples, row.examples)
            for row, threshold in zip(rows, thresholds.tolist(), strict=True)
        ]
    return _fitted(samples, rows, numbers, bytes_max)


def _fitted(
    samples: Sequence[LabelledText], rows: list[ClassRow], numbers: dict[tuple[str, ...], int], bytes_max: int
) -> FittedModel:
    counted = [counts_of(sample.text) for sample in samples]
    paths = [sample.path for sample in samples]

    def fitted(vocabulary: Vocabulary) -> FittedModel:
        weights = _weights(vectors_of(counted, vocabulary), paths, rows, numbers)
        return _as_fits(weights, vocabulary, rows, bytes_max)

    model = fitted(vocabulary_of(counted))
    # Without the terms that are left out vectors are others.
    return model if model.least == 1 else fitted(model.vocabulary)


def _as_fits(
    weights: _Weights, vocabulary: Vocabulary, rows: Sequence[ClassRow], bytes_max: int
) -> FittedModel:
    """Leave out as many of the smallest weights as it takes. ConfigError when nothing fits."""
    read = [
        ClassRow(row.name, row.parent, scale, bias, row.threshold, row.n_samples, row.examples)
        for row, scale, bias in zip(rows, weights.scales.tolist(), weights.biases.tolist(), strict=True)
    ]
    fitting: FittedModel | None = None
    low, high = 1, WEIGHT_MAX + 1
    least = low
    while low < high:  # the least that fits: the first try is with all weights
        tried = _without_small(read, vocabulary, weights, least)
        if len(tried.vocabulary.numbers) <= TERMS_MAX and len(tried.body) <= bytes_max:
            fitting, high = tried, least
        else:
            low = least + 1
        least = (low + high) // 2
    if fitting is None:
        raise ConfigError(
            f"more than {bytes_max:,} bytes for {counted(len(rows), 'class')}: merge some of them"
        )
    return fitting


def _without_small(
    rows: Sequence[ClassRow], vocabulary: Vocabulary, weights: _Weights, least: int
) -> FittedModel:
    """Leave out the weights that are smaller, and terms that have none then."""
    cut = _cut(weights, least)
    is_used = np.zeros(len(vocabulary.idf), np.bool_)
    for terms in cut.terms:
        is_used[terms] = True
    places = np.cumsum(is_used) - 1
    cut = cut._replace(terms=[places[terms] for terms in cut.terms])
    small = vocabulary.only(is_used)
    body = model_bytes(rows, _columns(small, cut)) if len(small.numbers) <= TERMS_MAX else b""
    return FittedModel(body, tuple(rows), small, cut, least)


def _weights(
    vectors: Vectors,
    paths: Sequence[tuple[str, ...]],
    rows: Sequence[ClassRow],
    numbers: dict[tuple[str, ...], int],
) -> _Weights:
    """Fit each class against its siblings, and samples that stay above them."""
    terms: list[Ints] = []
    values: list[Ints] = []
    scales, biases = np.ones(len(rows)), np.zeros(len(rows))
    for path, number in numbers.items():
        depth = len(path)
        among = np.flatnonzero([each[: depth - 1] == path[:-1] for each in paths])
        is_in = np.array([paths[index][:depth] == path for index in among.tolist()])
        plane = fitted_plane(vectors.chosen(among), is_in)
        greatest = float(np.abs(plane.weights).max(initial=0.0))
        scales[number] = greatest / WEIGHT_MAX or 1.0
        whole = np.rint(plane.weights / scales[number]).astype(np.int64)
        terms.append(np.flatnonzero(whole))
        values.append(whole[terms[-1]])
        biases[number] = plane.bias
    return _Weights(terms, values, scales, biases)


def _cut(weights: _Weights, least: int) -> _Weights:
    """Leave out the weights that are smaller."""
    kept = [np.abs(values) >= least for values in weights.values]
    return weights._replace(
        terms=[terms[is_kept] for terms, is_kept in zip(weights.terms, kept, strict=True)],
        values=[values[is_kept] for values, is_kept in zip(weights.values, kept, strict=True)],
    )


def _columns(vocabulary: Vocabulary, weights: _Weights) -> TermWeights:
    """Return the weights term by term."""
    sizes = [len(terms) for terms in weights.terms]
    terms, values = np.concatenate(weights.terms), np.concatenate(weights.values)
    classes = np.repeat(np.arange(len(sizes)), sizes)
    order = np.argsort(terms, kind="stable")
    starts = np.concatenate(([0], np.cumsum(np.bincount(terms, minlength=len(vocabulary.idf)))))
    return TermWeights(vocabulary.terms, vocabulary.idf, starts, classes[order], values[order])


def scores_of(model: FittedModel, vectors: Vectors) -> Floats:
    """Return the score of each class for each text, shape (texts, classes), as peers compute it.

    A text with no term of the model has -inf.
    """
    scores = np.full((len(vectors), len(model.rows)), -np.inf)
    is_told = vectors.norms > 0
    for number, row in enumerate(model.rows):
        weights = np.zeros(vectors.n_terms)
        weights[model.weights.terms[number]] = model.weights.values[number]
        sums = np.bincount(vectors.rows, vectors.units * weights[vectors.terms], len(vectors))
        scores[is_told, number] = row.scale * sums[is_told] / vectors.norms[is_told] + row.bias
    return scores


def given_classes(model: FittedModel, texts: Sequence[str], *, is_abstaining: bool = True) -> Ints:
    """Return the class of each text, a row of the model, -1 for none: `class_model`, from the top down.

    Args:
      is_abstaining: False leaves thresholds out, so that a text goes down as far as it can (RCut).
    """
    vectors = vectors_of(map(counts_of, texts), model.vocabulary)
    scores = scores_of(model, vectors)
    thresholds = np.array([row.threshold if is_abstaining else ALWAYS for row in model.rows])
    given = np.full(len(texts), NO_CLASS, np.int64)
    for parent, children in _families(model.rows):
        here = np.flatnonzero(given == parent)
        among = scores[np.ix_(here, children)]
        best = by_rank(among)
        is_taken = (best >= 0) & (among[np.arange(len(here)), best] >= thresholds[children][best])
        given[here[is_taken]] = children[best[is_taken]]
    return given


def _thresholds(
    model: FittedModel, samples: Sequence[LabelledText], numbers: dict[tuple[str, ...], int]
) -> Floats:
    vectors = vectors_of((counts_of(sample.text) for sample in samples), model.vocabulary)
    scores = scores_of(model, vectors)
    thresholds = np.zeros(len(model.rows))
    for parent, children in _families(model.rows):
        path = next((path for path, number in numbers.items() if number == parent), ())
        here = np.flatnonzero([sample.path[: len(path)] == path for sample in samples])
        place = {number: place for place, number in enumerate(children.tolist())}
        true = np.array(
            [place.get(numbers.get(samples[i].path[: len(path) + 1], NO_CLASS), -1) for i in here.tolist()]
        )
        thresholds[children] = thresholds_of(scores[np.ix_(here, children)], true)
    return thresholds


def _families(rows: Sequence[ClassRow]) -> list[tuple[int, Ints]]:
    """Return each class that has any below it, and these, from the top on."""
    parents = np.array([row.parent for row in rows])
    return [(int(parent), np.flatnonzero(parents == parent)) for parent in np.unique(parents)]
