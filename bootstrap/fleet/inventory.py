"""The machines of a lab, as a person has written them down in TOML."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path
from typing import Annotated, Final

import msgspec
from msgspec import Meta

from mesh.client.gateway_client import place_in
from mesh.config import NAME_CHARS_MAX, WEIGHT_DEFAULT, load_config
from mesh.errors import ConfigError
from mesh.port_leases import RELAYED_MAX
from mesh.transport.tcp_endpoint import checked_host
from peers.gateway.model.settings import checked_listen

MACHINES_MAX: Final = 1_000
_NAME: Final = "^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$"
# What becomes a word of ssh, or of a shell on a machine: nothing that either would take for more than that.
_WORDS: Final = {
    "ssh": r"[A-Za-z0-9_\[][\w.:%\[\]-]*",
    "user": r"[A-Za-z0-9_][\w.@-]*",
    "python": r"[\w/.~][\w/.+~-]*",
}


class LabMachine(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """One machine. Fields left out are as in `[defaults]`."""

    address: Annotated[str, Meta(description="name or address by which all other machines reach it")]
    name: Annotated[str, Meta(description="what it is called here; by default its address")] = ""
    ssh: Annotated[str, Meta(description="where ssh finds it, if not at its address")] = ""
    user: Annotated[str, Meta(description="who logs in and runs the peer")] = ""
    port: Annotated[int, Meta(ge=0, le=65_535, description="of sshd; 0 as ssh is configured")] = 0
    folder: Annotated[
        str, Meta(description="of the peer there, in the home folder unless it begins with /")
    ] = ""
    weight: Annotated[
        int, Meta(ge=-1, le=65_536, description="share of the slots beside others'; 0 answers queries only")
    ] = -1
    gateway: Annotated[str, Meta(description="host:port where it answers people")] = ""
    url: Annotated[
        str,
        Meta(
            description="https://host:port where people reach its gateway, if a proxy with TLS stands before "
            "it; with #sha256= of its certificate if no authority vouches for that"
        ),
    ] = ""
    group: str = ""
    python: Annotated[str, Meta(description="that makes the environment there, 3.11 or later")] = ""


class Defaults(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The settings of machines that do not give their own."""

    user: str = ""
    port: Annotated[int, Meta(ge=0, le=65_535)] = 0
    folder: str = "tianmesh"
    weight: Annotated[int, Meta(ge=0, le=65_536)] = WEIGHT_DEFAULT
    gateway: str = "127.0.0.1:8017"
    group: str = ""
    python: str = "python3"


class Inventory(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A lab: the mesh, how it gets onto the machines, and these."""

    name: Annotated[str, Meta(min_length=1, max_length=NAME_CHARS_MAX, description="of the mesh")]
    machines: Annotated[tuple[LabMachine, ...], Meta(min_length=1, max_length=MACHINES_MAX)]
    defaults: Defaults = Defaults()
    replicas: Annotated[int, Meta(ge=1, le=8, description="copies of every page, in a new mesh")] = 2
    relays: Annotated[
        int,
        Meta(
            ge=0,
            le=RELAYED_MAX,
            description="machines that can only dial out, which the first one relays, in a new mesh",
        ),
    ] = 0
    install: Annotated[
        str,
        Meta(
            description="what pip installs there: the folder of the project, a wheel, or a URL with "
            "#sha256=; paths are relative to this file"
        ),
    ] = ""
    contact: Annotated[
        str, Meta(description="where webmasters reach you, an e-mail address or a URL; to crawl public hosts")
    ] = ""
    allow_private: Annotated[
        tuple[str, ...],
        Meta(
            description="what of an intranet may be crawled: host names, with all below them, and networks "
            'such as "10.1.0.0/16"; `lab seed` writes them into the policy'
        ),
    ] = ()
    command: Annotated[str, Meta(description="tianmesh that is installed there already; then nothing is")] = (
        ""
    )
    ssh_options: Annotated[
        tuple[str, ...], Meta(description='words for every ssh, such as "-i", "lab.key"')
    ] = ()


def load_inventory(path: Path) -> Inventory:
    """Read an inventory; every machine says all, names are its own.

    Raises:
      ConfigError: it is none, or a machine stands there twice.
    """
    if not path.exists():
        raise ConfigError(
            f"cannot read {path}, in which the machines would stand: `tianmesh lab init` writes an example"
        )
    inventory = load_config(path, Inventory)
    machines = tuple(_whole(machine, inventory.defaults, path) for machine in inventory.machines)
    for what, names in (
        ("name", [machine.name for machine in machines]),
        ("place", [f"{machine.address} {machine.folder}" for machine in machines]),
    ):
        twice = [name for name, n in Counter(names).items() if n > 1]
        if twice:
            raise ConfigError(f"{path}: two machines have the {what} {twice[0]}: give one of them another")
    return msgspec.structs.replace(inventory, machines=machines)


def chosen(inventory: Inventory, wanted: list[str]) -> list[LabMachine]:
    """Return the machines of these names and groups; all when none is given.

    Raises:
      ConfigError: there is no such name or group.
    """
    known = {machine.name for machine in inventory.machines} | {
        m.group for m in inventory.machines if m.group
    }
    for each in wanted:
        if each not in known:
            raise ConfigError(f"no machine or group is called {each!r}: there are {', '.join(sorted(known))}")
    return [m for m in inventory.machines if not wanted or {m.name, m.group} & set(wanted)]


def _whole(machine: LabMachine, defaults: Defaults, path: Path) -> LabMachine:
    name = machine.name or machine.address
    if re.fullmatch(_NAME, name) is None:
        raise ConfigError(f"{path}: {name!r} is no name for a machine: take letters, digits, dots and dashes")
    folder = machine.folder or defaults.folder
    if re.fullmatch(r"[\w/.+:@-]+", folder) is None or ".." in folder.split("/"):
        raise ConfigError(f"{path}: {name} cannot live in {folder!r}: choose a path without spaces and signs")
    if machine.url and place_in(machine.url).scheme != "https":
        raise ConfigError(f"{path}, {name}: url = {machine.url!r} does not begin with https://")
    words = {
        "ssh": machine.ssh or machine.address,
        "user": machine.user or defaults.user,
        "python": machine.python or defaults.python,
    }
    for setting, word in words.items():
        if word and re.fullmatch(_WORDS[setting], word) is None:
            raise ConfigError(
                f"{path}, {name}: {setting} = {word!r} is not one plain word: options for ssh go into "
                "`ssh_options`"
            )
    return msgspec.structs.replace(
        machine,
        **words,
        name=name,
        address=checked_host(machine.address),
        port=machine.port or defaults.port,
        folder=folder,
        weight=defaults.weight if machine.weight < 0 else machine.weight,
        gateway=checked_listen(machine.gateway or defaults.gateway, f"{path}, {name}: gateway = "),
        group=machine.group or defaults.group,
    )
