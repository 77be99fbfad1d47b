"""XLSX: workbooks of Excel since 2007. Pure.

Source: ECMA-376, part 1, 18 (SpreadsheetML). A row is a line, a formula is what it came to; numbers stand as
they are stored, so days are numbers, and what a format of numbers adds is not there.
"""

from __future__ import annotations

from typing import Final

from peers.documents.content import HREF_CHARS_MAX, LINKS_MAX, Content, TextLimit
from peers.documents.office_package import Relations, main_part, package_properties
from peers.documents.xml_events import Enough, read_xml
from peers.documents.zip_file import ZipMembers

SHEETS_MAX: Final = 1_000
STRINGS_MAX: Final = 500_000  # of those that all sheets share
CELL_CHARS_MAX: Final = 32_767  # as Excel has it


def read_sheets(body: bytes) -> Content:
    """Read a workbook.

    Raises:
      Unreadable
    """
    package = ZipMembers(body)
    part = main_part(package, "xl/workbook.xml")
    relations = Relations(package, part)
    book = _Book()
    read_xml(package.read(part), book)
    strings = _SharedStrings()
    read_xml(package.read(relations.first_of("sharedStrings")), strings)
    lines = TextLimit()
    links: list[tuple[str, str]] = []
    is_whole = True
    for name, identity in book.sheets:
        sheet = relations.part(identity)
        if lines.is_full or not sheet:
            continue
        lines.add(name)
        is_whole = read_xml(package.read(sheet), _Sheet(strings.texts, lines)) and is_whole
        links += ((target, "") for target in Relations(package, sheet).links.values())
    properties = package_properties(package)
    return Content(
        title=properties.title,
        headings="\n".join(name for name, _ in book.sheets),
        text=lines.text(),
        links=tuple(links[:LINKS_MAX]),
        language=properties.language,
        dates=properties.dates,
        is_cut=lines.is_cut or not is_whole,
    )


class _Book:
    """Receives the events of a workbook."""

    def __init__(self) -> None:
        self.sheets: list[tuple[str, str]] = []  # name, and id of the relation

    def start(self, name: str, attributes: dict[str, str]) -> None:
        if name == "sheet" and len(self.sheets) < SHEETS_MAX and attributes.get("state") != "veryHidden":
            self.sheets.append((attributes.get("name", "")[:HREF_CHARS_MAX], attributes.get("id", "")))

    def end(self, name: str) -> None:
        """Nothing follows from it."""

    def text(self, text: str) -> None:
        """There is none."""


class _SharedStrings:
    """Receives the events of the strings that cells name by their numbers."""

    def __init__(self) -> None:
        self.texts: list[str] = []
        self._pieces: list[str] = []
        self._is_text = False
        self._is_sound = False  # how a Japanese word is read, beside the word

    def start(self, name: str, attributes: dict[str, str]) -> None:
        if name == "t":
            self._is_text = not self._is_sound
        elif name == "si":
            self._pieces = []
        elif name == "rPh":
            self._is_sound = True

    def end(self, name: str) -> None:
        if name == "t":
            self._is_text = False
        elif name == "rPh":
            self._is_sound = False
        elif name == "si":
            self.texts.append("".join(self._pieces)[:CELL_CHARS_MAX])
            if len(self.texts) >= STRINGS_MAX:
                raise Enough

    def text(self, text: str) -> None:
        if self._is_text:
            self._pieces.append(text)


class _Sheet:
    """Receives the events of a sheet."""

    def __init__(self, strings: list[str], lines: TextLimit) -> None:
        self._strings = strings
        self._lines = lines
        self._row: list[str] = []
        self._cell: list[str] = []
        self._kind = ""
        self._is_value = False

    def start(self, name: str, attributes: dict[str, str]) -> None:
        if name == "c":
            self._kind, self._cell = attributes.get("t", ""), []
        elif name in ("v", "t"):
            self._is_value = True

    def end(self, name: str) -> None:
        if name in ("v", "t"):
            self._is_value = False
        elif name == "c":
            self._row.append(self._value("".join(self._cell)))
        elif name == "row":
            self._lines.add(" ".join(self._row))
            self._row = []
            if self._lines.is_full:
                raise Enough

    def text(self, text: str) -> None:
        if self._is_value:
            self._cell.append(text)

    def _value(self, value: str) -> str:
        if self._kind != "s":
            return value[:CELL_CHARS_MAX]
        is_known = value.isdecimal() and len(value) < 10 and int(value) < len(self._strings)
        return self._strings[int(value)] if is_known else ""
