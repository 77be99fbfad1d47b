"""Strings that some texts on a topic have often: from these people choose those of the topic.

A string is some characters of Chinese, 2 to 15, or one to five words of a script with spaces. A string of n
symbols is counted where its first and its last n - 1 are frequent, so the work falls with the length: a
million characters take some seconds. Left out is a string that stands in a longer one nearly as often as
alone, and one that begins or ends with a function word.

Source: Li, Yan, Wang 2004, section 13.2: the frequencies of all substrings of 2 to 15 characters of the
training pages, cleaned by hand.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence, Set
from typing import Final, NamedTuple

from peers.text.folding import fold
from peers.text.function_words import FUNCTION_WORDS_OF, language_of_function_words
from peers.text.runs import KIND_OF_CHARACTER, RUN, RunKind

CHARACTERS_MAX: Final = 15
WORDS_MAX: Final = 5
WITHIN_SHARE: Final = 0.9  # of its occurrences in a longer one: then it is left out
_SPACED: Final = " "
# Characters that hold sentences together; a string that begins or ends with one is cut in the wrong place.
_EMPTY_CHARACTERS: Final = frozenset(
    "的了着过在是和与及或等也都而且并但被把将对于从向为以之其所这那此各该就又还不没有个一"
)


class ProposedString(NamedTuple):
    """A string that may tell a topic."""

    text: str
    occurrences: int
    texts: int  # in which it stands


Gram = tuple[str, ...]


def proposed_strings(texts: Sequence[str], *, texts_min: int = 2, most: int = 200) -> list[ProposedString]:
    """Return the frequent strings of some texts, those of most texts first.

    Args:
      texts_min: in so many texts a string has to stand.
      most: of them are returned.
    """
    lines = [list(_lines_of(text)) for text in texts]
    occurrences: dict[Gram, int] = {}
    in_texts: dict[Gram, int] = {}
    frequent: set[Gram] | None = None
    for length in range(1, CHARACTERS_MAX + 1):
        counted, found = _counted(lines, length, frequent)
        frequent = {gram for gram, n in found.items() if n >= texts_min}
        if not frequent:
            break
        occurrences |= {gram: counted[gram] for gram in frequent}
        in_texts |= {gram: found[gram] for gram in frequent}
    empty = _function_words(lines)
    good = frozenset(gram for gram in occurrences if _is_string(gram, empty))
    kept = _not_within_longer(occurrences, good)
    proposed = (ProposedString(_text_of(gram), occurrences[gram], in_texts[gram]) for gram in kept)
    return sorted(proposed, key=lambda each: (-each.texts, -each.occurrences, each.text))[:most]


def _lines_of(text: str) -> Iterator[list[str]]:
    """Yield the stretches of symbols between which no string goes on: characters, or words with spaces."""
    words: list[str] = []
    folded, end = fold(text), 0
    for match in RUN.finditer(folded):
        run = match[0]
        if KIND_OF_CHARACTER[ord(run[0])] == RunKind.WORD:
            if words and folded[end : match.start()].strip():
                yield words
                words = []
            words.append(_SPACED + run)
        else:
            if words:
                yield words
                words = []
            yield list(run)
        end = match.end()
    if words:
        yield words


def _counted(
    texts: Sequence[Sequence[Sequence[str]]], length: int, frequent: set[Gram] | None
) -> tuple[Counter[Gram], Counter[Gram]]:
    """Count the strings of a length whose parts are frequent: occurrences, and texts."""
    occurrences, found = Counter[Gram](), Counter[Gram]()
    for lines in texts:
        here = set[Gram]()
        for line in lines:
            if length > WORDS_MAX and line[0].startswith(_SPACED):
                continue
            for place in range(len(line) - length + 1):
                gram = tuple(line[place : place + length])
                if frequent is None or (gram[1:] in frequent and gram[:-1] in frequent):
                    occurrences[gram] += 1
                    here.add(gram)
        found.update(here)
    return occurrences, found


def _not_within_longer(occurrences: dict[Gram, int], good: Set[Gram]) -> Iterator[Gram]:
    """Yield the good strings that do not stand in a longer good one nearly as often as alone."""
    most_within = Counter[Gram]()
    for gram in sorted(occurrences, key=len, reverse=True):
        most = max(most_within[gram], occurrences[gram] if gram in good else 0)
        for part in (gram[1:], gram[:-1]):
            most_within[part] = max(most_within[part], most)
    return (gram for gram in good if most_within[gram] < WITHIN_SHARE * occurrences[gram])


def _function_words(texts: Sequence[Sequence[Sequence[str]]]) -> frozenset[str]:
    """Return the function words of Chinese and of the other language that most of these are of."""
    words = (symbol.strip() for lines in texts for line in lines for symbol in line)
    language = language_of_function_words(words)
    return FUNCTION_WORDS_OF["zh"] | FUNCTION_WORDS_OF.get(language, frozenset())


def _is_string(gram: Gram, empty: frozenset[str]) -> bool:
    """Is it long enough, and of words that tell something at both ends?"""
    first, last = gram[0], gram[-1]
    if first.startswith(_SPACED):
        ends = first.strip(), last.strip()
        return not any(end in empty or end.isdigit() or len(end) < 2 for end in ends)
    if len(gram) < 2 or _text_of(gram) in empty:
        return False
    return first not in _EMPTY_CHARACTERS and last not in _EMPTY_CHARACTERS


def _text_of(gram: Gram) -> str:
    return "".join(gram).strip()
