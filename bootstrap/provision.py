"""Make the folders of a new mesh: keys, certificates and commented configurations. [io]

    FOLDER/mesh.toml            what all peers agree on
    FOLDER/root.key             signs certificates; keep it safe, no peer needs it to run
    FOLDER/bootstrap/           config.toml, peer.key: the node whose door newcomers find
    FOLDER/peer-1/ ...          config.toml, peer.key, data/

A folder of a peer can be copied to the machine it is for; nothing in it names another machine but
the door of the bootstrap node.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import msgspec

from mesh.certificate import RootKey, issue
from mesh.config import WEIGHT_DEFAULT, MeshConfig, load_config
from mesh.errors import ConfigError
from mesh.identity import Identity
from mesh.key_file import (
    load_identity,
    load_root_key,
    new_identity,
    new_root_key,
    save_identity,
    save_root_key,
)
from mesh.slots import SlotTable, slot_of

BOOTSTRAP: Final = "bootstrap"

_MESH_TEXT = """\
# What all peers of this mesh agree on. Peers with another copy of this are refused.
name = {name}
root_key = "{root_key}"     # public half of root.key, which signs the certificates of peers
slot_count = {slot_count}         # logical nodes that hosts are hashed to; never changes
replicas = {replicas}              # copies of every page, the owner's included; 1 loses data with a disk
analysis_version = {analysis_version}      # how text becomes terms
"""

_MEMBER_TEXT = """\
[member]
key_file = "peer.key"     # the secret of this node; nobody else may read it
certificate = "{certificate}"
listen = {listen}    # address to bind; "0.0.0.0" for all network cards
announce = {announce}            # how others reach this machine, if not by the address above
inbox_port = {inbox_port}            # 0 takes a free port; behind a firewall fix all three
multicast_port = {multicast_port}
door_port = {door_port}             # strangers with a certificate ask for admission here
weight = {weight}              # share of the crawl; 0 only answers queries
{doors}
"""

_DOOR_TEXT = """
[[member.doors]]          # members at whose door this node asks for admission
endpoint = {endpoint}
key = {key}
"""


_PEER_TEXT = """
[storage]
folder = "data"           # table, archive and index of this peer

[gateway]
listen = {gateway}   # where this peer answers users; port 0 takes a free one
admin_token = ""          # whoever sends it may drain peers; without one, programs on this machine may

[crawl]
delay_s = {delay_s}             # pause between two requests to one host; robots.txt can make it longer
backoff_s = {backoff_s}          # pause after a host failed, doubled each time
host_failures_max = {host_failures_max}     # failures in a row before a host is left alone for a day
pages_per_host_max = {pages_per_host_max}
is_recorded = {is_recorded}       # write every page with its links to web.trace

[web]
user_agent = "tianmesh/0.1 (+https://tianmesh.example/bot)"   # put your own address here
resolver = {resolver}             # JSON table of names to use instead of DNS
allow_private = {allow_private}        # host names that may lead to private addresses
parsers = 1               # threads that take pages apart
trace = {trace}
"""


@dataclass(frozen=True, slots=True)
class NodeOptions:
    """What may be chosen of any node; see `mesh.config.MemberConfig`."""

    listen: str = "127.0.0.1"
    announce: str = ""
    first_port: int = 0  # inbox, then multicast, then door; 0 takes free ones
    weight: int = 100
    doors: tuple[tuple[str, str], ...] = ()  # endpoint and key of the doors to knock at


@dataclass(frozen=True, slots=True)
class PeerOptions:
    """What may be chosen of a peer; the names are those of its configuration file."""

    gateway: str = "127.0.0.1:8017"
    delay_s: float = 2.0
    backoff_s: float = 30.0
    host_failures_max: int = 5
    pages_per_host_max: int = 100_000
    resolver: str = ""
    allow_private: tuple[str, ...] = ()
    trace: str = ""


@dataclass(frozen=True, slots=True)
class MeshFolder:
    """A mesh as it lies on disk."""

    folder: Path
    mesh: MeshConfig
    root: RootKey

    @property
    def peers(self) -> list[Path]:
        """Folders of the peers, peer-1 first."""
        found = (path for path in self.folder.glob("peer-*") if (path / "peer.key").is_file())
        return sorted(found, key=lambda path: (len(path.name), path.name))


def create_mesh(folder: Path, name: str, replicas: int) -> MeshFolder:
    """Found a mesh: its root key and what its peers agree on.

    Raises:
      ConfigError: there is one in the folder already, or there can be none such.
    """
    if (folder / "mesh.toml").exists():
        raise ConfigError(f"{folder} holds a mesh already: name another folder, or leave out what founds one")
    root = new_root_key()
    try:
        mesh = msgspec.convert(
            {"name": name, "root_key": root.public.hex(), "replicas": replicas}, MeshConfig
        )
    except msgspec.ValidationError as error:
        raise ConfigError(f"no peer would take part in such a mesh: {error}; choose another value") from error
    save_root_key(folder / "root.key", root)
    _write(folder / "mesh.toml", mesh_text(mesh))
    return MeshFolder(folder, mesh, root)


def open_mesh(folder: Path) -> MeshFolder:
    """Read what `create_mesh` wrote.

    Raises:
      ConfigError: there is no mesh in the folder, or one of its files is damaged.
    """
    mesh = load_config(folder / "mesh.toml", MeshConfig)
    return MeshFolder(folder, mesh, load_root_key(folder / "root.key"))


def identity_in(folder: Path) -> Identity:
    """The keys of a node, made when it has none."""
    key_file = folder / "peer.key"
    if not key_file.exists():
        save_identity(key_file, new_identity())
    return load_identity(key_file)


def draw_keys(mesh_folder: MeshFolder, peers: int, hosts: Sequence[str]) -> None:
    """Make keys for new peers with which each of them owns one of these hosts at least.

    Keys decide who owns what. With a handful of hosts chance would leave one of three peers without any
    in every third mesh, which shows nobody how a mesh shares its work.
    """
    assert len(hosts) >= peers
    mesh = mesh_folder.mesh
    slots = [slot_of(f"http://{host}", mesh.slot_count) for host in hosts]
    owners: set[str] = set()
    while len(owners) < peers:
        identities = [new_identity() for _ in range(peers)]
        weights = dict.fromkeys((identity.peer_id for identity in identities), WEIGHT_DEFAULT)
        table = SlotTable(weights, mesh.slot_count, replicas=1)
        owners = {table.team_of(slot)[0] for slot in slots}
    for number, identity in enumerate(identities, 1):
        save_identity(mesh_folder.folder / f"peer-{number}" / "peer.key", identity)


def write_bootstrap(mesh_folder: MeshFolder, node: NodeOptions) -> Identity:
    """Write the bootstrap node's configuration, and its key if it has none."""
    return _write_node(mesh_folder, mesh_folder.folder / BOOTSTRAP, node, "")


def write_peer(mesh_folder: MeshFolder, number: int, node: NodeOptions, peer: PeerOptions) -> Identity:
    """Write the configuration of peer `number` (1, 2, ...), and its key if it has none."""
    text = _PEER_TEXT.format(
        gateway=quoted(peer.gateway),
        delay_s=peer.delay_s,
        backoff_s=peer.backoff_s,
        host_failures_max=peer.host_failures_max,
        pages_per_host_max=peer.pages_per_host_max,
        is_recorded="true" if peer.trace else "false",
        resolver=quoted(peer.resolver),
        allow_private="[" + ", ".join(map(quoted, peer.allow_private)) + "]",
        trace=quoted(peer.trace),
    )
    return _write_node(mesh_folder, mesh_folder.folder / f"peer-{number}", node, text)


def private_names_in(config: Path) -> list[str]:
    """The names that a peer's configuration lets lead to private addresses; none when it is unreadable."""
    try:
        return list(tomllib.loads(config.read_text(encoding="utf-8"))["web"]["allow_private"])
    except (OSError, ValueError, KeyError, TypeError):
        return []


def _write_node(mesh_folder: MeshFolder, folder: Path, node: NodeOptions, sections: str) -> Identity:
    identity = identity_in(folder)
    mesh_id = mesh_folder.mesh.digest()
    certificate = issue(mesh_folder.root, mesh_id, identity.curve_public, identity.signing_public)
    member = _MEMBER_TEXT.format(
        certificate=certificate.signature.hex(),
        listen=quoted(node.listen),
        announce=quoted(node.announce),
        inbox_port=node.first_port,
        multicast_port=node.first_port and node.first_port + 1,
        door_port=node.first_port and node.first_port + 2,
        weight=node.weight,
        doors="".join(_DOOR_TEXT.format(endpoint=quoted(at), key=quoted(key)) for at, key in node.doors),
    )
    _write(folder / "config.toml", "[mesh]\n" + mesh_text(mesh_folder.mesh) + "\n" + member + sections)
    return identity


def mesh_text(mesh: MeshConfig) -> str:
    """The constitution as commented TOML."""
    return _MESH_TEXT.format(
        name=quoted(mesh.name),
        root_key=mesh.root_key,
        slot_count=mesh.slot_count,
        replicas=mesh.replicas,
        analysis_version=mesh.analysis_version,
    )


def quoted(value: str) -> str:
    """A TOML string: as in JSON, which does not escape DEL."""
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def _write(path: Path, text: str) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise ConfigError(f"cannot write {path}: {error.strerror}; choose a folder of yours") from error
    except UnicodeEncodeError as error:
        raise ConfigError(
            f"cannot write {path}: a setting is no text but bytes; write it as UTF-8"
        ) from error
