"""Asking the owners of pages for the pages around these in the link graph."""

from __future__ import annotations

from collections.abc import Set
from typing import ClassVar

from msgspec.structs import replace

from mesh.actors.actor import Message
from mesh.actors.ownership import Ownership
from mesh.urls import fingerprint, host_of, is_canonical
from peers.gateway.errands.roundup import Roundup
from peers.gateway.model.member_lines import harmless
from peers.gateway.model.messages import GatherNeighbours, NeighboursGathered
from peers.link_graph.wire_messages import ListNeighbours, MarkedPage, NeighboursListed, PageNeighbours
from peers.policy.rules import Policy


class NeighbourRoundup(Roundup):
    """Answers one `GatherNeighbours` by one `NeighboursGathered`.

    Of a page its owner is asked, and another member that has all of its slot: what both tell counts, a title
    if it is the same, and what one tells where the other is silent. This peer believes itself.
    """

    actor: ClassVar[str] = "link_graph"

    def __init__(
        self,
        number: int,
        me: str,
        order: GatherNeighbours,
        silent: Set[str],
        policy: Policy,
        ownership: Ownership,
    ) -> None:
        """Begin.

        Args:
          silent: as for `Round`.
        """
        super().__init__(number, me, order.ticket, silent)
        self._order, self._policy, self._ownership = order, policy, ownership
        self._urls: dict[str, list[str]] = {}  # by who is asked
        self._tellers: dict[str, list[str]] = {}  # of each page who is asked, its owner first
        self._marks: dict[str, list[MarkedPage]] = {}
        for url in order.urls:
            self._tellers[url] = self._asked_about(ownership.slot_of(host_of(url)))
            for peer in self._tellers[url]:
                self._urls.setdefault(peer, []).append(url)
        for each in order.marks:
            if each.slot < ownership.table.slot_count and (owner := ownership.owner_of(each.slot)):
                self._marks.setdefault(owner, []).append(each)
        self._told: dict[str, NeighboursListed] = {}

    def _asked_about(self, slot: int) -> list[str]:
        owner = self._ownership.owner_of(slot)
        if owner is None or owner == self._me:
            return [owner] if owner else []
        others = [peer for peer in self._ownership.serving.team_of(slot) if peer != owner]
        return [owner, self._me if self._me in others else others[0]] if others else [owner]

    def _question(self, request: int) -> Message:
        return ListNeighbours(request)  # of who owns none of the pages

    def _questions(self, request: int) -> dict[str, Message]:
        asked = sorted({*self._urls, *self._marks}) or [self._me]
        return {
            peer: ListNeighbours(request, tuple(self._urls.get(peer, ())), tuple(self._marks.get(peer, ())))
            for peer in asked
        }

    def _request_of(self, message: Message) -> int | None:
        return message.request if isinstance(message, NeighboursListed) else None

    def _take(self, peer: str, answer: Message) -> None:
        assert isinstance(answer, NeighboursListed)
        if not answer.is_on:
            return  # it has not heard of the policy: its pages are missing
        asked, marks = set(self._urls.get(peer, ())), {each.mark for each in self._marks.get(peer, ())}
        told = {page.url: page for page in answer.pages if page.url in asked}  # of each page one list
        pages = tuple(map(self._shown_around, told.values()))
        named = tuple(url for url in answer.named if self._is_shown(url) and fingerprint(url) in marks)
        self._told[peer] = replace(answer, pages=pages, named=named)

    def _shown_around(self, page: PageNeighbours) -> PageNeighbours:
        sources = (each for each in page.sources if self._is_shown(each.url))
        targets = tuple(dict.fromkeys(page.targets))
        harmless_ones = tuple(replace(each, title=harmless(each.title)) for each in sources)
        return replace(page, sources=harmless_ones, targets=targets)

    def _is_shown(self, url: str) -> bool:
        """May the reader see a page?"""
        return is_canonical(url) and self._policy.shows(url, self._order.hidden)

    def _gathered(self, now: float) -> Message:
        pages: dict[str, list[PageNeighbours]] = {}
        silent = {peer for peer in self._marks if peer not in self._told}
        for url, asked in self._tellers.items():
            tellers = [peer for peer in asked if peer in self._told]
            silent |= set() if tellers else set(asked[:1])
            lists = [
                next((page for page in self._told[peer].pages if page.url == url), None) for peer in tellers
            ]
            if lists and lists[0] is not None:
                page = lists[0] if len(lists) == 1 else _both(lists[0], lists[1])
                pages.setdefault(tellers[0], []).append(page)
        gathered = [
            NeighboursListed(self.ticket, True, tuple(pages.get(peer, ())), told.named)
            for peer, told in sorted(self._told.items())
        ]
        return NeighboursGathered(self.ticket, tuple(gathered), tuple(sorted(silent)))


def _both(one: PageNeighbours, other: PageNeighbours | None) -> PageNeighbours:
    """Return the neighbours of a page that two members tell."""
    titles = {} if other is None else {each.url: each.title for each in other.sources}
    sources = (
        each if titles[each.url] == each.title else replace(each, title="")
        for each in one.sources
        if each.url in titles
    )
    targets = set() if other is None else set(other.targets)
    return replace(
        one, sources=tuple(sources), targets=tuple(each for each in one.targets if each in targets)
    )
