"""The head of a response as servers write it, made into one that h11 reads.

h11 takes a head for broken as a whole if one line of it is. Browsers read on, and a crawler must: a
robots.txt that cannot be read forbids a site. What decides where a message ends stays as strict as h11 is: of
these headers only the white space before the colon is forgiven, which RFC 9112, 5.1 lets a client remove, and
of chunks that their lines end with LF alone (2.2), which browsers and curl take.
"""

from __future__ import annotations

import re
from typing import Final

_HEAD_END: Final = re.compile(rb"\n\r?\n")
_NAME: Final = re.compile(rb"[!#$%&'*+.^_`|~0-9A-Za-z-]+")  # RFC 9110, 5.6.2: token
_NOT_IN_VALUES: Final = re.compile(rb"[\x00\r\x0b\x0c]")
_PACKING: Final = frozenset((b"gzip", b"x-gzip", b"deflate"))
_CHUNK_SIZE: Final = re.compile(rb"[0-9A-Fa-f]{1,20}")  # as h11 takes
CHUNK_LINE_BYTES_MAX: Final = 16_384  # then it is handed on as it is, and refused
_FRAMING: Final = frozenset((b"content-length", b"transfer-encoding"))


def head_end(received: bytearray, start: int) -> int:
    """Return where the head at the beginning ends, behind its empty line; 0 when that has not come.

    Args:
      start: up to where it was looked for in vain before.
    """
    match = _HEAD_END.search(received, max(0, start - 2))
    return match.end() if match else 0


def readable_head(head: bytes) -> bytes:
    """Return a head, empty line included, without the parts that h11 would refuse.

    Lines that are no headers go: without a colon, with a name that is none, continuations of nothing. Bytes
    that no value may hold become spaces (RFC 9110, 5.5). `identity` in a Transfer-Encoding, which RFC 2616
    knew and RFC 7230 dropped, says nothing. What else stands there before `chunked`, as `gzip` (RFC 9112,
    7.2), is told as the last of the content codings: the message ends where its chunks do, and is unpacked
    with them.
    """
    status_line, *lines = head.split(b"\n")
    kept = [status_line[:5].upper() + status_line[5:].removesuffix(b"\r")]  # `http/1.1 200 OK`
    packed: list[bytes] = []
    is_continued = False
    for line in lines:
        if line[:1] in (b" ", b"\t"):
            if is_continued and line.strip():
                kept.append(_NOT_IN_VALUES.sub(b" ", line).rstrip())
            continue
        header = _readable_header(line.removesuffix(b"\r"), packed)
        is_continued = header is not None
        if header is not None:
            kept.append(header)
    kept += [b"Content-Encoding: " + coding for coding in packed]
    return b"\r\n".join(kept) + b"\r\n\r\n"


def _readable_header(line: bytes, packed: list[bytes]) -> bytes | None:
    """Return a header; None of a line that is left out.

    Args:
      packed: gets the codings that a body is in besides its chunks.
    """
    name, colon, value = line.partition(b":")
    name = name.rstrip(b" \t")
    if not colon or _NAME.fullmatch(name) is None:
        return None
    if name.lower() not in _FRAMING:
        value = _NOT_IN_VALUES.sub(b" ", value)
    elif name.lower() == b"transfer-encoding":
        codings = value.split(b",")
        said = [coding for coding in codings if coding.strip().lower() != b"identity"]
        if not said:
            return None
        *others, last = [coding.strip().lower() for coding in said]
        if others and last == b"chunked" and _PACKING.issuperset(others):
            packed += others
            return name + b": chunked"
        value = value if said == codings else b" " + b",".join(said).strip()
    return name + b":" + value


class ChunkLines:
    """Ends the lines of a body in chunks as h11 wants them; one per body.

    What is no chunk, and what follows the last one, is handed on as it is.
    """

    def __init__(self) -> None:
        self._line = bytearray()  # the beginning of one
        self._data_left = 0  # bytes, before the next line
        self._is_behind_data = False  # the next line is that which ends a chunk, and empty
        self._is_trailer = False
        self._is_over = False

    def mended(self, received: bytes) -> bytes:
        """Return the received bytes with mended lines; a line that has not ended is kept back."""
        pieces: list[bytes] = []
        at = 0
        while at < len(received) and not self._is_over:
            if self._data_left:
                piece = received[at : at + self._data_left]
                self._data_left -= len(piece)
                at += len(piece)
                pieces.append(piece)
                continue
            end = received.find(b"\n", at) + 1
            self._line += received[at : end or len(received)]
            at = end or len(received)
            if end or len(self._line) > CHUNK_LINE_BYTES_MAX:
                pieces.append(self._ended_line())
        return b"".join((*pieces, received[at:]))

    def _ended_line(self) -> bytes:
        line = bytes(self._line)
        self._line.clear()
        if not line.endswith(b"\n"):
            self._is_over = True
            return line
        line = line[:-1].removesuffix(b"\r")
        if self._is_trailer:
            self._is_over = not line
        elif self._is_behind_data:
            self._is_over = bool(line)
            self._is_behind_data = False
        else:
            size = _CHUNK_SIZE.match(line)
            self._data_left = int(size[0], 16) if size else 0
            self._is_behind_data = self._data_left > 0
            self._is_trailer = not self._is_behind_data
            self._is_over = size is None
        return line + b"\r\n"
