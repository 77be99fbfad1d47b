"""Who was away answers nobody before it has heard what was decreed; who is alone waits for nobody."""

from __future__ import annotations

import pytest

from mesh.actors.actor import Address
from mesh.keys.decree import DECREE_BYTES_MAX, POLICY, Decree, Signer
from mesh.membership.catch_up import AWAITED_MAX
from mesh.membership.model.messages import PublishDecree
from mesh.membership.model.swim_settings import SwimSettings
from mesh.membership.model.wire_messages import MembersTold
from tests.mesh.membership_world import CONFIG, ROOT, Machine, World, door_of

SEEDS = range(5)
BY_ROOT = Signer(ROOT, CONFIG.digest())
CATCH_UP_S = SwimSettings().catch_up_s


def policy(number: int, n_bytes: int = 1_000, effective_from: float = 0.0) -> Decree:
    return BY_ROOT.decree(POLICY, "", number, bytes(n_bytes), effective_from=effective_from)


def run_until_it_answers(world: World, machine: Machine, within: float) -> float:
    """Run until its actors hear who owns what; return how long that took."""
    began = world.now
    while machine.ownership is None:
        assert world.now < began + within
        world.run(world.now + 0.001)
    return world.now - began


@pytest.mark.parametrize("seed", SEEDS)
def test_who_finds_all_doors_shut_asks_those_it_knew_before_it_answers(seed: int) -> None:
    world = World(seed)
    world.mesh(4, until=10.0)
    world.crash("peer02")
    world.say("peer00", PublishDecree(1, policy(1)))
    world.run(20.0)
    world.crash("boot")
    run_until_it_answers(world, world.restart("peer02"), 4.0)
    assert world.machines["peer02"].listener.policy == (policy(1),)


@pytest.mark.parametrize("seed", SEEDS)
def test_founder_that_was_away_asks_those_it_knew_before_it_answers(seed: int) -> None:
    world = World(seed)
    world.mesh(4, until=10.0)
    world.crash("boot")
    world.run(12.0)
    world.say("peer00", PublishDecree(1, policy(1)))
    world.run(20.0)
    run_until_it_answers(world, world.restart("boot"), 2.0)
    assert world.machines["boot"].listener.policy == (policy(1),)


@pytest.mark.parametrize("seed", SEEDS)
def test_door_that_was_away_itself_is_not_enough(seed: int) -> None:
    world = World(seed)
    world.mesh(4, until=10.0)
    world.crash("boot")
    world.crash("peer02")
    world.say("peer00", PublishDecree(1, policy(1)))
    world.run(20.0)
    world.partition(["boot", "peer02"], ["peer00", "peer01", "peer03"])
    world.restart("boot")
    machine = world.restart("peer02")
    while not machine.observe().is_member:
        world.run(world.now + 0.001)
    assert machine.ownership is None
    world.heal()
    run_until_it_answers(world, machine, 2.0)
    assert machine.listener.policy == (policy(1),)


def test_what_is_in_force_is_told_at_the_door_however_much_is_to_come() -> None:
    world = World(1)
    world.mesh(3, until=10.0)
    ruling = policy(1, DECREE_BYTES_MAX)
    world.say("peer00", PublishDecree(1, ruling))
    for number in range(2, 9):
        world.say("peer00", PublishDecree(1, policy(number, DECREE_BYTES_MAX - 100, effective_from=1e9)))
    world.run(20.0)
    newcomer = world.add("late", [door_of("boot")])
    run_until_it_answers(world, newcomer, 1.0)
    assert newcomer.listener.policy == (ruling,)


def test_who_is_alone_answers_at_once_also_after_a_restart() -> None:
    world = World(1)
    assert run_until_it_answers(world, world.add("alone"), 1.0) < 0.01
    world.say("alone", PublishDecree(1, policy(1)))
    world.crash("alone")
    assert run_until_it_answers(world, world.restart("alone"), 1.0) < 0.01
    assert world.machines["alone"].listener.policy == (policy(1),)


def test_peers_of_a_mesh_that_starts_answer_when_they_are_members() -> None:
    world = World(1)
    world.add("boot", weight=0)
    peers = [world.add(f"peer{i:02}", [door_of("boot")]) for i in range(5)]
    for machine in peers:
        while not machine.observe().is_member:
            world.run(world.now + 0.001)
        assert machine.ownership is not None


@pytest.mark.parametrize("seed", SEEDS)
def test_mesh_that_was_all_down_answers_when_all_have_told_or_most(seed: int) -> None:
    world = World(seed)
    world.mesh(4, until=10.0)
    for peer in list(world.machines):
        world.crash(peer)
    names = [name for name in world.machines if name != "peer03"]
    machines = [world.restart(peer) for peer in names]
    assert max(run_until_it_answers(world, machine, 3.0) for machine in machines) < 2.0
    assert all(machine.ownership is not None for machine in machines)


@pytest.mark.parametrize("seed", SEEDS)
def test_of_a_mesh_that_was_all_down_the_one_that_knows_more_is_heard_first(seed: int) -> None:
    world = World(seed)
    world.mesh(3, until=10.0)
    for peer in ("boot", "peer01", "peer02"):
        world.crash(peer)
    world.say("peer00", PublishDecree(1, policy(1)))
    world.crash("peer00")
    machines = [world.restart(peer) for peer in list(world.machines)]
    for machine in machines:
        run_until_it_answers(world, machine, 3.0)
        assert machine.listener.policy == (policy(1),)


def test_who_hears_nobody_answers_after_a_while_by_what_it_knows() -> None:
    world = World(1)
    world.mesh(3, until=10.0)
    world.say("peer00", PublishDecree(1, policy(1)))
    world.run(12.0)
    for peer in list(world.machines):
        world.crash(peer)
    machine = world.restart("boot")
    assert CATCH_UP_S - 0.1 < run_until_it_answers(world, machine, 10.0) < CATCH_UP_S + 0.1
    assert machine.listener.policy == (policy(1),)


def test_member_that_names_what_nobody_has_holds_nobody_up_for_long() -> None:
    world = World(1)
    world.mesh(3, until=10.0)
    world.crash("boot")
    world.run(12.0)
    world.partition(["boot"], ["peer00", "peer01", "peer02"])
    machine = world.restart("boot")
    world.run(world.now + 0.5)
    forged = tuple(policy(number).name for number in range(1, 4 * AWAITED_MAX))
    liar = Address("peer01", "membership")
    machine.membership.receive(liar, MembersTold((), forged, has_caught_up=True), world.now)
    assert len(machine.membership._catch_up._awaited) == AWAITED_MAX
    assert run_until_it_answers(world, machine, CATCH_UP_S) > 4.0
