"""The page of a mesh's history: charts, slots, hand-overs and events."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Final, NamedTuple

from markupsafe import Markup

from peers.gateway.model.member_lines import called, printable, span_text
from peers.gateway.model.messages import HistoryGathered
from peers.gateway.model.time_words import utc
from peers.gateway.site import charts
from peers.gateway.site.charts import Chart, ChartUnit
from peers.gateway.site.history_view import (
    FIGURES,
    Figure,
    HistorySpan,
    HistoryView,
    ToldEvent,
    Values,
    events_of,
    history_view,
)
from peers.gateway.site.history_words import TEXTS_OF_KINDS, event_text, is_grave
from peers.gateway.site.pages import Here, Reader, render

# Into how many parts the axis of time is divided, and how long each is.
_TICKS: Final = {
    HistorySpan.HOUR: (4, 900.0),
    HistorySpan.DAY: (4, 21_600.0),
    HistorySpan.MONTH: (5, 518_400.0),
}
_SPAN_TEXTS: Final = {
    HistorySpan.HOUR: "history_hour",
    HistorySpan.DAY: "history_day",
    HistorySpan.MONTH: "history_month",
}


class _SpanLink(NamedTuple):
    text: str
    href: str
    is_current: bool


class _Figure(NamedTuple):
    """A chart, with its title and the present value above it."""

    title: str
    help: str
    now: str  # of all peers together
    drawing: Markup


class _Legend(NamedTuple):
    swatch: Markup
    name: str


class _SlotRow(NamedTuple):
    peer: str
    bar: Markup
    slots: str
    share: str


class _HandoverRow(NamedTuple):
    peer: str
    slots: str
    done: str
    since: str
    left: str


class _EventRow(NamedTuple):
    when: str  # as programs read it
    shown: str
    ago: str
    text: str
    is_grave: bool


class KeptHistory:
    """A history as gathered at a time, and each view and page that was made of it, once.

    Attributes:
      gathered_at: seconds, by the clock of who keeps it.
    """

    def __init__(self, gathered: HistoryGathered, span: HistorySpan, gathered_at: float) -> None:
        self.gathered_at = gathered_at
        self._gathered = gathered
        self._span = span
        self._views: dict[bool, HistoryView] = {}
        self._pages: dict[tuple[bool, Reader], str] = {}

    def view(self, *, is_admin: bool) -> HistoryView:
        """Return the view that `history_view` makes of the gathered history."""
        if is_admin not in self._views:
            self._views[is_admin] = history_view(self._gathered, self._span, is_admin=is_admin)
        return self._views[is_admin]

    def page(self, reader: Reader, *, is_admin: bool) -> str:
        """Return the page that `history_page` makes of that view."""
        key = is_admin, reader
        if key not in self._pages:
            self._pages[key] = history_page(reader, self.view(is_admin=is_admin))
        return self._pages[key]


def history_page(reader: Reader, view: HistoryView) -> str:
    """The page on the state of the mesh in the last hour, day or month, and its events."""
    span = HistorySpan(view.span)
    drawn = _drawn(view)
    n_others = len(view.peers) - len(drawn)
    return render(
        "history.html",
        reader,
        Here("/history", {"span": view.span}),
        query="",
        spans=[
            _SpanLink(reader.say(_SPAN_TEXTS[each]), reader.link("/history", span=each.value), each is span)
            for each in HistorySpan
        ],
        json=f"/api/history?span={view.span}",
        legend=[
            _Legend(charts.swatch("sum"), reader.say("history_all")),
            *(_Legend(charts.swatch(f"p{n}"), called(view.names, peer)) for n, peer in enumerate(drawn)),
        ],
        others=reader.say("history_others", peers=n_others) if n_others else "",
        silent=reader.say("history_silent", peers=", ".join(called(view.names, peer) for peer in view.silent))
        if view.silent
        else "",
        figures=list(_figures(reader, view, drawn)),
        slots=_slot_rows(view),
        handovers=[
            _HandoverRow(
                called(view.names, each.peer),
                f"{each.slots:,}",
                f"{100 * (1 - each.slots / each.slots_most):.0f} %",
                span_text(each.seconds, reader.say),
                reader.say("handover_unknown") if each.left_s is None else span_text(each.left_s, reader.say),
            )
            for each in view.handovers
        ],
        events=[_event_row(reader, each, view) for each in events_of(view, TEXTS_OF_KINDS)],
    )


def _drawn(view: HistoryView) -> list[str]:
    """The peers that have a line: where there are too many, those with most slots, by id."""
    by_size = sorted(view.peers, key=lambda peer: (-view.slots.get(peer, 0), peer))
    return sorted(by_size[: charts.LINES_MAX])


def _figures(reader: Reader, view: HistoryView, drawn: list[str]) -> Iterator[_Figure]:
    drawn_ones = [(name, each, each.title) for name, each in FIGURES.items() if each.title]
    for number, (name, figure, titles) in enumerate(drawn_ones):
        unit, total = _unit(name, figure, reader), view.total[name]
        title, now = titles.in_language(reader.language), _last(total, unit)
        most = max((value for value in total if value is not None), default=None)
        told = {"now": now, "most": "–" if most is None else unit.text(most), "peers": len(view.peers)}
        lines = {peer: view.peers[peer][name] for peer in drawn}
        chart = Chart(title, reader.say("chart_about", **told), unit, total, lines, _ticks(reader, view.span))
        yield _Figure(title, figure.help.in_language(reader.language), now, charts.svg(chart, number))


def _unit(name: str, figure: Figure, reader: Reader) -> ChartUnit:
    match figure.unit:
        case "B":
            return charts.BYTES
        case "s" if name == "queue_wait_s":
            return charts.wait_unit(partial(span_text, say=reader.say))
        case "s":
            return charts.DURATION
        case _:
            return charts.NUMBER


def _last(values: Values, unit: ChartUnit) -> str:
    """The value of now: the last one, or the one before where the last moment has only begun."""
    now = next((value for value in values[:-3:-1] if value is not None), None)
    return "–" if now is None else unit.text(now)


def _ticks(reader: Reader, span: str) -> list[str]:
    parts, part_s = _TICKS[HistorySpan(span)]
    return [
        *("\u2212" + span_text(part_s * n, reader.say) for n in range(parts, 0, -1)),
        reader.say("chart_now"),
    ]


def _slot_rows(view: HistoryView) -> list[_SlotRow]:
    total, most = sum(view.slots.values()), max(view.slots.values(), default=0)
    return [
        _SlotRow(
            called(view.names, peer), charts.bar(slots / most), f"{slots:,}", f"{100 * slots / total:.1f} %"
        )
        for peer, slots in sorted(view.slots.items(), key=lambda each: (-each[1], each[0]))
        if total
    ]


def _event_row(reader: Reader, event: ToldEvent, view: HistoryView) -> _EventRow:
    at = utc(event.at_s)
    return _EventRow(
        at.strftime("%Y-%m-%dT%H:%M:%SZ") if at else "",
        at.strftime("%m-%d %H:%M:%S UTC") if at else "?",
        reader.say("event_ago", span=span_text(max(view.now_s - event.at_s, 0.0), reader.say)),
        printable(event_text(event, view.names, reader.say)),
        is_grave(event),
    )
