"""The pieces of a page that show why it was found.

Words are looked for in the folded text as they stand, without segmentation: a Chinese term wherever its
characters are, a latin one where it is a whole word, or another form of it. That costs half of analysing
the page again, and marks what a reader would.

One window is shown where that has all words that are seen; else two or three shorter ones, if together they
have more: the best one first, then those that are best for the words still missing.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import takewhile
from typing import NamedTuple

import msgspec

from peers.index.compounds import COMPOUND_PREFIX
from peers.index.folding import AlignedText
from peers.index.query import Query
from peers.index.runs import RunKind, kind_of
from peers.index.stemming import FORM_PREFIX, form_of

# Two columns for a CJK character, one for any other: 160 Chinese characters, or 320 latin ones.
SNIPPET_COLUMNS = 320
# Columns shown before the first match, so that it is read in its sentence.
_LEAD_COLUMNS = 60
# How far a cut may move to fall between words; a longer "word" is cut inside.
_WORD_CHARS_MAX = 24
# Text that is looked through for matches: what is behind this is not worth the time.
_SEARCHED_CHARS_MAX = 200_000
_PLACES_MAX = 16  # of one term in one piece; the best window is rarely behind them
_PIECE_CHARS = 3_000

_WIDE = re.compile(
    "[\u1100-\u115f\u2e80-\ua4cf\ua960-\ua97f\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60"
    "\uffe0-\uffe6\U0001f300-\U0001faff\U00020000-\U0003ffff]"
)
_LETTER = re.compile(r"[^\W_\u3005-\u3007\u3040-\u30ff\u3400-\u9fff\uac00-\ud7a3]")
_LETTERS = re.compile(f"{_LETTER.pattern}{{,{_WORD_CHARS_MAX}}}")
_OTHER_SPACE = re.compile(r"[^\S ]")
_SENTENCE_END = re.compile(r"[\n。！？；]|[.!?]\s")
_ELLIPSIS = "…"
# A query is the same for all pages that it has found on a peer.
QUERIES_CACHED = 64
_FRAGMENTS_MAX = 3
# Of the letters that all forms of a word begin with; fewer would be found everywhere.
_STEM_CHARS_MIN = 3

_Match = tuple[int, int, str]  # start, end, term


class Snippet(msgspec.Struct, frozen=True, array_like=True):
    """Text to show and what to mark in it."""

    text: str = ""  # one line; begins or ends with "…" where the page goes on
    highlights: tuple[tuple[int, int], ...] = ()  # text[start:end], ascending, apart from each other


class SearchedText:
    """A text in which words are looked for, once or again: what was folded for one query serves the next."""

    def __init__(self, text: str) -> None:
        self.text = text[:_SEARCHED_CHARS_MAX]
        self._pieces: list[AlignedText] = []
        self._folded_chars = 0

    def pieces(self) -> Iterator[AlignedText]:
        """Yield the text folded piece by piece, about to the ends of lines."""
        yield from self._pieces
        while self._folded_chars < len(self.text):
            piece = AlignedText(_piece(self.text, self._folded_chars))
            self._pieces.append(piece)
            self._folded_chars += piece.original_chars
            yield piece


def snippet_of(text: str | SearchedText, query: Query, columns: int = SNIPPET_COLUMNS) -> Snippet:
    """Choose the best window of a page's text: most of the query's distinct words, then most matches.

    Without any match it is the beginning of the text.

    Args:
      columns: width in latin characters; a CJK character counts for two.
    """
    searched = SearchedText(text) if isinstance(text, str) else text
    text = searched.text
    matches = _matches(searched, query)
    line = ""
    spans: list[tuple[int, int]] = []
    shown_to = 0
    for start, end in _fragments(text, matches, columns):
        line += _ELLIPSIS if text[shown_to:start].strip() else ""
        shown = text[start:end]
        stripped = shown.strip()
        shift = len(line) - start - (len(shown) - len(shown.lstrip()))
        spans += [(a + shift, b + shift) for a, b, _ in matches if start <= a and b <= end]
        line += _OTHER_SPACE.sub(" ", stripped)
        shown_to = end
    return Snippet(line + (_ELLIPSIS if text[shown_to:].strip() else ""), _united(spans))


def highlights_of(text: str, query: Query) -> tuple[tuple[int, int], ...]:
    """Return where the words of the query are in a short text, such as a title."""
    return _united([(a, b) for a, b, _ in _matches(SearchedText(text), query)])


def marked_html(text: str, highlights: Sequence[tuple[int, int]]) -> str:
    """Return HTML that is safe between tags and in attributes: all escaped, highlights in <mark>."""
    parts: list[str] = []
    done = 0
    for start, end in highlights:
        parts += [html.escape(text[done:start]), "<mark>", html.escape(text[start:end]), "</mark>"]
        done = end
    return "".join(parts) + html.escape(text[done:])


class _Wanted(NamedTuple):
    """A term to be looked for."""

    term: str  # as it stands, or what all forms of a word begin with
    is_word: bool
    form: str = ""  # not empty: any word of this form that begins so


def _matches(searched: SearchedText, query: Query) -> list[_Match]:
    """Return (start, end, term) of the query's terms in the original text, ascending.

    A long text is read piece by piece until every term has been seen: folding costs 5 us for 1,000
    characters, and what is best among the first matches is good enough.
    """
    wanted = _wanted(query.scoring)
    found: list[_Match] = []
    missing = {each.term for each in wanted}
    start = 0
    for piece in searched.pieces() if missing else ():
        for each in wanted:
            for place, end in _places(piece.folded, each):
                a, b = piece.span(place, end)
                found.append((start + a, start + b, each.term))
                missing.discard(each.term)
        if not missing:
            break
        start += piece.original_chars
    # At one place the longest first, so that a word counts whole before the words inside it.
    found.sort(key=lambda match: (match[0], -match[1]))
    return found


def _common_start(a: str, b: str) -> str:
    same = takewhile(lambda pair: pair[0] == pair[1], zip(a, b, strict=False))
    return "".join(character for character, _ in same)


@lru_cache(maxsize=QUERIES_CACHED)
def _wanted(scoring: tuple[str, ...]) -> tuple[_Wanted, ...]:
    """Return what to look for: words in all their forms, compounds with their signs, other terms as such."""
    words = [entry for entry in scoring if entry >= " "]
    forms = {entry for entry in scoring if entry.startswith(FORM_PREFIX)}
    wanted: list[_Wanted] = []
    for word in words:
        form = form_of(word)
        start = _common_start(word, form.removeprefix(FORM_PREFIX)) if form in forms else ""
        if len(start) >= _STEM_CHARS_MIN:
            wanted.append(_Wanted(start, True, form))
        else:
            wanted.append(_Wanted(word, kind_of(word) is RunKind.WORD))
    compounds = (entry for entry in scoring if entry.startswith(COMPOUND_PREFIX))
    wanted += [_Wanted(entry.removeprefix(COMPOUND_PREFIX), False) for entry in compounds]
    return tuple(wanted)


def _places(folded: str, wanted: _Wanted) -> list[tuple[int, int]]:
    """Return where a term stands in folded text: a word as a whole, a Chinese term anywhere.

    `str.find` for each term: a pattern for all of them takes milliseconds to compile for every new
    query, and five times as long to search with.
    """
    places: list[tuple[int, int]] = []
    are_forms: dict[str, bool] = {}
    place = folded.find(wanted.term)
    while place >= 0 and len(places) < _PLACES_MAX:
        end = place + len(wanted.term)
        if not wanted.is_word:
            places.append((place, end))
        elif not _is_letter(folded, place - 1):
            if wanted.form:
                word = _word_at(folded, place)
                if word not in are_forms:
                    are_forms[word] = form_of(word) == wanted.form
                if are_forms[word]:
                    places.append((place, place + len(word)))
            elif not _is_letter(folded, end):
                places.append((place, end))
        place = folded.find(wanted.term, end)
    return places


def _word_at(folded: str, place: int) -> str:
    """Return the word that begins at a place, cut off where it is too long."""
    letters = _LETTERS.match(folded, place)
    return letters[0] if letters else ""


def _is_letter(folded: str, place: int) -> bool:
    """Tell whether a word would go on there. It ends where its script does: T恤, GNU系统."""
    if not 0 <= place < len(folded) or folded[place] == " ":
        return False
    return _LETTER.match(folded, place) is not None


def _piece(text: str, start: int) -> str:
    """Return the next piece of a text, to the end of a line where that is near."""
    end = start + _PIECE_CHARS
    line_end = text.rfind("\n", start + _PIECE_CHARS // 2, end)
    return text[start : line_end + 1 if line_end > 0 and end < len(text) else end]


def _fragments(text: str, matches: Sequence[_Match], columns: int) -> list[tuple[int, int]]:
    """Return the parts of a text to be shown, ascending and apart: as few as show as much as any."""
    best: list[tuple[int, int]] = []
    best_value = -1
    seen = {term for _, _, term in matches}
    for count in range(1, _FRAGMENTS_MAX + 1):
        fragments, shown = _windows(text, matches, count, columns // count)
        value = _worth(shown)
        if value > best_value:
            best, best_value = fragments, value
        if value == _worth(seen):
            break
    return best


def _windows(
    text: str, matches: Sequence[_Match], count: int, columns: int
) -> tuple[list[tuple[int, int]], set[str]]:
    """Choose windows one after the other, each for the terms that those before do not have.

    Returns:
      The windows, ascending, and the terms in them.
    """
    if not matches:
        return [_window(text, 0, columns)], set()
    all_shown: set[str] = set()
    windows: list[tuple[int, int]] = []
    left = list(matches)
    while len(windows) < count and left:
        first = _best_start(text, left, columns)
        start, end = _window(text, _lead_in(text, first, columns), columns)
        # What is left of it beside the others is not worth a fragment of its own.
        is_apart = all(end <= other_start or other_end <= start for other_start, other_end in windows)
        shown: set[str] = set()
        if is_apart:
            windows.append((start, end))
            shown = {term for a, b, term in matches if start <= a and b <= end}
            all_shown |= shown
        left = [match for match in left if match[2] not in shown and match[0] != first]
    return sorted(windows), all_shown


def _window(text: str, start: int, columns: int) -> tuple[int, int]:
    end = _forward(text, start, columns)
    return start, _back_to_border(text, start, end) if end < len(text) else end


def _worth(terms: Iterable[str]) -> int:
    """A long word is worth more than the short ones it is made of."""
    return sum(map(len, terms))


def _best_start(text: str, matches: Sequence[_Match], columns: int) -> int:
    """Return the first match of the window with the most distinct terms, then the most matches."""
    # Half of the columns may be lost to wide characters; matches are counted in the part that is sure.
    reach = (columns - _lead_columns(columns)) // (2 if _is_mostly_wide(text, matches[0][0]) else 1)
    counts: dict[str, int] = {}
    worth = 0  # of the terms that are counted
    best, best_value, right = 0, (-1, -1), 0
    for left, (start, _, term) in enumerate(matches):
        while right < len(matches) and matches[right][1] <= start + reach:
            seen = matches[right][2]
            counts[seen] = counts.get(seen, 0) + 1
            worth += len(seen) if counts[seen] == 1 else 0
            right += 1
        value = (worth, right - left)
        if value > best_value:
            best, best_value = start, value
        if right > left:
            counts[term] -= 1
            worth -= len(term) if counts[term] == 0 else 0
        else:
            right = left + 1
    return best


def _lead_columns(columns: int) -> int:
    return min(_LEAD_COLUMNS, columns // 4)


def _is_mostly_wide(text: str, around: int) -> bool:
    sample = text[max(0, around - 50) : around + 50]
    return len(_WIDE.findall(sample)) * 2 > len(sample)


def _lead_in(text: str, start: int, columns: int) -> int:
    """Step back from a match to the start of its sentence when that is near, else to a word's."""
    earliest, used = start, 0
    most = _lead_columns(columns)
    while earliest > 0 and used < most:
        earliest -= 1
        used += 2 if _WIDE.match(text[earliest]) else 1
    if earliest == 0:
        return 0
    ends = [match.end() for match in _SENTENCE_END.finditer(text, earliest, start)]
    if ends:
        return ends[0]
    for place in range(earliest, min(start, earliest + _WORD_CHARS_MAX)):
        if _is_border(text, place):
            return place
    return earliest


def _forward(text: str, start: int, columns: int) -> int:
    """Return the end of the text that fits into `columns` from `start`."""
    fitting = text[start : start + columns]
    while not fitting.isascii() and (excess := len(fitting) + len(_WIDE.findall(fitting)) - columns) > 0:
        # A character less gives back two columns at most, so this never drops one too many.
        fitting = fitting[: -((excess + 1) // 2)]
    return start + len(fitting)


def _back_to_border(text: str, start: int, end: int) -> int:
    for place in range(end, max(start + 1, end - _WORD_CHARS_MAX), -1):
        if _is_border(text, place):
            return place
    return end


def _is_border(text: str, place: int) -> bool:
    """Tell whether text[:place] and text[place:] part without cutting a word."""
    before, after = text[place - 1], text[place]
    return not (before.isalnum() and after.isalnum()) or bool(_WIDE.match(before) or _WIDE.match(after))


def _united(spans: Sequence[tuple[int, int]]) -> tuple[tuple[int, int], ...]:
    """Join spans that overlap or touch."""
    joined: list[tuple[int, int]] = []
    for start, end in spans:
        if joined and start <= joined[-1][1]:
            joined[-1] = (joined[-1][0], max(end, joined[-1][1]))
        else:
            joined.append((start, end))
    return tuple(joined)
