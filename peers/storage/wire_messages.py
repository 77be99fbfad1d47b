"""How a page gets to the cells of its team, and from one of them to a gateway."""

from __future__ import annotations

from typing import Annotated, ClassVar, Final, TypeAlias

import msgspec
from msgspec import Meta

from mesh.actors.actor import Message
from mesh.stamp import Stamp, VisitNumber
from mesh.urls import URL_CHARS_MAX
from mesh.wire_fields import Count, Slot, Url
from peers.engine.pages.document import Document
from peers.engine.pages.linkers import MOVES_MAX

VERSIONS_TOLD_MAX: Final = 1_000  # of one page
PAGES_CHECKED_MAX: Final = 200  # at once: 20 us each

# Where a page is from then on, of a version by which it has moved for good; else "".
MovedTo: TypeAlias = Annotated[str, Meta(max_length=URL_CHARS_MAX)]


class StoredPage(Message, frozen=True, array_like=True):
    """A page as it is kept: its WARC records ready to be appended, and the document to index."""

    url: Url
    slot: Slot
    fetched_at: float  # seconds since the epoch
    status: Annotated[int, Meta(ge=0, le=999)]
    records: bytes  # gzip members: response, request
    document: Document | None = None  # None when the page is not to be found: gone, or not to be indexed
    visit: VisitNumber = 0  # see `mesh.stamp`
    moved_to: MovedTo = ""

    @property
    def stamp(self) -> Stamp:
        return Stamp(self.visit, self.fetched_at)


class ReplicatePage(Message, frozen=True, array_like=True, tag=30):
    """An owner's cell to a standby's: keep this too. Repeated until answered."""

    waits_for_company: ClassVar[bool] = True
    page: StoredPage


class PageReplicated(Message, frozen=True, array_like=True, tag=31):
    """Promise of a standby: the page is in its archive and will be in its index."""

    is_promise: ClassVar[bool] = True
    waits_for_company: ClassVar[bool] = True
    url: Url
    stamp: Stamp


class PageNotReplicated(Message, frozen=True, array_like=True, tag=39):
    """A standby to its owner: my disk is full, count it without me; I answer for its slot no more."""

    url: Url
    stamp: Stamp


class ReadPage(Message, frozen=True, array_like=True, tag=34):
    """A gateway to the cell of the page's owner: give me the newest version that shows the page."""

    request: Count
    url: Url
    at_s: float = 0.0  # instead the one of that time, seconds since the epoch; 0.0 for the newest


class PageRead(Message, frozen=True, array_like=True, tag=35):
    """The cell's answer; `records` is empty when it does not have the page."""

    request: Count
    url: Url
    fetched_at: float
    records: bytes
    gone_at: float = 0.0  # when a later visit found that the page is not there any more; 0.0 while it is


class ToldVersion(msgspec.Struct, frozen=True, array_like=True):
    """A version of a page that a cell keeps."""

    fetched_at: float  # seconds since the epoch
    status: Annotated[int, Meta(ge=0, le=999)]
    visit: VisitNumber
    has_content: bool  # it shows the page, and not only that it was not there
    n_bytes: Count  # of its records, packed
    moved_to: MovedTo = ""


class ListVersions(Message, frozen=True, array_like=True, tag=75):
    """A gateway to the cells that keep a page: which versions do you have?"""

    request: Count
    url: Url


class VersionsListed(Message, frozen=True, array_like=True, tag=76):
    """The cell's answer, the newest first; none of a page that it does not have, or that is taken down."""

    request: Count
    url: Url
    versions: Annotated[tuple[ToldVersion, ...], Meta(max_length=VERSIONS_TOLD_MAX)]
    is_cut: bool = False  # there are more
    moved_from: Annotated[tuple[Url, ...], Meta(max_length=MOVES_MAX)] = ()  # URLs where it was before


class CheckPages(Message, frozen=True, array_like=True, tag=28):
    """A gateway to the cell of the owner of some pages: which of them can you show?"""

    request: Count
    urls: Annotated[tuple[Url, ...], Meta(max_length=PAGES_CHECKED_MAX)]


class PagesChecked(Message, frozen=True, array_like=True, tag=29):
    """The cell's answer, of each page in the order of the question."""

    request: Count
    are_stored: Annotated[tuple[bool, ...], Meta(max_length=PAGES_CHECKED_MAX)]
