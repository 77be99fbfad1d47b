"""Messages between the membership and the ports and other actors of its peer, in both directions."""

from __future__ import annotations

from typing import Final

from mesh.actors.actor import Message
from mesh.keys.decree import Decree, DecreeName
from mesh.membership.model.wire_messages import (
    BorrowPorts,
    JoinMesh,
    JoinRefused,
    MemberRecord,
    PortsLent,
    Welcomed,
)

UNREACHABLE_MAX: Final = 16  # that knock and cannot be reached, of whom is told: the newest


class Knock(Message, frozen=True):
    """Membership to door: ask for admission there. Always answered by `Knocked`."""

    endpoint: str  # tcp://host:port of the door
    server_key: bytes  # Z85 text of the CURVE key its owner must prove to have
    join: JoinMesh


class Knocked(Message, frozen=True):
    """Door to membership: the answer of another peer's door; None when nobody answered in time."""

    answer: Welcomed | JoinRefused | None
    endpoint: str = ""  # of the door
    server_key: bytes = b""


class DoorKnocked(Message, frozen=True):
    """Door to membership: a stranger asks for admission. Answered by `AnswerDoor`, or not at all."""

    handle: int  # the door's number for the stranger
    curve_key: bytes  # Z85 text of the CURVE key the stranger has proved to have
    join: JoinMesh


class AnswerDoor(Message, frozen=True):
    """Membership to door: tell the stranger this."""

    handle: int
    answer: Welcomed | JoinRefused


class PortsAsked(Message, frozen=True):
    """Door to membership: one asks to be relayed. Answered by `LendPorts` or `AnswerDoor`, or not at all."""

    handle: int  # as in `DoorKnocked`
    curve_key: bytes
    borrow: BorrowPorts


class LendPorts(Message, frozen=True):
    """Membership to door: lend it ports if there are any, and answer it."""

    handle: int
    peer: str
    before: str  # endpoint of the inbox that it had last, "" for none
    claimed: tuple[str, ...]  # those of other members


class Borrow(Message, frozen=True):
    """Membership to relay: have ports of this member, in the place of others. Answered by `Borrowed`."""

    endpoint: str  # tcp://host:port of its door
    server_key: bytes  # Z85 text of its CURVE key
    borrow: BorrowPorts


class Borrowed(Message, frozen=True):
    """Relay to membership: others reach us at these ports; None when not, or not any more."""

    server_key: bytes  # of the member that lends them
    lent: PortsLent | None
    why: str = ""  # there are none


class TryAddresses(Message, frozen=True):
    """Membership to door: can this stranger be reached where it says it is? Answered by `AddressesTried`."""

    handle: int  # of the stranger
    record: MemberRecord


class AddressesTried(Message, frozen=True):
    """Door to membership: the result of trying a stranger's addresses."""

    handle: int
    failure: str  # what is wrong and what to do, "" when all of its addresses lead to it


class ConnectPeer(Message, frozen=True):
    """Membership to network: talk to this member and let it talk to us; replaces earlier orders about it."""

    record: MemberRecord


class DisconnectPeer(Message, frozen=True):
    """Membership to network: this peer is no member any more, close its sockets and refuse its key."""

    peer: str


class MembershipRefused(Message, frozen=True):
    """Membership to network: the mesh does not want this peer, which ends with this sentence."""

    reason: str


class CrawlLicensed(Message, frozen=True):
    """Membership to controller: somebody has answered us, so we may begin fetches until then.

    Without a majority of the members, or when nobody answers, it is not renewed.
    """

    until: float  # mesh clock; inf for the only member there is
    pages_elsewhere: int = 0  # that the other members have visited or are going to, as they said last
    busy_elsewhere: int = 0  # members of these that have anything to fetch
    rounds: int = 0  # so often all of them have said so since the start


class HoldingsRevoked(Message, frozen=True):
    """Membership to controller and handover: we were held for dead, others may crawl our slots by now."""


class MembersSeparated(Message, frozen=True):
    """To handover and lessor: for a while exactly these members have answered over others alone."""

    peers: frozenset[str]


class ServeSlots(Message, frozen=True):
    """Handover to membership: we may now answer for all the slots that our weight gives us."""

    # Not before others are ready too: alone we would have to answer for slots that we do not keep.
    is_together: bool = False


class QueueMeasured(Message, frozen=True):
    """Controller to membership: so many URLs are to be fetched here; weights follow from it."""

    length: int
    pages: int = 0  # fetched here, of the slots that are ours, and under a limit those that will be next


class DrainPeer(Message, frozen=True):
    """Driver or gateway to membership: give all slots of this peer away, or (False) take its share again.

    Others are ordered to by a decree.
    """

    is_draining: bool = True


class AskDecrees(Message, frozen=True):
    """Gateway to membership: which decrees of this kind and subject are held? Answered by `DecreesHeld`."""

    ticket: int
    kind: str
    subject: str


class DecreesHeld(Message, frozen=True):
    """Membership to the sender of `AskDecrees`: the decrees of that kind about that subject."""

    ticket: int
    kind: str
    subject: str
    decrees: tuple[Decree, ...]  # in force or to come, the lowest number first
    past: tuple[Decree, ...]  # what they have replaced, the lowest number first
    next_number: int  # for one that shall replace all these


class PublishDecree(Message, frozen=True):
    """Gateway to membership: have the whole mesh know this. Answered by `DecreePublished`."""

    ticket: int
    decree: Decree


class DecreePublished(Message, frozen=True):
    """Membership to the publisher: the decree is known here and on its way to all, or counts nowhere."""

    ticket: int
    name: DecreeName
    refusal: str = ""  # why it does not count


class DecreesInForce(Message, frozen=True):
    """Membership to the followers of a kind of decree: these, and no others of it, are in force now."""

    kind: str
    decrees: tuple[Decree, ...]  # one for each subject


class LeaveMesh(Message, frozen=True):
    """Driver to membership: this peer goes for good. Answered by `MembershipEnded`."""


class StopMembership(Message, frozen=True):
    """Driver to membership: this peer goes down and means to come back. Answered by `MembershipEnded`."""


class MembershipEnded(Message, frozen=True):
    """Membership to the driver that ended it: the others have been told, nothing more will be sent."""
