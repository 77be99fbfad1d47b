"""Words that the owner of a mesh says mean the same: 北大, 北京大学; postgres, PostgreSQL.

As with `regional_words`, only queries are read by them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Final, TypeAlias

from peers.text.folding import fold
from peers.text.runs import RunKind, kind_of, runs_of

# By a folded word: the folded words that mean the same.
Synonyms: TypeAlias = Mapping[str, tuple[str, ...]]

NO_SYNONYMS: Final[Synonyms] = MappingProxyType({})
HAN_WORD_CHARS_MAX: Final = 10  # of a Chinese word


def synonyms_of(groups: Iterable[Sequence[str]]) -> Synonyms:
    """Return the table of groups of words; a text of several words is left out of its group."""
    table: dict[str, dict[str, None]] = {}
    for group in groups:
        words = [word for word in map(fold, group) if is_word(word)]
        for word in words:
            table.setdefault(word, {}).update((other, None) for other in words if other != word)
    return {word: tuple(others) for word, others in table.items() if others}


def is_word(text: str) -> bool:
    """Tell whether a text can be in the table: letters and digits, or 2 to 10 Chinese characters."""
    folded = fold(text)
    if runs_of(folded) != [folded]:
        return False
    kind = kind_of(folded)
    return kind is RunKind.WORD or (kind is RunKind.HAN and 1 < len(folded) <= HAN_WORD_CHARS_MAX)
