"""The wishes of searchers: guide words, pages that a search waits for, and those that many ask for. Pure.

A live search (`peers.gateway.live`) names links of the best pages it has. Those of them that were never
visited, and promise most by the texts of links to them and by their paths, move to the front of their hosts'
queues: so many in all, and of a host no more than have a turn within the time told. Nothing else changes.
A host is asked no sooner and no more often, robots.txt, policy and budgets say what they always say, and a
URL that the frontier does not know stays unknown: who wishes brings nothing into the crawl. Pages that
several were shown are visited again after half of their interval, if the policy wants that.
"""

from __future__ import annotations

from collections import Counter
from math import inf
from typing import Final, NamedTuple

from msgspec.structs import replace

from mesh.actors.actor import Address, Send
from mesh.actors.allowance import Allowance
from mesh.urls import fingerprint, has_host, host_of
from peers.crawler.frontier.frontier import Frontier
from peers.crawler.frontier.host_state import HostState
from peers.crawler.frontier.orders import LinkTarget, rank_of
from peers.crawler.frontier.relevance import GuideWords
from peers.crawler.host_clocks import HostClocks
from peers.crawler.links.links import Links
from peers.crawler.model.course import plain_course
from peers.crawler.model.revisit_policies import sooner_due
from peers.crawler.model.wire_messages import WEIGHT_MAX, DemandTold, HastenUrls, UrlsHastened
from peers.engine.pages.linkers import is_linker, is_text
from peers.policy.crawl_order import CrawlOrder, Order

# Pages that one member may have moved in a minute; ten links that are looked at, 30 us each, count as one.
HASTENED_A_MINUTE_MAX: Final = 600
TEXT_CHARS_MAX: Final = 2_000  # of the texts of the links to a page together


class _Wanted(NamedTuple):
    """A page that was never visited, as one of those to choose from."""

    rank: int
    number: int  # in the message
    promise: float  # 0 to 1
    state: HostState


class SearchersWishes:
    """Takes the wishes of searchers, as gateways tell them."""

    def __init__(self, frontier: Frontier, clocks: HostClocks, links: Links) -> None:
        self._frontier = frontier
        self._clocks = clocks
        self._links = links
        self._allowance = Allowance()
        self._asked = Allowance()  # of pages that members say are asked for
        self.brought_forward = 0  # count: visits, since several ask for the page

    def take(self, source: Address, message: DemandTold | HastenUrls, now: float) -> list[Send]:
        """Note words, or move pages forward; those of a live search are told."""
        if isinstance(message, DemandTold):
            self._links.note_searched(source.peer, message.words, now)
            self._bring_forward(message.pages, source.peer, now)
            return []
        hastened: tuple[tuple[int, int], ...] = ()
        amount = max(message.count, len(message.links) / 10)
        if message.words and self._allowance.spend(source.peer, amount, HASTENED_A_MINUTE_MAX, now):
            hastened = tuple(self._hasten(message, now))
        return [Send(source, UrlsHastened(message.request, hastened))]

    def _bring_forward(self, pages: tuple[str, ...], peer: str, now: float) -> None:
        """Have pages that several ask for visited again sooner, within the turns of their hosts."""
        most = self._frontier.order.ordering.asked_pages_max
        pages = pages[:most]
        if not pages or not self._asked.spend(peer, len(pages), most, now):
            return
        for url in pages:
            state = self._frontier.find(host_of(url)) if has_host(url) else None
            row = None if state is None else self._frontier.row_of(url, state.slot)
            if state is None or row is None or self._frontier.is_taken(fingerprint(url)):
                continue
            sooner = sooner_due(row, now, self._frontier.visitor, self._links.own.settings)
            if sooner is not None:
                self._links.own.merge(state.slot, sooner, url)
                self.brought_forward += 1

    def _hasten(self, message: HastenUrls, now: float) -> list[tuple[int, int]]:
        """Move the best pages forward; return the number and the promise of each, the best first."""
        turns: Counter[HostState] = Counter()
        chosen: list[tuple[int, int]] = []
        for _, number, promise, state in sorted(self._wanted(message), key=_place):
            if len(chosen) == message.count:
                break
            if turns[state] >= self._turns_of(state, message.seconds, now):
                continue
            turns[state] += 1
            self._move(message.links[number].url, state)
            chosen.append((number, round(promise * WEIGHT_MAX)))
        return chosen

    def _wanted(self, message: HastenUrls) -> list[_Wanted]:
        """Return those of the pages that are in a queue here and were never asked for."""
        ordering = CrawlOrder(
            order=Order.FISH if message.is_fish else Order.FOCUSED, guide_words=message.words
        )
        guide, found = GuideWords(message.words), []
        for number, link in enumerate(message.links):
            state = self._frontier.find(host_of(link.url)) if has_host(link.url) else None
            row = None if state is None else self._frontier.row_of(link.url, state.slot)
            if state is None or row is None or row.visit or self._frontier.is_taken(fingerprint(link.url)):
                continue
            entries = self._frontier.texts.of(link.url, state.slot)
            anchor = " ".join(filter(is_text, entries))[:TEXT_CHARS_MAX]
            told = replace(link, anchor=anchor, depth=max(1, link.depth))  # at no depth it would be a seed
            rank = rank_of(LinkTarget(told, sum(map(is_linker, entries))), ordering, guide)
            found.append(_Wanted(rank, number, guide.of_link(link.url, anchor), state))
        return found

    def _turns_of(self, state: HostState, seconds: float, now: float) -> float:
        """Return how many pages a host may be asked for within some time."""
        wait_s = max(0.0, state.record.next_fetch_s - now, state.not_before_s - now)
        delay_s = self._clocks.delay_s(state)
        if wait_s > seconds or state.record.given_up:
            return 0.0
        return 1.0 + (seconds - wait_s) // delay_s if delay_s else inf

    def _move(self, url: str, state: HostState) -> None:
        row = self._frontier.row_of(url, state.slot)
        assert row is not None, "what was chosen is known"
        course = plain_course(row.depth) if row.course is None else row.course
        self._frontier.change_course(state.slot, fingerprint(url), url, course._replace(rank=0))


def _place(wanted: _Wanted) -> tuple[float, ...]:
    return wanted.rank, -wanted.promise, wanted.number
