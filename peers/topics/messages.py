"""The message of the controller to the topics of its peer."""

from __future__ import annotations

from typing import NamedTuple

from mesh.actors.actor import Message


class VisitedPage(NamedTuple):
    """A visit of a page of the sites of a topic, that found it there."""

    slot: int
    page: bytes  # its fingerprint
    slice: int
    keys: tuple[bytes, ...]  # of the topics that look at its site
    content: int = 0  # `content_digest`; 0 for none, or not known
    levels: tuple[tuple[bytes, int], ...] = ()  # of the topics that it has strings of
    is_unchanged: bool = False  # so its server says: content and levels are as before


class PagesVisited(Message, frozen=True):
    """Controller to topics: pages that were visited, durable on their teams."""

    visits: tuple[VisitedPage, ...]
