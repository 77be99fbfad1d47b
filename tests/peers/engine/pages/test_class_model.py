from __future__ import annotations

from math import inf, nan
from random import Random

import msgspec
import numpy as np
import pytest
import zstandard

from peers.engine.pages.class_model import (
    CLASSES_MAX,
    COLUMNS_BYTES_MAX,
    ClassModel,
    ClassRow,
    TermWeights,
    is_class_name,
    model_bytes,
    model_in,
)

ROWS = (
    ClassRow("Science", -1, 0.5, -0.1, 0.2, 30, ("http://a.test/",)),
    ClassRow("sports", -1),
    ClassRow("physics", 0),
    ClassRow("物理学家", 2),
)
WEIGHTS = TermWeights(
    ("goal", "goalkeeper", "quark", "量子"),
    np.array([1, 20, 30, 255]),
    np.array([0, 1, 2, 4, 5]),
    np.array([1, 1, 0, 2, 3]),
    np.array([5, -127, 127, 3, -1]),
)


def test_a_model_is_read_as_it_was_written() -> None:
    body = model_bytes(ROWS, WEIGHTS)
    model = model_in(body)
    assert model.rows == ROWS
    assert model.weights.terms == WEIGHTS.terms
    assert all(map(np.array_equal, model.weights[1:], WEIGHTS[1:]))
    assert model_in(body) is model
    assert len(model.digest) == 16
    assert (
        model_in(model_bytes(ROWS[:2], WEIGHTS._replace(classes=np.array([1, 1, 0, 1, 0])))).digest
        != model.digest
    )


def test_classes_below_one_are_in_it() -> None:
    model = model_in(model_bytes(ROWS, WEIGHTS))
    assert model.is_in(["science"]).tolist() == [True, False, True, True, False]
    assert model.is_in(["physics", "sports"]).tolist() == [False, True, True, True, False]
    assert model.is_in(["*"]).tolist() == [True, True, True, True, False]
    assert model.is_in(["nothing"]).tolist() == [False] * 5
    assert model.rolled_up(np.array([1, 0, 2, 4])) == {"Science": 7, "physics": 6, "物理学家": 4}
    assert [list(model.children_of(number)) for number in (-1, 0, 1, 2)] == [[0, 1], [2], [], [3]]
    assert model.path_of(3) == (0, 2, 3)
    assert model.number_of("SCIENCE") == 0
    assert model.number_of("none") == -1


@pytest.mark.parametrize(
    "name", ["", "OR", "NOT", "two words", 'a"b', "a(b", "a|b", "a:b", "*", "x" * 41, "a\nb", "a\u3000b"]
)
def test_what_cannot_be_asked_for_is_no_name(name: str) -> None:
    assert not is_class_name(name)


@pytest.mark.parametrize(
    "rows",
    [
        (ClassRow("a b", -1),),
        (ClassRow("a", -1), ClassRow("A", -1)),
        (ClassRow("a", 0),),
        (ClassRow("a", -1), ClassRow("b", 0), ClassRow("c", 1), ClassRow("d", 2)),
        (ClassRow("a", -1), ClassRow("b", 0), ClassRow("c", -1)),
        (ClassRow("a", -1, inf),),
        (ClassRow("a", -1, 1.0, nan),),
        (ClassRow("a", -1, 1.0, 0.0, -inf),),
    ],
    ids=["name", "twice", "itself", "levels", "apart", "scale", "bias", "threshold"],
)
def test_rows_that_are_no_tree_are_refused(rows: tuple[ClassRow, ...]) -> None:
    weights = WEIGHTS._replace(classes=np.zeros(5, np.int64))
    with pytest.raises(ValueError, match=r"class|levels"):
        model_in(model_bytes(rows, weights))


def test_weights_that_are_none_are_refused() -> None:
    for wrong in (
        WEIGHTS._replace(terms=("goal", "goal", "quark", "量子")),
        WEIGHTS._replace(terms=("", "goal", "quark", "量子")),
        WEIGHTS._replace(terms=("quark", "goal", "r", "量子")),
        WEIGHTS._replace(idf=np.array([0, 20, 30, 255])),
        WEIGHTS._replace(classes=np.array([1, 1, 0, 2, 4])),
        WEIGHTS._replace(weights=np.array([5, -128, 127, 3, -1])),
        WEIGHTS._replace(starts=np.array([0, 1, 2, 4, 4])),
        WEIGHTS._replace(classes=np.array([1, 1, 2, 2, 3])),
        WEIGHTS._replace(classes=np.array([1, 1, 2, 0, 3])),
    ):
        with pytest.raises(ValueError, match=r"term|weight"):
            ClassModel(ROWS, wrong, b"")


def test_no_bytes_are_read_as_a_model_by_accident() -> None:
    """Cut, changed and padded bodies are refused by a ValueError, or are models that pass all checks."""
    body = model_bytes(ROWS, WEIGHTS)
    random = Random(7)
    n_refused = 0
    for _ in range(2_000):
        changed = bytearray(body)
        for _ in range(random.randrange(1, 4)):
            changed[random.randrange(len(changed))] = random.randrange(256)
        changed = changed[: random.randrange(len(changed))] if random.random() < 0.3 else changed
        try:
            model_in.__wrapped__(bytes(changed))
        except ValueError:
            n_refused += 1
    assert n_refused > 1_000


def test_a_bomb_is_refused_before_it_is_unpacked() -> None:
    bomb = zstandard.ZstdCompressor().compress(bytes(COLUMNS_BYTES_MAX + 1))
    n = len(WEIGHTS.terms)
    for columns in (bomb, b"", b"nothing", zstandard.ZstdCompressor(write_content_size=False).compress(b"x")):
        with pytest.raises(ValueError, match="columns of weights"):
            model_in(msgspec.msgpack.encode((1, ROWS, n, 5, columns)))
    for n_terms, n_rows in ((1 << 20, 4), (n, CLASSES_MAX + 1)):
        with pytest.raises(ValueError, match="Expected"):
            model_in(msgspec.msgpack.encode((1, [("a", -1)] * n_rows, n_terms, 5, b"")))
    with pytest.raises(ValueError, match="this version reads"):
        model_in(msgspec.msgpack.encode((2, ROWS, 0, 0, b"")))
