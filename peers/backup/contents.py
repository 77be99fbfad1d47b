"""The files of a folder that belong to a backup: peers, their keys and settings, those of the mesh. [io]"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

import tomlkit

from mesh.config import NODE_KEY, load_config
from mesh.errors import ConfigError
from mesh.keys.certificate import peer_in
from mesh.tables.private_files import write_private_text
from peers.backup.manifest import is_inside
from peers.config import PeerConfig

CONFIG: Final = "config.toml"
BOOTSTRAP: Final = "bootstrap"  # the folder of the node at whose door others knock
DATA: Final = "data"  # where a restored peer has its data, wherever it had it before
OF_NODE: Final = (CONFIG, "admin.token", "serial")
OF_MESH: Final = ("mesh.toml", "root.key", "admin.key", "members/*.toml")


class NodeFolder(NamedTuple):
    """A peer, or a bootstrap node."""

    folder: str  # in the folder of the backup, "." for that itself
    peer: str  # its id
    data: Path
    files: dict[str, Path]  # small ones, by where they belong in a restored folder

    def path(self, name: str) -> str:
        """Where a file of this node belongs in the restored folder."""
        return name if self.folder == "." else f"{self.folder}/{name}"


def nodes_in(folder: Path) -> list[NodeFolder]:
    """Return the nodes of a mesh folder, or the one node if the folder is that of a node.

    Raises:
      ConfigError: there is none, or its configuration cannot be read.
    """
    configs = [folder / CONFIG, *sorted(folder.glob(f"*/{CONFIG}"))]
    nodes = [_node(folder, config) for config in configs if config.is_file()]
    if not nodes:
        raise ConfigError(f"there is no peer in {folder}: name its folder, or that of its mesh, with --data")
    return nodes


def files_of_mesh(folder: Path) -> Iterator[tuple[str, Path]]:
    """Yield the files beside the nodes of a mesh: where each belongs, and where it is."""
    if not (folder / OF_MESH[0]).is_file():
        return
    for pattern in OF_MESH:
        for file in sorted(folder.glob(pattern)):
            yield file.relative_to(folder).as_posix(), file


def settle(home: Path) -> bool:
    """Make a restored node's configuration name the restored places; tell whether it named others.

    Raises:
      ConfigError: it is no configuration.
    """
    path = home / CONFIG
    config = load_config(path, PeerConfig)
    if config.storage.folder == DATA:
        return False
    document = tomlkit.parse(path.read_text(encoding="utf-8"))
    document["storage"]["folder"] = DATA  # it is there, or would have its default
    write_private_text(path, tomlkit.dumps(document))
    return True


def _node(folder: Path, config_file: Path) -> NodeFolder:
    config = load_config(config_file, PeerConfig)  # that of a bootstrap node has a part of the same tables
    home = config_file.parent
    files = {name: home / name for name in OF_NODE}
    key = home / NODE_KEY
    if not key.is_file():
        raise ConfigError(f"there is no {key}, without which a copy of this peer is none: put it back")
    files[NODE_KEY] = key
    if config.web.resolver and is_inside(config.web.resolver):
        files[config.web.resolver] = home / config.web.resolver
    return NodeFolder(
        home.relative_to(folder).as_posix(),
        peer_in(config.member.certificate),
        home / config.storage.folder,
        {name: path for name, path in files.items() if path.is_file()},
    )
