"""Members that live and do not hear each other, though others hear both."""

from __future__ import annotations

import pytest

from mesh.membership.failures.separations import Separations
from mesh.membership.model.members import State
from mesh.membership.model.swim_settings import SwimSettings
from tests.mesh.membership_world import World

PACE = SwimSettings()
GIVEN_UP_S = 30.0  # after which an owner counts pages without a silent standby


def test_member_is_separated_once_others_alone_have_heard_it_for_long_enough() -> None:
    separations = Separations(10.0)
    separations.note_relayed("ben", 100.0)
    separations.note_relayed("ben", 109.9)
    assert separations.members == frozenset()
    separations.note_relayed("ben", 110.0)
    assert separations.members == {"ben"}


def test_own_answer_ends_a_separation_and_begins_the_time_anew() -> None:
    separations = Separations(10.0)
    separations.note_relayed("ben", 100.0)
    separations.note_relayed("ben", 110.0)
    separations.note_own_answer("ben")
    assert separations.members == frozenset()
    separations.note_relayed("ben", 119.0)
    assert separations.members == frozenset()


def test_member_that_has_died_is_not_separated() -> None:
    separations = Separations(10.0)
    for peer in ("ben", "cat"):
        separations.note_relayed(peer, 100.0)
        separations.note_relayed(peer, 110.0)
    separations.keep_only({"cat", "dan"})
    assert separations.members == {"cat"}


@pytest.mark.parametrize("lost", [[("peer00", "peer01"), ("peer01", "peer00")], [("peer00", "peer01")]])
@pytest.mark.parametrize("n", [2, 8])
def test_both_find_out_in_time_that_they_are_separated_and_that_they_are_not(
    n: int, lost: list[tuple[str, str]]
) -> None:
    world = World(1)
    world.mesh(n, until=8.0)
    world.lost = set(lost)
    world.run(world.now + PACE.separated_s)
    assert not any(machine.holder.separated for machine in world.up())
    world.run(world.now + GIVEN_UP_S - PACE.separated_s)
    separated = {name: machine.holder.separated for name, machine in world.machines.items()}
    assert {name: each for name, each in separated.items() if each} == {
        "peer00": {"peer01"},
        "peer01": {"peer00"},
    }
    assert set(world.states_of("peer00").values()) == {State.ALIVE}
    world.lost.clear()
    world.run(world.now + GIVEN_UP_S)
    assert not any(machine.holder.separated for machine in world.up())


@pytest.mark.parametrize("seed", range(3))
def test_slow_and_lossy_members_are_not_separated(seed: int) -> None:
    world = World(seed, loss=0.1, delay_s=(0.05, 0.3))
    world.mesh(6, until=15.0)
    for _ in range(600):
        world.run(world.now + 0.1)
        assert not any(machine.holder.separated for machine in world.up())


def test_member_that_crashes_is_held_for_dead_and_not_for_separated() -> None:
    world = World(1)
    world.mesh(4, until=8.0)
    world.crash("peer01")
    for _ in range(300):
        world.run(world.now + 0.1)
        assert not any(machine.holder.separated for machine in world.up())
    assert set(world.states_of("peer01").values()) == {State.DEAD}
