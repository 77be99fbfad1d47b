"""A peer that goes on dialling out, and that others do not reach any more."""

from __future__ import annotations

import shutil
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.live.lab_process import search, wait_for
from tests.live.mesh_processes import Mesh, mesh_of
from tests.live.namespaces import SmallInternet, small_internet
from tests.live.web import served_web

pytestmark = [
    pytest.mark.live,
    pytest.mark.skipif(
        not (shutil.which("nft") or Path("/usr/sbin/nft").exists()), reason="no nft to make a firewall with"
    ),
]

SHUT = 3


@pytest.fixture
def internet() -> Iterator[SmallInternet]:
    with small_internet(3) as internet:
        yield internet


def test_who_lets_nothing_in_gives_way_at_once_says_why_and_returns(
    internet: SmallInternet, tmp_path: Path
) -> None:
    with (
        served_web(place=internet.web) as web,
        mesh_of(tmp_path / "mesh", web, internet.peers, has_bootstrap=False) as mesh,
    ):
        mesh.start(1, 2, SHUT)
        mesh.wait_until_balanced()
        internet.shut(SHUT)
        began_s = time.monotonic()
        wait_for(lambda: _is_down(mesh) and _is_answered(mesh), "its slots to be answered by others")
        print(f"its slots are answered by others after {time.monotonic() - began_s:.1f} s")
        wait_for(lambda: _why(mesh), "the peer to say what is wrong")
        assert internet.peers[SHUT - 1].listen in _why(mesh)
        assert "firewall" in _why(mesh)
        for _ in range(20):
            assert _is_down(mesh)
            time.sleep(0.5)
        internet.open(SHUT)
        wait_for(lambda: not _why(mesh) and not _is_down(mesh), "its return")
        mesh.wait_until_balanced()


def _is_down(mesh: Mesh) -> bool:
    members = {each["id"]: each["state"] for each in mesh.report(1)["members"]}
    return bool(members[mesh.peer_id(SHUT)] == "down")


def _is_answered(mesh: Mesh) -> bool:
    return int(search(mesh.gateway(1), "linux")["coverage"]["missing"]) == 0


def _why(mesh: Mesh) -> str:
    (row,) = [each for each in mesh.report(SHUT)["peers"] if each["id"] == mesh.peer_id(SHUT)]
    return str(dict(row["unreachable"]).get(mesh.peer_id(SHUT), ""))
