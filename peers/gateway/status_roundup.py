"""Asking every live peer how it is."""

from __future__ import annotations

from collections.abc import Collection, Set
from typing import Final

from mesh.actor import Address, Message, Send
from mesh.errors import RemoteProtocolError
from peers.gateway.errand import Errand
from peers.gateway.messages import GatherStatus, StatusGathered
from peers.gateway.round import Round
from peers.gateway.status import decode
from peers.gateway.wire_messages import StatusTold, StatusWanted

ROUNDUP_S_MAX: Final = 1.0


class StatusRoundup(Errand):
    """Answers one `GatherStatus` by one `StatusGathered`."""

    def __init__(
        self, number: int, me: str, order: GatherStatus, peers: Collection[str], silent: Set[str]
    ) -> None:
        """Begin.

        Args:
          peers: all that are alive, this one included.
          silent: as for `Round`.
        """
        super().__init__(number, me, order.ticket)
        self._peers = peers
        self._silent = silent
        self._statuses: dict[str, bytes] = {}

    def start(self, now: float) -> list[Send]:
        question = StatusWanted(self._number_question())
        questions = dict.fromkeys(self._peers, question)
        self._round = Round(question.request, "searcher", questions, self._silent, now, ROUNDUP_S_MAX)
        return self._round.ask()

    def receive(self, source: Address, message: Message, now: float) -> list[Send] | None:
        match message:
            case StatusTold(request=request) if self._round.accepts(source, request):
                if _is_of(source.peer, message.status):
                    self._statuses[source.peer] = message.status
                self._round.settle(source.peer)
                return self._finish_if_over(now)
            case _:
                return None

    def wake(self, now: float) -> list[Send]:
        repeated = self._round.wake(now)
        return self._finish_if_over(now) or repeated

    def wake_at(self) -> float:
        return self._round.wake_at()

    def _finish_if_over(self, now: float) -> list[Send]:
        if not self._round.is_over(now):
            return []
        statuses = tuple(self._statuses[peer] for peer in sorted(self._statuses))
        return self._end(StatusGathered(self.ticket, statuses))


def _is_of(peer: str, status: bytes) -> bool:
    """Can it be read, and does the peer speak of itself?"""
    try:
        return decode(status).id == peer
    except RemoteProtocolError:
        return False
