"""Messages between members: are you alive, let me in, these are my beliefs, give your slots away."""

from __future__ import annotations

from typing import Annotated, Final, TypeAlias

from msgspec import Meta

from mesh.actors.actor import Message
from mesh.keys.decree import Decree, DecreeName
from mesh.wire_fields import Count, Key, Name

GOSSIP_MAX: Final = 64  # rumours that ride on one probe; the rest go with the next ones
ACCUSERS_MAX: Final = 8  # of one suspect; more make no difference
MEMBERS_MAX: Final = 4_096  # members of a mesh in one welcome
NAMES_MAX: Final = 512  # of decrees in one message
NAME_CHARS_MAX: Final = 64  # of what people call a member

# `MemberList.known_digest` of the sender; b"" from one whose version has none, which counts as our own.
KnownDigest: TypeAlias = Annotated[bytes, Meta(max_length=8)]

# Of the members told: who is not settled at the sender, see `licence`.
Newcomers: TypeAlias = Annotated[tuple[Name, ...], Meta(max_length=MEMBERS_MAX)]

Endpoint: TypeAlias = Annotated[str, Meta(max_length=300)]


class MemberRecord(Message, frozen=True, array_like=True):
    """A peer's record of itself; it alone writes and signs it, gossip carries it on."""

    peer: Name
    endpoint: Endpoint  # tcp://host:port of the inbox
    multicast: Endpoint  # tcp://host:port where it listens for multicasts
    door: Endpoint  # where strangers may ask for admission, "" for none
    gateway: Endpoint  # http://host:port, "" for none
    curve_key: Key  # Z85 text of the public CURVE key
    signing_key: Key  # raw Ed25519 public key
    # `Certificate.encoded`: what the mesh root grants to these two keys; 230 bytes by an invitation.
    certificate: Annotated[bytes, Meta(max_length=320)]
    incarnation: Count  # grows with every change the peer makes; the highest wins
    weight: Annotated[int, Meta(ge=0, le=65_536)]  # share of the slots to crawl and keep, 0 for none
    # Share to answer for: 0, `serving_weights.READY`, or what the weight is or was before slots moved.
    serving: Annotated[int, Meta(ge=0, le=65_536)] = 0
    is_draining: bool = False  # it gives its slots away and takes none
    # members.State: alive; dead when it goes down and means to come back; left when it goes for good.
    parting: Annotated[int, Meta(ge=0, le=3)] = 0
    signature: Key = b""  # by signing_key over all fields before
    # What people call it; may be anything. Not signed: a peer that passes it on may change it.
    name: Annotated[str, Meta(max_length=NAME_CHARS_MAX)] = ""


class Rumour(Message, frozen=True, array_like=True):
    """A member and the state in which it is believed to be."""

    record: MemberRecord
    state: Annotated[int, Meta(ge=0, le=3)]  # members.State
    # Of a suspect: who found it silent, each of its own observation; who hears it counts the teller only.
    accusers: Annotated[tuple[Name, ...], Meta(max_length=ACCUSERS_MAX)] = ()


class Ping(Message, frozen=True, array_like=True, tag=1):
    """Any member to another: are you alive? Answered at once by `PingAnswered`."""

    sequence: Count
    gossip: Annotated[tuple[Rumour, ...], Meta(max_length=GOSSIP_MAX)] = ()
    queue: Count = 0  # URLs that the sender has still to fetch
    pages: Count = 0  # and those of its slots that it has fetched
    known: KnownDigest = b""


class PingAnswered(Message, frozen=True, array_like=True, tag=2):
    """The probed member, or the one asked to probe it, to the prober.

    Who is asked answers at once for itself, and again for the probed member when that has answered.
    """

    sequence: Count
    peer: Name  # who is alive
    gossip: Annotated[tuple[Rumour, ...], Meta(max_length=GOSSIP_MAX)] = ()
    queue: Count = 0  # as in `Ping`
    pages: Count = 0
    known: KnownDigest = b""
    is_at_rest: bool = False  # so this lets the prober crawl for longer, see `licence`


class PingRequested(Message, frozen=True, array_like=True, tag=3):
    """A prober without an answer to a third member: please ping `peer` for me (SWIM, indirect)."""

    sequence: Count
    peer: Name
    gossip: Annotated[tuple[Rumour, ...], Meta(max_length=GOSSIP_MAX)] = ()


class JoinMesh(Message, frozen=True, array_like=True, tag=4):
    """A stranger at a member's door: let me in. Answered by `Welcomed` or `JoinRefused`."""

    record: MemberRecord
    mesh_digest: Key  # of the stranger's MeshConfig
    # Its own door answers `CallBack`: who lets it in finds out before whether others can reach it.
    is_callable: bool = False


class Welcomed(Message, frozen=True, array_like=True, tag=5):
    """The member at the door to the newcomer: all it knows of the mesh."""

    members: Annotated[tuple[Rumour, ...], Meta(max_length=MEMBERS_MAX)]
    decrees: Annotated[tuple[Decree, ...], Meta(max_length=NAMES_MAX)] = ()
    has_caught_up: bool = False  # what is in force about the whole mesh is among these
    newcomers: Newcomers = ()


class JoinRefused(Message, frozen=True, array_like=True, tag=6):
    """The member at the door to a stranger it does not admit."""

    reason: Annotated[str, Meta(max_length=300)]
    # What proves to a member, which has lost sight of the others since, that it was expelled; or its renewal.
    decrees: Annotated[tuple[Decree, ...], Meta(max_length=NAMES_MAX)] = ()
    is_final: bool = True  # else it may be let in as soon as a person has mended what the reason says
    lends_ports: bool = False  # to whom others do not reach, who asks by `BorrowPorts`


class MembersWanted(Message, frozen=True, array_like=True, tag=7):
    """Anti-entropy of the membership: a member sends all it believes and wants the same back.

    Or only the digest of it: one that believes something else asks back with all that it believes.
    """

    members: Annotated[tuple[Rumour, ...], Meta(max_length=MEMBERS_MAX)]
    believed: KnownDigest = b""  # of all members; in place of these


class MembersTold(Message, frozen=True, array_like=True, tag=8):
    """Answer to `MembersWanted`; without members if the digest in that is the teller's own."""

    members: Annotated[tuple[Rumour, ...], Meta(max_length=MEMBERS_MAX)]
    decrees: Annotated[tuple[DecreeName, ...], Meta(max_length=NAMES_MAX)] = ()  # about the whole mesh
    has_caught_up: bool = False  # whoever lacks none of these has missed none while it was away
    newcomers: Newcomers = ()


class RumoursSpread(Message, frozen=True, array_like=True, tag=9):
    """Any member to a few others while it has news; not answered, the news comes from others too."""

    gossip: Annotated[tuple[Rumour, ...], Meta(max_length=GOSSIP_MAX)]


class DecreesNamed(Message, frozen=True, array_like=True, tag=11):
    """Any member to another: I know these. A member that lacks one asks for it by `DecreesWanted`."""

    names: Annotated[tuple[DecreeName, ...], Meta(max_length=NAMES_MAX)]


class DecreesWanted(Message, frozen=True, array_like=True, tag=12):
    """A member to one that has named these decrees: tell me. Answered by `DecreesTold`."""

    names: Annotated[tuple[DecreeName, ...], Meta(max_length=NAMES_MAX)]


class DecreesTold(Message, frozen=True, array_like=True, tag=13):
    """Answer to `DecreesWanted`: those that fit into one message."""

    decrees: Annotated[tuple[Decree, ...], Meta(max_length=NAMES_MAX)]


class CallBack(Message, frozen=True, array_like=True, tag=14):
    """A member at which a stranger has knocked, to the stranger's own door: is it there that you are?"""


class CalledBack(Message, frozen=True, array_like=True, tag=15):
    """Answer to `CallBack`; the seal of a door says which peer the door belongs to."""


class BorrowPorts(Message, frozen=True, array_like=True, tag=16):
    """One that others do not reach at a member's door: relay me. Answered by `PortsLent` or `JoinRefused`."""

    record: MemberRecord
    mesh_digest: Key  # of its MeshConfig


class PortsLent(Message, frozen=True, array_like=True, tag=17):
    """Answer to `BorrowPorts`: you have these, as long as you keep a control connection to this door."""

    endpoint: Endpoint  # these three are for its record
    multicast: Endpoint
    door: Endpoint
    lease: Key  # what its connections begin with, see `mesh.transport.relay_frames`
    secret: Key  # and what proves that they are its own
