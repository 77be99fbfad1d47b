"""Which formats there are beside HTML, and how a file is told to be of one. Pure.

A file is what its first bytes say. The media type that its server names decides between formats with the same
beginning, and for those without any sign; the ending of the URL decides nothing.
"""

from __future__ import annotations

import re
from enum import StrEnum
from functools import lru_cache
from typing import Final

from peers.engine.pages.kinds import KINDS

SNIFF_BYTES: Final = 2_048
SIGNATURE_BYTES: Final = 512  # that are enough to tell whether an unnamed file may be any of these
_MEMBERS_BYTES: Final = 65_536  # at both ends of a ZIP file, in which names of members are looked for


class Format(StrEnum):
    """The format of a file, which decides its reader; the values are names of `KINDS`."""

    PDF = "pdf"
    WORD = "word"
    SHEETS = "excel"
    SLIDES = "powerpoint"
    ODT = "odt"
    ODS = "ods"
    ODP = "odp"
    RTF = "rtf"
    EPUB = "epub"
    XML = "xml"
    FEED = "feed"
    OLD = "old"  # of Office before 2007


_OF_KIND: Final = {each.value: each for each in Format}
# Media types of files that are read here, and of what is text, which `crawler.parser` reads as it is.
DOCUMENT_MEDIA_TYPES: Final = tuple(
    media_type for kind, media_types in KINDS.items() if kind in _OF_KIND for media_type in media_types
)
TEXT_MEDIA_TYPES: Final = tuple(
    media_type for kind in ("text", "code", "csv", "json") for media_type in KINDS[kind]
)
UNKNOWN_MEDIA_TYPES: Final = ("application/octet-stream", "binary/octet-stream", "application/x-download")
ZIP_MEDIA_TYPES: Final = ("application/zip", "application/x-zip-compressed")

_FORMAT_OF: Final = {
    media_type: _OF_KIND[kind]
    for kind, media_types in KINDS.items()
    if kind in _OF_KIND
    for media_type in media_types
}
_OPEN_XML: Final = {
    b"word/document": Format.WORD,
    b"xl/workbook": Format.SHEETS,
    b"ppt/presentation": Format.SLIDES,
}
_MIMETYPE: Final = re.compile(
    rb"mimetypeapplication/(epub\+zip|vnd\.oasis\.opendocument\.(text|spreadsheet|presentation))"
)
_ODF: Final = {b"text": Format.ODT, b"spreadsheet": Format.ODS, b"presentation": Format.ODP}
# Names of streams, in [MS-DOC] 2.1, [MS-PPT] 2.1, [MS-XLS] 2.1.
_OLD_STREAMS: Final = (
    ("WordDocument".encode("utf-16-le"), "application/msword"),
    ("PowerPoint Document".encode("utf-16-le"), "application/vnd.ms-powerpoint"),
    ("Workbook".encode("utf-16-le"), "application/vnd.ms-excel"),
    ("Book".encode("utf-16-le"), "application/vnd.ms-excel"),
)
_COMPOUND: Final = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
_FEED: Final = re.compile(rb"<(?:[\w.-]{1,32}:)?(?:rss|feed|RDF)[\s>]")
_ESSENCE: Final = re.compile(r"[!#$%&'+.^_`|~0-9a-z-]+/[!#$%&'+.^_`|~0-9a-z-]+")
_UNNAMED: Final = frozenset(("unknown/unknown", "application/unknown"))
WIDE: Final = (b"\xff\xfe", b"\xfe\xff", b"<\0", b"\0<")  # UTF-16
_PROLOG_PARTS_MAX: Final = 8  # before the first element of XML

_XHTML: Final = re.compile(rb"<(?:\w{1,16}:)?html[\s>]", re.IGNORECASE)  # also under the name of XML


@lru_cache(maxsize=64)  # servers say few different ones; long ones are at most 64 KiB
def named_media_type(content_type: str | None) -> str:
    """Return the media type that a Content-Type names, in small letters; "" where it names none.

    Of several the last one counts. One that is misspelled, or that stands for any, names none: the body says
    what it is.

    Source: WHATWG Fetch, "extract a MIME type"; MIME Sniffing, 4.4 and 7.
    """
    named = ""
    for part in (content_type or "").split(","):
        essence = part.partition(";")[0].strip().lower()
        if _ESSENCE.fullmatch(essence) and essence not in _UNNAMED:
            named = essence
    return named


def format_of(body: bytes, media_type: str) -> Format | None:
    """Return the format of a file; None if it has none of them: a page, a text, or something else.

    Args:
      media_type: as the server says, in lower case, without parameters; "" when it says nothing.
    """
    named = _FORMAT_OF.get(media_type)
    # The header may stand behind what some program has put before it (ISO 32000-2, Annex I).
    if body.startswith(b"%PDF-") or (named is Format.PDF and b"%PDF-" in body[:1_024]):
        return Format.PDF
    if body.startswith(b"PK\x03\x04"):
        return _packed_format(body, named)
    if body.startswith(_COMPOUND):
        return Format.OLD
    if body.startswith(b"{\\rtf"):
        return Format.RTF
    if (_FEED.search(body, 0, SNIFF_BYTES) or body.startswith(WIDE)) and begins_with(_FEED, body):
        return Format.FEED
    is_xml = named in (Format.XML, Format.FEED) and _XHTML.search(body, 0, SNIFF_BYTES) is None
    return Format.XML if is_xml else None


def may_be_document(beginning: bytes) -> bool:
    """Tell by its first bytes whether a file without a media type from its server may be a document."""
    is_pdf = b"%PDF-" in beginning
    return is_pdf or beginning.startswith((b"PK\x03\x04", _COMPOUND, b"{\\rtf"))


def begins_like_feed(body: bytes) -> bool:
    """Tell whether a decoded body, by its first element, is a feed."""
    may_be = _FEED.search(body, 0, SNIFF_BYTES) is not None or body.startswith(WIDE)
    return may_be and begins_with(_FEED, body)


def begins_with(element: re.Pattern[bytes], body: bytes) -> bool:
    """Tell whether this is how the first element of a body begins, behind declaration, comments and doctype.

    Step by step, and no pattern over all of it: one that may end a declaration at any of some `?>` tries all
    of them with all of the next, and 200 bytes took it a minute.
    """
    begin = body[:SNIFF_BYTES].removeprefix(b"\xef\xbb\xbf").lstrip()
    if begin.startswith(WIDE):
        begin = body[: 2 * SNIFF_BYTES].translate(None, b"\0\xff\xfe").lstrip()
    for _ in range(_PROLOG_PARTS_MAX):
        if begin.startswith(b"<?"):
            begin = begin.partition(b"?>")[2].lstrip()
        elif begin.startswith(b"<!--"):
            begin = begin.partition(b"-->")[2].lstrip()
        elif begin.startswith(b"<!DOCTYPE"):
            doctype, _, begin = begin.partition(b">")
            begin = b"" if b"[" in doctype else begin.lstrip()  # no list has to declare entities
        else:
            break
    return element.match(begin) is not None


def media_type_of(document_format: Format, said: str, body: bytes) -> str:
    """The media type by which a document is found.

    Args:
      said: by its server, kept where it names the format.
    """
    if document_format is Format.OLD:
        return _old_media_type(body, said)
    known = KINDS[document_format.value]
    return said if said in known and said != "application/x-pdf" else known[0]


def _old_media_type(body: bytes, said: str) -> str:
    """By the streams that a compound file has, some of files inside; as its server says where that may be."""
    found = [media_type for sign, media_type in _OLD_STREAMS if sign in body]
    return said if said in found or not found else found[0]


def _packed_format(body: bytes, named: Format | None) -> Format | None:
    mimetype = _MIMETYPE.search(body, 0, 256)
    if mimetype:
        return Format.EPUB if mimetype[2] is None else _ODF[mimetype[2]]
    names = body[:_MEMBERS_BYTES] + body[-_MEMBERS_BYTES:]
    return _open_xml(names) or named or _open_xml(names.replace(b"\\", b"/").lower())


def _open_xml(names: bytes) -> Format | None:
    return next((each for sign, each in _OPEN_XML.items() if sign in names), None)
