"""Which words a page is about, by where they stand in it and how often.

Formula (7-1) of Li, Yan, Wang 2004: w_i = sum_j(B_j tf_ij) / sqrt(sum_i (sum_j(B_j tf_ij))^2), over blocks j
of main text, without function words; kept is what weighs more than `BETA` times the mean, at most ten, since
from nine or ten on nothing changes (fig. 7-10). Blocks are here the title, the headings and the text; the
frequency in the text counts by its root, for want of the list of words that are frequent in all pages, which
the book leaves out before.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from math import sqrt
from typing import Final

from peers.text.analysis import analyse
from peers.text.function_words import function_words_of
from peers.text.stemming import form_of

KEYWORDS_MAX: Final = 10
TEXT_CHARS_MAX: Final = 20_000  # of each part; more tells nothing else
TITLE_WEIGHT: Final = 3.0
HEADING_WEIGHT: Final = 1.0
BETA: Final = 1.5
_CHARS_MIN: Final = 2  # of a word


def keywords_of(title: str, headings: str, text: str) -> tuple[tuple[str, float], ...]:
    """Return the words of a page that weigh most, in their most frequent forms, with weights as in (7-1)."""
    return keywords_among(weighted_words(title, headings, text))


def keywords_among(words: Sequence[tuple[str, float]]) -> tuple[tuple[str, float], ...]:
    """Return the keywords among all words of a page."""
    least = BETA * sum(weight for _, weight in words) / max(len(words), 1)
    return tuple(each for each in words[:KEYWORDS_MAX] if each[1] >= least)


def weighted_words(title: str, headings: str, text: str) -> tuple[tuple[str, float], ...]:
    """Return all words of a page but function words, likewise, the weightiest first."""
    terms = [analyse(part[:TEXT_CHARS_MAX]) for part in (title, headings, text)]
    empty = function_words_of(term for part in terms for term in part)
    counts = [Counter(form_of(term) or term for term in part if _says(term, empty)) for part in terms]
    in_title, in_headings, in_text = counts
    weights = {
        form: TITLE_WEIGHT * min(1, in_title[form])
        + HEADING_WEIGHT * sqrt(in_headings[form])
        + sqrt(in_text[form])
        for form in in_title | in_headings | in_text
    }
    if not weights:
        return ()
    length = sqrt(sum(each**2 for each in weights.values()))
    spelled = Counter(term for part in terms for term in part if _says(term, empty))
    spelling = {form_of(term) or term: term for term, _ in reversed(spelled.most_common())}
    best = sorted(weights, key=lambda form: (-weights[form], form))
    return tuple((spelling[form], weights[form] / length) for form in best)


def _says(term: str, empty: frozenset[str]) -> bool:
    return len(term) >= _CHARS_MIN and term not in empty and not term.isdigit()
