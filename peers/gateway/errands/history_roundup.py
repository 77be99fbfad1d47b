"""Asking every live peer how it was."""

from __future__ import annotations

from collections.abc import Set
from typing import ClassVar

from mesh.actors.actor import Message
from peers.gateway.errands.roundup import Roundup
from peers.gateway.model.messages import GatherHistory, HistoryGathered
from peers.history.wire_messages import HistoryTold, HistoryWanted


class HistoryRoundup(Roundup):
    """Answers one `GatherHistory` by one `HistoryGathered`."""

    actor: ClassVar[str] = "historian"

    def __init__(self, number: int, me: str, order: GatherHistory, silent: Set[str]) -> None:
        """Begin.

        Args:
          silent: as for `Round`.
        """
        super().__init__(number, me, order.ticket, silent)
        self._span_s = order.span_s
        self._told: dict[str, HistoryTold] = {}

    def _question(self, request: int) -> Message:
        return HistoryWanted(request, self._span_s)

    def _request_of(self, message: Message) -> int | None:
        return message.request if isinstance(message, HistoryTold) else None

    def _take(self, peer: str, answer: Message) -> None:
        assert isinstance(answer, HistoryTold)
        self._told[peer] = answer

    def _gathered(self, now: float) -> Message:
        silent = tuple(peer for peer in self.peers if peer not in self._told)
        return HistoryGathered(
            self.ticket, now, self._span_s, tuple(sorted(self._told.items())), silent, self.names
        )
