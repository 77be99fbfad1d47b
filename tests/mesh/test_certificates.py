"""Certificates in a running mesh: their end, renewal without a stop, expulsion."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from mesh.keys.certificate import Grant, Right
from mesh.keys.decree import RENEWAL, REVOCATION, Decree, Signer
from mesh.membership.model.members import State
from mesh.membership.model.messages import PublishDecree
from mesh.tables.memory_table import MemoryTable
from tests.mesh.membership_world import CONFIG, ROOT, Machine, World, door_of

BY_ROOT = Signer(ROOT, CONFIG.digest())
ENDS_AT = 30.0


def certificate(valid_until: float, **granted: Any) -> bytes:
    return msgspec.msgpack.encode(Grant("a" * 16, valid_until, **granted))


def renewal(peer: str, number: int, encoded: bytes) -> PublishDecree:
    return PublishDecree(1, BY_ROOT.decree(RENEWAL, peer, number, encoded))


def expulsion(peer: str) -> Decree:
    return BY_ROOT.decree(REVOCATION, peer, 1, b"it lied")


def mesh_with(world: World, valid_until: float, **changes: Any) -> Machine:
    """Four members, and one more whose certificate ends then."""
    world.mesh(4, until=10.0)
    machine = world.add("guest", [door_of("boot")], certificate=certificate(valid_until), **changes)
    world.run(15.0)
    assert set(world.states_of("guest").values()) == {State.ALIVE}
    return machine


def test_who_comes_when_its_invitation_has_ended_is_told_at_the_door() -> None:
    world = World(1)
    world.mesh(4, until=10.0)
    late = world.add("overdue", [door_of("boot")])
    world.run(15.0)
    assert "the invitation of peer overdue has ended: ask for another one" in late.refusal
    assert world.states_of("overdue") == {}


def weights_of(machine: Machine) -> dict[str, int]:
    assert machine.ownership is not None
    return machine.ownership.table.weights


def test_a_member_whose_certificate_ends_counts_as_gone_from_then_on() -> None:
    world = World(1)
    mesh_with(world, ENDS_AT)
    world.run(ENDS_AT - 0.1)
    assert "guest" in weights_of(world.machines["peer00"])
    world.run(ENDS_AT + 2.0)  # five members at rest ping every 1.8 s
    assert set(world.states_of("guest").values()) == {State.LEFT}
    assert "guest" not in weights_of(world.machines["peer00"])
    assert "guest" not in world.machines["peer00"].connected


def test_the_end_of_a_certificate_is_seen_after_a_restart_too() -> None:
    world = World(1)
    mesh_with(world, ENDS_AT)
    world.crash("peer00")
    world.run(20.0)
    machine = world.restart("peer00")
    world.run(ENDS_AT + 1.0)
    assert "guest" not in weights_of(machine)


def test_who_comes_with_a_certificate_that_has_ended_is_told_at_the_door() -> None:
    world = World(2)
    world.mesh(2, until=10.0)
    late = world.add("late", [door_of("boot")], certificate=certificate(5.0))
    world.run(15.0)
    assert "has ended" in late.refusal
    assert world.states_of("late") == {}


def test_a_renewed_member_goes_on_without_a_stop() -> None:
    world = World(3)
    guest = mesh_with(world, ENDS_AT)
    ownerships = len(world.machines["peer00"].listener.ownerships)
    world.say("peer02", renewal("guest", 1, certificate(1_000.0)))
    world.run(ENDS_AT + 10.0)
    assert set(world.states_of("guest").values()) == {State.ALIVE}
    assert not guest.refusal
    assert len(world.machines["peer00"].listener.ownerships) == ownerships, "and no slot has moved"


def test_a_renewed_member_may_start_again_with_the_old_certificate_in_its_configuration() -> None:
    world = World(4)
    mesh_with(world, ENDS_AT)
    world.say("peer02", renewal("guest", 1, certificate(1_000.0)))
    world.run(ENDS_AT + 5.0)
    world.crash("guest")
    world.run(ENDS_AT + 15.0)
    back = world.restart("guest", certificate=certificate(ENDS_AT))
    world.run(ENDS_AT + 25.0)
    assert not back.refusal
    assert set(world.states_of("guest").values()) == {State.ALIVE}


@pytest.mark.parametrize("is_restarted", [False, True])
def test_a_member_that_was_renewed_after_its_certificate_had_ended_comes_back(is_restarted: bool) -> None:
    world = World(4)
    mesh_with(world, ENDS_AT)
    world.run(ENDS_AT + 10.0)
    assert set(world.states_of("guest").values()) == {State.LEFT}
    world.say("peer02", renewal("guest", 1, certificate(1_000.0)))
    world.run(ENDS_AT + 12.0)
    if is_restarted:
        world.crash("guest")
        world.restart("guest", certificate=certificate(ENDS_AT))
    world.run(ENDS_AT + 70.0)
    assert not world.machines["guest"].refusal
    assert set(world.states_of("guest").values()) == {State.ALIVE}
    assert len(world.epochs()) == 1


def test_a_renewal_may_lower_the_weight_and_an_older_one_changes_nothing() -> None:
    world = World(5)
    guest = mesh_with(world, ENDS_AT)
    world.say("peer02", renewal("guest", 1, certificate(1_000.0, weight_max=40)))
    world.run(20.0)
    assert guest.observe().weight == 40
    assert weights_of(world.machines["peer00"])["guest"] == 40
    world.say("peer02", renewal("guest", 2, certificate(500.0)))
    world.run(25.0)
    assert guest.observe().weight == 40


def test_an_expelled_member_is_gone_everywhere_and_is_told_by_those_whom_it_talked_with() -> None:
    world = World(6)
    guest = mesh_with(world, 1e9)
    world.say("peer01", PublishDecree(1, expulsion("guest")))
    world.run(17.0)
    assert set(world.states_of("guest").values()) == {State.LEFT}
    assert all("guest" not in machine.connected for machine in world.up() if machine is not guest)
    assert "was expelled" in guest.refusal


def test_an_expelled_member_that_nobody_could_tell_finds_out_at_a_door() -> None:
    world = World(6)
    guest = mesh_with(world, 1e9)
    world.partition({"guest"})
    world.say("peer01", PublishDecree(1, expulsion("guest")))
    world.run(20.0)
    assert not guest.refusal
    world.heal()
    world.run(60.0)
    assert "was expelled" in guest.refusal


def test_an_expelled_member_that_does_not_mind_is_not_heard_and_not_let_in_again() -> None:
    world = World(7)
    guest = mesh_with(world, 1e9)
    deaf = guest.membership._decree_news
    deaf._follows.clear()
    world.say("peer01", PublishDecree(1, expulsion("guest")))
    world.run(30.0)
    assert set(world.states_of("guest").values()) == {State.LEFT}
    world.crash("guest")
    again = world.add("guest", [door_of("boot")], table=MemoryTable(), incarnation=1_000)
    world.run(40.0)
    assert set(world.states_of("guest").values()) == {State.LEFT}
    assert "was expelled" in again.refusal


def test_a_member_that_was_away_has_nothing_to_do_with_who_was_expelled_meanwhile() -> None:
    world = World(8)
    mesh_with(world, 1e9)
    world.crash("peer03")
    world.run(20.0)
    world.say("peer01", PublishDecree(1, expulsion("guest")))
    world.run(30.0)
    back = world.restart("peer03")
    while not back.observe().is_member:
        world.run(world.now + 0.01)
    assert "guest" not in back.connected
    assert back.ownership is not None
    assert "guest" not in back.ownership.alive


def test_the_expelled_do_not_count_for_the_majority() -> None:
    world = World(9)
    world.mesh(4, until=10.0)
    for peer in ("peer01", "peer02", "peer03"):
        world.say("peer00", PublishDecree(1, expulsion(peer)))
    world.run(12.0)
    assert world.machines["peer00"].observe().has_majority
    assert set(weights_of(world.machines["peer00"])) == {"boot", "peer00"}


def test_who_may_import_is_known_to_all_who_are_told_of_the_ownership() -> None:
    world = World(10)
    mesh_with(world, 1e9, weight=100)
    world.add(
        "reader", [door_of("boot")], certificate=certificate(1e9, rights=int(Right.CRAWL | Right.ANSWER))
    )
    world.run(20.0)
    ownership = world.machines["peer00"].ownership
    assert ownership is not None
    assert "reader" in ownership.alive
    assert ownership.importers == ownership.alive - {"reader"}
