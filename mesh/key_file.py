"""Secret keys on disk: made from the system's randomness, kept where only their owner reads. [io]"""

from __future__ import annotations

import os
import secrets
import tomllib
from pathlib import Path
from typing import Final

from mesh.errors import ConfigError
from mesh.identity import SECRET_BYTES, Identity
from mesh.signing_key import SigningKey

PEER_FIELD: Final = "peer_secret"
ROOT_FIELD: Final = "root_secret"
FILE_BYTES_MAX = 4096  # a key file has under 200


def new_identity() -> Identity:
    return Identity.of_secret(secrets.token_bytes(SECRET_BYTES))


def new_root_key() -> SigningKey:
    return SigningKey.of_secret(secrets.token_bytes(SECRET_BYTES))


def save_identity(path: Path, identity: Identity) -> None:
    """Write the peer's secret, readable by its owner only; never over an existing file.

    Raises:
      ConfigError: the file exists, or cannot be written.
    """
    _save(path, PEER_FIELD, identity.secret, f"the secret key of peer {identity.peer_id}")


def load_identity(path: Path) -> Identity:
    """Read what `save_identity` wrote.

    Raises:
      ConfigError: the file is absent, readable by others, or no key of a peer.
    """
    return Identity.of_secret(_load(path, PEER_FIELD))


def save_root_key(path: Path, root: SigningKey) -> None:
    """Write the mesh root's secret, as `save_identity` does."""
    _save(path, ROOT_FIELD, root.secret, f"the root key {root.public.hex()} of a mesh")


def load_root_key(path: Path) -> SigningKey:
    """Read what `save_root_key` wrote, as `load_identity` does."""
    return SigningKey.of_secret(_load(path, ROOT_FIELD))


def _save(path: Path, field: str, secret: bytes, what: str) -> None:
    text = f'# This is {what}. Whoever can read it can act as it.\n{field} = "{secret.hex()}"\n'
    part = path.with_name(f"{path.name}.{secrets.token_hex(4)}.part")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        file = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        try:
            os.write(file, text.encode())
            os.fsync(file)
            os.link(part, path)  # unlike a rename, it fails when there is a key already
        finally:
            os.close(file)
            part.unlink()
    except FileExistsError as error:
        raise ConfigError(f"{path} exists already: move it away if you want a new key") from error
    except OSError as error:
        raise ConfigError(f"cannot write the key file {path}: {error.strerror}") from error


def _load(path: Path, field: str) -> bytes:
    try:
        with path.open("rb") as file:
            mode = os.fstat(file.fileno()).st_mode
            text = file.read(FILE_BYTES_MAX)
    except OSError as error:
        raise ConfigError(f"cannot read the key file {path}: {error.strerror}") from error
    if mode & 0o077:
        raise ConfigError(f"others can read the key file {path}: run `chmod 600 {path}`")
    try:
        secret = bytes.fromhex(tomllib.loads(text.decode())[field])
    except (ValueError, KeyError, TypeError) as error:
        raise ConfigError(f"{path} is no key file with a {field}: restore it, or make a new one") from error
    if len(secret) != SECRET_BYTES:
        raise ConfigError(f"the {field} in {path} is damaged: restore the file, or make a new key")
    return secret
