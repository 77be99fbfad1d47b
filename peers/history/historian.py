"""The actor that remembers the states of its peer, and the events of it and of the members it sees.

Counters come as totals of the process; what was counted between two looks is their difference, so it matters
little whether a look is late, and not at all when the process began. Of members it asks the membership at
every look; the policy in force it is told as others are.
"""

from __future__ import annotations

from collections import Counter
from itertools import chain
from typing import ClassVar, Final

import msgspec
from msgspec.structs import replace

from mesh.actors.actor import Actor, Address, Message, Send, Statistics
from mesh.actors.ownership import OwnershipChanged
from mesh.errors import LocalProtocolError
from mesh.membership.model.members import State
from mesh.membership.model.messages import DecreesInForce
from mesh.membership.model.wire_messages import MembersTold, MembersWanted, Rumour
from mesh.tables.table import Table, TableSection
from peers.history.event import Event, PeerCondition, continued, events_between
from peers.history.messages import Happened, VitalsTaken
from peers.history.sample import Counts, grown
from peers.history.series import Level, Series, level_for
from peers.history.wire_messages import EVENTS_TOLD_MAX, SAMPLES_MAX, HistoryTold, HistoryWanted
from peers.policy.decreed import number_of, policy_of
from peers.policy.rules import Action

_SERIES: Final = b"s"  # sections of its table
_EVENTS: Final = b"e"
_KNOWN: Final = b"k"  # key of what it knew when it last told of a member or a policy


class _Known(msgspec.Struct, frozen=True):
    """The facts that were told of before, so that they are not told again after a start."""

    members: dict[str, State] = {}
    policy_number: int = 0
    taken_down: int = 0


class HistorianStatistics(Statistics, frozen=True):
    """Counts since the start."""

    looks: int = 0
    events: int = 0
    told: int = 0  # times that a gateway was answered


class Historian(Actor):
    """Neighbours: meter, membership, the gateways that ask."""

    name: ClassVar[str] = "historian"
    remote_messages: ClassVar[frozenset[type[Message]]] = frozenset({HistoryWanted})

    def __init__(self, me: str, table: Table) -> None:
        """Take up all that the table remembers."""
        self._me = me
        self._table = table
        self._series = Series(TableSection(table, _SERIES))
        self._log = EventLog(TableSection(table, _EVENTS))
        known = table.get(_KNOWN)
        self._is_new = known is None  # on its first day everybody is new to it, which is no news
        self._known = _Known() if known is None else msgspec.msgpack.decode(known, type=_Known)
        self._policy_number, self._taken_down = self._known.policy_number, self._known.taken_down
        self._standing = PeerCondition(
            members=self._known.members,
            policy_number=self._known.policy_number,
            taken_down=self._known.taken_down,
        )
        self._seen: PeerCondition | None = None  # the last one told, before the members are known
        self._counters = Counts()
        self._looked_at = 0.0
        # By level, until the next look: whoever asks often costs no more than one who asks once.
        self._answers: dict[Level, HistoryTold] = {}
        self._n_looks = self._n_events = self._n_told = 0

    def receive(self, source: Address, message: Message, now: float) -> list[Send]:
        match message:
            case VitalsTaken():
                return self._look(message, now)
            case MembersTold(members) if source == Address(self._me, "membership"):
                return self._tell_events(members, now)
            case HistoryWanted(request, span_s):
                return [Send(source, self._answer(request, span_s, now))]
            case DecreesInForce():
                self._hear_policy(message)
                return []
            case OwnershipChanged():
                return []  # the next look shows what has come of it
            case _:
                raise LocalProtocolError(f"the historian got {type(message).__name__} from {source}")

    def observe(self) -> HistorianStatistics:
        return HistorianStatistics(self._n_looks, self._n_events, self._n_told)

    def _look(self, vitals: VitalsTaken, now: float) -> list[Send]:
        counted = grown(vitals.counters, self._counters)
        self._counters = vitals.counters
        if self._n_looks:  # how long the first took is not known
            self._series.note(now, max(now - self._looked_at, 0.0), counted, vitals.gauges)
        self._n_looks += 1
        self._looked_at = now
        self._answers.clear()
        if not vitals.has_joined:
            return []
        self._seen = vitals.standing
        return [Send(Address(self._me, "membership"), MembersWanted(()))]

    def _tell_events(self, members: tuple[Rumour, ...], now: float) -> list[Send]:
        if self._seen is None:
            return []
        states = {each.record.peer: State(each.state) for each in members if each.record.peer != self._me}
        standing = replace(
            self._seen,
            at_s=now,
            members=states,
            policy_number=self._policy_number,
            taken_down=self._taken_down,
        )
        if self._is_new:
            self._standing, self._is_new = replace(self._standing, members=states), False
        before, self._standing = self._standing, continued(self._standing, standing)
        events = events_between(before, self._standing)
        for event in events:
            self._log.add(event)
        self._n_events += len(events)
        self._keep_known()
        return [Send(Address(self._me, "meter"), Happened(event)) for event in events]

    def _keep_known(self) -> None:
        standing = self._standing
        known = _Known(dict(standing.members), standing.policy_number, standing.taken_down)
        if known != self._known or self._table.get(_KNOWN) is None:
            self._known = known
            self._table.put(_KNOWN, msgspec.msgpack.encode(known))

    def _hear_policy(self, message: DecreesInForce) -> None:
        number, policy = number_of(message), policy_of(message)
        self._policy_number = self._policy_number if number is None else number
        if policy is not None:
            self._taken_down = sum(rule.action is Action.TAKE_DOWN for rule in policy.rules)

    def _answer(self, request: int, span_s: float, now: float) -> HistoryTold:
        self._n_told += 1
        level = level_for(span_s)
        told = self._answers.get(level)
        if told is None:
            samples = tuple(self._series.last(now, level)[-SAMPLES_MAX:])
            events = self._log.since(now - level.reach_s, EVENTS_TOLD_MAX)
            standing = self._standing
            told = HistoryTold(request, samples, events, standing.wanted_since_s, standing.wanted_most)
            self._answers[level] = told
        return replace(told, request=request)


EVENTS_MAX: Final = 500
EVENTS_OF_MEMBER_MAX: Final = 50  # who comes and goes all the time shall not push out all else
EVENT_S_MAX: Final = 90 * 86_400.0
_KEY_BYTES: Final = 6

_encoder: Final = msgspec.msgpack.Encoder()
_decoder: Final = msgspec.msgpack.Decoder(Event)


class EventLog:
    """The last events of a peer, in its table: by number, oldest first."""

    def __init__(self, table: Table) -> None:
        """Take up the events in the table."""
        self._table = table
        self._events = {int.from_bytes(key, "big"): _decoder.decode(row) for key, row in table.scan(b"")}
        self._next = max(self._events, default=-1) + 1

    def add(self, event: Event) -> None:
        """Keep one more event, and forget those that are too many or too old."""
        number, self._next = self._next, self._next + 1
        self._events[number] = event
        self._table.put(number.to_bytes(_KEY_BYTES, "big"), _encoder.encode(event))
        for old in self._superfluous(event):
            del self._events[old]
            self._table.delete(old.to_bytes(_KEY_BYTES, "big"))

    def since(self, at_s: float, most: int) -> tuple[Event, ...]:
        """Tell the last so many of those since a time, oldest first."""
        return tuple(event for event in self._events.values() if event.at_s >= at_s)[-most:]

    def _superfluous(self, newest: Event) -> list[int]:
        too_old = [number for number, event in self._events.items() if event.at_s < newest.at_s - EVENT_S_MAX]
        about = Counter(event.peer for event in self._events.values())
        of_member: list[int] = []
        if newest.peer and about[newest.peer] > EVENTS_OF_MEMBER_MAX:
            of_member = [next(n for n, event in self._events.items() if event.peer == newest.peer)]
        n_left = len(self._events) - len({*too_old, *of_member})
        oldest = [] if n_left <= EVENTS_MAX else [next(n for n in self._events if n not in of_member)]
        return list(dict.fromkeys(chain(too_old, of_member, oldest)))
