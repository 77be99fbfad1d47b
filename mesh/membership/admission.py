"""Admission to the mesh: the decision at the door, one sentence for each refusal.

Who has no certificate yet only asks whether an id is free. Who has one is called back first, if it is not
live already where it says it is: the door tries its addresses, and says what came of it. Whom others do not
reach may ask to be relayed, if this peer has ports to lend; it has to be one that would be let in.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import Final

from mesh.membership.catch_up import CatchUp
from mesh.membership.model.connections import addresses_of
from mesh.membership.model.credentials import Credentials
from mesh.membership.model.members import MemberList, State, is_live
from mesh.membership.model.messages import (
    UNREACHABLE_MAX,
    AddressesTried,
    AnswerDoor,
    DoorKnocked,
    LendPorts,
    PortsAsked,
    TryAddresses,
)
from mesh.membership.model.turn_outbox import TurnOutbox
from mesh.membership.model.wire_messages import (
    MEMBERS_MAX,
    JoinMesh,
    JoinRefused,
    MemberRecord,
    Rumour,
    Welcomed,
)
from mesh.membership.news.decree_dissemination import DecreeDissemination
from mesh.membership.news.rumour_intake import RumourIntake
from mesh.membership.own.lifecycle import Lifecycle

TRIED_MAX: Final = 64  # strangers whose addresses are being tried; the oldest is forgotten, and knocks again
RESERVED_S: Final = 600.0  # in which a machine that has chosen an id is to be started
RESERVED_MAX: Final = 1_024  # ids; the oldest is given to others
REASON_MAX: Final = 300  # characters, as `JoinRefused` takes them
RELAY_OFFERED: Final = "; or have it reached over the relay at this door: member.relay"
UNREACHABLE_S: Final = 120.0  # after which one that knocks no more is not told of; they do every 12 s


class Admission:
    """Answers the peers that knock at the door of this peer."""

    def __init__(
        self,
        mesh_digest: bytes,
        members: MemberList,
        credentials: Credentials,
        intake: RumourIntake,
        decree_news: DecreeDissemination,
        catch_up: CatchUp,
        lifecycle: Lifecycle,
        outbox: TurnOutbox,
        lends_ports: bool,
    ) -> None:
        self.n_admitted = 0  # count, repeated knocks too
        self.n_refused = 0  # count
        self._tried: OrderedDict[int, DoorKnocked] = OrderedDict()  # by handle
        # By id: for which key it is kept, and until when.
        self._reserved: OrderedDict[str, tuple[bytes, float]] = OrderedDict()
        self._unreachable: OrderedDict[str, tuple[float, str]] = OrderedDict()  # by peer: when last, and why
        self._mesh_digest = mesh_digest
        self._members = members
        self._credentials = credentials
        self._intake = intake
        self._decree_news = decree_news
        self._catch_up = catch_up
        self._lifecycle = lifecycle
        self._outbox = outbox
        self._lends_ports = lends_ports

    def hear(self, message: DoorKnocked | AddressesTried | PortsAsked, now: float) -> None:
        """Hear a stranger: its knock, whether its addresses lead to it, or its wish to be relayed."""
        match message:
            case DoorKnocked():
                self._answer(message, now)
            case AddressesTried():
                self._hear_tried(message, now)
            case PortsAsked():
                self._lend(message, now)

    def _answer(self, knock: DoorKnocked, now: float) -> None:
        """Answer a stranger, or without membership or majority leave it to try another door."""
        if self._is_answered_here(knock) and not self._is_refused(knock, now):
            if knock.join.is_callable and not self._is_there(knock.join.record):
                self._try(knock)
            else:
                self._admit(knock, now)

    def _hear_tried(self, tried: AddressesTried, now: float) -> None:
        """Let a stranger in if others reach it, or tell it why not; it may mend that and come again."""
        knock = self._tried.pop(tried.handle, None)
        if knock is None or not self._is_answered_here(knock) or self._is_refused(knock, now):
            return
        peer = knock.join.record.peer
        self._unreachable.pop(peer, None)
        if not tried.failure:
            self._admit(knock, now)
            return
        self.n_refused += 1
        self._unreachable[peer] = now, tried.failure
        if len(self._unreachable) > UNREACHABLE_MAX:
            self._unreachable.popitem(last=False)
        refusal = JoinRefused(tried.failure, is_final=False)
        if self._lends_ports:
            reason = tried.failure[: REASON_MAX - len(RELAY_OFFERED)] + RELAY_OFFERED
            refusal = JoinRefused(reason, is_final=False, lends_ports=True)
        self._outbox.tell("door", AnswerDoor(knock.handle, refusal))

    def wake(self, now: float) -> None:
        """Forget unreachable peers that knock no more."""
        while self._unreachable:
            peer, (at, _) = next(iter(self._unreachable.items()))
            if now < at + UNREACHABLE_S:
                return
            del self._unreachable[peer]

    def unreachable(self, me: str) -> dict[str, str]:
        """Return why others do not reach this peer and strangers that knocked here of late, by peer."""
        own = self._lifecycle.unreachable
        strangers = {peer: why for peer, (_, why) in sorted(self._unreachable.items())}
        return ({me: own} if own else {}) | strangers

    def _is_answered_here(self, knock: DoorKnocked) -> bool:
        lifecycle = self._lifecycle
        return lifecycle.is_member and not lifecycle.is_ended and self._may_admit(knock.join.record.peer)

    def _is_refused(self, knock: DoorKnocked, now: float) -> bool:
        """Tell a stranger that may never come in as it is why; is it one?"""
        record = knock.join.record
        reason = refusal_of(
            knock.join,
            knock.curve_key,
            mesh_digest=self._mesh_digest,
            members=self._members,
            credentials=self._credentials,
        ) or self._intake.why_not_new(record, now)
        is_asking = not record.certificate and self._members.get(record.peer) is None
        if is_asking and record.curve_key == knock.curve_key:
            reason = self._reserve(record, now) or reason
        if reason:
            self.n_refused += 1
            proof = self._decree_news.fate_of(record.peer, now)
            self._outbox.tell("door", AnswerDoor(knock.handle, JoinRefused(reason, proof)))
        return bool(reason)

    def _reserve(self, record: MemberRecord, now: float) -> str:
        """Keep an id for a machine that only asks whether it is free, so that the next one takes another.

        Machines that join at the same time by one token would choose the same; whoever starts later could
        not get in. A token names its ids, so nobody else can ask for them.
        """
        while self._reserved and next(iter(self._reserved.values()))[1] <= now:
            self._reserved.popitem(last=False)
        key, _ = self._reserved.setdefault(record.peer, (record.curve_key, now + RESERVED_S))
        if len(self._reserved) > RESERVED_MAX:
            self._reserved.popitem(last=False)
        return "" if key == record.curve_key else f"the id {record.peer} is taken by a machine that joins now"

    def _is_there(self, record: MemberRecord) -> bool:
        """Is it believed to be live at these addresses? Then members that fail to reach it say so soon."""
        known = self._members.get(record.peer)
        return known is not None and is_live(known) and addresses_of(known.record) == addresses_of(record)

    def _lend(self, asked: PortsAsked, now: float) -> None:
        """Have ports lent to a peer that may be let in; also without a majority, which may be behind them."""
        borrow = asked.borrow
        if self._lifecycle.is_ended:
            return
        if not self._lends_ports:
            refusal = JoinRefused("this member is no relay: it lends no ports", is_final=False)
            self._outbox.tell("door", AnswerDoor(asked.handle, refusal))
            return
        join = JoinMesh(borrow.record, borrow.mesh_digest)
        if self._is_refused(DoorKnocked(asked.handle, asked.curve_key, join), now):
            return
        peer = borrow.record.peer
        known = self._members.get(peer)
        claimed = (self._members.get(each) for each in self._members.remaining() if each != peer)
        lend = LendPorts(
            asked.handle,
            peer,
            "" if known is None else known.record.endpoint,
            tuple(rumour.record.endpoint for rumour in claimed if rumour is not None),
        )
        self._outbox.tell("door", lend)

    def _try(self, knock: DoorKnocked) -> None:
        self._tried[knock.handle] = knock
        if len(self._tried) > TRIED_MAX:
            self._tried.popitem(last=False)
        self._outbox.tell("door", TryAddresses(knock.handle, knock.join.record))

    def _admit(self, knock: DoorKnocked, now: float) -> None:
        self.n_admitted += 1
        self._intake.learn(Rumour(knock.join.record, State.ALIVE), now)
        welcome = Welcomed(
            tuple(self._members),
            self._decree_news.welcome(now),
            self._catch_up.is_done,
            tuple(sorted(self._members.newcomers)),
        )
        self._outbox.tell("door", AnswerDoor(knock.handle, welcome))

    def _may_admit(self, peer: str) -> bool:
        """Peers that count already may come in; newcomers might make a majority for members without one."""
        return peer in self._members.remaining() or self._members.has_majority()


def refusal_of(
    join: JoinMesh, curve_key: bytes, *, mesh_digest: bytes, members: MemberList, credentials: Credentials
) -> str:
    """Tell a stranger why it may not join, "" when it may.

    Args:
      curve_key: Z85 text of the key it has proved to have.
      mesh_digest: of the mesh behind this door.
    """
    record = join.record
    known = members.get(record.peer)
    if join.mesh_digest != mesh_digest:
        return (
            f"this peer is configured for mesh {join.mesh_digest.hex()[:32]} and knocked at mesh "
            f"{mesh_digest.hex()}: give it the configuration of the mesh it shall join"
        )
    if record.curve_key != curve_key:
        return "the record is of another key than the connection: start this peer with its own key file"
    if known is not None and known.record.curve_key != record.curve_key:
        return f"the id {record.peer} is taken by a peer with another key: make new keys for this peer"
    if not credentials.is_genuine(record):
        return (
            "the certificate or signature of this peer is not valid in this mesh: "
            "ask the holder of the mesh's root key for a certificate"
        )
    if known is None and len(members) >= MEMBERS_MAX:
        return f"the mesh is full with {MEMBERS_MAX} members: join another mesh"
    return ""
