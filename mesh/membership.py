"""The actor that knows who belongs to the mesh: admission, failure detection, gossip, slot table.

Theory of operation
===================
*SWIM.* Every interval a member pings one other; without an answer it asks three members to try; without
any it calls the member a suspect, and, if nobody takes that back in time, dead (`prober`, `suspicions`).
What is believed of a member is a rumour (`members`); news rides on pings and is spread by itself while
there is any (`rumours`). Every 30 s two members exchange all they believe, which repairs whatever gossip
missed. Messages per member and second do not depend on the size of the mesh.

*Self-distrust* (Lifeguard). A member whose helpers do not answer either, that has to take back what is
said of it, or that wakes late, waits longer before it accuses others (`local_health`). A suspect has longer
while a single member accuses it. Who wakes late counts no probe that was under way and gives its
suspects as long as it stood still, for their answers may be waiting in its inbox.

*Tables.* The slot tables follow from the records of the live members, suspects among them (`ownership`).
Who is dead or has left is in neither. A newcomer has its weight at once, and a serving weight of 0 until its
handover says that it has what belongs to its slots (`ServeSlots`). How slots change hands without two
peers crawling one is the business of `peers/handover`; the membership gives it two guarantees: what a
*licence* is (`licence`), and `HoldingsRevoked` as soon as this peer learns that most may have held it for
dead.

*Joining.* A stranger knocks at the doors of bootstrap nodes. Any member with a majority lets it in; one
without might make itself a majority of strangers. When no door answers, a peer that was a member before
goes on with those it knew. A member knocks again now and then at the doors of the dead, who may be back
without their memory or with another address.

*Healing.* A member tries one dead member every few seconds, and tells everybody it hears from what bad
it believes of them, so that they refute. A dead member that speaks is sent the whole list: so the two
sides of a partition find together by the first message that gets through, and each learns what it was
held for.

*Going.* A leaver says that it has left and is dropped from the tables and from the count of the majority;
that nothing is lost is for who orders it to see to, by draining first. One that stops says that it is dead,
so that its standbys take over at once. The dead are remembered and count for the majority. A machine that
never comes back is written off by an order (`DrainPeer`): then it has left.

*Weights.* A peer writes its own: what a person wants, 0 while it is drained, more or less by the
lengths of the queues (`balance`), which ride on pings.

Every record is written and signed by its peer alone, so others can deny that a member is alive, which it
refutes, and nothing else. What a record says of its own peer is not doubted here.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import inf
from typing import TYPE_CHECKING, Final

import msgspec
from msgspec.structs import replace

from mesh.actor import Actor, Address, Message, Send, Statistics
from mesh.admission import refusal_of
from mesh.balance import BalanceSettings, Share, weight_for
from mesh.config import MeshConfig
from mesh.credentials import Credentials
from mesh.errors import ConfigError, LocalProtocolError
from mesh.joiner import Door, Joiner
from mesh.licence import Licence, has_majority
from mesh.members import MemberList, State, beats, is_live
from mesh.membership_messages import (
    AnswerDoor,
    ConnectPeer,
    CrawlLicensed,
    DisconnectPeer,
    DoorKnocked,
    HoldingsRevoked,
    Knock,
    Knocked,
    LeaveMesh,
    MembershipEnded,
    MembershipRefused,
    QueueMeasured,
    ServeSlots,
    StopMembership,
)
from mesh.messages import (
    GOSSIP_MAX,
    MEMBERS_MAX,
    DrainPeer,
    JoinMesh,
    JoinRefused,
    MemberRecord,
    MembersTold,
    MembersWanted,
    Ping,
    PingAnswered,
    PingRequested,
    Rumour,
    RumoursSpread,
    Welcomed,
)
from mesh.ownership import Ownership, OwnershipChanged
from mesh.prober import Prober
from mesh.rumours import RumourQueue
from mesh.slots import SlotTable, slot_table
from mesh.suspicions import Suspicions
from mesh.swim_settings import SwimSettings
from mesh.table import Table

if TYPE_CHECKING:
    from random import Random

# Until others have heard of us and let us in; to probe them sooner would make suspects.
GRACE_S: Final = 1.0

BALANCE_CHECK_S: Final = 5.0  # between two looks at the queues; hearing all of a large mesh takes longer

ALONE_PINGS: Final = 8  # dead members that one without live ones tries at a time

# Times that a member hears itself say what it did not say, before it concludes that its key is in use
# twice. Once or twice can happen to a peer that lost its disk while old news of it is under way.
ECHOES_MAX: Final = 5
# A member that came less long ago concludes it at once when what it hears is of another address: its former
# life can have said nothing newer than what it said itself when it came.
NEWCOMER_S: Final = 25.0

FAREWELLS: Final = 4  # members told at once by one that goes; they tell the rest

_ME: Final = b"me"  # key of our own record
_MEMBER: Final = b"member/"  # prefix of the keys of rumours about the others


class MembershipStatistics(Statistics, frozen=True):
    """What the membership lets be seen: gauges first, then counters since the start."""

    is_member: bool
    alive: int  # this peer included, as in the three below
    suspect: int
    dead: int
    left: int
    incarnation: int  # of our own record
    weight: int
    weight_wanted: int  # by the person who configured this peer; the queues may have changed it for a while
    serving: int
    is_draining: bool
    epoch: str  # hex, "" before the first
    refusal: str  # why the mesh does not want this peer, "" while it does
    has_majority: bool  # whether most of the members known are live
    licence_until: float  # mesh clock; no fetch is begun from then on
    distrust: int  # factor by which it waits longer for others since it has reason to doubt itself
    messages_sent: int  # to other members
    messages_received: int  # from other members
    refutations: int  # rumours about this peer that it took back
    false_suspicions: int  # suspects that turned out to be alive
    holdings_revoked: int  # times that it may have been held for dead
    stalls: int  # times that it woke much too late
    joins_admitted: int  # at the door of this peer
    joins_refused: int
    records_refused: int  # forged, of another key, or beyond the limit of members
    strangers_refused: int  # messages from who is no member


class Membership(Actor):
    """Actor of the membership. Neighbours: memberships, network, door, and who wants the ownership."""

    name = "membership"
    remote_messages = frozenset(
        {Ping, PingAnswered, PingRequested, MembersWanted, MembersTold, RumoursSpread, DrainPeer}
    )

    def __init__(
        self,
        record: MemberRecord,
        config: MeshConfig,
        random: Random,
        table: Table,
        credentials: Credentials,
        doors: Iterable[Door] = (),
        settings: SwimSettings | None = None,
        balance: BalanceSettings | None = None,
        listeners: tuple[str, ...] = (),
    ) -> None:
        """Begin as a stranger to the mesh, or as the member that the table remembers.

        Args:
          record: of this peer, with the weight it is willing to have; need not be signed.
          table: where the members and the own last record are kept between starts.
          doors: of bootstrap nodes; none makes this peer the first of its mesh.
          listeners: actors of this peer to be told of `OwnershipChanged`; of them the controller is told of
            its licence, too, and the handover when what it holds is void.

        Raises:
          ConfigError: the table belongs to another peer.
        """
        self.me = record.peer
        self._config = config
        self._random = random
        self._table = table
        self._credentials = credentials
        self._settings = settings or SwimSettings()
        self._balance = balance or BalanceSettings()
        self._here = {name: Address(self.me, name) for name in ("network", "door", *listeners)}
        self._listeners = listeners

        self._weight_wanted = record.weight
        self._members = MemberList()
        self._rumours = RumourQueue()
        self._prober = Prober(self._settings, random)
        self._suspicions = Suspicions(self._settings)
        self._licence = Licence(self.me, self._settings.licence_s)
        self._safe_from = 0  # incarnation; the licence was earned under it and has not run out since
        self._revoked_through = -1  # incarnation; what was held under it and those before is void
        remembered = self._read_members()
        self._is_known = remembered is not None  # this peer was a member before
        self._own = credentials.sign(_opening_record(record, remembered))
        self._members.merge(Rumour(self._own, State.ALIVE))
        self._bootstrap_doors = [door for door in doors if door.server_key != record.curve_key]
        self._joiner = Joiner(self._bootstrap_doors, self._settings, random)

        self._is_started = False
        self._is_member = False
        self._is_ended = False
        self._gossip_at = 0.0
        self._sync_at = inf
        self._is_synchronising = False  # as long as nobody has answered
        self._reconnect_at = inf
        self._queues: dict[str, QueueMeasured] = {}  # of all members that crawl, as far as we have heard
        self._empty_since_s = inf  # nothing was in any of them
        self._balance_at = inf
        self._weight_set_at = -inf  # when the queues last changed our weight
        self._awake_at = 0.0  # up to when it is settled whether we stood still
        self._greet_at = 0.0  # the next time a dead member that speaks may be sent the whole list
        self._refusal = ""
        self._member_since = -inf
        self._echoes = 0  # own words heard that were not ours
        self._ownership: Ownership | None = None
        self._has_changed = False  # the weights or who is alive, maybe, since the last ownership
        self._outbox: list[Send] = []
        self._counts = dict.fromkeys(
            (
                *("sent", "received", "refutations", "false_suspicions", "revoked", "stalls"),
                *("admitted", "refused", "records_refused", "strangers"),
            ),
            0,
        )

    # --- The actor -------------------------------------------------------------------------------

    def receive(self, source: Address, message: Message, now: float) -> list[Send]:
        self._start(now)
        self._notice_stall(now)
        if source.peer == self.me:
            self._receive_local(source, message, now)
        elif not self._is_ended:
            self._receive_remote(source.peer, message, now)
        return self._flush()

    def wake(self, now: float) -> list[Send]:
        self._start(now)
        self._notice_stall(now)
        if not self._is_ended:
            self._knock(now)
            self._probe(now)
            self._bury_suspects(now)
            self._reconnect(now)
            self._synchronise(now)
            self._spread(now)
            self._follow_queues(now)
        return self._flush()

    def wake_at(self) -> float:
        if not self._is_started:
            return 0.0
        if self._is_ended:
            return inf
        return min(
            self._joiner.wake_at(),
            self._prober.wake_at(),
            self._gossip_at if self._rumours and self._is_member else inf,
            self._sync_at,
            self._reconnect_at,
            self._balance_at,
            self._suspicions.wake_at(),
        )

    def observe(self) -> MembershipStatistics:
        states = [rumour.state for rumour in self._members]
        return MembershipStatistics(
            is_member=self._is_member,
            alive=states.count(State.ALIVE),
            suspect=states.count(State.SUSPECT),
            dead=states.count(State.DEAD),
            left=states.count(State.LEFT),
            incarnation=self._own.incarnation,
            weight=self._own.weight,
            weight_wanted=self._weight_wanted,
            serving=self._own.serving,
            is_draining=self._own.is_draining,
            epoch=self._ownership.epoch.hex() if self._ownership else "",
            refusal=self._refusal,
            has_majority=self._has_majority(),
            licence_until=self._licence.until,
            distrust=self._prober.health.distrust,
            messages_sent=self._counts["sent"],
            messages_received=self._counts["received"],
            refutations=self._counts["refutations"],
            false_suspicions=self._counts["false_suspicions"],
            holdings_revoked=self._counts["revoked"],
            stalls=self._counts["stalls"],
            joins_admitted=self._counts["admitted"],
            joins_refused=self._counts["refused"],
            records_refused=self._counts["records_refused"],
            strangers_refused=self._counts["strangers"],
        )

    def _receive_local(self, source: Address, message: Message, now: float) -> None:
        match message:
            case Knocked(answer):
                self._hear_door(answer, now)
            case DoorKnocked():
                self._admit(message, now)
            case ServeSlots():
                self._serve()
            case QueueMeasured():
                self._queues[self.me] = message
            case DrainPeer():
                self._drain(message, now)
            case MembersWanted():
                self._outbox.append(Send(source, MembersTold(tuple(self._members))))
            case LeaveMesh():
                self._end(source, State.LEFT)
            case StopMembership():
                self._end(source, State.DEAD)
            case _:
                raise LocalProtocolError(f"membership does not understand {type(message).__name__}")

    def _receive_remote(self, peer: str, message: Message, now: float) -> None:
        known = self._members.get(peer)
        if known is None or known.state == State.LEFT:
            self._counts["strangers"] += 1
            return
        self._counts["received"] += 1
        if known.state == State.DEAD:
            self._greet_returned(peer, now)
        match message:
            case Ping(sequence, gossip, queue, pages):
                self._queues[peer] = QueueMeasured(queue, pages)
                self._hear_gossip(peer, gossip, now)
                self._tell(peer, PingAnswered(sequence, self.me))
            case PingAnswered(_, _, gossip, queue, pages):
                self._queues[peer] = QueueMeasured(queue, pages)
                self._hear_gossip(peer, gossip, now)
                self._hear_answer(peer, message, now)
            case PingRequested(sequence, target, gossip):
                self._hear_gossip(peer, gossip, now)
                self._tell(peer, PingAnswered(sequence, self.me))
                self._ping_for(peer, target, message, now)
            case MembersWanted(members):
                self._learn_all(members, now)
                self._send(peer, MembersTold(tuple(self._members)))
            case MembersTold(members):
                self._hear_gossip(peer, members, now)
                self._end_synchronising(now)
            case RumoursSpread(gossip):
                self._hear_gossip(peer, gossip, now)
            case DrainPeer():
                self._drain(message, now)
            case _:
                raise LocalProtocolError(f"membership took a {type(message).__name__} of {peer}")
        if known.state == State.DEAD and known != self._members.get(peer):
            self._send(peer, RumoursSpread((known,)))  # it must learn what it was held for

    # --- Starting, joining, leaving ---------------------------------------------------------------

    def _start(self, now: float) -> None:
        if self._is_started:
            return
        self._is_started = True
        for rumour in self._members:
            if rumour.state != State.LEFT:
                self._connect(rumour.record)
            if rumour.state == State.SUSPECT:
                self._suspicions.accuse(rumour.record.peer, rumour.accusers, now, len(self._members))
        if self._joiner.has_doors:
            self._joiner.start(now)
        else:
            self._become_member(now)

    def _become_member(self, now: float) -> None:
        """Take part from now on, with the weight that is ours."""
        self._is_member = True
        self._member_since = now
        self._has_changed = True
        self._revoked_through = self._own.incarnation - 1  # in this life nothing is held yet
        self._renew_licence(now)
        if not self._licence.until:
            self._tell_licence()  # that there is none yet
        self._rumours.put(Rumour(self._own, State.ALIVE))
        self._save_own()
        # Random phases spread the load of a mesh that was started all at once.
        phase = self._random.random()
        settings = self._settings
        known_everywhere_at = now + GRACE_S + phase * settings.probe_interval_s
        self._prober.start(known_everywhere_at)
        self._sync_at = known_everywhere_at  # news that was sent to us before we were known is lost
        self._reconnect_at = now if self._is_known else now + phase * settings.reconnect_interval_s
        if self._balance.is_enabled and self._weight_wanted:
            self._balance_at = now + phase * BALANCE_CHECK_S

    def _knock(self, now: float) -> None:
        if self._joiner.has_waited_in_vain(now):
            self._hear_door(None, now)
        door = self._joiner.knocks(now)
        if door is not None:
            self._knock_at(door)

    def _knock_at(self, door: Door) -> None:
        join = JoinMesh(self._own, self._config.digest())
        self._outbox.append(Send(self._here["door"], Knock(door.endpoint, door.server_key, join)))

    def _knock_at_one_of(self, doors: list[Door]) -> None:
        """As a member, seek whom we lost sight of."""
        if doors:
            self._knock_at(self._random.choice(doors))

    def _doors(self) -> list[Door]:
        """All doors known but our own."""
        records = [rumour.record for rumour in self._members if rumour.record.peer != self.me]
        of_members = [Door(record.door, record.curve_key) for record in records if record.door]
        return list(dict.fromkeys((*self._bootstrap_doors, *of_members)))

    def _hear_door(self, answer: Welcomed | JoinRefused | None, now: float) -> None:
        if self._is_ended:
            return
        match answer:
            case Welcomed(members):
                self._be_welcomed(members, now)
            case JoinRefused(reason):
                self._be_refused(reason)
            case None:
                self._find_door_shut(now)

    def _be_welcomed(self, members: tuple[Rumour, ...], now: float) -> None:
        before = self._own
        for rumour in members:
            self._learn(rumour, now, is_news=False)
        if self._is_member:
            # We knocked because its opener was held for dead; telling it lets it refute.
            believed = {rumour.record.peer for rumour in members if is_live(rumour)}
            returned = [peer for peer in self._members.in_state(State.DEAD) if peer in believed]
            self._synchronise_with(returned or self._others())
        elif self._own != before:
            # They know a later life of ours, from before we lost our memory. Our new record beats that
            # one, and has to be told at the door: elsewhere we are not let in, if we are said to have left.
            self._joiner.start(now)
        else:
            opener = self._members.with_key(self._joiner.door.server_key)
            self._joiner.stop()
            self._become_member(now)
            self._synchronise_with([opener.record.peer] if opener else self._others())

    def _be_refused(self, reason: str) -> None:
        if not self._is_member:
            self._give_up(reason)

    def _give_up(self, reason: str) -> None:
        self._refusal = reason
        self._is_ended = True
        self._outbox.append(Send(self._here["network"], MembershipRefused(reason)))

    def _find_door_shut(self, now: float) -> None:
        if self._is_member:
            return
        if self._joiner.move_on(now) and self._is_known:
            self._joiner.stop()
            self._become_member(now)

    def _admit(self, knock: DoorKnocked, now: float) -> None:
        """Answer a stranger; who is no member, or has no majority, cannot, so it tries another door."""
        if not self._is_member or self._is_ended or not self._may_admit(knock.join.record.peer):
            return
        reason = refusal_of(
            knock.join,
            knock.curve_key,
            mesh_digest=self._config.digest(),
            members=self._members,
            credentials=self._credentials,
        )
        self._counts["refused" if reason else "admitted"] += 1
        if not reason:
            self._learn(Rumour(knock.join.record, State.ALIVE), now)
        answer = JoinRefused(reason) if reason else Welcomed(tuple(self._members))
        self._outbox.append(Send(self._here["door"], AnswerDoor(knock.handle, answer)))

    def _may_admit(self, peer: str) -> bool:
        """Whoever counts already may come in; newcomers might make a majority out of those who have none."""
        remaining = self._members.remaining()
        return peer in remaining or self._has_majority()

    def _serve(self) -> None:
        """What we answer for follows what we own."""
        if self._own.serving != self._own.weight and not self._is_ended:
            self._rewrite(replace(self._own, serving=self._own.weight))

    def _drain(self, order: DrainPeer, now: float) -> None:
        """Carry out the order, pass it on, or write off a member that is dead."""
        if order.peer in ("", self.me):
            self._set_draining(order.is_draining)
            return
        target = self._members.get(order.peer)
        if target is None:
            return
        if is_live(target):
            self._send(order.peer, order)
        elif target.state == State.DEAD and order.is_draining and self._has_majority():
            self._learn(Rumour(target.record, State.LEFT), now)

    def _set_draining(self, is_draining: bool) -> None:
        if self._own.is_draining != is_draining and not self._is_ended:
            weight = 0 if is_draining else self._weight_wanted
            self._rewrite(replace(self._own, weight=weight, is_draining=is_draining))

    def _has_majority(self) -> bool:
        """Are most members live, as far as is known? Suspects are, so that tables do not flap."""
        return has_majority(self._members.remaining(), self._members.live())

    def _count_missed(self) -> int:
        """How many are down that may have something of slots: who drains has, till it says that it leaves."""
        dead = [rumour.record for rumour in self._members if rumour.state == State.DEAD]
        return sum(record.weight > 0 or record.serving > 0 or record.is_draining for record in dead)

    def _end(self, source: Address, state: State) -> None:
        """Say that we have left, or are down for a while, and fall silent."""
        if self._is_member and not self._is_ended:
            farewell = Rumour(self._own, state)
            for peer in self._some_of(self._others(), FAREWELLS):
                self._send(peer, RumoursSpread((farewell,)))
        self._is_ended = True
        self._outbox.append(Send(source, MembershipEnded()))

    # --- Failure detection ------------------------------------------------------------------------

    def _notice_stall(self, now: float) -> None:
        """Hold it against nobody else that this process stood still."""
        stall_s = now - max(self.wake_at(), self._awake_at)
        self._awake_at = now
        if stall_s > self._settings.stall_s:
            self._counts["stalls"] += 1
            self._prober.health.worsen()
            self._prober.forget()
            self._suspicions.grant(stall_s, now)

    def _probe(self, now: float) -> None:
        others = self._others()
        for helper, request in self._prober.requests_due(now, others):
            self._tell(helper, request)
        for peer in self._prober.silent(now):
            self._accuse(peer, now)
        if not self._prober.is_due(now):
            return
        self._renew_licence(now)
        probe = self._prober.next_probe(now, others)
        if probe is not None:
            self._tell(*probe)

    def _accuse(self, peer: str, now: float) -> None:
        """Say that a member did not answer us."""
        known = self._members.get(peer)
        if known is not None and is_live(known):
            self._learn(Rumour(known.record, State.SUSPECT, (self.me,)), now)

    def _hear_answer(self, peer: str, answer: PingAnswered, now: float) -> None:
        """Take note that a ping of ours, or one made for another, has been answered."""
        relayed = self._prober.passed_on(answer)
        if relayed is not None:
            self._tell(*relayed)
        sent_at = self._prober.witnessed(peer, answer, now)
        is_doubted = any(rumour.record.peer == self.me and rumour.state for rumour in answer.gossip)
        if sent_at is not None and not is_doubted:
            self._licence.witness(peer, sent_at)
            self._renew_licence(now)

    def _renew_licence(self, now: float) -> None:
        """Tell the controller, if what we heard lets us crawl for longer; see `licence`.

        After a pause in which the others had time to hold us for dead nothing is certain that we held
        before, though nobody may have told us yet.
        """
        before = self._licence.until
        members, trusted = self._members.remaining(), self._members.in_state(State.ALIVE)
        if not self._licence.renew(members, trusted, self._suspicions.unclear_count(now), now):
            return
        if before <= now:
            # Its witnesses did not hold us for dead under this record, and who ever does so never takes
            # it back; under those before, anything may have been.
            self._safe_from = self._own.incarnation
        if 0.0 < before < now - (self._settings.suspicion_min_s - self._settings.licence_s):
            self._revoke_holdings()
        self._tell_licence()

    def _tell_licence(self) -> None:
        self._tell_here("controller", CrawlLicensed(self._licence.until))

    def _revoke_holdings(self) -> None:
        self._revoked_through = self._own.incarnation
        self._counts["revoked"] += 1
        self._tell_here("controller", HoldingsRevoked())  # before a licence that follows
        self._tell_here("handover", HoldingsRevoked())

    def _tell_here(self, listener: str, message: Message) -> None:
        if listener in self._listeners:
            self._outbox.append(Send(self._here[listener], message))

    def _ping_for(self, requester: str, target: str, request: PingRequested, now: float) -> None:
        known = self._members.get(target)
        if known is None or not is_live(known) or target == self.me:
            return
        ping = self._prober.relay(requester, request, now)
        if ping is not None:
            self._tell(target, ping)

    def _bury_suspects(self, now: float) -> None:
        for peer in self._suspicions.due(now):
            suspect = self._members.get(peer)
            assert suspect is not None, "only members are suspected"
            self._learn(Rumour(suspect.record, State.DEAD), now)

    def _reconnect(self, now: float) -> None:
        """Ping a dead member; the ping says that it is held for dead, so it refutes if it is not.

        A member that hears nobody tries harder: whether all others died, or moved, or it was cut off
        itself, it cannot tell.
        """
        if now < self._reconnect_at:
            return
        self._reconnect_at = now + self._settings.reconnect_interval_s
        is_alone = not self._others() or not self._counts["received"]
        for peer in self._some_of(self._members.in_state(State.DEAD), ALONE_PINGS if is_alone else 1):
            self._tell(peer, self._prober.ping())
        if is_alone:
            self._knock_at_one_of(self._doors())

    def _greet_returned(self, peer: str, now: float) -> None:
        """Exchange all with a member that speaks although it was held for dead."""
        if now < self._greet_at:
            return
        self._greet_at = now + self._settings.news_s
        self._send(peer, MembersWanted(tuple(self._members)))

    # --- Gossip -------------------------------------------------------------------------------------

    def _spread(self, now: float) -> None:
        if not self._rumours or now < self._gossip_at or not self._is_member:
            return
        self._gossip_at = now + self._settings.gossip_interval_s
        others = self._others()
        if not others:
            self._rumours.clear()  # whoever turns up is told everything, news and not
        for peer in self._some_of(others, self._settings.gossip_fanout):
            gossip = self._gossip_for(peer)
            if gossip:
                self._send(peer, RumoursSpread(gossip))

    def _synchronise(self, now: float) -> None:
        """Exchange all with one member; soon with another, unless there is an answer."""
        if now < self._sync_at:
            return
        self._sync_at = now + self._settings.probe_interval_s
        self._is_synchronising = True
        self._synchronise_with(self._others())

    def _end_synchronising(self, now: float) -> None:
        """An exchange is complete; look for those who may have lost sight of the mesh."""
        if self._is_synchronising:
            self._is_synchronising = False
            self._sync_at = now + self._settings.sync_interval_s
            live = {rumour.record.curve_key for rumour in self._members if is_live(rumour)}
            self._knock_at_one_of([door for door in self._doors() if door.server_key not in live])

    def _synchronise_with(self, candidates: list[str]) -> None:
        for peer in self._some_of(candidates, 1):
            self._send(peer, MembersWanted(tuple(self._members)))

    def _gossip_for(self, peer: str) -> tuple[Rumour, ...]:
        """The news for one message; what bad is believed of the receiver comes first, for it to refute.

        A receiver held for dead may know us by an older record, so it is told where we are, too.
        Source: Dadgar, Phillips, Currey 2018 (Lifeguard), the buddy system.
        """
        transmissions_max = self._settings.transmissions_max(len(self._members.live()))
        known = self._members.get(peer)
        if known is None or known.state == State.ALIVE:
            return self._rumours.take(GOSSIP_MAX, transmissions_max)
        news = self._rumours.take(GOSSIP_MAX - 2, transmissions_max)
        told = (known, Rumour(self._own, State.ALIVE))
        return told + tuple(rumour for rumour in news if rumour.record.peer not in (peer, self.me))

    def _hear_gossip(self, teller: str, rumours: tuple[Rumour, ...], now: float) -> None:
        """Learn, and set the teller right about members that have taken back what bad it says of them.

        Their refutation may have got lost on its way to it, and is not spread any more.
        """
        self._learn_all(rumours, now)
        corrections = [
            known
            for rumour in rumours
            if rumour.state in (State.SUSPECT, State.DEAD)
            and (known := self._members.get(rumour.record.peer)) is not None
            and known.record.incarnation > rumour.record.incarnation
        ]
        if corrections:
            self._send(teller, RumoursSpread(tuple(corrections[:GOSSIP_MAX])))

    def _learn_all(self, rumours: tuple[Rumour, ...], now: float) -> None:
        for rumour in rumours:
            self._learn(rumour, now)

    def _learn(self, rumour: Rumour, now: float, *, is_news: bool = True) -> None:
        """Believe a rumour if it is newer than what is believed and its record is genuine."""
        record = rumour.record
        if record.peer == self.me:
            self._hear_of_myself(rumour, now)
            return
        known = self._members.get(record.peer)
        if known is not None and not beats(rumour, known):
            self._hear_accusers(rumour, known, now)
            return
        if not self._is_acceptable(record, known):
            self._counts["records_refused"] += 1
            return
        self._members.merge(rumour)
        self._follow_state(rumour, known, now)
        self._save(rumour)
        self._has_changed = True
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

    def _follow_state(self, rumour: Rumour, known: Rumour | None, now: float) -> None:
        """Have sockets and timers follow what is now believed of a member."""
        record = rumour.record
        self._follow_suspicion(rumour, now)
        if not is_live(rumour):
            self._queues.pop(record.peer, None)
        was_connected = known is not None and known.state != State.LEFT
        if rumour.state == State.LEFT:
            if was_connected:
                self._outbox.append(Send(self._here["network"], DisconnectPeer(record.peer)))
        elif not was_connected or known is None or _addresses(known.record) != _addresses(record):
            self._connect(record)

    def _follow_suspicion(self, rumour: Rumour, now: float) -> None:
        peer = rumour.record.peer
        if rumour.state == State.DEAD:
            self._suspicions.end_in_death(peer, now)
            return
        was_suspect = self._suspicions.end(peer)
        if rumour.state == State.SUSPECT:
            self._suspicions.accuse(peer, rumour.accusers, now, len(self._members.live()))
        elif was_suspect and rumour.state == State.ALIVE:
            self._counts["false_suspicions"] += 1

    def _hear_of_myself(self, rumour: Rumour, now: float) -> None:
        """Take back what is not what we last said of ourselves, by saying it anew.

        Who was held for dead may have lost its slots. If it has a licence that it earned under the record in
        question, only a minority holds it for dead, and can have taken nothing: so a single member that
        hears badly does not make all others claim their slots anew.
        """
        heard = rumour.record
        is_safe = self._licence.until > now and heard.incarnation >= self._safe_from
        is_in_doubt = heard.incarnation > self._revoked_through and not is_safe
        may_have_lost = rumour.state >= State.DEAD and is_in_doubt and self._is_member
        is_to_be_refuted = beats(rumour, Rumour(self._own, State.ALIVE))
        if not may_have_lost and not is_to_be_refuted:
            return
        if heard != self._own and not self._credentials.is_genuine(heard):
            self._counts["records_refused"] += 1
            return
        if may_have_lost:
            self._revoke_holdings()
        if is_to_be_refuted:
            self._refute(heard, now)

    def _refute(self, heard: MemberRecord, now: float) -> None:
        own = self._own
        if self._is_member and heard.incarnation > own.incarnation:
            self._echoes += 1
            is_elsewhere = _addresses(heard) != _addresses(own)
            is_newcomer = now < self._member_since + NEWCOMER_S
            if self._echoes > ECHOES_MAX or (is_elsewhere and is_newcomer):
                self._give_up("another process runs with the key file of this peer: end one of the two")
                return
        self._counts["refutations"] += 1
        if self._is_member:
            self._prober.health.worsen()
        self._rewrite(replace(own, incarnation=max(own.incarnation, heard.incarnation)))

    def _rewrite(self, record: MemberRecord) -> None:
        """Say something new of ourselves, in the next incarnation."""
        self._own = self._credentials.sign(replace(record, incarnation=record.incarnation + 1))
        rumour = Rumour(self._own, State.ALIVE)
        self._members.merge(rumour)
        self._rumours.put(rumour)
        self._has_changed = True
        if self._is_member:
            self._save_own()

    # --- Sending ------------------------------------------------------------------------------------

    def _others(self) -> list[str]:
        return [peer for peer in self._members.live() if peer != self.me]

    def _some_of(self, peers: Sequence[str], count: int) -> list[str]:
        return self._random.sample(peers, min(count, len(peers)))

    def _connect(self, record: MemberRecord) -> None:
        if record.peer != self.me:
            self._outbox.append(Send(self._here["network"], ConnectPeer(record)))

    def _tell(self, peer: str, message: Ping | PingAnswered | PingRequested) -> None:
        """Send a message of the failure detector, with news riding on it."""
        gossip = self._gossip_for(peer)
        if isinstance(message, PingRequested):
            self._send(peer, replace(message, gossip=gossip))
        else:
            own = self._queues.get(self.me, QueueMeasured(0))
            self._send(peer, replace(message, gossip=gossip, queue=own.length, pages=own.pages))

    def _send(self, peer: str, message: Message) -> None:
        self._counts["sent"] += 1
        self._outbox.append(Send(Address(peer, self.name), message))

    def _flush(self) -> list[Send]:
        if self._has_changed and self._is_member and not self._is_ended:
            self._tell_ownership()
        sends, self._outbox = self._outbox, []
        return sends

    def _tell_ownership(self) -> None:
        self._has_changed = False
        records = self._members.live_records()
        weights = {record.peer: record.weight for record in records}
        serving = {record.peer: record.serving for record in records}
        if not any(serving.values()):
            serving = weights  # nobody is ready, so nobody is readier than who is to be
        is_most, missed, old = self._has_majority(), self._count_missed(), self._ownership
        if old is not None and (weights, serving, is_most, missed) == (
            old.table.weights,
            old.serving.weights,
            old.has_majority,
            old.missed,
        ):
            return
        table = self._slot_table(weights, old.table if old else None)
        served = self._slot_table(serving, old.serving if old else None) if serving != weights else None
        self._ownership = Ownership(
            self.me, table, weights, serving=served, has_majority=is_most, missed=missed
        )
        self._outbox += [
            Send(self._here[name], OwnershipChanged(self._ownership)) for name in self._listeners
        ]

    def _slot_table(self, weights: dict[str, int], near: SlotTable | None) -> SlotTable:
        return slot_table(weights, self._config.slot_count, self._config.replicas, near)

    # --- Weights by queue length --------------------------------------------------------------------

    def _follow_queues(self, now: float) -> None:
        """Take slots or give some away, when the queues say so; see `balance`."""
        if now < self._balance_at:
            return
        self._balance_at = now + BALANCE_CHECK_S
        if self._own.is_draining:
            return
        shares = {record.peer: self._share_of(record) for record in self._members.live_records()}
        is_empty = not any(share.queue for share in shares.values())
        self._empty_since_s = min(self._empty_since_s, now) if is_empty else inf
        weight = weight_for(
            self.me,
            self._weight_wanted,
            shares,
            self._balance,
            unchanged_s=now - self._weight_set_at,
            empty_s=max(0.0, now - self._empty_since_s),
        )
        if weight != self._own.weight:
            self._weight_set_at = now
            self._rewrite(replace(self._own, weight=weight))

    def _share_of(self, record: MemberRecord) -> Share:
        measured = self._queues.get(record.peer)
        if measured is None:
            return Share(record.weight, record.serving, None)
        return Share(record.weight, record.serving, measured.length, measured.pages)

    # --- Memory -------------------------------------------------------------------------------------

    def _read_members(self) -> MemberRecord | None:
        """Load the members known at the last stop; returns the own record of then, if there is one."""
        for _, value in self._table.scan_prefix(_MEMBER):
            self._members.merge(msgspec.msgpack.decode(value, type=Rumour))
        last_words = self._table.get(_ME)
        if last_words is None:
            return None
        own = msgspec.msgpack.decode(last_words, type=MemberRecord)
        if own.peer != self.me:
            raise ConfigError(
                f"the data folder belongs to peer {own.peer} and not to {self.me}: "
                "use the key file it was made with, or another folder"
            )
        return own

    def _save(self, rumour: Rumour) -> None:
        self._table.put(_MEMBER + rumour.record.peer.encode(), msgspec.msgpack.encode(rumour))

    def _save_own(self) -> None:
        self._table.put(_ME, msgspec.msgpack.encode(self._own))


def _opening_record(record: MemberRecord, remembered: MemberRecord | None) -> MemberRecord:
    """What a peer says of itself at its start: that it takes its share, and cannot answer for it yet."""
    if remembered is None:
        return replace(record, serving=0)
    return replace(
        record,
        incarnation=max(record.incarnation, remembered.incarnation + 1),
        weight=0 if remembered.is_draining else record.weight,
        serving=0,
        is_draining=remembered.is_draining,
    )


def _addresses(record: MemberRecord) -> tuple[str, str, bytes]:
    return record.endpoint, record.multicast, record.curve_key
