"""Real members on loopback: one whose addresses lead nowhere is one over the relay of a bootstrap node."""

from __future__ import annotations

import logging
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import pytest
import trio

from bootstrap.provision import MeshFolder, create_mesh, write_bootstrap
from bootstrap.rendezvous import run_bootstrap
from mesh.membership.membership import MembershipStatistics
from mesh.process.member import Member
from mesh.reach import Reach
from tests.mesh.process.test_member import bootstrapped, running, until
from tests.mesh.transport.test_reachability import ELSEWHERE
from tests.mesh.transport.test_relay import free_ports


@pytest.fixture
def mesh(tmp_path: Path) -> MeshFolder:
    return create_mesh(tmp_path / "mesh", "test", replicas=2)


def seen_by(member: Member) -> MembershipStatistics:
    assert member.runtime is not None
    seen = member.runtime.observe()["membership"]
    assert isinstance(seen, MembershipStatistics)
    return seen


def ports_text(ports: range) -> str:
    return f"{ports.start}-{ports.stop - 1}"


async def test_two_whose_addresses_lead_nowhere_are_members_over_a_relay(
    mesh: MeshFolder, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING)
    ports = free_ports(6)
    async with AsyncExitStack() as stack:
        door = await stack.enter_async_context(bootstrapped(mesh, relay_ports=ports_text(ports)))
        near, hears_near, _ = await stack.enter_async_context(running(mesh, 1, door))
        far, hears_far, _ = await stack.enter_async_context(running(mesh, 2, door, announce=ELSEWHERE))
        other, hears_other, _ = await stack.enter_async_context(
            running(mesh, 3, door, announce=ELSEWHERE, relay=Reach.ALWAYS)
        )
        everybody = {door["id"], near.peer_id, far.peer_id, other.peer_id}
        await until(lambda: hears_near.alive == hears_far.alive == hears_other.alive == everybody)
        await until(lambda: all(seen_by(each).licence_until > 0.0 for each in (near, far, other)))
        assert seen_by(far).relay == seen_by(other).relay == door["id"]
        assert seen_by(near).relay == ""
        assert not seen_by(far).unreachable
        assert far.borrower.observe().is_relayed
        assert far.borrower.observe().streams >= 6  # two of each other member
        assert near.borrower.observe().streams_opened == 0
    told = [each.getMessage() for each in caplog.records]
    assert any("or have it reached over the relay at this door" in each for each in told)
    assert any(each.startswith(f"reached over a relay at={door['door']}") for each in told)


class Node:
    """The bootstrap node of a mesh, which starts and stops while others run."""

    def __init__(self, mesh: MeshFolder, nursery: trio.Nursery) -> None:
        self._config = mesh.folder / "bootstrap" / "config.toml"
        self._nursery = nursery
        self._stop, self._has_ended = trio.Event(), trio.Event()

    async def start(self) -> dict[str, Any]:
        self._stop, self._has_ended = trio.Event(), trio.Event()
        told: list[dict[str, Any]] = []
        self._nursery.start_soon(self._run, told)
        await until(lambda: bool(told))
        return told[0]

    async def stop(self) -> None:
        self._stop.set()
        await self._has_ended.wait()

    async def _run(self, told: list[dict[str, Any]]) -> None:
        await run_bootstrap(self._config, self._stop, told.append)
        self._has_ended.set()


async def test_when_the_relay_starts_again_who_was_behind_it_is_there_again(
    mesh: MeshFolder, nursery: trio.Nursery
) -> None:
    free = free_ports(7)
    ports = {"member.relay_ports": ports_text(free[:6]), "member.door_port": free[6]}
    write_bootstrap(mesh, ports)
    node = Node(mesh, nursery)
    door = await node.start()
    async with running(mesh, 1, door) as (near, hears_near, _):
        async with running(mesh, 2, door, announce=ELSEWHERE, relay=Reach.ALWAYS) as (far, _, _):
            await until(lambda: far.peer_id in hears_near.alive)
            await node.stop()
            await until(lambda: seen_by(far).relay == "")
            await until(lambda: "it asks for a relay" in seen_by(far).unreachable.get(far.peer_id, ""))
            await node.start()
            await until(lambda: seen_by(near).alive == 3)
            await until(lambda: seen_by(far).relay == door["id"] and not seen_by(far).unreachable)
    await node.stop()


async def test_when_all_ports_are_lent_the_next_one_is_told(
    mesh: MeshFolder, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING)
    async with AsyncExitStack() as stack:
        door = await stack.enter_async_context(bootstrapped(mesh, relay_ports=ports_text(free_ports(3))))
        one, hears_one, _ = await stack.enter_async_context(running(mesh, 1, door, relay=Reach.ALWAYS))
        await until(lambda: one.peer_id in hears_one.alive)
        two, _, _ = await stack.enter_async_context(running(mesh, 2, door, relay=Reach.ALWAYS))
        await until(lambda: bool(seen_by(two).unreachable))
        assert "has lent all its ports" in seen_by(two).unreachable[two.peer_id]
        assert two.peer_id not in hears_one.alive
