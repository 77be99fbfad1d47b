"""The standbys a cell owes something, and when to send them what: the policy of paying debts.

The debts themselves are in the ledger; here is only what of them is on its way. Says which debts are to
be sent, sends nothing.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from math import inf

import msgspec

from mesh.ownership import Ownership
from peers.storage.ledger import Debt, Ledger, slot_in


class DebtSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """How fast debts are paid."""

    in_flight_max: int = 32  # per standby; each may be a page in memory
    again_s: float = 5.0  # pause for a standby to promise something, doubled each time it does not
    again_max_s: float = 300.0


@dataclass(slots=True)
class _Creditor:
    """A living standby with debts."""

    pause_s: float
    again_at: float
    in_flight: set[bytes] = field(default_factory=set)  # keys of debts


class Creditors:
    """Living standbys that are owed something. Those that are down are only in the ledger."""

    def __init__(self, ledger: Ledger, settings: DebtSettings) -> None:
        self._ledger = ledger
        self._settings = settings
        self._creditors: dict[str, _Creditor] = {}
        self._ownership: Ownership | None = None
        self._wake_at = inf

    def wake_at(self) -> float:
        return self._wake_at

    def change_ownership(self, ownership: Ownership, now: float) -> list[tuple[str, Debt]]:
        """Take note of who is alive; return what to send to those that came back, as (peer, debt)."""
        self._ownership = ownership
        for peer in [peer for peer in self._creditors if peer not in ownership.alive]:
            del self._creditors[peer]
        chosen: list[tuple[str, Debt]] = []
        for peer in self._ledger.creditors():
            if peer in ownership.alive and peer not in self._creditors:
                self._enter(peer, now)
                chosen += self._choose(peer)
        return chosen

    def offer_anchors(self, peer: str, identity: bytes, now: float) -> bool:
        """Take note of link texts that have just become owed; return whether to send them at once."""
        if not self.expect(peer, now):
            return False
        creditor = self._creditors[peer]
        if len(creditor.in_flight) >= self._settings.in_flight_max or self._ledger.owes_page(peer, identity):
            return False
        creditor.in_flight.add(identity)
        return True

    def expect(self, peer: str, now: float) -> bool:
        """Plan to pay a standby after a pause; False while it is down."""
        assert self._ownership is not None
        if peer not in self._ownership.alive:
            return False
        if peer not in self._creditors:
            self._enter(peer, now)
        return True

    def settle(self, peer: str, debt_key: bytes, now: float) -> list[tuple[str, Debt]]:
        """Strike out what a standby has promised; return what to send it next."""
        self._ledger.pay(peer, debt_key)
        creditor = self._creditors.get(peer)
        if creditor is None:
            return []
        creditor.in_flight.discard(debt_key)
        count = self._ledger.debt_count(peer)
        if count == 0:
            del self._creditors[peer]
            return []
        creditor.pause_s = self._settings.again_s
        creditor.again_at = now + creditor.pause_s
        # Refilled by halves: choosing walks over what is in flight.
        is_low = len(creditor.in_flight) <= self._settings.in_flight_max // 2
        return self._choose(peer) if is_low and count > len(creditor.in_flight) else []

    def wake(self, now: float) -> list[tuple[str, Debt]]:
        """Return what to send again, or at last, as no promise has come for a while."""
        chosen: list[tuple[str, Debt]] = []
        for peer, creditor in list(self._creditors.items()):
            if creditor.again_at > now:
                continue
            creditor.in_flight.clear()
            creditor.again_at = now + creditor.pause_s
            creditor.pause_s = min(2 * creditor.pause_s, self._settings.again_max_s)
            chosen += self._choose(peer)
        self._wake_at = min((creditor.again_at for creditor in self._creditors.values()), default=inf)
        return chosen

    def _enter(self, peer: str, now: float) -> None:
        again_at = now + self._settings.again_s
        self._creditors[peer] = _Creditor(self._settings.again_s, again_at)
        self._wake_at = min(self._wake_at, again_at)

    def _choose(self, peer: str) -> list[tuple[str, Debt]]:
        """Return the first debts that are not on their way, as many as may be."""
        assert self._ownership is not None
        creditor, limit = self._creditors[peer], self._settings.in_flight_max
        chosen: list[tuple[str, Debt]] = []
        for debt in self._ledger.debts(peer, 2 * limit):
            if len(creditor.in_flight) >= limit:
                break
            if peer not in self._ownership.team_of(slot_in(debt.key)):
                self._ledger.pay(peer, debt.key)  # no longer a standby of that slot
            elif debt.key not in creditor.in_flight and (
                debt.is_page or not self._ledger.owes_page(peer, debt.key)
            ):
                # A version that comes after its link texts would undo them: it goes first.
                creditor.in_flight.add(debt.key)
                chosen.append((peer, debt))
        if not self._ledger.debt_count(peer):
            del self._creditors[peer]
        return chosen
