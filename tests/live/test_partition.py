"""A mesh whose links are cut, in a small internet where every peer goes on reaching the web.

Who is cut off could fetch all it likes, and must not: that is read from the web server's log, by address.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path

import pytest

from mesh.membership.swim_settings import SwimSettings
from tests.live.access_log import Access
from tests.live.chaos import Chaos, assert_answers_are_right, watched
from tests.live.lab_process import search, wait_for
from tests.live.mesh_processes import Mesh, mesh_of
from tests.live.namespaces import SmallInternet, has_netem, small_internet
from tests.live.truth import Truth
from tests.live.web import SMALL_HOSTS, ServedWeb, served_web

pytestmark = [pytest.mark.live, pytest.mark.timed]

DELAY_S = 0.4
SLACK_S = 0.5  # a fetch that was begun in time, on a busy machine


@pytest.fixture
def internet() -> Iterator[SmallInternet]:
    with small_internet(4) as internet:
        yield internet


def test_only_the_majority_crawls_and_both_sides_answer(
    internet: SmallInternet, packages: Path, small_truth: Truth, tmp_path: Path
) -> None:
    with (
        served_web(packages, SMALL_HOSTS, gbk=True, is_split=True, place=internet.web) as web,
        mesh_of(tmp_path / "mesh", web, internet.peers, delay_s=DELAY_S, has_bootstrap=False) as mesh,
    ):
        chaos = Chaos(mesh, small_truth)
        chaos.found(4)
        mesh.wait_until(lambda report: report["total"]["pages_stored"] > 50, "50 pages")
        with watched(mesh, small_truth) as asked:
            _cut(chaos, internet, web, [1, 2, 3], [4])
            # Of two halves the one with the smallest id is the majority.
            first, *others = sorted(range(1, 5), key=mesh.peer_id)
            busy, _ = chaos.busiest(web.accesses, others)
            partner, other = (number for number in others if number != busy)
            _cut(chaos, internet, web, [first, partner], [busy, other])
            mesh.wait_until_idle()
        chaos.tell(asked)
        assert_answers_are_right(asked)
        chaos.wait_until_whole()
        chaos.assert_all_found()
        chaos.assert_archived()
        chaos.assert_log(web.accesses(), DELAY_S)
        mesh.assert_logs_are_clean()


def test_slow_and_lossy_links_cost_no_page_and_no_second_fetch(
    internet: SmallInternet, packages: Path, small_truth: Truth, tmp_path: Path
) -> None:
    if not has_netem():
        pytest.skip("the kernel has no netem (CONFIG_NET_SCH_NETEM), by which links lose and delay")
    with (
        served_web(packages, SMALL_HOSTS, gbk=True, is_split=True, place=internet.web) as web,
        mesh_of(tmp_path / "mesh", web, internet.peers[:3], has_bootstrap=False) as mesh,
    ):
        chaos = Chaos(mesh, small_truth)
        chaos.found(3)
        for number in (1, 2, 3):
            internet.worsen(number, "delay", "50ms", "25ms", "loss", "3%")
        with watched(mesh, small_truth) as asked:
            chaos.wait_until_whole()
        chaos.tell(asked)
        assert_answers_are_right(asked)
        chaos.assert_all_found()
        chaos.assert_archived()
        chaos.assert_log(web.accesses(), 0.0)
        mesh.assert_logs_are_clean()


def _cut(
    chaos: Chaos, internet: SmallInternet, web: ServedWeb, majority: Sequence[int], minority: Sequence[int]
) -> None:
    """Cut, see that only the majority goes on, with all there is to do, and heal."""
    _, hosts = chaos.busiest(web.accesses, minority)
    teams = {host: chaos.mesh.team_of(host) for host in hosts}
    internet.split(majority, minority)
    cut_s = time.time()
    chaos.say(f"{majority} | {minority}, who crawled {hosts}")
    # What only those on the other side know waits for them: else it would be fetched again.
    known = [host for host in hosts if set(teams[host]) & set(majority)]
    taken_s = [_taken_over(host, cut_s, internet, majority, web) for host in known]
    chaos.say(f"taken over after {[round(at_s - cut_s, 1) for at_s in taken_s]} s")
    time.sleep(2.0)
    _assert_answers_say_what_is_missing(chaos.mesh, minority)
    healed_s = time.time()
    internet.heal()
    chaos.say("healed")
    late = [
        access
        for access in _by(minority, internet, web.accesses())
        if cut_s + SwimSettings().licence_s + SLACK_S < access.began_s < healed_s
    ]
    assert not late, f"{len(late)} fetches without a licence: {late[:3]}"
    foreign = [
        access
        for access in _by(majority, internet, web.accesses())
        if cut_s < access.began_s < healed_s and access.host in set(hosts) - set(known)
    ]
    assert not foreign, f"{len(foreign)} fetches of what only the others know: {foreign[:3]}"
    for number in minority:
        chaos.excuse(number, cut_s, cut_s + SwimSettings().licence_s + SLACK_S)
    chaos.mesh.wait_until_met()
    chaos.mesh.wait_until_balanced()
    chaos.say("all have met again, and know the same")


def _taken_over(
    host: str, cut_s: float, internet: SmallInternet, majority: Sequence[int], web: ServedWeb
) -> float:
    """When the majority first asked a host."""

    def first() -> float:
        asked = _by(majority, internet, web.accesses())
        return min(
            (access.began_s for access in asked if access.host == host and access.began_s > cut_s),
            default=0.0,
        )

    return wait_for(first, f"request of the majority for {host}")


def _by(numbers: Sequence[int], internet: SmallInternet, accesses: Collection[Access]) -> list[Access]:
    addresses = {internet.peers[number - 1].gateway for number in numbers}
    return [access for access in accesses if access.client in addresses]


def _assert_answers_say_what_is_missing(mesh: Mesh, minority: Sequence[int]) -> None:
    """A side with fewer peers than copies may lack slots; then it says so, and it answers in any case."""
    for number in minority:
        coverage = search(mesh.gateway(number), "debian")["coverage"]
        assert coverage["answered"] + coverage["missing"] == coverage["slots"]
        if len(minority) == 1:
            assert coverage["missing"] > 0
