"""How members that lost sight of each other, or of some news, come to believe the same again."""

from __future__ import annotations

from math import inf
from typing import Final

from mesh.membership.doors.doors import Doors
from mesh.membership.failures.prober import Prober
from mesh.membership.model.members import MemberList, State, is_live
from mesh.membership.model.others import Others
from mesh.membership.model.swim_settings import SwimSettings
from mesh.membership.model.turn_outbox import TurnOutbox
from mesh.membership.model.wire_messages import MembersTold, MembersWanted, Rumour, RumoursSpread
from mesh.membership.news.decree_dissemination import DecreeDissemination
from mesh.membership.news.gossip import Gossip
from mesh.membership.news.rumour_intake import RumourIntake

DOOR: Final = "door"  # teller of what is heard there; no peer is called so
DOUBTS_S: Final = 60.0  # in which a newcomer that hears one named door only tries the others
ALONE_PINGS: Final = 8  # dead members that one without live ones tries at a time


class AntiEntropy:
    """Exchanges all that is believed with one member now and then, and tries those held for dead."""

    def __init__(
        self,
        members: MemberList,
        others: Others,
        doors: Doors,
        prober: Prober,
        gossip: Gossip,
        intake: RumourIntake,
        decree_news: DecreeDissemination,
        outbox: TurnOutbox,
        settings: SwimSettings,
    ) -> None:
        self._members = members
        self._others = others
        self._doors = doors
        self._prober = prober
        self._gossip = gossip
        self._intake = intake
        self._decree_news = decree_news
        self._outbox = outbox
        self._settings = settings
        self._synchronise_at = inf
        self._is_synchronising = False  # as long as nobody has answered
        self._reconnect_at = inf
        self._greet_at = 0.0  # the next time a dead member that speaks may be sent the whole list
        self._heard: set[str] = set()  # members that have spoken to us
        self._doubts_until = inf

    def begin(self, synchronise_at: float, reconnect_at: float) -> None:
        """Do both for the first time at these times."""
        self._synchronise_at, self._reconnect_at = synchronise_at, reconnect_at
        self._doubts_until = reconnect_at + DOUBTS_S

    def wake_at(self) -> float:
        return min(self._synchronise_at, self._reconnect_at)

    def hear(self, known: Rumour, now: float) -> None:
        """A member speaks; with one that was held for dead, exchange all."""
        self._heard.add(known.record.peer)
        if known.state == State.DEAD and now >= self._greet_at:
            self._greet_at = now + self._settings.news_s
            self.ask(known.record.peer)

    def show_past(self, known: Rumour) -> None:
        """Tell a member that spoke, and is held for dead no more, the rumour that it was held for dead."""
        if known.state == State.DEAD and known != self._members.get(known.record.peer):
            self._outbox.send(known.record.peer, RumoursSpread((known,)))

    def wake(self, now: float) -> None:
        self._reconnect(now)
        self._synchronise(now)

    def end_synchronising(self, now: float) -> None:
        """Complete an exchange, and look for members that may have lost sight of the mesh."""
        if self._is_synchronising:
            self._is_synchronising = False
            self._synchronise_at = now + self._settings.sync_interval_s
            self._doors.knock_at_lost()

    def synchronise_with(self, candidates: list[str]) -> None:
        """Exchange all with one of these."""
        for peer in self._others.some_of(candidates, 1):
            self.ask(peer)

    def hear_door(self, members: tuple[Rumour, ...], now: float) -> None:
        """We, a member, knocked as the door's opener was held for dead; telling that side lets it refute."""
        self._intake.learn_all(members, now, teller=DOOR, is_news=False)
        believed = {rumour.record.peer for rumour in members if is_live(rumour)}
        returned = [peer for peer in self._members.in_state(State.DEAD) if peer in believed]
        self.synchronise_with(returned or self._others.all())

    def answer(self, peer: str, believed: bytes, *, has_caught_up: bool) -> None:
        """Tell a member that has asked so all that is believed here, or that it believes the same.

        Args:
          believed: the digest of what it believes; empty of one that wants all.
        """
        if believed not in (b"", self._members.believed_digest):
            self.ask(peer)
            return
        members = () if believed else tuple(self._members)
        about_all, newcomers = self._decree_news.about_all(), tuple(sorted(self._members.newcomers))
        self._outbox.send(peer, MembersTold(members, about_all, has_caught_up, newcomers))
        self._decree_news.name_all(peer)

    def ask(self, peer: str) -> None:
        """Exchange all with this member."""
        self._outbox.send(peer, MembersWanted(tuple(self._members)))
        self._decree_news.name_all(peer)

    def _reconnect(self, now: float) -> None:
        """Ping a dead member; the ping says that it is held for dead, so it refutes if it is not.

        A member that hears nobody tries harder: whether all others died, or moved, or it was cut off
        itself, it cannot tell. Nor can a newcomer that hears nobody but behind the door that let it in.
        """
        if now < self._reconnect_at:
            return
        self._reconnect_at = now + self._settings.reconnect_interval_s
        is_alone = not self._others.all() or not self._heard
        dead = self._members.in_state(State.DEAD)
        for peer in self._others.some_of(dead, ALONE_PINGS if is_alone else 1):
            self._gossip.tell(peer, self._prober.ping())
        if is_alone:
            self._doors.knock_at_any()
        elif now < self._doubts_until:
            self._doors.knock_at_unheard(self._heard)

    def _synchronise(self, now: float) -> None:
        """Exchange all with one member, if it believes anything else; soon with another without an answer.

        Where there was never anybody else, who comes asks first.
        """
        if now < self._synchronise_at:
            return
        is_only_one = now >= self._doubts_until and len(self._members) < 2
        settings = self._settings
        self._synchronise_at = now + (
            settings.reconnect_interval_s if is_only_one else settings.probe_interval_s
        )
        self._is_synchronising = True
        for peer in self._others.some_of(self._others.all(), 1):
            if self._members.newcomers:  # what others count is of use, too
                self.ask(peer)
            else:
                self._outbox.send(peer, MembersWanted((), self._members.believed_digest))
                self._decree_news.name_all(peer)
