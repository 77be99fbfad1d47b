"""Asking every live peer how it is."""

from __future__ import annotations

from collections.abc import Mapping, Set
from typing import ClassVar

from mesh.actors.actor import Message
from mesh.errors import RemoteProtocolError
from mesh.membership.model.members import State
from peers.gateway.errands.roundup import Roundup
from peers.gateway.model.messages import GatherStatus, StatusGathered
from peers.gateway.model.status import decode
from peers.gateway.model.wire_messages import StatusTold, StatusWanted


class StatusRoundup(Roundup):
    """Answers one `GatherStatus` by one `StatusGathered`."""

    actor: ClassVar[str] = "searcher"

    def __init__(
        self, number: int, me: str, order: GatherStatus, silent: Set[str], down_at: Mapping[str, float]
    ) -> None:
        """Begin.

        Args:
          silent: as for `Round`.
          down_at: of members that are down, since when.
        """
        super().__init__(number, me, order.ticket, silent)
        self._down_at = down_at
        self._statuses: dict[str, bytes] = {}

    def _question(self, request: int) -> Message:
        return StatusWanted(request)

    def _request_of(self, message: Message) -> int | None:
        return message.request if isinstance(message, StatusTold) else None

    def _take(self, peer: str, answer: Message) -> None:
        assert isinstance(answer, StatusTold)
        if _is_of(peer, answer.status):
            self._statuses[peer] = answer.status

    def _gathered(self, now: float) -> Message:
        statuses = tuple(self._statuses[peer] for peer in sorted(self._statuses))
        members = tuple(rumour for rumour in self.members if rumour.state != State.LEFT)
        down_s = tuple((peer, max(now - at, 0.0)) for peer, at in sorted(self._down_at.items()))
        return StatusGathered(self.ticket, statuses, members, down_s if members else ())


def _is_of(peer: str, status: bytes) -> bool:
    """Can it be read, and does the peer speak of itself?"""
    try:
        return decode(status).id == peer
    except RemoteProtocolError:
        return False
