"""The bootstrap node: a member without slots; newcomers find the mesh through its door. [io]

Others find each other through it and then do without it: while it is down nobody new can join
through it, and nothing else changes.
"""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar

import msgspec
import trio

from mesh.actors.actor import Actor, Address, Message, Send, Statistics
from mesh.actors.codec import Decoder
from mesh.actors.ownership import Ownership, OwnershipChanged
from mesh.config import MemberConfig, MeshConfig, config_in, load_config
from mesh.errors import ConfigError, LocalProtocolError
from mesh.membership.model.messages import HoldingsRevoked, MembersSeparated
from mesh.process.member import Member
from mesh.process.process import Tell
from mesh.slot_set import NO_SLOTS
from mesh.tables.lmdb_table import LmdbTable
from peers.config import PeerConfig
from peers.crawler.model.wire_messages import LeasesTold, TellLeases
from peers.damaged_data import set_aside_if_damaged
from peers.handover.wire_messages import ClaimSlots, SlotsYielded
from peers.wire_tags import WIRE_TAGS


class BootstrapConfig(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The configuration file of a bootstrap node."""

    mesh: MeshConfig
    member: MemberConfig


async def run_bootstrap(config_file: Path, stop: trio.Event, tell: Tell) -> None:
    """Run until `stop` is set; `tell` gets a description of the node once its sockets are bound.

    Raises:
      ConfigError: a setting, a key or an address is wrong.
    """
    config_file = config_in(config_file)
    config = _loaded(config_file)
    folder = config_file.parent
    await set_aside_if_damaged(folder / "data")
    table = LmdbTable(folder / "data" / "table")
    member = Member(folder, config.mesh, msgspec.structs.replace(config.member, weight=0), table)
    member.assemble([Yielder(member.peer_id), Leaseless()], [], Decoder(WIRE_TAGS.values()))
    tell(
        {
            "id": member.peer_id,
            "endpoint": member.record.endpoint,
            "door": member.record.door,
            "key": member.identity.curve_public.decode(),
        }
    )
    await member.run(stop)


def _loaded(config_file: Path) -> BootstrapConfig:
    try:
        return load_config(config_file, BootstrapConfig)
    except ConfigError:
        load_config(config_file, PeerConfig)  # raises what is wrong, if it is not that of a peer
        raise ConfigError(
            f"{config_file} is that of a peer: start it with `tianmesh peer --config {config_file}`"
        ) from None


class LeaselessStatistics(Statistics, frozen=True):
    """Counts since the start."""

    told: int  # inquiries


class Leaseless(Actor):
    """Stands where peers have their lessor: tells members that ask for its leases that it has none.

    A peer that comes to hold slots lends their addresses when every live member has told what it has leased
    of them (`peers.crawler.addresses.lent_addresses`), and the bootstrap node is one. Without its word they
    would wait until all leases that there can be have ended: nothing public would be asked for a minute after
    each change of members.
    """

    name: ClassVar[str] = "lessor"
    remote_messages: ClassVar[frozenset[type[Message]]] = frozenset({TellLeases})

    def __init__(self) -> None:
        self._n_told = 0

    def receive(self, source: Address, message: Message, now: float) -> list[Send]:
        match message:
            case TellLeases(number):
                self._n_told += 1
                return [Send(source, LeasesTold(number))]
            case OwnershipChanged() | HoldingsRevoked() | MembersSeparated():
                return []
            case _:
                raise LocalProtocolError(f"{type(message).__name__} for a member without leases")

    def observe(self) -> LeaselessStatistics:
        return LeaselessStatistics(self._n_told)


class YielderStatistics(Statistics, frozen=True):
    """Counts since the start."""

    yielded: int  # claims


class Yielder(Actor):
    """Stands where peers have their handover: yields all slots to the members that claim them.

    A peer crawls a slot with the consent of every live member (`peers/handover`), and the bootstrap node is
    one. It never fetches, so it consents at once. It must not say so under another epoch than the claimant's:
    that both know the same members is part of the consent.
    """

    name: ClassVar[str] = "handover"
    remote_messages: ClassVar[frozenset[type[Message]]] = frozenset({ClaimSlots})

    def __init__(self, me: str) -> None:
        self._me = me
        self._ownership: Ownership | None = None
        self._claims: dict[str, ClaimSlots] = {}  # the last of each member, which may come before its epoch
        self._n_yielded = 0

    def receive(self, source: Address, message: Message, now: float) -> list[Send]:
        match message:
            case OwnershipChanged(ownership=ownership):
                self._ownership = ownership
                self._claims = {p: claim for p, claim in self._claims.items() if p in ownership.alive}
                return [send for peer in self._claims for send in self._yield_to(peer)]
            case ClaimSlots() if source.peer != self._me:
                self._claims[source.peer] = message
                return self._yield_to(source.peer)
            case HoldingsRevoked() | MembersSeparated():
                return []  # there are none
            case _:
                raise LocalProtocolError(f"{type(message).__name__} for a member without slots")

    def observe(self) -> YielderStatistics:
        return YielderStatistics(self._n_yielded)

    def _yield_to(self, peer: str) -> list[Send]:
        claim, ownership = self._claims[peer], self._ownership
        if ownership is None or claim.epoch != ownership.epoch or peer not in ownership.alive:
            return []
        self._n_yielded += 1
        answer = SlotsYielded(claim.claim, claim.epoch, claim.slots, filled=NO_SLOTS)
        return [Send(Address(peer, self.name), answer)]
