"""The form that words of one kind share: the stem of a word, the plain digits of a number, a model's name.

Every word whose form is worth an entry is found under it as well as under itself, so a query can ask for
any form and still prefer the one that was typed. Stems are Snowball's. In latin letters every word has the
English one: neither a query nor every page tells its language, and what English rules do to other languages
they do alike on both sides. In pages of another language words have its own stem besides, where that is
another (`native_form_of`); which of them a query means is told by how many pages have either
(`native_forms`). In other scripts the script says which stemmer it is.

Stems are made of folded words, without accents, as a query may be typed.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache
from typing import Final

import Stemmer

from peers.text.function_words import FUNCTION_WORDS_OF

FORM_PREFIX: Final = "\x03"

# Lucene's list, and what questions begin with; in Russian the function words. Every page has them: their
# stems would cost a fifth of all postings and find nothing. More English words hold sentences together
# (`function_words`), but have forms.
_FORMLESS: Final = """
a an and are as at be but by for if in into is it no not of on or such that the their then there these
they this to was will with
can do does from has have how i its what when where which who why you your
"""
FORMLESS: Final = frozenset(_FORMLESS.split()) | FUNCTION_WORDS_OF["ru"]

# Snowball's stemmers for languages in latin letters, by primary subtag; the most widely written first.
NATIVE_STEMMERS: Final = {
    "de": "german",
    "fr": "french",
    "es": "spanish",
    "pt": "portuguese",
    "it": "italian",
    "nl": "dutch",
    "pl": "polish",
    "sv": "swedish",
    "cs": "czech",
    "tr": "turkish",
    "da": "danish",
    "no": "norwegian",
    "fi": "finnish",
    "hu": "hungarian",
    "ro": "romanian",
    "id": "indonesian",
    "ca": "catalan",
    "lt": "lithuanian",
    "et": "estonian",
    "eu": "basque",
    "ga": "irish",
    "eo": "esperanto",
    "st": "sesotho",
}
_SAME_LANGUAGE: Final = {"nb": "no", "nn": "no"}
_STEMMER_OF_SCRIPT: Final = (
    (range(0x370, 0x400), "greek"),
    (range(0x1F00, 0x2000), "greek"),
    (range(0x400, 0x530), "russian"),
    (range(0x531, 0x590), "armenian"),
    (range(0x620, 0x700), "arabic"),
)

# Shorter numbers are never written in groups.
_GROUPED_DIGITS_MIN: Final = 4

_MODEL: Final = re.compile("[a-z]{1,4}[0-9]{1,5}[a-z]?")
MODEL_CHARS_MAX: Final = 10

# Words of a compound are no shorter.
PART_CHARS_MIN: Final = 4
# Languages that write several nouns as one word.
COMPOUNDING: Final = frozenset({"de", "nl", "sv", "da", "no", "fi"})


def form_of(word: str) -> str:
    """Return the entry of a folded word's form, "" when it has none."""
    if word.isascii():
        if word.isalpha():
            return "" if word in FORMLESS else FORM_PREFIX + str(_stemmer("english").stemWord(word))
        if word.isdigit() and len(word) >= _GROUPED_DIGITS_MIN:
            return number_form(word)
        return FORM_PREFIX + word if len(word) <= MODEL_CHARS_MAX and _MODEL.fullmatch(word) else ""
    if word in FORMLESS or not word.isalpha():
        return ""
    first = ord(word[0])
    for script, stemmer in _STEMMER_OF_SCRIPT:
        if first in script:
            return FORM_PREFIX + str(_stemmer(stemmer).stemWord(word))
    return ""


def spellings_of_model(form: str) -> tuple[str, ...]:
    """Return how the model is written that the entry of a form stands for: x900, x-900; of others none."""
    name = form.removeprefix(FORM_PREFIX)
    if name == form or not _MODEL.fullmatch(name):
        return ()
    letters = name.rstrip("0123456789" + name[-1:] * name[-1:].isalpha())
    return name, f"{letters}-{name[len(letters) :]}"


def native_language(language: str) -> str:
    """Return the language, of those with `native_form_of`, that a primary subtag means; "" when none is."""
    language = _SAME_LANGUAGE.get(language, language)
    return language if language in NATIVE_STEMMERS else ""


def native_form_of(word: str, language: str) -> str:
    """Return the entry of a folded word's form in a language of `NATIVE_STEMMERS`.

    It is `form_of` the word where that has no form or is no stem, of function words, and without language.
    """
    if not language or not (word.isascii() and word.isalpha()):
        return form_of(word)
    if word in FORMLESS or word in FUNCTION_WORDS_OF.get(language, ()):
        return form_of(word)
    return FORM_PREFIX + str(_stemmer(NATIVE_STEMMERS[language]).stemWord(word))


def native_forms_of(word: str, languages: Iterable[str] = NATIVE_STEMMERS) -> dict[str, str]:
    """Return the `native_form_of` a folded word by language, of those where it is not `form_of` the word."""
    form = form_of(word)
    forms: dict[str, str] = {}
    if not form or not (word.isascii() and word.isalpha()):
        return forms
    for language in languages:
        native = FORM_PREFIX + str(_stemmer(NATIVE_STEMMERS[language]).stemWord(word))
        if native != form and word not in FUNCTION_WORDS_OF.get(language, ()):
            forms[language] = native
    return forms


def native_forms_in(words: list[str], language: str) -> list[str]:
    """Return the `native_form_of` each of some words; the stemmer is asked once for ASCII letters."""
    letters = "".join(words)
    if not (letters.isascii() and letters.isalpha() and all(words)):
        return [native_form_of(word, language) for word in words]
    own = FUNCTION_WORDS_OF.get(language, ())
    stems = _stemmer(NATIVE_STEMMERS[language] if language else "english").stemWords(words)
    return [
        form_of(word) if word in FORMLESS or word in own else FORM_PREFIX + str(stem)
        for word, stem in zip(words, stems, strict=True)
    ]


def parts_of(word: str, language: str) -> list[tuple[str, str]]:
    """Return all ways to see a folded word as two, by the entries of their forms.

    What joins them, as the s of `Arbeitsplatz`, is mostly an ending that stems lose.
    """
    if language not in COMPOUNDING or not (word.isascii() and word.isalpha()):
        return []
    places = range(PART_CHARS_MIN, len(word) - PART_CHARS_MIN + 1)
    if not places:
        return []
    pieces = [word[:at] for at in places] + [word[at:] for at in places]
    forms = native_forms_in(pieces, language)
    return list(zip(forms[: len(places)], forms[len(places) :], strict=True))


def number_form(digits: str) -> str:
    """Return the entry of a number that may be written in groups: 1,000,000."""
    return FORM_PREFIX + digits


@cache
def _stemmer(name: str) -> Stemmer.Stemmer:
    """Without its own cache: words are asked for once a segment. A call holds the interpreter's lock."""
    return Stemmer.Stemmer(name, 0)
