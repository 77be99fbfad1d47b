"""PPTX: presentations of PowerPoint since 2007. Pure.

Source: ECMA-376, part 1, 19 (PresentationML) and 21 (DrawingML). Slides in their order, each with its notes.
"""

from __future__ import annotations

from typing import Final

from peers.documents.budget import Budget
from peers.documents.content import ANCHOR_CHARS_MAX, LINKS_MAX, Content, TextLimit
from peers.documents.office_package import (
    Branches,
    ChartText,
    Relations,
    main_part,
    package_properties,
    unescaped,
)
from peers.documents.xml_events import Enough, read_xml
from peers.documents.zip_file import ZipMembers

SLIDES_MAX: Final = 3_000
_NO_TEXT: Final = ("sldNum", "dt", "hdr", "ftr")  # placeholders of what every slide repeats
_TITLES: Final = ("title", "ctrTitle")


def read_slides(body: bytes, budget: Budget) -> Content:
    """Read a presentation.

    Raises:
      Unreadable
    """
    package = ZipMembers(body, budget)
    part = main_part(package, "ppt/presentation.xml")
    properties = package_properties(package)
    relations = Relations(package, part)
    order = _Order()
    read_xml(package.read(part), order, budget)
    reader = _Slide()
    is_whole = True
    for identity in order.slides:
        slide = relations.part(identity)
        if reader.lines.is_full or budget.is_spent:
            is_whole = is_whole and not budget.is_spent
            break
        if not slide:
            continue
        own = Relations(package, slide)
        charts = [*own.all_of("chart")]
        for each in (slide, *own.all_of("diagramData"), *charts, *own.all_of("notesSlide")):
            reader.targets = own.links if each == slide else {}
            events = ChartText(reader.lines) if each in charts else reader
            is_whole = read_xml(package.read(each), events, budget) and is_whole
    return Content(
        title=properties.title,
        headings="\n".join(reader.headings),
        text=reader.lines.text(),
        links=tuple(reader.links),
        language=properties.language,
        dates=properties.dates,
        is_cut=reader.lines.is_cut or not is_whole,
    )


class _Order:
    """Receives the events of a presentation."""

    def __init__(self) -> None:
        self.slides: list[str] = []  # ids of relations

    def start(self, name: str, attributes: dict[str, str]) -> None:
        if name == "sldId" and len(self.slides) < SLIDES_MAX:
            self.slides.append(attributes.get("id", ""))

    def end(self, name: str) -> None:
        """Nothing follows from it."""

    def text(self, text: str) -> None:
        """There is none."""


class _Slide:
    """Receives the events of slides and notes."""

    def __init__(self) -> None:
        self.lines = TextLimit()
        self.headings: list[str] = []
        self.links: list[tuple[str, str]] = []
        self.targets: dict[str, str] = {}
        self._line: list[str] = []
        self._branches = Branches()
        self._is_text = False
        self._is_hidden = False  # as a shape may be
        self._placeholder = ""
        self._target = ""

    def start(self, name: str, attributes: dict[str, str]) -> bool:
        match name:
            case "t":
                self._is_text = not self._is_hidden and self._placeholder not in _NO_TEXT
            case "br" | "tab":
                self._line.append(" ")
            case "sp" | "graphicFrame" | "cxnSp" | "dataModel":
                self._placeholder, self._is_hidden = "", False
            case "cNvPr":
                self._is_hidden = attributes.get("hidden", "") in ("1", "true")
            case "ph":
                self._placeholder = attributes.get("type", "")
            case "hlinkClick":
                self._target = self.targets.get(attributes.get("id", ""), "")
            case "AlternateContent" | "Choice" | "Fallback":
                return self._branches.leaves_out(name)
        return False

    def end(self, name: str) -> None:
        match name:
            case "t":
                self._is_text = False
            case "r":
                if self._target and len(self.links) < LINKS_MAX:
                    self.links.append((self._target, "".join(self._line[-1:])[:ANCHOR_CHARS_MAX]))
                self._target = ""
            case "p":
                self._flush()
                if self.lines.is_full:
                    raise Enough
            case "AlternateContent":
                self._branches.end()

    def text(self, text: str) -> None:
        if self._is_text:
            self._line.append(text)
            self._branches.note(text)

    def _flush(self) -> None:
        line, self._line = unescaped("".join(self._line)), []
        self.lines.add(line)
        if self._placeholder in _TITLES and line.strip():
            self.headings.append(" ".join(line.split()))
