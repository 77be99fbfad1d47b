"""An invitation: all that one machine needs to join a mesh, in one file that its owner is given. [io]"""

from __future__ import annotations

import os
import time
from pathlib import Path

import msgspec

from bootstrap.provision import MeshFolder, Settings, grant_for, note_member, write_config
from mesh.certificate import issue, read_certificate
from mesh.config import WEIGHT_DEFAULT, DoorConfig, MeshConfig
from mesh.errors import ConfigError
from mesh.identity import Identity
from mesh.key_file import new_identity, new_serial, save_identity
from peers.config import PeerConfig


class Invitation(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The file, as JSON; its secret makes it worth stealing."""

    mesh: MeshConfig
    secret: str  # of the peer's keys, hexadecimal
    certificate: str  # hexadecimal
    doors: tuple[DoorConfig, ...]
    weight: int


def invitation_to(
    mesh_folder: MeshFolder, file: Path, doors: tuple[DoorConfig, ...], days: float, weight_max: int
) -> str:
    """Make a member, and write all it needs into a file that only we can read; return its id.

    Raises:
      ConfigError: the file exists or cannot be written.
    """
    identity = new_identity()
    weight = min(weight_max, WEIGHT_DEFAULT)
    grant = msgspec.structs.replace(grant_for(new_serial(), weight, days), weight_max=weight_max)
    keys = identity.curve_public, identity.signing_public
    certificate = issue(mesh_folder.root, mesh_folder.mesh.digest(), *keys, grant)
    told = Invitation(mesh_folder.mesh, identity.secret.hex(), certificate.encoded().hex(), doors, weight)
    try:
        with open(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as output:
            output.write(msgspec.json.encode(told))
    except OSError as error:
        raise ConfigError(f"cannot write {file}: {error.strerror}; choose another name") from error
    note_member(mesh_folder, certificate)
    return grant.serial


def accept(file: Path, folder: Path, host: str) -> None:
    """Make the folder of a peer from an invitation.

    Raises:
      ConfigError: it is none, has ended, or there is a peer in the folder.
    """
    try:
        told = msgspec.json.decode(file.read_bytes(), type=Invitation)
        identity = Identity.of_secret(bytes.fromhex(told.secret))
        encoded = bytes.fromhex(told.certificate)
    except (OSError, msgspec.MsgspecError, ValueError, AssertionError) as error:
        raise ConfigError(f"{file} is no invitation: {error}; ask for another one") from error
    keys = identity.curve_public, identity.signing_public
    certificate = read_certificate(told.mesh.digest(), *keys, encoded)
    if certificate is None or certificate.grant.valid_until <= time.time():
        raise ConfigError(f"the invitation in {file} has ended: ask for another one")
    save_identity(folder / "peer.key", identity)
    settings: Settings = {
        "member.certificate": told.certificate,
        "member.doors": told.doors,
        "member.weight": told.weight,
        "member.listen": "127.0.0.1" if host == "127.0.0.1" else "0.0.0.0",
        "member.announce": host,
    }
    write_config(folder / "config.toml", told.mesh, settings, PeerConfig)
