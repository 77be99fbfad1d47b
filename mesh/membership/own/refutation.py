"""Rumours about this peer, how it takes them back, and how it notices that there are two of it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from mesh.membership.failures.local_health import LocalHealth
from mesh.membership.model.connections import addresses_of
from mesh.membership.model.credentials import Credentials
from mesh.membership.model.members import State, beats
from mesh.membership.model.wire_messages import MemberRecord, Rumour
from mesh.membership.own.licence_holder import LicenceHolder
from mesh.membership.own.lifecycle import Lifecycle
from mesh.membership.own.own_record import OwnRecord

# Times that a member hears itself say what it did not say, before it concludes that its key is in use
# twice. Once or twice can happen to a peer that lost its disk while old news of it is under way.
ECHOES_MAX: Final = 5
# A member that came less long ago concludes it at once when what it hears is of another address: its former
# life can have said nothing newer than what it said itself when it came.
NEWCOMER_S: Final = 25.0


class Refutation:
    """Hears the rumours about this peer."""

    def __init__(
        self,
        own: OwnRecord,
        credentials: Credentials,
        holder: LicenceHolder,
        health: LocalHealth,
        lifecycle: Lifecycle,
    ) -> None:
        self.n_refutations = 0  # count: rumours about this peer that it took back
        self.n_forged = 0  # count: records that it is said to have written and did not
        self._own = own
        self._credentials = credentials
        self._holder = holder
        self._health = health
        self._lifecycle = lifecycle
        self._echoes = 0  # own words heard that were not ours

    def hear(self, rumour: Rumour, now: float) -> None:
        """Take back a rumour that differs from our last record of ourselves, by a new record.

        If others may have held this peer for dead its slots may be lost: then it holds none of them before
        anybody hears the new record. See `LicenceHolder.may_have_lost`.
        """
        heard, is_dead = rumour.record, rumour.state >= State.DEAD
        is_to_be_refuted = beats(rumour, self._own.rumour)
        is_bad = is_dead or (rumour.state == State.SUSPECT and is_to_be_refuted)
        is_in_doubt = is_bad and self._holder.may_have_lost(heard.incarnation, now, is_dead=is_dead)
        may_have_lost = is_in_doubt and self._lifecycle.is_member
        if not may_have_lost and not is_to_be_refuted:
            return
        if heard != self._own.record and not self._credentials.is_genuine(heard):
            self.n_forged += 1
            return
        if may_have_lost:
            self._holder.revoke(heard.incarnation)
        if is_to_be_refuted:
            self._refute(heard, now)

    def concede(self, why: Callable[[MemberRecord], str]) -> None:
        """End, being expelled, for the reason that there is with our record."""
        if not self._lifecycle.is_ended:
            self._lifecycle.give_up(why(self._own.record))

    def _refute(self, heard: MemberRecord, now: float) -> None:
        if self._is_double(heard, now):
            self._lifecycle.give_up("another process runs with the key file of this peer: end one of the two")
            return
        self.n_refutations += 1
        if self._lifecycle.is_member:
            self._health.worsen()
        self._own.outdo(heard.incarnation)

    def _is_double(self, heard: MemberRecord, now: float) -> bool:
        """Tell whether another process must have said that."""
        own, lifecycle = self._own.record, self._lifecycle
        if not lifecycle.is_member or heard.incarnation <= own.incarnation:
            return False
        self._echoes += 1
        is_elsewhere = addresses_of(heard) != addresses_of(own)
        # One that was cut off while it was new still is, however long ago: all others followed the other.
        is_newcomer = min(now, self._holder.until) < lifecycle.member_since + NEWCOMER_S
        return self._echoes > ECHOES_MAX or (is_elsewhere and is_newcomer)
