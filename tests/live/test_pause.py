"""A peer that stands still for a while (SIGSTOP) and goes on as if nothing had happened."""

from __future__ import annotations

import time
from math import inf
from pathlib import Path

import pytest

from tests.live.chaos import Chaos, assert_answers_are_right, watched
from tests.live.mesh_processes import mesh_of
from tests.live.searching import failures, misses
from tests.live.truth import Truth
from tests.live.web import SMALL_HOSTS, ServedWeb, served_web

pytestmark = [pytest.mark.live, pytest.mark.timed]

DELAY_S = 0.2
PAUSE_S = 15.0
GOES_ON_S_MAX = 10.0


def test_paused_peer_does_not_go_on_with_what_others_have_taken(
    packages: Path, small_truth: Truth, tmp_path: Path
) -> None:
    with (
        served_web(packages, SMALL_HOSTS, gbk=True, is_split=True) as web,
        mesh_of(tmp_path / "mesh", web, 3, delay_s=DELAY_S) as mesh,
    ):
        chaos = Chaos(mesh, small_truth)
        chaos.found(3)
        mesh.wait_until(lambda report: report["total"]["pages_stored"] > 50, "50 pages")
        with watched(mesh, small_truth) as asked:
            _pause(chaos, web)  # shorter ones are among what happens in test_chaos
            chaos.wait_until_whole()
        chaos.tell(asked)
        # Searches under way at the paused peer's own gateway take as long as it does.
        assert_answers_are_right(asked, failed_max=len(failures(asked.answers)))
        assert all(miss.is_over for miss in misses(asked.answers))
        chaos.assert_all_found()
        chaos.assert_archived()
        chaos.assert_log(web.accesses(), DELAY_S)
        mesh.assert_logs_are_clean()


def _pause(chaos: Chaos, web: ServedWeb) -> None:
    """Pause a peer that has something to do; others do that meanwhile."""
    number, hosts = chaos.busiest(web.accesses)
    paused_s = time.time()
    chaos.pause(number, PAUSE_S)
    asked = [
        access
        for access in web.accesses()
        if access.host in hosts and access.peer != number and access.began_s > paused_s
    ]
    first_s = {host: min((a.began_s for a in asked if a.host == host), default=inf) for host in hosts}
    after_s = [round(at_s - paused_s, 1) for at_s in first_s.values()]
    chaos.say(f"{len(hosts)} hosts of peer-{number} were taken over after {after_s} s")
    assert max(after_s) <= GOES_ON_S_MAX
    chaos.mesh.wait_until_met()
