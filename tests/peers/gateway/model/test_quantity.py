"""The table of quantities: all that is shown is in it, all that is in it is shown, and its rules hold."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import count
from typing import Any, Final, get_args, get_type_hints

import msgspec
from msgspec.structs import replace

from mesh.membership.membership import Membership
from peers.copies.copies import Copies
from peers.crawler.controller import Controller
from peers.gateway.http.peer_metrics import families_of, metric_name
from peers.gateway.model.messages import HistoryGathered
from peers.gateway.model.quantity import Kind, Quantity, table_of, value_of, without_private
from peers.gateway.model.readiness_json import ReadinessJson
from peers.gateway.model.status import MemberRow, PeerStatus, Report, Total, report_of
from peers.gateway.openapi import openapi
from peers.gateway.searcher import Searcher
from peers.gateway.site.history_page import history_page
from peers.gateway.site.history_view import FIGURES, HistorySpan, history_view
from peers.gateway.site.pages import Reader, status_page
from peers.handover.handover import Handover
from peers.index.indexer import Indexer
from peers.storage.cell import Cell

ACTORS: Final = (Controller, Cell, Indexer, Membership, Handover, Searcher, Copies)
READERS: Final = (Reader("en", False), Reader("zh", True))

NUMBERS: Final = count(3)

# Those that do not add up, and how they come together instead.
NO_SUMS: Final[Mapping[str, Callable[[Sequence[Any]], Any]]] = {
    **dict.fromkeys(("seconds", "members", "members_quarantined", "pages_max", "policy_late_s"), max),
    "idle": all,
    "disk_full": any,
    "is_out_of_space": any,
}
# More is never shown to everybody by mistake: what becomes public is taken out here too.
PRIVATE: Final = {
    *("pid", "endpoint", "gateway", "machine", "hot_hosts", "fetch_status", "misconduct", "unreachable"),
    *("disk_free_bytes", "disk_stop", "searched_words", "members_quarantined"),
}


def structs_in(kind: Any) -> Iterator[type[msgspec.Struct]]:
    """The structs that a value of a type is made of."""
    if isinstance(kind, type) and issubclass(kind, msgspec.Struct):
        yield kind
        for inner in get_type_hints(kind).values():
            yield from structs_in(inner)
    for inner in get_args(kind):
        yield from structs_in(inner)


SHOWN: Final = sorted({*structs_in(Report)} - {Report}, key=lambda kind: kind.__name__)


def test_all_that_a_report_has_is_in_the_table() -> None:
    assert {Total, PeerStatus, MemberRow} < {*SHOWN}
    for kind in SHOWN:
        bare = set(kind.__struct_fields__) - set(table_of(kind))
        assert all(issubclass(get_type_hints(kind)[name], msgspec.Struct) for name in bare), (kind, bare)


def test_every_entry_has_help_in_both_languages_and_numbers_a_unit() -> None:
    for kind in SHOWN:
        for path, entry in table_of(kind).items():
            assert re.fullmatch(r"[A-Z1t].+\.", entry.help.en), path
            assert re.search(r"[\u4e00-\u9fff]", entry.help.zh), path
            is_truth = isinstance(value_of(full(kind), path), bool)
            assert entry.unit or entry.rule is None or is_truth, path


def full(kind: type[msgspec.Struct], numbers: Iterator[int] = NUMBERS) -> Any:
    """A struct all of whose numbers differ, and no field of which is as if nothing were known."""
    return kind(**{name: _full(hint, numbers) for name, hint in get_type_hints(kind).items()})


def _full(hint: Any, numbers: Iterator[int]) -> Any:
    inner = [each for each in get_args(hint) if each is not ...]
    match msgspec.inspect.type_info(hint):
        case msgspec.inspect.StructType(cls):
            return full(cls, numbers)
        case msgspec.inspect.EnumType(cls):
            return list(cls)[1]
        case msgspec.inspect.DictType():
            return {f"a{next(numbers)}": _full(inner[1], numbers), "common": _full(inner[1], numbers)}
        case msgspec.inspect.VarTupleType():
            return (_full(inner[0], numbers),)
        case msgspec.inspect.TupleType():
            return tuple(_full(each, numbers) for each in inner)
        case msgspec.inspect.BoolType():
            return True
        case msgspec.inspect.IntType():
            return next(numbers)
        case msgspec.inspect.FloatType() | msgspec.inspect.UnionType():
            return next(numbers) + 0.5
        case msgspec.inspect.StrType():
            return f"t{next(numbers)}"
        case other:
            raise AssertionError(other)


ANN: Final = replace(full(PeerStatus), id="ann")
BOB: Final = replace(full(PeerStatus), id="bob", idle=False, disk_full=False, is_out_of_space=False)
TOTAL: Final = report_of([ANN, BOB]).total


def test_totals_come_together_by_the_rules_of_the_entries() -> None:
    for path in table_of(Total):
        values, total = [value_of(peer, path) for peer in (ANN, BOB)], value_of(TOTAL, path)
        if path == "pages_per_second":
            assert total == TOTAL.pages_fetched / TOTAL.seconds
        elif path == "hot_hosts":
            assert list(total) == sorted((*values[0], *values[1]), key=lambda each: -each[1])
        else:
            assert total == NO_SUMS.get(path, added)(values), path


def added(values: Sequence[Any]) -> Any:
    """Add up whatever it is, number by number."""
    one, other = values
    if isinstance(one, msgspec.Struct):
        return type(one)(
            *map(added, zip(msgspec.structs.astuple(one), msgspec.structs.astuple(other), strict=True))
        )
    if isinstance(one, dict):
        return {
            name: added([one[name], other[name]]) if name in one and name in other else (one | other)[name]
            for name in sorted({**one, **other})
        }
    return one + other


def test_strangers_see_all_but_what_is_private() -> None:
    seen = without_private(ANN)
    empty = PeerStatus(id="ann")
    for path in PeerStatus.__struct_fields__:
        is_private = path in PRIVATE
        assert getattr(seen, path) == getattr(empty if is_private else ANN, path), path
        assert not is_private or getattr(ANN, path) != getattr(empty, path), path
    member = full(MemberRow)
    assert without_private(member) == MemberRow(
        id=member.id, is_door=member.is_door, state=member.state, down_s=member.down_s
    )


def test_every_source_is_a_field_of_the_statistics_of_an_actor() -> None:
    fields = {actor.name: get_type_hints(actor.observe)["return"].__struct_fields__ for actor in ACTORS}
    sources = [entry.source.split(".") for entry in table_of(PeerStatus).values() if entry.source]
    assert len(sources) > 20
    for actor, field in sources:
        assert field in fields[actor], (actor, field)


def test_every_metric_is_an_entry_and_tells_its_value() -> None:
    table = table_of(PeerStatus)
    families = {family.name: family for family in families_of(ANN)}
    told = {metric_name(path, entry): path for path, entry in table.items() if is_metric(path, entry)}
    assert len(told) == len([path for path, entry in table.items() if is_metric(path, entry)])
    assert families.keys() == told.keys() | {"tianmesh_peer_info"}
    for name, path in told.items():
        value, samples = value_of(ANN, path), families[name].samples
        assert families[name].help == table[path].help.en
        assert families[name].kind is table[path].kind
        if isinstance(value, int | float):
            assert [sample.value for sample in samples] == [value]
        else:
            assert len(samples) > 1
            assert all(list(sample.labels) == [table[path].key] for sample in samples)


def is_metric(path: str, entry: Quantity) -> bool:
    return entry.kind in (Kind.COUNTER, Kind.GAUGE) and not path.startswith("slots.")


def test_every_curve_is_an_entry_and_drawn_if_it_has_a_title() -> None:
    charts = [entry.chart for entry in table_of(PeerStatus).values() if entry.chart]
    assert FIGURES.keys() >= {chart.name for chart in charts}
    view = history_view(HistoryGathered(1, 0.0, 3_600.0, (), ()), HistorySpan.HOUR, is_admin=True)
    assert view.total.keys() == FIGURES.keys()
    for reader in READERS:
        page = history_page(reader, view)
        for figure in FIGURES.values():
            assert figure.help.zh
            if figure.title is not None:
                assert f">{figure.title.in_language(reader.language)} <b>" in page
                assert figure.help.in_language(reader.language) in page


def test_every_entry_with_a_label_is_a_column_of_the_page_with_its_help() -> None:
    for reader in READERS:
        page = status_page(reader, report_of([ANN]), ReadinessJson("ready"), may_see=True)
        labelled = [entry for entry in table_of(Total).values() if entry.label]
        assert len(labelled) > 5
        for entry in labelled:
            help_text, label = (
                text.in_language(reader.language) for text in (entry.help, entry.label) if text
            )
            assert f'title="{help_text}">{label}</th>' in page


def test_the_description_of_the_interface_has_help_and_unit_of_every_entry() -> None:
    shapes = json.loads(openapi())["components"]["schemas"]
    for kind in SHOWN:
        for name, shape in shapes[kind.__name__]["properties"].items():
            if entry := table_of(kind).get(name):
                assert (shape["description"], shape.get("x-unit", "")) == (entry.help.en, entry.unit), name
