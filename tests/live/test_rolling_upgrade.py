"""A mesh of the version of the protocol before this one is upgraded, peer by peer, while it works."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Final
from urllib.request import Request, urlopen

import pytest

from mesh.admin_token import token_in
from tests.live.chaos import Chaos, assert_answers_are_right, assert_short_misses, watched
from tests.live.lab_process import wait_for
from tests.live.mesh_processes import Mesh, mesh_of
from tests.live.truth import Truth
from tests.live.web import SMALL_HOSTS, served_web

pytestmark = [pytest.mark.live, pytest.mark.timed]

PEERS: Final = 3
DELAY_S: Final = 0.35
BEFORE: Final = (sys.executable, "-m", "tests.live.version_before")


def behind_of(mesh: Mesh, number: int) -> int:
    """How many members a peer knows to speak the version before only."""
    request = Request(f"{mesh.gateway(number)}/metrics")
    request.add_header("Authorization", f"Bearer {token_in(mesh.folder)}")
    with urlopen(request, timeout=100.0) as answer:
        body = answer.read().decode()
    found = re.search(r"^tianmesh_runtime_behind (\d+)$", body, re.MULTILINE)
    assert found is not None, body
    return int(found[1])


def wait_until_behind(mesh: Mesh, number: int, count: int) -> None:
    wait_for(lambda: behind_of(mesh, number) == count, f"{count} peers behind peer-{number}")


def test_a_crawling_mesh_is_upgraded_peer_by_peer_and_nothing_is_lost(
    packages: Path, small_truth: Truth, tmp_path: Path
) -> None:
    with (
        served_web(packages, SMALL_HOSTS, gbk=True, is_split=True) as web,
        mesh_of(tmp_path / "mesh", web, PEERS, delay_s=DELAY_S) as mesh,
    ):
        # The bootstrap node, which nobody needs for crawling and answering, is of this version already.
        mesh.commands = dict.fromkeys(range(1, PEERS + 1), BEFORE)
        chaos = Chaos(mesh, small_truth)
        chaos.found(PEERS)
        mesh.wait_until(lambda report: report["total"]["pages_stored"] > 60, "60 pages")
        with watched(mesh, small_truth) as asked:
            assert chaos.unfinished(web.accesses()), "the crawl is too short for this test"
            for number in range(1, PEERS + 1):
                del mesh.commands[number]
                chaos.restart(number)
                mesh.wait_until_balanced()
                wait_until_behind(mesh, number, PEERS - number)
            mesh.wait_until_idle()
        chaos.tell(asked)
        assert_answers_are_right(asked)
        assert_short_misses(asked)

        chaos.wait_until_whole()
        chaos.assert_log(web.accesses(), DELAY_S)
        chaos.assert_all_found()
        chaos.assert_archived()
        assert [behind_of(mesh, number) for number in mesh.running()] == [0] * PEERS
        for number in range(PEERS + 1):
            assert "protocol version" not in mesh.log(number), mesh.log(number)
        mesh.assert_logs_are_clean()
