"""Whether a host is another name of a second one, by the texts of pages of both. Pure.

A host is an *alias* of another, its representative, when what it has is there under the same paths with the
same texts. Only that counts. An address that two names share says nothing: many sites are on one machine.
Nor does a home page that they share, as names do that wait for a buyer or whose server was never set up, nor
some pages of a licence or a manual. So pages are compared that have different texts, of all folders of the
host, and nearly all of them have to be there. A host that has less than its representative may be its alias,
not the other way round: nothing would be lost of the one, and something of the other.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from enum import Enum, auto
from typing import Final, NamedTuple

from mesh.domains import may_speak_for
from mesh.urls import host_of, is_canonical, origin_of
from peers.crawler.model.url_rows import UrlRow

SAMPLE_MAX: Final = 16  # pages that are compared
SAMPLE_MIN: Final = 8  # with fewer that differ nothing is said of a host, and nothing would be saved
# Of so many pages one may be another: they were visited at different times.
ONE_UNLIKE_IN: Final = 8
UNKNOWN: Final = 0  # a mark: nobody has seen a page there so far
NO_PAGE: Final = 1 << 32  # a mark: that was visited, and there is none
_WWW: Final = "www."
_MAY_COME: Final = frozenset(("F408", "F425", "F429"))


class Sampled(NamedTuple):
    """A page of a host that is compared."""

    url: str
    mark: int  # of its title and text, see `visit_memory`
    depth: int
    visited_s: float


class AliasVerdict(Enum):
    """The judgement on two hosts by the pages known so far."""

    ALIAS = auto()
    OTHER = auto()
    OPEN = auto()  # too little of the representative was visited


# --- Names ---


def is_preferred(name: str, other: str) -> bool:
    """Tell which of two hosts with one site represents it; the same on all peers, by the names alone.

    Neither does of two registrable domains: a stranger who has the same pages need not have the same ones
    tomorrow, and what he has would be the site. Their pages are copies, of which one is shown (`copies`).

    Else a name rather than an address, as some servers want to be asked by name; the shorter one, `www.` not
    counted; without that. How many link to it would be a better measure, but changes while the web is
    crawled, and would have to be agreed upon.
    """
    return order_of(name) < order_of(other) and may_speak_for(name, other)


def order_of(name: str) -> tuple[bool, int, str, bool]:
    """Return the sort key of hosts with one site, their representative first."""
    is_address = name.startswith("[") or name.replace(".", "").isdigit()
    plain = plain_name(name) or name
    return is_address, len(plain), plain, plain != name


def is_name(name: str) -> bool:
    """Is it a host as URLs have them?"""
    url = f"http://{name}/"
    return is_canonical(url) and host_of(url) == name


def plain_name(host: str) -> str | None:
    """Return the name of a host without `www.`; None when it has none."""
    name = host.removeprefix(_WWW)
    return name if name != host and "." in name else None


def moved(url: str, other: str) -> str | None:
    """Return where a page is at another host; None when there is no such URL."""
    scheme, _, rest = url.partition("://")
    there = f"{scheme}://{other}{rest[len(host_of(url)) :]}"
    return there if is_canonical(there) and host_of(there) == other else None


# --- Pages ---


def mark_in(row: UrlRow | None) -> int:
    """Return the mark of a page that is told to a peer with a page under the same path."""
    if row is None or row.visit == 0:
        return UNKNOWN
    if row.is_stored:
        return row.memory.text
    outcome = row.outcome
    is_refused = outcome.startswith("F4") and outcome not in _MAY_COME
    return NO_PAGE if outcome[0] == "D" or is_refused or outcome == "Xrobots" else UNKNOWN


def sample_of(pages: Iterable[Sampled]) -> list[Sampled]:
    """Choose the pages to compare: home pages, then of each folder in turn, the first pages first.

    No text stands in it twice: where all pages say the same, it is what a server says of all that it has not.
    """
    by_folder: dict[str, list[Sampled]] = defaultdict(list)
    for page in pages:
        by_folder[_folder_of(page.url)].append(page)
    chosen: dict[int, Sampled] = {}
    folders = [by_folder[name] for name in sorted(by_folder)]
    for place in range(max(map(len, folders), default=0)):
        for folder in folders:
            if place < len(folder) and len(chosen) < SAMPLE_MAX:
                chosen.setdefault(folder[place].mark, folder[place])
    return list(chosen.values())


def _folder_of(url: str) -> str:
    """The first folder of a path; that of a home page comes before all."""
    path = url[len(origin_of(url)) :]
    return "" if path == "/" else path[: path.find("/", 1) + 1] or "/"


def judge(mine: Sequence[int], told: Sequence[int]) -> AliasVerdict:
    """Tell whether a host is an alias of the one that these marks were told of."""
    alike, unlike = _counts(mine, told)
    may_differ = len(mine) // ONE_UNLIKE_IN
    if unlike > may_differ:
        return AliasVerdict.OTHER
    return (
        AliasVerdict.ALIAS
        if len(mine) >= SAMPLE_MIN and alike >= len(mine) - may_differ
        else AliasVerdict.OPEN
    )


def is_alias_still(mine: Sequence[int], told: Sequence[int]) -> bool:
    """Tell whether a host is to stay an alias: three of four pages are still as at its representative."""
    alike, unlike = _counts(mine, told)
    return alike >= 3 * unlike


def _counts(mine: Sequence[int], told: Sequence[int]) -> tuple[int, int]:
    pairs = list(zip(mine, told, strict=True))
    return sum(own == other for own, other in pairs), sum(other not in (own, UNKNOWN) for own, other in pairs)
