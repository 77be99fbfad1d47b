"""Understand what the user typed.

    words               all must occur, in any field (Mode.AND), or at least one (Mode.OR)
    "some words"        must occur literally, in one field; in both modes
    -word -"some words" must not occur, literally
    site:host -site:host   only (not) pages of the host and its subdomains

Nothing typed is an error: what cannot be understood is searched as text, or ignored when it has no
letters. Chinese quotation marks “ ” and 「 」 quote as well, and full-width － and ： work.
"""

from __future__ import annotations

import re
from enum import StrEnum

import ada_url
import msgspec

from peers.index.analysis import analyse, atom_key, atoms

# The longest of 50,000 real queries (TREC terabyte) has fewer than 300 characters.
QUERY_CHARS_MAX = 1000
# Each term costs every peer a pass over its postings; kernels count matched terms in one byte.
QUERY_TERMS_MAX = 64
# Literal parts (phrases, exclusions) and sites: each costs a pass over several postings.
QUERY_PHRASES_MAX = 16
QUERY_SITES_MAX = 16


class Mode(StrEnum):
    """Whether all words must occur or one is enough."""

    AND = "and"
    OR = "or"


class Query(msgspec.Struct, frozen=True, array_like=True):
    """A query, analysed; the same value on every peer. Terms and atoms are those of `analysis`."""

    words: tuple[str, ...] = ()  # distinct terms outside quotation marks
    phrases: tuple[tuple[str, ...], ...] = ()  # dictionary entries of consecutive atoms
    phrase_words: tuple[str, ...] = ()  # distinct terms of the phrases that are not in words: they only score
    excluded: tuple[tuple[str, ...], ...] = ()  # like phrases; documents with one of them do not match
    sites: tuple[str, ...] = ()  # host names in lower-case ASCII; one of them must fit
    excluded_sites: tuple[str, ...] = ()
    mode: Mode = Mode.AND

    def check_limits(self) -> None:
        """Raise ValueError when a query, made elsewhere than in `parse_query`, is beyond the limits.

        `View.search` does it: kernels rely on the limits.
        """
        if len(self.terms) > QUERY_TERMS_MAX:
            raise ValueError(f"more than {QUERY_TERMS_MAX} terms: {len(self.terms)}")
        for phrases in (self.phrases, self.excluded):
            if len(phrases) > QUERY_PHRASES_MAX or not all(0 < len(p) <= QUERY_TERMS_MAX for p in phrases):
                raise ValueError(f"more than {QUERY_PHRASES_MAX} phrases, or one is empty or too long")
        if max(len(self.sites), len(self.excluded_sites)) > QUERY_SITES_MAX:
            raise ValueError(f"more than {QUERY_SITES_MAX} sites")

    @property
    def terms(self) -> tuple[str, ...]:
        """The distinct terms that score: those whose statistics a search needs."""
        return self.words + self.phrase_words

    @property
    def is_empty(self) -> bool:
        """Whether nothing is asked for: such a query matches no document."""
        return not (self.words or self.phrases or self.sites)

    def with_mode(self, mode: Mode) -> Query:
        """Return the query in another mode."""
        return msgspec.structs.replace(self, mode=mode)


_PART = re.compile(
    r"""(?P<minus>(?:(?<=\s)|(?<=^))[-－])?
        (?: ["“”„「『＂](?P<quoted>[^"“”「」『』＂]*)["“”」』＂]?
          | site[:：](?P<site>[^\s"“”]+)
          | (?P<bare>(?:(?!\ssite[:：])[^"“”„「『＂\s])+) )""",
    re.VERBOSE | re.IGNORECASE,
)


def parse_query(text: str, mode: Mode = Mode.AND) -> Query:
    """Parse a query as typed; never raises. What is beyond the limits is ignored."""
    words: dict[str, None] = {}
    phrase_words: dict[str, None] = {}
    phrases: dict[tuple[str, ...], None] = {}
    excluded: dict[tuple[str, ...], None] = {}
    sites: dict[str, None] = {}
    excluded_sites: dict[str, None] = {}
    bare: list[str] = []
    for part in _PART.finditer(text[:QUERY_CHARS_MAX]):
        is_excluded = part["minus"] is not None
        host = _host_of(part["site"]) if part["site"] else ""
        if host:
            (excluded_sites if is_excluded else sites)[host] = None
            continue
        literal = part["quoted"] or part["bare"] or part["site"] or ""
        entries = tuple(atom_key(atom) for atom in atoms(literal)[:QUERY_TERMS_MAX])
        if is_excluded and entries:
            excluded[entries] = None
        elif part["quoted"] and entries:
            phrases[entries] = None
            phrase_words.update(dict.fromkeys(analyse(literal)))
        else:
            bare.append(literal)
    words.update(dict.fromkeys(term for literal in bare for term in analyse(literal)))
    kept_words = tuple(words)[:QUERY_TERMS_MAX]
    more_words = tuple(word for word in phrase_words if word not in words)
    return Query(
        words=kept_words,
        phrases=tuple(phrases)[:QUERY_PHRASES_MAX],
        phrase_words=more_words[: QUERY_TERMS_MAX - len(kept_words)],
        excluded=tuple(excluded)[:QUERY_PHRASES_MAX],
        sites=tuple(sites)[:QUERY_SITES_MAX],
        excluded_sites=tuple(excluded_sites)[:QUERY_SITES_MAX],
        mode=mode,
    )


def _host_of(site: str) -> str:
    """Return the host that was meant, as canonical URLs spell it, "" when there is none."""
    try:
        host: str = ada_url.URL(site if "://" in site else f"http://{site.lstrip('*.')}").hostname
    except ValueError:
        return ""
    return host
