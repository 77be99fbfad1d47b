"""Which documents of a segment match a query, and where their postings are.

Evaluated from the rarest to the commonest: what has been found so far leads through the lists that are left.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache
from itertools import filterfalse
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from peers.engine.native.kernels import DOCUMENT_SHIFT, FIELD_COUNT
from peers.engine.pages.filter_entries import CLASS_PREFIX
from peers.engine.postings.dictionary import DOC_FREQ, PLACE, PLACE_END, START
from peers.engine.postings.entries import Entries
from peers.engine.postings.format import documents_of
from peers.engine.queries.query import Literal, LiteralKind, Mode, Query
from peers.engine.searching.intersection import intersect, keep_matched, locate, match_atoms
from peers.engine.segments.live_segment import SegmentView
from peers.engine.segments.segment import Segment
from peers.kernel import Bytes, Floats, Ints
from peers.text.analysis import CHARACTER_PREFIX

_ALL_FIELDS = (1 << FIELD_COUNT) - 1
_WORDS: Final = LiteralKind.WORDS
# Going through lists for each document found costs about so much more than reading a posting.
_SEEK_COST = 20
# Of the lists that are looked into at once: bounds the memory.
_LISTS_AT_ONCE = 64

_NONE: Ints = np.empty(0, np.int64)
_NO_INDEXES: Ints = np.empty((0, 0), np.int64)
_NO_DAMAGE: Ints = np.full(1, -1, np.int64)  # copied, which takes a third as long as to make it anew


class MatchedDocuments(NamedTuple):
    """Documents, and for some lists of postings the index of each document's posting."""

    documents: Ints  # rising
    entries: tuple[str, ...] = ()  # of the dictionary, one for each row of
    indexes: Ints = _NO_INDEXES  # (entries, at least as many as documents)
    known: Entries | None = None  # what the dictionary says of them

    def narrowed(self, kept: Ints) -> MatchedDocuments:
        """Keep the documents with these indexes, rising."""
        if len(kept) == len(self.documents):
            return self
        if not self.entries:
            return MatchedDocuments(self.documents[kept])
        indexes = np.ascontiguousarray(self.indexes[:, kept])
        return MatchedDocuments(self.documents[kept], self.entries, indexes, self.known)

    def among(self, documents: Ints) -> MatchedDocuments:
        """Keep these documents: some of them, rising."""
        return self.narrowed(np.searchsorted(self.documents, documents))


def matching(view: SegmentView, query: Query) -> Bytes:
    """Mark the documents that match: 1 or 0 each.

    Raises:
      DamagedSegmentError: something that this needs is damaged.
    """
    return _marks(view.segment, found_by(view, query).documents)


def entry_marks(segment: Segment, entries: Entries) -> Bytes:
    """Mark the documents that have one of some entries of the dictionary. DamagedSegmentError."""
    return _marks(segment, _any_of(segment, None, entries))


def dates_of(segment: Segment) -> Floats:
    """Return the date of each document, in seconds since the epoch."""
    dates: Floats = segment.dates.astype(np.float64)
    return dates


def found_by(view: SegmentView, query: Query) -> MatchedDocuments:
    """Find the documents that match. DamagedSegmentError."""
    segment = view.segment
    found = None
    if query.mode is Mode.AND:
        found = with_all(segment, None, query.required) if query.required else None
        found = holding(view, found, query.alternatives)
    found = holding(view, found, query.clauses)
    if query.mode is Mode.OR and query.terms:
        known = _known(segment.look_up(query.terms))
        kept = _any_of(segment, None if found is None else found.documents, known)
        found = MatchedDocuments(kept) if found is None else found.among(kept)
    if found is None:
        return MatchedDocuments(view.allowed.nonzero()[0])
    return found.narrowed(view.allowed[found.documents].nonzero()[0])


def holding(
    view: SegmentView, found: MatchedDocuments | None, clauses: Sequence[Sequence[Literal]]
) -> MatchedDocuments | None:
    """Keep, of the documents found (None: of all), those for which each clause holds. DamagedSegmentError."""
    # A literal that stands alone finds its documents itself, as do several where none were found before;
    # others can only be tried on some.
    for clause in sorted(clauses, key=_trouble):
        if found is not None and not len(found.documents):
            return found
        if len(clause) == 1 and not clause[0].negated:
            found = _literally(view, found, clause[0])
        elif words := either_word(clause):
            known = _known(view.segment.look_up(words))
            found = _among(found, _any_of(view.segment, _documents(found), known))
        elif found is None and not any(literal.negated for literal in clause):
            marks = np.zeros(view.segment.document_count, np.bool_)
            for literal in clause:
                marks[_literally(view, None, literal).documents] = True
            found = MatchedDocuments(marks.nonzero()[0])
        else:
            found = _with_one(view, found or MatchedDocuments(view.allowed.nonzero()[0]), clause)
    return found


def with_all(segment: Segment, found: MatchedDocuments | None, entries: Sequence[str]) -> MatchedDocuments:
    """Find the documents with all entries of the dictionary, distinct ones. DamagedSegmentError."""
    known = segment.look_up(entries)
    if min(known.numbers.tolist()) < 0:
        return MatchedDocuments(_NONE)
    n_lists = len(entries)
    if n_lists > 1:
        doc_freqs = known.doc_freqs.tolist()
        order = sorted(range(n_lists), key=doc_freqs.__getitem__)
        known = known.at(order)
        entries = [entries[i] for i in order]
    if found is None:
        n, room = -1, int(known.doc_freqs[0]) + 4
        documents = np.empty(room, np.int64)
    else:
        n = room = len(found.documents)
        documents = found.documents.copy()
    indexes = np.empty((n_lists, room), np.int64)
    damage = _NO_DAMAGE.copy()
    n = intersect(segment.lists, known.found, n, documents, indexes, damage)
    segment.refuse_postings(int(damage[0]))
    new = MatchedDocuments(documents[:n], tuple(entries), indexes, known)
    if found is None or found.known is None:
        return new
    kept = found.among(new.documents)
    return MatchedDocuments(
        new.documents,
        kept.entries + new.entries,
        np.vstack([kept.indexes[:, :n], new.indexes[:, :n]]),
        Entries(np.vstack([found.known.found, known.found])),
    )


def located(segment: Segment, documents: Ints, known: Entries) -> Ints:
    """Return where postings of documents are, shape (lists, documents), -1: none. DamagedSegmentError."""
    indexes = np.empty((len(known), len(documents)), np.int64)
    damage = _NO_DAMAGE.copy()
    locate(segment.lists, known.found, documents, indexes, damage)
    segment.refuse_postings(int(damage[0]))
    return indexes


def _trouble(clause: Sequence[Literal]) -> int:
    if len(clause) > 1 or clause[0].negated:
        return 2
    return 0 if clause[0].kind in (LiteralKind.PHRASE, LiteralKind.WORDS, LiteralKind.SITE) else 1


def _with_one(view: SegmentView, found: MatchedDocuments, clause: Iterable[Literal]) -> MatchedDocuments:
    """Keep the documents for which one of the literals holds."""
    holds = np.zeros(len(found.documents), np.bool_)
    for literal in clause:
        held = _literally(view, MatchedDocuments(found.documents), literal).documents
        is_held = np.zeros(len(found.documents), np.bool_)
        is_held[np.searchsorted(found.documents, held)] = True
        holds |= ~is_held if literal.negated else is_held
    return found.narrowed(holds.nonzero()[0])


def _literally(view: SegmentView, found: MatchedDocuments | None, literal: Literal) -> MatchedDocuments:
    """Find the documents in which a literal would hold if it were not negated."""
    segment = view.segment
    if literal.kind is LiteralKind.DATE:
        of_all = found or MatchedDocuments(view.allowed.nonzero()[0])
        dates = segment.dates[of_all.documents]
        return of_all.narrowed(np.flatnonzero((literal.low <= dates) & (dates < literal.high)))
    if literal.kind is LiteralKind.FILE:
        return _with_file(view, found, literal)
    if literal.kind is LiteralKind.PHRASE:
        return _phrase(segment, found, literal)
    if literal.kind is not LiteralKind.WORDS:
        if literal.kind is LiteralKind.CLASS:
            return _in_classes(view, found, literal)
        return _among(found, _any_of(segment, _documents(found), _known(segment.look_up(literal.entries))))
    ranges, words = ranges_and_words(literal.entries)
    for entry in ranges:
        found = _among(found, _any_of(segment, _documents(found), segment.beginning_with(entry)))
    if words:
        found = with_all(segment, found, words)
    assert found is not None
    return found


def _with_file(view: SegmentView, found: MatchedDocuments | None, literal: Literal) -> MatchedDocuments:
    from peers.engine.matching.listed_files import DIRECTORIES, having_file

    directories = _any_of(view.segment, _documents(found), _known(view.segment.look_up(DIRECTORIES)))
    directories = directories[np.flatnonzero(view.allowed[directories])]
    return _among(found, having_file(view.segment, directories, literal))


def _in_classes(view: SegmentView, found: MatchedDocuments | None, literal: Literal) -> MatchedDocuments:
    if view.classes is None:
        return MatchedDocuments(_NONE) if found is None else found.narrowed(_NONE)
    from peers.engine.matching.page_classes import classes_of

    is_in = view.classes.is_in(entry.removeprefix(CLASS_PREFIX) for entry in literal.entries)
    of_all = found or MatchedDocuments(view.allowed.nonzero()[0])
    return of_all.narrowed(np.flatnonzero(is_in[classes_of(view.segment, view.classes)[of_all.documents]]))


def _documents(found: MatchedDocuments | None) -> Ints | None:
    return None if found is None else found.documents


def _among(found: MatchedDocuments | None, documents: Ints) -> MatchedDocuments:
    return MatchedDocuments(documents) if found is None else found.among(documents)


def is_range(entry: str) -> bool:
    """Tell whether an entry of a literal stands for all that begin with it."""
    return entry[0] == CHARACTER_PREFIX and len(entry) == 2


def either_word(clause: Sequence[Literal]) -> tuple[str, ...]:
    """Return the entries of a clause that wants one of several words; of any other clause none."""
    words: dict[str, None] = {}
    for literal in clause:
        entries = literal.entries
        if (
            literal.kind is not _WORDS
            or literal.negated
            or len(entries) != 1
            or entries[0].startswith(CHARACTER_PREFIX)
        ):
            return ()
        words[entries[0]] = None
    return tuple(words)


@lru_cache(maxsize=256)
def ranges_and_words(entries: tuple[str, ...]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return those entries of a literal that stand for all that begin so, and the others, each once."""
    return tuple(filter(is_range, entries)), tuple(dict.fromkeys(filterfalse(is_range, entries)))


def _known(entries: Entries) -> Entries:
    """Leave out those that are not there."""
    is_known = entries.numbers >= 0
    return entries if is_known.all() else entries.at(is_known.nonzero()[0])


def _any_of(segment: Segment, found: Ints | None, known: Entries) -> Ints:
    """Find the documents, among those found, that are in one of the lists."""
    n_lists = len(known)
    if found is not None and int(known.doc_freqs.sum()) > _SEEK_COST * len(found):
        is_in = np.zeros(len(found), np.bool_)
        for first in range(0, n_lists, _LISTS_AT_ONCE):
            some = known.at(slice(first, first + _LISTS_AT_ONCE))
            is_in |= (located(segment, found, some) >= 0).any(axis=0)
        return np.compress(is_in, found)
    segment.check_postings(known)
    marks = np.zeros(segment.document_count, np.bool_)
    documents = _NONE
    for start, n in known.found[:, [START, DOC_FREQ]].tolist():
        documents = np.empty(n + 4, np.int64)
        documents_of(segment.postings, segment.postings_words, start, n, documents)
        documents = documents[:n]
        if n_lists > 1:
            marks[documents] = True
    if n_lists == 1 and found is None:
        return documents
    if n_lists == 1:
        marks[documents] = True
    return marks.nonzero()[0] if found is None else np.compress(marks[found], found)


def _marks(segment: Segment, documents: Ints) -> Bytes:
    marks = np.zeros(segment.document_count, np.uint8)
    marks[documents] = 1
    return marks


# --- Phrases ----------------------------------------------------------------------------------


def _phrase(segment: Segment, found: MatchedDocuments | None, literal: Literal) -> MatchedDocuments:
    """Find the documents in which the atoms are at their distances in one of the fields."""
    fields = literal.fields or _ALL_FIELDS
    plain = [i for i, entry in enumerate(literal.entries) if not is_range(entry)]
    matches: Ints | None = None
    if plain:
        entries = tuple(dict.fromkeys(literal.entries[i] for i in plain))
        known = segment.look_up(entries)
        # An entry without positions is no atom: no honest peer asks for it.
        if (known.numbers < 0).any() or (known.found[:, PLACE] == known.found[:, PLACE_END]).any():
            return MatchedDocuments(_NONE)
        found = with_all(segment, found, entries)
        if not len(found.documents) or (len(literal.entries) == 1 and fields == _ALL_FIELDS):
            return found
        matches = _places(segment, found, literal, plain, fields)
        found = _with_places(found, matches)
    for i in range(len(literal.entries)):
        if not is_range(literal.entries[i]):
            continue
        known = segment.beginning_with(literal.entries[i])
        if matches is None and len(literal.entries) == 1 and fields == _ALL_FIELDS:
            return _among(found, _any_of(segment, _documents(found), known))
        matches = _in_range(segment, known, literal.distances[i], fields, _documents(found), matches)
        documents = matches >> DOCUMENT_SHIFT
        found = _among(found, documents[np.flatnonzero(np.diff(documents, prepend=-1))])
    assert found is not None
    return found


def _places(
    segment: Segment, found: MatchedDocuments, literal: Literal, plain: Sequence[int], fields: int
) -> Ints:
    """Find the places in documents from which atoms of a phrase stand at their distances."""
    assert found.known is not None
    # Of an entry that an earlier literal has too, the last row.
    row_of = {entry: row for row, entry in enumerate(found.entries)}
    doc_freqs = found.known.doc_freqs.tolist()
    atoms = sorted(
        ((row_of[literal.entries[i]], literal.distances[i]) for i in plain),
        key=lambda atom: doc_freqs[atom[0]],
    )
    rows, distances = zip(*atoms, strict=True)
    return _matched(segment, found.known, rows, distances, fields, found.documents, found.indexes, None)


def _with_places(found: MatchedDocuments, matches: Ints) -> MatchedDocuments:
    """Keep the documents of places, which are rising occurrences."""
    documents = np.empty(min(len(matches), len(found.documents)), np.int64)
    indexes = np.empty((len(found.indexes), len(documents)), np.int64)
    n = keep_matched(matches, len(matches), found.documents, found.indexes, documents, indexes)
    return MatchedDocuments(documents[:n], found.entries, indexes, found.known)


def _in_range(
    segment: Segment, known: Entries, distance: int, fields: int, found: Ints | None, matches: Ints | None
) -> Ints:
    """Keep the places at which one of the atoms follows; None: find them all."""
    if matches is not None:
        documents: Ints = np.unique(matches >> DOCUMENT_SHIFT)
    else:
        documents = _any_of(segment, found, known)
    kept: list[NDArray[np.int64]] = [_NONE]
    if not len(documents):
        return _NONE
    for number in range(len(known)):
        one = known.at(slice(number, number + 1))
        indexes = located(segment, documents, one)
        kept.append(_matched(segment, one, (0,), (distance,), fields, documents, indexes, matches))
    return np.sort(np.concatenate(kept))


def _matched(
    segment: Segment,
    known: Entries,
    rows: Sequence[int],
    distances: Sequence[int],
    fields: int,
    documents: Ints,
    indexes: Ints,
    matches: Ints | None,
) -> Ints:
    """Keep the places at which atoms, given by their rows, follow; None: any there are.

    Raises:
      DamagedSegmentError.
    """
    if matches is None:
        # An occurrence has at least one byte; pages of the room that nobody writes to are never in memory.
        first = known.found[rows[0]]
        room = np.empty(int(first[PLACE_END] - first[PLACE]), np.int64)
    else:
        room = matches.copy()
    damage = np.empty(2, np.int64)
    n = match_atoms(
        segment.lists,
        known.found,
        np.array(rows, np.int64),
        np.array(distances, np.int64),
        fields,
        documents,
        indexes,
        -1 if matches is None else len(room),
        room,
        damage,
    )
    segment.refuse_postings(int(damage[0]))
    segment.refuse_positions(int(damage[1]))
    return room[:n]
