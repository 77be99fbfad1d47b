"""Asking every live peer for the notices of its watcher."""

from __future__ import annotations

from collections.abc import Set
from typing import ClassVar

from mesh.actors.actor import Message
from mesh.urls import is_canonical
from peers.gateway.errands.roundup import Roundup
from peers.gateway.model.messages import GatherNotices, NoticesGathered
from peers.watch.wire_messages import NoticesTold, NoticesWanted


class NoticeRoundup(Roundup):
    """Answers one `GatherNotices` by one `NoticesGathered`."""

    actor: ClassVar[str] = "watch"

    def __init__(self, number: int, me: str, order: GatherNotices, silent: Set[str]) -> None:
        """Begin.

        Args:
          silent: as for `Round`.
        """
        super().__init__(number, me, order.ticket, silent)
        self._order = order
        self._told: dict[str, NoticesTold] = {}

    def _question(self, request: int) -> Message:
        order = self._order
        return NoticesWanted(request, int(order.is_from_oldest), order.most, order.wants_counts)

    def _questions(self, request: int) -> dict[str, Message]:
        questions = super()._questions(request)
        most, wants_counts = self._order.most, self._order.wants_counts
        for peer, place in self._order.after:
            if peer in questions:
                questions[peer] = NoticesWanted(request, place, most, wants_counts)
        return questions

    def _request_of(self, message: Message) -> int | None:
        return message.request if isinstance(message, NoticesTold) else None

    def _take(self, peer: str, answer: Message) -> None:
        assert isinstance(answer, NoticesTold)
        if all(is_canonical(notice.url) for notice in answer.notices):  # else it would be a link to anything
            self._told[peer] = answer

    def _gathered(self, now: float) -> Message:
        silent = tuple(peer for peer in self.peers if peer not in self._told)
        return NoticesGathered(self.ticket, tuple(sorted(self._told.items())), silent, self.names)
