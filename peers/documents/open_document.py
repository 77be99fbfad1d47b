"""OpenDocument: texts (ODT), spreadsheets (ODS), presentations (ODP). Pure.

Source: OASIS OpenDocument 1.3, part 3. What was deleted while changes were tracked, comments, and what is
hidden are left out; a row of a table is a line, however often it says that it is repeated. Notes, boxes and
readings come behind the paragraph that they are in, so that they part no word. Texts, tables and names in
charts that are embedded come at the end.
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
from peers.documents.office_package import HidingStyles, Properties
from peers.documents.xml_events import Enough, read_xml
from peers.documents.zip_file import ZipMembers

_LEFT_OUT: Final = frozenset(
    ("tracked-changes", "annotation", "forms", "scripts", "sequence-decls", "note-citation")
)
_SHAPES: Final = frozenset(
    ("frame", "custom-shape", "rect", "line", "polyline", "polygon", "regular-polygon", "path", "ellipse",
     "circle", "connector", "caption", "g", "control", "page-thumbnail")
)  # fmt: skip
OBJECTS_MAX: Final = 100  # embedded documents that are read
_HIDES: Final = b'text:display="none"'  # in the properties of a style


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
    styles = HidingStyles()
    common_styles = package.read("styles.xml")
    if _HIDES in common_styles:
        read_xml(common_styles, _Body(styles), budget)
    reader = _Body(styles)
    is_whole = read_xml(content, reader, budget)
    for name in reader.objects:
        if embedded := package.read(f"{name}/content.xml"):
            is_whole &= read_xml(embedded, _Body(HidingStyles(), reader.lines), budget)
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

    def __init__(self, styles: HidingStyles, lines: TextLimit | None = None) -> None:
        self.lines = lines or TextLimit()
        self.objects: dict[str, None] = {}  # where embedded documents are in the package
        self.headings: list[str] = []
        self.links: list[tuple[str, str]] = []
        self._line: list[str] = []
        self._link_at = 0  # where in the line the text of the link begins
        self._around: list[tuple[list[str], int]] = []  # both, of what is open around the line
        self._rows: list[tuple[int, list[str]]] = []  # those that are open: how much is around, and the cells
        self._aside: list[str] = []  # what comes behind the outermost
        self._is_spreadsheet = self._is_chart = False
        self._target = ""
        self._styles = styles
        self._style = ""  # whose properties are read

    def start(self, name: str, attributes: dict[str, str]) -> bool:
        if name in _LEFT_OUT or self._is_hidden(name, attributes):
            return True
        match name:
            case "p" | "h" | "ruby-text":
                self._open()
            case _ if name in _SHAPES:  # texts in there are its title, or in paragraphs
                self._open()
            case "s" | "tab" | "line-break":
                self._line.append(" ")
            case "a":
                self._target, self._link_at = attributes.get("href", "")[:HREF_CHARS_MAX], len(self._line)
            case "object" if len(self.objects) < OBJECTS_MAX:
                self.objects[attributes.get("href", "").removeprefix("./")] = None
            case "table-row":
                self._rows.append((len(self._around), []))
            case "spreadsheet":
                self._is_spreadsheet = True
            case "chart":
                self._is_chart = True
            case "table" if self._is_spreadsheet:
                self._take_heading(attributes.get("name", ""))
                self.lines.add(attributes.get("name", ""))
            case "style":
                self._style = attributes.get("name", "")
                self._styles.bases[self._style] = attributes.get("parent-style-name", "")
            case "text-properties" if "display" in attributes:
                self._styles.said[self._style] = attributes["display"] == "none"
        return False

    def end(self, name: str) -> None:
        match name:
            case "p" | "h" | "ruby-text":
                if name == "h":
                    self._take_heading("".join(self._line))
                self._put(self._close())
            case _ if name in _SHAPES:
                self._close()
                self._put("")
            case "a":
                if self._target and len(self.links) < LINKS_MAX:
                    text = "".join(self._line[self._link_at :])[:ANCHOR_CHARS_MAX]
                    self.links.append((self._target, text))
                self._target = ""
            case "table-row":
                _, row = self._rows.pop()
                line = " ".join(row)
                if self._rows:
                    self._aside.append(line)
                else:
                    self._put(line)
        if self.lines.is_full:
            raise Enough

    def text(self, text: str) -> None:
        if self._around:
            self._line.append(text)

    def _is_hidden(self, name: str, attributes: dict[str, str]) -> bool:
        match name:
            case "p" | "h" | "span":
                return self._styles.hides(attributes.get("style-name", ""))
            case "section" if attributes.get("display") == "none":
                return True
            case "table-cell":  # of the numbers that a chart is drawn from its names are shown
                return self._is_chart and attributes.get("value-type") == "float"
            case "section" | "hidden-text":
                return attributes.get("is-hidden") == "true"
        return False

    def _take_heading(self, line: str) -> None:
        if line.strip():
            self.headings.append(" ".join(line.split())[:HREF_CHARS_MAX])

    def _open(self) -> None:
        self._around.append((self._line, self._link_at))
        self._line, self._link_at = [], 0

    def _close(self) -> str:
        line = "".join(self._line)
        self._line, self._link_at = self._around.pop()
        return line

    def _put(self, line: str) -> None:
        """Put a line into its row, aside while inside another line, or, with all put aside, into the text."""
        if self._rows and self._rows[-1][0] == len(self._around):
            self._rows[-1][1].append(line)
        elif self._around:
            self._aside.append(line)
        else:
            self.lines.add(line)
        if not self._around and not self._rows:
            for each in self._aside:
                self.lines.add(each)
            self._aside = []
