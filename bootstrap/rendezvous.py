"""The bootstrap node: a member without slots; newcomers find the mesh through its door. [io]

Others find each other through it and then do without it: while it is down nobody new can join
through it, and nothing else changes.
"""

from __future__ import annotations

from pathlib import Path

import msgspec
import trio

from bootstrap.leaseless import Leaseless
from bootstrap.yielder import Yielder
from mesh.actors.codec import Decoder
from mesh.config import MemberConfig, MeshConfig, config_in, load_config
from mesh.errors import ConfigError
from mesh.process.member import Member
from mesh.process.process import Tell
from mesh.tables.lmdb_table import LmdbTable
from peers.config import PeerConfig
from peers.damaged_data import set_aside_if_damaged
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
