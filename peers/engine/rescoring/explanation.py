"""Where a score comes from: every part of it with its formula and the numbers in it.

`explain` works from the document as it is stored, analysed anew, and so shares no code with the kernels that
score; `explain_indexed` works from the postings of a segment, at a thirtieth of the cost. That all come to
the same number is tested. The gateway puts the parts of the full model on top, see `model.explain_mix`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

import msgspec
import numpy as np

from peers.engine.matching.occurrence_lookup import NO_UNIT, gather
from peers.engine.native.kernels import FIELD_COUNT, FIELD_SHIFT
from peers.engine.pages.document import Document
from peers.engine.queries.query import Query
from peers.engine.searching.ranking import (
    CollectionStatistics,
    RankingWeights,
    idf_of,
    in_scoring_order,
    k1_of,
    length_normalisation,
)
from peers.engine.segments.inversion import Inverter
from peers.engine.segments.segment import Segment
from peers.kernel import Ints

FIELD_NAMES: Final = ("title", "anchor", "heading", "body", "url", "boilerplate")

_FIELD_MASK: Final = 15
_DEFAULT_WEIGHTS: Final = RankingWeights()


class Explanation(msgspec.Struct, frozen=True, array_like=True):
    """A number and how it came about."""

    name: str  # of what it is: "score", "bm25f", a term, a feature
    value: float
    formula: str  # with the numbers put in
    parts: tuple[Explanation, ...] = ()  # what the formula is made of

    def lines(self, depth: int = 0) -> Iterator[str]:
        """Return the explanation as text, one part a line, indented below the part that it belongs to."""
        yield f"{'  ' * depth}{self.value:.6f} {printable(self.name)} = {self.formula}"
        for part in self.parts:
            yield from part.lines(depth + 1)


def printable(entry: str) -> str:
    """Return a dictionary entry with the name of its kind in the place of the prefix."""
    kind = {
        "\x01": "pair ",
        "\x02": "host ",
        "\x03": "stem ",
        "\x04": "language ",
        "\x05": "type ",
        "\x07": "site ",
        "\x08": "written ",
    }
    return kind[entry[0]] + entry[1:] if entry[:1] in kind else entry


def explain(
    document: Document,
    query: Query,
    statistics: CollectionStatistics,
    weights: RankingWeights = _DEFAULT_WEIGHTS,
) -> Explanation:
    """Explain the score that `View.search` gives a document, to the last bit.

    Args:
      document: as it is stored.
      statistics: those that the search was made with.
    """
    return _explain(*_counted(document, query.scoring), query, statistics, weights)


def explain_indexed(
    segment: Segment,
    documents: Ints,
    query: Query,
    statistics: CollectionStatistics,
    weights: RankingWeights = _DEFAULT_WEIGHTS,
) -> list[Explanation]:
    """Do as `explain` for some documents of a segment, ascending. DamagedSegmentError."""
    entries = query.scoring
    frequencies = np.zeros((len(entries), len(documents), FIELD_COUNT), np.int64)
    gather(segment, entries, np.full(len(entries), NO_UNIT), documents, 0, frequencies)
    by_document = frequencies.transpose(1, 0, 2).tolist()
    lengths = segment.lengths[documents].tolist()
    explanations = []
    for of_document, of_fields in zip(by_document, lengths, strict=True):
        found = zip(entries, of_document, strict=True)
        counted = {entry: of_entry for entry, of_entry in found if any(of_entry)}
        explanations.append(_explain(counted, of_fields, query, statistics, weights))
    return explanations


def _explain(
    frequencies: Mapping[str, Sequence[int]],
    lengths: Sequence[int],
    query: Query,
    statistics: CollectionStatistics,
    weights: RankingWeights,
) -> Explanation:
    weight_of = dict(zip(query.scoring, query.weights, strict=True))
    scoring = in_scoring_order(weight_of, statistics)
    idf = idf_of(scoring, statistics).tolist()
    base, slope = length_normalisation(statistics, weights)
    # A field without a term has no occurrence to weigh, and might have no length to divide by.
    norms = [
        weights.weights[field] / (float(base[field]) + float(slope[field]) * length) if length else 0.0
        for field, length in enumerate(lengths)
    ]
    k1 = k1_of(statistics, weights)
    parts = [
        _explain_entry(entry, weight_of[entry], of_entry, frequencies[entry], norms, k1, statistics)
        for entry, of_entry in zip(scoring, idf, strict=True)
        if entry in frequencies
    ]
    total = 0.0
    for part in parts:
        total += part.value
    return Explanation("bm25f", total, "sum over the terms, the rarest first", tuple(parts))


def _explain_entry(
    entry: str,
    weight: float,
    idf: float,
    frequencies: Sequence[int],
    norms: Sequence[float],
    k1: float,
    statistics: CollectionStatistics,
) -> Explanation:
    fields = []
    tf = 0.0
    for field, frequency in enumerate(frequencies):
        if frequency:
            value = frequency * norms[field]
            tf += value
            formula = f"frequency {frequency} * weight / (1 - b + b * length / average) {norms[field]:.6g}"
            fields.append(Explanation(FIELD_NAMES[field], value, formula))
    factor = idf * weight
    n, total = statistics.doc_freqs.get(entry, 0), statistics.document_count
    return Explanation(
        entry,
        factor * (tf * (k1 + 1.0) / (k1 + tf)),
        f"weight {weight:.6g} * idf {idf:.6f} * tf {tf:.6f} * (k1 + 1) / (k1 + tf), k1 = {k1:.6g}",
        (
            Explanation("idf", idf, f"log(1 + (N - n + 0.5) / (n + 0.5)), n = {n} of N = {total}"),
            Explanation("tf", tf, "sum over the fields", tuple(fields)),
        ),
    )


def _counted(document: Document, entries: Iterable[str]) -> tuple[dict[str, list[int]], list[int]]:
    """Return how often entries occur in each field, of those that do, and the lengths of the fields."""
    inverter = Inverter(1)
    inverter.add(0, document)
    occurrences = inverter.finish()
    wanted = frozenset(entries)
    counted = {}
    for number, entry in enumerate(occurrences.entries):
        if entry in wanted:
            keys = occurrences.keys[occurrences.starts[number] : occurrences.starts[number + 1]]
            fields = keys >> FIELD_SHIFT & _FIELD_MASK
            counted[entry] = np.bincount(fields, minlength=FIELD_COUNT).tolist()
    return counted, inverter.lengths[0].tolist()
