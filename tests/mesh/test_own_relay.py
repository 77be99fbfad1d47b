"""Peers that others do not reach, and a relay: how the membership gets one, keeps it and says so."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from mesh.actors.actor import Address, Message
from mesh.membership.admission import REASON_MAX, RELAY_OFFERED
from mesh.membership.model.members import State
from mesh.membership.model.messages import (
    AddressesTried,
    AnswerDoor,
    Borrow,
    Borrowed,
    DoorKnocked,
    Knock,
    Knocked,
    LendPorts,
    PortsAsked,
)
from mesh.membership.model.wire_messages import BorrowPorts, JoinMesh, JoinRefused, PortsLent, Welcomed
from mesh.reach import Reach
from tests.mesh.membership_world import CONFIG, Machine, World, door_of, record_of

SEEDS = range(3)
FALLEN_BACK_S = 10.0  # after which one whom nobody reaches is a member over a relay
BACK_S = 15.0  # after which one is again whose relay was away


def world_with_relay(seed: int, peers: int = 3) -> World:
    world = World(seed)
    world.add("boot", weight=0, is_relay=True)
    for number in range(peers):
        world.add(f"peer{number:02}", [door_of("boot")])
    world.run(8.0)
    return world


def hidden(world: World, peer: str = "new", reach: Reach = Reach.AUTO) -> Machine:
    world.deaf.add(peer)
    return world.add(peer, [door_of("boot")], reach=reach)


@pytest.mark.parametrize("seed", SEEDS)
def test_a_stranger_that_nobody_reaches_is_a_member_over_a_relay(seed: int) -> None:
    world = world_with_relay(seed)
    stranger = hidden(world)
    world.run(world.now + 1.0)
    assert "new" not in world.relay_of
    world.run_until_all_believe("new", State.ALIVE, within=FALLEN_BACK_S)
    world.run(world.now + 5.0)
    assert stranger.observe().relay == "boot"
    assert not stranger.observe().unreachable
    assert stranger.listener.licensed_until > world.now
    assert len(world.epochs()) == 1
    for _ in range(200):
        world.run(world.now + 0.1)
        assert set(world.states_of("new").values()) == {State.ALIVE}


@pytest.mark.parametrize("seed", SEEDS)
def test_two_that_nobody_reaches_have_each_other_over_a_relay(seed: int) -> None:
    world = world_with_relay(seed, peers=2)
    one, two = hidden(world, "one"), hidden(world, "two", Reach.ALWAYS)
    for peer in ("one", "two"):
        world.run_until_all_believe(peer, State.ALIVE, within=FALLEN_BACK_S)
    world.run(world.now + 5.0)
    for machine in (one, two):
        assert machine.observe().alive == 5
        assert machine.observe().relay == "boot"
        assert machine.listener.licensed_until > world.now


def test_who_wants_nothing_but_a_relay_is_tried_at_no_other_address() -> None:
    world = world_with_relay(1)
    wanting = world.add("new", [door_of("boot")], reach=Reach.ALWAYS)  # others would reach it
    world.run_until_all_believe("new", State.ALIVE, within=2.0)
    assert wanting.observe().relay == "boot"
    assert wanting.observe().incarnation == 1


def test_who_wants_no_relay_stays_outside_and_is_told_of_it() -> None:
    world = world_with_relay(1)
    stranger = hidden(world, reach=Reach.NEVER)
    world.run(world.now + 30.0)
    assert not world.states_of("new")
    assert stranger.observe().unreachable["new"].endswith("the relay at this door: member.relay")
    assert stranger.observe().relay == ""


def test_who_is_reached_asks_for_no_relay() -> None:
    world = world_with_relay(1)
    assert world.relay_of == {}
    assert all(machine.observe().relay == "" for machine in world.up())


def test_where_no_door_has_a_relay_one_stays_outside_as_before() -> None:
    world = World(1)
    world.mesh(3, until=8.0)
    stranger = hidden(world)
    world.run(world.now + 30.0)
    assert not world.states_of("new")
    assert "relay" not in stranger.observe().unreachable["new"]


@pytest.mark.parametrize("ports_shift", [0, 10])
@pytest.mark.parametrize("seed", SEEDS)
def test_when_a_relay_is_back_so_are_those_behind_it(seed: int, ports_shift: int) -> None:
    """With the ports they had, or with others."""
    world = world_with_relay(seed, peers=2)
    one = hidden(world, "one")
    hidden(world, "two")
    world.run_until_all_believe("one", State.ALIVE, within=FALLEN_BACK_S)
    world.run_until_all_believe("two", State.ALIVE, within=FALLEN_BACK_S)
    world.run(world.now + 5.0)
    before = one.observe().incarnation
    world.crash("boot")
    world.run(world.now + 12.0)
    assert one.observe().relay == ""
    assert "asks for a relay: " in one.observe().unreachable["one"]
    assert world.machines["peer00"].membership._members.live() == ("peer00", "peer01")
    world.ports_shift = ports_shift
    world.restart("boot", is_relay=True)
    for peer in ("one", "two"):
        world.run_until_all_believe(peer, State.ALIVE, within=BACK_S)
    world.run(world.now + 8.0)
    assert one.observe().relay == "boot"
    assert one.observe().incarnation > before
    assert one.observe().alive == 5
    assert len(world.epochs()) == 1


@pytest.mark.parametrize("reach", [Reach.AUTO, Reach.ALWAYS])
def test_who_starts_again_is_reached_over_the_relay_again(reach: Reach) -> None:
    world = world_with_relay(2)
    hidden(world, reach=reach)
    world.run_until_all_believe("new", State.ALIVE, within=FALLEN_BACK_S)
    world.crash("new")
    world.run(world.now + 9.0)
    again = world.restart("new", reach=reach)
    world.run_until_all_believe("new", State.ALIVE, within=FALLEN_BACK_S)
    assert again.observe().relay == "boot"


def test_a_member_that_is_not_reached_any_more_falls_back_to_a_relay() -> None:
    world = world_with_relay(3)
    member = world.machines["peer00"]
    world.deaf.add("peer00")
    world.run(world.now + 9.0)
    world.run_until_all_believe("peer00", State.ALIVE, within=30.0)
    assert member.observe().relay == "boot"
    world.run(world.now + 5.0)
    assert member.listener.licensed_until > world.now


def test_who_has_been_a_member_goes_on_with_those_it_knew_though_no_relay_answers() -> None:
    world = world_with_relay(1)
    hidden(world, reach=Reach.ALWAYS)
    world.run_until_all_believe("new", State.ALIVE, within=FALLEN_BACK_S)
    world.crash("boot")
    world.crash("new")
    world.run(world.now + 9.0)
    again = world.restart("new", reach=Reach.ALWAYS)
    world.run(world.now + 3.0)
    assert again.observe().is_member


def told_by(world: World, door: str, answer: JoinRefused | Welcomed, stranger: Machine) -> list[Message]:
    """What a stranger orders when this door has answered."""
    record = record_of(door)
    knocked = Knocked(answer, record.door, record.curve_key)
    world.now += 0.5
    membership = stranger.membership
    sends = membership.receive(Address("new", "door"), knocked, world.now) + membership.wake(world.now)
    return [send.message for send in sends if send.target.actor in ("door", "relay")]


def alone() -> tuple[World, Machine]:
    """A stranger that has knocked at the first of two doors, which only a test answers."""
    world = World(1)
    stranger = world.add("new", [door_of("one"), door_of("two")])
    (knock,) = [send.message for send in stranger.membership.wake(0.0) if isinstance(send.message, Knock)]
    assert knock.endpoint == record_of("one").door
    return world, stranger


OFFER = JoinRefused("not reached", is_final=False, lends_ports=True)
NO_OFFER = JoinRefused("not reached", is_final=False)


def test_what_one_door_says_another_one_is_asked_before_its_relay_is() -> None:
    """Else a door could have newcomers relayed by itself that all others reach."""
    world, stranger = alone()
    (knock,) = told_by(world, "one", OFFER, stranger)
    assert isinstance(knock, Knock)
    assert knock.endpoint == record_of("two").door
    assert not any(isinstance(each, Borrow) for each in told_by(world, "two", Welcomed(()), stranger))
    assert stranger.observe().is_member


@pytest.mark.parametrize("first", [OFFER, NO_OFFER])
@pytest.mark.parametrize("second", [OFFER, NO_OFFER])
def test_when_two_doors_say_so_the_relay_of_one_of_them_is_asked(
    first: JoinRefused, second: JoinRefused
) -> None:
    world, stranger = alone()
    orders = told_by(world, "one", first, stranger)
    assert len(orders) == first.lends_ports
    borrows = [each for each in told_by(world, "two", second, stranger) if isinstance(each, Borrow)]
    lenders = [door for door, answer in (("one", first), ("two", second)) if answer.lends_ports]
    assert [each.endpoint for each in borrows] == [record_of(door).door for door in lenders[-1:]]


def test_who_is_let_in_without_a_relay_after_all_asks_for_none_any_more() -> None:
    world, stranger = alone()
    told_by(world, "one", OFFER, stranger)
    assert any(isinstance(each, Borrow) for each in told_by(world, "two", OFFER, stranger))
    lost = Borrowed(record_of("two").curve_key, None, "all ports are lent")
    stranger.membership.receive(Address("new", "relay"), lost, world.now)
    told_by(world, "one", Welcomed(()), stranger)
    assert stranger.observe().is_member
    sends = [send for second in range(30) for send in stranger.membership.wake(world.now + second)]
    assert not [send for send in sends if isinstance(send.message, Borrow)]


def test_who_is_not_reached_over_its_relay_either_says_whose_ports_are_shut() -> None:
    world, stranger = alone()
    lent = PortsLent("tcp://r:1", "tcp://r:2", "tcp://r:3", b"lease", b"secret")
    relay, key = Address("new", "relay"), record_of("one").curve_key
    stranger.membership.receive(relay, Borrowed(key, lent), 1.0)
    told_by(world, "one", OFFER, stranger)
    assert "to the ports in its member.relay_ports" in stranger.observe().unreachable["new"]


def test_who_is_refused_for_good_when_it_asks_for_a_relay_ends() -> None:
    world, stranger = alone()
    told_by(world, "one", JoinRefused("expelled"), stranger)
    assert stranger.observe().refusal == "expelled"


# --- Who is lent ports ---


def asked(machine: Machine, now: float, borrow: BorrowPorts, key: bytes) -> list[object]:
    door = Address(machine.node.peer, "door")
    sends = machine.membership.receive(door, PortsAsked(7, key, borrow), now)
    return [send.message for send in sends if send.target == door]


def test_only_who_would_be_let_in_is_lent_ports() -> None:
    world = world_with_relay(1)
    boot, record = world.machines["boot"], record_of("new")
    lend = asked(boot, world.now, BorrowPorts(record, CONFIG.digest()), record.curve_key)
    assert len(lend) == 1
    assert isinstance(lend[0], LendPorts)
    assert (lend[0].handle, lend[0].peer, lend[0].before) == (7, "new", "")
    assert lend[0].claimed == tuple(f"tcp://{peer}:1" for peer in ("boot", "peer00", "peer01", "peer02"))
    forged = replace(record, signature=b"of another")
    overdue = record_of("overdue")
    for borrow, key in (
        (BorrowPorts(record, b"another mesh"), record.curve_key),
        (BorrowPorts(record, CONFIG.digest()), b"another key"),
        (BorrowPorts(overdue, CONFIG.digest()), overdue.curve_key),
        (BorrowPorts(forged, CONFIG.digest()), forged.curve_key),
    ):
        (refused,) = asked(boot, world.now, borrow, key)
        assert isinstance(refused, AnswerDoor)
        assert isinstance(refused.answer, JoinRefused)
        assert refused.answer.is_final


def test_who_is_a_member_has_the_ports_that_it_had() -> None:
    world = world_with_relay(1)
    record = record_of("peer00")
    (lend,) = asked(world.machines["boot"], world.now, BorrowPorts(record, CONFIG.digest()), record.curve_key)
    assert isinstance(lend, LendPorts)
    assert lend.before == "tcp://peer00:1"
    assert "tcp://peer00:1" not in lend.claimed


def test_a_relay_without_a_majority_lends_ports_for_that_may_be_behind_them() -> None:
    world = world_with_relay(1)
    for peer in ("peer00", "peer01", "peer02"):
        world.crash(peer)
    world.run(world.now + 10.0)
    boot, record = world.machines["boot"], record_of("peer00")
    assert not boot.observe().has_majority
    (lend,) = asked(boot, world.now, BorrowPorts(record, CONFIG.digest()), record.curve_key)
    assert isinstance(lend, LendPorts)


def test_a_member_that_is_no_relay_says_so() -> None:
    world = world_with_relay(1)
    record = record_of("new")
    (refused,) = asked(
        world.machines["peer00"], world.now, BorrowPorts(record, CONFIG.digest()), record.curve_key
    )
    assert isinstance(refused, AnswerDoor)
    assert isinstance(refused.answer, JoinRefused)
    assert not refused.answer.is_final


def test_the_offer_of_a_relay_is_in_the_reason_however_long_that_is() -> None:
    world = world_with_relay(1)
    boot, record, door = world.machines["boot"].membership, record_of("new"), Address("boot", "door")
    boot.receive(
        door,
        DoorKnocked(9, record.curve_key, JoinMesh(record, CONFIG.digest(), is_callable=True)),
        world.now,
    )
    sends = boot.receive(door, AddressesTried(9, "x" * REASON_MAX), world.now)
    (refusal,) = [send.message.answer for send in sends if isinstance(send.message, AnswerDoor)]
    assert isinstance(refusal, JoinRefused)
    assert refusal.lends_ports
    assert len(refusal.reason) == REASON_MAX
    assert refusal.reason.endswith(RELAY_OFFERED)
