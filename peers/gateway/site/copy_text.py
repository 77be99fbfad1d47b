"""The text of a stored page, for programs: as JSON, as markdown, or alone. Strangers wrote it."""

from __future__ import annotations

import re
from enum import StrEnum
from typing import Final

import msgspec

from peers.gateway.model.messages import PageFound
from peers.gateway.site.memento import http_date
from peers.gateway.site.stored_page import SHOWN_CHARS_MAX, DisplayKind, PageSnapshot, links_in

# Signs by which markdown makes more than text (CommonMark 0.31, 2.4), where they stand in a line, and those
# that make a block of one at its beginning.
_MARKUP: Final = re.compile(r"[\\`*_\[\]<>&~|]")
_BLOCK: Final = re.compile(r"^([ \t]*)([#+=-]|\d{1,9}(?=[.)]))", re.MULTILINE)


class CopyFormat(StrEnum):
    """The forms in which the text can be had."""

    JSON = "json"
    MARKDOWN = "markdown"
    TEXT = "text"


class CopyJson(msgspec.Struct, frozen=True):
    """The JSON of /api/page."""

    url: str
    title: str  # "" when the page has none
    text: str  # what the page is about, one block a line; "" of what has no text
    language: str  # primary subtag, "" when not known
    published: str  # when the page says it was published, ISO 8601; "" when it does not
    fetched_at: float  # seconds since the epoch
    datetime: str  # the same as HTTP has it
    type: str  # media type; as its server said, it may be anything
    links: list[str]  # URLs of other pages, the first ones
    is_cut: bool  # the text has SHOWN_CHARS_MAX characters; what is behind them is left out


def copy_json(found: PageFound, page: PageSnapshot) -> CopyJson:
    """Return a stored copy, which may be shown, as programs get it."""
    is_html = page.kind is DisplayKind.HTML
    text = page.main_text if is_html else page.text
    return CopyJson(
        found.url,
        page.title,
        text,
        page.language,
        page.published,
        found.fetched_at,
        http_date(found.fetched_at),
        page.media_type,
        list(dict.fromkeys(links_in(found.url, page).values())) if is_html else [],
        len(text) >= SHOWN_CHARS_MAX,
    )


def markdown_of(copy: CopyJson) -> str:
    """Return a copy as markdown: title, address, text and links. No sign of the page itself is markup."""
    title = _escaped(" ".join(copy.title.split())) or copy.url
    blocks = [f"# {title}", f"<{copy.url}>", *_escaped(copy.text).splitlines()]
    if copy.links:
        blocks += ["## Links", "\n".join(f"- <{link}>" for link in copy.links)]
    return "\n\n".join(block for block in blocks if block.strip()) + "\n"


def _escaped(text: str) -> str:
    marked = _MARKUP.sub(r"\\\g<0>", text)
    return _BLOCK.sub(lambda found: f"{found[1]}{_of_block(found[2])}", marked)


def _of_block(sign: str) -> str:
    """A number keeps its digits: only the dot behind it, which is not taken here, would make a list."""
    return f"{sign}\\" if sign.isdigit() else f"\\{sign}"
