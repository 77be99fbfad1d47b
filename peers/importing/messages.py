"""Messages between the HTTP port and the importer."""

from __future__ import annotations

from typing import Annotated, Final

import msgspec
from msgspec import Meta

from mesh.actors.actor import Message
from mesh.stamp import Stamp, VisitNumber
from mesh.wire_fields import Url
from peers.crawler.model.wire_messages import FoundLink
from peers.engine.pages.document import Document
from peers.importing.wire_messages import PAGE_LINKS_MAX

PAGES_MAX: Final = 1_024  # in one order

STORED: Final = "stored"
KNOWN: Final = "known"  # exactly this version was there before
LATE: Final = "late"  # not durable so far: to be given again
REFUSED: Final = "refused: "  # and why


class ImportedPage(msgspec.Struct, frozen=True, array_like=True):
    """A page of a file as the command hands it over: read, taken apart and packed."""

    url: Url
    fetched_at: float  # seconds since the epoch
    status: Annotated[int, Meta(ge=0, le=999)]
    records: bytes  # gzip members of WARC records
    document: Document | None  # without link texts; None when it is not to be indexed
    links: Annotated[tuple[FoundLink, ...], Meta(max_length=PAGE_LINKS_MAX)] = ()
    visit: VisitNumber = 0  # that found it, where the file tells; see `mesh.stamp`

    @property
    def stamp(self) -> Stamp:
        return Stamp(self.visit, self.fetched_at)


class ImportPages(Message, frozen=True):
    """HTTP to importer: have these kept by their owners. Answered by `PagesImported` or `ImportDeferred`."""

    ticket: int
    pages: tuple[ImportedPage, ...]


class PagesImported(Message, frozen=True):
    """Importer to HTTP: the outcome for each page, in the order given."""

    ticket: int
    peer: str  # that was asked
    outcomes: tuple[str, ...]  # STORED, KNOWN, LATE, or REFUSED with a reason


class ImportDeferred(Message, frozen=True):
    """Importer to HTTP: not now, ask again. The peer has just started, or too much is on its way."""

    ticket: int
    reason: str
