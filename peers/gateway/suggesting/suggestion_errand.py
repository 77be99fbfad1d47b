"""Asking every index how a query that is being typed may go on."""

from __future__ import annotations

from collections import defaultdict
from typing import Final

from mesh.actors.actor import Address, Message, Send
from peers.engine.queries.query_parser import read_query
from peers.gateway.errands.errand import Errand
from peers.gateway.errands.round import Round
from peers.gateway.model.messages import SuggestTexts, TextsSuggested
from peers.gateway.search.shared_state import SharedState
from peers.gateway.suggesting.merged_suggestions import beginning_of, merged, related
from peers.index.wire_messages import (
    COMPLETIONS_MAX,
    TYPED_CHARS_MAX,
    Completed,
    CompleteTyped,
    TypedCompleted,
)

# The next letter is typed by then: whoever has not answered has nothing to say.
SUGGESTING_S_MAX: Final = 0.3


class SuggestionErrand(Errand):
    """Answers one `SuggestTexts` by one `TextsSuggested`.

    Each slot is asked about once: those of peers that are late by habit at their stand-ins.
    """

    def __init__(self, number: int, me: str, order: SuggestTexts, view: SharedState) -> None:
        super().__init__(number, me, order.ticket)
        self._order = order
        self._shared = view
        self._rounds: list[Round] = []
        self._told: list[Completed] = []

    def start(self, now: float) -> list[Send]:
        if self._order.is_whole and not _is_plain(self._order.typed):
            return self._end(TextsSuggested(self.ticket, ()))
        typed = beginning_of(self._order.typed) if self._order.is_whole else self._order.typed
        plan = self._shared.plan(self._shared.punctuality.tardy)
        peers = defaultdict(list)
        for share in plan.slots:
            peers[share.absent].append(share.peer)
        sends: list[Send] = []
        for absent, of_absent in peers.items():
            question = CompleteTyped(self._number_question(), typed[:TYPED_CHARS_MAX], absent)
            questions = dict.fromkeys(of_absent, question)
            silent = self._shared.punctuality.silent
            asked = Round(question.request, "indexer", questions, silent, now, SUGGESTING_S_MAX)
            self._rounds.append(asked)
            sends += asked.ask()
        return sends or self._end_if_over(now)

    def receive(self, source: Address, message: Message, now: float) -> list[Send] | None:
        if not isinstance(message, TypedCompleted):
            return None
        asked = next((each for each in self._rounds if each.accepts(source, message.request)), None)
        if asked is None:
            return None
        asked.settle(source.peer)
        self._told += message.completed[:COMPLETIONS_MAX]
        return self._end_if_over(now)

    def wake(self, now: float) -> list[Send]:
        repeated = [send for asked in self._rounds for send in asked.wake(now)]
        return self._end_if_over(now) or repeated

    def wake_at(self) -> float:
        return min(asked.wake_at() for asked in self._rounds if asked.waiting)

    def _end_if_over(self, now: float) -> list[Send]:
        if not all(asked.is_over(now) for asked in self._rounds):
            return []
        typed = self._order.typed
        if self._order.is_whole:
            texts = related(self._told, typed, self._is_shown)
        else:
            texts = merged(self._told, typed, self._is_shown, self._listed(typed))
        return self._end(TextsSuggested(self.ticket, tuple(texts)))

    def _listed(self, typed: str) -> list[str]:
        words = self._shared.user_words
        if not words:
            return []
        from peers.engine.mending.listed_words import completed  # loaded where the policy has words

        return completed(words, typed)

    def _is_shown(self, url: str) -> bool:
        return self._shared.policy.shows(url, self._order.hidden)


def _is_plain(query: str) -> bool:
    """Tell whether a query is made of words alone, which titles may contain."""
    reading = read_query(query)
    return bool(reading.query.scoring) and not reading.query.clauses
