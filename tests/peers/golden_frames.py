"""One frame for every kind of message and what it says, field by field, as recorded in `golden/`. [io]

    python -m tests.peers.golden_frames      records what is new in this version

Run it when `test_golden_frames` says so. What was recorded before stays: peers that run already send it.
"""

from __future__ import annotations

import json
import sys
import typing
from collections.abc import Iterator
from enum import Enum
from itertools import count
from pathlib import Path
from typing import Any, Final

import msgspec
from msgspec import Meta

from mesh.actors.actor import Message
from mesh.actors.codec import PROTOCOL_VERSION, encode
from mesh.errors import RemoteProtocolError
from peers.wire_tags import WIRE_TAGS
from tests.frames import decode

FOLDER: Final = Path(__file__).with_name("golden")
# An example for each pattern that a field has.
PATTERNS: Final = {
    r"^[a-z0-9-]{1,32}\.[0-9a-f]{8}\Z": "titles.0a0b0c0d",
    "^[a-z-]{1,32}$": "kind",
    "^[A-Za-z0-9.:-]{0,64}$": "subject",
    "^(?:[-0-9A-Z_a-z]{4}){0,3}$": "0abc",
}


def golden_file(version: int) -> Path:
    return FOLDER / f"protocol-{version}.json"


def golden(version: int) -> dict[str, dict[str, Any]]:
    """What is recorded of a version: by kind of message, `frame` in hexadecimal and what it `says`."""
    recorded: dict[str, dict[str, Any]] = json.loads(golden_file(version).read_text(encoding="utf-8"))
    return recorded


def changes_in(recorded: dict[str, Any]) -> list[str]:
    """What of a recorded frame is not read as it was meant."""
    try:
        message = decode(bytes.fromhex(recorded["frame"])).message
    except RemoteProtocolError as error:
        return [str(error)]
    return list(_changes("", recorded["says"], said(message)))


def _changes(where: str, before: Any, now: Any) -> Iterator[str]:
    if isinstance(before, dict) and isinstance(now, dict):
        for name in before:
            if name in now:
                yield from _changes(f"{where}.{name}", before[name], now[name])
            else:
                yield f"{where}.{name} is gone"
    elif isinstance(before, list) and isinstance(now, list) and len(before) == len(now):
        for each in zip(before, now, strict=True):
            yield from _changes(f"{where}[]", *each)
    elif before != now or type(before) is not type(now):
        yield f"{where} said {before!r} and says {now!r}"


def example_of(kind: type[Message]) -> Message:
    """A message of which no two fields are alike and none has its default."""
    message = _value(kind, kind.__name__, count(1))
    assert isinstance(message, Message)
    return message


def said(value: Any) -> Any:
    """What a message says, by the names of its fields, as JSON can hold it."""
    if isinstance(value, msgspec.Struct):
        return {name: said(getattr(value, name)) for name in value.__struct_fields__}
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return {name: said(each) for name, each in zip(value._fields, value, strict=True)}
    if isinstance(value, tuple | list):
        return [said(each) for each in value]
    if isinstance(value, bytes):
        return value.hex()
    return value.value if isinstance(value, Enum) else value


def names(value: Any) -> Any:
    """The names of all fields in what a message says, nested as they are."""
    if isinstance(value, dict):
        return {name: names(each) for name, each in value.items()}
    return [names(each) for each in value] if isinstance(value, list) else None


def _value(annotation: Any, name: str, numbers: Iterator[int]) -> Any:
    origin, arguments = typing.get_origin(annotation), typing.get_args(annotation)
    if origin is typing.Annotated:
        metas = [meta for meta in arguments[1:] if isinstance(meta, Meta)]
        return _limited(arguments[0], metas, name, numbers)
    if origin is tuple:
        inside = arguments[:1] * 2 if arguments[-1] is Ellipsis else arguments
        return tuple(_value(each, name, numbers) for each in inside)
    if origin is dict:
        return {_value(arguments[0], name, numbers): _value(arguments[1], name, numbers)}
    if arguments:  # a union
        return _value(next(each for each in arguments if each is not type(None)), name, numbers)
    if isinstance(annotation, type) and issubclass(annotation, Enum):
        return list(annotation)[-1]
    if hasattr(annotation, "__struct_fields__") or hasattr(annotation, "_fields"):
        hints = typing.get_type_hints(annotation, include_extras=True)
        fields = getattr(annotation, "__struct_fields__", getattr(annotation, "_fields", ()))
        return annotation(**{each: _value(hints[each], each, numbers) for each in fields})
    number = next(numbers)
    plain: dict[Any, Any] = {
        int: number,
        float: number + 0.5,
        str: f"{name} {number}",
        bytes: f"{name} {number}".encode(),
        bool: True,
    }
    return plain[annotation]


def _limited(annotation: Any, metas: list[Meta], name: str, numbers: Iterator[int]) -> Any:
    for meta in metas:
        if meta.pattern is not None:
            return PATTERNS[meta.pattern]
        most = meta.le if meta.le is not None else None if meta.lt is None else meta.lt - 1
        if annotation is int and most is not None and most < 1_000:
            return int(most)
    value = _value(annotation, name, numbers)
    shortest = max((meta.min_length or 0 for meta in metas), default=0)
    if annotation is bytes:
        value = value.ljust(shortest, b".")
    longest = min((meta.max_length for meta in metas if meta.max_length is not None), default=None)
    return value if longest is None or annotation not in (str, bytes) else value[:longest]


def main() -> int:
    file = golden_file(PROTOCOL_VERSION)
    recorded = golden(PROTOCOL_VERSION) if file.exists() else {}
    changed = {kind: changes for kind, each in recorded.items() if (changes := changes_in(each))}
    if changed:
        print(f"not recorded, for other peers would misunderstand: {changed}", file=sys.stderr)
        return 1
    for kind in WIRE_TAGS.values():
        example = example_of(kind)
        if kind.__name__ not in recorded or names(recorded[kind.__name__]["says"]) != names(said(example)):
            frame = encode("from", "to", example).hex()
            recorded[kind.__name__] = {"frame": frame, "says": said(example)}
    text = json.dumps(recorded, ensure_ascii=False, indent=1, sort_keys=True)
    file.write_text(text + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
