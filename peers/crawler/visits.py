"""Visits: whom to ask next, what for, and what the answer means for the URL and for its host."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from math import inf
from typing import Final, NamedTuple

from mesh.actor import Address, Send
from mesh.urls import host_of
from peers.crawler import politeness
from peers.crawler.domain_budgets import DomainBudgets
from peers.crawler.frontier import Frontier
from peers.crawler.host_clocks import HostClocks
from peers.crawler.host_state import HostState
from peers.crawler.pages_in_progress import PagesInProgress
from peers.crawler.politeness import Blame
from peers.crawler.robots import ROBOTS_BYTES_MAX
from peers.crawler.robots_files import RobotsFiles, RobotsQuestion
from peers.crawler.settings import CrawlSettings
from peers.crawler.url_queues import QueuedUrl
from peers.crawler.url_rows import Conclusion, concluded, due_at
from peers.crawler.web_request import (
    PAGE_MEDIA_TYPES,
    AbandonFetches,
    FailureReason,
    FetchFailed,
    FetchPage,
    PageFetched,
    retry_after_s,
    status_name,
)
from peers.policy.rules import Policy

EXCLUSIONS_PER_TURN: Final = 100  # URLs a host may lose to its rules before another host has its turn
VAIN_TURNS_MAX: Final = 10  # of hosts that have nothing to offer, before other messages have theirs
LOCAL_FAILURE_PAUSE_S: Final = 5.0


class Visit(NamedTuple):
    """What was asked of the fetcher: a page, or the robots.txt without which it may not be asked for."""

    state: HostState
    taken: QueuedUrl
    robots: RobotsQuestion | None = None  # None when the page itself was asked for


class Visits:
    """Fetches under way, at most one of each host."""

    def __init__(
        self,
        me: str,
        frontier: Frontier,
        pages: PagesInProgress,
        budgets: DomainBudgets,
        settings: CrawlSettings,
    ) -> None:
        self._settings = settings
        self._fetcher = Address(me, "fetcher")
        self._frontier = frontier
        self._pages = pages
        self._clocks = HostClocks(frontier, settings)
        self._budgets = budgets
        self.robots = RobotsFiles(frontier, self._clocks, budgets, settings)
        self._visits: dict[str, Visit] = {}  # by URL
        self._asked: set[str] = set()  # hosts of these
        self._paused_until_s = -inf
        self.outcomes: Counter[str] = Counter()  # answers by HTTP status, failures by reason
        self.bytes_fetched = 0

    def change_settings(self, settings: CrawlSettings) -> None:
        self._settings = self._clocks.settings = self.robots.settings = settings

    def change_policy(self, policy: Policy) -> None:
        """Go by what the owner of the mesh wants now."""
        self._clocks.policy = policy

    def __len__(self) -> int:
        return len(self._visits)

    def slots(self) -> set[int]:
        """Return the slots of the hosts that are being asked."""
        return {visit.state.slot for visit in self._visits.values()}

    def next_time(self) -> float:
        """When a visit may begin, mesh clock, if there is room for it."""
        if self._clocks.policy.pauses_all:
            return inf
        return max(self._frontier.next_time(), self._paused_until_s)

    def has_room(self) -> bool:
        settings = self._settings
        return (
            len(self._visits) < settings.fetches_in_flight_max
            and len(self._pages) + len(self._visits) < settings.pages_in_progress_max
            and self._pages.n_bytes < settings.page_bytes_in_progress_max
        )

    def pause(self, until_s: float) -> None:
        """Begin none until then."""
        self._paused_until_s = max(self._paused_until_s, until_s)

    def abandon(self) -> list[Send]:
        """Have all that are under way end now: we may not ask any more."""
        return [Send(self._fetcher, AbandonFetches())] if self._visits else []

    # --- asking ---

    def begin(self, now: float) -> list[Send]:
        """Begin as many as may begin now."""
        sends: list[Send] = []
        vain_turns = 0
        if now < self.next_time():
            return sends
        while vain_turns < VAIN_TURNS_MAX and self.has_room():
            state = self._frontier.take_host(now)
            if state is None:
                break
            request = self._next_request(state, now, sends)
            if request is None:
                vain_turns += 1
                self._frontier.release(state, now)
            else:
                sends.append(Send(self._fetcher, request))
        return sends

    def _next_request(self, state: HostState, now: float, sends: list[Send]) -> FetchPage | None:
        """What to ask of a host that may be asked now; None when it has to wait or offers nothing.

        Args:
          sends: gets what else is to be said.
        """
        self._clocks.take_courage(state)
        if state.host in self._asked:  # for the robots.txt of another host
            self._clocks.wait(state, politeness.free_after_question_s(now))
            return None
        if not self._clocks.is_ready(state, now):
            return None
        for _ in range(EXCLUSIONS_PER_TURN):
            taken = self._frontier.take_url(state, now)
            if taken is None:
                return None
            known = self.robots.known(state, taken.url, now)
            excluded = self.robots.reason_to_exclude(state, taken, known)
            if excluded is None and known is None:
                return self._ask_for_robots(state, taken, now)
            if excluded is None:
                return self._ask(self._question(taken.url), Visit(state, taken), now)
            self.outcomes[excluded] += 1
            if self._pages.is_withdrawn(state, taken, excluded):
                sends += self._pages.withdraw_unseen(state, taken, f"X{excluded}", now)
                continue
            conclusion = self._concluded(f"X{excluded}", now)
            if excluded in politeness.POLICY_REASONS:  # which may change, or the owner take it back
                conclusion = conclusion._replace(due_s=due_at(now + politeness.POLICY_REVIEW_S))
            if excluded is FailureReason.UNREACHABLE and known is not None:  # until its port is tried again
                due_s = min(conclusion.due_s, due_at(known.expires_s))
                conclusion = conclusion._replace(due_s=due_s)
            self._frontier.settle(state, taken, conclusion)
        return None

    def _concluded(self, outcome: str, now: float) -> Conclusion:
        return concluded(outcome, now, self._settings.revisit_after_s)

    def _ask_for_robots(self, state: HostState, taken: QueuedUrl, now: float) -> FetchPage | None:
        """Ask for the robots.txt of an origin, at another host if it moved there and may be asked."""
        question = self.robots.question(taken.url)
        free_s = self._free_s(question.url, state, now)
        if free_s > now:
            self._frontier.put_back(state, taken)
            self._clocks.wait(state, free_s)
            return None
        # A byte more than is read of it tells that it was cut.
        request = self._question(question.url, (), ROBOTS_BYTES_MAX + 1)
        return self._ask(request, Visit(state, taken, question), now)

    def _question(
        self, url: str, media_types: tuple[str, ...] = PAGE_MEDIA_TYPES, beginning_bytes: int = 0
    ) -> FetchPage:
        settings = self._settings
        return FetchPage(url, media_types, beginning_bytes, settings.user_agent, settings.delay_s)

    def _free_s(self, url: str, state: HostState, now: float) -> float:
        """When the host of a URL may be asked on behalf of another one."""
        host = host_of(url)
        if host in self._asked:
            return politeness.free_after_question_s(now)
        other = self._frontier.find(host) if host != state.host else None
        return now if other is None else politeness.free_s(other.record, self._clocks.delay_s(other), now)

    def _ask(self, request: FetchPage, visit: Visit, now: float) -> FetchPage:
        self._visits[request.url] = visit
        self._asked.add(host_of(request.url))
        self._clocks.note_question(self._hosts_of(request.url, visit.state), now)
        return request

    def _hosts_of(self, url: str, state: HostState) -> Iterator[HostState]:
        """The hosts whose politeness delay begins: two if a robots.txt was asked of another one."""
        yield state
        host = host_of(url)
        other = self._frontier.find(host) if host != state.host else None
        if other is not None:
            yield other

    # --- answers ---

    def _answered(self, url: str, now: float) -> Visit | None:
        """What was asked, now that there is an answer; None when there was no such question."""
        visit = self._visits.pop(url, None)
        if visit is not None:
            self._asked.remove(host_of(url))
            self._budgets.count_question(visit.state.domain.name)
            if visit.robots is None and not visit.taken.is_stored:
                self._clocks.count_page(visit.state)
            self._clocks.note_answer(self._hosts_of(url, visit.state), now)
        return visit

    def fetched(self, fetched: PageFetched, now: float) -> list[Send]:
        """Take in an answer of a server."""
        visit = self._answered(fetched.url, now)
        if visit is None:
            return []
        state, taken = visit.state, visit.taken
        self.bytes_fetched += fetched.bytes_received
        sends: list[Send] = []
        if visit.robots is not None:
            self._frontier.put_back(state, taken)
            failure = self.robots.take_in(state, visit.robots, fetched, now)
            if failure is not None:
                self.outcomes[failure] += 1
        else:
            self.outcomes[status_name(fetched.status)] += 1
            sends = self._page_fetched(state, taken, fetched, now)
        self._frontier.release(state, now)
        return sends

    def _page_fetched(
        self, state: HostState, taken: QueuedUrl, fetched: PageFetched, now: float
    ) -> list[Send]:
        status = fetched.status
        if politeness.may_pass(status):
            self._clocks.back_off(state, now, retry_after_s(fetched), taken.attempts)
            self._retry_or_fail(state, taken, str(status), now)
            return []
        self._clocks.forgive(state)
        if status == 200:
            return self._pages.parse(state, taken, fetched)
        failure = str(status) if status >= 400 else ""
        if not failure and not self._pages.can_follow(taken, fetched):
            failure = FailureReason.TOO_MANY_REDIRECTS
            self.outcomes[failure] += 1
        if self._pages.is_shown(state, taken):
            return self._pages.withdraw(state, taken, fetched, failure, now)
        if failure:
            self._frontier.settle(state, taken, self._concluded(f"F{failure}", now))
        else:
            self._pages.follow(state, taken, fetched, now)
        return []

    def failed(self, failed: FetchFailed, now: float) -> list[Send]:
        """Take in that there is no answer."""
        url, reason = failed.url, failed.reason
        if reason is FailureReason.ADDRESS_BUSY:
            self._was_not_asked(url, now + failed.pause_s, now)
            return []
        visit = self._answered(url, now)
        if visit is None:
            return []
        sends: list[Send] = []
        self.outcomes[reason] += 1
        blame = politeness.blame_for(reason)
        if blame is Blame.US:
            self.pause(now + LOCAL_FAILURE_PAUSE_S)
        elif blame is Blame.HOPELESS_HOST:
            self._clocks.give_up(visit.state, now)
        if visit.robots is not None:
            self._robots_failed(visit.state, visit.taken, visit.robots.origin, blame, now)
        else:
            sends = self._page_failed(visit.state, visit.taken, reason, blame, now)
        self._frontier.release(visit.state, now)
        return sends

    def _was_not_asked(self, url: str, again_s: float, now: float) -> None:
        """Let a host wait for the turn of its address."""
        visit = self._visits.pop(url, None)
        if visit is not None:
            self._asked.remove(host_of(url))
            self.outcomes[FailureReason.ADDRESS_BUSY] += 1
            self._frontier.put_back(visit.state, visit.taken)
            self._clocks.wait(visit.state, again_s)
            self._frontier.release(visit.state, now)

    def _robots_failed(
        self, state: HostState, taken: QueuedUrl, origin: str, blame: Blame, now: float
    ) -> None:
        self._frontier.put_back(state, taken)
        self.robots.forget_way(origin)
        if blame in (Blame.HOST, Blame.PAGE):
            self.robots.note_unreadable(state, origin, now)

    def _page_failed(
        self, state: HostState, taken: QueuedUrl, reason: FailureReason, blame: Blame, now: float
    ) -> list[Send]:
        match blame:
            case Blame.NOBODY | Blame.US | Blame.HOPELESS_HOST:
                self._frontier.put_back(state, taken)
            case Blame.HOST:
                self._clocks.back_off(state, now, 0.0, taken.attempts)
                self._retry_or_fail(state, taken, reason, now)
            case Blame.PAGE:
                self._clocks.forgive(state)
                if self._pages.is_withdrawn(state, taken, reason):
                    return self._pages.withdraw_unseen(state, taken, f"F{reason}", now)
                self._frontier.settle(state, taken, self._concluded(f"F{reason}", now))
        return []

    def _retry_or_fail(self, state: HostState, taken: QueuedUrl, reason: str, now: float) -> None:
        if politeness.may_try_again(taken.attempts, self._settings):
            self._frontier.retry(state, taken)
        else:
            self._frontier.settle(state, taken, self._concluded(f"F{reason}", now))
