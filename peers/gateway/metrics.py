"""Counters as text that Prometheus reads.

Source: Prometheus text exposition format 0.0.4.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Final

import msgspec

MEDIA_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"

_NOT_IN_NAMES: Final = re.compile(r"[^a-zA-Z0-9_]")
_ESCAPES: Final = str.maketrans({"\\": r"\\", '"': r"\"", "\n": r"\n"})


def exposition(statistics: Mapping[str, object]) -> str:
    """Write one sample a number, named `tianmesh_<who>_<field>`.

    Args:
      statistics: by the name of an actor or port: a struct, or a mapping, of numbers and mappings of
        numbers; the keys of those become the label `key`. What is not a number is left out.
    """
    lines: list[str] = []
    for who, fields in sorted(statistics.items()):
        for field, value in _fields_of(fields):
            name = _NOT_IN_NAMES.sub("_", f"tianmesh_{who}_{field}")
            samples = list(_samples(name, value))
            if samples:
                # Whether a number only grows is not known here, and matters to no query.
                lines += [f"# TYPE {name} untyped", *samples]
    return "\n".join(lines) + "\n"


def _fields_of(fields: object) -> Iterator[tuple[str, object]]:
    if isinstance(fields, msgspec.Struct):
        fields = msgspec.structs.asdict(fields)
    if isinstance(fields, Mapping):
        for name, value in fields.items():
            yield str(name), value


def _samples(name: str, value: object) -> Iterator[str]:
    if isinstance(value, int | float):
        yield f"{name} {_number(value)}"
        return
    for key, number in _fields_of(value):
        if isinstance(number, int | float):
            yield f'{name}{{key="{key.translate(_ESCAPES)}"}} {_number(number)}'


def _number(value: float) -> str:
    return str(int(value)) if isinstance(value, bool) else repr(value)
