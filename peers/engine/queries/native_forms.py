"""Readings of a query in languages with word forms of their own, and which of them it means.

A short query does not tell its language, but the pages do: words are in more of them by the stem of their own
language than by the English one, which pages of all languages have. Then either stem is required, and both
score; and for a word that is a compound its parts score too, if both are words of some page. Numbers over
the whole mesh decide, so the outcome is the same however many peers there are. Stems of two languages may be
one entry (`pars` is the Portuguese stem of `parser` and the English one of `parse`), so a stem counts for a
language in no more pages than are in that language: a single Portuguese page does not outweigh English ones.

Measured on the German LibreOffice help (6,604 queries of its index, every twelfth), MRR@10 by BM25F: .554
with English stems only, .582 with German ones, .604 with parts; .619 by the full model. With the parts of the
words of pages as entries it was better by .02; but what a peer finds in its own dictionary another does not,
and a library that splits is one more thing that all peers must have alike.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from functools import lru_cache
from itertools import chain
from math import log1p
from typing import Final, NamedTuple

import msgspec

from peers.engine.pages.filter_entries import LANGUAGE_PREFIX
from peers.engine.queries.query import CLAUSES_MAX, LITERALS_MAX, SCORING_MAX, Literal, LiteralKind, Query
from peers.text.analysis import FORM_WEIGHT
from peers.text.folding import fold
from peers.text.function_words import language_of_function_words
from peers.text.runs import runs_of
from peers.text.stemming import COMPOUNDING, NATIVE_STEMMERS, form_of, native_forms_of, parts_of

# Entries to be counted besides those of the query; three long words in all languages have some 100.
ENTRIES_MAX: Final = 128
# The beginning of long queries says in which language they are; they have function words besides.
WORDS_MAX: Final = 12
# Words of queries come again and again, and are looked at in all languages.
WORDS_CACHED: Final = 2_048
# Of a part of a compound; from .5 to .8 it is the same within .002.
PART_WEIGHT: Final = 0.5 * FORM_WEIGHT
# What the English form of a word keeps of its weight beside the one of its language: halves were not fitted;
# from .35 to .5 German and French queries are the same within .006.
TYPED_SHARE: Final = 0.5

_ENGLISH: Final = LANGUAGE_PREFIX + "en"
LANGUAGES: Final = tuple(NATIVE_STEMMERS)
# An entry of nothing in a dictionary: of the pages in any of these languages, together.
ANY_LANGUAGE: Final = LANGUAGE_PREFIX


class NativeForms(NamedTuple):
    """The words of a query in one language."""

    language: str
    forms: tuple[tuple[str, str], ...]  # `form_of` and `native_form_of` of words where they differ
    compounds: tuple[tuple[tuple[str, str], ...], ...]  # of words that may be some, `parts_of` each
    entries: tuple[str, ...]  # that have to be counted


@lru_cache(WORDS_CACHED)
def _words_in(text: str) -> tuple[dict[str, None], list[str]]:
    """Return the runs of a text, and those of them that may have another form in another language."""
    runs = dict.fromkeys(runs_of(fold(text)))
    return runs, [word for word in runs if word.isascii() and form_of(word)][:WORDS_MAX]


def has_forms(text: str) -> bool:
    """Tell whether it matters in which language a typed text is."""
    return bool(_words_in(text)[1])


def native_forms(
    text: str, wanted: str = "", languages: Collection[str] = LANGUAGES
) -> tuple[NativeForms, ...]:
    """Return how a typed text reads in each language that it may be in, as far as `ENTRIES_MAX` goes.

    Args:
      wanted: the only language that pages may be in, "" for any.
      languages: those that any pages are in, as far as they have forms of their own: others cannot be meant.
    """
    runs, words = _words_in(text)
    if not words or not languages:
        return ()
    spoken = wanted or language_of_function_words(runs)
    possible = [each for each in LANGUAGES if each in languages and (each == spoken or not spoken)]
    found: list[NativeForms] = []
    entries: set[str] = set()
    forms_in: dict[str, list[tuple[str, str]]] = {}
    for word in words if possible else ():
        form = form_of(word)
        for language, native in _natives_of(word, tuple(possible)).items():
            forms_in.setdefault(language, []).append((form, native))
    for language in possible:
        forms = forms_in.get(language, [])
        is_compounding = language in COMPOUNDING
        compounds = tuple(filter(None, [_parts_of(w, language) for w in words])) if is_compounding else ()
        if forms or compounds:
            parts = chain.from_iterable(chain.from_iterable(compounds))
            to_count = (_ENGLISH, LANGUAGE_PREFIX + language, *[native for _, native in forms], *parts)
            if len(entries.union(to_count)) <= ENTRIES_MAX:
                entries.update(to_count)
                found.append(NativeForms(language, tuple(forms), compounds, tuple(dict.fromkeys(to_count))))
    return tuple(found)


def entries_of_languages(languages: Sequence[str]) -> tuple[str, ...]:
    """Return the entries whose counts tell whether pages are in these languages, and in no others."""
    return (ANY_LANGUAGE, *[LANGUAGE_PREFIX + language for language in languages])


def languages_among(languages: Sequence[str], doc_freqs: Mapping[str, int]) -> tuple[str, ...] | None:
    """Return those of some languages that pages are in; None where pages are in others, too.

    Args:
      doc_freqs: of `entries_of_languages`, over the mesh.
    """
    counts = {language: doc_freqs[LANGUAGE_PREFIX + language] for language in languages}
    if sum(counts.values()) != doc_freqs[ANY_LANGUAGE] and len(languages) < len(LANGUAGES):
        return None
    return tuple([language for language, n in counts.items() if n])


_natives_of = lru_cache(WORDS_CACHED)(native_forms_of)


@lru_cache(WORDS_CACHED)
def _parts_of(word: str, language: str) -> tuple[tuple[str, str], ...]:
    return tuple(parts_of(word, language))


def with_native_forms(query: Query, readings: Sequence[NativeForms], doc_freqs: Mapping[str, int]) -> Query:
    """Return the query in the language that it means.

    Args:
      readings: of what was typed.
      doc_freqs: of the query's terms and all entries of the readings, over the mesh.
    """
    reading = _meant(readings, doc_freqs)
    if reading is None:
        return query
    native_of = dict(reading.forms)
    scoring: dict[str, float] = {}
    for entry, weight in zip(query.scoring, query.weights, strict=True):
        native = native_of.get(entry)
        if native is not None:
            scoring[native] = max((1 - TYPED_SHARE) * weight, scoring.get(native, 0.0))
            weight *= TYPED_SHARE
        scoring[entry] = max(weight, scoring.get(entry, 0.0))
    for part, weight in _parts_in(reading, doc_freqs).items():
        scoring.setdefault(part, weight)
    clauses = _with_own(query.clauses, native_of, LITERALS_MAX - sum(map(len, query.alternatives)))
    literals = sum(map(len, clauses + query.alternatives))
    room = min(CLAUSES_MAX - len(clauses) - len(query.alternatives), (LITERALS_MAX - literals) // 2)
    either = [entry for entry in query.required if entry in native_of][:room]
    return msgspec.structs.replace(
        query,
        # Those without room, of queries with very many conditions, are wanted in the form of the language.
        required=tuple(dict.fromkeys(native_of.get(e, e) for e in query.required if e not in either)),
        scoring=tuple(scoring)[:SCORING_MAX],
        weights=tuple(scoring.values())[:SCORING_MAX],
        clauses=clauses,
        language=reading.language,
        alternatives=query.alternatives + tuple((_word(e), _word(native_of[e])) for e in either),
    )


def _word(entry: str) -> Literal:
    return Literal(LiteralKind.WORDS, (entry,))


def _with_own(
    clauses: tuple[tuple[Literal, ...], ...], native_of: Mapping[str, str], literals_max: int
) -> tuple[tuple[Literal, ...], ...]:
    """Return clauses that hold for words in the forms of a language, too, as far as there is room."""
    room = literals_max - sum(map(len, clauses))
    found = []
    for clause in clauses:
        own = [_in_own_forms(each, native_of) for each in clause if each.kind is LiteralKind.WORDS]
        more = [each for each in own if each not in clause][:room]
        room -= len(more)
        found.append((*clause, *more))
    return tuple(found)


def _in_own_forms(literal: Literal, native_of: Mapping[str, str]) -> Literal:
    entries = tuple(dict.fromkeys(native_of.get(entry, entry) for entry in literal.entries))
    return msgspec.structs.replace(literal, entries=entries)


def _meant(readings: Sequence[NativeForms], doc_freqs: Mapping[str, int]) -> NativeForms | None:
    """Return the language that a query is in; None when its words are as good in English.

    Where the forms tell nothing, being the same, it is the language of most pages, if that has compounds.
    A form in a language is at most in the pages of that language: what is beyond has another's form.

    Args:
      doc_freqs: of all entries, over the mesh.
    """
    best: tuple[float, int] = (0.0, 0)
    chosen = None
    n_english = doc_freqs.get(_ENGLISH, 0)
    for each in readings:
        n_pages = doc_freqs.get(LANGUAGE_PREFIX + each.language, 0)
        if not n_pages:
            continue
        gain = sum(
            _log(min(doc_freqs.get(native, 0), n_pages)) - _log(doc_freqs.get(form, 0))
            for form, native in each.forms
        )
        if (gain, n_pages) > best and (gain > 0 or n_pages > n_english):
            best, chosen = (gain, n_pages), each
    return chosen


def _parts_in(reading: NativeForms, doc_freqs: Mapping[str, int]) -> dict[str, float]:
    """Return the parts of compounds that are words of the pages, and their weights."""
    parts: dict[str, float] = {}
    for ways in reading.compounds:
        worths = [doc_freqs.get(head, 0) * doc_freqs.get(tail, 0) for head, tail in ways]
        if most := max(worths):
            parts.update(dict.fromkeys(ways[worths.index(most)], PART_WEIGHT))
    return parts


@lru_cache(WORDS_CACHED)
def _log(doc_freq: int) -> float:
    # To 2^-24, as of all logarithms that decide: those of different C libraries may differ in the last bit.
    return round(log1p(doc_freq) * (1 << 24)) / (1 << 24)
