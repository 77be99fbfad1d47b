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
    """Answers one `GatherNeighbours` by one `NeighboursGathered`."""

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
        self._urls: dict[str, list[str]] = {}  # by their owner
        self._marks: dict[str, list[MarkedPage]] = {}
        for url in order.urls:
            if owner := ownership.owner_of(ownership.slot_of(host_of(url))):
                self._urls.setdefault(owner, []).append(url)
        for each in order.marks:
            if each.slot < ownership.table.slot_count and (owner := ownership.owner_of(each.slot)):
                self._marks.setdefault(owner, []).append(each)
        self._told: dict[str, NeighboursListed] = {}

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
        silent = tuple(sorted({*self._urls, *self._marks} - self._told.keys()))
        return NeighboursGathered(self.ticket, tuple(self._told[peer] for peer in sorted(self._told)), silent)
