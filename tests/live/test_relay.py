"""Two peers behind firewalls that let nothing in are full members over the relay of a bootstrap node."""

from __future__ import annotations

import shutil
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from bootstrap.provision import ports_from
from tests.live.lab_process import search, wait_for
from tests.live.mesh_processes import PORT, Mesh, mesh_of
from tests.live.namespaces import SmallInternet, small_internet
from tests.live.sites import split_sites
from tests.live.web import served_web

pytestmark = [
    pytest.mark.live,
    pytest.mark.skipif(
        not (shutil.which("nft") or Path("/usr/sbin/nft").exists()), reason="no nft to make a firewall with"
    ),
]

NEAR = (1, 2)
HIDDEN = (3, 4)
RELAY = 5  # the place of the bootstrap node
LENT = "9400-9405"


@pytest.fixture
def internet() -> Iterator[SmallInternet]:
    with small_internet(5) as internet:
        yield internet


def test_who_can_only_dial_out_is_a_full_member_over_a_relay_that_is_killed_and_back(
    internet: SmallInternet, tmp_path: Path
) -> None:
    place = internet.peers[RELAY - 1]
    relay = {
        "member.listen": place.listen,
        "member.relay_ports": LENT,
        **ports_from(PORT),
    }
    with (
        served_web(split_sites(), place=internet.web) as web,
        mesh_of(
            tmp_path / "mesh", web, internet.peers[:4], bootstrap=place, bootstrap_settings=relay
        ) as mesh,
    ):
        for number in HIDDEN:
            internet.hide(number)
        mesh.start(*NEAR)
        mesh.wait_until_balanced()
        began_s = time.monotonic()
        mesh.start(*HIDDEN)
        for number in HIDDEN:
            wait_for(partial(_relay_of, mesh, number), f"a relay of {number}")
        print(f"two members over a relay after {time.monotonic() - began_s:.1f} s, their starts included")
        mesh.wait_until_met()
        mesh.wait_until_balanced()
        mesh.seed()
        wait_for(lambda: all(mesh.row(number)["pages_stored"] for number in HIDDEN), "pages of both")
        _assert_full_members(mesh)
        ports = [_endpoint_of(mesh, number) for number in HIDDEN]
        assert all(each.startswith(f"tcp://{place.listen}:94") for each in ports)

        mesh.kill(0)
        wait_for(lambda: not any(_is_alive(mesh, number) for number in HIDDEN), "both to be missed")
        mesh.start(0)
        began_s = time.monotonic()
        for number in HIDDEN:
            wait_for(partial(_relay_of, mesh, number), f"the relay of {number}")
            wait_for(partial(_is_alive, mesh, number), f"{number} as a member")
        mesh.wait_until_met()
        print(f"all members again {time.monotonic() - began_s:.1f} s after the relay is back")
        assert [_endpoint_of(mesh, number) for number in HIDDEN] == ports
        mesh.wait_until_balanced()
        _assert_full_members(mesh)
        mesh.assert_logs_are_clean()
    for number in HIDDEN:
        assert "over the relay at this door: member.relay" in mesh.log(number)
        assert "reached over a relay at=" in mesh.log(number)


def _assert_full_members(mesh: Mesh) -> None:
    """They have slots, crawl, answer, and see each other."""
    for number in HIDDEN:
        row = mesh.row(number)
        assert row["relay"] == mesh.described[0]["id"]
        assert row["slots"]["owned"] > 0
        assert row["slots"]["answered"] == row["slots"]["owned"]
        assert row["pages_stored"] > 0
        assert not row["unreachable"]
    here, there = HIDDEN
    # A crawl that has just begun, or a member that has just come back, has copies made for a moment.
    wait_for(lambda: mesh.row(there, seen_by=here)["state"] == "steady", f"{there} to be steady")
    for number in (*NEAR, *HIDDEN):
        wait_for(partial(_answers, mesh, number), f"an answer of {number} for all slots")


def _answers(mesh: Mesh, number: int) -> bool:
    """Does a search there speak for every slot, and find something?"""
    found = search(mesh.gateway(number), "linux")
    return bool(found["hits"]) and not found["coverage"]["missing"]


def _relay_of(mesh: Mesh, number: int) -> str:
    """As another peer is told."""
    return str(mesh.row(number, seen_by=1).get("relay", ""))


def _is_alive(mesh: Mesh, number: int) -> bool:
    return _member(mesh, number)["state"] == "alive"


def _endpoint_of(mesh: Mesh, number: int) -> str:
    return _member(mesh, number)["endpoint"]


def _member(mesh: Mesh, number: int) -> dict[str, str]:
    """What peer-1 believes of another."""
    members: dict[str, dict[str, str]] = {each["id"]: each for each in mesh.report(1)["members"]}
    return members.get(mesh.peer_id(number), {"state": "", "endpoint": ""})
