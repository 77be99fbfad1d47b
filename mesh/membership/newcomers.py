"""Since when a newcomer is counted: whether most others are known to know of it. `licence` says why.

Who knows the same ids is heard with every ping and answer. As long as there are newcomers, others are pinged
more often for that, so that who comes is counted after a few round trips, and may crawl. Who goes on knowing
others, since news got lost, is asked for all it believes, ever more rarely, for it may be one that lies.
"""

from __future__ import annotations

from math import inf
from typing import Final

from mesh.membership.anti_entropy import AntiEntropy
from mesh.membership.failures.prober import Prober
from mesh.membership.model.members import MemberList, State
from mesh.membership.model.memory import Memory
from mesh.membership.model.others import Others
from mesh.membership.model.swim_settings import SwimSettings
from mesh.membership.model.wire_messages import Rumour
from mesh.membership.news.gossip import Gossip
from mesh.membership.own.licence_holder import LicenceHolder
from mesh.membership.own.own_record import OwnRecord

ASKED_MAX: Final = 8  # members pinged at a time, so that one interval does in small meshes


class Newcomers:
    """Which members know all members that we know, and which members are settled."""

    def __init__(
        self,
        own: OwnRecord,
        members: MemberList,
        others: Others,
        memory: Memory,
        prober: Prober,
        gossip: Gossip,
        sync: AntiEntropy,
        holder: LicenceHolder,
        settings: SwimSettings,
        *,
        is_first: bool,
    ) -> None:
        """Count the members that were counted at the last stop, or this peer if it begins a mesh."""
        self._me = own.peer
        self._members = members
        self._others = others
        self._memory = memory
        self._prober = prober
        self._gossip = gossip
        self._sync = sync
        self._holder = holder
        self._settings = settings
        self._known = b""  # the digest that those who agree have told
        self._agreeing: set[str] = set()
        self._repairs: dict[str, tuple[float, float]] = {}  # who disagrees: when to ask it, and the pause
        self._kept = memory.newcomers()
        self._ask_at = inf
        is_new = not is_first and not own.is_remembered
        members.settle(members.newcomers - self._kept - ({self._me} if is_new else set()))

    def wake_at(self) -> float:
        return self._ask_at

    def wake(self, now: float) -> None:
        """Ask some of the members that have not yet told our digest, or that are to be witnesses."""
        if now < self._ask_at:
            return
        self._settle(now)
        is_settled, is_licensed = not self._members.newcomers, self._holder.until > now
        self._ask_at = inf if is_settled and is_licensed else now + self._settings.probe_interval_s
        others = [peer for peer in self._others.all() if is_settled or peer not in self._agreeing]
        for peer in self._others.some_of(others, ASKED_MAX):
            self._gossip.tell(peer, self._prober.ask(peer, now))

    def hear(self, peer: str, known: bytes, now: float) -> None:
        """Note whether a member knows the ids that we know."""
        self.follow(now)
        if known in (b"", self._known):
            self._agreeing.add(peer)
            self._repairs.pop(peer, None)
            self._settle(now)
            return
        self._agreeing.discard(peer)
        at, pause_s = self._repairs.setdefault(peer, (now + self._settings.news_s, self._settings.news_s))
        if now >= at:
            pause_s = min(2 * pause_s, self._settings.sync_interval_s)
            self._repairs[peer] = now + pause_s, pause_s
            self._sync.ask(peer)

    def hear_first(self, members: tuple[Rumour, ...], newcomers: tuple[str, ...]) -> None:
        """Count the members that another one counts, as long as only this peer is counted here."""
        if not self._members.settled() - {self._me}:
            told = {rumour.record.peer for rumour in members}
            self._members.settle(told.difference(newcomers))

    def follow(self, now: float) -> None:
        """Begin anew when there is a member new to us; remember which members are newcomers no more."""
        if self._known != self._members.known_digest:
            self._known = self._members.known_digest
            self._agreeing.clear()
            self._repairs.clear()
            self._holder.note_known()
            if self._others.all():
                self._ask_at = min(self._ask_at, now + self._settings.gossip_interval_s)  # news needs that
            self._settle(now)
        if self._kept != self._members.newcomers:
            self._kept = self._members.newcomers
            self._memory.keep_newcomers(self._kept)

    def _settle(self, now: float) -> None:
        members = self._members
        if not members.newcomers:
            return
        agreeing = {self._me, *self._agreeing.intersection(members.in_state(State.ALIVE))}
        if members.are_most(agreeing):
            members.settle(tuple(members.newcomers))
            self._holder.renew(now)
