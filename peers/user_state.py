"""Files in which commands keep how far they are, in the state folder of their user. [io]"""

from __future__ import annotations

import os
from hashlib import blake2b
from pathlib import Path

from mesh.errors import ConfigError
from mesh.tables.private_files import put_in_place


def state_path(kind: str, names: list[str], option: str) -> Path:
    """Return the file in which a command keeps its state by default.

    Args:
      kind: of state, with which the name of the file begins.
      names: of all that the state is about.
      option: with which users name another file.

    Raises:
      ConfigError: the user has no home folder.
    """
    try:
        state = Path(os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state")
    except RuntimeError as error:  # whoever runs in a container may have no home
        raise ConfigError(f"there is no home folder to keep a file in: give {option} FILE") from error
    digest = blake2b("\n".join(names).encode("utf-8", "surrogateescape"), digest_size=8).hexdigest()
    return state / "tianmesh" / f"{kind}-{digest}.json"


def write_whole(path: Path, content: bytes, option: str) -> None:
    """Replace a file as `replace_whole` does, in a folder that is made where there is none.

    Raises:
      ConfigError: there is no writing there.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        replace_whole(path, content)
    except OSError as error:
        raise not_kept(path, error, option) from error


def replace_whole(path: Path, content: bytes) -> None:
    """Replace a file, so that any kill, of the machine too, leaves the one before or this one. OSError."""
    beside = path.with_name(f"{path.name}.new")
    beside.write_bytes(content)
    put_in_place(beside, path)


def not_kept(path: Path, error: OSError, option: str) -> ConfigError:
    """Return the error of a file that cannot be read or written."""
    return ConfigError(
        f"cannot use the file {path} ({error.strerror}): give {option} FILE, or set XDG_STATE_HOME to a "
        "folder of yours"
    )
