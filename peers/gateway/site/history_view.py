"""The histories that all peers tell, laid side by side: the JSON of /api/history. Pure.

What peers tell is bounded and no number is odd, or it is not decoded (`peers.history.sample`); but it may
still be untrue, of any size, and of any time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from enum import StrEnum
from itertools import zip_longest
from typing import Final, NamedTuple

import msgspec

from peers.gateway.model.histogram import SEARCH_BOUNDS_S, quantile_of
from peers.gateway.model.messages import HistoryGathered
from peers.gateway.model.quantity import Bilingual, Kind, table_of
from peers.gateway.model.status import PeerStatus
from peers.history.event import Event, EventKind
from peers.history.sample import Sample
from peers.history.series import POINTS
from peers.history.wire_messages import HistoryTold

EVENTS_SHOWN_MAX: Final = 100
SAME_S: Final = 120.0  # within which several peers tell of the same
FUTURE_S: Final = 60.0  # clocks of members differ; what is said to happen later is not believed
SLOW_SHARE: Final = 0.99  # of searches, that are not slower than is shown
MEASURED_S_MIN: Final = 0.1
_DIGITS: Final = 4

Values = tuple[float | None, ...]  # one for each step, None where nothing is known


class HistorySpan(StrEnum):
    """How far back a reader looks."""

    HOUR = "hour"
    DAY = "day"
    MONTH = "month"

    @property
    def seconds(self) -> float:
        return {"hour": 3_600.0, "day": 86_400.0, "month": 30 * 86_400.0}[self.value]


class Figure(NamedTuple):
    """Something of which there is a number for a peer, and for all of them together."""

    of: Callable[[Sequence[Sample]], float | None]  # of the samples of one moment, of one peer or of all
    unit: str
    help: Bilingual
    title: Bilingual | None = None  # without one it is not drawn


class RunningHandover(msgspec.Struct, frozen=True):
    """Slots that are being brought to a peer."""

    peer: str
    slots: int  # still to come
    slots_most: int  # at most, since it began
    seconds: float  # since then
    left_s: float | None  # if it goes on like that; None when that cannot be said


class ToldEvent(msgspec.Struct, frozen=True):
    """Something that happened, told by one peer or by several."""

    at_s: float  # seconds since the epoch, by the first who told
    kind: str
    peer: str  # to whom it happened; "" for the whole mesh
    amount: float
    text: str
    told_by: tuple[str, ...]


class HistoryView(msgspec.Struct, frozen=True):
    """How a mesh was."""

    span: str
    start_s: float  # seconds since the epoch, of the first value
    step_s: float  # from one value to the next
    now_s: float
    total: dict[str, Values]  # of all peers together, by figure
    peers: dict[str, dict[str, Values]]
    slots: dict[str, int]  # owned now, by peer
    handovers: tuple[RunningHandover, ...]
    events: tuple[ToldEvent, ...]  # the newest first
    silent: tuple[str, ...]  # peers that have not answered
    names: dict[str, str] = {}  # what people call members, by id; for administrators


def _rate(counter: str) -> Callable[[Sequence[Sample]], float | None]:
    def of(samples: Sequence[Sample]) -> float | None:
        measured = [each for each in samples if each.seconds >= MEASURED_S_MIN]
        return (
            sum(each.counters.values.get(counter, 0) / each.seconds for each in measured)
            if measured
            else None
        )

    return of


def _level(gauge: str) -> Callable[[Sequence[Sample]], float | None]:
    return lambda samples: float(sum(each.gauges.get(gauge, 0) for each in samples)) if samples else None


def _classes(samples: Sequence[Sample]) -> list[int]:
    return list(map(sum, zip_longest(*(each.counters.search_classes for each in samples), fillvalue=0)))


def _slow_search_s(samples: Sequence[Sample]) -> float | None:
    return quantile_of(_classes(samples), SLOW_SHARE, SEARCH_BOUNDS_S)


def _queue_wait_s(samples: Sequence[Sample]) -> float | None:
    """How long a page that is found now waits at this speed: queue / pages per second, Little 1961."""
    queued, speed = _QUEUED(samples), _PAGES(samples)
    if not queued:
        return queued
    return queued / speed if speed else None  # for nobody knows how long


_QUEUED: Final = _level("frontier.queued")
_PAGES: Final = _rate("pages_fetched")
_DERIVED: Final = {
    "queue_wait_s": Figure(
        _queue_wait_s,
        "s",
        Bilingual(
            "Seconds until a page that is found now is fetched, at this speed.",
            "按当前速度，新发现的网页等待抓取的秒数",
        ),
        Bilingual("Wait of a new page", "新网页等待时间"),
    ),
    "slow_search_s": Figure(
        _slow_search_s,
        "s",
        Bilingual("Seconds within which 99 of 100 searches are answered.", "99% 的查询在多少秒内得到应答"),
        Bilingual("99 of 100 searches within", "99% 的查询用时不超过"),
    ),
}


def _figures() -> Iterator[tuple[str, Figure]]:
    """Yield a figure for each quantity that is kept: the speed of a counter, the level of a gauge."""
    for path, quantity in table_of(PeerStatus).items():
        if chart := quantity.chart:
            is_speed = quantity.kind is Kind.COUNTER
            of, unit = (_rate(path), f"{quantity.unit}/s") if is_speed else (_level(path), quantity.unit)
            title = Bilingual(chart.en, chart.zh) if chart.en else None
            yield chart.name, Figure(of, unit, quantity.help, title)


FIGURES: Final[Mapping[str, Figure]] = dict(_figures()) | _DERIVED


def history_view(gathered: HistoryGathered, span: HistorySpan, *, is_admin: bool) -> HistoryView:
    """Lay the samples of all peers on the same steps.

    Args:
      is_admin: whether the reader may know who is in quarantine, and how machines are called.
    """
    step_s = span.seconds / POINTS
    first = int(gathered.now // step_s) - POINTS + 1
    laid = {peer: _laid(told.samples, first, step_s) for peer, told in gathered.told}
    together = [[each for each in moment if each is not None] for moment in zip(*laid.values(), strict=True)]
    events = _events(gathered, is_admin=is_admin)
    return HistoryView(
        span=span.value,
        start_s=first * step_s,
        step_s=step_s,
        now_s=gathered.now,
        total={name: _values(figure, together) for name, figure in FIGURES.items()},
        peers={peer: _of_peer(samples) for peer, samples in laid.items()},
        slots={peer: _slots(told, "slots.owned") for peer, told in gathered.told if told.samples},
        handovers=tuple(_handovers(gathered)),
        events=tuple(events),
        silent=gathered.silent,
        names=dict(gathered.names) if is_admin else {},
    )


def _slots(told: HistoryTold, gauge: str) -> int:
    """Return the slots of a kind that a peer had last."""
    return int(told.samples[-1].gauges.get(gauge, 0))


def _laid(samples: Iterable[Sample], first: int, step_s: float) -> list[Sample | None]:
    """Return for each step the sample that covers it."""
    moments: list[Sample | None] = [None] * POINTS
    for sample in samples:
        start = int(sample.start_s // step_s) - first
        end = max(start + 1, round((sample.start_s + sample.span_s) / step_s) - first)
        for n in range(max(start, 0), min(end, POINTS)):
            moments[n] = sample
    return moments


def _of_peer(samples: Sequence[Sample | None]) -> dict[str, Values]:
    moments = [[] if each is None else [each] for each in samples]
    return {name: _values(figure, moments) for name, figure in FIGURES.items()}


def _values(figure: Figure, moments: Iterable[Sequence[Sample]]) -> Values:
    values = (figure.of(samples) if samples else None for samples in moments)
    return tuple(None if value is None else float(f"{value:.{_DIGITS}g}") for value in values)


def _handovers(gathered: HistoryGathered) -> Iterable[RunningHandover]:
    for peer, told in gathered.told:
        slots = _slots(told, "slots.wanted") if told.samples else 0
        if slots and told.wanted_since_s:
            seconds = max(gathered.now - told.wanted_since_s, 0.0)
            done = told.wanted_most - slots
            left_s = slots * seconds / done if done > 0 else None
            yield RunningHandover(peer, slots, max(told.wanted_most, slots), seconds, left_s)


# --- Events ---

_OF_MESH: Final = frozenset((EventKind.POLICY, EventKind.TAKEN_DOWN, EventKind.RESTORED))
_FOR_ADMINS: Final = frozenset((EventKind.QUARANTINED, EventKind.RELEASED, EventKind.KEPT_OUT))


def _events(gathered: HistoryGathered, *, is_admin: bool) -> list[ToldEvent]:
    """Merge reports of the same event by several peers, and choose those to show, the newest first."""
    events = sorted(
        ((event, teller) for teller, told in gathered.told for event in _believed(told, gathered.now)),
        key=lambda each: (each[0].at_s, each[1]),
    )
    groups: list[tuple[Event, list[str]]] = []  # in the order of time
    last: dict[tuple[object, ...], tuple[Event, list[str]]] = {}  # of those that say the same
    for event, teller in events:
        if event.kind in _FOR_ADMINS and not is_admin:
            continue
        is_common = bool(event.peer) or event.kind in _OF_MESH
        same = last.get((event.kind, event.peer, event.amount)) if is_common else None
        if same and event.at_s - same[0].at_s <= SAME_S and teller not in same[1]:
            same[1].append(teller)
        else:
            groups.append((event, [teller]))
            last[event.kind, event.peer, event.amount] = groups[-1]
    return _chosen([_told(*group) for group in reversed(groups)], len(gathered.told))


def _believed(told: HistoryTold, now: float) -> Iterable[Event]:
    return (event for event in told.events if event.at_s <= now + FUTURE_S)


def _told(event: Event, tellers: Sequence[str]) -> ToldEvent:
    subject = event.peer or ("" if event.kind in _OF_MESH else tellers[0])
    return ToldEvent(event.at_s, event.kind, subject, event.amount, event.text, tuple(tellers))


def _chosen(events: Sequence[ToldEvent], n_tellers: int) -> list[ToldEvent]:
    """The events to be shown; a peer that tells very many does not push out those of others."""
    share = EVENTS_SHOWN_MAX // max(n_tellers, 1)
    counts: dict[str, int] = {}
    within: list[ToldEvent] = []
    beyond: list[ToldEvent] = []
    for event in events:
        teller = event.told_by[0]
        counts[teller] = counts.get(teller, 0) + 1
        (within if counts[teller] <= share else beyond).append(event)
    return sorted((*within, *beyond)[:EVENTS_SHOWN_MAX], key=lambda each: -each.at_s)


def events_of(view: HistoryView, kinds: Mapping[str, str]) -> list[ToldEvent]:
    """Return the events that there are words for: those of a later version there may be none for."""
    return [event for event in view.events if event.kind in kinds]
