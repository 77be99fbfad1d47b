"""A file of JSON objects, one a line: pages as other programs make them, or `tianmesh export jsonl`.

    {"url": "http://a.test/", "title": "A", "text": "first block\\nsecond block",
     "language": "en", "date": "2024-03-05", "fetched_at": "2024-06-01T08:00:00Z"}

Only `url` and `text` or `title` are needed; what else an object has is ignored.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

import msgspec

from mesh.errors import CorruptionError
from peers.importing.packed_file import Packing
from peers.importing.positions import BEGINNING, FileDamage, Position

LINE_BYTES_MAX: Final = 32 << 20


class LineEntry(msgspec.Struct, frozen=True):
    """A page as a line describes it."""

    url: str
    title: str = ""
    text: str = ""  # one block a line
    headings: str = ""  # of those lines, the ones that are headings, in order
    language: str = ""  # as "zh" or "en-US"
    date: str | float | None = None  # last changed: ISO 8601 or seconds since the epoch
    fetched_at: str | float | None = None  # likewise; without it, when the file was last changed
    type: str = ""  # media type
    published: str | float | None = None  # as `date`
    links: tuple[tuple[str, str], ...] = ()  # that the page has: address and text


class Line(NamedTuple):
    """A line with an entry."""

    offset: int  # of the line, or of the packed member it is in
    after: Position
    text: bytes


def read_lines(packing: Packing, start: Position = BEGINNING) -> Iterator[Line | FileDamage]:
    """Read the lines that are not blank from a position on.

    A packed file is read from the beginning of a member, passing over lines that are done.
    """
    skip, offset = start.skip, start.offset
    rest = b""
    for member in packing.members(offset):
        n_lines, at = 0, member.offset
        chunks = member.chunks()
        while True:
            try:
                chunk = next(chunks, None)
            except CorruptionError as error:
                yield FileDamage(member.offset, str(error))
                return
            if chunk is None:
                break
            lines = (rest + chunk).split(b"\n")
            rest = lines.pop()
            for line in lines:
                n_lines += 1
                begin, at = at, at + len(line) + 1
                if n_lines > skip and line.strip():
                    after = Position(at) if member.is_exact else Position(member.offset, n_lines)
                    yield Line(begin if member.is_exact else member.offset, after, line)
            if len(rest) > LINE_BYTES_MAX:
                yield FileDamage(
                    at if member.is_exact else member.offset, f"a line of over {LINE_BYTES_MAX} bytes"
                )
                return
        if rest.strip() and n_lines + 1 > skip:
            end = Position(member.end) if member.is_exact else Position(member.offset, n_lines + 1)
            yield Line(at if member.is_exact else member.offset, end, rest)
        rest, skip = b"", 0


def entry_of(line: bytes) -> LineEntry:
    """Decode a line.

    Raises:
      CorruptionError: it is no JSON object, or one without what is needed.
    """
    try:
        return _decoder.decode(line)
    except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError) as error:
        raise CorruptionError(f"not an entry: {error}") from error


_decoder: Final = msgspec.json.Decoder(LineEntry)
