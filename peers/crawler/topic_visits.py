"""The visits of a controller that count for a topic, until its peer's `topics` are told of them."""

from __future__ import annotations

from mesh.urls import fingerprint, host_of
from peers.crawler.model.messages import PageParsed
from peers.engine.pages.document import content_digest
from peers.topics.messages import PagesVisited, VisitedPage
from peers.topics.topic_list import TopicsInForce


class TopicVisits:
    """The visits that were not told yet.

    Attributes:
      topics: in force.
    """

    def __init__(self, topics: TopicsInForce) -> None:
        self.topics = topics
        self._waiting: list[VisitedPage] = []

    def __len__(self) -> int:
        return len(self._waiting)

    def visit_of(self, parsed: PageParsed, slot: int, at_s: float) -> VisitedPage | None:
        """Return a page that was read as a visit; None where it counts for no topic.

        Pages that ask not to be indexed count for none; nor do those that were read by another list.
        """
        marks, document = parsed.topics, parsed.document
        if marks is None or marks.digest != self.topics.digest or document is None:
            return None
        visit = self._visit(parsed.url, slot, at_s)
        if visit is None:
            return None
        return visit._replace(content=content_digest(document), levels=marks.levels)

    def add(self, visit: VisitedPage) -> None:
        """Have a visit told, now that its page is durable."""
        self._waiting.append(visit)

    def add_unchanged(self, url: str, slot: int, at_s: float) -> None:
        """Have the visit of a page told whose server says that it is as it was."""
        visit = self._visit(url, slot, at_s)
        if visit is not None:
            self._waiting.append(visit._replace(is_unchanged=True))

    def take(self) -> PagesVisited:
        """Return the visits that wait, which are told from now on."""
        told = PagesVisited(tuple(self._waiting))
        self._waiting.clear()
        return told

    def _visit(self, url: str, slot: int, at_s: float) -> VisitedPage | None:
        keys = self.topics.keys_of(host_of(url))
        if not keys:
            return None
        return VisitedPage(slot, fingerprint(url), self.topics.list.slice_at(at_s), tuple(keys))
