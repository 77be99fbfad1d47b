"""Bringing seed URLs, and those of pages that have changed, to the peers that crawl them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from mesh.actors.actor import Address, Message, Send
from mesh.actors.delivery import Delivery, DeliverySettings, in_batches
from mesh.actors.ownership import Ownership
from mesh.urls import host_of
from peers.crawler.model.course import UNLIMITED
from peers.crawler.model.wire_messages import LINKS_MAX, FoundLink, LinksAccepted, LinksFound
from peers.gateway.errands.errand import Errand
from peers.gateway.model.messages import AddSeeds, SeedsAdded
from peers.policy.rules import EVERYTHING, Policy

REPEAT_S: Final = 1.0  # a controller commits a few times a second
SEEDING_S_MAX: Final = 10.0  # then the user is told how many were taken


class SeedErrand(Errand):
    """Answers one `AddSeeds` by one `SeedsAdded`, which counts the seeds accepted durably."""

    def __init__(
        self,
        number: int,
        me: str,
        order: AddSeeds,
        current: Callable[[], Ownership],
        policy: Policy = EVERYTHING,
        policy_number: int = 0,
    ) -> None:
        """Begin.

        Args:
          current: the ownership as of now; asked again when it has changed.
          policy: of the mesh; what it does not want is not brought to anybody, and who has not heard of it
            takes nothing before.
        """
        super().__init__(number, me, order.ticket)
        self._current = current
        self._policy_number = policy_number
        self._policy = policy
        self._urls, self._are_changed = order.urls, order.are_changed
        self._levels = UNLIMITED if order.levels is None else order.levels
        self._left_out: tuple[str, ...] = ()
        self._delivery: Delivery[int, LinksFound] = Delivery(_SETTINGS)
        self._accepted = 0

    def start(self, now: float) -> list[Send]:
        self._limit_at = now + SEEDING_S_MAX
        by_owner: dict[str, list[FoundLink]] = {}
        policy, changed_s = self._policy.at(now), int(now) if self._are_changed else 0
        self._left_out = tuple(url for url in self._urls if not policy.has_room_for(url))
        for url in dict.fromkeys(url for url in self._urls if policy.has_room_for(url)):
            link = FoundLink(url, changed_s=changed_s, levels=self._levels, is_ahead=True)
            by_owner.setdefault(self._taker_of(url), []).append(link)
        for owner, links in by_owner.items():
            for part in in_batches(links, lambda link: len(link.url), items_max=LINKS_MAX):
                links_found = LinksFound(self._number_question(), tuple(part), self._policy_number)
                self._bring(links_found, owner, now)
        return self._deliver(now) if len(self._delivery) else self._end_with_count()

    def receive(self, source: Address, message: Message, now: float) -> list[Send] | None:
        match message:
            case LinksAccepted(batch=number) if source.actor == "controller":
                accepted = self._delivery.note_answer(source.peer, number, now)
                if accepted is None:
                    return None
                self._accepted += len(accepted.links)
                return self._deliver(now) if len(self._delivery) else self._end_with_count()
            case _:
                return None

    def wake(self, now: float) -> list[Send]:
        return self._end_with_count() if now >= self._limit_at else self._deliver(now)

    def wake_at(self) -> float:
        return min(self._delivery.wake_at_s, self._limit_at)

    def ownership_changed(self, now: float) -> list[Send]:
        """Bring links meant for peers that are gone to our own controller, which keeps links for others."""
        alive = self._current().alive
        for peer in self._delivery.receivers():
            if peer not in alive and peer != self._me:
                for _, _, message in self._delivery.remove_receiver(peer):
                    self._bring(message, self._me, now)
        return self._deliver(now)

    def _taker_of(self, url: str) -> str:
        """The owner; while that is down our own controller."""
        ownership = self._current()
        owner = ownership.owner_of(ownership.slot_of(host_of(url)))
        return owner if owner is not None and owner in ownership.alive else self._me

    def _bring(self, message: LinksFound, peer: str, now: float) -> None:
        self._delivery.add(peer, message.batch, message, 0, now)

    def _deliver(self, now: float) -> list[Send]:
        leaving = self._delivery.wake(now).leaving
        return [Send(Address(peer, "controller"), message) for peer, _, message in leaving]

    def _end_with_count(self) -> list[Send]:
        return self._end(SeedsAdded(self.ticket, self._accepted, self._left_out))


_SETTINGS: Final = DeliverySettings(again_s=REPEAT_S, again_max_s=REPEAT_S)
