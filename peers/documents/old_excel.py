"""XLS: workbooks of Excel before 2007, by xlrd. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from io import StringIO
from typing import Any, Final

import xlrd

from peers.documents.budget import Budget
from peers.documents.compound_file import CompoundFile
from peers.documents.content import Content, Lack, TextLimit, Unreadable, sound
from peers.documents.sheets import SHEETS_MAX, ZERO, ZERO_1904, day_of, time_of

BODY_BYTES_MAX: Final = 16 << 20  # the library keeps every cell as an object


def read_old_excel(body: bytes, file: CompoundFile, budget: Budget) -> Content:
    """Read a workbook.

    Args:
      file: the same, opened.

    Raises:
      Unreadable
    """
    if len(body) > BODY_BYTES_MAX:
        raise Unreadable(Lack.EXHAUSTING, f"{len(body)} bytes")
    lines = TextLimit()
    names: list[str] = []
    try:
        with xlrd.open_workbook(file_contents=body, on_demand=True, logfile=StringIO()) as book:
            for index in range(min(book.nsheets, SHEETS_MAX)):
                if lines.is_full or budget.is_spent:
                    lines.is_cut = True
                    break
                sheet = book.sheet_by_index(index)
                names.append(sound(sheet.name))
                lines.add(names[-1])
                _add_rows(sheet, ZERO_1904 if book.datemode else ZERO, lines)
                book.unload_sheet(index)
    except Exception as error:  # the library has no errors of its own for most of what is damaged
        if not names:
            is_encrypted = isinstance(error, xlrd.XLRDError) and "encrypted" in str(error)
            raise Unreadable(Lack.ENCRYPTED if is_encrypted else Lack.DAMAGED, str(error)) from error
        lines.is_cut = True
    return Content(
        title=file.title(),
        headings="\n".join(names),
        text=lines.text(),
        dates=file.dates(),
        is_cut=lines.is_cut,
    )


def _add_rows(sheet: Any, zero: datetime, lines: TextLimit) -> None:
    for row in range(sheet.nrows):
        lines.add(sound(" ".join(_texts(sheet.row(row), zero))))
        if lines.is_full:
            return


def _texts(row: list[Any], zero: datetime) -> Iterator[str]:
    for cell in row:
        match cell.ctype:
            case xlrd.XL_CELL_TEXT:
                yield cell.value
            case xlrd.XL_CELL_NUMBER:
                yield f"{cell.value:.15g}"
            case xlrd.XL_CELL_DATE:
                yield _date(cell.value, zero)
            case xlrd.XL_CELL_BOOLEAN:
                yield "TRUE" if cell.value else "FALSE"


def _date(days: float, zero: datetime) -> str:
    try:
        return time_of(days) if 0 <= days < 1 else day_of(days, zero)
    except (ValueError, OverflowError):
        return f"{days:.15g}"
