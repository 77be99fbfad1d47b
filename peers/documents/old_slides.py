"""PPT: presentations of PowerPoint from 97 to 2003. Pure.

Source: [MS-PPT] 2.1 (what is valid), 2.3 (the file is records), 2.4 (lists of slides), 2.9 (text). A slide's
title and outline are in a list, what else it says in records of its own. Masters are left out.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from struct import unpack_from
from typing import Final, NamedTuple

from peers.documents.compound_file import CompoundFile
from peers.documents.content import (
    ANCHOR_CHARS_MAX,
    HEADINGS_CHARS_MAX,
    HREF_CHARS_MAX,
    LINKS_MAX,
    Content,
    Lack,
    TextLimit,
    Unreadable,
    sound,
)

EDITS_MAX: Final = 1_000  # each time that it is saved may add one
DEPTH_MAX: Final = 32
RECORDS_MAX: Final = 500_000
_ENCRYPTED: Final = 0xF3D1C4DF  # [MS-PPT] 2.3.2, headerToken
_CONTAINER: Final = 0xF
_TITLES: Final = (0, 6)  # of a slide, and of one that is only that
# Types of records, [MS-PPT] 2.13.24.
_SLIDE_PLACE, _TEXT_KIND, _WIDE_TEXT, _NARROW_TEXT, _STRING = 0x3F3, 0xF9F, 0xFA0, 0xFA8, 0xFBA
_LIST, _OBJECTS, _LINK, _EDIT, _DIRECTORY = 0xFF0, 0x409, 0xFD7, 0xFF5, 0x1772
_SLIDES, _NOTES = 0, 2  # instances of lists


class _Record(NamedTuple):
    """One record; a container has others in it."""

    kind: int
    instance: int
    is_container: bool
    begin: int  # of what it has
    end: int


def read_old_slides(file: CompoundFile) -> Content:
    """Read a presentation.

    Raises:
      Unreadable
    """
    folder = "PP97_DUALSTORAGE/" if "PP97_DUALSTORAGE" in file else ""  # beside one for PowerPoint 95
    user = file.stream(f"{folder}Current User")
    if not user:
        raise Unreadable(Lack.OLD, "of PowerPoint 95")
    reader = _Slides(file.stream(f"{folder}PowerPoint Document"))
    try:
        reader.read(user)
    except struct.error as error:
        if not reader.lines.text():
            raise Unreadable(Lack.DAMAGED, str(error)) from error
        reader.lines.is_cut = True
    return Content(
        title=file.title(),
        headings="\n".join(reader.headings)[:HEADINGS_CHARS_MAX],
        text=reader.lines.text(),
        links=tuple(reader.links),
        dates=file.dates(),
        is_cut=reader.lines.is_cut,
    )


class _Slides:
    """Reads the valid records of a stream, which also has those that were saved before."""

    def __init__(self, stream: bytes) -> None:
        self._stream = stream
        self._places: dict[int, int] = {}  # of objects, by their numbers
        self._is_title = False
        self._n_records = 0
        self.lines = TextLimit()
        self.headings: list[str] = []
        self.links: list[tuple[str, str]] = []

    def read(self, user: bytes) -> None:
        token, at = unpack_from("<2I", user, 12)
        if token == _ENCRYPTED:
            raise Unreadable(Lack.ENCRYPTED)
        document = self._record(self._place_of_document(at))
        slides: list[tuple[int, list[_Record]]] = []
        notes: list[tuple[int, list[_Record]]] = []
        for record in self._inside(document):
            if record.kind == _LIST and record.instance in (_SLIDES, _NOTES):
                (notes if record.instance == _NOTES else slides).extend(self._listed(record))
            elif record.kind == _OBJECTS:
                self._take_links(record)
        for number, outline in (*slides, *notes):
            self._take_all(outline)
            if number in self._places:
                self._take_all(self._inside(self._record(self._places[number])))

    def _place_of_document(self, at: int) -> int:
        """Find where objects are, by all edits, the last first; return where the document is."""
        document = None
        for _ in range(EDITS_MAX):
            edit = self._record(at)
            if edit.kind != _EDIT:
                raise Unreadable(Lack.DAMAGED, "no edit")
            if edit.end - edit.begin >= 32:  # the number of what it is encrypted with, 2.3.3
                raise Unreadable(Lack.ENCRYPTED)
            at, directory, number = unpack_from("<3I", self._stream, edit.begin + 8)
            document = number if document is None else document
            self._take_directory(self._record(directory))
            if not 0 < at < edit.begin:
                break
        if document not in self._places:
            raise Unreadable(Lack.DAMAGED, "no document")
        return self._places[document]

    def _take_directory(self, record: _Record) -> None:
        at = record.begin
        while at + 4 <= record.end:
            (head,) = unpack_from("<I", self._stream, at)
            first, count = head & 0xFFFFF, head >> 20
            for index in range(count):
                (place,) = unpack_from("<I", self._stream, at + 4 + 4 * index)
                self._places.setdefault(first + index, place)
            at += 4 + 4 * count

    def _listed(self, record: _Record) -> Iterator[tuple[int, list[_Record]]]:
        """The numbers of slides, each with its outline."""
        number, outline = None, list[_Record]()
        for each in self._inside(record):
            if each.kind == _SLIDE_PLACE:
                if number is not None:
                    yield number, outline
                number, outline = unpack_from("<I", self._stream, each.begin)[0], []
            else:
                outline.append(each)
        if number is not None:
            yield number, outline

    def _take_all(self, records: Iterator[_Record] | list[_Record], depth: int = 0) -> None:
        for record in records:
            if self.lines.is_full:
                return
            if record.is_container and depth < DEPTH_MAX:
                self._take_all(self._inside(record), depth + 1)
            elif record.kind == _TEXT_KIND:
                self._is_title = unpack_from("<I", self._stream, record.begin)[0] in _TITLES
            elif record.kind in (_WIDE_TEXT, _NARROW_TEXT):
                self._take_text(self._text(record))

    def _take_text(self, text: str) -> None:
        for line in text.split("\r"):
            if line == "*":  # where the number of the slide, or the date, comes
                continue
            self.lines.add(line)
            if self._is_title and line.strip():
                self.headings.append(" ".join(line.split()))

    def _take_links(self, objects: _Record) -> None:
        for link in self._inside(objects):
            if link.kind != _LINK or len(self.links) >= LINKS_MAX:
                continue
            strings = {each.instance: self._text(each) for each in self._inside(link) if each.kind == _STRING}
            if strings.get(1):
                self.links.append((strings[1][:HREF_CHARS_MAX], strings.get(0, "")[:ANCHOR_CHARS_MAX]))

    def _text(self, record: _Record) -> str:
        text = self._stream[record.begin : record.end]
        return sound(text.decode("latin-1" if record.kind == _NARROW_TEXT else "utf-16-le", "replace"))

    def _inside(self, container: _Record) -> Iterator[_Record]:
        at = container.begin
        while at + 8 <= container.end and self._n_records < RECORDS_MAX:
            self._n_records += 1
            record = self._record(at)
            yield record
            at = record.end

    def _record(self, at: int) -> _Record:
        head, kind, n_bytes = unpack_from("<2HI", self._stream, at)
        end = min(at + 8 + n_bytes, len(self._stream))
        return _Record(kind, head >> 4, head & _CONTAINER == _CONTAINER, at + 8, end)
