"""Kernels are those of these sources, go by the same numbers as Python, and check what they are given."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

import numpy as np
import pytest

from peers.build_kernels import sources_digest
from peers.crawler.parsing import _markup
from peers.engine import _kernels as of_engine
from peers.engine.native.compiled import strings_at
from peers.engine.native.kernels import find, scatter
from peers.engine.searching.found import select_best
from peers.engine.searching.intersection import locate
from peers.text import _kernels as of_text

ROOT = Path(__file__).parents[2]
ROOMS = ("peers/engine", "peers/text")


def test_kernels_are_those_of_these_sources() -> None:
    assert {of_engine.SOURCES, of_text.SOURCES, _markup.SOURCES} == {sources_digest(ROOT)}, (
        "run `make kernels`"
    )


def test_python_and_c_go_by_the_same_numbers() -> None:
    files = [path.relative_to(ROOT) for room in ROOMS for path in sorted((ROOT / room).rglob("*.py"))]
    modules = [import_module(".".join(file.with_suffix("").parts)) for file in files if file.stem[0] != "_"]
    in_c = vars(of_engine) | vars(of_text)
    constants = {name: n for name, n in in_c.items() if name.isupper() and isinstance(n, int)}
    assert len(constants) > 40
    for name, number in constants.items():
        said = {vars(module).get(name) for module in modules}
        assert said - {None} == {number}, name


def numbers(*values: int) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    return np.array(values, np.int64)


@pytest.mark.parametrize(
    "cursors",
    [
        np.zeros(2, np.int32),
        np.zeros(2, np.float64),
        np.zeros((2, 1), np.int64),
        np.zeros(4, np.int64)[::2],
        np.zeros(2, ">i8"),
        [0, 0],
        None,
    ],
    ids=["narrow", "floating", "two-dimensional", "strided", "swapped", "list", "nothing"],
)
def test_another_array_is_refused_before_it_is_touched(cursors: object) -> None:
    with pytest.raises(TypeError, match="scatter: no contiguous array"):
        scatter(numbers(0), numbers(1), cursors, numbers(0))  # type: ignore[arg-type]


def test_what_is_to_be_written_must_be_writable() -> None:
    grouped = numbers(0)
    grouped.flags.writeable = False
    with pytest.raises(TypeError, match="to be written to"):
        scatter(numbers(0), numbers(1), numbers(0), grouped)


def test_arguments_are_counted_and_tuples_are_tuples_of_their_length() -> None:
    with pytest.raises(TypeError, match="not 1 arguments"):
        find(numbers(0).view(np.uint8))  # type: ignore[call-arg]
    known = np.zeros((0, 6), np.int64)
    for postings in (numbers(0), (numbers(0).view(np.uint8),)):
        with pytest.raises(TypeError, match="tuple"):
            locate(postings, known, numbers(), known, numbers(0))  # type: ignore[arg-type]


def test_a_number_must_be_one() -> None:
    nothing = np.zeros(0)
    with pytest.raises(TypeError):
        select_best(numbers(), nothing, "high", 0, 1, 1)  # type: ignore[arg-type]
    with pytest.raises(OverflowError):
        select_best(numbers(), nothing, 0.0, 1 << 64, 1, 1)
    with pytest.raises(ValueError, match="no room for -1 numbers"):
        select_best(numbers(), nothing, 0.0, 0, 1, -1)


BLOB = np.frombuffer("aab天".encode(), np.uint8)
STARTS = numbers(0, 2, 3, 6)


def test_strings_are_copied_whether_they_are_text_or_bytes_few_or_many() -> None:
    some: tuple[list[str] | list[bytes] | tuple[str, ...], ...] = (
        ["b", "天", "a"],
        ("b", "天", "a"),
        [b"b", "天".encode(), b"a"],
    )
    for wanted in some:
        found = numbers(7, 7, 7)
        find(BLOB, STARTS, wanted, found)
        assert found.tolist() == [1, 2, -1]
    many = ["天"] * 5_000
    found = np.zeros(len(many), np.int64)
    find(BLOB, STARTS, many, found)
    assert found.tolist() == [2] * len(many)


@pytest.mark.parametrize("wanted", ["ab", {"a"}, [1], ["a", None], ["\ud800"]])
def test_what_holds_no_strings_is_refused(wanted: object) -> None:
    with pytest.raises((TypeError, UnicodeEncodeError)):
        find(BLOB, STARTS, wanted, numbers(7, 7, 7))  # type: ignore[arg-type]


def test_strings_are_read_at_indexes_that_there_are() -> None:
    assert strings_at(BLOB, STARTS, [2, 0, 1, 0]) == ["天", "aa", "b", "aa"]
    for index in (-1, 3, 1 << 40):
        with pytest.raises(IndexError):
            strings_at(BLOB, STARTS, [0, index])
    with pytest.raises(TypeError):
        strings_at(BLOB, STARTS, ["0"])  # type: ignore[list-item]
    with pytest.raises(UnicodeDecodeError):
        strings_at(BLOB, numbers(0, 4), [0])


def test_lists_are_as_long_as_the_kernel_says_up_to_their_room() -> None:
    values = np.array([3.0, 1.0, 2.0, 5.0])
    assert select_best(numbers(0, 1, 2), values, 9.0, 0, 2, 2) == ([0, 2], [3.0, 2.0])
    room = 4_000  # more than the stack has
    assert select_best(numbers(0, 1, 2), values, 9.0, 0, room, room) == ([0, 2, 1], [3.0, 2.0, 1.0])
