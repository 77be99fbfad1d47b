"""Undo Content-Encoding within limits: no answer, however it was packed, grows past the size asked for.

Every layer is decoded with a bound on its output, so a bomb costs at most the bound in memory and the time
to fill it. Damaged data (cut short, wrong checksum) yields what came before the damage, as browsers and
Scrapy show it. Data that is not in the named coding at all is an error, unless it is text: then the label is
wrong, as `none`, `utf-8` and many a `gzip` are.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Callable
from typing import NamedTuple

import brotli
import zstandard
from isal import isal_zlib
from isal.igzip_lib import IsalError

BODY_BYTES_MAX = 8 << 20  # of a page; between Nutch (1 MiB) and Marginalia (32)
# Of a document of another format than HTML: slides and scanned books are often larger.
DOCUMENT_BYTES_MAX = 32 << 20
LAYERS_MAX = 5  # curl, MAX_ENCODE_STACK
GZIP_MEMBERS_MAX = 128  # each costs a copy of the rest; bgzip makes one per 64 kB, servers one
ZSTD_WINDOW_BYTES_MAX = 8 << 20  # RFC 9659, 3: the largest a decoder on the web must support
DAMAGED_STEP_BYTES = 256  # how finely damaged data is decoded again to save its sound beginning
ZSTD_STEP_BYTES = 1 << 18
TEXT_LOOK_BYTES = 1_445  # WHATWG MIME Sniffing, 5: the resource header


class TooLarge(Exception):
    """The decoded body is longer than allowed."""


class Undecodable(Exception):
    """The body is not in the coding it claims, or in one we do not know."""


class Decoded(NamedTuple):
    """A body without its encodings."""

    body: bytes
    is_whole: bool  # False: it ended early, failed its checksum, or is the beginning that was wanted


def decode(body: bytes, content_encoding: str, bytes_max: int) -> Decoded:
    """Undo the codings of a body, the last named first.

    Args:
      content_encoding: the header's value, codings by comma in the order they were applied; "" for none.
      bytes_max: most bytes that a layer may decode to.

    Raises:
      TooLarge: a layer decodes to more than `bytes_max`.
      Undecodable: an unknown coding, more than `LAYERS_MAX`, or data that is not in it.
    """
    is_whole = True
    for name in _layers(content_encoding):
        body, layer_is_whole = _decode_layer(body, name, bytes_max)
        if len(body) > bytes_max:
            raise TooLarge(f"decodes to more than {bytes_max} bytes")
        is_whole = is_whole and layer_is_whole
    return Decoded(body, is_whole)


def decode_beginning(body: bytes, content_encoding: str, n_bytes: int) -> Decoded:
    """Undo the codings of a body, but of each layer only so many bytes.

    Raises:
      Undecodable: as `decode`.
    """
    is_whole = len(body) <= n_bytes
    for name in _layers(content_encoding):
        body, layer_is_whole = _decode_layer(body, name, n_bytes)
        is_whole = is_whole and layer_is_whole and len(body) <= n_bytes
        body = body[:n_bytes]
    return Decoded(body, is_whole)


def _layers(content_encoding: str) -> list[str]:
    """Return the names of the codings, the last applied first."""
    names = [name for part in content_encoding.lower().split(",") if (name := part.strip())]
    names = [name for name in names if name != "identity"]
    if len(names) > LAYERS_MAX:
        raise Undecodable(f"{len(names)} content codings, more than {LAYERS_MAX}")
    return names[::-1]


def _decode_layer(body: bytes, name: str, bytes_max: int) -> Decoded:
    """Undo one coding; more than `bytes_max` bytes come when there are more."""
    if not body:  # as 304 and many redirects come
        return Decoded(body, True)
    is_binary = _BINARY.search(body, 0, TEXT_LOOK_BYTES) is not None
    decoder = _DECODERS.get(name)
    try:
        if decoder is None:
            raise Undecodable(f"unknown content coding {name[:40]!r}")
        decoded = decoder(body, bytes_max)
        if not decoded.body and not decoded.is_whole:
            raise Undecodable(f"nothing sound in the {name} data")
    except Undecodable:
        if is_binary:
            raise
        return Decoded(body, True)
    is_sound = decoded.is_whole or is_binary or len(decoded.body) > bytes_max
    return decoded if is_sound else Decoded(body, True)


# WHATWG MIME Sniffing, 3: bytes that no text has, but for UTF-16.
_BINARY = re.compile(rb"[\x00-\x08\x0b\x0e-\x1a\x1c-\x1f]")


def _gunzip(body: bytes, bytes_max: int) -> Decoded:
    if not body.startswith(b"\x1f\x8b"):
        raise Undecodable("no gzip header")
    members: list[bytes] = []
    size = 0
    is_whole = True
    while is_whole and body.startswith(b"\x1f\x8b"):  # what follows the last member is padding or junk
        if len(members) == GZIP_MEMBERS_MAX:
            raise Undecodable(f"more than {GZIP_MEMBERS_MAX} gzip members")
        member, is_whole, body = _inflate(body, 31, bytes_max - size)
        members.append(member)
        size += len(member)
        if size > bytes_max:
            break
    return Decoded(b"".join(members), is_whole)


def _undeflate(body: bytes, bytes_max: int) -> Decoded:
    # RFC 9110, 8.4.1.2: deflate means zlib, but some servers send it bare.
    is_zlib = len(body) >= 2 and body[0] & 15 == 8 and (body[0] << 8 | body[1]) % 31 == 0
    decoded, is_whole, _ = _inflate(body, 15 if is_zlib else -15, bytes_max)
    return Decoded(decoded, is_whole)


def _inflate(body: bytes, window_bits: int, bytes_max: int) -> tuple[bytes, bool, bytes]:
    """Return the decoded stream, whether it is whole, and the bytes that follow it."""
    inflater = isal_zlib.decompressobj(window_bits)
    try:
        decoded = inflater.decompress(body, bytes_max + 1)
    except IsalError:  # type: ignore[misc]  # the stub has an instance for the class
        return _inflate_damaged(body, window_bits, bytes_max), False, b""
    return decoded, inflater.eof, inflater.unused_data


def _inflate_damaged(body: bytes, window_bits: int, bytes_max: int) -> bytes:
    """Return the sound part of a stream, whether or not its checksum is right.

    It is read without its head, as what has no checksum: at a wrong one an inflater keeps what it holds.
    """
    inflater = zlib.decompressobj(-15)
    sound = bytearray()
    try:
        for start in range(_head_bytes(body, window_bits), len(body), DAMAGED_STEP_BYTES):
            sound += inflater.decompress(body[start : start + DAMAGED_STEP_BYTES], bytes_max + 1 - len(sound))
            if inflater.eof or len(sound) > bytes_max:
                break
    except zlib.error as error:
        if not sound:
            raise Undecodable(str(error)) from error
    return bytes(sound)


def _head_bytes(body: bytes, window_bits: int) -> int:
    """Return how long the head of a stream is: of none, of zlib (RFC 1950, 2.2) or of gzip (RFC 1952, 2.3).

    Raises:
      Undecodable: no decoder of ours could know what follows.
    """
    if window_bits < 0:
        return 0
    flags = body[1] if window_bits <= 15 else (body[3:4] or b"\0")[0]
    if window_bits <= 15:
        if flags & 32:
            raise Undecodable("deflated by a dictionary that is not there")
        return 2
    if body[2:3] != b"\x08" or flags & 0xE0:
        raise Undecodable("gzip of no known method")
    at = 10
    if flags & 4:  # further fields, with their length before them
        at += 2 + int.from_bytes(body[at : at + 2], "little")
    for flag in (8, 16):  # a name and a comment, each up to its zero
        if flags & flag:
            at = body.find(b"\0", at) + 1 or len(body)
    return at + (2 if flags & 2 else 0)


def _unbrotli(body: bytes, bytes_max: int) -> Decoded:
    decompressor = brotli.Decompressor()
    pieces: list[bytes] = []
    size = 0
    try:
        while True:
            piece = decompressor.process(body, output_buffer_limit=bytes_max + 1 - size)
            pieces.append(piece)
            size += len(piece)
            is_over = size > bytes_max or not piece
            if is_over or decompressor.can_accept_more_data() or decompressor.is_finished():
                break
            body = b""
    except brotli.error as error:
        if not size:
            raise Undecodable(str(error)) from error
        return Decoded(b"".join(pieces), False)
    return Decoded(b"".join(pieces), decompressor.is_finished())


def _unzstd(body: bytes, bytes_max: int) -> Decoded:
    """Decode Zstandard frames; one cut short is noticed only when its header tells its size."""
    decompressor = zstandard.ZstdDecompressor(max_window_size=ZSTD_WINDOW_BYTES_MAX)
    pieces = []
    size = 0
    try:
        size_told = zstandard.frame_content_size(body)  # of the first frame, -1 when not told
        with decompressor.stream_reader(body, read_across_frames=True) as reader:
            while piece := reader.read(min(ZSTD_STEP_BYTES, bytes_max + 1 - size)):
                pieces.append(piece)
                size += len(piece)
                if size > bytes_max:
                    break
    except zstandard.ZstdError as error:
        if not pieces:
            raise Undecodable(str(error)) from error
        return Decoded(b"".join(pieces), False)
    return Decoded(b"".join(pieces), size >= size_told)


_DECODERS: dict[str, Callable[[bytes, int], Decoded]] = {
    "gzip": _gunzip,
    "x-gzip": _gunzip,
    "deflate": _undeflate,
    "br": _unbrotli,
    "zstd": _unzstd,
}
