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

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from mesh.domains import registrable_domain
from mesh.urls import host_of

CHANGE_MAX: Final = 1e-6  # L2
ROUNDS_MAX: Final = 50
_DIGITS: Final = 9  # of scores: what is behind them is noise, and must not order pages

_Scores = npt.NDArray[np.float64]


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
    rounds: int


def hubs_and_authorities(links: Iterable[tuple[str, str]], most: int) -> HubsAndAuthorities:
    """Score the pages of a graph. Args: links: URLs, from and to. most: pages of each list."""
    domain_of: dict[str, str] = {}
    across = sorted({link for link in links if _is_across(link, domain_of)})
    if not across:
        return HubsAndAuthorities([], [], 0, 0, 0)
    number_of = {url: number for number, url in enumerate(sorted({url for link in across for url in link}))}
    source = np.array([number_of[one] for one, _ in across])
    target = np.array([number_of[other] for _, other in across])
    given = Counter((domain_of[one], other) for one, other in across)
    had = Counter((one, domain_of[other]) for one, other in across)
    weights = np.array([1.0 / given[domain_of[one], other] for one, other in across])
    voices = np.array([1.0 / had[one, domain_of[other]] for one, other in across])
    n = len(number_of)
    hubs = authorities = np.full(n, n**-0.5)
    change, rounds = np.inf, 0
    while change > CHANGE_MAX and rounds < ROUNDS_MAX:
        before = authorities, hubs
        authorities = _of_length_1(np.bincount(target, weights * hubs[source], n))
        hubs = _of_length_1(np.bincount(source, voices * authorities[target], n))
        change = max(float(np.linalg.norm(authorities - before[0])), float(np.linalg.norm(hubs - before[1])))
        rounds += 1
    out, into = Counter(one for one, _ in across), Counter(other for _, other in across)
    urls = list(number_of)
    return HubsAndAuthorities(
        _first(urls, hubs, out, most), _first(urls, authorities, into, most), n, len(across), rounds
    )


def _is_across(link: tuple[str, str], domain_of: dict[str, str]) -> bool:
    for url in link:
        if url not in domain_of:
            domain_of[url] = registrable_domain(host_of(url))
    return domain_of[link[0]] != domain_of[link[1]]


def _of_length_1(values: npt.NDArray[Any]) -> _Scores:
    scaled: _Scores = values / np.linalg.norm(values)
    return scaled


def _first(urls: Sequence[str], scores: _Scores, n_links: Mapping[str, int], most: int) -> list[LinkedPage]:
    rounded = np.round(scores, _DIGITS).tolist()
    ranked = sorted((-score, url) for score, url in zip(rounded, urls, strict=True) if score > 0)
    return [LinkedPage(url, -score, n_links[url]) for score, url in ranked[:most]]
