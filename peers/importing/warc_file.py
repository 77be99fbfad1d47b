"""The records of a WARC or ARC file of any origin, one after the other, and the parts that are none.

Unlike `peers.storage.archive.warc`, which reads back what we wrote, this reads what anybody wrote: one gzip
member for each record, one for all of them, zstd, or nothing packed; WARC 0.18 to 1.1, and ARC of before
2009, whose records are given headers as those of WARC have; line ends of both kinds. A record that is not as
long as it says costs only that: the next one is looked for by the words it begins with.

Why not fastwarc or warcio: both end at the first damaged gzip member and do not say where it was. How fast
the three are is in `tests/benchmarks/bench_importing.py`.
"""

from __future__ import annotations

import re
from collections.abc import Generator, Iterable, Iterator, Mapping
from typing import Final, NamedTuple

from mesh.errors import CorruptionError
from peers.importing.packed_file import PackedMember, Packing
from peers.importing.positions import BEGINNING, FileDamage, Position
from peers.storage.archive.warc import CONTENT_TYPE, HEAD_BYTES_MAX, RECORD_BYTES_MAX, header_fields

# Unpacked to get past a record that is too large, or past what is none; more of it is a bomb.
SKIPPED_BYTES_MAX: Final = 1 << 30
ARC_HEAD_BYTES_MAX: Final = 16 << 10
_BEGIN: Final = b"WARC/"
ARC_BEGIN: Final = b"filedesc://"
# URL, address, time, type, length; since version 2 with more before the length. A blank may be in the type.
# Source: http://archive.org/web/researcher/ArcFileFormat.php
_ARC_HEAD: Final = re.compile(rb"(\S{1,4096}) ([0-9a-fA-F.:]{1,64}) (\d{14}) ([^\r\n]{1,4110})\r?\n")
LENGTH_DIGITS_MAX: Final = 14
_END_OF_HEAD: Final = (b"\r\n\r\n", b"\n\n")


class Record(NamedTuple):
    """A record as it stands in the file."""

    offset: int  # of its gzip member or zstd frame; of itself in a file that is not packed
    after: Position  # where to go on when it is done
    headers: Mapping[str, str]  # names in lower case; of repeated names the first counts
    block: bytes
    content: bytes = b""  # of a document of which this is the beginning, see `with_contents`


def with_contents(found: Iterable[Record | FileDamage]) -> Iterator[Record | FileDamage]:
    """Give documents, of which our archive keeps the beginning alone, the text that it keeps of them.

    That is in the record behind them (`extraction.kept_response`).
    """
    held: Record | None = None
    for each in found:
        if held is not None:
            before, held = held, None
            if isinstance(each, Record) and _is_content_of(each, before):
                yield before._replace(after=each.after, content=each.block)
                continue
            yield before
        if isinstance(each, Record) and each.headers.get("warc-truncated") == "length":
            held = each
        else:
            yield each
    if held is not None:
        yield held


def _is_content_of(record: Record, response: Record) -> bool:
    kind, media_type = record.headers.get("warc-type"), record.headers.get("content-type")
    named = (each.headers.get("warc-target-uri") for each in (record, response))
    return kind == "metadata" and media_type == CONTENT_TYPE and len(set(named)) == 1


def read_warc(packing: Packing, start: Position = BEGINNING) -> Iterator[Record | FileDamage]:
    """Read records from a position on.

    Yields a `FileDamage` for everything that is no record, and goes on behind it.
    """
    skip, offset = start.skip, start.offset
    is_over = False
    while not is_over:
        is_over = True
        for member in packing.members(offset):
            is_sound = yield from _read_member(member, skip)
            skip = 0
            if not is_sound:
                offset, is_over = member.find_next(), False
                break


def _read_member(member: PackedMember, skip: int) -> Generator[Record | FileDamage, None, bool]:
    """Read the records of a member but the first ones; return whether it could be unpacked to its end."""
    stream = _Stream(member.chunks())
    n_records = 0
    while True:
        begin = member.offset + stream.consumed if member.is_exact else member.offset
        try:
            found = _next_record(stream)
            if found is None:
                return True
            n_records += 1
            if n_records > skip:
                at = Position(member.offset + stream.consumed) if member.is_exact else None
                after = at or Position(member.offset, n_records)
                yield Record(begin, after, *found)
        except _Unreadable as error:
            yield FileDamage(begin, str(error))
            return False
        except CorruptionError as error:
            yield FileDamage(begin, str(error))
            n_records += 1
            try:
                if not stream.seek(_BEGIN):
                    return True
            except _Unreadable as unreadable:
                yield FileDamage(begin, str(unreadable))
                return False


class _Unreadable(CorruptionError):
    """The member itself is broken: nothing more of it can be read."""


def _next_record(stream: _Stream) -> tuple[dict[str, str], bytes] | None:
    """Read one record; None at the end.

    Raises:
      CorruptionError: this is no record, but behind it there may be one.
    """
    if not stream.skip_blank():
        return None
    headers = _read_headers(stream) if stream.starts_with(_BEGIN) else _read_arc_headers(stream)
    length = headers.get("content-length", "")
    if not (length.isascii() and length.isdigit() and len(length) < 15):
        raise CorruptionError("a record without a length")
    if int(length) > RECORD_BYTES_MAX:
        stream.skip(int(length), SKIPPED_BYTES_MAX)
        raise CorruptionError(f"a record of {length} bytes; the limit is {RECORD_BYTES_MAX}")
    block = stream.read(int(length))
    if len(block) < int(length):
        stream.back(len(block))  # the next record may be in what it took for its own
        raise CorruptionError(f"a record of {len(block)} bytes that says it has {length}")
    if not stream.skip_end():
        raise CorruptionError(f"a record that is longer than the {length} bytes it says it has")
    return headers, block


def _read_headers(stream: _Stream) -> dict[str, str]:
    lines = stream.read_head().decode("utf-8", "replace").replace("\r\n", "\n").split("\n")
    return {name.lower(): value for name, value in reversed(header_fields(_unfolded(lines[1:])))}


def _read_arc_headers(stream: _Stream) -> dict[str, str]:
    head = stream.read_match(_ARC_HEAD, ARC_HEAD_BYTES_MAX)
    if head is None:
        raise CorruptionError("no WARC record begins here")
    url, ip, time, rest = (part.decode("latin-1") for part in head.groups())
    length = rest[len(rest.rstrip("0123456789")) :]
    if not 0 < len(length) <= LENGTH_DIGITS_MAX:
        raise CorruptionError("the first line of an ARC record ends in no length")
    day, clock = f"{time[:4]}-{time[4:6]}-{time[6:8]}", f"{time[8:10]}:{time[10:12]}:{time[12:]}"
    return {
        "warc-type": "warcinfo" if head[0].startswith(ARC_BEGIN) else "response",
        "warc-target-uri": url,
        "warc-ip-address": ip,
        "warc-date": f"{day}T{clock}Z",
        "content-type": "application/http",
        "content-length": length,
    }


def _unfolded(lines: list[str]) -> list[str]:
    """Join header lines that go on in the next one (WARC 1.0, 4: as in RFC 822)."""
    joined: list[str] = []
    for line in lines:
        if line[:1] in (" ", "\t") and joined:
            joined[-1] += f" {line.strip()}"
        else:
            joined.append(line)
    return joined


class _Stream:
    """The content of a member, unpacked only as far as it is read."""

    def __init__(self, chunks: Iterator[bytes]) -> None:
        self._chunks = chunks
        self._buffer = b""
        self._at = 0
        self._before = 0  # bytes that have left the buffer

    @property
    def consumed(self) -> int:
        return self._before + self._at

    def starts_with(self, begin: bytes) -> bool:
        while len(self._buffer) - self._at < len(begin) and self._fill():
            pass
        return self._buffer.startswith(begin, self._at)

    def read_match(self, pattern: re.Pattern[bytes], bytes_max: int) -> re.Match[bytes] | None:
        """Read the bytes that match a pattern here; none when it does not match."""
        while len(self._buffer) - self._at < bytes_max and self._fill():
            pass
        match = pattern.match(self._buffer, self._at, self._at + bytes_max)
        self._at = match.end() if match else self._at
        return match

    def skip_blank(self) -> bool:
        """Go to the next byte that is no white space; False when there is none."""
        while True:
            rest = self._buffer[self._at : self._at + 64]
            stripped = rest.lstrip(b"\r\n \t")
            self._at += len(rest) - len(stripped)
            if stripped:
                return True
            if not rest and not self._fill():
                return False

    def skip_end(self) -> bool:
        """Go behind the line ends that close a record; False when something else is there."""
        while len(self._buffer) - self._at < 4 and self._fill():
            pass
        for end in (b"\r\n\r\n", b"\n\n", b"\r\n", b"\n"):
            if self._buffer.startswith(end, self._at):
                self._at += len(end)
                return True
        # Some writers forget them at the very end.
        return self._at == len(self._buffer) or self._buffer.startswith(_BEGIN, self._at)

    def read_head(self) -> bytes:
        """Read to the blank line behind a head."""
        while True:
            ends = [(at, len(end)) for end in _END_OF_HEAD if (at := self._buffer.find(end, self._at)) >= 0]
            if ends:
                at, length = min(ends)
                head = self._buffer[self._at : at]
                self._at = at + length
                return head
            if len(self._buffer) - self._at > HEAD_BYTES_MAX:
                self._at += len(_BEGIN)
                raise CorruptionError(f"a record with a head of more than {HEAD_BYTES_MAX} bytes")
            if not self._fill():
                self._at = len(self._buffer)
                raise CorruptionError("a record that ends in its head")

    def read(self, n_bytes: int) -> bytes:
        """Read so many bytes, or as many as there are."""
        while len(self._buffer) - self._at < n_bytes and self._fill():
            pass
        block = self._buffer[self._at : self._at + n_bytes]
        self._at += len(block)
        return block

    def back(self, n_bytes: int) -> None:
        """Undo a `read` of so many bytes, the last thing that was done."""
        self._at -= n_bytes
        assert self._at >= 0, "what was read is still in the buffer"

    def skip(self, n_bytes: int, most: int) -> None:
        """Go so many bytes further without keeping them."""
        if n_bytes > most:
            raise _Unreadable(f"a record of {n_bytes} bytes, of which no more than {most} are skipped")
        left = n_bytes
        while left:
            step = min(left, len(self._buffer) - self._at)
            self._at += step
            left -= step
            if left and not self._fill():
                return

    def seek(self, begin: bytes) -> bool:
        """Go to where a line begins with these words; False when there is no such line."""
        from_here = self.consumed
        while self.consumed - from_here < SKIPPED_BYTES_MAX:
            at = self._buffer.find(b"\n" + begin, max(self._at - 1, 0))
            if at >= 0:
                self._at = at + 1
                return True
            self._at = max(self._at, len(self._buffer) - len(begin))
            if not self._fill():
                self._at = len(self._buffer)
                return False
        raise _Unreadable(f"no record begins in {SKIPPED_BYTES_MAX} bytes")

    def _fill(self) -> bool:
        try:
            chunk = next(self._chunks, None)
        except CorruptionError as error:
            raise _Unreadable(str(error)) from error
        if chunk is None:
            return False
        self._before += self._at
        self._buffer = self._buffer[self._at :] + chunk
        self._at = 0
        return True
