"""DOCX: documents of Word since 2007. Pure.

Source: ECMA-376, part 1, 17 (WordprocessingML). Headers and footers, which every page repeats, comments, and
what was deleted while changes were tracked are left out.
"""

from __future__ import annotations

import re
from typing import Final

from peers.documents.budget import Budget
from peers.documents.content import ANCHOR_CHARS_MAX, HREF_CHARS_MAX, LINKS_MAX, Content, TextLimit
from peers.documents.office_package import Relations, main_part, package_properties
from peers.documents.xml_events import Enough, read_xml
from peers.documents.zip_file import ZipMembers

_HEADING_LEVELS: Final = ("0", "1", "2", "3", "4", "5")
_FIELD_LINK: Final = re.compile(r"HYPERLINK\s+\"([^\"\s]{1,4000})\"")


def read_word(body: bytes, budget: Budget) -> Content:
    """Read a document.

    Raises:
      Unreadable
    """
    package = ZipMembers(body, budget)
    part = main_part(package, "word/document.xml")
    properties = package_properties(package)
    relations = Relations(package, part)
    styles = _Styles()
    read_xml(package.read(relations.first_of("styles")), styles, budget)
    reader = _Paragraphs(styles.headings)
    is_whole = _read_part(package, part, reader)
    for kind in ("footnotes", "endnotes"):
        name = relations.first_of(kind)
        if name and not reader.lines.is_full:
            is_whole = _read_part(package, name, reader) and is_whole
    return Content(
        title=properties.title,
        headings="\n".join(reader.headings),
        text=reader.lines.text(),
        links=tuple(reader.links),
        language=properties.language,
        dates=properties.dates,
        is_cut=reader.lines.is_cut or not is_whole,
    )


def _read_part(package: ZipMembers, part: str, reader: _Paragraphs) -> bool:
    reader.targets = Relations(package, part).links
    return read_xml(package.read(part), reader, package.budget)


class _Styles:
    """Receives the events of the styles, and knows which are of headings."""

    def __init__(self) -> None:
        self.headings: set[str] = set()  # their ids, which are in the language of who wrote the document
        self._style = ""

    def start(self, name: str, attributes: dict[str, str]) -> None:
        value = attributes.get("val", "").lower()
        if name == "style":
            self._style = attributes.get("styleId", "")
        elif (name == "name" and value.startswith(("heading ", "title"))) or (
            name == "outlineLvl" and value in _HEADING_LEVELS
        ):
            self.headings.add(self._style)

    def end(self, name: str) -> None:
        """Nothing follows from it."""

    def text(self, text: str) -> None:
        """There is none."""


class _Paragraphs:
    """Receives the events of a part."""

    def __init__(self, heading_styles: set[str]) -> None:
        self.lines = TextLimit()
        self.headings: list[str] = []
        self.links: list[tuple[str, str]] = []
        self.targets: dict[str, str] = {}  # of links, by their ids in this part
        self._heading_styles = heading_styles
        self._line: list[str] = []
        self._is_heading = False
        self._is_text = self._is_field = False
        self._skipped = 0  # depth inside of what is said twice
        self._field: list[str] = []
        self._target = ""
        self._link_at = 0  # where in the line the text of the link begins

    def start(self, name: str, attributes: dict[str, str]) -> None:
        if self._skipped:
            self._skipped += 1
            return
        match name:
            case "t":
                self._is_text = True
            case "p":
                self._flush()  # of the one around it, which has a box with paragraphs inside
            case "tab" | "br" | "cr":
                self._line.append(" ")
            case "noBreakHyphen":
                self._line.append("-")
            case "pStyle":
                self._is_heading = attributes.get("val", "") in self._heading_styles
            case "outlineLvl":
                self._is_heading = self._is_heading or attributes.get("val", "") in _HEADING_LEVELS
            case "hyperlink":
                self._target, self._link_at = self.targets.get(attributes.get("id", ""), ""), len(self._line)
            case "instrText":
                self._is_field = True
            case "fldChar":
                self._take_field(attributes.get("fldCharType", ""))
            case "Fallback":  # of what newer versions have in `Choice`
                self._skipped = 1

    def end(self, name: str) -> None:
        if self._skipped:
            self._skipped -= 1
            return
        match name:
            case "t":
                self._is_text = False
            case "instrText":
                self._is_field = False
            case "hyperlink":
                self._end_link()
            case "p":
                self._flush()
                if self.lines.is_full:
                    raise Enough

    def text(self, text: str) -> None:
        if self._skipped:
            return
        if self._is_text:
            self._line.append(text)
        elif self._is_field and len(self._field) < LINKS_MAX:
            self._field.append(text[:HREF_CHARS_MAX])

    def _take_field(self, kind: str) -> None:
        if kind == "begin":
            self._field = []
        elif kind == "separate":
            match = _FIELD_LINK.search("".join(self._field))
            self._field = []  # a field has one instruction; to look at it again and again takes a square
            self._target, self._link_at = match[1] if match else self._target, len(self._line)
        elif kind == "end":
            self._end_link()
            self._field = []

    def _end_link(self) -> None:
        if self._target and len(self.links) < LINKS_MAX:
            self.links.append((self._target, "".join(self._line[self._link_at :])[:ANCHOR_CHARS_MAX]))
        self._target = ""

    def _flush(self) -> None:
        line = "".join(self._line)
        self.lines.add(line)
        if self._is_heading and line.strip():
            self.headings.append(" ".join(line.split()))
        self._line, self._is_heading, self._link_at = [], False, 0
