"""What all peers of one mesh must agree on, and how one member is reached and reaches the others."""

from __future__ import annotations

import tomllib
from hashlib import blake2b
from pathlib import Path
from typing import Annotated, Any, Final, TypeVar

import msgspec
from msgspec import Meta

from mesh.errors import ConfigError
from mesh.slots import SLOTS_MAX

Port = Annotated[int, Meta(ge=0, le=65_535)]

WEIGHT_DEFAULT: Final = 100
NAME_CHARS_MAX: Final = 64

Config = TypeVar("Config")


class MeshConfig(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The constitution of a mesh. Two peers with different digests refuse each other."""

    name: Annotated[str, Meta(min_length=1, max_length=NAME_CHARS_MAX)]
    root_key: Annotated[str, Meta(pattern="^[0-9a-f]{64}$")]  # Ed25519 public key, signs certificates
    # 50,000 logical nodes, as Li, Yan, Wang 2004, section 6.2: enough for balance over 1,000 peers.
    slot_count: Annotated[int, Meta(ge=1, le=SLOTS_MAX)] = 50_000
    replicas: Annotated[int, Meta(ge=1, le=8)] = 2  # R, copies of everything including the owner's
    analysis_version: Annotated[int, Meta(ge=1)] = 3  # tokens of two versions do not meet

    def digest(self) -> bytes:
        """16 bytes that differ when any field does; the id of the mesh in certificates."""
        return blake2b(msgspec.json.encode(self, order="sorted"), digest_size=16).digest()


class DoorConfig(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A member at whose door a newcomer may knock."""

    endpoint: Annotated[str, Meta(pattern="^tcp://")]
    key: Annotated[str, Meta(min_length=40, max_length=40)]  # its public CURVE key, Z85


class MemberConfig(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """One member's keys and addresses. Paths are relative to the configuration file."""

    key_file: str = "peer.key"  # the secret; readable by its owner only
    certificate: Annotated[str, Meta(pattern="^([0-9a-f]{2})*$")] = ""  # the mesh root's signature
    listen: str = "127.0.0.1"  # address of the network card to bind, 0.0.0.0 for all
    announce: str = ""  # the name or address by which others reach this machine; "" is `listen`
    inbox_port: Port = 0  # 0 takes a free one
    multicast_port: Port = 0
    door_port: Port = 0
    weight: Annotated[int, Meta(ge=0, le=65_536)] = WEIGHT_DEFAULT  # share of the slots
    doors: tuple[DoorConfig, ...] = ()


def load_config(path: Path, kind: type[Config]) -> Config:
    """Read a configuration file.

    Raises:
      ConfigError: absent, not TOML, an unknown key or a value out of its range.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"cannot read {path}: {error}; `tianmesh init` writes a configuration") from error
    try:
        values: dict[str, Any] = tomllib.loads(text)
        return msgspec.convert(values, kind, strict=True)
    except (tomllib.TOMLDecodeError, msgspec.ValidationError) as error:
        raise ConfigError(f"{path}: {error}; correct that line and start again") from error
