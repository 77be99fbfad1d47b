"""Which rumours are believed, and what follows from each at once."""

from __future__ import annotations

from collections.abc import Iterable

from mesh.credentials import Credentials
from mesh.membership.connections import Connections
from mesh.membership.members import MemberList, State, beats, is_live
from mesh.membership.memory import Memory
from mesh.membership.queues import Queues
from mesh.membership.refuting import Refuting
from mesh.membership.rumours import RumourQueue
from mesh.membership.suspicions import Suspicions
from mesh.membership.wire_messages import MEMBERS_MAX, MemberRecord, Rumour


class Learning:
    """Puts rumours into the list of members, and what was new among them into the news."""

    def __init__(
        self,
        me: str,
        members: MemberList,
        rumours: RumourQueue,
        memory: Memory,
        credentials: Credentials,
        suspicions: Suspicions,
        connections: Connections,
        queues: Queues,
        refuting: Refuting,
    ) -> None:
        self.n_refused = 0  # count: records that were forged, of another key, or beyond the limit
        self.n_false_suspicions = 0  # count: suspects that turned out to be alive
        self._me = me
        self._members = members
        self._rumours = rumours
        self._memory = memory
        self._credentials = credentials
        self._suspicions = suspicions
        self._connections = connections
        self._queues = queues
        self._refuting = refuting

    def learn_all(self, rumours: Iterable[Rumour], now: float, *, is_news: bool = True) -> None:
        for rumour in rumours:
            self.learn(rumour, now, is_news=is_news)

    def learn(self, rumour: Rumour, now: float, *, is_news: bool = True) -> None:
        """Believe a rumour if it is newer than what is believed and its record is genuine.

        Args:
          is_news: whether others may not have heard it.
        """
        record = rumour.record
        if record.peer == self._me:
            self._refuting.hear(rumour, now)
            return
        known = self._members.get(record.peer)
        if known is not None and not beats(rumour, known):
            self._hear_accusers(rumour, known, now)
            return
        if not self._is_acceptable(record, known):
            self.n_refused += 1
            return
        self._members.merge(rumour)
        self._follow(rumour, known, now)
        self._memory.keep(rumour)
        if is_news:
            self._rumours.put(rumour)

    def _hear_accusers(self, rumour: Rumour, known: Rumour, now: float) -> None:
        """Take note of who else found a suspect silent, and tell."""
        if known.state != State.SUSPECT or rumour.state != State.SUSPECT or rumour.record != known.record:
            return
        peer = known.record.peer
        if self._suspicions.accuse(peer, rumour.accusers, now, len(self._members.live())):
            self._rumours.put(Rumour(known.record, State.SUSPECT, self._suspicions.accusers_of(peer)))

    def _is_acceptable(self, record: MemberRecord, known: Rumour | None) -> bool:
        if known is None:
            return len(self._members) < MEMBERS_MAX and self._credentials.is_genuine(record)
        if known.record == record:
            return True  # judged before
        return known.record.curve_key == record.curve_key and self._credentials.is_genuine(record)

    def _follow(self, rumour: Rumour, known: Rumour | None, now: float) -> None:
        """Have timers, queues and sockets follow what is now believed of a member."""
        self._follow_suspicion(rumour, now)
        if not is_live(rumour):
            self._queues.forget(rumour.record.peer)
        self._connections.follow(rumour, known)

    def _follow_suspicion(self, rumour: Rumour, now: float) -> None:
        peer = rumour.record.peer
        if rumour.state == State.DEAD:
            self._suspicions.end_in_death(peer, now)
            return
        was_suspect = self._suspicions.end(peer)
        if rumour.state == State.SUSPECT:
            self._suspicions.accuse(peer, rumour.accusers, now, len(self._members.live()))
        elif was_suspect and rumour.state == State.ALIVE:
            self.n_false_suspicions += 1
