"""Metrics as text for Prometheus, and for programs that ask for OpenMetrics.

Source: Prometheus text exposition format 0.0.4; OpenMetrics 1.0.0, which names a counter without its `_total`
and ends with a line of its own.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Final

import msgspec

from peers.gateway.http.peer_metrics import Family, Labels, MetricSample
from peers.gateway.model.quantity import Kind

MEDIA_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"
OPEN_MEDIA_TYPE: Final = "application/openmetrics-text; version=1.0.0; charset=utf-8"

_NOT_IN_NAMES: Final = re.compile(r"[^a-zA-Z0-9_]")
_ESCAPES: Final = str.maketrans({"\\": r"\\", '"': r"\"", "\n": r"\n"})


def media_type_for(accept: str) -> str:
    """Return the format that a client wants, by its Accept header."""
    return OPEN_MEDIA_TYPE if "application/openmetrics-text" in accept else MEDIA_TYPE


def exposition(
    families: Iterable[Family], statistics: Mapping[str, object], media_type: str = MEDIA_TYPE
) -> str:
    """Write metrics that keep their names, and after them all that is counted inside."""
    is_open = media_type == OPEN_MEDIA_TYPE
    lines: list[str] = []
    for family in (*families, *_internals(statistics)):
        name = family.name.removesuffix("_total") if is_open else family.name
        lines += [f"# HELP {name} {family.help}", f"# TYPE {name} {family.kind}"]
        lines += [_sample(family.name + each.suffix, each.value, each.labels) for each in family.samples]
    return "\n".join([*lines, *(["# EOF"] if is_open else [])]) + "\n"


def _internals(statistics: Mapping[str, object]) -> Iterator[Family]:
    """Yield a family for each number, named `tianmesh_<actor or port>_<field>`.

    All are gauges, numbers of now: which of them only grow is not known here.

    Args:
      statistics: by the name of an actor or port: a struct, or a mapping, of numbers and mappings of
        numbers; the keys of those become the label `key`. What is not a number is left out.
    """
    for who, fields in sorted(statistics.items()):
        for field, value in _fields_of(fields):
            name = _NOT_IN_NAMES.sub("_", f"tianmesh_{who}_{field}")
            samples = tuple(_samples(value))
            if samples:
                told = f"Inside {who}; may have another name in another version."
                # A name that ends so is a counter's in OpenMetrics.
                yield Family(name.removesuffix("_total"), Kind.GAUGE, told, samples)


def _fields_of(fields: object) -> Iterator[tuple[str, object]]:
    if isinstance(fields, msgspec.Struct):
        fields = msgspec.structs.asdict(fields)
    if isinstance(fields, Mapping):
        for name, value in fields.items():
            yield str(name), value


def _samples(value: object) -> Iterator[MetricSample]:
    if isinstance(value, int | float):
        yield MetricSample(value)
        return
    for key, number in _fields_of(value):
        if isinstance(number, int | float):
            yield MetricSample(number, {"key": key})


def _sample(name: str, value: float, labels: Labels) -> str:
    told = ",".join(f'{label}="{text.translate(_ESCAPES)}"' for label, text in labels.items())
    return f"{name}{{{told}}} {_number(value)}" if told else f"{name} {_number(value)}"


def _number(value: float) -> str:
    return str(int(value)) if isinstance(value, bool) else repr(value)
