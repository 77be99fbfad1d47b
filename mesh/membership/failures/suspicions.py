"""The suspects, their accusers, and the time that each has left to refute.

A suspect that one member accuses gets a long time, which shrinks as others accuse it of their own
observation: a member that is itself slow accuses many, but it is alone with that.
Source: Dadgar, Phillips, Currey 2018 (Lifeguard), section 4.2.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from math import inf

from mesh.membership.model.swim_settings import SwimSettings


@dataclass(slots=True)
class Suspicion:
    """One suspect."""

    since: float
    shortest_s: float  # until it may be dead, however many accuse it
    accusers: dict[str, None] = field(default_factory=dict)  # in the order heard
    due_at: float = inf


class Suspicions:
    """All suspects and the times at which they are dead."""

    def __init__(self, settings: SwimSettings) -> None:
        self._settings = settings
        self._suspicions: dict[str, Suspicion] = {}
        self._buried_at: dict[str, float] = {}
        self._long_licences_until = -inf  # of those that our answers have given, and a while longer

    def __len__(self) -> int:
        return len(self._suspicions)

    def unclear_count(self, now: float) -> int:
        """How many are suspects, or were until their death a short while ago."""
        since = now - self._settings.suspicion_min_s
        self._buried_at = {peer: at for peer, at in self._buried_at.items() if at > since}
        return len(self._suspicions) + len(self._buried_at)

    def accuse(self, peer: str, accusers: Iterable[str], now: float, live_count: int) -> bool:
        """Suspect a member, or note further accusers of it; tell whether anything was new.

        Accusers beyond those that shorten the time are not noted, so nor is their word passed on.
        """
        suspicion = self._suspicions.get(peer)
        is_new = suspicion is None
        if suspicion is None:
            is_long = now < self._long_licences_until
            shortest_s = self._settings.idle_suspicion_min_s if is_long else self._settings.suspicion_min_s
            suspicion = self._suspicions[peer] = Suspicion(now, shortest_s)
        count = len(suspicion.accusers)
        for accuser in accusers:
            if len(suspicion.accusers) <= self._settings.confirmations:
                suspicion.accusers[accuser] = None
        confirmations = max(0, len(suspicion.accusers) - 1)
        time_s = max(suspicion.shortest_s, self._settings.suspicion_s(confirmations, live_count))
        suspicion.due_at = min(suspicion.due_at, suspicion.since + time_s)
        return is_new or len(suspicion.accusers) > count

    def note_long_licence(self, now: float) -> None:
        """A member may crawl for longer by our answer: those that are accused from now on have more time."""
        self._long_licences_until = now + self._settings.idle_suspicion_min_s

    def accusers_of(self, peer: str) -> tuple[str, ...]:
        suspicion = self._suspicions.get(peer)
        return tuple(suspicion.accusers) if suspicion is not None else ()

    def end(self, peer: str) -> bool:
        """Suspect the member no more; tell whether it was a suspect."""
        self._buried_at.pop(peer, None)
        return self._suspicions.pop(peer, None) is not None

    def end_in_death(self, peer: str, now: float) -> None:
        """The member is dead, whether it was a suspect or said so itself."""
        if self._suspicions.pop(peer, None) is not None:
            self._buried_at[peer] = now

    def may_be_due(self, peer: str, now: float) -> bool:
        """Has it been a suspect for the shortest time in which any is dead?"""
        suspicion = self._suspicions.get(peer)
        return suspicion is not None and now >= suspicion.since + suspicion.shortest_s

    def due(self, now: float) -> list[str]:
        """Return the suspects that have no time left to refute."""
        return [peer for peer, suspicion in self._suspicions.items() if suspicion.due_at <= now]

    def wake_at(self) -> float:
        if not self._suspicions:  # as nearly always
            return inf
        return min(suspicion.due_at for suspicion in self._suspicions.values())

    def grant(self, stall_s: float, now: float) -> None:
        """Give all suspects the time anew for which we were not there to hear them.

        What they said meanwhile may be waiting for us, so each has, from now, as long as we stood still, at
        most the time of a new suspect.
        """
        for suspicion in self._suspicions.values():
            shortest_s = suspicion.shortest_s
            since_at_least = now + min(stall_s, shortest_s) - shortest_s
            suspicion.since = max(suspicion.since + stall_s, since_at_least)
            suspicion.due_at = max(suspicion.due_at + stall_s, suspicion.since + shortest_s)
