"""WARC 1.1 records as bytes: the form that the archive keeps, replicas carry and any WARC tool reads.

A record is one gzip member, so that it can be read alone by offset and length, as the standard's
annex D recommends. Writing trusts its arguments; reading trusts nothing, since records also come
from other peers and from disks. Not here: files (`archive.py`) and formats other than these three
record types and gzip.

Source: ISO 28500:2017, https://iipc.github.io/warc-specifications/specifications/warc-format/warc-1.1/
"""

from __future__ import annotations

import re
from base64 import b32encode
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from hashlib import blake2b, sha1
from typing import Final, cast

from isal import isal_zlib

from mesh.errors import CorruptionError
from mesh.stamp import VISITS_MAX, Stamp

# Unpacked. A frame of 16 MiB holds about 58 MB of packed HTML; a bomb ends here.
RECORD_BYTES_MAX: Final = 64 << 20
# Of the WARC head, and of the HTTP head in the block. The fetcher takes less; node.js takes 16 KiB.
HEAD_BYTES_MAX: Final = 256 << 10
HEADERS_MAX: Final = 1_000

REQUEST_TYPE: Final = "application/http;msgtype=request"
RESPONSE_TYPE: Final = "application/http;msgtype=response"
FIELDS_TYPE: Final = "application/warc-fields"
CONTENT_TYPE: Final = "application/vnd.tianmesh.content+json"

# The number of the visit, which orders the versions of a page (`mesh.stamp`). The standard lets writers add
# fields, and readers ignore those that they do not know (WARC 1.1, 4).
VISIT_HEADER: Final = "Tianmesh-Visit"

# Why a record is one of a revisit (WARC 1.1, 6.7.2 and 6.7.3).
SAME_PAYLOAD: Final = "http://netpreserve.org/warc/1.1/revisit/identical-payload-digest"
NOT_MODIFIED: Final = "http://netpreserve.org/warc/1.1/revisit/server-not-modified"


@dataclass(frozen=True, slots=True)
class WarcRecord:
    """One record as read back."""

    headers: Mapping[str, str]  # names in lower case; of repeated names the first counts
    block: bytes

    @property
    def kind(self) -> str:
        """`WARC-Type`: response, request, warcinfo or a type that other writers use."""
        return self.headers["warc-type"]

    @property
    def url(self) -> str:
        """`WARC-Target-URI`, empty for a record about no page."""
        return self.headers.get("warc-target-uri", "")


@dataclass(frozen=True, slots=True)
class HttpResponse:
    """The block of a response record, taken apart."""

    status: int
    headers: tuple[tuple[str, str], ...]  # as archived: case, order, repeats; bytes as Latin-1
    body: bytes

    def header(self, name: str) -> str | None:
        """Return the first value of a header; `name` in lower case."""
        return next(iter(self.header_values(name)), None)

    def header_values(self, name: str) -> tuple[str, ...]:
        """Return all values of a header; `name` in lower case."""
        return tuple(value for key, value in self.headers if key.lower() == name)


# --- Writing ---------------------------------------------------------------------------------


def response_record(
    url: str, head: bytes, body: bytes, stamp: Stamp, ip: str = "", truncated: str = ""
) -> bytes:
    """Pack the answer of a web server.

    Args:
      url: canonical, hence ASCII without blanks.
      head: status line and headers, blank line included.
      body: the bytes the head describes.
      stamp: of this version; its time is kept to the microsecond.
      ip: address the server answered from, empty when not known.
      truncated: why the body is not whole: "length", "time", "disconnect", "unspecified"; empty when
        it is (5.13 of the standard).
    """
    headers = {
        "WARC-Type": "response",
        "WARC-Record-ID": record_id("response", url, stamp),
        "WARC-Date": warc_date(stamp.fetched_at),
        "WARC-Target-URI": url,
        VISIT_HEADER: visit_text(stamp),
        "WARC-IP-Address": ip,
        "WARC-Payload-Digest": payload_digest(body),
        "WARC-Truncated": truncated,
        "Content-Type": RESPONSE_TYPE,
    }
    return pack_record(headers, head + body)


def resource_record(
    url: str, media_type: str, body: bytes, stamp: Stamp, ip: str = "", truncated: str = ""
) -> bytes:
    """Pack the answer of a server that speaks no HTTP, as it came: WARC 1.1, 6.4.

    Args:
      media_type: of the body, with parameters.
      url, stamp, ip, truncated: as of `response_record`.
    """
    headers = {
        "WARC-Type": "resource",
        "WARC-Record-ID": record_id("resource", url, stamp),
        "WARC-Date": warc_date(stamp.fetched_at),
        "WARC-Target-URI": url,
        VISIT_HEADER: visit_text(stamp),
        "WARC-IP-Address": ip,
        "WARC-Payload-Digest": payload_digest(body),
        "WARC-Truncated": truncated,
        "Content-Type": media_type,
    }
    return pack_record(headers, body)


def request_record(url: str, head: bytes, stamp: Stamp, ip: str = "") -> bytes:
    """Pack the request that led to the response of the same URL and time, as sent, and point to it."""
    headers = {
        "WARC-Type": "request",
        "WARC-Record-ID": record_id("request", url, stamp),
        "WARC-Date": warc_date(stamp.fetched_at),
        "WARC-Target-URI": url,
        VISIT_HEADER: visit_text(stamp),
        "WARC-IP-Address": ip,
        "WARC-Concurrent-To": record_id("response", url, stamp),
        "Content-Type": REQUEST_TYPE,
    }
    return pack_record(headers, head)


def content_record(url: str, content: bytes, stamp: Stamp) -> bytes:
    """Pack the content read of a document with a response too long to be kept whole, and point to that."""
    headers = {
        "WARC-Type": "metadata",
        "WARC-Record-ID": record_id("metadata", url, stamp),
        "WARC-Date": warc_date(stamp.fetched_at),
        "WARC-Target-URI": url,
        VISIT_HEADER: visit_text(stamp),
        "WARC-Concurrent-To": record_id("response", url, stamp),
        "Content-Type": CONTENT_TYPE,
    }
    return pack_record(headers, content)


def revisit_record(original: WarcRecord, profile: str, again: Mapping[str, str], head: bytes = b"") -> bytes:
    """Pack that a page was found as a response has it that is archived already.

    Args:
      again: what is said of this visit, by the names of headers: at least record id, date and URL.
      head: status line and headers of the answer, blank line included; b"" when they were not kept.
    """
    headers = {
        "WARC-Type": "revisit",
        **again,
        "WARC-Profile": profile,
        "WARC-Refers-To": original.headers.get("warc-record-id", ""),
        "WARC-Refers-To-Target-URI": original.url,
        "WARC-Refers-To-Date": original.headers.get("warc-date", ""),
        "WARC-Payload-Digest": original.headers.get("warc-payload-digest", ""),
        "Content-Type": RESPONSE_TYPE,
    }
    return pack_record(headers, head)


def absence_record(url: str, reason: str, stamp: Stamp) -> bytes:
    """Pack the record of a version without an answer: that the page is not to be found, and why.

    It is a metadata record, which every reader of WARC passes over that looks for pages.

    Args:
      reason: one word, as the crawler counts it.
    """
    headers = {
        "WARC-Type": "metadata",
        "WARC-Record-ID": record_id("metadata", url, stamp),
        "WARC-Date": warc_date(stamp.fetched_at),
        "WARC-Target-URI": url,
        VISIT_HEADER: visit_text(stamp),
        "Content-Type": FIELDS_TYPE,
    }
    return pack_record(headers, f"not-found-because: {reason}\r\n".encode())


def warcinfo_record(file_name: str, created_at: float, fields: Mapping[str, str]) -> bytes:
    """Pack the record that opens a file and names its writer."""
    headers = {
        "WARC-Type": "warcinfo",
        "WARC-Record-ID": record_id("warcinfo", file_name, Stamp(0, created_at)),
        "WARC-Date": warc_date(created_at),
        "WARC-Filename": file_name,
        "Content-Type": FIELDS_TYPE,
    }
    return pack_record(headers, "".join(f"{name}: {value}\r\n" for name, value in fields.items()).encode())


def pack_record(headers: Mapping[str, str], block: bytes) -> bytes:
    """Return one gzip member with the headers that are not empty, `Content-Length` and the block."""
    lines = ["WARC/1.1"]
    lines += [f"{name}: {value}" for name, value in headers.items() if value]
    lines.append(f"Content-Length: {len(block)}\r\n\r\n")
    assert {"\r", "\n"}.isdisjoint("".join(lines[:-1])), "line break in a WARC header"
    compressor = isal_zlib.compressobj(COMPRESSION_LEVEL, isal_zlib.DEFLATED, GZIP_WINDOW)
    packed = (
        compressor.compress("\r\n".join(lines).encode()),
        compressor.compress(block),
        compressor.compress(b"\r\n\r\n"),
        compressor.flush(),
    )
    return b"".join(packed)


# isal's default: 3.6 times smaller HTML at 330 MB/s; level 3 packs 2 % better at half the speed.
COMPRESSION_LEVEL: Final = 2
GZIP_WINDOW: Final = 31  # zlib's way to say: gzip container, window of 32 KiB


def record_id(kind: str, url: str, stamp: Stamp) -> str:
    """Return the same id for the same record in the archives of owner and standbys.

    A UUID of version 8 (RFC 9562, 5.8) from 122 bits of BLAKE2b over type, URL, microsecond and visit.
    """
    name = f"{kind}\n{url}\n{microseconds(stamp.fetched_at)}\n{stamp.visit}"
    digits = blake2b(name.encode(), digest_size=16).hexdigest()
    variant = "89ab"[int(digits[16], 16) & 3]
    uuid = (digits[:8], digits[8:12], "8" + digits[13:16], variant + digits[17:20], digits[20:])
    return f"<urn:uuid:{'-'.join(uuid)}>"


def visit_text(stamp: Stamp) -> str:
    """Return the value of our header that tells the visit; nothing for a version that was no visit."""
    return str(stamp.visit) if stamp.visit else ""


def visit_in(headers: Mapping[str, str]) -> int:
    """Read the value that `visit_text` wrote; 0 where there is no such header, or where it makes no sense.

    Args:
      headers: of a record, names in lower case.
    """
    text = headers.get(VISIT_HEADER.lower(), "")
    is_number = text.isascii() and text.isdigit() and len(text) <= 10
    return number if is_number and (number := int(text)) <= VISITS_MAX else 0


def warc_date(seconds: float) -> str:
    """Format seconds since the epoch as WARC 1.1 allows: UTC with microseconds."""
    moment = EPOCH + timedelta(microseconds=microseconds(seconds))
    return moment.isoformat(timespec="microseconds") + "Z"


EPOCH: Final = datetime(1970, 1, 1)  # UTC


def microseconds(seconds: float) -> int:
    return round(seconds * 1e6)


def payload_digest(payload: bytes) -> str:
    """Return SHA-1 in base 32, as other archives write it, so that equal payloads can be told across them."""
    return "sha1:" + b32encode(sha1(payload, usedforsecurity=False).digest()).decode()


# --- Reading ---------------------------------------------------------------------------------


def read_record(data: bytes | memoryview) -> WarcRecord:
    """Read the first record of packed data, see `read_records`."""
    return next(read_records(data))


def read_records(data: bytes | memoryview) -> Iterator[WarcRecord]:
    """Read all records of packed data, at least one.

    Raises:
      CorruptionError: the data is not whole gzip members of one WARC record each, or a record is
        larger than RECORD_BYTES_MAX.
    """
    end = 0
    while end == 0 or end < len(data):
        content, end = unpack_member(data, end)
        yield parse_record(content)


def is_sound(data: bytes | memoryview) -> bool:
    """Return whether `read_records` reads the packed data to its end."""
    end = 0
    try:
        while end == 0 or end < len(data):
            content, end = unpack_member(data, end)
            if not is_plain_record(content):
                parse_record(content)
    except CorruptionError:
        return False
    return True


def is_plain_record(content: bytes) -> bool:
    """Return whether an unpacked record is surely one that `parse_record` reads, in a third of the time.

    It is of those that say their type and length once, among few headers: all that we write.
    """
    head_end = content.find(b"\r\n\r\n", 0, HEAD_BYTES_MAX)
    if head_end < 0 or head_end > 64 * HEADERS_MAX or not content.startswith(b"WARC/1."):
        return False
    head = content[:head_end].lower()
    if head.count(b"content-length") != 1 or head.count(b"\n") >= HEADERS_MAX:
        return False
    length = PLAIN_LENGTH.search(head)
    if length is None or b"\r\nwarc-type:" not in head:
        return False
    return len(content) == head_end + 4 + int(length[1]) + 4 and content.endswith(b"\r\n\r\n")


PLAIN_LENGTH: Final = re.compile(rb"\r\ncontent-length: ([0-9]{1,11})(?:\r\n|\Z)")


def unpack_member(data: bytes | memoryview, start: int) -> tuple[bytes, int]:
    """Unpack the gzip member at `start`; return its content and where it ends."""
    decompressor = isal_zlib.decompressobj(GZIP_WINDOW)
    parts: list[bytes] = []
    room = RECORD_BYTES_MAX
    while not decompressor.eof:
        chunk = data[start : start + CHUNK_BYTES]
        if not chunk:
            raise CorruptionError("a record ends too early")
        try:
            part = decompressor.decompress(chunk, room + 1)
        except INVALID_GZIP as error:
            raise CorruptionError(f"a record is not valid gzip: {error}") from error
        room -= len(part)
        if room < 0:
            raise CorruptionError(f"a record is larger than {RECORD_BYTES_MAX} bytes")
        parts.append(part)
        start += len(chunk)
    content = b"".join(parts)
    end = start - len(decompressor.unused_data)
    # isal compares the checksum but not the length behind it, RFC 1952, 2.3.1.
    if int.from_bytes(data[end - 4 : end], "little") != len(content):
        raise CorruptionError("a record is not as long as its gzip member says")
    return content, end


CHUNK_BYTES: Final = 32 << 10  # most packed pages are smaller; what is behind them is copied in vain
INVALID_GZIP = cast("type[Exception]", isal_zlib.error)


def parse_record(content: bytes) -> WarcRecord:
    """Take one unpacked record apart; raise CorruptionError where it is not one."""
    head_end = content.find(b"\r\n\r\n", 0, HEAD_BYTES_MAX)
    if head_end < 0 or not content.startswith(b"WARC/1."):
        raise CorruptionError("a record has no WARC head")
    lines = content[:head_end].decode("utf-8", "replace").split("\r\n")
    headers = {name.lower(): value for name, value in reversed(header_fields(lines[1:]))}
    length = headers.get("content-length", "")
    if "warc-type" not in headers or not (length.isascii() and length.isdigit() and len(length) < 12):
        raise CorruptionError("a record lacks its type or length")
    block = content[head_end + 4 : -4]
    if len(block) != int(length) or content[-4:] != b"\r\n\r\n":
        raise CorruptionError("a record is not as long as it says")
    return WarcRecord(headers, block)


ANSWERS: Final = ("response", "resource")  # records that have a page: of HTTP, and of other protocols


def parse_response(record: WarcRecord) -> HttpResponse:
    """Take the block of a response record apart; an answer by another protocol has status 200.

    Raises:
      CorruptionError: it is not a response record, or its block is not an HTTP response.
    """
    if record.kind == "resource":
        return HttpResponse(200, (("Content-Type", record.headers.get("content-type", "")),), record.block)
    head_end = record.block.find(b"\r\n\r\n", 0, HEAD_BYTES_MAX)
    if record.kind != "response" or head_end < 0 or record.block[:5].upper() != b"HTTP/":
        raise CorruptionError("a record is not an HTTP response")
    lines = record.block[:head_end].decode("latin-1").split("\r\n")
    status = lines[0].split(" ", 2)[1:2]
    if not status or not (len(status[0]) == 3 and status[0].isascii() and status[0].isdigit()):
        raise CorruptionError("an archived response has no status")
    return HttpResponse(int(status[0]), tuple(header_fields(lines[1:])), record.block[head_end + 4 :])


def header_fields(lines: list[str]) -> list[tuple[str, str]]:
    """Split header lines at the first colon; lines without one are left out, as are too many."""
    pairs = (line.partition(":") for line in lines[:HEADERS_MAX] if ":" in line)
    return [(name.strip(), value.strip()) for name, _, value in pairs]
