from __future__ import annotations

import pytest
import Stemmer

from peers.text.stemming import (
    FORMLESS,
    NATIVE_STEMMERS,
    form_of,
    native_form_of,
    native_forms_in,
    native_forms_of,
    native_language,
    parts_of,
)


@pytest.mark.parametrize(
    ("word", "form"),
    [
        ("searching", "\x03search"),
        ("searches", "\x03search"),
        ("indices", "\x03indic"),
        ("sky", "\x03sky"),
        ("c", "\x03c"),
        ("2004", "\x032004"),
        ("123", ""),
        ("x86", "\x03x86"),
        ("86x", ""),
        ("abcde86", ""),
        ("the", ""),
        ("поисковыми", "\x03поисков"),
        ("для", ""),
        ("γλωσσεσ", "\x03γλωσσ"),
        ("天网", ""),
    ],
)
def test_words_have_forms(word: str, form: str) -> None:
    assert form_of(word) == form


def test_function_words_have_no_form() -> None:
    assert not any(form_of(word) for word in FORMLESS)


@pytest.mark.parametrize(
    ("language", "words"),
    [
        ("de", "tabelle tabellen"),
        ("fr", "national nationale nationaux"),
        ("es", "cancion canciones"),
        ("pt", "palavra palavras"),
        ("it", "stazione stazioni"),
        ("nl", "gebouw gebouwen"),
        ("sv", "utbildning utbildningar"),
        ("da", "bygning bygninger"),
        ("nb", "bygning bygninger"),
    ],
)
def test_words_of_a_language_have_its_form(language: str, words: str) -> None:
    native = native_language(language)
    assert len({native_form_of(word, native) for word in words.split()}) == 1


def test_every_stemmer_of_the_library_for_latin_letters_is_used() -> None:
    others = {"arabic", "armenian", "greek", "hindi", "nepali", "persian", "russian", "tamil", "yiddish"}
    others |= {"serbian"}  # which reads both scripts, and most pages of it are in Cyrillic
    others |= {"dutch_porter", "english", "porter"}
    assert set(Stemmer.algorithms()) - others == set(NATIVE_STEMMERS.values())


def test_numbers_and_function_words_are_the_same_in_all_languages() -> None:
    assert native_form_of("2004", "de") == form_of("2004")
    assert native_form_of("werden", "de") == form_of("werden")
    assert native_form_of("x86", "de") == form_of("x86")
    assert native_form_of("tables", "") == form_of("tables")


def test_a_compound_is_cut_wherever_both_parts_are_long_enough() -> None:
    ways = parts_of("arbeitsplatz", "de")
    assert ("\x03arbeit", "\x03platz") in ways
    assert len(ways) == 5
    assert parts_of("arbeitsplatz", "fr") == parts_of("c3456789", "de") == []


@pytest.mark.parametrize("language", ["", *NATIVE_STEMMERS])
def test_words_have_the_same_forms_together_as_one_by_one(language: str) -> None:
    words = ["arbeitsplatz", "the", "und", "les", "running", "x900", "天网", "", "straße", "c"]
    for some in (words, words[:5]):
        assert native_forms_in(some, language) == [native_form_of(word, language) for word in some]


@pytest.mark.parametrize("word", ["arbeitsplatz", "the", "und", "les", "running", "x900", "天网", "straße"])
def test_a_word_has_those_native_forms_that_differ_from_its_own(word: str) -> None:
    forms = {language: native_form_of(word, language) for language in NATIVE_STEMMERS}
    own = form_of(word)
    assert native_forms_of(word) == {name: form for name, form in forms.items() if own and form != own}
