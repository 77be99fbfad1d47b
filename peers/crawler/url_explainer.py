"""Why a URL is as it is: the facts from frontier, policy, robots.txt and archive of a peer."""

from __future__ import annotations

from collections.abc import Callable
from itertools import islice
from math import inf, isfinite
from typing import Any, Final, NamedTuple

from mesh.urls import fingerprint, host_of, origin_of
from peers.crawler.domain_budgets import DomainBudgets
from peers.crawler.explanations import (
    LINES_MAX,
    TEXT_CHARS_MAX,
    ArchiveFacts,
    DelayBy,
    DueBy,
    Hold,
    HostFacts,
    IndexState,
    RobotsFacts,
    Ruling,
    Underway,
    UrlFacts,
    UrlState,
    Wait,
)
from peers.crawler.frontier.frontier import Frontier
from peers.crawler.frontier.host_state import HostState
from peers.crawler.frontier.items import host_hash
from peers.crawler.frontier.keys import KIND_AT, host_key, queue_key, queue_of
from peers.crawler.frontier.parked_hosts import record_in
from peers.crawler.host_clocks import HostClocks
from peers.crawler.links.left_out_links import LeftOutLinks
from peers.crawler.model import politeness
from peers.crawler.model.course import UNLIMITED
from peers.crawler.model.messages import ParseRobots, RobotsParsed
from peers.crawler.model.politeness import HostRecord, is_day_spent, requests_a_day
from peers.crawler.model.revisit_policies import is_out_of_turn
from peers.crawler.model.robots import RobotsRules, line_of, product_token, rules_for_status, takes_long
from peers.crawler.model.settings import CrawlSettings
from peers.crawler.model.url_rows import ICON_HOPS, REDIRECTS_MAX, UrlRow
from peers.crawler.model.web_request import FailureReason
from peers.crawler.model.wire_messages import LinkUse
from peers.crawler.visits import Visit, Visits
from peers.engine.pages.linkers import is_linker, is_text, moves_in
from peers.policy.rule_explanations import condition_of, deciding, number_of_rule
from peers.policy.rules import Policy, Rule
from peers.storage.ledger.stored_versions import KeptVersions, StoredVersions

PLACES_COUNTED: Final = 10_000  # of a queue
VERSIONS_COUNTED: Final = 1_000
TEXTS_SHOWN: Final = 5

# What a host waits for; None when it may be asked now.
HoldOf = Callable[[HostState], Wait | None]


class FactSources(NamedTuple):
    """The parts of a controller that hold the facts about a URL."""

    frontier: Frontier
    visits: Visits
    budgets: DomainBudgets
    left_out: LeftOutLinks
    stored: StoredVersions


class UrlExplainer:
    """Puts together the facts about one URL, and changes nothing."""

    def __init__(
        self,
        sources: FactSources,
        settings: CrawlSettings,
        policy: Policy,
        url: str,
        slot: int,
        now: float,
        said: RobotsParsed | None = None,
    ) -> None:
        """Look the URL up.

        Args:
          url: canonical.
          policy: all of its rules, those that have ended too.
          said: what the parser has read of its robots.txt for that.
        """
        self.order: ParseRobots | None = None  # what the parser has to read before there are facts
        self._sources = sources
        self._settings = settings
        self._policy = policy
        self._url, self.slot, self._now = url, slot, now
        self._host = host_of(url)
        frontier = sources.frontier
        self._row = frontier.row_of(url, slot)
        self._left_out = sources.left_out.find(url)
        self._state = frontier.hosts.at(slot, host_hash(self._host))
        self._robots_rules: RobotsRules | None = None
        self._robots = self._robots_facts(said)

    def facts(self, halts: tuple[Wait, ...], hold_of: HoldOf, *, is_held: bool) -> UrlFacts:
        """Return the facts known about the URL.

        Args:
          halts: why this peer asks nobody, if that is so.
          hold_of: what a host in memory waits for.
        """
        row, link, record = self._row, self._left_out, self._record()
        entries = self._sources.frontier.texts.of(self._url, self.slot)
        rulings = tuple(islice(self._rulings(record), LINES_MAX))
        return UrlFacts(
            at_s=self._now,
            url=self._url,
            state=self._state_of_url() if row is not None or link is None else UrlState.LEFT_OUT,
            is_held=is_held,
            **self._row_facts(),
            asking=self._asking(),
            waits=(*halts, *self._waits(hold_of, is_held=is_held)) if self._is_waiting else (),
            texts=tuple(text[:TEXT_CHARS_MAX] for text in islice(filter(is_text, entries), TEXTS_SHOWN)),
            linkers=sum(map(is_linker, entries)),
            moved_from=moves_in(entries)[:TEXTS_SHOWN],
            left_out_depth=None if link is None else link.depth,
            is_left_out_abroad=link is not None and link.use is LinkUse.ABROAD,
            robots=self._robots,
            host=None if record is None else self._host_facts(record),
            rulings=rulings,
            is_taken_down=self._policy.at(self._now).is_taken_down(self._url),
            archive=self._archive_facts(),
        )

    # --- the row ---

    def _state_of_url(self) -> UrlState:
        row = self._row
        if row is None:
            return UrlState.UNKNOWN
        if self._asking() is not None:
            return UrlState.FETCHING
        if self._is_out(row):
            return UrlState.IN_PROGRESS
        if _is_imported(row):
            return UrlState.IMPORTED
        if row.outcome[0] == "D":
            return UrlState.STORED if row.is_stored else UrlState.VISITED
        return {"Q": UrlState.QUEUED, "X": UrlState.LEFT_OUT, "F": UrlState.FAILED}[row.outcome[0]]

    def _asking(self) -> Underway | None:
        under_way = self._sources.visits.under_way.items()
        asked = next(((url, visit) for url, visit in under_way if visit.taken.url == self._url), None)
        return None if asked is None else underway(*asked, self._sources.visits.clocks, self._now)

    @property
    def _is_waiting(self) -> bool:
        return self._row is not None and self._row.is_queued and not self._is_out(self._row)

    def _is_out(self, row: UrlRow) -> bool:
        return row.is_queued and self._sources.frontier.is_taken(fingerprint(self._url))

    def _row_facts(self) -> dict[str, Any]:
        """Return the values in the row, by the fields of `UrlFacts`."""
        row = self._row
        if row is None:
            return {}
        place = self._place(row) if row.is_queued else None
        was_visited = row.visit > 0 and not _is_imported(row)
        return {
            "depth": row.depth,
            "hops": 0 if row.hops == ICON_HOPS else row.hops & REDIRECTS_MAX,
            "attempts": row.attempts,
            "visits": row.visit,
            "outcome": row.outcome[1:],
            "visited_s": row.visited_s if was_visited else None,
            "changed_s": row.changed_s if was_visited and row.is_stored else None,
            "due_s": row.due_s if row.is_queued else None,
            "due_by": self._due_by(row),
            "interval_s": self._interval_s(row),
            "revisit": self._settings.revisit.value,
            "is_out_of_turn": row.is_queued and is_out_of_turn(row) and not row.memory.misses,
            "checks": row.memory.checks,
            "changes": row.memory.changes,
            "misses": row.memory.misses,
            "missed_s": row.memory.missed_s if row.memory.misses else None,
            "place": place,
            **self._standing(row),
            "is_place_cut": place is not None and place >= PLACES_COUNTED,
        }

    def _standing(self, row: UrlRow) -> dict[str, Any]:
        """Return the order and rank of its place in the queue, and how far the crawl goes on from it."""
        if row.visit or not row.is_queued:
            return {}
        order = self._sources.frontier.order.ordering.order
        levels, steps = (UNLIMITED, UNLIMITED) if row.course is None else row.course[1:3]
        return {
            "order": order.value,
            "rank": row.rank,
            "levels": None if levels == UNLIMITED else levels,
            "steps": None if steps == UNLIMITED else steps,
        }

    def _interval_s(self, row: UrlRow) -> float | None:
        """How long its policy waits; None where pages are visited once."""
        interval_s = row.memory.interval_s or self._settings.revisit_after_s
        return interval_s if interval_s < inf else None

    def _due_by(self, row: UrlRow) -> DueBy | None:
        if row.attempts:
            return DueBy.AGAIN
        if row.visit == 0:
            return DueBy.FIRST
        if not row.is_queued:
            return None if _is_imported(row) or self._settings.revisit_after_s < inf else DueBy.ONCE
        if politeness.was_left_out(row):
            return DueBy.POLICY
        return DueBy.ROBOTS if row.outcome == f"X{FailureReason.UNREACHABLE}" else DueBy.INTERVAL

    def _place(self, row: UrlRow) -> int:
        """Count those of the same host that come before it, and itself."""
        mine = queue_key(self.slot, fingerprint(self._url), row)
        queue = self._sources.frontier.rows(self.slot, queue_of(self.slot, row.host)[KIND_AT:])
        before = 0
        for key, _ in islice(queue, PLACES_COUNTED - 1):
            if key >= mine:
                break
            before += 1
        return before + 1

    # --- what it waits for ---

    def _waits(self, hold_of: HoldOf, *, is_held: bool) -> list[Wait]:
        row, now = self._row, self._now
        assert row is not None
        waits = [] if is_held else [Wait(Hold.NOT_HELD)]
        hold = hold_of(self._state) if self._state is not None else self._hold_of_record()
        if hold is not None and hold.hold is not Hold.NOT_DUE:
            waits.append(hold)
        if row.due_s > now:
            return [*waits, Wait(Hold.NOT_DUE, row.due_s)]
        if self._robots is None or self._robots.believed_until_s <= now:
            waits.append(Wait(Hold.ROBOTS_TXT))
        if self._place(row) > 1:
            waits.append(Wait(Hold.BEHIND))
        return waits

    def _hold_of_record(self) -> Wait | None:
        """Return why a host that is not in memory has to wait; None when it may be asked now."""
        record = self._record()
        if record is None or record.next_fetch_s <= self._now:
            return None
        day_max = requests_a_day(self._settings, self._policy.host_rule(record.host))
        return Wait(hold_by_clock(record, day_max), record.next_fetch_s)

    # --- the host, its robots.txt and the policy ---

    def _record(self) -> HostRecord | None:
        if self._state is not None:
            return self._state.record
        row = self._sources.frontier.row(host_key(self.slot, host_hash(self._host)))
        return None if row is None else record_in(row)

    @property
    def _address(self) -> str:
        return "" if self._state is None else self._state.address

    def _host_facts(self, record: HostRecord) -> HostFacts:
        state, settings = self._state, self._settings
        asked_count = 0 if state is None else self._sources.budgets.asked_count(state.domain.name)
        delay_s, delay_by, rule = self._delay(state, record.seconds)
        return HostFacts(
            name=self._host,
            next_s=record.next_fetch_s,
            delay_s=delay_s,
            delay_by=delay_by,
            fetched=record.fetched,
            failures=record.failures,
            is_given_up=record.given_up,
            queued=None if state is None else state.queued,
            address=self._address,
            address_delay_s=self._sources.visits.clocks.address_delay_s(self._host),
            refusal=politeness.budget_reason(record, asked_count, settings) or "",
            alias_of=record.alias_of,
            delay_rule=rule,
            answer_s=record.seconds if delay_by is DelayBy.ANSWER else 0.0,
        )

    def _delay(self, state: HostState | None, seconds: float) -> tuple[float, DelayBy, int]:
        """Return the seconds the host is left alone after a question, the reason, and the number of its rule.

        Args:
          seconds: that its last answer took.
        """
        rule = self._policy.at(self._now).host_rule(self._host, self._address)
        if state is not None:
            origins = self._sources.frontier.origins.of(state).values()
            wanted = [origin.rules.crawl_delay_s for origin in origins]
        else:
            wanted = [None if self._robots_rules is None else self._robots_rules.crawl_delay_s]
        delay_s = politeness.delay_s(wanted, self._settings, rule, seconds)
        ours_s = politeness.delay_s((), self._settings, rule, seconds)
        if delay_s > ours_s:
            return delay_s, DelayBy.ROBOTS, 0
        if ours_s > politeness.delay_s((), self._settings, rule):
            return delay_s, DelayBy.ANSWER, 0
        if rule is not None and rule.least_delay_s is not None:
            return delay_s, DelayBy.RULE, number_of_rule(self._policy, rule)
        return delay_s, DelayBy.SETTING, 0

    def _robots_facts(self, said: RobotsParsed | None) -> RobotsFacts | None:
        origin, origins = origin_of(self._url), self._sources.frontier.origins
        record = origins.kept(self.slot, host_hash(self._host), origin)
        if record is None:
            return None
        if takes_long(record.status, record.body) and said is None:
            self.order = origins.order(record, judged=self._url)
            return None
        if said is None:
            agent = product_token(self._settings.user_agent)
            rules = rules_for_status(record.status, record.body, agent)
            deciding_rule = rules.deciding(self._url) if 200 <= record.status < 300 else None
            line = None if deciding_rule is None else line_of(record.body, agent, deciding_rule)
        else:
            rules, line = said.rules, said.line
        self._robots_rules = rules
        return RobotsFacts(
            record.origin,
            record.status,
            record.expires_s,
            min(record.expires_s - self._settings.robots_ttl_s, self._now) if record.status else None,
            rules.allows(self._url),
            politeness.is_honoured(rules.crawl_delay_s, self._settings),
            rules.crawl_delay_s,
            0 if line is None else line.number,
            "" if line is None else line.text[:TEXT_CHARS_MAX],
        )

    def _rulings(self, record: HostRecord | None) -> list[Ruling]:
        found = deciding(self._policy, self._url, self._address, self._now)
        return [self._ruling(number, rule, record) for number, rule in found]

    def _ruling(self, number: int, rule: Rule | None, record: HostRecord | None) -> Ruling:
        known = self._row or self._left_out
        depth = 0 if known is None else known.depth
        refusal = politeness.policy_reason(rule, depth)
        if rule is None:
            return Ruling(number, refusal=refusal or "")
        if refusal is None and record is not None and rule.pages_per_host_max is not None:
            refusal = politeness.budget_reason(record, 0, self._settings, rule)
        return Ruling(
            number,
            rule.action,
            condition_of(rule, self._url)[:TEXT_CHARS_MAX],
            ", ".join(rule.addresses)[:TEXT_CHARS_MAX] if not self._address else "",
            rule.is_of_pages,
            rule.reason[:TEXT_CHARS_MAX],
            refusal or "",
        )

    # --- the archive ---

    def _archive_facts(self) -> ArchiveFacts | None:
        kept = self._sources.stored.kept(self.slot, self._url, VERSIONS_COUNTED)
        if not kept.places:
            return None
        newest = kept.places[0]
        index = _index_state(kept)
        return ArchiveFacts(
            versions=len(kept.places),
            is_cut=kept.is_cut,
            n_bytes=sum(place.length for place in kept.places),
            newest_s=newest.fetched_at if isfinite(newest.fetched_at) else 0.0,
            newest_status=newest.status,
            has_document=newest.has_document,
            is_indexed=index is IndexState.INDEXED,
            index=index,
            moved_to=newest.moved_to,
        )


def underway(url: str, visit: Visit, clocks: HostClocks, now: float) -> Underway:
    """Return for how long a question has been under way."""
    # The clock of its host was put forward by the delay when it was asked.
    asked_s = visit.state.record.next_fetch_s - clocks.delay_s(visit.state)
    return Underway(url, max(0.0, now - asked_s))


def hold_by_clock(record: HostRecord, day_max: int) -> Hold:
    """Return why the clock of a host was put forward.

    Args:
      day_max: questions that it may be asked on a day.
    """
    if record.given_up:
        return Hold.GIVEN_UP if record.failures else Hold.NO_ADDRESS
    if is_day_spent(record, day_max):
        return Hold.DAY_SPENT
    return Hold.BACK_OFF if record.failures else Hold.DELAY


def _index_state(kept: KeptVersions) -> IndexState:
    if kept.is_damaged:
        return IndexState.DAMAGED
    if kept.is_marked:
        return IndexState.MARKED
    if kept.is_hidden:
        return IndexState.HIDDEN
    if kept.places[0].has_document:
        return IndexState.INDEXED
    return IndexState.MOVED if kept.places[0].moved_to else IndexState.GONE


def _is_imported(row: UrlRow) -> bool:
    """Has it been brought from a file, and never been visited?"""
    return row.visit == 1 and row.visited_s == 0.0 and row.outcome == "D200"
