"""The robots.txt of every origin: where to ask for it, the part kept of the answer, the rules for URLs."""

from __future__ import annotations

from typing import Final, NamedTuple

from mesh.actors.actor import Address, Send
from mesh.urls import host_of, origin_of
from peers.crawler.domain_budgets import DomainBudgets
from peers.crawler.frontier.frontier import Frontier
from peers.crawler.frontier.host_state import HostState, OriginRules
from peers.crawler.frontier.items import RobotsRecord
from peers.crawler.frontier.url_queues import QueuedUrl
from peers.crawler.host_clocks import HostClocks
from peers.crawler.model import politeness
from peers.crawler.model.address_rules import PageRule
from peers.crawler.model.messages import RobotsParsed
from peers.crawler.model.robots import ROBOTS_BYTES_MAX, UNREAD, beginning_of, sitemaps_named
from peers.crawler.model.settings import CrawlSettings
from peers.crawler.model.url_rows import REDIRECTS_MAX
from peers.crawler.model.web_request import (
    FailureReason,
    PageFetched,
    location_of,
    retry_after_s,
    status_name,
)
from peers.crawler.pages_in_progress import PagesInProgress
from peers.policy.rules import Rule

HOPS_MAX: Final = 5  # RFC 9309, 2.3.1.2: at least five redirects, even to another authority
READINGS_MAX: Final = 16  # that the parser gets from the table at a time, of 500 KiB each at most
READING_PAUSE_S: Final = 1.0  # for which a host waits when it has so many


class RobotsFetch(NamedTuple):
    """The origin of a robots.txt that is asked for, and where."""

    origin: str
    url: str  # where it is by what is known: `origin`/robots.txt unless that was moved
    hops: int = 0  # redirects followed so far


class RobotsFiles:
    """Keeps the robots.txts of the origins of hosts in the frontier."""

    def __init__(
        self, frontier: Frontier, clocks: HostClocks, budgets: DomainBudgets, settings: CrawlSettings
    ) -> None:
        self.settings = settings  # may be replaced
        self._frontier = frontier
        self._clocks = clocks
        self._budgets = budgets
        self._moved: dict[str, RobotsFetch] = {}  # by origin
        self.comparison_count = 0  # with patterns, of all URLs that rules were asked about

    def known(self, state: HostState, url: str, now: float) -> OriginRules | None:
        """Return the rules that the origin of a URL gave lately; None when it has to be asked."""
        known = self._frontier.origins.of(state).get(origin_of(url))
        return known if known is not None and known.expires_s > now else None

    def reason_to_exclude(
        self, state: HostState, taken: QueuedUrl, known: OriginRules | None, now: float
    ) -> str | None:
        """Say why a URL is not asked for; None when it may be, as soon as its robots.txt is known."""
        url = taken.url
        is_known = now < state.address_s + politeness.ADDRESS_BELIEVED_S
        reasons = self._policy_reasons(state, taken, state.address if is_known else "")
        if None not in reasons:
            return reasons[-1]
        if known is None:
            origins = self._frontier.origins.of(state)
            is_new = origin_of(url) not in origins
            return politeness.origins_reason(len(origins), self.settings) if is_new else None
        paths = known.rules.paths
        if paths.wildcards:  # others are hardly to be measured
            self.comparison_count += paths.comparison_count
        if not known.rules.allows(url):
            return FailureReason.ROBOTS if known.status else FailureReason.UNREACHABLE
        is_honoured = politeness.is_honoured(known.rules.crawl_delay_s, self.settings)
        return None if is_honoured else FailureReason.CRAWL_DELAY

    def address_rules(self, state: HostState, taken: QueuedUrl) -> tuple[PageRule, ...]:
        """Return whether a URL is asked for, by where its host is."""
        rules = self._clocks.policy.rules_for(taken.url)
        return tuple(
            PageRule(() if rule is None else rule.addresses, self._policy_reason(state, taken, rule) or "")
            for rule in rules
        )

    def _policy_reasons(self, state: HostState, taken: QueuedUrl, address: str) -> list[str | None]:
        """Say for each rule that may decide about a URL why it is not asked for; None when it may be."""
        rules = self._clocks.policy.rules_for(taken.url, address)
        return [self._policy_reason(state, taken, rule) for rule in rules]

    def _policy_reason(self, state: HostState, taken: QueuedUrl, decreed: Rule | None) -> str | None:
        reason = politeness.policy_reason(decreed, taken.depth)
        if reason is not None or taken.is_stored:
            return reason
        may_be_trap = self.settings.avoids_traps and taken.depth > 0  # what is given as a seed is wanted
        if may_be_trap and self._frontier.traps.of(state).is_trap(taken.url):
            return "trap"
        record, hops, finds_aliases = state.record, taken.hops & REDIRECTS_MAX, self.settings.finds_aliases
        if finds_aliases and politeness.is_left_to_representative(record, taken.url, taken.depth, hops):
            return politeness.ALIAS
        return self._budget_reason(state, decreed)

    def _budget_reason(self, state: HostState, decreed: Rule | None) -> str | None:
        asked_count = self._budgets.asked_count(state.domain.name)
        return politeness.budget_reason(state.record, asked_count, self.settings, decreed)

    def question(self, url: str) -> RobotsFetch:
        """Return the question for the robots.txt that is needed before a URL may be asked for."""
        origin = origin_of(url)
        return self._moved.get(origin) or RobotsFetch(origin, f"{origin}/robots.txt")

    def take_in(
        self, state: HostState, question: RobotsFetch, fetched: PageFetched, now: float
    ) -> str | None:
        """Keep an answer, or where it leads; return the name under which a failure is counted."""
        origin, status = question.origin, fetched.status
        self._moved.pop(origin, None)
        target = location_of(fetched)
        if target is not None and question.hops < HOPS_MAX:
            self._moved[origin] = RobotsFetch(origin, target, question.hops + 1)
            return None
        if status >= 500 or status == 429:
            self._unreachable(state, origin, now, retry_after_s(fetched))
            return f"robots_{status_name(status)}"
        if 200 <= status < 300 and _is_damaged(fetched):
            self.note_unreadable(state, origin, now)
            return f"robots_{FailureReason.DECODING}"
        kept = beginning_of(fetched.body) if 200 <= status < 300 else b""
        self._frontier.origins.save(
            state, RobotsRecord(origin, status, now + self.settings.robots_ttl_s, kept)
        )
        self._clocks.forgive(state)
        self._clocks.wait(state, now + self._clocks.delay_s(state))  # which may be longer than we knew
        return None

    def forget_way(self, origin: str) -> None:
        """Begin anew at the origin the next time."""
        self._moved.pop(origin, None)

    def note_unreadable(self, state: HostState, origin: str, now: float) -> None:
        """Forbid everything for a while: a file that cannot be had or read may do so (RFC 9309, 2.3.1.4)."""
        self._unreachable(state, origin, now, 0.0)

    def drop_unheld(self) -> None:
        """Forget the new places of the robots.txts of hosts that are not held any more."""
        find = self._frontier.find
        self._moved = {origin: to for origin, to in self._moved.items() if find(host_of(origin)) is not None}

    def _unreachable(self, state: HostState, origin: str, now: float, retry_after_s: float) -> None:
        """Leave the host alone, or, if it has others, only this origin: a dead port is not a dead host."""
        if not self._frontier.origins.has_other(state, origin):
            self._clocks.note_silence(state, now)
            self._clocks.back_off(state, now, retry_after_s)
            return
        pause_s = politeness.origin_pause_s(self.settings, retry_after_s)
        self._frontier.origins.save(state, RobotsRecord(origin, 0, now + pause_s, b""))


class RobotsParse(NamedTuple):
    """A robots.txt that the parser has."""

    state: HostState
    known: OriginRules  # what it says the rules of; another one by then if there is a newer file
    taken: QueuedUrl | None  # for which it was asked for, if it comes from a server


class UnreadFiles:
    """Has the parser read those for which the event loop has no time; their hosts are out until it has.

    They come from a server, or from the table: after a restart, from another peer, or when a host has had no
    place in memory. A host is asked nothing before those of all its origins are read, since any of them may
    want a longer delay.
    """

    def __init__(
        self, me: str, frontier: Frontier, clocks: HostClocks, pages: PagesInProgress, settings: CrawlSettings
    ) -> None:
        self.settings = settings  # may be replaced
        self._parser = Address(me, "parser")
        self._frontier = frontier
        self._clocks = clocks
        self._pages = pages
        self._readings: dict[str, RobotsParse] = {}  # by origin

    def hosts_out(self) -> list[HostState]:
        """Return the hosts that are given out until a robots.txt of theirs is read."""
        return [reading.state for reading in self._readings.values()]

    def slots(self) -> set[int]:
        """Return the slots of these hosts."""
        return {state.slot for state in self.hosts_out()}

    def have_one_read(self, state: HostState, now: float) -> Send | None:
        """Have the parser read a file of a host that is given out; if it has too many, the host waits."""
        if len(self._readings) >= READINGS_MAX:
            state.not_before_s = now + READING_PAUSE_S
            return None
        origins = self._frontier.origins.of(state).items()
        return self._have_read(state, next(origin for origin, known in origins if known.rules is UNREAD))

    def fetched(
        self, state: HostState, taken: QueuedUrl, origin: str, fetched: PageFetched, now: float
    ) -> list[Send]:
        """Find the sitemaps that a robots.txt names, and give its host back: at once, or when it is read."""
        found_at = fetched.url if self.settings.reads_sitemaps else ""
        if state.has_unread and self._frontier.origins.of(state)[origin].rules is UNREAD:
            return [self._have_read(state, origin, taken, found_at)]
        if found_at:
            self._pages.find_lists(sitemaps_named(found_at, fetched.body), taken, now)
        self._frontier.release(state, now)
        return []

    def read(self, said: RobotsParsed, now: float) -> None:
        """Go by the rules that the parser has read, unless that file is not the newest one any more."""
        reading = None if said.judged else self._readings.pop(said.origin, None)
        if reading is None:
            return
        state, known, taken = reading
        origins = self._frontier.origins.of(state)
        if origins.get(said.origin) is known:
            origins[said.origin] = known._replace(rules=said.rules)
            state.has_unread = any(each.rules is UNREAD for each in origins.values())
            fetched_s = known.expires_s - self.settings.robots_ttl_s
            self._clocks.wait(state, fetched_s + self._clocks.delay_s(state))
        if taken is not None:
            self._pages.find_lists(said.sitemaps, taken, now)
        self._frontier.release(state, now)

    def _have_read(
        self, state: HostState, origin: str, taken: QueuedUrl | None = None, found_at: str = ""
    ) -> Send:
        origins = self._frontier.origins
        self._readings[origin] = RobotsParse(state, origins.of(state)[origin], taken)
        record = origins.kept(state.slot, state.hash, origin)
        assert record is not None, "what is known of it comes from there"
        return Send(self._parser, origins.order(record, found_at=found_at))


def _is_damaged(fetched: PageFetched) -> bool:
    """Has less come than is read of a robots.txt, though there was more? The rest may forbid anything."""
    return not fetched.is_whole and len(fetched.body) <= ROBOTS_BYTES_MAX
