"""The language of a page, by the script and most frequent words of its text. Pure.

A rule, no model: Han, kana and Hangul, Cyrillic and Thai tell by their share of the letters, languages of the
Latin script by how many of the words are their function words. It is for pages without `lang`, so that
`lang:` finds them; a text that is too short, or mixed, has none. A page with `lang` has that language, unless
its text is surely of another one: what nobody has translated stands under /ko/ with `lang="ko"` in English.
"""

from __future__ import annotations

import re
from collections import Counter
from typing import Final

from peers.crawler.parsing._markup import count_letters

SAMPLE_CHARS: Final = 8_192  # that are looked at, from the beginning
LETTERS_MIN: Final = 20
SHARE_MIN: Final = 0.2  # of the letters; an English manual with some Chinese examples stays English
KANA_SHARE_MIN: Final = 0.1  # of kana among Han and kana; Japanese has half, Chinese with a name a few
FUNCTION_SHARE_MIN: Final = 0.08  # of the words; running text has 0.25 to 0.5, lists of names none

SURE_SAMPLE_CHARS: Final = 1_024  # in 37 us; every page with `lang` is asked
SURE_LETTERS_MIN: Final = 200
SURE_SHARE_MIN: Final = 0.7
SURE_FUNCTION_SHARE_MIN: Final = 0.2  # running English has 0.25 to 0.4, Swedish 0.07 of any other

_WORD: Final = re.compile("[a-z\u00df-\u024f\u1ea0-\u1eff]+")
_FUNCTION_WORDS: Final = {
    language: frozenset(words.split())
    for language, words in {
        "en": "the of and to in is that for it with as this be on are by or from an not you can if",
        "de": "der die und das den von zu mit sich des auf für ist im dem nicht ein eine als auch es werden",
        "fr": "le la les de des et un une du est dans que pour qui sur par au avec pas ce sont vous",
        "es": "el la los las de que y en un una del por con se para es no su al lo como más",
        "it": "il la di che e un una per con non del della i gli le sono si dei da nel come è",
        "pt": "o a os as de que e do da em um uma para com não por se na no dos é ao",
        "nl": "de het een van en in is dat op te zijn met voor niet aan er om door als bij",
        "vi": "và của là các có được cho không trong với một này người khi để những đã từ",
    }.items()
}

# One letter is a word of many languages (a, o, e, y), and no evidence without another one.
_WORDS_OF_LETTERS: Final = {
    language: frozenset(word for word in words if len(word) > 1)
    for language, words in _FUNCTION_WORDS.items()
}
_TOLD: Final = frozenset((*_FUNCTION_WORDS, "ja", "ko", "ru", "th", "zh"))
_LANGUAGES_OF: Final = {
    word: tuple(language for language, others in _FUNCTION_WORDS.items() if word in others)
    for word in frozenset().union(*_FUNCTION_WORDS.values())
}


def language_of_page(named: str, text: str) -> str:
    """Return the language of a page that names one: that, unless its text is surely of another.

    Only of languages that are known here: others may look like one of these. Japanese may be without kana.
    """
    if named not in _TOLD:
        return named
    sample = text[:SURE_SAMPLE_CHARS]
    told = _told(sample, SURE_LETTERS_MIN, SURE_SHARE_MIN, SURE_FUNCTION_SHARE_MIN)
    return named if not told or (named, told) == ("ja", "zh") else told


def language_of(text: str) -> str:
    """Return a primary language subtag as `zh`, `ja`, `ko`, `en`; "" when the text does not tell."""
    return _told(text[:SAMPLE_CHARS], LETTERS_MIN, SHARE_MIN, FUNCTION_SHARE_MIN)


def _told(sample: str, letters_min: int, share_min: float, function_share_min: float) -> str:
    han, kana, hangul, cyrillic, thai, latin = count_letters(sample)
    east_asian = han + kana
    n_letters = east_asian + hangul + cyrillic + thai + latin
    if n_letters < letters_min:
        return ""
    # A Han character or kana is as much text as about two letters of an alphabet.
    if 2 * east_asian >= share_min * (n_letters + east_asian):
        return "ja" if kana >= KANA_SHARE_MIN * east_asian else "zh"
    for count, language in ((hangul, "ko"), (cyrillic, "ru"), (thai, "th")):
        if count >= share_min * n_letters:
            return language
    return _by_function_words(sample, function_share_min) if latin >= share_min * n_letters else ""


def _by_function_words(sample: str, share_min: float) -> str:
    words = _WORD.findall(sample.lower())
    if not words:
        return ""
    hits = dict.fromkeys(_FUNCTION_WORDS, 0)
    found = Counter(filter(_LANGUAGES_OF.__contains__, words))
    for word, n in found.items():
        for language in _LANGUAGES_OF[word]:
            hits[language] += n
    best = max(hits, key=hits.__getitem__)
    if hits[best] < share_min * len(words) or _WORDS_OF_LETTERS[best].isdisjoint(found):
        return ""
    return best
