"""Turn text into terms: those that the index stores of a text and those that a query asks for.

Theory of operation
  `folding` makes spellings equal, `runs` cuts a folded text into runs, and each run becomes terms:

  * a Han run: jieba's search mode (words of the sentence plus the dictionary words of two and three
    characters inside them), see `segmentation`.
  * a run of kana, Hangul or rare ideographs: its pairs, see below.
  * a run of Thai, Lao, Khmer or Burmese: its clusters two by two, see `runs`.
  * a word: itself.

  Function words are kept: phrases need them. Queries that are sentences leave them out of the score.

  Beside these there are entries without positions: forms (`stemming`), `compounds` and `spellings`.

Positions
  jieba's search mode emits overlapping words and cuts a phrase otherwise than the sentence it came from,
  so positions of *words* cannot answer phrase queries. Positions therefore count **atoms**: an atom is
  one Han, kana or Hangul character, one cluster, or one word of another script.
  Separators take no position. The atom
  of a character is entered as the *pair* of it and the next one of its run, the last one of a run alone:
  pairs are rare where characters are common, and every second one says all of a phrase. That of a cluster is
  entered as it is, between two prefixes.

  The atoms of a text do not depend on context but for the last one of a run, so any stretch of a text cut
  at atom borders, asked as a phrase (`literal_of`), is found, always, and nothing else is. Segmented words
  have no positions, only frequencies, so positions cost no more than they would for words.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import accumulate, pairwise
from operator import itemgetter
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from peers.text.compounds import COMPOUND_PREFIX, HYPHEN, Meaning, compounds_of, spans_of
from peers.text.folding import fold, other_forms
from peers.text.function_words import function_words_of
from peers.text.regional_words import OTHERS_MAX, regional_words
from peers.text.runs import KIND_OF_CHARACTER, RunKind, clusters_of, kind_of, runs_of
from peers.text.segmentation import NO_USER_WORDS, UserWords, segment_han, words_of
from peers.text.spellings import spellings_of
from peers.text.stemming import form_of, native_form_of, native_language
from peers.text.synonyms import NO_SYNONYMS, Synonyms

# No natural word is longer; a base64 blob cut here costs one dictionary entry of bounded size.
TERM_CHARS_MAX = 64


def analyse(text: str) -> list[str]:
    """Return the terms of a text in order; deterministic, and the same on every peer of one version."""
    return [term for run in runs_of(fold(text)) for term in _terms_of_run(run)]


class EitherOf(NamedTuple):
    """A word that pages have in one of several ways; of those that must all occur."""

    ways: tuple[tuple[str, ...], ...]  # at most WAYS_MAX, as it was typed first: entries side by side


class QueryTerms(NamedTuple):
    """The entries that a typed text is searched by; of the dictionary, distinct, in the order of the text."""

    required: tuple[str, ...]  # each must occur where all words must
    scoring: tuple[str, ...]  # what a document's score is the sum over
    weights: tuple[float, ...]  # the factor on the score of each of them; 1.0 for a term as it was typed
    alternatives: tuple[EitherOf, ...] = ()  # required likewise; distinct


def query_terms(
    text: str, synonyms: Synonyms = NO_SYNONYMS, user_words: UserWords = NO_USER_WORDS
) -> QueryTerms:
    """Say by which entries of the dictionary documents about a typed text are found and scored.

    A word scores by itself and by its form, a Han word by itself and by the pairs of its characters and
    those around it: what is segmented otherwise than in the page still counts. Required is what every
    page has in which the words stand, in whatever form and however segmented: forms, and the pairs inside
    words; of a word that is another one in another region, or has synonyms, either. A word of the mesh is one
    word, not those that the dictionary makes of it (`user_words`). Function words are
    required only of who types nothing else; beside `SENTENCE_WORDS` others they do not score either. What is
    typed twice counts twice.
    """
    spellings = () if text.isascii() else spellings_of(text)
    return _Reading(fold(text), spellings, synonyms, user_words).terms()


# Chosen on the judged collections, on all of their queries, with the weights of fields as they were then; for
# figures on queries left out see `ranking`. Forms: nDCG@10 on Cranfield
# .371 to .394, MRR@10 on the English LibreOffice help .579 to .645; anything from .1 to .4 for the exact word
# is as good. Pairs, with the words of the sentence instead of search mode: MRR@10 on the Chinese help .605
# to .630, on CMRC 2018 .980 to .988; word and pair from .25 to .7 each are within .002.
EXACT_WEIGHT = 0.15  # of a word that has a form; CISI .3835 to .3916 and NPL .4310 to .4393 beside .3
FORM_WEIGHT = 1.4
HAN_WORD_WEIGHT = 0.5
HAN_PAIR_WEIGHT = 0.75
# Of a name as it is written (`pg_dump_all`), beside its words. Names in headings of one page alone, MRR@10:
# PostgreSQL manual .746 at .5, .796 at 1, .833 at 2, .857 at 4; Apache .749, .787, .810, .818. With hyphens
# it was kept at 2: .499 without entries to .770, .578 to .863; four manuals left out .851 to .919, .877 to
# .964, .792 to .957, .631 to .881 (node, npm, a handbook, a guide). Sentences lost .001 to .004 by them.
COMPOUND_WEIGHT = 2.0
# Of words joined by hyphens beside others. Queries of LibreOffice's index, MRR@10 without, at .5, 1:
# German (584) .7319, .7310, .7306, at 2 .7236; English (156) .7072, .7113, .7159; French (187) .5855, .5864,
# .5821; all three were in view when .5 was taken.
HYPHENED_WEIGHT = 0.5
# On the words that X-900 is made of: what it is found by as X900 weighs as the form of a word does.
PART_FACTOR = 0.5
# Of a pair as it is written in Chinese or in Japanese, where that is not what was typed: behind all that is.
OTHER_FORM_WEIGHT = 0.25
# Of a pair of the word that another region has. Chosen on a quarter of the queries of one source and kept on
# another quarter; for figures see `tests/benchmarks/HISTORY.md`, words of the mainland and of Taiwan.
REGIONAL_WEIGHT = 0.5
SYNONYM_WEIGHT = FORM_WEIGHT * REGIONAL_WEIGHT / HAN_PAIR_WEIGHT  # of a synonym with letters: as much less
# Of a word as it is written: it decides between pages that are alike. MRR@10 of the LibreOffice help, queries
# with such words, without and with it: German .572 and .576, French .553 and .554, Greek .606 and .606.
SPELLING_WEIGHT = 0.1

# Words besides function words from which on a query is a sentence. nDCG@10 on CISI, whose queries are: .308
# with function words, .323 without, .381 when words that are repeated count as often. From 2 to 5 it is the
# same there, but the English help is asked for the functions `IF` and `NOT`: MRR@10 .653 at 3, .660 at 4.
SENTENCE_WORDS = 4
# What is repeated more often counts no more.
REPEATS_MAX = 8


# Particles of Korean, behind two syllables at least: 학교에서 means 학교.
_PARTICLE = re.compile(
    "([가-힣]{2,}?)(?:은|는|이|가|을|를|에|의|도|와|과|로|만|으로|에서|에게|에는|에도|한테|까지|부터|보다|처럼|이나|이다|"
    "이란|라는|으로는|으로서|으로써|에서는|에서도|에게서|까지는|부터는|이라는)"
)


class _Reading:
    """Collects the entries that a folded query is searched by."""

    def __init__(
        self, folded: str, spellings: Sequence[str], synonyms: Synonyms, user_words: UserWords
    ) -> None:
        self._synonyms = synonyms
        self._user_words = user_words
        self._required: dict[str, None] = {}
        self._optional: dict[str, None] = {}  # required where nothing else is
        self._scoring: dict[str, float] = {}
        self._content: set[str] = set()  # entries that score not only for function words
        self._content_words: set[str] = set()
        spans = spans_of(folded)
        self._function_words = function_words_of(folded[span.start : span.end] for span in spans)
        compounds = compounds_of(folded, spans)
        greatest_last = sorted(compounds, key=itemgetter(-1))
        of_run = {run: c.meaning for c in greatest_last for run in range(c.first, c.last + 1)}
        self._alternatives: dict[EitherOf, None] = {}
        self._elsewhere: dict[str, float] = {}  # entries of words that others have for those typed
        for i, span in enumerate(spans):
            run = folded[span.start : span.end]
            if span.kind is RunKind.WORD:
                self._add_word(run[:TERM_CHARS_MAX], of_run.get(i))
            elif span.kind is RunKind.HAN:
                self._add_han(run)
            elif span.kind is RunKind.UNSPACED:
                self._add_unspaced(run)
            else:
                self._add_other_cjk(run)
        for compound in compounds:
            if compound.meaning is Meaning.WHOLE:
                self._required[compound.entry] = None
            if compound.meaning is Meaning.EITHER:
                parts = spans[compound.first : compound.last + 1]
                words = tuple(folded[part.start : part.end] for part in parts)
                self._alternatives[EitherOf(((compound.entry,), words))] = None
            is_form = compound.meaning is Meaning.EITHER
            is_option = compound.entry.startswith(COMPOUND_PREFIX + HYPHEN)
            is_content = is_option or HYPHEN not in compound.entry  # in a sentence hyphens are of its prose
            is_name = is_content or len(spans) == 1 + compound.last - compound.first
            weight = FORM_WEIGHT if is_form else COMPOUND_WEIGHT if is_name else HYPHENED_WEIGHT
            self._score(compound.entry, weight, is_content=is_content)
        for entry in spellings:
            self._score(entry, SPELLING_WEIGHT)

    def terms(self) -> QueryTerms:
        """Return the terms collected; those of a sentence score without its function words."""
        required = self._required or ({} if self._alternatives else self._optional)
        for entry, weight in self._elsewhere.items():
            if entry not in self._scoring:
                self._score(entry, weight)
        scoring = self._scoring
        if len(self._content_words) >= SENTENCE_WORDS:
            scoring = {entry: weight for entry, weight in scoring.items() if entry in self._content}
        return QueryTerms(tuple(required), tuple(scoring), tuple(scoring.values()), tuple(self._alternatives))

    def _add_word(self, word: str, part_of: Meaning | None) -> None:
        form = form_of(word)
        is_content = word not in self._function_words
        factor = PART_FACTOR if part_of is Meaning.EITHER else 1.0
        if form:
            self._score(word, factor * EXACT_WEIGHT, is_content=is_content)
            self._score(form, factor * FORM_WEIGHT, is_content=is_content)
        else:
            self._score(word, factor, is_content=is_content)
        if not is_content:
            self._optional[word] = None
            return
        self._content_words.add(form or word)
        others = self._synonyms.get(word, ())[:OTHERS_MAX] if part_of is None else ()
        if others:
            self._add_others((form or word,), others)
        elif part_of in (None, Meaning.PARTS):
            self._required[form or word] = None

    def _add_han(self, run: str) -> None:
        pairs = pair_atoms(run)[:-1]
        words = _cut_with(run, self._user_words) if self._user_words else words_of(run)
        ends = list(accumulate(map(len, words)))
        regional = regional_words(run, {0, *ends}, self._synonyms)
        for word, end in zip(words, ends, strict=True):
            start = end - len(word)
            is_content = word not in self._function_words
            self._score(word, HAN_WORD_WEIGHT if pairs else 1.0, is_content=is_content)
            inside = pairs[start : end - 1] or [word]
            wanted = self._required if is_content else self._optional
            if not any(each.start <= start and end <= each.end for each in regional):
                wanted.update(dict.fromkeys(inside))
            if is_content:
                self._content_words.add(word)
        for start, end, others in regional:
            self._add_others(_way_of(run[start:end]), others)
        for pair in pairs:
            self._score(pair, HAN_PAIR_WEIGHT)
        for other in other_forms(run):
            for entry in pair_atoms(other)[:-1] or [other]:
                if entry not in self._scoring:
                    self._score(entry, OTHER_FORM_WEIGHT)

    def _add_others(self, typed: tuple[str, ...], others: Sequence[str]) -> None:
        """Require a word or one of those that others have for it, which score less."""
        ways = (typed, *map(_way_of, others))
        self._alternatives[EitherOf(ways)] = None
        for other, way in zip(others, ways[1:], strict=True):
            weight = REGIONAL_WEIGHT if kind_of(other) is RunKind.HAN else SYNONYM_WEIGHT
            self._elsewhere.update(dict.fromkeys(way, weight))

    def _add_other_cjk(self, run: str) -> None:
        pairs = pair_atoms(run)
        particle = _PARTICLE.fullmatch(run)
        n_required = len(particle[1] if particle else run) - 1
        # The last character alone is an entry of those texts only in which the run ends as well.
        for i, pair in enumerate(pairs[:-1] or pairs):
            self._score(pair, 1.0)
            if i < max(1, n_required):
                (self._required if len(run) > 1 else self._optional)[pair] = None

    def _add_unspaced(self, run: str) -> None:
        for term in cluster_terms(clusters_of(run)):
            self._score(term, 1.0)
            self._required[term] = None

    def _score(self, entry: str, weight: float, *, is_content: bool = True) -> None:
        self._scoring[entry] = min(self._scoring.get(entry, 0.0) + weight, REPEATS_MAX * weight)
        if is_content:
            self._content.add(entry)


def _cut_with(run: str, user_words: UserWords) -> list[str]:
    from peers.text.user_words import cut_with  # loaded by peers of a mesh that has such words

    return cut_with(run, user_words)


def _way_of(word: str) -> tuple[str, ...]:
    """Return the entries by which pages have a folded word."""
    return tuple(pair_atoms(word)[:-1]) if kind_of(word) is RunKind.HAN else (form_of(word) or word,)


def _terms_of_run(run: str) -> Sequence[str]:
    kind = kind_of(run)
    if kind is RunKind.WORD:
        return (run[:TERM_CHARS_MAX],)
    if kind is RunKind.UNSPACED:
        return cluster_terms(clusters_of(run))
    return segment_han(run) if kind is RunKind.HAN else pair_atoms(run)


def frequency_entries(text: str, *languages: str) -> list[str]:
    """Return the forms and compounds of a text, entries without positions, in no order.

    Args:
      languages: that it may be in besides English, see `line_languages`.
    """
    folded = fold(text)
    spans = spans_of(folded)
    words = [
        folded[start : min(end, start + TERM_CHARS_MAX)] for start, end, kind in spans if kind is RunKind.WORD
    ]
    natives = [native for language in languages if (native := native_language(language))]
    forms = [form for word in words for form in {form_of(word), *[native_form_of(word, n) for n in natives]}]
    return [*filter(None, forms), *[compound.entry for compound in compounds_of(folded, spans)]]


def atoms(text: str) -> list[str]:
    """Return the atoms of a text in order: words, and pairs, which are entries of the dictionary.

    The position of an atom is its index.
    """
    found: list[str] = []
    for run in runs_of(fold(text)):
        if kind_of(run) is RunKind.WORD:
            found.append(run[:TERM_CHARS_MAX])
        elif kind_of(run) is RunKind.UNSPACED:
            found += cluster_atoms(clusters_of(run))
        else:
            found += pair_atoms(run)
    return found


def literal_of(text: str) -> tuple[list[str], list[int]]:
    """Return the entries by which a text is found as it stands, and the distance of each from its start.

    Every second pair of a run says all of it, with the last pair where the run is odd. Of a run of one
    character, which in another text may go on, there is the prefix with the character: any atom that
    begins so is meant.
    """
    entries: list[str] = []
    distances: list[int] = []
    position = 0
    for run in runs_of(fold(text)):
        if kind_of(run) is RunKind.WORD:
            entries.append(run[:TERM_CHARS_MAX])
            distances.append(position)
            position += 1
            continue
        if kind_of(run) is RunKind.UNSPACED:
            clusters = cluster_atoms(clusters_of(run))
            entries += clusters
            distances += range(position, position + len(clusters))
            position += len(clusters)
            continue
        last_pair = max(0, len(run) - 2)
        for start in sorted({*range(0, last_pair + 1, 2), last_pair}):
            entries.append(CHARACTER_PREFIX + run[start : start + 2])
            distances.append(position + start)
        position += len(run)
    return entries, distances


CHARACTER_PREFIX = (
    "\x01"  # before the pair of a CJK character, around a cluster; no term of another script starts so
)


def pair_atoms(run: str) -> list[str]:
    """Return the atoms of a CJK run, one a character: each with the next one, the last one alone."""
    return [CHARACTER_PREFIX + run[i : i + 2] for i in range(len(run))]


def cluster_terms(clusters: Sequence[str]) -> list[str]:
    """Return the terms of an unspaced run: each cluster with the next one, or the only one alone."""
    return list(map("".join, pairwise(clusters))) or list(clusters)


def cluster_atoms(clusters: Sequence[str]) -> list[str]:
    """Return the atoms of an unspaced run: longer than a character with its prefix, which means many."""
    return [f"{CHARACTER_PREFIX}{cluster}{CHARACTER_PREFIX}" for cluster in clusters]


def is_atom_key(entry: str) -> bool:
    """Tell whether a dictionary entry has positions: a word, or a pair."""
    first = entry[0]
    return first == CHARACTER_PREFIX or (first > " " and KIND_OF_CHARACTER[ord(first)] == RunKind.WORD)


def are_atom_keys(entries: Sequence[str]) -> NDArray[np.bool_]:
    """Tell the same of many entries, none of them empty, at once."""
    firsts = np.frombuffer("".join(map(itemgetter(0), entries)).encode("utf-32-le"), np.uint32)
    is_word: NDArray[np.bool_] = np.frombuffer(KIND_OF_CHARACTER, np.uint8)[firsts] == int(RunKind.WORD)
    are: NDArray[np.bool_] = (is_word & (firsts > ord(" "))) | (firsts == ord(CHARACTER_PREFIX))
    return are


def counts_for_length(entry: str) -> bool:
    """Tell whether occurrences of an entry are the length of a field: those of terms are.

    Pairs of kana, Hangul and rare ideographs are terms; those of Han characters and clusters are not.
    """
    first = entry[0]
    return first > " " or (
        first == CHARACTER_PREFIX and KIND_OF_CHARACTER[ord(entry[1])] == RunKind.OTHER_CJK
    )
