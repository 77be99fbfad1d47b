"""Frames as one member may send them to another: every message, to who takes it, with values of all kinds."""

from __future__ import annotations

import typing
from collections.abc import Iterator, Sequence
from enum import Enum
from random import Random
from typing import Any, Final

import msgspec
from msgspec import Meta

from mesh.actors.actor import Actor, Message
from mesh.actors.codec import encode
from mesh.keys.decree import KINDS, DecreeName
from mesh.slot_set import encode_slot_list
from mesh.stamp import Stamp
from peers import actors  # of which all actors are subclasses
from peers.wire_tags import WIRE_TAGS

assert actors
FRAMES: Final = 2_000
SLOTS: Final = 50_000
URLS: Final = tuple(f"http://h{host}.test/{page}" for host in range(5) for page in range(5))
INTS: Final = (0, 1, 2, 7, 100, 4_096, 65_536, 2**31, 2**63 - 1)
FLOATS: Final = (0.0, 1.0, 1e9, 2e9, 1e308, -1.0, float("inf"), float("nan"))
ITEMS_MAX: Final = 3  # of a list


def frames_of(random: Random, peers: Sequence[str], count: int = FRAMES) -> list[bytes]:
    """Well-formed frames in which these peers are spoken of; no two runs of a seed differ."""
    return [
        encode(random.choice(("membership", name)), name, message)
        for name, message in messages_of(random, peers, count)
    ]


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


class _Values:
    """Draws values of types."""

    def __init__(self, random: Random, peers: Sequence[str]) -> None:
        self._random = random
        self._texts = (*peers, *URLS, *KINDS, "", "a", "标题 文本", "\x00", "x" * 300)

    def struct(self, kind: type[Any]) -> Any:
        """A message or a part of one; fields that do not fit are not drawn again."""
        hints = typing.get_type_hints(kind, include_extras=True)
        names = getattr(kind, "__struct_fields__", getattr(kind, "_fields", ()))
        while True:
            try:
                return kind(**{name: self._value(hints[name]) for name in names})
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
        slots = sorted(self._random.sample(range(SLOTS), self._random.randint(0, 20)))
        return self._random.choice((b"", encode_slot_list(slots, SLOTS), self._random.randbytes(32)))

    def _limited(self, kind: Any, meta: Meta) -> Any:
        if kind is int:
            most = min(int(limit) for limit in (meta.le, (meta.lt or 2**63) - 1) if limit is not None)
            return min(most, max(int(meta.ge or 0), self._random.choice(INTS)))
        value = self._value(kind)
        return value[: meta.max_length] if isinstance(value, str | bytes | tuple) else value
