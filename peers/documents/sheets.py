"""XLSX: workbooks of Excel since 2007. Pure.

Source: ECMA-376, part 1, 18 (SpreadsheetML). A row is a line, a formula is what it came to. Days and times
are numbers in there, and only formats tell what they are; what else a format adds is not read. How a
Japanese word is read, which is there to sort by, is left out.
"""

from __future__ import annotations

import re
from datetime import datetime, time, timedelta
from typing import Final

from peers.documents.budget import Budget
from peers.documents.content import HREF_CHARS_MAX, LINKS_MAX, Content, TextLimit
from peers.documents.office_package import Relations, main_part, package_properties, unescaped
from peers.documents.xml_events import Enough, read_xml
from peers.documents.zip_file import ZipMembers

SHEETS_MAX: Final = 1_000
STRINGS_MAX: Final = 500_000  # of those that all sheets share
CELL_CHARS_MAX: Final = 32_767  # as Excel has it
_TIME_FORMATS: Final = frozenset(map(str, (*range(18, 22), *range(45, 48))))
_DAY_FORMATS: Final = frozenset(map(str, (*range(14, 18), 22, *range(27, 37), *range(50, 59))))  # 18.8.30
CODE_CHARS_MAX: Final = 255  # of a format, as Excel has it
_READING: Final = "rPh"  # of a Japanese word: 18.4.6
_NO_CODE: Final = re.compile(r"\"[^\"]{0,255}\"|\\.|\[[^\]]{0,255}\]")  # of a format: texts, and colours
_DAY: Final = re.compile("[dy]", re.IGNORECASE)
_TIME: Final = re.compile("[hs]", re.IGNORECASE)
ZERO: Final = datetime(1899, 12, 30)  # from which days are counted
ZERO_1904: Final = datetime(1904, 1, 1)  # of books that count from there: 18.2.28
DAY_S: Final = 86_400
EXACT_CHARS_MAX: Final = 15  # of a number that is shown as it is stored


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
        reader = _Sheet(strings.texts, formats, ZERO_1904 if book.counts_from_1904 else ZERO, lines)
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
        self.counts_from_1904 = False

    def start(self, name: str, attributes: dict[str, str]) -> None:
        if name == "workbookPr":
            self.counts_from_1904 = attributes.get("date1904", "") in ("1", "true", "on")
        elif name == "sheet" and len(self.sheets) < SHEETS_MAX and attributes.get("state") != "veryHidden":
            named = unescaped(attributes.get("name", "")[:HREF_CHARS_MAX])
            self.sheets.append((named, attributes.get("id", "")))

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

    def start(self, name: str, attributes: dict[str, str]) -> bool:
        if name == "t":
            self._is_text = True
        elif name == "si":
            self._pieces = []
        return name == _READING

    def end(self, name: str) -> None:
        if name == "t":
            self._is_text = False
        elif name == "si":
            self.texts.append(unescaped("".join(self._pieces)[:CELL_CHARS_MAX]))
            if len(self.texts) >= STRINGS_MAX:
                raise Enough

    def text(self, text: str) -> None:
        if self._is_text:
            self._pieces.append(text)


class _Formats:
    """Receives the events of the styles, and knows which numbers of formats are of days, which of times."""

    def __init__(self) -> None:
        self.days: set[str] = set()  # of cells, by their numbers
        self.times: set[str] = set()
        self._day_codes, self._time_codes = set(_DAY_FORMATS), set(_TIME_FORMATS)
        self._is_of_cells = False
        self._count = 0

    def start(self, name: str, attributes: dict[str, str]) -> None:
        number = attributes.get("numFmtId", "")
        if name == "numFmt":
            code = _NO_CODE.sub("", attributes.get("formatCode", "")[:CODE_CHARS_MAX])
            if _DAY.search(code):
                self._day_codes.add(number)
            elif _TIME.search(code):
                self._time_codes.add(number)
        elif name == "cellXfs":
            self._is_of_cells = True
        elif name == "xf" and self._is_of_cells:
            if number in self._day_codes:
                self.days.add(str(self._count))
            elif number in self._time_codes:
                self.times.add(str(self._count))
            self._count += 1

    def end(self, name: str) -> None:
        self._is_of_cells = self._is_of_cells and name != "cellXfs"

    def text(self, text: str) -> None:
        """There is none."""


class _Sheet:
    """Receives the events of a sheet."""

    def __init__(self, strings: list[str], formats: _Formats, zero: datetime, lines: TextLimit) -> None:
        self._strings = strings
        self._formats = formats
        self._zero = zero
        self._lines = lines
        self._row: list[str] = []
        self._cell: list[str] = []
        self._kind = ""
        self._style = ""
        self._is_value = False

    def start(self, name: str, attributes: dict[str, str]) -> bool:
        if name == "c":
            self._kind, self._cell = attributes.get("t", "n"), []
            self._style = attributes.get("s", "")
        elif name in ("v", "t"):
            self._is_value = True
        elif name == _READING:
            return True
        return False

    def end(self, name: str) -> None:
        if name in ("v", "t"):
            self._is_value = False
        elif name == "c":
            self._row.append(self._value("".join(self._cell)) if self._cell else "")
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
            case "n":
                return self._number(value[:CELL_CHARS_MAX])
        return unescaped(value[:CELL_CHARS_MAX])

    def _number(self, value: str) -> str:
        try:
            if self._style in self._formats.days:
                return day_of(float(value), self._zero)
            if self._style in self._formats.times:
                return time_of(float(value))
            return value if len(value) <= EXACT_CHARS_MAX else f"{float(value):.15g}"
        except (ValueError, OverflowError):
            return value


def day_of(days: float, zero: datetime) -> str:
    """Return the day, or the moment, that a number of days stands for, as ISO 8601.

    Source: ECMA-376, part 1, 18.17.4.1. Before March 1900 these dates are wrong by a day in Excel itself.

    Raises:
      OverflowError: there is no such day.
      ValueError: it is no number.
    """
    moment = zero + timedelta(seconds=round(days * DAY_S))
    if moment.time() == time():
        return moment.date().isoformat()
    return moment.isoformat(" ", "seconds" if moment.second else "minutes")


def time_of(days: float) -> str:
    """Return hours, minutes and, if there are some, seconds; more than a day has as hours.

    Raises:
      OverflowError: it is not finite.
      ValueError: likewise.
    """
    minutes, seconds = divmod(round(abs(days) * DAY_S), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}" + (f":{seconds:02}" if seconds else "")
