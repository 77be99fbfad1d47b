"""The tables of Li, Yan, Wang 2004, chapter 11, for any samples: methods, features, cuts and levels."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Final, NamedTuple

import numpy as np

from peers.classes.bayes import bayes_scores
from peers.classes.cuts import by_proportion, by_rank, by_score, thresholds_of
from peers.classes.linear import fitted_plane
from peers.classes.measures import Quality, quality_of
from peers.classes.model_fit import HELD_OUT_PARTS, fitted_model, given_classes
from peers.classes.neighbours import K, neighbour_scores
from peers.classes.prototypes import BETA, prototype_scores
from peers.classes.samples import LabelledText, divided
from peers.classes.selection import SELECTIONS, best_terms
from peers.classes.vectors import Vectors, counts_of, vectors_of, vocabulary_of
from peers.kernel import Floats, Ints

SHARES: Final = (0.15, 0.2, 0.25, 0.5)  # of the terms that are kept; the first three are the book's
FEATURES_OF: Final = "kNN, cosine"  # the method for which features are chosen

# Scores of each class for each text: of samples, their classes, how many there are, texts.
Method = Callable[[Vectors, Ints, int, Vectors], Floats]


class ReportRow(NamedTuple):
    """A row of a table."""

    table: str
    name: str
    micro: float
    macro: float


def _linear(samples: Vectors, classes: Ints, n_classes: int, texts: Vectors) -> Floats:
    planes = (fitted_plane(samples, classes == number) for number in range(n_classes))
    return np.stack([plane.scores(texts) for plane in planes], axis=1)


METHODS: Final[dict[str, Method]] = {
    FEATURES_OF: neighbour_scores,
    "kNN, Euclid": lambda *given: neighbour_scores(*given, by_cosine=False),
    "naive Bayes as printed": lambda *given: bayes_scores(*given, is_smoothed=False),
    "naive Bayes, smoothed": lambda *given: bayes_scores(*given, is_smoothed=True),
    "centroid": prototype_scores,
    "Rocchio": partial(prototype_scores, beta=BETA),
    "linear": _linear,
}


class Comparison:
    """Samples to learn by and samples to judge by, in numbers."""

    def __init__(self, samples: Sequence[LabelledText], judged: Sequence[LabelledText]) -> None:
        """Args: judged: of no other classes than the samples; those that are count as not found."""
        self.samples = samples
        self.judged = judged
        self.names = sorted({sample.path for sample in samples})
        number = {path: n for n, path in enumerate(self.names)}
        counted = [counts_of(sample.text) for sample in samples]
        vocabulary = vocabulary_of(counted)
        self.vectors = vectors_of(counted, vocabulary)
        self.texts = vectors_of((counts_of(sample.text) for sample in judged), vocabulary)
        self.classes = np.array([number[sample.path] for sample in samples], np.int64)
        self.true = np.array([number.get(sample.path, -1) for sample in judged], np.int64)

    def rows(self) -> Iterator[ReportRow]:
        """Yield the rows of all tables, as they are worked out."""
        yield from self._of_methods()
        yield from self._of_features()
        yield from self._of_cuts()
        yield from self._of_levels()

    def _judge(self, table: str, name: str, given: Ints) -> ReportRow:
        quality = quality_of(given, self.true, len(self.names))
        return ReportRow(table, name, *quality)

    def _scores(self, method: str) -> Floats:
        return METHODS[method](self.vectors, self.classes, len(self.names), self.texts)

    def _of_methods(self) -> Iterator[ReportRow]:
        for name in METHODS:
            yield self._judge("methods", name, by_rank(self._scores(name)))

    def _of_features(self) -> Iterator[ReportRow]:
        for name in SELECTIONS:
            for share in SHARES:
                kept = best_terms(name, self.vectors, self.classes, len(self.names), share)
                samples, texts = (each.without(kept[each.terms]) for each in (self.vectors, self.texts))
                scores = METHODS[FEATURES_OF](samples, self.classes, len(self.names), texts)
                yield self._judge(f"features, {FEATURES_OF}", f"{name} {share:.0%}", by_rank(scores))

    def _of_cuts(self) -> Iterator[ReportRow]:
        is_kept = np.ones(len(self.samples), np.bool_)
        for number in range(len(self.names)):
            is_kept[np.flatnonzero(self.classes == number)[HELD_OUT_PARTS - 1 :: HELD_OUT_PARTS]] = False
        kept, held_out = np.flatnonzero(is_kept), np.flatnonzero(~is_kept)
        shares = np.bincount(self.classes, minlength=len(self.names)) / len(self.samples)
        for method in (FEATURES_OF, "linear"):
            scores, n = self._scores(method), len(self.names)
            yield self._judge(f"cuts, {method}", "RCut", by_rank(scores))
            yield self._judge(f"cuts, {method}", "PCut", by_proportion(scores, shares))
            trial = METHODS[method](
                self.vectors.chosen(kept), self.classes[kept], n, self.vectors.chosen(held_out)
            )
            thresholds = thresholds_of(trial, self.classes[held_out])
            yield self._judge(f"cuts, {method}", "SCut", by_score(scores, thresholds))

    def _of_levels(self) -> Iterator[ReportRow]:
        model = fitted_model(self.samples)
        rows = model.rows
        paths: list[tuple[str, ...]] = []
        for row in rows:
            paths.append((*(paths[row.parent] if row.parent >= 0 else ()), row.name))
        texts = [sample.text for sample in self.judged]
        for name, is_abstaining in (("RCut", False), ("SCut", True)):
            given = given_classes(model, texts, is_abstaining=is_abstaining)
            yield self._judge("the model of a decree", name, self._numbered(paths, given))
            for level in range(1, max(map(len, paths))):
                yield ReportRow(
                    "the model of a decree", f"{name}, level {level}", *self._at_level(paths, given, level)
                )

    def _numbered(self, paths: Sequence[tuple[str, ...]], given: Ints) -> Ints:
        number = {path: n for n, path in enumerate(self.names)}
        return np.array([number.get(paths[each], -1) if each >= 0 else -1 for each in given.tolist()])

    def _at_level(self, paths: Sequence[tuple[str, ...]], given: Ints, level: int) -> Quality:
        number = {path: n for n, path in enumerate(sorted({path[:level] for path in paths}))}
        true = [number.get(sample.path[:level], -1) for sample in self.judged]
        told = [number[paths[each][:level]] if each >= 0 else -1 for each in given.tolist()]
        return quality_of(np.array(told), np.array(true), len(number))


def comparison_of(
    samples: Sequence[LabelledText], judged: Sequence[LabelledText] | None = None
) -> Comparison:
    """Compare methods on samples, judged by others or by every fifth of these."""
    if judged is None:
        samples, judged = divided(samples, HELD_OUT_PARTS)
    return Comparison(samples, judged)


def k_told() -> str:
    """Tell the numbers that are the same for all rows."""
    return f"k {K}, Rocchio's beta {BETA}"
