"""Builders of messages and views with boring defaults."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from typing import Any

import msgspec
from xxhash import xxh3_64_digest

from mesh.actors.ownership import Ownership, OwnershipChanged
from mesh.slot_set import NO_SLOTS, encode_slots
from mesh.slots import SlotTable
from mesh.stamp import Stamp
from mesh.tables.memory_table import MemoryTable
from peers.crawler.controller import Controller
from peers.crawler.model.messages import PageParsed
from peers.crawler.model.web_request import PageFetched
from peers.crawler.model.wire_messages import FoundLink
from peers.engine.pages.document import Document
from peers.handover.messages import HoldSlots
from peers.storage.cell import Cell
from peers.storage.ledger.stored_versions import StoredVersions

STORES = (Controller.keeps, Cell.keeps)  # of every peer
ME = "me"
SLOT_COUNT = 64
NOTHING_STORED = StoredVersions(MemoryTable())


def owned_by(
    peers: Iterable[str] = (ME,), me: str = ME, alive: Iterable[str] | None = None, replicas: int = 1
) -> Ownership:
    """All peers weigh the same; with `me` alone it owns every slot."""
    names = tuple(dict.fromkeys(peers))
    return Ownership(me, _table_of(frozenset(names), replicas), names if alive is None else alive)


@cache
def _table_of(peers: frozenset[str], replicas: int) -> SlotTable:
    return SlotTable(dict.fromkeys(peers, 100), SLOT_COUNT, replicas)


def ownership_changed(
    peers: Iterable[str] = (ME,), me: str = ME, alive: Iterable[str] | None = None, replicas: int = 1
) -> OwnershipChanged:
    return OwnershipChanged(owned_by(peers, me, alive, replicas))


def hold_slots(ownership: Ownership | None = None, *, is_inherited: bool = False) -> HoldSlots:
    """What the handover says when all slots that are ours are held; inherited ones were just asked."""
    slots = encode_slots((ownership or owned_by()).owned)
    return HoldSlots(slots, slots if is_inherited else NO_SLOTS)


def seen(fetched_at: float, visit: int = 0) -> Stamp:
    """The stamp of a version; of no visit unless that matters."""
    return Stamp(visit, fetched_at)


def fetched(url: str, status: int = 200, body: bytes = b"", **changes: Any) -> PageFetched:
    values: dict[str, Any] = {
        "url": url,
        "status": status,
        "reason_phrase": "",
        "http_version": "1.1",
        "headers": (("Content-Type", "text/html"),),
        "body": body,
        "request_head": b"GET / HTTP/1.1\r\nHost: a.test\r\n\r\n",
        "ip": "203.0.113.1",
        "started_at": 1_000.0,
        "seconds": 0.1,
        "bytes_received": 100,
    }
    return PageFetched(**(values | changes))


def redirect(url: str, target: str, status: int = 301, **changes: Any) -> PageFetched:
    return fetched(url, status, headers=(("Location", target),), **changes)


def free_of_charge(said: Any) -> Any:
    """Return an answer of a process without its processor time, which is another one each time."""
    return msgspec.structs.replace(said, cpu_s=0.0) if hasattr(said, "cpu_s") else said


def parsed(url: str, *links: str | FoundLink, **changes: Any) -> PageParsed:
    values: dict[str, Any] = {
        "url": url,
        "records": b"records of " + url.encode(),
        "document": Document(url, title="title", text="text"),
        "links": tuple(FoundLink(link) if isinstance(link, str) else link for link in links),
        "digest": xxh3_64_digest(b""),
    }
    return PageParsed(**(values | changes))
