"""Decrees reach every member by gossip, also those that were away, and nobody else's word does."""

from __future__ import annotations

from random import Random

import pytest

from mesh.actors.actor import Address, Message, Send
from mesh.keys.decree import DECREE_BYTES_MAX, POLICY, WRITE_OFF, Authority, Decree, Signer
from mesh.keys.signing_key import SigningKey
from mesh.membership.membership import Membership
from mesh.membership.model.members import State
from mesh.membership.model.messages import DecreePublished, PublishDecree
from mesh.membership.model.wire_messages import (
    NAMES_MAX,
    DecreesNamed,
    DecreesTold,
    DecreesWanted,
    MembersWanted,
    Rumour,
    RumoursSpread,
)
from mesh.membership.news.decree_dissemination import FORGERIES_A_MINUTE, TOLD_BYTES_A_MINUTE
from mesh.tables.memory_table import MemoryTable
from tests.mesh.membership_world import CONFIG, ROOT, TrustingCredentials, World, door_of, record_of

BY_ROOT = Signer(ROOT, CONFIG.digest())
_refusal_of = Authority.refusal_of
BY_EVE = Signer(SigningKey.of_secret(b"e" * 32), CONFIG.digest())


def policy(number: int, signer: Signer = BY_ROOT, **times: float) -> Decree:
    return signer.decree(POLICY, "", number, bytes(1000), **times)


def known(world: World) -> dict[str, tuple[Decree, ...]]:
    return {peer: machine.listener.policy for peer, machine in world.machines.items() if machine.is_up}


def test_a_decree_is_everywhere_within_two_seconds_though_messages_get_lost() -> None:
    world = World(1, loss=0.1)
    world.mesh(20, until=20.0)
    world.say("peer03", PublishDecree(1, policy(1)))
    assert world.machines["peer03"].published == [DecreePublished(1, policy(1).name)]
    world.run(22.0)
    assert set(known(world).values()) == {(policy(1),)}
    world.run(30.0)
    assert not any(machine.membership._decree_news._news for machine in world.up()), "news comes to an end"


def test_who_was_away_has_it_before_it_is_a_member_again() -> None:
    world = World(2)
    world.mesh(4, until=10.0)
    world.crash("peer02")
    world.run(12.0)
    world.say("peer00", PublishDecree(1, policy(1)))
    world.run(20.0)
    world.say("peer00", PublishDecree(1, policy(2)))
    world.run(30.0)
    machine = world.restart("peer02")
    while not machine.observe().is_member:
        world.run(world.now + 0.01)
    assert machine.listener.policy == (policy(2),)


def test_a_newcomer_is_told_at_the_door() -> None:
    world = World(3)
    world.mesh(2, until=10.0)
    world.say("peer00", PublishDecree(1, policy(1)))
    world.run(15.0)
    newcomer = world.add("late", [door_of("boot")])
    while not newcomer.observe().is_member:
        world.run(world.now + 0.01)
    assert newcomer.listener.policy == (policy(1),)


def test_both_sides_of_a_partition_have_the_newer_one_after_it() -> None:
    world = World(4)
    world.mesh(6, until=10.0)
    sides = ["boot", "peer00", "peer01", "peer02"], ["peer03", "peer04", "peer05"]
    world.partition(*sides)
    world.say("peer00", PublishDecree(1, policy(1)))
    world.say("peer05", PublishDecree(1, policy(2)))
    world.run(30.0)
    assert known(world)["peer01"] == (policy(1),)
    assert known(world)["peer04"] == (policy(2),)
    world.heal()
    world.run(100.0)
    assert set(known(world).values()) == {(policy(2),)}


def test_a_decree_for_later_and_its_end_need_no_message() -> None:
    world = World(5)
    world.mesh(2, until=10.0)
    world.say("peer00", PublishDecree(1, policy(1, effective_from=20.0, valid_until=30.0)))
    world.run(19.9)
    assert set(known(world).values()) == {()}
    world.run(20.1)
    assert set(known(world).values()) == {(policy(1, effective_from=20.0, valid_until=30.0),)}
    world.run(30.1)
    assert set(known(world).values()) == {()}


def test_it_is_obeyed_after_a_restart_without_anybody_else() -> None:
    world = World(6)
    world.add("alone")
    world.run(1.0)
    world.say("alone", PublishDecree(1, policy(1)))
    world.crash("alone")
    world.restart("alone")
    world.run(2.0)
    assert known(world) == {"alone": (policy(1),)}


def test_a_forged_decree_is_refused_wherever_it_comes_from() -> None:
    world = World(7)
    machine, _ = world.mesh(2, until=10.0)
    world.say("peer00", PublishDecree(1, policy(1, BY_EVE)))
    assert "neither the root" in machine.published[0].refusal
    membership = machine.membership
    membership.receive(Address("peer01", "membership"), DecreesTold((policy(1, BY_EVE),)), world.now)
    assert membership.observe().decrees_refused == 1
    world.run(15.0)
    assert set(known(world).values()) == {()}


def test_who_tells_forgeries_is_checked_once_a_message_and_soon_not_at_all(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    world = World(10)
    machine, _ = world.mesh(2, until=10.0)
    checked: list[Decree] = []

    def counting(authority: Authority, decree: Decree) -> str:
        checked.append(decree)
        return _refusal_of(authority, decree)

    monkeypatch.setattr(Authority, "refusal_of", counting)
    eve, ann = Address("peer01", "membership"), Address("boot", "membership")
    forged = DecreesTold(tuple(policy(number, BY_EVE) for number in range(1, 1 + NAMES_MAX)))
    for _ in range(100):
        machine.membership.receive(eve, forged, world.now)
    assert len(checked) == FORGERIES_A_MINUTE
    assert machine.membership.observe().decrees_refused == 100
    machine.membership.receive(eve, DecreesTold((policy(1),)), world.now)
    assert known(world)["peer00"] == (), "nothing of it is heard for a while"
    world._carry_out(machine, machine.node.receive(ann, "membership", DecreesTold((policy(1),)), world.now))
    assert known(world)["peer00"] == (policy(1),), "others are heard"


def test_a_kind_that_only_newer_versions_know_is_left_out_and_the_rest_is_learnt() -> None:
    world = World(11)
    machine, _ = world.mesh(2, until=10.0)
    told = DecreesTold((*(BY_ROOT.decree("unheard-of", str(n), 1, b"") for n in range(100)), policy(1)))
    source = Address("peer01", "membership")
    world._carry_out(machine, machine.node.receive(source, "membership", told, world.now))
    assert machine.listener.policy == (policy(1),)


def test_a_newcomer_is_told_as_many_as_one_message_may_hold_and_the_rest_later() -> None:
    """Before, nobody could join a mesh with more: the welcome was refused."""
    world = World(12)
    machine, _ = world.mesh(2, until=10.0)
    n = NAMES_MAX + 100
    for number in range(n):
        world.say("peer00", PublishDecree(number, BY_ROOT.decree(WRITE_OFF, f"gone{number}", 1, bytes(8))))
    world.run(20.0)
    assert len(machine.membership._decree_news.welcome(world.now)) == NAMES_MAX
    newcomer = world.add("late", [door_of("boot")])
    world.run(25.0)
    assert newcomer.observe().is_member
    world.run(90.0)
    assert len(newcomer.membership._decree_news._decrees.names()) == n


def test_an_old_decree_told_again_changes_nothing() -> None:
    world = World(8)
    machine, _ = world.mesh(2, until=10.0)
    world.say("peer00", PublishDecree(1, policy(2)))
    world.say("peer00", PublishDecree(1, policy(1)))
    assert "newer" in machine.published[1].refusal
    machine.membership.receive(Address("peer01", "membership"), DecreesTold((policy(1),)), world.now)
    assert machine.listener.policy == (policy(2),)


def test_who_lacks_a_decree_asks_who_named_it_and_strangers_are_told_nothing() -> None:
    membership = Membership(
        record_of("me"), CONFIG, Random(1), MemoryTable(), TrustingCredentials(), listeners=()
    )
    membership.wake(0.0)
    ann, stranger = Address("ann", "membership"), Address("eve", "membership")
    names = (policy(1).name,)
    assert membership.receive(stranger, DecreesNamed(names), 1.0) == []
    membership.receive(Address("me", "http"), PublishDecree(1, policy(1)), 1.0)
    assert membership.receive(stranger, DecreesWanted(names), 1.0) == []
    membership._intake.learn(Rumour(record_of("ann"), State.ALIVE), 1.0)
    [answer] = _to(membership.receive(ann, DecreesWanted(names), 1.0), ann)
    assert answer == DecreesTold((policy(1),))
    [question] = _to(membership.receive(ann, DecreesNamed((policy(2).name,)), 1.0), ann)
    assert question == DecreesWanted((policy(2).name,))
    assert _to(membership.receive(ann, DecreesNamed(names), 1.0), ann) == []
    told = _to(membership.receive(ann, MembersWanted(()), 2.0), ann)
    assert DecreesNamed(names) in told


def _to(sends: list[Send], address: Address) -> list[Message]:
    return [
        send.message
        for send in sends
        if send.target == address and not isinstance(send.message, RumoursSpread)
    ]


def test_a_member_that_asks_for_decrees_without_an_end_is_told_only_so_much() -> None:
    world = World(9)
    machine, _ = world.mesh(2, until=10.0)
    long = BY_ROOT.decree(POLICY, "", 1, bytes(DECREE_BYTES_MAX))
    world.say("peer00", PublishDecree(1, long))
    ann, wanted = Address("peer01", "membership"), DecreesWanted((long.name,))
    sends = [machine.membership.receive(ann, wanted, world.now) for _ in range(1_000)]
    told = [message for each in sends for message in _to(each, ann) if isinstance(message, DecreesTold)]
    assert 100 < len(told) <= TOLD_BYTES_A_MINUTE // DECREE_BYTES_MAX
