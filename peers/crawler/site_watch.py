"""Submitted sites in the crawl: the look for their proof, and how many of their pages are visited.

All of it happens in the ordinary turns of their hosts: nothing here makes a turn earlier, and no other host
has to do with it. A site that shows no proof so far has one URL of ours in the frontier, that of its proof
file: in its turns first the file is asked for and then, when the code is not in it, the start page. Neither
is stored, and no link of them is followed; then that URL is due again later.

A site that has shown its proof, and that was not crawled before, is limited to the pages that are *admitted*:
before one is asked for, submissions have it in their store, and the team has that store. So whoever crawls
the site after us knows all pages that were ever asked for, and the limit holds to the page.

A site that is crawled already, by links or by its mesh's owner, has nothing to win by a submission, and loses
nothing to whoever submits it: it is not even looked at, and none of its turns moves.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterable
from math import inf
from typing import Final

from mesh.urls import fingerprint, host_of, origin_of
from peers.crawler.frontier.frontier import Frontier
from peers.crawler.frontier.host_state import HostState, OriginRules
from peers.crawler.frontier.keys import mark_in
from peers.crawler.frontier.url_queues import QueuedUrl
from peers.crawler.links.links import Links
from peers.crawler.model.course import UNLIMITED, plain_course
from peers.crawler.model.messages import SiteSeen, WatchedSite, WatchSites
from peers.crawler.model.path_rules import COMPARISONS_AT_ONCE
from peers.crawler.model.revisit_policies import due_now
from peers.crawler.model.url_rows import Conclusion, UrlRow, due_at
from peers.crawler.model.web_request import PageFetched, location_of
from peers.crawler.model.wire_messages import FoundLink
from peers.policy.rules import Policy

PROOF_PATH: Final = "/tianmesh-site.txt"
PROOF_BYTES_MAX: Final = 4_096  # of the file; the code has to stand in these
PROOF_OUTCOME: Final = "Xproof"  # of a visit to the URL of a proof file
SITE_LIMIT: Final = "site_limit"  # why a page of a limited site is not asked for
LOOK_AGAIN_S: Final = (600.0, 3_600.0, 21_600.0)  # after a look without a proof; then once a day
LOOK_A_DAY_S: Final = 86_400.0
HOPS_MAX: Final = 3  # redirects of the start page, within its host
CHECK_S: Final = 5.0  # between two looks at how sites stand
# Rows of the frontier that a look reads before it leaves the rest for the next one, so much later: some 6 ms
# of a hundredth of the time, however many sites and pages are admitted.
ROWS_AT_ONCE: Final = 1_000
GO_ON_S: Final = 0.5
ROWS_OF_SITE: Final = 4  # beside those of its pages
ADMITTED_AT_ONCE: Final = 32
ADMISSION_S: Final = 1.0  # for which a host waits until its pages are admitted; then it asks again
# Hosts of submitted sites that are asked at a time: the others wait, whatever is submitted.
IN_FLIGHT_MAX: Final = 8
BUSY_PAUSE_S: Final = 0.5


class SiteWatch:
    """The submitted sites of the slots kept here, by host.

    Attributes:
      seen: news that is to be told.
      check_at_s: when `check` is to be called.
      looks: hosts of which the start page is asked for next, and where it is by what is known.
      parsing: start pages that the parser has, with host and the URL taken for them.
    """

    def __init__(self, frontier: Frontier, links: Links, is_in_progress: Callable[[], set[int]]) -> None:
        """Begin without any. Args: is_in_progress: the slots with pages between fetch and end."""
        self._frontier = frontier
        self._links = links
        self._slots_in_progress = is_in_progress
        self._sites: dict[str, dict[bytes, WatchedSite]] = {}
        self._hosts: dict[bytes, str] = {}  # by code
        self.seen: list[SiteSeen] = []
        self.check_at_s = inf
        self.looks: dict[str, tuple[str, int]] = {}
        self.parsing: dict[str, tuple[HostState, QueuedUrl]] = {}
        self._rests: dict[str, int] = {}  # hosts that seemed to be at rest, with their pages then
        self._to_check: OrderedDict[bytes, None] = OrderedDict()  # codes, in their order

    def take(self, message: WatchSites, policy: Policy, now: float) -> None:
        """Go by the word of submissions."""
        for code in message.gone:
            self._drop(code)
        for site in message.sites:
            host = host_of(site.url)
            if self._hosts.get(site.code, host) != host:  # as a member has made it that lies
                self._drop(site.code)
            self._hosts[site.code] = host
            self._sites.setdefault(host, {})[site.code] = site
        for site in reversed(message.sites):
            self._to_check[site.code] = None
            self._to_check.move_to_end(site.code, last=False)
        self._check_some(policy, now)

    def is_watched(self, host: str) -> bool:
        return host in self._sites

    def slots(self) -> set[int]:
        """Return the slots of hosts that are given out until the parser has read their start page."""
        return {state.slot for state, _ in self.parsing.values()}

    # --- before a visit

    def is_held_up(self, host: str, under_way: Iterable[str]) -> bool:
        """Are enough hosts of submitted sites asked already?

        Args:
          under_way: hosts that are being asked.
        """
        if any(site.is_known for site in self._sites[host].values()):
            return False
        return sum(other in self._sites for other in under_way) >= IN_FLIGHT_MAX

    def look_url(self, taken: QueuedUrl) -> str | None:
        """Where to look for the proof now; None when this is no turn to look, "" when not any more."""
        if not is_proof_url(taken.url):
            return None
        host = host_of(taken.url)
        if not any(_is_to_be_proven(site) for site in self._sites.get(host, {}).values()):
            return ""
        return self.looks.get(host, (taken.url, 0))[0]

    def may_ask(self, state: HostState, taken: QueuedUrl, known: OriginRules, now: float) -> bool | None:
        """May a page be asked for? None when it has to be admitted first, for which it is proposed."""
        limited = self._limited(state.host)
        mark = fingerprint(taken.url)
        was_asked = taken.before is not None and taken.before.outcome[:1] != "X"
        if limited is None or was_asked or mark in limited.admitted:
            return True
        admitted = self._admitted(state.host)
        left = limited.pages_max - len(admitted)
        # What was admitted for another one meanwhile may be too much: then it was never asked for.
        if left >= 0 and mark in admitted:
            return True
        if left <= 0:
            return False
        wanted = {mark: None}
        n_affordable = 1 + COMPARISONS_AT_ONCE // (1 + known.rules.paths.comparison_count)
        n_looked_at = min(4 * ADMITTED_AT_ONCE, n_affordable)
        for key, url, _ in sorted(state.window)[:n_looked_at]:
            other = mark_in(key)
            if other not in admitted and not is_proof_url(url) and known.rules.allows(url):
                wanted[other] = None
        marks = tuple(wanted)[: min(left, ADMITTED_AT_ONCE)]
        self.seen.append(SiteSeen(limited.code, admitted=marks))
        return None

    # --- the look for a proof

    def is_found(self, host: str, said: Iterable[str]) -> bool:
        """Is the code of a site of this host among these words? Tell of each that is."""
        words = {word.lower() for word in said}
        found = [site for site in self._sites.get(host, {}).values() if site.proof in words]
        state = self._frontier.find(host)
        # It came to be crawled meanwhile, and not for another submission that has its limit.
        is_known = state is not None and state.record.fetched > 0 and self._limited(host) is None
        for site in found:
            if not site.is_proven:
                self.seen.append(SiteSeen(site.code, is_proven=True, is_known=is_known))
        return bool(found)

    def look_on(self, state: HostState, fetched: PageFetched) -> bool:
        """Go on to the start page, or to where it has moved within its host; False if there is no more."""
        url, hops = self.looks.get(state.host, ("", 0))
        target = location_of(fetched) if url else f"{origin_of(fetched.url)}/"
        if target is None or host_of(target) != state.host or hops >= HOPS_MAX:
            return False
        self.looks[state.host] = target, hops + 1
        return True

    def end_look(self, state: HostState, taken: QueuedUrl, why: str, now: float, *, is_over: bool) -> None:
        """Be done with a look; the next one is due later, or never if it is over."""
        self.looks.pop(state.host, None)
        tries = 1 if taken.before is None else taken.before.visit + 1
        pause_s = LOOK_AGAIN_S[tries - 1] if tries <= len(LOOK_AGAIN_S) else LOOK_A_DAY_S
        due_s = inf if is_over else due_at(now + pause_s)
        self._frontier.settle(state, taken, Conclusion(f"{PROOF_OUTCOME}_{why}", now, due_s))
        for site in self._sites.get(state.host, {}).values():
            if _is_to_be_proven(site) and not is_over:
                self.seen.append(SiteSeen(site.code, tries=tries, tried_why=why))

    # --- how sites stand

    def check(self, policy: Policy, now: float) -> None:
        """Go on with the sites that are open, and tell how far they are: a part of many."""
        self.check_at_s = inf
        if not self._to_check:
            every = (site for sites in self._sites.values() for site in sites.values())
            self._to_check.update((site.code, None) for site in every if site.is_open)
        self._check_some(policy, now)

    def _check_some(self, policy: Policy, now: float) -> None:
        n_rows = 0
        while self._to_check and n_rows < ROWS_AT_ONCE:
            code, _ = self._to_check.popitem(last=False)
            host = self._hosts[code]
            site = self._sites[host][code]
            self._advance(site, host, policy, now)
            n_rows += ROWS_OF_SITE + len(site.admitted)
        if n_rows:
            self.check_at_s = min(self.check_at_s, now + (GO_ON_S if self._to_check else CHECK_S))

    def _advance(self, site: WatchedSite, host: str, policy: Policy, now: float) -> None:
        """Do the next thing for a site of ours."""
        if not (site.is_open and self._links.has_owners and self._links.is_ours(host)):
            return
        slot, _ = self._links.place_of(host)
        if not self._frontier.hosts.is_held(slot):
            return
        state = self._frontier.find(host)
        if not policy.has_room_for(site.url):
            self.seen.append(SiteSeen(site.code, end=2, end_why="policy"))
        elif not site.is_begun:
            is_known = state is not None and self._is_crawled(state)
            self.seen.append(SiteSeen(site.code, is_begun=True, is_known=is_known, end=int(is_known)))
        elif not site.is_proven and (site.needs_proof or not site.tries):
            self._seed_look(site, slot, now)
            if state is not None and state.record.given_up and not site.tries:
                self.seen.append(SiteSeen(site.code, tries=1, tried_why="unreachable"))
        elif site.is_proven:
            self._seed(site.url, slot, now, levels=UNLIMITED)
            self._tell_pages(site, host, slot)
        else:
            self._seed(site.url, slot, now, levels=0)
            self._tell_page(site, slot)

    def _tell_pages(self, site: WatchedSite, host: str, slot: int) -> None:
        """Tell how many pages of a site with a proof are visited, and whether these are all."""
        if site.is_known or self._limited(host) is not site:
            self._tell_page(site, slot)
            return
        visited = sum(self._is_visited(slot, mark) for mark in self._admitted(host))
        state, first = self._frontier.find(host), self._frontier.row_of(site.url, slot)
        is_full = visited >= site.pages_max
        is_busy = (
            state is None or state.queued > 0 or state.out_count > 0 or slot in self._slots_in_progress()
        )
        is_over = is_full or (not is_busy and first is not None and first.visit > 0)
        # A page is out of the queue a moment before its links are in: what is over is so twice in a row.
        was_over = self._rests.get(host) == visited
        if is_over and not is_full:
            self._rests[host] = visited
        else:
            self._rests.pop(host, None)
        if is_over and (is_full or was_over):
            is_refused = not visited and first is not None
            why = first.outcome[1:] if is_refused and first is not None else ""
            self.seen.append(SiteSeen(site.code, visited=visited, end=2 if is_refused else 1, end_why=why))
        elif visited > site.visited:
            self.seen.append(SiteSeen(site.code, visited=visited))

    def _tell_page(self, site: WatchedSite, slot: int) -> None:
        """Tell the outcome of the page that was submitted, the only one that is visited for it."""
        row = self._frontier.row_of(site.url, slot)
        if row is None or not row.visit or (site.is_proven and not site.is_known and _has_levels(row)):
            return
        is_page = row.outcome[:1] == "D"
        why = "" if is_page else row.outcome[1:]
        self.seen.append(SiteSeen(site.code, visited=int(is_page), end=1 if is_page else 2, end_why=why))

    def _is_visited(self, slot: int, mark: bytes) -> bool:
        row = self._frontier.row_at(slot, mark)
        return row is not None and row.visit > 0 and row.outcome[:1] != "X"

    def _seed(self, url: str, slot: int, now: float, *, levels: int) -> None:
        """Have a URL queued, unless it is known; one that is to lead further than it did is due at once."""
        row = self._frontier.row_of(url, slot)
        if row is None:
            link = FoundLink(url, levels=levels, is_ahead=True)
            self._links.own.add(((link, host_of(url), slot),), now, self._frontier.visitor)
        elif levels == UNLIMITED and _has_levels(row):
            due = due_now(row, now, self._frontier.visitor) if row.visit else row
            self._links.own.merge(slot, due._replace(course=plain_course(row.depth), etag=""), url)

    def _is_crawled(self, state: HostState) -> bool:
        """Has a page of a host been asked for, or is one queued? The URL of its proof file is none."""
        if state.record.fetched:
            return True
        origins = {origin_of(site.url) for site in self._sites[state.host].values()}
        looks = (self._frontier.row_of(proof_url(origin), state.slot) for origin in origins)
        return state.queued > sum(row is not None and not row.visit for row in looks)

    def _seed_look(self, site: WatchedSite, slot: int, now: float) -> None:
        """Have the proof file queued; the first look for a submission does not wait for those of others."""
        url = proof_url(origin_of(site.url))
        row = self._frontier.row_of(url, slot)
        if row is not None and row.visit > site.tries and not row.outcome.startswith(PROOF_OUTCOME):
            self.seen.append(SiteSeen(site.code, tries=row.visit, tried_why=row.outcome[1:]))
        elif row is not None and row.visit and row.due_s > now and (not site.tries or _is_found(row)):
            self._links.own.merge(slot, due_now(row, now, self._frontier.visitor), url)
        self._seed(url, slot, now, levels=0)

    def _limited(self, host: str) -> WatchedSite | None:
        """The site by which the pages of a host are limited; None when they are not."""
        sites = self._sites.get(host, {}).values()
        proven = [site for site in sites if site.is_proven]
        if not proven or any(site.is_known for site in proven):
            return None
        return max(proven, key=lambda site: (site.pages_max, site.code))

    def _admitted(self, host: str) -> frozenset[bytes]:
        """The pages of a limited host that are admitted: all submissions of a site have one limit."""
        sites = self._sites.get(host, {}).values()
        return frozenset().union(*(site.admitted for site in sites if site.is_proven))

    def _drop(self, code: bytes) -> None:
        host = self._hosts.pop(code, None)
        self._to_check.pop(code, None)
        sites = self._sites.get(host, {}) if host is not None else {}
        sites.pop(code, None)
        if host is not None and not sites:
            self._sites.pop(host, None)
            self.looks.pop(host, None)
            self._rests.pop(host, None)


def proof_url(origin: str) -> str:
    """Return the URL of the file by which a site shows that it was submitted."""
    return origin + PROOF_PATH


def is_proof_url(url: str) -> bool:
    """Is this the URL of such a file? It is never visited as a page."""
    return url.endswith(PROOF_PATH) and url == proof_url(origin_of(url))


def _is_to_be_proven(site: WatchedSite) -> bool:
    return site.is_open and site.is_begun and not site.is_proven


def _is_found(row: UrlRow) -> bool:
    """Was the proof of some submission found at the last look, after which there is none by itself?"""
    return row.outcome == f"{PROOF_OUTCOME}_found"


def _has_levels(row: UrlRow) -> bool:
    return row.course is not None and row.course.levels < UNLIMITED
