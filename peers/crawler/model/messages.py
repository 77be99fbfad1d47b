"""Messages of the controller with parser and recorder of its peer, and from it, the actor of aliases, the
fetcher and the lessor to each other; for controller and fetcher see `web_request`."""

from __future__ import annotations

from typing import Annotated, Final, NamedTuple

import msgspec
from msgspec import Meta

from mesh.actors.actor import Message
from mesh.stamp import Stamp
from peers.crawler.model.robots import SITEMAPS_MAX, RobotsLine, RobotsRules
from peers.crawler.model.settings import CrawlSettings
from peers.crawler.model.web_request import FailureReason, PageFetched
from peers.crawler.model.wire_messages import FoundLink
from peers.documents.content import Lack
from peers.engine.pages.document import Document
from peers.storage.messages import CpuSeconds
from peers.topics.topic_list import TopicMarks
from peers.watch.watched import PageWatch

# Raised when pages are read otherwise than before, so that unchanged ones are read anew when they are due.
PARSER_VERSION: Final = 1


class ParsePage(Message, frozen=True):
    """Controller to parser: take this page apart. Answered by `PageParsed` or `ParseFailed`."""

    page: PageFetched
    visit: int  # which one of the page it was, for its records and its document
    is_unread: bool = False  # of a document that has ended its process the text is not read again
    finds_ftp: bool = False  # links to directories of FTP servers are wanted as well

    @property
    def url(self) -> str:
        return self.page.url


class PageParsed(Message, frozen=True):
    """From the parser to the controller: the content of a page, and its WARC records ready to be kept."""

    url: str
    records: bytes  # gzip members: response, request
    document: Document | None  # without anchors; None when the page asks not to be indexed
    links: tuple[FoundLink, ...]  # canonical, without nofollow; depth 0, the controller knows it
    digest: Annotated[bytes, Meta(min_length=8, max_length=8)]  # XXH3-64, see `extraction`
    is_list: bool = False  # a sitemap: what is wanted of it are its links, and no records are made
    text_mark: Annotated[int, Meta(ge=0, lt=1 << 32)] = 0  # of title and text, see `visit_memory`
    text_shape: Annotated[int, Meta(ge=0, lt=1 << 32)] = 0  # of the text without its digits, see `traps`
    lack: Lack | None = None  # why a document has no text
    cpu_s: CpuSeconds = 0.0  # that it took
    is_fatal: bool = False  # its document has ended the process that read it
    site_code: str = ""  # by which the page says that its site was submitted; "" for none
    watched: PageWatch | None = None  # of the watch list; None when nothing is
    topics: TopicMarks | None = None  # None while no topic is counted


class ParseFailed(Message, frozen=True):
    """Parser to controller: not a page (in no coding it names, binary, over a limit), and why."""

    url: str
    reason: FailureReason
    cpu_s: CpuSeconds = 0.0  # that it took
    is_fatal: bool = False  # it has ended the process that took it apart


class ParseRobots(Message, frozen=True):
    """Controller to parser: read this robots.txt, for which the event loop has no time: `RobotsParsed`."""

    origin: str  # whose it is
    body: bytes
    agent: str  # product token
    found_at: str = ""  # what its sitemaps are relative to; "" when they are not wanted
    judged: str = ""  # a canonical URL: which line decides about it is wanted, too

    @property
    def url(self) -> str:
        return f"{self.origin}/robots.txt"


class RobotsParsed(Message, frozen=True):
    """From the parser to the controller: the rules of a robots.txt; an unreadable one forbids everything."""

    origin: str
    rules: RobotsRules
    sitemaps: Annotated[tuple[str, ...], Meta(max_length=SITEMAPS_MAX)] = ()  # canonical
    judged: str = ""  # as in the order
    line: RobotsLine | None = None  # that decides about it; None if none does
    cpu_s: CpuSeconds = 0.0  # that it took


class ChangeSettings(Message, frozen=True):
    """To the controller: crawl by these settings from now on.

    What has begun goes on; no clock of a host goes back; hosts that were given up, and URLs that were
    excluded, stay so.
    """

    settings: CrawlSettings


class WebReached(Message, frozen=True):
    """The runtime to the controller when it starts: hosts that were given up may be reached now.

    They are asked again if `how`, a digest of the settings by which the web is reached, is another one than
    in the last life. Pages that were visited before the `parser` was of that version are read as a whole when
    they are due, though their servers say that they are as they were.
    """

    how: bytes
    parser: int = PARSER_VERSION


class StopCrawl(Message, frozen=True):
    """The runtime to the controller before it closes: begin no more fetches."""


class RecordPage(Message, frozen=True):
    """Controller to recorder, when a trace is kept: a page that was fetched and its links."""

    url: str
    fetched_at: float
    seconds: float
    n_bytes: int
    links: tuple[str, ...]
    text_chars: tuple[int, ...] = ()  # length of the text of each link
    status: int = 200  # HTTP
    visit: int = 1


class WatchedSite(msgspec.Struct, frozen=True):
    """A submitted site, as far as the crawl goes by it; see `peers.submissions.submission`."""

    code: bytes
    proof: str  # the code as the site shows it
    url: str  # canonical, that was submitted
    is_open: bool  # judged, and not at its end
    needs_proof: bool
    is_begun: bool
    is_proven: bool
    is_known: bool
    pages_max: int
    tries: int
    visited: int
    admitted: frozenset[bytes]  # fingerprints of the pages that may be asked for


class WatchSites(Message, frozen=True):
    """Submissions to controller: so these sites stand, and the team knows it; those are gone."""

    sites: tuple[WatchedSite, ...]
    gone: tuple[bytes, ...] = ()  # codes


class SiteSeen(msgspec.Struct, frozen=True):
    """News of a submitted site; a field without any has its default."""

    code: bytes
    is_begun: bool = False
    is_known: bool = False
    is_proven: bool = False
    tries: int = 0
    tried_why: str = ""
    visited: int = 0
    end: int = 0  # 1 done, 2 refused
    end_why: str = ""
    admitted: tuple[bytes, ...] = ()  # pages that are to be asked for next


class SitesSeen(Message, frozen=True):
    """Controller to submissions: news of sites of its slots. Answered by `WatchSites`."""

    sites: tuple[SiteSeen, ...]


class PageLinked(NamedTuple):
    """Where a version of a page links to."""

    url: str
    slot: int
    stamp: Stamp
    title: str
    links: tuple[FoundLink, ...]  # none of a page that is gone, or asks not to be indexed


class PagesLinked(Message, frozen=True):
    """Controller or importer to link graph: these versions of pages are stored."""

    pages: tuple[PageLinked, ...]


class HostGrown(Message, frozen=True):
    """Controller to aliases: of this host more pages were seen; it may be compared with others again."""

    host: str


class CallAlias(Message, frozen=True):
    """Aliases to controller: this host is another name of that one, or of none any more."""

    host: str
    representative: str  # "" for none


class WantAddress(Message, frozen=True):
    """Fetcher to lessor: a host is to be asked at this address. Answered by `AddressLent`, maybe later."""

    network: str  # see `address_turns.network_of`
    delay_s: float
    is_held: bool  # there is a lease, which ends soon


class AddressLent(Message, frozen=True):
    """Lessor to fetcher: this peer alone may ask that address now."""

    network: str
    number: int  # of the lease
    after_s: float  # from when on; when it is not lent, before it is worth asking again
    seconds: float  # until its end; 0.0 when it is not lent, or nothing changes of a lease but `is_wanted`
    is_wanted: bool = False  # by other peers
    peers: int = 1  # that ask the address without knowing of each other, as nobody grants any turns


class LeaveAddress(Message, frozen=True):
    """Fetcher to lessor: others may have that address."""

    network: str
    number: int
    free_s: float  # after which it may be asked again


class LeasesLost(Message, frozen=True):
    """Lessor to fetcher: others may have any address by now."""
