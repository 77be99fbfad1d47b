"""Which domains link to a page, by which texts, and where it was before, kept among the link texts.

A link between sites tells its *linker*: a hash of the registrable domain it comes from; and when it has a
text, a *use*: a hash of linker and text, then one of the text. However many pages and hosts of a domain link
here by a text, they tell the same: who has a domain makes hosts as he likes. Linkers and uses of a page are
kept, join, replicate and hand over as the texts of the links do, in the same tuple, told apart by prefixes
that no text has. Only the `LINKERS_MAX` smallest linkers are kept, of millions: from how small these are
follows how many there were, since hashes are spread evenly.

    n = linkers                                 up to LINKERS_MAX of them
    n = (k - 1) / (k-th smallest hash / 2^64)   beyond, k = LINKERS_MAX; off by a fifth on average

Likewise the `USES_MAX` smallest uses are kept: all, or a sample in which a text has its share of the domains.
A document has a text as often as there are uses of it, at least once and `TEXT_HOSTS_MAX` times at most: that
is its frequency in the field of link texts.

A *move* is a URL where the page was before its server said that it has moved for good; the `MOVES_MAX`
smallest are kept. What is known of links to the page there is told of the new URL, too (`told_by`).

Source of the estimate: Bar-Yossef et al., "Counting distinct elements in a data stream", RANDOM 2002. Links
within a site do not count: they are the site's own opinion of itself; Li, Yan, Wang 2004, section 10.3.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from functools import lru_cache
from typing import Final

import msgspec
from xxhash import xxh3_64_hexdigest

from mesh.domains import registrable_domain
from mesh.urls import host_of
from peers.engine.pages.document import Document

LINKER_PREFIX: Final = "\x02"  # of a linker among texts; a text that looks like one is refused
LINKERS_MAX: Final = 32  # kept of a page
USE_PREFIX: Final = "\x03"  # of a use, likewise
USES_MAX: Final = 32  # kept of a page
MOVE_PREFIX: Final = "\x04"  # of a move, likewise
MOVES_MAX: Final = 32  # kept of a page
# Of a mark among entries that tells who told them (`anchor_rows` of the crawler); no text begins with it.
TELLING_PREFIX: Final = "\x05"
MOVE_CHARS_MAX: Final = 199  # of a URL; with its prefix it is as long as a text may be
# By the fitted weights a text that is there eight times has 0.9 of all that any number of times would give.
TEXT_HOSTS_MAX: Final = 8
_PREFIXES: Final = (LINKER_PREFIX, USE_PREFIX, MOVE_PREFIX)
_MARKS: Final = frozenset((*_PREFIXES, TELLING_PREFIX))  # nearly every text begins with none of them
_HASHES: Final = 1 << 64
_HASH_CHARS: Final = 16
_LINKER: Final = re.compile(LINKER_PREFIX + "[0-9a-f]{16}")
_USE: Final = re.compile(USE_PREFIX + "[0-9a-f]{32}")
_MOVE: Final = re.compile(MOVE_PREFIX + "https?://[!-~]+")


def linker_of(source: str, target: str) -> str:
    """Return the linker of a link between two canonical URLs: its source's domain, hashed; "" within a site.

    Hosts of one site: of the same name, also with `www.`, or one a subdomain of the other.
    """
    if target.startswith(source[: source.index("/", 8) + 1]):  # of one origin, as most links are
        return ""
    source_host, target_host = host_of(source), host_of(target)
    one, other = source_host.removeprefix("www."), target_host.removeprefix("www.")
    if one == other or one.endswith("." + other) or other.endswith("." + one):
        return ""
    return _hashed(registrable_domain(one))


def linkers_of(source: str, targets: Iterable[str]) -> list[str]:
    """Return the linker of each of many links from one page."""
    origin = source[: source.index("/", 8) + 1]
    return ["" if target.startswith(origin) else linker_of(source, target) for target in targets]


def entries_of(text: str, linker: str) -> tuple[str, ...]:
    """Return the entries that are kept of a link to a page: its text, its linker, its use.

    Args:
      text: of the link, from anywhere; "" for none. One that looks like a linker or a use is left out.
      linker: as `linker_of` makes it; anything else is left out.
    """
    texts = (text,) if text and (text[0] not in _MARKS or is_text(text)) else ()
    if not linker or not is_linker(entry_of(linker)):
        return texts
    return (*texts, entry_of(linker), *[_use_of(text, linker) for text in texts])


def entries_of_move(url: str) -> tuple[str, ...]:
    """Return the entry kept of a page's former URL; none for a URL that is too long or invalid."""
    entry = MOVE_PREFIX + url
    return (entry,) if len(url) <= MOVE_CHARS_MAX and is_move(entry) else ()


def moves_in(entries: Iterable[str]) -> tuple[str, ...]:
    """Return the URLs where a page was before."""
    return tuple(entry[1:] for entry in entries if entry[:1] == MOVE_PREFIX and is_move(entry))


def told_by(entries: Iterable[str]) -> list[tuple[str, str]]:
    """Return texts and linkers by which links would tell the same of another page; "" for none of either.

    A use of a linker that is not among those kept is lost, its text is not.
    """
    linkers, uses, texts, _ = sorted_out(entries)
    names, known = [linker[1:] for linker in linkers], set(uses)
    told = [(text, name) for text in texts.values() for name in names if _use_of(text, name) in known]
    used_texts, used_names = {text for text, _ in told}, {name for _, name in told}
    told += [(text, "") for text in texts.values() if text not in used_texts]
    return told + [("", name) for name in names if name not in used_names]


def entry_of(linker: str) -> str:
    """Return a linker as it is kept among the texts."""
    return LINKER_PREFIX + linker


def is_linker(entry: str) -> bool:
    """Tell linkers from texts, and from entries that only look like a linker."""
    return _LINKER.fullmatch(entry) is not None


def is_use(entry: str) -> bool:
    """Likewise uses."""
    return _USE.fullmatch(entry) is not None


def is_move(entry: str) -> bool:
    """Likewise moves."""
    return _MOVE.fullmatch(entry) is not None


def is_text(entry: str) -> bool:
    first = entry[:1]
    if first not in _PREFIXES:
        return first != TELLING_PREFIX
    return not (is_linker(entry) or is_use(entry) or is_move(entry))


def text_hash(text: str) -> str:
    """Return the hash by which uses name a text; 16 characters."""
    digest: str = xxh3_64_hexdigest(text.encode())
    return digest


def used_text(use: str) -> str:
    """Return the hash of the text of a use."""
    return use[-_HASH_CHARS:]


def are_uses_of_texts(entries: Iterable[str]) -> bool:
    """Tell whether all uses among entries are of texts among them, as in the entries that peers keep."""
    entries = tuple(entries)
    uses = [entry for entry in entries if entry[:1] == USE_PREFIX and is_use(entry)]
    if not uses:  # as of most pages
        return True
    hashes = set(map(text_hash, filter(is_text, entries)))
    return all(used_text(use) in hashes for use in uses)


def sorted_out(entries: Iterable[str]) -> tuple[list[str], list[str], dict[str, str], list[str]]:
    """Return linkers, uses, texts by their hash (of two with one the later) and moves, in the given order."""
    linkers: list[str] = []
    uses: list[str] = []
    texts: dict[str, str] = {}
    moves: list[str] = []
    for entry in entries:
        first = entry[:1]  # spares most entries the calls
        if first == LINKER_PREFIX and is_linker(entry):
            linkers.append(entry)
        elif first == USE_PREFIX and is_use(entry):
            uses.append(entry)
        elif first == MOVE_PREFIX and is_move(entry):
            moves.append(entry)
        else:
            texts[text_hash(entry)] = entry
    return linkers, uses, texts, moves


def linking_hosts_of(entries: Iterable[str]) -> int:
    """Return how many domains link to a page with these texts and linkers, about."""
    linkers = sorted(entry for entry in entries if entry[:1] == LINKER_PREFIX and is_linker(entry))
    if len(linkers) < LINKERS_MAX:
        return len(linkers)
    largest = int(linkers[LINKERS_MAX - 1].removeprefix(LINKER_PREFIX), 16)
    return (LINKERS_MAX - 1) * _HASHES // max(1, largest)


def with_anchors(document: Document, entries: Iterable[str]) -> Document:
    """Return the document with the texts, as often as domains use them, and the number of linkers."""
    entries = tuple(entries)
    texts = _weighted(entries)
    # A document from elsewhere may know of linkers without naming any.
    linking_hosts = linking_hosts_of(entries) or document.linking_hosts
    if (document.anchors, document.linking_hosts) == (texts, linking_hosts):
        return document
    return msgspec.structs.replace(document, anchors=texts, linking_hosts=linking_hosts)


def _weighted(entries: tuple[str, ...]) -> tuple[str, ...]:
    texts = tuple(filter(is_text, entries))
    uses = Counter(used_text(entry) for entry in entries if entry[:1] == USE_PREFIX and is_use(entry))
    if not uses:
        return texts
    times = ((text, max(1, min(uses[text_hash(text)], TEXT_HOSTS_MAX))) for text in texts)
    return tuple(text for text, n_times in times for _ in range(n_times))


def _use_of(text: str, linker: str) -> str:
    return USE_PREFIX + text_hash(linker + text) + text_hash(text)


@lru_cache(maxsize=1_024)
def _hashed(name: str) -> str:
    digest: str = xxh3_64_hexdigest(name.encode())
    return digest
