"""A query to an index: the same value on every peer.

What must occur is said beside what scores: entries of the dictionary that all must occur, and clauses, in
conjunctive normal form, of literals that hold for a document or do not. `query_parser` makes one of what is
typed.
"""

from __future__ import annotations

from enum import IntEnum, StrEnum
from math import inf, isnan
from typing import Final

import msgspec

from peers.engine.native.kernels import FIELD_COUNT
from peers.text.analysis import literal_of
from peers.text.stemming import NATIVE_STEMMERS

# Each entry costs every peer a pass over its postings; kernels count required ones in one byte.
REQUIRED_MAX: Final = 64
SCORING_MAX: Final = 192  # with the former at most `wire_messages.TERMS_MAX` statistics a query
# Each literal costs a pass over several postings.
CLAUSES_MAX: Final = 32
LITERALS_MAX: Final = 64  # in all clauses together
LITERAL_ENTRIES_MAX: Final = 64
DISTANCE_MAX: Final = 1000  # atoms of the longest query
WEIGHT_MAX: Final = 100.0

ANY_FIELD: Final = 0
TITLE_FIELD: Final = 1 << 0
HEADINGS_FIELD: Final = 1 << 2
TEXT_FIELD: Final = 1 << 3
URL_FIELD: Final = 1 << 4


class Mode(StrEnum):
    """Whether all words must occur or one is enough."""

    AND = "and"
    OR = "or"


class Sort(StrEnum):
    """The sort order of hits; ties by URL."""

    SCORE = "score"  # the best first
    DATE = "date"  # the latest first


class LiteralKind(IntEnum):
    """When a literal holds for a document."""

    WORDS = 0  # all entries occur
    PHRASE = 1  # the entries occur in one field at their distances from a common place
    SITE = 2  # one of the entries occurs, as also for the next two
    LANGUAGE = 3
    TYPE = 4
    DATE = 5  # low <= its date < high
    CLASS = 6  # it is in one of the classes, or below one
    # It is a directory, and one of its files has at least `low` bytes and is of `high` or later, and has all
    # entries in its name or in the path of the directory.
    FILE = 7


_KINDS_OF_ADDRESS: Final = (LiteralKind.SITE, LiteralKind.DATE, LiteralKind.FILE)
_WITHOUT_ENTRIES: Final = (LiteralKind.DATE, LiteralKind.FILE)
_PHRASE: Final = (
    LiteralKind.PHRASE
)  # looked up once: at every literal it would be a part of what checking costs


class Literal(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """A condition on documents.

    In a phrase, \\x01 and ONE character stands for every atom that begins with that character.
    """

    kind: LiteralKind
    entries: tuple[str, ...] = ()  # of the dictionary, with their prefixes
    distances: tuple[int, ...] = ()  # PHRASE: of each entry from the start, in atoms
    fields: int = ANY_FIELD  # PHRASE: bits of the fields it may be in, 1 << field, see `segment_format`
    negated: bool = False  # holds where the rest does not
    low: float = -inf  # DATE: seconds since the epoch; FILE: bytes
    high: float = inf  # seconds since the epoch; of FILE the earliest, -inf for any

    def check_limits(self) -> None:
        """Raise ValueError for a literal that `parse_query` does not make."""
        entries, distances, kind = self.entries, self.distances, self.kind
        if len(entries) > LITERAL_ENTRIES_MAX or not (entries or kind in _WITHOUT_ENTRIES):
            raise ValueError(f"more than {LITERAL_ENTRIES_MAX} entries in a literal, or none")
        if "" in entries:
            raise ValueError("an entry of a literal is empty")
        n_distances = len(entries) if kind is _PHRASE else 0
        if len(distances) != n_distances or (
            distances and not 0 <= min(distances) <= max(distances) <= DISTANCE_MAX
        ):
            raise ValueError(f"distances are not one for each entry, or more than {DISTANCE_MAX}")
        if not 0 <= self.fields < 1 << FIELD_COUNT or (self.fields and kind is not _PHRASE):
            raise ValueError(f"no such fields: {self.fields}")
        if isnan(self.low) or isnan(self.high):
            raise ValueError("a date or a size is no number")


class Query(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """A query, analysed. Entries are those of the dictionary, see `analysis`.

    A document matches if in every clause a literal holds (conjunctive normal form) and

    * Mode.AND: every required entry occurs, and of each of the alternatives a literal holds;
    * Mode.OR: at least one required or scoring entry occurs, where there are such.

    Its score is the sum over the scoring entries of weight times BM25F, see `ranking`.
    """

    required: tuple[str, ...] = ()  # distinct
    scoring: tuple[str, ...] = ()  # distinct
    weights: tuple[float, ...] = ()  # of the scoring entries; 1.0 for a term as it was typed
    clauses: tuple[tuple[Literal, ...], ...] = ()
    mode: Mode = Mode.AND
    order: Sort = Sort.SCORE
    language: str = ""  # whose forms the entries of forms are, see `native_forms`; "" for `form_of`
    has_copies: bool = False  # copies are found, too, for which another page stands
    alternatives: tuple[tuple[Literal, ...], ...] = ()  # required as entries are: X900, or X beside 900

    def check_limits(self) -> None:
        """Raise ValueError when a query, made elsewhere than in `parse_query`, is beyond the limits.

        `View.search` does it: kernels rely on the limits.
        """
        if len(self.required) > REQUIRED_MAX or len(self.scoring) > SCORING_MAX:
            raise ValueError(f"more than {REQUIRED_MAX} required entries, or {SCORING_MAX} that score")
        _check_distinct(self.scoring)
        if self.required and self.required != self.scoring:
            _check_distinct(self.required)
        if len(self.weights) != len(self.scoring):
            raise ValueError("there is not one weight for each entry that scores")
        for weight in self.weights:
            if not 0 <= weight <= WEIGHT_MAX:  # NaN is not either
                raise ValueError(f"a weight is not between 0 and {WEIGHT_MAX}")
        if self.language and self.language not in NATIVE_STEMMERS:
            raise ValueError("there are no forms of that language")
        if not self.clauses and not self.alternatives:
            return
        clauses = self.clauses + self.alternatives
        if len(clauses) > CLAUSES_MAX or not all(clauses):
            raise ValueError(f"more than {CLAUSES_MAX} clauses, or one is empty")
        if sum(map(len, clauses)) > LITERALS_MAX:
            raise ValueError(f"more than {LITERALS_MAX} literals")
        for clause in clauses:
            for literal in clause:
                literal.check_limits()

    @property
    def terms(self) -> tuple[str, ...]:
        """The distinct entries that a search needs statistics of: those that score, and those required."""
        return tuple(dict.fromkeys(self.scoring + self.required))

    @property
    def sees_copies(self) -> bool:
        """Are copies found? Where it is asked for, and where a page may match for which another stands.

        Copies have title and text in common, but neither host and URL nor date.
        """
        if self.has_copies or not self.clauses:
            return self.has_copies
        for clause in self.clauses:
            for literal in clause:
                if literal.kind in _KINDS_OF_ADDRESS or literal.fields & URL_FIELD:
                    return True
        return False

    @property
    def is_empty(self) -> bool:
        """Whether nothing is asked for, only something left out: such a query matches no document."""
        if self.required or self.scoring or self.alternatives:
            return False
        return all(literal.negated for clause in self.clauses for literal in clause)

    def with_mode(self, mode: Mode) -> Query:
        """Return the query in another mode."""
        return msgspec.structs.replace(self, mode=mode)


def _check_distinct(entries: tuple[str, ...]) -> None:
    if len(set(entries)) != len(entries) or "" in entries:
        raise ValueError("an entry is empty or there twice")


def phrase_of(text: str, *, fields: int = ANY_FIELD, negated: bool = False) -> Literal | None:
    """Return the literal for a text as it stands, None when there is no letter in it."""
    entries, distances = literal_of(text)
    if not entries:
        return None
    return Literal(
        LiteralKind.PHRASE,
        tuple(entries[:LITERAL_ENTRIES_MAX]),
        tuple(distances[:LITERAL_ENTRIES_MAX]),
        fields,
        negated,
    )
