"""Sentences that are put together of facts, in the language of a reader. Pure.

They stand in the code as they are in English, with names for what is put in (`{pages:page}` counts), and are
looked up for other languages. Texts of pages that are known as a whole are in `site.texts`.
"""

from __future__ import annotations

from typing import Protocol

from mesh.counts import Count


class Put(Protocol):
    """Puts values into a sentence that is given in English, in the language of a reader.

    A whole number may count something there; texts have to be in that language already. What is no sentence
    of ours, as an outcome or what another version of the program says, stays as it is.
    """

    def __call__(self, sentence: str, /, **values: object) -> str: ...


def in_english(sentence: str, /, **values: object) -> str:
    """Put values into a sentence; see `Put`."""
    if not values:
        return sentence
    counts = {name: Count(f"{value:,}") for name, value in values.items() if isinstance(value, int)}
    return sentence.format(**(values | counts))


def in_chinese(sentence: str, /, **values: object) -> str:
    """Put values into a sentence; see `Put`."""
    from peers.gateway.model.chinese import CHINESE  # for readers of it alone

    return in_english(CHINESE.get(sentence, sentence), **values)


def sentences_in(language: str) -> Put:
    """Return how sentences are made in a language of `site.texts`."""
    return in_chinese if language == "zh" else in_english
