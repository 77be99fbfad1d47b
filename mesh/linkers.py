"""Which hosts link to a page, kept among the texts of these links.

A link between hosts tells its *linker*: a hash of the host it comes from. Linkers of a page are kept, join,
replicate and hand over as the texts of the links do, in the same tuple, told apart by a prefix that no text
has. Only the `LINKERS_MAX` smallest are kept, of millions: from how small these are follows how many there
were, since hashes are spread evenly.

    n = linkers                                 up to LINKERS_MAX of them
    n = (k - 1) / (k-th smallest hash / 2^64)   beyond, k = LINKERS_MAX; off by a fifth on average

Source of the estimate: Bar-Yossef et al., "Counting distinct elements in a data stream", RANDOM 2002. Links
within a site do not count: they are the site's own opinion of itself; Li, Yan, Wang 2004, section 10.3.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache
from typing import Final

import msgspec
from xxhash import xxh3_64_hexdigest

from mesh.document import Document
from mesh.urls import host_of, hostname_of

LINKER_PREFIX: Final = "\x02"  # of a linker among texts; a text that begins with it is refused
LINKERS_MAX: Final = 32  # kept of a page
_HASHES: Final = 1 << 64
_ENTRY: Final = re.compile(LINKER_PREFIX + "[0-9a-f]{16}")


def linker_of(source: str, target: str) -> str:
    """Return what a link between two canonical URLs tells its target's owner; "" within a site.

    Hosts of one site: of the same name whatever the scheme and port, also with `www.`, or one a subdomain of
    the other.
    """
    if host_of(source) == host_of(target):
        return ""
    one, other = _site_name(source), _site_name(target)
    if one == other or one.endswith("." + other) or other.endswith("." + one):
        return ""
    return _hashed(one)


def entry_of(linker: str) -> str:
    """Return a linker as it is kept among the texts."""
    return LINKER_PREFIX + linker


def is_linker(entry: str) -> bool:
    """Tell linkers from texts, and from what only looks like one."""
    return entry.startswith(LINKER_PREFIX) and _ENTRY.fullmatch(entry) is not None


def linking_hosts_of(entries: Iterable[str]) -> int:
    """Return how many hosts link to a page with these texts and linkers, about."""
    linkers = sorted(filter(is_linker, entries))
    if len(linkers) < LINKERS_MAX:
        return len(linkers)
    largest = int(linkers[LINKERS_MAX - 1].removeprefix(LINKER_PREFIX), 16)
    return (LINKERS_MAX - 1) * _HASHES // max(1, largest)


def with_anchors(document: Document, entries: Iterable[str]) -> Document:
    """Return the document with the texts and the number of linkers that are among these entries."""
    entries = tuple(entries)
    texts = tuple(entry for entry in entries if not is_linker(entry))
    # A document from elsewhere may know of linkers without naming any.
    linking_hosts = linking_hosts_of(entries) or document.linking_hosts
    if (document.anchors, document.linking_hosts) == (texts, linking_hosts):
        return document
    return msgspec.structs.replace(document, anchors=texts, linking_hosts=linking_hosts)


def _site_name(url: str) -> str:
    return hostname_of(url).removeprefix("www.")


@lru_cache(maxsize=1_024)
def _hashed(name: str) -> str:
    digest: str = xxh3_64_hexdigest(name.encode())
    return digest
