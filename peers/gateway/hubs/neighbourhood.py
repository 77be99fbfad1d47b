"""The pages around the first results of a search, put together from the answers of their owners. Pure.

The results are the root set of Kleinberg 1999; to them come the pages that link to them, at most 50 to each,
and those that two or more of them link to, the most linked ones first.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Final

from mesh.urls import fingerprint
from peers.gateway.model.messages import NeighboursGathered
from peers.link_graph.wire_messages import MARKS_NAMED_MAX, MarkedPage

LINKED_MIN: Final = 2  # results that link to a page, for it to belong to the neighbourhood


class Neighbourhood:
    """Pages and the links between them.

    Attributes:
      titles: of the pages that have one, by URL.
    """

    def __init__(self, titles: dict[str, str], around: NeighboursGathered) -> None:
        """Begin. Args: titles: of the results, by URL. around: of these."""
        self.titles = dict(titles)
        self._roots = list(titles)
        pages = [page for told in around.told for page in told.pages]
        self._incoming = [(each.url, page.url) for page in pages for each in page.sources]
        for page in pages:
            for each in page.sources:
                if each.title:
                    self.titles.setdefault(each.url, each.title)
        self._outgoing = [(page.url, each) for page in pages for each in page.targets]

    def unnamed(self) -> tuple[MarkedPage, ...]:
        """Return the pages that several results link to, whose URLs are not known yet."""
        known = set(map(fingerprint, self._known()))
        linked = Counter(target for _, target in self._outgoing if target.mark not in known)
        several = [(-n, target.slot, target.mark) for target, n in linked.items() if n >= LINKED_MIN]
        return tuple(MarkedPage(slot, mark) for _, slot, mark in sorted(several)[:MARKS_NAMED_MAX])

    def links(self, named: NeighboursGathered) -> Iterator[tuple[str, str]]:
        """Yield all links that are known. Args: named: the answers to `unnamed`."""
        urls = [*self._known(), *(url for told in named.told for url in told.named)]
        url_of = {fingerprint(url): url for url in urls}
        yield from self._incoming
        for source, target in self._outgoing:
            if target.mark in url_of:
                yield source, url_of[target.mark]

    def _known(self) -> Sequence[str]:
        return [*self._roots, *(source for source, _ in self._incoming)]
