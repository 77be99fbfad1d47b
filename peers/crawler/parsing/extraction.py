"""From an answer of a web server to the parts kept of it: document, links, WARC records. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Final, NamedTuple, TypeAlias

import msgspec
from xxhash import xxh3_64_digest, xxh3_64_intdigest

from mesh.errors import CorruptionError
from mesh.stamp import Stamp
from mesh.urls import FTP
from peers.crawler.fetching.content_encoding import (
    BODY_BYTES_MAX,
    DOCUMENT_BYTES_MAX,
    TooLarge,
    Undecodable,
    decode,
    decode_beginning,
)
from peers.crawler.model.messages import PageParsed, ParseFailed, ParseRobots, RobotsParsed
from peers.crawler.model.robots import line_of, parse, sitemaps_named
from peers.crawler.model.url_rows import ICON_HOPS, NO_DIGEST
from peers.crawler.model.web_request import (
    PAGE_STATUSES,
    ROBOTS_TAG,
    FailureReason,
    PageFetched,
    header_of,
    headers_of,
    response_head,
)
from peers.crawler.model.wire_messages import FoundLink
from peers.crawler.parsing.dates import page_date, published_at, seconds_of
from peers.crawler.parsing.link_header import LINK, canonical_in_headers
from peers.crawler.parsing.link_lists import (
    LIST_MEDIA_TYPES,
    PACKED_LS,
    PACKED_MEDIA_TYPES,
    SNIFF_BYTES,
    Listed,
    begins_like_list,
    has_list_name,
    pages_listed,
)
from peers.crawler.parsing.page_reader import PageContent, ReadDocument, read_page
from peers.crawler.parsing.parser import NotHtml, ParsedPage
from peers.documents.content import Content
from peers.documents.formats import (
    DOCUMENT_MEDIA_TYPES,
    UNKNOWN_MEDIA_TYPES,
    begins_like_feed,
    may_be_document,
    named_media_type,
)
from peers.documents.icon_image import ICON_MEDIA_TYPES, icon_type
from peers.documents.reader import read_document
from peers.engine.pages.document import Document
from peers.engine.pages.kinds import LISTING
from peers.engine.pages.linkers import linkers_of
from peers.storage.archive.warc import (
    CONTENT_TYPE,
    WarcRecord,
    absence_record,
    content_record,
    parse_response,
    read_records,
    request_record,
    resource_record,
    response_record,
)
from peers.storage.messages import ParseRecords, RecordsParsed
from peers.topics.topic_list import TopicMarks
from peers.watch.watched import PageWatch

# Of a body: with its text, of three or four bytes a character, it goes into one frame between peers (16 MiB).
KEPT_BYTES_MAX: Final = 11 << 20
CUT_BYTES: Final = 1 << 20  # of a longer one: to read it is no use, nobody opens half a file


class Sought(NamedTuple):
    """The strings of lists that were found in a page; None of each list that there is none of."""

    watched: PageWatch | None = None  # administrators are to be told of it
    topics: TopicMarks | None = None


FindSought: TypeAlias = Callable[[ParsedPage], Sought]
NOTHING_SOUGHT: Final = Sought()


def extract(
    fetched: PageFetched,
    visit: int,
    read: ReadDocument = read_document,
    find_sought: FindSought | None = None,
    *,
    finds_ftp: bool = False,
) -> PageParsed | ParseFailed:
    """Undo its content codings, take a fetched page apart and pack it for the archive; about 1 ms.

    Args:
      read: what reads documents of other formats than HTML.
      find_sought: None where nothing is sought.
      finds_ftp: links to directories of FTP servers are wanted as well.
    """
    media_type = named_media_type(content_type := header_of(fetched, "content-type"))
    if fetched.status in PAGE_STATUSES and (media_type in LIST_MEDIA_TYPES or has_list_name(fetched.url)):
        listed = pages_listed(fetched.url, fetched.body, fetched.codings, content_type)
        if listed is not None and not _is_feed(fetched):
            return _list(fetched.url, listed)
    try:
        fetched = decoded(fetched, media_type)
    except TooLarge:
        return ParseFailed(fetched.url, FailureReason.BODY_TOO_LARGE)
    except Undecodable:
        return ParseFailed(fetched.url, FailureReason.DECODING)
    stamp, digest = Stamp(visit, fetched.started_at), xxh3_64_digest(fetched.body)
    if fetched.status not in PAGE_STATUSES:  # a page that was there is gone
        return PageParsed(fetched.url, _records(fetched, stamp), None, (), digest)
    if media_type in ICON_MEDIA_TYPES:  # it was asked for as one
        return _icon(fetched, stamp, digest)
    if media_type in PACKED_MEDIA_TYPES and not _may_be_read(fetched):
        return ParseFailed(fetched.url, FailureReason.NOT_HTML)
    is_feed = begins_like_feed(fetched.body) and not fetched.url.startswith(FTP)
    is_list = begins_like_list(fetched.body) and not fetched.url.startswith(FTP)
    if is_list and not is_feed:  # whatever its server calls it
        return _list(fetched.url, pages_listed(fetched.url, fetched.body, "", content_type) or ())
    try:
        tags, refresh = headers_of(fetched, ROBOTS_TAG), header_of(fetched, "refresh") or ""
        said = read_page(fetched.url, fetched.body, content_type, tags, read, refresh, finds_ftp=finds_ftp)
    except NotHtml:
        return ParseFailed(fetched.url, FailureReason.NOT_HTML)
    page = said.page
    links_said = headers_of(fetched, LINK)
    if page.type == LISTING or tags or links_said or refresh:
        digest = _page_digest(page, digest, (*tags, *links_said, refresh))
    sought = NOTHING_SOUGHT if find_sought is None else find_sought(page)
    return PageParsed(
        url=fetched.url,
        records=_records(fetched, stamp, said.content),
        document=document_of(page, stamp, header_of(fetched, "last-modified"), links_said),
        links=_links(page, pages_listed(fetched.url, fetched.body, "", content_type) if is_feed else None),
        digest=digest,
        lack=said.lack,
        text_mark=text_mark(page),
        text_shape=text_shape(page),
        site_code=page.site_code,
        watched=sought.watched,
        topics=sought.topics,
    )


def _may_be_read(packed: PageFetched) -> bool:
    return packed.url.endswith(PACKED_LS) or may_be_document(packed.body[:SNIFF_BYTES])


def _icon(fetched: PageFetched, stamp: Stamp, digest: bytes) -> PageParsed | ParseFailed:
    """Pack an icon: it is a page without a document. Of one that is too large a beginning was fetched."""
    if not fetched.is_whole:
        return ParseFailed(fetched.url, FailureReason.BODY_TOO_LARGE)
    if icon_type(fetched.body) is None:
        return ParseFailed(fetched.url, FailureReason.NOT_HTML)
    return PageParsed(fetched.url, _records(fetched, stamp), None, (), digest)


def _page_digest(page: ParsedPage, digest: bytes, said: Sequence[str]) -> bytes:
    """Return the digest by which a page is the same: of its body, and of the headers that speak of it.

    A directory is the same as long as its entries are, whatever is around them but its wishes for robots.
    """
    if page.type == LISTING:
        from peers.crawler.parsing.directory_index import entries_mark

        wishes = "noarchive" * page.is_noarchive + "nosnippet" * page.is_nosnippet
        return xxh3_64_digest(entries_mark(page) + "\n".join((*said, wishes)).strip().encode())
    return xxh3_64_digest("\n".join((digest.hex(), *said)).encode())


def text_mark(page: ParsedPage) -> int:
    """Return the mark that tells a page from its earlier versions, independent of its markup; never 0."""
    details = f"\n{page.heading_ids}" if page.type == LISTING else ""
    text = f"{page.title}\n{page.text}{details}"
    return xxh3_64_intdigest(text.encode(errors="surrogatepass")) & 0xFFFFFFFF or 1


def text_shape(page: ParsedPage) -> int:
    """Return the mark of near-copies: pages with texts that differ in digits only have the same; never 0."""
    text = page.text.encode(errors="surrogatepass").translate(None, b"0123456789")
    return xxh3_64_intdigest(text) & 0xFFFFFFFF or 1


def _links(page: ParsedPage, listed: tuple[Listed, ...] | None) -> tuple[FoundLink, ...]:
    """The links of a page; those that a feed lists come first, and are known as such; its icon is last."""
    listed = listed or ()
    known = frozenset(each.url for each in listed)
    links = [link for link in page.links if link.url not in known] if known else page.links
    linkers = linkers_of(page.url, [link.url for link in links])
    return (
        *_listed_links(listed),
        *[
            FoundLink(link.url, link.anchor, linker=linker)
            for link, linker in zip(links, linkers, strict=True)
        ],
        *((FoundLink(page.icon, hops=ICON_HOPS),) if page.icon else ()),
    )


def _is_feed(fetched: PageFetched) -> bool:
    """Tell whether an answer is a feed: a list, and a document as well; a packed file is a list only."""
    try:
        return begins_like_feed(decode_beginning(fetched.body, fetched.codings, SNIFF_BYTES).body)
    except Undecodable:
        return False


def _listed_links(listed: tuple[Listed, ...]) -> Iterator[FoundLink]:
    return (FoundLink(page.url, is_listed=True, changed_s=page.changed_s) for page in listed)


def _list(url: str, listed: tuple[Listed, ...]) -> PageParsed:
    links = tuple(_listed_links(listed))
    return PageParsed(url, b"", None, links, NO_DIGEST, is_list=True)


def decoded(fetched: PageFetched, media_type: str = "") -> PageFetched:
    """Return an answer with its body decoded.

    Args:
      media_type: as its server says: documents may be larger than pages.

    Raises:
      TooLarge, Undecodable: as `decoding.decode`.
    """
    if not fetched.codings:
        return fetched
    body, is_whole = decode(fetched.body, fetched.codings, body_bytes_max(media_type))
    return msgspec.structs.replace(fetched, body=body, is_whole=fetched.is_whole and is_whole, codings="")


def body_bytes_max(media_type: str) -> int:
    """How long a decoded body of this type may be."""
    is_document = media_type in DOCUMENT_MEDIA_TYPES or media_type in UNKNOWN_MEDIA_TYPES
    return DOCUMENT_BYTES_MAX if is_document else BODY_BYTES_MAX


def _records(fetched: PageFetched, stamp: Stamp, content: Content | None = None) -> bytes:
    response = kept_response(fetched, stamp, "" if fetched.is_whole else "disconnect", content)
    if fetched.url.startswith(FTP):
        return response
    return response + request_record(fetched.url, fetched.request_head, stamp, fetched.ip)


def _kept_listing(fetched: PageFetched, stamp: Stamp, truncated: str) -> bytes:
    """Return the record of the listing of an FTP server as it came, or that there is none."""
    if fetched.status not in PAGE_STATUSES:
        return absence_record(fetched.url, str(fetched.status), stamp)
    media_type = header_of(fetched, "content-type") or ""
    return resource_record(fetched.url, media_type, fetched.body, stamp, fetched.ip, truncated)


def kept_response(fetched: PageFetched, stamp: Stamp, truncated: str, content: Content | None) -> bytes:
    """Return the records that the archive keeps of an answer.

    Records have to fit into what is sent between peers. A document that does not is kept as what was read of
    it, beside a beginning by which it is known: so the index can be made again from what is kept.

    Args:
      truncated: why the answer is not whole, as WARC calls it.
      content: what was read of a document.
    """
    if fetched.url.startswith(FTP):
        return _kept_listing(fetched, stamp, truncated)
    url, body, more = fetched.url, fetched.body, b""
    if len(body) > KEPT_BYTES_MAX:
        body, truncated = body[:CUT_BYTES], "length"
        if content is not None:
            said = msgspec.structs.replace(content, links=())  # which were followed
            more = content_record(url, msgspec.json.encode(said), stamp)
    return response_record(url, response_head(fetched), body, stamp, fetched.ip, truncated) + more


def extract_again(order: ParseRecords, read: ReadDocument = read_document) -> RecordsParsed:
    """Return the document to index of a page that was read back from the archive."""
    try:
        said, document = parse_records(order.url, order.stamp, order.records, read)
    except NotHtml:
        return RecordsParsed(order.url, order.stamp, None)
    is_barred = said.page.is_noarchive or said.page.is_nosnippet
    page = said.page
    return RecordsParsed(order.url, order.stamp, document, said.lack, is_barred, page.base, icon=page.icon)


def parse_records(
    url: str, stamp: Stamp, records: bytes, read: ReadDocument = read_document
) -> tuple[PageContent, Document | None]:
    """Read a page as the crawler did, from its WARC records, and return the document to index as well.

    Args:
      stamp: fetched at 0.0 when that is not known: then the records' own date counts.
      read: what reads documents of other formats than HTML.

    Raises:
      CorruptionError: there is no sound response among them.
      NotHtml: it is no page by the rules of this program, or a version that took a page away.
    """
    by_kind = {record.kind: record for record in read_records(records)}
    answer = by_kind.get("response") or by_kind.get("resource")
    if answer is None:
        if "metadata" in by_kind:  # see `warc.absence_record`
            raise NotHtml("nothing")
        raise CorruptionError(f"no response among the records of {url}")
    response = parse_response(answer)
    if not stamp.fetched_at:
        stamp = stamp._replace(fetched_at=seconds_of(answer.headers.get("warc-date", "")))
    if response.status not in PAGE_STATUSES:
        raise NotHtml(str(response.status))
    kept = by_kind.get("metadata")
    content = None if kept is None else _kept_content(kept)
    said = read_page(
        url,
        response.body,
        response.header("content-type"),
        response.header_values(ROBOTS_TAG),
        read if content is None else lambda *_: content,
    )
    last_modified, links = response.header("last-modified"), response.header_values(LINK)
    return said, document_of(said.page, stamp, last_modified, links)


def _kept_content(record: WarcRecord) -> Content | None:
    """Return the content read from a document that is not kept whole; None when the record has none."""
    if record.headers.get("content-type") != CONTENT_TYPE:
        return None
    return content_in(record.url, record.block)


def content_in(url: str, block: bytes) -> Content:
    """Return the content read from a document, as `kept_response` writes it down. CorruptionError."""
    try:
        return msgspec.json.decode(block, type=Content)
    except (msgspec.MsgspecError, RecursionError) as error:
        raise CorruptionError(f"no content in a record of {url}") from error


def document_of(
    page: ParsedPage, stamp: Stamp, last_modified: str | None, links: Sequence[str] = ()
) -> Document | None:
    """Return the document to index of a page, without link texts; None when the page asks not to be indexed.

    Args:
      last_modified, links: the response headers of these names.
    """
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
        published=published_at(page.published, stamp.fetched_at),
        visit=stamp.visit,
        boilerplate=page.boilerplate,
        is_quotable=not page.is_nosnippet,
        heading_ids=page.heading_ids,
        canonical=page.canonical or canonical_in_headers(page.url, links),
    )


def read_robots(order: ParseRobots) -> RobotsParsed:
    """Read a robots.txt that is too long for the event loop."""
    rules = parse(order.body, order.agent)
    sitemaps = sitemaps_named(order.found_at, order.body) if order.found_at else ()
    deciding = rules.deciding(order.judged) if order.judged else None
    line = None if deciding is None else line_of(order.body, order.agent, deciding)
    return RobotsParsed(order.origin, rules, sitemaps, order.judged, line)
