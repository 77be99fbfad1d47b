"""Messages between the cell, the actors around it and the archive port."""

from __future__ import annotations

from typing import Annotated, ClassVar, TypeAlias

from msgspec import Meta

from mesh.actors.actor import Message
from mesh.stamp import Stamp
from peers.documents.content import Lack
from peers.engine.pages.document import Document
from peers.storage.ledger.extent import Extent
from peers.storage.wire_messages import StoredPage

CpuSeconds: TypeAlias = Annotated[float, Meta(ge=0, le=600)]  # no process is let work for so long


class StorePage(Message, frozen=True):
    """Controller or importer to cell: keep this page on every live peer of its team."""

    page: StoredPage


class PageStored(Message, frozen=True):
    """Cell to the giver of a page: it is durable here and on the live standbys."""

    url: str
    stamp: Stamp
    is_new: bool = True  # False: exactly this version was here before


class PageKept(Message, frozen=True):
    """Cell to auditor: this page, visited by another member, is in the sample to be looked at again."""

    page: StoredPage
    visitor: str  # that member


class WatchHosts(Message, frozen=True):
    """Auditor to cell: from now on tell of every page that others bring of these hosts, and of no others."""

    hosts: frozenset[str]


class HostVisited(Message, frozen=True):
    """Cell to auditor: a page of this host was brought by the member that says it has visited it."""

    host: str
    visitor: str


class CountUnindexed(Message, frozen=True):
    """Importer to cell: how far is the index behind? Answered by `UnindexedCounted`."""


class UnindexedCounted(Message, frozen=True):
    """Cell to importer: so many pages are here and not in a durable commit of the index."""

    pages: int


class LinkTextsChanged(Message, frozen=True):
    """Controller to cell: of the links to this page, which may be stored here, others are known by now."""

    url: str
    slot: int


class AppendRecords(Message, frozen=True):
    """Cell to archive: append and sync. Answered by `RecordsAppended` (or never, on a full disk)."""

    url: str
    stamp: Stamp
    records: bytes


class RecordsAppended(Message, frozen=True):
    """Archive to cell: the records are durable at this place."""

    url: str
    stamp: Stamp
    segment: int
    offset: int  # bytes
    length: int  # bytes


class ReadRecords(Message, frozen=True):
    """Cell to archive: read back the records at a place. Answered by `RecordsRead`."""

    url: str
    stamp: Stamp
    segment: int
    offset: int
    length: int
    checksum: int  # XXH3-64 of what was appended there


class RecordsRead(Message, frozen=True):
    """Archive to cell; empty when the place cannot be read or has other bytes than were appended."""

    url: str
    stamp: Stamp
    records: bytes


class AppendBulk(Message, frozen=True):
    """Cell to archive: append all these, each whole records, and sync once. Answered by `BulkAppended`."""

    ticket: int
    records: tuple[memoryview, ...]  # of one or more records each


class BulkAppended(Message, frozen=True):
    """Archive to cell: where each is now; None for bytes that are not whole records, and not kept."""

    ticket: int
    extents: tuple[Extent | None, ...]


class ReadExtents(Message, frozen=True):
    """Cell to archive: read back many places at once. Answered by `ExtentsRead`."""

    ticket: int
    extents: tuple[Extent, ...]
    checksums: tuple[int, ...]  # XXH3-64 of what was appended there


class ExtentsRead(Message, frozen=True):
    """Archive to cell: the records there, one after the other, without those not as they were appended."""

    ticket: int
    bulk: bytes
    are_sound: tuple[bool, ...]  # for each place asked


class RemoveSegments(Message, frozen=True):
    """Promise of the cell to the archive: nothing refers to these any more. Answered by `SegmentsRemoved`."""

    is_promise: ClassVar[bool] = True
    segments: tuple[int, ...]


class SegmentsRemoved(Message, frozen=True):
    """Archive to cell: they are gone."""

    segments: tuple[int, ...]


class ParseRecords(Message, frozen=True):
    """Cell to parser, after a restart: read the document of a page that was kept but not yet indexed."""

    url: str
    stamp: Stamp
    records: bytes
    is_unread: bool = False  # of a document that has ended its process the text is not read again


class RecordsParsed(Message, frozen=True):
    """Parser to cell; None when there is nothing to index."""

    url: str
    stamp: Stamp
    document: Document | None  # without anchors
    lack: Lack | None = None  # why a document has no text
    is_barred: bool = False  # its site asks that no copy of it be shown, or nothing of its text
    base: str = ""  # canonical URL that its links are relative to; "" for its own
    cpu_s: CpuSeconds = 0.0  # that it took
    icon: str = ""  # canonical URL of the icon that it names for its site; "" for none


class RecordsRefused(Message, frozen=True):
    """Archive to cell: these are no whole WARC records; they are not kept, and asking again will not help."""

    url: str
    stamp: Stamp


class PageRefused(Message, frozen=True):
    """Cell to the giver of a page: it cannot be kept, as its records are not whole; it is done with."""

    url: str
    stamp: Stamp
