"""One member lies about others: what the rest believe, and that real crashes are known as soon as ever."""

from __future__ import annotations

import numpy as np
import pytest

from mesh.actors.actor import Address
from mesh.actors.allowance import ALLOWANCE_S
from mesh.membership.model.members import State
from mesh.membership.model.messages import LeaveMesh, StopMembership
from mesh.membership.model.wire_messages import MembersTold, Rumour, RumoursSpread
from mesh.membership.news.hearsay import ALLOWED_MIN, Hearsay
from tests.mesh.membership_world import Machine, World, record_of

LIAR = "peer00"


def known(machine: Machine, peer: str) -> Rumour:
    rumour = machine.membership._members.get(peer)
    assert rumour is not None
    return rumour


def lie(world: World, state: State, *, to: str, about: str) -> None:
    """Have the liar tell one victim that another member is gone, as it really knows it otherwise."""
    victim = world.machines[to]
    told = RumoursSpread((Rumour(known(victim, about).record, state, ("boot", to, "peer03")),))
    source = Address(LIAR, "membership")
    world._carry_out(victim, victim.node.receive(source, "membership", told, world.now))


def owned_twice(world: World) -> int:
    """Slots that two members believe to own."""
    views = [machine.ownership for machine in world.up()]
    owned = [view.table.slots_of(view.me) for view in views if view is not None]
    return int((np.sum(owned, axis=0) > 1).sum())


@pytest.mark.parametrize("state", [State.DEAD, State.LEFT])
def test_one_member_cannot_make_another_drop_the_rest(state: State) -> None:
    """Before, 255 of 512 slots were owned twice within five seconds."""
    world = World(1)
    world.mesh(4, until=10.0)
    for _ in range(50):
        for about in ("boot", "peer02", "peer03"):
            lie(world, state, to="peer01", about=about)
        world.run(world.now + 0.2)
        victim = world.machines["peer01"]
        assert owned_twice(world) == 0
        assert victim.observe().alive + victim.observe().suspect == 5
        assert victim.observe().has_majority
    world.run(world.now + 10.0)
    assert len(world.epochs()) == 1
    assert not any(machine.refusal for machine in world.up())


def test_a_lie_to_everybody_buries_nobody() -> None:
    world = World(2)
    world.mesh(5, until=10.0)
    for _ in range(20):
        for to in ("boot", "peer01", "peer02", "peer04"):
            lie(world, State.DEAD, to=to, about="peer03")
        world.run(world.now + 0.5)
        assert State.DEAD not in world.states_of("peer03").values()


def test_that_a_member_left_is_believed_of_itself_only() -> None:
    world = World(3)
    world.mesh(3, until=10.0)
    lie(world, State.LEFT, to="peer01", about="peer02")
    assert known(world.machines["peer01"], "peer02").state == State.ALIVE
    assert world.machines["peer01"].observe().records_refused == 1
    world.say("peer02", LeaveMesh())
    world.run_until_all_believe("peer02", State.LEFT, within=2.0)


def test_who_signs_that_it_goes_down_is_dead_at_once_whoever_passes_it_on() -> None:
    world = World(4)
    world.mesh(6, until=10.0)
    world.say("peer03", StopMembership())
    assert world.run_until_all_believe("peer03", State.DEAD, within=2.0) < 1.0


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("n", [3, 10])
def test_a_real_crash_is_known_everywhere_in_five_seconds(n: int, seed: int) -> None:
    world = World(seed, loss=0.05)
    world.mesh(n, until=15.0)
    world.crash("peer01")
    assert world.run_until_all_believe("peer01", State.DEAD, within=6.0) < 6.0


def rumour(peer: str, state: State, incarnation: int = 0) -> Rumour:
    return Rumour(record_of(peer, incarnation=incarnation), state)


ALIVE = rumour("x", State.ALIVE)
DEAD = rumour("x", State.DEAD)


def test_a_death_takes_two_witnesses_of_the_same_incarnation() -> None:
    hearsay = Hearsay()
    assert hearsay.weighed(DEAD, ALIVE, "a", 0.0, 5, is_due=False) == Rumour(
        DEAD.record, State.SUSPECT, ("a",)
    )
    assert hearsay.weighed(DEAD, ALIVE, "a", 1.0, 5, is_due=False).state == State.SUSPECT, (
        "the same once more"
    )
    later = rumour("x", State.DEAD, 1)
    assert hearsay.weighed(later, ALIVE, "b", 1.0, 5, is_due=False).state == State.SUSPECT
    assert hearsay.weighed(later, ALIVE, "c", 1.0, 5, is_due=False) == later


def test_a_death_is_believed_of_one_when_our_own_probe_says_so_too() -> None:
    hearsay = Hearsay()
    hearsay.note_silent("x", 0)
    assert hearsay.weighed(DEAD, ALIVE, "a", 0.0, 5, is_due=True) == DEAD
    other_life = rumour("x", State.DEAD, 1)
    assert hearsay.weighed(other_life, ALIVE, "a", 0.0, 5, is_due=True).state == State.SUSPECT
    hearsay.forget("x")
    assert hearsay.weighed(DEAD, ALIVE, "b", 0.0, 5, is_due=True).state == State.SUSPECT


def test_one_liar_buries_nobody_whom_we_have_just_found_silent() -> None:
    """It may crawl for as long as its licence is good, which is shorter than any suspicion."""
    hearsay = Hearsay()
    hearsay.note_silent("x", 0)
    assert hearsay.weighed(DEAD, ALIVE, "a", 0.0, 5, is_due=False).state == State.SUSPECT


def test_whom_a_liar_names_as_accusers_shortens_no_suspicion() -> None:
    """Before, three names were taken for three observations, and the suspect had half of its time."""
    world = World(6)
    world.mesh(5, until=10.0)
    victim = world.machines["peer01"].membership
    for _ in range(3):
        lie(world, State.SUSPECT, to="peer01", about="peer02")
        assert known(world.machines["peer01"], "peer02").state == State.SUSPECT
        assert victim._suspicions.accusers_of("peer02") == ()
    suspect = Rumour(known(world.machines["peer01"], "peer02").record, State.SUSPECT, ("boot", LIAR))
    for teller in (LIAR, "boot", "peer03"):
        victim.receive(Address(teller, "membership"), RumoursSpread((suspect,)), world.now)
    assert victim._suspicions.accusers_of("peer02") == (LIAR, "boot"), "each for itself"


def test_who_tells_too_much_bad_news_is_not_heard_for_a_while() -> None:
    hearsay = Hearsay()
    states = [hearsay.weighed(DEAD, ALIVE, "a", 0.0, 3, is_due=False).state for _ in range(ALLOWED_MIN + 5)]
    assert states == [State.SUSPECT] * ALLOWED_MIN + [State.ALIVE] * 5
    assert hearsay.weighed(DEAD, ALIVE, "b", 0.0, 3, is_due=False).state == State.DEAD, "others are"
    assert hearsay.weighed(DEAD, ALIVE, "a", ALLOWANCE_S, 3, is_due=False).state == State.DEAD


def test_half_of_a_large_mesh_may_die_at_once() -> None:
    hearsay = Hearsay()
    peers = [f"x{i}" for i in range(500)]
    told = [
        hearsay.weighed(rumour(peer, State.DEAD), rumour(peer, State.ALIVE), "a", 0.0, 1000, is_due=False)
        for peer in peers
    ]
    assert all(each.state == State.SUSPECT for each in told)


def test_what_an_exchange_of_all_says_is_weighed_too() -> None:
    world = World(5)
    world.mesh(3, until=10.0)
    victim = world.machines["peer01"]
    told = MembersTold((Rumour(known(victim, "peer02").record, State.DEAD),))
    victim.node.receive(Address(LIAR, "membership"), "membership", told, world.now)
    assert known(victim, "peer02").state == State.SUSPECT
