"""XML as it comes, made into XML that parsers read: in UTF-8, and with no reference that is none. Pure.

Parsers know few encodings, and none of several bytes but UTF-8; and they end at what feeds and sitemaps are
full of: an `&` that was not escaped, as in the addresses of forms, and the entities of HTML.
"""

from __future__ import annotations

import re
from html import escape
from html.entities import html5
from typing import Final

from peers.crawler.parsing.charset import DecodedText

_CONTROLS: Final = bytes((*range(0x09), 0x0B, 0x0C, *range(0x0E, 0x20)))  # XML 1.0, 2.2
_MAY_BE_WRONG: Final = re.compile(rb"&(?!(?:amp|lt|gt|quot|apos);)")
# References, and what has none.
_PIECE: Final = re.compile(
    rb"<!\[CDATA\[.*?(?:\]\]>|\Z)|<!--.*?(?:-->|\Z)"
    rb"|&(?:#(?:([0-9]{1,8})|[xX]([0-9A-Fa-f]{1,7}));|([A-Za-z][A-Za-z0-9]{0,31});)?",
    re.DOTALL,
)
_OF_XML: Final = frozenset((b"amp", b"lt", b"gt", b"quot", b"apos"))


def readable_xml(body: bytes, decoded: DecodedText) -> bytes:
    """Return a document in UTF-8, regardless of the encoding that it names, with its references mended.

    Entities of HTML are what they mean, an `&` that refers to nothing is one, and characters that XML lacks
    go. What a document type declares stays as it is.

    Args:
      decoded: the same, as `decode_text` reads it.
    """
    if decoded.encoding != "utf-8" or decoded.replacement_count:
        body = decoded.text.encode()
    body = body.translate(None, _CONTROLS)
    if _MAY_BE_WRONG.search(body) is None:
        return body
    may_declare = b"<!ENTITY" in body
    return _PIECE.sub(lambda piece: _mended(piece, may_declare), body)


def _mended(piece: re.Match[bytes], may_declare: bool) -> bytes:
    decimal, hexadecimal, name = piece.groups()
    if decimal or hexadecimal:
        return piece[0] if _is_character(int(decimal) if decimal else int(hexadecimal, 16)) else b""
    if name is None:
        return b"&amp;" if piece[0] == b"&" else piece[0]
    meant = html5.get(f"{name.decode()};")
    if name in _OF_XML or (meant is None and may_declare):
        return piece[0]
    return b"&amp;" + piece[0][1:] if meant is None else escape(meant).encode()


def _is_character(code_point: int) -> bool:
    """XML 1.0, 2.2."""
    is_plain = 0x20 <= code_point <= 0xD7FF or 0xE000 <= code_point <= 0xFFFD
    return is_plain or code_point in (0x09, 0x0A, 0x0D) or 0x10000 <= code_point <= 0x10FFFF
