"""Packed files as a row of members, each a stream of bytes: gzip, zstd or not packed at all. [io]

What was packed may be torn, or blow up without end. A member is unpacked chunk by chunk by who wants it, so
a bomb costs what is read of it; where a member is broken, the next one that begins a record is looked for.

zstd files may begin with a dictionary in a skippable frame, as the WARC tools of the Internet Archive write
them (https://iipc.github.io/warc-specifications/specifications/warc-zstd/).

Of ZIP files one member is unpacked into a file without a name, where those who read it may look around.
"""

from __future__ import annotations

import mmap
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final, Protocol, TypeAlias, cast
from zipfile import ZipFile

import zstandard
from isal import isal_zlib

from mesh.errors import CorruptionError
from peers.documents.content import Unreadable
from peers.documents.zip_file import FAULTS, check_directory

Data: TypeAlias = bytes | mmap.mmap

GZIP_MAGIC: Final = b"\x1f\x8b\x08"
ZSTD_MAGIC: Final = b"\x28\xb5\x2f\xfd"
ZIP_MAGIC: Final = b"PK\x03\x04"
DICTIONARY_MAGIC: Final = b"\x5d\x2a\x4d\x18"
CHUNK_BYTES: Final = 64 << 10  # packed, given to the decompressor at a time
OUTPUT_BYTES: Final = 1 << 20  # unpacked, got of it at a time
DICTIONARY_BYTES_MAX: Final = 4 << 20
ZSTD_BITE_BYTES: Final = 2 << 10  # packed, at a time: 64 KiB of zstd may be 2 GB
WINDOW_BYTES_MAX: Final = 128 << 20  # of zstd: what its command line takes without asking
MEMBER_BYTES_MAX: Final = 4 << 30  # of a ZIP file, on the disk: four of the largest files that are exported
INVALID_GZIP: Final = cast("type[Exception]", isal_zlib.error)


class Packing(Protocol):
    """How a file is packed."""

    def members(self, start: int) -> Iterator[PackedMember]:
        """Yield the members from an offset on; ask for the next one only when this one has ended."""


class PackedMember(Protocol):
    """A stretch of the file that is unpacked by itself."""

    offset: int
    end: int  # where the next one begins; known when `chunks` has ended, or `find_next` was called
    is_exact: bool  # an offset in what is unpacked is one in the file, too

    def chunks(self) -> Iterator[bytes]:
        """Unpack. CorruptionError where that is not possible."""

    def find_next(self) -> int:
        """Look for a later member that can be unpacked; the end of the file when there is none."""


class Plain:
    """A file that is not packed: one member."""

    def __init__(self, data: Data) -> None:
        self._data = data

    def members(self, start: int) -> Iterator[PackedMember]:
        if start < len(self._data):
            yield _Stretch(self._data, start)


class _Stretch:
    is_exact = True

    def __init__(self, data: Data, offset: int) -> None:
        self._data = data
        self.offset = offset
        self.end = len(data)

    def chunks(self) -> Iterator[bytes]:
        for start in range(self.offset, len(self._data), OUTPUT_BYTES):
            yield self._data[start : start + OUTPUT_BYTES]

    def find_next(self) -> int:
        return self.end


class Gzip:
    """Members as RFC 1952 has them; zeros between them are padding, as tar and tapes leave it."""

    def __init__(self, data: Data) -> None:
        self._data = data

    def members(self, start: int) -> Iterator[PackedMember]:
        while start < len(self._data):
            member = _GzipMember(self._data, start)
            yield member
            start = _without_padding(self._data, member.end)


class _GzipMember:
    is_exact = False

    def __init__(self, data: Data, offset: int) -> None:
        self._data = data
        self.offset = offset
        self.end = offset

    def chunks(self) -> Iterator[bytes]:
        decompressor = isal_zlib.decompressobj(31)
        at, n_bytes = self.offset, 0
        while not decompressor.eof:
            packed = decompressor.unconsumed_tail
            if not packed:
                packed = self._data[at : at + CHUNK_BYTES]
                at += len(packed)
            try:
                part = decompressor.decompress(packed, OUTPUT_BYTES)
            except INVALID_GZIP as error:
                raise CorruptionError(f"not valid gzip: {error}") from error
            if not packed and not part and not decompressor.eof:
                raise CorruptionError("the file ends in the middle of a gzip member")
            n_bytes += len(part)
            yield part
        self.end = at - len(decompressor.unused_data)
        if int.from_bytes(self._data[self.end - 4 : self.end], "little") != n_bytes & 0xFFFF_FFFF:
            raise CorruptionError("a gzip member is not as long as it says")

    def find_next(self) -> int:
        self.end = _find(
            self._data,
            GZIP_MAGIC,
            max(self.offset + 1, self.end),
            lambda offset: _GzipMember(self._data, offset),
        )
        return self.end


class Zstd:
    """Frames as RFC 8878 has them, with or without a dictionary in front."""

    def __init__(self, data: Data) -> None:
        self._data = data
        self._dictionary, self._first = _dictionary_of(data)

    def members(self, start: int) -> Iterator[PackedMember]:
        start = max(start, self._first)
        while start < len(self._data):
            member = _ZstdFrame(self._data, start, self._dictionary)
            yield member
            start = member.end


class _ZstdFrame:
    is_exact = False

    def __init__(
        self, data: Data, offset: int, dictionary: zstandard.ZstdCompressionDict | None = None
    ) -> None:
        self._data = data
        self._dictionary = dictionary
        self.offset = offset
        self.end = offset

    def chunks(self) -> Iterator[bytes]:
        decompressor = zstandard.ZstdDecompressor(
            dict_data=self._dictionary, max_window_size=WINDOW_BYTES_MAX
        )
        stream = decompressor.decompressobj(write_size=OUTPUT_BYTES)
        at = self.offset
        while not stream.eof:
            packed = self._data[at : at + ZSTD_BITE_BYTES]
            at += len(packed)
            if not packed:
                raise CorruptionError("the file ends in the middle of a zstd frame")
            try:
                part = stream.decompress(packed)
            except zstandard.ZstdError as error:
                raise CorruptionError(f"not valid zstd: {error}") from error
            if part:
                yield part
        self.end = at - len(stream.unused_data)

    def find_next(self) -> int:
        self.end = _find(
            self._data,
            ZSTD_MAGIC,
            max(self.offset + 1, self.end),
            lambda offset: _ZstdFrame(self._data, offset, self._dictionary),
        )
        return self.end


def packing_of(data: Data) -> Packing:
    """Tell by its first bytes how a file is packed.

    Raises:
      CorruptionError: it says that it begins with a dictionary, and there is none.
    """
    if data[:3] == GZIP_MAGIC:
        return Gzip(data)
    if data[:4] in (ZSTD_MAGIC, DICTIONARY_MAGIC):
        return Zstd(data)
    return Plain(data)


@contextmanager
def member_of_zip(file: Path, data: Data, ending: str) -> Iterator[Data]:
    """Unpack the first member of a ZIP file that has a name with this ending, for as long as it is read.

    Args:
      data: what is in the file.

    Raises:
      CorruptionError: there is none, or it cannot be unpacked, or is larger than `MEMBER_BYTES_MAX`.
    """
    with tempfile.TemporaryFile() as unpacked:
        try:
            check_directory(data)
            with ZipFile(file) as archive:
                name = next(each for each in archive.namelist() if each.lower().endswith(ending))
                with archive.open(name) as member:
                    n_bytes = 0
                    while n_bytes <= MEMBER_BYTES_MAX and (part := member.read(OUTPUT_BYTES)):
                        n_bytes += unpacked.write(part)
        except StopIteration:
            raise CorruptionError(f"a ZIP file with no {ending} in it: `unzip` unpacks it") from None
        except (*FAULTS, Unreadable) as error:
            raise CorruptionError(f"a ZIP file that cannot be unpacked: {error}") from error
        if not 0 < n_bytes <= MEMBER_BYTES_MAX:
            raise CorruptionError(f"{name} is empty or larger than {MEMBER_BYTES_MAX >> 30} GiB")
        unpacked.flush()
        with mmap.mmap(unpacked.fileno(), 0, access=mmap.ACCESS_READ) as content:
            yield content


def _without_padding(data: Data, start: int) -> int:
    while start < len(data) and data[start : start + 1] == b"\0":
        chunk = data[start : start + CHUNK_BYTES]
        start += len(chunk) - len(chunk.lstrip(b"\0"))
    return start


def _find(data: Data, magic: bytes, start: int, member_at: Callable[[int], PackedMember]) -> int:
    """Find the next member by its magic number; four bytes may be chance, so it must begin a record."""
    while (start := data.find(magic, start)) >= 0:
        try:
            first = next(member_at(start).chunks(), b"")
        except CorruptionError:
            first = b""
        if first.startswith((b"WARC/", b"{")):
            return start
        start += 1
    return len(data)


def _dictionary_of(data: Data) -> tuple[zstandard.ZstdCompressionDict | None, int]:
    """Return the dictionary that a file begins with, and where its frames begin."""
    if data[:4] != DICTIONARY_MAGIC:
        return None, 0
    end = 8 + int.from_bytes(data[4:8], "little")
    if end > min(len(data), 8 + DICTIONARY_BYTES_MAX):
        raise CorruptionError("the zstd dictionary in front is cut or too large")
    content = data[8:end]
    try:
        if content[:4] == ZSTD_MAGIC:
            content = zstandard.ZstdDecompressor().decompress(content, DICTIONARY_BYTES_MAX)
        return zstandard.ZstdCompressionDict(content), end
    except zstandard.ZstdError as error:
        raise CorruptionError(f"the zstd dictionary in front is none: {error}") from error
