"""Which rumours are believed, and the immediate effects of each."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from math import inf

from msgspec.structs import replace

from mesh.keys.decree import Decree, number_of
from mesh.membership.failures.suspicions import Suspicions
from mesh.membership.model.connections import Connections
from mesh.membership.model.credentials import Credentials
from mesh.membership.model.members import MemberList, State, beats, is_live
from mesh.membership.model.memory import Memory
from mesh.membership.model.rumours import RumourQueue
from mesh.membership.model.wire_messages import MEMBERS_MAX, MemberRecord, Rumour
from mesh.membership.news.hearsay import Hearsay, first_hand
from mesh.membership.own.queues import Queues
from mesh.membership.own.refutation import Refutation


class RumourIntake:
    """Puts rumours into the list of members, and the new ones among them into the news."""

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
        refutation: Refutation,
    ) -> None:
        self.n_refused = 0  # count: records that were forged, of another key, or beyond the limit
        self.n_false_suspicions = 0  # count: suspects that turned out to be alive
        self.hearsay = Hearsay()
        self._struck: dict[str, int] = {}  # by member that is written off, up to which incarnation
        self._expelled: frozenset[str] = frozenset()
        self._ends_at = -inf  # mesh clock; the next certificate ends then, or it is to be found out when
        self._me = me
        self._members = members
        self._rumours = rumours
        self._memory = memory
        self._credentials = credentials
        self._suspicions = suspicions
        self._connections = connections
        self._queues = queues
        self._refutation = refutation

    def learn_all(
        self, rumours: Iterable[Rumour], now: float, *, teller: str = "", is_news: bool = True
    ) -> None:
        for rumour in rumours:
            self.learn(rumour, now, teller=teller, is_news=is_news)

    def learn(self, rumour: Rumour, now: float, *, teller: str = "", is_news: bool = True) -> None:
        """Believe a rumour if it is newer than the present belief and its record is genuine.

        Args:
          teller: the member that told it, whose word alone is not enough for everything (`hearsay`); "" when
            we found it out ourselves, or it is the first that we hear of the mesh.
          is_news: whether others may not have heard it.
        """
        if rumour.record.peer == self._me:
            self._refutation.hear(rumour, now)
            return
        rumour = first_hand(rumour, teller)
        known = self._members.get(rumour.record.peer)
        if known is not None and not beats(rumour, known):
            self._hear_accusers(rumour, known, now)
            return
        if not self._is_acceptable(rumour.record, known):
            self.n_refused += 1
            return
        rumour = self._settled(rumour, known, teller, now)
        self._ends_at = min(self._ends_at, self._credentials.grant_of(rumour.record).valid_until)
        if known is None or beats(rumour, known):
            self._believe(rumour, known, now, is_news=is_news)
        else:
            self._hear_accusers(rumour, known, now)

    def note_struck(self, decrees: Mapping[str, Decree], now: float) -> None:
        """Learn which members are written off by decree."""
        self._struck = {peer: number_of(decree) for peer, decree in decrees.items()}

    def note_expelled(self, decrees: Mapping[str, Decree], now: float) -> None:
        """Learn which members are expelled by decree, and have nothing to do with them from now on."""
        self._expelled = frozenset(decrees)
        for peer in decrees:
            known = self._members.get(peer)
            if known is not None and known.state != State.LEFT and peer != self._me:
                self._believe(Rumour(known.record, State.LEFT), known, now, is_news=True)
        if self._me in self._expelled:
            self._refutation.concede(lambda record: self.why_not(record, now))

    def why_not(self, record: MemberRecord, now: float) -> str:
        """Tell why the peer with this genuine record is no member any more, "" when it is one."""
        if record.peer in self._expelled:
            return f"peer {record.peer} was expelled from the mesh: it takes new keys and a new certificate"
        if self._credentials.grant_of(record).valid_until <= now:
            return f"the certificate of peer {record.peer} has ended: the holder of the root key can renew it"
        return ""

    def why_not_new(self, record: MemberRecord, now: float) -> str:
        """Tell why the peer with this genuine record may not come in here, "" when it may."""
        if self._members.get(record.peer) is None and self._credentials.joins_until(record) <= now:
            return (
                f"the invitation of peer {record.peer} has ended: ask for another one, "
                "which `tianmesh invite` makes"
            )
        return self.why_not(record, now)

    def strike_off(self, now: float) -> None:
        """Hold members for gone if their certificates have ended, or if they are dead and written off."""
        if now >= self._ends_at:
            self._end_certificates(now)
        self._write_off(now)

    def _end_certificates(self, now: float) -> None:
        remaining = [self._members.get(peer) for peer in self._members.remaining() if peer != self._me]
        for known in filter(None, remaining):
            if self._credentials.grant_of(known.record).valid_until <= now:
                self._believe(Rumour(known.record, State.LEFT), known, now, is_news=False)
        there = (self._members.get(peer) for peer in self._members.remaining() if peer != self._me)
        ends = (self._credentials.grant_of(known.record).valid_until for known in filter(None, there))
        self._ends_at = min(ends, default=inf)

    def _write_off(self, now: float) -> None:
        """Only with most members in sight: a side without them would become most by writing off others."""
        for peer in self._struck:
            known = self._members.get(peer)
            if known is None or known.state != State.DEAD or not self._is_struck(known.record):
                continue
            if self._members.has_majority():
                self._believe(Rumour(known.record, State.LEFT), known, now, is_news=True)

    def _settled(self, rumour: Rumour, known: Rumour | None, teller: str, now: float) -> Rumour:
        """Return the belief for a rumour: that a member has left takes its own word, or a decree."""
        record = rumour.record
        state = State.LEFT if self.why_not(record, now) else max(rumour.state, record.parting)
        is_left = record.parting == State.LEFT or self._is_struck(record) or self.why_not(record, now)
        if state == State.LEFT and not is_left:
            self.n_refused += 1
            state = known.state if known is not None and known.record == record else State.ALIVE
        rumour = replace(rumour, state=state)
        if not teller or teller == record.peer:
            return rumour
        is_due = self._suspicions.may_be_due(record.peer, now)
        return self.hearsay.weighed(rumour, known, teller, now, len(self._members), is_due=is_due)

    def _is_struck(self, record: MemberRecord) -> bool:
        return record.incarnation <= self._struck.get(record.peer, -1)

    def _believe(self, rumour: Rumour, known: Rumour | None, now: float, *, is_news: bool) -> None:
        self._members.merge(rumour)
        self._follow(rumour, known, now)
        self._memory.keep(rumour)
        if is_news:
            self._rumours.put(rumour)

    def _hear_accusers(self, rumour: Rumour, known: Rumour, now: float) -> None:
        """Note further members that found a suspect silent, and tell others."""
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
        """Have timers, queues and sockets follow the new belief about a member."""
        self._follow_suspicion(rumour, now)
        if not is_live(rumour):
            self._queues.forget(rumour.record.peer)
        self._connections.follow(rumour, known)

    def _follow_suspicion(self, rumour: Rumour, now: float) -> None:
        peer = rumour.record.peer
        if rumour.state == State.DEAD:
            self._suspicions.end_in_death(peer, now)
            self.hearsay.forget(peer)
            return
        was_suspect = self._suspicions.end(peer)
        if rumour.state == State.SUSPECT:
            self._suspicions.accuse(peer, rumour.accusers, now, len(self._members.live()))
        else:
            self.hearsay.forget(peer)
            self.n_false_suspicions += was_suspect and rumour.state == State.ALIVE
