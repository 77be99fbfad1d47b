"""What an index is asked: a query, the same value on every peer.

`parse_query` makes one of what was typed:

    words               all must occur, in any field (Mode.AND), or at least one (Mode.OR)
    "some words"        must occur literally, in one field; in both modes
    -word -"some words" must not occur, literally
    site:host -site:host   only (not) pages of the host and its subdomains

Nothing typed is an error: what cannot be understood is searched as text, or ignored when it has no
letters. Chinese quotation marks “ ” and 「 」 quote as well, and full-width － and ： work.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from enum import IntEnum, StrEnum
from math import inf, isfinite, isnan
from typing import Final

import ada_url
import msgspec

from peers.index.analysis import atom_key, atoms, query_terms
from peers.index.kernels import FIELD_COUNT
from peers.index.segment import HOST_PREFIX

# The longest of 50,000 real queries (TREC terabyte) has fewer than 300 characters.
QUERY_CHARS_MAX: Final = 1000
# Each entry costs every peer a pass over its postings; kernels count required ones in one byte.
REQUIRED_MAX: Final = 64
SCORING_MAX: Final = 192  # with the former at most `messages.TERMS_MAX` statistics a query
# Each literal costs a pass over several postings.
CLAUSES_MAX: Final = 32
LITERALS_MAX: Final = 64  # in all clauses together
LITERAL_ENTRIES_MAX: Final = 64
DISTANCE_MAX: Final = 1000  # atoms of the longest query
WEIGHT_MAX: Final = 100.0

LANGUAGE_PREFIX: Final = "\x04"
TYPE_PREFIX: Final = "\x05"

ANY_FIELD: Final = 0


class Mode(StrEnum):
    """Whether all words must occur or one is enough."""

    AND = "and"
    OR = "or"


class Order(StrEnum):
    """By what hits are ordered; ties by URL."""

    SCORE = "score"  # the best first
    DATE = "date"  # the latest first


class Kind(IntEnum):
    """When a literal holds for a document."""

    WORDS = 0  # all entries occur
    PHRASE = 1  # the entries occur in one field at their distances from a common place
    SITE = 2  # one of the entries occurs, as also for the next two
    LANGUAGE = 3
    TYPE = 4
    DATE = 5  # low <= its date < high


class Literal(msgspec.Struct, frozen=True, array_like=True):
    """A condition on documents.

    In a phrase, \\x01 and ONE character stands for every atom that begins with that character.
    """

    kind: Kind
    entries: tuple[str, ...] = ()  # of the dictionary, with their prefixes
    distances: tuple[int, ...] = ()  # PHRASE: of each entry from the start, in atoms
    fields: int = ANY_FIELD  # PHRASE: bits of the fields it may be in, 1 << field in the order of `segment`
    negated: bool = False  # holds where the rest does not
    low: float = -inf  # DATE: seconds since the epoch
    high: float = inf

    def check_limits(self) -> None:
        """Raise ValueError for what `parse_query` does not make."""
        if len(self.entries) > LITERAL_ENTRIES_MAX or not (self.entries or self.kind is Kind.DATE):
            raise ValueError(f"more than {LITERAL_ENTRIES_MAX} entries in a literal, or none")
        if not all(self.entries):
            raise ValueError("an entry of a literal is empty")
        n_distances = len(self.entries) if self.kind is Kind.PHRASE else 0
        if len(self.distances) != n_distances or not all(0 <= d <= DISTANCE_MAX for d in self.distances):
            raise ValueError(f"distances are not one for each entry, or more than {DISTANCE_MAX}")
        if not 0 <= self.fields < 1 << FIELD_COUNT or (self.fields and self.kind is not Kind.PHRASE):
            raise ValueError(f"no such fields: {self.fields}")
        if isnan(self.low) or isnan(self.high):
            raise ValueError("a date is no number")


class Query(msgspec.Struct, frozen=True, array_like=True):
    """A query, analysed. Entries are those of the dictionary, see `analysis`.

    A document matches if in every clause a literal holds (conjunctive normal form) and

    * Mode.AND: every required entry occurs;
    * Mode.OR: at least one required or scoring entry occurs, where there are such.

    Its score is the sum over the scoring entries of weight times BM25F, see `ranking`.
    """

    required: tuple[str, ...] = ()  # distinct
    scoring: tuple[str, ...] = ()  # distinct
    weights: tuple[float, ...] = ()  # of the scoring entries; 1.0 for a term as it was typed
    clauses: tuple[tuple[Literal, ...], ...] = ()
    mode: Mode = Mode.AND
    order: Order = Order.SCORE

    def check_limits(self) -> None:
        """Raise ValueError when a query, made elsewhere than in `parse_query`, is beyond the limits.

        `View.search` does it: kernels rely on the limits.
        """
        if len(self.required) > REQUIRED_MAX or len(self.scoring) > SCORING_MAX:
            raise ValueError(f"more than {REQUIRED_MAX} required entries, or {SCORING_MAX} that score")
        for entries in (self.required, self.scoring):
            if len(set(entries)) != len(entries) or not all(entries):
                raise ValueError("an entry is empty or there twice")
        if len(self.weights) != len(self.scoring):
            raise ValueError("there is not one weight for each entry that scores")
        if not all(isfinite(weight) and 0 <= weight <= WEIGHT_MAX for weight in self.weights):
            raise ValueError(f"a weight is not between 0 and {WEIGHT_MAX}")
        if len(self.clauses) > CLAUSES_MAX or not all(self.clauses):
            raise ValueError(f"more than {CLAUSES_MAX} clauses, or one is empty")
        if sum(map(len, self.clauses)) > LITERALS_MAX:
            raise ValueError(f"more than {LITERALS_MAX} literals")
        for clause in self.clauses:
            for literal in clause:
                literal.check_limits()

    @property
    def terms(self) -> tuple[str, ...]:
        """The distinct entries whose statistics a search needs: those that score, and those required."""
        return tuple(dict.fromkeys(self.scoring + self.required))

    @property
    def is_empty(self) -> bool:
        """Whether nothing is asked for, only something left out: such a query matches no document."""
        has_positive = any(not literal.negated for clause in self.clauses for literal in clause)
        return not (self.required or self.scoring or has_positive)

    def with_mode(self, mode: Mode) -> Query:
        """Return the query in another mode."""
        return msgspec.structs.replace(self, mode=mode)


def term_query(terms: Iterable[str], mode: Mode = Mode.AND) -> Query:
    """Return the query for plain terms of the dictionary, all of which score alike."""
    distinct = tuple(dict.fromkeys(terms))
    return Query(required=distinct, scoring=distinct, weights=(1.0,) * len(distinct), mode=mode)


def phrase_of(text: str, *, fields: int = ANY_FIELD, negated: bool = False) -> Literal | None:
    """Return the literal for a text as it stands, None when there is no letter in it."""
    entries = tuple(atom_key(atom) for atom in atoms(text)[:LITERAL_ENTRIES_MAX])
    if not entries:
        return None
    return Literal(Kind.PHRASE, entries, tuple(range(len(entries))), fields, negated)


_PART = re.compile(
    r"""(?P<minus>(?:(?<=\s)|(?<=^))[-－])?
        (?: ["“”„「『＂](?P<quoted>[^"“”「」『』＂]*)["“”」』＂]?
          | site[:：](?P<site>[^\s"“”]+)
          | (?P<bare>(?:(?!\ssite[:：])[^"“”„「『＂\s])+) )""",
    re.VERBOSE | re.IGNORECASE,
)


def parse_query(text: str, mode: Mode = Mode.AND) -> Query:
    """Parse a query as typed; never raises. What is beyond the limits is ignored."""
    clauses: dict[tuple[Literal, ...], None] = {}
    sites: dict[str, None] = {}
    bare: list[str] = []
    quoted: list[str] = []
    for part in _PART.finditer(text[:QUERY_CHARS_MAX]):
        is_excluded = part["minus"] is not None
        host = _host_of(part["site"]) if part["site"] else ""
        if host and is_excluded:
            clauses[(Literal(Kind.SITE, (HOST_PREFIX + host,), negated=True),)] = None
        elif host:
            sites[HOST_PREFIX + host] = None
        else:
            typed = part["quoted"] or part["bare"] or part["site"] or ""
            literal = phrase_of(typed, negated=is_excluded) if part["quoted"] or is_excluded else None
            if literal:
                clauses[(literal,)] = None
                quoted += [] if is_excluded else [typed]
            else:
                bare.append(typed)
    terms = query_terms(" ".join(bare))
    scoring = dict(zip(terms.scoring, terms.weights, strict=True))
    literal_terms = query_terms(" ".join(quoted))
    for term, weight in zip(literal_terms.scoring, literal_terms.weights, strict=True):
        scoring.setdefault(term, weight)
    conditions = [(Literal(Kind.SITE, tuple(sites)[:LITERAL_ENTRIES_MAX]),)] if sites else []
    return Query(
        required=terms.required[:REQUIRED_MAX],
        scoring=tuple(scoring)[:SCORING_MAX],
        weights=tuple(scoring.values())[:SCORING_MAX],
        clauses=(*conditions, *clauses)[:CLAUSES_MAX],
        mode=mode,
    )


def _host_of(site: str) -> str:
    """Return the host that was meant, as canonical URLs spell it, "" when there is none."""
    try:
        host: str = ada_url.URL(site if "://" in site else f"http://{site.lstrip('*.')}").hostname
    except ValueError:
        return ""
    return host
