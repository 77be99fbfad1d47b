"""The list of the kept versions of one page, put together from all peers that keep its slot."""

from __future__ import annotations

from typing import ClassVar

from mesh.actors.actor import Message, Send
from mesh.actors.ownership import Ownership
from peers.gateway.errands.team_errand import TeamErrand
from peers.gateway.model.messages import FindVersions, VersionsFound
from peers.policy.rules import EVERYTHING, Policy
from peers.storage.wire_messages import ListVersions, ToldVersion, VersionsListed


class VersionsLookup(TeamErrand):
    """Answers one `FindVersions` by one `VersionsFound`."""

    actor: ClassVar[str] = "cell"

    def __init__(
        self, number: int, me: str, order: FindVersions, ownership: Ownership, policy: Policy = EVERYTHING
    ) -> None:
        super().__init__(number, me, order.ticket, order.url, ownership)
        self._is_hidden = not policy.shows(order.url, order.hidden)
        self._told: dict[tuple[int, float], ToldVersion] = {}
        self._is_cut = False
        self._moved_from: set[str] = set()

    def start(self, now: float) -> list[Send]:
        return self._end(self._gathered()) if self._is_hidden else super().start(now)

    def _question(self, request: int, peer: str) -> Message:
        return ListVersions(request, self.url)

    def _request_of(self, message: Message) -> int | None:
        return message.request if isinstance(message, VersionsListed) else None

    def _take(self, peer: str, answer: Message) -> None:
        assert isinstance(answer, VersionsListed)
        self._told.update({(each.visit, each.fetched_at): each for each in answer.versions})
        self._is_cut |= answer.is_cut
        self._moved_from.update(answer.moved_from)

    def _gathered(self) -> Message:
        versions = tuple(sorted(self._told.values(), key=lambda each: -each.fetched_at))
        return VersionsFound(self.ticket, self.url, versions, self._is_cut, tuple(sorted(self._moved_from)))
