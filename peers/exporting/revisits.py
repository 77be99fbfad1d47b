"""Visits that found a page unchanged, as records that refer to records written already. Pure.

The archive of a peer has nothing of "not modified", nor of content that is sent again as it was at the visit
before: the row of the URL tells of the last such answer. What came again otherwise it has as a whole. Other
tools shall see these visits, and need no copies.

Source: WARC 1.1, 6.7; https://iipc.github.io/warc-specifications/specifications/warc-format/warc-1.1/
"""

from __future__ import annotations

from mesh.stamp import Stamp
from peers.crawler.model.url_rows import SAME, UrlRow
from peers.storage.archive.warc import (
    NOT_MODIFIED,
    SAME_PAYLOAD,
    VISIT_HEADER,
    WarcRecord,
    parse_record,
    read_record,
    record_id,
    revisit_record,
    unpack_member,
    visit_text,
    warc_date,
)


class Revisits:
    """The records of a page last written in full, to which later records of the page refer."""

    def __init__(self) -> None:
        self.count = 0  # records that refer to another one
        self._url = ""
        self._written = b""  # records of the version that was written last in full
        self._original: WarcRecord | None = None  # the first of these, once it was read

    def records_of(self, url: str, records: bytes) -> bytes:
        """Return the records of a version as they are written: without content that the one before has.

        Args:
          url: versions of one page come one after the other, the oldest first.
        """
        if url != self._url:
            self._url, self._written, self._original = url, records, None
            return records
        original = self._read()
        content, end = unpack_member(records, 0)
        record = parse_record(content)
        if not _have_same_payload(original, record):
            self._written, self._original = records, record
            return records
        self.count += 1
        names = ("WARC-Record-ID", "WARC-Date", "WARC-Target-URI", VISIT_HEADER, "WARC-IP-Address")
        again = {name: record.headers.get(name.lower(), "") for name in names}
        head = record.block[: record.block.find(b"\r\n\r\n") + 4]
        # The request, and what was read of a long document, refer to the record by the id that it keeps.
        return revisit_record(original, SAME_PAYLOAD, again, head) + records[end:]

    def unchanged(self, row: UrlRow) -> bytes:
        """Return the record of a visit that found the page as it is archived, and kept no copy of that."""
        self.count += 1
        stamp = Stamp(row.visit, row.visited_s)
        again = {
            "WARC-Record-ID": record_id("revisit", self._url, stamp),
            "WARC-Date": warc_date(stamp.fetched_at),
            "WARC-Target-URI": self._url,
            VISIT_HEADER: visit_text(stamp),
        }
        profile = SAME_PAYLOAD if row.outcome == SAME else NOT_MODIFIED
        return revisit_record(self._read(), profile, again)

    def _read(self) -> WarcRecord:
        if self._original is None:
            self._original = read_record(self._written)
        return self._original


def _have_same_payload(one: WarcRecord, other: WarcRecord) -> bool:
    digest = one.headers.get("warc-payload-digest")
    are_whole = not (one.headers.get("warc-truncated") or other.headers.get("warc-truncated"))
    are_answers = one.kind == other.kind == "response"
    return are_answers and are_whole and bool(digest) and digest == other.headers.get("warc-payload-digest")
