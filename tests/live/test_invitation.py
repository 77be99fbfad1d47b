"""Two more machines join a running mesh by the same token; a third finds that it is used up."""

from __future__ import annotations

import json
import urllib.request
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from bootstrap.provision import create_mesh, write_bootstrap, write_peer
from mesh.client.admin_token import tokens_for
from mesh.client.gateway_client import GatewayClient, GatewayError
from mesh.config import DoorConfig
from tests.live.lab_process import node, tianmesh, wait_for

pytestmark = pytest.mark.live


def test_two_machines_join_by_a_token_and_the_third_is_told_that_it_is_used_up(tmp_path: Path) -> None:
    founder = tmp_path / "mesh"
    mesh = create_mesh(founder, "test", 2)
    write_bootstrap(mesh)
    with ExitStack() as nodes:
        door = nodes.enter_context(node("bootstrap", founder / "bootstrap" / "config.toml"))
        named = DoorConfig(endpoint=door["door"], key=door["key"])
        write_peer(mesh, 1, {"member.doors": (named,), "gateway.listen": "127.0.0.1:0"})
        first = nodes.enter_context(node("peer", founder / "peer-1" / "config.toml"))
        closed = f"tcp://127.0.0.1:9={door['key']}"  # the first door of a token may be shut
        doors = ("--door", closed, "--door", f"{door['door']}={door['key']}")
        invited = tianmesh("invite", "--data", founder, "--uses", "2", *doors)
        assert invited.returncode == 0, invited.stderr
        [token] = invited.stdout.split()
        ids = {first["id"]}
        for name in ("b", "c"):
            joined = tianmesh("join", "--folder", tmp_path / name, given=token)
            assert joined.returncode == 0, joined.stderr
            ids.add(nodes.enter_context(node("peer", tmp_path / name))["id"])
            wait_for(lambda: are_steady(first["gateway"], founder, ids), f"{name} as a member")
        refused = tianmesh("join", "-", "--folder", tmp_path / "d", given=token)
        assert "the invitation has been used by 2 machines" in refused.stderr
        invited = tianmesh("invite", "--data", founder, "--weight-max", "0", *doors)
        (tmp_path / "token").write_text(invited.stdout)
        joined = tianmesh("join", f"@{tmp_path / 'token'}", "--folder", tmp_path / "e")
        assert joined.returncode == 0, joined.stderr
        asked = nodes.enter_context(node("peer", tmp_path / "e"))
        wait_for(lambda: answers_for_all(asked["gateway"]), "a machine that only answers")
        report = status_of(first["gateway"], founder)
        [row] = [row for row in report["peers"] if row["id"] == asked["id"]]
        assert (row["slots"]["owned"], row["slots"]["kept"], row["slots"]["answered"]) == (0, 0, 0)


def are_steady(gateway: str, founder: Path, ids: set[str]) -> bool:
    """Are these the members, and is every slot answered?"""
    rows = status_of(gateway, founder).get("peers", [])
    answered = sum(row["slots"]["answered"] for row in rows)
    return {row["id"] for row in rows} == ids and answered == 50_000


def status_of(gateway: str, founder: Path) -> dict[str, Any]:
    with GatewayClient(gateway, tokens_for(founder)) as client:
        try:
            report: dict[str, Any] = client.status()
        except GatewayError:
            return {}
    return report


def answers_for_all(gateway: str) -> bool:
    """Does a search through it speak for the whole mesh?"""
    with urllib.request.urlopen(f"{gateway}/api/search?q=linux") as answer:
        return bool(json.load(answer)["coverage"]["missing"] == 0)
