"""Machines whose parts do one thing after the other."""

from __future__ import annotations

import pytest

from mesh.actors.actor import Address
from peers.crawler.model.settings import CrawlSettings
from peers.policy.rules import EVERYTHING
from peers.storage.messages import AppendBulk
from simulations.webs.web import SyntheticWeb, WebShape
from simulations.world.crawl import SimulatedCrawl
from simulations.world.hardware import ANSWER_S, COMMIT_PAGE_S, COMMIT_S, PARSE_S, FiniteHardware, Station
from simulations.world.ports import VirtualArchive, records_of

SHAPE = WebShape(size_exponent=0.0, dead_hosts_share=0.0, slow_hosts_share=0.0, robots_share=0.0)
PAGES = 400


def machine(
    cores: int = 1, speed: float = 1.0, syncs_per_s: float = 1e6, bytes_per_s: float = 1e12
) -> FiniteHardware:
    return FiniteHardware(
        cores=cores, speed=speed, syncs_per_s=syncs_per_s, outlet=Station(), bytes_per_s=bytes_per_s
    )


def test_work_waits_for_the_work_before_it_and_for_no_more() -> None:
    station = Station()
    assert station.take(2.0, 10.0) == 2.0
    assert station.take(3.0, 11.0) == 4.0  # it begins at 12
    assert station.free_at == 15.0
    assert station.take(1.0, 20.0) == 1.0
    assert station.busy_s == 6.0


def test_two_servers_take_two_pieces_of_work_at_once() -> None:
    station = Station(2)
    assert [station.take(2.0, 0.0) for _ in range(3)] == [2.0, 2.0, 4.0]


def test_question_waits_for_other_questions_alone_and_the_crawl_for_it() -> None:
    busy = machine()
    assert [busy.parse(0.0) for _ in range(10)][-1] == pytest.approx(10 * PARSE_S)
    assert [busy.answer(0.0) for _ in range(2)] == pytest.approx([ANSWER_S, 2 * ANSWER_S])
    assert busy.parse(0.0) == pytest.approx(11 * PARSE_S + 2 * ANSWER_S)


def test_commit_waits_for_processor_and_disk() -> None:
    slow_disk, slow_core = machine(syncs_per_s=2.0), machine(speed=0.01)
    assert slow_disk.commit(100, 0.0) == pytest.approx(COMMIT_S + 0.5)
    assert slow_core.commit(100, 0.0) == pytest.approx(COMMIT_S + 100 * COMMIT_PAGE_S / 0.01)


def test_machines_of_a_site_share_its_outlet() -> None:
    outlet = Station()
    one, other = (
        FiniteHardware(cores=1, speed=1.0, syncs_per_s=1.0, outlet=outlet, bytes_per_s=1_000.0)
        for _ in range(2)
    )
    assert [one.receive(500, 0.0), other.receive(500, 0.0)] == [0.5, 1.0]


def test_archive_waits_for_the_disk() -> None:
    archive, here = VirtualArchive(machine(syncs_per_s=4.0)), Address("p0", "cell")
    order = AppendBulk(1, (memoryview(records_of("http://a.test/")),))
    delays = [answer.delay_s for _ in range(3) for answer in archive.receive(here, order, 0.0)]
    assert delays == [0.25, 0.5, 0.75]


def crawled(part: FiniteHardware) -> SimulatedCrawl:
    settings = CrawlSettings(delay_s=0.0, delay_factor=0.0, fetches_in_flight_max=16)
    crawl = SimulatedCrawl(
        SyntheticWeb(1, PAGES, SHAPE),
        peers=1,
        seed=1,
        replicas=1,
        settings=settings,
        policy=EVERYTHING,
        hardware={"p0": part},
    )
    crawl.run()
    assert crawl.judge().total == 0
    return crawl


def seconds(crawl: SimulatedCrawl) -> float:
    return max(each.until_s for each in crawl.log) - min(each.at_s for each in crawl.log)


def test_crawl_takes_as_long_as_the_part_that_has_most_to_do() -> None:
    core = crawled(machine(speed=0.02))
    assert len(core.archives["p0"].pages) == PAGES
    # The last pages are fetched while others wait to be parsed.
    work_s = PAGES * (PARSE_S + COMMIT_PAGE_S) / 0.02
    assert work_s < core.world.now < 1.3 * work_s + 40.0
    outlet = crawled(machine(bytes_per_s=100_000.0))
    n_bytes = sum(outlet.web.serve(each.url).n_bytes for each in outlet.log)
    assert seconds(outlet) == pytest.approx(n_bytes / 100_000.0, rel=0.05)
    assert seconds(crawled(machine())) < 0.6 * seconds(outlet)
