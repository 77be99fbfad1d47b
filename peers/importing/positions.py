"""Where in a file something is, and what cannot be read there."""

from __future__ import annotations

from typing import Final, NamedTuple


class Position(NamedTuple):
    """A place to go on reading from: behind so many records, or lines, of what begins at an offset."""

    offset: int  # bytes: of a gzip member, a zstd frame, a record or a line
    skip: int = 0  # records or lines from there that are done


BEGINNING: Final = Position(0)


class Damage(NamedTuple):
    """Something that is no record; what comes after it is read on."""

    offset: int
    what: str
