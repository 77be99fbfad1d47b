"""By which names the entrance of a site is looked for, and which of them a query may be.

Who types `python`, `www.python.org` or `Python documentation` mostly wants to get there, and of all pages
that have the word the entrance has it least often. So a page that is the entrance of something, as its URL
tells (a folder, `DEPTH_MAX` deep at most), has entries of its own, apart from its words: the names that its
host, its path, its title and the texts of links give it, each as one entry, without what all of them are
called (`_GENERIC`) and without versions. A query asks for the one entry that all of its words make. That is
rare, so it picks the page; and few pages have any, so other queries stay as they were. A page has its entries
the more often, the nearer to the root of its host it is and the more other domains link to it; half as often
names that it could have given itself: two of its title at most, and texts of links of one domain.

Measured, MRR@10 of names, hosts and titles of entrances, and of titles of 400 other pages, when names of
their own counted in full (there was no such set at hand since):

                                        weight of the entry   none   .5     1      2      3
    5 sites of the dev web, 48 queries                        .414   .716   .794   .854   .854
    17 other sites, 107 queries                               .333   .806   .866   .905   .910
    other pages of the first                                  .978   .978   .978   .978   .978
    other pages of the second                                 .944   .946   .946   .946   .946

The weight was chosen on the first. Judged collections have no entrances, and rank as before. How many hosts
link, and how many copies there are, no set tells that is here: the former counts by its logarithm, the latter
not at all.

Source of the class: Li, Yan, Wang 2004, sections 9.4 and 10.4; of the kinds of URLs: Kraaij, Westerveld,
Hiemstra, "The importance of prior probabilities for entry page search", SIGIR 2002.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from typing import Final

from mesh.domains import registrable_domain
from peers.engine.pages.document import Document
from peers.engine.pages.filter_entries import NAME_PREFIX
from peers.text.folding import fold
from peers.text.function_words import function_words_of
from peers.text.runs import runs_of

DEPTH_MAX: Final = 3  # segments of the path
WORDS_MAX: Final = 6  # of a name
CHARS_MAX: Final = 64
NAME_WEIGHT: Final = 2.0  # of the entry in a query
TAKEN_PART: Final = 2  # of the times of a name that the host or several domains confirm: one of its own
TEXTS_MAX: Final = 16  # of links that are looked at, those first that most links have

_GENERIC_WORDS: Final = """
www web docs doc documentation document manual home homepage page pages site website portal official welcome
index html htm php main startseite willkommen dokumentation accueil bienvenue inicio bienvenido pagina sitio
"""
_GENERIC: Final = frozenset(_GENERIC_WORDS.split())
_GENERIC_HAN: Final = re.compile(
    "官方网站|官方主页|门户网站|欢迎光临|欢迎您?访问|官网|主页|首页|网站|文档|手册"
)
_VERSION: Final = re.compile("v?[0-9]+[a-z]?")
_BETWEEN_NAMES: Final = re.compile(r"\s[-–—|·_]\s|[|｜_:：]|[—–]{1,2}")
_ENTRANCE: Final = re.compile(r"[a-z]+://([^/?#]+)/((?:[^/?#]+/)*)(?:index\.[a-z.-]+)?")


def name_in(text: str) -> str:
    """Return the entry of the name that a text is, "" where it is none."""
    words = runs_of(fold(text))
    empty = function_words_of(words)
    told = [_GENERIC_HAN.sub("", word) for word in words if word not in empty and word not in _GENERIC]
    kept = [word for word in told if not _VERSION.fullmatch(word)] or told
    name = "".join(kept)
    return NAME_PREFIX + name if name and len(kept) <= WORDS_MAX and len(name) <= CHARS_MAX else ""


def names_of(document: Document) -> list[str]:
    """Return the entries of the names of a page, as often as they count; none where it is no entrance."""
    match = _ENTRANCE.fullmatch(document.url)
    if match is None:
        return []
    host, path = match[1].partition(":")[0], match[2].rstrip("/")
    depth = path.count("/") + 1 if path else 0
    if depth > DEPTH_MAX:
        return []
    given = dict.fromkeys(filter(None, map(name_in, _given_to(document, host, path.rpartition("/")[2]))))
    taken = dict.fromkeys(filter(None, map(name_in, _taken_by(document))))
    doublings = (max(0, document.linking_hosts) + 1).bit_length() - 1  # log2 of the domains
    times = DEPTH_MAX + 1 - depth + doublings
    names = [name for name in given for _ in range(times)]
    return names + [name for name in taken if name not in given for _ in range(-(-times // TAKEN_PART))]


def _given_to(document: Document, host: str, folder: str) -> Iterator[str]:
    """Yield the names that a page gets from its address, and from links of several domains."""
    domain = registrable_domain(host)
    yield from (host, domain, domain.partition(".")[0], host.removeprefix("www.").partition(".")[0], folder)
    yield from (text for text, n_domains in _texts_of_links(document) if n_domains > 1)


def _taken_by(document: Document) -> Iterator[str]:
    """Yield names a page may give itself: its title, or the first and last part of it, texts of links."""
    first, *others = map(str.strip, _BETWEEN_NAMES.split(document.title))
    yield from (first, *others[-1:])
    yield from (text for text, n_domains in _texts_of_links(document) if n_domains == 1)


def _texts_of_links(document: Document) -> list[tuple[str, int]]:
    """Return those of most domains, and how many; links within a site count as one."""
    return Counter(document.anchors).most_common(TEXTS_MAX)
