"""The tokens by which a gateway knows an administrator, as commands find or make them. [io]

Who has the key of an administrator signs a token for some minutes whenever one is needed: every gateway of
the mesh takes it (`mesh.keys.signed_token`). Besides, each peer has a token of its own beside its
configuration, a file that only its user reads, for who uses that machine: it opens the gateway of this peer
and no other. Who may read it may read the peer's key as well.
"""

from __future__ import annotations

import secrets
import socket
import time
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from mesh.config import MeshConfig, load_config
from mesh.errors import ConfigError
from mesh.keys.decree import Signer
from mesh.keys.key_file import load_administrator, load_root_key
from mesh.keys.signed_token import HOLDER_CHARS_MAX, HOLDER_LETTERS, TokenRight, sign_token
from mesh.tables.private_files import make_private_folder, write_private_text

TOKEN_FILE: Final = "admin.token"
KEY_FILE: Final = "admin.key"
COMMAND_S: Final = 600.0  # a command signs for itself; with the skew that gateways allow, 15 minutes of theft
_CONFIG_FILE: Final = "config.toml"
_MESH_FILE: Final = "mesh.toml"
_ROOT_FILE: Final = "root.key"
_TOKEN_BYTES: Final = 24
_FILE_BYTES_MAX: Final = 4_096


def token_in(folder: Path) -> str:
    """Return the peer's own token in a folder, "" when there is none or it is not ours to read.

    Raises:
      ConfigError: others may read it, so that it is no secret.
    """
    path = folder / TOKEN_FILE
    try:
        with path.open(encoding="ascii") as file:
            token = file.read(_FILE_BYTES_MAX).strip()
        mode = path.stat().st_mode
    except (OSError, UnicodeDecodeError):
        return ""
    if mode & 0o077:
        raise ConfigError(f"others may read {path}: `chmod 600 {path}`, or delete it and start the peer anew")
    return token


def make_token(folder: Path) -> str:
    """Return the peer's own token in its folder, which is written if there is none.

    Raises:
      ConfigError: it cannot be written, or others may read what is there.
    """
    there = token_in(folder)
    if there:
        return there
    token = secrets.token_urlsafe(_TOKEN_BYTES)
    try:
        make_private_folder(folder)
        write_private_text(folder / TOKEN_FILE, token + "\n")
    except OSError as error:
        raise ConfigError(f"cannot write {folder / TOKEN_FILE}: {error.strerror}") from error
    return token


def mesh_folder_of(folder: Path) -> Path:
    """Return where the keys of a mesh are, given its folder or that of a peer of it on the same machine.

    That of a peer lies in the folder of its mesh, as `init` makes it, or beside one called mesh, as in a lab.
    Where there is none, it is the folder itself.
    """
    root_key = _root_key_in(folder / _CONFIG_FILE, "mesh", "root_key")
    around = folder.resolve().parent
    for each in (around, around / "mesh") if root_key else ():
        if _root_key_in(each / _MESH_FILE, "root_key") == root_key:
            return each
    return folder


def key_in(folder: Path, key: Path | None = None) -> Path:
    """Return the file with the administrator's key: the one that is named, or that of a mesh or a peer."""
    if key is not None:
        return key
    own = folder / KEY_FILE
    return own if own.exists() else mesh_folder_of(folder) / KEY_FILE


def signer_in(folder: Path, key: Path | None = None) -> Signer | None:
    """Return the signer for the mesh of a folder: its administrator, else its root; None without such a key.

    Raises:
      ConfigError: there is a key that cannot be used, or none where one is named.
    """
    file, home = key_in(folder, key), mesh_folder_of(folder)
    if key is not None or file.exists():
        return load_administrator(file)
    if (home / _ROOT_FILE).exists() and (home / _MESH_FILE).exists():
        mesh_id = load_config(home / _MESH_FILE, MeshConfig).digest()
        return Signer(load_root_key(home / _ROOT_FILE), mesh_id)
    return None


def tokens_for(
    folder: Path, key: Path | None = None, right: TokenRight = TokenRight.ORDERS
) -> Callable[[], str]:
    """Return a function that gives the current token: of the signer here, else the peer's own, else "".

    Raises:
      ConfigError: there is a key, or a token, that cannot be used.
    """
    signer = signer_in(folder, key)
    if signer is not None:
        return tokens_by(signer, right)
    own = token_in(folder)
    return lambda: own


def tokens_by(signer: Signer, right: TokenRight = TokenRight.ORDERS) -> Callable[[], str]:
    """Return a function that gives a token of some minutes, and a new one before the last one ends.

    Args:
      right: no more than is needed, since the gateway that is asked learns the token.
    """
    text, end_s = "", 0.0
    holder = f"command of {_user()}@{socket.gethostname()}"
    holder = "".join(filter(HOLDER_LETTERS.__contains__, holder))[:HOLDER_CHARS_MAX]

    def token() -> str:
        nonlocal text, end_s
        now_s = time.time()
        if end_s - now_s < COMMAND_S / 2:
            end_s = now_s + COMMAND_S
            text = sign_token(signer, right, holder, end_s).text()
        return text

    return token


def _root_key_in(file: Path, *path: str) -> str:
    """The public root key that a configuration names, "" where it names none or cannot be read."""
    try:
        value: Any = tomllib.loads(file.read_text(encoding="utf-8"))
        for name in path:
            value = value[name]
    except (OSError, ValueError, KeyError, TypeError):
        return ""
    return value if isinstance(value, str) else ""


def _user() -> str:
    from getpass import getuser  # here, as peers have no use for it

    try:
        return getuser()
    except (KeyError, OSError, ImportError):  # a container whose user has no name
        return "somebody"
