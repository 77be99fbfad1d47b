"""How a file is told to be of a format, and what people call it."""

from __future__ import annotations

import pytest

from peers.documents.formats import Format, format_of, may_be_document, media_type_of, named_media_type
from peers.engine.pages.kinds import KINDS, NAMES, kind_of
from tests.peers.documents import files

PDF = files.pdf(files.line("text"))
DOCX = files.word(files.paragraph("text"))
DOCX_TYPE = NAMES["docx"][0]
COMPOUND = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"


@pytest.mark.parametrize(
    ("body", "said", "expected"),
    [
        (PDF, "application/pdf", Format.PDF),
        (PDF, "application/octet-stream", Format.PDF),
        (PDF, "", Format.PDF),
        (PDF, "text/html", Format.PDF),
        (b"rubbish\n" + PDF, "application/pdf", Format.PDF),
        (b"rubbish\n" + PDF, "text/plain", None),
        (b"not found", "application/pdf", None),
        (DOCX, "application/zip", Format.WORD),
        (DOCX, "application/octet-stream", Format.WORD),
        (DOCX, "application/pdf", Format.WORD),
        (files.sheets(""), "", Format.SHEETS),
        (files.slides(), "", Format.SLIDES),
        (files.open_document(""), "", Format.ODT),
        (files.open_document("", "spreadsheet"), "", Format.ODS),
        (files.open_document("", "presentation"), DOCX_TYPE, Format.ODP),
        (files.book(""), "application/octet-stream", Format.EPUB),
        (files.packed({"a.txt": "text"}), "application/zip", None),
        (files.packed({"a.txt": "text"}), "", None),
        (COMPOUND, "application/msword", Format.OLD),
        (b"{\\rtf1 text}", "application/msword", Format.RTF),
        (b"<?xml version='1.0'?><rss version='2.0'><channel/></rss>", "text/html", Format.FEED),
        (b"<doc/>", "application/xml", Format.XML),
        (b"<?xml version='1.0'?><html xmlns='x'/>", "application/xml", None),
        (b"<doc/>", "text/html", None),
        (b"<p>page", "text/html", None),
    ],
)
def test_a_file_is_what_its_first_bytes_say(body: bytes, said: str, expected: Format | None) -> None:
    assert format_of(body, said) is expected


@pytest.mark.parametrize("body", [PDF, DOCX, COMPOUND, b"{\\rtf1"])
def test_a_file_without_a_type_may_be_a_document(body: bytes) -> None:
    assert may_be_document(body[:512])


@pytest.mark.parametrize("body", [b"", b"\x7fELF", b"\x1f\x8b", b"text"])
def test_a_file_without_a_type_may_be_something_else(body: bytes) -> None:
    assert not may_be_document(body)


@pytest.mark.parametrize(
    ("content_type", "media_type"),
    [
        ("text/html; charset=gbk", "text/html"),
        (" Text/HTML;;charset=gbk", "text/html"),
        ("text/html,charset=gbk", "text/html"),
        ("text/html, text/html; charset=gbk", "text/html"),
        ("text/plain, text/html", "text/html"),
        ("text/html, */*", "text/html"),
        ("image/svg+xml", "image/svg+xml"),
        *(
            (none, "")
            for none in ("", "null", "*/*", "text/*", "text/html charset=gbk", "html", "text/", "/")
        ),
        *((none, "") for none in ("text/html/x", '"text/html"', "; charset=gbk", "unknown/unknown", "a/é")),
        (None, ""),
    ],
)
def test_whatwg_mime_sniffing_4_4_a_type_that_is_none_names_none(
    content_type: str | None, media_type: str
) -> None:
    assert named_media_type(content_type) == media_type


def test_a_type_is_kept_where_it_names_the_format_and_set_right_where_it_does_not() -> None:
    macros = "application/vnd.ms-word.document.macroenabled.12"
    assert media_type_of(Format.WORD, macros, DOCX) == macros
    assert media_type_of(Format.WORD, "application/zip", DOCX) == DOCX_TYPE
    assert media_type_of(Format.PDF, "application/x-pdf", PDF) == "application/pdf"
    old = COMPOUND + "PowerPoint Document".encode("utf-16-le")
    assert media_type_of(Format.OLD, "application/octet-stream", old) == "application/vnd.ms-powerpoint"


def test_every_format_is_of_a_kind_and_no_type_of_two() -> None:
    assert {each.value for each in Format} - {"old"} <= KINDS.keys()
    every = [media_type for media_types in KINDS.values() for media_type in media_types]
    assert len(set(every)) == len(every)
    assert [kind_of(each) for each in ("application/pdf", DOCX_TYPE, "image/png")] == ["pdf", "word", ""]
