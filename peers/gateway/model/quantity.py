"""Quantities: the meaning of each number that a peer shows of itself, declared once. Pure.

Theory of operation
===================
The table of quantities is a struct, `status.Total`, and those within it. Beside the type of each field
stands its entry, made by `counter`, `gauge` or `figure`; a text has a `fact`. All else follows from it:

    value                    `observed`: from the statistics of the actor that counts it
    status, its JSON         the field itself; its schema (OpenAPI) has the help and the unit
    total over the mesh      `total_of`, by the rule of the entry
    who sees it              `without_private`
    /metrics                 `families_of`: name, type, help, and labels for what is split by a key
    history, its charts      `kept_values`; `history_view` makes a curve of each
    columns of pages         `columns`, `text_of`; the help is what a pointer over them shows

So one more number is an entry, and a line where it is counted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from enum import StrEnum
from functools import cache
from operator import attrgetter
from typing import Annotated, Any, Final, NamedTuple, TypeVar, get_type_hints

import msgspec
from msgspec import Meta

from mesh.actors.actor import Statistics

# 2^53: what JSON numbers hold exactly, and the sum over a mesh still fits 64 bits.
COUNT_MAX: Final = 1 << 53
Count = Annotated[int, Meta(ge=0, le=COUNT_MAX)]
Amount = Annotated[float, Meta(ge=0, le=COUNT_MAX)]

_ENTRY: Final = "quantity"  # the key of an entry in what msgspec keeps beside a type
_Row = TypeVar("_Row", bound=msgspec.Struct)


class Kind(StrEnum):
    """The types of metrics, as Prometheus calls them."""

    COUNTER = "counter"  # since the start of the peer, where its help does not say otherwise
    GAUGE = "gauge"  # of now
    HISTOGRAM = "histogram"
    INFO = "info"  # one label of the metric that says which peer this is


class Bilingual(NamedTuple):
    """A text in the languages of the pages."""

    en: str
    zh: str

    def in_language(self, language: str) -> str:
        return self.zh if language == "zh" else self.en


class TotalRule(NamedTuple):
    """How the values of peers come to one of the mesh.

    Attributes:
      combine: takes the rows of all peers and the name of the field.
    """

    name: str
    combine: Callable[[Sequence[msgspec.Struct], str], Any]


class Curve(NamedTuple):
    """The curve of a quantity in the history: of a counter its speed, of a gauge its level."""

    name: str  # in the JSON of the history
    en: str = ""  # title on the page; without one it is not drawn
    zh: str = ""


class Quantity(NamedTuple):
    """An entry of the table.

    Attributes:
      unit: of the value; "" for a text and for what is true or not.
      kind: as a metric; None for what is none.
      rule: how peers' values add up; None for what is said of each peer alone.
      source: `actor.field` of the statistics that it is read from; "" for what `peers.vitals` measures.
      metric: its name, where that is not the one of the field.
      key: label of what the value is split by.
      label: short, above a column of numbers; without one it has no column.
      share_of: the quantity that it is a part of, to be shown with it.
      is_private: for administrators only.
    """

    unit: str
    help: Bilingual
    kind: Kind | None = None
    rule: TotalRule | None = None
    source: str = ""
    metric: str = ""
    key: str = ""
    chart: Curve | None = None
    label: Bilingual | None = None
    share_of: str = ""
    is_private: bool = False


# --- Rules ---


def _sum(values: Sequence[Any]) -> Any:
    """Add numbers, the values of mappings key by key, the fields of structs each by its own rule.

    A sum ends at `COUNT_MAX`, so that no member that says too much makes a report that cannot be read.
    """
    if isinstance(values[0], Mapping):
        keys = sorted({key for value in values for key in value})
        return {key: _sum([value[key] for value in values if key in value]) for key in keys}
    if isinstance(values[0], msgspec.Struct):
        return total_of(values, type(values[0]))
    return min(sum(values), COUNT_MAX)


def _of_values(combine: Callable[[list[Any]], Any]) -> Callable[[Sequence[msgspec.Struct], str], Any]:
    return lambda rows, name: combine([getattr(row, name) for row in rows])


SUM: Final = TotalRule("sum", _of_values(_sum))
MAX: Final = TotalRule("max", _of_values(max))
ANY: Final = TotalRule("any", _of_values(any))
ALL: Final = TotalRule("all", _of_values(all))


def longest(limit: int) -> TotalRule:
    """Return the rule for names with numbers: so many with the largest ones, in falling order."""

    def combine(values: list[Any]) -> Any:
        named = (each for value in values for each in value)
        return tuple(sorted(named, key=lambda each: (-each[1], each[0]))[:limit])

    return TotalRule("largest", _of_values(combine))


def ratio(above: str, below: str) -> TotalRule:
    """Return the rule of a quotient: that of the totals of two other fields, 0 where there is nothing."""

    def combine(rows: Sequence[msgspec.Struct], _: str) -> float:
        entries = _entries(type(rows[0]))
        totals = [entries[name].rule.combine(rows, name) for name in (above, below)]  # type: ignore[union-attr]
        return float(totals[0] / totals[1]) if totals[1] else 0.0

    return TotalRule(f"{above} / {below}", combine)


# --- Entries ---


def counter(unit: str, en: str, zh: str, source: str = "", **more: Any) -> Meta:
    """Declare a number that only grows; the totals of a mesh are sums.

    Args:
      source: as in `Quantity`; the actor alone where the field is called the same there.
      more: other fields of `Quantity`.
    """
    return _meta(Quantity(unit, Bilingual(en, zh), Kind.COUNTER, **{"rule": SUM, "source": source} | more))


def gauge(unit: str, en: str, zh: str, source: str = "", **more: Any) -> Meta:
    """Declare a number of now, as `counter` does."""
    return _meta(Quantity(unit, Bilingual(en, zh), Kind.GAUGE, **{"rule": SUM, "source": source} | more))


def figure(unit: str, en: str, zh: str, source: str = "", **more: Any) -> Meta:
    """Declare a number that is no metric of its own, as `counter` does."""
    return _meta(Quantity(unit, Bilingual(en, zh), **{"rule": SUM, "source": source} | more))


def fact(en: str, zh: str, source: str = "", **more: Any) -> Meta:
    """Declare a text, or a value that says nothing but of one peer."""
    return _meta(Quantity("", Bilingual(en, zh), source=source, **more))


def _meta(quantity: Quantity) -> Meta:
    schema = {"x-unit": quantity.unit} if quantity.unit else None
    return Meta(description=quantity.help.en, extra_json_schema=schema, extra={_ENTRY: quantity})


@cache
def _entries(kind: type[msgspec.Struct]) -> dict[str, Quantity]:
    """The entries of a struct's own fields, by name, in the order of the fields."""
    hints = get_type_hints(kind, include_extras=True)
    found: dict[str, Quantity] = {}
    for name in kind.__struct_fields__:
        for each in getattr(hints[name], "__metadata__", ()):
            if isinstance(each, Meta) and each.extra and _ENTRY in each.extra:
                quantity: Quantity = each.extra[_ENTRY]
                has_field = not quantity.source or "." in quantity.source
                source = quantity.source if has_field else f"{quantity.source}.{name}"
                found[name] = quantity._replace(source=source)
    return found


@cache
def table_of(kind: type[msgspec.Struct]) -> Mapping[str, Quantity]:
    """Return all entries of a struct and the structs in it, by path (`frontier.queued`), in order."""
    table = dict(_entries(kind))
    for name, inner in _inner(kind).items():
        table |= {f"{name}.{path}": quantity for path, quantity in table_of(inner).items()}
    order = kind.__struct_fields__
    return dict(sorted(table.items(), key=lambda item: order.index(item[0].partition(".")[0])))


@cache
def _inner(kind: type[msgspec.Struct]) -> dict[str, type[msgspec.Struct]]:
    """The fields that are structs."""
    hints = get_type_hints(kind)
    return {
        name: hints[name]
        for name in kind.__struct_fields__
        if isinstance(hints[name], type) and issubclass(hints[name], msgspec.Struct)
    }


def value_of(row: msgspec.Struct, path: str) -> Any:
    """Return the value of an entry of `table_of`."""
    return attrgetter(path)(row)


# --- Values, totals, and parts of them ---


def observed(kind: type[_Row], seen: Mapping[str, Statistics], **measured: Any) -> _Row:
    """Make a struct of the table: each field from the statistics that its entry names.

    Args:
      seen: statistics by actor.
      measured: the fields that have no source.
    """
    inner = {name: observed(of, seen) for name, of in _inner(kind).items() if name not in measured}
    read = {
        name: attrgetter(field)(seen[actor])
        for name, quantity in _entries(kind).items()
        if quantity.source and name not in inner
        for actor, _, field in [quantity.source.partition(".")]
    }
    return kind(**read | inner | measured)


def total_of(rows: Sequence[msgspec.Struct], kind: type[_Row]) -> _Row:
    """Put the rows of peers together as one of the mesh, each field by the rule of its entry."""
    inner = {name: total_of([getattr(row, name) for row in rows], of) for name, of in _inner(kind).items()}
    if not rows:
        return kind()
    added = {
        name: quantity.rule.combine(rows, name)
        for name, quantity in _entries(kind).items()
        if quantity.rule and name not in inner
    }
    return kind(**added | inner)


def without_private(row: _Row) -> _Row:
    """Return the part of a row that anybody may see: private fields are as if nothing were known."""
    return msgspec.structs.replace(row, **_hidden(type(row)))


@cache
def _hidden(kind: type[msgspec.Struct]) -> Mapping[str, Any]:
    """The private fields, as they are where nothing is known; rows share them, and nobody changes a row."""
    fields = {field.name: field for field in msgspec.structs.fields(kind)}
    private = [fields[name] for name, quantity in _entries(kind).items() if quantity.is_private]
    return {
        field.name: field.default if field.default_factory is msgspec.NODEFAULT else field.default_factory()
        for field in private
    }


def kept_values(row: msgspec.Struct, kind: Kind) -> dict[str, float]:
    """Return the counters, or the gauges, that the history keeps of a row, by path."""
    table = table_of(type(row)).items()
    return {path: value_of(row, path) for path, each in table if each.chart and each.kind is kind}


# --- As people read them ---

_FORMS: Final[Mapping[str, tuple[float, str]]] = {"B": (1e6, ",.0f"), "B/s": (1e6, ".1f"), "s": (1, ",.0f")}


def columns(kind: type[msgspec.Struct]) -> Iterator[tuple[str, Quantity]]:
    """Yield the path and the entry of all that has a column, in the order of the table."""
    return ((path, each) for path, each in table_of(kind).items() if each.label)


def text_of(row: msgspec.Struct, path: str) -> str:
    """Write a number for a column: bytes in MB, seconds whole, other fractions with one decimal."""
    value = value_of(row, path)
    scale, form = _FORMS.get(table_of(type(row))[path].unit, (1, ".1f" if isinstance(value, float) else ","))
    return format(value / scale if scale != 1 else value, form)
