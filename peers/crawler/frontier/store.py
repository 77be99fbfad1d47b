"""The frontier as another peer sees it: the items it has of a slot, and the items that others send.

Implements `peers.handover.store.MirroredStore`. An item's id covers its kind and content, but no times of
hosts and robots.txt: clocks differ from peer to peer. So of a host only the name is in it, and hosts, which
are few, are in every transfer.

Some pages are *held back*: their visit has come to its end here, but their links are not yet safe with
others, who are shown the URL as it was before: due. So who takes over after our death fetches the page again.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from math import inf, isfinite
from typing import Final, NamedTuple

import msgspec
import numpy as np
from msgspec.structs import astuple
from xxhash import xxh3_64_digest

from mesh.actors.actor import Send
from mesh.errors import RemoteProtocolError
from mesh.slot_set import SlotMask
from peers.crawler.frontier.frontier import Frontier
from peers.crawler.frontier.items import (
    AnchorsItem,
    HostItem,
    Items,
    Located,
    QueuedItem,
    RobotsItem,
    RobotsRecord,
    VisitedItem,
    decode_items,
    encode_items,
    items_of,
    locate,
    robots_content,
    robots_in,
)
from peers.crawler.frontier.keys import (
    HOST,
    ROBOTS,
    TEXTS,
    URL,
    content_name,
    kind_in,
    name_in,
    slot_in,
    url_key,
)
from peers.crawler.model import politeness
from peers.crawler.model.politeness import HostRecord
from peers.crawler.model.settings import CrawlSettings
from peers.crawler.model.url_rows import (
    UrlRow,
    course_part,
    row_in,
    says_no_more,
    visitor_tag,
    without_course,
)
from peers.handover.slot_digests import NOTHING, SlotDigest, SlotDigests
from peers.handover.store import PAUSE, Part, Shipment
from peers.handover.wire_messages import CHANGES_MAX

PART_BYTES: Final = 128 << 10  # of items in a part: some 1,200, which take 10 ms to merge
ROWS_PER_TURN: Final = 4_000  # that are looked through for what another peer lacks: some 8 ms
ITEM_BYTES: Final = 24  # of an item besides its texts
# News of a page that is done, which is safe with the team, waits so long for other news of its slot: mostly
# that its host is asked for the next one.
COMPANY_S: Final = 2.0


class HeldBack(NamedTuple):
    """The row and URL that other peers are shown of a page that is done."""

    row: bytes
    url: str


class Gathering:
    """Items being put into a message."""

    def __init__(self) -> None:
        self._begin()

    def _begin(self) -> None:
        self.n_bytes = 0  # about so many when encoded, rather more than less
        self.n_items = 0
        self.queued: list[QueuedItem] = []
        self.visited: list[VisitedItem] = []
        self.anchors: list[AnchorsItem] = []
        self.hosts: list[HostItem] = []
        self.robots: list[RobotsItem] = []

    def count(self, n_bytes: int) -> None:
        self.n_items += 1
        self.n_bytes += ITEM_BYTES + n_bytes

    def take(self) -> bytes:
        """Return the gathered items, encoded, and begin anew."""
        items = Items(
            tuple(self.queued),
            tuple(self.visited),
            tuple(self.anchors),
            tuple(self.hosts),
            tuple(self.robots),
        )
        self._begin()
        return encode_items(items)

    def shipment(self, slots: set[int]) -> Shipment:
        """Return the gathered items of these slots as a shipment, and begin anew."""
        n_items = self.n_items
        return Shipment(self.take(), n_items, frozenset(slots))


class FrontierStore:
    """Reads items from a frontier and merges those of others into it."""

    def __init__(self, frontier: Frontier, settings: CrawlSettings) -> None:
        """Begin without knowing the mesh; host records from other peers are limited by these settings."""
        self._frontier = frontier
        self.settings = settings
        self.slot_count = 0  # of the mesh, once that is known
        self.now = 0.0  # mesh clock; whoever calls `merge` sets it
        self.items_refused = 0  # see `handover.store.Store`
        self.held_back: dict[bytes, HeldBack] = {}  # by key of the URL's row
        # Keys of these that need not be held back any more, by slot, and when others hear of them at the
        # latest; the slot that is due first comes first.
        self._released: dict[bytes, tuple[float, list[bytes]]] = {}
        self.released_due_s = inf  # when the first of them counts as a change; inf for none
        self._digests = SlotDigests(0, self.item_ids, self._id_shown)
        frontier.tell_changes(self._digests.note)
        self.newly_filled = frontier.slots.newly_filled

    def filled_mask(self, slot_count: int) -> SlotMask:
        """Return where anything is."""
        return self._frontier.slots.mask(slot_count)

    def item_ids(self, slot: int) -> Iterable[bytes]:
        """Yield the ids of all items of a slot."""
        held_back = self.held_back
        for key, row in self._rows(slot):
            if key in held_back:
                row = held_back[key].row
            yield _id(key, row)

    def digest_of(self, slot: int) -> SlotDigest:
        """See `handover.store.Store`."""
        return self._digests.of(slot) if slot in self._frontier.slots else NOTHING

    def hold_back(self, key: bytes, held_back: HeldBack) -> None:
        """Show others a row as it was before."""
        self._digests.note((key,))
        self.held_back[key] = held_back

    def release(self, key: bytes) -> None:
        """Show others a row as it is, soon, and have them hear of it if they did not see it so before."""
        if self._frontier.changes is None:
            self._show(key)
        elif key in self.held_back:
            due_s = self.now + COMPANY_S
            self._released.setdefault(key[:2], (due_s, []))[1].append(key)
            self.released_due_s = min(self.released_due_s, due_s)

    def is_released(self, key: bytes) -> bool:
        """Does a row that is held back wait only for company?"""
        return key in self._released.get(key[:2], (0.0, ()))[1]

    def release_at_once(self, slots: Iterable[int]) -> None:
        """Show others the rows of these slots that wait only for company."""
        for slot in slots:
            for key in self._released.pop(slot.to_bytes(2, "big"), (0.0, ()))[1]:
                self._show(key)
        self.released_due_s = next((due_s for due_s, _ in self._released.values()), inf)

    def _show(self, key: bytes) -> None:
        self._digests.note((key,))
        if self.held_back.pop(key, None) is not None:
            self._frontier.note_change(key)

    def parts(self, ticket: int, slots: SlotMask, have: Collection[bytes]) -> Iterator[Part | Send]:
        """Yield all items of these slots with ids that are not in `have`, and all hosts."""
        gathering = Gathering()
        n_looked_at = 0
        for slot in np.flatnonzero(slots).tolist():
            for key, row in self._rows(slot):
                n_looked_at += 1
                shown = self.held_back[key].row if key in self.held_back else row
                if kind_in(key) == HOST or _id(key, shown) not in have:
                    self.gather(key, row, gathering)
                if gathering.n_bytes >= PART_BYTES:
                    yield Part(gathering.take())
                    n_looked_at = 0
                elif n_looked_at == ROWS_PER_TURN:
                    yield PAUSE
                    n_looked_at = 0
        if gathering.n_items:
            yield Part(gathering.take())

    def merge(
        self, ticket: int, peer: str, slots: SlotMask, part: Part, clock_offset_s: float
    ) -> Send | None:
        """Take in items of another peer; see `Store.merge`."""
        located = locate(decode_items(part.items), self.slot_count)
        if not isfinite(clock_offset_s):
            raise RemoteProtocolError("frontier items sent at no time")
        if not all(slots[slot] for slot in located.slots()):
            raise RemoteProtocolError("frontier items of slots that were not asked for")
        self.items_refused += located.refused
        self.merge_located(located, clock_offset_s)
        return None

    def merge_located(self, located: Located, clock_offset_s: float) -> None:
        """Join checked items with ours; hosts first, so that no clock comes after the URLs it holds up."""
        frontier, now, settings = self._frontier, self.now, self.settings
        for slot, host in located.hosts:
            told = HostRecord(*msgspec.structs.astuple(host))
            frontier.merge_host(slot, politeness.seen_elsewhere(told, clock_offset_s, now, settings))
        for slot, robots in located.robots:
            expires_s = min(robots.expires_s + clock_offset_s, now + settings.robots_ttl_s)
            frontier.slots.fill(slot)
            frontier.origins.merge(slot, RobotsRecord(robots.origin, robots.status, expires_s, robots.body))
        for slot, name, item in located.queued:
            frontier.merge_queued(slot, name, item)
        for slot, mark, row, url in located.visited:
            frontier.merge_visited(slot, mark, row, url)
        for anchors in located.anchors:
            frontier.texts.merge(anchors.slot, anchors.fingerprint, anchors.texts)

    # --- Forgetting

    @property
    def is_forgetting(self) -> bool:
        return bool(self._frontier.slots.forgetting)

    def forget_later(self, slots: SlotMask) -> None:
        """See `handover.store.Store`."""
        self._frontier.forget_later(np.flatnonzero(slots).tolist())

    def forget_some(self, entries_max: int) -> None:
        """See `handover.store.Store`."""
        self._frontier.slots.forget_some(entries_max)

    # --- Changes, for the mirror

    @property
    def has_changes(self) -> bool:
        return bool(self._frontier.changes) or self.released_due_s <= self.now

    @property
    def pledged_count(self) -> int:
        """Rows held back until something happens, not for company."""
        return len(self.held_back) - sum(len(keys) for _, keys in self._released.values())

    @property
    def has_released(self) -> bool:
        """Does news of pages that are done wait for company?"""
        return bool(self._released)

    def note_changes(self, *, is_wanted: bool) -> None:
        """See `handover.store.MirroredStore`."""
        if not is_wanted:
            self._frontier.changes = None
            self.release_at_once([int.from_bytes(slot, "big") for slot in self._released])
        elif self._frontier.changes is None:
            self._frontier.changes = {}

    def take_changes(self) -> Collection[bytes]:
        """See `handover.store.MirroredStore`."""
        changes = self._frontier.changes
        if changes is None:
            return ()
        if self._released:
            changed = [int.from_bytes(key[:2], "big") for key in changes if key[:2] in self._released]
            slots = dict.fromkeys(changed)
            for slot, (due_s, _) in self._released.items():
                if due_s > self.now:
                    break
                slots[int.from_bytes(slot, "big")] = None
            self.release_at_once(slots)
        self._frontier.changes = {}
        return changes

    def shipments(self, keys: Iterable[bytes]) -> Iterator[Shipment]:
        """See `handover.store.MirroredStore`."""
        gathering, slots = Gathering(), set[int]()
        for key in keys:
            self.gather_key(key, gathering)
            slots.add(slot_in(key))
            if gathering.n_items >= CHANGES_MAX or gathering.n_bytes >= PART_BYTES:
                yield gathering.shipment(slots)
                slots = set()
        if gathering.n_items:
            yield gathering.shipment(slots)

    def only(self, shipment: Shipment, slots: frozenset[int]) -> Shipment:
        """See `handover.store.MirroredStore`."""
        items = items_of(decode_items(shipment.items), slots, self.slot_count)
        return Shipment(encode_items(items), sum(map(len, astuple(items))), slots)

    def merge_changes(
        self, peer: str, items: bytes, is_taken: Callable[[int], bool], clock_offset_s: float
    ) -> int:
        """See `handover.store.MirroredStore`."""
        located = locate(decode_items(items), self.slot_count)
        if located.item_count + located.refused > CHANGES_MAX:
            raise RemoteProtocolError(f"more than {CHANGES_MAX} changes in one message")
        if not all(map(is_taken, located.slots())):
            raise RemoteProtocolError("changes from who is not in the team, or to who is not")
        told = self._in_own_name(located, visitor_tag(peer))
        self.items_refused += told.refused
        self.merge_located(told, clock_offset_s)
        return told.item_count

    def _in_own_name(self, located: Located, teller: int) -> Located:
        """Leave out visits that a peer tells as news, and that others are said to have made."""
        own = [
            each
            for each in located.visited
            if each[2].visitor == teller or self._is_known(each[0], each[1], each[2])
        ]
        return located._replace(visited=own, refused=located.refused + len(located.visited) - len(own))

    def _is_known(self, slot: int, mark: bytes, row: UrlRow) -> bool:
        known = self._frontier.row(url_key(slot, mark))
        return known is not None and says_no_more(row, row_in(known))

    # --- Items and rows

    def gather(self, key: bytes, row: bytes, gathering: Gathering) -> None:
        """Add the item of a row."""
        slot, kind, mark = slot_in(key), kind_in(key), name_in(key)
        gathering.count(len(row))
        if kind == URL:
            self._gather_url(slot, key, row, gathering)
        elif kind == TEXTS:
            gathering.anchors.append(AnchorsItem(slot, mark, _decode_texts(row)))
        elif kind == HOST:
            host = _decode_record(row)
            gathering.hosts.append(HostItem(*msgspec.structs.astuple(host)))
        else:
            robots = robots_in(row)
            gathering.robots.append(RobotsItem(robots.origin, robots.status, robots.expires_s, robots.body))

    def gather_key(self, key: bytes, gathering: Gathering) -> None:
        """Add the item of a row as it is now; nothing if it has gone."""
        row = self._frontier.row(key)
        if row is not None:
            self.gather(key, row, gathering)

    def _gather_url(self, slot: int, key: bytes, row: bytes, gathering: Gathering) -> None:
        held_back = self.held_back.get(key)
        url = ""
        if held_back is not None:
            row, url = held_back
        shown = row_in(row)
        if shown.is_queued:
            url = url or self._frontier.url_in_queue(slot, name_in(key), shown)
            gathering.n_bytes += len(url)
        if shown.visit == 0:
            gathering.queued.append(
                QueuedItem(url, shown.depth, shown.attempts, shown.hops, course_part(row))
            )
        else:
            text = url if shown.is_queued else ""
            item = VisitedItem(slot, name_in(key), without_course(row), text, course_part(row))
            gathering.visited.append(item)

    def _id_shown(self, key: bytes) -> bytes | None:
        row = self._frontier.row(key)
        if row is None:
            return None
        held_back = self.held_back.get(key)
        return _id(key, row if held_back is None else held_back.row)

    def _rows(self, slot: int) -> Iterator[tuple[bytes, bytes]]:
        if slot in self._frontier.slots:
            for kind in (TEXTS, HOST, ROBOTS, URL):
                yield from self._frontier.rows(slot, kind)


def _id(key: bytes, row: bytes) -> bytes:
    """Return the id of an item: XXH3-64 over kind, name and the content that does not depend on a clock.

    Nor on the course, which the policy of the moment decides: peers hear of another one at different times.
    """
    kind = kind_in(key)
    if kind == HOST:
        row = b""
    elif kind == ROBOTS:
        row = robots_content(row)
    elif kind == URL:
        row = without_course(row)
    digest: bytes = xxh3_64_digest(content_name(key) + row)
    return digest


_decode_texts = msgspec.msgpack.Decoder(tuple[str, ...]).decode
_decode_record = msgspec.msgpack.Decoder(HostRecord).decode
