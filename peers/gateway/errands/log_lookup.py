"""Asking one peer after the other for its part of the log of searches."""

from __future__ import annotations

from typing import Final

from mesh.actors.actor import Address, Message, Send
from mesh.actors.ownership import Ownership
from peers.gateway.errands.errand import Errand
from peers.gateway.errands.round import Round
from peers.gateway.model.messages import LogFound, ReadLog
from peers.query_log.wire_messages import LogTold, LogWanted

LOOK_UP_S_MAX: Final = 5.0
_NOBODY: Final[frozenset[str]] = frozenset()


class LogLookup(Errand):
    """Answers one `ReadLog` by one `LogFound`."""

    def __init__(self, number: int, me: str, order: ReadLog, ownership: Ownership) -> None:
        super().__init__(number, me, order.ticket)
        self._peers = tuple(sorted(ownership.slots_answered))
        self._order = order
        self._peer = order.peer or next(iter(self._peers), "")

    def start(self, now: float) -> list[Send]:
        if not self._peers:
            return self.refuse("nobody answers for any slot")
        if self._peer not in self._peers:
            return self.refuse("that peer is not here, and others answer for its slots: begin anew")
        request = self._number_question()
        questions = {self._peer: LogWanted(request, self._order.after)}
        self._round = Round(request, "query_log", questions, _NOBODY, now, LOOK_UP_S_MAX)
        return self._round.ask()

    def receive(self, source: Address, message: Message, now: float) -> list[Send] | None:
        if not isinstance(message, LogTold) or not self._round.accepts(source, message.request):
            return None
        return self._end(LogFound(self.ticket, self._peers, self._peer, message))

    def wake(self, now: float) -> list[Send]:
        if self._round.is_over(now):
            return self.refuse(f"{self._peer} does not tell its part of the log")
        return self._round.wake(now)

    def wake_at(self) -> float:
        return self._round.wake_at()
