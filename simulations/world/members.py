"""Simulated members with real keys, and the doors by which they join.

Keys follow from the seed, so a mesh of the same seed has the same peers; signatures and certificates are
the real ones.
"""

from __future__ import annotations

from base64 import b32encode
from collections.abc import Callable, Iterable
from hashlib import blake2b
from typing import TYPE_CHECKING, Final

from mesh.actors.actor import Actor, Address, Message
from mesh.config import WEIGHT_DEFAULT, MeshConfig
from mesh.errors import LocalProtocolError
from mesh.keys.certificate import SERIAL_CHARS, Grant, Right, issue
from mesh.keys.decree import (
    CLASSES,
    NUMBER_MAX,
    POLICY,
    REVOCATION,
    TOPICS,
    WATCH,
    WRITE_OFF,
    Authority,
    Decree,
    Signer,
    number_body,
)
from mesh.keys.identity import Identity
from mesh.keys.signing_key import SigningKey
from mesh.membership.doors.knock_schedule import DoorAddress
from mesh.membership.membership import Membership
from mesh.membership.model.credentials import PeerCredentials
from mesh.membership.model.messages import (
    AddressesTried,
    AnswerDoor,
    DoorKnocked,
    Knock,
    Knocked,
    TryAddresses,
)
from mesh.membership.model.wire_messages import JoinMesh, JoinRefused, MemberRecord, Welcomed
from mesh.tables.table import Table
from mesh.transport.reachability import TRY_S
from peers.actors import FOLLOWERS
from peers.policy.decreed import pins_of
from simulations.world.chance import random_of
from simulations.world.world import PortAnswer

if TYPE_CHECKING:
    from random import Random

SLOT_COUNT_DEFAULT: Final = 50_000  # as a mesh has by default
RIGHTS: Final = int(Right.CRAWL | Right.ANSWER)  # nobody has files to import
ROUND_TRIP_S: Final = 0.1  # to a door: connection, handshake and question
SHUT_S: Final = 4.0  # until one who knocks at a door that nobody opens gives up


class Members:
    """The mesh's root key, and for every peer its keys, its record and its membership actor."""

    def __init__(
        self,
        seed: int,
        count: int,
        replicas: int,
        slot_count: int = SLOT_COUNT_DEFAULT,
        *,
        have_gateways: bool = False,
    ) -> None:
        """Draw all keys.

        Args:
          have_gateways: the records say so, and questions to all gateways go to them.
        """
        self._seed, self._have_gateways = seed, have_gateways
        self._root = SigningKey.of_secret(_secret(seed, "root"))
        self.config = MeshConfig(
            name=f"simulation {seed}",
            root_key=self._root.public.hex(),
            slot_count=slot_count,
            replicas=replicas,
            analysis_version=6,
        )
        identities = [Identity.of_secret(_secret(seed, f"peer {number}")) for number in range(count)]
        self.identities = {_serial_of(identity): identity for identity in identities}
        self.peers = tuple(self.identities)

    def chance_of(self, peer: str, start: int) -> Random:
        """Return the generator of a peer for draws that belong to no actor, after so many starts."""
        return random_of(self._seed, f"{peer} at start {start}")

    def membership(
        self,
        peer: str,
        table: Table,
        start: int,
        listeners: Iterable[Actor],
        ports: Iterable[str] = (),
    ) -> Membership:
        """Make the actor, which tells these others of the ownership, and them and these ports of decrees.

        `start` counts the starts of this peer, also those on a disk that was lost.

        All are given the doors of all others, in order, but the first one at its first start, when nobody is
        there yet: later, with an empty disk and no door, it would begin a mesh of its own.
        """
        identity = self.identities[peer]
        names = tuple(actor.name for actor in listeners)
        hear = {*names, *ports}
        followers = {kind: tuple(each for each in told if each in hear) for kind, told in FOLLOWERS.items()}
        doors = [each for each in self.peers if each != peer]
        if peer == self.peers[0] and start == 1:
            doors = []
        return Membership(
            self._record(peer),
            self.config,
            random_of(self._seed, f"membership of {peer} at start {start}"),
            table,
            PeerCredentials(identity, self.config),
            [DoorAddress(door_endpoint(each), self.identities[each].curve_public) for each in doors],
            listeners=names,
            followers=followers,
            pins_of=pins_of,
        )

    @property
    def authority(self) -> Authority:
        return Authority(self._root.public, self.config.digest())

    @property
    def owner(self) -> Signer:
        """The owner of the mesh, with its root key."""
        return Signer(self._root, self.config.digest())

    def write_off(self, peer: str) -> Decree:
        """Decree that a member never comes back."""
        return self.owner.decree(WRITE_OFF, peer, 1, number_body(NUMBER_MAX))

    def expulsion(self, peer: str) -> Decree:
        """Make the decree that expels a member."""
        return self.owner.decree(REVOCATION, peer, 1, b"")

    def policy(self, number: int, body: bytes) -> Decree:
        """Make the decree on the pages that the whole mesh crawls and shows."""
        return self.owner.decree(POLICY, "", number, body)

    def watch(self, number: int, body: bytes) -> Decree:
        """Make the decree on the words that administrators are told of."""
        return self.owner.decree(WATCH, "", number, body)

    def classes(self, number: int, body: bytes) -> Decree:
        """Make the decree on the classes that pages are given."""
        return self.owner.decree(CLASSES, "", number, body)

    def topics(self, number: int, body: bytes) -> Decree:
        """Make the decree on the topics that are counted."""
        return Signer(self._root, self.config.digest()).decree(TOPICS, "", number, body)

    def _record(self, peer: str) -> MemberRecord:
        identity = self.identities[peer]
        keys = identity.curve_public, identity.signing_public
        return MemberRecord(
            peer=peer,
            endpoint=f"tcp://{peer}:1",
            multicast=f"tcp://{peer}:2",
            door=door_endpoint(peer),
            gateway=f"http://{peer}:3" if self._have_gateways else "",
            curve_key=identity.curve_public,
            signing_key=identity.signing_public,
            certificate=issue(self._root, self.config.digest(), *keys, Grant(peer, rights=RIGHTS)).encoded(),
            incarnation=0,
            weight=WEIGHT_DEFAULT,
        )


class _GiveUp(Message, frozen=True):
    """A door to itself: nobody has answered that knock."""

    knock: int


class VirtualDoor:
    """Port `door` of one life of a peer: where it knocks, and where others do."""

    name = "door"

    def __init__(self, peer: str, doors: dict[str, VirtualDoor], is_reachable: Callable[[str], bool]) -> None:
        """Make a door and open it.

        Args:
          doors: all of the world by endpoint; this one is added, in the place of an earlier life's.
          is_reachable: whether a connection to a peer can be made.
        """
        self._peer = peer
        self._doors = doors
        self._is_reachable = is_reachable
        self._visitors: dict[int, tuple[VirtualDoor, int]] = {}  # by handle: whose door, number of its knock
        self._waiting: set[int] = set()  # knocks of ours that have no answer yet
        self._handles = self._knocks = 0
        doors[door_endpoint(peer)] = self

    def receive(self, source: Address, message: Message, now: float) -> Iterable[PortAnswer]:
        match message:
            case Knock(endpoint, _, join):
                self._knocks += 1
                self._waiting.add(self._knocks)
                end = PortAnswer(SHUT_S, Address(self._peer, self.name), _GiveUp(self._knocks))
                door = self._doors.get(endpoint)
                if door is None or not self._is_reachable(door._peer):
                    return (end,)
                return (door._be_knocked_at(self, self._knocks, join), end)
            case TryAddresses(handle, record):
                return (self._try(handle, record.peer),)
            case _GiveUp(knock):
                return self._answers(knock, None, 0.0)
            case AnswerDoor(handle, answer):
                visitor, knock = self._visitors.pop(handle, (None, 0))
                return () if visitor is None else visitor._answers(knock, answer, ROUND_TRIP_S)
        raise LocalProtocolError(f"door does not understand {type(message).__name__}")

    def _be_knocked_at(self, visitor: VirtualDoor, knock: int, join: JoinMesh) -> PortAnswer:
        self._handles += 1
        self._visitors[self._handles] = visitor, knock
        # The twin of the seal on a question: who asks has proved to hold this key.
        knocked = DoorKnocked(self._handles, join.record.curve_key, join)
        return PortAnswer(ROUND_TRIP_S, Address(self._peer, "membership"), knocked)

    def _try(self, handle: int, stranger: str) -> PortAnswer:
        membership = Address(self._peer, "membership")
        if self._is_reachable(stranger):
            return PortAnswer(ROUND_TRIP_S, membership, AddressesTried(handle, ""))
        return PortAnswer(TRY_S, membership, AddressesTried(handle, "others do not reach this peer"))

    def _answers(
        self, knock: int, answer: Welcomed | JoinRefused | None, delay_s: float
    ) -> tuple[PortAnswer, ...]:
        """One knock has one answer, and one of another life has none."""
        if knock not in self._waiting or self._doors[door_endpoint(self._peer)] is not self:
            return ()
        self._waiting.discard(knock)
        return (PortAnswer(delay_s, Address(self._peer, "membership"), Knocked(answer)),)


def door_endpoint(peer: str) -> str:
    """The address of a peer's door, which in a simulation follows from its id."""
    return f"tcp://{peer}:3"


def _serial_of(identity: Identity) -> str:
    """The id that the root gives: by the keys, so that a mesh of the same seed has the same peers."""
    return (
        b32encode(blake2b(identity.curve_public, digest_size=SERIAL_CHARS * 5 // 8).digest()).decode().lower()
    )


def _secret(seed: int, purpose: str) -> bytes:
    return blake2b(f"simulation {seed} {purpose}".encode(), digest_size=32).digest()
