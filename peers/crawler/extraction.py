"""From an answer of a web server to what is kept of it: document, links, WARC records. Pure."""

from __future__ import annotations

from typing import Final

import msgspec
from xxhash import xxh3_64_digest, xxh3_64_intdigest

from mesh.errors import CorruptionError
from mesh.stamp import Stamp
from peers.crawler.dates import page_date
from peers.crawler.decoding import BODY_BYTES_MAX, TooLarge, Undecodable, decode
from peers.crawler.link_lists import (
    LIST_MEDIA_TYPES,
    PACKED_MEDIA_TYPES,
    Listed,
    begins_like_list,
    has_list_name,
    pages_listed,
)
from peers.crawler.messages import PageParsed, ParseFailed
from peers.crawler.parser import NotHtml, ParsedPage, parse_page
from peers.crawler.url_rows import NO_DIGEST
from peers.crawler.web_request import FailureReason, PageFetched, header_of, response_head
from peers.crawler.wire_messages import FoundLink
from peers.engine.document import Document
from peers.engine.linkers import linker_of
from peers.storage.messages import ParseRecords, RecordsParsed
from peers.storage.warc import parse_response, read_records, request_record, response_record


def extract(fetched: PageFetched, visit: int) -> PageParsed | ParseFailed:
    """Undo its content codings, take a fetched page apart and pack it for the archive; about 1 ms."""
    media_type = (header_of(fetched, "content-type") or "").partition(";")[0].strip().lower()
    is_xml = media_type in LIST_MEDIA_TYPES
    if fetched.status == 200 and (is_xml or has_list_name(fetched.url)):
        listed = pages_listed(fetched.url, fetched.body, fetched.codings)
        if listed is not None:
            return _list(fetched.url, listed)
    try:
        fetched = decoded(fetched)
    except TooLarge:
        return ParseFailed(fetched.url, FailureReason.BODY_TOO_LARGE)
    except Undecodable:
        return ParseFailed(fetched.url, FailureReason.DECODING)
    stamp = Stamp(visit, fetched.started_at)
    digest = xxh3_64_digest(fetched.body)
    if fetched.status != 200:  # a page that was there is gone
        return PageParsed(fetched.url, _records(fetched, stamp), None, (), digest)
    if is_xml or media_type in PACKED_MEDIA_TYPES:
        return ParseFailed(fetched.url, FailureReason.NOT_HTML)
    if begins_like_list(fetched.body):  # whatever its server calls it
        return _list(fetched.url, pages_listed(fetched.url, fetched.body) or ())
    try:
        page = parse_page(
            fetched.url, fetched.body, header_of(fetched, "content-type"), header_of(fetched, "x-robots-tag")
        )
    except NotHtml:
        return ParseFailed(fetched.url, FailureReason.NOT_HTML)
    return PageParsed(
        url=fetched.url,
        records=_records(fetched, stamp),
        document=document_of(page, stamp, header_of(fetched, "last-modified")),
        links=tuple(
            FoundLink(link.url, link.anchor, linker=linker_of(page.url, link.url)) for link in page.links
        ),
        digest=digest,
        text_mark=text_mark(page),
        text_shape=text_shape(page),
    )


def text_mark(page: ParsedPage) -> int:
    """Return by what a page is told from what it was, whatever changes in its markup; never 0."""
    return xxh3_64_intdigest(f"{page.title}\n{page.text}".encode(errors="surrogatepass")) & 0xFFFFFFFF or 1


def text_shape(page: ParsedPage) -> int:
    """Return by what near-copies are told: pages whose texts differ in digits only have the same; never 0."""
    text = page.text.translate(_NO_DIGITS)
    return xxh3_64_intdigest(text.encode(errors="surrogatepass")) & 0xFFFFFFFF or 1


_NO_DIGITS: Final = dict.fromkeys(map(ord, "0123456789"))


def _list(url: str, listed: tuple[Listed, ...]) -> PageParsed:
    links = tuple(FoundLink(page.url, is_listed=True, changed_s=page.changed_s) for page in listed)
    return PageParsed(url, b"", None, links, NO_DIGEST, is_list=True)


def decoded(fetched: PageFetched) -> PageFetched:
    """Return an answer with its body decoded.

    Raises:
      TooLarge, Undecodable: as `decoding.decode`.
    """
    if not fetched.codings:
        return fetched
    body, is_whole = decode(fetched.body, fetched.codings, BODY_BYTES_MAX)
    return msgspec.structs.replace(fetched, body=body, is_whole=fetched.is_whole and is_whole, codings="")


def _records(fetched: PageFetched, stamp: Stamp) -> bytes:
    ip = fetched.ip
    truncated = "" if fetched.is_whole else "disconnect"
    response = response_record(fetched.url, response_head(fetched), fetched.body, stamp, ip, truncated)
    return response + request_record(fetched.url, fetched.request_head, stamp, ip)


def extract_again(order: ParseRecords) -> RecordsParsed:
    """What is indexed of a page that was read back from the archive."""
    try:
        _, document = parse_records(order.url, order.stamp, order.records)
    except NotHtml:
        document = None
    return RecordsParsed(order.url, order.stamp, document)


def parse_records(url: str, stamp: Stamp, records: bytes) -> tuple[ParsedPage, Document | None]:
    """Parse a page as the crawler did, from its WARC records, and return what is indexed of it as well.

    Raises:
      CorruptionError: there is no sound response among them.
      NotHtml: it is no page by the rules of this program, or a version that took a page away.
    """
    by_kind = {record.kind: record for record in read_records(records)}
    if "response" not in by_kind:
        if "metadata" in by_kind:  # see `warc.absence_record`
            raise NotHtml("nothing")
        raise CorruptionError(f"no response among the records of {url}")
    response = parse_response(by_kind["response"])
    if response.status != 200:
        raise NotHtml(str(response.status))
    page = parse_page(url, response.body, response.header("content-type"), response.header("x-robots-tag"))
    return page, document_of(page, stamp, response.header("last-modified"))


def document_of(page: ParsedPage, stamp: Stamp, last_modified: str | None) -> Document | None:
    """What is indexed of a page, without link texts; None when it asks not to be."""
    if page.is_noindex:
        return None
    return Document(
        url=page.url,
        title=page.title,
        headings=page.headings,
        text=page.text,
        language=page.language,
        fetched_at=stamp.fetched_at,
        type=page.type,
        date=page_date(page.dates, last_modified, stamp.fetched_at),
        visit=stamp.visit,
        boilerplate=page.boilerplate,
    )
