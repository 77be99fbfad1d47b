"""The entities of one owner: the file with their keys, and their rows in the mesh. [io]

The file has a secret for each entity and is all that its owner needs, on any machine. Nobody reads an entity
without it; when one is forgotten its secret is deleted, and with it all that a copy somewhere could tell.
"""

from __future__ import annotations

import os
import time
from base64 import b64decode, b64encode
from pathlib import Path
from typing import Annotated, Any, Final, NamedTuple

import msgspec
from msgspec import Meta

from mesh.client.gateway_client import GatewayClient, GatewayError
from mesh.errors import ConfigError
from mesh.tables.private_files import make_private_folder, write_private_text
from peers.entities.profile import TEXT_CHARS_MAX, Profile, profile_bytes, profile_in
from peers.entities.seal import RowKey
from peers.entities.sealed_row import CONTENT_BYTES_MAX, KEY_BYTES, NONCE_BYTES, SealedRow
from peers.user_state import not_kept

OPTION: Final = "--keys"
FORMAT: Final = "tianmesh entities 1"
ENTITIES_MAX: Final = 1_000
DAY_S: Final = 86_400
OTHERS_PER_FILE: Final = 0o077  # bits of a mode by which others could read or write


class KeyFile(msgspec.Struct, forbid_unknown_fields=True):
    """The content of an owner's file."""

    format: str = FORMAT
    # Secrets, in hexadecimal digits, by the name that the owner gave.
    entities: Annotated[
        dict[
            Annotated[str, Meta(min_length=1, max_length=TEXT_CHARS_MAX)],
            Annotated[str, Meta(pattern=r"^[0-9a-f]{64}\Z")],
        ],
        Meta(max_length=ENTITIES_MAX),
    ] = {}


class KeptEntity(NamedTuple):
    """An entity as the mesh keeps it."""

    key: RowKey
    row: SealedRow
    profile: Profile


class Owner:
    """One owner's file, at one gateway."""

    def __init__(self, client: GatewayClient, path: Path) -> None:
        """Read the file, if there is one.

        Raises:
          ConfigError: it is none, or others can read it.
        """
        self._client, self._path = client, path
        self._file = _read(path)

    @property
    def labels(self) -> list[str]:
        return sorted(self._file.entities)

    def has(self, label: str) -> bool:
        return label in self._file.entities

    def add(self, profile: Profile) -> None:
        """Have the mesh keep a new entity; its key is in the file before anything leaves this machine."""
        if len(self._file.entities) >= ENTITIES_MAX:
            raise ConfigError(
                f"{self._path} has {ENTITIES_MAX:,} entities: forget some, or name another file"
            )
        secret, content = os.urandom(KEY_BYTES), _fitting(profile_bytes(profile))
        self._client.entity_days()  # without the policy for it no key is made
        self._file.entities[profile.label] = secret.hex()
        self._write()
        try:
            self._keep(RowKey(secret), None, content)
        except GatewayError:
            del self._file.entities[profile.label]
            self._write()
            raise

    def read(self, label: str) -> KeptEntity:
        """Return an entity.

        Raises:
          ConfigError: the file has no such key, or the mesh no such entity any more.
        """
        key = self._key_of(label)
        row = self._row_of(key)
        if row is None or row.is_forgotten:
            raise ConfigError(
                f"the mesh of {self._client.url} does not have {label!r}: it was forgotten, its time is "
                "over, or it is in another mesh; `tianmesh entities forget` takes it out of the file"
            )
        try:
            return KeptEntity(key, row, profile_in(key.open(row)))
        except ValueError as error:
            raise ConfigError(f"cannot read {label!r}: {error}") from error

    def write(self, kept: KeptEntity, profile: Profile) -> None:
        """Replace an entity. GatewayError: somebody has changed it meanwhile."""
        self._keep(kept.key, kept.row, profile_bytes(profile))

    def others(self, label: str) -> list[Profile]:
        """Return the owner's other entities that the mesh has and this version reads."""
        found = []
        for each in self.labels:
            try:
                found += [self.read(each).profile] if each != label else []
            except ConfigError:
                continue
        return found

    def forget(self, label: str) -> bool:
        """Have all peers delete an entity and its feed, and delete its key. False: they had none already."""
        key = self._key_of(label)
        row = self._row_of(key)
        is_there = row is not None and not row.is_forgotten
        if row is not None and not row.is_forgotten:
            try:
                self.end_feed(profile_in(key.open(row)))
            except ValueError:
                pass  # of another version: its feed goes on its last day
            self._post(key, key.forget(row, self._until_day()))
        del self._file.entities[label]
        self._write()
        return is_there

    def publish(self, secret: bytes, content: bytes) -> None:
        """Replace the content of a feed."""
        key = RowKey(secret)
        self._keep(key, self._row_of(key), content)

    def end_feed(self, profile: Profile) -> None:
        """Have all peers delete the feed of an entity, if it has one."""
        if not profile.feed:
            return
        key = RowKey(profile.feed)
        row = self._row_of(key)
        if row is not None and not row.is_forgotten:
            self._post(key, key.forget(row, self._until_day()))

    def _keep(self, key: RowKey, before: SealedRow | None, content: bytes) -> None:
        until = self._until_day()
        number = 1 if before is None else before.number + 1
        until = until if before is None else max(until, before.until_day)
        self._post(key, key.seal(number, until, _fitting(content), os.urandom(NONCE_BYTES)))

    def _until_day(self) -> int:
        """Return the last day of a row that is changed today."""
        return int(time.time()) // DAY_S + self._client.entity_days()

    def _post(self, key: RowKey, row: SealedRow) -> None:
        told = {"number": row.number, "until_day": row.until_day}
        told_bytes = {name: b64encode(getattr(row, name)).decode() for name in ("sealed", "signature")}
        self._client.keep_entity(key.public.hex(), {**told, **told_bytes})

    def _row_of(self, key: RowKey) -> SealedRow | None:
        told = self._client.entity(key.public.hex())
        return None if told is None else _row_in(told, self._client.url)

    def _key_of(self, label: str) -> RowKey:
        if not self.has(label):
            raise ConfigError(f"{self._path} has no entity {label!r}: `tianmesh entities list` shows them")
        return RowKey(bytes.fromhex(self._file.entities[label]))

    def _write(self) -> None:
        try:
            make_private_folder(self._path.parent)
            write_private_text(self._path, msgspec.json.encode(self._file).decode())
        except OSError as error:
            raise not_kept(self._path, error, OPTION) from error


def _fitting(content: bytes) -> bytes:
    if len(content) > CONTENT_BYTES_MAX:
        raise ConfigError(
            f"an entity takes {CONTENT_BYTES_MAX:,} bytes at most, and this {len(content):,}: give fewer "
            "or shorter words"
        )
    return content


def _read(path: Path) -> KeyFile:
    try:
        if path.stat().st_mode & OTHERS_PER_FILE:
            raise ConfigError(f"{path} has keys and is open to others: chmod 600 {path}")
        file = msgspec.json.decode(path.read_bytes(), type=KeyFile)
    except FileNotFoundError:
        return KeyFile()
    except OSError as error:
        raise not_kept(path, error, OPTION) from error
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise ConfigError(f"{path} has no keys of entities: {error}; name another with {OPTION}") from error
    if file.format != FORMAT:
        raise ConfigError(f"{path} was written by another version: it says {file.format!r}, not {FORMAT!r}")
    return file


def _row_in(told: dict[str, Any], gateway: str) -> SealedRow:
    try:
        fields = told["number"], told["until_day"], b64decode(told["sealed"]), b64decode(told["signature"])
        return msgspec.convert(fields, SealedRow)
    except (KeyError, TypeError, ValueError, msgspec.ValidationError) as error:
        raise GatewayError(f"{gateway} tells no sealed row: {error}") from error
