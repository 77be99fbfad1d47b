"""A certified member invents the texts of its pages: others look at them once more, and find it out."""

from __future__ import annotations

import sys
from itertools import pairwise
from pathlib import Path

import pytest

from mesh.actors.conduct import Offence
from tests.live.access_log import CLOCK_S, Access, by_host
from tests.live.lab_process import wait_for
from tests.live.mesh_processes import Mesh, mesh_of
from tests.live.sites import made_sites
from tests.live.web import served_web

pytestmark = pytest.mark.live

PEERS = 3
LIAR = 3
HONEST = (1, 2)
DELAY_S = 0.2


def test_a_member_that_invents_texts_is_found_out_and_no_host_is_asked_too_soon(tmp_path: Path) -> None:
    settings = {"crawl.audit_rate": 1.0}
    with (
        served_web(made_sites(hosts=24, pages=6, words=80)) as web,
        mesh_of(tmp_path / "mesh", web, PEERS, delay_s=DELAY_S, settings=settings) as mesh,
    ):
        mesh.commands[LIAR] = (sys.executable, "-m", "tests.live.inventing_peer")
        mesh.start(*HONEST, LIAR)
        mesh.wait_until_met()
        mesh.wait_until_balanced()
        mesh.seed()
        wait_for(lambda: any(_has_found(mesh, number) for number in HONEST), "the member found out")
        for number in HONEST:
            blamed = {each["peer"] for each in mesh.row(number, seen_by=number)["misconduct"]}
            assert blamed <= {mesh.peer_id(LIAR)}, "nobody else"
        mesh.wait_until_idle()
        lines = "".join(mesh.log(number) for number in HONEST).splitlines()
        accesses = web.accesses()
    quarantined = [line for line in lines if "member in quarantine" in line]
    assert quarantined
    assert all("http://made-" in line and mesh.peer_id(LIAR) in line for line in quarantined)
    assert any(_is_look(access, accesses) for access in accesses)
    for host, of_host in by_host(accesses).items():
        for before, after in pairwise(sorted(of_host, key=lambda access: access.began_s)):
            assert after.began_s >= before.ended_s + DELAY_S - 2 * CLOCK_S, (host, before, after)


def _is_look(access: Access, accesses: list[Access]) -> bool:
    """Was a page asked for by another peer as well?"""
    return any(each.url == access.url and each.agent != access.agent for each in accesses)


def _has_found(mesh: Mesh, number: int) -> bool:
    told = mesh.row(number, seen_by=number)["misconduct"]
    return any(
        each["peer"] == mesh.peer_id(LIAR)
        and each["is_quarantined"]
        and each["offences"].get(Offence.INVENTED)
        for each in told
    )
