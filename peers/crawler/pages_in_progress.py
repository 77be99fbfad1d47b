"""Pages from being fetched to being done: parsed, stored on the whole team, their links sent, settled.

A page that is done here is still shown to others as queued until its links are safe, each with its owner and
the owner's team: else who takes over after us would believe it done, and the links had died with us.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from functools import partial
from itertools import islice
from math import inf
from typing import TYPE_CHECKING, Final

import msgspec
from msgspec.structs import replace

from mesh.actors.actor import Address, Send
from mesh.stamp import VISITS_MAX, Stamp
from mesh.urls import fingerprint
from peers.crawler.ancestors import with_ancestors
from peers.crawler.domain_budgets import DomainBudgets
from peers.crawler.frontier.frontier import Frontier
from peers.crawler.frontier.host_state import HostState
from peers.crawler.frontier.orders import UNSEEN, PageSeen
from peers.crawler.frontier.store import FrontierStore, HeldBack
from peers.crawler.frontier.url_queues import QueuedUrl
from peers.crawler.links.links import Links
from peers.crawler.model import politeness
from peers.crawler.model.alias_evidence import moved
from peers.crawler.model.messages import PageLinked, PageParsed, ParsePage, RecordPage
from peers.crawler.model.revisit_policies import Finding, concluded_by, finding_of
from peers.crawler.model.settings import CrawlSettings, Tuning
from peers.crawler.model.url_rows import (
    ICON_HOPS,
    REDIRECTS_MAX,
    SAME,
    UNCHANGED,
    Conclusion,
    UrlRow,
    due_at,
    hops_from_list,
)
from peers.crawler.model.visit_memory import version_mark, with_version
from peers.crawler.model.web_request import (
    PAGE_STATUSES,
    ROBOTS_TAG,
    FailureReason,
    PageFetched,
    header_of,
    location_of,
)
from peers.crawler.model.wire_messages import FoundLink
from peers.crawler.redirects import link_to, redirect_in
from peers.engine.pages.document import Document
from peers.policy.graph_rules import LinkGraphRules
from peers.storage.archive.warc import absence_record
from peers.storage.ledger.place import Place
from peers.storage.ledger.stored_versions import StoredVersions
from peers.storage.messages import StorePage
from peers.storage.wire_messages import StoredPage
from peers.topics.messages import VisitedPage
from peers.watch.messages import PageWatched

if TYPE_CHECKING:
    from peers.crawler.topic_visits import TopicVisits
    from peers.topics.topic_list import TopicsInForce

# Of a page that go on their way at once: some 3 ms. A page can have 6,000, which would hold the event loop.
LINKS_PER_TURN: Final = 256
# Without an answer to keep, for these reasons a stored page is not to be found any more: its site forbids us
# to ask for it, or has something there that is no page. All others may pass (a time-out, a robots.txt that
# cannot be read), or say more of us than of the page (too large, too long a delay).
WITHDRAWING: Final = frozenset((FailureReason.ROBOTS, FailureReason.NOT_HTML))
NEW_TEXT: Final = (Finding.FIRST, Finding.CHANGED)
WHOLE_EVERY: Final = 64  # visits: some servers say "not modified" whatever happens


class Page(msgspec.Struct):
    """A page between the fetcher and its being settled; the parser has its body."""

    state: HostState
    taken: QueuedUrl
    stamp: Stamp
    status: int  # HTTP; 0 when there was no answer
    outcome: str  # of the visit, as `url_rows` has it
    seconds: float
    bytes_received: int
    body_bytes: int
    etag: str
    last_modified: str
    digest: bytes = b""  # as its parser says, once it was parsed
    text: int = 0  # of its title and text, see `visit_memory`
    finding: Finding = Finding.NOTHING
    seen: PageSeen = UNSEEN  # what it is by the order of now, once it was parsed
    links: tuple[FoundLink, ...] = ()
    moved_to: str = ""  # where the page is from now on, as its server says
    tellings: tuple[FoundLink, ...] = ()  # of what is known of this one, for that one
    is_list: bool = False  # a sitemap or feed: it has links, and is no page
    anchors: tuple[str, ...] = ()  # texts of links to it that were known before it was given to the cell
    title: str | None = None  # None: it is not to be found
    counted: VisitedPage | None = None  # for topics


class PagesInProgress:
    """The pages that were fetched and are not settled."""

    def __init__(
        self,
        me: str,
        frontier: Frontier,
        store: FrontierStore,
        links: Links,
        versions: StoredVersions,
        budgets: DomainBudgets,
        settings: CrawlSettings,
        tuning: Tuning,
    ) -> None:
        self.settings = settings  # may be replaced
        self._flush_pages = tuning.flush_pages
        self._parser, self._cell, self._recorder = (Address(me, to) for to in ("parser", "cell", "recorder"))
        self._watcher = Address(me, "watch")
        self._frontier = frontier
        self._store, self._links = store, links
        self._versions, self._budgets = versions, budgets
        self._pages: dict[str, Page] = {}  # by URL, until they are stored
        self._routing: deque[tuple[Page, Iterator[FoundLink]]] = deque()  # stored, with links still to go
        self._finishing: list[Page] = []
        self.n_bytes = 0  # of the bodies of pages that are not stored yet
        self.fetched_count = self.stored_count = 0
        self.links_found = self.list_count = 0
        self.linked: list[PageLinked] | None = None  # for the link graph; None while there is none
        self.counted: TopicVisits | None = None  # None while no topic is counted
        self._whole_before_s = -inf  # of stored pages from before that the links are wanted
        self.parsed_since_s = -inf  # pages that were visited before are to be read by the parser of now

    def __len__(self) -> int:
        """Pages that are not stored so far."""
        return len(self._pages)

    @property
    def finishing_count(self) -> int:
        """Pages that are stored, and wait for their links to go or for company to be settled."""
        return len(self._routing) + len(self._finishing)

    def follow_graph(self, rules: LinkGraphRules | None) -> None:
        """Tell the link graph of pages from now on, or tell nothing where none is kept."""
        if (rules is None) != (self.linked is None):
            self.linked = None if rules is None else []
        self._whole_before_s = -inf if rules is None else rules.since_s

    def follow_topics(self, topics: TopicsInForce | None) -> None:
        """Tell topics of pages from now on, or tell nothing where none are counted."""
        if topics is None:
            self.counted = None
        elif self.counted is None:
            # Loaded where topics are counted.
            from peers.crawler.topic_visits import TopicVisits

            self.counted = TopicVisits(topics)
        else:
            self.counted.topics = topics

    def slots(self) -> set[int]:
        """Return the slots of all pages in progress."""
        pages = (*self._pages.values(), *(page for page, _ in self._routing), *self._finishing)
        return {page.state.slot for page in pages}

    # --- what comes in ---

    def parse(
        self, state: HostState, taken: QueuedUrl, fetched: PageFetched, *, finds_ftp: bool = False
    ) -> list[Send]:
        """Take in a page.

        Args:
          finds_ftp: its links to directories of FTP servers are wanted as well.
        """
        self.fetched_count += 1
        return self._have_parsed(self._page(state, taken, fetched), fetched, finds_ftp=finds_ftp)

    def withdraw(self, state: HostState, taken: QueuedUrl, fetched: PageFetched, failure: str) -> list[Send]:
        """Take in that a stored page is gone, or has moved: a newer version of it, without a document.

        Where it leads is told when that version is durable: until then it is here, whatever happens to us.

        Args:
          failure: status or reason; "" when it has moved.
        """
        page = self._page(state, taken, fetched)
        if failure:
            page.outcome = f"F{failure}"
        else:
            self._go_on(page, fetched)
        return self._have_parsed(page, fetched)

    def _have_parsed(self, page: Page, fetched: PageFetched, *, finds_ftp: bool = False) -> list[Send]:
        self._take_in(page)
        return [Send(self._parser, ParsePage(fetched, page.stamp.visit, finds_ftp=finds_ftp))]

    def is_shown(self, state: HostState, taken: QueuedUrl) -> bool:
        """Is there a page to be withdrawn, as far as the frontier or the archive knows?

        The archive may know of one that the frontier has not heard of: who visited it died first.
        """
        newest = None if taken.is_stored else self._versions.newest(state.slot, taken.url)
        return taken.is_stored or (newest is not None and newest.has_content)

    def is_withdrawn(self, state: HostState, taken: QueuedUrl, reason: str) -> bool:
        """Is a visit that ended without an answer to be a version of the page, one without a document?"""
        return reason in WITHDRAWING and self.is_shown(state, taken)

    def withdraw_unseen(
        self, state: HostState, taken: QueuedUrl, outcome: str, now: float, finding: Finding = Finding.GONE
    ) -> list[Send]:
        """Take in that a stored page is not to be found any more, of which there is no answer to keep.

        Args:
          outcome: of the visit, as `url_rows` has it.
        """
        page = self._unseen_page(state, taken, outcome, now)
        page.finding = finding
        self._take_in(page)
        return [self._have_stored(page, absence_record(taken.url, outcome[1:], page.stamp), None)]

    def _unseen_page(self, state: HostState, taken: QueuedUrl, outcome: str, now: float) -> Page:
        stamp = Stamp(self._visit(state, taken), round(now, 6))
        return Page(state, taken, stamp, 0, outcome, 0.0, 0, 0, "", "")

    def validators(self, state: HostState, taken: QueuedUrl) -> tuple[str, str]:
        """Return ETag and Last-Modified by which to ask whether a stored page is unchanged.

        Both are empty unless the archive here has that version, as far as it can tell: what "not modified" is
        the answer to, must be there to be shown. Either the last visit brought it, or all since then have
        found it as it was; and once in a while a page is asked for as a whole.
        """
        before = taken.before
        if before is None or (newest := self._current_version(state, taken)) is None:
            return "", ""
        is_whole = before.visit - newest.visit >= WHOLE_EVERY
        return ("", "") if is_whole else (before.etag, before.last_modified)

    def _current_version(self, state: HostState, taken: QueuedUrl) -> Place | None:
        """Return the stored version of a page as it was at the last visit; None to have it read anew."""
        before = taken.before
        if before is None or not before.is_stored or before.visited_s < self.parsed_since_s:
            return None
        newest = self._versions.newest(state.slot, taken.url)
        if newest is None or not newest.has_content or newest.fetched_at < self._whole_before_s:
            return None
        if self.counted is not None and newest.fetched_at < self.counted.topics.since_s:
            return None
        since = before.visit - newest.visit
        is_that = since == 0 if before.outcome == "D200" else before.outcome in UNCHANGED and since > 0
        # One that comes from behind a partition may have a number below that of our last visit all the same.
        is_that = is_that and before.memory.version in (0, version_mark(newest.stamp))
        # One that is older than what the last visit has found is from before a version that is damaged.
        return newest if is_that and newest.fetched_at >= before.changed_s else None

    def _version_again(self, page: Page, document: Document | None) -> Place | None:
        """Return the version of the archive that an answer brings again, None if it brings another.

        Then it is no version of its own, as if the server had said that the page is not modified; but once in
        a while, so that nothing stays for ever that another program has read otherwise, or that was lost.
        """
        if page.finding is not Finding.SAME or page.outcome != "D200":
            return None
        before, newest = page.taken.before, self._current_version(page.state, page.taken)
        is_same = (
            before is not None
            and newest is not None
            and before.visit - newest.visit < WHOLE_EVERY
            and page.digest == before.digest
            and newest.status == page.status
            and newest.has_document == (document is not None)
        )
        return newest if is_same else None

    def leave(self, state: HostState, taken: QueuedUrl, fetched: PageFetched, now: float) -> None:
        """Be done with a page that is as it was: there is nothing to parse, to store or to index.

        But what its server says to robots may be new all the same: then it is asked for as a whole, at once.
        """
        before = taken.before
        assert before is not None, "it was asked for by the validators of its row"
        conclusion = concluded_by(self.settings, "D304", before, Finding.SAME, now)._replace(
            at_s=fetched.started_at,
            digest=before.digest,
            etag=before.etag,
            last_modified=before.last_modified,
            visit=self._visit(state, taken),
        )
        conclusion = _of_same_version(conclusion, before)
        if header_of(fetched, ROBOTS_TAG) is not None:
            conclusion = conclusion._replace(etag="", last_modified="", due_s=due_at(now))
        if self.counted is not None:
            newest = self._versions.newest(state.slot, taken.url)
            if newest is not None and newest.has_document:  # else it asks not to be indexed, as it did then
                self.counted.add_unchanged(taken.url, state.slot, fetched.started_at)
        self._frontier.settle(state, taken, conclusion)

    def _visit(self, state: HostState, taken: QueuedUrl) -> int:
        """Number a visit: above all that this peer knows of, so that its findings are newer than theirs.

        The archive may know of one more than the frontier: who made that died before it could say so.
        """
        newest = self._versions.newest(state.slot, taken.url)
        stored = 0 if newest is None else newest.visit
        return min(max(stored, 0 if taken.before is None else taken.before.visit) + 1, VISITS_MAX)

    def _page(self, state: HostState, taken: QueuedUrl, fetched: PageFetched) -> Page:
        # Of what a server says to robots beside a page, validators say nothing: it is always asked for whole.
        has_validators = header_of(fetched, ROBOTS_TAG) is None
        return Page(
            state,
            taken,
            stamp=Stamp(self._visit(state, taken), fetched.started_at),
            status=fetched.status,
            outcome=f"D{fetched.status}",
            seconds=fetched.seconds,
            bytes_received=fetched.bytes_received,
            body_bytes=len(fetched.body),
            etag=(header_of(fetched, "etag") or "") if has_validators else "",
            last_modified=(header_of(fetched, "last-modified") or "") if has_validators else "",
        )

    def _take_in(self, page: Page) -> None:
        self._take_out(page.taken.url)  # of an earlier fetch: what is said of that counts no more
        self._pages[page.taken.url] = page
        self.n_bytes += page.body_bytes

    def can_follow(self, taken: QueuedUrl, fetched: PageFetched) -> bool:
        """Tell whether a redirect, if it is one, is not one too many in a row."""
        return taken.hops & REDIRECTS_MAX < self.settings.redirects_max or location_of(fetched) is None

    def follow(
        self, state: HostState, taken: QueuedUrl, fetched: PageFetched, finding: Finding, now: float
    ) -> None:
        """Be done with an answer that is no page, and go where it leads."""
        page = self._page(state, taken, fetched)
        page.finding = finding
        self._go_on(page, fetched)
        self._links.route(taken.url, (*page.links, *page.tellings), now)
        self._finish(page, now)

    def _go_on(self, page: Page, fetched: PageFetched) -> None:
        """Find out where an answer leads, and the facts to be told there."""
        state, taken = page.state, page.taken
        is_shown = self.is_shown(state, taken)
        was_page = is_shown or self._versions.newest(state.slot, taken.url) is not None
        entries = self._frontier.texts.of(taken.url, state.slot)
        redirect = redirect_in(fetched, taken, entries, was_page=was_page, is_shown=is_shown)
        if redirect is not None:
            self.links_found += 1
            page.links, page.tellings, page.moved_to = (redirect.link,), redirect.tellings, redirect.moved_to

    def parsed(self, parsed: PageParsed, now: float) -> list[Send]:
        """Have a page stored as the parser has read it."""
        page = self._pages.get(parsed.url)
        if page is None:
            return []
        page.anchors = self._frontier.texts.of(parsed.url, page.state.slot)
        page.seen = self._frontier.order.seen(parsed.url, page.taken.course, parsed.document, page.anchors)
        if parsed.is_list:
            return self._list_read(page, parsed.links, now)
        page.digest = parsed.digest
        if page.status in PAGE_STATUSES:
            page.links = parsed.links
            page.title = None if parsed.document is None else parsed.document.title
            page.text = parsed.text_mark
            page.finding = finding_of(page.taken.before, page.digest, page.text)
            if page.taken.before is None:
                self._frontier.traps.note(page.state, parsed.url, parsed.text_shape)
            if self.counted is not None:
                page.counted = self.counted.visit_of(parsed, page.state.slot, page.stamp.fetched_at)
        if (again := self._version_again(page, parsed.document)) is not None:
            return self._leave_unchanged(page, again, now)
        sends = [self._have_stored(page, parsed.records, parsed.document)]
        if parsed.watched is not None and page.finding in NEW_TEXT:
            mark = page.text.to_bytes(4, "big") if page.text else page.digest
            told = PageWatched(parsed.url, page.stamp.fetched_at, mark, parsed.watched)
            sends.append(Send(self._watcher, told))
        return sends

    def _list_read(self, page: Page, links: tuple[FoundLink, ...], now: float) -> list[Send]:
        """Let the links of a list go on their way; nothing of it is stored.

        Where there was a page before, that is to be gone first; the list is read at the next visit.
        """
        state, taken = page.state, page.taken
        if self.is_shown(state, taken):
            return self.lose(taken.url, FailureReason.NOT_HTML, now) or []
        if taken.before is None or taken.before.outcome[0] != "D":
            if not politeness.may_be_read(self._budgets.lists_read(state.host), taken.hops):
                self._links.own.overlisted_count += len(links)
                return self.lose(taken.url, FailureReason.TOO_MANY_LISTS, now) or []
            self._budgets.count_list(state.host)
        self._take_out(taken.url)
        page.links, page.is_list = links, True
        self.list_count += 1
        self.links_found += len(links)
        self._routing.append((page, self._links_of(page)))
        self.route(now)
        return []

    def find_lists(self, urls: Iterable[str], taken: QueuedUrl, now: float) -> None:
        """Bring the sitemaps that a robots.txt names to their owners, as if the page asked for had them."""
        named = tuple(FoundLink(url, is_listed=True) for url in urls)
        seen = self._frontier.order.seen(taken.url, taken.course, None)
        self._links.route(taken.url, self._onward(seen, named, taken.depth + 1), now)

    def _have_stored(self, page: Page, records: bytes, document: Document | None) -> Send:
        visit, fetched_at = page.stamp
        stored = StoredPage(
            page.taken.url,
            page.state.slot,
            fetched_at,
            page.status,
            records,
            document,
            visit,
            page.moved_to,
        )
        return Send(self._cell, StorePage(stored))

    def lose(self, url: str, reason: str, now: float) -> list[Send] | None:
        """Be done with a page that cannot be parsed or stored; None when there is none of this URL."""
        page = self._take_out(url)
        if page is None:
            return None
        if self.is_withdrawn(page.state, page.taken, reason):
            return self.withdraw_unseen(page.state, page.taken, f"F{reason}", now)
        conclusion = concluded_by(self.settings, f"F{reason}", page.taken.before, Finding.NOTHING, now)
        conclusion = conclusion._replace(at_s=page.stamp.fetched_at)
        self._frontier.settle(page.state, page.taken, conclusion)
        return []

    def leave_out(self, url: str, reason: str, now: float) -> None:
        """Be done with a page that the policy does not want as it is; versions stored before stay."""
        page = self._take_out(url)
        if page is not None:
            self._settle_left_out(page.state, page.taken, reason, now, page.stamp.fetched_at)

    def leave_out_unseen(self, state: HostState, taken: QueuedUrl, reason: str, now: float) -> None:
        """Be done with a URL that the policy does not want to be visited, until another one does."""
        self._settle_left_out(state, taken, reason, now, now)
        self._links.own.leave_out(link_to(taken.url, taken, hops=taken.hops))

    def leave_to_representative(self, state: HostState, taken: QueuedUrl, now: float) -> None:
        """Be done with a URL of an alias: it is visited elsewhere, and looked at again in a day."""
        page = self._unseen_page(state, taken, f"X{politeness.ALIAS}", now)
        there = moved(taken.url, state.record.alias_of)
        if taken.before is None and there is not None:
            page.links = (link_to(there, taken, hops=taken.hops),)
            self._links.route(taken.url, page.links, now)
        self._finish(page, now)

    def _settle_left_out(
        self, state: HostState, taken: QueuedUrl, reason: str, now: float, at_s: float
    ) -> None:
        """Look again in a day, by the same policy too: a page may change, and its host move."""
        due_s = due_at(now + politeness.POLICY_REVIEW_S)
        conclusion = concluded_by(self.settings, f"X{reason}", taken.before, Finding.NOTHING, now)
        self._frontier.settle(state, taken, conclusion._replace(at_s=at_s, due_s=due_s))

    def address_of(self, url: str) -> str:
        """Where the host of a page in progress was found; "" when that is not known."""
        page = self._pages.get(url)
        return "" if page is None else page.state.address

    def is_page(self, url: str) -> bool:
        """Is this one in progress, and has its server shown it?"""
        page = self._pages.get(url)
        return page is not None and page.status in PAGE_STATUSES

    def is_of(self, url: str, stamp: Stamp) -> bool:
        """Tell whether this very version of a page is in progress, not one of a fetch before."""
        page = self._pages.get(url)
        return page is not None and page.stamp == stamp

    def stored(self, url: str, stamp: Stamp, now: float) -> None:
        """Let the links of a page go on their way, now that it is durable."""
        if not self.is_of(url, stamp):
            return
        page = self._take_out(url)
        assert page is not None
        if page.status in PAGE_STATUSES:
            self.stored_count += 1
            self.links_found += len(page.links)
        if self.linked is not None:
            self.linked.append(_linked(page))
        if self.counted is not None and page.counted is not None:
            self.counted.add(page.counted)
        self._routing.append((page, self._links_of(page)))
        self.route(now)

    def _leave_unchanged(self, page: Page, newest: Place, now: float) -> list[Send]:
        """Let the links of a page go on their way that the archive has as it was read.

        The link graph may not have them: it may have been wanted since that version came.
        """
        self._take_out(page.taken.url)
        page.outcome = SAME
        if self.linked is not None:
            self.linked.append(_linked(page)._replace(stamp=newest.stamp))
        if self.counted is not None and page.counted is not None:
            self.counted.add(page.counted)
        self._routing.append((page, self._links_of(page)))
        self.route(now)
        return []

    def _links_of(self, page: Page) -> Iterator[FoundLink]:
        """Return the links of a stored page that are brought to the owners of their targets."""
        if page.status not in PAGE_STATUSES:  # what it leads to counts as found where it was found itself
            return iter((*page.links, *page.tellings))
        links = with_ancestors(page.links) if self.settings.guesses_ancestors else page.links
        hops = hops_from_list(page.taken.hops) if page.is_list else 0
        return self._onward(page.seen, links, page.taken.depth + 1, hops)

    def _onward(
        self, seen: PageSeen, links: Iterable[FoundLink], depth: int, hops: int = 0
    ) -> Iterator[FoundLink]:
        """Return the links of a page that go on their way, with their depth; made as they are taken."""
        if depth > self.settings.depth_max:
            return iter(())
        found = self._frontier.order.onward(seen, links)
        if hops:
            found = (replace(link, hops=link.hops or hops) for link in found)
        return map(partial(replace, depth=depth), found)  # without a call for each

    def route(self, now: float) -> None:
        """Let the next links of stored pages go on their way; those without any more can be settled."""
        left = LINKS_PER_TURN
        while left > 0 and self._routing:
            page, found = self._routing[0]
            some = list(islice(found, left))
            self._links.route(page.taken.url, some, now)
            left -= len(some)
            if left > 0:
                self._routing.popleft()
                self._finish(page, now)

    @property
    def is_routing(self) -> bool:
        """Is there more for `route` to do?"""
        return bool(self._routing)

    # --- being done ---

    @property
    def has_finished(self) -> bool:
        """Does any page wait for the next commit to be settled?"""
        return bool(self._finishing)

    @property
    def is_full(self) -> bool:
        """Are there enough of these to be settled at once?"""
        return len(self._finishing) >= self._flush_pages

    def settle(self, batches: list[int], now: float) -> list[Send]:
        """Settle the pages that are finished.

        Args:
          batches: of the outbox, with the links of these pages: until they are accepted, others see the pages
            as queued.
        """
        sends: list[Send] = []
        if self._finishing and self._frontier.changes is not None:
            keys = tuple(filter(None, map(self._hold_back, self._finishing)))
            if keys:
                self._links.pledge_pages(batches, keys)
        for page in self._finishing:
            sends += self._settle_page(page, now)
        self._finishing.clear()
        return sends

    def _finish(self, page: Page, now: float) -> None:
        """Settle a page with the next commit, when its links to other peers are in the outbox."""
        self._finishing.append(page)

    def _take_out(self, url: str) -> Page | None:
        """Take a page out of those in progress, if it is there."""
        page = self._pages.pop(url, None)
        if page is not None:
            self.n_bytes -= page.body_bytes
        return page

    def _hold_back(self, page: Page) -> bytes | None:
        """Show a page as it was before the visit that ends now; None when others know of its end, or of none.

        None also when it has been held back since the visit before: until others hear of that one.
        """
        key = self._frontier.key_of(page.state, page.taken)
        row = self._frontier.row_out(page.taken)
        if row is None:
            return None
        if key in self._store.held_back:
            if not self._store.is_released(key):
                return None
            self._store.release_at_once((page.state.slot,))  # the visit before is safe, this one not yet
        self._store.hold_back(key, HeldBack(row, page.taken.url))
        return key

    def _settle_page(self, page: Page, now: float) -> list[Send]:
        state, taken = page.state, page.taken
        key = self._frontier.settle_quietly(state, taken, _conclusion_of(page, self.settings, now))
        if key not in self._store.held_back:
            self._frontier.note_change(key)
        if page.status in PAGE_STATUSES and page.anchors != self._frontier.texts.of(taken.url, state.slot):
            self._frontier.changed_texts.mark(state.slot, fingerprint(taken.url), taken.url)
        if not self.settings.is_recorded or not page.status:
            return []
        return [Send(self._recorder, _record_of(page))]


def _linked(page: Page) -> PageLinked:
    """Return where a version links to, for the link graph: nowhere, if it is not to be found."""
    is_shown = page.status in PAGE_STATUSES and page.title is not None
    links = tuple(link for link in page.links if link.hops != ICON_HOPS) if is_shown else ()
    return PageLinked(page.taken.url, page.state.slot, page.stamp, page.title or "", links)


def _record_of(page: Page) -> RecordPage:
    return RecordPage(
        page.taken.url,
        page.stamp.fetched_at,
        page.seconds,
        page.bytes_received,
        links=tuple(link.url for link in page.links),
        text_chars=tuple(len(link.anchor) for link in page.links),
        status=page.status,
        visit=page.stamp.visit,
    )


def _conclusion_of(page: Page, settings: CrawlSettings, now: float) -> Conclusion:
    is_gone = page.status not in PAGE_STATUSES and page.finding is not Finding.MISSED
    finding = Finding.GONE if is_gone and page.finding is Finding.NOTHING else page.finding
    before, (visit, at_s) = page.taken.before, page.stamp
    conclusion = concluded_by(settings, page.outcome, before, finding, now, page.text)
    conclusion = conclusion._replace(at_s=at_s, visit=visit)  # in the order of versions, however late it ends
    if page.outcome == f"X{politeness.ALIAS}":
        return conclusion._replace(due_s=due_at(now + politeness.POLICY_REVIEW_S))
    if page.is_list:
        return conclusion
    if is_gone:
        return conclusion._replace(is_gone=True)
    if page.status not in PAGE_STATUSES:  # it is not here for now: what is stored stays
        return conclusion
    if page.outcome == SAME and before is not None:
        conclusion = _of_same_version(conclusion, before)
    return conclusion._replace(digest=page.digest, etag=page.etag, last_modified=page.last_modified)


def _of_same_version(conclusion: Conclusion, before: UrlRow) -> Conclusion:
    """Have the row after a visit remember the version that this one, and the visit before, found."""
    stamp = Stamp(before.visit, before.visited_s)
    mark = version_mark(stamp) if before.outcome == "D200" else before.memory.version
    assert conclusion.memory is not None
    return conclusion._replace(memory=with_version(conclusion.memory, mark))
