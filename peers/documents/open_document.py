"""OpenDocument: texts (ODT), spreadsheets (ODS), presentations (ODP). Pure.

Source: OASIS OpenDocument 1.3, part 3. What was deleted while changes were tracked, and comments, are left
out; a row of a spreadsheet is a line, however often it says that it is repeated.
"""

from __future__ import annotations

from typing import Final

from peers.documents.budget import Budget
from peers.documents.content import (
    ANCHOR_CHARS_MAX,
    HREF_CHARS_MAX,
    LINKS_MAX,
    Content,
    Lack,
    TextLimit,
    Unreadable,
)
from peers.documents.office_package import Properties
from peers.documents.xml_events import Enough, read_xml
from peers.documents.zip_file import ZipMembers

_LEFT_OUT: Final = frozenset(("tracked-changes", "annotation", "forms", "scripts", "sequence-decls"))


def read_open_document(body: bytes, budget: Budget) -> Content:
    """Read a document of any of the three kinds.

    Raises:
      Unreadable
    """
    package = ZipMembers(body, budget)
    if b"encryption-data" in package.read("META-INF/manifest.xml"):
        raise Unreadable(Lack.ENCRYPTED)
    content = package.read("content.xml")
    if not content:
        raise Unreadable(Lack.DAMAGED, "no content.xml")
    properties = Properties(package.read("meta.xml"), budget)
    reader = _Body()
    is_whole = read_xml(content, reader, budget)
    return Content(
        title=properties.title,
        headings="\n".join(reader.headings),
        text=reader.lines.text(),
        links=tuple(reader.links),
        language=properties.language,
        dates=properties.dates,
        is_cut=reader.lines.is_cut or not is_whole,
    )


class _Body:
    """Receives the events of a document."""

    def __init__(self) -> None:
        self.lines = TextLimit()
        self.headings: list[str] = []
        self.links: list[tuple[str, str]] = []
        self._line: list[str] = []
        self._row: list[str] | None = None  # cells of the open row, when there is one
        self._is_spreadsheet = False
        self._open = 0  # paragraphs and headings around, which may have boxes with others inside
        self._left_out = 0  # depth inside of what is left out
        self._target = ""
        self._link_at = 0

    def start(self, name: str, attributes: dict[str, str]) -> None:
        if self._left_out or name in _LEFT_OUT:
            self._left_out += 1
            return
        match name:
            case "p" | "h":
                self._flush()
                self._open += 1
            case "s" | "tab" | "line-break":
                self._line.append(" ")
            case "a":
                self._target, self._link_at = attributes.get("href", "")[:HREF_CHARS_MAX], len(self._line)
            case "table-row":
                self._row = []
            case "spreadsheet":
                self._is_spreadsheet = True
            case "table" if self._is_spreadsheet:
                self._take_heading(attributes.get("name", ""))
                self.lines.add(attributes.get("name", ""))

    def end(self, name: str) -> None:
        if self._left_out:
            self._left_out -= 1
            return
        match name:
            case "h":
                self._take_heading("".join(self._line))
                self._close()
            case "p":
                self._close()
            case "a":
                if self._target and len(self.links) < LINKS_MAX:
                    text = "".join(self._line[self._link_at :])[:ANCHOR_CHARS_MAX]
                    self.links.append((self._target, text))
                self._target = ""
            case "table-row":
                self.lines.add(" ".join(self._row or ()))
                self._row = None
        if self.lines.is_full:
            raise Enough

    def text(self, text: str) -> None:
        if self._open and not self._left_out:
            self._line.append(text)

    def _take_heading(self, line: str) -> None:
        if line.strip():
            self.headings.append(" ".join(line.split())[:HREF_CHARS_MAX])

    def _close(self) -> None:
        self._flush()
        self._open = max(0, self._open - 1)

    def _flush(self) -> None:
        line, self._line, self._link_at = "".join(self._line), [], 0
        if self._row is None:
            self.lines.add(line)
        elif line:
            self._row.append(line)
