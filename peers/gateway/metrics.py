"""Metrics as text that Prometheus reads.

Source: Prometheus text exposition format 0.0.4.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Final

import msgspec

from peers.gateway.peer_metrics import Family, Labels

MEDIA_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"

_NOT_IN_NAMES: Final = re.compile(r"[^a-zA-Z0-9_]")
_ESCAPES: Final = str.maketrans({"\\": r"\\", '"': r"\"", "\n": r"\n"})


def exposition(families: Iterable[Family], statistics: Mapping[str, object]) -> str:
    """Write metrics that keep their names, and after them all that is counted inside."""
    lines: list[str] = []
    for family in families:
        lines += [f"# HELP {family.name} {family.help}", f"# TYPE {family.name} {family.kind}"]
        lines += [_sample(family.name + each.suffix, each.value, each.labels) for each in family.samples]
    return "\n".join([*lines, *_internals(statistics)]) + "\n"


def _internals(statistics: Mapping[str, object]) -> Iterator[str]:
    """Yield one sample a number, named `tianmesh_<who>_<field>`.

    Args:
      statistics: by the name of an actor or port: a struct, or a mapping, of numbers and mappings of
        numbers; the keys of those become the label `key`. What is not a number is left out.
    """
    for who, fields in sorted(statistics.items()):
        for field, value in _fields_of(fields):
            name = _NOT_IN_NAMES.sub("_", f"tianmesh_{who}_{field}")
            samples = list(_samples(name, value))
            if samples:
                yield f"# HELP {name} Inside {who}; may have another name in another version."
                # Whether a number only grows is not known here, and matters to no query.
                yield f"# TYPE {name} untyped"
                yield from samples


def _fields_of(fields: object) -> Iterator[tuple[str, object]]:
    if isinstance(fields, msgspec.Struct):
        fields = msgspec.structs.asdict(fields)
    if isinstance(fields, Mapping):
        for name, value in fields.items():
            yield str(name), value


def _samples(name: str, value: object) -> Iterator[str]:
    if isinstance(value, int | float):
        yield _sample(name, value, {})
        return
    for key, number in _fields_of(value):
        if isinstance(number, int | float):
            yield _sample(name, number, {"key": key})


def _sample(name: str, value: float, labels: Labels) -> str:
    told = ",".join(f'{label}="{text.translate(_ESCAPES)}"' for label, text in labels.items())
    return f"{name}{{{told}}} {_number(value)}" if told else f"{name} {_number(value)}"


def _number(value: float) -> str:
    return str(int(value)) if isinstance(value, bool) else repr(value)
