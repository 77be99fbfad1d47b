"""Compound files, in which Office before 2007 keeps its streams, by olefile. Pure.

Source: [MS-CFB] of the container, [MS-OLEPS] of the properties.
"""

from __future__ import annotations

from datetime import datetime
from io import BytesIO
from typing import Any, Final

import olefile

from peers.documents.content import Lack, Unreadable, sound
from peers.documents.titles import is_title

_SIGNED: Final = 0xFFFF  # the library takes the number of a code page for a signed one
_CODE_PAGES: Final = {
    10_000: "mac_roman",
    20_866: "koi8_r",
    65_000: "utf_7",
    65_001: "utf_8",
    1_200: "utf_16_le",
}


class CompoundFile:
    """The streams at the top of a file, and what it says of itself."""

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
        title = properties.get(2, b"")  # [MS-OLEPS] 3.1: PIDSI_TITLE
        if isinstance(title, bytes):
            code_page = properties.get(1)
            title = decoded(title, code_page & _SIGNED if isinstance(code_page, int) else 1_252)
        title = " ".join(sound(title).split()) if isinstance(title, str) else ""
        return title if is_title(title) else ""

    def dates(self) -> tuple[str, ...]:
        """Return when it was last saved and when it was made, in ISO 8601, as far as it says."""
        properties = self._properties()
        moments = (properties.get(13), properties.get(12))  # PIDSI_LASTSAVE_DTM, PIDSI_CREATE_DTM
        return tuple(f"{each.isoformat()}Z" for each in moments if isinstance(each, datetime))

    def _properties(self) -> dict[int, Any]:
        name = "\x05SummaryInformation"
        try:
            properties: dict[int, Any] = self._file.getproperties(name, convert_time=True)
        except Exception:  # a fault in them costs them only
            return {}
        return properties


def decoded(text: bytes, code_page: int) -> str:
    """Decode what is in a code page of Windows."""
    name = _CODE_PAGES.get(code_page, f"cp{code_page}")
    try:
        return text.rstrip(b"\0").decode(name, "replace")
    except LookupError:
        return text.rstrip(b"\0").decode("cp1252", "replace")
