"""The model held against the peers themselves in virtual time, and against arithmetic."""

from __future__ import annotations

from bisect import bisect_right

import numpy as np
import pytest

from peers.crawler.model.settings import CrawlSettings
from peers.policy.rules import EVERYTHING
from simulations.model.flow import flow, host_bound
from simulations.model.fluid_share import wait_seconds
from simulations.model.hosts import Hosts, drawn_hosts, hosts_of
from simulations.model.replay import items_of, replay
from simulations.model.streamed_web import crawl, owners
from simulations.traces.columns import columns_of
from simulations.webs.trace import TraceWeb
from simulations.world.checks import pages_by_peer
from simulations.world.crawl import SimulatedCrawl
from simulations.world.members import SLOT_COUNT_DEFAULT
from tests.simulations.traces.test_columns import recorded

TRACE = recorded(2_000)
COLUMNS = columns_of(TRACE)
FETCHES = 8
DELAY_S = 0.3


def with_pauses(fetches: int, delay_s: float, factor: float = 0.0) -> CrawlSettings:
    return CrawlSettings(delay_s=delay_s, delay_factor=factor, fetches_in_flight_max=fetches)


@pytest.mark.parametrize("n_peers", [1, 2, 4, 8, 16])
def test_model_and_peers_agree_on_pages_per_peer_and_within_5_percent_on_their_course(n_peers: int) -> None:
    settings = CrawlSettings(
        delay_s=DELAY_S, delay_factor=0.0, fetches_in_flight_max=FETCHES, pages_in_progress_max=FETCHES + 256
    )
    exact = SimulatedCrawl(
        TraceWeb(TRACE), peers=n_peers, seed=7, replicas=1, settings=settings, policy=EVERYTHING
    )
    exact.run()
    times = pages_by_peer(exact.log, exact.peers)
    end = max(until for each in times.values() for until in each[-1:])
    items = items_of(COLUMNS, SLOT_COUNT_DEFAULT)
    peer = exact.table.ranking[0][items.slots].astype(np.int64)
    at, pages, busy_s, _ = replay(items, peer, n_peers, settings=settings, step_s=end / 1_000)
    assert pages[-1].tolist() == [len(times[name]) for name in exact.table.peers]
    assert busy_s[-1].sum() == pytest.approx(items.seconds.sum())
    everything = sorted(until for each in times.values() for until in each)
    for unit in range(1, 11):
        fetched = bisect_right(everything, end * unit / 10)
        assert np.interp(end * unit / 10, at, pages.sum(axis=1)) == pytest.approx(fetched, rel=0.05), unit


def test_busy_fetches_are_all_there_are_or_hosts_are_asked_as_often_as_may_be() -> None:
    random = np.random.default_rng(1)
    peer = np.repeat([0, 1], [1_000, 10])
    seconds = random.lognormal(-1.0, 1.0, len(peer))
    period = seconds + 1.0
    wait = wait_seconds(peer, seconds, period, 20, None, 2)
    busy = np.bincount(peer, seconds / (wait[peer] + period))
    assert busy[0] == pytest.approx(20, rel=0.002)
    assert wait[1] == 0.0
    assert busy[1] < 20


def test_a_peer_with_enough_hosts_fetches_as_many_pages_as_its_fetches_allow() -> None:
    hosts = Hosts(np.zeros(0, np.int64), np.full(1_000, 10_000), np.full(1_000, 0.5), np.full(1_000, 10.0))
    done = flow(
        hosts, np.zeros(1_000, np.int64), 1, settings=with_pauses(50, 2.0), interval_s=100.0, intervals=2
    )
    assert done.pages[:, 0] == pytest.approx([10_000, 20_000], rel=0.01)  # 50 fetches of half a second
    assert done.busy_s[0, 0] == pytest.approx(5_000, rel=0.01)
    assert done.n_bytes[0, 0] == pytest.approx(100_000, rel=0.01)


def test_few_hosts_give_what_their_delay_allows_however_many_peers_ask() -> None:
    hosts = Hosts(np.zeros(0, np.int64), np.full(4, 1_000), np.full(4, 0.5), np.full(4, 1.0))
    done = flow(hosts, np.arange(4), 4, settings=with_pauses(50, 2.0), interval_s=100.0, intervals=1)
    assert host_bound(hosts, with_pauses(50, 2.0)) == pytest.approx(1.6)
    assert done.pages.sum() == pytest.approx(160)


def test_hosts_are_left_alone_in_proportion_to_their_seconds_within_limits() -> None:
    hosts = Hosts(np.zeros(0, np.int64), np.full(3, 1_000), np.array([0.1, 1.0, 10.0]), np.full(3, 1.0))
    settings = with_pauses(50, 1.0, factor=5.0)  # pauses of 1, 5 and 30 s, the most there is
    done = flow(hosts, np.arange(3), 3, settings=settings, interval_s=1_320.0, intervals=1)
    assert done.pages[0] == pytest.approx([1_000, 220, 33])
    assert host_bound(hosts, settings) == pytest.approx(1 / 1.1 + 1 / 6 + 1 / 40)
    unhurried = flow(hosts, np.arange(3), 3, settings=with_pauses(50, 0.0, 5.0), interval_s=50.0, intervals=1)
    assert unhurried.pages[0] == pytest.approx([500, 50, 5])  # without a delay there is no pause at all


def test_a_slow_peer_sees_answers_and_ends_of_pauses_late_and_holds_its_fetches_for_longer() -> None:
    hosts = Hosts(np.zeros(0, np.int64), np.full(2, 1_000), np.full(2, 0.5), np.full(2, 1.0))
    speed = np.array([1.0, 0.5])  # the second stands still for .4 of .8 s: late by .1 s on average
    done = flow(
        hosts, np.arange(2), 2, settings=with_pauses(50, 1.0), interval_s=510.0, intervals=1, speed=speed
    )
    assert done.pages[0] == pytest.approx([340, 300])
    assert done.busy_s[0] == pytest.approx([170, 150])  # by their answers
    many = Hosts(np.zeros(0, np.int64), np.full(500, 1_000), np.full(500, 0.5), np.full(500, 1.0))
    half = flow(
        many,
        np.zeros(500, np.int64),
        1,
        settings=with_pauses(6, 1.0),
        interval_s=100.0,
        intervals=1,
        speed=speed[1:],
    )
    assert half.pages[0, 0] == pytest.approx(1_000, rel=0.01)  # six fetches, each for .6 s


def test_all_pages_are_fetched_in_the_end() -> None:
    hosts = drawn_hosts(20_000, 1_000)
    assert hosts.page_count == 20_000
    owner = owners(3, 1_000)
    done = flow(
        hosts,
        owner[hosts.slots].astype(np.int64),
        3,
        settings=with_pauses(20, 0.0),
        interval_s=3_600.0,
        intervals=3,
    )
    assert done.pages[-1].sum() == pytest.approx(20_000)


def test_a_web_in_parts_is_the_web_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    owner = owners(7, 1_000)
    hosts = drawn_hosts(50_000, 1_000, seed=3)
    peer = owner[hosts.slots].astype(np.int64)
    whole = flow(hosts, peer, 7, settings=with_pauses(20, 1.0), interval_s=60.0, intervals=5)
    monkeypatch.setattr("simulations.model.streamed_web.HOSTS_FETCHED", 300)
    parts = crawl(50_000, owner, 7, settings=with_pauses(20, 1.0), interval_s=60.0, intervals=5, seed=3)
    assert parts.flow.pages == pytest.approx(whole.pages, rel=1e-3)
    assert parts.pages_owned.tolist() == np.bincount(peer, hosts.pages, 7).tolist()


def test_hosts_of_a_trace_have_its_pages_seconds_and_bytes() -> None:
    hosts = hosts_of(COLUMNS, 1_000)
    assert hosts.page_count == 2_000
    assert (hosts.seconds * hosts.pages).sum() == pytest.approx(sum(page.seconds for page in TRACE))
