"""From a record or an entry of a file to a page as it is kept, or the reason why it is not. Pure.

What is kept is a WARC response record, as if it had been fetched: so that everything that reads the archive,
repairs or exports it needs to know of one kind of page only. An entry that has only text becomes a page of
HTML that reads back as that text.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime
from html import escape
from typing import Final

from mesh.errors import CorruptionError
from mesh.stamp import Stamp
from mesh.urls import FTP, canonical, canonical_with_ftp, hostname_of, looks_like_trap
from peers.crawler.addresses.addresses import is_public
from peers.crawler.fetching.content_encoding import TooLarge, Undecodable, decode
from peers.crawler.links.domain_links import marked
from peers.crawler.model.web_request import (
    PAGE_STATUSES,
    ROBOTS_TAG,
    WANTED_MEDIA_TYPES,
    PageFetched,
    header_of,
    headers_of,
)
from peers.crawler.model.wire_messages import FoundLink, LinkUse
from peers.crawler.parsing.dates import http_seconds_of, precise_seconds_of
from peers.crawler.parsing.extraction import body_bytes_max, content_in, document_of, kept_response
from peers.crawler.parsing.guarded_reader import read_guarded
from peers.crawler.parsing.link_header import LINK
from peers.crawler.parsing.link_lists import begins_like_list
from peers.crawler.parsing.page_reader import read_page
from peers.crawler.parsing.parser import NotHtml
from peers.documents.formats import begins_like_feed, named_media_type
from peers.engine.pages.linkers import linker_of
from peers.importing.json_lines import LineEntry
from peers.importing.messages import ImportedPage
from peers.importing.warc_file import Record
from peers.importing.wire_messages import PAGE_LINKS_MAX
from peers.storage.archive.warc import (
    HEAD_BYTES_MAX,
    HttpResponse,
    WarcRecord,
    content_record,
    parse_response,
    visit_in,
)

# With extensions, and with the blanks that some servers pad it by (RFC 9112, 7.1).
_CHUNK_SIZE: Final = re.compile(rb"([0-9A-Fa-f]{1,8})[ \t]*(?:;[^\r\n]*)?\r?\n")
_GZIP_NAMES: Final = ("gzip", "x-gzip")
# Kinds of records that are no pages and are nobody's fault.
_PASSED_OVER: Final = frozenset(("warcinfo", "request", "metadata", "continuation"))
_GENERATOR: Final = "tianmesh import"


class PageNotKept(Exception):
    """A page that is not kept; the text says why, the same for all that have the same fault."""


class NoPage(Exception):
    """A record that is not about a page, as there are in every file."""


def page_of_record(record: Record, use: LinkUse, *, is_own: bool = False) -> ImportedPage:
    """Make a page of a WARC record.

    Args:
      is_own: it was exported by this mesh: its number of the visit is believed. A stranger who writes one
        would have his version of a page stand before all that the mesh will find.

    Raises:
      NoPage, Refused
    """
    headers = record.headers
    kind = headers.get("warc-type", "")
    if kind in _PASSED_OVER or headers.get("warc-target-uri", "").startswith(("dns:", "metadata:", "urn:")):
        raise NoPage
    named = headers.get("warc-target-uri", "").removeprefix("<").removesuffix(">")
    if kind == "resource" and named.startswith(FTP) and canonical_with_ftp(named) == named:
        url = named  # a listing; files of FTP servers are none of the pages that the mesh has
    else:
        url = _url_of(named)
    response = _response_in(kind, headers.get("content-type", ""), record)
    fetched_at = _fetched_at(headers.get("warc-date", ""), response)
    truncated = headers.get("warc-truncated", "")
    ip = headers.get("warc-ip-address", "")
    fetched = _fetched(url, response, ip, fetched_at, is_cut=bool(truncated))
    visit = visit_in(headers) if is_own else 0
    return page_of(fetched, use, truncated, visit, record.content)


def page_of_entry(entry: LineEntry, changed_at: float, use: LinkUse) -> ImportedPage:
    """Make a page of an entry.

    Args:
      changed_at: when its file was last changed, for an entry that does not say when it was fetched.

    Raises:
      Refused
    """
    url = _url_of(entry.url)
    if not entry.text.strip() and not entry.title.strip():
        raise PageNotKept("no text")
    fetched_at = changed_at if entry.fetched_at is None else _moment(entry.fetched_at, "fetched_at")
    more = entry.headings or entry.date or entry.published or entry.links
    is_plain = entry.type == "text/plain" and not more
    media_type = entry.type if is_plain or entry.type == "application/xhtml+xml" else "text/html"
    body = entry.text.encode() if is_plain else html_of(entry).encode()
    headers = (("Content-Type", f"{media_type}; charset=utf-8"), ("X-Generator", _GENERATOR))
    response = HttpResponse(200, headers, body)
    return page_of(_fetched(url, response, "", fetched_at), use)


def page_of(
    fetched: PageFetched, use: LinkUse, truncated: str = "", visit: int = 0, content: bytes = b""
) -> ImportedPage:
    """Take a page apart and pack it, as the crawler does.

    Args:
      visit: that found it, in the mesh whose export the file is; 0 for other files: see `mesh.stamp`.
      content: what such a mesh has read of a document that it has not kept whole.

    Raises:
      Refused, CorruptionError
    """
    read = (lambda *_: content_in(fetched.url, content)) if content else read_guarded
    try:
        said = read_page(
            fetched.url,
            fetched.body,
            header_of(fetched, "content-type"),
            headers_of(fetched, ROBOTS_TAG),
            read,
            header_of(fetched, "refresh") or "",
        )
    except NotHtml as error:
        raise PageNotKept(f"not HTML: {error}") from error
    parsed = said.page
    stamp = Stamp(visit, fetched.started_at)
    if truncated not in ("", "length", "time", "disconnect"):
        truncated = "unspecified"
    records = kept_response(fetched, stamp, truncated, said.content)
    if content:
        records += content_record(fetched.url, content, stamp)
    links = [
        FoundLink(link.url, link.anchor, use=use, linker=linker_of(fetched.url, link.url))
        for link in parsed.links
    ]
    return ImportedPage(
        url=fetched.url,
        fetched_at=stamp.fetched_at,
        status=fetched.status,
        records=records,
        document=document_of(parsed, stamp, header_of(fetched, "last-modified"), headers_of(fetched, LINK)),
        links=tuple(marked(fetched.url, filter(_is_useful, links))[:PAGE_LINKS_MAX]),
        visit=visit,
    )


def page_gone(url: str, at: float) -> ImportedPage:
    """Return the answer that a page is gone, which takes it out of the index.

    Args:
      at: version, seconds since the epoch.
    """
    answer = PageFetched(url, 410, "Gone", "1.1", (), b"", b"", "", at, 0.0, 0)
    return ImportedPage(url, at, answer.status, kept_response(answer, Stamp(0, at), "", None), None)


def is_private(url: str) -> bool:
    """Is the host of a page an address, or a name of this machine, that the crawler would not ask?"""
    name = hostname_of(url)
    is_address = ":" in name or name.replace(".", "").isdigit()
    return not is_public(name) if is_address else name == "localhost" or name.endswith(".localhost")


def html_of(entry: LineEntry) -> str:
    """A page that reads as the entry: its lines as blocks, those that are headings as such."""
    lang = f' lang="{escape(entry.language)}"' if entry.language else ""
    head = [f'<!DOCTYPE html>\n<html{lang}><head><meta charset="utf-8">']
    if entry.title:
        head.append(f"<title>{escape(entry.title)}</title>")
    for field, name, said in (
        ("date", "modified", entry.date),
        ("published", "published", entry.published),
    ):
        if said:
            seconds = _moment(said, field)
            moment = said if isinstance(said, str) else datetime.fromtimestamp(seconds, UTC).isoformat()
            head.append(f'<meta property="article:{name}_time" content="{escape(moment)}">')
    # The text of a picture is that of its link, and none of the page.
    links = [f'<a href="{escape(url)}"><img alt="{escape(text)}"></a>' for url, text in entry.links]
    return "\n".join([*head, "</head><body>", *_blocks(entry), *links, "</body></html>\n"])


def _blocks(entry: LineEntry) -> list[str]:
    headings = [heading for line in entry.headings.split("\n") if (heading := " ".join(line.split()))]
    lines = [folded for line in entry.text.split("\n") if (folded := " ".join(line.split()))]
    blocks: list[str] = []
    at = 0
    while at < len(lines):
        n_lines = _lines_of_heading(lines, at, headings[0]) if headings else 0
        if n_lines:
            del headings[0]
            inner = "".join(f"<div>{escape(line)}</div>" for line in lines[at : at + n_lines])
            blocks.append(f"<h2>{inner if n_lines > 1 else escape(lines[at])}</h2>")
        else:
            blocks.append(f"<p>{escape(lines[at])}</p>")
        at += n_lines or 1
    return blocks


def _lines_of_heading(lines: list[str], at: int, heading: str) -> int:
    """How many lines from one on are a heading; it may have blocks inside. 0 when they are none."""
    joined = ""
    for n_lines, line in enumerate(lines[at : at + 8], 1):
        joined = f"{joined} {line}" if joined else line
        if joined == heading:
            return n_lines
        if not heading.startswith(joined):
            return 0
    return 0


def _url_of(text: str) -> str:
    url = canonical(text.strip())
    if url is None:
        raise PageNotKept("no http or https URL")
    return url


def _moment(given: str | float, what: str) -> float:
    seconds = precise_seconds_of(given) if isinstance(given, str) else float(given)
    if not 0 < seconds < 1e11:
        raise PageNotKept(f"{what} is no date")
    return seconds


def _response_in(kind: str, content_type: str, record: Record) -> HttpResponse:
    if kind == "response":
        if content_type.partition(";")[0].strip().lower() not in ("application/http", ""):
            raise PageNotKept("not HTTP")
        try:
            response = parse_response(WarcRecord(record.headers, _with_line_ends(record.block)))
        except CorruptionError as error:
            raise PageNotKept("not an HTTP response") from error
        if response.status not in PAGE_STATUSES:
            raise PageNotKept(f"status {response.status}")
        return response
    if kind == "revisit":
        raise PageNotKept("the response that it refers to is not in this file")
    if kind in ("resource", "conversion"):
        return HttpResponse(200, (("Content-Type", content_type),), record.block)
    raise PageNotKept(f"a record of type {kind[:40]!r}")


def _fetched_at(said: str, response: HttpResponse) -> float:
    """When a page was fetched: by its record, or, where that has no date that can be, by its server."""
    dates = (value for name, value in response.headers if name.lower() == "date")
    fetched_at = precise_seconds_of(said) or http_seconds_of(next(dates, ""))
    if fetched_at <= 0.0:
        raise PageNotKept("no date")
    return fetched_at


def _with_line_ends(block: bytes) -> bytes:
    """Let the head end as HTTP wants it, for those that were archived with bare line feeds."""
    at = block.find(b"\r\n\r\n", 0, HEAD_BYTES_MAX)
    bare = block.find(b"\n\n", 0, at if at >= 0 else HEAD_BYTES_MAX)
    if bare < 0:
        return block
    return block[:bare].replace(b"\r\n", b"\n").replace(b"\n", b"\r\n") + b"\r\n\r\n" + block[bare + 2 :]


def _fetched(url: str, response: HttpResponse, ip: str, at: float, *, is_cut: bool = False) -> PageFetched:
    """The answer of a server as the fetcher would have had it."""
    media_type = named_media_type(response.header("content-type"))
    is_of_web = not url.startswith(FTP)
    if is_of_web and media_type not in ("", *WANTED_MEDIA_TYPES):
        raise PageNotKept(f"type {media_type[:60]}")
    bytes_max = body_bytes_max(media_type)
    body = _decoded(response, bytes_max, is_cut=is_cut)
    if len(body) > bytes_max:
        raise PageNotKept(f"larger than {bytes_max >> 20} MiB")
    if is_of_web and begins_like_list(body) and not begins_like_feed(body):
        raise PageNotKept("a sitemap")
    return PageFetched(
        url=url,
        status=response.status,
        reason_phrase="OK",
        http_version="1.1",
        headers=tuple(
            (_one_line(name), _one_line(value))
            for name, value in response.headers
            if not (name.lower() == "content-length" and value == str(len(body)))  # it is added anew
        ),
        body=body,
        request_head=b"",
        ip=ip if len(ip) < 46 and not set(ip) - _ADDRESS_CHARACTERS else "",
        started_at=at,
        seconds=0.0,
        bytes_received=len(body),
    )


_ADDRESS_CHARACTERS: Final = frozenset("0123456789abcdefABCDEF.:")


def _decoded(response: HttpResponse, bytes_max: int, *, is_cut: bool) -> bytes:
    """The body without transfer and content codings; archives keep it with and without."""
    body = response.body
    if "chunked" in (response.header("transfer-encoding") or "").lower():
        body = _unchunked(body, is_cut=is_cut)
    codings = ",".join(value for name, value in response.headers if name.lower() == "content-encoding")
    if not codings or (codings.strip().lower() in _GZIP_NAMES and not body.startswith(b"\x1f\x8b")):
        return body
    try:
        return decode(body, codings, bytes_max).body
    except TooLarge as error:
        raise PageNotKept(f"larger than {bytes_max >> 20} MiB") from error
    except Undecodable:
        return body  # it was decoded before it was archived


def _unchunked(body: bytes, *, is_cut: bool) -> bytes:
    """Undo chunked coding (RFC 9112, 7.1); a body that is not in it was archived without.

    Neither is a text that begins like the size of a chunk, and has no line end behind so many bytes.
    """
    parts: list[bytes] = []
    at = 0
    while match := _CHUNK_SIZE.match(body, at):
        end = match.end() + int(match[1], 16)
        is_last = end == match.end()
        is_sound = body.startswith((b"\r\n", b"\n"), end) or end == len(body) or (is_cut and end > len(body))
        if not parts and not (is_sound or is_last):
            return body
        parts.append(body[match.end() : end])
        if is_last or end >= len(body):
            break
        at = end + (2 if body.startswith(b"\r\n", end) else 1)
    return b"".join(parts) if parts else body


def _one_line(value: str) -> str:
    return " ".join(value.encode("latin-1", "replace").decode("latin-1").splitlines())


def _is_useful(link: FoundLink) -> bool:
    return (link.use is LinkUse.FETCH and not looks_like_trap(link.url)) or bool(link.anchor or link.linker)
