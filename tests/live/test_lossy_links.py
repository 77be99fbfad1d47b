"""A mesh whose links delay and lose what is sent, in a small internet."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.live.chaos import Chaos
from tests.live.mesh_processes import mesh_of
from tests.live.namespaces import has_netem, small_internet
from tests.live.sites import split_sites
from tests.live.truth import Truth
from tests.live.web import served_web

pytestmark = pytest.mark.live


def test_slow_and_lossy_links_cost_no_page_and_no_second_fetch(truth: Truth, tmp_path: Path) -> None:
    with small_internet(3) as internet:
        if not has_netem():
            pytest.skip("the kernel has no netem (CONFIG_NET_SCH_NETEM), by which links lose and delay")
        with (
            served_web(split_sites(), place=internet.web) as web,
            mesh_of(tmp_path / "mesh", web, internet.peers, has_bootstrap=False) as mesh,
        ):
            chaos = Chaos(mesh, truth)
            chaos.found(3)
            for number in (1, 2, 3):
                internet.worsen(number, "delay", "50ms", "25ms", "loss", "3%")
            with chaos.watched():
                chaos.wait_until_whole()
            chaos.assert_all_found()
            chaos.assert_archived()
            chaos.assert_log(web.accesses(), 0.0)
            mesh.assert_logs_are_clean()
