"""The pieces of a page that show why it was found.

Words are looked for in the folded text as they stand, without segmentation: a Chinese term wherever its
characters are, a latin one where it is a whole word, or another form of it. That costs a fraction of
analysing the page again, and marks what a reader would.

One window is shown where that has all words that are seen; else two or three shorter ones, if together they
have more: the best one first, then those that are best for the words still missing. What loops over
characters and places is in `windows`.

Measured (54,000 pages on three peers, 600 of the help's queries, on a machine with other work, both in one
run): 170 us of CPU an excerpt with all that belongs to it, 350 when the loops were Python's, every page was
read from its block and looked for in all segments. The excerpts are the same. Later, 400 queries on one of
them, in turn: 1,340 us for 5.1 excerpts with each piece of a text folded and looked through by calls of its
own, 1,200 with kernels that go on from piece to piece.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property, lru_cache
from itertools import accumulate, chain, pairwise
from typing import NamedTuple

import msgspec
import numpy as np

from peers.engine.excerpts.windows import (
    ANYWHERE,
    CHOSEN_NUMBERS,
    FORMS,
    FRAGMENT_COLUMNS,
    IS_OVER,
    IS_SPENT,
    N_FOUND,
    N_UNKNOWN,
    PIECES_DONE,
    PLACES_MAX,
    PROGRESS_SIZE,
    TERM_MASK,
    UNKNOWN_MAX,
    WHOLE,
    FormTable,
    Stretch,
    Wanted,
    choose_fragments,
    find_terms,
    hash_of,
    spans_of,
    tell_line,
)
from peers.engine.queries.query import Query
from peers.engine.searching.effort import Effort
from peers.kernel import Ints
from peers.text.analysis import CHARACTER_PREFIX
from peers.text.characters import character_classes, codes_of, fold_apart, fold_evenly, text_of
from peers.text.compounds import COMPOUND_PREFIX
from peers.text.folding import AlignedText
from peers.text.runs import OTHER_CJK, RunKind, kind_of
from peers.text.stemming import FORM_PREFIX, native_form_of, spellings_of_model

# Two columns for a CJK character, one for any other: 160 Chinese characters, or 320 latin ones.
SNIPPET_COLUMNS = 320
# Text that is looked through for matches: what is behind this is not worth the time.
SEARCHED_CHARS_MAX = 200_000
# For more terms than these less in proportion: few have so many, and each costs for each character.
_TERMS_FOR_ALL = 16
_PIECE_CHARS = 3_000
_ALL_OF_IT = -1  # characters to look through, whatever was seen before
# In most pages a word of the query is missing, and in most of the others the first piece has them all.
_GROWTH = 4

_PAIR = re.compile(f"{CHARACTER_PREFIX}[{OTHER_CJK}]")
_OTHER_SPACE = re.compile(r"[^\S ]")
_ELLIPSIS = "…"
# A query is the same for all pages that it has found on a peer.
QUERIES_CACHED = 64
# Of the letters that all forms of a word begin with; fewer would be found everywhere.
_STEM_CHARS_MIN = 3

_form_tables: dict[str, FormTable] = {}  # by language
_NO_ORIGINS: Ints = np.empty(0, np.int64)


class Snippet(msgspec.Struct, frozen=True, array_like=True):
    """An excerpt: the text to show, and the ranges to highlight in it."""

    text: str = ""  # one line; begins or ends with "…" where the page goes on
    highlights: tuple[tuple[int, int], ...] = ()  # text[start:end], ascending, apart from each other
    place: int = -1  # in the page: of the first highlight in the piece that has the most; -1 for none


class SearchedText:
    """A text in which words are looked for, once or again: text folded for one query serves the next."""

    def __init__(self, text: str) -> None:
        self.text = text[:SEARCHED_CHARS_MAX]
        self.is_whole = len(text) <= SEARCHED_CHARS_MAX
        self.codes = codes_of(self.text)
        # So many characters, folded. Replaced as a whole: where threads race, something is folded twice.
        self._folded: tuple[int, tuple[Stretch, ...]] = 0, ()
        self._matched: tuple[Wanted, Ints] | None = None  # the places of what was looked for last, likewise

    def stretches(self) -> Iterator[Stretch]:
        """Yield the text folded, as far as it is wanted: one piece, then several times as much each time."""
        n_folded, stretches = self._folded
        yield from stretches
        while n_folded < len(self.text):
            ends = _piece_ends(self.text, n_folded, _GROWTH * n_folded)
            more = self._fold([n_folded, *ends])
            n_folded, stretches = ends[-1], stretches + more
            self._folded = n_folded, stretches
            yield from more

    def places_of(self, wanted: Wanted, forms: FormTable) -> Ints:
        """Return the places of terms in all of a short text, such as a title; they are asked for twice."""
        if self._matched is not None and self._matched[0] is wanted:
            return self._matched[1]
        matches = _matches(self.stretches(), wanted, forms, len(self.text), Effort())
        self._matched = wanted, matches
        return matches

    @cached_property
    def folded_lines(self) -> tuple[Stretch, ...]:
        """The text folded, each line a piece."""
        lengths = accumulate(map(len, self.text.split("\n")))  # without the breaks between lines
        ends = [length + n_breaks for n_breaks, length in enumerate(lengths, 1)]
        ends[-1] -= 1
        return self._fold([0, *ends])

    def _fold(self, bounds: list[int]) -> tuple[Stretch, ...]:
        """Fold the pieces between these places."""
        even = fold_evenly(self.codes[bounds[0] : bounds[-1]])
        if len(bounds) == 2:
            if even is None:
                return (self._fold_piece(*bounds),)
            return (Stretch(even, _NO_ORIGINS, _NO_ORIGINS, [len(even)], [len(even)]),)
        if even is None:
            return tuple(chain.from_iterable(map(self._fold, map(list, pairwise(bounds)))))
        ends = [end - bounds[0] for end in bounds[1:]]
        chars = [end - start for start, end in pairwise(bounds)]
        return (Stretch(even, _NO_ORIGINS, _NO_ORIGINS, ends, chars),)

    def _fold_piece(self, start: int, end: int) -> Stretch:
        """Fold a piece in which, maybe, not every character is folded to one."""
        apart = fold_apart(self.codes[start:end])
        if apart is None:
            aligned = AlignedText(self.text[start:end])
            starts, ends = aligned.origins or ([], [])
            apart = codes_of(aligned.folded), np.array(starts, np.int64), np.array(ends, np.int64)
        return Stretch(*apart, [len(apart[0])], [end - start])


def searched_chars(text: str, query: Query) -> int:
    """Return how many characters of a page's text are looked through for a query, at most."""
    return min(len(text), SEARCHED_CHARS_MAX * _TERMS_FOR_ALL // max(_TERMS_FOR_ALL, len(query.scoring)))


def snippet_of(
    text: str | SearchedText, query: Query, columns: int = SNIPPET_COLUMNS, effort: Effort | None = None
) -> Snippet:
    """Choose the best window of a page's text: most distinct words of the query, sentences rather than lists,
    then most matches.

    Without any match it is the beginning of the text.

    Args:
      columns: width in latin characters; a CJK character counts for two.
      effort: what looking through the text is paid with.

    Raises:
      EffortSpentError: that was not enough.
    """
    searched = SearchedText(text) if isinstance(text, str) else text
    wanted = _wanted(query.scoring, query.language)
    forms, chars_max = _forms_in(query.language), searched_chars(searched.text, query)
    matches = _matches(searched.stretches(), wanted, forms, chars_max, effort or Effort())
    chosen, spans = choose_fragments(
        searched.codes,
        character_classes(),
        matches,
        wanted.worths,
        columns,
        CHOSEN_NUMBERS,
        2 * len(matches),
    )
    n_fragments, has_after, *numbers = chosen
    line, place, n_most = "", -1, 0
    for at in range(0, n_fragments * FRAGMENT_COLUMNS, FRAGMENT_COLUMNS):
        start, end, has_before = numbers[at : at + FRAGMENT_COLUMNS]
        line += _ELLIPSIS if has_before else ""
        begin, line = len(line), line + searched.text[start:end]
        marks = [each for each in spans[::2] if begin <= each < len(line)]
        if len(marks) > n_most:
            place, n_most = start + marks[0] - begin, len(marks)
    line = _OTHER_SPACE.sub(" ", line) + (_ELLIPSIS if has_after else "")
    return Snippet(line, tuple(zip(spans[::2], spans[1::2], strict=True)), place)


def highlights_of(text: str | SearchedText, query: Query) -> tuple[tuple[int, int], ...]:
    """Return where the words of the query are in a short text, such as a title."""
    searched = SearchedText(text) if isinstance(text, str) else text
    wanted, forms = _wanted(query.scoring, query.language), _forms_in(query.language)
    matches = searched.places_of(wanted, forms)
    return _united(spans_of(matches)) if len(matches) else ()


def line_told(lines: SearchedText, title: SearchedText, query: Query) -> int:
    """Return which line tells most that a query asks beyond a title, -1 where none has more than half of it.

    Words count by their letters, since short ones say little. Of lines that have as much the shortest is
    meant, then the first.
    """
    wanted, forms = _wanted(_typed(query.scoring), query.language), _forms_in(query.language)
    in_title = title.places_of(wanted, forms)
    if len(set((in_title & TERM_MASK).tolist())) == len(wanted.worths):  # as titles of the first hits have
        return -1
    matches = _matches(lines.folded_lines, wanted, forms, _ALL_OF_IT, Effort())
    return tell_line(lines.codes, matches, in_title, wanted.worths) if len(matches) else -1


def may_be_in(folded: str, query: Query) -> bool:
    """Tell whether any word of a query, as it is typed or in another form, can be in a folded text."""
    return any(map(folded.__contains__, _starts(query.scoring, query.language)))


def words_in_lines(lines: SearchedText, query: Query) -> dict[int, int]:
    """Count the distinct words of a query in each line of a text, as far as it is looked through."""
    wanted, forms = _wanted(query.scoring, query.language), _forms_in(query.language)
    matches = _matches(lines.folded_lines, wanted, forms, _ALL_OF_IT, Effort())
    if not len(matches):
        return {}
    sizes = np.array(list(map(len, lines.text.split("\n"))), np.int64) + 1
    line_of = np.searchsorted(np.cumsum(sizes), [start for start, _ in spans_of(matches)], "right")
    told = np.unique(line_of * (TERM_MASK + 1) + (matches & TERM_MASK))
    found, counts = np.unique(told // (TERM_MASK + 1), return_counts=True)
    return dict(zip(found.tolist(), counts.tolist(), strict=True))


def _matches(
    stretches: Iterable[Stretch], wanted: Wanted, forms: FormTable, chars_max: int, effort: Effort
) -> Ints:
    """Return the places of the terms in the original text, sorted; about so many characters are looked at.

    A long text is read piece by piece until every term has been seen: what is best among the first matches
    is good enough.

    Args:
      chars_max: as for `find_terms`.
    """
    progress = [0] * PROGRESS_SIZE
    found = np.empty(0, np.int64)
    for stretch in stretches if len(wanted.kinds) else ():
        room = len(wanted.kinds) * PLACES_MAX * len(stretch.ends)
        n_found, before = progress[N_FOUND], found
        found = np.empty(n_found + room, np.int64)
        found[:n_found] = before[:n_found]
        progress[PIECES_DONE] = 0
        progress = _find(stretch, wanted, forms, chars_max, effort, progress, found)
        if progress[IS_OVER]:
            break
    matches = found[: progress[N_FOUND]]
    matches.sort()
    return matches


def _find(
    stretch: Stretch,
    wanted: Wanted,
    forms: FormTable,
    chars_max: int,
    effort: Effort,
    progress: list[int],
    found: Ints,
) -> list[int]:
    """Find the terms in a stretch; the forms of new words are learnt on the way. EffortSpentError."""
    classes, known = character_classes(), forms.known
    unknown = np.empty((UNKNOWN_MAX, 2), np.int64)
    while True:
        (progress,) = find_terms(
            stretch,
            classes,
            wanted,
            known,
            chars_max,
            effort.cells,
            progress,
            found,
            unknown,
            PROGRESS_SIZE,
        )
        if progress[IS_SPENT]:
            effort.refuse()
        if not progress[N_UNKNOWN]:
            return progress
        for start, end in unknown[: progress[N_UNKNOWN]].tolist():
            forms.learn(text_of(stretch.folded[start:end]))


def _common_start(a: str, b: str) -> str:
    for place, (of_a, of_b) in enumerate(zip(a, b, strict=False)):
        if of_a != of_b:
            return a[:place]
    return min(a, b, key=len)


def _forms_in(language: str) -> FormTable:
    """Return the forms of a language that a query may have."""
    table = _form_tables.get(language)
    return table or _form_tables.setdefault(language, FormTable(language))


class SoughtTerm(NamedTuple):
    """A piece of folded text that shows why a page was found."""

    start: str  # all of it, or of FORMS, the beginning of all its forms
    kind: int  # ANYWHERE, WHOLE or FORMS, see `windows`
    form: str = ""  # of FORMS, the entry that they share


def sought_terms(scoring: Sequence[str], language: str) -> list[SoughtTerm]:
    """Return the terms to look for: words in all their forms, compounds with their signs, others as such.

    Args:
      scoring: entries. language: whose forms they are, "" for English.
    """
    words = [entry for entry in scoring if entry >= " "]
    words += [entry[1:] for entry in scoring if _PAIR.match(entry)]  # those of Han characters are in words
    given = dict.fromkeys(entry for entry in scoring if entry.startswith(FORM_PREFIX))
    sought: list[SoughtTerm] = []
    for word in words:
        form = native_form_of(word, language)
        start = _common_start(word, form.removeprefix(FORM_PREFIX)) if form in given else ""
        if len(start) >= _STEM_CHARS_MIN:
            sought.append(SoughtTerm(start, FORMS, form))
        else:
            sought.append(SoughtTerm(word, WHOLE if kind_of(word) is RunKind.WORD else ANYWHERE))
    for form in given:
        if not form[1:].isalpha():
            sought += [SoughtTerm(model, WHOLE) for model in spellings_of_model(form)]
    compounds = (
        entry.removeprefix(COMPOUND_PREFIX) for entry in scoring if entry.startswith(COMPOUND_PREFIX)
    )
    sought += [SoughtTerm(each, ANYWHERE) for each in compounds if each]  # none: not from an honest peer
    return sought


@lru_cache(maxsize=QUERIES_CACHED)
def _typed(scoring: tuple[str, ...]) -> tuple[str, ...]:
    """Return the entries that are words as they are typed, and their forms."""
    return tuple([entry for entry in scoring if entry >= " " or entry.startswith(FORM_PREFIX)])


@lru_cache(maxsize=QUERIES_CACHED)
def _starts(scoring: tuple[str, ...], language: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys([term.start for term in sought_terms(_typed(scoring), language)]))


@lru_cache(maxsize=QUERIES_CACHED)
def _wanted(scoring: tuple[str, ...], language: str) -> Wanted:
    sought = sought_terms(scoring, language)
    terms = [term.start for term in sought]
    number_of = {term: number for number, term in enumerate(dict.fromkeys(terms))}
    return Wanted(
        codes_of("".join(terms)),
        np.fromiter(accumulate(map(len, terms), initial=0), np.int64, len(terms) + 1),
        np.array([term.kind for term in sought], np.int64),
        np.array([number_of[term] for term in terms], np.int64),
        np.array([hash_of(term.form) if term.form else 0 for term in sought], np.uint64),
        np.array([len(term) for term in number_of], np.int64),
    )


def _piece_ends(text: str, start: int, enough: int) -> list[int]:
    """Return where pieces of a text end, at the end of a line where that is near, until there are enough."""
    ends: list[int] = []
    while True:
        end = start + _PIECE_CHARS
        line_end = text.rfind("\n", start + _PIECE_CHARS // 2, end) if end < len(text) else -1
        start = line_end + 1 if line_end > 0 else min(end, len(text))
        ends.append(start)
        if start >= min(enough, len(text)):
            return ends


def _united(spans: Sequence[tuple[int, int]]) -> tuple[tuple[int, int], ...]:
    """Join spans that overlap or touch."""
    joined: list[tuple[int, int]] = []
    for start, end in spans:
        if joined and start <= joined[-1][1]:
            joined[-1] = (joined[-1][0], max(end, joined[-1][1]))
        else:
            joined.append((start, end))
    return tuple(joined)
