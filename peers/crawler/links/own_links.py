"""Takes links to pages of our slots into the frontier: queues pages, or keeps texts of the links only."""

from __future__ import annotations

from collections.abc import Iterable
from math import inf
from typing import Final, TypeAlias

from mesh.domains import may_speak_for
from mesh.urls import canonical, fingerprint, host_of
from peers.crawler.frontier.anchor_rows import tag_of, telling_of
from peers.crawler.frontier.frontier import Frontier
from peers.crawler.frontier.keys import url_key
from peers.crawler.frontier.url_queues import LinkTo
from peers.crawler.links.left_out_links import LeftOutLinks
from peers.crawler.model.course import UNLIMITED, Course
from peers.crawler.model.revisit_policies import made_due
from peers.crawler.model.settings import CrawlSettings
from peers.crawler.model.url_rows import UrlRow
from peers.crawler.model.wire_messages import FoundLink, LinkUse
from peers.engine.pages.linkers import entries_of, entries_of_move
from peers.policy.rules import Policy

QUIET_S: Final = 2.0  # without pages of files, until link texts go to the index at once
TO_BE_FETCHED: Final = (LinkUse.FETCH, LinkUse.ABROAD)

Placed: TypeAlias = tuple[FoundLink, str, int]  # with the host of its target, and the slot of that


class OwnLinks:
    """Takes links into a frontier, many in one step unless one depends on those before it."""

    def __init__(
        self, frontier: Frontier, left_out: LeftOutLinks, settings: CrawlSettings, policy: Policy
    ) -> None:
        self.settings = settings  # may be replaced
        self.policy = policy  # likewise
        self._frontier = frontier
        self._left_out = left_out
        self._batch: list[LinkTo] = []  # empty between calls
        self.quiet_s = -inf  # pages of files come in until then
        self.left_out_count = self.overlisted_count = self.told_count = 0

    def add(self, links: Iterable[Placed], now: float, teller: int) -> None:
        """Queue the pages that the policy wants, and keep the facts that the links tell of all.

        Args:
          teller: `visitor_tag` of the member that brings them.
        """
        tag = tag_of(teller)
        telling = telling_of(now, tag)
        order = self._frontier.order
        goes_by_citations, is_plain = order.goes_by_citations, order.is_plain
        for link, host, slot in links:
            is_queued = link.use in TO_BE_FETCHED and self._is_to_be_queued(link, host, now)
            if link.use is LinkUse.STORED:
                self._add_batch(now)
                self._frontier.add_stored(link.url, slot)
                self.quiet_s = now + QUIET_S
            has_course = is_queued and not (is_plain and link.levels == UNLIMITED and not link.moved_from)
            course = self._course_of(link, slot) if has_course else None
            entries = entries_of(link.anchor, link.linker)
            if link.moved_from:
                entries += _entries_of_move(link)
            if is_queued or entries:
                by = telling_of(now, link.tellers + tag) if link.tellers else telling
                told = LinkTo(link.url, host, slot, link.depth, link.hops, course, entries, is_queued, by)
                self._batch.append(told)
            if is_queued and link.changed_s:
                self._add_batch(now)
                self._make_due(link, slot, now)
            elif goes_by_citations:
                self._add_batch(now)
        self._add_batch(now)

    def leave_out(self, link: FoundLink) -> None:
        """Keep a link to a page that the policy does not want, for another policy."""
        self._left_out.keep(link)
        self.left_out_count += 1

    def merge(self, slot: int, row: UrlRow, url: str) -> None:
        """Join a row with that of a URL, and have others hear of it."""
        mark = fingerprint(url)
        self._frontier.merge_visited(slot, mark, row, url)
        self._frontier.note_change(url_key(slot, mark))

    def _add_batch(self, now: float) -> None:
        if self._batch:
            self._frontier.add(self._batch, now)
            self._batch.clear()

    def _is_to_be_queued(self, link: FoundLink, host: str, now: float) -> bool:
        """Is a page to be asked for? The batch is taken in if its size decides that."""
        if link.is_listed and not self._has_room_for_listed(host, len(self._batch)):
            self._add_batch(now)
            if not self._has_room_for_listed(host):
                self.overlisted_count += 1
                return False
        if self.policy.has_room_for(link.url, link.depth, is_abroad=link.use is LinkUse.ABROAD):
            return True
        self.leave_out(link)
        return False

    def _has_room_for_listed(self, host: str, coming: int = 0) -> bool:
        """Has less of a host been asked or queued than will ever be asked? A list names 50,000 at once.

        Args:
          coming: how many of its pages, at most, are queued in a moment.
        """
        state = self._frontier.find(host)
        known = 0 if state is None else state.queued + state.record.fetched
        return known + coming < self.settings.pages_per_host_max

    def _course_of(self, link: FoundLink, slot: int) -> Course | None:
        order = self._frontier.order
        entries = self._frontier.texts.of(link.url, slot) if order.goes_by_citations else ()
        return order.course_of(link, entries)

    def _make_due(self, link: FoundLink, slot: int, now: float) -> None:
        """Have a page visited at once that has changed, as is said."""
        row = self._frontier.row_of(link.url, slot)
        due = None if row is None else made_due(row, link.changed_s, now, self._frontier.visitor)
        if due is not None:
            self.told_count += 1
            self.merge(slot, due, link.url)


def _entries_of_move(link: FoundLink) -> tuple[str, ...]:
    """Return the entries kept of the former URL of a link's target; none if that may not speak for it."""
    before, url = link.moved_from, link.url
    if canonical(before) != before or before == url or not may_speak_for(host_of(before), host_of(url)):
        return ()
    return entries_of_move(before)
