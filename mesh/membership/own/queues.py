"""How long the queues of all members are, and the weight of this peer that follows from them."""

from __future__ import annotations

from math import inf
from typing import Final

from mesh.membership.model.members import MemberList
from mesh.membership.model.messages import CrawlLicensed, QueueMeasured
from mesh.membership.model.wire_messages import MemberRecord
from mesh.membership.own.balance import BalanceSettings, MemberLoad, weight_for
from mesh.membership.own.own_record import OwnRecord

BALANCE_CHECK_S: Final = 5.0  # between two looks at the queues; hearing all of a large mesh takes longer


class Queues:
    """The last report of its queue by each member that crawls."""

    def __init__(self, own: OwnRecord, members: MemberList, settings: BalanceSettings) -> None:
        self._own = own
        self._members = members
        self._settings = settings
        self._measured: dict[str, QueueMeasured] = {}
        self._busy: set[str] = set()  # members with anything in their queues
        self._heard = {own.peer}  # since the last time that all had said something
        self._rounds = 0  # of that
        self._empty_since_s = inf  # nothing was in any of them
        self._follow_at = inf
        self._weight_set_at = -inf  # when the queues last changed our weight

    @property
    def own(self) -> QueueMeasured:
        """Of this peer."""
        return self._measured.get(self._own.peer, QueueMeasured(0))

    @property
    def are_empty(self) -> bool:
        """Has no member anything to fetch, as far as we have heard?"""
        return not self._busy

    def licence(self, until: float) -> CrawlLicensed:
        """Return a licence for our crawl with the figures about other members' crawls that it needs."""
        others = [measured for peer, measured in self._measured.items() if peer != self._own.peer]
        pages = sum(measured.pages for measured in others)
        return CrawlLicensed(until, pages, sum(measured.length > 0 for measured in others), self._rounds)

    def note(self, peer: str, measured: QueueMeasured) -> None:
        self._measured[peer] = measured
        if measured.length:
            self._busy.add(peer)
        else:
            self._busy.discard(peer)
        self._heard.add(peer)
        if self._heard.issuperset(self._members.live()):
            self._rounds += 1
            self._heard = {self._own.peer}

    def forget(self, peer: str) -> None:
        """The member takes no part any more."""
        self._measured.pop(peer, None)
        self._busy.discard(peer)

    def begin(self, now: float, phase: float) -> None:
        """Follow the queues from now on, if slots are to follow them; `phase` in [0, 1) spreads the load."""
        if self._settings.is_enabled and self._own.weight_wanted:
            self._follow_at = now + phase * BALANCE_CHECK_S

    def wake_at(self) -> float:
        return self._follow_at

    def follow(self, now: float) -> None:
        """Take slots or give some away, when the queues say so; see `balance`."""
        if now < self._follow_at:
            return
        self._follow_at = now + BALANCE_CHECK_S
        if self._own.record.is_draining:
            return
        shares = {record.peer: self._share_of(record) for record in self._members.live_records()}
        is_empty = not any(share.queue for share in shares.values())
        self._empty_since_s = min(self._empty_since_s, now) if is_empty else inf
        weight = weight_for(
            self._own.peer,
            self._own.weight_wanted,
            shares,
            self._settings,
            unchanged_s=now - self._weight_set_at,
            empty_s=max(0.0, now - self._empty_since_s),
        )
        if weight != self._own.record.weight:
            self._weight_set_at = now
            self._own.set_weight(weight)

    def _share_of(self, record: MemberRecord) -> MemberLoad:
        measured = self._measured.get(record.peer)
        if measured is None:
            return MemberLoad(record.weight, record.serving, None)
        return MemberLoad(record.weight, record.serving, measured.length, measured.pages)
