"""Whole crawls by the peers' own code in virtual time."""

from __future__ import annotations

from random import Random

import pytest

from mesh.actors.actor import Address
from mesh.membership.model.messages import AnswerDoor, Knock, Knocked
from mesh.membership.model.wire_messages import JoinMesh, JoinRefused
from mesh.tables.memory_table import MemoryTable
from mesh.trace import TracedPage
from peers.crawler.model.settings import CrawlSettings
from peers.handover.store import HolderStatistics
from simulations.webs.trace import TraceWeb
from simulations.webs.web import SyntheticWeb, WebShape
from simulations.world.checks import duplicates
from simulations.world.crawl import SimulatedCrawl
from simulations.world.experiments import HOUR_S, crawl, interval_for, replay
from simulations.world.members import SHUT_S, Members, VirtualDoor, door_endpoint
from simulations.world.network import Network
from simulations.world.world import PortAnswer


def test_a_crawl_fetches_every_page_once_and_politely_and_keeps_two_copies() -> None:
    result = crawl(peers=4, seed=11, pages=600)
    assert result.checks.total == 0, result.checks
    assert result.pages_fetched == 600
    assert sum(result.pages_per_peer.values()) == 600
    assert all(result.pages_per_peer.values())
    assert result.cross_links.sent > 0
    assert result.cross_links.bytes_per_link <= 128  # book, section 6.2


def test_honest_peers_refuse_nothing_of_what_others_bring() -> None:
    crawl = SimulatedCrawl(SyntheticWeb(3, 300), peers=3, seed=3)
    crawl.run()
    stores = [
        each.store
        for peer in crawl.peers
        for each in crawl.observe(peer).values()
        if isinstance(each, HolderStatistics)
    ]
    assert sum(store.items_merged for store in stores) > 1_000
    assert [(store.name, store.items_refused, store.changes_refused) for store in stores] == [
        (store.name, 0, 0) for store in stores
    ]


def test_nothing_is_lost_or_fetched_twice_when_a_fifth_of_the_frames_is_lost() -> None:
    result = crawl(peers=3, seed=12, pages=300, loss=0.2)
    assert result.checks.total == 0, result.checks
    assert result.pages_fetched == 300
    assert result.traffic.messages > 300


def test_one_peer_alone_sends_no_messages() -> None:
    result = crawl(peers=1, seed=13, pages=200)
    assert result.checks.total == 0, result.checks
    assert result.traffic.messages == 0


def test_more_replicas_are_more_copies() -> None:
    run = SimulatedCrawl(SyntheticWeb(14, 100), peers=4, seed=14, replicas=3)
    run.run()
    assert run.judge().total == 0
    assert sum(len(archive.pages) for archive in run.archives.values()) == 3 * 100
    assert sum(len(index.urls) for index in run.indexes.values()) == 3 * 100


@pytest.mark.parametrize("has_wires", [True, False])
def test_peers_without_documents_fetch_the_same_pages_at_the_same_times(has_wires: bool) -> None:
    web = SyntheticWeb(14, 300)
    with_documents = SimulatedCrawl(web, peers=4, seed=14, replicas=1)
    run = SimulatedCrawl(web, peers=4, seed=14, replicas=1, has_documents=False, has_wires=has_wires)
    for each in (with_documents, run):
        each.run()
        assert each.judge().total == 0
    whole, bare = (
        sorted((request.url, request.peer, request.at_s) for request in each.log)
        for each in (with_documents, run)
    )
    assert [each[:2] for each in bare] == [each[:2] for each in whole]
    assert [each[2] for each in bare] == pytest.approx([each[2] for each in whole], abs=1.0)
    assert (run.world.traffic.total().bytes > 0) == has_wires
    assert run.world.traffic.total().messages > 0


def test_a_replay_goes_deeper_than_crawls_do_by_default() -> None:
    urls = [f"http://a.test/{number}" for number in range(CrawlSettings().depth_max + 100)]
    trace = [TracedPage(url, 0.0, 0.1, 700, tuple(urls[n + 1 : n + 2])) for n, url in enumerate(urls)]
    (run,) = replay(trace, [1]).runs
    assert run.virtual_seconds >= 0.1 * len(urls)


def test_peers_fetch_the_same_pages_whatever_the_network_does() -> None:
    found = []
    for delay_s in (0.001, 2.0):
        network = Network(Random(1), delay_min_s=0.0, delay_mean_s=delay_s)
        run = SimulatedCrawl(SyntheticWeb(15, 300), peers=3, seed=15, slots=1_024, network=network)
        run.run()
        found.append({request.url for request in run.log})
    assert found[0] == found[1]


def test_a_crawl_comes_back_after_a_partition() -> None:
    network = Network(Random(16))
    run = SimulatedCrawl(SyntheticWeb(16, 400), peers=4, seed=16, network=network)
    run.world.plan(60.0, lambda: network.part(["p0", "p1"], ["p2", "p3"]))
    run.world.plan(400.0, network.heal)
    run.run()
    findings = run.judge()
    assert findings.total == 0, findings


def test_a_peer_that_is_killed_goes_on_and_repeats_only_what_was_in_progress() -> None:
    run = SimulatedCrawl(SyntheticWeb(17, 600), peers=3, seed=17, crashing=["p1"])
    crashes = (31.0, 62.5, 120.25, 301.0)
    for at_s in crashes:
        run.plan_crash("p1", at_s, down_s=20.0)
    run.run()
    findings = run.judge()
    assert findings.total == findings.duplicates, findings
    first = {request.url: request for request in reversed(run.log)}
    for url in duplicates(run.log):
        # Fetched, parsed, stored and settled takes less than a second after the answer.
        assert any(first[url].at_s <= at_s <= first[url].until_s + 1.0 for at_s in crashes), first[url]


def test_peers_that_join_and_probe_crawl_as_those_that_know_each_other() -> None:
    result = crawl(peers=4, seed=5, pages=300, with_membership=True)
    assert result.checks.total == 0, result.checks
    assert result.pages_fetched == 300
    assert result.traffic.by_message["Ping"][0] > 100
    assert result.digest == crawl(peers=4, seed=5, pages=300, with_membership=True).digest


def test_a_newcomer_knocks_in_vain_at_a_door_that_nobody_opens() -> None:
    members = Members(6, 2, 2)
    first, second = members.peers
    doors: dict[str, VirtualDoor] = {}
    VirtualDoor(first, doors, lambda peer: peer != first)
    door = VirtualDoor(second, doors, lambda peer: peer != first)
    record = members.membership(second, MemoryTable(), 1, [])._own.record
    knock = Knock(door_endpoint(first), b"", JoinMesh(record, members.config.digest()))
    source = Address(second, "membership")
    (waiting,) = door.receive(source, knock, 0.0)
    assert (waiting.delay_s, waiting.target) == (SHUT_S, Address(second, "door"))
    given_up = list(door.receive(waiting.target, waiting.message, SHUT_S))
    assert given_up == [PortAnswer(0.0, source, Knocked(None))]
    assert list(door.receive(waiting.target, waiting.message, SHUT_S)) == []
    assert list(door.receive(source, AnswerDoor(77, JoinRefused("late")), 0.0)) == []


def test_another_seed_gives_another_digest() -> None:
    assert crawl(peers=3, seed=7, pages=100).digest != crawl(peers=3, seed=8, pages=100).digest


def test_a_politer_crawl_takes_longer() -> None:
    quick = crawl(peers=2, seed=9, pages=200, settings=CrawlSettings(delay_s=1.0, delay_factor=0.0))
    slow = crawl(peers=2, seed=9, pages=200, settings=CrawlSettings(delay_s=8.0, delay_factor=0.0))
    assert slow.checks.total == quick.checks.total == 0
    assert slow.virtual_seconds > 1.5 * quick.virtual_seconds


# --- The book's first experiment ---


@pytest.fixture(scope="module")
def trace() -> list[TracedPage]:
    """A crawl of 2,000 pages on 100 hosts."""
    pages: list[TracedPage] = []
    web = SyntheticWeb(21, 2_000, WebShape(pages_per_host=20, slow_hosts_share=0))
    settings = CrawlSettings(is_recorded=True, delay_s=0.1)
    SimulatedCrawl(web, peers=2, seed=21, settings=settings, trace=pages).run()
    return pages


def test_a_replay_fetches_what_was_recorded(trace: list[TracedPage]) -> None:
    web = TraceWeb(trace)
    run = SimulatedCrawl(web, peers=3, seed=1, settings=CrawlSettings(delay_s=0.0))
    run.run()
    assert run.judge().total == 0, run.judge()
    assert {request.url for request in run.log if request.status == 200} == {page.url for page in trace}


def test_book_6_2_more_peers_fetch_more_in_the_same_time(trace: list[TracedPage]) -> None:
    result = replay(trace, [2, 4, 8])
    assert [run.peers for run in result.runs] == [2, 4, 8]
    two, four, eight = result.runs
    assert 1.5 < two.speed_up_to_half < 3
    assert two.speed_up_to_half < four.speed_up_to_half < eight.speed_up_to_half
    for run in (two, four, eight):
        assert 0.5 < run.speed_up / run.same_mix <= 1.02  # whatever fast hosts come first
        assert run.speed_up <= run.peers or "mix" in run.why
    assert all(len(run.intervals) == 10 for run in result.runs)
    assert eight.cross_links.bytes_per_link <= 128
    assert result.pages == len(trace)
    assert any("unit of time" in note for note in result.notes)


def test_a_replay_of_one_host_says_that_hosts_bound_the_speed() -> None:
    # So many that it does not matter whether the first claim to the slot is answered, or the one after .5 s.
    pages = [
        TracedPage(f"http://a.test/{n}", float(n), 0.1, 1_000, (f"http://a.test/{n + 1}",))
        for n in range(300)
    ]
    result = replay(pages, [1, 2])
    assert result.runs[1].speed_up_to_half == pytest.approx(1.0, rel=0.05)
    assert any("hosts" in note for note in result.notes)


@pytest.mark.parametrize(
    ("seconds", "interval_s"),
    [(360_000.0, HOUR_S), (36_000.0, HOUR_S), (35_999.0, 2_000.0), (600.0, 50.0), (100.0, 10.0), (0.7, 0.05)],
)
def test_the_unit_of_time_is_an_hour_or_a_round_number_of_seconds(seconds: float, interval_s: float) -> None:
    assert interval_for(seconds) == pytest.approx(interval_s)
