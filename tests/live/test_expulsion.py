"""One of five peers is expelled while another is away: nothing is lost, and nobody takes it for a member."""

from __future__ import annotations

import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import pytest

from tests.live.chaos import Chaos
from tests.live.lab_process import tianmesh, wait_for
from tests.live.mesh_processes import Mesh, mesh_of
from tests.live.truth import Truth
from tests.live.web import SMALL_HOSTS, served_web

pytestmark = pytest.mark.live

EXPELLED_S_MAX: Final = 60.0
PEERS: Final = range(1, 6)


def test_an_expelled_peer_is_gone_everywhere_and_who_was_away_never_takes_it_for_a_member(
    packages: Path, small_truth: Truth, tmp_path: Path
) -> None:
    with (
        served_web(packages, SMALL_HOSTS, gbk=True, is_split=True) as web,
        mesh_of(tmp_path / "mesh", web, len(PEERS), delay_s=0.0) as mesh,
    ):
        chaos = Chaos(mesh, small_truth)
        chaos.found(len(PEERS))
        chaos.wait_until_whole()
        expelled, away = mesh.team_of(small_truth.known[0].host)
        assert mesh.stop(away) == 0
        chaos.wait_until_whole()  # without that one, too

        began = time.monotonic()
        _expel(mesh, expelled)
        wait_for(lambda: not mesh.is_running(expelled), "end of the expelled peer", EXPELLED_S_MAX)
        chaos.say(f"the expelled peer has ended after {time.monotonic() - began:.1f} s")
        assert "was expelled from the mesh" in mesh.log(expelled)
        mesh.wait_until_balanced(EXPELLED_S_MAX)
        for number in mesh.running():
            assert _takes_part_without(mesh, number, expelled)
        took_s = time.monotonic() - began
        chaos.say(f"its slots are answered by others after {took_s:.1f} s")
        assert took_s < EXPELLED_S_MAX
        chaos.wait_until_whole()
        chaos.assert_all_found()

        mesh.start(away)
        wait_for(lambda: _takes_part_without(mesh, away, expelled), "the peer that was away")
        mesh.wait_until_balanced()
        chaos.wait_until_whole()
        for number in mesh.running():
            assert _takes_part_without(mesh, number, expelled)
        chaos.assert_all_found()
        _assert_nobody_else_said_anything(mesh, expelled)


def _expel(mesh: Mesh, number: int) -> None:
    options = ["--gateway", mesh.gateways()[0], "--data", str(mesh.folder)]
    done = tianmesh("expel", mesh.peer_id(number), "--reason", "it lies", *options)
    assert done.returncode == 0, done.stderr


def _takes_part_without(mesh: Mesh, number: int, expelled: int) -> bool:
    """Has it a slot table? Once it has, it counts those that run and the bootstrap node, and no more."""
    report = mesh.report(number)
    own = _row(report, mesh.peer_id(number))
    if not own.get("epoch"):
        return False
    assert own["members"] <= len(mesh.running()) + 1, own
    assert not _row(report, mesh.peer_id(expelled))
    return True


def _row(report: Mapping[str, Any], peer: str) -> dict[str, Any]:
    return next((row for row in report["peers"] if row["id"] == peer), {})


def _assert_nobody_else_said_anything(mesh: Mesh, expelled: int) -> None:
    for number in PEERS:
        errors = [line for line in mesh.log(number).splitlines() if " ERROR " in line or "Traceback" in line]
        assert number == expelled or not errors, f"{number}: {errors}"
