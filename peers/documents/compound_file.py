"""Compound files, in which Office before 2007 keeps its streams, by olefile. Pure.

Source: [MS-CFB] of the container, [MS-OLEPS] of the properties.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from contextlib import suppress
from datetime import datetime, timedelta
from io import BytesIO
from typing import Final, TypeAlias

import olefile

from peers.documents.content import Lack, Unreadable, sound
from peers.documents.titles import is_title

_Property: TypeAlias = int | bytes | str | datetime
_CODE_PAGE, _TITLE, _MADE, _SAVED = 1, 2, 12, 13  # [MS-OLEPS] 3.1
_SHORT, _TEXT, _WIDE_TEXT, _TIME = 2, 30, 31, 64  # 2.15: types
_OFFSET: Final = struct.Struct("<I")
_PAIR: Final = struct.Struct("<2I")
_TICKS: Final = struct.Struct("<Q")  # of 100 ns
_FIRST_TIME: Final = datetime(1601, 1, 1)
_CODE_PAGES: Final = {
    10_000: "mac_roman",
    10_006: "mac_greek",
    10_007: "mac_cyrillic",
    10_029: "mac_latin2",
    10_081: "mac_turkish",
    20_866: "koi8_r",
    65_000: "utf_7",
    65_001: "utf_8",
    1_200: "utf_16_le",
}
# Code pages by the numbers of character sets of fonts.
PAGES_OF_CHARSETS: Final = {
    0: 1252, 2: 1252, 128: 932, 129: 949, 130: 1361, 134: 936, 136: 950, 161: 1253, 162: 1254, 163: 1258,
    177: 1255, 178: 1256, 186: 1257, 204: 1251, 222: 874, 238: 1250, 254: 437, 255: 850, 77: 10000, 78: 932,
    79: 949, 80: 950, 82: 1256, 81: 1255, 85: 10006, 86: 10081, 87: 874, 88: 10029, 89: 10007,
}  # fmt: skip
DOUBLE_BYTE_PAGES: Final = (932, 936, 949, 950, 1361)


class CompoundFile:
    """The streams at the top of a file, and its properties: title and dates."""

    def __init__(self, body: bytes) -> None:
        """Read the directory.

        Raises:
          Unreadable
        """
        try:
            self._file = olefile.OleFileIO(BytesIO(body))
        except Exception as error:  # the library has errors of its own for some of what is damaged
            raise Unreadable(Lack.DAMAGED, str(error)) from error

    def __contains__(self, name: str) -> bool:
        return bool(self._file.exists(name))

    def stream(self, name: str) -> bytes:
        """Return a stream, of folders by `/`; b"" for none, and for one that is damaged."""
        try:
            with self._file.openstream(name) as stream:
                content: bytes = stream.read()
        except (OSError, IndexError, ValueError, TypeError):
            return b""
        return content

    def title(self) -> str:
        """Return the title that its author gave it; "" when that says nothing."""
        properties = self._properties()
        title = properties.get(_TITLE, b"")
        if isinstance(title, bytes):
            code_page = properties.get(_CODE_PAGE)
            title = decoded(title, code_page if isinstance(code_page, int) else 1_252)
        title = " ".join(sound(title).split()) if isinstance(title, str) else ""
        return title if is_title(title) else ""

    def dates(self) -> tuple[str, ...]:
        """Return when it was last saved and when it was made, in ISO 8601, as far as it says."""
        properties = self._properties()
        moments = (properties.get(_SAVED), properties.get(_MADE))
        return tuple(f"{each.isoformat()}Z" for each in moments if isinstance(each, datetime))

    def _properties(self) -> dict[int, _Property]:
        properties: dict[int, _Property] = {}
        with suppress(struct.error, OverflowError):  # a fault in them costs those behind it
            properties.update(_properties_in(self.stream("\x05SummaryInformation")))
        return properties


def _properties_in(content: bytes) -> Iterator[tuple[int, _Property]]:
    """Yield the first of each that is wanted, by its number: a number, a text, a time.

    olefile reads all, and believes of a vector how many items it says to have.

    Source: [MS-OLEPS] 2.21, 2.20, 2.15.
    """
    wanted = {_CODE_PAGE, _TITLE, _MADE, _SAVED}
    (start,) = _OFFSET.unpack_from(content, 44)
    _, count = _PAIR.unpack_from(content, start)
    for number in range(min(count, len(content) // _PAIR.size)):
        name, offset = _PAIR.unpack_from(content, start + (number + 1) * _PAIR.size)
        if name not in wanted:
            continue
        wanted.discard(name)
        kind, n = _PAIR.unpack_from(content, start + offset)
        at = start + offset + _PAIR.size
        if kind == _SHORT:
            yield name, n & 0xFFFF
        elif kind == _TEXT:
            yield name, content[at : at + n].replace(b"\0", b"")
        elif kind == _WIDE_TEXT:
            yield name, content[at : at + 2 * n].decode("utf-16-le", "replace").rstrip("\0")
        elif kind == _TIME:
            (ticks,) = _TICKS.unpack_from(content, at - 4)
            yield name, _FIRST_TIME + timedelta(microseconds=ticks // 10)


def decoded(text: bytes, code_page: int) -> str:
    """Decode a text in a code page of Windows."""
    name = _CODE_PAGES.get(code_page, f"cp{code_page}")
    try:
        return text.rstrip(b"\0").decode(name, "replace")
    except LookupError:
        return text.rstrip(b"\0").decode("cp1252", "replace")
