"""The search for the stored copy of one URL, the owner first, then its standbys; and which links have one."""

from __future__ import annotations

from collections import defaultdict
from itertools import compress
from typing import ClassVar, Final

from mesh.actors.actor import Address, Message, Send
from mesh.actors.ownership import Ownership
from mesh.urls import has_host, host_of
from peers.gateway.errands.errand import Errand
from peers.gateway.errands.round import REPEAT_AFTER_S
from peers.gateway.errands.team_errand import TeamErrand
from peers.gateway.model.messages import CheckLinks, FindPage, LinksChecked, PageFound
from peers.policy.rules import EVERYTHING, Policy
from peers.storage.wire_messages import PAGES_CHECKED_MAX, CheckPages, PageRead, PagesChecked, ReadPage

LOOKUP_S_MAX: Final = 2.0  # a disk with work to do, and a large page on its way
CHECK_S_MAX: Final = 0.5  # nothing is read for it, and a copy is shown without


class PageLookup(Errand):
    """Answers one `FindPage` by one `PageFound`: the first copy that any peer of the team sends."""

    def __init__(
        self, number: int, me: str, order: FindPage, ownership: Ownership, policy: Policy = EVERYTHING
    ) -> None:
        super().__init__(number, me, order.ticket)
        self._is_hidden = not policy.shows(order.url, order.hidden)
        self._question = ReadPage(self._number_question(), order.url, order.at_s)
        team = ownership.team_of(ownership.slot_of(host_of(order.url)))
        self._not_asked = [peer for peer in team if peer in ownership.alive]
        self._waiting: set[str] = set()

    def start(self, now: float) -> list[Send]:
        self._limit_at = now + LOOKUP_S_MAX
        return self._end_without() if self._is_hidden else self._ask_next(now)

    def receive(self, source: Address, message: Message, now: float) -> list[Send] | None:
        match message:
            case PageRead(request=self._question.request, url=self._question.url) if (
                source.actor == "cell" and source.peer in self._waiting
            ):
                self._waiting.discard(source.peer)
                if message.records:
                    url, fetched_at, gone_at = message.url, message.fetched_at, message.gone_at
                    return self._end(PageFound(self.ticket, url, fetched_at, message.records, gone_at))
                return self._ask_next(now)
            case _:
                return None

    def wake(self, now: float) -> list[Send]:
        if now >= self._limit_at:
            return self._end_without()
        return self._ask_next(now) if now >= self._next_at else []

    def wake_at(self) -> float:
        return min(self._next_at, self._limit_at)

    def _ask_next(self, now: float) -> list[Send]:
        """Ask the next peer of the team; when all were asked, those again that have not answered."""
        self._next_at = now + REPEAT_AFTER_S
        if self._not_asked:
            peer = self._not_asked.pop(0)
            self._waiting.add(peer)
            return [self._letter(peer)]
        if not self._waiting:
            return self._end_without()
        return [self._letter(peer) for peer in sorted(self._waiting)]

    def _letter(self, peer: str) -> Send:
        return Send(Address(peer, "cell"), self._question)

    def _end_without(self) -> list[Send]:
        return self._end(PageFound(self.ticket, self._question.url, 0.0, b""))


class LinksLookup(TeamErrand):
    """Answers one `CheckLinks` by one `LinksChecked`: each owner of some of the links is asked once."""

    actor: ClassVar[str] = "cell"
    limit_s: ClassVar[float] = CHECK_S_MAX

    def __init__(
        self, number: int, me: str, order: CheckLinks, ownership: Ownership, policy: Policy = EVERYTHING
    ) -> None:
        super().__init__(number, me, order.ticket, order.url, ownership)
        self._links: defaultdict[str, list[str]] = defaultdict(list)  # by who is asked for them
        for url in order.links[:PAGES_CHECKED_MAX]:
            if has_host(url) and policy.shows(url, order.hidden):
                team = ownership.team_of(ownership.slot_of(host_of(url)))
                for peer in [each for each in team if each in ownership.alive][:1]:
                    self._links[peer].append(url)
        self.team = tuple(self._links)
        self._stored: set[str] = set()

    def _question(self, request: int, peer: str) -> Message:
        return CheckPages(request, tuple(self._links[peer]))

    def _request_of(self, message: Message) -> int | None:
        return message.request if isinstance(message, PagesChecked) else None

    def _take(self, peer: str, answer: Message) -> None:
        assert isinstance(answer, PagesChecked)
        if len(answer.are_stored) == len(self._links[peer]):
            self._stored.update(compress(self._links[peer], answer.are_stored))

    def _gathered(self) -> Message:
        return LinksChecked(self.ticket, frozenset(self._stored))
