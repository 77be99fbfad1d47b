"""Pages by which answers are checked: each is the only one with a certain word in it, in any form."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Mapping
from typing import Final, NamedTuple
from urllib.parse import urlsplit

from selectolax.lexbor import LexborHTMLParser

_WORD: Final = re.compile(r"[^\W_]+")
_PLAIN: Final = re.compile(r"[a-z]{6,20}")  # what no folding changes
_BEGINNING_CHARS: Final = 5  # which all forms of a word have in common


class KnownPage(NamedTuple):
    """A page and a word that only it has, also among the addresses; none has another form of it."""

    url: str
    word: str

    @property
    def host(self) -> str:
        return urlsplit(self.url).netloc


def known_pages(bodies: Mapping[str, bytes], per_host: int) -> list[KnownPage]:
    """Choose pages of every host that has any such; hosts in turn, so that any first few are of many."""
    words = {url: _words(url, body) for url, body in bodies.items()}
    frequency = Counter(beginning for mine in words.values() for beginning in {_beginning(w) for w in mine})
    by_host: dict[str, list[KnownPage]] = defaultdict(list)
    for url in sorted(words):
        own = sorted(
            word for word in words[url] if frequency[_beginning(word)] == 1 and _PLAIN.fullmatch(word)
        )
        if own:
            page = KnownPage(url, own[0])
            by_host[page.host].append(page)
    chosen = [_spread(pages, per_host) for pages in by_host.values()]
    return [pages[rank] for rank in range(per_host) for pages in chosen if rank < len(pages)]


def _beginning(word: str) -> str:
    return word[:_BEGINNING_CHARS]


def _words(url: str, body: bytes) -> set[str]:
    tree = LexborHTMLParser(body)
    for node in tree.css("script,style,noscript,template"):
        node.decompose()
    text = tree.text(separator=" ")
    return set(_WORD.findall(text.lower())) | set(_WORD.findall(url.lower()))


def _spread(pages: list[KnownPage], count: int) -> list[KnownPage]:
    """So many of them, at equal distances."""
    step = max(1, len(pages) // count)
    return pages[::step][:count]
