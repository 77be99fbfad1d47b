"""A controller's answers to questions why a URL is as it is, or why so little is fetched.

It looks and changes nothing; `listing` goes on looking between questions. Of hosts in memory it looks at so
many and no more: who asks waits, and so does everything else here.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from heapq import nlargest
from itertools import islice
from math import inf
from typing import Final, NamedTuple, TypeAlias

import msgspec

from mesh.actors.actor import Address, Message, Send
from mesh.actors.ownership import Ownership
from mesh.errors import RemoteProtocolError
from mesh.slot_set import SlotMask
from mesh.urls import host_of, is_canonical
from peers.crawler.doubted_rows import MemberListing
from peers.crawler.explanations import (
    LINES_MAX,
    CrawlFacts,
    Hold,
    HostWait,
    Underway,
    UrlFacts,
    Wait,
    encode_facts,
)
from peers.crawler.frontier.host_state import HostState
from peers.crawler.links.links import Links
from peers.crawler.model.messages import RobotsParsed
from peers.crawler.model.politeness import requests_a_day
from peers.crawler.model.settings import CrawlSettings
from peers.crawler.model.wire_messages import CrawlExplained, ExplainCrawl, ExplainUrl, UrlExplained
from peers.crawler.page_limit import PageLimit
from peers.crawler.pages_in_progress import PagesInProgress
from peers.crawler.url_explainer import FactSources, UrlExplainer, hold_by_clock, underway
from peers.policy.rules import Policy

HOSTS_LOOKED_AT: Final = 10_000  # some 20 ms
HOSTS_NAMED: Final = 5
FETCHES_NAMED: Final = 5
WAITING_MAX: Final = 16  # questions for which the parser reads a robots.txt; others get no answer
Asked: TypeAlias = Sequence[tuple[Address, ExplainUrl | ExplainCrawl]]  # by whom, and what
QUESTIONS: Final[frozenset[type[Message]]] = frozenset((ExplainUrl, ExplainCrawl))


class PeerFacts(NamedTuple):
    """The facts that only the controller itself knows."""

    ownership: Ownership | None
    held: SlotMask | None
    stopping: Mapping[int, float]  # slots taken from us, of which something goes on; since when
    licensed_until_s: float
    is_stopped: bool
    is_held_up: bool


class Explainer:
    """Answers `ExplainUrl` and `ExplainCrawl` from the facts that the parts of a controller hold."""

    def __init__(
        self, me: str, sources: FactSources, pages: PagesInProgress, links: Links, limit: PageLimit
    ) -> None:
        self._parser = Address(me, "parser")
        self._sources = sources
        self._pages = pages
        self._links = links
        self._limit = limit
        self._waiting: list[tuple[Address, ExplainUrl]] = []  # for a robots.txt to be read
        self.disk_full_until_s = -inf
        self.listing = MemberListing(sources.frontier)

    def answer(
        self,
        asked: Asked,
        standing: PeerFacts,
        settings: CrawlSettings,
        policy: Policy,
        now: float,
        said: RobotsParsed | None = None,
    ) -> list[Send]:
        """Answer, or have the parser read a robots.txt first; nothing while the owners of slots are unknown.

        Args:
          said: what the parser has read for all of them.

        Raises:
          RemoteProtocolError: a URL is not canonical.
        """
        if standing.ownership is None:
            return []
        sends: list[Send] = []
        look = _Look(self._sources, standing, settings, now)
        for source, question in asked:
            if isinstance(question, ExplainCrawl):
                facts = self._crawl(look)
                if peer := question.peer:
                    told_alone = self.listing.ask(peer, question.since_s, question.until_s)
                    facts = msgspec.structs.replace(facts, told_alone=told_alone)
                sends.append(Send(source, CrawlExplained(question.request, encode_facts(facts))))
                continue
            if not is_canonical(question.url):
                raise RemoteProtocolError("a question about what is no canonical URL")
            slot = standing.ownership.slot_of(host_of(question.url))
            explaining = UrlExplainer(self._sources, settings, policy, question.url, slot, now, said)
            if explaining.order is None:
                known = encode_facts(self._url(explaining, look))
                sends.append(Send(source, UrlExplained(question.request, known)))
            elif len(self._waiting) < WAITING_MAX:
                self._waiting.append((source, question))
                sends.append(Send(self._parser, explaining.order))
        return sends

    def take_waiting(self, said: RobotsParsed) -> Asked:
        """Take out the questions that can be answered now."""
        found = [each for each in self._waiting if each[1].url == said.judged]
        self._waiting = [each for each in self._waiting if each[1].url != said.judged]
        return found

    def _url(self, explaining: UrlExplainer, look: _Look) -> UrlFacts:
        slot, halts = explaining.slot, tuple(self._halts(look))
        is_held = self._sources.frontier.hosts.is_held(slot) and slot not in look.standing.stopping
        return explaining.facts(halts, look.hold_of, is_held=is_held)

    def _crawl(self, look: _Look) -> CrawlFacts:
        frontier, visits, now = self._sources.frontier, self._sources.visits, look.now
        standing, settings = look.standing, look.settings
        states = list(islice(frontier.hosts.in_memory(), HOSTS_LOOKED_AT))
        holds = [(state, look.hold_of(state)) for state in states if state.due_s() < inf]
        waiting = Counter(hold.hold for _, hold in holds if hold is not None)
        urls_waiting: Counter[Hold] = Counter()
        for state, hold in holds:
            if hold is not None:
                urls_waiting[hold.hold] += state.queued
        longest = nlargest(HOSTS_NAMED, states, key=lambda state: state.queued)
        next_s = visits.next_time()
        assert standing.ownership is not None
        return CrawlFacts(
            at_s=now,
            halts=tuple(self._halts(look)),
            slots_owned=int(standing.ownership.owned.sum()),
            slots_held=0 if standing.held is None else int(standing.held.sum()),
            slots_stopping=len(standing.stopping),
            hosts=frontier.host_count,
            looked_at=len(states),
            ready=sum(hold is None for _, hold in holds),
            waiting=dict(waiting),
            urls_waiting=dict(urls_waiting),
            queued=frontier.queued_count,
            given_up=frontier.given_up_count,
            is_due_again=frontier.hosts.is_due_again(states, now),
            next_s=None if next_s == inf else max(next_s, now),
            in_flight=len(visits),
            in_flight_max=settings.fetches_in_flight_max,
            robots_in_flight=sum(visit.robots is not None for visit in visits.under_way.values()),
            in_progress=len(self._pages) + self._pages.finishing_count,
            in_progress_max=settings.pages_in_progress_max,
            slowest=tuple(islice(look.underway(), FETCHES_NAMED)),
            longest=tuple(look.host_wait(state) for state in longest if state.queued),
            answers=dict(visits.outcomes.most_common(LINES_MAX)),
            links_left_out=self._links.own.left_out_count,
            links_waiting=self._links.waiting_count,
            pages_max=self._limit.pages_max,
            undone=visits.early_revisits.undone,
        )

    def _halts(self, look: _Look) -> list[Wait]:
        """Return why this peer begins no fetch at all, apart from the reasons of single hosts."""
        standing, visits, now = look.standing, self._sources.visits, look.now
        halts = []
        if standing.is_stopped:
            halts.append(Wait(Hold.STOPPED))
        if standing.licensed_until_s <= now:
            halts.append(Wait(Hold.UNLICENSED))
        if standing.is_held_up:
            halts.append(Wait(Hold.HELD_UP))
        if self.disk_full_until_s > now:
            halts.append(Wait(Hold.DISK_FULL, self.disk_full_until_s))
        elif visits.paused_until_s > now:
            halts.append(Wait(Hold.PAUSED, visits.paused_until_s))
        if visits.clocks.policy.pauses_all:
            halts.append(Wait(Hold.ALL_PAUSED))
        if self._limit.is_reached(visits.page_count):
            halts.append(Wait(Hold.PAGE_LIMIT))
        elif not visits.has_room():
            halts.append(Wait(Hold.BUSY))
        return halts


class _Look:
    """One look at the hosts."""

    def __init__(
        self, sources: FactSources, standing: PeerFacts, settings: CrawlSettings, now: float
    ) -> None:
        self.standing = standing
        self.settings = settings
        self.now = now
        self._visits = sources.visits
        self._asked = {host_of(url) for url in sources.visits.under_way}
        self._asked |= {visit.state.host for visit in sources.visits.under_way.values()}
        self._being_read = {state.host for state in sources.visits.unread_robots.hosts_out()}

    def hold_of(self, state: HostState) -> Wait | None:
        """Return why a host with URLs to visit has to wait; None when it may be asked now."""
        now, record = self.now, state.record
        if state.slot in self.standing.stopping:
            return Wait(Hold.NOT_HELD)
        if state.host in self._asked:
            return Wait(Hold.BEING_ASKED)
        if state.host in self._being_read:
            return Wait(Hold.ROBOTS_TXT)
        if state.not_before_s > now:
            return Wait(Hold.POLICY, state.not_before_s)
        if record.next_fetch_s > now:
            rule = self._visits.clocks.policy.host_rule(state.host, state.address)
            return Wait(hold_by_clock(record, requests_a_day(self.settings, rule)), record.next_fetch_s)
        due_s = max(state.due_s(), state.domain.not_before_s)
        if due_s > now:
            return Wait(Hold.NOT_DUE, due_s if due_s < inf else None)
        if state.domain.is_full(self.settings.fetches_per_domain_max):
            return Wait(Hold.DOMAIN)
        return None

    def host_wait(self, state: HostState) -> HostWait:
        hold = self.hold_of(state)
        if hold is None:
            return HostWait(state.host, state.queued, None)
        return HostWait(state.host, state.queued, hold.hold, hold.until_s)

    def underway(self) -> list[Underway]:
        """The fetches that have taken longest: those that were begun first."""
        begun = islice(self._visits.under_way.items(), FETCHES_NAMED)
        return [underway(url, visit, self._visits.clocks, self.now) for url, visit in begun]
