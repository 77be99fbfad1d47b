"""Images that may be icons of sites, told by their first bytes and not by the word of a server. Pure.

An icon is shown in the browsers of all readers, so none that grows there: its sides are read from its head,
of an ICO file those of each image inside. SVG is no icon here: it is markup, with scripts.

Sources: PNG 3rd edition, 11.2.1; GIF89a, 18; ITU T.81, B.2.2; WebP container (RFC 9649), 2.5 to 2.7; for ICO
WHATWG MIME sniffing, 6.1, and the structures ICONDIR and BITMAPINFOHEADER of Windows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from struct import Struct, error
from typing import Final, NamedTuple

ICON_BYTES_MAX: Final = 32_768  # four times what most take
SIDE_MAX: Final = 1_024  # pixels; decoded 4 MiB. Some sites name the 512 of their phone application
ICO_IMAGES_MAX: Final = 64  # in one file; a dozen is much
# As servers call them; the first of each kind is the registered one.
ICON_MEDIA_TYPES: Final = (
    "image/vnd.microsoft.icon",
    "image/x-icon",
    "image/ico",
    "image/icon",
    "image/png",
    "image/gif",
    "image/jpeg",
    "image/jpg",
    "image/webp",
)

_ICO: Final = b"\0\0\1\0"
_PNG: Final = b"\x89PNG\r\n\x1a\n"
_PNG_SIDES, _GIF_SIDES, _SOF_SIDES = Struct(">II"), Struct("<HH"), Struct(">HH")
_ICO_COUNT, _ICO_PLACE, _BITMAP = Struct("<H"), Struct("<II"), Struct("<Iii")
_SEGMENT: Final = Struct(">BBH")
_FRAMES: Final = frozenset(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}  # SOF markers, which name the sides


class _Sides(NamedTuple):
    width: int
    height: int


def icon_type(body: bytes) -> str | None:
    """Return the media type of an image that may be shown as an icon; None when this is none.

    Args:
      body: without content coding.
    """
    if len(body) > ICON_BYTES_MAX:
        return None
    for magic, media_type, sides_of in _KINDS:
        if body.startswith(magic):
            try:
                sides = list(sides_of(body))
            except error:  # it ends too early
                return None
            are_sound = all(0 < side <= SIDE_MAX for each in sides for side in each)
            return media_type if sides and are_sound else None
    return None


def _of_png(body: bytes) -> Iterator[_Sides]:
    if body[12:16] == b"IHDR":
        yield _Sides(*_PNG_SIDES.unpack_from(body, 16))


def _of_gif(body: bytes) -> Iterator[_Sides]:
    if body[4:6] in (b"7a", b"9a"):
        yield _Sides(*_GIF_SIDES.unpack_from(body, 6))


def _of_jpeg(body: bytes) -> Iterator[_Sides]:
    """Yield the sides of the first frame, over the segments before it."""
    at = 2
    while True:
        begin, marker, size = _SEGMENT.unpack_from(body, at)
        if begin != 0xFF or size < 2:
            return
        if marker in _FRAMES:
            height, width = _SOF_SIDES.unpack_from(body, at + 5)
            yield _Sides(width, height)
            return
        at += 2 + size


def _of_webp(body: bytes) -> Iterator[_Sides]:
    kind, data = body[8:16], body[20:30]
    if len(data) < 10:
        return
    if kind == b"WEBPVP8 " and data[3:6] == b"\x9d\x01\x2a":
        width, height = _GIF_SIDES.unpack_from(data, 6)
        yield _Sides(width & 0x3FFF, height & 0x3FFF)
    elif kind == b"WEBPVP8L" and data[0] == 0x2F:
        bits = int.from_bytes(data[1:5], "little")
        yield _Sides((bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1)
    elif kind == b"WEBPVP8X":
        yield _Sides(*(int.from_bytes(data[at : at + 3], "little") + 1 for at in (4, 7)))


def _of_ico(body: bytes) -> Iterator[_Sides]:
    """Yield the sides of all images in the file, as each says itself: a bitmap has its mask below it."""
    (count,) = _ICO_COUNT.unpack_from(body, 4)
    if count > ICO_IMAGES_MAX:
        return
    for number in range(count):
        _, offset = _ICO_PLACE.unpack_from(body, 14 + 16 * number)
        if body.startswith(_PNG, offset):
            yield _Sides(*_PNG_SIDES.unpack_from(body, offset + 16))
        else:
            _, width, height = _BITMAP.unpack_from(body, offset)
            yield _Sides(width, abs(height) // 2)


_KINDS: Final[tuple[tuple[bytes, str, Callable[[bytes], Iterator[_Sides]]], ...]] = (
    (_PNG, "image/png", _of_png),
    (_ICO, "image/vnd.microsoft.icon", _of_ico),
    (b"GIF8", "image/gif", _of_gif),
    (b"\xff\xd8\xff", "image/jpeg", _of_jpeg),
    (b"RIFF", "image/webp", _of_webp),
)
