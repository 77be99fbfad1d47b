"""Files are copied, added to, compared and checked, a megabyte at a time. [io]"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

from xxhash import xxh3_128

from mesh.errors import CorruptionError
from mesh.tables.private_files import FILE_MODE
from peers.backup.manifest import Piece
from peers.storage.archive.archive import sync

CHUNK_BYTES: Final = 1 << 20
EDGE_BYTES: Final = 64 << 10  # by which two files are compared

OnBytes = Callable[[int], None]  # is told how many bytes more are done


def append(source: Path, target: Path, start: int, end: int, on_bytes: OnBytes) -> Piece:
    """Copy the bytes from `start` to `end` of a file to the same place of another, which ends there then.

    Raises:
      OSError: of either of them.
      CorruptionError: the source ends before.
    """
    checksum = xxh3_128()
    with open(source, "rb") as read, open(_opened(target), "wb", buffering=0) as written:
        read.seek(start)
        written.seek(start)
        for chunk in _chunks(read.read, end - start, source):
            _write(written.write, chunk)
            checksum.update(chunk)
            on_bytes(len(chunk))
        written.truncate(end)
        sync(written.fileno())
    return Piece(end - start, checksum.hexdigest())


def store(content: bytes, target: Path) -> Piece:
    """Write a small file anew, durably."""
    with open(_opened(target), "wb", buffering=0) as written:
        _write(written.write, content)
        written.truncate(len(content))
        sync(written.fileno())
    return Piece(len(content), xxh3_128(content).hexdigest())


def piece_of(file: Path) -> Piece:
    """Describe a file that was written by others."""
    checksum = xxh3_128()
    with open(file, "rb") as read:
        length = os.fstat(read.fileno()).st_size
        for chunk in _chunks(read.read, length, file):
            checksum.update(chunk)
    return Piece(length, checksum.hexdigest())


def fetch(stored: Path, pieces: tuple[Piece, ...], target: Path | None, on_bytes: OnBytes) -> None:
    """Read a file from a backup, check it, and write it; with no target only check it.

    Raises:
      OSError: it cannot be written.
      CorruptionError: the backup does not have it as it was.
    """
    try:
        read = open(stored, "rb")  # noqa: SIM115  # closed below
    except OSError as error:
        raise CorruptionError(f"{stored} cannot be read ({error.strerror}): take another backup") from error
    with read:
        chunks = _checked(read.read, pieces, stored)
        if target is None:
            for chunk in chunks:
                on_bytes(len(chunk))
            return
        with open(_opened(target), "wb", buffering=0) as written:
            for chunk in chunks:
                _write(written.write, chunk)
                on_bytes(len(chunk))
            sync(written.fileno())


def begins_like(source: Path, stored: Path, length: int) -> bool:
    """Is a stored file, up to a length, the beginning of another? Looked at are its first and last bytes.

    Files of an archive only grow. Another file of that name, of a peer that had to begin anew or that came
    from an older backup, differs at the beginning, or where it went on another way.
    """
    try:
        with open(source, "rb") as one, open(stored, "rb") as other:
            if min(os.fstat(file.fileno()).st_size for file in (one, other)) < length:
                return False
            for at in (0, max(0, length - EDGE_BYTES)):
                count = min(EDGE_BYTES, length - at)
                if os.pread(one.fileno(), count, at) != os.pread(other.fileno(), count, at):
                    return False
    except FileNotFoundError:
        return False
    return True


def _checked(read: Callable[[int], bytes], pieces: tuple[Piece, ...], stored: Path) -> Iterator[bytes]:
    for piece in pieces:
        checksum = xxh3_128()
        for chunk in _chunks(read, piece.length, stored):
            checksum.update(chunk)
            yield chunk
        if checksum.hexdigest() != piece.checksum:
            raise CorruptionError(f"{stored} is damaged: take another backup")


def _chunks(read: Callable[[int], bytes], length: int, path: Path) -> Iterator[bytes]:
    while length > 0:
        try:
            chunk = read(min(CHUNK_BYTES, length))
        except OSError as error:
            raise CorruptionError(f"{path} cannot be read: {error.strerror}") from error
        if not chunk:
            raise CorruptionError(f"{path} ends {length} bytes too early")
        yield chunk
        length -= len(chunk)


def _write(write: Callable[[memoryview], int | None], chunk: bytes) -> None:
    rest = memoryview(chunk)
    while rest:
        rest = rest[write(rest) or 0 :]


def _opened(target: Path) -> int:
    return os.open(target, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, FILE_MODE)
