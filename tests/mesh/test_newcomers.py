"""Newcomers and majorities: of two sides that know different members, one crawls."""

from __future__ import annotations

from itertools import pairwise
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mesh.actors.actor import Address
from mesh.membership.model.licence import has_majority
from mesh.membership.model.swim_settings import SwimSettings
from mesh.membership.model.wire_messages import MembersWanted, Ping
from tests.mesh.membership_world import World, door_of

LICENCE_S = SwimSettings().licence_s
SETS = st.frozensets(st.sampled_from("abcdefg"))


def licensed(world: World) -> set[str]:
    told = {peer: machine.listener for peer, machine in world.machines.items() if machine.listener.licences}
    return {peer for peer, listener in told.items() if listener.licensed_until > world.now}


def newcomers_by_peer(world: World) -> dict[str, frozenset[str]]:
    return {machine.node.peer: machine.membership._members.newcomers for machine in world.up()}


def run_until_all_are_settled(world: World, *, within: float) -> float:
    started = world.now
    while any(newcomers_by_peer(world).values()):
        assert world.now < started + within, newcomers_by_peer(world)
        world.run(world.now + 0.1)
    return world.now - started


def two_by_two() -> World:
    """A mesh of four with "boot" as the smallest id."""
    world = World(1)
    world.mesh(3, until=8.0)
    assert not any(newcomers_by_peer(world).values())
    return world


@given(SETS, SETS, SETS, SETS, SETS)
def test_two_majorities_that_may_mean_the_same_members_have_one_in_common(
    common: frozenset[str],
    one: frozenset[str],
    other: frozenset[str],
    here: frozenset[str],
    there: frozenset[str],
) -> None:
    fewer, more = common | one, common | other  # that each side has settled, and both know
    known = fewer | more
    if has_majority(known, here & known, known - fewer) and has_majority(known, there & known, known - more):
        assert here & there & known


@given(SETS, SETS, SETS)
def test_a_newcomer_that_is_there_is_neither_for_a_majority_nor_against(
    settled: frozenset[str], newcomers: frozenset[str], present: frozenset[str]
) -> None:
    newcomers, present = newcomers - settled, present & (settled | newcomers)
    is_majority = has_majority(settled | newcomers, present, newcomers)
    assert is_majority == has_majority(settled | (newcomers - present), present & settled)


def test_who_is_let_in_before_a_cut_is_noticed_makes_no_majority() -> None:
    world = two_by_two()
    world.partition(["boot", "peer00"], ["peer01", "peer02", "peer03"])
    world.run(world.now + 0.5)
    world.add("peer03", [door_of("peer01")])
    ends_at = world.now + 30.0
    world.run(world.now + LICENCE_S)
    assert world.machines["peer03"].observe().is_member
    while world.now < ends_at:
        assert licensed(world) <= {"boot", "peer00"}
        world.run(world.now + 0.1)
    assert licensed(world) == {"boot", "peer00"}
    world.heal()
    world.run(world.now + 15.0)
    assert licensed(world) == set(world.machines)
    assert not any(newcomers_by_peer(world).values())


@pytest.mark.parametrize("seed", range(12))
def test_of_two_sides_that_let_in_newcomers_one_crawls_at_most(seed: int) -> None:
    random = Random(seed)
    world = World(seed, loss=0.02)
    world.mesh(random.randint(2, 4), until=8.0)
    names = sorted(world.machines)
    sides = {peer: random.random() < 0.5 for peer in names}
    joins = [(8.0 + random.uniform(-0.3, 3.0), f"new{i}", random.choice(names)) for i in range(3)]
    sides |= {peer: sides[door] for _, peer, door in joins}
    here, there = ({peer for peer, side in sides.items() if side is which} for which in (True, False))
    is_cut = False
    while world.now < 20.0:
        if not is_cut and world.now >= 8.0:
            world.partition(here, there)
            is_cut = True
        for _, peer, door in [
            each for each in joins if each[0] <= world.now and each[1] not in world.machines
        ]:
            world.add(peer, [door_of(door)])
        if world.now > 8.1 + LICENCE_S:
            assert not licensed(world) & here or not licensed(world) & there
        world.run(world.now + 0.05)
    world.heal()
    world.run(45.0)
    assert licensed(world) == set(sides)
    assert not any(newcomers_by_peer(world).values())


@pytest.mark.parametrize("count", [1, 2, 8])
def test_a_mesh_that_starts_at_once_is_settled_and_licensed_soon(count: int) -> None:
    world = World(count)
    world.mesh(count, until=1.0)
    run_until_all_are_settled(world, within=1.5)
    world.run(world.now + 0.5)
    assert licensed(world) == set(world.machines)


def test_a_mesh_in_which_most_news_is_lost_settles_by_asking() -> None:
    world = World(3, loss=0.4)
    world.mesh(4, until=5.0)
    run_until_all_are_settled(world, within=60.0)


def test_who_comes_back_is_counted_as_before_and_a_newcomer_is_a_newcomer_still() -> None:
    world = two_by_two()
    world.partition(["boot", "peer00"], ["peer01", "peer02", "peer03"])
    world.add("peer03", [door_of("peer01")])
    world.run(world.now + 5.0)
    for peer in ("peer00", "peer01", "peer03"):
        world.crash(peer)
        world.restart(peer)
    known = newcomers_by_peer(world)
    new = frozenset({"peer03"})
    assert (known["peer00"], known["peer01"], known["peer03"]) == (frozenset(), new, new)


def test_who_says_that_it_knows_others_is_asked_for_them_ever_more_rarely() -> None:
    world = two_by_two()
    machine = world.machines["peer00"]
    asked = []
    for step in range(600):
        now = world.now + step * 0.1
        sends = machine.membership.receive(
            Address("peer01", "membership"), Ping(step, known=b"otherwise"[:8]), now
        )
        asked += [now for send in sends if isinstance(send.message, MembersWanted)]
    pauses = [later - sooner for sooner, later in pairwise(asked)]
    assert 4 <= len(asked) <= 8
    assert all(later > sooner for sooner, later in pairwise(pauses))


def test_who_knows_others_than_we_is_no_witness() -> None:
    world = two_by_two()
    for peer in ("peer01", "peer02"):
        world.crash(peer)
    world.run(world.now + 8.0)
    assert licensed(world) >= {"boot", "peer00"}
    table = world.machines["boot"].membership._members
    table.__dict__["known_digest"] = b"forgotten"[:8]
    world.run(world.now + LICENCE_S + 0.5)
    assert not licensed(world) & {"peer00"}
