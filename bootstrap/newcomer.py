"""A new machine joins by a token: it makes its keys, finds its address, asks a door for a free id. [io]"""

from __future__ import annotations

import random
import socket
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Final

import trio

from bootstrap.invitation import Invitation
from bootstrap.provision import Settings, identity_in, ports_from, write_config
from mesh.actors.codec import OLDEST_VERSION, Decoder, encode
from mesh.client.admin_token import make_token
from mesh.config import WEIGHT_DEFAULT, DoorConfig
from mesh.counts import counted
from mesh.errors import ConfigError, RemoteProtocolError
from mesh.keys.certificate import issue_by_voucher
from mesh.keys.identity import Identity
from mesh.membership.model.wire_messages import JoinMesh, JoinRefused, MemberRecord, Welcomed
from mesh.process.places import check_place
from mesh.reach import Reach
from mesh.transport.door import knock
from mesh.transport.tcp_endpoint import checked_host, host_and_port
from peers.config import PeerConfig
from peers.gateway.model.settings import GatewaySettings

ANSWER_S: Final = 5.0  # of a door
FIRST_PORT: Final = 7_410  # inbox; multicast and door follow. Of the next peer on the same machine: ten more
PEERS_MAX: Final = 100  # on one machine, for which ports are looked for
TAKEN: Final = "the id "  # begins what a door says of an id that belongs to another key

_DECODER: Final = Decoder((JoinMesh, Welcomed, JoinRefused))


def join_by(
    invitation: Invitation,
    folder: Path,
    host: str,
    *,
    gateway: str = "",
    weight: int | None = None,
    relay: Reach = Reach.AUTO,
    contact: str = "",
    name: str = "",
) -> None:
    """Make the folder of a peer: its key, its certificate, its configuration.

    Args:
      host: address of this machine for the others; "" to find it out.
      gateway: host:port where it answers people; "" for a port that is free on loopback.
      contact: where webmasters reach who runs it; "" if it is to ask no public host.
      weight: its share of the slots; None for the usual one, as far as the invitation allows.
      name: what people call it; "" for the name of its machine.
      relay: when others shall reach it over a relay.

    Raises:
      ConfigError: there is a peer in the folder, no door answers, or all ids are taken.
    """
    check_place(folder)
    config = folder / "config.toml"
    if config.exists():
        raise ConfigError(
            f"there is a peer in {folder} already: start it with `tianmesh peer --config {config}`, or "
            "choose another --folder for a second one"
        )
    identity = identity_in(folder)
    door, found = reached(invitation.doors)
    serial = free_serial(invitation, identity, door)
    keys = identity.curve_public, identity.signing_public
    mesh_id, voucher = invitation.mesh.digest(), invitation.voucher
    certificate = issue_by_voucher(invitation.key, voucher, serial, mesh_id, keys)
    announced = checked_host(host or found)
    is_near = announced.startswith("127.")
    first = _free_ports("127.0.0.1" if is_near else "0.0.0.0")
    settings: Settings = {
        "member.certificate": certificate.encoded().hex(),
        "member.doors": invitation.doors,
        "member.weight": _weight_within(voucher.terms.weight_max, weight),
        "member.listen": "127.0.0.1" if is_near else "0.0.0.0",
        "member.announce": announced,
        "member.relay": relay,
        "gateway.listen": gateway or _free_gateway(),
        **({"crawl.contact": contact} if contact else {}),
        **({"member.name": name} if name else {}),
        **ports_from(first),
    }
    make_token(folder)
    write_config(config, invitation.mesh, settings, PeerConfig)  # last: who was interrupted may begin again


def _weight_within(most: int, wanted: int | None) -> int:
    if wanted is not None and wanted > most:
        raise ConfigError(
            f"the invitation allows a weight of {most} at most, not {wanted}: `tianmesh invite --weight-max "
            f"{wanted}` makes one that does"
        )
    return min(most, WEIGHT_DEFAULT) if wanted is None else wanted


def reached(doors: tuple[DoorConfig, ...]) -> tuple[DoorConfig, str]:
    """The first door that can be connected to, and the address of this machine on the way to it.

    Raises:
      ConfigError: there is none.
    """
    failures = []
    for door in doors:
        try:
            with socket.create_connection(host_and_port(door.endpoint), ANSWER_S) as connection:
                return door, str(connection.getsockname()[0])
        except OSError as error:
            failures.append(f"{door.endpoint} ({error.strerror or error})")
    raise ConfigError(
        f"no door of the mesh can be reached from here: {', '.join(failures)}; are its nodes running, and do "
        "their firewalls let this machine in?"
    )


def free_serial(invitation: Invitation, identity: Identity, door: DoorConfig) -> str:
    """One of the ids of an invitation that no other machine has.

    Raises:
      ConfigError: there is none, or the door does not answer.
    """
    serials = list(invitation.voucher.serials())
    random.shuffle(serials)  # machines that join at the same time should not take the same one
    for serial in serials:
        if not _is_taken(invitation, identity, door, serial):
            return serial
    raise ConfigError(
        f"the invitation has been used by {counted(len(serials), 'machine')}, as many as it is good for: ask "
        "for another one, which `tianmesh invite` makes"
    )


def _is_taken(invitation: Invitation, identity: Identity, door: DoorConfig, serial: str) -> bool:
    """Ask at a door, which says so before it misses a signature: nobody is let in by this."""
    keys = identity.curve_public, identity.signing_public
    record = MemberRecord(serial, "", "", "", "", *keys, b"", 0, 0)
    frame = encode("membership", "membership", JoinMesh(record, invitation.mesh.digest()), OLDEST_VERSION)
    ask = partial(_ask, identity, door, frame)
    try:
        answer = _DECODER.decode(trio.run(ask)).message
    except (OSError, RemoteProtocolError, trio.TooSlowError) as error:
        raise ConfigError(
            f"the door at {door.endpoint} does not answer ({str(error) or 'too slow'}): try again in a "
            "moment; if it stays so, its node is not a member of the mesh, or most of that is down"
        ) from error
    return isinstance(answer, JoinRefused) and answer.reason.startswith(TAKEN)


async def _ask(identity: Identity, door: DoorConfig, frame: bytes) -> bytes:
    with trio.fail_after(ANSWER_S):
        return await knock(identity, door.endpoint, door.key.encode(), frame)


def _free_ports(listen: str) -> int:
    """The first of three ports that nobody listens on."""
    for first in range(FIRST_PORT, FIRST_PORT + 10 * PEERS_MAX, 10):
        if all(_is_free(listen, port) for port in range(first, first + 3)):
            return first
    raise ConfigError(f"no ports are free from {FIRST_PORT} on: stop what listens there")


def _free_gateway() -> str:
    host, _, port = GatewaySettings().listen.rpartition(":")
    ports: Iterator[int] = iter(range(int(port), int(port) + PEERS_MAX))
    return f"{host}:{next((each for each in ports if _is_free(host, each)), 0)}"


def _is_free(host: str, port: int) -> bool:
    try:
        socket.create_server((host, port)).close()
    except OSError:
        return False
    return True
