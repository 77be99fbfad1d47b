"""A page that readers have reported: its row, and how two of them join.

    "r" digest of the URL(16) -> PageReport

Readers are told apart by digests, by a key that their gateway draws for a day and forgets. A row keeps the 64
lowest: so rows join by union, in any order. A page counts as reported by at least so many readers.
"""

from __future__ import annotations

from hashlib import blake2b
from itertools import pairwise
from typing import Annotated, Final, TypeAlias

import msgspec
from msgspec import Meta

from mesh.urls import URL_CHARS_MAX, fingerprint, host_of, is_canonical
from peers.submissions.verdict import AHEAD_S, TIME_S_MAX

MARK_BYTES: Final = 16  # `mesh.urls.fingerprint`
NAME_BYTES: Final = 1 + MARK_BYTES
REPORTER_BYTES: Final = 8
REPORTERS_MAX: Final = 64
KEPT_S: Final = 30 * 86_400.0  # after the last one
_NAME: Final = b"r"

Reporter: TypeAlias = Annotated[bytes, Meta(min_length=REPORTER_BYTES, max_length=REPORTER_BYTES)]
Moment: TypeAlias = Annotated[int, Meta(ge=0, le=TIME_S_MAX)]  # since the epoch


class PageReport(msgspec.Struct, frozen=True, array_like=True):
    """The row of a page that somebody has reported."""

    url: Annotated[str, Meta(min_length=1, max_length=URL_CHARS_MAX)]  # canonical
    first_s: Moment
    last_s: Moment
    reporters: Annotated[tuple[Reporter, ...], Meta(min_length=1, max_length=REPORTERS_MAX)]  # in order
    gateway: Annotated[str, Meta(max_length=64)] = ""  # the member that brought the first

    @property
    def readers(self) -> int:
        """How many readers have reported it, at least."""
        return len(self.reporters)


def reporter_of(client: str, key: bytes) -> bytes:
    """Tell a reader from others. Args: key: that the gateway draws for a day, and forgets."""
    return blake2b(client.encode("utf-8", "replace"), digest_size=REPORTER_BYTES, key=key).digest()


def name_of_report(url: str) -> bytes:
    return _NAME + fingerprint(url)


def is_name_of_report(name: bytes) -> bool:
    return len(name) == NAME_BYTES and name[:1] == _NAME


def report_bytes(report: PageReport) -> bytes:
    return _encode(report)


def report_in(value: bytes) -> PageReport:
    """Read a row.

    Raises:
      ValueError: it is none.
    """
    try:
        return _decode(value)
    except (msgspec.MsgspecError, RecursionError) as error:
        raise ValueError(f"no report: {error}") from error


def joined_reports(one: PageReport, other: PageReport) -> PageReport:
    """Join two versions of a row."""
    reporters = tuple(sorted({*one.reporters, *other.reporters})[:REPORTERS_MAX])
    first_s, gateway = min((one.first_s, one.gateway), (other.first_s, other.gateway))
    return PageReport(max(one.url, other.url), first_s, max(one.last_s, other.last_s), reporters, gateway)


def is_report(report: PageReport, name: bytes) -> bool:
    """Is this a row of this name, as an honest peer writes it? Its slot is another question."""
    in_order = all(a < b for a, b in pairwise(report.reporters)) and report.first_s <= report.last_s
    return in_order and is_canonical(report.url) and name == name_of_report(report.url)


def is_kept(report: PageReport, now: float) -> bool:
    """Is it neither forgotten nor of a time to come?"""
    return report.last_s - AHEAD_S <= now <= report.last_s + KEPT_S


def host_in_report(report: PageReport) -> str:
    return host_of(report.url)


_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(PageReport).decode
