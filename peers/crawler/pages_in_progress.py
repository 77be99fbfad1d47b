"""Pages from being fetched to being done: parsed, stored on the whole team, their links sent, settled.

A page that is done here is still shown to others as queued until its links are safe, each with its owner and
the owner's team: else who takes over after us would believe it done, and the links had died with us.
"""

from __future__ import annotations

from math import inf
from typing import Final

import msgspec

from mesh.actor import Address, Send
from mesh.messages import FoundLink, StoredPage
from peers.crawler.frontier import Frontier, HostState, QueuedUrl
from peers.crawler.frontier_items import QUEUED
from peers.crawler.frontier_store import FrontierStore, HeldBack
from peers.crawler.links import Links
from peers.crawler.messages import PageParsed, ParsePage, RecordPage
from peers.crawler.settings import CrawlSettings
from peers.crawler.web_request import Fetched, location_of
from peers.storage.messages import StorePage

FLUSH_S: Final = 0.05  # finished pages wait this long for company
FLUSH_PAGES: Final = 64


class Page(msgspec.Struct):
    """A page between the fetcher and its being settled; the parser has its body."""

    state: HostState
    taken: QueuedUrl
    status: int
    fetched_at: float
    seconds: float
    bytes_received: int
    body_bytes: int
    links: tuple[FoundLink, ...] = ()
    anchors: tuple[str, ...] = ()  # texts of links to it that were known before it was given to the cell


class PagesInProgress:
    """What was fetched and is not settled."""

    def __init__(
        self, me: str, frontier: Frontier, store: FrontierStore, links: Links, settings: CrawlSettings
    ) -> None:
        self.settings = settings  # may be replaced
        self._parser, self._cell, self._recorder = (Address(me, to) for to in ("parser", "cell", "recorder"))
        self._frontier = frontier
        self._store = store
        self._links = links
        self._pages: dict[str, Page] = {}  # by URL, until they are stored
        self._finishing: list[Page] = []
        self.n_bytes = 0  # of the bodies of pages that are not stored yet
        self.flush_at_s = inf  # when `settle` is to be called
        self.fetched_count = self.stored_count = 0
        self.links_found = 0

    def __len__(self) -> int:
        """Pages that are not stored so far."""
        return len(self._pages)

    @property
    def finishing_count(self) -> int:
        """Pages that are stored, and wait for company to be settled."""
        return len(self._finishing)

    def slots(self) -> set[int]:
        """Return the slots of all pages in progress."""
        pages = (*self._pages.values(), *self._finishing)
        return {page.state.slot for page in pages}

    # --- what comes in ---

    def parse(self, state: HostState, taken: QueuedUrl, fetched: Fetched) -> list[Send]:
        """Take in a page."""
        page = _page(state, taken, fetched)
        self.fetched_count += 1
        self._take_out(taken.url)  # of an earlier fetch: what is said of that counts no more
        self._pages[taken.url] = page
        self.n_bytes += page.body_bytes
        return [Send(self._parser, ParsePage(fetched))]

    def follow(self, state: HostState, taken: QueuedUrl, fetched: Fetched, now: float) -> bool:
        """Be done with an answer that is no page, and go where it leads; False after too many redirects."""
        page = _page(state, taken, fetched)
        target = location_of(fetched)
        if target is not None:
            if taken.hops >= self.settings.redirects_max:
                return False
            self.links_found += 1
            page.links = (FoundLink(target, "", taken.depth, taken.hops + 1),)
            self._links.route(page.links, now)
        self._finish(page, now)
        return True

    def parsed(self, parsed: PageParsed) -> list[Send]:
        """Have a page stored as the parser has read it."""
        page = self._pages.get(parsed.url)
        if page is None:
            return []
        page.links = parsed.links
        page.anchors = self._frontier.anchors_of(parsed.url, page.state.slot)
        stored = StoredPage(
            url=parsed.url,
            slot=page.state.slot,
            fetched_at=page.fetched_at,
            status=page.status,
            records=parsed.records,
            document=parsed.document,
        )
        return [Send(self._cell, StorePage(stored))]

    def lose(self, url: str, reason: str) -> bool:
        """Settle a page as failed that cannot be parsed or stored; tell whether there was one."""
        page = self._take_out(url)
        if page is not None:
            self._frontier.settle(page.state, page.taken, "F", reason)
        return page is not None

    def is_of(self, url: str, fetched_at: float) -> bool:
        """Tell whether this very version of a page is in progress, not one of a fetch before."""
        page = self._pages.get(url)
        return page is not None and page.fetched_at == fetched_at

    def stored(self, url: str, fetched_at: float, now: float) -> None:
        """Let the links of a page go on their way, now that it is durable."""
        if not self.is_of(url, fetched_at):
            return
        page = self._take_out(url)
        assert page is not None
        self.stored_count += 1
        self.links_found += len(page.links)
        depth = page.taken.depth + 1
        if depth <= self.settings.depth_max:
            found = (FoundLink(link.url, link.anchor, depth, linker=link.linker) for link in page.links)
            self._links.route(found, now)
        self._finish(page, now)

    # --- being done ---

    def settle(self, batches: list[int]) -> list[Send]:
        """Settle what is finished.

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
            sends += self._settle_page(page)
        self._finishing.clear()
        self.flush_at_s = inf
        return sends

    def _finish(self, page: Page, now: float) -> None:
        """Settle a page with the next flush, when its links to other peers are in the outbox."""
        self._finishing.append(page)
        is_full = len(self._finishing) >= FLUSH_PAGES
        self.flush_at_s = -inf if is_full else min(self.flush_at_s, now + FLUSH_S)

    def _take_out(self, url: str) -> Page | None:
        """Take a page out of those in progress, if it is there."""
        page = self._pages.pop(url, None)
        if page is not None:
            self.n_bytes -= page.body_bytes
        return page

    def _hold_back(self, page: Page) -> bytes | None:
        """Show a page that is about to be done as queued; None when others know it to be settled."""
        key = self._frontier.key_of(page.state, page.taken)
        row = self._frontier.row(key)
        if row is None or row[:1] != QUEUED:
            return None
        self._store.hold_back(key, HeldBack(row, page.taken.url))
        return key

    def _settle_page(self, page: Page) -> list[Send]:
        state, taken = page.state, page.taken
        key = self._frontier.settle_quietly(state, taken, "D", str(page.status))
        if key not in self._store.held_back:
            self._frontier.note_change(key)
        if page.status == 200 and page.anchors != self._frontier.anchors_of(taken.url, state.slot):
            self._frontier.mark_anchors_changed(taken.url, state.slot)
        if not self.settings.is_recorded:
            return []
        links = tuple(link.url for link in page.links)
        record = RecordPage(taken.url, page.fetched_at, page.seconds, page.bytes_received, links)
        return [Send(self._recorder, record)]


def _page(state: HostState, taken: QueuedUrl, fetched: Fetched) -> Page:
    return Page(
        state,
        taken,
        status=fetched.status,
        fetched_at=fetched.started_at,
        seconds=fetched.seconds,
        bytes_received=fetched.bytes_received,
        body_bytes=len(fetched.body),
    )
