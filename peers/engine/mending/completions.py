"""Completions of a query that is being typed: texts and words of pages, and how many pages have them.

First those that begin as it does: texts of pages (`suggested_texts`) and words of the dictionary, those that
most pages have. Then titles that have its words further inside. Where all that is little, those that begin
with words that its last one is pinyin for, and where it is nothing, with words spelled nearly like that.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from enum import IntEnum
from typing import Final, NamedTuple

import numpy as np

from peers.engine.matching.matching import found_by
from peers.engine.matching.matching_cost import matching_cost
from peers.engine.mending.similar_words import SAMPLES, is_text, sampled, similar_words
from peers.engine.pages.filter_entries import TEXT_PREFIX
from peers.engine.pages.suggested_texts import CHARS_MAX, text_of_entry, texts_of_title, typed_key
from peers.engine.queries.query import TITLE_FIELD, Literal, LiteralKind, Query
from peers.engine.searching.effort import Effort, EffortSpentError
from peers.engine.segments.live_segment import SegmentView
from peers.kernel import Ints
from peers.text.analysis import literal_of
from peers.text.runs import runs_of

COMPLETIONS_MAX: Final = 8  # of each kind, from one index
TAKING_TURNS: Final = 4  # words that are shown if there are enough texts, and the other way round
SCANNED_MAX: Final = 16_384  # entries of one segment that begin alike: the first of them, by their letters
LETTERS_MIN: Final = 3  # of a Latin word, before it is looked for inside of titles or among its like
INSIDE_WORDS: Final = 3  # of the dictionary that begin with the last letters typed
LIKE_WORDS: Final = 2  # words taken for a mistyped one
_ENTRY_VISITS: Final = 16  # entries that are scanned in the time of a visit
_READ_VISITS: Final = 5_000  # of a stored page, as `index_reader` counts


class Nearness(IntEnum):
    """How near a completion is to the typed text, the nearest first."""

    TEXT = 0  # begins with it
    WORD = 1  # its last word begins so
    INSIDE = 2  # has its words, in a title, or is a title of which it is the first letters in pinyin
    LIKE = 3  # is spelled or sounds nearly alike


class Completion(NamedTuple):
    """A text that may be typed in the end."""

    text: str
    nearness: Nearness
    pages: int
    samples: tuple[str, ...]  # URLs of some of them


def completions(segments: Sequence[SegmentView], typed: str, effort: Effort) -> list[Completion]:
    """Find completions of a beginning, as far as the effort goes. DamagedSegmentError.

    Args:
      segments: without documents of which no text may be shown.
    """
    key = typed_key(typed)
    found: list[Completion] = []
    if not key:
        return found
    try:
        for each in _in_turn(segments, key, effort):
            found.append(each)
    except EffortSpentError:
        pass  # these are those that could be found
    return found


def _in_turn(views: Sequence[SegmentView], key: str, effort: Effort) -> Iterator[Completion]:
    n_texts = n_words = n_inside = 0
    for each in _texts(views, key, Nearness.TEXT, effort):
        n_texts += 1
        yield each
    before, last = _split(key)
    n_words_max = max(COMPLETIONS_MAX - n_texts, TAKING_TURNS)
    words = _commonest(views, last, n_words_max, effort) if last else []
    for each in _words(views, before, words, Nearness.WORD, effort):
        n_words += 1
        yield each
    # No more of a kind are looked for than could be shown behind those that are nearer.
    is_long = len(key) >= LETTERS_MIN or not key.isascii()
    if is_long and n_texts + n_words < COMPLETIONS_MAX:
        keys = [before + word for word in words[:INSIDE_WORDS]] if last else [key]
        for each in _inside(views, keys, effort):
            n_inside += 1
            yield each
    if last and is_long and n_words < TAKING_TURNS:
        # A typo is only thought of where nothing goes on from what was typed.
        yield from _alike(views, before, last, effort, by_spelling=not n_texts + n_words + n_inside)


def _split(key: str) -> tuple[str, str]:
    """Split off the last word, "" where it is complete; the blank before it stays with the rest."""
    last = "" if key.endswith(" ") else runs_of(key)[-1]
    return key.removesuffix(last), last


def _texts(
    views: Sequence[SegmentView], key: str, nearness: Nearness, effort: Effort
) -> Iterator[Completion]:
    """Yield the texts that begin with a key and are those of most pages."""
    for entry in _commonest(views, TEXT_PREFIX + key, COMPLETIONS_MAX, effort):
        pages, samples = _pages_with(views, (entry,), effort)
        if pages:
            yield Completion(text_of_entry(entry), nearness, pages, samples)


def _words(
    views: Sequence[SegmentView], before: str, words: Iterable[str], nearness: Nearness, effort: Effort
) -> Iterator[Completion]:
    """Yield the typed text with other last words, where pages have all words of it."""
    for word in words:
        if len(before) + len(word) <= CHARS_MAX:
            entries = tuple(dict.fromkeys((*runs_of(before), word)))
            pages, samples = _pages_with(views, entries, effort)
            if pages:
                yield Completion(before + word, nearness, pages, samples)


def _alike(
    views: Sequence[SegmentView], before: str, last: str, effort: Effort, *, by_spelling: bool
) -> Iterator[Completion]:
    like, _ = similar_words(views, last, (), effort, by_spelling=by_spelling, by_parts=False)
    like.sort(key=lambda each: (-each.pages, each.word))
    for each in like:
        if is_text(each.word):
            text = before + text_of_entry(each.word)
            yield Completion(text, Nearness.INSIDE, each.pages, each.samples)
    meant = [each.word for each in like if each.word != last and not is_text(each.word)][:LIKE_WORDS]
    yield from _words(views, before, meant, Nearness.LIKE, effort)
    for word in meant:
        yield from _texts(views, before + word, Nearness.LIKE, effort)


def _commonest(views: Sequence[SegmentView], prefix: str, n_max: int, effort: Effort) -> list[str]:
    """Return the entries that begin alike and are of most documents."""
    sums: defaultdict[str, int] = defaultdict(int)
    for view in views:
        known = view.segment.beginning_with(prefix, SCANNED_MAX)
        effort.spend(len(known) // _ENTRY_VISITS + 2)
        best = known.at(np.argsort(-known.doc_freqs, kind="stable")[:n_max])
        names = view.segment.names(best.numbers)
        for name, doc_freq in zip(names, best.doc_freqs.tolist(), strict=True):
            sums[name] += doc_freq
    return sorted(sums, key=lambda name: (-sums[name], len(name), name))[:n_max]


def _pages_with(
    views: Sequence[SegmentView], entries: tuple[str, ...], effort: Effort
) -> tuple[int, tuple[str, ...]]:
    """Return how many pages have all entries, and some of their URLs."""
    n, samples, query = 0, list[str](), Query(required=entries)
    for view in views:
        effort.spend(matching_cost(view, query) // _ENTRY_VISITS + 2)
        documents = found_by(view, query).documents
        n += len(documents)
        if len(documents) and len(samples) < SAMPLES:
            samples += view.segment.urls_of(sampled(documents))
    return n, tuple(samples[:SAMPLES])


def _inside(views: Sequence[SegmentView], keys: Sequence[str], effort: Effort) -> Iterator[Completion]:
    """Yield parts of titles, of the pages to which most hosts link, that have the words inside."""
    found: list[tuple[int, SegmentView, int]] = []
    for key in keys:
        entries, distances = literal_of(key)
        literal = Literal(LiteralKind.PHRASE, tuple(entries), tuple(distances), TITLE_FIELD)
        query = Query(clauses=((literal,),))
        for view in views:
            effort.spend(matching_cost(view, query))
            documents = found_by(view, query).documents
            best = _most_linked(view, documents)
            links = view.segment.linking_hosts[best].tolist()
            found += [(-n, view, document) for n, document in zip(links, best.tolist(), strict=True)]
    found.sort(key=lambda each: each[0])
    for _, view, document in found[:COMPLETIONS_MAX]:
        effort.spend(_READ_VISITS)
        page = view.segment.stored(document)
        for text in map(text_of_entry, texts_of_title(page)):
            if any(key in typed_key(text) for key in keys):
                yield Completion(text, Nearness.INSIDE, 1, (page.url,))


def _most_linked(view: SegmentView, documents: Ints) -> Ints:
    links = view.segment.linking_hosts[documents]
    return documents[np.argsort(-links.astype(np.int64), kind="stable")[:COMPLETIONS_MAX]]
