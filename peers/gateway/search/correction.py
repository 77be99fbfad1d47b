"""Corrections of mistyped words: those of a query that may be, and the words meant. Pure.

A word that is on no page, or on hardly any, is compared with the words of all pages (`similar_words`): those
spelled nearly alike, and Chinese words for pinyin. Chinese characters that no page has side by side are
compared with runs that have another one, of nearly the same sound; within more characters, which may be
words that no page has side by side, those are only offered, and so are titles for the first letters of their
pinyin. What was meant is chosen by a noisy channel: the words of one edit, by

    log(pages with it and the rest of the query + PAGES_WEIGHT * pages with it) - cost of the edits

so that the rest of the query tells first and the mesh's own frequencies then (Kernighan, Church, Gale 1990;
Brill, Moore 2000). All counts are sums over the mesh, so the choice is the same however many peers there are.
Words of one page alone, or of pages that are taken down, are never chosen.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from heapq import nsmallest
from itertools import chain
from math import inf, log
from typing import Final, NamedTuple, TypeAlias

from peers.engine.mending.dictionary_scan import EDITS_MAX
from peers.engine.mending.similar_words import (
    INITIALS,
    NEAR_MAX,
    OF_INITIALS_MAX,
    OF_PART_MAX,
    RUNS_MAX,
    WORDS_MAX,
    is_text,
)
from peers.engine.pages.suggested_texts import text_of_entry
from peers.index.wire_messages import BESIDE_MAX, MISTYPED_MAX, SAMPLES_MAX, SIMILAR_MAX, Similar
from peers.text.analysis import pair_atoms, query_terms
from peers.text.folding import fold
from peers.text.pinyin import (
    has_initials,
    is_read_as,
    is_read_nearly_as,
    places_of,
    sounding_like,
    without_tones,
)
from peers.text.runs import RUN, RunKind, kind_of
from peers.text.stemming import form_of

WORD_CHARS: Final = range(4, 31)  # of a word that may be mistyped
# Characters on each side of those that may be wrong, which tell the right one. With none, every fourth right
# stretch of three words was taken for a wrong one, with two a wrong one was mended less often.
HAN_BESIDE: Final = 1
RARE_CHARS_MIN: Final = 5  # of one that some pages have
RARE_MAX: Final = 20  # pages that have it, and
RARE_SHARE: Final = 1 / 1_000  # of all
PAGES_MIN: Final = 2  # that have what was meant
OFFERED_FACTOR: Final = 5  # as many pages as the query has that was typed
PAGES_WEIGHT: Final = 0.01
EDIT_COST: Final = 5.0  # in nats: with more than 100 times the pages a word may be one edit further away
SOUND_COST: Final = 3.0
LIKE_SOUND_COST: Final = 1.5  # of zh for z, ng for n
LIKELY_EDIT: Final = 0.8  # of an edit: neighbours exchanged, a key beside the right one, a letter doubled
FIRST_LETTER: Final = 0.3  # more, since it is seldom wrong

_QUOTED: Final = re.compile('["＂“”„][^"＂“”„]*["＂“”„]?|「[^」]*」?|『[^』]*』?')
_TOKEN: Final = re.compile(r"\S+")
_PUNCTUATION: Final = ".,;!?()（）。，；！？、"
_NO_WORDS: Final = re.compile(r"[:/@_\\=.'’*+#&：-]")
_OPERATORS: Final = frozenset(("AND", "OR", "NOT"))
_KEYS: Final = ("qwertyuiop", "asdfghjkl", "zxcvbnm")

_Place: TypeAlias = tuple[str, int, int]  # a word, and the start and end of what it stands for


class Mistyped(NamedTuple):
    """A part of a query that may be mistyped."""

    start: int  # in the text
    end: int
    letters: str  # folded
    is_nowhere: bool  # it is on no page


class Mended(NamedTuple):
    """The query that was meant."""

    text: str
    is_sure: bool  # what was typed is on no page: it is searched for at once


def mistyped_in(text: str, doc_freqs: Mapping[str, int], page_count: int) -> list[Mistyped]:
    """Return the words of a query that may be mistyped, in their order; those in quotation marks never are.

    Args:
      doc_freqs: of the terms of the query, over the mesh.
      page_count: of all pages.
    """
    rare_max = min(RARE_MAX, int(page_count * RARE_SHARE))
    latin: list[tuple[int, int, str]] = []
    found: list[Mistyped] = []
    for start, run in _runs_in(text):
        end = start + len(run)
        if kind_of(run) is RunKind.HAN:
            folded = fold(run)
            doubtful = _doubtful_in(folded, doc_freqs)
            found += [
                Mistyped(start + a, start + b, folded[a:b], is_nowhere=(a, b) == (0, len(run)))
                for a, b in doubtful
            ]
        elif kind_of(run) is RunKind.WORD:
            latin.append((start, end, fold(run)))
    pages = {folded: _pages_of(folded, doc_freqs) for _, _, folded in latin}
    found += _pinyin_in(text, latin, pages, rare_max)
    for start, end, folded in latin:
        n, letters = pages[folded], _letters_of(folded)
        if not letters or n is None or n > rare_max:
            continue
        if len(letters) in WORD_CHARS and (n == 0 or len(letters) >= RARE_CHARS_MIN):
            found.append(Mistyped(start, end, letters, is_nowhere=n == 0))
        elif len(letters) in INITIALS and n == 0:
            found.append(Mistyped(start, end, letters, is_nowhere=False))
    return sorted(found, key=lambda each: not each.is_nowhere)[:MISTYPED_MAX]


def beside(
    text: str, required: Sequence[str], doc_freqs: Mapping[str, int], mistyped: Sequence[Mistyped]
) -> tuple[str, ...]:
    """Return the entries that the rest of a query requires, as far as they are anywhere."""
    own = set(chain.from_iterable(query_terms(text[each.start : each.end]).required for each in mistyped))
    return tuple(entry for entry in required if entry not in own and doc_freqs.get(entry))[:BESIDE_MAX]


def summed(told: Sequence[Sequence[Similar]]) -> list[Similar]:
    """Add up the counts that the shares of a plan have told for one word: of SIMILAR_MAX words at most.

    Those that most shares tell go first, then those that a share tells first: one that lies keeps out none
    that two others tell.

    Args:
      told: by each share, in one order however they came.
    """
    ranks: dict[_Place, tuple[int, int]] = {}  # minus the shares that tell it, and the first turn
    for of_share in told:
        places = dict.fromkeys([(each.word, each.start, each.end) for each in of_share])
        for turn, place in enumerate(places):
            n_before, first = ranks.get(place, (0, turn))
            ranks[place] = n_before - 1, min(first, turn)
    kept: Iterable[_Place] = ranks
    if len(ranks) > SIMILAR_MAX:
        kept = nsmallest(SIMILAR_MAX, ranks, key=lambda place: (ranks[place], place))
    sums: dict[_Place, tuple[int, int, tuple[str, ...]]] = dict.fromkeys(kept, (0, 0, ()))
    for each in chain.from_iterable(told):
        place = each.word, each.start, each.end
        if place in sums:
            pages, together, samples = sums[place]
            samples = (*samples, *each.samples)[: SAMPLES_MAX * MISTYPED_MAX]
            sums[place] = pages + each.pages, together + each.together, samples
    return [Similar(*place, *numbers) for place, numbers in sums.items()]


def likeliest(typed: str, similar: Iterable[Similar]) -> list[Similar]:
    """Return the words that one index with the pages of all would tell, cut as `similar_words` does.

    Words of more edits, runs with more or other characters, words that are read otherwise, and texts of which
    the letters are not the first ones, are left out: no honest index tells them.
    """
    near: list[tuple[int, int, str, Similar]] = []
    texts: list[Similar] = []
    of_parts: defaultdict[tuple[int, int], list[Similar]] = defaultdict(list)
    for each in similar:
        if is_text(each.word):
            if has_initials(text_of_entry(each.word), typed):
                texts.append(each)
        elif not typed.isascii():
            if _is_like_run(typed, each.word):
                near.append((each.word != typed, -each.pages, each.word, each))
        elif each.word.isascii():
            edits = _edits(typed, each.word)
            if edits <= EDITS_MAX:
                near.append((edits, -each.pages, each.word, each))
        elif is_read_nearly_as(each.word, typed[each.start : each.end]):
            of_parts[each.start - each.end, each.start].append(each)
    n_max = NEAR_MAX if typed.isascii() else RUNS_MAX
    found = [each for *_, each in sorted(near, key=lambda told: told[:3])[:n_max]]
    for _, of_part in sorted(of_parts.items()):
        found += sorted(of_part, key=lambda each: (-each.pages, each.word))[:OF_PART_MAX]
    found += sorted(texts, key=lambda each: (-each.pages, each.word))[:OF_INITIALS_MAX]
    return found[:WORDS_MAX]


def _is_like_run(typed: str, run: str) -> bool:
    """Tell whether Chinese characters are those typed but for one of like sound, see `similar_runs`."""
    others = [pair for pair in zip(typed, run, strict=False) if pair[0] != pair[1]]
    return len(run) == len(typed) and len(others) <= 1 and all(b in sounding_like(a) for a, b in others)


def _edits(typed: str, word: str) -> int:
    """Return the number of edits, or EDITS_MAX + 1 where it is greater."""
    if typed == word:
        return 0
    cost = edit_cost(typed, word) - FIRST_LETTER
    return next((n for n in range(1, EDITS_MAX + 1) if cost <= n), EDITS_MAX + 1)


def mend(
    text: str,
    told: Sequence[tuple[Mistyped, Sequence[Similar]]],
    is_shown: Callable[[str], bool],
    page_count: int,
) -> Mended | None:
    """Return the query that was meant; None where the typed one is as likely.

    Args:
      told: what all peers say of the words that may be mistyped.
      is_shown: whether a page may be shown: what only others have is not chosen.
      page_count: of all pages.
    """
    meant: list[tuple[Mistyped, str]] = []
    for mistyped, similar in told:
        known = [each for each in similar if _is_of_several(each, is_shown)]
        if not any(typed.start < mistyped.end and mistyped.start < typed.end for typed, _ in meant):
            word = _meant_by(mistyped, similar, known, page_count)
            if word is not None:
                meant.append((mistyped, word))
    sure = [each for each, word in meant if each.is_nowhere and not is_text(word)]
    for mistyped, word in sorted(meant, reverse=True):
        if mistyped in sure or not sure:
            typed = text[mistyped.start : mistyped.end]
            text = text[: mistyped.start] + _written(word, typed) + text[mistyped.end :]
    return Mended(text, bool(sure)) if meant else None


def _written(meant: str, typed: str) -> str:
    """Keep the Chinese characters that are right as they were typed, traditional ones too."""
    if is_text(meant):
        return text_of_entry(meant)
    if meant.isascii() or len(meant) != len(typed):
        return meant
    return "".join(b if fold(b) == a else a for a, b in zip(meant, typed, strict=True))


def _is_of_several(each: Similar, is_shown: Callable[[str], bool]) -> bool:
    least = 1 if is_text(each.word) else PAGES_MIN  # a text may be the title of one page
    return each.pages >= least and sum(map(is_shown, set(each.samples))) >= least


class _Choice(NamedTuple):
    """A word that may have been meant."""

    likelihood: float  # logarithm
    word: str
    pages: int  # with the rest of the query


def _meant_by(
    mistyped: Mistyped, similar: Sequence[Similar], known: Sequence[Similar], page_count: int
) -> str | None:
    letters = mistyped.letters
    typed = next((each for each in similar if each.word == letters and each.end == len(letters)), None)
    texts = [each for each in known if is_text(each.word)]
    han = sorted((each for each in known if not each.word.isascii()), key=lambda each: each.word)
    choices: list[_Choice] = []
    if not letters.isascii():
        choices = _by_characters(letters, han)
    elif len(letters) in WORD_CHARS:
        choices = _by_letters(letters, [each for each in known if each.word.isascii()])
        choices += _by_sound(letters, [each for each in han if each not in texts], page_count)
    if texts and typed is None and all(choice.likelihood == -inf for choice in choices):
        return max(texts, key=lambda each: (each.together, each.pages, each.word)).word
    best = max(choices, default=None, key=lambda choice: (choice.likelihood, choice.word))
    if best is None or best.likelihood == -inf or mistyped.is_nowhere:
        return best.word if best and best.likelihood > -inf else None
    is_likelier = typed is None or best.likelihood > _log_pages(typed.together, typed.pages)
    pages = typed.together if typed else 0
    return best.word if is_likelier and best.pages >= max(OFFERED_FACTOR * pages, PAGES_MIN) else None


def _by_letters(letters: str, known: Iterable[Similar]) -> list[_Choice]:
    """Return the words spelled nearly alike, but for those of too few pages to be the likeliest."""
    choices: list[_Choice] = []
    least = -inf
    for each in sorted(known, key=_weight, reverse=True):
        weight = _weight(each)
        if weight - EDIT_COST * LIKELY_EDIT < least:
            break
        if each.word == letters:
            continue
        likelihood = weight - EDIT_COST * edit_cost(letters, each.word)
        choices.append(_Choice(likelihood, each.word, each.together))
        least = max(least, likelihood)
    return choices


def _by_sound(letters: str, known: Sequence[Similar], page_count: int) -> list[_Choice]:
    """Return the likeliest Chinese words, side by side, that sound like all of the letters; or none."""
    best: list[tuple[float, float, tuple[Similar, ...]]] = [(0.0, 0.0, ())]  # up to each place
    by_end: defaultdict[int, list[Similar]] = defaultdict(list)
    for each in known:
        if each.start < each.end <= len(letters):
            by_end[each.end].append(each)
    if not by_end[len(letters)]:
        return []
    for end in range(1, len(letters) + 1):
        ways: list[tuple[float, float, tuple[Similar, ...]]] = [(-inf, 0.0, ())]
        for each in by_end[end]:
            likelihood, cost, words = best[each.start]
            cost += _sound_cost(letters[each.start : end], each.word)
            ways.append((likelihood + log(each.pages / max(page_count, 1)), cost, (*words, each)))
        best.append(max(ways, key=lambda way: way[0] - way[1]))
    _, cost, words = best[-1]
    word = "".join(each.word for each in words)
    if not words or word == letters:
        return []
    together, pages = min(each.together for each in words), min(each.pages for each in words)
    cost += SOUND_COST + len(words) - 1
    return [_Choice(_log_pages(together, pages) - cost, word, together)]


def _by_characters(typed: str, known: Iterable[Similar]) -> list[_Choice]:
    """Return the runs of as many Chinese characters, others than were typed."""
    choices: list[_Choice] = []
    for each in known:
        if each.word != typed and len(each.word) == len(typed):
            cost = sum(_character_cost(*pair) for pair in zip(typed, each.word, strict=True))
            choices.append(_Choice(_log_pages(each.together, each.pages) - cost, each.word, each.pages))
    return choices


def _character_cost(typed: str, meant: str) -> float:
    if typed == meant:
        return 0.0
    return SOUND_COST if sounding_like(typed).get(meant) else SOUND_COST + LIKE_SOUND_COST


def _sound_cost(letters: str, word: str) -> float:
    return 0.0 if is_read_as(word, letters) else LIKE_SOUND_COST


def _weight(each: Similar) -> float:
    return _log_pages(each.together, each.pages)


def _log_pages(together: int, pages: int) -> float:
    return log(together + PAGES_WEIGHT * pages) if pages else -inf


def edit_cost(typed: str, word: str) -> float:
    """Return the least cost of the edits that make a word of typed letters, an unlikely edit costing 1.

    That of more than EDITS_MAX edits may be more than the least, or infinite: letters are compared only with
    those that are EDITS_MAX places away at most, so the time is proportional to the length of what was typed.
    """
    if abs(len(typed) - len(word)) > EDITS_MAX:
        return inf
    start = 0
    while start < min(len(typed), len(word)) and typed[start] == word[start]:
        start += 1
    before, row = [inf] * (len(word) + 2), [float(j) for j in range(len(word) - start + 1)]
    a, b = typed[start:], word[start:]
    last = typed[start - 1] if start else ""
    for j in range(1, len(b) + 1):
        row[j] = row[j - 1] + (LIKELY_EDIT if b[j - 1] == (b[j - 2] if j > 1 else last) else 1.0)
    for i in range(1, len(a) + 1):
        doubled = a[i - 1] == (a[i - 2] if i > 1 else last)
        above, row = row, [row[0] + (LIKELY_EDIT if doubled else 1.0)] + [inf] * len(b)
        for j in range(max(1, i - EDITS_MAX), min(len(b), i + EDITS_MAX) + 1):
            cost = above[j - 1] + _change_cost(a[i - 1], b[j - 1])
            cost = min(cost, above[j] + (LIKELY_EDIT if doubled else 1.0))
            cost = min(cost, row[j - 1] + (LIKELY_EDIT if b[j - 1] == (b[j - 2] if j > 1 else last) else 1.0))
            if i > 1 and j > 1 and a[i - 1] == b[j - 2] and a[i - 2] == b[j - 1]:
                cost = min(cost, before[j - 2] + LIKELY_EDIT)
            row[j] = cost
        before = above
    return row[-1] + (FIRST_LETTER if start == 0 else 0.0)


def _change_cost(typed: str, meant: str) -> float:
    if typed == meant:
        return 0.0
    return LIKELY_EDIT if _are_beside(typed, meant) else 1.0


def _are_beside(a: str, b: str) -> bool:
    """Tell whether two letters are beside each other on a keyboard, in a row or across two."""
    places = [(row, keys.index(c)) for c in (a, b) for row, keys in enumerate(_KEYS) if c in keys]
    if len(places) < 2:
        return False
    (row, column), (other_row, other_column) = sorted(places)
    # A row stands half a key right of the one above.
    return other_column - column in ((-1, 0) if other_row == row + 1 else (-1, 1)) and other_row - row <= 1


def _runs_in(text: str) -> Iterable[tuple[int, str]]:
    """Yield the runs of words that are neither quoted nor part of an operator, with their places."""
    apart = _QUOTED.sub(lambda match: " " * len(match[0]), text)
    for token in _TOKEN.finditer(apart):
        inside = token[0].strip(_PUNCTUATION)
        start = token.start() + token[0].find(inside)
        if token[0].startswith(("-", "－")) or inside in _OPERATORS or _NO_WORDS.search(inside):
            continue
        for run in RUN.finditer(inside):
            yield start + run.start(), run[0]


def _doubtful_in(run: str, doc_freqs: Mapping[str, int]) -> list[tuple[int, int]]:
    """Return the stretches of a run of Chinese characters that one wrong character keeps off all pages.

    Such a character has one or two pairs that are on no page; where more are side by side or nearly so, words
    stand together that no page has together, and all may be right.
    """
    lacking = [place for place, pair in enumerate(pair_atoms(run)[:-1]) if doc_freqs.get(pair) == 0]
    groups: list[list[int]] = []
    for place in lacking:
        if groups and place - groups[-1][-1] <= 2:
            groups[-1].append(place)
        else:
            groups.append([place])
    ends = [(group[0], group[-1] + 2) for group in groups if group[-1] - group[0] <= 1]
    return [(max(0, first - HAN_BESIDE), min(len(run), behind + HAN_BESIDE)) for first, behind in ends]


def _letters_of(folded: str) -> str:
    """Return letters that are to be compared: those of a word, or of pinyin without tones."""
    plain = without_tones(folded)
    is_word = plain.isascii() and plain.isalpha() and (plain == folded or bool(places_of(plain)))
    return plain if is_word else ""


def _pages_of(folded: str, doc_freqs: Mapping[str, int]) -> int | None:
    """Return how many pages have a word in any form, at least; None where that was not counted."""
    counts = [doc_freqs[entry] for entry in (folded, form_of(folded)) if entry and entry in doc_freqs]
    return max(counts, default=None)


def _pinyin_in(
    text: str, latin: Sequence[tuple[int, int, str]], pages: Mapping[str, int | None], rare_max: int
) -> list[Mistyped]:
    """Return the stretches of several words that are syllables, side by side, one of them hardly anywhere."""
    found: list[Mistyped] = []
    stretch: list[tuple[int, int, str]] = []
    for each in (*latin, (len(text) + 1, len(text) + 1, "")):
        is_next = bool(stretch) and text[stretch[-1][1] : each[0]].isspace() and each[0] <= len(text)
        is_read = bool(places_of(_letters_of(each[2])))
        if stretch and not (is_next and is_read):
            counts = [pages[folded] for _, _, folded in stretch]
            letters = "".join(_letters_of(folded) for _, _, folded in stretch)
            is_rare = any(n is not None and n <= rare_max for n in counts)
            if len(stretch) > 1 and is_rare and len(letters) in WORD_CHARS:
                found.append(Mistyped(stretch[0][0], stretch[-1][1], letters, is_nowhere=0 in counts))
            stretch = []
        if is_read:
            stretch.append(each)
    return found
