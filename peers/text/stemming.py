"""The form that words of one kind share: the stem of an English word, the plain digits of a number.

Every word whose form is worth an entry is found under it as well as under itself, so a query can ask for
any form and still prefer the one that was typed. Stems are Porter2's (snowball) for all words in latin
letters: neither a query nor most pages tell their language, and what English rules do to other languages
they do alike on both sides.
"""

from __future__ import annotations

from typing import Final

import Stemmer

FORM_PREFIX: Final = "\x03"

# Lucene's list, and what questions begin with. Every page has them: their stems would cost a fifth of all
# postings and find nothing. More words hold sentences together (`function_words`), but have forms.
_FORMLESS: Final = """
a an and are as at be but by for if in into is it no not of on or such that the their then there these
they this to was will with
can do does from has have how i its what when where which who why you your
"""
FORMLESS: Final = frozenset(_FORMLESS.split())

# Shorter numbers are never written in groups.
_GROUPED_DIGITS_MIN: Final = 4

# Without its own cache: words are asked for once a segment. A call holds the interpreter's lock throughout.
_porter2: Final = Stemmer.Stemmer("english", 0)


def form_of(word: str) -> str:
    """Return the entry of a folded word's form, "" when it has none."""
    if not word.isascii():
        return ""
    if word.isalpha():
        return "" if word in FORMLESS else FORM_PREFIX + stem(word)
    if word.isdigit() and len(word) >= _GROUPED_DIGITS_MIN:
        return number_form(word)
    return ""


def stem(word: str) -> str:
    """Return the stem of a word in small latin letters."""
    stemmed: str = _porter2.stemWord(word)
    return stemmed


def number_form(digits: str) -> str:
    """Return the entry of a number that may be written in groups: 1,000,000."""
    return FORM_PREFIX + digits
