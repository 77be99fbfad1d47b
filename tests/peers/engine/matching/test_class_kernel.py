"""The kernel `find_classes` beside a plain reference, over any models and over damaged postings."""

from __future__ import annotations

from functools import cache
from random import Random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from peers.engine.files.errors import DamagedSegmentError
from peers.engine.files.storage import MemoryStorage
from peers.engine.index import Index
from peers.engine.matching import page_classes
from peers.engine.matching.page_classes import classes_of
from peers.engine.pages.class_model import (
    CLASSES_MAX,
    GAINS,
    IDF_MAX,
    LEVELS_MAX,
    WEIGHT_MAX,
    ClassModel,
    ClassRow,
    TermWeights,
    model_bytes,
    model_in,
)
from peers.engine.pages.document import Document
from peers.engine.segments.segment import Segment
from peers.kernel import Ints

WORDS = [f"w{n:02d}" for n in range(24)]
UNKNOWN = ["aa", "v99", "x0", "量子"]
SIZES = (1, 127, 129, 700)  # of segments: less and more than a block of 128 postings
NUMBERS = (0.0, 1.0, -1.0, 1e-308, -1e-308, 1e308, -1e308, 0.25, -3.5)


@cache
def texts(n: int) -> list[tuple[str, str]]:
    """Title and text of some pages: all words, few, none, and one of them 1,000 times."""
    random, made = Random(n), []
    for number in range(n):
        chosen = random.sample(WORDS, random.choice((0, 1, 5, len(WORDS))))
        text = [*chosen, *random.choices(chosen, k=9)] if chosen else []
        text += ["w00"] * 1_000 if number % 50 == 0 else []
        made.append((" ".join(chosen[:2]), " ".join(text)))
    return made


@cache
def segment_of(n: int) -> Segment:
    index = Index.open(MemoryStorage())
    pages = [(0, Document(f"http://a.test/{k:04d}", title=t, text=b)) for k, (t, b) in enumerate(texts(n))]
    index.add(pages)
    index.commit()
    [live] = index.snapshot().segments
    return live.segment


@cache
def frequencies(n: int) -> dict[str, Ints]:
    """How often each word is in title and text, by the order of the documents of the segment."""
    segment = segment_of(n)
    order = [int(segment.url(document)[-4:]) for document in range(n)]
    words = [f"{title} {text}".split() for title, text in texts(n)]
    return {word: np.array([words[page].count(word) for page in order]) for word in WORDS}


def reference(n: int, model: ClassModel) -> list[int]:
    """The classes by the formula at the top of `class_model`, in whole matrices and Python's integers."""
    weights, n_classes = model.weights, len(model.rows)
    sums, squares = np.zeros((n, n_classes), object), np.zeros(n, object)
    for place, term in enumerate(weights.terms):
        often = frequencies(n).get(term, np.zeros(n, np.int64))
        u = (GAINS[np.minimum(often, len(GAINS) - 1)] * weights.idf[place]).astype(object)
        squares += u * u
        for at in range(weights.starts[place], weights.starts[place + 1]):
            sums[:, weights.classes[at]] += int(weights.weights[at]) * u
    found = []
    for document in range(n):
        above = taken = -1
        while squares[document]:
            children = [number for number, row in enumerate(model.rows) if row.parent == above]
            scores = [
                np.float64(model.rows[c].scale) * float(sums[document, c]) / np.sqrt(float(squares[document]))
                + model.rows[c].bias
                for c in children
            ]
            best = max(range(len(children)), key=scores.__getitem__, default=-1)
            if best < 0 or scores[best] < model.rows[children[best]].threshold:
                break
            above = taken = children[best]
        found.append(taken)
    return found


@st.composite
def models(draw: st.DrawFn) -> ClassModel:
    """Any model that passes the checks, in bytes and back."""
    levels, parents = [0], [-1]
    for number in range(1, draw(st.integers(1, 12))):
        above = [p for p in range(parents[-1], number) if p < 0 or levels[p] + 1 < LEVELS_MAX]
        parents.append(draw(st.sampled_from(above)) if above else -1)
        levels.append(levels[parents[-1]] + 1 if parents[-1] >= 0 else 0)
    parents.sort()
    any_number = st.sampled_from(NUMBERS)
    rows = [
        ClassRow(f"c{n}", parent, draw(any_number), draw(any_number), draw(any_number))
        for n, parent in enumerate(parents)
    ]
    terms = sorted(draw(st.sets(st.sampled_from(WORDS + UNKNOWN))))
    of_terms = [sorted(draw(st.sets(st.integers(0, len(rows) - 1)))) for _ in terms]
    classes = [each for of_term in of_terms for each in of_term]
    weight, idf = st.integers(-WEIGHT_MAX, WEIGHT_MAX), st.integers(1, IDF_MAX)
    weights = TermWeights(
        tuple(terms),
        ints([draw(idf) for _ in terms]),
        np.cumsum([0, *map(len, of_terms)]),
        ints(classes),
        ints([draw(weight) for _ in classes]),
    )
    return model_in(model_bytes(rows, weights))


def ints(values: list[int]) -> Ints:
    return np.array(values, np.int64)


@settings(max_examples=60, deadline=None)
@given(models(), st.sampled_from(SIZES), st.sampled_from((1, 64, 1 << 20)))
def test_the_kernel_finds_the_classes_that_the_formula_does(model: ClassModel, n: int, at_once: int) -> None:
    with np.errstate(over="ignore"):
        expected = reference(n, model)
    assert page_classes._find(segment_of(n), model, at_once).tolist() == expected


def full_model(n_classes: int = CLASSES_MAX) -> ClassModel:
    """As many weights as a model may have, and as great."""
    rows = [ClassRow(f"c{n}", -1, 1.0, 0.0, -1e308) for n in range(n_classes)]
    n_terms, classes = len(WORDS), np.tile(np.arange(n_classes), len(WORDS))
    starts, most = np.arange(n_terms + 1) * n_classes, np.full(n_terms, IDF_MAX)
    weights = TermWeights(tuple(WORDS), most, starts, classes, np.full(len(classes), -WEIGHT_MAX))
    return model_in(model_bytes(rows, weights))


def test_the_greatest_sums_are_exact_in_a_class_of_many() -> None:
    model = full_model()
    found = classes_of(segment_of(129), model)
    has_words = sum(frequencies(129).values()) > 0
    assert set(found[has_words].tolist()) == {0}, "the first of equal ones"
    assert set(found[~has_words].tolist()) == {-1}


def test_damaged_postings_are_told_or_change_no_class() -> None:
    storage = MemoryStorage()
    index = Index.open(storage)
    index.add([(0, Document(f"http://a.test/{n}", title=t, text=b)) for n, (t, b) in enumerate(texts(700))])
    index.commit()
    [live] = index.snapshot().segments
    model = full_model(7)
    whole: NDArray[np.int16] = classes_of(live.segment, model)
    place, random, n_told = live.segment.place_of("postings"), Random(3), 0
    for _ in range(120):
        content = bytearray(storage.files[live.segment.name])
        for _ in range(random.choice((1, 3, 40))):
            content[random.randrange(place[0], place[-1] + 1)] = random.randrange(256)
        damaged = MemoryStorage()
        damaged.files = {**storage.files, live.segment.name: bytes(content)}
        [other] = Index.open(damaged).snapshot().segments
        try:
            assert np.array_equal(classes_of(other.segment, model), whole)
        except DamagedSegmentError:
            n_told += 1
            with pytest.raises(DamagedSegmentError):  # nor is half of a result kept
                classes_of(other.segment, model)
    assert n_told > 60
