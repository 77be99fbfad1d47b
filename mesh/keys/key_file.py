"""Secret keys on disk: made from the system's randomness, kept where only their owner reads. [io]"""

from __future__ import annotations

import os
import secrets
import tomllib
from base64 import b32encode
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

from mesh.errors import ConfigError
from mesh.keys.certificate import SERIAL_CHARS
from mesh.keys.decree import Signer
from mesh.keys.identity import SECRET_BYTES, Identity
from mesh.keys.signing_key import SigningKey
from mesh.tables.private_files import FILE_MODE, make_private_folder, sync_folder

PEER_FIELD: Final = "peer_secret"
ROOT_FIELD: Final = "root_secret"
ADMIN_FIELD: Final = "admin_secret"
WARRANT_FIELD: Final = "warrant"  # the root's word for it
MESH_FIELD: Final = "mesh"  # its id
FILE_BYTES_MAX = 4096  # a key file has under 200


def new_serial() -> str:
    """Draw the id of a new member."""
    return b32encode(secrets.token_bytes(SERIAL_CHARS * 5 // 8)).decode().lower()


def new_identity() -> Identity:
    return Identity.of_secret(secrets.token_bytes(SECRET_BYTES))


def new_signing_key() -> SigningKey:
    return SigningKey.of_secret(secrets.token_bytes(SECRET_BYTES))


def save_identity(path: Path, identity: Identity) -> None:
    """Write the peer's secret, readable by its owner only; never over an existing file.

    Raises:
      ConfigError: the file exists, or cannot be written.
    """
    _save(path, PEER_FIELD, identity.secret, "the secret key of a peer")


def load_identity(path: Path) -> Identity:
    """Read the identity that `save_identity` wrote.

    Raises:
      ConfigError: the file is absent, readable by others, or no key of a peer.
    """
    return Identity.of_secret(_load(path, PEER_FIELD))


def save_root_key(path: Path, root: SigningKey) -> None:
    """Write the mesh root's secret, as `save_identity` does."""
    _save(path, ROOT_FIELD, root.secret, f"the root key {root.public.hex()} of a mesh")


def load_root_key(path: Path) -> SigningKey:
    """Read the key that `save_root_key` wrote, as `load_identity` does."""
    return SigningKey.of_secret(_load(path, ROOT_FIELD))


def save_administrator(path: Path, administrator: Signer) -> None:
    """Write an administrator's secret with its warrant and its mesh, as `save_identity` does."""
    beside = {WARRANT_FIELD: administrator.warrant.hex(), MESH_FIELD: administrator.mesh_id.hex()}
    what = f"the key {administrator.key.public.hex()} of an administrator"
    _save(path, ADMIN_FIELD, administrator.key.secret, what, beside)


def load_administrator(path: Path) -> Signer:
    """Read the file that `save_administrator` wrote, as `load_identity` does."""
    if not path.exists():
        raise ConfigError(
            f"there is no administrator's key at {path}: give the folder of the mesh by --data, or the key "
            "itself by --key"
        )
    values = _load_all(path)
    try:
        warrant, mesh_id = (bytes.fromhex(values[name]) for name in (WARRANT_FIELD, MESH_FIELD))
    except (ValueError, KeyError, TypeError) as error:
        raise ConfigError(f"{path} is no key file of an administrator: take the one of `init`") from error
    return Signer(SigningKey.of_secret(_secret_in(values, ADMIN_FIELD, path)), mesh_id, warrant)


def _save(
    path: Path, field: str, secret: bytes, what: str, beside: Mapping[str, str] = MappingProxyType({})
) -> None:
    text = f'# This is {what}. Whoever can read it can act as it.\n{field} = "{secret.hex()}"\n'
    text += "".join(f'{name} = "{value}"\n' for name, value in beside.items())
    part = path.with_name(f"{path.name}.{secrets.token_hex(4)}.part")
    try:
        make_private_folder(path.parent)
        file = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, FILE_MODE)
        try:
            os.write(file, text.encode())
            os.fsync(file)
            os.link(part, path)  # unlike a rename, it fails when there is a key already
        finally:
            os.close(file)
            part.unlink()
        sync_folder(path.parent)
    except FileExistsError as error:
        raise ConfigError(f"{path} exists already: move it away if you want a new key") from error
    except OSError as error:
        raise ConfigError(f"cannot write the key file {path}: {error.strerror}") from error


def _load(path: Path, field: str) -> bytes:
    return _secret_in(_load_all(path), field, path)


def _load_all(path: Path) -> dict[str, Any]:
    try:
        with path.open("rb") as file:
            mode = os.fstat(file.fileno()).st_mode
            text = file.read(FILE_BYTES_MAX)
    except OSError as error:
        raise ConfigError(f"cannot read the key file {path}: {error.strerror}") from error
    if mode & 0o077:
        raise ConfigError(f"others can read the key file {path}: run `chmod 600 {path}`")
    try:
        return tomllib.loads(text.decode())
    except ValueError as error:
        raise ConfigError(f"{path} is no key file: restore it, or make a new one") from error


def _secret_in(values: Mapping[str, Any], field: str, path: Path) -> bytes:
    try:
        secret = bytes.fromhex(values[field])
    except (ValueError, KeyError, TypeError) as error:
        raise ConfigError(f"{path} is no key file with a {field}: restore it, or make a new one") from error
    if len(secret) != SECRET_BYTES:
        raise ConfigError(f"the {field} in {path} is damaged: restore the file, or make a new key")
    return secret
