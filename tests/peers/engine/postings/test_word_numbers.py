"""Distinct words are found as a dictionary finds them, and packed as one by one."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from peers.engine.postings.word_numbers import DistinctWords
from peers.engine.segments.builder import pack_strings, pack_texts
from peers.text.analysis import are_atom_keys, is_atom_key
from peers.text.characters import codes_of
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
