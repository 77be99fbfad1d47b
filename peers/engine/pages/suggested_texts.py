"""The texts of a page that are suggested to people as they type: parts of its title, texts of links to it.

Each is an entry of the dictionary, so those that begin with what was typed stand side by side there, with the
numbers of their pages, and are merged and handed over with everything else. An entry is the prefix, the words
of the text in the form that they are compared in, and the text as it is shown where that is another one.

A title is cut where it names its site or its chapter ("pg_dump — PostgreSQL 16"): each part is one text. The
text of a link counts where links of several domains have it. Pages of which no text may be shown have none.
"""

from __future__ import annotations

import re
from collections import Counter
from typing import Final

from peers.engine.pages.document import Document
from peers.engine.pages.filter_entries import TEXT_PREFIX
from peers.text.folding import fold
from peers.text.runs import runs_of

CHARS_MAX: Final = 72  # of a text; longer ones are sentences
PARTS_MAX: Final = 3  # of a title
LINKS_MAX: Final = 4  # texts of links, those that most domains use
NAME_DOMAINS_MIN: Final = 5  # whose links call a page so, before it is taken for its name
NAMES_MAX: Final = 4  # of a page

SHOWN_AS: Final = "\x1f"
_BETWEEN_PARTS: Final = re.compile(r"\s[-–—|·•_»«]+\s|[|｜]|[—–]{1,2}")


def typed_key(typed: str) -> str:
    """Return a typed text in the form that the beginnings of texts are compared in.

    A blank at its end says that its last word is complete.
    """
    key = " ".join(runs_of(fold(typed)))
    return key + " " if key and typed[-1].isspace() else key


def texts_of_title(document: Document) -> list[str]:
    """Return the entries of the parts of a page's title."""
    if not document.is_quotable:
        return []
    parts = _BETWEEN_PARTS.split(document.title[: CHARS_MAX * (PARTS_MAX + 1)])
    return list(dict.fromkeys(filter(None, map(_entry_of, (*parts[: PARTS_MAX - 1], parts[-1])))))


def texts_of_links(document: Document) -> list[str]:
    """Return the entries of the texts by which several domains link to a page."""
    if not document.is_quotable:
        return []
    common = Counter(document.anchors).most_common(LINKS_MAX)
    return list(dict.fromkeys(filter(None, (_entry_of(text) for text, n_domains in common if n_domains > 1))))


def names_of(document: Document) -> tuple[str, ...]:
    """Return the texts by which NAME_DOMAINS_MIN domains or more link to a page, the most used first."""
    if not document.is_quotable or len(document.anchors) < NAME_DOMAINS_MIN:
        return ()
    names: dict[str, str] = {}
    for text, n_domains in Counter(sorted(document.anchors)).most_common():
        if n_domains >= NAME_DOMAINS_MIN and (entry := _entry_of(text)):
            name = text_of_entry(entry)
            names.setdefault(typed_key(name), name)
    return tuple(names.values())[:NAMES_MAX]


def text_of_entry(entry: str) -> str:
    """Return the text that an entry shows."""
    key, _, shown = entry.removeprefix(TEXT_PREFIX).partition(SHOWN_AS)
    return shown or key


def _entry_of(text: str) -> str:
    """Return the entry of a text, "" where it is none that is worth suggesting."""
    shown = " ".join(text.split())
    if not 1 < len(shown) <= CHARS_MAX or not shown.isprintable():
        return ""
    key = typed_key(shown)
    if len(key) < 2:
        return ""
    return f"{TEXT_PREFIX}{key}{SHOWN_AS}{'' if shown == key else shown}"
