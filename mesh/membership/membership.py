"""The actor that knows the members of the mesh: admission, failure detection, gossip, slot table.

Theory of operation
===================
*SWIM.* Every interval, a longer one while nobody crawls, a member pings one other; without an answer it asks
three members to try; without any it calls the member a suspect, and, if nobody takes that back in time, dead
(`prober`, `suspicions`). What is believed of a member is a rumour (`members`); news rides on pings and is
spread by itself while there is any (`rumours`). Every 30 s two members exchange all they believe, if that is
not the same, which repairs whatever gossip missed (`anti_entropy`). Messages per member and second do not
depend on the size of the mesh.

*Self-distrust* (Lifeguard). A member whose helpers do not answer either, that has to take back what is
said of it, or that wakes late, waits longer before it accuses others (`local_health`). A suspect has longer
while a single member accuses it. Who wakes late counts no probe that was under way and gives its
suspects as long as it stood still, for their answers may be waiting in its inbox.

*Separation.* A member that answers over others alone for a while lives, and is separated from this one: the
handover is told (`separations`).

*Tables.* The slot tables follow from the records of the live members, suspects among them (`ownership`).
Who is dead or has left is in neither. A newcomer has its weight at once, and a serving weight of 0 until its
handover says that it has what belongs to its slots (`ServeSlots`); those who come together serve together
(`serving_weights`). How slots change hands without two peers crawling one is the business of
`peers/handover`; the membership gives it two guarantees: what a *licence* is (`licence`), and
`HoldingsRevoked` as soon as this peer learns that most may have held it for dead.

*Joining.* A stranger knocks at the doors of bootstrap nodes. Any member with a majority lets it in; one
without might make itself a majority of strangers. Who is not live under the addresses that it says is called
back there first: whom others do not reach would be given slots, be held for dead, and come back, for ever. It
waits outside until a person has mended that (`mesh.transport.reachability`), or it is reached over a relay
(`own_relay`). When no door answers, a peer that was a member before goes on with those it knew. A member
knocks again now and then at the doors of the dead, who may be back without their memory or with another
address (`join_protocol`, `admission`).

*Counting.* A newcomer counts for majorities once most others are known to know of it (`newcomers`).

*Healing.* A member tries one dead member every few seconds, and tells everybody it hears from what bad
it believes of them, so that they refute. A dead member that speaks is sent the whole list: so the two
sides of a partition find together by the first message that gets through, and each learns what it was
held for.

*Going.* A leaver signs that it has left and is dropped from the tables and from the count of the majority;
that nothing is lost is for who orders it to see to, by draining first. One that stops signs that it is down,
so that its standbys take over at once. The dead are remembered and count for the majority. A machine that
never comes back is written off by decree: then it has left.

*Decrees.* What the owner of the mesh has signed spreads beside the rumours, and is kept
(`mesh.keys.decree`). A peer that was away tells no actor who owns what before it has heard what was decreed
since (`catch_up`).

*Weights.* A peer writes its own: what a person wants, 0 while it is drained (by a decree, or by its own
driver), more or less by the lengths of the queues (`balance`), which ride on pings.

Every record is written and signed by its peer alone, so others can deny that a member is alive, which it
refutes, and nothing else; one of them alone only accuses (`hearsay`). What a record says of its own peer is
not doubted here.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import chain
from math import inf
from operator import call
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from mesh.actors.actor import Actor, Address, Message, Send, Statistics
from mesh.actors.conduct import CONDUCT, Misbehaved, Offence
from mesh.config import MeshConfig
from mesh.errors import LocalProtocolError
from mesh.keys.decree import DRAIN, POLICY, RENEWAL, REVOCATION, WRITE_OFF, Authority
from mesh.membership.admission import Admission
from mesh.membership.announcer import Announcer, PinsOf, no_pins
from mesh.membership.anti_entropy import DOOR, AntiEntropy
from mesh.membership.catch_up import CatchUp
from mesh.membership.doors.doors import Doors
from mesh.membership.doors.knock_schedule import DoorAddress
from mesh.membership.doors.own_relay import OwnRelay
from mesh.membership.failure_detector import FailureDetector
from mesh.membership.failures.prober import Prober
from mesh.membership.failures.suspicions import Suspicions
from mesh.membership.join_protocol import JoinProtocol
from mesh.membership.model.connections import Connections
from mesh.membership.model.credentials import Credentials
from mesh.membership.model.decrees import Decrees
from mesh.membership.model.members import MemberList, State
from mesh.membership.model.memory import Memory
from mesh.membership.model.messages import (
    AddressesTried,
    AskDecrees,
    Borrowed,
    DecreePublished,
    DoorKnocked,
    DrainPeer,
    Knocked,
    LeaveMesh,
    MembershipEnded,
    PortsAsked,
    PublishDecree,
    QueueMeasured,
    ServeSlots,
    StopMembership,
)
from mesh.membership.model.others import Others
from mesh.membership.model.rumours import RumourQueue
from mesh.membership.model.swim_settings import SwimSettings
from mesh.membership.model.turn_outbox import TurnOutbox
from mesh.membership.model.wire_messages import (
    DecreesNamed,
    DecreesTold,
    DecreesWanted,
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
from mesh.membership.newcomers import Newcomers
from mesh.membership.news.decree_dissemination import DecreeDissemination
from mesh.membership.news.gossip import Gossip
from mesh.membership.news.rumour_intake import RumourIntake
from mesh.membership.own.balance import BalanceSettings
from mesh.membership.own.licence_holder import LicenceHolder
from mesh.membership.own.lifecycle import Lifecycle
from mesh.membership.own.own_record import OwnRecord
from mesh.membership.own.queues import Queues
from mesh.membership.own.refutation import Refutation
from mesh.reach import Reach
from mesh.tables.table import Table

if TYPE_CHECKING:
    from random import Random

# Until others have heard of us and let us in; to probe them sooner would make suspects.
GRACE_S: Final = 1.0

NO_FOLLOWERS: Final[Mapping[str, tuple[str, ...]]] = MappingProxyType({})

FAREWELLS: Final = 4  # members told at once by one that goes; they tell the rest


class MembershipStatistics(Statistics, frozen=True):
    """Statistics of the membership: gauges first, then counters since the start."""

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
    # Whom others do not reach, and why: this peer, and who has asked here of late to be let in.
    unreachable: dict[str, str]
    relay: str  # the member over which others reach this peer, "" for none
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
    deaths_doubted: int  # that a single member told, taken for accusations
    news_unheard: int  # bad news from members that told too much of it
    decrees_refused: int  # signed by nobody who may
    strangers_refused: int  # messages from who is no member


class Membership(Actor):
    """Actor of the membership. Neighbours: memberships, network, door, and actors that want the ownership."""

    name = "membership"
    remote_messages = frozenset(
        {
            Ping,
            PingAnswered,
            PingRequested,
            MembersWanted,
            MembersTold,
            RumoursSpread,
            DecreesNamed,
            DecreesWanted,
            DecreesTold,
        }
    )

    def __init__(
        self,
        record: MemberRecord,
        config: MeshConfig,
        random: Random,
        table: Table,
        credentials: Credentials,
        doors: Iterable[DoorAddress] = (),
        settings: SwimSettings | None = None,
        balance: BalanceSettings | None = None,
        listeners: tuple[str, ...] = (),
        followers: Mapping[str, tuple[str, ...]] = NO_FOLLOWERS,
        pins_of: PinsOf = no_pins,
        *,
        reach: Reach = Reach.AUTO,
        lends_ports: bool = False,
    ) -> None:
        """Begin as a stranger to the mesh, or as the member that the table remembers.

        Args:
          record: of this peer, with the weight it is willing to have; need not be signed.
          table: where the members and the own last record are kept between starts.
          doors: of bootstrap nodes; none makes this peer the first of its mesh.
          listeners: actors of this peer to be told of `OwnershipChanged`; of them the controller is told of
            its licence, too, and the handover when what it holds is void.
          followers: by kind of decree those of the listeners that are told which are in force.
          pins_of: reads a policy.
          reach: whether it may be reached over a relay.
          lends_ports: whether it is a relay.

        Raises:
          ConfigError: the table belongs to another peer.
        """
        self.me, self._random = record.peer, random
        self._settings = settings or SwimSettings()
        self._is_started, self._n_received, self._n_strangers = False, 0, 0
        self._outbox = TurnOutbox(self.me, listeners, chain.from_iterable(followers.values()))
        self._lifecycle = Lifecycle(self._outbox)
        self._members, self._rumours = MemberList(), RumourQueue()
        self._memory = memory = Memory(table)
        for rumour in memory.members():
            self._members.merge(rumour)
        self._own = OwnRecord(record, credentials, self._members, self._rumours, memory, self._lifecycle)
        self._others = Others(self.me, self._members, random)
        self._queues = Queues(self._own, self._members, balance or BalanceSettings())
        self._announcer = Announcer(self.me, config, self._members, credentials, self._outbox, pins_of)
        self._connect_beliefs(credentials, memory)
        self._connect_detector()
        self._connect_decrees(config, decrees := Decrees(table), followers)
        self._connect_doors(doors, config.digest(), credentials, decrees, reach, lends_ports)
        early = (self._join, self._detector, self._sync, self._gossip, self._queues, self._decree_news)
        late = (self._catch_up, self._newcomers, self._own_relay)
        self._wake_times = [part.wake_at for part in (*early, *late)]
        self._wake_at = 0.0  # mesh clock; 0 until it has begun, inf once it has ended

    def _connect_beliefs(self, credentials: Credentials, memory: Memory) -> None:
        """Make the parts that decide which rumours are believed, and that carry out the consequences."""
        own, members, lifecycle, queues = self._own, self._members, self._lifecycle, self._queues
        self._prober = Prober(self._settings, self._random)
        self._suspicions = Suspicions(self._settings)
        self._connections = Connections(self.me, self._outbox)
        self._holder = LicenceHolder(own, members, self._suspicions, self._outbox, self._settings, queues)
        self._refutation = Refutation(own, credentials, self._holder, self._prober.health, lifecycle)
        self._intake = RumourIntake(
            self.me,
            members,
            self._rumours,
            memory,
            credentials,
            self._suspicions,
            self._connections,
            self._queues,
            self._refutation,
        )

    def _connect_detector(self) -> None:
        """Make the parts that tell other members news, and find out which are silent."""
        self._gossip = Gossip(
            self._own,
            self._members,
            self._others,
            self._rumours,
            self._queues,
            self._intake,
            self._lifecycle,
            self._outbox,
            self._settings,
        )
        self._detector = FailureDetector(
            self._own,
            self._members,
            self._others,
            self._prober,
            self._suspicions,
            self._intake,
            self._gossip,
            self._holder,
            self._queues,
            self._settings,
            self._outbox,
        )

    def _connect_decrees(
        self, config: MeshConfig, decrees: Decrees, followers: Mapping[str, tuple[str, ...]]
    ) -> None:
        """Make the part that learns decrees, and have decrees about members obeyed."""
        self._decree_news = DecreeDissemination(
            Authority(bytes.fromhex(config.root_key), config.digest()),
            decrees,
            self._members,
            self._others,
            self._lifecycle,
            self._outbox,
            self._settings,
            followers,
        )
        self._decree_news.follow(REVOCATION, self._decree_news.tell_expelled)
        self._decree_news.follow(REVOCATION, self._intake.note_expelled)
        self._decree_news.follow(RENEWAL, self._own.hear_renewals)
        self._decree_news.follow(DRAIN, self._own.hear_orders)
        self._decree_news.follow(WRITE_OFF, self._intake.note_struck)
        self._decree_news.follow(POLICY, self._announcer.hear_policy)

    def _connect_doors(
        self,
        doors: Iterable[DoorAddress],
        mesh_digest: bytes,
        credentials: Credentials,
        decrees: Decrees,
        reach: Reach,
        lends_ports: bool,
    ) -> None:
        """Make the parts that bring members together: this peer in, strangers in here, the lost back."""
        own, members, others, intake = self._own, self._members, self._others, self._intake
        outbox, lifecycle, settings, gossip = self._outbox, self._lifecycle, self._settings, self._gossip
        decree_news, prober, holder = self._decree_news, self._prober, self._holder
        known_doors = Doors(doors, mesh_digest, own, members, outbox, self._random)
        self._own_relay = own_relay = OwnRelay(
            reach, known_doors.named, mesh_digest, own, members, lifecycle, outbox
        )
        self._join = JoinProtocol(
            own, members, others, known_doors, intake, own_relay, lifecycle, settings, self._random
        )
        self._sync = sync = AntiEntropy(
            members, others, known_doors, prober, gossip, intake, decree_news, outbox, settings
        )
        self._catch_up = catch_up = CatchUp(self.me, members, others, decrees, sync, settings)
        lets_in = members, credentials, intake, decree_news, catch_up, lifecycle, outbox
        self._admission = Admission(mesh_digest, *lets_in, lends_ports)
        is_first, memory = self._join.is_first, self._memory
        self._newcomers = Newcomers(
            own, members, others, memory, prober, gossip, sync, holder, settings, is_first=is_first
        )

    def receive(self, source: Address, message: Message, now: float) -> list[Send]:
        self._wake_up(now)
        if source.peer == self.me:
            self._receive_local(source, message, now)
        elif not self._lifecycle.is_ended:
            self._hear(source.peer, message, now)
        return self._flush(now)

    def _hear(self, peer: str, message: Message, now: float) -> None:
        """React to a message of another member, and report it if it has told something forged."""
        records, decrees = self._intake.n_refused, self._decree_news.n_forged
        self._receive_remote(peer, message, now)
        if self._intake.n_refused > records:
            self._outbox.answer(Address(self.me, CONDUCT), Misbehaved(peer, Offence.FORGED_RECORDS))
        if self._decree_news.n_forged > decrees:
            self._outbox.answer(Address(self.me, CONDUCT), Misbehaved(peer, Offence.FORGED_DECREES))

    def wake(self, now: float) -> list[Send]:
        self._wake_up(now)
        if not self._lifecycle.is_ended:
            self._decree_news.wake(now)
        if not self._lifecycle.is_ended:
            if self._join.has_waited_in_vain(now):
                self._hear_door(None, now, self._join.door)
            self._join.knock(now)
            self._own_relay.wake(now)
            self._detector.wake(now)
            self._intake.strike_off(now)
            self._sync.wake(now)
            self._gossip.spread(now)
            self._newcomers.wake(now)
            self._queues.follow(now)
            self._catch_up.wake(now)
            self._admission.wake(now)
        return self._flush(now)

    def wake_at(self) -> float:
        return self._wake_at

    def observe(self) -> MembershipStatistics:
        states = [rumour.state for rumour in self._members]
        own, ownership = self._own.record, self._announcer.ownership
        return MembershipStatistics(
            is_member=self._lifecycle.is_member,
            alive=states.count(State.ALIVE),
            suspect=states.count(State.SUSPECT),
            dead=states.count(State.DEAD),
            left=states.count(State.LEFT),
            incarnation=own.incarnation,
            weight=own.weight,
            weight_wanted=self._own.weight_wanted,
            serving=own.serving,
            is_draining=own.is_draining,
            epoch=ownership.epoch.hex() if ownership else "",
            refusal=self._lifecycle.refusal,
            unreachable=self._admission.unreachable(self.me),
            relay=self._own_relay.relay,
            has_majority=self._members.has_majority(),
            licence_until=self._holder.until,
            distrust=self._prober.health.distrust,
            messages_sent=self._outbox.n_sent,
            messages_received=self._n_received,
            refutations=self._refutation.n_refutations,
            false_suspicions=self._intake.n_false_suspicions,
            holdings_revoked=self._holder.n_revoked,
            stalls=self._detector.n_stalls,
            joins_admitted=self._admission.n_admitted,
            joins_refused=self._admission.n_refused,
            records_refused=self._intake.n_refused + self._refutation.n_forged,
            deaths_doubted=self._intake.hearsay.n_doubted,
            news_unheard=self._intake.hearsay.allowance.n_refused,
            decrees_refused=self._decree_news.n_refused,
            strangers_refused=self._n_strangers,
        )

    def believed(self) -> list[Rumour]:
        """Return the beliefs of this peer about all members."""
        return list(self._members)

    def _receive_local(self, source: Address, message: Message, now: float) -> None:
        match message:
            case Knocked(answer, endpoint, server_key):
                self._hear_door(answer, now, DoorAddress(endpoint, server_key))
            case DoorKnocked() | AddressesTried() | PortsAsked():
                self._admission.hear(message, now)
            case Borrowed():
                self._enter(self._join.hear_relay(message, now), now)
            case ServeSlots(is_together):
                self._own.serve(is_together=is_together)
            case QueueMeasured():
                self._queues.note(self.me, message)
            case DrainPeer(is_draining):
                self._own.set_draining(is_draining)
            case AskDecrees():
                self._outbox.answer(source, self._decree_news.held(message))
            case PublishDecree(ticket, decree):
                refusal = self._decree_news.publish(decree, now)
                self._outbox.answer(source, DecreePublished(ticket, decree.name, refusal))
            case MembersWanted():
                self._outbox.answer(source, MembersTold(tuple(self._members)))
            case LeaveMesh():
                self._end(source, State.LEFT)
            case StopMembership():
                self._end(source, State.DEAD)
            case _:
                raise LocalProtocolError(f"membership does not understand {type(message).__name__}")

    def _receive_remote(self, peer: str, message: Message, now: float) -> None:
        known = self._members.get(peer)
        if known is None or known.state == State.LEFT:
            self._n_strangers += 1
            return
        self._n_received += 1
        self._sync.hear(known, now)
        match message:
            case Ping(sequence, gossip, queue, pages, others_known):
                self._queues.note(peer, QueueMeasured(queue, pages))
                self._gossip.hear(peer, gossip, now)
                self._newcomers.hear(peer, others_known, now)
                is_at_rest = self._detector.lets_crawl_longer(peer, now)
                self._gossip.tell(peer, PingAnswered(sequence, self.me, is_at_rest=is_at_rest))
            case PingAnswered(_, _, gossip, queue, pages, others_known):
                self._queues.note(peer, QueueMeasured(queue, pages))
                self._gossip.hear(peer, gossip, now)
                self._newcomers.hear(peer, others_known, now)
                self._detector.hear_answer(peer, message, now)
            case PingRequested(sequence, _, gossip):
                self._gossip.hear(peer, gossip, now)
                self._gossip.tell(peer, PingAnswered(sequence, self.me))
                self._detector.ping_for(peer, message, now)
            case MembersWanted(members, believed):
                self._intake.learn_all(members, now, teller=peer)
                self._sync.answer(peer, believed, has_caught_up=self._catch_up.is_done)
                if members:
                    self._sync.end_synchronising(now)
            case MembersTold(members, decrees, has_caught_up, newcomers):
                self._gossip.hear(peer, members, now)
                self._newcomers.hear_first(members, newcomers)
                self._catch_up.hear(peer, decrees, has_caught_up, now)
                self._sync.end_synchronising(now)
            case RumoursSpread(gossip):
                self._gossip.hear(peer, gossip, now)
            case DecreesNamed(names):
                self._decree_news.hear_names(peer, names, now)
            case DecreesWanted(names):
                self._decree_news.tell(peer, names, now)
            case DecreesTold(decrees):
                self._decree_news.learn_all(peer, decrees, now)
            case _:
                raise LocalProtocolError(f"membership took a {type(message).__name__} of {peer}")
        self._sync.show_past(known)

    def _flush(self, now: float) -> list[Send]:
        self._catch_up.follow(now)
        if self._lifecycle.is_member and not self._lifecycle.is_ended:
            self._newcomers.follow(now)
        if self._catch_up.is_done and not self._lifecycle.is_ended:
            self._announcer.follow()
        self._wake_at = inf if self._lifecycle.is_ended else min(map(call, self._wake_times))
        return self._outbox.take()

    # --- Starting, joining, leaving ---------------------------------------------------------------

    def _wake_up(self, now: float) -> None:
        if not self._is_started:
            self._start(now)
        self._detector.notice_stall(self._wake_at, now)

    def _start(self, now: float) -> None:
        self._is_started, self._wake_at = True, now  # nothing was wanted before
        self._decree_news.wake(now)  # what is on disk is known before anybody here hears who owns what
        if self._lifecycle.is_ended:
            return
        for rumour in self._members:
            if rumour.state != State.LEFT:
                self._connections.open(rumour.record)
            if rumour.state == State.SUSPECT:
                self._detector.remember(rumour, now)
        if self._join.is_first:
            self._become_member(now)
        else:
            self._join.start(now)

    def _hear_door(self, answer: Welcomed | JoinRefused | None, now: float, door: DoorAddress) -> None:
        if self._lifecycle.is_ended:
            return
        certificate = self._own.record.certificate
        if answer is not None:
            self._decree_news.learn_all(DOOR, answer.decrees, now)
        if self._lifecycle.is_ended:
            return
        if isinstance(answer, Welcomed):
            self._catch_up.hear_welcome(answer.has_caught_up)
        if isinstance(answer, JoinRefused) and self._own.record.certificate != certificate:
            answer = None  # with the one that was renewed we may be let in: knock again
        if self._lifecycle.is_member:
            self._join.hear_again(answer, door, now)
            if isinstance(answer, Welcomed):
                self._sync.hear_door(answer.members, now)
            return
        self._enter(self._join.hear(answer, now), now)

    def _enter(self, to_ask: list[str] | None, now: float) -> None:
        if to_ask is not None:
            self._become_member(now)
            self._sync.synchronise_with(to_ask)

    def _become_member(self, now: float) -> None:
        """Take part from now on, with the weight that is ours."""
        self._lifecycle.enter(now)
        self._holder.begin(now)
        self._own.enter()
        self._catch_up.begin(now)
        # Random phases spread the load of a mesh that was started all at once.
        phase, settings = self._random.random(), self._settings
        known_everywhere_at = now + GRACE_S + phase * settings.probe_interval_s
        self._detector.begin(known_everywhere_at)
        self._sync.begin(
            known_everywhere_at,  # news that was sent to us before we were known is lost
            now if self._own.is_remembered else now + phase * settings.reconnect_interval_s,
        )
        self._queues.begin(now, phase)

    def _end(self, source: Address, state: State) -> None:
        """Say that we have left, or are down for a while, and fall silent."""
        if self._lifecycle.is_member and not self._lifecycle.is_ended:
            self._own.part(state)
            for peer in self._others.some(FAREWELLS):
                self._outbox.send(peer, RumoursSpread((self._own.rumour,)))
        self._lifecycle.end()
        self._outbox.answer(source, MembershipEnded())
