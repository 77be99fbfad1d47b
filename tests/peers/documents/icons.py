"""Small images as sites have them for icons, made by another library."""

from __future__ import annotations

from io import BytesIO
from typing import Any

from PIL import Image

TYPES = {
    "PNG": "image/png",
    "GIF": "image/gif",
    "JPEG": "image/jpeg",
    "WEBP": "image/webp",
    "ICO": "image/vnd.microsoft.icon",
}


def icon(kind: str = "PNG", sides: tuple[int, int] = (32, 32), mode: str = "RGB", **options: Any) -> bytes:
    """An image of one colour, in one of `TYPES`."""
    file = BytesIO()
    Image.new(mode, sides, "red").save(file, kind, **options)
    return file.getvalue()
