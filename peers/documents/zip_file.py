"""Files inside a ZIP file, within limits: contents packed to be large stay small here. Pure.

Office Open XML, OpenDocument and EPUB are such files. Of a member no more is unpacked than is allowed, so a
bomb costs at most that; a directory that is itself the bomb is not read.
"""

from __future__ import annotations

import zlib
from io import BytesIO
from mmap import mmap
from struct import Struct
from typing import Final
from zipfile import BadZipFile, ZipFile

from peers.documents.budget import Budget
from peers.documents.content import Lack, Unreadable

MEMBER_BYTES_MAX: Final = (
    32 << 20
)  # unpacked, of one member: a sheet of a million cells; the rest is not read
ALL_BYTES_MAX: Final = 96 << 20  # unpacked, of all that are read of one file
DIRECTORY_BYTES_MAX: Final = 1 << 20  # some 12,000 members: a book has hundreds
_END: Final = Struct("<4s4H2IH")  # end of central directory, APPNOTE 4.3.16
_END_64: Final = Struct("<4sQ2H2I4Q")  # 4.3.14
_LOCATOR_64: Final = Struct("<4sIQI")  # 4.3.15
_COMMENT_BYTES_MAX: Final = 65_535
# What the library raises for what is damaged, encrypted or packed in a way it does not know.
FAULTS: Final = (BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError, OSError, ValueError)


class ZipMembers:
    """The members of one file, by name."""

    def __init__(self, body: bytes, budget: Budget) -> None:
        """Read the directory.

        Args:
          budget: the time of the document, for who reads the members.

        Raises:
          Unreadable: it is no ZIP file, or its directory is too large.
        """
        check_directory(body)
        try:
            self._zip = ZipFile(BytesIO(body))
        except FAULTS as error:
            raise Unreadable(Lack.DAMAGED, str(error)) from error
        self._names = {_name(each): each for each in self._zip.namelist()}
        self._room = ALL_BYTES_MAX
        self.budget = budget

    def __contains__(self, name: str) -> bool:
        return _name(name) in self._names

    def read(self, name: str) -> bytes:
        """Return the content of a member within the limits; b"" for one that is missing or unreadable."""
        stored_as = self._names.get(_name(name))
        if stored_as is None:
            return b""
        n_bytes = min(MEMBER_BYTES_MAX, self._room)
        try:
            with self._zip.open(stored_as) as member:
                content = member.read(n_bytes)
        except (*FAULTS, KeyError):
            return b""
        self._room -= len(content)
        return content


def _name(name: str) -> str:
    r"""A name as it is looked for: some programs write `\`, names of parts have no case (OPC, 6.2.2.3)."""
    return name.replace("\\", "/").lower()


def check_directory(body: bytes | mmap) -> None:
    """Raises: Unreadable: it is no ZIP file, or its directory is too large to be read."""
    at = body.rfind(b"PK\x05\x06", max(0, len(body) - _END.size - _COMMENT_BYTES_MAX))
    if at < 0 or at + _END.size > len(body):
        raise Unreadable(Lack.DAMAGED, "no directory")
    directory_bytes = max(_END.unpack_from(body, at)[5], _directory_bytes_64(body, at))
    if directory_bytes > DIRECTORY_BYTES_MAX:
        raise Unreadable(Lack.EXHAUSTING, f"a directory of {directory_bytes} bytes")


def _directory_bytes_64(body: bytes | mmap, end: int) -> int:
    """Return the size of the directory by the ZIP64 records before the end, which count if there are any.

    The record is where its locator says, or right before that: libraries differ, so the larger size counts.
    """
    at = end - _LOCATOR_64.size
    if at < 0 or body[at : at + 4] != b"PK\x06\x07":
        return 0
    places = (_LOCATOR_64.unpack_from(body, at)[2], at - _END_64.size)
    records = (body[place : place + _END_64.size] for place in places if place >= 0)
    whole = (each for each in records if each[:4] == b"PK\x06\x06" and len(each) == _END_64.size)
    return max((_END_64.unpack(each)[8] for each in whole), default=0)
