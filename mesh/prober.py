"""The failure detector: ping one member after the other, ask others to help, tell who is silent.

It decides; the membership actor sends, and says what a silent member is believed to be.
Source: Das, Gupta, Motivala 2002, sections 3 and 4.3 (round robin over a shuffled list, which bounds
the time until any one member is probed to two rounds).
"""

from __future__ import annotations

from collections.abc import Iterable
from math import inf
from typing import TYPE_CHECKING, Final, NamedTuple

from mesh.messages import Ping, PingAnswered, PingRequested
from mesh.swim_settings import SwimSettings

if TYPE_CHECKING:
    from random import Random

# Probes that one member makes for others at a time: with 1,000 members of which a tenth is down, fewer
# than one per member and second are asked for. What is above is dropped; the prober asks three members.
RELAYS_MAX: Final = 1_024


class Relay(NamedTuple):
    """A probe made for somebody else."""

    requester: str
    sequence: int  # the requester's number
    peer: str  # who is probed
    expires_at: float


class Prober:
    """The probe under way, the order of those to come, and the probes made for others."""

    def __init__(self, settings: SwimSettings, random: Random) -> None:
        self._settings = settings
        self._random = random
        self._sequence = 0
        self._round: list[str] = []  # still to be probed in this round, last first
        self._peer = ""  # probed now, "" for none
        self._peer_sequence = 0
        self._ask_others_at = inf
        self._next_probe_at = inf
        self._relays: dict[int, Relay] = {}

    def start(self, at: float) -> None:
        """Probe for the first time at `at`."""
        self._next_probe_at = at

    def wake_at(self) -> float:
        return min(self._ask_others_at, self._next_probe_at)

    def ping(self) -> Ping:
        """A ping whose answer nobody waits for, or only `answered` does."""
        self._sequence += 1
        return Ping(self._sequence)

    def requests_due(self, now: float, members: Iterable[str]) -> list[tuple[str, PingRequested]]:
        """Whom to ask for help with a probe that has not been answered in time."""
        if now < self._ask_others_at:
            return []
        self._ask_others_at = inf
        helpers = [peer for peer in members if peer != self._peer]
        chosen = self._random.sample(helpers, min(self._settings.indirect_probes, len(helpers)))
        return [(helper, PingRequested(self._peer_sequence, self._peer)) for helper in chosen]

    def is_due(self, now: float) -> bool:
        """Is it time to end this probe and to begin the next?"""
        return now >= self._next_probe_at

    def end_probe(self) -> str:
        """The member whose probe is over without an answer, "" when there is none."""
        silent, self._peer = self._peer, ""
        return silent

    def next_probe(self, now: float, members: Iterable[str]) -> tuple[str, Ping] | None:
        """Begin the next probe; None when there is nobody to probe."""
        self._next_probe_at = now + self._settings.probe_interval_s
        self._relays = {number: relay for number, relay in self._relays.items() if relay.expires_at > now}
        candidates = set(members)
        peer = self._next_of_round(candidates)
        if not peer:
            return None
        ping = self.ping()
        self._peer, self._peer_sequence = peer, ping.sequence
        self._ask_others_at = now + self._settings.probe_timeout_s
        return peer, ping

    def relay(self, requester: str, request: PingRequested, now: float) -> Ping | None:
        """Probe `request.peer` for somebody else; None when too many such probes are under way."""
        if len(self._relays) >= RELAYS_MAX:
            return None
        ping = self.ping()
        expires_at = now + self._settings.probe_interval_s
        self._relays[ping.sequence] = Relay(requester, request.sequence, request.peer, expires_at)
        return ping

    def answered(self, answer: PingAnswered) -> tuple[str, PingAnswered] | None:
        """Take note of an answer; returns whom it has to be passed on to, if it was for another."""
        if answer.sequence == self._peer_sequence and answer.peer == self._peer:
            self._peer = ""
            self._ask_others_at = inf
        relay = self._relays.get(answer.sequence)
        if relay is None or relay.peer != answer.peer:
            return None
        del self._relays[answer.sequence]
        return relay.requester, PingAnswered(relay.sequence, relay.peer)

    def _next_of_round(self, candidates: set[str]) -> str:
        while self._round:
            peer = self._round.pop()
            if peer in candidates:
                return peer
        self._round = sorted(candidates)
        self._random.shuffle(self._round)
        return self._round.pop() if self._round else ""
