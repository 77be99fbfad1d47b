"""Bringing seed URLs to the peers that crawl them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final, NamedTuple

from mesh.actor import Address, Message, Send
from mesh.messages import LINKS_MAX, FoundLink, LinksAccepted, LinksFound
from mesh.ownership import Ownership
from mesh.urls import host_of
from peers.gateway.errand import Errand
from peers.gateway.messages import AddSeeds, SeedsAdded

REPEAT_S: Final = 1.0  # a controller commits a few times a second
SEEDING_S_MAX: Final = 10.0  # then the user is told how many were taken


class _Batch(NamedTuple):
    owner: str
    message: LinksFound


class Seeding(Errand):
    """Answers one `AddSeeds` by one `SeedsAdded`, which counts what was accepted durably."""

    def __init__(self, number: int, me: str, order: AddSeeds, current: Callable[[], Ownership]) -> None:
        """Begin.

        Args:
          current: the ownership as of now; asked again whenever a batch is repeated.
        """
        super().__init__(number, me, order.ticket)
        self._current = current
        self._pending = {batch.message.batch: batch for batch in self._batches(order.urls)}
        self._accepted = 0

    def start(self, now: float) -> list[Send]:
        self._limit_at = now + SEEDING_S_MAX
        return self._send_pending(now)

    def receive(self, source: Address, message: Message, now: float) -> list[Send] | None:
        match message:
            case LinksAccepted(batch=number) if number in self._pending and source == self._target(number):
                self._accepted += len(self._pending.pop(number).message.links)
                return [] if self._pending else self._end_with_count()
            case _:
                return None

    def wake(self, now: float) -> list[Send]:
        if now >= self._limit_at:
            return self._end_with_count()
        return self._send_pending(now) if now >= self._repeat_at else []

    def wake_at(self) -> float:
        return min(self._repeat_at, self._limit_at)

    def _batches(self, urls: tuple[str, ...]) -> Iterator[_Batch]:
        ownership = self._current()
        by_owner: dict[str, list[FoundLink]] = {}
        for url in dict.fromkeys(urls):
            owner = ownership.owner_of(ownership.slot_of(host_of(url)))
            by_owner.setdefault(owner or self._me, []).append(FoundLink(url))
        for owner, links in by_owner.items():
            for start in range(0, len(links), LINKS_MAX):
                part = tuple(links[start : start + LINKS_MAX])
                yield _Batch(owner, LinksFound(self._number_question(), part))

    def _send_pending(self, now: float) -> list[Send]:
        self._repeat_at = now + REPEAT_S
        if not self._pending:
            return self._end_with_count()
        return [Send(self._target(number), batch.message) for number, batch in self._pending.items()]

    def _target(self, number: int) -> Address:
        """The owner; while that is down our own controller, which keeps links for others."""
        owner = self._pending[number].owner
        return Address(owner if owner in self._current().alive else self._me, "controller")

    def _end_with_count(self) -> list[Send]:
        return self._end(SeedsAdded(self.ticket, self._accepted))
