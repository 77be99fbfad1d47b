"""Frames as one member may send them to another: every message, to who takes it, with values of all kinds."""

from __future__ import annotations

import typing
from collections.abc import Iterator, Sequence
from enum import Enum
from functools import cache
from random import Random
from typing import Any, Final

import msgspec
from msgspec import Meta

from mesh.actors.actor import Actor, Message
from mesh.actors.codec import encode
from mesh.keys.decree import KINDS, DecreeName
from mesh.slot_limits import SLOTS_MAX
from mesh.slot_set import encode_slot_list
from mesh.slots import slot_of
from mesh.stamp import Stamp
from mesh.urls import fingerprint, host_of
from peers import actors  # of which all actors are subclasses
from peers.crawler.frontier.items import Items
from peers.entities.sealed_row import SealedRow
from peers.gateway.model.status import PeerStatus
from peers.handover.item_store import Item
from peers.link_graph.source_row import SourceRow, name_of_source
from peers.link_graph.target_row import TargetRow, domain_of, name_of_target
from peers.query_log.log_row import LogRow
from peers.submissions.report import PageReport
from peers.submissions.submission import Submission
from peers.topics.topic_list import FORMAT, CountedTopic, TopicList
from peers.watch.watch_list import WatchList
from peers.wire_tags import WIRE_TAGS

assert actors
COUNTED: Final = TopicList(FORMAT, (CountedTopic("page", "Pages", ("page", "标题 文本"), ("other",)),), 60)
FRAMES: Final = 2_000
SLOTS: Final = 50_000
URLS: Final = tuple(f"http://h{host}.test/{page}" for host in range(5) for page in range(5))
INTS: Final = (0, 1, 2, 7, 100, 4_096, 65_536, 2**31, 2**63 - 1)
FLOATS: Final = (0.0, 1.0, 1e9, 2e9, 1e308, -1.0, float("inf"), float("nan"))
ITEMS_MAX: Final = 3  # of a list
NESTED: Final = b"\x91" * 5_000 + b"\xc0"
# What stands in fields of bytes: items of stores, and the values of such items.
INNER: Final = (
    *(SourceRow, TargetRow, Submission, PageReport, SealedRow, LogRow, Items),
    *(WatchList, TopicList, PeerStatus),
)


def frames_of(random: Random, peers: Sequence[str], count: int = FRAMES) -> list[bytes]:
    """Well-formed frames in which these peers are spoken of; no two runs of a seed differ."""
    return [
        encode(random.choice(("membership", name)), name, message)
        for name, message in messages_of(random, peers, count)
    ]


def value_of(random: Random, peers: Sequence[str], kind: type[Any]) -> Any:
    """Draw a message or a part of one."""
    return _Values(random, peers).struct(kind)


def messages_of(random: Random, peers: Sequence[str], count: int) -> Iterator[tuple[str, Message]]:
    """Yield names of actors and what they take of others."""
    values = _Values(random, peers)
    takers = [(kind, name) for kind in WIRE_TAGS.values() for name in _takers_of(kind)]
    for _ in range(count):
        kind, name = random.choice(takers)
        yield name, values.struct(kind)


def _takers_of(kind: type[Message]) -> list[str]:
    return sorted({actor.name for actor in _actors() if kind in actor.remote_messages}) or ["membership"]


def _actors() -> Iterator[type[Actor]]:
    kinds = Actor.__subclasses__()
    while kinds:
        kind = kinds.pop()
        kinds += kind.__subclasses__()
        if hasattr(kind, "name") and not kind.__module__.startswith("tests."):
            yield kind


@cache
def _hints_of(kind: type[Any]) -> dict[str, Any]:
    """Return the types of the fields, in their order."""
    hints = typing.get_type_hints(kind, include_extras=True)
    return {name: hints[name] for name in getattr(kind, "__struct_fields__", getattr(kind, "_fields", ()))}


class _Values:
    """Draws values of types."""

    def __init__(self, random: Random, peers: Sequence[str]) -> None:
        self._random = random
        self._texts = (*peers, *URLS, *KINDS, "", "a", "标题 文本", "\x00", "x" * 300)

    def struct(self, kind: Any) -> Any:
        """A message or a part of one; fields that do not fit are not drawn again."""
        hints = _hints_of(kind)
        while True:
            try:
                return kind(**{name: self._value(hint) for name, hint in hints.items()})
            except ValueError:
                continue

    def _value(self, annotation: Any) -> Any:
        origin, arguments = typing.get_origin(annotation), typing.get_args(annotation)
        if origin is typing.Annotated:
            return self._limited(arguments[0], next(each for each in arguments[1:] if isinstance(each, Meta)))
        if origin is tuple and arguments[-1] is Ellipsis:
            return tuple(self._value(arguments[0]) for _ in range(self._random.randint(0, ITEMS_MAX)))
        if origin is tuple:
            return tuple(map(self._value, arguments))
        if arguments:  # a union
            return self._value(self._random.choice(arguments))
        return self._plain(annotation)

    def _plain(self, kind: Any) -> Any:
        if kind in (Stamp, DecreeName) or issubclass(kind, msgspec.Struct):
            return self.struct(kind)
        if issubclass(kind, Enum):
            return self._random.choice(list(kind))
        if kind is bytes:
            return self._bytes()
        choices: dict[Any, Sequence[Any]] = {
            int: INTS,
            float: FLOATS,
            bool: (False, True),
            str: self._texts,
            type(None): (None,),
        }
        return self._random.choice(choices[kind])

    def _bytes(self) -> bytes:
        kind = self._random.randrange(6)
        if kind < 2:
            slot_count = SLOTS if kind else SLOTS_MAX  # more than the mesh has
            slots = self._random.sample(range(slot_count), self._random.randint(0, 20))
            return encode_slot_list(slots, slot_count)
        if kind == 2:
            return self._encoded(self.struct(self._random.choice(INNER)))
        if kind == 3:
            return b"\x91" + self._encoded(self._item())
        return self._random.choice((b"", self._random.randbytes(32)))

    def _item(self) -> Item:
        """An item of a store as its actor names it, or with any name."""
        url, slot = self._random.choice(URLS), self._random.choice((0, 7, SLOTS, SLOTS_MAX - 1))
        row = self.struct(self._random.choice(INNER))
        if self._random.random() < 0.5 and isinstance(row, SourceRow | TargetRow):
            row, slot = msgspec.structs.replace(row, url=url), slot_of(host_of(url), SLOTS)
        names = (
            name_of_source(fingerprint(url)),
            name_of_target(fingerprint(url), domain_of(url)),
            b"s" + bytes(8),
            self._random.randbytes(26),
        )
        return Item(slot, self._random.choice(names), self._encoded(row))

    def _encoded(self, value: msgspec.Struct) -> bytes:
        """Encode a value, sometimes with more behind its fields than any version has."""
        encoded = msgspec.msgpack.encode(value)
        if self._random.random() < 0.7 or not 0x90 <= encoded[0] < 0x9F:
            return encoded
        return bytes([encoded[0] + 1]) + encoded[1:] + self._random.choice((b"\x00", NESTED))

    def _limited(self, kind: Any, meta: Meta) -> Any:
        if kind is int:
            most = min(int(limit) for limit in (meta.le, (meta.lt or 2**63) - 1) if limit is not None)
            return min(most, max(int(meta.ge or 0), self._random.choice(INTS)))
        value = self._value(kind)
        return value[: meta.max_length] if isinstance(value, str | bytes | tuple) else value
