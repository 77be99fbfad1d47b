"""The token by which a gateway knows an administrator: a file that only its owner reads. [io]

It stands beside the configuration of a peer, and in the folder of a mesh where that was made; commands read
it from either. Who may read it may read the peer's key as well.
"""

from __future__ import annotations

import secrets
from pathlib import Path
from typing import Final

from mesh.errors import ConfigError
from mesh.private_files import make_private_folder, write_private_text

TOKEN_FILE: Final = "admin.token"
_TOKEN_BYTES: Final = 24
_FILE_BYTES_MAX: Final = 4_096


def token_in(folder: Path) -> str:
    """Return the token in a folder, "" when there is none or it is not ours to read.

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


def make_token(folder: Path, token: str = "") -> str:
    """Return the token in a folder, which is written if there is none.

    Args:
      token: to write; "" for a new one.

    Raises:
      ConfigError: it cannot be written, or others may read what is there.
    """
    there = token_in(folder)
    if there:
        return there
    token = token or secrets.token_urlsafe(_TOKEN_BYTES)
    try:
        make_private_folder(folder)
        write_private_text(folder / TOKEN_FILE, token + "\n")
    except OSError as error:
        raise ConfigError(f"cannot write {folder / TOKEN_FILE}: {error.strerror}") from error
    return token
