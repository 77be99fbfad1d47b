"""The controller of a simulated peer, with an observer that hears which slots it may crawl."""

from __future__ import annotations

from math import inf

from mesh.actors.actor import Actor, Address, Message, Send, Statistics
from mesh.actors.ownership import Ownership, OwnershipChanged
from mesh.membership.messages import CrawlLicensed
from mesh.slot_set import SlotMask, decode_slots
from peers.crawler.controller import Controller
from peers.handover.messages import HoldSlots


class Overheard(Actor):
    """Hands everything on to the real controller."""

    name = Controller.name
    remote_messages = Controller.remote_messages

    def __init__(self, controller: Actor) -> None:
        assert controller.name == self.name
        self.ownership: Ownership | None = None
        self._held: SlotMask | None = None
        self._licensed_until = inf
        self._controller = controller

    def would_crawl(self, host: str, now: float) -> bool:
        """Does it hold the slot of a host, under a licence that has not run out?"""
        if self._held is None or self.ownership is None or now >= self._licensed_until:
            return False
        return bool(self._held[self.ownership.slot_of(host)])

    def has_lent(self, host: str, peer: str, now: float) -> bool:
        """Has it lent a turn of a host to that peer, which lasts?"""
        assert isinstance(self._controller, Controller)
        return self._controller._visits.lending.has_lent(host, peer, now)

    def receive(self, source: Address, message: Message, now: float) -> list[Send]:
        match message:
            case OwnershipChanged(ownership):
                self.ownership = ownership
            case HoldSlots(slots) if self.ownership is not None:
                self._held = decode_slots(slots, self.ownership.table.slot_count)
            case CrawlLicensed(until):
                self._licensed_until = until
        return self._controller.receive(source, message, now)

    def wake(self, now: float) -> list[Send]:
        return self._controller.wake(now)

    def wake_at(self) -> float:
        return self._controller.wake_at()

    def before_commit(self) -> None:
        self._controller.before_commit()

    def observe(self) -> Statistics:
        return self._controller.observe()
