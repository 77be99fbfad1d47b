"""The metrics of a peer that keep their names: dashboards and alerts lean on them. Pure.

They follow from the table of quantities. What actors and ports count besides is told under their own names,
which may change with any version (`metrics.internals`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from enum import Enum
from math import isinf
from types import MappingProxyType
from typing import Any, NamedTuple, TypeAlias

import msgspec

from peers.gateway.model.histogram import Histogram
from peers.gateway.model.quantity import Kind, Quantity, table_of, value_of
from peers.gateway.model.status import PeerStatus

Labels: TypeAlias = Mapping[str, str]


class MetricSample(NamedTuple):
    """One number of a family."""

    value: float
    labels: Labels = MappingProxyType({})
    suffix: str = ""  # of the name


class Family(NamedTuple):
    """A metric with all its samples."""

    name: str
    kind: Kind
    help: str
    samples: tuple[MetricSample, ...]


def families_of(status: PeerStatus) -> Iterator[Family]:
    """Yield the metrics that the status of a peer has."""
    table = table_of(type(status))
    split = {path for path, quantity in table.items() if quantity.key}
    who: dict[str, str] = {}
    for path, quantity in table.items():
        if quantity.kind is Kind.INFO:
            who[quantity.metric or path] = value_of(status, path)
        elif quantity.kind is not None and path.rpartition(".")[0] not in split:
            samples = tuple(_samples(value_of(status, path), quantity))
            yield Family(metric_name(path, quantity), quantity.kind, quantity.help.en, samples)
    yield Family("tianmesh_peer_info", Kind.GAUGE, "Who this peer is; always 1.", (MetricSample(1, who),))


def metric_name(path: str, quantity: Quantity) -> str:
    """Return the name of the metric of an entry; that of a counter ends so that its type is seen."""
    name = quantity.metric or path.replace(".", "_")
    return f"tianmesh_{name}_total" if quantity.kind is Kind.COUNTER else f"tianmesh_{name}"


def _samples(value: Any, quantity: Quantity) -> Iterator[MetricSample]:
    """Yield the value; of a mapping or a struct each part, of a state each that there is."""
    match value:
        case Enum():
            for state in type(value):
                yield MetricSample(state is value, {quantity.key: state.value})
        case Mapping() | msgspec.Struct():
            parts = value if isinstance(value, Mapping) else msgspec.structs.asdict(value)
            for name, part in parts.items():
                yield MetricSample(part, {quantity.key: name})
        case _:
            yield MetricSample(value)


def histogram_family(name: str, text: str, histogram: Histogram) -> Family:
    """Return the family of a histogram; `name` ends with its unit."""
    classes = list(histogram.cumulated())
    buckets = [
        MetricSample(count, {"le": "+Inf" if isinf(bound) else repr(bound)}, "_bucket")
        for bound, count in classes
    ]
    whole = (MetricSample(histogram.sum_s, suffix="_sum"), MetricSample(classes[-1][1], suffix="_count"))
    return Family(name, Kind.HISTOGRAM, text, (*buckets, *whole))
