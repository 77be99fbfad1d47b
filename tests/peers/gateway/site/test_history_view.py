"""What gateways make of what peers tell of their history: values on equal steps, and events."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

import pytest

from peers.gateway.model.histogram import SEARCH_BOUNDS_S, quantile_of
from peers.gateway.model.messages import HistoryGathered
from peers.gateway.model.quantity import table_of
from peers.gateway.model.status import PeerStatus
from peers.gateway.site.history_page import history_page
from peers.gateway.site.history_view import (
    EVENTS_SHOWN_MAX,
    FUTURE_S,
    SAME_S,
    HistorySpan,
    HistoryView,
    history_view,
)
from peers.gateway.site.history_words import TEXTS_OF_KINDS
from peers.gateway.site.pages import Reader
from peers.history.event import Event, EventKind
from peers.history.sample import COUNT_MAX, Counts, Sample
from peers.history.series import POINTS
from peers.history.wire_messages import HistoryTold

NOW = 1_750_000_230.0
STEP = 40.0  # of an hour
THIS = NOW // STEP * STEP  # when the last step begins
ENGLISH = Reader("en", False)


def sample(
    start_s: float, span_s: float = STEP, pages: int = 80, gauges: Mapping[str, int] = MappingProxyType({})
) -> Sample:
    return Sample(start_s, span_s, span_s, Counts({"pages_fetched": pages}), dict(gauges))


def told(*samples: Sample, events: tuple[Event, ...] = (), since: float = 0.0, most: int = 0) -> HistoryTold:
    return HistoryTold(1, samples, events, since, most)


def view_of(
    peers: dict[str, HistoryTold], *, is_admin: bool = True, silent: tuple[str, ...] = ()
) -> HistoryView:
    gathered = HistoryGathered(1, NOW, 3_600.0, tuple(peers.items()), silent)
    return history_view(gathered, HistorySpan.HOUR, is_admin=is_admin)


def test_values_stand_at_their_times_and_where_nobody_tells_is_nothing() -> None:
    view = view_of({"ann": told(sample(THIS - STEP), sample(THIS)), "bob": told(sample(THIS, pages=40))})
    assert (view.start_s, view.step_s) == (THIS - STEP * (POINTS - 1), STEP)
    assert view.peers["ann"]["pages_per_s"][-3:] == (None, 2.0, 2.0)
    assert view.peers["bob"]["pages_per_s"][-3:] == (None, None, 1.0)
    assert view.total["pages_per_s"][-3:] == (None, 2.0, 3.0)
    assert all(len(values) == POINTS for values in view.total.values())


def test_names_are_for_administrators() -> None:
    gathered = HistoryGathered(1, NOW, 3_600.0, (), (), (("ann", "mill"),))
    assert history_view(gathered, HistorySpan.HOUR, is_admin=True).names == {"ann": "mill"}
    assert history_view(gathered, HistorySpan.HOUR, is_admin=False).names == {}


def test_a_sample_that_is_longer_stands_at_all_steps_it_covers() -> None:
    view = view_of({"ann": told(sample(THIS - 4 * STEP, 2 * STEP, pages=160), sample(THIS))})
    assert view.total["pages_per_s"][-5:] == (2.0, 2.0, None, None, 2.0)


def test_a_new_page_waits_as_long_as_the_queue_takes() -> None:
    def wait(pages: int, queued: int) -> float | None:
        return view_of({"ann": told(sample(THIS, pages=pages, gauges={"frontier.queued": queued}))}).total[
            "queue_wait_s"
        ][-1]

    assert wait(80, 100) == 50.0
    assert wait(80, 0) == wait(0, 0) == 0.0
    assert wait(0, 100) is None


def test_latency_of_all_is_that_of_all_searches() -> None:
    fast = Sample(THIS, STEP, STEP, Counts({"searches": 99}, (99,)), {})
    slow = Sample(THIS, STEP, STEP, Counts({"searches": 99}, (0,) * 8 + (99,)), {})
    view = view_of({"ann": told(fast), "bob": told(slow), "cyd": told(sample(THIS))})
    assert view.peers["ann"]["slow_search_s"][-1] == pytest.approx(0.005, abs=1e-4)
    assert view.peers["cyd"]["slow_search_s"][-1] is None
    assert 0.5 < (view.total["slow_search_s"][-1] or 0.0) <= 1.0
    assert view.total["searches_per_s"][-1] == 4.95


@pytest.mark.parametrize(
    ("counts", "share", "seconds"),
    [
        ((), 0.5, None),
        ((0, 0), 0.5, None),
        ((10,), 0.5, 0.0025),
        ((0, 10), 1.0, 0.01),
        ((0,) * 11 + (3,), 0.99, 5.0),
        ((0,) * 30 + (3,), 0.99, 5.0),  # another version has more classes
    ],
)
def test_quantiles(counts: tuple[int, ...], share: float, seconds: float | None) -> None:
    assert quantile_of(counts, share, SEARCH_BOUNDS_S) == seconds


def test_hostile_numbers_and_times_break_nothing() -> None:
    huge = Counts(dict.fromkeys(table_of(PeerStatus), COUNT_MAX), (COUNT_MAX,) * 32)
    gauges = huge.values
    odd = (
        Sample(0.0, 1e9, 5e-324, huge, gauges),
        Sample(1e12, 1e9, 1e15, huge, gauges),
        Sample(THIS, 5e-324, 1.0, huge, gauges),
        Sample(THIS - 1.0, 1e9, 0.0, huge, gauges),
    )
    events = tuple(Event(at_s, "<b>\u202e" * 9, "<i>", 1e15, "</script>") for at_s in (0.0, NOW, 1e12))
    known = tuple(Event(NOW, kind, "<i>\x00", 1e15, "</script>") for kind in EventKind)
    eve = told(*odd, events=(*events, *known), since=1e12, most=COUNT_MAX)
    view = view_of({"<script>eve": eve, "ann": told(sample(THIS))}, silent=("<script>",))
    for reader in (ENGLISH, Reader("zh", True)):
        page = history_page(reader, view)
        assert "<i>" not in page
        assert "<script>eve" not in page
        assert "</script>" not in page.partition("<main")[2].partition("</main>")[0]


def test_nobody_who_tells_anything_makes_a_page_all_the_same() -> None:
    for peers in ({}, {"ann": told()}):
        assert "Nothing that is worth telling" in history_page(ENGLISH, view_of(peers))


def test_a_running_handover_has_a_time_to_go() -> None:
    def handover(most: int) -> float | None:
        [each] = view_of(
            {"ann": told(sample(THIS, gauges={"slots.wanted": 100}), since=NOW - 60.0, most=most)}
        ).handovers
        return each.left_s

    assert handover(300) == 30.0
    assert handover(100) is None
    assert view_of({"ann": told(sample(THIS))}).handovers == ()


# --- Events ---


def kinds_of(view: HistoryView) -> list[tuple[str, str, tuple[str, ...]]]:
    return [(each.kind, each.peer, each.told_by) for each in view.events]


def test_what_several_tell_of_a_member_is_told_once_the_newest_first() -> None:
    view = view_of(
        {
            "ann": told(
                events=(Event(NOW - 300.0, EventKind.DOWN, "cyd"), Event(NOW - 9.0, EventKind.DISK_FULL))
            ),
            "bob": told(
                events=(Event(NOW - 301.0, EventKind.DOWN, "cyd"), Event(NOW - 8.0, EventKind.DISK_FULL))
            ),
        }
    )
    assert kinds_of(view) == [
        (EventKind.DISK_FULL, "bob", ("bob",)),
        (EventKind.DISK_FULL, "ann", ("ann",)),
        (EventKind.DOWN, "cyd", ("bob", "ann")),
    ]


def test_the_same_much_later_is_told_again() -> None:
    times = (NOW - 2 * SAME_S, NOW)
    view = view_of({"ann": told(events=tuple(Event(at, EventKind.DOWN, "cyd") for at in times))})
    assert len(view.events) == 2


def test_who_is_in_quarantine_is_for_administrators() -> None:
    peers = {"ann": told(events=(Event(NOW, EventKind.QUARANTINED, "eve"),))}
    assert len(view_of(peers).events) == 1
    assert view_of(peers, is_admin=False).events == ()


def test_what_is_said_to_happen_in_the_future_is_not_believed() -> None:
    assert view_of({"eve": told(events=(Event(NOW + 2 * FUTURE_S, EventKind.JOINED, "x"),))}).events == ()


def test_who_tells_very_much_does_not_push_out_what_others_tell() -> None:
    flood = tuple(Event(NOW - n / 100, EventKind.TOOK_OVER, amount=float(n)) for n in range(200))
    view = view_of(
        {"eve": told(events=flood), "ann": told(events=(Event(NOW - 900.0, EventKind.DISK_FULL),))}
    )
    assert len(view.events) == EVENTS_SHOWN_MAX
    assert view.events[-1].kind == EventKind.DISK_FULL


def test_there_are_words_for_every_kind() -> None:
    assert set(TEXTS_OF_KINDS) == set(EventKind)


def test_kinds_of_a_later_version_are_left_out_of_the_page() -> None:
    view = view_of({"ann": told(events=(Event(NOW, "shrunk"),))})
    assert view.events[0].kind == "shrunk"
    assert "shrunk" not in history_page(ENGLISH, view)


def test_a_page_of_eight_peers_is_small() -> None:
    peers = {
        f"peer{n:012}": told(
            *(
                sample(THIS - STEP * k, pages=(k * 37 + n * 11) % 90, gauges={"frontier.queued": k * n})
                for k in range(POINTS, -1, -1)
            )
        )
        for n in range(8)
    }
    assert len(history_page(ENGLISH, view_of(peers)).encode()) < 60_000
