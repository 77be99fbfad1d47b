"""Make the folders of a new mesh: keys, certificates and commented configurations. [io]

    FOLDER/mesh.toml            what all peers agree on
    FOLDER/root.key             signs certificates; keep it in a safe: what is there starts without it
    FOLDER/admin.key            signs orders and the policy, and what opens gateways; no peer needs it either
    FOLDER/members/             of every member the public keys, so that its certificate can be renewed
    FOLDER/bootstrap/           config.toml, peer.key: the node whose door newcomers find
    FOLDER/peer-1/ ...          config.toml, peer.key, admin.token, data/

A folder of a peer can be copied to the machine it is for; nothing in it names another machine but
the door of the bootstrap node.
"""

from __future__ import annotations

import os
import time
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final, TypeAlias, TypeVar

import msgspec
import numpy as np

from bootstrap.rendezvous import BootstrapConfig
from bootstrap.toml_edit import with_settings
from bootstrap.toml_text import toml_of
from mesh.client.admin_token import make_token
from mesh.config import NODE_KEY, WEIGHT_DEFAULT, DoorConfig, MeshConfig, load_config, parse_config
from mesh.counts import counted
from mesh.errors import ConfigError
from mesh.keys.certificate import (
    WEIGHT_MAX_DEFAULT,
    Certificate,
    Grant,
    Right,
    issue,
    read_certificate,
    why_no_beginning,
)
from mesh.keys.decree import Signer, appoint
from mesh.keys.identity import Identity
from mesh.keys.key_file import (
    load_identity,
    load_root_key,
    new_identity,
    new_serial,
    new_signing_key,
    save_administrator,
    save_identity,
    save_root_key,
)
from mesh.keys.signing_key import SigningKey
from mesh.keys.voucher import Voucher
from mesh.process.places import check_place
from mesh.slot_ranking import WEIGHT_MAX, rank_peers
from mesh.slots import slot_of
from mesh.tables.disk_space import NO_SPACE
from mesh.tables.private_files import make_private_folder, write_private_text
from peers.config import PeerConfig
from peers.text.version import ANALYSIS_VERSION

BOOTSTRAP: Final = "bootstrap"
MEMBERS: Final = "members"
ROOT_KEY: Final = "root.key"
ROOT_KEY_AT: Final = "TIANMESH_ROOT_KEY"  # name of the variable that says where it is, if not in the folder
SERIAL_FILE: Final = (
    "serial"  # in the folder of a peer whose id was drawn before its configuration is written
)
CERTIFICATE_DAYS: Final = 3_650.0  # for which a certificate is valid, unless somebody says otherwise

# By `table.key` as in the configuration file; whatever is not named has its default, or stays as it is.
Settings: TypeAlias = Mapping[str, object]
NO_SETTINGS: Final[Settings] = MappingProxyType({})

Config = TypeVar("Config", PeerConfig, BootstrapConfig)


@dataclass(frozen=True)
class MeshFolder:
    """A mesh as it lies on disk."""

    folder: Path
    mesh: MeshConfig

    @cached_property
    def root(self) -> SigningKey:
        """The root key: read when something is to be signed, so that it may be elsewhere all other time.

        Raises:
          ConfigError: it is not there, is readable by others, or that of another mesh.
        """
        path = self.folder / ROOT_KEY
        if not path.exists():
            path = Path(os.environ.get(ROOT_KEY_AT) or path)
        if not path.exists():
            raise ConfigError(
                f"there is no {path}, by which members are let in, renewed and expelled: bring it back from "
                f"where you keep it, or set {ROOT_KEY_AT} to that place"
            )
        root = load_root_key(path)
        if root.public.hex() != self.mesh.root_key:
            raise ConfigError(f"{path} is the root key of another mesh than that in {self.folder}")
        return root

    @property
    def peers(self) -> list[Path]:
        """Folders of the peers, peer-1 first."""
        found = (path for path in self.folder.glob("peer-*") if (path / NODE_KEY).is_file())
        return sorted(found, key=lambda path: (len(path.name), path.name))


def create_mesh(folder: Path, name: str, replicas: int) -> MeshFolder:
    """Found a mesh: make its root key and the settings that its peers agree on.

    Raises:
      ConfigError: there is one in the folder already, or there can be none such.
    """
    if (folder / "mesh.toml").exists():
        raise ConfigError(f"{folder} holds a mesh already: name another folder, or leave out what founds one")
    check_place(folder)
    root = new_signing_key()
    try:
        told = {"name": name, "root_key": root.public.hex(), "replicas": replicas}
        mesh = msgspec.convert(told | {"analysis_version": ANALYSIS_VERSION}, MeshConfig)
    except msgspec.ValidationError as error:
        raise ConfigError(f"no peer would take part in such a mesh: {error}; choose another value") from error
    save_root_key(folder / ROOT_KEY, root)
    founded = MeshFolder(folder, mesh)
    make_administrator(founded)
    _write(folder / "mesh.toml", toml_of(mesh))
    return founded


def make_administrator(mesh_folder: MeshFolder) -> None:
    """Have the root appoint an administrator if no key of one is in the folder."""
    path = mesh_folder.folder / "admin.key"
    if not path.exists():
        key, mesh_id = new_signing_key(), mesh_folder.mesh.digest()
        save_administrator(path, Signer(key, mesh_id, appoint(mesh_folder.root, mesh_id, key.public)))


def open_mesh(folder: Path) -> MeshFolder:
    """Read the mesh that `create_mesh` wrote.

    Raises:
      ConfigError: there is no mesh in the folder, or one of its files is damaged.
    """
    if not (folder / "mesh.toml").exists():
        raise ConfigError(
            f"there is no mesh in {folder}: give --data the folder that `tianmesh init` or `tianmesh up` made"
        )
    mesh = load_config(folder / "mesh.toml", MeshConfig)
    return MeshFolder(folder, mesh)


def check_founding(mesh_folder: MeshFolder, name: str, replicas: int | None) -> None:
    """Check that the name and replicas a person asks for are those the mesh was founded with.

    Args:
      name: "" for any.
      replicas: None for any.

    Raises:
      ConfigError: it is otherwise.
    """
    mesh = mesh_folder.mesh
    if replicas not in (None, mesh.replicas):
        raise ConfigError(
            f"mesh {mesh.name!r} was founded with {counted(mesh.replicas, 'copy')} of every page, for ever: "
            f"leave out {replicas}, or found another mesh with as many and bring the pages "
            "over with `tianmesh export warc` and `tianmesh import`"
        )
    if name not in ("", mesh.name):
        raise ConfigError(
            f"the mesh in {mesh_folder.folder} is called {mesh.name!r}: leave out --name, or name "
            "another folder"
        )


def identity_in(folder: Path) -> Identity:
    """The keys of a node, made when it has none."""
    key_file = folder / NODE_KEY
    if not key_file.exists():
        save_identity(key_file, new_identity())
    return load_identity(key_file)


def draw_serials(mesh_folder: MeshFolder, peers: int, hosts: Sequence[str]) -> None:
    """Draw ids for new peers with which each of them owns one of these hosts at least.

    Ids decide who owns what. With a handful of hosts chance would leave one of three peers without any
    in every third mesh, which shows nobody how a mesh shares its work.
    """
    assert len(hosts) >= peers
    mesh = mesh_folder.mesh
    slots = np.array([slot_of(host, mesh.slot_count) for host in hosts])
    owners = np.array([], np.int16)
    while len(owners) < peers:
        serials = [new_serial() for _ in range(peers)]
        ranking, _ = rank_peers(dict.fromkeys(serials, WEIGHT_DEFAULT), slots, replicas=1)
        owners = np.unique(ranking)
    for number, serial in enumerate(serials, 1):
        keep_serial(mesh_folder, number, serial)


def keep_serial(mesh_folder: MeshFolder, number: int, serial: str) -> None:
    """Have peer `number` be given this id when its configuration is written for the first time."""
    _write(mesh_folder.folder / f"peer-{number}" / SERIAL_FILE, serial)


def grant_for(serial: str, weight: object, days: float = CERTIFICATE_DAYS) -> Grant:
    """Return the grant for a peer of this weight: up to twice that, by queues; a bootstrap node has none."""
    valid_until = time.time() + days * 86_400
    if not isinstance(weight, int) or weight <= 0:
        return Grant(serial, valid_until, rights=0, weight_max=0)
    return Grant(serial, valid_until, weight_max=min(max(WEIGHT_MAX_DEFAULT, 2 * weight), WEIGHT_MAX))


def note_member(mesh_folder: MeshFolder, certificate: Certificate) -> None:
    """Write down the public keys of a member and its last grant."""
    grant = certificate.grant
    rights = " ".join(right.name.lower() for right in Right if right & grant.rights and right.name)
    text = (
        f"# what was granted to {grant.serial} last: a weight of {grant.weight_allowed} at most; {rights}\n"
        f'curve_key = "{certificate.curve_public.hex()}"\n'
        f'signing_key = "{certificate.signing_public.hex()}"\n'
        f'certificate = "{certificate.encoded().hex()}"\n'
    )
    _write(mesh_folder.folder / MEMBERS / f"{grant.serial}.toml", text)


def note_invited(mesh_folder: MeshFolder, voucher: Voucher) -> None:
    """Write down the ids of an invitation; their keys are made elsewhere."""
    terms = voucher.terms
    until = time.strftime("%Y-%m-%d", time.gmtime(terms.joins_until))
    for serial in voucher.serials():
        text = (
            f"# one of {terms.uses} that may join until {until} by the same invitation, with a weight of "
            f'{terms.weight_max} at most\ninvitation = "{voucher.public.hex()}"\n'
        )
        _write(mesh_folder.folder / MEMBERS / f"{serial}.toml", text)


def member_in(mesh_folder: MeshFolder, peer: str) -> Path:
    """Return the file of the member, or of the invited one, with an id that begins with `peer`.

    Raises:
      ConfigError: there is none such, or several.
    """
    if why := why_no_beginning(peer):
        raise ConfigError(why)
    files = sorted((mesh_folder.folder / MEMBERS).glob(f"{peer}*.toml"))
    if len(files) != 1:
        known = ", ".join(path.stem for path in files) or "none"
        raise ConfigError(f"{peer!r} has to be the beginning of the id of one member; {known} begin so")
    return files[0]


def certificate_of(mesh_folder: MeshFolder, peer: str) -> Certificate:
    """Return the last certificate of the member with an id that begins with `peer`.

    Raises:
      ConfigError: there is none such, or several.
    """
    file = member_in(mesh_folder, peer)
    if _is_invited(file):
        raise ConfigError(
            f"the keys of {file.stem} were made where it joined by an invitation, so it cannot be renewed "
            "here: before its certificate ends, have its machine join by another one"
        )
    try:
        values = tomllib.loads(file.read_text(encoding="utf-8"))
        fields = [bytes.fromhex(values[name]) for name in ("curve_key", "signing_key", "certificate")]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise ConfigError(f"{file} is damaged: {error}; restore it from a copy") from error
    found = read_certificate(mesh_folder.mesh.digest(), *fields)
    if found is None:
        raise ConfigError(f"{file} is damaged: restore it from a copy")
    return found


def members_by_key(mesh_folder: MeshFolder) -> list[Certificate]:
    """Return the last certificates of all members with keys known here; invited ones are left out."""
    files = sorted((mesh_folder.folder / MEMBERS).glob("*.toml"))
    known = [file.stem for file in files if not _is_invited(file)]
    return [certificate_of(mesh_folder, serial) for serial in known]


def _is_invited(file: Path) -> bool:
    try:
        return "invitation" in tomllib.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return False


def renewed(mesh_folder: MeshFolder, old: Certificate, days: float, weight_max: int | None) -> Certificate:
    """Issue a certificate for the same member that is valid for so many days from now.

    Raises:
      ConfigError: the last one is valid for longer; its holder would go on with that.
    """
    valid_until = time.time() + days * 86_400
    if valid_until < old.grant.valid_until:
        left = (old.grant.valid_until - time.time()) / 86_400
        raise ConfigError(
            f"{old.grant.serial} is a member for {left:.0f} days more, and a renewal cannot shorten that: "
            "give as many --days at least, or expel it with `tianmesh expel`"
        )
    grant = msgspec.structs.replace(
        old.grant,
        valid_until=valid_until,
        weight_max=old.grant.weight_max if weight_max is None else weight_max,
    )
    return issue(mesh_folder.root, old.mesh_id, old.curve_public, old.signing_public, grant)


def write_bootstrap(mesh_folder: MeshFolder, settings: Settings = NO_SETTINGS) -> Identity:
    """Write the bootstrap node's configuration and its key; see `write_peer`."""
    return _write_node(mesh_folder, BOOTSTRAP, {"member.weight": 0, **settings}, BootstrapConfig)


def write_peer(mesh_folder: MeshFolder, number: int, settings: Settings = NO_SETTINGS) -> Identity:
    """Write the configuration of peer `number` (1, 2, ...), and its key if it has none.

    In a configuration that is there already only these settings are set: what a person wrote stays.

    Raises:
      ConfigError: there is no such setting, or its value is out of range.
    """
    return _write_node(mesh_folder, f"peer-{number}", settings, PeerConfig)


def write_config(path: Path, mesh: MeshConfig, settings: Settings, kind: type[Config]) -> None:
    """Write a new configuration with these settings.

    Raises:
      ConfigError: there is no such setting, or its value is out of range.
    """
    _write(path, _text_of(mesh, settings, kind))


def ports_from(first: int) -> Settings:
    """The ports of a node that others have to reach: inbox, then multicast, then door."""
    return {"member.inbox_port": first, "member.multicast_port": first + 1, "member.door_port": first + 2}


def doors_of(config: Path, door: DoorConfig) -> tuple[DoorConfig, ...]:
    """The doors of a node that may have some already, with one that may have moved among them."""
    doors = load_config(config, PeerConfig).member.doors if config.exists() else ()
    return (*(each for each in doors if each.key != door.key), door)


def private_names_in(config: Path) -> list[str]:
    """The names that a peer's configuration lets lead to private addresses; none when it is unreadable."""
    try:
        return list(tomllib.loads(config.read_text(encoding="utf-8"))["web"]["allow_private"])
    except (OSError, ValueError, KeyError, TypeError):
        return []


def _write_node(mesh_folder: MeshFolder, name: str, settings: Settings, kind: type[Config]) -> Identity:
    folder = mesh_folder.folder / name
    identity = identity_in(folder)
    if kind is PeerConfig:
        make_token(folder)
    path = folder / "config.toml"
    if path.exists():
        load_config(path, kind)  # a slip of a person is told before anything is changed
        text = with_settings(path.read_text(encoding="utf-8"), settings, str(path))
    else:
        drawn = folder / SERIAL_FILE
        serial = drawn.read_text(encoding="utf-8") if drawn.exists() else new_serial()
        text = _new_text(mesh_folder, identity, serial, settings, kind)
    parse_config(text, kind, str(path))
    _write(path, text)
    return identity


def _new_text(
    mesh_folder: MeshFolder, identity: Identity, serial: str, settings: Settings, kind: type[Config]
) -> str:
    grant = grant_for(serial, settings.get("member.weight", WEIGHT_DEFAULT))
    keys = identity.curve_public, identity.signing_public
    certificate = issue(mesh_folder.root, mesh_folder.mesh.digest(), *keys, grant)
    note_member(mesh_folder, certificate)
    return _text_of(mesh_folder.mesh, {"member.certificate": certificate.encoded().hex(), **settings}, kind)


def _text_of(mesh: MeshConfig, settings: Settings, kind: type[Config]) -> str:
    values: dict[str, Any] = {"mesh": msgspec.to_builtins(mesh)}
    for name, value in settings.items():
        *path, key = name.split(".")
        table = values
        for each in path:
            table = table.setdefault(each, {})
        table[key] = msgspec.to_builtins(value)
    try:
        return toml_of(msgspec.convert(values, kind))
    except msgspec.ValidationError as error:
        raise ConfigError(f"no node would take such a setting: {error}; choose another value") from error


def _write(path: Path, text: str) -> None:
    try:
        make_private_folder(path.parent)
        write_private_text(path, text)
    except OSError as error:
        advice = "free some" if error.errno in NO_SPACE else "choose a folder of yours"
        raise ConfigError(f"cannot write {path}: {error.strerror}; {advice}") from error
    except UnicodeEncodeError as error:
        raise ConfigError(
            f"cannot write {path}: a setting is no text but bytes; write it as UTF-8"
        ) from error
