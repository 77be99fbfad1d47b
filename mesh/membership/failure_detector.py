"""Failure detection: pings and their answers, accusing silent members, burying those that do not refute."""

from __future__ import annotations

from math import inf

from mesh.membership.failures.prober import Prober
from mesh.membership.failures.suspicions import Suspicions
from mesh.membership.model.licence import is_sample
from mesh.membership.model.members import MemberList, State, is_live
from mesh.membership.model.messages import MembersSeparated
from mesh.membership.model.others import Others
from mesh.membership.model.swim_settings import SwimSettings
from mesh.membership.model.turn_outbox import TurnOutbox
from mesh.membership.model.wire_messages import PingAnswered, PingRequested, Rumour
from mesh.membership.news.gossip import Gossip
from mesh.membership.news.rumour_intake import RumourIntake
from mesh.membership.own.licence_holder import LicenceHolder
from mesh.membership.own.own_record import OwnRecord
from mesh.membership.own.queues import Queues


class FailureDetector:
    """The failure detector: acts on `prober` and `suspicions`, by messages and by beliefs of this peer."""

    def __init__(
        self,
        own: OwnRecord,
        members: MemberList,
        others: Others,
        prober: Prober,
        suspicions: Suspicions,
        intake: RumourIntake,
        gossip: Gossip,
        holder: LicenceHolder,
        queues: Queues,
        settings: SwimSettings,
        outbox: TurnOutbox,
    ) -> None:
        self.n_stalls = 0  # count: times that this process woke much too late
        self._own = own
        self._members = members
        self._others = others
        self._prober = prober
        self._suspicions = suspicions
        self._intake = intake
        self._gossip = gossip
        self._holder = holder
        self._queues = queues
        self._settings = settings
        self._outbox = outbox
        self._separated: frozenset[str] = frozenset()  # as was told last
        self._awake_at = 0.0  # up to when it is settled whether we stood still
        self._busy_at = inf  # when the mesh last had anything to do, or to doubt
        self._pause_s = settings.probe_interval_s  # to the next probe, as long as nothing happens
        self._revision = 0  # of the members at the last probe
        self._at_rest: set[str] = set()  # members that said so with their last answers

    def begin(self, at: float) -> None:
        """Probe for the first time at `at`."""
        self._busy_at = at
        if self._own.is_remembered:
            self._suspicions.note_long_licence(at)  # which we may have given before we were stopped
        self._prober.start(at)

    def wake_at(self) -> float:
        return min(self._prober.wake_at(self._probe_pause_s), self._suspicions.wake_at())

    def remember(self, suspect: Rumour, now: float) -> None:
        """Go on with a suspect of before the last stop: it has all its time anew."""
        self._suspicions.accuse(suspect.record.peer, suspect.accusers, now, len(self._members))

    def notice_stall(self, wanted_at: float, now: float) -> None:
        """Hold it against nobody else that this process stood still.

        Args:
          wanted_at: when it wanted to be woken.
        """
        stall_s = now - max(wanted_at, self._awake_at)
        self._awake_at = now
        if stall_s > self._settings.stall_s:
            self.n_stalls += 1
            self._prober.health.worsen()
            self._prober.forget()
            self._suspicions.grant(stall_s, now)

    def wake(self, now: float) -> None:
        self._probe(now)
        self._bury(now)
        if self._prober.separations.members != self._separated:
            self._tell_separated()

    def hear_answer(self, peer: str, answer: PingAnswered, now: float) -> None:
        """Take note that a ping of ours, or one made for another, has been answered."""
        relayed = self._prober.passed_on(answer)
        if relayed is not None:
            self._gossip.tell(*relayed)
        sent_at = self._prober.witnessed(peer, answer, now)
        is_doubted = any(rumour.record.peer == self._own.peer and rumour.state for rumour in answer.gossip)
        if sent_at is not None and not is_doubted and answer.known in (b"", self._members.known_digest):
            is_at_rest = (
                answer.is_at_rest and self._is_calm
            )  # nobody has us crawl for longer by its word alone
            self._holder.witness(peer, sent_at, now, is_at_rest=is_at_rest)
            self._note_rest(peer, is_at_rest=is_at_rest)
        if self._prober.separations.members != self._separated:
            self._tell_separated()

    def lets_crawl_longer(self, peer: str, now: float) -> bool:
        """Tell whether our answer lets this member crawl for longer, as everybody is at rest; see `licence`.

        Not in large meshes: there it is the many pings that tell a small side of a partition.
        """
        known = self._members.get(peer)
        if known is None or known.state != State.ALIVE or is_sample(len(self._members.remaining())):
            return False
        if not self._is_calm or now < self._busy_at + self._settings.idle_after_s:
            return False
        self._suspicions.note_long_licence(now)
        return True

    def ping_for(self, requester: str, request: PingRequested, now: float) -> None:
        """Try a member that somebody else gets no answer from."""
        known = self._members.get(request.peer)
        if known is None or not is_live(known) or request.peer == self._own.peer:
            return
        ping = self._prober.relay(requester, request, now)
        if ping is not None:
            self._gossip.tell(request.peer, ping)

    def _probe(self, now: float) -> None:
        """Ask for help where a probe has no answer, accuse where none has come, begin the next one."""
        others = self._others.all()
        for helper, request in self._prober.requests_due(now, others):
            self._pause_s, self._busy_at = self._settings.probe_interval_s, now
            self._gossip.tell(helper, request)
        for peer in self._prober.silent(now):
            self._accuse(peer, now)
        if not self._prober.is_due(now, self._probe_pause_s):
            return
        self._pause_s = self._pause_from(now)
        self._holder.follow(now)
        probe = self._prober.next_probe(now, others)
        if probe is not None:
            self._gossip.tell(*probe)

    @property
    def _probe_pause_s(self) -> float:
        """Return the pause between probes: the short one as soon as there is anything to do, or to judge."""
        return self._pause_s if self._is_calm else self._settings.probe_interval_s

    @property
    def _is_calm(self) -> bool:
        """Has nobody anything to fetch, is nobody a suspect or new, and has no member changed?"""
        is_settled = not len(self._suspicions) and not self._members.newcomers
        return is_settled and self._queues.are_empty and self._members.revision == self._revision

    def _pause_from(self, now: float) -> float:
        """How long to wait for the next probe: longer where nobody crawls, is doubted, comes or goes.

        A crash is then found somewhat later, by those for whom there is nothing to take over but questions,
        which a standby answers meanwhile.
        """
        doubts = self._suspicions.unclear_count(now) or self._prober.health.distrust > 1
        if doubts or not self._is_calm:
            self._busy_at = now
        self._revision = self._members.revision
        if now < self._busy_at + self._settings.idle_after_s:
            return self._settings.probe_interval_s
        return self._idle_pause_s()

    def _idle_pause_s(self) -> float:
        """As long as the licence goes on by the answers of those that give it for the shortest time."""
        is_long = self._at_rest.issuperset(self._others.all()) and not self._holder.wants_nobody
        licence_s = self._settings.licence_by(is_at_rest=is_long)
        return self._settings.idle_pause_s(len(self._members.remaining()), licence_s)

    def _note_rest(self, peer: str, *, is_at_rest: bool) -> None:
        """Note whether a member is at rest; where one is no more, the next probe comes sooner."""
        if is_at_rest:
            self._at_rest.add(peer)
        elif peer in self._at_rest:
            self._at_rest.discard(peer)
            self._pause_s = min(self._pause_s, self._idle_pause_s())

    def _tell_separated(self) -> None:
        self._separated = separated = self._prober.separations.members
        self._outbox.tell("handover", MembersSeparated(separated))
        self._outbox.tell("lessor", MembersSeparated(separated))

    def _bury(self, now: float) -> None:
        """Hold the suspects for dead that have not taken it back in time."""
        for peer in self._suspicions.due(now):
            suspect = self._members.get(peer)
            assert suspect is not None, "only members are suspected"
            self._intake.learn(Rumour(suspect.record, State.DEAD), now)

    def _accuse(self, peer: str, now: float) -> None:
        """Say that a member did not answer us."""
        known = self._members.get(peer)
        if known is not None and is_live(known):
            self._intake.hearsay.note_silent(peer, known.record.incarnation)
            self._intake.learn(Rumour(known.record, State.SUSPECT, (self._own.peer,)), now)
