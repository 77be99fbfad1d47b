"""kill -9 of a peer, in the middle of a crawl and at rest; and its return, with its disk and without."""

from __future__ import annotations

import time
from collections.abc import Collection
from pathlib import Path

import pytest

from tests.live.access_log import Access
from tests.live.chaos import Chaos, assert_answers_are_right, assert_short_misses, hosts_of, watched
from tests.live.lab_process import wait_for
from tests.live.mesh_processes import Mesh, mesh_of
from tests.live.searching import misses
from tests.live.truth import Truth
from tests.live.web import SMALL_HOSTS, ServedWeb, served_web

pytestmark = [pytest.mark.live, pytest.mark.timed]

DELAY_S = 0.12
GOES_ON_S_MAX = 10.0


def test_killed_peers_hosts_are_crawled_and_searched_by_the_others(
    packages: Path, small_truth: Truth, tmp_path: Path
) -> None:
    with (
        served_web(packages, SMALL_HOSTS, gbk=True, is_split=True) as web,
        mesh_of(tmp_path / "mesh", web, 4, delay_s=DELAY_S) as mesh,
    ):
        chaos = Chaos(mesh, small_truth)
        chaos.found(4)
        with watched(mesh, small_truth) as asked:
            _kill_in_mid_crawl(chaos, web)
            mesh.wait_until_idle()
        chaos.tell(asked)
        assert_answers_are_right(asked)
        assert_short_misses(asked)
        chaos.wait_until_whole()  # three peers have two copies of everything
        chaos.assert_log(web.accesses(), DELAY_S)
        n_asked = len(web.accesses())

        victim, hosts = _fullest(mesh, web.accesses())
        with watched(mesh, small_truth, hosts=hosts) as asked:
            time.sleep(1.0)
            chaos.kill(victim)
            time.sleep(6.0)
        chaos.tell(asked)
        assert_answers_are_right(asked)
        assert_short_misses(asked)
        mesh.empty(victim)
        mesh.start(victim)
        chaos.say(f"peer-{victim} is back with an empty disk")
        chaos.wait_until_whole()
        _kill_all_copies(chaos)
        chaos.assert_all_found()
        chaos.assert_archived()
        assert len(web.accesses()) == n_asked  # nothing of all this made them fetch
        mesh.assert_logs_are_clean()


def _kill_in_mid_crawl(chaos: Chaos, web: ServedWeb) -> None:
    """Kill who has most to do; others go on with all of its hosts."""
    chaos.mesh.wait_until(lambda report: report["total"]["pages_stored"] > 80, "80 pages")
    victim, hosts = chaos.busiest(web.accesses)
    killed_s = chaos.kill(victim)

    def all_go_on() -> bool:
        return all(_gone_on(host, killed_s, victim, web.accesses()) for host in hosts)

    wait_for(all_go_on, f"request by another peer for each of {hosts}")
    asked = [access for access in web.accesses() if access.began_s > killed_s and access.peer != victim]
    first_s = [min(access.began_s for access in asked if access.host == host) for host in hosts]
    chaos.say(
        f"{len(hosts)} hosts of peer-{victim} go on after {[round(s - killed_s, 1) for s in first_s]} s"
    )
    assert max(first_s) - killed_s <= GOES_ON_S_MAX


def _kill_all_copies(chaos: Chaos) -> None:
    """While both peers that have a page are down, every answer without it says that it is not complete."""
    mesh = chaos.mesh
    host = chaos.truth.known[0].host
    team = mesh.team_of(host)
    with watched(mesh, chaos.truth, hosts=[host]) as asked:
        time.sleep(1.0)
        chaos.kill(*team)
        time.sleep(5.0)
        mesh.start(*team)
        chaos.wait_until_whole()
        time.sleep(1.0)
    chaos.tell(asked)
    assert misses(asked.answers)
    for miss in misses(asked.answers):
        assert miss.is_said, miss
        assert miss.is_over, miss


def _gone_on(host: str, since_s: float, victim: int, accesses: Collection[Access]) -> bool:
    return any(a.host == host and a.began_s > since_s and a.peer != victim for a in accesses)


def _fullest(mesh: Mesh, accesses: Collection[Access]) -> tuple[int, list[str]]:
    """The peer that has asked most hosts last, and those."""
    by_peer = {number: hosts_of(number, accesses, 0.0) for number in mesh.running()}
    fullest = max(by_peer, key=lambda number: len(by_peer[number]))
    return fullest, by_peer[fullest]
