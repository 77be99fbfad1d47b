"""DOC: documents of Word from 6 (1993) to 2003. Pure.

Source: [MS-DOC] 2.4 (where the text is), 2.5 (the FIB), 2.8.35 and 2.9.177 (pieces), 2.9.174 (paragraphs).
The FIB of Word 6 and 95 is shorter, and their text is in the code page of their language or fonts. Headers,
footers and comments are left out, as of DOCX.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator
from functools import cached_property
from itertools import islice, pairwise
from struct import unpack_from
from typing import Final, NamedTuple

from peers.documents.compound_file import DOUBLE_BYTE_PAGES, PAGES_OF_CHARSETS, CompoundFile, decoded
from peers.documents.content import (
    ANCHOR_CHARS_MAX,
    HEADINGS_CHARS_MAX,
    HREF_CHARS_MAX,
    LINKS_MAX,
    TEXT_CHARS_MAX,
    Content,
    Lack,
    TextLimit,
    Unreadable,
    sound,
)

FIELDS_DEPTH_MAX: Final = 32
HEADINGS_MAX: Final = 500
LOOK_BYTES: Final = 1 << 16  # of text, from which is told whether it can be in a code page
FONTS_BYTES_MAX: Final = 1 << 16  # of their table, whose size is a number of two bytes
_WORD_97: Final = 0xC1  # the first version of that FIB; not every program writes its sign
_WORDS_BEFORE: Final = range(101, 106)  # 6 and 95
_PAGE_BYTES: Final = 512  # of properties of paragraphs, in `_heading_ranges`
_COMPLEX, _ENCRYPTED, _SECOND_TABLE, _WIDE = 0x4, 0x100, 0x200, 0x1000  # flags of the FIB
_NARROW: Final = 1 << 30  # of where a piece is: it has one byte a character
# Code pages of what was written before Unicode, by the low byte of the language's number: [MS-LCID].
_CODE_PAGES: Final = {
    0x01: 1256, 0x02: 1251, 0x04: 936, 0x05: 1250, 0x08: 1253, 0x0D: 1255, 0x0E: 1250, 0x11: 932, 0x12: 949,
    0x15: 1250, 0x18: 1250, 0x19: 1251, 0x1A: 1250, 0x1B: 1250, 0x1E: 874, 0x1F: 1254, 0x22: 1251, 0x23: 1251,
    0x24: 1250, 0x25: 1257, 0x26: 1257, 0x27: 1257, 0x29: 1256, 0x2A: 1258,
}  # fmt: skip
_TRADITIONAL: Final = (0x0404, 0x0C04)  # Chinese of Taiwan and Hong Kong
_MARKS: Final = re.compile("([\x07\x0b-\x0e\r\x13-\x15])")
_UNSEEN: Final = str.maketrans("\x1e\xa0", "- ", "\x01\x02\x03\x04\x05\x06\x08\x1f")
_LINK: Final = re.compile(r"HYPERLINK\s+\"([^\"\s]{1,4000})\"")


class _Piece(NamedTuple):
    """Characters that stand together in the stream."""

    begin: int  # in the text, in characters
    end: int
    at: int  # in the stream, in bytes
    width: int  # bytes a character

    def has(self, place: int) -> bool:
        return self.at <= place < self.at + self.width * (self.end - self.begin)

    def place(self, begin: int, end: int) -> slice:
        """Where in the stream the characters of the text are that are in this piece."""
        first, last = max(begin, self.begin) - self.begin, min(end, self.end) - self.begin
        return slice(self.at + self.width * first, self.at + self.width * max(first, last))


def read_old_word(file: CompoundFile) -> Content:
    """Read a document.

    Raises:
      Unreadable
    """
    try:
        text = _Text(file)
        lines = _Lines()
        for part in text.parts():
            lines.take(part)
        headings = islice(filter(None, text.headings()), HEADINGS_MAX)
        return Content(
            title=file.title(),
            headings="\n".join(headings)[:HEADINGS_CHARS_MAX],
            text=lines.lines.text(),
            links=tuple(lines.links),
            dates=file.dates(),
            is_cut=lines.lines.is_cut,
        )
    except struct.error as error:
        raise Unreadable(Lack.DAMAGED, str(error)) from error


class _Text:
    """Where the text of a document is."""

    def __init__(self, file: CompoundFile) -> None:
        self._stream = stream = file.stream("WordDocument")
        _, version, _, self._language, _, flags = unpack_from("<6H", stream)
        self._is_new = version >= _WORD_97
        if not self._is_new and version not in _WORDS_BEFORE:
            raise Unreadable(Lack.OLD, f"version {version}")
        if flags & _ENCRYPTED:
            raise Unreadable(Lack.ENCRYPTED)
        self._old_width = 2 if flags & _WIDE else 1
        if self._is_new:
            self._table = file.stream("1Table" if flags & _SECOND_TABLE else "0Table")
            counts, pieces, self._paragraphs = 0x4C, 0x1A2, 0x102
        else:
            self._table = stream
            counts, pieces, self._paragraphs = 0x34, 0x160, 0
        self._counts = [max(0, count) for count in unpack_from("<8i", stream, counts)]
        if self._is_new or flags & _COMPLEX:
            self._pieces = [*self._read_pieces(*unpack_from("<2I", stream, pieces))]
        else:
            begin, end = unpack_from("<2I", stream, 0x18)
            self._pieces = [_Piece(0, end - begin, begin, self._old_width)]

    def parts(self) -> Iterator[str]:
        """The text with its footnotes; endnotes and boxes. Between them are headers, macros and comments."""
        yield self._between(0, sum(self._counts[:2]))
        yield self._between(sum(self._counts[:5]), sum(self._counts[:7]))

    def headings(self) -> Iterator[str]:
        if not self._paragraphs:
            return
        for begin, end in self._heading_ranges():
            piece = next((each for each in self._pieces if each.has(begin)), None)
            if piece is not None:
                lines = _Lines()
                lines.take(self._decoded(self._stream[begin:end], piece.width))
                yield lines.lines.text()

    def _between(self, begin: int, end: int) -> str:
        found, room = [], 4 * TEXT_CHARS_MAX  # with what is no text, and with pieces that overlap
        for piece in self._pieces:
            if piece.begin < end and piece.end > begin and room > 0:
                text = self._decoded(self._stream[piece.place(begin, end)], piece.width)
                found.append(text[:room])
                room -= len(text)
        return "".join(found)

    def _decoded(self, text: bytes, width: int) -> str:
        if width == 2:
            return text.decode("utf-16-le", "replace")
        return decoded(text, 1252 if self._is_new else self._code_page)

    @cached_property
    def _code_page(self) -> int:
        """That of the language, or, as a program in English wrote all, of the first font that has one.

        One with two bytes a character only where the text can be read so.
        """
        by_language = 950 if self._language in _TRADITIONAL else _CODE_PAGES.get(self._language & 0xFF, 1252)
        found = (PAGES_OF_CHARSETS.get(each, 1252) for each in self._charsets())
        for page in dict.fromkeys(each for each in found if by_language == 1252 != each):
            if page not in DOUBLE_BYTE_PAGES or "\ufffd" not in decoded(self._beginning(), page):
                return page
        return by_language

    def _beginning(self) -> bytes:
        """The first pieces, whole."""
        text = bytearray()
        for piece in self._pieces:
            if len(text) < LOOK_BYTES:
                text += self._stream[piece.place(piece.begin, piece.end)]
        return bytes(text)

    def _charsets(self) -> Iterator[int]:
        """Yield the character sets of the fonts, each of which has its length before it."""
        begin, n_bytes = unpack_from("<2I", self._stream, 0xD0)
        fonts = self._stream[begin : begin + min(n_bytes, FONTS_BYTES_MAX)]
        at = 2
        while at + 4 < len(fonts):
            yield fonts[at + 4]
            at += fonts[at] + 1

    def _read_pieces(self, at: int, n_bytes: int) -> Iterator[_Piece]:
        """Read the table of pieces, which stands behind the changes made in them."""
        end = min(at + n_bytes, len(self._table))
        while at < end and self._table[at] == 1:
            at += 3 + unpack_from("<H", self._table, at + 1)[0]
        if at >= end or self._table[at] != 2:
            raise Unreadable(Lack.DAMAGED, "no pieces")
        count = (min(unpack_from("<I", self._table, at + 1)[0], end - at - 5) - 4) // 12
        places = unpack_from(f"<{count + 1}I", self._table, at + 5)
        at += 5 + 4 * (count + 1)
        for index, (begin, stop) in enumerate(pairwise(places)):
            place = unpack_from("<I", self._table, at + 8 * index + 2)[0]
            if not self._is_new:
                yield _Piece(begin, stop, place, self._old_width)
            elif place & _NARROW:
                yield _Piece(begin, stop, (place ^ _NARROW) // 2, 1)
            else:
                yield _Piece(begin, stop, place, 2)

    def _heading_ranges(self) -> Iterator[tuple[int, int]]:
        """Yield the ranges of paragraphs with styles one to nine, which are headings in every document."""
        at, n_bytes = unpack_from("<2I", self._stream, self._paragraphs)
        count = (min(n_bytes, len(self._table) - at) - 4) // 8
        for index in range(max(0, count)):
            number = unpack_from("<I", self._table, at + 4 * (count + 1 + index))[0] & 0x3FFFFF
            page = self._stream[_PAGE_BYTES * number : _PAGE_BYTES * (number + 1)]
            if len(page) < _PAGE_BYTES:
                continue
            n_runs = min(page[-1], 29)
            places = unpack_from(f"<{n_runs + 1}I", page)
            for run in range(n_runs):
                properties = 2 * page[4 * (n_runs + 1) + 13 * run]
                style = properties + (1 if page[properties] else 2)
                if properties and style + 2 <= _PAGE_BYTES and 1 <= unpack_from("<H", page, style)[0] <= 9:
                    yield places[run], places[run + 1]


class _Field:
    """A computed field: an instruction, and then its result."""

    def __init__(self) -> None:
        self.instruction = ""
        self.is_result = False
        self.link_at = 0  # where in the line the result begins


class _Lines:
    """Makes lines and links of text with its marks."""

    def __init__(self) -> None:
        self.lines = TextLimit()
        self.links: list[tuple[str, str]] = []
        self._line: list[str] = []
        self._fields: list[_Field] = []

    def take(self, text: str) -> None:
        for piece in _MARKS.split(text.translate(_UNSEEN)):
            if self.lines.is_full:
                break
            self._take(piece)
        self._flush()

    def _take(self, piece: str) -> None:
        match piece:
            case "\x13":
                if len(self._fields) < FIELDS_DEPTH_MAX:
                    self._fields.append(_Field())
            case "\x14" if self._fields:
                self._fields[-1].is_result, self._fields[-1].link_at = True, len(self._line)
            case "\x15" if self._fields:
                self._end(self._fields.pop())
            case "\x0b":
                self._line.append(" ")
            case "\x07" | "\x0c" | "\x0e" | "\r":
                self._flush()
            case _ if all(field.is_result for field in self._fields):
                self._line.append(piece)
            case _:
                field = self._fields[-1]
                field.instruction = (field.instruction + piece)[:HREF_CHARS_MAX]

    def _end(self, field: _Field) -> None:
        match = _LINK.search(field.instruction)
        if match and len(self.links) < LINKS_MAX:
            anchor = "".join(self._line[field.link_at :])[:ANCHOR_CHARS_MAX]
            self.links.append((sound(match[1]), sound(anchor)))

    def _flush(self) -> None:
        self.lines.add(sound("".join(self._line)))
        self._line = []
        self._fields = [
            field for field in self._fields if field.is_result
        ]  # one that never ends takes a line
        for field in self._fields:
            field.link_at = 0
