"""Everything that can happen to peers, in an order drawn from a seed, while the mesh crawls and answers."""

from __future__ import annotations

import os
import time
from pathlib import Path
from random import Random

import pytest

from tests.live.chaos import Chaos, assert_answers_are_right, script, watched
from tests.live.mesh_processes import mesh_of
from tests.live.searching import failures, misses
from tests.live.truth import Truth
from tests.live.web import SMALL_HOSTS, served_web

pytestmark = [pytest.mark.live, pytest.mark.timed]

SEED = int(os.environ.get("TIANMESH_CHAOS_SEED", "1"))
DELAY_S = 0.4


def test_whatever_happens_no_page_is_lost_and_no_answer_is_wrong(
    packages: Path, small_truth: Truth, tmp_path: Path
) -> None:
    random = Random(SEED)
    with (
        served_web(packages, SMALL_HOSTS, gbk=True, is_split=True) as web,
        mesh_of(tmp_path / "mesh", web, 5, delay_s=DELAY_S, key_seed=SEED) as mesh,
    ):
        chaos = Chaos(mesh, small_truth)
        chaos.say(f"seed {SEED}")
        chaos.found(4)
        with watched(mesh, small_truth) as asked:
            time.sleep(5.0)
            for action in script(chaos, random, newcomer=5):
                action()
                time.sleep(random.uniform(0.0, 4.0))
            chaos.wait_until_whole()
            chaos.lose_disk(random.choice(mesh.running()))
            chaos.wait_until_whole()
            chaos.drain(random.choice(mesh.running()))
        chaos.tell(asked)
        # A peer that was killed or paused may be asked before the test itself knows.
        assert_answers_are_right(asked, failed_max=10)
        assert all(answer.status in (0, 503) for answer in failures(asked.answers))
        assert all(miss.is_over for miss in misses(asked.answers))
        chaos.wait_until_whole()
        chaos.assert_all_found()
        chaos.assert_archived()
        chaos.assert_log(web.accesses(), DELAY_S)
        mesh.assert_logs_are_clean()
