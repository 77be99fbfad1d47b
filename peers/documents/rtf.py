"""RTF, by striprtf: its text, title and links. Pure.

Source: Rich Text Format Specification 1.9.1.
"""

from __future__ import annotations

import re
from itertools import islice
from typing import Final

from striprtf.striprtf import rtf_to_text

from peers.documents.content import LINKS_MAX, Content, Lack, TextLimit, Unreadable, sound
from peers.documents.titles import is_title

MARKUP_CHARS_MAX: Final = 4 << 20  # read of one, without its pictures; takes 1 s
INFO_CHARS: Final = 200_000  # from the beginning, in which the title is looked for
FONTS_MAX: Final = 1_000
FONT_CHARS_MAX: Final = 300  # of what stands between the number of a font and its character set
_LINK: Final = re.compile(r"HYPERLINK\s+\"([^\"\s\\]{1,4000})\"")
_TITLE: Final = re.compile(r"\{\\title ([^{}]{1,1000})\}")
_CREATED: Final = re.compile(r"\{\\(revtim|creatim)\\yr(\d{4})\\mo(\d{1,2})\\dy(\d{1,2})")
# Pictures stand in it as digits; looked for where such a run begins, and not at each of them.
_PICTURE: Final = re.compile(r"(?<![0-9a-fA-F\s])[0-9a-fA-F\s]{2048,}")
_FONTS: Final = re.compile(r"\{[^{}\\]{0,100}\\fonttbl")
_FONT: Final = re.compile(rf"\\f(\d{{1,5}})(?!\d).{{0,{FONT_CHARS_MAX}}}?\\fcharset(\d{{1,3}})", re.DOTALL)
_BRACE: Final = re.compile("[{}]")
_CELLS: Final = str.maketrans("|", " ")


def read_rtf(body: bytes) -> Content:
    """Read a document.

    Raises:
      Unreadable
    """
    if not body.lstrip()[:5].startswith(b"{\\rtf"):
        raise Unreadable(Lack.DAMAGED, "no RTF")
    markup = _PICTURE.sub("", body.decode("latin-1"))
    is_cut, markup = len(markup) > MARKUP_CHARS_MAX, markup[:MARKUP_CHARS_MAX]
    links = tuple((match[1], "") for match in islice(_LINK.finditer(markup), LINKS_MAX))
    lines = TextLimit()
    # The library looks for links and fonts in a time that grows with the square. Here they are found already,
    # and what its search for links begins with is written in another way that means the same.
    markup = _with_short_fonts(markup).replace("\\fldinst{", "\\fldinst {")
    for line in _text_of(markup).splitlines():
        lines.add(line)
    title = _TITLE.search(markup, 0, INFO_CHARS)
    dates = {match[1]: _date(match) for match in _CREATED.finditer(markup, 0, INFO_CHARS)}
    named = " ".join(_text_of(f"{{\\rtf1\\ansi {title[1]}}}").split()) if title else ""
    return Content(
        title=named if is_title(named) else "",
        text=lines.text(),
        links=links,
        dates=tuple(dates[each] for each in ("revtim", "creatim") if each in dates),
        is_cut=lines.is_cut or is_cut,
    )


def _text_of(markup: str) -> str:
    try:
        text: str = rtf_to_text(markup, encoding="cp1252", errors="replace")  # type: ignore[no-untyped-call]
    except (ValueError, LookupError, IndexError, OverflowError) as error:
        raise Unreadable(Lack.DAMAGED, str(error)) from error
    return sound(text.translate(_CELLS))


def _with_short_fonts(markup: str) -> str:
    """Leave of the table of fonts what the library wants: which of them has which character set."""
    begin = _FONTS.search(markup, 0, INFO_CHARS)
    if begin is None:
        return markup
    end, depth = len(markup), 0
    for brace in _BRACE.finditer(markup, begin.start()):
        depth += 1 if brace[0] == "{" else -1
        if depth == 0:
            end = brace.end()
            break
    fonts = islice(_FONT.finditer(markup, begin.start(), end), FONTS_MAX)
    table = "".join(f"{{\\f{font[1]}\\fcharset{font[2]} a;}}" for font in fonts)
    return f"{markup[: begin.start()]}{{\\fonttbl{table}}}{markup[end:]}"


def _date(match: re.Match[str]) -> str:
    return f"{match[2]}-{int(match[3]):02}-{int(match[4]):02}"
