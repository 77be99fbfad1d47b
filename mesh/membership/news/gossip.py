"""News of members, told by itself or riding on pings, and corrections to members that have heard wrong."""

from __future__ import annotations

from math import inf

from msgspec.structs import replace

from mesh.membership.model.members import MemberList, State
from mesh.membership.model.others import Others
from mesh.membership.model.rumours import RumourQueue
from mesh.membership.model.swim_settings import SwimSettings
from mesh.membership.model.turn_outbox import TurnOutbox
from mesh.membership.model.wire_messages import (
    GOSSIP_MAX,
    Ping,
    PingAnswered,
    PingRequested,
    Rumour,
    RumoursSpread,
)
from mesh.membership.news.rumour_intake import RumourIntake
from mesh.membership.own.lifecycle import Lifecycle
from mesh.membership.own.own_record import OwnRecord
from mesh.membership.own.queues import Queues


class Gossip:
    """Tells news while there is any, and hears that of others."""

    def __init__(
        self,
        own: OwnRecord,
        members: MemberList,
        others: Others,
        rumours: RumourQueue,
        queues: Queues,
        intake: RumourIntake,
        lifecycle: Lifecycle,
        outbox: TurnOutbox,
        settings: SwimSettings,
    ) -> None:
        self._own = own
        self._members = members
        self._others = others
        self._rumours = rumours
        self._queues = queues
        self._intake = intake
        self._lifecycle = lifecycle
        self._outbox = outbox
        self._settings = settings
        self._spread_at = 0.0

    def wake_at(self) -> float:
        return self._spread_at if self._rumours and self._lifecycle.is_member else inf

    def spread(self, now: float) -> None:
        """Tell a few members the news."""
        if not self._rumours or now < self._spread_at or not self._lifecycle.is_member:
            return
        self._spread_at = now + self._settings.gossip_interval_s
        others = self._others.all()
        if not others:
            self._rumours.clear()  # whoever turns up is told everything, news and not
        for peer in self._others.some_of(others, self._settings.gossip_fanout):
            news = self._news_for(peer)
            if news:
                self._outbox.send(peer, RumoursSpread(news))

    def tell(self, peer: str, message: Ping | PingAnswered | PingRequested) -> None:
        """Send a message of the failure detector, with news riding on it."""
        news = self._news_for(peer)
        if isinstance(message, PingRequested):
            self._outbox.send(peer, replace(message, gossip=news))
        else:
            own, known = self._queues.own, self._members.known_digest
            told = replace(message, gossip=news, queue=own.length, pages=own.pages, known=known)
            self._outbox.send(peer, told)

    def hear(self, teller: str, rumours: tuple[Rumour, ...], now: float) -> None:
        """Learn, and correct the teller about members that have refuted the bad news it tells of them.

        Their refutation may have got lost on its way to it, and is not spread any more.
        """
        self._lifecycle.unreachable = ""  # whoever says so, this has reached us
        self._intake.learn_all(rumours, now, teller=teller)
        corrections = [
            known
            for rumour in rumours
            if rumour.state in (State.SUSPECT, State.DEAD)
            and (known := self._members.get(rumour.record.peer)) is not None
            and known.record.incarnation > rumour.record.incarnation
        ]
        if corrections:
            self._outbox.send(teller, RumoursSpread(tuple(corrections[:GOSSIP_MAX])))

    def _news_for(self, peer: str) -> tuple[Rumour, ...]:
        """Return the news for one message; bad news of the receiver comes first, for it to refute.

        A receiver held for dead may know us by an older record, so it is told where we are, too.
        Source: Dadgar, Phillips, Currey 2018 (Lifeguard), the buddy system.
        """
        transmissions_max = self._settings.transmissions_max(len(self._members.live()))
        known = self._members.get(peer)
        if known is None or known.state == State.ALIVE:
            return self._rumours.take(GOSSIP_MAX, transmissions_max)
        news = self._rumours.take(GOSSIP_MAX - 2, transmissions_max)
        told = (known, self._own.rumour)
        return told + tuple(rumour for rumour in news if rumour.record.peer not in (peer, self._own.peer))
