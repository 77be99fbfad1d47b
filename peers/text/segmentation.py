"""Cut Han runs into words: jieba's dictionary and search mode. `user_words` adds those of a mesh."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial
from typing import Final, Protocol, TypeAlias

UserWords: TypeAlias = frozenset[str]  # folded words that a mesh adds to the dictionary, see `user_words`
NO_USER_WORDS: Final[UserWords] = frozenset()


class Segmenter(Protocol):
    """Cuts Han runs as jieba does; every replacement must cut them alike."""

    def cut(self, run: str) -> list[str]:
        """Return the words of one run, in order, covering it."""

    def cut_known(self, run: str) -> list[str]:
        """Return words of the dictionary, and single characters, that cover one run; none is guessed."""

    def search(self, joined: str) -> list[str]:
        """Return the search-mode terms of runs joined by line breaks, and the line breaks."""


class RjiebaSegmenter:
    """The fast twin; ImportError where it has no wheel."""

    def __init__(self) -> None:
        import rjieba

        self.cut: Callable[[str], list[str]] = rjieba.cut
        self.cut_known: Callable[[str], list[str]] = partial(rjieba.cut, hmm=False)
        self.search: Callable[[str], list[str]] = rjieba.cut_for_search


class JiebaSegmenter:
    """The reference: ten times slower, the same terms."""

    def __init__(self) -> None:
        import jieba

        jieba.setLogLevel(60)
        self.cut: Callable[[str], list[str]] = jieba.lcut
        self.cut_known: Callable[[str], list[str]] = partial(jieba.lcut, HMM=False)
        self._search: Callable[[str], list[str]] = jieba.lcut_for_search

    def search(self, joined: str) -> list[str]:
        tokens: list[str] = []
        for run in joined.split("\n"):
            tokens += self._search(run)
            tokens.append("\n")
        tokens.pop()
        return tokens


def available_segmenter() -> Segmenter:
    """Return the fastest segmenter installed; all give the same terms."""
    try:
        return RjiebaSegmenter()
    except ImportError:
        return JiebaSegmenter()


@cache
def _segmenter() -> Segmenter:
    return available_segmenter()


def load_dictionary() -> None:
    """Read the dictionary now, 0.1 s for which nothing else would run, and not when a Han run comes."""
    _segmenter()


def segment_han(joined: str) -> list[str]:
    """Cut Han runs joined by line breaks: their terms in order, and the line breaks.

    Joined runs cost half of what one call for each costs, and give the same terms.
    """
    return _segmenter().search(joined)


def words_of(run: str) -> list[str]:
    """Cut one Han run into the words of the sentence, which cover it."""
    return _segmenter().cut(run)


def known_words_of(run: str) -> list[str]:
    """Cut one Han run into words of the dictionary, and single characters where it has none."""
    return _segmenter().cut_known(run)
