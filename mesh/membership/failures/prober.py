"""The failure detector: ping one member after the other, ask others to help, name the silent ones.

It decides; the membership actor sends, and says what a silent member is believed to be.

Theory of operation
===================
Every interval, a longer one while nobody crawls (`failure_detector`), a probe begins: a ping; at the
time-out, the ping again and requests to a few others to try; at the deadline, without an answer by any way,
the member is silent. Probes overlap, so a member that has come to distrust itself (`local_health`), or probes
one whose answers take long (`round_trips`), waits longer for each and still makes as many. A helper answers a
request at once for itself: those who are asked and do not answer are Lifeguard's missing nacks, the sign that
it is the prober who cannot be heard.

Members are probed round robin, in an order that is random and stays. SWIM shuffles it after each round; then
one member may wait for almost two rounds, too long where every witness is needed (`licence`).

Sources: Das, Gupta, Motivala 2002, sections 3 and 4.3 (round robin bounds the time until any one member is
probed; newcomers are inserted at a random place); Dadgar, Phillips, Currey 2018, section 4.1.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from math import inf
from typing import TYPE_CHECKING, Final, NamedTuple

from mesh.membership.failures.local_health import LocalHealth
from mesh.membership.failures.round_trips import RoundTrips
from mesh.membership.failures.separations import Separations
from mesh.membership.model.swim_settings import SwimSettings
from mesh.membership.model.wire_messages import Ping, PingAnswered, PingRequested

if TYPE_CHECKING:
    from random import Random

# Probes that one member makes for others at a time: with 1,000 members of which a tenth is down, fewer
# than one per member and second are asked for. What is above is dropped; the prober asks three members.
RELAYS_MAX: Final = 1_024


@dataclass(slots=True)
class Probe:
    """A probe under way."""

    peer: str  # who is probed
    sent_at: float
    ask_at: float  # when others are asked to help; inf once they are
    deadline: float
    helpers: set[str] = field(default_factory=set)  # asked, and not heard from yet
    is_answered: bool = False  # by way of a helper; its own word may still come


class RelayedProbe(NamedTuple):
    """A probe made for somebody else."""

    requester: str
    sequence: int  # the requester's number
    peer: str  # who is probed
    expires_at: float


class Prober:
    """The probes under way, the order of those to come, and the probes made for others."""

    def __init__(self, settings: SwimSettings, random: Random) -> None:
        self.health = LocalHealth(settings.distrust_max)
        self.separations = Separations(settings.separated_s)
        self._round_trips = RoundTrips()
        self._settings = settings
        self._random = random
        self._sequence = 0
        self._order: list[str] = []  # all members to be probed, the next one first
        self._probes: dict[int, Probe] = {}  # by sequence
        self._last_probe_at = inf
        self._relays: dict[int, RelayedProbe] = {}
        self._asked: dict[int, tuple[str, float]] = {}  # by sequence: who was only asked, and when

    def start(self, at: float) -> None:
        """Probe for the first time at `at`, if it is asked at the pace of a busy mesh."""
        self._last_probe_at = at - self._settings.probe_interval_s

    def wake_at(self, pause_s: float) -> float:
        """Args: pause_s: from one probe to the next."""
        at = self._last_probe_at + pause_s
        for probe in self._probes.values():
            at = min(at, probe.ask_at, probe.deadline)
        return at

    def forget(self) -> None:
        """Drop the probes that are under way: this peer itself was away."""
        self._probes.clear()
        self._asked.clear()

    def ping(self) -> Ping:
        """Return a ping; nobody waits for its answer."""
        self._sequence += 1
        return Ping(self._sequence)

    def ask(self, peer: str, now: float) -> Ping:
        """Return a ping: an answer makes its sender a witness, silence accuses nobody."""
        since = now - self._settings.probe_deadline_s
        self._asked = {number: asked for number, asked in self._asked.items() if asked[1] >= since}
        ping = self.ping()
        self._asked[ping.sequence] = peer, now
        return ping

    def requests_due(self, now: float, members: Iterable[str]) -> list[tuple[str, Ping | PingRequested]]:
        """Return pings to repeat and requests for help, by member, for probes not answered in time."""
        requests: list[tuple[str, Ping | PingRequested]] = []
        for sequence, probe in self._probes.items():
            if now < probe.ask_at:
                continue
            probe.ask_at = inf
            helpers = [peer for peer in members if peer != probe.peer]
            chosen = self._random.sample(helpers, min(self._settings.indirect_probes, len(helpers)))
            probe.helpers.update(chosen)
            requests.append((probe.peer, Ping(sequence)))
            requests += [(helper, PingRequested(sequence, probe.peer)) for helper in chosen]
        return requests

    def silent(self, now: float) -> list[str]:
        """Return the members with probes that are over without an answer."""
        over = [sequence for sequence, probe in self._probes.items() if probe.deadline <= now]
        silent = [probe for probe in map(self._probes.pop, over) if not probe.is_answered]
        for probe in silent:
            self.health.worsen(len(probe.helpers))
            self._round_trips.note(probe.peer, now - probe.sent_at)
        return [probe.peer for probe in silent]

    def is_due(self, now: float, pause_s: float) -> bool:
        """Is it time to begin the next probe?"""
        return now >= self._last_probe_at + pause_s

    def next_probe(self, now: float, members: Iterable[str]) -> tuple[str, Ping] | None:
        """Begin the next probe; None when there is nobody to probe."""
        self._last_probe_at = now
        self._relays = {number: relay for number, relay in self._relays.items() if relay.expires_at > now}
        candidates = set(members)
        peer = self._next_of_round(candidates)
        self._round_trips.keep_only(candidates)
        if self.separations.since:  # empty as nearly always: a call less for each probe, and below
            self.separations.keep_only(candidates)
        if not peer:
            return None
        ping, patience = self.ping(), self._patience_with(peer)
        self._probes[ping.sequence] = Probe(
            peer,
            sent_at=now,
            ask_at=now + patience * self._settings.probe_timeout_s,
            deadline=now + patience * self._settings.probe_deadline_s,
        )
        return peer, ping

    def _patience_with(self, peer: str) -> float:
        """The factor by which to wait longer for a member, 1 to `distrust_max`."""
        late = self._round_trips.expected_s(peer) / self._settings.probe_timeout_s
        return min(max(self.health.distrust, late), self._settings.distrust_max)

    def relay(self, requester: str, request: PingRequested, now: float) -> Ping | None:
        """Probe `request.peer` for somebody else; None when too many such probes are under way."""
        if len(self._relays) >= RELAYS_MAX:
            return None
        ping = self.ping()
        # Somebody who distrusts itself may wait so long.
        expires_at = now + self._settings.distrust_max * self._settings.probe_deadline_s
        self._relays[ping.sequence] = RelayedProbe(requester, request.sequence, request.peer, expires_at)
        return ping

    def witnessed(self, witness: str, answer: PingAnswered, now: float) -> float | None:
        """When the probe was sent that `witness` answers by this; None if it answers none under way."""
        probe = self._probes.get(answer.sequence)
        if probe is None:
            asked, sent_at = self._asked.pop(answer.sequence, ("", 0.0))
            if not asked == witness == answer.peer:
                return None
            self.separations.note_own_answer(witness)
            return sent_at
        if answer.peer == probe.peer:
            if witness == probe.peer:
                self._round_trips.note(witness, now - probe.sent_at)
            self._end(answer.sequence, probe, is_own_word=witness == probe.peer)
        elif answer.peer == witness and witness in probe.helpers:
            probe.helpers.remove(witness)
        else:
            return None
        return probe.sent_at

    def _end(self, sequence: int, probe: Probe, *, is_own_word: bool) -> None:
        """Note that the probed member is alive; on a helper's word, wait further for the member's own."""
        if not probe.is_answered:
            self.health.improve()
        probe.is_answered, probe.ask_at = True, inf
        if is_own_word:
            if self.separations.since:
                self.separations.note_own_answer(probe.peer)
            del self._probes[sequence]
        else:
            self.separations.note_relayed(probe.peer, probe.sent_at)

    def passed_on(self, answer: PingAnswered) -> tuple[str, PingAnswered] | None:
        """Return the requester of a probe and the answer to pass on to it; None if no other member asked."""
        relay = self._relays.get(answer.sequence)
        if relay is None or relay.peer != answer.peer:
            return None
        del self._relays[answer.sequence]
        return relay.requester, PingAnswered(relay.sequence, relay.peer)

    def _next_of_round(self, candidates: set[str]) -> str:
        self._order = [peer for peer in self._order if peer in candidates]
        for peer in sorted(candidates.difference(self._order)):
            self._order.insert(self._random.randrange(len(self._order) + 1), peer)
        if not self._order:
            return ""
        peer = self._order.pop(0)
        self._order.append(peer)
        return peer
