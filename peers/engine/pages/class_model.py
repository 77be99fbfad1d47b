"""The classes of a mesh's pages, up to three levels, and the linear model by which a page is given one.

A page is looked at from the top: of the classes of a level the one with the highest score takes it, if that
is its threshold or more; then those below it are asked. Where none takes it, it stays where it is, at the
top without a class.

    score(c, d) = scale_c * (sum over terms t of weight_ct * u_td) / sqrt(sum over t of u_td^2) + bias_c
    u_td        = GAINS[frequency of t in the title and the main text of d] * idf_t

Weights, gains and idf are small whole numbers: the sums are exact, and what follows from them are a root,
two products and a sum in doubles, which every processor rounds alike. So a page has the same class on every
peer, and none is stored. Terms are entries of the dictionary: words, and pairs of Chinese characters.

A model travels as the body of a decree, within its limit: rows of classes, and a zstd frame of the columns
of terms and weights. It comes from an administrator, and is checked all the same.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import cached_property, lru_cache
from hashlib import blake2b
from itertools import pairwise
from math import isfinite, log
from typing import Annotated, Final, NamedTuple

import msgspec
import numpy as np
import zstandard
from msgspec import Meta
from numpy.typing import NDArray

from peers.kernel import Floats, Ints

FORMAT: Final = 1
LEVELS_MAX: Final = 3  # as the directory of Li, Yan, Wang 2004, 11.5, has
CLASSES_MAX: Final = 1_000  # theirs has 733
NAME_CHARS_MAX: Final = 40
EXAMPLES_MAX: Final = 3  # URLs of a class
EXAMPLE_CHARS_MAX: Final = 300
TERMS_MAX: Final = 1 << 16
TERM_BYTES_MAX: Final = 255
WEIGHTS_MAX: Final = 1 << 20
WEIGHT_MAX: Final = 127
IDF_MAX: Final = 255
COLUMNS_BYTES_MAX: Final = 8 << 20  # unpacked
NO_CLASS: Final = -1

# 1 + ln(frequency), in sixteenths; from the last one on a frequency counts no more.
GAINS: Final[Ints] = np.array([0, *(round(16 * (1 + log(n))) for n in range(1, 256))], np.int64)
IDF_STEPS: Final = 16  # of 1 + ln((N + 1) / (doc_freq + 1))

# A name can stand behind `class:` without quotation marks, and is no operator there.
_NAME: Final = re.compile(r"(?!(?:AND|OR|NOT)\Z)[^\s\"“”„「」『』＂()（）|｜:：*\x00-\x1f\x7f]{1,40}")


class ClassRow(msgspec.Struct, frozen=True, array_like=True):
    """A class, and how its scores are read."""

    name: Annotated[str, Meta(min_length=1, max_length=NAME_CHARS_MAX)]
    parent: Annotated[int, Meta(ge=NO_CLASS, lt=CLASSES_MAX)]  # index of its row; -1 at the top
    scale: float = 1.0
    bias: float = 0.0
    threshold: float = 0.0
    n_samples: Annotated[int, Meta(ge=0)] = 0  # that it was fitted to
    examples: Annotated[
        tuple[Annotated[str, Meta(max_length=EXAMPLE_CHARS_MAX)], ...], Meta(max_length=EXAMPLES_MAX)
    ] = ()


class _Body(msgspec.Struct, frozen=True, array_like=True):
    format: int
    rows: Annotated[tuple[ClassRow, ...], Meta(min_length=1, max_length=CLASSES_MAX)]
    n_terms: Annotated[int, Meta(ge=0, le=TERMS_MAX)]
    n_weights: Annotated[int, Meta(ge=0, le=WEIGHTS_MAX)]
    columns: bytes  # zstd: see `_pack`


class TermWeights(NamedTuple):
    """The weights of terms, term by term."""

    terms: tuple[str, ...]  # entries of the dictionary, ascending by UTF-8
    idf: Ints  # of each, in steps, 1 to IDF_MAX
    starts: Ints  # terms + 1: where the weights of each are among the following
    classes: Ints  # rows
    weights: Ints  # -WEIGHT_MAX to WEIGHT_MAX


def is_class_name(text: str) -> bool:
    """Can it be the name of a class, and be asked for as `class:NAME`?"""
    return _NAME.fullmatch(text) is not None


class ClassModel:
    """Classes and weights that have been checked; immutable.

    Attributes:
      rows: parents before their children, and the children of one beside each other.
      digest: 16 bytes that tell it from other models.
    """

    def __init__(self, rows: Sequence[ClassRow], weights: TermWeights, digest: bytes) -> None:
        """Raises:
        ValueError: they are none.
        """
        self.rows = tuple(rows)
        self.weights = weights
        self.digest = digest
        _check_rows(self.rows)
        _check_weights(weights, len(self.rows))

    @cached_property
    def tree(self) -> Ints:
        """Of each class, and at last of the top: its first child and the number of its children."""
        tree = np.zeros((len(self.rows) + 1, 2), np.int64)
        for number in range(len(self.rows) - 1, -1, -1):
            parent = self.rows[number].parent
            tree[parent] = number, tree[parent, 1] + 1
        return tree

    @cached_property
    def readings(self) -> Floats:
        """Of each class its scale, bias and threshold."""
        return np.array([(row.scale, row.bias, row.threshold) for row in self.rows], np.float64)

    @cached_property
    def names(self) -> frozenset[str]:
        """The names of all classes, as `numbers_of` looks them up."""
        return frozenset(row.name.casefold() for row in self.rows)

    @cached_property
    def _numbers(self) -> dict[str, int]:
        return {row.name.casefold(): number for number, row in enumerate(self.rows)}

    def is_in(self, names: Iterable[str]) -> NDArray[np.bool_]:
        """Of each class, and at last of none: is it one of these or below one? "*" stands for any."""
        found = np.zeros(len(self.rows) + 1, np.bool_)
        for name in names:
            if name == "*":
                found[:-1] = True
            elif (number := self._numbers.get(name)) is not None:
                found[number] = True
        for number, row in enumerate(self.rows):
            found[number] |= row.parent >= 0 and bool(found[row.parent])
        return found

    def rolled_up(self, counts: Ints) -> dict[str, int]:
        """Return of each class that has any the number of pages in it or below it.

        Args:
          counts: by class, those of pages that are in it and in none below.
        """
        sums: list[int] = counts.tolist()
        for number in range(len(self.rows) - 1, -1, -1):
            if (parent := self.rows[number].parent) >= 0:
                sums[parent] += sums[number]
        return {row.name: count for row, count in zip(self.rows, sums, strict=True) if count}

    def number_of(self, name: str) -> int:
        """Return the row of a class; `NO_CLASS` where there is none of that name."""
        return self._numbers.get(name.casefold(), NO_CLASS)

    def children_of(self, number: int) -> range:
        """Return the rows of the classes below one, or of the top ones below `NO_CLASS`."""
        first, count = self.tree[number].tolist()
        return range(first, first + count)

    def path_of(self, number: int) -> tuple[int, ...]:
        """Return the rows from the top down to a class."""
        path = []
        while number >= 0:
            path.append(number)
            number = self.rows[number].parent
        return tuple(reversed(path))


def model_bytes(rows: Sequence[ClassRow], weights: TermWeights) -> bytes:
    """Return the body of a decree."""
    columns = zstandard.ZstdCompressor(level=19).compress(_pack(weights))
    body = _Body(FORMAT, tuple(rows), len(weights.terms), len(weights.weights), columns)
    return msgspec.msgpack.encode(body)


@lru_cache(maxsize=2)  # several actors and ports of a peer read the same one
def model_in(body: bytes) -> ClassModel:
    """Read the body of a decree.

    Raises:
      ValueError: it is no model that this version understands.
    """
    try:
        read = msgspec.msgpack.decode(body, type=_Body)  # its other errors are ValueErrors
    except RecursionError as error:  # in what is passed over behind the rest
        raise ValueError("classes that nest too deep") from error
    if read.format != FORMAT:
        raise ValueError(f"classes of format {read.format}, this version reads {FORMAT}")
    weights = _unpack(read.columns, read.n_terms, read.n_weights)
    return ClassModel(read.rows, weights, blake2b(body, digest_size=16).digest())


def _check_rows(rows: Sequence[ClassRow]) -> None:
    levels: list[int] = []
    for number, row in enumerate(rows):
        if not is_class_name(row.name):
            raise ValueError(f"{row.name!r} is no name of a class")
        if not all(map(isfinite, (row.scale, row.bias, row.threshold))):
            raise ValueError(f"a number of class {row.name} is none")
        if row.parent >= number:
            raise ValueError(f"class {row.name} stands before the one that it is below")
        levels.append(1 + (levels[row.parent] if row.parent >= 0 else 0))
    if any(one.parent > next_.parent for one, next_ in pairwise(rows)):
        raise ValueError("classes below one are not beside each other")
    if max(levels) > LEVELS_MAX:
        raise ValueError(f"classes have more than {LEVELS_MAX} levels")
    if len({row.name.casefold() for row in rows}) < len(rows):
        raise ValueError("two classes have one name")


def _check_weights(weights: TermWeights, n_classes: int) -> None:
    terms, idf, starts, classes, values = weights
    n_weights = len(values)
    if not len(idf) == len(terms) == len(starts) - 1 or len(classes) != n_weights:
        raise ValueError("columns of weights have different lengths")
    if (idf < 1).any() or (idf > IDF_MAX).any() or (np.abs(values) > WEIGHT_MAX).any():
        raise ValueError("a weight is out of its range")
    if starts[0] != 0 or starts[-1] != n_weights or (np.diff(starts) < 0).any():
        raise ValueError("weights do not follow one another")
    if n_weights and not 0 <= int(classes.min()) <= int(classes.max()) < n_classes:
        raise ValueError("a weight is of no class")
    # So a posting costs a sum for each class at most, however many weights there are.
    is_of_next_term = np.zeros(n_weights + 1, np.bool_)
    is_of_next_term[starts] = True
    if (np.diff(classes) <= 0)[~is_of_next_term[1:-1]].any():
        raise ValueError("a term has two weights of one class, or in another order than the classes")
    encoded = [term.encode() for term in terms]
    if any(one >= next_ for one, next_ in pairwise(encoded)) or b"" in encoded[:1]:
        raise ValueError("terms are not ascending")


def _pack(weights: TermWeights) -> bytes:
    """Return the columns: of terms shared and own bytes, idf, counts; of weights class, value; texts."""
    encoded = [term.encode() for term in weights.terms]
    shared = [_shared(one, next_) for one, next_ in pairwise([b"", *encoded])]
    own = [term[n:] for term, n in zip(encoded, shared, strict=True)]
    return b"".join(
        (
            np.array(shared, "<u1").tobytes(),
            np.array(list(map(len, own)), "<u1").tobytes(),
            weights.idf.astype("<u1").tobytes(),
            np.diff(weights.starts).astype("<u2").tobytes(),
            weights.classes.astype("<u2").tobytes(),
            weights.weights.astype("<i1").tobytes(),
            *own,
        )
    )


def _shared(one: bytes, other: bytes) -> int:
    n = 0
    for a, b in zip(one, other, strict=False):
        if a != b:
            break
        n += 1
    return n


def _unpack(packed: bytes, n_terms: int, n_weights: int) -> TermWeights:
    try:
        # A frame's own claim is what the decompressor allocates, whatever it is told.
        if not 0 <= zstandard.frame_content_size(packed) <= COLUMNS_BYTES_MAX:
            raise ValueError("columns of weights are too long")
        columns = zstandard.ZstdDecompressor().decompress(packed)
    except zstandard.ZstdError as error:
        raise ValueError(f"columns of weights are damaged: {error}") from error
    at = 0

    def column(kind: str, n: int) -> Ints:
        nonlocal at
        start, at = at, at + n * np.dtype(kind).itemsize
        if at > len(columns):
            raise ValueError("columns of weights are cut off")
        return np.frombuffer(columns[start:at], kind).astype(np.int64)

    shared, own, idf = column("<u1", n_terms), column("<u1", n_terms), column("<u1", n_terms)
    counts = column("<u2", n_terms)
    classes, values = column("<u2", n_weights), column("<i1", n_weights)
    if int(own.sum()) != len(columns) - at:
        raise ValueError("terms are cut off, or there is more behind them")
    terms: list[str] = []
    before = b""
    for n_shared, n_own in zip(shared.tolist(), own.tolist(), strict=True):
        before = before[:n_shared] + columns[at : at + n_own]
        at += n_own
        if len(before) > TERM_BYTES_MAX:
            raise ValueError("a term is too long")
        terms.append(before.decode())
    starts = np.concatenate(([0], np.cumsum(counts)))
    return TermWeights(tuple(terms), idf, starts, classes, values)
