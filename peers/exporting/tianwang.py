"""Files of older engines: see `importing.tianwang`, which reads them. [io]"""

from __future__ import annotations

import zlib
from email.utils import formatdate
from struct import Struct
from typing import ClassVar, Final

from peers.crawler.fetching.decoding import DOCUMENT_BYTES_MAX, TooLarge, Undecodable, decode
from peers.crawler.parsing.dates import precise_seconds_of
from peers.exporting.rows import PageRow, Taken
from peers.exporting.writers import LinesWriter, RecordsWriter
from peers.storage.archive.warc import HttpResponse, WarcRecord, parse_response

_OBJECT: Final = Struct(">6sHHIIqq")
_NUMBER_MAX: Final = 0xFFFF  # of the bytes of a type, and of a URL


class RawWriter(RecordsWriter):
    """Tianwang's raw store, version 1.0: responses as they were sent, each packed by zlib."""

    name: ClassVar[str] = "Tianwang.raw.{}"

    def record(self, record: WarcRecord) -> bytes:
        packed = zlib.compress(record.block)
        lines = {
            "version": "1.0",
            "url": record.url,
            "date": formatdate(precise_seconds_of(record.headers.get("warc-date", "")), usegmt=True),
            "ip": record.headers.get("warc-ip-address", ""),
            "unzip-length": str(len(record.block)),
            "length": str(len(packed)),
        }
        head = "".join(f"{name}: {value}\n" for name, value in lines.items() if value)
        return head.encode() + b"\n" + packed + b"\n"


class PackageWriter(RecordsWriter):
    """The thesis's packages of web objects, which expire never."""

    name: ClassVar[str] = "0-0_{}.webop"
    begin: ClassVar[bytes] = b"\xff\xffWOP\x01\r\n"

    def record(self, record: WarcRecord) -> bytes:
        response = parse_response(record)
        media_type = (response.header("content-type") or "").encode("latin-1", "replace")[:_NUMBER_MAX]
        url, body = record.url.encode(), _body(response)
        fetched_ms = round(precise_seconds_of(record.headers.get("warc-date", "")) * 1_000)
        head = _OBJECT.pack(b"\xffWEBO\x01", len(media_type), len(url), len(body), 0, fetched_ms, 0)
        return head + media_type + url + body


class SoifWriter(LinesWriter):
    """SOIF: an object for each page, with its fields."""

    name: ClassVar[str] = "pages.soif"

    def _lines(self, taken: Taken) -> bytes:
        return b"".join(map(_soif, taken.rows))


def _soif(row: PageRow) -> bytes:
    attributes = {
        "Title": row.title,
        "Headings": row.headings,
        "Full-Text": row.text,
        "Language": row.language,
        "Type": row.type,
        "Last-Modification-Time": f"{precise_seconds_of(row.date):.0f}" if row.date else "",
        "Update-Time": f"{precise_seconds_of(row.fetched_at):.0f}",
    }
    lines = [b"@FILE { %s\n" % row.url.encode()]
    for name, value in attributes.items():
        said = value.encode("utf-8", "replace")
        if said:
            lines.append(b"%s{%d}:\t%s\n" % (name.encode(), len(said), said))
    return b"".join([*lines, b"}\n\n"])


def _body(response: HttpResponse) -> bytes:
    """The body without its content coding; as it is where that was undone before."""
    try:
        return decode(response.body, response.header("content-encoding") or "", DOCUMENT_BYTES_MAX).body
    except (TooLarge, Undecodable):
        return response.body
