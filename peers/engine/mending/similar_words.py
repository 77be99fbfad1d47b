"""The words of the index that are like one that was typed, and how many pages have them.

Like a word in Latin letters are those that one edit makes of it, of a long one two; like letters that are
pinyin, words that sound like a part of them; like a few letters, texts of pages of which they are the first
ones in pinyin, as entries; like Chinese characters, others in whole (`similar_runs`). Pages of which no text
may be shown say nothing here: what they alone have is never proposed.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from functools import cache
from typing import Final, NamedTuple, TypeAlias

import numpy as np

from peers.engine.matching.matching import found_by
from peers.engine.matching.matching_cost import matching_cost
from peers.engine.mending.dictionary_scan import (
    NEAR_COLUMNS,
    READINGS_MAX,
    SOUND_COLUMNS,
    TYPED_BYTES_MAX,
    VARIANTS_MAX,
    near_entries,
    sounding_entries,
)
from peers.engine.mending.similar_runs import RUN_CHARS, pairs_of, similar_runs
from peers.engine.pages.filter_entries import TEXT_PREFIX
from peers.engine.pages.suggested_texts import SHOWN_AS
from peers.engine.queries.query import Query
from peers.engine.searching.effort import Effort, EffortSpentError
from peers.engine.segments.live_segment import SegmentView
from peers.engine.segments.segment import Segment
from peers.kernel import Ints, Sums
from peers.text.pinyin import places_of, readings, spellings_of_syllable, syllables
from peers.text.runs import RunKind, kind_of

# A word of seven letters with two edits is anything; one of eight seldom is.
TWO_EDITS_CHARS: Final = 8
NEAR_MAX: Final = 24  # words with the typed letters but for edits, those with the fewest and on most pages
OF_PART_MAX: Final = 3  # words for one part of what was typed
# Even two letters tell a title more often than not, where no page has them; of words three are those of many.
INITIALS: Final = range(2, 6)
OF_INITIALS_MAX: Final = 8
WORDS_MAX: Final = 64  # of all kinds
RUNS_MAX: Final = 32
SOUND_CHARS_MAX: Final = 30  # of pinyin
SAMPLES: Final = 4  # pages of a word that are named
_ROOM: Final = 4_096  # entries that one scan may find
_HAN: Final = ("\u4e00", "\ua000")
_TEXT_PARTS: Final = len(TEXT_PREFIX.encode()), len(SHOWN_AS.encode())  # around the characters of a text

Part: TypeAlias = tuple[int, int]
_Sounds: TypeAlias = tuple[Sums, Ints, Ints]  # the last arguments of `sounding_entries` before `found`


class SimilarWord(NamedTuple):
    """A word for a part of the typed text."""

    word: str
    part: Part  # its start and end, in characters
    pages: int
    together: int  # of them, those with the other words of the query
    samples: tuple[str, ...]  # URLs of some of the pages


def similar_words(
    segments: Sequence[SegmentView],
    typed: str,
    beside: tuple[str, ...],
    effort: Effort,
    *,
    by_spelling: bool = True,
    by_parts: bool = True,
) -> tuple[list[SimilarWord], bool]:
    """Find the words like a folded one, and tell whether there are more. DamagedSegmentError.

    The word itself is among them. The effort may end it, too.

    Args:
      segments: without documents of which no text may be shown.
      beside: entries that the other words of the query require.
      by_spelling: not only the Chinese words for pinyin.
      by_parts: not only those for all that was typed.
    """
    try:
        candidates, is_cut = _candidates(segments, typed, effort, by_spelling=by_spelling)
    except EffortSpentError:
        return [], True
    if not by_parts:
        candidates = [(word, part) for word, part in candidates if part == (0, len(typed))]
    found, is_short = counted_words(segments, typed, candidates, beside, effort)
    return found, is_cut or is_short


def counted_words(
    segments: Sequence[SegmentView],
    typed: str,
    words: Sequence[tuple[str, Part]],
    beside: tuple[str, ...],
    effort: Effort,
) -> tuple[list[SimilarWord], bool]:
    """Count the pages with each of the words like a typed one; tell whether the effort left any out."""
    found: list[SimilarWord] = []
    try:
        for word, part in words:
            entries = (word,) if typed.isascii() else tuple(dict.fromkeys(pairs_of(word)))
            counted = SimilarWord(word, part, *_counted(segments, entries, beside, effort))
            if counted.pages:
                found.append(counted)
    except EffortSpentError:
        return found, True
    return found, False


def _candidates(
    segments: Sequence[SegmentView], typed: str, effort: Effort, *, by_spelling: bool
) -> tuple[list[tuple[str, Part]], bool]:
    """Return the words that are worth counting, the likeliest first, and whether others are left out."""
    whole = (0, len(typed))
    if not typed.isascii():
        runs = _runs(segments, typed, effort) if by_spelling else []
        return [(run, whole) for run in runs[:RUNS_MAX]], len(runs) > RUNS_MAX
    near: dict[str, tuple[int, int]] = {}  # edits and minus pages
    sounding: defaultdict[Part, defaultdict[str, int]] = defaultdict(lambda: defaultdict(int))
    texts: defaultdict[str, int] = defaultdict(int)
    sounds, initials = _sounds_of(typed), _initials_in(typed)
    for view in segments:
        for word, doc_freq, edits in _near(view.segment, typed, effort) if by_spelling else ():
            near[word] = edits, near.get(word, (0, 0))[1] - doc_freq
        if sounds is not None:
            for word, doc_freq, part in _sounding(view.segment, sounds, (0, 0), effort):
                sounding[part][word] += doc_freq
        if initials is not None:
            for text, doc_freq in _of_initials(view.segment, typed, initials, effort):
                texts[text] += doc_freq
    nearest = sorted(near, key=lambda word: (near[word], word))
    words = [(word, whole) for word in nearest[:NEAR_MAX]]
    is_cut = len(nearest) > NEAR_MAX or any(len(of_part) > OF_PART_MAX for of_part in sounding.values())
    for part in sorted(sounding, key=lambda part: (part[0] - part[1], part)):
        of_part = sounding[part]
        best = sorted(of_part, key=lambda word: (-of_part[word], word))[:OF_PART_MAX]
        words += [(word, part) for word in best]
    commonest = sorted(texts, key=lambda text: (-texts[text], text))
    words += [(text, whole) for text in commonest[:OF_INITIALS_MAX]]
    is_cut = is_cut or len(commonest) > OF_INITIALS_MAX or len(words) > WORDS_MAX
    return words[:WORDS_MAX], is_cut


def _runs(segments: Sequence[SegmentView], typed: str, effort: Effort) -> list[str]:
    """Return the runs like one of Chinese characters, the commonest first; none where there are others."""
    found: defaultdict[str, int] = defaultdict(int)
    if len(typed) in RUN_CHARS and not any(kind_of(each) is not RunKind.HAN for each in typed):
        for view in segments:
            for run, doc_freq in similar_runs(view.segment, typed, effort).items():
                found[run] += doc_freq
    return sorted(found, key=lambda run: (run != typed, -found[run], run))


def _counted(
    segments: Sequence[SegmentView], own: tuple[str, ...], beside: tuple[str, ...], effort: Effort
) -> tuple[int, int, tuple[str, ...]]:
    """Count the pages with some entries, alone and with others, and name some. EffortSpentError."""
    pages = together = 0
    samples: list[str] = []
    required = tuple(dict.fromkeys((*own, *beside)))
    for view in segments:
        counts = []
        for entries in dict.fromkeys((own, required)):
            query = Query(required=entries)
            effort.spend(matching_cost(view, query))
            counts.append(found_by(view, query).documents)
        alone, with_all = counts[0], counts[-1]
        pages += len(alone)
        together += len(with_all)
        if len(alone):
            samples += view.segment.urls_of(sampled(alone))
    return pages, together, tuple(samples[:SAMPLES])


def sampled(documents: Ints) -> list[int]:
    """Return SAMPLES of some documents, evenly taken."""
    last = len(documents) - 1
    return [int(documents[place]) for place in sorted({last * n // (SAMPLES - 1) for n in range(SAMPLES)})]


def _near(segment: Segment, typed: str, effort: Effort) -> list[tuple[str, int, int]]:
    """Return words of the typed letters but for edits, the documents that have them, and the edits."""
    letters = typed.encode()
    if not typed.isalpha() or len(letters) > TYPED_BYTES_MAX:
        return []
    edits_max = 1 if len(typed) < TWO_EDITS_CHARS else 2
    blocks = segment.blocks_of_words
    found = np.empty(_ROOM * NEAR_COLUMNS, np.int64)
    _pay(blocks, effort)
    n = near_entries(
        *(segment.dictionary, segment.dictionary_blocks, segment.entry_count, *blocks),
        *(np.frombuffer(letters, np.uint8), edits_max, found),
    )
    rows = found[: n * NEAR_COLUMNS].reshape(-1, NEAR_COLUMNS)
    rows = rows[np.lexsort((-rows[:, 1], rows[:, 2]))][: 4 * NEAR_MAX]
    words = segment.names(rows[:, 0])
    numbers = zip(words, rows[:, 1].tolist(), rows[:, 2].tolist(), strict=True)
    return [each for each in numbers if each[0].isascii() and each[0].isalpha()]


def is_text(word: str) -> bool:
    """Tell whether it is the entry of a text, whose initials were typed."""
    return word.startswith(TEXT_PREFIX)


def _of_initials(segment: Segment, typed: str, initials: _Sounds, effort: Effort) -> list[tuple[str, int]]:
    """Return the texts whose syllables begin with typed letters, and how many documents have them."""
    found = _sounding(segment, initials, _TEXT_PARTS, effort)
    return [
        (text, doc_freq)
        for text, doc_freq, part in found
        if part == (0, len(typed)) and is_text(text) and text.endswith(SHOWN_AS)
    ]


def _sounding(
    segment: Segment, sounds: _Sounds, around: tuple[int, int], effort: Effort
) -> list[tuple[str, int, Part]]:
    """Return Chinese words that sound like a part of the typed text, and their numbers of documents.

    Args:
      around: bytes before and behind the characters of an entry: of words none, of texts `_TEXT_PARTS`.
    """
    prefix = TEXT_PREFIX if around[0] else ""
    blocks = segment.blocks_between(*((prefix + border).encode() for border in _HAN))
    found = np.empty(_ROOM * SOUND_COLUMNS, np.int64)
    _pay(blocks, effort)
    n = sounding_entries(
        *(segment.dictionary, segment.dictionary_blocks, segment.entry_count, *blocks),
        *(_readings_table(), *sounds),
        *around,
        found,
    )
    rows = found[: n * SOUND_COLUMNS].reshape(-1, SOUND_COLUMNS)
    words = segment.names(rows[:, 0])
    return [
        (word, doc_freq, (start, end))
        for word, (_, doc_freq, start, end) in zip(words, rows.tolist(), strict=True)
    ]


def _pay(blocks: tuple[int, int], effort: Effort) -> None:
    """Pay for a scan: of a block as much as a visit or two. EffortSpentError."""
    effort.spend(10 * max(0, blocks[1] - blocks[0]))


def _sounds_of(typed: str) -> _Sounds | None:
    """Return the places of typed syllables, as `sounding_entries` takes them; None where there are none."""
    starts = places_of(typed) if len(typed) <= SOUND_CHARS_MAX else []
    if not starts:
        return None
    rows_of, lengths = _spellings()
    matches = np.zeros(len(lengths), np.uint64)
    n_max = lengths.max()
    for place in starts:
        for end in range(place + 1, min(place + n_max, len(typed)) + 1):
            if rows := rows_of.get(typed[place:end]):
                matches[rows] |= np.uint64(1 << place)
    return matches, lengths, np.array(starts, np.int64)


def _initials_in(typed: str) -> _Sounds | None:
    """Return letters that are each the first one of a syllable likewise; None where one is not."""
    if len(typed) not in INITIALS or not typed.isascii():
        return None
    firsts = _first_letters()
    matches = np.zeros((len(firsts), VARIANTS_MAX), np.uint64)
    for place, letter in enumerate(typed):
        are_like = firsts == ord(letter)
        if not are_like.any():
            return None
        matches[are_like, 0] |= np.uint64(1 << place)
    return matches.reshape(-1), np.ones(matches.size, np.int64), np.zeros(1, np.int64)


@cache
def _spellings() -> tuple[dict[str, list[int]], Ints]:
    """Return the rows of each spelling in tables of VARIANTS_MAX rows a syllable, and the length in each."""
    rows_of: defaultdict[str, list[int]] = defaultdict(list)
    lengths = np.ones(len(syllables()) * VARIANTS_MAX, np.int64)
    for number, syllable in enumerate(syllables()):
        for row, spelling in enumerate(spellings_of_syllable(syllable), number * VARIANTS_MAX):
            rows_of[spelling].append(row)
            lengths[row] = len(spelling)
    return dict(rows_of), lengths


@cache
def _first_letters() -> Ints:
    return np.array([ord(syllable[0]) for syllable in syllables()], np.int64)


@cache
def _readings_table() -> Ints:
    """Return READINGS_MAX syllables of each character from U+4E00 on, by number, -1 for none."""
    numbers = {syllable: number for number, syllable in enumerate(syllables())}
    table = np.full((ord(_HAN[1]) - ord(_HAN[0]), READINGS_MAX), -1, np.int64)
    for character, of_character in readings().items():
        for place, syllable in enumerate(of_character[:READINGS_MAX]):
            table[ord(character) - ord(_HAN[0]), place] = numbers[syllable]
    return table.reshape(-1)
