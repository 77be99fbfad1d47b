"""Weights that fit the judged collections best, found by coordinate ascent and checked by cross-validation.

What is maximised is the sum over the collections of the mean of their measure (MRR@10 where one page is
looked for, nDCG@10 elsewhere). First the weights of BM25F and of the kinds of entries, over all documents;
then, with these, the weights of the features, over the candidates. One coordinate after the other takes the
best of a few steps up and down, within bounds, until a round changes nothing: that needs no gradient of a
measure that has none, and looks at some hundreds of points. For the cross-validation the queries of each
collection are dealt into folds; weights fitted to all folds but one are judged on that one. What that cannot
tell is how a collection fares that nobody has judged: `left_out` fits to all collections but one.

All points are tried on matrices of the collection's postings (entries of our own inversion), which score all
queries at once.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence, Set
from typing import Final, NamedTuple, TypeAlias

import msgspec
import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csc_matrix

from peers.engine.files.storage import MemoryStorage
from peers.engine.index import Index
from peers.engine.native.kernels import BODY, DOCUMENT_SHIFT, FIELD_COUNT, FIELD_SHIFT, LENGTH_COUNT
from peers.engine.queries.query_parser import read_query
from peers.engine.rescoring.features import features_of
from peers.engine.rescoring.model import MODEL_DEPTH, Candidate, ModelWeights, scale_of, values_of
from peers.engine.searching.ranking import RankingWeights, idf_of
from peers.engine.segments.inversion import Inverter
from peers.engine.snapshot import View
from peers.evaluation.judged import Collection
from peers.kernel import Floats, Ints
from peers.text.runs import RunKind, kind_of
from peers.text.stemming import FORM_PREFIX

FOLDS: Final = 2
QUERIES_MAX: Final = 600  # of a collection, evenly taken: half a minute a round
ROUNDS_MAX: Final = 2
GAIN_MIN: Final = 1e-3  # of the objective, for a step to be taken; less fits queries, not collections
STEPS: Final = (0.5, 0.71, 1.41, 2.0)  # factors; where a weight is 0, the bounds' width by tenths
_LISTED: Final = 10
_DISCOUNT: Final = 1 / np.log2(np.arange(_LISTED) + 2)
_FIELDS: Final = ("title", "anchor", "heading", "body", "url", "boilerplate")
KINDS: Final = ("exact", "form", "word", "pair", "compound")

Point: TypeAlias = Mapping[str, float]

# Wide enough for what the literature uses, narrow enough to be sane on pages unlike the judged ones.
BOUNDS: Final[Mapping[str, tuple[float, float]]] = {
    "title": (1.0, 8.0),
    "anchor": (1.0, 6.0),
    "heading": (0.5, 4.0),
    "url": (0.2, 2.0),
    "b title": (0.2, 0.9),
    "b anchor": (0.2, 0.9),
    "b heading": (0.2, 0.9),
    "b body": (0.3, 0.9),
    "b url": (0.2, 0.9),
    "k1": (0.9, 5.0),
    "k1 half": (20.0, 200.0),
    "form": (0.2, 4.0),
    "pair": (0.2, 4.0),
    "compound": (0.2, 4.0),
}
FEATURES: Final = tuple(name for name in ModelWeights.__struct_fields__)
# Nothing here tells what these are worth: one host, no dates.
UNFITTED: Final = ("linking_hosts", "freshness", "newness", "depth")
FEATURE_BOUNDS: Final = {name: (0.0, 1.5) for name in FEATURES if name not in UNFITTED}


class Fitted(NamedTuple):
    """The weights that were fitted, and their figures."""

    point: Point
    figures: Mapping[str, float]  # of each collection, all queries
    trained: Mapping[str, float]  # means over the folds: on the queries that were fitted to,
    tested: Mapping[str, float]  # and on those that were not
    before: Mapping[str, float]  # with the weights there were


class LeftOut(NamedTuple):
    """How a collection fares."""

    name: str
    now: float  # with the weights there are
    others: float  # with weights that were fitted to the other collections
    own: float  # with weights that were fitted to all of them


class FitSample:
    """A collection as matrices, with the numbers needed to score all its queries at any point."""

    def __init__(self, collection: Collection) -> None:
        self.name = collection.name
        self._is_known_item = collection.is_known_item
        index = Index.open(MemoryStorage())
        index.add([(0, document) for document in collection.documents])
        index.commit()
        self._view: View = index.snapshot().everything()
        self._urls = [document.url for document in collection.documents]
        names = list(collection.queries)[:: -(-len(collection.queries) // QUERIES_MAX)]
        readings = [read_query(collection.queries[name]) for name in names]
        self._statistics = [self._view.statistics(reading.terms) for reading in readings]
        self._queries = [
            reading.with_native_forms(statistics.doc_freqs)
            for reading, statistics in zip(readings, self._statistics, strict=True)
        ]
        self._invert(collection, {entry for query in self._queries for entry in query.scoring})
        self._collect_entries()
        number_of = {url: number for number, url in enumerate(self._urls)}
        self._grades = np.zeros((len(names), max(_LISTED, len(self._urls))), np.int8)
        for row, name in enumerate(names):
            for url, grade in collection.judgements[name].items():
                self._grades[row, number_of[url]] = max(0, grade)
        ideal = -np.sort(-self._grades, axis=1)[:, :_LISTED]
        self._ideal = (ideal * _DISCOUNT).sum(axis=1)
        self.features: NDArray[np.float64] | None = None

    @property
    def query_count(self) -> int:
        return len(self._queries)

    def judged_by_bm25f(self, point: Point) -> Floats:
        """Return the measure of each query, ranked by BM25F alone."""
        tops, _ = self._ranked(point, _LISTED)
        return self.judged(tops)

    def take_candidates(self, point: Point, advance: Callable[[], None]) -> None:
        """Rank by BM25F at a point and read the features of the candidates, for `judged_by_model`."""
        tops, scores = self._ranked(point, MODEL_DEPTH)
        self._tops, self._scores = tops, scores
        self.features = np.zeros((len(tops), MODEL_DEPTH, len(FEATURES)))
        self._scales = np.zeros(len(tops))
        weight_of = {kind: point.get(kind, 1.0) for kind in KINDS}
        for number, (query, statistics) in enumerate(zip(self._queries, self._statistics, strict=True)):
            weights = tuple(
                weight * weight_of[kind_of_entry(entry)]
                for entry, weight in zip(query.scoring, query.weights, strict=True)
            )
            weighted = msgspec.structs.replace(query, weights=weights)
            urls = [self._urls[document] for document in tops[number] if document >= 0]
            told = features_of(self._view, weighted, statistics, urls)
            candidates = [Candidate(url, 0.0, each) for url, each in zip(urls, told, strict=True)]
            if candidates:
                self.features[number, : len(urls)] = values_of(candidates).T
            self._scales[number] = scale_of(weighted, statistics)
            advance()

    def judged_by_model(self, point: Point, further: Floats | None = None) -> Floats:
        """Return the measure of each query, the candidates ranked by the full model. Args: see `ranked`."""
        return self.judged(self.ranked(point, further))

    def ranked(self, point: Point, further: Floats | None = None) -> Ints:
        """Return the numbers of the candidates of each query, ranked by the full model; -1 where none is.

        Args:
          further: of each document, what a feature on trial adds for all queries, weight times value.
        """
        assert self.features is not None, "no candidates were taken"
        values = self.features @ np.array([point[name] for name in FEATURES])
        if further is not None:
            values += further[self._tops]
        mixed = self._scores + self._scales[:, None] * values
        order = np.argsort(-np.where(self._tops >= 0, mixed, -np.inf), axis=1, kind="stable")
        return np.take_along_axis(self._tops, order, 1)

    def _invert(self, collection: Collection, wanted: Set[str]) -> None:
        """Number the wanted entries, and keep the frequencies of each entry and document by field."""
        inverter = Inverter(len(collection.documents))
        for number, document in enumerate(collection.documents):
            inverter.add(number, document)
        occurrences = inverter.finish()
        is_wanted = np.array([entry in wanted for entry in occurrences.entries])
        kept = [entry for entry in occurrences.entries if entry in wanted]
        self._number_of = {entry: number for number, entry in enumerate(kept)}
        counts = np.diff(occurrences.starts)
        entries = np.repeat(np.arange(len(kept)), counts[is_wanted])
        keys = occurrences.keys[np.repeat(is_wanted, counts)]
        documents, fields = keys >> DOCUMENT_SHIFT, keys >> FIELD_SHIFT & 15
        cells = entries * len(collection.documents) + documents
        distinct, cell_of = np.unique(cells, return_inverse=True)
        self._frequencies = np.zeros((FIELD_COUNT, len(distinct)))
        np.add.at(self._frequencies, (fields, cell_of), 1.0)
        self._documents: Ints = distinct % len(collection.documents)
        columns = distinct // len(collection.documents)
        self._column_starts: Ints = np.searchsorted(columns, np.arange(len(kept) + 1))
        lengths = inverter.lengths.T.astype(np.float64)
        averages = lengths.sum(axis=1) / len(collection.documents)
        self._average_body = max(1.0, float(averages[BODY]))
        self._relative = lengths / np.where(averages > 0, averages, 1.0)[:, None]

    def _collect_entries(self) -> None:
        """Note the entries that score in each query: number, kind, and idf times the weight there is."""
        rows, kinds, values, columns = [], [], [], []
        for number, (query, statistics) in enumerate(zip(self._queries, self._statistics, strict=True)):
            idf = idf_of(query.scoring, statistics).tolist()
            for entry, weight, of_entry in zip(query.scoring, query.weights, idf, strict=True):
                if entry in self._number_of:
                    rows.append(self._number_of[entry])
                    kinds.append(KINDS.index(kind_of_entry(entry)))
                    values.append(of_entry * weight)
                    columns.append(number)
        self._rows, self._kinds = np.array(rows, np.int64), np.array(kinds, np.int64)
        self._factors, self._columns = np.array(values), np.array(columns, np.int64)

    def _ranked(self, point: Point, depth: int) -> tuple[Ints, Floats]:
        """Return the best documents of each query and their scores; -1 where there are no more."""
        tf = np.zeros(len(self._documents))
        for field, name in enumerate(_FIELDS):
            b = point.get(f"b {name}", 0.0)
            norm = 1 / np.maximum(1 - b + b * self._relative[field], 1e-9)
            tf += point.get(name, 1.0) * self._frequencies[field] * norm[self._documents]
        k1 = point["k1"] * self._average_body / (self._average_body + point["k1 half"])
        shape = len(self._urls), len(self._number_of)
        saturated = csc_matrix((tf * (k1 + 1) / (k1 + tf), self._documents, self._column_starts), shape)
        factors = self._factors * np.array([point.get(kind, 1.0) for kind in KINDS])[self._kinds]
        asked = csc_matrix((factors, (self._rows, self._columns)), (shape[1], len(self._queries)))
        return _best(saturated @ asked, depth)

    def judged(self, tops: Ints) -> Floats:
        """Return the measure of each query by numbers of documents, the best first, -1 for none."""
        tops = tops[:, :_LISTED]
        gains = np.take_along_axis(self._grades, np.maximum(tops, 0), 1) * (tops >= 0)
        if not self._is_known_item:
            return np.asarray((gains * _DISCOUNT).sum(axis=1) / np.maximum(self._ideal, 1e-9), np.float64)
        is_found = gains > 0
        return np.where(is_found.any(axis=1), 1.0 / (1 + is_found.argmax(axis=1)), 0.0)


def kind_of_entry(entry: str) -> str:
    """Return the kind of a scoring entry, of which all get one factor."""
    if entry.startswith(FORM_PREFIX):
        return "form"
    if entry[0] <= " ":
        return "pair" if entry[0] == "\x01" else "compound"
    if kind_of(entry) is RunKind.WORD:
        return "exact"
    return "word"


def fit(samples: Sequence[FitSample], advance: Callable[[str], None]) -> tuple[Fitted, Fitted]:
    """Fit the weights of BM25F and kinds, then those of the features.

    Args:
      advance: called with what is done next.
    """
    advance("BM25F")
    first = _fitted(samples, point_now(), BOUNDS, FitSample.judged_by_bm25f, advance)
    advance("candidates")
    for sample in samples:
        sample.take_candidates(first.point, lambda: None)
    second = _fitted(samples, features_now(), FEATURE_BOUNDS, FitSample.judged_by_model, advance)
    return first, second


def left_out(samples: Sequence[FitSample], advance: Callable[[str], None]) -> list[LeftOut]:
    """Judge each collection with all weights fitted to the others.

    Args:
      advance: called with what is done next.
    """
    now = _taken_at(samples, point_now(), features_now())
    own = _judged_when_fitted(samples, samples)
    found = []
    for number, sample in enumerate(samples):
        advance(f"without {sample.name}")
        others = [*samples[:number], *samples[number + 1 :]]
        [figure] = _judged_when_fitted(others, [sample]) if others else [own[number]]
        found.append(LeftOut(sample.name, now[number], figure, own[number]))
    return found


def _judged_when_fitted(samples: Sequence[FitSample], judged: Sequence[FitSample]) -> list[float]:
    """Fit BM25F and features to some samples; return the figures of others."""
    everything = [np.ones(sample.query_count, np.bool_) for sample in samples]
    point = _ascend(samples, everything, point_now(), BOUNDS, FitSample.judged_by_bm25f)
    for sample in samples:
        sample.take_candidates(point, lambda: None)
    features = _ascend(samples, everything, features_now(), FEATURE_BOUNDS, FitSample.judged_by_model)
    return _taken_at(judged, point, features)


def _taken_at(samples: Sequence[FitSample], point: Point, features: Point) -> list[float]:
    """Return the figures of the full model, with candidates at a point."""
    for sample in samples:
        sample.take_candidates(point, lambda: None)
    return [float(sample.judged_by_model(features).mean()) for sample in samples]


def point_now() -> dict[str, float]:
    """Return the weights that ranking has by default, those of the kinds relative to the analysis's."""
    weights = RankingWeights()
    point = dict(zip(_FIELDS, weights.weights, strict=True))
    point |= {f"b {name}": b for name, b in zip(_FIELDS[:LENGTH_COUNT], weights.b, strict=True)}
    return point | {"k1": weights.k1, "k1 half": weights.k1_half} | dict.fromkeys(KINDS, 1.0)


def features_now() -> dict[str, float]:
    """Return the weights that the model has by default."""
    return dict(zip(FEATURES, msgspec.structs.astuple(ModelWeights()), strict=True))


Judge: TypeAlias = Callable[[FitSample, Point], Floats]


def _fitted(
    samples: Sequence[FitSample],
    start: Point,
    bounds: Mapping[str, tuple[float, float]],
    judge: Judge,
    advance: Callable[[str], None],
) -> Fitted:
    everything = [np.ones(sample.query_count, np.bool_) for sample in samples]
    trained, tested = [], []
    for fold in range(FOLDS):
        advance(f"fold {fold + 1} of {FOLDS}")
        is_test = [np.arange(sample.query_count) % FOLDS == fold for sample in samples]
        is_train = [~each for each in is_test]
        point = _ascend(samples, is_train, start, bounds, judge)
        trained.append(_figures(samples, is_train, point, judge))
        tested.append(_figures(samples, is_test, point, judge))
    advance("all queries")
    point = _ascend(samples, everything, start, bounds, judge)
    before = _figures(samples, everything, start, judge)
    return Fitted(point, _figures(samples, everything, point, judge), _mean(trained), _mean(tested), before)


def _ascend(
    samples: Sequence[FitSample],
    chosen: Sequence[NDArray[np.bool_]],
    start: Point,
    bounds: Mapping[str, tuple[float, float]],
    judge: Judge,
) -> Point:
    best = dict(start)
    best_value = sum(_figures(samples, chosen, best, judge).values())
    for _ in range(ROUNDS_MAX):
        has_changed = False
        for name, (low, high) in bounds.items():
            for value in _steps(best[name], low, high):
                point = {**best, name: value}
                reached = sum(_figures(samples, chosen, point, judge).values())
                if reached > best_value + GAIN_MIN:
                    best, best_value, has_changed = point, reached, True
        if not has_changed:
            break
    return best


def _steps(value: float, low: float, high: float) -> list[float]:
    if low == 0:  # a feature: an even grid, since 0 is meant
        return [high * step / 15 for step in range(16)]
    steps = [round(min(high, max(low, value * step)), 3) for step in STEPS]
    return [step for step in dict.fromkeys(steps) if step != value]


def _figures(
    samples: Sequence[FitSample], chosen: Sequence[NDArray[np.bool_]], point: Point, judge: Judge
) -> dict[str, float]:
    return {
        sample.name: float(judge(sample, point)[of_sample].mean())
        for sample, of_sample in zip(samples, chosen, strict=True)
    }


def _mean(figures: Sequence[Mapping[str, float]]) -> dict[str, float]:
    return {name: sum(each[name] for each in figures) / len(figures) for name in figures[0]}


def _best(scores: csc_matrix, depth: int) -> tuple[Ints, Floats]:
    """Return the best rows of each column and their scores, -1 where there are no more."""
    shape = scores.shape[1], max(depth, scores.shape[0])
    dense = np.full(shape, -np.inf)
    matrix = scores.tocoo()
    dense[matrix.col, matrix.row] = matrix.data
    tops = np.argpartition(-dense, depth - 1, axis=1)[:, :depth]
    values = np.take_along_axis(dense, tops, 1)
    order = np.lexsort((tops, -values), axis=1)
    tops, values = np.take_along_axis(tops, order, 1), np.take_along_axis(values, order, 1)
    is_hit = values > -np.inf
    return np.where(is_hit, tops, -1), np.where(is_hit, values, 0.0)
