"""The list of the versions of one page that are kept: of all who keep its slot, put together."""

from __future__ import annotations

from mesh.actor import Address, Message, Send
from mesh.ownership import Ownership
from mesh.urls import host_of
from peers.gateway.errand import Errand
from peers.gateway.messages import FindVersions, VersionsFound
from peers.gateway.page_lookup import LOOKUP_S_MAX
from peers.gateway.round import Round
from peers.policy.rules import EVERYTHING, Policy
from peers.storage.wire_messages import ListVersions, ToldVersion, VersionsListed


class VersionsLookup(Errand):
    """Answers one `FindVersions` by one `VersionsFound`: asks all who keep the URL's slot."""

    def __init__(
        self, number: int, me: str, order: FindVersions, ownership: Ownership, policy: Policy = EVERYTHING
    ) -> None:
        super().__init__(number, me, order.ticket)
        self._url = order.url
        self._is_taken_down = policy.is_taken_down(order.url)
        team = ownership.team_of(ownership.slot_of(host_of(order.url)))
        self._team = tuple(peer for peer in team if peer in ownership.alive)
        self._request = self._number_question()
        self._told: dict[tuple[int, float], ToldVersion] = {}
        self._is_cut = False

    def start(self, now: float) -> list[Send]:
        team = () if self._is_taken_down else self._team
        questions: dict[str, Message] = {peer: ListVersions(self._request, self._url) for peer in team}
        self._round = Round(self._request, "cell", questions, frozenset(), now, LOOKUP_S_MAX)
        return self._end_if_over(now) or self._round.ask()

    def receive(self, source: Address, message: Message, now: float) -> list[Send] | None:
        match message:
            case VersionsListed(request=request) if self._round.accepts(source, request):
                self._told.update({(each.visit, each.fetched_at): each for each in message.versions})
                self._is_cut |= message.is_cut
                self._round.settle(source.peer)
                return self._end_if_over(now)
            case _:
                return None

    def wake(self, now: float) -> list[Send]:
        repeated = self._round.wake(now)
        return self._end_if_over(now) or repeated

    def wake_at(self) -> float:
        return self._round.wake_at()

    def _end_if_over(self, now: float) -> list[Send]:
        if not self._round.is_over(now):
            return []
        versions = tuple(sorted(self._told.values(), key=lambda each: -each.fetched_at))
        return self._end(VersionsFound(self.ticket, self._url, versions, self._is_cut))
