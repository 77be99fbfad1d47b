"""The frontier's data on URLs, link texts and hosts as items that only grow, and their form on the wire.

An item has a *join*: of two peers' versions it makes one, the same whichever comes first and however often
(idempotent, commutative, associative), so peers that have told each other everything have the same.

    URL      see `url_rows`: the one with more visits
    anchors  the union, of which the smallest linkers and uses stay (`peers.engine.pages.linkers`), the texts
             of these uses, and of all texts the ANCHORS_MAX with the smallest hashes; of two with one hash
             the smaller text; the smallest URLs where the page was before; of each who told it first
    host     the later clock, with what goes with it; the greater count of pages; of what it is an alias, the
             last judgement (`politeness.join`)
    robots   of an origin: the one that expires later
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Container
from math import isfinite
from typing import Annotated, Final, NamedTuple, TypeAlias

import msgspec
from msgspec import Meta
from msgspec.structs import astuple
from xxhash import xxh3_64_digest

from mesh.errors import RemoteProtocolError
from mesh.slots import slot_of
from mesh.urls import URL_CHARS_MAX, fingerprint, host_of, is_canonical, origin_of
from mesh.wire_fields import Slot, Url
from peers.crawler.frontier.anchor_rows import ROW_ENTRIES_MAX, is_anchor_row
from peers.crawler.model.alias_evidence import is_name, is_preferred
from peers.crawler.model.course import COURSE_BYTES, Course, course_in
from peers.crawler.model.politeness import SILENCES_MAX
from peers.crawler.model.robots import ROBOTS_BYTES_MAX
from peers.crawler.model.url_rows import ATTEMPTS_MAX, ROW_BYTES_MAX, UrlRow, is_sound, row_in
from peers.crawler.model.wire_messages import Anchor

_FINGERPRINT_BYTES: Final = 16

Texts: TypeAlias = Annotated[tuple[Anchor, ...], Meta(min_length=1, max_length=ROW_ENTRIES_MAX)]
Fingerprint: TypeAlias = Annotated[bytes, Meta(min_length=_FINGERPRINT_BYTES, max_length=_FINGERPRINT_BYTES)]


class RobotsRecord(NamedTuple):
    """The answer of an origin that was asked for its robots.txt."""

    origin: str
    status: int  # HTTP; 0 when there was none
    expires_s: float  # mesh clock
    body: bytes


class QueuedItem(msgspec.Struct, frozen=True, array_like=True):
    """A URL that was never visited."""

    url: Url
    depth: Annotated[int, Meta(ge=0, le=65_535)]
    attempts: Annotated[int, Meta(ge=0, le=ATTEMPTS_MAX)]
    hops: Annotated[int, Meta(ge=0, le=255)]
    course: Annotated[bytes, Meta(max_length=COURSE_BYTES)] = b""  # of the row


class VisitedItem(msgspec.Struct, frozen=True, array_like=True):
    """A URL that was visited, by its fingerprint; with its text if that is stored, or to be visited again."""

    slot: Slot
    fingerprint: Fingerprint
    row: Annotated[bytes, Meta(max_length=ROW_BYTES_MAX)]
    url: Annotated[str, Meta(max_length=URL_CHARS_MAX)] = ""  # of one to be visited again; "" when it is none
    course: Annotated[bytes, Meta(max_length=COURSE_BYTES)] = b""  # of the row, which is without it


class AnchorsItem(msgspec.Struct, frozen=True, array_like=True):
    """The texts of the links to a page, the linkers that use them, and the tellers: see `anchor_rows`."""

    slot: Slot
    fingerprint: Fingerprint
    texts: Texts


class HostItem(msgspec.Struct, frozen=True, array_like=True):
    """The clock of a host, and of which other one it is an alias."""

    host: Url  # its name
    next_fetch_s: float
    fetched: Annotated[int, Meta(ge=0, le=1 << 40)]  # far from where counting on would not fit a row
    failures: Annotated[int, Meta(ge=0, le=1 << 20)]
    given_up: bool
    seconds: Annotated[float, Meta(ge=0, le=1e6)] = 0.0
    day: Annotated[int, Meta(ge=0, le=1 << 20)] = 0
    of_day: Annotated[int, Meta(ge=0, le=1 << 40)] = 0
    silences: Annotated[int, Meta(ge=0, le=SILENCES_MAX)] = 0
    silent_s: Annotated[float, Meta(ge=0, le=1e12)] = 0.0
    judged: Annotated[int, Meta(ge=0, le=1 << 40)] = 0
    alias_of: Annotated[str, Meta(max_length=URL_CHARS_MAX)] = ""
    recalled: Annotated[int, Meta(ge=0, le=1 << 20)] = 0


class RobotsItem(msgspec.Struct, frozen=True, array_like=True):
    """The robots.txt of an origin."""

    origin: Url  # canonical, without a path
    status: Annotated[int, Meta(ge=0, le=999)]
    expires_s: float
    body: Annotated[bytes, Meta(max_length=ROBOTS_BYTES_MAX)]


class Items(msgspec.Struct, frozen=True, array_like=True):
    """Some items of the frontier, of any slots."""

    queued: tuple[QueuedItem, ...] = ()
    visited: tuple[VisitedItem, ...] = ()
    anchors: tuple[AnchorsItem, ...] = ()
    hosts: tuple[HostItem, ...] = ()
    robots: tuple[RobotsItem, ...] = ()


class Located(NamedTuple):
    """Checked items, with the values worked out for the check; items that failed it are not among them."""

    queued: list[tuple[int, str, QueuedItem]]  # slot and host
    visited: list[tuple[int, bytes, UrlRow, str]]  # slot, fingerprint, row and text, as far as known
    anchors: tuple[AnchorsItem, ...]
    hosts: list[tuple[int, HostItem]]
    robots: list[tuple[int, RobotsItem]]
    refused: int  # that were left out

    @property
    def item_count(self) -> int:
        return len(self.queued) + len(self.visited) + len(self.anchors) + len(self.hosts) + len(self.robots)

    def slots(self) -> set[int]:
        """Return the slots of all items."""
        slots = {slot for slot, _, _ in self.queued}
        slots.update(slot for slot, _, _, _ in self.visited)
        slots.update(item.slot for item in self.anchors)
        slots.update(slot for slot, _ in self.hosts)
        slots.update(slot for slot, _ in self.robots)
        return slots


# --- Joins ---


def robots_row(record: RobotsRecord) -> bytes:
    """Return the row of a robots.txt: time, status, origin and body, in this order."""
    head = _ROBOTS_HEAD.pack(record.expires_s, record.status)
    return head + record.origin.encode() + b" " + record.body


def robots_in(row: bytes) -> RobotsRecord:
    """Return the record in the row of a robots.txt."""
    expires_s, status = _ROBOTS_HEAD.unpack_from(row)
    origin, _, body = row[_ROBOTS_HEAD.size :].partition(b" ")
    return RobotsRecord(origin.decode(), status, expires_s, body)


def robots_content(row: bytes) -> bytes:
    """Return the part of a robots.txt row that all peers share: all but the time, as clocks may differ."""
    return row[_ROBOTS_TIME_BYTES:]


def join_robots(one: RobotsRecord, other: RobotsRecord) -> RobotsRecord:
    """Bring two answers of the same origin together."""
    return max(one, other, key=lambda record: (record.expires_s, record.status, record.body))


_ROBOTS_HEAD: Final = struct.Struct(">dH")
_ROBOTS_TIME_BYTES: Final = 8


def host_hash(host: str) -> bytes:
    """Return the eight bytes by which keys name a host, or an origin."""
    digest: bytes = xxh3_64_digest(host.encode())
    return digest


# --- The wire ---


def encode_items(items: Items) -> bytes:
    return _encoder.encode(items)


def decode_items(encoded: bytes) -> Items:
    """Return items of the right shape, with content that is not checked so far: see `locate`.

    Raises:
      RemoteProtocolError: these are no items.
    """
    try:
        return _decoder.decode(encoded)
    except (msgspec.MsgspecError, UnicodeError, RecursionError) as error:
        raise RemoteProtocolError(f"no frontier items: {error}") from error


def locate(items: Items, slot_count: int) -> Located:
    """Check items of another peer and work out to which slots they belong.

    What cannot be is left out and counted: a URL or host that is not canonical, a time that is none, a state
    that does not exist. It is better lost than all the rest repeated because of it without an end.
    """
    slots: dict[str, int] = {}

    def slot_in(host: str) -> int:
        slot = slots.get(host)
        if slot is None:
            slot = slots[host] = slot_of(host, slot_count)
        return slot

    urls = ((item, host_of(item.url)) for item in items.queued if _is_queued(item))
    queued = [(slot_in(host), host, item) for item, host in urls]
    checked = (_checked_visited(item, slot_count, slot_in) for item in items.visited)
    visited = [each for each in checked if each is not None]
    anchors = tuple(each for each in items.anchors if each.slot < slot_count and is_anchor_row(each.texts))
    hosts = [(slot_in(each.host), each) for each in items.hosts if _is_host(each)]
    robots = [(slot_in(host_of(each.origin)), each) for each in items.robots if _is_of_origin(each)]
    located = Located(queued, visited, anchors, hosts, robots, refused=0)
    return located._replace(refused=sum(map(len, astuple(items))) - located.item_count)


def items_of(items: Items, slots: Container[int], slot_count: int) -> Items:
    """Return our own items of some slots only."""

    def is_of(host: str) -> bool:
        return slot_of(host, slot_count) in slots

    return Items(
        tuple(item for item in items.queued if is_of(host_of(item.url))),
        tuple(item for item in items.visited if item.slot in slots),
        tuple(item for item in items.anchors if item.slot in slots),
        tuple(item for item in items.hosts if is_of(item.host)),
        tuple(item for item in items.robots if is_of(host_of(f"{item.origin}/"))),
    )


def course_of(item: QueuedItem | VisitedItem) -> Course | None:
    """Return the course that an item has.

    Raises:
      ValueError: it is none.
    """
    return course_in(item.course) if item.course else None


def _is_queued(item: QueuedItem) -> bool:
    return is_canonical(item.url) and len(item.course) in (0, COURSE_BYTES)


def _checked_visited(
    item: VisitedItem, slot_count: int, slot_in: Callable[[str], int]
) -> tuple[int, bytes, UrlRow, str] | None:
    try:
        row = row_in(item.row)._replace(course=course_of(item))
    except ValueError:
        return None
    text = row.url or item.url
    if item.slot >= slot_count or not is_sound(row) or (row.is_queued and not text):
        return None
    if text and (not is_canonical(text) or not _is_text_of(text, item, row, slot_in)):
        return None
    return item.slot, item.fingerprint, row, text


def _is_text_of(url: str, item: VisitedItem, row: UrlRow, slot_in: Callable[[str], int]) -> bool:
    host = host_of(url)
    is_host = host_hash(host) == row.host and slot_in(host) == item.slot
    return is_host and fingerprint(url) == item.fingerprint


def _is_host(item: HostItem) -> bool:
    url = f"http://{item.host}/"
    is_alias = not item.alias_of or (is_name(item.alias_of) and is_preferred(item.alias_of, item.host))
    return is_canonical(url) and host_of(url) == item.host and isfinite(item.next_fetch_s) and is_alias


def _is_of_origin(item: RobotsItem) -> bool:
    url = f"{item.origin}/"
    return is_canonical(url) and origin_of(url) == item.origin and isfinite(item.expires_s)


_encoder = msgspec.msgpack.Encoder()
_decoder = msgspec.msgpack.Decoder(Items)
