"""The content of a backup: files by the place where they belong, each in checked pieces. [io]"""

from __future__ import annotations

import os
from pathlib import Path, PurePosixPath
from typing import Annotated, Final

import msgspec
from msgspec import Meta
from xxhash import xxh3_128_hexdigest

from mesh.errors import ConfigError, CorruptionError, StorageError
from mesh.tables.private_files import FILE_MODE, put_in_place

MANIFEST: Final = "manifest.json"
UNFINISHED: Final = "unfinished.json"
FORMAT: Final = 1

Count = Annotated[int, Meta(ge=0)]


class Piece(msgspec.Struct, frozen=True, array_like=True):
    """Bytes of a file that were copied at one time, behind those of the piece before."""

    length: Count
    checksum: str  # XXH3-128, hexadecimal


class StoredFile(msgspec.Struct, frozen=True):
    """A file of a peer and where the backup has it."""

    path: str  # in the folder that is restored, with /
    stored: str  # in the folder of the backup, with /
    pieces: tuple[Piece, ...]

    def __post_init__(self) -> None:
        for path in (self.path, self.stored):
            if not is_inside(path):
                raise ValueError(f"{path!r} leads out of the folder")

    @property
    def length(self) -> int:
        return sum(piece.length for piece in self.pieces)


class SavedNode(msgspec.Struct, frozen=True):
    """A peer, or a bootstrap node."""

    folder: str  # in the folder that is restored, "." for that itself
    peer: str  # its id
    has_pages: bool  # and so an archive and an index

    def __post_init__(self) -> None:
        if self.folder != "." and not is_inside(self.folder):
            raise ValueError(f"{self.folder!r} leads out of the folder")


class BackupManifest(msgspec.Struct, frozen=True, kw_only=True):
    """One whole backup."""

    format: int = FORMAT
    number: Count = 0
    made_at: float = 0.0  # seconds since the epoch, when it began
    program: str = ""  # version of this program
    layout: Count = 0  # of the tables, see `mesh.tables.layout`
    nodes: tuple[SavedNode, ...] = ()
    files: tuple[StoredFile, ...] = ()

    @property
    def byte_count(self) -> int:
        return sum(file.length for file in self.files)


class _Sealed(msgspec.Struct, frozen=True):
    checksum: str
    manifest: msgspec.Raw


class _Head(msgspec.Struct, frozen=True):
    format: int
    program: str


def is_inside(path: str) -> bool:
    """Does a relative path lead to a file below the folder that it starts from?"""
    parts = PurePosixPath(path).parts
    return bool(parts) and ".." not in parts and not path.startswith("/") and "\0" not in path


def read_manifest(folder: Path, name: str = MANIFEST) -> BackupManifest | None:
    """Read a manifest; None when there is none.

    Raises:
      CorruptionError: it is not as it was written.
      ConfigError: another version of this program wrote it.
    """
    try:
        content = (folder / name).read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise StorageError(f"cannot read {folder / name}: {error.strerror}") from error
    try:
        sealed = msgspec.json.decode(content, type=_Sealed)
        if xxh3_128_hexdigest(bytes(sealed.manifest)) != sealed.checksum:
            raise CorruptionError(f"{folder / name} is damaged: take another backup")
        head = msgspec.json.decode(sealed.manifest, type=_Head)
        if head.format != FORMAT:
            raise ConfigError(f"tianmesh {head.program} made the backup in {folder}: use that version")
        return msgspec.json.decode(sealed.manifest, type=BackupManifest)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise CorruptionError(f"{folder / name} is damaged ({error}): take another backup") from error


def write_manifest(folder: Path, manifest: BackupManifest, name: str = MANIFEST) -> None:
    """Put a manifest into the place of the one before, at once and durably.

    Raises:
      OSError: it cannot be written; the one before is still there.
    """
    body = msgspec.json.encode(manifest)
    content = msgspec.json.encode(_Sealed(xxh3_128_hexdigest(body), msgspec.Raw(body)))
    new = folder / f"{name}.new"
    descriptor = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, FILE_MODE)
    with open(descriptor, "wb") as file:
        file.write(content)
    put_in_place(new, folder / name)
