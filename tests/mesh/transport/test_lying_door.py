"""A door that lies keeps all other members from whoever comes in by it: what a second one does about that."""

from __future__ import annotations

from typing import Final

import pytest
from msgspec.structs import replace

from mesh.actors.actor import Address, Message
from mesh.membership.anti_entropy import DOUBTS_S
from mesh.membership.model.swim_settings import SwimSettings
from mesh.membership.model.wire_messages import JoinRefused, Ping, PingAnswered, Welcomed
from tests.mesh.membership_world import Machine, World, door_of

LIAR: Final = "liar"
NEWCOMER: Final = "newcomer"
BEFORE_S: Final = 15.0  # until the mesh of honest members is settled
SOON_S: Final = 20.0  # some times `reconnect_interval_s`
SEEDS = range(3)


class WorldWithLiar(World):
    """One member lets a newcomer in as if both were alone, and tells nobody of it."""

    def _answer(self, opener: Machine, stranger: Machine, answer: Welcomed | JoinRefused) -> None:
        if opener.node.peer == LIAR and isinstance(answer, Welcomed):
            alone = tuple(each for each in answer.members if each.record.peer in (LIAR, NEWCOMER))
            answer = Welcomed(alone, has_caught_up=True, newcomers=(NEWCOMER,))
        super()._answer(opener, stranger, answer)

    def _transmit(self, machine: Machine, source: Address, target: Address, message: Message) -> None:
        if machine.node.peer != LIAR:
            super()._transmit(machine, source, target, message)
        elif isinstance(message, Ping | PingAnswered):
            # Whatever the other knows, the liar says that it knows the same.
            super()._transmit(machine, source, target, replace(message, gossip=(), known=b""))


def join(seed: int, *doors: str) -> tuple[WorldWithLiar, Machine]:
    """Have a newcomer come in by these doors to a mesh of five and a liar."""
    world = WorldWithLiar(seed)
    world.mesh(4, until=BEFORE_S / 2)
    world.add(LIAR, [door_of("boot")])
    world.run(BEFORE_S)
    newcomer = world.add(NEWCOMER, [door_of(door) for door in doors])
    return world, newcomer


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("doors", [(LIAR, "boot"), (LIAR, "nobody", "peer01")])
def test_a_newcomer_with_a_second_door_finds_all_members(doors: tuple[str, ...], seed: int) -> None:
    world, newcomer = join(seed, *doors)
    world.run(BEFORE_S + SOON_S)
    assert newcomer.observe().alive == 7
    assert set(world.states_of(NEWCOMER)) == {"boot", "peer00", "peer01", "peer02", "peer03", LIAR}
    assert newcomer.observe().epoch in {world.machines["peer00"].observe().epoch}


def test_a_newcomer_whose_only_door_lies_is_in_a_mesh_of_two_and_the_others_do_not_know_it() -> None:
    """The limit of the lie: no honest member tells it anything, takes anything of it or misses anything."""
    world, newcomer = join(1, LIAR)
    before = {peer: machine.observe().epoch for peer, machine in world.machines.items()}
    world.run(BEFORE_S + 60.0)
    assert newcomer.observe().alive == 2
    assert set(world.states_of(NEWCOMER)) == {LIAR}
    for peer in ("boot", "peer00", "peer01", "peer02", "peer03"):
        assert world.machines[peer].observe().epoch == before[peer]
        assert world.machines[peer].observe().strangers_refused == 0


@pytest.mark.parametrize("seed", SEEDS)
def test_a_newcomer_that_hears_behind_two_doors_knocks_at_no_other(seed: int) -> None:
    world = World(seed)
    world.mesh(4, until=BEFORE_S)
    admitted = sum(machine.observe().joins_admitted for machine in world.up())
    world.add(NEWCOMER, [door_of(door) for door in ("boot", "peer00", "peer01")])
    world.run(BEFORE_S + SOON_S)
    assert sum(machine.observe().joins_admitted for machine in world.up()) == admitted + 1


def test_a_newcomer_whose_other_doors_are_gone_knocks_in_vain_for_a_minute() -> None:
    world = World(1)
    world.mesh(2, until=BEFORE_S)
    newcomer = world.add(NEWCOMER, [door_of("boot"), door_of("gone"), door_of("gone too")])
    world.run(BEFORE_S + DOUBTS_S + SOON_S)
    assert newcomer.observe().alive == 4
    assert newcomer.membership._sync._doors._n_unheard == DOUBTS_S // SwimSettings().reconnect_interval_s
