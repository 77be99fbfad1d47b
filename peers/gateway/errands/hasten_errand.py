"""Telling the owners of links that a live search waits for the best of them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from itertools import accumulate, chain, pairwise
from typing import ClassVar, Final

from mesh.actors.actor import Message
from mesh.actors.ownership import Ownership
from mesh.urls import has_host, host_of
from peers.crawler.model.wire_messages import HASTENED_MAX, WEIGHT_MAX, FoundLink, HastenUrls, UrlsHastened
from peers.gateway.errands.team_errand import TeamErrand
from peers.gateway.model.messages import HastenPages, PagesHastened
from peers.policy.rules import EVERYTHING, Policy

HASTEN_S_MAX: Final = 1.0  # a controller answers in milliseconds, and a search goes on without
NO_URL: Final = "http://x/"  # the errand is about several


class HastenErrand(TeamErrand):
    """Answers one `HastenPages` by one `PagesHastened`: each owner of some of the links is asked once.

    Each has its part of the pages, as many as it has of the links.
    """

    actor: ClassVar[str] = "controller"
    limit_s: ClassVar[float] = HASTEN_S_MAX

    def __init__(
        self, number: int, me: str, order: HastenPages, ownership: Ownership, policy: Policy = EVERYTHING
    ) -> None:
        super().__init__(number, me, order.ticket, NO_URL, ownership)
        self._order = order
        self._links: defaultdict[str, list[FoundLink]] = defaultdict(list)  # by owner
        for link in order.links[:HASTENED_MAX]:
            if has_host(link.url) and not policy.is_taken_down(link.url):
                owner = ownership.owner_of(ownership.slot_of(host_of(link.url)))
                if owner is not None and owner in ownership.alive:
                    self._links[owner].append(link)
        self.team = tuple(self._links)
        self._counts = dict(zip(self.team, _shares(order.count, map(len, self._links.values())), strict=True))
        self._hastened: dict[str, list[tuple[str, float]]] = {}  # by owner

    def _question(self, request: int, peer: str) -> Message:
        order = self._order
        links, count = tuple(self._links[peer]), self._counts[peer]
        return HastenUrls(request, order.words, links, count, order.seconds, order.is_fish)

    def _request_of(self, message: Message) -> int | None:
        return message.request if isinstance(message, UrlsHastened) else None

    def _take(self, peer: str, answer: Message) -> None:
        assert isinstance(answer, UrlsHastened)
        links = self._links[peer]
        told = {number: promise / WEIGHT_MAX for number, promise in answer.pages if number < len(links)}
        pages = [(links[number].url, promise) for number, promise in told.items()]
        self._hastened[peer] = pages[: self._counts[peer]]

    def _gathered(self) -> Message:
        pages = sorted(chain.from_iterable(self._hastened.values()), key=lambda page: -page[1])
        return PagesHastened(self.ticket, tuple(pages))


def _shares(count: int, weights: Iterable[int]) -> list[int]:
    """Divide a number into whole parts by weights, so that they add up to it."""
    ends = [0, *accumulate(weights)]
    return [count * end // ends[-1] - count * begin // ends[-1] for begin, end in pairwise(ends)]
