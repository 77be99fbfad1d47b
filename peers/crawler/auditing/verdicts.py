"""Which members have invented pages: their texts differ, at many sites, from those that two others see.

Theory of operation
===================
A page changes, and servers answer some peers otherwise than others, by address, country or hour. So one page
that is not as its owner says means nothing, and neither do all pages of one site. A page *differs* only if
two members that its owner has not chosen have seen the same text as each other, and one that has next to
nothing in common with the owner's. The owner is *found out* when so many pages of the last day differ that

- they are of `DOMAINS_MIN` registrable domains at least, and at as many public addresses, and
- they are `SHARE_MIN` of all its pages that were looked at with a result: sites that answer by address are
  few, and whoever answers for a few sites can frame nobody that crawls others, too.
"""

from __future__ import annotations

from collections import defaultdict, deque
from typing import Final, NamedTuple

from mesh.counts import counted
from mesh.domains import registrable_domain
from mesh.urls import host_of
from peers.crawler.addresses.address_queues import network_of
from peers.crawler.addresses.addresses import is_public

DOMAINS_MIN: Final = 3
SHARE_MIN: Final = 0.25
REMEMBERED_S: Final = 86_400.0
REMEMBERED_MAX: Final = 1_000  # pages of a member
EVIDENCE_MAX: Final = 3  # URLs


class _Finding(NamedTuple):
    """A page of a member that was looked at once more."""

    at_s: float
    url: str
    place: str  # the network of a public address, else the domain
    differs: bool


class Verdicts:
    """The findings about each member."""

    def __init__(self) -> None:
        self._findings: defaultdict[str, deque[_Finding]] = defaultdict(lambda: deque(maxlen=REMEMBERED_MAX))
        self._suspects: set[str] = set()

    def is_suspect(self, peer: str) -> bool:
        """Was it found out within the last day, by its last page that differed?"""
        return peer in self._suspects

    def note_alike(self, peer: str, url: str, now: float) -> None:
        """A page was as the member has said."""
        self._note(peer, _Finding(now, url, "", differs=False))

    def note_differing(self, peer: str, url: str, ip: str, now: float) -> str:
        """Note a page that differs; return the evidence when the member is found out, else "".

        Args:
          ip: where its host is.
        """
        domain = registrable_domain(host_of(url))
        place = network_of(ip) if ip and is_public(ip) else domain
        self._note(peer, _Finding(now, url, place, differs=True))
        differing = [each for each in self._findings[peer] if each.differs]
        domains = {registrable_domain(host_of(each.url)) for each in differing}
        n_places = len({each.place for each in differing})
        is_often = len(differing) >= SHARE_MIN * len(self._findings[peer])
        if min(len(domains), n_places) < DOMAINS_MIN or not is_often:
            self._suspects.discard(peer)
            return ""
        self._suspects.add(peer)
        urls = " ".join(each.url for each in list(differing)[-EVIDENCE_MAX:])
        return (
            f"{len(differing)} of {counted(len(self._findings[peer]), 'page')}, at "
            f"{counted(len(domains), 'domain')}: {urls}"
        )

    def _note(self, peer: str, finding: _Finding) -> None:
        findings = self._findings[peer]
        findings.append(finding)
        while findings[0].at_s < finding.at_s - REMEMBERED_S:
            findings.popleft()
