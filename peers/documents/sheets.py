"""XLSX: workbooks of Excel since 2007. Pure.

Source: ECMA-376, part 1, 18 (SpreadsheetML). A row is a line, a formula is what it came to. Days are numbers
in there, and only formats tell that they are days; what else a format adds to a number is not read.
"""

from __future__ import annotations

import re
from datetime import datetime, timedelta
from typing import Final

from peers.documents.budget import Budget
from peers.documents.content import HREF_CHARS_MAX, LINKS_MAX, Content, TextLimit
from peers.documents.office_package import Relations, main_part, package_properties
from peers.documents.xml_events import Enough, read_xml
from peers.documents.zip_file import ZipMembers

SHEETS_MAX: Final = 1_000
STRINGS_MAX: Final = 500_000  # of those that all sheets share
CELL_CHARS_MAX: Final = 32_767  # as Excel has it
_DAY_FORMATS: Final = frozenset(map(str, (*range(14, 18), 22, *range(27, 37), *range(50, 59))))  # 18.8.30
CODE_CHARS_MAX: Final = 255  # of a format, as Excel has it
_NO_CODE: Final = re.compile(r"\"[^\"]{0,255}\"|\\.|\[[^\]]{0,255}\]")  # of a format: texts, and colours
_DAY: Final = re.compile("[dy]", re.IGNORECASE)
_DAY_ZERO: Final = datetime(1899, 12, 30)


def read_sheets(body: bytes, budget: Budget) -> Content:
    """Read a workbook.

    Raises:
      Unreadable
    """
    package = ZipMembers(body, budget)
    part = main_part(package, "xl/workbook.xml")
    properties = package_properties(package)
    relations = Relations(package, part)
    book = _Book()
    read_xml(package.read(part), book, budget)
    formats = _Formats()
    read_xml(package.read(relations.first_of("styles")), formats, budget)
    strings = _SharedStrings()
    read_xml(package.read(relations.first_of("sharedStrings")), strings, budget)
    lines = TextLimit()
    links: list[tuple[str, str]] = []
    is_whole = True
    for name, identity in book.sheets:
        sheet = relations.part(identity)
        if lines.is_full or budget.is_spent:
            is_whole = is_whole and not budget.is_spent
            break
        if not sheet:
            continue
        lines.add(name)
        reader = _Sheet(strings.texts, formats.days, lines)
        is_whole = read_xml(package.read(sheet), reader, budget) and is_whole
        links += ((target, "") for target in Relations(package, sheet).links.values())
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


class _Formats:
    """Receives the events of the styles, and knows which numbers of formats are of days."""

    def __init__(self) -> None:
        self.days: set[str] = set()  # of cells, by their numbers
        self._codes: set[str] = set()  # of days, besides those that Excel knows by itself
        self._is_of_cells = False
        self._count = 0

    def start(self, name: str, attributes: dict[str, str]) -> None:
        number = attributes.get("numFmtId", "")
        if name == "numFmt" and _DAY.search(
            _NO_CODE.sub("", attributes.get("formatCode", "")[:CODE_CHARS_MAX])
        ):
            self._codes.add(number)
        elif name == "cellXfs":
            self._is_of_cells = True
        elif name == "xf" and self._is_of_cells:
            if number in _DAY_FORMATS or number in self._codes:
                self.days.add(str(self._count))
            self._count += 1

    def end(self, name: str) -> None:
        self._is_of_cells = self._is_of_cells and name != "cellXfs"

    def text(self, text: str) -> None:
        """There is none."""


class _Sheet:
    """Receives the events of a sheet."""

    def __init__(self, strings: list[str], days: set[str], lines: TextLimit) -> None:
        self._strings = strings
        self._days = days
        self._lines = lines
        self._row: list[str] = []
        self._cell: list[str] = []
        self._kind = ""
        self._is_day = False
        self._is_value = False

    def start(self, name: str, attributes: dict[str, str]) -> None:
        if name == "c":
            self._kind, self._cell = attributes.get("t", "n"), []
            self._is_day = attributes.get("s", "") in self._days
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
        match self._kind:
            case "s":
                is_known = value.isdecimal() and len(value) < 10 and int(value) < len(self._strings)
                return self._strings[int(value)] if is_known else ""
            case "b":
                return "TRUE" if value == "1" else "FALSE"
            case "n" if self._is_day:
                return day_of(value)
        return value[:CELL_CHARS_MAX]


def day_of(value: str) -> str:
    """Return the day that a number of days stands for, as ISO 8601; the number itself where it is none.

    Source: ECMA-376, part 1, 18.17.4.1. Before March 1900 these dates are wrong by a day in Excel itself.
    """
    try:
        moment = _DAY_ZERO + timedelta(days=float(value))
    except (ValueError, OverflowError):
        return value[:CELL_CHARS_MAX]
    return moment.isoformat(" ", "minutes") if float(value) % 1 else moment.date().isoformat()
