"""Turn the texts of documents into occurrences: analysis in bulk, grouped by dictionary entry.

Everything here is done for many documents at once, because a call for each term in Python costs more
than the work itself: all Han runs of a batch go to the segmenter together, strings become numbers in one
pass over a dictionary, and the rest is numpy and `kernels`. The terms are those of `analysis`.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence, Sized
from itertools import chain, count, islice
from typing import Any, NamedTuple
from urllib.parse import unquote

import numpy as np
from numpy.typing import NDArray

from peers.engine.native.compiled import kernel
from peers.engine.native.kernels import (
    ANCHORS,
    BODY,
    BOILERPLATE,
    DOCUMENT_SHIFT,
    FIELD_COUNT,
    FIELD_SHIFT,
    PACKED_BITS,
    PACKED_CHARS_MAX,
    URL,
    number_tokens,
    rehash,
    scatter,
)
from peers.engine.pages.document import Document
from peers.engine.pages.site_names import names_of
from peers.engine.pages.suggested_texts import texts_of_links, texts_of_title
from peers.engine.postings.word_numbers import NO_ENTRY, PlacedNumbers, borrow_known, return_known
from peers.kernel import Bytes, Codes, Ints, Lengths
from peers.text.analysis import CHARACTER_PREFIX, TERM_CHARS_MAX, cluster_atoms, cluster_terms
from peers.text.characters import UNSEEN, character_classes, codes_of, fold_evenly, text_of
from peers.text.compounds import (
    CHAIN_CHARS_MAX,
    CHAIN_WORDS_MAX,
    DIGITS,
    GROUPING,
    HYPHEN,
    LINKS,
    MIXED_CHARS_MAX,
    NAME_LINK,
    NAME_WORDS_MAX,
    SCOPE,
    grouped_number,
    marked,
    mixed,
    model,
    option,
)
from peers.text.folding import fold
from peers.text.line_languages import (
    LANGUAGES,
    NONE,
    Runs,
    line_languages,
    other_languages,
    own_language,
    script_masks,
)
from peers.text.runs import KIND_OF_CHARACTER, RunKind, clusters_of
from peers.text.segmentation import segment_han
from peers.text.spellings import SPELLED_CHARS_MAX, SPELLED_SHARE_MAX, marked_places
from peers.text.stemming import MODEL_CHARS_MAX, NATIVE_STEMMERS, native_language

# Characters of one field that are searchable; what is behind is stored but not found. The largest page of
# a 268,800-page documentation web has 17 MB of HTML and about 6 million characters of text.
FIELD_CHARS_MAX = 8 * 1024 * 1024
# Anchors of one page that are searchable: popular pages have millions of links, all saying the same.
ANCHORS_MAX = 1000
# Analysed in one go: large enough to hide the cost of calls, small enough to stay in the cache.
_BATCH_CHARS = 256 * 1024

_KINDS = np.frombuffer(KIND_OF_CHARACTER, np.uint8)
# As plain numbers: for a member of an enumeration numpy makes 64 bits of each kind that is compared with it.
NO_RUN, _WORD, _HAN, _OTHER_CJK, _UNSPACED = map(int, RunKind)
_NATIVE = ("", *NATIVE_STEMMERS)
_NATIVE_NUMBERS = {language: number for number, language in enumerate(_NATIVE)}
# Of each of `LANGUAGES`, and at last, where NONE is found, of none.
_NATIVE_OF = np.array([_NATIVE_NUMBERS[native_language(each)] for each in (*LANGUAGES, "")])
_DIGITS = np.array(list(map(ord, DIGITS)))
_IS_LINK = np.isin(np.arange(128), list(map(ord, LINKS)))
_LONG_FIELDS = (BODY, BOILERPLATE)  # the others have entries for spellings whatever the share
_NO_RUNS: Ints = np.zeros(0, np.int64)
_BREAK = "\n"  # between runs and texts; never part of a run
TEXT_BREAK = ord(_BREAK)


class _Vocabulary:
    """Numbers for terms in the order of their first use."""

    def __init__(self) -> None:
        self.terms: list[str] = []
        self._numbers: defaultdict[str, int] = defaultdict()  # of those that may be looked up again
        self.add_all([_BREAK])

    def numbers(self, terms: Sequence[str]) -> Ints:
        """Return the number of each term, the next ones of those that have none."""
        n_known = len(self._numbers)
        self._numbers.default_factory = count(len(self.terms)).__next__  # which calls no Python for each
        numbers = np.fromiter(map(self._numbers.__getitem__, terms), np.int64, len(terms))
        if n_new := len(self._numbers) - n_known:
            self.terms += reversed([*islice(reversed(self._numbers), n_new)])
        return numbers

    def new_numbers(self, terms: Sequence[str]) -> Ints:
        """Return the numbers of terms that have none, and are of no kind that is looked up; each once."""
        first = len(self.terms)
        self.terms += terms
        return np.arange(first, first + len(terms))

    def add_all(self, terms: Sequence[str]) -> None:
        """Give new terms the next numbers."""
        self._numbers.update(zip(terms, self.new_numbers(terms).tolist(), strict=True))


class _ShortNumbers:
    """Numbers Han terms and pairs out of a vocabulary, five times as fast as looking each up.

    The segmenter makes a new string for each token, which a dictionary would have to hash and compare.
    Short tokens are numbers themselves, and those that are not yet known are few.
    """

    def __init__(self, vocabulary: _Vocabulary) -> None:
        self._vocabulary = vocabulary
        self._keys: Ints = np.zeros(2, np.int64)
        self._numbers: Ints = np.zeros(2, np.int64)
        self._known = 0
        self.numbers([_BREAK])  # which has its number, 0, in the vocabulary already

    def numbers(self, tokens: list[str]) -> Ints:
        """Return the number of each token."""
        codes = np.frombuffer("\0".join([*tokens, ""]).encode("utf-32-le"), np.uint32)
        numbers = self.numbers_of_codes(codes, len(tokens))
        is_long = np.flatnonzero(numbers < 0)
        numbers[is_long] = self._vocabulary.numbers([tokens[i] for i in is_long.tolist()])
        return numbers

    def numbers_of_codes(self, codes: NDArray[np.uint32], n_tokens: int) -> Ints:
        """Return the number of each token, -1 for those longer than PACKED_CHARS_MAX.

        Args:
          codes: code points, each token's followed by a 0.
        """
        self._make_room(n_tokens)
        numbers, new_keys = np.empty(n_tokens, np.int64), np.empty(n_tokens, np.int64)
        first_new = len(self._vocabulary.terms) if self._known else 0
        n_new = number_tokens(codes, self._keys, self._numbers, first_new, numbers, new_keys)
        if self._known:
            self._vocabulary.add_all(_unpacked(new_keys[:n_new]))
        self._known += n_new
        return numbers

    def _make_room(self, n_tokens: int) -> None:
        size = len(self._keys)
        while size < 2 * (self._known + n_tokens):
            size *= 2
        if size > len(self._keys):
            keys, numbers = np.zeros(size, np.int64), np.zeros(size, np.int64)
            rehash(self._keys, self._numbers, keys, numbers)
            self._keys, self._numbers = keys, numbers


def _unpacked(keys: Ints) -> list[str]:
    """Return the tokens of packed code points."""
    codes = np.zeros((len(keys), PACKED_CHARS_MAX + 1), np.uint32)
    for i in range(PACKED_CHARS_MAX):
        codes[:, i] = keys >> PACKED_BITS * (PACKED_CHARS_MAX - 1 - i) & ((1 << PACKED_BITS) - 1)
    is_kept = codes != 0
    is_kept[:, -1] = True  # what ends each
    kept: NDArray[np.uint32] = codes[is_kept]
    return kept.tobytes().decode("utf-32-le").split("\0")[:-1]


class Occurrences(NamedTuple):
    """Every term and atom of some documents."""

    entries: list[str]  # the dictionary in the order of first use
    starts: Ints  # where the occurrences of each entry start (entries + 1)
    keys: Ints


class Inverter:
    """Collects the occurrences of terms and atoms of documents given in ascending order.

    Each entry's occurrences come in one of ten streams (words, forms, compounds, spellings, Han terms, pairs,
    terms of clusters, clusters, marks, names), each of them ascending, so grouping by entry needs no sorting.
    """

    def __init__(self, n_documents: int) -> None:
        self.lengths = np.zeros((n_documents, FIELD_COUNT), np.uint32)
        self._vocabulary = _Vocabulary()
        self._short_numbers = _ShortNumbers(self._vocabulary)
        self._known = borrow_known()
        self._words = self._known.words
        new_numbers, numbers = self._vocabulary.new_numbers, self._vocabulary.numbers
        self._word_numbers = PlacedNumbers(self._words.texts, new_numbers)
        self._form_numbers = PlacedNumbers(self._words.entries, new_numbers)
        self._spelling_numbers = PlacedNumbers(self._known.spellings.entries, new_numbers)
        self._compound_numbers = PlacedNumbers(self._known.compounds.entries, numbers)
        self._streams: list[tuple[Ints, Ints]] = []  # (numbers, keys)
        self._marks: list[str] = []
        self._mark_keys: list[int] = []
        self._names: list[str] = []
        self._name_keys: list[int] = []
        self._texts: list[str] = []
        self._text_keys: list[int] = []
        self._batch_chars = 0
        self._natives = np.zeros(n_documents, np.int64)  # of each document, its place in `_NATIVE`
        self._own = np.full(n_documents, NONE)  # likewise its `own_language`
        self._others = np.full(n_documents, NONE)  # likewise one of `LANGUAGES` that a part of it is in

    def add(self, number: int, document: Document) -> None:
        """Add a document; its fields in the order of the lengths in `segment_format`."""
        self._begin(number, document)
        self._add_text(number, 0, document.title)
        self._add_names(number, 0, texts_of_title(document))
        self._add_anchors(number, document)
        self._add_text(number, 2, document.headings)
        self._add_text(number, BODY, document.text)
        self._add_text(number, URL, unquote(document.url.partition("://")[2], errors="replace"))
        self._add_text(number, BOILERPLATE, document.boilerplate)
        self._end(number, document)

    def add_links(self, number: int, document: Document, other_language: str) -> None:
        """Add only the link data of a document: the texts of links to it, and the names they give it.

        Args:
          other_language: what `languages` has returned of the whole document.
        """
        self._begin(number, document)
        self._others[number] = LANGUAGES.index(other_language) if other_language else NONE
        self._add_anchors(number, document)
        self._end(number, document)

    def mark(self, number: int, entries: Sequence[str]) -> None:
        """Put a document under entries that are not from its text; after those before it."""
        self._marks += entries
        self._mark_keys += [number << DOCUMENT_SHIFT] * len(entries)

    def languages(self) -> list[str]:
        """Return of each document the language besides its own that a part of it is in, or ""."""
        self._flush_batch()
        return ["" if other == NONE else LANGUAGES[other] for other in self._others.tolist()]

    def finish(self) -> Occurrences:
        """Return all that was added; the last that is asked of it."""
        self._flush_batch()
        return_known(self._known)
        self._streams.append((self._vocabulary.numbers(self._marks), np.array(self._mark_keys, np.int64)))
        self._streams.append((self._vocabulary.numbers(self._names), np.array(self._name_keys, np.int64)))
        counts = np.zeros(len(self._vocabulary.terms), np.int64)
        for numbers, _ in self._streams:
            counts += np.bincount(numbers, minlength=len(counts))
        starts = np.zeros(len(counts) + 1, np.int64)
        np.cumsum(counts, out=starts[1:])
        cursors, grouped = starts[:-1].copy(), np.empty(int(starts[-1]), np.int64)
        for numbers, keys in self._streams:
            scatter(numbers, keys, cursors, grouped)
        return Occurrences(self._vocabulary.terms, starts, grouped)

    def _begin(self, number: int, document: Document) -> None:
        self._natives[number] = _NATIVE_NUMBERS[native_language(document.language)]
        self._own[number] = own_language(document.language)

    def _add_anchors(self, number: int, document: Document) -> None:
        anchors_chars = 0
        for anchor in document.anchors[:ANCHORS_MAX]:
            self._add_text(number, ANCHORS, anchor)
            anchors_chars += len(anchor)
            if anchors_chars > FIELD_CHARS_MAX:
                break

    def _end(self, number: int, document: Document) -> None:
        self._add_names(number, ANCHORS, texts_of_links(document))
        self._add_names(number, URL, names_of(document))
        if self._batch_chars > _BATCH_CHARS:
            self._flush_batch()

    def _add_names(self, number: int, field: int, names: Sequence[str]) -> None:
        self._names += names
        self._name_keys += [number << DOCUMENT_SHIFT | field << FIELD_SHIFT] * len(names)

    def _add_text(self, number: int, field: int, text: str) -> None:
        if text:
            self._texts.append(text[:FIELD_CHARS_MAX])
            self._text_keys.append(number << DOCUMENT_SHIFT | field << FIELD_SHIFT)
            self._batch_chars += len(self._texts[-1])

    def _flush_batch(self) -> None:
        """Turn the texts collected into occurrences."""
        if self._texts:
            batch = _Batch(self._texts, np.array(self._text_keys, np.int64))
            self._add_words(batch)
            self._add_compounds(batch)
            self._add_spellings(batch)
            self._add_han(batch)
            self._add_other_cjk(batch)
            self._add_atoms(batch)
            self._add_clusters(batch)
        self._texts, self._text_keys, self._batch_chars = [], [], 0

    def _add_words(self, batch: _Batch) -> None:
        is_word = batch.run_kinds == _WORD
        keys = batch.run_keys[is_word]
        if len(batch.run_keys):
            starts, lengths = batch.run_starts[is_word], batch.run_lengths[is_word]
            found = self._words.find(batch.codes, starts, np.minimum(lengths, TERM_CHARS_MAX))
            self._count(self._word_numbers.numbers(found), keys)
            natives = self._natives_of_words(batch, is_word, self._words.mask_of[found])
            forms, keys = self._with_native_forms(found, keys, natives)
            has_form = forms != NO_ENTRY
            self._add_forms(self._form_numbers.numbers(forms[has_form]), keys[has_form], batch)

    def _natives_of_words(self, batch: _Batch, is_word: NDArray[np.bool_], masks: Ints) -> list[Ints]:
        """Return the languages of words, places in `_NATIVE`, and a second one of those that may be in two.

        Args:
          is_word: which runs of the batch are. masks: of these, of which languages they are function words.
        """
        lines = batch.lines
        firsts = _bounds(lines, NONE)[:-1]
        keys = batch.run_keys[firsts]
        documents, is_body = keys >> DOCUMENT_SHIFT, keys >> FIELD_SHIFT & 15 == BODY
        found = line_languages(Runs(lines, *batch.telling(is_word, masks)), self._own[documents])
        first, end = int(documents[0]), int(documents[-1]) + 1
        pages = np.where(is_body, documents - first, NONE)
        # Those of which only links were added have theirs already, and no main text: NONE, the least.
        in_texts = other_languages(found, pages, self._own[first:end])
        self._others[first:end] = np.maximum(self._others[first:end], in_texts)
        natives, others = self._natives[documents], self._others[documents]
        if (others != NONE).any():
            is_other = (found.told == others) & (others != NONE)
            is_own = (found.told == self._own[documents]) & (found.told != NONE)
            each = [np.where(is_other, 0, natives), np.where(is_own, 0, _NATIVE_OF[others])]
        else:
            each = [natives]
        return [of_lines[lines[is_word]] for of_lines in each]

    def _with_native_forms(self, found: Ints, keys: Ints, natives: list[Ints]) -> tuple[Ints, Ints]:
        """Return places of the forms of words and their keys, with those of languages that they may be in."""
        before = all_forms = self._words.entry_of[found]
        all_keys = keys
        for of_words in natives:
            own_forms = np.full(len(found), NO_ENTRY)
            for number in np.unique(of_words[of_words > 0]).tolist():
                is_native = of_words == number
                own_forms[is_native] = self._words.native_forms(found[is_native], _NATIVE[number])
            is_own = (own_forms != NO_ENTRY) & (own_forms != before)  # what two have alike counts once
            if is_own.any():
                places = np.searchsorted(all_keys, keys[is_own])
                all_forms = np.insert(all_forms, places, own_forms[is_own])
                all_keys = np.insert(all_keys, places, keys[is_own])
            before = own_forms
        return all_forms, all_keys

    def _add_forms(self, forms: Ints, keys: Ints, batch: _Batch) -> None:
        """Add the forms of words, among which are those of numbers and models."""
        if found := batch.number_forms():
            number_keys = np.array([key for key, _ in found], np.int64)
            order = np.argsort(number_keys, kind="stable")
            places = np.array([self._words.place_of(form) for _, form in found], np.int64)
            number_forms = self._form_numbers.numbers(places[order])
            at = np.searchsorted(keys, number_keys[order])
            forms, keys = np.insert(forms, at, number_forms), np.insert(keys, at, number_keys[order])
        self._streams.append((forms, keys))

    def _add_compounds(self, batch: _Batch) -> None:
        """Add the words that are written together."""
        firsts, lasts = batch.joined_by_signs()
        starts, found = batch.run_starts[firsts], batch.compounds()
        keys, numbers = batch.run_keys[firsts], _NO_RUNS
        if len(starts):
            places = self._known.compounds.find(batch.codes, starts, batch.run_ends[lasts] - starts)
            numbers = self._compound_numbers.numbers(self._known.compounds.entry_of[places])
        if found:
            numbers = np.concatenate([numbers, self._vocabulary.numbers([entry for _, entry in found])])
            keys = np.concatenate([keys, np.array([key for key, _ in found], np.int64)])
        order = np.argsort(keys, kind="stable")
        self._streams.append((numbers[order], keys[order]))

    def _add_spellings(self, batch: _Batch) -> None:
        """Add the words that are written otherwise than they are folded."""
        keys, starts, lengths = batch.spelled()
        if len(keys):
            spellings = self._known.spellings
            found = spellings.find(batch.seen, starts, lengths)
            entries = spellings.entry_of[found]
            has_entry = entries != NO_ENTRY
            self._streams.append((self._spelling_numbers.numbers(entries[has_entry]), keys[has_entry]))

    def _add_han(self, batch: _Batch) -> None:
        keys = batch.run_keys[batch.run_kinds == _HAN]
        if len(keys):
            numbers = self._short_numbers.numbers(segment_han(batch.joined(_HAN)))
            is_break = numbers == 0
            run_of_term = np.cumsum(is_break)[~is_break]
            # All terms of a run share a key: they have no positions, only frequencies.
            self._count(numbers[~is_break], keys[run_of_term])

    def _add_other_cjk(self, batch: _Batch) -> None:
        """Count the terms of kana, Hangul and rare ideographs, which are the atoms of their runs."""
        is_run = batch.run_kinds == _OTHER_CJK
        self._count_length(np.repeat(batch.run_keys[is_run], batch.run_lengths[is_run]))

    def _add_atoms(self, batch: _Batch) -> None:
        """Add the pairs of CJK runs; words are atoms already."""
        is_cjk = (batch.run_kinds == _HAN) | (batch.run_kinds == _OTHER_CJK)
        lengths = batch.run_lengths[is_cjk]
        if not len(lengths):
            return
        within = _counting(lengths)
        places = np.repeat(batch.run_starts[is_cjk], lengths) + within
        ends = np.cumsum(lengths) - 1
        # The prefix, a character, the next one of its run, and 0 as `number_tokens` wants it.
        rows = np.zeros((len(places), 4), np.uint32)
        rows[:, 0] = ord(CHARACTER_PREFIX)
        rows[:, 1] = batch.codes[places]
        rows[:-1, 2] = rows[1:, 1]
        rows[ends, 2] = 0
        is_kept = np.ones(rows.shape, np.bool_)
        is_kept[ends, 2] = False  # the last character of a run stands alone
        numbers = self._short_numbers.numbers_of_codes(rows[is_kept], len(places))
        self._streams.append((numbers, np.repeat(batch.run_keys[is_cjk], lengths) + within))

    def _add_clusters(self, batch: _Batch) -> None:
        """Add the terms and the atoms of unspaced runs."""
        if not batch.clusters:
            return
        keys = batch.run_keys[batch.run_kinds == _UNSPACED]
        terms, atoms = list(map(cluster_terms, batch.clusters)), list(map(cluster_atoms, batch.clusters))
        n_terms, n_atoms = _lengths(terms), _lengths(atoms)
        self._count(self._vocabulary.numbers(list(chain.from_iterable(terms))), np.repeat(keys, n_terms))
        atom_keys = np.repeat(keys, n_atoms) + _counting(n_atoms)
        self._streams.append((self._vocabulary.numbers(list(chain.from_iterable(atoms))), atom_keys))

    def _count(self, numbers: Ints, keys: Ints) -> None:
        """Add occurrences of terms, which count for the length of their field; ascending."""
        self._streams.append((numbers, keys))
        self._count_length(keys)

    def _count_length(self, keys: Ints) -> None:
        """Add occurrences to the lengths of their fields."""
        _count_lengths(keys, self.lengths.reshape(-1))


class _Texts(NamedTuple):
    """Texts with a break behind each."""

    codes: Codes
    lengths: Ints  # of each with its break


def _seen(texts: Sequence[str]) -> tuple[_Texts, Codes | None]:
    """Return texts without invisible characters, and folded, None if that cannot be done all at once."""
    codes, lengths = codes_of(_BREAK.join([*texts, ""])), _lengths(texts) + len(_BREAK)
    folded = fold_evenly(codes)
    if folded is not None:
        return _Texts(codes, lengths), folded
    is_seen = character_classes()[codes] & UNSEEN == 0
    lengths = np.add.reduceat(is_seen, np.cumsum(lengths) - lengths, dtype=np.int64)
    codes = codes[is_seen]
    return _Texts(codes, lengths), fold_evenly(codes)


def _folded(seen: _Texts) -> _Texts:
    """Fold texts one by one: some character in them folds to several, or with its neighbours."""
    pieces = [_folded_alone(piece) for piece in np.split(seen.codes, np.cumsum(seen.lengths)[:-1])]
    return _Texts(np.concatenate(pieces), _lengths(pieces))


def _folded_alone(codes: Codes) -> Codes:
    """Fold one of the texts with its break."""
    folded = fold_evenly(codes)
    if folded is not None:
        return folded
    return codes_of(fold(text_of(codes[:-1]))[:FIELD_CHARS_MAX] + _BREAK)  # one character may fold to 18


class _Batch:
    """Texts folded and cut into runs, all at once; the rules are those of `fold` and `runs_of`."""

    def __init__(self, texts: Sequence[str], text_keys: Ints) -> None:
        """Cut texts.

        Args:
          text_keys: document and field of each text, ascending; texts with the same key are anchors.
        """
        (self.seen, self._seen_lengths), folded = seen = _seen(texts)
        self._text_keys = text_keys
        self.codes, text_lengths = _folded(seen[0]) if folded is None else (folded, self._seen_lengths)
        room = len(self.codes)
        self.kinds, run_kinds = np.empty(room, np.uint8), np.empty(room, np.uint8)
        starts, ends, lines = (np.empty(room, np.int64) for _ in range(3))
        n_runs = _cut_runs(self.codes, _KINDS, self.kinds, starts, ends, run_kinds, lines)
        self.run_starts, self.run_ends, self.run_kinds = starts[:n_runs], ends[:n_runs], run_kinds[:n_runs]
        self.lines = lines[:n_runs]  # of each run, numbered from 0 without those that have no runs
        self.run_lengths = self.run_ends - self.run_starts
        atom_counts = np.where(self.run_kinds == _WORD, 1, self.run_lengths)
        is_unspaced = self.run_kinds == _UNSPACED
        # Of each unspaced run, in order.
        self.clusters = (
            list(map(clusters_of, self.joined(_UNSPACED).split(_BREAK))) if is_unspaced.any() else []
        )
        atom_counts[is_unspaced] = _lengths(self.clusters)
        self._atom_counts = atom_counts
        self.run_keys = np.empty(n_runs, np.int64)
        _place_runs(self.run_starts, atom_counts, np.cumsum(text_lengths), text_keys, self.run_keys)
        self._text = text_of(self.codes)
        # With room around, so that no run has to care for the ends of the text.
        self._padded = np.zeros(len(self.codes) + 4, np.uint32)
        self._padded[2:-2] = self.codes
        # Of all runs but the last: what is behind them.
        self._gaps = self.run_starts[1:] - self.run_ends[:-1]
        self._after = self._padded[2:][self.run_ends[:-1]]
        is_word = self.run_kinds == _WORD
        self._is_apart_by_one = (self._gaps == 1) & is_word[:-1] & is_word[1:]

    def telling(self, is_word: NDArray[np.bool_], masks: Ints) -> tuple[Ints, Ints]:
        """Return size and mask of each run, see `line_languages.Runs`; the masks of words are given."""
        all_masks = np.zeros(len(is_word), np.int64)
        all_masks[is_word] = masks
        others = np.flatnonzero(~is_word)
        all_masks[others] = script_masks(self.run_kinds[others], self.codes[self.run_starts[others]])
        return self._atom_counts, all_masks

    def spelled(self) -> tuple[Ints, Ints, Ints]:
        """Return key, start and length of each word that may have an entry as it is written, in order.

        The words are in `seen`.
        """
        codes, keys = self.seen, self._text_keys
        marked = marked_places(codes)
        if not len(marked):
            return _NO_RUNS, _NO_RUNS, _NO_RUNS
        is_word = _KINDS[codes] == _WORD
        bounds = _bounds(is_word, False)
        starts, ends = bounds[::2], bounds[1::2]
        words = np.unique(np.searchsorted(starts, marked, "right") - 1)
        texts = np.searchsorted(np.cumsum(self._seen_lengths), starts, "right")
        n_words = np.bincount(texts, minlength=len(keys))
        n_marked = np.bincount(texts[words], minlength=len(keys))
        is_long = np.isin(keys >> FIELD_SHIFT & 15, _LONG_FIELDS)
        words = words[~(is_long & (n_marked > SPELLED_SHARE_MAX * n_words))[texts[words]]]
        starts, ends = starts[words], np.minimum(ends[words], starts[words] + SPELLED_CHARS_MAX)
        return keys[texts[words]], starts, ends - starts

    def compounds(self) -> list[tuple[int, str]]:
        """Return (key, entry) of all that `compounds_of` finds but numbers and `joined_by_signs`.

        Signs are looked for in bulk; what they are part of, which is rare, is looked at one by one.
        """
        text, padded, is_word = self._text, self._padded, self.run_kinds == _WORD
        starts, ends, keys = self.run_starts, self.run_ends, self.run_keys
        words, found = np.flatnonzero(is_word), []
        is_marked = self._is_marked(padded, words)
        for i in words[is_marked].tolist():
            found += [(int(keys[i]), entry) for entry in marked(text, int(starts[i]), int(ends[i]))]
        hyphened = np.flatnonzero(padded[1:][starts] == ord(HYPHEN))
        for i in hyphened[padded[starts[hyphened]] == ord(HYPHEN)].tolist():
            if entry := option(text, int(starts[i])):
                found.append((int(keys[i]), entry))
        is_short = is_word & (self.run_lengths <= MIXED_CHARS_MAX)
        for i in np.flatnonzero((self._gaps == 0) & (is_short[:-1] | is_short[1:])).tolist():
            if entry := mixed(text, int(starts[i]), int(ends[i]), int(ends[i + 1])):
                found.append((int(keys[i]), entry))
        return found

    def number_forms(self) -> list[tuple[int, str]]:
        """Return likewise the forms of numbers and models."""
        text, starts, ends, keys = self._text, self.run_starts, self.run_ends, self.run_keys
        found = []
        is_apart_by_one, after = self._is_apart_by_one, self._after
        is_hyphened = is_apart_by_one & (after == ord(HYPHEN))
        is_longer = np.concatenate([[False], is_hyphened[:-1]]) | np.concatenate([is_hyphened[1:], [False]])
        hyphened = np.flatnonzero(is_hyphened & ~is_longer & (ends[1:] - starts[:-1] <= MODEL_CHARS_MAX + 1))
        firsts = self.codes[starts[hyphened + 1]]
        for i in hyphened[(firsts >= ord("0")) & (firsts <= ord("9"))].tolist():
            if entry := model(text, int(starts[i]), int(ends[i + 1])):
                found.append((int(keys[i]), entry))
        for first, last in zip(*_rows(is_apart_by_one & (after == ord(GROUPING))), strict=True):
            if entry := grouped_number(text, int(starts[first]), int(ends[last])):
                found.append((int(keys[first]), entry))
        return found

    def joined_by_signs(self) -> tuple[Ints, Ints]:
        """Return the first and the last runs of names with _, of those with hyphens, then of chains."""
        starts, ends, after = self.run_starts, self.run_ends, self._after
        is_name = self._is_apart_by_one & (after == ord(NAME_LINK))
        is_linked = self._is_apart_by_one & _IS_LINK[np.minimum(after, 127)]
        scopes = np.flatnonzero((self._gaps == len(SCOPE)) & (after == ord(SCOPE[0])))
        is_word = self.run_kinds == _WORD
        scopes = scopes[is_word[scopes] & is_word[scopes + 1]]
        is_linked[scopes[self._padded[3:][ends[scopes]] == ord(SCOPE[1])]] = True
        firsts, lasts = _rows(is_name)
        is_short = (lasts - firsts < NAME_WORDS_MAX) & (ends[lasts] - starts[firsts] <= CHAIN_CHARS_MAX)
        found = [(firsts[is_short], lasts[is_short]), self._hyphened_names()]
        firsts, lasts = _rows(is_linked)
        signs = np.concatenate([[0], np.cumsum(is_linked & ~is_name)])
        n_names = 1 + signs[lasts] - signs[firsts]
        is_short = (n_names > 1) & (n_names <= CHAIN_WORDS_MAX)
        is_short &= ends[lasts] - starts[firsts] <= CHAIN_CHARS_MAX
        found.append((firsts[is_short], lasts[is_short]))
        return np.concatenate([first for first, _ in found]), np.concatenate([last for _, last in found])

    def _hyphened_names(self) -> tuple[Ints, Ints]:
        """Return the first and the last runs of those that are no models."""
        starts, ends, codes = self.run_starts, self.run_ends, self.codes
        firsts, lasts = _rows(self._is_apart_by_one & (self._after == ord(HYPHEN)))
        if not len(firsts):
            return firsts, lasts
        is_short = (lasts - firsts < CHAIN_WORDS_MAX) & (ends[lasts] - starts[firsts] <= CHAIN_CHARS_MAX)
        is_name = is_short & ~np.isin(codes[starts[firsts]], _DIGITS)
        may_be_model = is_name & (lasts == firsts + 1) & np.isin(codes[starts[lasts]], _DIGITS)
        for i in np.flatnonzero(may_be_model).tolist():
            is_name[i] = not model(self._text, int(starts[firsts[i]]), int(ends[lasts[i]]))
        return firsts[is_name], lasts[is_name]

    def _is_marked(self, padded: NDArray[np.uint32], words: Ints) -> NDArray[np.bool_]:
        """Tell which words `marked` may find something at."""
        starts, ends = self.run_starts[words], self.run_ends[words]
        after, before = padded[2:][ends], padded[1:][starts]
        is_marked: NDArray[np.bool_] = after == ord("#")
        plus = np.flatnonzero(after == ord("+"))
        is_marked[plus[padded[3:][ends[plus]] == ord("+")]] = True
        dot = np.flatnonzero(before == ord("."))
        is_marked[dot[_KINDS[padded[starts[dot]]] != _WORD]] = True
        return is_marked

    def joined(self, kind: int) -> str:
        """Return the runs of a kind with a break between each two."""
        is_kind = self.kinds == kind
        is_kept = is_kind.copy()
        is_kept[1:] |= is_kind[:-1]  # a run, and the one character after it, which becomes the break
        codes: NDArray[np.uint32] = np.where(is_kind, self.codes, np.uint32(TEXT_BREAK))[is_kept]
        return codes.tobytes().decode("utf-32-le").removesuffix(_BREAK)


@kernel
def _cut_runs(
    codes: Codes,
    kind_of: Bytes,
    kinds: Bytes,
    starts: Ints,
    ends: Ints,
    run_kinds: Bytes,
    lines: Ints,
) -> int:
    """Write the kind of each character, and start, end, kind and line of each run; return how many."""


@kernel
def _place_runs(run_starts: Ints, atom_counts: Ints, text_ends: Ints, text_keys: Ints, run_keys: Ints) -> int:
    """Write the key of each run: that of its text, and how many atoms are before it in texts of the same.

    One position stays free after each text, so that no phrase goes from one anchor into the next.
    """


@kernel
def _count_lengths(keys: Ints, lengths: Lengths) -> int:
    """Add 1 for each key to the length of its field; lengths of all fields, document after document."""


def _lengths(lists: Sequence[Sized]) -> Ints:
    return np.fromiter(map(len, lists), np.int64, len(lists))


def _rows(is_linked: NDArray[np.bool_]) -> tuple[Ints, Ints]:
    """Return the first and the last run of every longest row of runs of which each is linked to the next."""
    if not is_linked.any():  # as in most short texts
        return _NO_RUNS, _NO_RUNS
    bounds = _bounds(is_linked, False)
    return bounds[::2], bounds[1::2]


def _bounds(values: NDArray[Any], outside: int) -> Ints:
    """Return the places where a value is another than the one before it, with `outside` around them all.

    Such as `np.diff` tells, in a third of its time where they are few.
    """
    padded = np.empty(len(values) + 2, values.dtype)
    padded[0] = padded[-1] = outside
    padded[1:-1] = values
    return np.flatnonzero(padded[1:] != padded[:-1])


def _counting(lengths: Ints) -> Ints:
    """Return 0, 1, .. length - 1 for each length, one after the other."""
    return np.arange(int(lengths.sum())) - np.repeat(np.cumsum(lengths) - lengths, lengths)
