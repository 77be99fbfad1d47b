"""Peers that others do not reach: a wrong address, a firewall, a router that lets nothing in."""

from __future__ import annotations

import pytest

from mesh.actors.actor import Address
from mesh.membership.model.members import State
from mesh.membership.model.messages import DoorKnocked, TryAddresses
from mesh.membership.model.swim_settings import SwimSettings
from mesh.membership.model.wire_messages import JoinMesh
from tests.mesh.membership_world import CONFIG, Machine, World, door_of, record_of

SEEDS = range(4)
NOTICED_S = 8.0  # within which a mesh holds a silent member for dead
AGAIN_S = 4 * SwimSettings().knock_again_s  # within which one who is outside has been let in


def is_live_at(machine: Machine, peer: str) -> bool:
    return peer in machine.membership._members.live()


@pytest.mark.parametrize("seed", SEEDS)
def test_a_stranger_that_nobody_reaches_stays_outside_until_somebody_does(seed: int) -> None:
    world = World(seed)
    members = world.mesh(3, until=8.0)
    world.deaf.add("new")
    stranger = world.add("new", [door_of("boot")])
    for _ in range(200):
        world.run(world.now + 0.1)
        assert not any(is_live_at(machine, "new") for machine in members)
    assert stranger.refusal == ""
    assert "tcp://new:1" in stranger.observe().unreachable["new"]
    assert "tcp://new:1" in world.machines["boot"].observe().unreachable["new"]
    world.deaf.clear()
    world.run_until_all_believe("new", State.ALIVE, within=AGAIN_S)
    world.run(world.now + 1.0)
    assert not stranger.observe().unreachable
    assert not world.machines["boot"].observe().unreachable


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("n", [3, 5, 9])
def test_a_member_that_nobody_reaches_any_more_is_buried_once_and_says_why(n: int, seed: int) -> None:
    world = World(seed)
    world.mesh(n, until=8.0)
    deaf, *others = (world.machines[f"peer{i:02}"] for i in range(n))
    world.deaf.add("peer00")
    world.run(world.now + NOTICED_S)
    for _ in range(600):
        world.run(world.now + 0.1)
        assert not any(is_live_at(machine, "peer00") for machine in others)
    assert deaf.listener.licensed_until < world.now
    assert "tcp://peer00:1" in deaf.observe().unreachable["peer00"]
    world.deaf.clear()
    world.run_until_all_believe("peer00", State.ALIVE, within=AGAIN_S)
    world.run(world.now + 10.0)
    assert deaf.listener.licensed_until > world.now
    assert not deaf.observe().unreachable


@pytest.mark.parametrize("seed", SEEDS)
def test_who_returns_with_an_address_that_leads_nowhere_gets_no_slots(seed: int) -> None:
    world = World(seed)
    world.mesh(4, until=8.0)
    world.crash("peer00")
    world.run(world.now + NOTICED_S)
    moved = world.restart("peer00", endpoint="tcp://elsewhere:1")
    world.deaf.add("peer00")
    others = [world.machines[f"peer{i:02}"] for i in range(1, 4)]
    told: dict[str, str] = {}
    for _ in range(600):
        world.run(world.now + 0.1)
        assert not any(is_live_at(each, "peer00") for each in others)
        told |= {each.membership.me: each.observe().unreachable.get("peer00", "") for each in others}
    assert "tcp://elsewhere:1" in moved.observe().unreachable["peer00"]
    assert all("tcp://elsewhere:1" in why for why in told.values()), "members can tell people, a door cannot"


def test_who_is_live_where_it_says_is_not_called_back() -> None:
    world = World(1)
    world.mesh(2, until=8.0)
    boot = world.machines["boot"].membership
    known = boot._members.get("peer00")
    assert known is not None
    knock = DoorKnocked(9, known.record.curve_key, JoinMesh(known.record, CONFIG.digest(), is_callable=True))
    sends = boot.receive(Address("boot", "door"), knock, world.now)
    assert not [send for send in sends if isinstance(send.message, TryAddresses)]


def test_a_stranger_of_a_version_whose_door_knows_no_call_is_let_in_unseen() -> None:
    world = World(1)
    world.add("boot", weight=0)
    world.run(5.0)
    boot, record = world.machines["boot"].membership, record_of("old")
    boot.receive(
        Address("boot", "door"),
        DoorKnocked(9, record.curve_key, JoinMesh(record, CONFIG.digest())),
        world.now,
    )
    assert "old" in boot._members.live()
