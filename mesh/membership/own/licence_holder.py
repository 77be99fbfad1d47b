"""Until when this peer may crawl, and which of its holdings are valid: told to controller and handover."""

from __future__ import annotations

from mesh.membership.failures.suspicions import Suspicions
from mesh.membership.model.licence import Licence
from mesh.membership.model.members import MemberList, State
from mesh.membership.model.messages import HoldingsRevoked
from mesh.membership.model.swim_settings import SwimSettings
from mesh.membership.model.turn_outbox import TurnOutbox
from mesh.membership.own.own_record import OwnRecord
from mesh.membership.own.queues import Queues


class LicenceHolder:
    """The licence, and the incarnations under which the holdings of this peer are safe or void."""

    def __init__(
        self,
        own: OwnRecord,
        members: MemberList,
        suspicions: Suspicions,
        outbox: TurnOutbox,
        settings: SwimSettings,
        queues: Queues,
    ) -> None:
        self.n_revoked = 0  # count: times that this peer may have been held for dead
        self._own = own
        self._members = members
        self._suspicions = suspicions
        self._outbox = outbox
        self._settings = settings
        self._queues = queues
        self._licence = Licence(own.peer, settings.licence_s)
        self._safe_from = 0  # incarnation; the licence was earned under it and has not run out since
        self._revoked_through = -1  # incarnation; what was held under it and those before is void
        self._believed = (0, 0)  # revision of the members and how many were unclear, at the last renewal

    @property
    def until(self) -> float:
        """Mesh clock; no fetch is begun from then on."""
        return self._licence.until

    def begin(self, now: float) -> None:
        """Be licensed from now on, as soon as anybody answers; the first member of a mesh is at once."""
        self._revoked_through = self._own.record.incarnation - 1  # in this life nothing is held yet
        self.renew(now)
        if not self._licence.until:
            self._tell()  # that there is none yet

    @property
    def wants_nobody(self) -> bool:
        """Was this peer alone a majority at the last look?"""
        return self._licence.wants_nobody

    def witness(self, peer: str, sent_at: float, now: float, *, is_at_rest: bool) -> None:
        """Note that a member has answered a message of ours sent at that time, and held us for alive."""
        self._licence.witness(peer, sent_at + self._settings.licence_by(is_at_rest=is_at_rest))
        self.renew(now)

    def note_known(self) -> None:
        """Forget the witnesses: we know a new member, which those that have answered may not know."""
        self._licence.forget_witnesses()

    def follow(self, now: float) -> None:
        """Renew it, if that may follow from anything but an answer."""
        believed = self._members.revision, self._suspicions.unclear_count(now)
        if believed != self._believed or self._licence.wants_nobody:
            self.renew(now)

    def renew(self, now: float) -> None:
        """Tell the controller if the answers heard let us crawl for longer; see `licence`.

        After a pause in which the others had time to hold us for dead nothing is certain that we held
        before, though nobody may have told us yet.
        """
        before = self._licence.until
        members, trusted = self._members.remaining(), self._members.in_state(State.ALIVE)
        unclear, newcomers = self._suspicions.unclear_count(now), self._members.newcomers
        self._believed = self._members.revision, unclear
        if not self._licence.renew(members, trusted, unclear, now, newcomers):
            return
        if before <= now:
            # Its witnesses did not hold us for dead under this record, and who ever does so never takes
            # it back; under those before, anything may have been.
            self._safe_from = self._own.record.incarnation
        if self._is_long_out(before, now):
            self.revoke(self._own.record.incarnation - 1)
        self._tell()

    def may_have_lost(self, incarnation: int, now: float, *, is_dead: bool) -> bool:
        """Tell whether slots may be gone, now that bad news of us in this incarnation is heard.

        With a licence earned under it only a minority holds us for dead, and can have taken nothing: so a
        single member that hears badly does not make all others claim their slots anew.

        A suspicion counts as well after a pause as in `renew`. Once it is refuted all let us answer for our
        slots again, and nobody says any more that we were held for dead.

        Args:
          is_dead: whether we are held for dead by it, not just suspected.
        """
        until = self._licence.until
        is_safe = until > now and incarnation >= self._safe_from
        is_serious = is_dead or self._is_long_out(until, now)
        return is_serious and not is_safe and incarnation > self._revoked_through

    def revoke(self, through: int) -> None:
        """Declare void all that this peer holds; it may have died under this incarnation or those before.

        Not under a later one: if it comes to hold slots under that, it may lose them in the next pause.
        """
        self._revoked_through = through
        self.n_revoked += 1
        self._outbox.tell("controller", HoldingsRevoked())  # before a licence that follows
        self._outbox.tell("handover", HoldingsRevoked())

    def _is_long_out(self, until: float, now: float) -> bool:
        """Tell whether others had time to hold us for dead since the licence ran out, if there was one."""
        return 0.0 < until < now - (self._settings.suspicion_min_s - self._settings.licence_s)

    def _tell(self) -> None:
        self._outbox.tell("controller", self._queues.licence(self._licence.until))
