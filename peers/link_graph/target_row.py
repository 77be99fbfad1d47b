"""The row of a page with the links to it from one registrable domain, and how many there are of all.

    "t" fingerprint of the page(16) domain(8) -> TargetRow

It lies at the slot of the page. Of a domain the `SOURCES_MAX` links are kept whose pages have the smallest
fingerprints, of a page the rows of the `DOMAINS_MAX` domains with the smallest digests: so copies that join
in any order agree, nobody fills the row of another domain, and from how small these are follows how many
there were, since both are spread evenly.

    n = (k - 1) / (k-th smallest / 2^64)    where k are kept, and there are more; off by a sixth for k = 32

A link that has gone stays as a mark of that, so that no late word brings it back, for `GONE_S`.

Source of the estimate: Bar-Yossef et al., "Counting distinct elements in a data stream", RANDOM 2002.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise
from typing import Annotated, Final, NamedTuple

import msgspec
from msgspec import Meta
from msgspec.structs import replace
from xxhash import xxh3_64_digest

from mesh.domains import registrable_domain
from mesh.stamp import Stamp, VisitNumber
from mesh.urls import URL_CHARS_MAX, fingerprint, host_of, is_canonical
from peers.link_graph.source_row import MARK_BYTES, GraphText, GraphUrl

SOURCES_MAX: Final = 32  # links of one domain to one page
DOMAINS_MAX: Final = 256  # domains with links to one page
GONE_S: Final = 30 * 86_400.0
DOMAIN_BYTES: Final = 8
NAME_BYTES: Final = 1 + MARK_BYTES + DOMAIN_BYTES
_NAME: Final = b"t"
_HASHES: Final = 1 << 64


class SourceLink(msgspec.Struct, frozen=True, array_like=True):
    """A page that links here, or that did."""

    url: GraphUrl
    visit: VisitNumber
    fetched_at: float  # seconds since the epoch, when that version was fetched
    title: GraphText = ""
    text: GraphText = ""  # of the link
    is_there: bool = True

    @property
    def stamp(self) -> Stamp:
        return Stamp(self.visit, self.fetched_at)


class TargetRow(msgspec.Struct, frozen=True, array_like=True):
    """The links of one domain to a page."""

    # Of the page, canonical; "" where nobody has told more than that a link has gone.
    url: Annotated[str, Meta(max_length=URL_CHARS_MAX)]
    links: Annotated[tuple[SourceLink, ...], Meta(max_length=SOURCES_MAX)]  # by fingerprint


class LinkTotal(NamedTuple):
    """The number of links to a page, of domains that have them, and whether both were counted."""

    n_links: int
    n_domains: int
    is_exact: bool


def domain_of(source: str) -> bytes:
    """Return the digest of the registrable domain of a canonical URL."""
    digest: bytes = xxh3_64_digest(registrable_domain(host_of(source)).encode())
    return digest


def name_of_target(mark: bytes, domain: bytes) -> bytes:
    """Return the name of a row in its slot; without a domain how all rows of a page begin."""
    return _NAME + mark + domain


def is_name_of_target(name: bytes) -> bool:
    return len(name) == NAME_BYTES and name[:1] == _NAME


def mark_in(name: bytes) -> bytes:
    """Return the fingerprint of the page in the name of a row."""
    return name[1 : 1 + MARK_BYTES]


def target_row_bytes(row: TargetRow) -> bytes:
    return _encode(row)


def target_row_in(value: bytes) -> TargetRow:
    """Read a row.

    Raises:
      ValueError: it is none.
    """
    try:
        return _decode(value)
    except (msgspec.MsgspecError, RecursionError) as error:
        raise ValueError(f"no links to a page: {error}") from error


def join_target_rows(one: bytes, other: bytes) -> bytes:
    """Join two values of a row. ValueError for bytes that are none."""
    a, b = target_row_in(one), target_row_in(other)
    links = a.links
    for link in b.links:
        links = _with_link(links, link)
    return target_row_bytes(TargetRow(max(a.url, b.url), links))


def _with_link(links: tuple[SourceLink, ...], link: SourceLink) -> tuple[SourceLink, ...]:
    """Put a link among others in the order of fingerprints: of two of one page the newer, the first ones."""
    for at, each in enumerate(links):
        if each.url == link.url:
            newest = max(each, link, key=_rank)
            return (*links[:at], newest, *links[at + 1 :])
    at = bisect_left(links, fingerprint(link.url), key=_mark)
    return (*links[:at], link, *links[at:])[:SOURCES_MAX]


def _mark(link: SourceLink) -> bytes:
    return fingerprint(link.url)


def is_target_row(slot: int, name: bytes, row: TargetRow, slot_of: Callable[[str], int]) -> bool:
    """Is this a row in its place, as an honest peer writes it?

    Args:
      slot_of: the slot of a host.
    """
    if not row.links or not all(is_canonical(link.url) and link.stamp.is_sound for link in row.links):
        return False
    domain, marks = name[1 + MARK_BYTES :], [fingerprint(link.url) for link in row.links]
    if any(domain_of(link.url) != domain for link in row.links) or any(a >= b for a, b in pairwise(marks)):
        return False
    if not row.url:
        return not any(link.is_there for link in row.links)
    is_of_page = is_canonical(row.url) and fingerprint(row.url) == mark_in(name)
    return is_of_page and slot == slot_of(host_of(row.url))


def purged(row: TargetRow, now: float, is_hidden: Callable[[str], bool]) -> TargetRow:
    """Return a row without links of hidden pages, and without marks that have been kept long enough."""
    kept = tuple(
        link
        for link in row.links
        if not is_hidden(link.url) and (link.is_there or link.fetched_at + GONE_S > now)
    )
    return row if len(kept) == len(row.links) else replace(row, links=kept)


def total_of(rows: Sequence[tuple[bytes, TargetRow]]) -> LinkTotal:
    """Count the links of all rows of a page, or estimate their number where not all are kept.

    Args:
      rows: with their names, in the order of these.
    """
    counts = [_count(row) for _, row in rows]
    n_links, n_domains = sum(n for n, _ in counts), sum(n > 0 for n, _ in counts)
    is_exact = all(is_whole for _, is_whole in counts)
    if len(rows) < DOMAINS_MAX:
        return LinkTotal(n_links, n_domains, is_exact)
    largest = int.from_bytes(rows[DOMAINS_MAX - 1][0][1 + MARK_BYTES :], "big")
    scale = (DOMAINS_MAX - 1) * _HASHES / max(1, largest) / DOMAINS_MAX
    return LinkTotal(max(n_links, round(n_links * scale)), max(n_domains, round(n_domains * scale)), False)


def by_domains(target: str, rows: Iterable[TargetRow]) -> list[SourceLink]:
    """Return the links to a page: the newest of each domain, then the next of each, its own domain last."""
    own = domain_of(target)
    ranked: list[tuple[bool, int, float, str, SourceLink]] = []
    for row in rows:
        links = sorted((link for link in row.links if link.is_there), key=lambda each: -each.fetched_at)
        for rank, link in enumerate(links):
            ranked.append((domain_of(link.url) == own, rank, -link.fetched_at, link.url, link))
    return [each[-1] for each in sorted(ranked, key=lambda each: each[:4])]


def _count(row: TargetRow) -> tuple[int, bool]:
    """Return how many links there are of a domain, and whether these are all."""
    n_there = sum(link.is_there for link in row.links)
    if len(row.links) < SOURCES_MAX:
        return n_there, True
    largest = int.from_bytes(fingerprint(row.links[-1].url)[:8], "big")
    n_all = (SOURCES_MAX - 1) * _HASHES / max(1, largest)
    return max(n_there, round(n_all * n_there / SOURCES_MAX)), False


def _rank(link: SourceLink) -> tuple[Stamp, bool, str, str]:
    return link.stamp, not link.is_there, link.title, link.text


_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(TargetRow).decode
