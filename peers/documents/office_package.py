"""The features that all files of Office Open XML share: relations between parts, and properties. Pure.

Source: ECMA-376, part 2 (packages, 5th edition).
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator
from typing import Final

from peers.documents.budget import Budget
from peers.documents.content import Lack, TextLimit, Unreadable, sound
from peers.documents.xml_events import Enough, read_xml
from peers.documents.zip_file import ZipMembers

RELATIONS_MAX: Final = 20_000  # of one part
PROPERTY_CHARS_MAX: Final = 2_000
STYLES_DEPTH_MAX: Final = 16  # of one that is based on another
_ESCAPED: Final = re.compile("_x([0-9A-Fa-f]{4})_")
_LANGUAGE: Final = re.compile(r"([A-Za-z]{2,3})(?:[-_]|$)")


class Relations:
    """Where a part leads to."""

    def __init__(self, package: ZipMembers, part: str) -> None:
        folder, name = posixpath.split(part)
        self._folder = folder
        self._parts: dict[str, str] = {}  # by id
        self._kinds: dict[str, str] = {}
        self.links: dict[str, str] = {}  # to outside of the file, by id
        read_xml(package.read(posixpath.join(folder, "_rels", name + ".rels")), self, package.budget)

    def start(self, name: str, attributes: dict[str, str]) -> None:
        if name != "Relationship":
            return
        if len(self._parts) + len(self.links) >= RELATIONS_MAX:
            raise Enough
        identity, target = attributes.get("Id", ""), attributes.get("Target", "")
        kind = attributes.get("Type", "").rpartition("/")[2]
        if attributes.get("TargetMode", "").lower() == "external":
            if kind == "hyperlink":
                self.links[identity] = target
        else:
            target = target.replace("\\", "/")  # as some programs on Windows write it
            path = target.lstrip("/") if target.startswith("/") else posixpath.join(self._folder, target)
            self._parts[identity] = posixpath.normpath(path)
            self._kinds[identity] = kind

    def end(self, name: str) -> None:
        """Nothing follows from it."""

    def text(self, text: str) -> None:
        """There is none."""

    def part(self, identity: str) -> str:
        """The name of the part that an id stands for; "" for none."""
        return self._parts.get(identity, "")

    def first_of(self, kind: str) -> str:
        """The name of the first part that is related in this way; "" for none."""
        return next(self.all_of(kind), "")

    def all_of(self, *kinds: str) -> Iterator[str]:
        """The names of the parts that are related in these ways, one way after the other."""
        for kind in kinds:
            yield from (self._parts[each] for each, of in self._kinds.items() if of == kind)


class HidingStyles:
    """Knows which styles hide the text that has them, by themselves or by a style they are based on."""

    def __init__(self) -> None:
        self.bases: dict[str, str] = {}
        self.said: dict[str, bool] = {}  # of those that say whether they hide it

    def hides(self, style: str) -> bool:
        for _ in range(STYLES_DEPTH_MAX if self.said else 0):
            if style in self.said:
                return self.said[style]
            style = self.bases.get(style, "")
        return False


class Branches:
    """Knows which branch of an `AlternateContent` is taken: the first that says anything (part 3, 7.6)."""

    def __init__(self) -> None:
        self._has_text = False  # what is taken of the innermost that is open
        self._around: list[bool] = []  # likewise, of those around it

    def leaves_out(self, name: str) -> bool:
        """Take in the start of an element; tell whether it repeats the branch that is taken."""
        if name == "AlternateContent":
            self._around.append(self._has_text)
            self._has_text = False
        return name != "AlternateContent" and self._has_text and bool(self._around)

    def note(self, text: str) -> None:
        """Take in a text."""
        self._has_text = self._has_text or not text.isspace()

    def end(self) -> None:
        """Take in that an `AlternateContent` ends."""
        self._has_text = self._around.pop() or self._has_text


class ChartText:
    """Receives the events of a chart: its title, and the names of its series and categories, each once.

    Source: ECMA-376, part 1, 21.2 (what is shown is kept in caches, `strCache`, besides where it comes from).
    """

    def __init__(self, lines: TextLimit) -> None:
        self._lines = lines
        self._line: list[str] = []
        self._known: set[str] = set()
        self._is_text = self._is_name = False

    def start(self, name: str, attributes: dict[str, str]) -> None:
        self._is_name = self._is_name or name == "strCache"
        self._is_text = name == "t" or (name == "v" and self._is_name)

    def end(self, name: str) -> None:
        self._is_text = False
        if name == "strCache":
            self._is_name = False
        elif name in ("p", "pt"):
            line, self._line = unescaped("".join(self._line)), []
            if line not in self._known:
                self._known.add(line)
                self._lines.add(line)
            if self._lines.is_full:
                raise Enough

    def text(self, text: str) -> None:
        if self._is_text:
            self._line.append(text)


def unescaped(text: str) -> str:
    """Characters in the place of their numbers: ST_Xstring (part 1, 22.9.2.19), as `_x000D_`."""
    return sound(_ESCAPED.sub(lambda match: chr(int(match[1], 16)), text)) if "_x" in text else text


class Properties:
    """The properties that a file states; OpenDocument's `meta.xml` and book metadata use the same words."""

    def __init__(self, markup: bytes, budget: Budget) -> None:
        self.title = ""
        self.language = ""
        self._modified: list[str] = []
        self._created: list[str] = []
        self._pieces: list[str] | None = None
        self._chars = 0
        self._attributes: dict[str, str] = {}
        read_xml(markup, self, budget, has_doctype=True)

    @property
    def dates(self) -> tuple[str, ...]:
        return (*self._modified, *self._created)

    def start(self, name: str, attributes: dict[str, str]) -> None:
        self._pieces, self._chars, self._attributes = [], 0, attributes

    def text(self, text: str) -> None:
        if self._pieces is not None and self._chars < PROPERTY_CHARS_MAX:
            self._pieces.append(text[:PROPERTY_CHARS_MAX])
            self._chars += len(text)

    def end(self, name: str) -> None:
        if self._pieces is None:
            return
        value = " ".join("".join(self._pieces).split())
        self._pieces = None
        self._take(self._attributes.get("property", "").rpartition(":")[2] or name, value)

    def _take(self, name: str, value: str) -> None:
        if not value:
            return
        match name:
            case "title":
                self.title = self.title or " ".join(unescaped(value).split())
            case "language":
                self.language = self.language or primary_subtag(value)
            case "modified":
                self._modified = self._modified or [value]
            case "date":
                # In a book the day it appeared; OpenDocument's is that of the last change.
                is_creation = "creation" in self._attributes.get("event", "")
                (self._created if is_creation else self._modified).append(value)
            case "created" | "creation-date":
                self._created = self._created or [value]


def primary_subtag(tag: str) -> str:
    """The first part of a language tag (RFC 5646) in lower case; "" for an invalid tag."""
    match = _LANGUAGE.match(tag.strip())
    return match[1].lower() if match else ""


def package_properties(package: ZipMembers) -> Properties:
    """Read the core properties of a file of Office Open XML."""
    name = Relations(package, "").first_of("core-properties") or "docProps/core.xml"
    return Properties(package.read(name), package.budget)


def main_part(package: ZipMembers, usual: str) -> str:
    """The name of the part that has the document.

    Raises:
      Unreadable: there is none.
    """
    name = Relations(package, "").first_of("officeDocument") or usual
    if name not in package:
        raise Unreadable(Lack.DAMAGED, f"no part {name[:100]}")
    return name
