from __future__ import annotations

import pytest
from hypothesis import given, settings

from peers.text.folding import INVISIBLE, fold
from peers.text.runs import RunKind, kind_of, runs_of
from peers.text.spellings import SPELLED_SHARE_MAX, spelling_of, spellings_of
from tests.peers.text.samples import any_text


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Résumé, re\u0301sume\u0301 resume", ["résumé", "résumé"]),
        ("Straße Strasse Ærø Łódź", ["straße", "ærø", "łódź"]),
        ("Ελλάδα ΕΛΛΑΔΑ Ελλαδα", ["ελλάδα"]),
        ("كِتَاب كتاب أحمد", ["كِتَاب", "أحمد"]),
        ("שָׁלוֹם שלום", ["שָׁלוֹם"]),
        ("नुक़्ता नुक्ता हिन्दी हिंदी", ["नुक\u093c्ता", "हिन्दी"]),
        ("ёлка елка", ["ёлка"]),
        ("pé\u00adché", ["péché"]),
        ("où à été για", []),  # function words
        ("ＡＢＣ ﬁn λόγος ς", ["λόγοσ"]),
        ("图書館 東京タワー ภาษา", []),
    ],
)
def test_words_that_folding_changes_have_entries_as_they_are_written(text: str, words: list[str]) -> None:
    assert spellings_of(text) == [f"\x08{word}" for word in words]


def test_where_marks_are_the_rule_no_word_has_an_entry() -> None:
    assert spellings_of("Die Straße ist sehr lang", SPELLED_SHARE_MAX) == ["\x08straße"]
    assert spellings_of("Το βιβλίο της Ελλάδας", SPELLED_SHARE_MAX) == []


@settings(deadline=None)
@given(any_text)
def test_no_word_has_a_spelling_without_a_character_that_may_have_one(text: str) -> None:
    words = [run for run in runs_of(INVISIBLE.sub("", text)) if kind_of(run) is RunKind.WORD]
    assert spellings_of(text) == [entry for word in words if (entry := spelling_of(word))]


@settings(deadline=None)
@given(any_text)
def test_what_is_folded_has_no_spellings(text: str) -> None:
    assert spellings_of(fold(text)) == []
