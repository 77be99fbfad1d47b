"""Settings that all peers of one mesh must share, and how one member is reached and reaches the others."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from hashlib import blake2b
from pathlib import Path
from typing import Annotated, Any, Final, TypeVar

import msgspec
from msgspec import Meta

from mesh.errors import ConfigError
from mesh.port_leases import PORTS_EACH
from mesh.reach import Reach
from mesh.slot_limits import SLOTS_MAX

Port = Annotated[int, Meta(ge=0, le=65_535)]
PORTS_PATTERN: Final = "^([1-9][0-9]{0,4}-[1-9][0-9]{0,4})?$"

WEIGHT_DEFAULT: Final = 100
NODE_KEY: Final = "peer.key"  # beside config.toml: the secret of a node, which nobody but its owner may read
NAME_CHARS_MAX: Final = 64

Config = TypeVar("Config")


class MeshConfig(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The constitution of a mesh. Two peers with different digests refuse each other."""

    name: Annotated[
        str, Meta(min_length=1, max_length=NAME_CHARS_MAX, description="what people call this mesh")
    ]
    root_key: Annotated[
        str,
        Meta(
            pattern="^[0-9a-f]{64}$",
            description="Ed25519 public key, half of root.key, which signs the certificates of peers",
        ),
    ]
    # As Li, Yan, Wang 2004, section 6.2: enough for balance over 1,000 peers.
    slot_count: Annotated[
        int,
        Meta(ge=1, le=SLOTS_MAX, description="logical nodes that hosts are hashed to; it never changes"),
    ] = 50_000
    replicas: Annotated[
        int,
        Meta(ge=1, le=8, description="copies of every page, the owner's included; 1 loses data with a disk"),
    ] = 2
    analysis_version: Annotated[
        int,
        Meta(
            ge=1,
            description="how text became terms when this mesh was founded; older programs are refused, newer "
            "ones index pages anew",
        ),
    ]

    def digest(self) -> bytes:
        """16 bytes that differ when any field does; the id of the mesh in certificates."""
        return blake2b(msgspec.json.encode(self, order="sorted"), digest_size=16).digest()


class DoorConfig(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A member with a door at which a newcomer may knock."""

    endpoint: Annotated[str, Meta(pattern="^tcp://", description="tcp://host:port")]
    key: Annotated[str, Meta(min_length=40, max_length=40, description="its public CURVE key, Z85")]


class MemberConfig(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """How one member is reached, and by which certificate it is one; its secret is in peer.key."""

    certificate: Annotated[
        str,
        Meta(pattern="^([0-9a-f]{2})*$", description="what the mesh's root key grants to this node"),
    ] = ""
    listen: Annotated[str, Meta(description="address of the network card to bind, 0.0.0.0 for all")] = (
        "127.0.0.1"
    )
    announce: Annotated[
        str, Meta(description="name or address by which others reach this machine, if not by the one above")
    ] = ""
    inbox_port: Annotated[
        Port, Meta(description="for other members; 0 takes a free one, behind a firewall fix all three")
    ] = 0
    multicast_port: Annotated[Port, Meta(description="for what goes to all members")] = 0
    door_port: Annotated[Port, Meta(description="strangers with a certificate ask for admission here")] = 0
    name: Annotated[
        str, Meta(max_length=64, description="what people call this node; by default the name of its machine")
    ] = ""
    weight: Annotated[
        int, Meta(ge=0, le=65_536, description="share of the slots, beside others'; 0 only answers queries")
    ] = WEIGHT_DEFAULT
    doors: Annotated[
        tuple[DoorConfig, ...],
        Meta(description="members at whose door this node asks for admission: endpoint and public key"),
    ] = ()
    relay: Annotated[
        Reach,
        Meta(
            description="whether others reach this node over a relay, at one of those doors: auto, if they "
            "do not reach it otherwise; always; never"
        ),
    ] = Reach.AUTO
    relay_ports: Annotated[
        str,
        Meta(
            pattern=PORTS_PATTERN,
            description="be a relay for nodes that can only dial out: ports to lend, three to each, as "
            "9400-9423",
        ),
    ] = ""

    def __post_init__(self) -> None:
        ports = self.ports_lent()
        if self.relay_ports and (len(ports) < PORTS_EACH or ports.stop > 65_536):
            raise ValueError(f"relay_ports {self.relay_ports!r} are no three ports: first-last, up to 65535")
        if self.relay_ports and self.relay is Reach.ALWAYS:
            raise ValueError("a node that is always reached over a relay cannot be one: empty relay_ports")

    def ports_lent(self) -> range:
        """The ports that this node lends to others; none by default."""
        first, _, last = self.relay_ports.partition("-")
        return range(int(first or 0), int(last or -1) + 1)


def config_in(path: Path) -> Path:
    """Return the configuration file at the path that a person gave: the file itself, or the folder it is in.

    Raises:
      ConfigError: there is none, or there are those of several nodes.
    """
    config = path / "config.toml" if path.is_dir() else path
    if not config.exists() and any(path.glob("*/config.toml")):
        raise ConfigError(
            f"{path} holds nodes in folders of their own: `tianmesh start {path}` runs them all, or name one "
            "with --config"
        )
    if not config.exists():
        raise ConfigError(
            f"there is no node in {path}: `tianmesh init FOLDER` founds a mesh, `tianmesh join` joins "
            "one, and `tianmesh start FOLDER` runs what either has made; or name a config.toml with --config"
        )
    return config


def load_config(path: Path, kind: type[Config]) -> Config:
    """Read a configuration file.

    Raises:
      ConfigError: absent, not TOML, an unknown key or a value out of its range.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise ConfigError(
            f"{path} is no text in UTF-8: give a config.toml that `tianmesh init` wrote"
        ) from error
    except OSError as error:
        raise ConfigError(
            f"cannot read {path} ({error.strerror}): give a config.toml that `tianmesh init` or `join` wrote"
        ) from error
    return parse_config(text, kind, str(path))


def parse_config(text: str, kind: type[Config], where: str) -> Config:
    """Read a configuration.

    Args:
      where: names the text in errors.

    Raises:
      ConfigError: as for `load_config`.
    """
    try:
        values: dict[str, Any] = tomllib.loads(text)
        return msgspec.convert(values, kind, strict=True)
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"{where}: {error}; correct that line and start again") from error
    except msgspec.ValidationError as error:
        line = _line_of(text, str(error))
        place = f"{where}, line {line}" if line else where
        gone = _gone(str(error), getattr(kind, "gone", {}))
        raise ConfigError(f"{place}: {gone or f'{error}; correct that line and start again'}") from error


def _gone(fault: str, gone: Mapping[str, str]) -> str:
    """Return the advice on a setting that is gone, if that is the fault; "" if it is not."""
    at, unknown = _AT.search(fault), _UNKNOWN.search(fault)
    if unknown is None:
        return ""
    name = ".".join(filter(None, (at[1] if at else "", unknown[1])))
    return f"{name} is no setting any more: {gone[name]}" if name in gone else ""


def _line_of(text: str, fault: str) -> int:
    """Return the line of a configuration that a fault is about, from 1; 0 if none can be told."""
    at, unknown = _AT.search(fault), _UNKNOWN.search(fault)
    names = re.sub(r"\[[^\]]*\]", "", at[1]).split(".") if at and at[1] else []
    names += [unknown[1]] if unknown else []
    table: list[str] = []
    best = 0
    for number, line in enumerate(text.splitlines(), 1):
        line = line.partition("#")[0].strip()
        if line.startswith("["):
            table = line.strip("[] ").split(".")
            best = number if table == names[: len(table)] else best
        elif "=" in line and [*table, line.partition("=")[0].strip()] == names[: len(table) + 1]:
            return number
    return best


_AT: Final = re.compile(r"at `\$\.?([^`]{0,200})`")  # as msgspec tells where a value is wrong
_UNKNOWN: Final = re.compile(r"unknown field `([^`]{0,200})`")
