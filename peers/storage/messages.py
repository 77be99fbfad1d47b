"""What is said between the cell, the actors around it and the archive port."""

from __future__ import annotations

from mesh.actor import Message
from mesh.document import Document
from mesh.messages import StoredPage


class StorePage(Message, frozen=True):
    """Controller to cell: keep this page on every live peer of its team."""

    page: StoredPage


class PageStored(Message, frozen=True):
    """Cell to controller: the page is durable here and on the live standbys."""

    url: str
    fetched_at: float


class StoreAnchors(Message, frozen=True):
    """Controller to cell: the texts of the links to this page of ours are now these."""

    url: str
    slot: int
    anchors: tuple[str, ...]


class AppendRecords(Message, frozen=True):
    """Cell to archive: append and sync. Answered by `RecordsAppended` (or never, on a full disk)."""

    url: str
    fetched_at: float
    records: bytes


class RecordsAppended(Message, frozen=True):
    """Archive to cell: the records are durable at this place."""

    url: str
    fetched_at: float
    segment: int
    offset: int  # bytes
    length: int  # bytes


class ReadRecords(Message, frozen=True):
    """Cell to archive: read back what is at a place. Answered by `RecordsRead`."""

    url: str
    fetched_at: float
    segment: int
    offset: int
    length: int


class RecordsRead(Message, frozen=True):
    """Archive to cell; empty when the place cannot be read, which is counted."""

    url: str
    fetched_at: float
    records: bytes


class ParseRecords(Message, frozen=True):
    """Cell to parser, after a restart: what is indexed of a page that was kept but not yet indexed."""

    url: str
    fetched_at: float
    records: bytes


class RecordsParsed(Message, frozen=True):
    """Parser to cell; None when there is nothing to index."""

    url: str
    fetched_at: float
    document: Document | None  # without anchors


class DiskFilled(Message, frozen=True):
    """Archive to cell and controller: no space is left; fetching stops, search goes on."""

    detail: str


class RecordsRefused(Message, frozen=True):
    """Archive to cell: these are no whole WARC records; they are not kept, and asking again will not help."""

    url: str
    fetched_at: float


class PageRefused(Message, frozen=True):
    """Cell to controller: the page cannot be kept, as its records are not whole; it is done with."""

    url: str
    fetched_at: float
