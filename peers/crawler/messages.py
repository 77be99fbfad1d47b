"""What the controller says to the ports of its peer, and they to it."""

from __future__ import annotations

from mesh.actor import Message
from mesh.document import Document
from mesh.messages import FoundLink


class FetchPage(Message, frozen=True):
    """Controller to fetcher: get this URL. Answered by `PageFetched` or `FetchFailed`."""

    url: str


class PageFetched(Message, frozen=True):
    """Fetcher to controller: the server's answer, whatever its status."""

    url: str
    status: int
    headers: tuple[tuple[str, str], ...]  # as received, names lower-case
    body: bytes  # decoded
    ip: str
    fetched_at: float  # seconds since the epoch
    seconds: float  # from the request to the last byte
    bytes_received: int
    request: bytes = b""  # head of the request as sent, for the archive
    response_head: bytes = b""  # status line and headers as received, for the archive

    def header(self, name: str) -> str | None:
        """The first header of that lower-case name."""
        return next((value for key, value in self.headers if key == name), None)


class FetchFailed(Message, frozen=True):
    """Fetcher to controller: no answer, and why."""

    url: str
    reason: str  # a `failures.FailureReason`
    detail: str = ""
    is_final: bool = False  # asking again will not help: no such name, a private address


class ParsePage(Message, frozen=True):
    """Controller to parser: take this page apart. Answered by `PageParsed` or `ParseFailed`."""

    page: PageFetched


class PageParsed(Message, frozen=True):
    """Parser to controller: what the page says, and its WARC records ready to be kept."""

    url: str
    records: bytes  # gzip members: response, request
    document: Document | None  # without anchors; None when the page asks not to be indexed
    links: tuple[FoundLink, ...]  # canonical, without nofollow; depth 0, the controller knows it


class ParseFailed(Message, frozen=True):
    """Parser to controller: not a page (binary, over a limit), and why."""

    url: str
    reason: str


class RecordPage(Message, frozen=True):
    """Controller to recorder, when a trace is kept: a page that was fetched and its links."""

    url: str
    fetched_at: float
    seconds: float
    n_bytes: int
    links: tuple[str, ...]
