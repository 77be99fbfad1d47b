"""Visits: which host to ask next, for which URL, and the effect of the answer on the URL and its host."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from math import inf
from typing import Final, NamedTuple

from msgspec.structs import replace

from mesh.actors.actor import Address, Send
from mesh.tables.table import Table
from mesh.urls import host_of, origin_of
from peers.crawler.cookies import Cookies
from peers.crawler.domain_budgets import DomainBudgets
from peers.crawler.early_revisits import EarlyRevisits
from peers.crawler.fetch_requests import FetchRequests
from peers.crawler.frontier.frontier import Frontier
from peers.crawler.frontier.host_state import HostState, OriginRules
from peers.crawler.frontier.url_queues import QueuedUrl
from peers.crawler.host_clocks import HostClocks
from peers.crawler.lent_turns import Lending
from peers.crawler.model import politeness
from peers.crawler.model.messages import HostGrown, PageParsed, ParseFailed, ParsePage
from peers.crawler.model.path_rules import COMPARISONS_AT_ONCE
from peers.crawler.model.politeness import Blame
from peers.crawler.model.revisit_policies import Finding, concluded_by, is_given_up
from peers.crawler.model.settings import CrawlSettings
from peers.crawler.model.url_rows import Conclusion, due_at
from peers.crawler.model.web_request import (
    PAGE_STATUSES,
    AbandonFetches,
    FailureReason,
    FetchFailed,
    FetchPage,
    PageFetched,
    is_elsewhere_for_now,
    retry_after_s,
    status_name,
)
from peers.crawler.page_limit import PageLimit
from peers.crawler.pages_in_progress import PagesInProgress
from peers.crawler.parsing_costs import ParsingCosts
from peers.crawler.robots_files import RobotsFetch, RobotsFiles, UnreadFiles
from peers.crawler.site_watch import ADMISSION_S, BUSY_PAUSE_S, PROOF_BYTES_MAX, SITE_LIMIT, SiteWatch
from peers.policy.rules import Policy

EXCLUSIONS_PER_TURN: Final = 100  # URLs a host may lose to its rules before another host has its turn
VAIN_TURNS_MAX: Final = 10  # of hosts that have nothing to offer, before other messages have theirs
LOCAL_FAILURE_PAUSE_S: Final = 5.0


class Visit(NamedTuple):
    """A question to the fetcher: for a page, or for the robots.txt without which it may not be asked for."""

    state: HostState
    taken: QueuedUrl
    robots: RobotsFetch | None = None  # None when the page itself was asked for
    is_conditional: bool = False  # "not modified" may be the answer
    is_look: bool = False  # for the proof of a submitted site
    clocks: tuple[tuple[HostState, float], ...] = ()  # of the hosts that are asked, as they were before


class Visits:
    """Fetches under way, at most one of each host."""

    def __init__(
        self,
        me: str,
        frontier: Frontier,
        pages: PagesInProgress,
        budgets: DomainBudgets,
        recalls: Table,
        settings: CrawlSettings,
        limit: PageLimit,
    ) -> None:
        self._settings, self._limit = settings, limit
        self._fetcher, self._aliases = Address(me, "fetcher"), Address(me, "aliases")
        self._parser = Address(me, "parser")
        self._frontier = frontier
        self._pages = pages
        self.clocks = HostClocks(frontier, settings)
        self._budgets, self.costs = budgets, ParsingCosts(budgets, frontier, settings)
        self.robots = RobotsFiles(frontier, self.clocks, budgets, settings)
        self.unread_robots = UnreadFiles(me, frontier, self.clocks, pages, settings)
        self._requests = FetchRequests(self.clocks, self.robots, settings)
        self._visits: dict[str, Visit] = {}  # by URL
        self._asked: set[str] = set()  # hosts of these
        self.lending = Lending(frontier, self.clocks, self.robots, budgets, self._asked)
        self._cookies = Cookies()
        self._paused_until_s = -inf
        self.early_revisits = EarlyRevisits(recalls, frontier, self.clocks)
        self.sites: SiteWatch | None = None  # None while nobody can submit any
        self.outcomes: Counter[str] = Counter()  # by HTTP status, failures by reason, documents not read
        self.bytes_fetched = 0

    def change_settings(self, settings: CrawlSettings) -> None:
        self._settings = self.clocks.settings = self.robots.settings = self._requests.settings = settings
        self.costs.settings = self.unread_robots.settings = settings

    def change_policy(self, policy: Policy) -> None:
        """Go by a new policy of the mesh's owner."""
        self.clocks.change_policy(policy)
        self.early_revisits.change_policy(policy)

    def reach_web(self, how: bytes, parser: int, now: float) -> None:
        """Begin a life; see `WebReached`."""
        self.early_revisits.note(b"web", how)
        self._pages.parsed_since_s = self.early_revisits.since(b"parser", parser, now)

    def __len__(self) -> int:
        return len(self._visits)

    def slots(self) -> set[int]:
        """Return the slots of the hosts that are being asked, or with a robots.txt that is being read."""
        slots = {visit.state.slot for visit in self._visits.values()} | self.unread_robots.slots()
        return slots if self.sites is None else slots | self.sites.slots()

    def next_time(self) -> float:
        """When a visit may begin, mesh clock, if there is room for it."""
        if self.clocks.policy.pauses_all:
            return inf
        return max(min(self._frontier.next_time(), self.early_revisits.at_s), self._paused_until_s)

    def has_room(self) -> bool:
        settings = self._settings
        return (
            len(self._visits) < settings.fetches_in_flight_max
            and len(self._pages) + len(self._visits) < settings.pages_in_progress_max
            and self._pages.n_bytes < settings.page_bytes_in_progress_max
            and (not self._limit.is_given or self._limit.has_room(self.page_count))
        )

    @property
    def under_way(self) -> Mapping[str, Visit]:
        """Return the questions to the fetcher that have no answer so far, by URL, in the order of asking."""
        return self._visits

    @property
    def paused_until_s(self) -> float:
        """Return the time before which no visit begins: the latest of all pauses asked for."""
        return self._paused_until_s

    @property
    def visited_count(self) -> int:
        """Return how many URLs of the slots held were visited, with any outcome."""
        return self._frontier.url_count - self._frontier.queued_count

    @property
    def page_count(self) -> int:
        """The same, and those that are being visited."""
        return self.visited_count + len(self._visits) + len(self._pages) + self._pages.finishing_count

    def pause(self, until_s: float) -> float:
        """Begin none until then, a time that is returned."""
        self._paused_until_s = max(self._paused_until_s, until_s)
        return until_s

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
        if self.early_revisits.at_s <= now:
            self.early_revisits.do_some(now)
        limit = self.robots.comparison_count + COMPARISONS_AT_ONCE
        while vain_turns < VAIN_TURNS_MAX and self.robots.comparison_count < limit and self.has_room():
            state = self._frontier.take_host(now)
            if state is None:
                break
            if (send := self._next_send(state, now, sends, limit)) is None:
                vain_turns += 1
                self._frontier.release(state, now)
            else:
                sends.append(send)
        return sends

    def _next_send(self, state: HostState, now: float, sends: list[Send], limit: int) -> Send | None:
        """Return the request to a host that may be asked now; None when it has to wait or offers nothing.

        Args:
          sends: gets what else is to be said.
          limit: of `RobotsFiles.comparison_count`, at which other messages have their turn.
        """
        if state.leaving is not None:
            sends += self._let_leave(state, now)
            return None
        self.clocks.take_courage(state)
        if state.host in self._asked:  # for the robots.txt of another host
            self.clocks.wait(state, politeness.free_after_question_s(now))
            return None
        if not (self.clocks.is_ready(state, now) and self.costs.may_be_asked(state.domain, now)):
            return None
        if state.has_unread:
            return self.unread_robots.have_one_read(state, now)
        if politeness.is_doubtful(state.record) and not _has_room_for_doubtful(self._visits, self._settings):
            state.not_before_s = now + politeness.DOUBTFUL_PAUSE_S
            return None
        for _ in range(EXCLUSIONS_PER_TURN):
            taken = self._frontier.take_url(state, now)
            if taken is None:
                return None
            known = self.robots.known(state, taken.url, now)
            excluded = self.robots.reason_to_exclude(state, taken, known, now)
            if excluded is None and known is None:
                return self._ask_for_robots(state, taken, now)
            if self.sites is not None and known is not None and excluded is None:
                step = self._at_site(self.sites, state, taken, known, now)
                if step is None or isinstance(step, Send):
                    return step
                excluded = step
            if not excluded:
                question = self._requests.for_page(state, taken, now)
                etag, last_modified = self._pages.validators(state, taken)
                cookie = self._cookies.take(taken.url) if self._cookies.held else ""
                question = replace(question, etag=etag, last_modified=last_modified, cookie=cookie)
                return self._ask(question, Visit(state, taken, None, question.is_conditional), now)
            sends += self._exclude(state, taken, excluded, known, now)
            if self.robots.comparison_count >= limit:
                break
        return None

    def _at_site(
        self, sites: SiteWatch, state: HostState, taken: QueuedUrl, known: OriginRules, now: float
    ) -> Send | str | None:
        """Look for the proof of a submitted site, or see whether a page of it may be asked for.

        Returns:
          The question; None when the host has to wait; else why the page is not asked for, "" if it is.
        """
        url = sites.look_url(taken)
        if url == "" or (url is None and not sites.is_watched(state.host)):
            if url is None:
                return ""
            sites.end_look(state, taken, "over", now, is_over=True)
            return None
        if sites.is_held_up(state.host, self._asked):
            self._frontier.put_back(state, taken)
            state.not_before_s = now + BUSY_PAUSE_S
            return None
        if url is not None:
            if not known.rules.allows(url) or self._pages.is_page(url):
                why = FailureReason.ROBOTS if not known.rules.allows(url) else "busy"
                sites.end_look(state, taken, why, now, is_over=False)
                return None
            return self._ask(
                self._requests.for_proof(url, state, taken, now), Visit(state, taken, is_look=True), now
            )
        may_ask = sites.may_ask(state, taken, known, now)
        if may_ask is None:
            self._frontier.put_back(state, taken)
            state.not_before_s = now + ADMISSION_S
            return None
        return "" if may_ask else SITE_LIMIT

    def _exclude(
        self, state: HostState, taken: QueuedUrl, reason: str, known: OriginRules | None, now: float
    ) -> list[Send]:
        """Be done with a URL that is not asked for."""
        self.outcomes[reason] += 1
        if reason in politeness.POLICY_REASONS:
            self._pages.leave_out_unseen(state, taken, reason, now)
            return []
        if reason == politeness.ALIAS:
            self._pages.leave_to_representative(state, taken, now)
            return []
        is_unreachable = reason is FailureReason.UNREACHABLE and known is not None
        is_unanswered = is_unreachable and self._pages.is_shown(state, taken)
        finding = Finding.UNANSWERED if is_unanswered else Finding.NOTHING
        is_missed = is_unanswered and is_given_up(taken.before, finding, now, self._settings)
        if is_missed or self._pages.is_withdrawn(state, taken, reason):
            return self._pages.withdraw_unseen(state, taken, f"X{reason}", now)
        conclusion = self._concluded(taken, f"X{reason}", now, finding)
        if is_unreachable and known is not None:  # until its port is tried again
            conclusion = conclusion._replace(due_s=min(conclusion.due_s, due_at(known.expires_s)))
        self._frontier.settle(state, taken, conclusion)
        return []

    def _let_leave(self, state: HostState, now: float) -> list[Send]:
        """Have some pages of a host that is lost shown no more; then it is left alone for a day."""
        sends: list[Send] = []
        for taken in self._frontier.take_stored(state, EXCLUSIONS_PER_TURN):
            self.outcomes[FailureReason.SILENT] += 1
            sends += self._pages.withdraw_unseen(state, taken, f"F{FailureReason.SILENT}", now, Finding.LOST)
        self.clocks.give_up(state, now)
        return sends

    def _concluded(
        self, taken: QueuedUrl, outcome: str, now: float, finding: Finding = Finding.NOTHING
    ) -> Conclusion:
        return concluded_by(self._settings, outcome, taken.before, finding, now)

    def _ask_for_robots(self, state: HostState, taken: QueuedUrl, now: float) -> Send | None:
        """Ask for the robots.txt of an origin, at another host if it moved there and may be asked."""
        question = self.robots.question(taken.url)
        free_s = self._free_s(question.url, state, now)
        if free_s > now:
            self._frontier.put_back(state, taken)
            self.clocks.wait(state, free_s)
            return None
        request = self._requests.for_robots(question, state, taken, now)
        return self._ask(request, Visit(state, taken, question), now)

    def _free_s(self, url: str, state: HostState, now: float) -> float:
        """When the host of a URL may be asked on behalf of another one."""
        host = host_of(url)
        if host in self._asked or self.lending.is_lent(host, now):
            return politeness.free_after_question_s(now)
        other = self._frontier.find(host) if host != state.host else None
        return now if other is None else politeness.free_s(other.record, self.clocks.delay_s(other), now)

    def _ask(self, request: FetchPage, visit: Visit, now: float) -> Send:
        states = tuple(_hosts_of(self._frontier, request.url, visit.state))
        clocks = tuple((state, state.record.next_fetch_s) for state in states)
        self._visits[request.url] = visit._replace(clocks=clocks)
        self._asked.add(host_of(request.url))
        self.clocks.note_question(states, now)
        return Send(self._fetcher, request)

    # --- answers ---

    def _answered(
        self, url: str, now: float, ip: str = "", seconds: float = 0.0, further: int = 0
    ) -> Visit | None:
        """Take out and return the visit that was answered; None when there was no such question."""
        visit = self._visits.pop(url, None)
        if visit is not None:
            _note_address(visit.state, url, ip, now)
            self._asked.remove(host_of(url))
            self._budgets.count_questions(visit.state.domain.name, 1 + further)
            is_new_page = visit.robots is None and not visit.is_look and not visit.taken.is_stored
            states, page_of = (
                _hosts_of(self._frontier, url, visit.state),
                visit.state if is_new_page else None,
            )
            self.clocks.note_answer(states, seconds, now, further=further, page_of=page_of)
        return visit

    def fetched(self, fetched: PageFetched, now: float) -> list[Send]:
        """Take in an answer of a server."""
        visit = self._answered(fetched.url, now, fetched.ip, fetched.seconds, fetched.further)
        if visit is None:
            return []
        state, taken = visit.state, visit.taken
        self.bytes_fetched += fetched.bytes_received
        sends: list[Send] = []
        if visit.is_look and self.sites is not None:
            return self._looked(self.sites, visit, fetched, now)
        if visit.robots is not None:
            self._frontier.put_back(state, taken)
            failure = self.robots.take_in(state, visit.robots, fetched, now)
            if failure is not None:
                self.outcomes[failure] += 1
            elif 200 <= fetched.status < 300:
                return self.unread_robots.fetched(state, taken, visit.robots.origin, fetched, now)
        else:
            self.outcomes[status_name(fetched.status)] += 1
            sends = self._page_fetched(visit, fetched, now)
        self._frontier.release(state, now)
        return sends

    def _looked(self, sites: SiteWatch, visit: Visit, fetched: PageFetched, now: float) -> list[Send]:
        """Take in the proof file of a submitted site, or have its start page parsed."""
        state, taken = visit.state, visit.taken
        self.outcomes[f"proof_{status_name(fetched.status)}"] += 1
        is_file, is_page = fetched.url == taken.url, fetched.status == 200
        if is_page and not is_file:
            sites.parsing[fetched.url] = state, taken
            self.costs.hand_out(fetched.url, state)
            return [Send(self._parser, ParsePage(fetched, 1))]
        words = fetched.body[:PROOF_BYTES_MAX].decode("utf-8-sig", "replace").split() if is_page else ()
        if sites.is_found(state.host, words):
            sites.end_look(state, taken, "found", now, is_over=True)
        elif sites.look_on(state, fetched):
            self._frontier.put_back(state, taken)
        else:
            sites.end_look(state, taken, "none" if is_page else str(fetched.status), now, is_over=False)
        self._frontier.release(state, now)
        return []

    def _start_page_read(self, sites: SiteWatch, url: str, code: str, why: str, now: float) -> None:
        """Take in the code that a start page has, "" for none, and give its host back."""
        state, taken = sites.parsing.pop(url)
        is_found = sites.is_found(state.host, (code,))
        sites.end_look(state, taken, "found" if is_found else why, now, is_over=is_found)
        self._frontier.release(state, now)

    def unparsed(self, failed: ParseFailed, now: float) -> bool:
        """Take in that a page cannot be parsed; tell whether that was a look for a proof, and is done."""
        self.costs.take_back(failed, now)
        if self.sites is None or failed.url not in self.sites.parsing:
            return False
        self._start_page_read(self.sites, failed.url, "", failed.reason, now)
        return True

    def _page_fetched(self, visit: Visit, fetched: PageFetched, now: float) -> list[Send]:
        state, taken, status = visit.state, visit.taken, fetched.status
        if politeness.may_pass(status):
            self.clocks.back_off(state, now, retry_after_s(fetched), taken.attempts)
            return self._retry_or_fail(state, taken, str(status), now)
        self.clocks.forgive(state)
        if status in PAGE_STATUSES:
            is_to_compare = self._settings.finds_aliases and politeness.is_to_compare(state.record)
            grown = [Send(self._aliases, HostGrown(state.host))] * is_to_compare
            self.costs.hand_out(taken.url, state)
            finds_ftp = self.clocks.policy.crawls_ftp
            return self._pages.parse(state, taken, fetched, finds_ftp=finds_ftp) + grown
        if status == 304:
            self._not_modified(visit, fetched, now)
            return []
        if status < 400 and self._cookies.are_wanted(fetched):
            self._frontier.put_back(state, taken)
            return []
        failure = str(status) if status >= 400 else ""
        is_shown = self._pages.is_shown(state, taken)
        if not (failure or is_shown or self._pages.can_follow(taken, fetched)):
            failure = FailureReason.TOO_MANY_REDIRECTS
            self.outcomes[failure] += 1
        may_come_back = is_shown and (bool(failure) or is_elsewhere_for_now(fetched))
        finding = Finding.MISSED if may_come_back else Finding.GONE
        if is_shown and (finding is Finding.GONE or is_given_up(taken.before, finding, now, self._settings)):
            self.costs.hand_out(taken.url, state)
            return self._pages.withdraw(state, taken, fetched, failure)
        if failure:
            conclusion = self._concluded(taken, f"F{failure}", now, finding)
            self._frontier.settle(state, taken, conclusion._replace(at_s=fetched.started_at))
        else:
            self._pages.follow(state, taken, fetched, finding, now)
        return []

    def _not_modified(self, visit: Visit, fetched: PageFetched, now: float) -> None:
        """Leave a page as it is; a server that says so unasked says nothing of it."""
        if visit.is_conditional:
            self._pages.leave(visit.state, visit.taken, fetched, now)
            return
        self.outcomes[FailureReason.UNASKED_304] += 1
        conclusion = self._concluded(visit.taken, f"F{FailureReason.UNASKED_304}", now)
        self._frontier.settle(visit.state, visit.taken, conclusion._replace(at_s=fetched.started_at))

    def failed(self, failed: FetchFailed, now: float) -> list[Send]:
        """Take in that there is no answer."""
        url, reason = failed.url, failed.reason
        if reason in (FailureReason.ADDRESS_BUSY, FailureReason.DNS_OPEN):
            self._was_not_asked(failed, now)
            return []
        if reason is FailureReason.POLICY:
            self._was_ruled_out(failed, now)
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
            self.clocks.note_silence(visit.state, now)
            self.clocks.give_up(visit.state, now)
        if visit.is_look and self.sites is not None:
            self._look_failed(self.sites, visit, reason, blame, now)
        elif visit.robots is not None:
            self._robots_failed(visit.state, visit.taken, visit.robots.origin, blame, now)
        else:
            sends = self._page_failed(visit.state, visit.taken, reason, blame, now)
        self._frontier.release(visit.state, now)
        return sends

    def parsed(self, parsed: PageParsed, now: float) -> list[Send]:
        """Have a page stored, unless the policy does not want one of its media type or language."""
        self.costs.take_back(parsed, now)
        if self.sites is not None and parsed.url in self.sites.parsing:
            self._start_page_read(self.sites, parsed.url, parsed.site_code, "none", now)
            return []
        policy, document = self.clocks.policy, parsed.document
        if parsed.lack:
            self.outcomes[f"document_{parsed.lack}"] += 1
        if policy.is_of_pages and not parsed.is_list and self._pages.is_page(parsed.url):
            kind = ("", "") if document is None else (document.type, document.language)
            rule = policy.rule_for_page(parsed.url, *kind, address=self._pages.address_of(parsed.url))
            reason = politeness.policy_reason(rule, 0)
            if reason is not None:
                self.outcomes[reason] += 1
                self._pages.leave_out(parsed.url, reason, now)
                return []
        return self._pages.parsed(parsed, now)

    def _was_not_asked(self, failed: FetchFailed, now: float) -> None:
        """Let a host wait for the turn of its address, or until that is known."""
        visit = self._visits.pop(failed.url, None)
        if visit is not None:
            self._asked.remove(host_of(failed.url))
            self.outcomes[failed.reason] += 1
            self._frontier.put_back(visit.state, visit.taken)
            self.clocks.take_back_question(visit.clocks)
            visit.state.not_before_s = now + failed.pause_s
            self._frontier.release(visit.state, now)

    def _was_ruled_out(self, failed: FetchFailed, now: float) -> None:
        """Leave a page out, or let its host wait, for the address that it turned out to have."""
        visit = self._visits.pop(failed.url, None)
        if visit is None:
            return
        state = visit.state
        self._asked.remove(host_of(failed.url))
        _note_address(state, failed.url, failed.ip, now)
        if failed.pause_s:
            self._frontier.put_back(state, visit.taken)
            state.not_before_s = now + failed.pause_s
        else:
            self.outcomes[failed.detail] += 1
            self._pages.leave_out_unseen(state, visit.taken, failed.detail, now)
        self._frontier.release(state, now)

    def _robots_failed(
        self, state: HostState, taken: QueuedUrl, origin: str, blame: Blame, now: float
    ) -> None:
        self._frontier.put_back(state, taken)
        self.robots.forget_way(origin)
        if blame in (Blame.HOST, Blame.PAGE):
            self.robots.note_unreadable(state, origin, now)

    def _look_failed(
        self, sites: SiteWatch, visit: Visit, reason: FailureReason, blame: Blame, now: float
    ) -> None:
        """Go on to the start page if the file is none, or look again another time."""
        state, taken = visit.state, visit.taken
        if blame in (Blame.NOBODY, Blame.US, Blame.HOPELESS_HOST):
            self._frontier.put_back(state, taken)
            return
        if blame is Blame.HOST:
            self.clocks.back_off(state, now, 0.0, taken.attempts)
        elif state.host not in sites.looks:
            sites.looks[state.host] = f"{origin_of(taken.url)}/", 1
            self._frontier.put_back(state, taken)
            return
        sites.end_look(state, taken, reason, now, is_over=False)

    def _page_failed(
        self, state: HostState, taken: QueuedUrl, reason: FailureReason, blame: Blame, now: float
    ) -> list[Send]:
        match blame:
            case Blame.NOBODY | Blame.US | Blame.HOPELESS_HOST:
                self._frontier.put_back(state, taken)
            case Blame.HOST:
                self.clocks.back_off(state, now, 0.0, taken.attempts)
                return self._retry_or_fail(state, taken, reason, now)
            case Blame.PAGE:
                self.clocks.forgive(state)
                if self._pages.is_withdrawn(state, taken, reason):
                    return self._pages.withdraw_unseen(state, taken, f"F{reason}", now)
                self._frontier.settle(state, taken, self._concluded(taken, f"F{reason}", now))
        return []

    def _retry_or_fail(self, state: HostState, taken: QueuedUrl, reason: str, now: float) -> list[Send]:
        if politeness.may_try_again(taken.attempts, self._settings):
            self._frontier.retry(state, taken)
            return []
        if not self._pages.is_shown(state, taken):
            self._frontier.settle(state, taken, self._concluded(taken, f"F{reason}", now))
        elif is_given_up(taken.before, Finding.UNANSWERED, now, self._settings):
            return self._pages.withdraw_unseen(state, taken, f"F{reason}", now)
        else:
            conclusion = self._concluded(taken, f"F{reason}", now, Finding.UNANSWERED)
            self._frontier.settle(state, taken, conclusion)
        return []


def _hosts_of(frontier: Frontier, url: str, state: HostState) -> Iterator[HostState]:
    """Yield the hosts with a politeness delay that begins: two if a robots.txt was asked of another one."""
    yield state
    host = host_of(url)
    other = frontier.find(host) if host != state.host else None
    if other is not None:
        yield other


def _note_address(state: HostState, url: str, ip: str, now: float) -> None:
    """Remember where a host is, unless another one was asked for its robots.txt."""
    if ip and host_of(url) == state.host:
        state.address, state.address_s = ip, now


def _has_room_for_doubtful(visits: Mapping[str, Visit], settings: CrawlSettings) -> bool:
    """Are there fetches left for hosts that may not answer?"""
    count = sum(politeness.is_doubtful(visit.state.record) for visit in visits.values())
    return count < politeness.doubtful_max(settings)
