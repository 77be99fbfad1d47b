"""Positions in a file, and the parts of it that cannot be read."""

from __future__ import annotations

from typing import Final, NamedTuple


class Position(NamedTuple):
    """A place to go on reading: behind so many records, or lines, of the part that begins at an offset."""

    offset: int  # bytes: of a gzip member, a zstd frame, a record or a line
    skip: int = 0  # records or lines from there that are done


BEGINNING: Final = Position(0)


class FileDamage(NamedTuple):
    """A part of a file that is no record; the records behind it are read on."""

    offset: int
    what: str
