"""Distinct words are found as a dictionary finds them, and packed as one by one."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from peers.engine.pages.document import Document
from peers.engine.postings import word_numbers
from peers.engine.postings.word_numbers import (
    KEPT_CODES_MAX,
    KEPT_TABLES_BYTES_MAX,
    NO_ENTRY,
    DistinctWords,
    KnownWords,
    borrow_known,
    return_known,
)
from peers.engine.segments.builder import build_encoded, pack_strings, pack_texts, prepared
from peers.text.analysis import are_atom_keys, is_atom_key
from peers.text.characters import codes_of
from peers.text.stemming import form_of, native_form_of
from tests.peers.text.samples import any_text

batches = st.lists(st.lists(st.text("ab中\U00020000", min_size=1, max_size=5), min_size=1), max_size=5)


@given(batches)
def test_each_word_has_one_place_by_its_first_use(batches: list[list[str]]) -> None:
    words = DistinctWords()
    known: dict[str, int] = {}
    for batch in batches:
        first = len(known)
        expected = [known.setdefault(word, len(known)) for word in batch]
        lengths = np.array(list(map(len, batch)), np.int64)
        starts = np.cumsum(lengths) - lengths
        found, new = words.find(codes_of("".join(batch)), starts, lengths)
        assert found.tolist() == expected
        assert new == list(known)[first:]
        assert len(words) == len(known)


def test_thousands_of_words_keep_apart() -> None:
    batch = [str(number) for number in range(20_000)]
    lengths = np.array(list(map(len, batch)), np.int64)
    starts = np.cumsum(lengths) - lengths
    words = DistinctWords()
    assert words.find(codes_of("".join(batch)), starts, lengths)[1] == batch
    found, new = words.find(codes_of("".join(batch)), starts, lengths)
    assert (found.tolist(), new) == (list(range(20_000)), [])


def found_in(words: KnownWords, batch: list[str]) -> list[int]:
    lengths = np.array(list(map(len, batch)), np.int64)
    found = words.find(codes_of("".join(batch)), np.cumsum(lengths) - lengths, lengths)
    return [int(place) for place in found]


def test_forms_are_known_of_each_word() -> None:
    words = KnownWords()
    for batch in (["hauses", "running", "x900"], ["runs", "hauses", "der"]):
        found = np.array(found_in(words, batch), np.int64)
        assert [words.entries[place] for place in words.entry_of[found]] == list(map(form_of, batch))
        for language in ("de", "fr", "de"):
            own = [words.entries[place] for place in words.native_forms(found, language)]
            native = [native_form_of(word, language) for word in batch]
            assert own == [
                form if form != form_of(word) else "" for word, form in zip(batch, native, strict=True)
            ]
    assert words.entries[NO_ENTRY] == ""


def test_what_is_known_of_words_changes_no_segment() -> None:
    texts = ["the houses of Häuser", "ein Haus, the running dogs x-900 1,000", "the houses, running 中国"]
    items = [
        [prepared(1, Document(f"http://a.test/{i}", text=text, language=language))]
        for i, text in enumerate(texts)
        for language in ("en", "de")
    ]
    alone = []
    for item in items:
        word_numbers._kept.clear()
        alone.append([bytes(part) for part in build_encoded(item)])
    assert [[bytes(part) for part in build_encoded(item)] for item in items] == alone


def test_words_are_kept_for_one_at_a_time_until_they_are_too_many() -> None:
    word_numbers._kept.clear()
    known = borrow_known()
    assert borrow_known() is not known
    return_known(known)
    assert borrow_known() is known
    found_in(known.words, [f"{number:064}" for number in range(KEPT_CODES_MAX // 64 + 1)])
    return_known(known)
    assert borrow_known() is not known


def test_tables_that_one_large_text_has_made_large_are_not_kept() -> None:
    word_numbers._kept.clear()
    known = borrow_known()
    starts = np.zeros(KEPT_TABLES_BYTES_MAX // 32, np.int64)  # of so many occurrences of one word
    known.words.find(codes_of("a"), starts, starts + 1)
    return_known(known)
    assert borrow_known() is not known


@given(st.lists(any_text | st.just("")))
def test_texts_are_packed_as_their_bytes_are(texts: list[str]) -> None:
    packed, starts = pack_texts(texts)
    one_by_one, their_starts = pack_strings([text.encode() for text in texts])
    assert (packed.tobytes(), starts.tolist()) == (one_by_one.tobytes(), their_starts.tolist())


@given(
    st.lists((any_text | st.sampled_from(["\x01中", "\x02h", "\x03a", "a", "中", "\U00020000"])).filter(bool))
)
def test_atoms_are_told_at_once_as_one_by_one(entries: list[str]) -> None:
    assert are_atom_keys(entries).tolist() == list(map(is_atom_key, entries))
