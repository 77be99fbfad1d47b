"""The shape of the keys in the table of a frontier. Nobody else knows it.

All keys begin with the slot, so that everything that belongs to a slot is one range:

    slot(2) "h" host(8)                                      -> HostRecord
    slot(2) "r" host(8) origin(8)                            -> robots.txt of an origin of the host
    slot(2) "q" host(8) due(4) rank(2) attempts(1) fingerprint(16) -> hops(1) url
    slot(2) "t" host(8)                                      -> what of its URLs was found to be a trap
    slot(2) "u" fingerprint(16)                              -> row of the URL, see `url_rows`
    slot(2) "a" fingerprint(16)                              -> texts of the links that point to the URL
    slot(2) "d" fingerprint(16)                              -> URL of a stored page of whose link texts the
                                                                cell of this peer has not heard
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from peers.crawler.frontier.items import host_hash
from peers.crawler.model.url_rows import UrlRow

URL: Final = b"u"
TEXTS: Final = b"a"
HOST: Final = b"h"
ROBOTS: Final = b"r"
_CHANGED: Final = b"d"
_TRAPS: Final = b"t"
_QUEUE: Final = b"q"
KIND_AT: Final = 2
ITEM_KINDS: Final = TEXTS + HOST + ROBOTS + URL  # what other peers get, in order
_HOST_AT: Final = 3
_DUE_AT: Final = 11  # in the key of a queue entry: whole seconds, 0 for a new URL
_RANK_AT: Final = 15
_ATTEMPTS_AT: Final = 17
_FINGERPRINT_AT: Final = 18
_NEW_AT: Final = bytes(4)  # when a new URL is due
FIRST_AGAIN: Final = (1).to_bytes(4, "big")  # where in a queue those begin that were visited
QUEUE_END: Final = b"\xff" * 5


def slot_key(slot: int) -> bytes:
    """Return the prefix of all keys of a slot."""
    return slot.to_bytes(2, "big")


def slot_in(key: bytes) -> int:
    return int.from_bytes(key[:2], "big")


def kind_in(key: bytes) -> bytes:
    return key[KIND_AT : KIND_AT + 1]


def name_in(key: bytes) -> bytes:
    """Return the key's part after slot and kind: the fingerprint of a URL and its texts, or a host's hash."""
    return key[3:]


def content_name(key: bytes) -> bytes:
    """Return kind and name, by which rows of a slot are told apart."""
    return key[KIND_AT:]


def url_key(slot: int, mark: bytes) -> bytes:
    return slot.to_bytes(2, "big") + URL + mark


def texts_key(slot: int, mark: bytes) -> bytes:
    return slot.to_bytes(2, "big") + TEXTS + mark


def url_and_texts_keys(slots: Iterable[int], marks: Iterable[bytes]) -> tuple[list[bytes], list[bytes]]:
    """Return the `url_key` and the `texts_key` of each of many URLs."""
    places = [(slot.to_bytes(2, "big"), mark) for slot, mark in zip(slots, marks, strict=True)]
    return [slot + URL + mark for slot, mark in places], [slot + TEXTS + mark for slot, mark in places]


def changed_key(slot: int, mark: bytes) -> bytes:
    return slot.to_bytes(2, "big") + _CHANGED + mark


def all_changed(slot: int) -> bytes:
    """Return the key prefix of a slot's pages with texts that the cell has not heard of."""
    return slot.to_bytes(2, "big") + _CHANGED


def host_key(slot: int, host: bytes) -> bytes:
    return slot.to_bytes(2, "big") + HOST + host


def all_robots(slot: int, host: bytes) -> bytes:
    """Return the prefix of the keys of all robots.txt of a host."""
    return slot.to_bytes(2, "big") + ROBOTS + host


def robots_key(slot: int, host: bytes, origin: str) -> bytes:
    return slot.to_bytes(2, "big") + ROBOTS + host + host_hash(origin)


def traps_key(slot: int, host: bytes) -> bytes:
    return slot.to_bytes(2, "big") + _TRAPS + host


def kept_range(slot: int) -> tuple[bytes, bytes]:
    """Return between which keys the hosts, queues and URLs of a slot are, in this order."""
    return slot.to_bytes(2, "big") + HOST, slot.to_bytes(2, "big") + b"v"


def is_queued(key: bytes) -> bool:
    return key[KIND_AT : KIND_AT + 1] == _QUEUE


def all_queued(slot: int) -> bytes:
    """Return the prefix of the keys of all queues of a slot."""
    return slot.to_bytes(2, "big") + _QUEUE


def queue_of(slot: int, host: bytes) -> bytes:
    """Return the prefix of the keys of the queue of a host."""
    return slot.to_bytes(2, "big") + _QUEUE + host


def queue_key(slot: int, mark: bytes, row: UrlRow) -> bytes:
    """Return the place of a URL in the queue of its host, which follows from its row."""
    due, rank = int(row.due_s).to_bytes(4, "big"), row.rank.to_bytes(2, "big")
    return b"%bq%b%b%b%c%b" % (slot.to_bytes(2, "big"), row.host, due, rank, row.attempts, mark)


def new_queue_key(slot: int, mark: bytes, host: bytes, rank: int) -> bytes:
    """Return the `queue_key` of a URL that was never tried, which most calls are for."""
    return slot.to_bytes(2, "big") + _QUEUE + host + _NEW_AT + rank.to_bytes(2, "big") + b"\0" + mark


def place_in_queue(queue: bytes, rank: int, mark: bytes) -> bytes:
    """Return where a new URL of a rank stands, or would, that was never tried; see `queue_of`."""
    return b"%b%b%b\0%b" % (queue, bytes(4), rank.to_bytes(2, "big"), mark)


def host_in(key: bytes) -> bytes:
    """Return the hash of the host in the key of a host or of a queue entry."""
    return key[_HOST_AT:_DUE_AT]


def mark_in(key: bytes) -> bytes:
    """Return the fingerprint of the URL in the key of a queue entry."""
    return key[_FINGERPRINT_AT:]


def rank_in(key: bytes) -> int:
    """Return where a queue entry stands among those that are due at the same time; see `UrlRow.rank`."""
    return int.from_bytes(key[_RANK_AT:_ATTEMPTS_AT], "big")


def attempts_in(key: bytes) -> int:
    return key[_ATTEMPTS_AT]


def due_s_in(key: bytes) -> float:
    return float(int.from_bytes(key[_DUE_AT:_RANK_AT], "big"))


def is_new(key: bytes | None) -> bool:
    """Is a queue entry that of a URL that was never visited?"""
    return key is not None and key[_DUE_AT:_RANK_AT] == bytes(4)
