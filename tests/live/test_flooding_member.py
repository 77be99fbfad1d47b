"""A member floods the others with messages without content: it is throttled, and everybody else is heard."""

from __future__ import annotations

import sys
import urllib.request
from pathlib import Path
from typing import Any

import pytest

from mesh.actors.conduct import Offence
from tests.live.flooding_peer import FRAMES, SIGN
from tests.live.lab_process import wait_for
from tests.live.mesh_processes import Mesh, mesh_of
from tests.live.strict_peer import MESSAGES_A_MINUTE
from tests.live.web import ServedWeb

pytestmark = pytest.mark.live

HONEST = (1, 2)
FLOODER = 3


def test_who_floods_is_throttled_and_an_honest_member_and_the_gateway_are_heard(tmp_path: Path) -> None:
    (tmp_path / "resolver.json").write_text("{}")
    web = ServedWeb(tmp_path, [], {"one.test": "127.0.0.1"})
    with mesh_of(tmp_path / "mesh", web, 3) as mesh:
        mesh.commands.update(dict.fromkeys(HONEST, (sys.executable, "-m", "tests.live.strict_peer")))
        mesh.commands[FLOODER] = (sys.executable, "-m", "tests.live.flooding_peer")
        mesh.start(*HONEST, FLOODER)
        mesh.wait_until_met()
        mesh.wait_until_balanced()
        (mesh.folder / f"peer-{FLOODER}" / SIGN).touch()
        n_healthy = 0

        def all_have_it_in_quarantine() -> bool:
            nonlocal n_healthy
            for number in HONEST:
                with urllib.request.urlopen(f"{mesh.gateway(number)}/healthz") as answer:
                    n_healthy += answer.status == 200
                assert mesh.row(sum(HONEST) - number, seen_by=number), "what an honest member says is heard"
            return all(_of(mesh, number).get("is_quarantined", False) for number in HONEST)

        wait_for(all_have_it_in_quarantine, "the flooder in quarantine")
        assert n_healthy >= len(HONEST)
        for number in HONEST:
            dropped = _of(mesh, number)["offences"][Offence.OVER_QUOTA]
            assert 0 < dropped <= FRAMES + MESSAGES_A_MINUTE
            misconduct = mesh.row(number, seen_by=number)["misconduct"]
            assert [each["peer"] for each in misconduct] == [mesh.peer_id(FLOODER)], "nobody else"
        mesh.assert_logs_are_clean()


def _of(mesh: Mesh, number: int) -> dict[str, Any]:
    """The offences of the flooder that a member tells of; {} when it tells of none."""
    told = mesh.row(number, seen_by=number)["misconduct"]
    return next((each for each in told if each["peer"] == mesh.peer_id(FLOODER)), {})
