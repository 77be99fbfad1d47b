"""Hubs and authorities of a small graph of pages. Pure.

    x_p = sum of w y_q over links q -> p,  y_p = sum of v x_q over links p -> q

Both are scaled to length 1 after each round, until none changes either by more than `CHANGE_MAX`, or after
`ROUNDS_MAX`. Links within a registrable domain do not count; of k links from pages of a domain to a
page each has w = 1/k, and of k links from a page to pages of a domain each v = 1/k: a domain has one voice,
however many pages of one template it has. Sources: Kleinberg, "Authoritative sources in a hyperlinked
environment", 1999; Li, Yan, Wang 2004, section 10.2; the voices Bharat and Henzinger, "Improved algorithms
for topic distillation in a hyperlinked environment", 1998.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

import numpy as np

from mesh.domains import registrable_domain
from mesh.urls import host_of
from peers.kernel import Floats, Ints

CHANGE_MAX: Final = 1e-6  # L2
ROUNDS_MAX: Final = 50
_DIGITS: Final = 9  # of scores: what is behind them is noise, and must not order pages


class HubScores(NamedTuple):
    """Of each page how good a hub and how good an authority it is, from 0; squares sum to 1."""

    hubs: Floats
    authorities: Floats
    rounds: int
    change: float  # in the last round, L2; of hubs or authorities, the larger one


class Voices(NamedTuple):
    """Of each link how much it counts: for the authority that it leads to, and for the hub that has it."""

    authority: Floats  # w
    hub: Floats  # v


class LinkedPage(NamedTuple):
    """A page with its score, and how many pages it links to, or link to it, as a hub or an authority."""

    url: str
    score: float  # above 0; the squares of all sum to 1
    n_links: int


class HubsAndAuthorities(NamedTuple):
    """The lists, the best first, ties by URL."""

    hubs: list[LinkedPage]
    authorities: list[LinkedPage]
    n_pages: int  # with links that count
    n_links: int


def hubs_and_authorities(links: Iterable[tuple[str, str]], most: int) -> HubsAndAuthorities:
    """Score the pages of a graph. Args: links: URLs, from and to. most: pages of each list."""
    domain_of: dict[str, str] = {}
    across = sorted({link for link in links if _is_across(link, domain_of)})
    if not across:
        return HubsAndAuthorities([], [], 0, 0)
    urls = sorted({url for link in across for url in link})
    number_of = {url: number for number, url in enumerate(urls)}
    source, target = np.array([[number_of[url] for url in link] for link in across]).T
    _, domain = np.unique([domain_of[url] for url in urls], return_inverse=True)
    found = hub_scores(len(urls), source, target, voices_of(source, target, domain))
    hubs = _first(urls, found.hubs, np.bincount(source, minlength=len(urls)), most)
    authorities = _first(urls, found.authorities, np.bincount(target, minlength=len(urls)), most)
    return HubsAndAuthorities(hubs, authorities, len(urls), len(across))


def hub_scores(
    n_pages: int,
    source: Ints,
    target: Ints,
    voices: Voices,
    change_max: float = CHANGE_MAX,
    rounds_max: int = ROUNDS_MAX,
) -> HubScores:
    """Iterate from equal scores. Args: source, target: the pages of each link, of which there is one."""
    hubs = authorities = np.full(n_pages, n_pages**-0.5)
    change, rounds = np.inf, 0
    while change > change_max and rounds < rounds_max:
        before = authorities, hubs
        authorities = _of_length_1(np.bincount(target, voices.authority * hubs[source], n_pages))
        hubs = _of_length_1(np.bincount(source, voices.hub * authorities[target], n_pages))
        change = max(float(np.linalg.norm(authorities - before[0])), float(np.linalg.norm(hubs - before[1])))
        rounds += 1
    return HubScores(hubs, authorities, rounds, change)


def voices_of(source: Ints, target: Ints, domain: Ints) -> Voices:
    """Give each domain one voice for a page, and each page one for a domain. Args: domain: of each page."""
    return Voices(_one_over_count(domain[source], target), _one_over_count(source, domain[target]))


def _one_over_count(one: Ints, other: Ints) -> Floats:
    """Return for each pair of numbers 1 over how often it is there."""
    pairs = one * (int(other.max(initial=0)) + 1) + other
    _, place, counts = np.unique(pairs, return_inverse=True, return_counts=True)
    share: Floats = 1.0 / counts[place]
    return share


def _is_across(link: tuple[str, str], domain_of: dict[str, str]) -> bool:
    for url in link:
        if url not in domain_of:
            domain_of[url] = registrable_domain(host_of(url))
    return domain_of[link[0]] != domain_of[link[1]]


def _of_length_1(values: Floats | Ints) -> Floats:
    scaled: Floats = values / np.linalg.norm(values)
    return scaled


def _first(urls: Sequence[str], scores: Floats, n_links: Ints, most: int) -> list[LinkedPage]:
    rows = zip(np.round(scores, _DIGITS).tolist(), urls, n_links.tolist(), strict=True)
    ranked = sorted((-score, url, n) for score, url, n in rows if score > 0)
    return [LinkedPage(url, -score, n) for score, url, n in ranked[:most]]
