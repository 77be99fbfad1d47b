"""Questions to controllers: the facts known of a URL, and why so much is fetched and no more."""

from __future__ import annotations

from collections.abc import Callable, Set
from typing import ClassVar, Final, TypeVar

from mesh.actors.actor import Message
from mesh.actors.ownership import Ownership
from mesh.errors import RemoteProtocolError
from mesh.membership.model.members import State
from mesh.membership.model.wire_messages import MemberRecord
from peers.crawler.explanations import CrawlFacts, UrlFacts, crawl_facts_in, url_facts_in
from peers.crawler.model.wire_messages import CrawlExplained, ExplainCrawl, ExplainUrl, UrlExplained
from peers.gateway.errands.roundup import Roundup
from peers.gateway.errands.team_errand import TeamErrand
from peers.gateway.model.messages import AskWhy, AskWhyIdle, WhyAnswered, WhyIdleAnswered

INQUIRY_S_MAX: Final = 2.0
Facts = TypeVar("Facts")


class UrlInquiry(TeamErrand):
    """Answers one `AskWhy` by one `WhyAnswered`."""

    actor: ClassVar[str] = "controller"
    limit_s: ClassVar[float] = INQUIRY_S_MAX

    def __init__(self, number: int, me: str, order: AskWhy, ownership: Ownership) -> None:
        super().__init__(number, me, order.ticket, order.url, ownership)
        self._owner = ownership.owner_of(self.slot) or ""
        self._told: dict[str, UrlFacts] = {}

    def _question(self, request: int, peer: str) -> Message:
        return ExplainUrl(request, self.url)

    def _request_of(self, message: Message) -> int | None:
        return message.request if isinstance(message, UrlExplained) else None

    def _take(self, peer: str, answer: Message) -> None:
        assert isinstance(answer, UrlExplained)
        facts = _read(url_facts_in, answer.facts)
        if facts is not None and facts.url == self.url:
            self._told[peer] = facts

    def _gathered(self) -> Message:
        told = tuple((peer, self._told[peer]) for peer in self.team if peer in self._told)
        return WhyAnswered(self.ticket, self.url, self.slot, self._owner, self.team, told)


class CrawlInquiry(Roundup):
    """Answers one `AskWhyIdle` by one `WhyIdleAnswered`: asks every live peer."""

    actor: ClassVar[str] = "controller"
    limit_s: ClassVar[float] = INQUIRY_S_MAX

    def __init__(self, number: int, me: str, order: AskWhyIdle, silent: Set[str]) -> None:
        """Begin.

        Args:
          silent: as for `Round`.
        """
        super().__init__(number, me, order.ticket, silent)
        self._order = order
        self._told: dict[str, CrawlFacts] = {}

    def _question(self, request: int) -> Message:
        order = self._order
        return ExplainCrawl(request, order.peer, order.since_s, order.until_s)

    def _request_of(self, message: Message) -> int | None:
        return message.request if isinstance(message, CrawlExplained) else None

    def _take(self, peer: str, answer: Message) -> None:
        assert isinstance(answer, CrawlExplained)
        facts = _read(crawl_facts_in, answer.facts)
        if facts is not None:
            self._told[peer] = facts

    def _is_asked(self, record: MemberRecord) -> bool:
        """All but those that are nothing but doors, which have no controller."""
        return bool(record.gateway or record.weight or record.serving)

    def _gathered(self, now: float) -> Message:
        told = tuple(sorted(self._told.items()))
        silent = tuple(peer for peer in self.peers if peer not in self._told)
        down = tuple(sorted(each.record.peer for each in self.members if each.state == State.DEAD))
        return WhyIdleAnswered(self.ticket, told, silent, down, self.names)


def _read(decode: Callable[[bytes], Facts], encoded: bytes) -> Facts | None:
    """Decode the facts that a peer tells; None when they cannot be read."""
    try:
        return decode(encoded)
    except RemoteProtocolError:
        return None
