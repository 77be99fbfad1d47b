"""Files of older engines: see `importing.tianwang`, which reads them. [io]"""

from __future__ import annotations

import time
import zlib
from collections.abc import Sequence
from email.utils import formatdate
from pathlib import Path
from typing import ClassVar, Final
from zipfile import ZIP_DEFLATED, ZipFile

from peers.crawler.fetching.content_encoding import DOCUMENT_BYTES_MAX, TooLarge, Undecodable, decode
from peers.crawler.parsing.dates import precise_seconds_of
from peers.exporting.rows import ExportedPage, Taken
from peers.exporting.writers import FILE_BYTES, PART, STDOUT, LinesWriter, Output, RecordsWriter
from peers.importing.tianwang import DESCRIPTION, DESCRIPTION_BEGIN, OBJECT, OBJECT_BEGIN, PACKAGE_BEGIN
from peers.storage.archive.warc import HttpResponse, WarcRecord, parse_response
from peers.text.keywords import keywords_of

_NUMBER_MAX: Final = 0xFFFF  # of the bytes of a type, and of a URL


class RawWriter(RecordsWriter):
    """Tianwang's raw store, version 1.0: responses as they were sent, each packed by zlib."""

    name: ClassVar[str] = "Tianwang.raw.{}"

    def record(self, record: WarcRecord) -> bytes:
        answer = record.block
        if record.kind == "resource":  # of an FTP server: as a gateway to HTTP would answer
            media_type = record.headers.get("content-type", "")
            answer = (
                f"HTTP/1.0 200 OK\r\nContent-Type: {media_type}\r\n\r\n".encode("latin-1", "replace") + answer
            )
        packed = zlib.compress(answer)
        lines = {
            "version": "1.0",
            "url": record.url,
            "date": formatdate(precise_seconds_of(record.headers.get("warc-date", "")), usegmt=True),
            "ip": record.headers.get("warc-ip-address", ""),
            "unzip-length": str(len(answer)),
            "length": str(len(packed)),
        }
        head = "".join(f"{name}: {value}\n" for name, value in lines.items() if value)
        return head.encode() + b"\n" + packed + b"\n"


class PackageWriter(RecordsWriter):
    """The thesis's packages of web objects, which expire never, each with its description.

    A transfer file is a ZIP file of both.
    """

    name: ClassVar[str] = "0-0_{}.webop"
    begin: ClassVar[bytes] = PACKAGE_BEGIN

    def __init__(self, out: Path, bytes_max: int = FILE_BYTES) -> None:
        self._transfer = out if out.suffix == ".spf" and not out.is_dir() else None
        super().__init__(out.with_suffix(".webop") if self._transfer else out, bytes_max)
        self._description: Output | None = None
        self._sizes: list[tuple[bytes, int]] = []  # of the objects of a version

    def write_records(self, records: bytes) -> None:
        self._sizes = []
        super().write_records(records)
        assert self._output is not None
        at = self._output.n_bytes - sum(size for _, size in self._sizes)
        for url, size in self._sizes:
            if self._description is not None:
                self._description.write(b"%s %d %d\r\n" % (url, at, size))
            at += size

    def record(self, record: WarcRecord) -> bytes:
        response = parse_response(record)
        media_type = (response.header("content-type") or "").encode("latin-1", "replace")[:_NUMBER_MAX]
        url, body = record.url.encode(), _body(response)
        fetched_ms = round(precise_seconds_of(record.headers.get("warc-date", "")) * 1_000)
        head = OBJECT.pack(OBJECT_BEGIN, len(media_type), len(url), len(body), 0, fetched_ms, 0)
        self._sizes.append((url, len(head) + len(media_type) + len(url) + len(body)))
        return head + media_type + url + body

    def close(self) -> None:
        super().close()
        self._end_description()
        if self._transfer is not None:
            part = self._transfer.with_name(self._transfer.name + PART)
            with ZipFile(part, "w", ZIP_DEFLATED) as packed:
                for path in self.files:
                    packed.write(path, path.name)
                    path.unlink()
            part.replace(self._transfer)
            self.files = [self._transfer]

    def _begin(self) -> Output:
        before, output = self._output, super()._begin()
        if output is not before and output.path != STDOUT:
            self._end_description()
            path = output.path.with_name(output.path.name + ".desc")
            self._description = Output(path)
            self._description.write(
                DESCRIPTION.pack(DESCRIPTION_BEGIN, 0, 0, round(time.time() * 1e3), 0, b"\r\n")
            )
            self.files.append(path)
        return output

    def _end_description(self) -> None:
        if self._description is not None:
            self._description.close()


class SoifWriter(LinesWriter):
    """SOIF: an object for each page, with the elements that the book's DocView has of it."""

    name: ClassVar[str] = "pages.soif"

    def _lines(self, taken: Taken) -> bytes:
        links: dict[str, list[str]] = {}
        for link in taken.links:
            text = " ".join(link.text.split())
            links.setdefault(link.source, []).append(f"{link.target}\t{text}" if text else link.target)
        return b"".join(_soif(row, links.get(row.url, [])) for row in taken.rows)


def _soif(row: ExportedPage, links: Sequence[str]) -> bytes:
    attributes = {
        "Title": row.title,
        "Keywords": ", ".join(word for word, _ in keywords_of(row.title, row.headings, row.text)),
        "Headings": row.headings,
        "Full-Text": row.text,
        "Language": row.language,
        "Type": row.type,
        "Last-Modification-Time": f"{precise_seconds_of(row.date):.0f}" if row.date else "",
        "URL-References": "\n".join(links),
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
