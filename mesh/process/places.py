"""Whether a folder is where a person wants it, on the disk that is meant. [io]

A folder on a disk that is not mounted would be made on the disk below it, which is smaller, and is hidden as
soon as the right one is mounted. So nothing is made below a folder that is not there, nor below a mount point
of /etc/fstab that is empty. Where the data of a node lie on another disk than its configuration, both are
marked alike, and the next start looks for the mark.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Callable
from pathlib import Path
from typing import Final

from mesh.errors import ConfigError
from mesh.tables.private_files import write_private_text

FSTAB: Final = Path("/etc/fstab")
MARK: Final = "disk.id"  # in the folder with the data, and beside the configuration
_MARK_BYTES: Final = 8


def check_place(folder: Path, fstab: Path = FSTAB) -> None:
    """Make sure that a folder is there, or can be made where it is wanted.

    Raises:
      ConfigError: it is a file, the folder around it is missing, or its disk is not mounted.
    """
    whole = Path(os.path.abspath(folder))
    if os.path.lexists(whole) and not os.path.isdir(whole):
        raise ConfigError(f"{folder} is no folder: name one, or one that can be made")
    point = _unmounted_above(whole, fstab)
    if point is not None:
        raise ConfigError(f"{folder} is to be on a disk that is not there: `mount {point}` first")
    if not os.path.isdir(whole.parent):
        raise ConfigError(
            f"cannot make {folder}, there is no folder {whole.parent}: mount the disk that it is on, "
            f"or `mkdir -p {whole.parent}`"
        )


def check_disk(home: Path, data: Path) -> None:
    """Make sure that the data of earlier starts of a node are on the disk that is there now.

    Args:
      home: folder of its configuration.
      data: the folder with what it keeps.

    Raises:
      ConfigError: the data were on another disk.
    """
    noted, _, where = _read(home / MARK).partition(" ")
    if noted and where == str(data) and _read(data / MARK) != noted:
        raise ConfigError(
            f"the data of this node are on another disk than the one at {data} now: mount that; if it is "
            f"lost, `rm {home / MARK}` and start again, then the other peers bring back what they have"
        )


def are_apart(home: Path, data: Path) -> bool:
    """Tell whether two folders are on two disks."""
    return home.stat().st_dev != data.stat().st_dev


def mark_disk(home: Path, data: Path, are_apart: Callable[[Path, Path], bool] = are_apart) -> None:
    """Mark a folder that is there, when it is on another disk than the configuration.

    Raises:
      OSError: there is no writing there.
    """
    if not are_apart(home, data):
        return
    mark = _read(data / MARK) or secrets.token_hex(_MARK_BYTES)
    for path, text in ((data / MARK, mark), (home / MARK, f"{mark} {data}")):
        if _read(path) != text:
            write_private_text(path, text)


def _unmounted_above(folder: Path, fstab: Path) -> Path | None:
    """The mount point in the table of this machine that a folder is below, if nothing is mounted there."""
    above = {folder, *folder.parents}
    for line in _read(fstab).splitlines():
        fields = line.split()
        if len(fields) > 1 and not line.startswith("#") and fields[1].startswith("/"):
            point = Path(fields[1].replace("\\040", " "))
            if point in above and not os.path.ismount(point):
                return point
    return None


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError):
        return ""
