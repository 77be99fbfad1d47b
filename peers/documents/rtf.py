"""RTF, by striprtf: its text, title and links. Pure.

Source: Rich Text Format Specification 1.9.1.
"""

from __future__ import annotations

import re
from typing import Final

from striprtf.striprtf import rtf_to_text

from peers.documents.content import LINKS_MAX, Content, Lack, TextLimit, Unreadable, sound
from peers.documents.titles import is_title

BODY_BYTES_MAX: Final = 8 << 20  # read of one; pictures stand in it as digits. Takes 1 s
INFO_CHARS: Final = 200_000  # from the beginning, in which the title is looked for
_LINK: Final = re.compile(r"HYPERLINK\s+\"([^\"\s\\]{1,4000})\"")
_TITLE: Final = re.compile(r"\{\\title ([^{}]{1,1000})\}")
_CREATED: Final = re.compile(r"\{\\(revtim|creatim)\\yr(\d{4})\\mo(\d{1,2})\\dy(\d{1,2})")
_PICTURE: Final = re.compile(r"[0-9a-fA-F\s]{2048,}")
_CELLS: Final = str.maketrans("|", " ")


def read_rtf(body: bytes) -> Content:
    """Read a document.

    Raises:
      Unreadable
    """
    if not body.lstrip()[:5].startswith(b"{\\rtf"):
        raise Unreadable(Lack.DAMAGED, "no RTF")
    markup = _PICTURE.sub("", body[:BODY_BYTES_MAX].decode("latin-1"))
    links = tuple((match[1], "") for match, _ in zip(_LINK.finditer(markup), range(LINKS_MAX), strict=False))
    lines = TextLimit()
    # The library's own search for links takes the square of the time; here they are found already.
    for line in _text_of(markup.replace("HYPERLINK", "")).splitlines():
        lines.add(line)
    title = _TITLE.search(markup, 0, INFO_CHARS)
    dates = {match[1]: _date(match) for match in _CREATED.finditer(markup, 0, INFO_CHARS)}
    named = " ".join(_text_of(f"{{\\rtf1\\ansi {title[1]}}}").split()) if title else ""
    return Content(
        title=named if is_title(named) else "",
        text=lines.text(),
        links=links,
        dates=tuple(dates[each] for each in ("revtim", "creatim") if each in dates),
        is_cut=lines.is_cut or len(body) > BODY_BYTES_MAX,
    )


def _text_of(markup: str) -> str:
    try:
        text: str = rtf_to_text(markup, encoding="cp1252", errors="replace")  # type: ignore[no-untyped-call]
    except (ValueError, LookupError, IndexError, OverflowError) as error:
        raise Unreadable(Lack.DAMAGED, str(error)) from error
    return sound(text.translate(_CELLS))


def _date(match: re.Match[str]) -> str:
    return f"{match[2]}-{int(match[3]):02}-{int(match[4]):02}"
