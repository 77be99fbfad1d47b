"""Which images may be shown as icons of sites."""

from __future__ import annotations

from struct import pack
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from peers.documents.icon_image import ICO_IMAGES_MAX, ICON_BYTES_MAX, SIDE_MAX, icon_type
from tests.peers.documents.icons import TYPES, icon

KINDS: list[tuple[str, dict[str, Any]]] = [
    ("PNG", {}),
    ("GIF", {}),
    ("JPEG", {}),
    ("JPEG", {"progressive": True, "exif": b"Exif\0\0" + bytes(3_000)}),
    ("WEBP", {}),
    ("WEBP", {"lossless": True}),
    ("WEBP", {"lossless": True, "mode": "RGBA", "exif": b"Exif\0\0MM"}),
]


@pytest.mark.parametrize(("kind", "options"), KINDS)
def test_images_are_told_by_their_bytes_and_bounded_in_both_sides(kind: str, options: Any) -> None:
    assert icon_type(icon(kind, (16, 48), **options)) == TYPES[kind]
    assert icon_type(icon(kind, (SIDE_MAX, 1), **options)) == TYPES[kind]
    assert icon_type(icon(kind, (SIDE_MAX + 1, 1), **options)) is None
    assert icon_type(icon(kind, (1, SIDE_MAX + 1), **options)) is None


@pytest.mark.parametrize("bitmap_format", ["png", "bmp"])
def test_every_image_of_an_ico_file_is_looked_at(bitmap_format: str) -> None:
    sizes = [(16, 16), (32, 32), (48, 48)]
    body = icon("ICO", (64, 64), "RGBA", sizes=sizes, bitmap_format=bitmap_format)
    assert icon_type(body) == TYPES["ICO"]
    at = int.from_bytes(body[22 + 16 * 2 - 4 :][:4], "little") if bitmap_format == "bmp" else 0
    if bitmap_format == "bmp":
        large = body[: at + 4] + pack("<ii", 100_000, 200_000) + body[at + 12 :]
    else:
        [first, last] = [icon("PNG", sides) for sides in ((16, 16), (5_000, 5_000))]
        heads = [pack("<4B2H2I", 16, 16, 0, 0, 1, 32, len(image), 0) for image in (first, last)]
        places = [38, 38 + len(first)]
        heads = [head[:12] + pack("<I", place) for head, place in zip(heads, places, strict=True)]
        large = pack("<3H", 0, 1, 2) + b"".join(heads) + first + last
        assert icon_type(large.replace(last, first)) == TYPES["ICO"]
    assert icon_type(large) is None


def test_an_ico_file_of_very_many_images_is_none() -> None:
    [head, image] = pack("<4B2H2I", 16, 16, 0, 0, 1, 32, 40, 0)[:12], pack("<Iii", 40, 16, 32)
    for count, is_one in ((ICO_IMAGES_MAX, True), (ICO_IMAGES_MAX + 1, False), (0, False)):
        body = pack("<3H", 0, 1, count) + (head + pack("<I", 6 + 16 * count)) * count + image
        assert (icon_type(body) is not None) == is_one


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b'<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>',
        b"<!doctype html><title>not found</title>",
        b"\x89PNG\r\n\x1a\n" + pack(">I4sII", 13, b"IDAT", 16, 16),
        b"RIFF\x10\0\0\0WAVEfmt 0123456789012345",
        icon("PNG") + bytes(ICON_BYTES_MAX),
    ],
)
def test_drawings_pages_and_large_files_are_no_icons(body: bytes) -> None:
    assert icon_type(body) is None


@given(
    body=st.sampled_from([icon(kind) for kind in TYPES]),
    cut=st.integers(0, 2_000),
    at=st.integers(0, 200),
    other=st.binary(max_size=8),
)
@example(body=b"\xff\xd8\xff\xe0\xff\xff", cut=6, at=6, other=b"")
def test_damaged_images_break_nothing(body: bytes, cut: int, at: int, other: bytes) -> None:
    damaged = (body[:at] + other + body[at + len(other) :])[:cut]
    assert icon_type(damaged) in (None, *TYPES.values())
