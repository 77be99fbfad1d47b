"""Asking the witnesses again that did not know a page, some time after: nobody waits for the answer."""

from __future__ import annotations

from typing import Final

import msgspec

from mesh.actors.actor import Address, Message, Send
from peers.engine.queries.query import Query
from peers.gateway.errands.errand import Errand
from peers.gateway.errands.round import Round
from peers.gateway.search.doubts import Doubt
from peers.gateway.search.shared_state import SharedState
from peers.index.wire_messages import ExcerptsRead, ReadExcerpts

ANSWER_S_MAX: Final = 1.0  # who does not answer by then has not contradicted anybody

_NOTHING: Final = msgspec.msgpack.encode(Query())  # excerpts are beginnings then


class WitnessRecheck(Errand):
    """Has each witness look again for all pages that it denied, and tells the view the contradictions."""

    def __init__(self, number: int, me: str, doubts: list[Doubt], view: SharedState) -> None:
        super().__init__(number, me, 0)
        self._shared = view
        self._by_witness: dict[str, list[Doubt]] = {}
        for doubt in doubts:
            self._by_witness.setdefault(doubt.witness, []).append(doubt)
        self._contradictions: list[Doubt] = []

    def start(self, now: float) -> list[Send]:
        request = self._number_question()
        questions = {
            witness: ReadExcerpts(request, _NOTHING, tuple(dict.fromkeys(each.url for each in doubts)))
            for witness, doubts in self._by_witness.items()
        }
        self._round = Round(request, "indexer", questions, frozenset(), now, ANSWER_S_MAX)
        return self._round.ask()

    def receive(self, source: Address, message: Message, now: float) -> list[Send] | None:
        if not isinstance(message, ExcerptsRead) or not self._round.accepts(source, message.request):
            return None
        self._round.settle(source.peer)
        told = {excerpt.url for excerpt in message.excerpts}.union(message.unsettled)
        self._contradictions += [each for each in self._by_witness[source.peer] if each.url not in told]
        return self._end_if_over(now)

    def wake(self, now: float) -> list[Send]:
        return self._end_if_over(now) + self._round.wake(now)

    def wake_at(self) -> float:
        return self._round.wake_at()

    def refuse(self, reason: str) -> list[Send]:
        self.is_done = True
        return []

    def _end_if_over(self, now: float) -> list[Send]:
        if self._round.is_over(now):
            self.is_done = True
            self._shared.note_contradictions(self._contradictions, now)
        return []
