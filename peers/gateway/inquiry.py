"""Questions to controllers: what is known of a URL, and why so much is fetched and no more."""

from __future__ import annotations

from collections.abc import Callable, Set
from typing import ClassVar, Final, TypeVar

from mesh.actor import Address, Message, Send
from mesh.errors import RemoteProtocolError
from mesh.membership.members import State
from mesh.membership.wire_messages import MemberRecord
from mesh.ownership import Ownership
from mesh.urls import host_of
from peers.crawler.explanations import CrawlFacts, UrlFacts, crawl_facts_in, url_facts_in
from peers.crawler.wire_messages import CrawlExplained, ExplainCrawl, ExplainUrl, UrlExplained
from peers.gateway.errand import Errand
from peers.gateway.messages import AskWhy, AskWhyIdle, WhyAnswered, WhyIdleAnswered
from peers.gateway.round import Round
from peers.gateway.roundup import Roundup

INQUIRY_S_MAX: Final = 2.0
Facts = TypeVar("Facts")

NOBODY_SILENT: Final[frozenset[str]] = frozenset()


class UrlInquiry(Errand):
    """Answers one `AskWhy` by one `WhyAnswered`: asks all who keep the URL's slot, the owner among them."""

    def __init__(self, number: int, me: str, order: AskWhy, ownership: Ownership) -> None:
        super().__init__(number, me, order.ticket)
        self._url = order.url
        self._slot = ownership.slot_of(host_of(order.url))
        self._owner = ownership.owner_of(self._slot) or ""
        self._team = tuple(peer for peer in ownership.team_of(self._slot) if peer in ownership.alive)
        self._request = self._number_question()
        self._told: dict[str, UrlFacts] = {}

    def start(self, now: float) -> list[Send]:
        # Each has a letter of its own: it is for nobody else.
        questions: dict[str, Message] = {peer: ExplainUrl(self._request, self._url) for peer in self._team}
        self._round = Round(self._request, "controller", questions, NOBODY_SILENT, now, INQUIRY_S_MAX)
        return self._end_if_over(now) or self._round.ask()

    def receive(self, source: Address, message: Message, now: float) -> list[Send] | None:
        match message:
            case UrlExplained(request=request) if self._round.accepts(source, request):
                facts = _read(url_facts_in, message.facts)
                if facts is not None and facts.url == self._url:
                    self._told[source.peer] = facts
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
        told = tuple((peer, self._told[peer]) for peer in self._team if peer in self._told)
        return self._end(WhyAnswered(self.ticket, self._url, self._slot, self._owner, self._team, told))


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
        self._told: dict[str, CrawlFacts] = {}

    def _question(self, request: int) -> Message:
        return ExplainCrawl(request)

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
        return WhyIdleAnswered(self.ticket, told, silent, down)


def _read(decode: Callable[[bytes], Facts], encoded: bytes) -> Facts | None:
    """What a peer tells; None when it cannot be read."""
    try:
        return decode(encoded)
    except RemoteProtocolError:
        return None
