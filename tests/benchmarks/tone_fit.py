"""Fit the words by which `peers.entities.tone` tells good from bad, and judge them on kinds left out.

    python -m tests.benchmarks.tone_fit REVIEWS --judge NAME=FILE [--without CLASS] [--rules] [--write FILE]

REVIEWS is a CSV file with a head, whose last columns are the label (1 good, 0 bad) and the text, and whose
first is the kind where there are three. A logistic model with a Gaussian prior, both labels of one weight and
without an intercept, so that a text with none of its words says nothing; then the WORDS strongest by
|w| sqrt(documents) are fitted anew. With --rules words behind a negation or a degree are counted as a lexicon
counts them, which is the rival.
"""

from __future__ import annotations

import argparse
import csv
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.sparse import csr_matrix

from peers.entities.tone import NEUTRAL, ToneModel, sum_of, weighed, words_in
from peers.text.folding import fold

WORDS: Final = 2_000
DOCUMENTS_MIN: Final = 20
KINDS_MIN: Final = 4  # of goods of which a word is said; names of goods, and of their makers, are of fewer
C: Final = 0.3
FACTOR_MAX: Final = 2.0

Vector: TypeAlias = NDArray[np.float64]
Counts: TypeAlias = Mapping[str, float]


class Review(NamedTuple):
    """A text that its writer marked."""

    kind: str  # of what it is about, "" for one that is not told
    is_good: bool
    text: str  # folded


def read(path: Path, without: str = "") -> list[Review]:
    with path.open(encoding="utf-8-sig", newline="") as file:
        rows = list(csv.reader(file))[1:]
    kept = (row for row in rows if row[-1].strip() and (len(row) < 3 or row[0] != without))
    return [Review(row[0] if len(row) > 2 else "", row[-2] == "1", fold(row[-1])) for row in kept]


def counts_of(text: str, *, has_rules: bool) -> Counts:
    """Return how each word counts."""
    if not has_rules:
        return dict.fromkeys((word for word in words_in(text) if word), 1.0)
    counts: Counter[str] = Counter()
    for word, factor in weighed(text):
        counts[word] += factor  # type: ignore[assignment]  # a Counter adds floats, too
    return {word: max(-FACTOR_MAX, min(FACTOR_MAX, count)) for word, count in counts.items()}


def fit(counts: list[Counts], signs: Vector, words: list[str]) -> Vector:
    """Return the weights of some words."""
    place = {word: number for number, word in enumerate(words)}
    entries = [[(place[word], count) for word, count in each.items() if word in place] for each in counts]
    starts = np.cumsum([0, *map(len, entries)])
    columns = [column for each in entries for column, _ in each]
    values = [value for each in entries for _, value in each]
    matrix: Any = csr_matrix((values, columns, starts), shape=(len(counts), len(words)), dtype=float)
    share = np.where(signs > 0, 0.5 / np.mean(signs > 0), 0.5 / np.mean(signs < 0)) / len(signs)

    def loss(weights: Vector) -> tuple[float, Vector]:
        margins = signs * (matrix @ weights)
        wrong = 1.0 / (1.0 + np.exp(np.clip(margins, -500.0, 500.0)))
        slope = matrix.T @ (-signs * wrong * share) + weights / (C * len(signs))
        total = np.sum(np.logaddexp(0.0, -margins) * share) + weights @ weights / (2 * C * len(signs))
        return float(total), slope

    found = minimize(loss, np.zeros(len(words)), jac=True, method="L-BFGS-B", options={"maxiter": 200})
    return np.asarray(found.x)


def fitted(reviews: list[Review], *, has_rules: bool) -> dict[str, float]:
    counts = [counts_of(review.text, has_rules=has_rules) for review in reviews]
    signs = np.array([1.0 if review.is_good else -1.0 for review in reviews])
    documents = Counter(word for each in counts for word in each)
    pairs = {(review.kind, word) for review, each in zip(reviews, counts, strict=True) for word in each}
    kinds = Counter(word for _, word in pairs)
    wanted = min(KINDS_MIN, len({review.kind for review in reviews}))
    words = [word for word, n in documents.items() if n >= DOCUMENTS_MIN and kinds[word] >= wanted]
    strength = np.abs(fit(counts, signs, words)) * np.sqrt([documents[word] for word in words])
    strongest = [words[number] for number in np.argsort(-strength)[:WORDS]]
    weights = fit(counts, signs, strongest).round(2)
    return {word: weight for word, weight in zip(strongest, weights.tolist(), strict=True) if weight}


def judged(reviews: list[Review], model: ToneModel) -> str:
    sums = np.array([sum_of(review.text, model) for review in reviews])
    is_good = np.array([review.is_good for review in reviews])
    is_right = (sums > 0) == is_good
    said = np.abs(sums) >= NEUTRAL
    balanced = (np.mean(is_right[is_good]) + np.mean(is_right[~is_good])) / 2
    return (
        f"{len(reviews):,} texts: right {np.mean(is_right):.3f}, balanced {balanced:.3f}; "
        f"{np.mean(said):.3f} say one or the other, right {np.mean(is_right[said]):.3f} of these"
    )


def lines_of(weights: Mapping[str, float]) -> Iterator[str]:
    for word, weight in sorted(weights.items(), key=lambda each: (-each[1], each[0])):
        yield f"{word}\t{weight:g}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("reviews", type=Path)
    parser.add_argument("--judge", action="append", default=[], metavar="NAME=FILE")
    parser.add_argument("--without", default="", metavar="CLASS")
    parser.add_argument("--rules", action="store_true")
    parser.add_argument("--write", type=Path, metavar="FILE")
    given = parser.parse_args()
    weights = fitted(read(given.reviews, given.without), has_rules=given.rules)
    model = ToneModel(weights, is_lexicon=given.rules)
    print(f"{len(weights):,} words")
    for name, _, file in (each.partition("=") for each in given.judge):
        print(f"{name}: {judged(read(Path(file)), model)}")
    if given.write is not None:
        given.write.write_text("".join(f"{line}\n" for line in lines_of(weights)), encoding="utf-8")


if __name__ == "__main__":
    main()
