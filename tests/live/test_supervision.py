"""`tianmesh up` starts a peer again that was killed, and tells of it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.live.lab_process import kill, up

pytestmark = pytest.mark.live

PEERS = 2


def test_a_peer_that_was_killed_is_there_again(tmp_path: Path) -> None:
    with up(tmp_path, None, "--peers", str(PEERS), "--restart") as lab:
        first = _pids(lab.status())
        assert len(first) == PEERS
        victim = min(first)
        kill(first[victim])

        def is_back(report: dict[str, Any]) -> bool:
            pids = _pids(report)
            return len(pids) == PEERS and pids[victim] != first[victim] and _all_alive(report)

        lab.wait_until(is_back)
        assert lab.interrupt() == 0
        said = " ".join(lab.messages.split())
        assert "was killed by signal 9" in said
        assert "it is started again in 1 s" in said
        assert "is there again" in said
        assert "Traceback" not in said


def _pids(report: dict[str, Any]) -> dict[str, int]:
    return {peer["id"]: peer["pid"] for peer in report["peers"]}


def _all_alive(report: dict[str, Any]) -> bool:
    return all(member["state"] == "alive" for member in report["members"])
