"""The frontier: every URL of our slots in exactly one state, and which host may be asked next.

Theory of operation
===================
The truth is in the table. Each URL has a ledger entry (queued, done, failed or excluded); a queued
one also stands in the queue of its host, ordered by depth and arrival. All keys begin with the
slot, so that everything that belongs to a slot is one range per kind and can be handed over:

    slot(2) "h" host(8)                      -> HostRecord
    slot(2) "r" host(8)                      -> body of its robots.txt
    slot(2) "q" host(8) depth(2) number(8)   -> (url, attempts, hops)
    slot(2) "u" url(16)                      -> state of the URL: one letter, then status or reason
    slot(2) "a" url(16)                      -> texts of the links that point to the URL
    slot(2) "d" url(16)                      -> URL of a stored page whose anchors have changed since

In memory there is one `HostState` per known host, with a short window on its queue, and a heap of
the hosts by the time they may be asked again. A URL that was taken stays queued in the table until
it is settled, so a crash repeats at most what was in flight.

Order: breadth-first within a host; among the hosts that may be asked now, those of which no page
has been asked come first, so that every known host gives one page before any gives its second, as
in WebCrawler (Pinkerton 1994).
"""

from __future__ import annotations

from collections import deque
from heapq import heappop, heappush
from itertools import islice
from math import inf
from typing import Final, Literal, NamedTuple, TypeAlias

import msgspec
from xxhash import xxh3_64_digest, xxh3_64_intdigest

from mesh.messages import ANCHORS_MAX
from mesh.table import Table
from mesh.urls import fingerprint
from peers.crawler.robots import RobotsRules, rules_for_status

# Queue entries of a host held in memory, at most twice as many: one scan per so many fetches.
WINDOW_URLS: Final = 64

Outcome: TypeAlias = Literal["D", "F", "X"]  # done, failed, excluded: the last three states of a URL

_QUEUED: Final = b"Q"
_STORED: Final = b"D200"
_COMPLETE: Final = None  # a window bound: nothing is in the table that is not in the window


class HostRecord(msgspec.Struct, frozen=True, array_like=True):
    """What is remembered of a host: its politeness clock and its robots.txt."""

    host: str
    next_fetch_s: float = 0.0  # mesh clock
    fetched: int = 0  # pages asked for, whatever came back
    failures: int = 0  # in a row
    given_up: bool = False
    robots_status: int = -1  # of the robots.txt answer; -1 not asked yet
    robots_expires_s: float = 0.0


class QueuedUrl(NamedTuple):
    """A URL taken from the frontier; `key` is its place in the queue of its host."""

    url: str
    key: bytes
    depth: int
    attempts: int  # made before
    hops: int  # redirects followed in a row to get here


class HostState:
    """A host in memory. `record` says what survives a restart; the rest follows from the table."""

    __slots__ = (
        "bound",
        "hash",
        "is_busy",
        "queued",
        "record",
        "rules",
        "slot",
        "window",
    )

    def __init__(self, slot: int, record: HostRecord) -> None:
        self.slot = slot
        self.record = record
        self.hash = _host_hash(record.host)
        self.rules: RobotsRules | None = None  # parsed from the table when first needed
        self.queued = 0
        self.is_busy = False  # it stands in the heap or among the ready, or is taken
        # A heap of all queue keys below the bound that are not taken; _COMPLETE when there are no others.
        self.window: list[tuple[bytes, str, int, int]] = []
        self.bound: bytes | None = _COMPLETE

    @property
    def host(self) -> str:
        return self.record.host


class Frontier:
    """URLs that are known and those that are due, over a table that outlives the process."""

    def __init__(self, table: Table) -> None:
        self._table = table
        self._hosts: dict[str, HostState] = {}
        self._waiting: list[tuple[float, int, HostState]] = []  # heap by next_fetch_s
        self._ready_new: deque[HostState] = deque()  # may be asked now, no page asked so far
        self._ready: deque[HostState] = deque()
        self._taken: set[bytes] = set()  # queue keys of URLs that are out
        self._changed: dict[str, int] = {}  # stored pages with new anchors, and their slots
        self._ties = 0
        self._number = 0  # of the next queue entry; order of arrival
        self.url_count = 0
        self.queued_count = 0
        self.given_up_count = 0  # queued URLs of hosts that were given up
        self._load()

    # --- adding ---

    def add(self, url: str, host: str, slot: int, depth: int, hops: int, now: float) -> bool:
        """Queue a URL unless it is known; tell whether it was new."""
        key = _url_key(slot, b"u", url)
        if self._table.get(key) is not None:
            return False
        self._table.put(key, _QUEUED)
        self.url_count += 1
        state = self._host(host, slot)
        self._enqueue(state, url, depth, 0, hops)
        self._schedule(state, now)
        return True

    def add_anchor(self, url: str, slot: int, text: str) -> None:
        """Remember the text of a link to a page, known or not.

        At most ANCHORS_MAX distinct texts are kept: those with the smallest hashes, so that what is
        kept does not depend on the order in which links were found.
        """
        key = _url_key(slot, b"a", url)
        stored = self._table.get(key)
        anchors = _anchors_decoder.decode(stored) if stored else []
        if text in anchors:
            return
        anchors.append(text)
        if len(anchors) > ANCHORS_MAX:
            largest = max(anchors, key=_anchor_order)
            anchors.remove(largest)
            if largest == text:
                return
        self._table.put(key, _encode(anchors))
        if self._table.get(_url_key(slot, b"u", url)) == _STORED:
            self.mark_anchors_changed(url, slot)

    def anchors_of(self, url: str, slot: int) -> tuple[str, ...]:
        """The distinct texts of the links that are known to point to a page, sorted."""
        stored = self._table.get(_url_key(slot, b"a", url))
        return tuple(sorted(_anchors_decoder.decode(stored))) if stored else ()

    def mark_anchors_changed(self, url: str, slot: int) -> None:
        """Note that a page was stored with other anchors than are known now."""
        self._table.put(_url_key(slot, b"d", url), url.encode())
        self._changed[url] = slot

    def take_changed_anchors(self, limit: int) -> list[tuple[str, int]]:
        """Return and forget up to `limit` (url, slot) of stored pages whose anchors have changed."""
        taken = list(islice(self._changed.items(), limit))
        for url, slot in taken:
            del self._changed[url]
            self._table.delete(_url_key(slot, b"d", url))
        return taken

    # --- taking ---

    def take_host(self, now: float) -> HostState | None:
        """A host that may be asked now and has something queued; it is ours until `release`."""
        while self._waiting and self._waiting[0][0] <= now:
            state = heappop(self._waiting)[2]
            (self._ready if state.record.fetched else self._ready_new).append(state)
        for ready in (self._ready_new, self._ready):
            while ready:
                state = ready.popleft()
                if state.record.next_fetch_s <= now:
                    return state
                self._wait(state)  # its clock was put forward meanwhile
        return None

    def take_url(self, state: HostState) -> QueuedUrl | None:
        """The next URL of a host; it stays queued in the table until `settle` or `retry`."""
        while not state.window and state.bound is not _COMPLETE:
            self._refill(state, state.bound)
        if not state.window:
            return None
        key, url, attempts, hops = heappop(state.window)
        self._taken.add(key)
        return QueuedUrl(url, key, int.from_bytes(key[11:13], "big"), attempts, hops)

    def release(self, state: HostState, now: float) -> None:
        """Give a host back, to be asked again at its `next_fetch_s` if anything is queued."""
        state.is_busy = False
        self._schedule(state, now)

    def save(self, state: HostState, **changes: object) -> None:
        """Change the record of a host, here and in the table."""
        record = msgspec.structs.replace(state.record, **changes)
        if record != state.record:
            state.record = record
            self._table.put(_host_key(state), _encode(record))

    def save_robots(self, state: HostState, status: int, body: bytes, expires_s: float) -> None:
        """Keep the robots.txt of a host; `status` is that of the answer (RFC 9309, 2.3.1)."""
        state.rules = None
        self._table.put(_robots_key(state), body)
        self.save(state, robots_status=status, robots_expires_s=expires_s, failures=0)

    def rules_of(self, state: HostState) -> RobotsRules:
        """The rules of a host whose robots.txt has been kept."""
        if state.rules is None:
            body = self._table.get(_robots_key(state)) or b""
            state.rules = rules_for_status(state.record.robots_status, body)
        return state.rules

    def give_up(self, state: HostState, until_s: float) -> None:
        """Leave a host alone until then; its URLs stay queued."""
        if not state.record.given_up:
            self.given_up_count += state.queued
        self.save(state, given_up=True, next_fetch_s=until_s)

    def take_courage(self, state: HostState) -> None:
        """Count a host that was given up among the living again, before it is asked."""
        if state.record.given_up:
            self.given_up_count -= state.queued
            self.save(state, given_up=False, failures=0)

    def settle(self, state: HostState, taken: QueuedUrl, outcome: Outcome, detail: str) -> None:
        """Bring a URL that was taken into its last state."""
        self._dequeue(state, taken)
        self._table.put(_url_key(state.slot, b"u", taken.url), f"{outcome}{detail}".encode())

    def forget(self, state: HostState, taken: QueuedUrl) -> None:
        """Unlearn a URL that was taken: another peer has to know it from now on."""
        self._dequeue(state, taken)
        self._table.delete(_url_key(state.slot, b"u", taken.url))
        self._table.delete(_url_key(state.slot, b"a", taken.url))
        self.url_count -= 1

    def retry(self, state: HostState, taken: QueuedUrl) -> None:
        """Queue a URL that was taken once more, behind the others of its depth."""
        self._dequeue(state, taken)
        self._enqueue(state, taken.url, taken.depth, taken.attempts + 1, taken.hops)

    def put_back(self, state: HostState, taken: QueuedUrl) -> None:
        """Undo `take_url`."""
        self._taken.remove(taken.key)
        if state.bound is _COMPLETE or taken.key < state.bound:
            heappush(state.window, (taken.key, taken.url, taken.attempts, taken.hops))

    # --- looking ---

    def find(self, host: str) -> HostState | None:
        """What is known of a host; None when it was never heard of."""
        return self._hosts.get(host)

    def next_time(self) -> float:
        """When a host may be asked next, mesh clock; -inf when one may now, inf when none ever."""
        if self._ready_new or self._ready:
            return -inf
        return self._waiting[0][0] if self._waiting else inf

    def state_of(self, url: str, slot: int) -> str | None:
        """One letter and a detail: Q, D200, Ftimeout, Xrobots; None for a URL never heard of."""
        value = self._table.get(_url_key(slot, b"u", url))
        return None if value is None else value.decode()

    @property
    def due_count(self) -> int:
        """URLs queued on hosts that were not given up."""
        return self.queued_count - self.given_up_count

    @property
    def host_count(self) -> int:
        return len(self._hosts)

    @property
    def changed_anchors_count(self) -> int:
        return len(self._changed)

    # --- details ---

    def _host(self, host: str, slot: int) -> HostState:
        state = self._hosts.get(host)
        if state is None:
            state = self._hosts[host] = HostState(slot, HostRecord(host))
            self._table.put(_host_key(state), _encode(state.record))
        return state

    def _enqueue(self, state: HostState, url: str, depth: int, attempts: int, hops: int) -> None:
        key = _queue_prefix(state) + depth.to_bytes(2, "big") + self._number.to_bytes(8, "big")
        self._number += 1
        self._table.put(key, _encode((url, attempts, hops)))
        self._count_queued(state, +1)
        if state.bound is _COMPLETE or key < state.bound:
            heappush(state.window, (key, url, attempts, hops))
            if len(state.window) > 2 * WINDOW_URLS:
                state.window.sort()
                state.bound = state.window[WINDOW_URLS][0]
                del state.window[WINDOW_URLS:]

    def _dequeue(self, state: HostState, taken: QueuedUrl) -> None:
        self._taken.remove(taken.key)
        self._table.delete(taken.key)
        self._count_queued(state, -1)

    def _count_queued(self, state: HostState, change: int) -> None:
        state.queued += change
        self.queued_count += change
        if state.record.given_up:
            self.given_up_count += change

    def _schedule(self, state: HostState, now: float) -> None:
        if state.is_busy or not (state.window or state.bound is not _COMPLETE):
            return
        state.is_busy = True
        if state.record.next_fetch_s <= now:
            (self._ready if state.record.fetched else self._ready_new).append(state)
        else:
            self._wait(state)

    def _wait(self, state: HostState) -> None:
        self._ties += 1
        heappush(self._waiting, (state.record.next_fetch_s, self._ties, state))

    def _refill(self, state: HostState, start: bytes) -> None:
        """Read the next keys of a queue, from its bound on, into an empty window."""
        end = _queue_prefix(state) + b"\xff" * 11
        rows = list(self._table.scan(start, end, limit=WINDOW_URLS + 1))
        state.bound = rows[WINDOW_URLS][0] if len(rows) > WINDOW_URLS else _COMPLETE
        for key, value in rows[:WINDOW_URLS]:
            if key not in self._taken:
                state.window.append((key, *_entry_decoder.decode(value)))

    def _load(self) -> None:
        """Rebuild what is in memory from the table, in one pass over its keys."""
        by_hash: dict[bytes, HostState] = {}
        for key, value in self._table.scan(b""):
            kind = key[2:3]
            if kind == b"h":
                state = HostState(int.from_bytes(key[:2], "big"), _record_decoder.decode(value))
                self._hosts[state.host] = by_hash[key[3:11]] = state
            elif kind == b"q":
                state = by_hash[key[3:11]]  # "h" sorts before "q" within a slot
                state.bound = state.bound or key
                self._count_queued(state, +1)
                self._number = max(self._number, int.from_bytes(key[13:21], "big") + 1)
            elif kind == b"u":
                self.url_count += 1
            elif kind == b"d":
                self._changed[value.decode()] = int.from_bytes(key[:2], "big")
        for state in self._hosts.values():
            self._schedule(state, -inf)


_encode = msgspec.msgpack.Encoder().encode
_record_decoder = msgspec.msgpack.Decoder(HostRecord)
_entry_decoder = msgspec.msgpack.Decoder(tuple[str, int, int])
_anchors_decoder = msgspec.msgpack.Decoder(list[str])


def _anchor_order(text: str) -> tuple[int, str]:
    return xxh3_64_intdigest(text.encode()), text


def _slot_key(slot: int) -> bytes:
    return slot.to_bytes(2, "big")


def _url_key(slot: int, kind: bytes, url: str) -> bytes:
    return slot.to_bytes(2, "big") + kind + fingerprint(url)


def _host_hash(host: str) -> bytes:
    digest: bytes = xxh3_64_digest(host.encode())
    return digest


def _host_key(state: HostState) -> bytes:
    return _slot_key(state.slot) + b"h" + state.hash


def _robots_key(state: HostState) -> bytes:
    return _slot_key(state.slot) + b"r" + state.hash


def _queue_prefix(state: HostState) -> bytes:
    return _slot_key(state.slot) + b"q" + state.hash
