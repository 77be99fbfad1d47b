"""Kernels that find the words of a query in a page's text and choose the parts of it to be shown.

Texts come as code points, folded ones to look for words in and original ones to cut. A place where a word was
found is one int64, start << 40 | (2^24 - 1 - length) << 16 | term: so they sort by where they start, at one
place the longest first.

That one word is a form of another only the stemmer can tell. It is asked once for each word: `FormTable`
remembers the answers by the hashes of both, for all queries, and a kernel that meets a word that is not there
gives it back to be asked for.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numba import types

from peers.kernel import (
    IN_BYTES,
    IN_INTS,
    IN_SUMS,
    IN_WORDS,
    MUTABLE_INTS,
    Bytes,
    Codes,
    Ints,
    Sums,
    allocating_leaf,
    kernel,
    leaf,
)
from peers.text.characters import (
    ALPHANUMERIC,
    LETTER,
    SENTENCE_END,
    SENTENCE_END_BEFORE_SPACE,
    SPACE,
    WIDE,
    codes_of,
)
from peers.text.stemming import form_of

# How far a cut may move to fall between words; a longer "word" is cut inside.
WORD_CHARS_MAX: Final = 24
PLACES_MAX: Final = 16  # of one term in one piece; the best window is rarely behind them
FRAGMENTS_MAX: Final = 3
FRAGMENT_COLUMNS: Final = 3  # start and end without space around, and 1 if there is text before it
# Columns shown before the first match, so that it is read in its sentence.
_LEAD_COLUMNS: Final = 60
_SAMPLE_CHARS: Final = 50  # on both sides of a match, to see whether the text is wide

# Kinds of terms.
ANYWHERE: Final = 0  # wherever its characters stand
WHOLE: Final = 1  # only as a whole word
FORMS: Final = 2  # any word that begins so and has the same form

UNKNOWN_MAX: Final = 32  # words given back at a time

_START_SHIFT: Final = 40
_LENGTH_SHIFT: Final = 16
_LENGTH_MASK: Final = (1 << 24) - 1
TERM_MASK: Final = (1 << 16) - 1

_HEADS: Final = 256

_FORMS_KEPT: Final = 1 << 15  # 0.5 MB
_FORMS_USED_MAX: Final = _FORMS_KEPT * 3 // 4

_MUTABLE_TABLE: Final = types.int64[:, ::1]


def spans_of(matches: Ints) -> list[tuple[int, int]]:
    """Return start and end of matches."""
    starts = matches >> _START_SHIFT
    ends = starts + _LENGTH_MASK - (matches >> _LENGTH_SHIFT & _LENGTH_MASK)
    return list(zip(starts.tolist(), ends.tolist(), strict=True))


class FormTable:
    """The forms of words that have been met, as hashes; emptied when it is full.

    Attributes:
      words: hashes of words, by open addressing; 0 where there is none.
      forms: of each, the hash of its form, 0 when it has none.
    """

    def __init__(self) -> None:
        self.words: Sums = np.zeros(_FORMS_KEPT, np.uint64)
        self.forms: Sums = np.zeros(_FORMS_KEPT, np.uint64)
        self._used = 0

    def learn(self, word: str) -> None:
        """Take in a word."""
        if self._used == _FORMS_USED_MAX:
            self.words[:] = 0
            self._used = 0
        form = form_of(word)
        hashed = hash_of(word)
        place = hashed % _FORMS_KEPT
        while self.words[place] and self.words[place] != hashed:
            place = (place + 1) % _FORMS_KEPT
        self.words[place] = hashed
        self.forms[place] = hash_of(form) if form else 0
        self._used += 1


def hash_of(text: str) -> int:
    """Return the hash by which kernels compare words, never 0."""
    codes = codes_of(text)
    return int(_hash_all(codes))


@leaf
def _hash(codes: Codes, start: int, end: int) -> Any:
    """FNV-1a over code points, 64 bits."""
    hashed = np.uint64(14_695_981_039_346_656_037)
    for place in range(start, end):
        hashed = (hashed ^ np.uint64(codes[place])) * np.uint64(1_099_511_628_211)
    return hashed if hashed != 0 else np.uint64(1)


@kernel(IN_WORDS, returns=types.uint64)
def _hash_all(codes: Codes) -> Any:
    return _hash(codes, 0, len(codes))


@leaf
def _is(codes: Codes, classes: Bytes, place: int, wanted: int) -> bool:
    return 0 <= place < len(codes) and classes[codes[place]] & wanted != 0


@leaf
def _place(words: Sums, hashed: Any) -> int:
    """Return where a word is in the table, or the empty place where it would be."""
    mask = len(words) - 1
    place = int(np.int64(hashed & np.uint64(mask)))
    while words[place] != 0 and words[place] != hashed:
        place = (place + 1) & mask
    return place


@kernel(
    *(IN_WORDS, IN_BYTES, IN_WORDS, IN_INTS, IN_INTS, IN_INTS, IN_SUMS, IN_SUMS, IN_SUMS),
    *(IN_INTS, IN_INTS, types.int64, types.int64, MUTABLE_INTS, _MUTABLE_TABLE),
)
def find_terms(
    folded: Codes,
    classes: Bytes,
    terms: Codes,
    starts: Ints,
    kinds: Ints,
    numbers: Ints,
    term_forms: Sums,
    words: Sums,
    forms: Sums,
    origin_starts: Ints,
    origin_ends: Ints,
    offset: int,
    first: int,
    found: Ints,
    unknown: Ints,
) -> int:
    """Find where terms stand in a piece of folded text, at most `PLACES_MAX` times each.

    Args:
      terms: one after the other; starts (n + 1), kinds, numbers by which they are told, hashes of forms.
      words, forms: of a `FormTable`.
      origin_starts, origin_ends: of each folded character in the piece; empty where they are its place, + 1.
      offset: of the piece in the text.
      first: how many of `found` are there already; there is room for `PLACES_MAX` for each term.
      unknown: where to put start and end of words of unknown form, of `UNKNOWN_MAX`.

    Returns:
      How many are in `found`; or minus the number of words of unknown form, which are to be learnt, and all
      is to be done again.
    """
    n_found = first
    n_unknown = 0
    is_even = len(origin_starts) == 0
    n_terms = len(kinds)
    n_places = np.zeros(n_terms, np.int64)
    next_places = np.zeros(n_terms, np.int64)  # those of one term do not overlap
    may_begin = np.zeros(_HEADS, np.bool_)  # by the last bits of a character
    for term in range(n_terms):
        may_begin[terms[starts[term]] % _HEADS] = True
    for place in range(len(folded)):
        if not may_begin[folded[place] % _HEADS]:
            continue
        for term in range(n_terms):
            if place < next_places[term] or n_places[term] == PLACES_MAX:
                continue
            length = starts[term + 1] - starts[term]
            if place + length > len(folded):
                continue
            same = 0
            while same < length and folded[place + same] == terms[starts[term] + same]:
                same += 1
            if same < length:
                continue
            next_places[term] = place + length
            end = place + length
            if kinds[term] != ANYWHERE:
                if _is(folded, classes, place - 1, LETTER):
                    continue
                if kinds[term] == WHOLE:
                    if _is(folded, classes, end, LETTER):
                        continue
                else:
                    end = place
                    while end < place + WORD_CHARS_MAX and _is(folded, classes, end, LETTER):
                        end += 1
                    at = _place(words, _hash(folded, place, end))
                    if words[at] == 0:
                        if n_unknown == UNKNOWN_MAX:
                            return -n_unknown
                        unknown[n_unknown, 0], unknown[n_unknown, 1] = place, end
                        n_unknown += 1
                        continue
                    if forms[at] != term_forms[term]:
                        continue
            start = offset + place if is_even else offset + origin_starts[place]
            stop = offset + end if is_even else offset + origin_ends[end - 1]
            rest = max(0, _LENGTH_MASK - (stop - start))
            found[n_found] = start << _START_SHIFT | rest << _LENGTH_SHIFT | numbers[term]
            n_found += 1
            n_places[term] += 1
    return -n_unknown if n_unknown else n_found


@leaf
def _start_of(match: int) -> int:
    return match >> _START_SHIFT


@leaf
def _end_of(match: int) -> int:
    return (match >> _START_SHIFT) + _LENGTH_MASK - (match >> _LENGTH_SHIFT & _LENGTH_MASK)


@leaf
def _is_border(text: Codes, classes: Bytes, place: int) -> bool:
    """Tell whether text[:place] and text[place:] part without cutting a word."""
    before, after = classes[text[place - 1]], classes[text[place]]
    is_inside = before & after & ALPHANUMERIC != 0
    return not is_inside or (before | after) & WIDE != 0


@leaf
def _lead_columns(columns: int) -> int:
    return min(_LEAD_COLUMNS, columns // 4)


@leaf
def _lead_in(text: Codes, classes: Bytes, start: int, columns: int) -> int:
    """Step back from a match to the start of its sentence when that is near, else to a word's."""
    earliest, used = start, 0
    most = _lead_columns(columns)
    while earliest > 0 and used < most:
        earliest -= 1
        used += 2 if classes[text[earliest]] & WIDE else 1
    if earliest == 0:
        return 0
    for place in range(earliest, start):
        of_place = classes[text[place]]
        if of_place & SENTENCE_END:
            return place + 1
        if of_place & SENTENCE_END_BEFORE_SPACE and place + 1 < start and classes[text[place + 1]] & SPACE:
            return place + 2
    for place in range(earliest, min(start, earliest + WORD_CHARS_MAX)):
        if _is_border(text, classes, place):
            return place
    return earliest


@leaf
def _window_end(text: Codes, classes: Bytes, start: int, columns: int) -> int:
    """Return the end of the text that fits into `columns` from `start`, between words."""
    length = min(columns, len(text) - start)
    n_wide = 0
    for place in range(start, start + length):
        n_wide += classes[text[place]] & WIDE
    # A character less gives back two columns at most, so this never drops one too many.
    while length + n_wide > columns:
        shorter = length - (length + n_wide - columns + 1) // 2
        for place in range(start + shorter, start + length):
            n_wide -= classes[text[place]] & WIDE
        length = shorter
    end = start + length
    if end == len(text):
        return end
    for place in range(end, max(start + 1, end - WORD_CHARS_MAX), -1):
        if _is_border(text, classes, place):
            return place
    return end


@leaf
def _is_mostly_wide(text: Codes, classes: Bytes, around: int) -> bool:
    first, end = max(0, around - _SAMPLE_CHARS), min(len(text), around + _SAMPLE_CHARS)
    n_wide = 0
    for place in range(first, end):
        n_wide += classes[text[place]] & WIDE
    return n_wide * 2 > end - first


@leaf
def _best_start(
    text: Codes, classes: Bytes, matches: Ints, n_matches: int, worths: Ints, counts: Ints, columns: int
) -> int:
    """Return the first match of the window with the most distinct terms, then the most matches."""
    # Half of the columns may be lost to wide characters; matches are counted in the part that is sure.
    reach = columns - _lead_columns(columns)
    if _is_mostly_wide(text, classes, _start_of(matches[0])):
        reach //= 2
    counts[:] = 0
    worth = 0  # of the terms that are counted
    best, best_worth, best_count, right = 0, -1, -1, 0
    for left in range(n_matches):
        start = _start_of(matches[left])
        term = matches[left] & TERM_MASK
        while right < n_matches and _end_of(matches[right]) <= start + reach:
            seen = matches[right] & TERM_MASK
            counts[seen] += 1
            if counts[seen] == 1:
                worth += worths[seen]
            right += 1
        if worth > best_worth or (worth == best_worth and right - left > best_count):
            best, best_worth, best_count = start, worth, right - left
        if right > left:
            counts[term] -= 1
            if counts[term] == 0:
                worth -= worths[term]
        else:
            right = left + 1
    return best


@allocating_leaf
def _windows(
    text: Codes,
    classes: Bytes,
    matches: Ints,
    worths: Ints,
    count: int,
    columns: int,
    left: Ints,
    counts: Ints,
    shown: Bytes,
    windows: Ints,
) -> tuple[int, int]:
    """Choose windows one after the other, each for the terms that those before do not have.

    Args:
      left, counts: to be used.
      shown: set to 1 for each term in the windows.
      windows: set to starts and ends, ascending.

    Returns:
      How many windows, and what the terms in them are worth: a long word more than the short ones in it.
    """
    shown[:] = 0
    if not len(matches):
        windows[0], windows[1] = 0, _window_end(text, classes, 0, columns)
        return 1, 0
    n_left = len(matches)
    left[:n_left] = matches
    n_windows = 0
    while n_windows < count and n_left:
        first = _best_start(text, classes, left, n_left, worths, counts, columns)
        start = _lead_in(text, classes, first, columns)
        end = _window_end(text, classes, start, columns)
        # What is left of it beside the others is not worth a fragment of its own.
        is_apart = True
        for other in range(n_windows):
            is_apart = is_apart and (end <= windows[2 * other] or windows[2 * other + 1] <= start)
        counts[:] = 0  # from here on: 1 for the terms in this window
        if is_apart:
            at = n_windows
            while at > 0 and windows[2 * at - 2] > start:
                windows[2 * at], windows[2 * at + 1] = windows[2 * at - 2], windows[2 * at - 1]
                at -= 1
            windows[2 * at], windows[2 * at + 1] = start, end
            n_windows += 1
            for match in matches:
                if start <= _start_of(match) and _end_of(match) <= end:
                    counts[match & TERM_MASK] = 1
                    shown[match & TERM_MASK] = 1
        kept = 0
        for at in range(n_left):
            match = left[at]
            if counts[match & TERM_MASK] == 0 and _start_of(match) != first:
                left[kept] = match
                kept += 1
        n_left = kept
    worth = 0
    for term in range(len(worths)):
        if shown[term]:
            worth += worths[term]
    return n_windows, worth


@leaf
def _is_blank(text: Codes, classes: Bytes, start: int, end: int) -> bool:
    while start < end and classes[text[start]] & SPACE:
        start += 1
    return start >= end


@kernel(IN_WORDS, IN_BYTES, IN_INTS, IN_INTS, types.int64, _MUTABLE_TABLE, _MUTABLE_TABLE, MUTABLE_INTS)
def choose_fragments(
    text: Codes,
    classes: Bytes,
    matches: Ints,
    worths: Ints,
    columns: int,
    fragments: Ints,
    spans: Ints,
    counted: Ints,
) -> int:
    """Choose the parts of a text to be shown: as few as show as much as any.

    Args:
      matches: sorted.
      worths: of each term.
      fragments: set to a row of `FRAGMENT_COLUMNS` for each, ascending and apart.
      spans: set to what is to be marked, start and end in the line that is made of them.
      counted: set to how many spans there are, and 1 if text follows the last fragment.

    Returns:
      How many fragments.
    """
    left = np.empty(len(matches), np.int64)
    counts = np.zeros(len(worths), np.int64)
    shown = np.zeros(len(worths), np.uint8)
    windows = np.empty(2 * FRAGMENTS_MAX, np.int64)
    best = np.empty(2 * FRAGMENTS_MAX, np.int64)
    for match in matches:
        shown[match & TERM_MASK] = 1
    all_worth = 0
    for term in range(len(worths)):
        if shown[term]:
            all_worth += worths[term]
    n_fragments, best_worth = 0, -1
    for count in range(1, FRAGMENTS_MAX + 1):
        n_windows, worth = _windows(
            text, classes, matches, worths, count, columns // count, left, counts, shown, windows
        )
        if worth > best_worth:
            n_fragments, best_worth = n_windows, worth
            best[:] = windows
        if worth == all_worth:
            break
    line_chars, shown_to, n_spans = 0, 0, 0
    for number in range(n_fragments):
        start, end = best[2 * number], best[2 * number + 1]
        has_before = not _is_blank(text, classes, shown_to, start)
        line_chars += has_before
        shown_to = end
        first, last = start, end
        while first < last and classes[text[first]] & SPACE:
            first += 1
        while last > first and classes[text[last - 1]] & SPACE:
            last -= 1
        fragments[number, 0], fragments[number, 1], fragments[number, 2] = first, last, has_before
        for match in matches:
            a, b = _start_of(match), _end_of(match)
            if start <= a and b <= end:
                a, b = a + line_chars - first, b + line_chars - first
                if n_spans and a <= spans[n_spans - 1, 1]:
                    spans[n_spans - 1, 1] = max(b, spans[n_spans - 1, 1])
                else:
                    spans[n_spans, 0], spans[n_spans, 1] = a, b
                    n_spans += 1
        line_chars += last - first
    counted[0], counted[1] = n_spans, not _is_blank(text, classes, shown_to, len(text))
    return n_fragments
