"""The words that searchers want, as all gateways tell them: guide words beside the operator's. Pure.

Each gateway says which words several searched for and found little of. What most of them say comes first; of
one alone, what it says first: so a member that says what it likes has its share of the places and no more.
What a gateway has not said again for a while counts no more. As another set of guide words gives all that is
queued another place, what counts changes once an hour at most.
"""

from __future__ import annotations

from collections import Counter
from math import inf
from typing import Final

KEPT_S: Final = 1_000.0  # what a gateway says, which says it every five minutes
PAUSE_S: Final = 3_600.0  # between two changes of what counts


class SearchersWords:
    """The words that gateways have reported, and those of them that count."""

    def __init__(self) -> None:
        self.words: tuple[str, ...] = ()  # that count, those that most tell first
        self.change_at_s = inf  # when to call `change`
        self._told: dict[str, tuple[tuple[str, ...], float]] = {}  # by peer, and until when
        self._changed_s = -inf

    def hear(self, peer: str, words: tuple[str, ...], now: float) -> None:
        """Note the words that the gateway of a peer reports, instead of its earlier ones."""
        self._told[peer] = words, now + KEPT_S
        self._told = {each: told for each, told in self._told.items() if told[1] > now}
        is_news = set(self._agreed()) != set(self.words)
        self.change_at_s = max(now, self._changed_s + PAUSE_S) if is_news else inf

    def change(self, now: float) -> tuple[str, ...]:
        """Let the words reported so far count, and return them."""
        self.words, self._changed_s, self.change_at_s = self._agreed(), now, inf
        return self.words

    def _agreed(self) -> tuple[str, ...]:
        told = [dict.fromkeys(words) for words, _ in self._told.values()]
        votes = Counter(word for words in told for word in words)
        places: dict[str, int] = {}
        for words in told:
            for place, word in enumerate(words):
                places[word] = min(place, places.get(word, place))
        return tuple(sorted(votes, key=lambda word: (-votes[word], places[word], word)))
