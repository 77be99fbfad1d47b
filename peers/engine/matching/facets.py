"""How many of the pages that match have which host, language, type and year, and are in which class.

Counts are exact, over all that match, and add up over segments and peers. Each document has one host and one
year, at most one type, and mostly one language: a segment's are read once into four columns of numbers, 16
bytes a document, and a query counts the numbers of the documents that match. Measured over 20,000 documents
in 13 segments, finding those that match included: 0.4 ms for 3 documents and 2 ms for 14,000; without
columns, from the lists of the dictionary, it took 4 and 15 ms.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Final, NamedTuple, TypeAlias
from weakref import WeakKeyDictionary

import msgspec
import numpy as np
from numpy.typing import NDArray

from peers.engine.matching.matching import dates_of, entry_marks
from peers.engine.pages.filter_entries import LANGUAGE_PREFIX, TYPE_PREFIX
from peers.engine.segments.builder import host_of_url
from peers.engine.segments.segment import Segment
from peers.kernel import Bytes, Floats, Ints

# Of a dictionary, the first ones: a hostile page may claim any language, honest ones have a few dozen.
ENTRIES_MAX: Final = 500

Values: TypeAlias = Counter[str]


class Facets(msgspec.Struct, frozen=True):
    """Counts by value."""

    hosts: Values = msgspec.field(default_factory=Counter)
    languages: Values = msgspec.field(default_factory=Counter)
    types: Values = msgspec.field(default_factory=Counter)
    years: Values = msgspec.field(default_factory=Counter)
    classes: Mapping[str, int] = {}  # in each those below it, too; see `page_classes`


def sum_facets(parts: Iterable[Facets]) -> Facets:
    """Add up the counts of disjoint collections."""
    total = Facets()
    classes: dict[str, int] = {}
    for part in parts:
        counts = zip(msgspec.structs.astuple(total)[:-1], msgspec.structs.astuple(part)[:-1], strict=True)
        for values, more in counts:
            values.update(more)
        for name, count in part.classes.items():
            classes[name] = classes.get(name, 0) + count
    return msgspec.structs.replace(total, classes=classes) if classes else total


def facets_of(segment: Segment, marks: Bytes) -> Facets:
    """Count over the documents of a segment that are marked.

    Raises:
      DamagedSegmentError.
    """
    documents = np.flatnonzero(marks)
    if not len(documents):
        return Facets()
    columns = _columns_of_segments.get(segment)
    if columns is None:
        columns = _columns_of_segments[segment] = _read_columns(segment)
    return Facets(*(_counted(column, documents, marks) for column in columns))


class _Column(NamedTuple):
    """The values of one facet for each document of a segment."""

    names: list[str]  # the first one, "", is of documents that have none; a name may stand there twice
    numbers: NDArray[np.int32]  # of the name of each document
    more: Ints = np.zeros((2, 0), np.int64)  # documents that have another one besides, and its number


class _Columns(NamedTuple):
    """In the order of `Facets`."""

    hosts: _Column
    languages: _Column
    types: _Column
    years: _Column


_columns_of_segments: WeakKeyDictionary[Segment, _Columns] = WeakKeyDictionary()


def _counted(column: _Column, documents: Ints, marks: Bytes) -> Values:
    counts = np.bincount(column.numbers[documents], minlength=len(column.names))
    if column.more.size:
        counts += np.bincount(column.more[1][marks.view(np.bool_)[column.more[0]]], minlength=len(counts))
    values: Values = Counter()
    for number in np.flatnonzero(counts[1:]).tolist():
        values[column.names[number + 1]] += int(counts[number + 1])
    return values


def _read_columns(segment: Segment) -> _Columns:
    return _Columns(
        _hosts(segment),
        _entries(segment, LANGUAGE_PREFIX),
        _entries(segment, TYPE_PREFIX),
        _years(dates_of(segment)),
    )


def _hosts(segment: Segment) -> _Column:
    """The documents of a host are neighbours; it has several ranges where it has several schemes or ports."""
    names = [""]
    numbers = np.empty(segment.document_count, np.int32)
    document = 0
    while document < segment.document_count:
        origin = _origin(segment.url(document))
        # Everything that begins with the origin and a slash comes before the origin and a zero.
        after = bisect_left(range(segment.document_count), origin + b"0", lo=document, key=segment.url)
        end = max(document + 1, after)
        numbers[document:end] = len(names)
        names.append(host_of_url(origin.decode(errors="replace")))
        document = end
    return _Column(names, numbers)


def _origin(url: bytes) -> bytes:
    scheme, separator, rest = url.partition(b"://")
    return scheme + separator + rest.partition(b"/")[0]


def _entries(segment: Segment, prefix: str) -> _Column:
    """Which entries with a prefix each document is under."""
    names = [""]
    numbers = np.zeros(segment.document_count, np.int32)
    more = [np.zeros((2, 0), np.int64)]
    known = segment.beginning_with(prefix, ENTRIES_MAX)
    for number, entry in enumerate(segment.names(known.numbers)):
        marked = entry_marks(segment, known.at(slice(number, number + 1))).view(np.bool_)
        again = np.flatnonzero(marked & (numbers > 0))
        more.append(np.stack([again, np.full(len(again), len(names))]))
        numbers[marked & (numbers == 0)] = len(names)
        names.append(entry.removeprefix(prefix))
    return _Column(names, numbers, np.concatenate(more, axis=1))


def _years(seconds: Floats) -> _Column:
    """Return the years (UTC) of dates; a date before 1970 or after 9999 has none."""
    is_known = (seconds > 0) & (seconds < _END_S)
    years = np.where(is_known, seconds, 0.0).astype("datetime64[s]").astype("datetime64[Y]").astype(np.int32)
    found, numbers = np.unique(np.where(is_known, years + 1970, 0), return_inverse=True)
    first = 0 if len(found) and found[0] == 0 else 1  # where none is without
    return _Column(["", *map(str, found[1 - first :].tolist())], (numbers + first).astype(np.int32))


_END_S: Final = 253_402_300_800.0  # the beginning of the year 10,000
