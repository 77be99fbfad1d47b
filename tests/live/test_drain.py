"""Peers that go on purpose: one is drained and ends for good, the others are restarted in turn."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.live.chaos import Chaos, assert_answers_are_right, assert_short_misses, watched
from tests.live.mesh_processes import mesh_of
from tests.live.truth import Truth
from tests.live.web import SMALL_HOSTS, served_web

pytestmark = [pytest.mark.live, pytest.mark.timed]

DELAY_S = 0.2


def test_drained_and_restarted_peers_cost_no_page_and_no_second_fetch(
    packages: Path, small_truth: Truth, tmp_path: Path
) -> None:
    with (
        served_web(packages, SMALL_HOSTS, gbk=True, is_split=True) as web,
        mesh_of(tmp_path / "mesh", web, 4, delay_s=DELAY_S) as mesh,
    ):
        chaos = Chaos(mesh, small_truth)
        chaos.found(4)
        mesh.wait_until(lambda report: report["total"]["pages_stored"] > 50, "50 pages")
        with watched(mesh, small_truth) as asked:
            chaos.drain(4)
        chaos.tell(asked)
        assert_answers_are_right(asked)
        assert_short_misses(asked)
        with watched(mesh, small_truth) as asked:
            for number in (1, 2):
                chaos.restart(number)
                mesh.wait_until_balanced()
        chaos.tell(asked)
        assert_answers_are_right(asked)
        assert_short_misses(asked)
        chaos.wait_until_whole()
        chaos.assert_all_found()
        chaos.assert_archived()
        assert not chaos.excuses
        chaos.assert_log(web.accesses(), DELAY_S)
        mesh.assert_logs_are_clean()
