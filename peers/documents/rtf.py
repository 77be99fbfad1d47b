"""RTF: its text, title and links. Pure.

Source: Rich Text Format Specification 1.9.1. Headers and footers, comments, and what is hidden, deleted or
moved away are left out; notes and boxes come behind the paragraph that they are in.

Why no library. The one there was (striprtf) takes a time that grows with the square of the fonts and links,
shows what is hidden and deleted, passes over notes and boxes, and knows no code page of bytes that are not
written as `\\'hh`, nor of characters whose second byte is not.
"""

from __future__ import annotations

import re
from typing import Final

from peers.documents.budget import Budget
from peers.documents.compound_file import DOUBLE_BYTE_PAGES, PAGES_OF_CHARSETS, decoded
from peers.documents.content import (
    ANCHOR_CHARS_MAX,
    HREF_CHARS_MAX,
    LINKS_MAX,
    TITLE_CHARS_MAX,
    Content,
    Lack,
    TextLimit,
    Unreadable,
    sound,
)
from peers.documents.titles import is_title

DEPTH_MAX: Final = 1_000  # of groups
PIECES_MAX: Final = 1_000  # of a title, or of the instruction of a field
FONTS_MAX: Final = 10_000
TOKENS_A_LOOK: Final = 4_096  # between two at the time
INFO_BYTES: Final = 200_000  # from the beginning, in which the dates are looked for
_TOKEN: Final = re.compile(
    rb"\\([A-Za-z]{1,32})(-?\d{1,10})? ?|\\'([0-9A-Fa-f]{2})|\\(.)|([{}])|[\r\n]+|([^\\{}\r\n]+)", re.DOTALL
)
_LINK: Final = re.compile(r"HYPERLINK\s+\"([^\"\s]{1,4000})\"")
_CREATED: Final = re.compile(rb"\{\\(revtim|creatim)\\yr(\d{4})\\mo(\d{1,2})\\dy(\d{1,2})")

# Where text goes.
_NOWHERE: Final = ""
_TEXT: Final = "text"
_TITLE: Final = "title"
_FIELD: Final = "fldinst"
_FONTS: Final = "fonttbl"

_SYMBOLS: Final = {b"~": b" ", b"_": b"-", b"{": b"{", b"}": b"}", b"\\": b"\\"}
_CHARACTERS: Final = {
    "tab": " ", "line": " ", "cell": " ", "nestcell": " ", "emdash": "—", "endash": "–", "emspace": " ",
    "enspace": " ", "qmspace": " ", "bullet": "•", "lquote": "‘", "rquote": "’", "ldblquote": "“",
    "rdblquote": "”",
}  # fmt: skip
_ENDS: Final = ("par", "sect", "page", "row", "nestrow")  # of lines
# Groups whose text is none of the document, besides those that say so by `\*`.
_LEFT_OUT: Final = frozenset(
    ("colortbl", "stylesheet", "info", "pict", "listtext", "pntext", "pntxta", "pntxtb", "xe", "tc", "rxe",
     "txe", "sp", "shprslt", "nonshppict", "nonesttables", "upr", "fldtype", "falt", "filetbl", "template",
     "header", "headerl", "headerr", "headerf", "footer", "footerl", "footerr", "footerf", "private",
     "ftnsep", "ftnsepc", "ftncn", "aftnsep", "aftnsepc", "aftncn", "annotation", "objdata", "objclass")
)  # fmt: skip
_TARGETS: Final = ("ud", "footnote", "shptxt", "dptxbxtext", "fldrslt", _FIELD, _TITLE, _FONTS)
_KEPT: Final = frozenset(("shpinst", "shpgrp", "do", "moMath", "moMathPara", *_TARGETS))  # in spite of it
_HIDING: Final = ("v", "deleted", "mvf")
_OF_FONTS: Final = frozenset(
    ("ansicpg", "mac", "pc", "pca", "deff", "f", "af", "dbch", "loch", "hich", "plain", "fcharset", "cpg")
)


def read_rtf(body: bytes, budget: Budget) -> Content:
    """Read a document.

    Raises:
      Unreadable
    """
    begin = body.find(b"{\\rtf", 0, 1_024)
    if begin < 0:
        raise Unreadable(Lack.DAMAGED, "no RTF")
    reader = _Reader()
    is_whole = reader.read(body, begin, budget)
    dates = {match[1]: _date(match) for match in _CREATED.finditer(body, 0, INFO_BYTES)}
    return Content(
        title=reader.title if is_title(reader.title) else "",
        text=reader.lines.text(),
        links=tuple(reader.links),
        dates=tuple(dates[each] for each in (b"revtim", b"creatim") if each in dates),
        is_cut=reader.lines.is_cut or not is_whole,
    )


def _date(match: re.Match[bytes]) -> str:
    return f"{int(match[2])}-{int(match[3]):02}-{int(match[4]):02}"


class _Group:
    """The state of a group until its brace is closed; at first that of the group around it."""

    __slots__ = (
        "font",
        "has_east_asian_font",
        "hiding",
        "is_aside",
        "is_result",
        "line",
        "resumes",
        "skips",
        "target",
    )

    def __init__(self, around: _Group | None = None) -> None:
        self.font: int = around.font if around else -1
        self.has_east_asian_font: bool = around is not None and around.has_east_asian_font
        self.hiding: frozenset[str] = around.hiding if around else frozenset()
        self.skips: int = (
            around.skips if around else 1
        )  # bytes behind a character in Unicode that are like it
        self.target: str = around.target if around else _TEXT  # where its text goes
        self.resumes: str = around.resumes if around else _NOWHERE  # in Unicode, where both are
        self.is_aside = self.is_result = False
        self.line: list[str] = []  # that goes on when it ends, if it is aside


class _Reader:
    """Takes in one document."""

    def __init__(self) -> None:
        self.lines = TextLimit()
        self.links: list[tuple[str, str]] = []
        self._groups: list[_Group] = []
        self._group = _Group()
        self._code_page, self._font = 1252, -1  # where nothing else is said
        self._fonts: dict[int, int] = {}  # their code pages
        self._bytes: list[bytes] = []  # not decoded so far: a character may be written in two ways
        self._to_skip = 0
        self._is_first = False  # does what comes begin a group?
        self._is_starred = False  # is the next word, so that it may be passed over with its group?
        self._line: list[str] = []
        self._n_aside = 0  # groups that are open
        self._aside: list[str] = []  # lines of notes and boxes, until the paragraph has ended
        self._said: dict[str, list[str]] = {_TITLE: [], _FIELD: []}  # that is no text of the document
        self._link, self._link_at = "", 0

    @property
    def title(self) -> str:
        return " ".join(sound("".join(self._said[_TITLE])).split())[:TITLE_CHARS_MAX]

    def read(self, body: bytes, at: int, budget: Budget) -> bool:
        """Read from where the document begins; False when that was not to its end."""
        n_tokens = 0
        while match := _TOKEN.match(body, at):
            at = match.end()
            word, number, code, symbol, brace, text = match.groups()
            if text is not None:
                self._take_bytes(text)
            elif code is not None:
                self._take_bytes(bytes((int(code, 16),)))
            elif word == b"bin":
                at += max(0, int(number or 0))
            elif word is not None:
                self._take_word(word.decode(), None if number is None else int(number))
            elif brace == b"{":
                self._open()
            elif brace == b"}":
                self._close()
            elif symbol is not None:
                self._take_symbol(symbol)
            if match.lastindex is not None:  # but for the ends of lines
                self._is_first = brace == b"{"
            n_tokens += 1
            is_looked_at = n_tokens % TOKENS_A_LOOK == 0
            if self.lines.is_full or len(self._groups) > DEPTH_MAX or (is_looked_at and budget.is_spent):
                break
            if brace and not self._groups:
                at = len(body)
        while self._groups:
            self._close()
        self._end_line()
        return at >= len(body)

    def _open(self) -> None:
        self._flush()
        self._groups.append(self._group)
        self._group = _Group(self._group)

    def _close(self) -> None:
        self._flush()
        closed = self._group
        if closed.is_result:
            self._end_link()
        if closed.is_aside:
            self._end_line()
            self._n_aside -= 1
            self._line = closed.line
        if self._groups:
            self._group = self._groups.pop()

    def _take_bytes(self, text: bytes) -> None:
        if self._to_skip:
            self._to_skip, text = max(0, self._to_skip - len(text)), text[self._to_skip :]
        if self._group.target and not self._group.hiding:
            self._bytes.append(text)

    def _take_symbol(self, symbol: bytes) -> None:
        if symbol == b"*":
            self._is_starred = self._is_first  # elsewhere it means nothing
        elif symbol in _SYMBOLS:
            self._take_bytes(_SYMBOLS[symbol])
        elif symbol in (b"\n", b"\r"):
            self._take_word("par", None)

    def _take_word(self, word: str, number: int | None) -> None:
        group = self._group
        self._to_skip = 0
        is_passed_over = word in _LEFT_OUT or (self._is_starred and word not in _KEPT)
        self._is_starred = False
        if is_passed_over:
            if word == "upr":
                group.resumes = group.target
            group.target = _NOWHERE
            return
        match word:
            case "u" if number is not None:
                self._flush()
                self._say(chr(number & 0xFFFF if number < 0x10000 else min(number, 0x10FFFF)))
                self._to_skip = group.skips
            case "uc":
                group.skips = max(0, number or 0)
            case _ if word in _CHARACTERS:
                self._flush()
                self._say(_CHARACTERS[word])
            case _ if word in _ENDS:
                self._flush()
                if group.target == _TEXT and not group.hiding:
                    self._end_line()
            case _ if word in _HIDING:
                self._flush()
                group.hiding = group.hiding - {word} if number == 0 else group.hiding | {word}
            case _ if word in _TARGETS:
                self._begin(word)
            case _ if word in _OF_FONTS:
                self._flush()
                self._take_font(word, number)

    def _begin(self, word: str) -> None:
        """Take in the kind of the group that begins with this word."""
        group = self._group
        match word:
            case "ud":
                group.target = group.resumes
            case "fldrslt":
                match = _LINK.search(sound("".join(self._said[_FIELD])))
                self._link, self._link_at = match[1] if match else "", len(self._line)
                group.is_result = True
            case "footnote" | "shptxt" | "dptxbxtext":
                if group.target == _TEXT and not group.is_aside:
                    group.is_aside = True
                    group.line, self._line = self._line, []
                    self._n_aside += 1
            case "fldinst" | "title":
                group.target, self._said[word] = word, []
            case _:
                group.target = _FONTS

    def _take_font(self, word: str, number: int | None) -> None:
        group = self._group
        match word:
            case "ansicpg":
                self._code_page = number or 1252
            case "mac" | "pc" | "pca":
                self._code_page = {"mac": 10000, "pc": 437, "pca": 850}[word]
            case "deff":
                self._font = group.font = -1 if number is None else number
            case "f":
                group.font = -1 if number is None else number
            case "af" if group.has_east_asian_font and number is not None:
                group.font = number
            case "dbch" | "loch" | "hich":
                group.has_east_asian_font = word == "dbch"
            case "plain":
                group.hiding, group.font = frozenset(), self._font
            case "fcharset" | "cpg" if group.target == _FONTS and len(self._fonts) < FONTS_MAX:
                code_page = number if word == "cpg" else PAGES_OF_CHARSETS.get(number or 0)
                if code_page is not None:
                    self._fonts[group.font] = code_page

    def _flush(self) -> None:
        """Decode the bytes that wait."""
        if self._bytes:
            text, self._bytes = b"".join(self._bytes), []
            page = self._fonts.get(self._group.font, self._code_page)
            if page == 1252 and self._group.has_east_asian_font and self._code_page in DOUBLE_BYTE_PAGES:
                page = self._code_page
            self._say(decoded(text, page))

    def _say(self, text: str) -> None:
        target = self._group.target
        if not target or self._group.hiding:
            return
        if target == _TEXT:
            self._line.append(text)
        elif target in self._said and len(self._said[target]) < PIECES_MAX:
            self._said[target].append(text[:HREF_CHARS_MAX])

    def _end_line(self) -> None:
        line, self._line, self._link_at = sound("".join(self._line)), [], 0
        if self._n_aside:
            self._aside.append(line)
            return
        for each in (line, *self._aside):
            self.lines.add(each)
        self._aside = []

    def _end_link(self) -> None:
        if self._link and len(self.links) < LINKS_MAX:
            anchor = sound("".join(self._line[self._link_at :]))
            self.links.append((self._link, anchor[:ANCHOR_CHARS_MAX]))
        self._link = ""
