"""How a page of a file gets from the importer that was given it to the one of its owner."""

from __future__ import annotations

from typing import Annotated, ClassVar, Final

from msgspec import Meta

from mesh.actors.actor import Message
from mesh.wire_fields import Count
from peers.crawler.model.wire_messages import FoundLink
from peers.storage.wire_messages import StoredPage

PAGE_LINKS_MAX: Final = 6_000  # links of one page, as `parser.LINKS_MAX` of the crawler


class ImportPage(Message, frozen=True, array_like=True, tag=36):
    """An importer to the importer of the slot's owner: keep this page of a file. Repeated until answered.

    Who does not own the slot does not answer: soon both have the same table.
    """

    number: Count  # the sender's for it
    page: StoredPage
    links: Annotated[tuple[FoundLink, ...], Meta(max_length=PAGE_LINKS_MAX)] = ()


class PageImported(Message, frozen=True, array_like=True, tag=37):
    """Promise of the owner: its team keeps the page and will not fetch it, and its links are on their way."""

    is_promise: ClassVar[bool] = True
    number: Count
    is_new: bool = True  # False: exactly this version was there already


class ImportRefused(Message, frozen=True, array_like=True, tag=38):
    """The owner to an importer: that page cannot be kept, and asking again will not help."""

    number: Count
    reason: Annotated[str, Meta(max_length=200)]
