"""How relevant a text is to the topics wanted, by guide words (导向词). Pure.

    relevance = 1 - e^(-hits / full)        hits = sum over the guide words of min(times it occurs, 3)

One that occurs in a title counts three times. A text of a link or a path is short, so that one hit there says
as much as three in a page (`full` is 1 and 3). Spellings are equal as in the index (`peers.text.folding`). A
guide word of letters counts where it stands as a word; one with Han anywhere, as nothing separates words
there; one of several words where these follow each other.

Source: Li, Yan, Wang 2004, 6.1 and 9.4; the book gives no formula.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from math import exp
from typing import Final
from urllib.parse import unquote

from peers.engine.pages.document import Document
from peers.text.folding import fold

TEXT_CHARS_MAX: Final = 20_000  # of a page that are looked at: some 2 ms, and what it is about stands there
HITS_MAX: Final = 3  # of one guide word in one text
_PAGE_FULL: Final = 3.0
_LINK_FULL: Final = 1.0
_WORD: Final = re.compile(r"\w+")
_ONE_WORD: Final = re.compile(
    r"[^\W\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]+"
)  # letters and digits, no Han or kana


class GuideWords:
    """Words for the topics wanted, ready to be looked for."""

    def __init__(self, words: Iterable[str]) -> None:
        lowered = dict.fromkeys(fold(word) for word in words)
        self._single = frozenset(word for word in lowered if _ONE_WORD.fullmatch(word))
        self._others = tuple(word for word in lowered if word not in self._single)

    def __bool__(self) -> bool:
        return bool(self._single or self._others)

    def of_page(self, document: Document | None) -> float:
        """Return the relevance of a page, 0 to 1; 0 of one that asks not to be indexed."""
        if document is None or not self:
            return 0.0
        hits = HITS_MAX * self._hits(document.title) + self._hits(document.text[:TEXT_CHARS_MAX])
        return 1.0 - exp(-hits / _PAGE_FULL)

    def of_link(self, url: str, anchor: str) -> float:
        """Return the relevance that a link promises by its text and by the path of its URL, 0 to 1."""
        if not self:
            return 0.0
        path = unquote(url[url.index("/", 8) :]).replace("_", " ")
        return 1.0 - exp(-(self._hits(anchor) + self._hits(path)) / _LINK_FULL)

    def _hits(self, text: str) -> int:
        if not text:
            return 0
        lowered = fold(text)
        hits = sum(min(lowered.count(word), HITS_MAX) for word in self._others)
        if self._single:
            counts = Counter(word for word in _WORD.findall(lowered) if word in self._single)
            hits += sum(min(count, HITS_MAX) for count in counts.values())
        return hits
