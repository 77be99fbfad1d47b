"""Directories that have a file of a size, an age and a name.

A directory's largest size and latest date would say that some file is large and some is new; people mean one
that is both, and has the words. So sizes and dates of all files are kept in columns, made once for a segment,
and of those that fit the names are read as they are stored. What holds depends on nothing but the document:
it is the same on every peer.

Measured (a thousand directories of 200 files each, one busy core): see `tests/benchmarks/HISTORY.md`.
"""

from __future__ import annotations

from collections.abc import Set
from functools import lru_cache
from typing import Final, NamedTuple
from urllib.parse import unquote
from weakref import WeakKeyDictionary

import msgspec
import numpy as np

from peers.engine.native.kernels import BODY
from peers.engine.pages.directory_entries import Entry, entries_in
from peers.engine.pages.document import Document
from peers.engine.pages.filter_entries import TYPE_PREFIX
from peers.engine.pages.kinds import LISTING
from peers.engine.postings.entries import Entries
from peers.engine.postings.format import documents_of
from peers.engine.queries.query import Literal
from peers.engine.segments.segment import Segment
from peers.kernel import Floats, Ints
from peers.text.analysis import CHARACTER_PREFIX, analyse, atoms, frequency_entries
from peers.text.folding import fold
from peers.text.runs import runs_of
from peers.text.stemming import FORM_PREFIX, form_of

DIRECTORIES: Final = (TYPE_PREFIX + LISTING,)
# In visits: to read a directory, to put a word of its names into columns, to look at a name for words.
READ_VISITS: Final = 1_000
COLUMN_VISITS: Final = 60
NAME_VISITS: Final = 150
# A question pays no more to have columns made: that is done once, and what comes after finds them.
VISITS_MAX: Final = 1_000_000
NAMES_CACHED: Final = 2_048
FORMS_CACHED: Final = 8_192

_decode = msgspec.msgpack.Decoder(Document).decode
_known_form_of = lru_cache(FORMS_CACHED)(form_of)


class FileColumns(NamedTuple):
    """All files and folders of a segment's directories, some 28 bytes each; documents and lines rise."""

    documents: Ints
    lines: Ints  # of its document's text
    sizes: Floats  # bytes; -1 where none is said
    dates: Ints  # seconds since the epoch; 0 where none is said

    def fitting(self, literal: Literal) -> Ints:
        """Return the indexes of those whose size and date a literal asks for."""
        fits = self.sizes >= literal.low
        if literal.high > 0:
            fits &= (self.dates > 0) & (self.dates >= literal.high)
        return np.flatnonzero(fits)


_known: WeakKeyDictionary[Segment, FileColumns] = WeakKeyDictionary()


def having_file(segment: Segment, directories: Ints, literal: Literal) -> Ints:
    """Keep the directories, given by rising numbers, that have such a file. DamagedSegmentError.

    Whether the literal is negated does not count.
    """
    columns = _columns_of(segment)
    fitting = columns.fitting(literal)
    fitting = fitting[np.isin(columns.documents[fitting], directories)]
    found, starts = np.unique(columns.documents[fitting], return_index=True)
    if not literal.entries or not len(found):
        return found.astype(np.int64)
    lines_of = np.split(columns.lines[fitting], starts[1:])
    kept = [
        number
        for number, encoded, lines in zip(
            found.tolist(), segment.encoded_documents(found), lines_of, strict=True
        )
        if _has_words(_decode(encoded), lines.tolist(), literal)
    ]
    return np.array(kept, np.int64)


def is_asked_for(entry: Entry, line: str, wanted: Set[str], literal: Literal) -> bool:
    """Tell whether an entry of a directory is as a literal asks for it.

    Args:
      line: the text of the document that it is in.
      wanted: entries of the dictionary that it must have.
    """
    is_large = entry.size >= literal.low
    is_new = literal.high <= 0 or (entry.date > 0 and entry.date >= literal.high)
    return is_large and is_new and has_words(line, wanted)


def has_words(line: str, wanted: Set[str]) -> bool:
    """Tell whether a line has all these entries of the dictionary; most lines are told by a look."""
    if not wanted:
        return True
    folded = fold(line)
    forms: Set[str] | None = None
    for entry in wanted:
        if entry > " ":
            may_have = entry in folded
        elif entry.startswith(CHARACTER_PREFIX):
            may_have = entry.strip(CHARACTER_PREFIX) in folded
        elif entry.startswith(FORM_PREFIX):
            forms = forms or {_known_form_of(run) for run in runs_of(folded)}
            may_have = entry in forms or not entry[1:].isalpha()
        else:
            may_have = True
        if not may_have:
            return False
    return wanted <= _words_of(line)


def words_of_path(url: str, title: str) -> Set[str]:
    """Return the entries of the dictionary that all files of a directory have: those of its path."""
    return _words_of(f"{title}\n{unquote(url.partition('://')[2], errors='replace')}")


def files_cost(segment: Segment, known: Entries, n_with_words: int, literal: Literal) -> int:
    """Return how many visits `having_file` takes at most; before columns are made a guess.

    Args:
      known: of the dictionary, on `DIRECTORIES`.
      n_with_words: documents that have all words, at most; -1 when there are no words.
    """
    n = int(known.doc_freqs[0])
    columns = _known.get(segment)
    if columns is None:
        lengths = segment.lengths[_directories(segment, known), BODY]
        making = n * READ_VISITS + int(lengths.sum()) * COLUMN_VISITS
        return min(making, VISITS_MAX) + max(0, min(n, n_with_words)) * READ_VISITS
    cost = n + len(columns.lines) // 4
    if n_with_words < 0:
        return cost
    counts = np.bincount(columns.documents[columns.fitting(literal)])
    read = np.sort(counts)[::-1][:n_with_words]
    return cost + int((read > 0).sum()) * READ_VISITS + int(read.sum()) * NAME_VISITS


def _has_words(document: Document, lines: list[int], literal: Literal) -> bool:
    wanted = frozenset(literal.entries) - words_of_path(document.url, document.title)
    names = document.text.split("\n")
    return any(has_words(names[line], wanted) for line in lines)


def _columns_of(segment: Segment) -> FileColumns:
    """Return the columns of a segment, made when they are first asked for. DamagedSegmentError."""
    columns = _known.get(segment)
    if columns is None:
        columns = _known[segment] = _made(segment)
    return columns


def _made(segment: Segment) -> FileColumns:
    known = segment.look_up(DIRECTORIES)
    directories = _directories(segment, known)
    counts: list[int] = []
    sizes: list[int] = []
    dates: list[int] = []
    for encoded in segment.encoded_documents(directories):
        document = _decode(encoded)
        before = len(sizes)
        for entry in entries_in(document.text, document.heading_ids):
            sizes.append(entry.size)
            dates.append(entry.date)
        counts.append(len(sizes) - before)
    lines = [np.arange(count, dtype=np.int64) for count in counts]
    return FileColumns(
        np.repeat(directories, np.array(counts, np.int64)),
        np.concatenate([np.empty(0, np.int64), *lines]),
        np.array(sizes, np.float64),
        np.array(dates, np.int64),
    )


def _directories(segment: Segment, known: Entries) -> Ints:
    """Return all directories of a segment, rising. DamagedSegmentError."""
    n = int(known.doc_freqs[0])
    if n == 0:
        return np.empty(0, np.int64)
    segment.check_postings(known)
    documents = np.empty(n + 4, np.int64)
    documents_of(segment.postings, segment.postings_words, int(known.starts[0]), n, documents)
    return documents[:n]


@lru_cache(NAMES_CACHED)
def _words_of(text: str) -> frozenset[str]:
    return frozenset((*analyse(text), *atoms(text), *frequency_entries(text)))
