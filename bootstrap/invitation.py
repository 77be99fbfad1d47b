"""An invitation: all that other machines need to join a mesh, in one token of a few hundred letters. [io]

It holds the secret of a key that the root stands for (`mesh.keys.voucher`), what all peers agree on, and the
doors of some members. It is good for so many machines and until its day; a machine that has joined has its
own key, which was in no token.
"""

from __future__ import annotations

import base64
import time
from pathlib import Path
from typing import Annotated, Final

import msgspec
from msgspec import Meta

from bootstrap.provision import BOOTSTRAP, MeshFolder, note_invited
from bootstrap.rendezvous import BootstrapConfig
from mesh.config import NODE_KEY, DoorConfig, MemberConfig, MeshConfig, load_config
from mesh.errors import ConfigError
from mesh.keys.certificate import ALL_RIGHTS, Right
from mesh.keys.identity import SECRET_BYTES, bytes_of_z85, z85_of
from mesh.keys.key_file import load_identity, new_signing_key
from mesh.keys.signing_key import SigningKey
from mesh.keys.voucher import Terms, Voucher, vouch
from mesh.transport.tcp_endpoint import endpoint_of, host_and_port
from peers.config import PeerConfig

PREFIX: Final = "tianmesh1-"
TOKEN_CHARS_MAX: Final = 8_192
DOORS_MAX: Final = 8  # one that answers is enough
_DAY_S: Final = 86_400


class _Place(msgspec.Struct, frozen=True, array_like=True):
    """A door, short."""

    host: Annotated[str, Meta(max_length=253)]
    port: Annotated[int, Meta(ge=1, le=65_535)]
    key: Annotated[bytes, Meta(min_length=32, max_length=32)]


class Invitation(msgspec.Struct, frozen=True, array_like=True):
    """The content of a token; its secret makes it worth stealing."""

    mesh: MeshConfig
    secret: Annotated[bytes, Meta(min_length=SECRET_BYTES, max_length=SECRET_BYTES)]
    voucher: Voucher
    places: Annotated[tuple[_Place, ...], Meta(max_length=DOORS_MAX)]

    @property
    def key(self) -> SigningKey:
        return SigningKey.of_secret(self.secret)

    @property
    def doors(self) -> tuple[DoorConfig, ...]:
        return tuple(
            DoorConfig(endpoint=endpoint_of((each.host, each.port)), key=z85_of(each.key).decode())
            for each in self.places
        )

    def token(self) -> str:
        """The letters that a person hands on."""
        return PREFIX + base64.urlsafe_b64encode(msgspec.msgpack.encode(self)).decode().rstrip("=")


def invite_to(
    mesh_folder: MeshFolder,
    doors: tuple[DoorConfig, ...],
    uses: int,
    join_days: float,
    days: float,
    weight: int,
) -> Invitation:
    """Make an invitation, and note its members-to-be beside the root key, so that each can be expelled.

    Args:
      join_days: from now, in which newcomers are let in.
      days: from now, in which they stay members.
      weight: the largest that each may have.

    Raises:
      ConfigError: it cannot be noted.
    """
    key, mesh_id, now = new_signing_key(), mesh_folder.mesh.digest(), time.time()
    rights = int(ALL_RIGHTS if weight else Right.ANSWER)  # without any it would be a bootstrap node
    terms = Terms(uses, now + join_days * _DAY_S, now + days * _DAY_S, rights, weight)
    voucher = vouch(mesh_folder.root, mesh_id, key.public, terms)
    note_invited(mesh_folder, voucher)
    places = []
    for door in doors[:DOORS_MAX]:
        host, port = host_and_port(door.endpoint)
        places.append(_Place(host, port, bytes_of_z85(door.key.encode())))
    return Invitation(mesh_folder.mesh, key.secret, voucher, tuple(places))


def read_token(text: str) -> Invitation:
    """Read a token.

    Raises:
      ConfigError: it is none, is cut off, or has ended.
    """
    letters = "".join(text.split())
    again = "copy all of what `tianmesh invite` printed, or ask for another one"
    if not letters.startswith(PREFIX) or len(letters) > TOKEN_CHARS_MAX:
        raise ConfigError(f"that is no invitation, which begins with {PREFIX}: {again}")
    body = letters.removeprefix(PREFIX)
    try:
        packed = base64.b64decode(body + "=" * (-len(body) % 4), altchars=b"-_", validate=True)
        invitation = msgspec.msgpack.decode(packed, type=Invitation)
    except (ValueError, msgspec.MsgspecError, RecursionError) as error:
        raise ConfigError(f"the invitation is damaged or cut off: {again}") from error
    mesh = invitation.mesh
    is_whole = invitation.key.public == invitation.voucher.public and invitation.places
    if not is_whole or not invitation.voucher.is_valid(mesh.digest(), bytes.fromhex(mesh.root_key)):
        raise ConfigError(f"the root of mesh {mesh.name!r} has not signed this invitation: {again}")
    if invitation.voucher.terms.joins_until <= time.time():
        raise ConfigError("the invitation has ended: ask for another one, which `tianmesh invite` makes")
    return invitation


def doors_in(mesh_folder: MeshFolder) -> tuple[DoorConfig, ...]:
    """The doors of the nodes that were configured here, as others reach them: the bootstrap nodes' first.

    Those that only this machine reaches are told only when there are no others.
    """
    found: list[DoorConfig] = []
    for folder in (*sorted(mesh_folder.folder.glob(f"{BOOTSTRAP}*")), *mesh_folder.peers):
        config = folder / "config.toml"
        if config.is_file():
            is_peer = not folder.name.startswith(BOOTSTRAP)
            member = _member_in(config, is_peer=is_peer)
            host = member.announce or member.listen
            if member.door_port and host not in ("0.0.0.0", "::"):
                key = load_identity(folder / NODE_KEY).curve_public.decode()
                found.append(DoorConfig(endpoint=endpoint_of((host, member.door_port)), key=key))
    far = [door for door in found if not is_near(door)]
    return tuple(far or found)


def _member_in(config: Path, *, is_peer: bool) -> MemberConfig:
    return (load_config(config, PeerConfig) if is_peer else load_config(config, BootstrapConfig)).member


def is_near(door: DoorConfig) -> bool:
    """Is it a door that only the machine itself reaches?"""
    host, _ = host_and_port(door.endpoint)
    return host in ("localhost", "::1") or host.startswith("127.")
