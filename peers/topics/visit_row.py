"""The rows by which visits of pages are counted, at the slot of the content that the pages had.

A visit has a row of the content, the slice and the page: so it counts once whatever is told again, all pages
of one content are beside each other on one peer, and what is independent of each other can be counted by
each peer alone. The first row of a content says which topics it has strings of.

    content(8)                    -> "l" and for each topic, by its key: key(4) level(1)
    content(8) slice(4) page(8)   -> "k" and the keys of the topics that look at the site of the page
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import pairwise
from typing import Final, NamedTuple

from peers.topics.topic_list import KEY_BYTES, RELATED_LEVEL, TOPIC_LEVEL

CONTENT_BYTES: Final = 8
PAGE_BYTES: Final = 8
SLICE_BYTES: Final = 4
GROUP_BYTES: Final = CONTENT_BYTES + SLICE_BYTES
NAME_BYTES: Final = GROUP_BYTES + PAGE_BYTES
SLICE_MAX: Final = (1 << 32) - 1
# Of a row: those in force and some of before, which go with their slices.
KEYS_MAX: Final = 64
LEVEL_BYTES: Final = KEY_BYTES + 1
_KEYS: Final = b"k"
_LEVELS: Final = b"l"


class VisitName(NamedTuple):
    """The name of the row of a visit, taken apart."""

    content: bytes
    slice: int
    page: bytes  # the beginning of its fingerprint

    @property
    def encoded(self) -> bytes:
        return self.content + self.slice.to_bytes(SLICE_BYTES, "big") + self.page


def visit_in(name: bytes) -> VisitName:
    number = int.from_bytes(name[CONTENT_BYTES:GROUP_BYTES], "big")
    return VisitName(name[:CONTENT_BYTES], number, name[GROUP_BYTES:])


def content_number(name: bytes) -> int:
    """Return the number of a content, that modulo the number of slots is its slot."""
    return int.from_bytes(name[:CONTENT_BYTES], "big")


def keys_in(value: bytes) -> list[bytes]:
    """Return the keys in the value of a visit.

    Raises:
      ValueError: it is none.
    """
    keys = _parts(value, _KEYS, KEY_BYTES)
    if any(a >= b for a, b in pairwise(keys)):
        raise ValueError("keys of topics out of order")
    return keys


def keys_bytes(keys: Iterable[bytes]) -> bytes:
    """Return the value of a visit; of too many keys it has the first ones."""
    return _KEYS + b"".join(sorted(set(keys))[:KEYS_MAX])


def levels_in(value: bytes) -> dict[bytes, int]:
    """Return the levels of topics by key, from the value of a content; ValueError when it is none."""
    parts = _parts(value, _LEVELS, LEVEL_BYTES)
    levels = {part[:KEY_BYTES]: part[KEY_BYTES] for part in parts}
    if any(a[:KEY_BYTES] >= b[:KEY_BYTES] for a, b in pairwise(parts)):
        raise ValueError("levels of topics out of order")
    if not all(RELATED_LEVEL <= level <= TOPIC_LEVEL for level in levels.values()):
        raise ValueError("a level that there is none of")
    return levels


def levels_bytes(levels: Mapping[bytes, int]) -> bytes:
    """Return the value of a content; of too many keys it has the first ones."""
    return _LEVELS + b"".join(key + bytes([levels[key]]) for key in sorted(levels)[:KEYS_MAX])


def join(one: bytes, other: bytes) -> bytes:
    """Join two values of one name: see `handover.item_store`. ValueError for bytes that are none."""
    if one[:1] == _KEYS:
        return keys_bytes(keys_in(one) + keys_in(other))
    levels = levels_in(one)
    for key, level in levels_in(other).items():
        levels[key] = max(level, levels.get(key, 0))
    return levels_bytes(levels)


def is_row(name: bytes, value: bytes) -> bool:
    """Are these name and value of one row, as an honest peer writes it?"""
    try:
        if len(name) == NAME_BYTES:
            return bool(keys_in(value))
        return len(name) == CONTENT_BYTES and bool(levels_in(value))
    except ValueError:
        return False


def _parts(value: bytes, kind: bytes, size: int) -> list[bytes]:
    if value[:1] != kind or len(value) == 1 or len(value) % size != 1 or len(value) > 1 + size * KEYS_MAX:
        raise ValueError("no value of a visit, or of another kind")
    return [value[place : place + size] for place in range(1, len(value), size)]
