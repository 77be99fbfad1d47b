"""Carries out the decisions of politeness in the frontier: the rules are in `politeness`, all of them."""

from __future__ import annotations

from collections.abc import Iterable
from math import inf

from mesh.urls import has_host, host_of
from peers.crawler.frontier.frontier import Frontier
from peers.crawler.frontier.host_state import HostState
from peers.crawler.model import politeness
from peers.crawler.model.address_rules import HostRule
from peers.crawler.model.politeness import HostRecord
from peers.crawler.model.settings import CrawlSettings
from peers.crawler.model.wire_messages import FoundLink
from peers.policy.rules import OF_SEEDS, Policy, Rule


class HostClocks:
    """The records of hosts, as the events of the crawl change them."""

    def __init__(self, frontier: Frontier, settings: CrawlSettings) -> None:
        self.settings = settings  # may be replaced
        self.policy = OF_SEEDS
        self.kept_until_s: dict[str, float] = {}  # by host: its next turn is lent, see `lent_turns`
        self._frontier = frontier

    def change_policy(self, policy: Policy) -> None:
        """Go by a new policy of the mesh's owner; hosts that waited for another policy wait no more."""
        self.policy = policy
        self._frontier.lift_pauses(self._opens_at)

    def delay_s(self, state: HostState) -> float:
        return self._delay_s(state, self.policy.host_rule(state.host, state.address), state.record.seconds)

    def _delay_s(self, state: HostState, rule: Rule | None, seconds: float) -> float:
        origins = self._frontier.origins.of(state).values()
        crawl_delays = [origin.rules.crawl_delay_s for origin in origins]
        return politeness.delay_s(crawl_delays, self.settings, rule, seconds)

    def address_delay_s(self, host: str) -> float:
        """Return for how long the address of a host is left alone after a question to that host."""
        return self._address_delay_s(host, self.policy.host_rule(host))

    def _address_delay_s(self, host: str, rule: Rule | None) -> float:
        state = self._frontier.find(host)
        return politeness.address_delay_s(self.settings, rule, state.record.seconds if state else 0.0)

    def address_rules(self, host: str, now: float) -> tuple[HostRule, ...]:
        """Return how a host is asked, by where it is."""
        rules = [rule for rule in self.policy.host_rules(host) if rule.addresses]
        return (
            *(self._host_rule(host, rule, now) for rule in rules),
            self._host_rule(host, self.policy.host_rule(host), now),
        )

    def _host_rule(self, host: str, rule: Rule | None, now: float) -> HostRule:
        pause_s = politeness.paused_until_s(rule, now) - now
        networks = () if rule is None else rule.addresses
        return HostRule(networks, pause_s, self._address_delay_s(host, rule))

    def is_ready(self, state: HostState, now: float) -> bool:
        """Tell whether a host may be asked now that its clock has come; if not, it waits.

        For all hosts of a slot that was taken over our own delay was kept; this one may want a longer. By
        the policy it may be paused, or have hours of its own.
        """
        ready_s = politeness.ready_s(self._frontier.asked_s(state.slot), self.delay_s(state))
        if now < ready_s:  # others, to whom it counts as asked as well, need not hear of it
            self._frontier.save_quietly(state, politeness.wait_until(state.record, ready_s))
        rule = self.policy.host_rule(state.host, state.address)
        state.not_before_s = politeness.paused_until_s(rule, now)
        if self.kept_until_s:
            state.not_before_s = max(state.not_before_s, self.kept_until_s.get(state.host, -inf))
        return now >= ready_s and now >= state.not_before_s

    def _opens_at(self, host: str, now: float) -> float:
        """When a host may be asked by the policy, wherever it is; `now` if at once."""
        return politeness.paused_until_s(self.policy.host_rule(host), now)

    def wait(self, state: HostState, until_s: float) -> None:
        self._frontier.save(state, politeness.wait_until(state.record, until_s))

    def take_courage(self, state: HostState) -> None:
        """Ask a host that was given up again."""
        self._frontier.save(state, politeness.with_courage(state.record))

    def recall(self, slot: int, record: HostRecord, now: float) -> None:
        """Ask a host that was given up before its time; of one that was not, nothing changes."""
        if not record.given_up:
            return
        rule = self.policy.host_rule(record.host)
        delay_s = politeness.delay_s([self.settings.crawl_delay_max_s], self.settings, rule)
        self._frontier.recall(slot, politeness.recalled(record, self.settings, delay_s, now))

    def recall_seeds(self, links: Iterable[FoundLink], now: float) -> None:
        """Ask the hosts of seeds that were given up before their time; some may be no URLs."""
        seeds = (link.url for link in links if link.is_ahead and not link.depth and has_host(link.url))
        for host in dict.fromkeys(map(host_of, seeds)):
            state = self._frontier.find(host)
            if state is not None:
                self.recall(state.slot, state.record, now)

    def note_question(self, states: Iterable[HostState], now: float) -> None:
        """Let the delay of hosts that are being asked begin, in case we die before the answer.

        Others need not hear of it before that: for who takes over from us all hosts count as asked just then.
        """
        for state in states:
            record = politeness.after_question(state.record, self.delay_s(state), now)
            self._frontier.save_quietly(state, record)

    def take_back_question(self, clocks: Iterable[tuple[HostState, float]]) -> None:
        """Let hosts be asked when they could before: the question has not left us."""
        for state, next_fetch_s in clocks:
            self._frontier.save_quietly(state, politeness.unasked(state.record, next_fetch_s))

    def note_answer(
        self,
        states: Iterable[HostState],
        seconds: float,
        now: float,
        *,
        further: int = 0,
        page_of: HostState | None = None,
    ) -> None:
        """Let the delay begin anew; others hear at once of a clock that is later by that.

        Args:
          page_of: the host one of whose pages, not visited before, counts against its budget.
          seconds: that the answer took; 0.0 when there was none.
          further: questions that a browser asked besides.
        """
        for state in states:
            rule = self.policy.host_rule(state.host, state.address)
            day_max = politeness.requests_a_day(self.settings, rule)
            counted = politeness.with_page_asked(state.record) if state is page_of else state.record
            answered = politeness.with_answer(counted, seconds, day_max, now, further)
            delay_s = self._delay_s(state, rule, answered.seconds)
            record = politeness.after_question(answered, delay_s, now)
            is_later = record.next_fetch_s > state.record.next_fetch_s
            (self._frontier.save if is_later else self._frontier.save_quietly)(state, record)

    def note_lent(self, state: HostState, seconds: float, now: float) -> float:
        """Count a question that another peer may ask within so many seconds; return the delay after it.

        The delay begins when the turn ends, used or not, so nothing has to be said of what came of it. Others
        hear of the clock at once, since it is later than for who takes over from us.
        """
        rule = self.policy.host_rule(state.host, state.address)
        day_max = politeness.requests_a_day(self.settings, rule)
        record = politeness.with_answer(state.record, 0.0, day_max, now)
        record = politeness.after_question(record, self.delay_s(state), now + seconds)
        self._frontier.save(state, record)
        return self._address_delay_s(state.host, rule)

    def forgive(self, state: HostState) -> None:
        self._frontier.save(state, politeness.after_success(state.record))

    def note_silence(self, state: HostState, now: float) -> None:
        """Note that the whole host is not to be had; after long enough its pages begin to leave."""
        self._frontier.save(state, politeness.after_silence(state.record, now))
        if state.leaving is None and politeness.is_lost(state.record, self.settings, now):
            state.leaving = b""

    def back_off(self, state: HostState, now: float, retry_after_s: float, attempts: int = 0) -> None:
        if state.leaving is not None:
            return  # its next turns are for its pages, and ask nothing
        record = politeness.after_failure(
            state.record,
            self.settings,
            self.delay_s(state),
            now,
            retry_after_s=retry_after_s,
            attempts=attempts,
        )
        self._frontier.save(state, record)

    def give_up(self, state: HostState, now: float) -> None:
        """Leave a host alone for a day, once those of its pages have left that are to."""
        if state.leaving is None:
            self._frontier.save(state, politeness.given_up(state.record, self.settings, now))
