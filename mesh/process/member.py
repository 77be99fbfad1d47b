"""One member of a mesh as a running process: keys, sockets, membership, and the rest of its work. [io]

The bootstrap node is a member with nothing else; a peer adds its crawler, storage, index and gateway
(`peers.peer`).
"""

from __future__ import annotations

import logging
import secrets
import socket
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from ipaddress import ip_address
from pathlib import Path
from random import Random, SystemRandom
from typing import Final

import trio
from msgspec.structs import replace

from mesh.actors.actor import Actor, Address
from mesh.actors.codec import Decoder
from mesh.actors.conduct import Conduct
from mesh.actors.node import Node
from mesh.actors.port import Port
from mesh.config import NODE_KEY, MemberConfig, MeshConfig
from mesh.errors import ConfigError
from mesh.keys.certificate import read_certificate
from mesh.keys.identity import Identity
from mesh.keys.key_file import load_identity
from mesh.membership.announcer import PinsOf, no_pins
from mesh.membership.doors.knock_schedule import DoorAddress
from mesh.membership.membership import NO_FOLLOWERS, Membership
from mesh.membership.model.credentials import PeerCredentials
from mesh.membership.model.memory import Memory
from mesh.membership.model.messages import LeaveMesh, StopMembership
from mesh.membership.model.wire_messages import NAME_CHARS_MAX, MemberRecord
from mesh.membership.own.balance import BalanceSettings
from mesh.process.runtime import Runtime
from mesh.reach import Reach
from mesh.tables.layout import check_layout, note_layout
from mesh.tables.lives import begin_life
from mesh.tables.lmdb_table import LmdbTable
from mesh.tables.table import TableSection
from mesh.transport.door_port import DoorPort
from mesh.transport.network_port import NetworkPort
from mesh.transport.relay import Relay
from mesh.transport.relay_client import RelayClient
from mesh.transport.relay_port import RelayPort
from mesh.transport.tcp_endpoint import endpoint_of, host_and_port
from mesh.transport.transport import Transport

FAREWELL_S: Final = 2.0  # for telling the others that we go
MEMBERSHIP_SECTION: Final = b"M"  # of the table of a member

logger = logging.getLogger(__name__)


class Member:
    """A node with its runtime; `run` drives it."""

    def __init__(
        self,
        folder: Path,
        mesh: MeshConfig,
        config: MemberConfig,
        table: LmdbTable,
        gateway: str = "",
    ) -> None:
        """Load the keys and bind the sockets.

        Args:
          folder: that paths of the configuration are relative to.
          gateway: URL of the HTTP gateway for the member record, "" for none.

        Raises:
          ConfigError: no usable key or certificate, or an address that cannot be bound.
          StorageError: the table cannot be written, or another version of this program wrote it.
        """
        self._mesh = mesh
        self.identity: Identity = load_identity(folder / NODE_KEY)
        self.peer_id = self._named_by(config.certificate)
        self.table = table
        self.life = _begin_life(table)
        listen = config.listen
        ports = config.ports_lent()
        self._config = config
        self.relay = Relay(listen, self._announced_host(listen), ports) if ports else None
        self.transport = Transport(
            self.identity,
            endpoint=f"tcp://{listen}:{config.inbox_port}",
            multicast_endpoint=f"tcp://{listen}:{config.multicast_port}",
            door_endpoint=f"tcp://{listen}:{config.door_port}",
            relay=self.relay,
        )
        assert self.transport.door_endpoint is not None, "every member opens its door"
        sockets = self.transport.endpoint, self.transport.multicast_endpoint, self.transport.door_endpoint
        self.borrower = RelayClient(sockets)
        try:
            self.record = self._renewed(self._own_record(gateway))
            self._check_certificate()
        except ConfigError:
            self.transport.abandon()
            raise
        self.network = NetworkPort(self.transport)
        self.runtime: Runtime | None = None

    @property
    def n_relayed(self) -> int:
        """Peers that others reach over this one."""
        return 0 if self.relay is None else self.relay.observe().relayed

    def assemble(
        self,
        actors: Iterable[Actor],
        ports: Iterable[Port],
        decoder: Decoder,
        balance: BalanceSettings | None = None,
        followers: Mapping[str, tuple[str, ...]] = NO_FOLLOWERS,
        conduct: Conduct | None = None,
        pins_of: PinsOf = no_pins,
        when_full: Iterable[str] = (),
    ) -> Runtime:
        """Put the node together: the membership, these actors, and these ports beside our own.

        Args:
          decoder: of all messages that peers of this mesh send each other.
          followers: by kind of decree the names of the actors that are told what is in force.
          conduct: what other members may send, and what is made of what they do.
          pins_of: reads which slots the policy of the mesh gives to whom.
          when_full: actors that hear that the table has no space.
        """
        actors = list(actors)
        for actor in actors:  # what is for all peers is for those that have such an actor
            self.transport.subscribe(actor.name.encode())
        membership = Membership(
            self.record,
            self._mesh,
            Random(secrets.randbits(64)),
            TableSection(self.table, MEMBERSHIP_SECTION),
            PeerCredentials(self.identity, self._mesh),
            [DoorAddress(door.endpoint, door.key.encode()) for door in self._config.doors],
            balance=balance,
            listeners=tuple(actor.name for actor in actors),
            followers=followers,
            pins_of=pins_of,
            reach=self._config.relay if self.relay is None else Reach.NEVER,
            lends_ports=self.relay is not None,
        )
        node = Node(self.peer_id, [membership, *actors], conduct)
        door = DoorPort(self.peer_id, self.transport, self.relay)
        relay = RelayPort(self.peer_id, self.transport, self.borrower)
        own_ports: list[Port] = [self.network, door, relay]
        ports = [*own_ports, *ports]
        self.runtime = Runtime(node, self.table, self.transport, decoder, ports, when_full=when_full)
        return self.runtime

    async def run(self, stop: trio.Event, before_stop: Callable[[], Awaitable[bool]] | None = None) -> None:
        """Drive the node until `stop` is set, then end cleanly.

        Args:
          before_stop: awaited after `stop`, while everything still runs, to finish what was begun; returns
            whether the member leaves: nobody waits for it any more, though it may join again.

        Raises:
          ConfigError: the mesh refused this member.
        """
        assert self.runtime is not None, "assemble first"
        try:
            async with trio.open_nursery() as nursery:
                nursery.start_soon(self.transport.serve)
                await nursery.start(self.runtime.run)
                await stop.wait()
                is_leaving = before_stop is not None and await before_stop()
                farewell = LeaveMesh() if is_leaving else StopMembership()
                self.runtime.deliver(Address(self.peer_id, "network"), "membership", farewell)
                with trio.move_on_after(FAREWELL_S):
                    await self.network.has_ended.wait()
                nursery.cancel_scope.cancel()
        finally:
            await self.transport.aclose()
            self.table.close()

    def _named_by(self, certificate: str) -> str:
        """The id that the mesh's root has given to the holder of our keys."""
        keys = self.identity.curve_public, self.identity.signing_public
        named = read_certificate(self._mesh.digest(), *keys, bytes.fromhex(certificate))
        if named is None or not named.is_valid(bytes.fromhex(self._mesh.root_key)):
            raise ConfigError(why_not_from(self._mesh, keys, bytes.fromhex(certificate)))
        return named.grant.serial

    def _own_record(self, gateway: str) -> MemberRecord:
        door = self.transport.door_endpoint
        assert door is not None, "every member opens its door"
        return MemberRecord(
            peer=self.peer_id,
            endpoint=self._announced(self.transport.endpoint),
            multicast=self._announced(self.transport.multicast_endpoint),
            door=self._announced(door),
            gateway=gateway,
            curve_key=self.identity.curve_public,
            signing_key=self.identity.signing_public,
            certificate=bytes.fromhex(self._config.certificate),
            incarnation=0,
            weight=self._config.weight,
            name=(self._config.name or socket.gethostname())[:NAME_CHARS_MAX],
        )

    def _renewed(self, record: MemberRecord) -> MemberRecord:
        """With the certificate by which the root has renewed ours in an earlier life, as far as it allows."""
        credentials = PeerCredentials(self.identity, self._mesh)
        last = Memory(TableSection(self.table, MEMBERSHIP_SECTION)).own_record(self.peer_id)
        if last is None or not credentials.is_genuine(last):
            return record
        renewal = credentials.grant_of(last)
        if renewal.valid_until <= credentials.grant_of(record).valid_until:
            return record
        weight = min(record.weight, renewal.weight_allowed)
        return replace(record, certificate=last.certificate, weight=weight)

    def _announced(self, endpoint: str) -> str:
        """The endpoint by the address under which others reach this machine."""
        host, port = host_and_port(endpoint)
        return endpoint_of((self._announced_host(host), port))

    def _announced_host(self, host: str) -> str:
        """Where others reach this machine, if not where it listens; ZeroMQ wants no names."""
        announce = self._config.announce
        if announce:
            try:
                host = socket.gethostbyname(announce)
            except OSError as error:
                raise ConfigError(f"member.announce: {announce!r} leads to no address ({error})") from error
        if ip_address(host).is_unspecified:
            raise ConfigError(
                f"others cannot connect to {host}: set member.announce to the address of this machine"
            )
        return host

    def _check_certificate(self) -> None:
        """Find out before the others do that this peer wants more than it may."""
        credentials = PeerCredentials(self.identity, self._mesh)
        if not credentials.is_genuine(credentials.sign(self.record)):
            grant = credentials.grant_of(self.record)
            raise ConfigError(
                f"the certificate of peer {self.peer_id} allows a weight of {grant.weight_allowed}: set "
                "member.weight to that, or have the holder of the root key renew it with a larger one"
            )


def why_not_from(mesh: MeshConfig, keys: tuple[bytes, bytes], certificate: bytes) -> str:
    """Say why a configuration does not fit its certificate, which is not from its mesh, and how to mend it.

    What all peers must agree on is in the certificate: whoever edits it makes it that of another mesh. Which
    of the numbers was edited can be found by trying the others.
    """
    for other in _edited(mesh):
        named = read_certificate(other.digest(), *keys, certificate)
        if named is not None and named.is_valid(bytes.fromhex(mesh.root_key)):
            [(field, was, now)] = [
                (field, getattr(other, field), getattr(mesh, field))
                for field in FOUNDED
                if getattr(other, field) != getattr(mesh, field)
            ]
            return (
                f"{field} in [mesh] of config.toml is {now}, and this mesh was founded with {was} for ever: "
                f"write {field} = {was} again"
            )
    return (
        f"the certificate in config.toml is not for this peer.key in mesh {mesh.name!r}: use those two "
        "that were made together, and in [mesh] exactly what the other peers have there"
    )


FOUNDED: Final = {"replicas": range(1, 9), "analysis_version": range(1, 33), "slot_count": (50_000,)}


def _edited(mesh: MeshConfig) -> Iterator[MeshConfig]:
    """Yield the configurations that a mesh may have had before somebody edited one number."""
    for field, values in FOUNDED.items():
        yield from (replace(mesh, **{field: value}) for value in values if value != getattr(mesh, field))


def _begin_life(table: LmdbTable) -> int:
    check_layout(table)
    note_layout(table)
    life = begin_life(table, SystemRandom())
    table.commit()
    return life
