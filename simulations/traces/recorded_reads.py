"""Reads of posting lists that an engine has recorded (`tianmesh search --record-reads`)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Final, NamedTuple

import msgspec

from mesh.errors import ConfigError
from peers.engine.read_recorder import RecordedRead


class ReadNumbers(NamedTuple):
    """A read as studies take it."""

    query: int
    first: int  # the first query that was the same
    thing: int  # number of what was read: a read of the same bytes has the same one
    start: int  # of all files one after the other; a page of one file is never one of another
    n_bytes: int
    has_positions: bool


_FILE_BYTES: Final = 1 << 44  # between the beginnings of two files
READ_BYTES_MAX: Final = 1 << 31


def read_reads(path: Path) -> list[ReadNumbers]:
    """Read a file of reads.

    Raises:
      ConfigError: it cannot be read, is empty, or has a line that is none; the sentence names the line.
    """
    files: dict[str, int] = {}
    things: dict[tuple[int, int], int] = {}
    found = []
    for read in _reads_in(path):
        start = files.setdefault(read.segment, len(files)) * _FILE_BYTES + read.offset
        thing = things.setdefault((start, read.length), len(things))
        found.append(ReadNumbers(read.query, read.first, thing, start, read.length, read.part == "positions"))
    if not found:
        raise ConfigError(f"{path} has no reads: none of the queries has a word that is in the index")
    return found


def _reads_in(path: Path) -> Iterator[RecordedRead]:
    decoder = msgspec.json.Decoder(RecordedRead)
    try:
        with path.open("rb") as file:
            for number, line in enumerate(file, 1):
                try:
                    read = decoder.decode(line)
                except msgspec.DecodeError as error:
                    raise ConfigError(f"{path} line {number:,} is no recorded read: {error}") from error
                is_place = 0 <= read.offset < _FILE_BYTES and 0 < read.length <= READ_BYTES_MAX
                if not (is_place and 0 <= read.first <= read.query):
                    raise ConfigError(f"{path} line {number:,} is no recorded read: its numbers cannot be")
                yield read
    except OSError as error:
        raise ConfigError(f"cannot read {path}: {error.strerror}; give what --record-reads wrote") from error


def queries_of(reads: Sequence[ReadNumbers]) -> list[list[ReadNumbers]]:
    """Return the reads of each query that has any, in their order."""
    found: dict[int, list[ReadNumbers]] = {}
    for read in reads:
        found.setdefault(read.query, []).append(read)
    return list(found.values())


def bytes_of(reads: Iterable[ReadNumbers]) -> int:
    """Return how many bytes are in any of some reads."""
    total = behind = 0
    for start, end in sorted({(read.start, read.start + read.n_bytes) for read in reads}):
        total += max(0, end - max(start, behind))
        behind = max(behind, end)
    return total
