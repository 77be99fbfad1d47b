"""One question to a web server and its outcome: request, response or failure, as plain values.

Nothing here does I/O; `fetcher.py` does. The controller sends `FetchPage` and gets `PageFetched` or
`FetchFailed`; the archive turns a `PageFetched` into WARC records with `response_head` and `request_head`.
"""

from __future__ import annotations

from datetime import UTC
from email.utils import parsedate_to_datetime
from enum import StrEnum
from math import inf
from typing import Final, TypeAlias

from mesh.actors.actor import Message
from mesh.urls import canonical
from peers.crawler.model.address_rules import AddressRules
from peers.documents.formats import DOCUMENT_MEDIA_TYPES, TEXT_MEDIA_TYPES, UNKNOWN_MEDIA_TYPES

# What came with these is the page: as it is, or as somebody on the way has changed it (RFC 9110, 15.3.4).
PAGE_STATUSES: Final = frozenset((200, 203))
USER_AGENT: Final = "tianmesh/0.1"
ROBOTS_TAG: Final = "x-robots-tag"  # says to robots what the meta element of a page may say
PAGE_MEDIA_TYPES: Final = ("text/html", "application/xhtml+xml", "text/plain")
# What is fetched: pages, and documents of other formats. What nobody says the type of is read if it begins
# as one of those does.
WANTED_MEDIA_TYPES: Final = (
    *dict.fromkeys((*PAGE_MEDIA_TYPES, *TEXT_MEDIA_TYPES, *DOCUMENT_MEDIA_TYPES, *UNKNOWN_MEDIA_TYPES)),
)


class FailureReason(StrEnum):
    """Why there is no page. The reaction of the controller (back off, give up) is its own policy."""

    URL = "url"  # not canonical http(s), or a port no web server should have
    DNS = "dns"  # there is no such name
    DNS_TEMPORARY = "dns_temporary"  # the name server failed or did not answer in time
    DNS_OPEN = "dns_open"  # not asked: the name server has not answered so far
    PRIVATE_ADDRESS = "private_address"  # the name leads to an address of ours or of nobody
    REFUSED = "refused"
    UNREACHABLE = "unreachable"
    POLICY = "policy"  # not asked: the policy of the mesh leaves out, or lets wait, what is at its addresses
    ADDRESS_BUSY = "address_busy"  # not asked: other hosts at its address have their turn before
    TIMEOUT = "timeout"
    RESET = "reset"  # the connection broke, or closed before the answer was complete
    TLS = "tls"
    PROTOCOL = "protocol"  # what came is not HTTP
    HEADER_TOO_LARGE = "header_too_large"
    BODY_TOO_LARGE = "body_too_large"
    DECODING = "decoding"  # Content-Encoding unknown, too deep, or not what the body is in, and that no text
    NOT_HTML = "not_html"  # a media type nobody asked for, or binary data under the name of text
    PARSER = "parser"  # our parser failed on it: a bug, with a traceback in the log
    EXHAUSTING = "exhausting"  # to take it apart takes more time or memory than a page may have, or crashes
    FETCHER = "fetcher"  # and the same of our fetcher
    UNLICENSED = "unlicensed"  # given up by us: others may hold the slot by now
    CROWDED = "crowded"  # it was the largest of bodies that took too much memory together while they came in
    NO_CONTACT = "no_contact"  # not asked: it is public, and our User-Agent names nobody to write to
    LOCAL = "local"  # this machine is out of sockets or ports: not the host's fault
    ROBOTS = "robots"  # by the controller: the site asks not to
    CRAWL_DELAY = "crawl_delay"  # by the controller: the site wants longer pauses than we wait
    TOO_MANY_REDIRECTS = "too_many_redirects"  # by the controller
    TOO_MANY_LISTS = "too_many_lists"  # by the controller: a sitemap in too many others, or of its host
    SILENT = "silent"  # by the controller: its whole host has not answered for long
    UNASKED_304 = "unasked_304"  # by the controller: "not modified", and nobody had said since what


class FetchPage(Message, frozen=True):
    """Fetch this URL once, of a page or of a robots.txt; redirects are not followed.

    `media_types` are those whose body is wanted of a 2xx answer; another one is `NOT_HTML` and its body is
    not read. An answer without Content-Type is read. Empty wants everything, as of a robots.txt.
    """

    url: str  # canonical
    media_types: tuple[str, ...] = WANTED_MEDIA_TYPES
    beginning_bytes: int = 0  # of the body, when no more is wanted; 0 wants all, up to the fetcher's limit
    user_agent: str = USER_AGENT
    delay_s: float = 0.0  # for which its address is left alone after the answer
    # Instead of that delay, and whether it may be asked at all, where the policy goes by address.
    address_rules: AddressRules | None = None
    allow_private: tuple[str, ...] = ()  # names and networks at private addresses that the policy allows
    may_be_cut: bool = False  # the beginning of a body that is longer than the fetcher takes is wanted, too
    etag: str = ""  # of the version that is there; with either of them 304 may be the answer
    last_modified: str = ""
    cookie: str = ""  # of its host, without which it only leads to itself
    within_s: float = inf  # after which it is given up as unlicensed: when the turn ends that somebody lent

    @property
    def is_conditional(self) -> bool:
        return bool(self.etag or self.last_modified)


class PageFetched(Message, frozen=True):
    """An answer of the server, with any status; a redirect too (see `location_of`)."""

    url: str
    status: int
    reason_phrase: str
    http_version: str  # "1.1" or "1.0"
    headers: tuple[tuple[str, str], ...]  # as received: case, order, repeats; bytes as Latin-1
    # As received, in the content codings that `codings` names; `extraction` undoes them where a bomb harms
    # nobody. Decoded already, and at most that long, when the request named `beginning_bytes`.
    body: bytes
    request_head: bytes  # as sent, blank line included
    ip: str
    started_at: float  # seconds since the epoch
    seconds: float  # from asking the resolver, if need be, to the last byte
    bytes_received: int  # on the wire, head and framing included, TLS not
    # False: the encoded body ended early or its checksum is wrong, and `body` is what came before that.
    is_whole: bool = True
    codings: str = ""  # as Content-Encoding has them; "" when `body` is decoded, or was in none
    further: int = 0  # requests to its host that a browser made besides, to show it


class AbandonFetches(Message, frozen=True):
    """Controller to fetcher: end every fetch now. Each is answered by `FetchFailed`, as unlicensed.

    When a licence has run out, the host that is asked for a large page may be another peer's in a moment.
    """


class FetchFailed(Message, frozen=True):
    """There is no answer to work with."""

    url: str
    reason: FailureReason
    detail: str = ""  # for people; why, when it is the policy
    pause_s: float = 0.0  # until a host is to come again that was not asked
    ip: str = ""  # of a host that the policy leaves out or lets wait


FetchResult: TypeAlias = PageFetched | FetchFailed


def header_of(fetched: PageFetched, name: str) -> str | None:
    """Return the first value of a response header; `name` in lower case."""
    return next((value for key, value in fetched.headers if key.lower() == name), None)


def headers_of(fetched: PageFetched, name: str) -> tuple[str, ...]:
    """Return all values of a response header; `name` in lower case."""
    return tuple(value for key, value in fetched.headers if key.lower() == name)


def status_name(status: int) -> str:
    """Return the name under which answers of a status are counted: servers may say any three digits.

    Source: RFC 9110, 15: 100 to 599 are valid.
    """
    return str(status) if 100 <= status <= 599 else "other"


def location_of(fetched: PageFetched) -> str | None:
    """Return the canonical URL a redirect leads to; None when it is no redirect or leads nowhere."""
    if fetched.status not in (301, 302, 303, 307, 308):
        return None
    location = header_of(fetched, "location")
    if location is None:
        return None
    # Browsers take the bytes of Location for UTF-8; what is not is Latin-1 by HTTP's old rule.
    try:
        location = location.encode("latin-1").decode("utf-8")
    except UnicodeDecodeError:
        pass
    return canonical(location, fetched.url)


def moved_to(fetched: PageFetched) -> str:
    """Return where a page has moved for good (RFC 9110, 15.4.2 and 15.4.9); "" when it has not."""
    target = location_of(fetched) if fetched.status in (301, 308) else None
    return target if target is not None and target != fetched.url else ""


def is_elsewhere_for_now(fetched: PageFetched) -> bool:
    """Tell whether a page is to be asked for here again, though another one is to be looked at now."""
    return location_of(fetched) is not None and not moved_to(fetched)


def retry_after_s(fetched: PageFetched) -> float:
    """Return the seconds for which the server asks to be left alone; 0.0 when it names no time to come.

    A date is held against the server's own clock if it tells that, else against the time of its answer.

    Source: RFC 9110, 10.2.3.
    """
    value = header_of(fetched, "retry-after") or ""
    if value.isascii() and value.isdigit():
        return float(value) if len(value) <= _DELAY_DIGITS_MAX else 0.0
    until = _moment(value)
    if until is None:
        return 0.0
    now = _moment(header_of(fetched, "date") or "")
    return max(0.0, until - (fetched.started_at + fetched.seconds if now is None else now))


def _moment(date: str) -> float | None:
    """Seconds since the epoch of an HTTP date in any of its three forms, RFC 9110, 5.6.7."""
    try:
        parsed = parsedate_to_datetime(date[:_DATE_CHARS_MAX])
    except (ValueError, TypeError, IndexError, OverflowError):
        return None
    return parsed.replace(tzinfo=parsed.tzinfo or UTC).timestamp()


_DELAY_DIGITS_MAX: Final = 7  # four months; who writes more means nothing
_DATE_CHARS_MAX: Final = 64  # twice the longest of the three forms


def response_head(fetched: PageFetched) -> bytes:
    """Return status line and headers for the archive, blank line included, true of the decoded body.

    The archive keeps the body decoded, as Common Crawl does: readers need no codecs and records compress
    once. So that the head does not lie, the headers that described the bytes on the wire get the prefix
    `X-Crawler-` and a Content-Length of the decoded body is added. All other headers stay as received.
    """
    lines = [f"HTTP/{fetched.http_version} {fetched.status} {fetched.reason_phrase}"]
    for name, value in fetched.headers:
        prefix = "X-Crawler-" if name.lower() in _WIRE_HEADERS else ""
        lines.append(f"{prefix}{name}: {value}")
    lines.append(f"Content-Length: {len(fetched.body)}\r\n\r\n")
    return "\r\n".join(lines).encode("latin-1")


_WIRE_HEADERS = frozenset(("content-encoding", "content-length", "transfer-encoding"))
