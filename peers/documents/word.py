"""DOCX: documents of Word since 2007. Pure.

Source: ECMA-376, part 1, 17 (WordprocessingML). Headers and footers, which every page repeats, comments, what
was deleted or moved away while changes were tracked, and what is hidden are left out. Of a word with its
reading the word stands in its line; the reading, and what is in boxes, come behind the paragraph.
"""

from __future__ import annotations

import re
from typing import Final

from peers.documents.budget import Budget
from peers.documents.content import ANCHOR_CHARS_MAX, HREF_CHARS_MAX, LINKS_MAX, Content, TextLimit
from peers.documents.office_package import (
    Branches,
    ChartText,
    HidingStyles,
    Relations,
    main_part,
    package_properties,
)
from peers.documents.xml_events import Enough, read_xml
from peers.documents.zip_file import ZipMembers

_HEADING_LEVELS: Final = ("0", "1", "2", "3", "4", "5")
# All names of elements that say something: others are most, and are passed over at once.
_NAMES: Final = frozenset(
    ("r", "t", "p", "rt", "pPr", "tab", "br", "cr", "ptab", "noBreakHyphen", "pStyle", "rStyle", "outlineLvl",
     "vanish", "del", "moveFrom", "pPrChange", "rPrChange", "hyperlink", "instrText", "fldChar",
     "AlternateContent", "Choice", "Fallback")
)  # fmt: skip
_OFF: Final = ("0", "false", "off")  # 17.17.4
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
    reader = _Paragraphs(styles)
    is_whole = _read_part(package, part, reader)
    for name in relations.all_of("footnotes", "endnotes", "diagramData"):
        if not reader.lines.is_full:
            is_whole = _read_part(package, name, reader) and is_whole
    for name in relations.all_of("chart"):
        if not reader.lines.is_full:
            is_whole = read_xml(package.read(name), ChartText(reader.lines), budget) and is_whole
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
    is_whole = read_xml(package.read(part), reader, package.budget)
    reader.end_part()
    return is_whole


class _Styles:
    """Receives the events of the styles, and knows which are of headings, and which hide their text."""

    def __init__(self) -> None:
        self.headings: set[str] = set()  # their ids, which are in the language of who wrote the document
        self.hiding = HidingStyles()
        self._style = ""

    def start(self, name: str, attributes: dict[str, str]) -> None:
        value = attributes.get("val", "").lower()
        if name == "style":
            self._style = attributes.get("styleId", "")
        elif name == "basedOn":
            self.hiding.bases[self._style] = attributes.get("val", "")
        elif name == "vanish":
            self.hiding.said[self._style] = value not in _OFF
        elif (name == "name" and value.startswith(("heading ", "title"))) or (
            name == "outlineLvl" and value in _HEADING_LEVELS
        ):
            self.headings.add(self._style)

    def end(self, name: str) -> None:
        """Nothing follows from it."""

    def text(self, text: str) -> None:
        """There is none."""


class _Paragraph:
    """One that is open."""

    __slots__ = ("has_hidden_style", "is_heading", "joins_next", "line", "link_at")

    def __init__(self) -> None:
        self.line: list[str] = []
        self.link_at = 0  # where in the line the text of the link begins
        self.is_heading = self.has_hidden_style = False
        self.joins_next = False  # its end was deleted, or is hidden


class _Paragraphs:
    """Receives the events of a part."""

    def __init__(self, styles: _Styles) -> None:
        self.lines = TextLimit()
        self.headings: list[str] = []
        self.links: list[tuple[str, str]] = []
        self.targets: dict[str, str] = {}  # of links, by their ids in this part
        self._styles = styles
        self._paragraph = _Paragraph()
        self._joined: list[str] = []  # what the next one begins with
        self._around: list[_Paragraph] = []  # those with a box or a reading, of which the innermost is open
        self._aside: list[str] = []  # what stands in those, until the outermost ends
        self._branches = Branches()
        self._is_text = self._is_field = False
        self._is_mark = False  # inside of the properties of a paragraph, or of its end
        self._is_hidden = False  # of the open run
        self._field: list[str] = []
        self._target = ""

    def start(self, name: str, attributes: dict[str, str]) -> bool:
        if name not in _NAMES:
            return False
        match name:
            case "r":
                self._is_hidden = self._paragraph.has_hidden_style
            case "t":
                self._is_text = not self._is_hidden
            case "p" | "rt":
                self._around.append(self._paragraph)
                self._paragraph = _Paragraph()
                if len(self._around) == 1:
                    self._paragraph.line, self._joined = self._joined, []
            case "pPr":
                self._is_mark = True
            case "tab" | "br" | "cr" | "ptab":
                self._paragraph.line.append(" ")
            case "noBreakHyphen":
                self._paragraph.line.append("-")
            case "pStyle" | "rStyle" | "outlineLvl" | "vanish":
                self._take_property(name, attributes.get("val", ""))
            case "del" | "moveFrom":
                self._paragraph.joins_next = self._paragraph.joins_next or self._is_mark
                return True
            case "pPrChange" | "rPrChange":  # how it was before
                return True
            case "hyperlink":
                self._target = self.targets.get(attributes.get("id", ""), "")
                self._paragraph.link_at = len(self._paragraph.line)
            case "instrText":
                self._is_field = True
            case "fldChar":
                self._take_field(attributes.get("fldCharType", ""))
            case "AlternateContent" | "Choice" | "Fallback":
                return self._branches.leaves_out(name)
        return False

    def end(self, name: str) -> None:
        if name not in _NAMES:
            return
        match name:
            case "t":
                self._is_text = False
            case "instrText":
                self._is_field = False
            case "pPr":
                self._is_mark = False
            case "hyperlink":
                self._end_link()
            case "p" | "rt":
                self._end_paragraph()
                if self.lines.is_full:
                    raise Enough
            case "AlternateContent":
                self._branches.end()

    def text(self, text: str) -> None:
        if self._is_text:
            self._paragraph.line.append(text)
            self._branches.note(text)
        elif self._is_field and len(self._field) < LINKS_MAX:
            self._field.append(text[:HREF_CHARS_MAX])

    def end_part(self) -> None:
        """Take the paragraphs that have not come to their end."""
        while self._around:
            self._end_paragraph()
        self._paragraph.line += self._joined
        self._add(self._paragraph)
        self._paragraph, self._joined = _Paragraph(), []

    def _take_property(self, name: str, value: str) -> None:
        paragraph = self._paragraph
        match name:
            case "pStyle":
                paragraph.is_heading = value in self._styles.headings
                paragraph.has_hidden_style = self._styles.hiding.hides(value)
            case "outlineLvl":
                paragraph.is_heading = paragraph.is_heading or value in _HEADING_LEVELS
            case "rStyle":  # what both styles hide is shown: 17.7.3
                self._is_hidden = paragraph.has_hidden_style != self._styles.hiding.hides(value)
            case "vanish" if self._is_mark:
                paragraph.joins_next = value.lower() not in _OFF
            case "vanish":
                self._is_hidden = value.lower() not in _OFF

    def _take_field(self, kind: str) -> None:
        if kind == "begin":
            self._field = []
        elif kind == "separate":
            match = _FIELD_LINK.search("".join(self._field))
            self._field = []  # a field has one instruction; to look at it again and again takes a square
            self._target = match[1] if match else self._target
            self._paragraph.link_at = len(self._paragraph.line)
        elif kind == "end":
            self._end_link()
            self._field = []

    def _end_link(self) -> None:
        if self._target and len(self.links) < LINKS_MAX:
            anchor = "".join(self._paragraph.line[self._paragraph.link_at :])
            self.links.append((self._target, anchor[:ANCHOR_CHARS_MAX]))
        self._target = ""

    def _end_paragraph(self) -> None:
        ended, self._paragraph = self._paragraph, self._around.pop()
        if self._around:
            self._aside.append("".join(ended.line))
        elif ended.joins_next:
            self._joined = ended.line
        else:
            self._add(ended)

    def _add(self, paragraph: _Paragraph) -> None:
        line = "".join(paragraph.line)
        if paragraph.is_heading and line.strip():
            self.headings.append(" ".join(line.split()))
        for each in (line, *self._aside):
            self.lines.add(each)
        self._aside = []
