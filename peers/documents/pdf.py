"""PDF, by PDFium: the text layer, the properties of the file, its outline, and links to the web. Pure.

Only the beginning of a file with very many pages, or of dear ones, is read. It is loaded with the first
file: PDFium takes 8 MB, and most processes never meet one.
"""

from __future__ import annotations

import ctypes
import re
from collections.abc import Iterator
from contextlib import closing
from itertools import islice
from typing import Any, Final
from unicodedata import normalize

import pypdfium2
from msgspec import structs
from pypdfium2 import raw

from peers.documents.budget import Budget
from peers.documents.content import (
    ANCHOR_CHARS_MAX,
    HEADINGS_CHARS_MAX,
    HREF_CHARS_MAX,
    LINKS_MAX,
    TITLE_CHARS_MAX,
    Content,
    Lack,
    TextLimit,
    Unreadable,
    sound,
)
from peers.documents.office_package import primary_subtag
from peers.documents.titles import is_title, largest

PAGES_MAX: Final = 5_000
PAGE_CHARS_MAX: Final = 200_000  # a page of a telephone book has 20,000
PAGE_LINKS_MAX: Final = 1_000
OUTLINE_ENTRIES_MAX: Final = 500
OUTLINE_DEPTH_MAX: Final = 8
LANGUAGE_CHARS_MAX: Final = 64
FIRST_CHARS: Final = 2_000  # of the first page, in which its largest line is looked for

# ISO 32000-2, 7.9.4: D:YYYYMMDDHHmmSSOHH'mm; from the month on everything may be left out.
_DATE: Final = re.compile(
    r"(?:D:)?(\d{4})(\d\d)?(\d\d)?(\d\d)?(\d\d)?(\d\d)?(?:(Z)|([+-])(\d\d)'?(\d\d)?'?)?", re.ASCII
)
# Old fonts of TeX have accents of their own, which stand before the letters that they belong to.
_ACCENTED: Final = re.compile("(?:([´¨ˆ˜¯˘˙¸˝ˇ˚])|(?<=[^\\W\\d_])(`))([A-Za-zı])")
_COMBINING: Final = dict(
    zip(
        "`´ˆ˜¯˘˙¨˚˝ˇ¸",
        "\u0300\u0301\u0302\u0303\u0304\u0306\u0307\u0308\u030a\u030b\u030c\u0327",
        strict=True,
    )
)
_NOTES: Final = (raw.FPDF_ANNOT_FREETEXT, raw.FPDF_ANNOT_WIDGET)
_HYPHEN: Final = "\ufffe"  # PDFium's sign for one at the end of a line that is none of the word's


def read_pdf(body: bytes, budget: Budget) -> Content:
    """Read a file.

    Raises:
      Unreadable
    """
    with _opened(body) as document:
        title = " ".join(sound(document.get_metadata_value("Title")[:TITLE_CHARS_MAX]).split())
        dates = (iso_date(document.get_metadata_value(key)) for key in ("ModDate", "CreationDate"))
        pages = _Pages(document, wants_line=not is_title(title))
        pages.read(budget)
        content = Content(
            title=title if is_title(title) else pages.largest_line,
            headings="\n".join(_outline(document))[:HEADINGS_CHARS_MAX],
            text=pages.lines.text(),
            links=tuple(pages.links),
            language=_language(document),
            dates=tuple(filter(None, dates)),
            is_cut=pages.lines.is_cut or pages.n_read < len(document),
        )
        if not len(document):
            raise Unreadable(Lack.DAMAGED)
    if not any(map(str.isalnum, content.text)):  # what the file says of itself can be found all the same
        return structs.replace(content, text="", lack=Lack.SCANNED)
    return content


def iso_date(text: str) -> str:
    """Return a date of PDF in ISO 8601; "" for an invalid one."""
    match = _DATE.match(text.strip())
    if match is None:
        return ""
    year, month, day, hour, minute, second, utc, sign, zone_hours, zone_minutes = match.groups()
    date = f"{year}-{month or '01'}-{day or '01'}"
    if hour is None:
        return date
    zone = "Z" if utc or not sign else f"{sign}{zone_hours}:{zone_minutes or '00'}"
    return f"{date}T{hour}:{minute or '00'}:{second or '00'}{zone}"


class _Pages:
    """Reads one page after the other, as long as there is room and time."""

    def __init__(self, document: Any, *, wants_line: bool) -> None:
        self._document = document
        self._wants_line = wants_line
        self.lines = TextLimit()
        self.links: list[tuple[str, str]] = []
        self.largest_line = ""  # of the first page
        self.n_read = 0

    def read(self, budget: Budget) -> None:
        for index in range(min(len(self._document), PAGES_MAX)):
            if budget.is_spent or self.lines.is_full:
                break
            self.n_read += 1
            try:
                with closing(self._document[index]) as page:
                    with closing(page.get_textpage()) as text_page:
                        self._take_page(page, text_page, is_first=index == 0)
                        text = _text(text_page)
                    is_filled_in = _has_notes(page) and raw.FPDFPage_Flatten(page, raw.FLAT_NORMALDISPLAY)
                if is_filled_in == raw.FLATTEN_SUCCESS:
                    with closing(self._document[index]) as page, closing(page.get_textpage()) as text_page:
                        text = max(text, _text(text_page), key=len)  # to do so may cost a page its own
            except pypdfium2.PdfiumError:  # a damaged page; the others may be sound
                continue
            for line in _ACCENTED.sub(_accented, sound(text.replace(_HYPHEN, ""))).splitlines():
                self.lines.add(line)

    def _take_page(self, page: Any, text_page: Any, *, is_first: bool) -> None:
        if is_first and self._wants_line:
            self.largest_line = largest(_sizes(text_page))
        self.links += islice(self._links(page, text_page), LINKS_MAX - len(self.links))

    def _links(self, page: Any, text_page: Any) -> Iterator[tuple[str, str]]:
        """Links to the web, and the texts under them."""
        at, link, box = ctypes.c_int(), raw.FPDF_LINK(), raw.FS_RECTF()
        for _ in range(PAGE_LINKS_MAX):
            if not raw.FPDFLink_Enumerate(page, at, link):
                break
            action = raw.FPDFLink_GetAction(link)
            if not action or raw.FPDFAction_GetType(action) != raw.PDFACTION_URI:
                continue
            target = ctypes.create_string_buffer(HREF_CHARS_MAX)
            n_bytes = raw.FPDFAction_GetURIPath(self._document, action, target, HREF_CHARS_MAX)
            if 1 < n_bytes <= HREF_CHARS_MAX:
                is_placed = raw.FPDFLink_GetAnnotRect(link, box)
                text = _text_in(text_page, box) if is_placed else ""
                yield target.value.decode("utf-8", "replace"), text


def _text(text_page: Any) -> str:
    count = min(text_page.count_chars(), PAGE_CHARS_MAX)
    text: str = text_page.get_text_range(0, count, errors="replace") if count > 0 else ""
    return text


def _has_notes(page: Any) -> bool:
    """Tell whether a page has visible text that was written into its fields, or beside its own text.

    That is no text of the page for PDFium, until it is told to make it part of it.
    """
    for index in range(min(raw.FPDFPage_GetAnnotCount(page), PAGE_LINKS_MAX)):
        annotation = raw.FPDFPage_GetAnnot(page, index)
        subtype = raw.FPDFAnnot_GetSubtype(annotation)
        raw.FPDFPage_CloseAnnot(annotation)
        if subtype in _NOTES:
            return True
    return False


def _accented(match: re.Match[str]) -> str:
    """An accent and its letter as one, where there is such a letter."""
    letter = match[3].replace("ı", "i")
    joined = normalize("NFC", letter + _COMBINING[match[1] or match[2]])
    return joined if len(joined) == 1 else match[0]


def _text_in(text_page: Any, box: Any) -> str:
    text = text_page.get_text_bounded(box.left, box.bottom, box.right, box.top, errors="replace")
    return sound(text.replace(_HYPHEN, "")[:ANCHOR_CHARS_MAX])


def _opened(body: bytes) -> Any:
    """Open a file; the document returned is to be closed, as a context manager."""
    try:
        document = pypdfium2.PdfDocument(body)
        if document.get_formtype() == raw.FORMTYPE_ACRO_FORM:
            document.init_forms()
        return document
    except pypdfium2.PdfiumError as error:
        is_encrypted = error.err_code in (raw.FPDF_ERR_PASSWORD, raw.FPDF_ERR_SECURITY)
        raise Unreadable(Lack.ENCRYPTED if is_encrypted else Lack.DAMAGED, str(error)) from error


def _sizes(text_page: Any) -> Iterator[tuple[str, float]]:
    """The characters at the beginning of a page, each with its height."""
    box = raw.FS_RECTF()
    for index in range(min(text_page.count_chars(), FIRST_CHARS)):
        raw.FPDFText_GetLooseCharBox(text_page, index, box)
        code = raw.FPDFText_GetUnicode(text_page, index)
        # A hyphen that the end of a line made has the number 2.
        yield ("" if code == 2 else chr(code) if code <= 0x10FFFF else " "), box.top - box.bottom


def _outline(document: Any) -> Iterator[str]:
    """The entries of the outline, in its order."""
    for entry in islice(document.get_toc(max_depth=OUTLINE_DEPTH_MAX), OUTLINE_ENTRIES_MAX):
        title = " ".join(sound(entry.get_title()[:TITLE_CHARS_MAX]).split())
        if title:
            yield title


def _language(document: Any) -> str:
    buffer = (ctypes.c_ushort * LANGUAGE_CHARS_MAX)()
    n_bytes = raw.FPDFCatalog_GetLanguage(document, buffer, ctypes.sizeof(buffer))
    if not 2 < n_bytes <= ctypes.sizeof(buffer):
        return ""
    return primary_subtag(bytes(buffer)[: n_bytes - 2].decode("utf-16-le", "replace"))
