"""Licences, void holdings and false suspicions in meshes that are cut, paused, slow and lossy."""

from __future__ import annotations

from math import inf
from random import Random

import pytest

from mesh.actors.actor import Address, Message, Send
from mesh.actors.ownership import Ownership, OwnershipChanged
from mesh.membership.membership import Membership
from mesh.membership.model.members import State
from mesh.membership.model.messages import (
    CrawlLicensed,
    HoldingsRevoked,
    LeaveMesh,
    QueueMeasured,
    ServeSlots,
    StopMembership,
)
from mesh.membership.model.swim_settings import SwimSettings
from mesh.membership.model.wire_messages import MemberRecord, Ping, PingAnswered, Rumour, RumoursSpread
from mesh.membership.own.balance import BalanceSettings
from mesh.tables.memory_table import MemoryTable
from tests.mesh.membership_world import CONFIG, Machine, TrustingCredentials, World, door_of, record_of

SEEDS = range(3)
PACE = SwimSettings()


# --- Licences ------------------------------------------------------------------------------------


def test_a_lone_member_is_licensed_for_ever_before_it_hears_what_it_owns() -> None:
    sends = actor("me").wake(0.0)
    messages = [send.message for send in sends if send.target.actor == "controller"]
    assert messages[0] == CrawlLicensed(inf)
    assert isinstance(messages[1], OwnershipChanged)


def test_who_joins_a_mesh_has_no_licence_before_others_have_answered() -> None:
    world = World(1)
    world.mesh(2, until=10.0)
    late = world.add("late", [door_of("boot")])
    while late.ownership is None:
        world.run(world.now + 0.01)
    assert late.listener.licences == [0.0]
    world.run(world.now + 3.0)
    assert late.listener.licensed_until > world.now


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("n", [1, 2, 3, 8, 20])
def test_in_a_healthy_mesh_all_are_licensed_all_the_time(n: int, seed: int) -> None:
    world = World(seed, loss=0.02)
    world.mesh(n, until=8.0)
    for _ in range(300):
        world.run(world.now + 0.1)
        assert all(machine.listener.licensed_until > world.now for machine in world.up())
    assert [machine.holder.revocations for machine in world.up()] == [[]] * (n + 1)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("n", [2, 4, 8, 19])
def test_the_crash_of_one_stops_nobody_who_is_left_with_a_majority(n: int, seed: int) -> None:
    world = World(seed)
    world.mesh(n, until=8.0)
    world.crash("peer01")
    for _ in range(100):
        world.run(world.now + 0.1)
        assert all(machine.listener.licensed_until > world.now for machine in world.up())


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize(("n", "cut_off"), [(3, 1), (5, 2), (7, 3), (9, 4), (12, 1), (15, 7), (15, 3)])
def test_who_is_cut_off_has_no_licence_by_the_time_anybody_holds_it_for_dead(
    n: int, cut_off: int, seed: int
) -> None:
    world = World(seed, loss=0.02)
    world.mesh(n - 1, until=8.0 + Random(seed).random())
    names = sorted(world.machines, key=lambda peer: (world.random.random(), peer))
    minority, majority = names[:cut_off], names[cut_off:]
    world.partition(minority, majority)
    buried: set[str] = set()
    ends_at = world.now + 20.0
    while world.now < ends_at:
        world.run(world.now + 0.05)
        for peer in set(minority) - buried:
            if any(believed(world.machines[name], peer) == State.DEAD for name in majority):
                buried.add(peer)
        for peer in buried:
            assert world.machines[peer].listener.licensed_until < world.now
    assert buried == set(minority)
    assert all(world.machines[peer].listener.licensed_until > world.now for peer in majority)
    assert not any(view.has_majority for view in map(ownership_of, map(world.machines.get, minority)))


def test_of_two_halves_the_one_with_the_smallest_id_goes_on() -> None:
    world = World(4)
    world.mesh(3, until=8.0)
    world.partition(["boot", "peer01"], ["peer00", "peer02"])
    world.run(20.0)
    licensed = {peer for peer, m in world.machines.items() if m.listener.licensed_until > world.now}
    assert licensed == {"boot", "peer01"}
    assert {peer for peer, m in world.machines.items() if ownership_of(m).has_majority} == licensed


def test_the_dead_count_for_the_majority_and_leavers_do_not() -> None:
    world = World(5)
    world.mesh(4, until=8.0)
    for peer in ("boot", "peer00"):
        world.say(peer, LeaveMesh())
    world.run(10.0)
    world.crash("peer01")
    world.run(20.0)
    assert all(machine.listener.licensed_until > world.now for machine in world.up())
    world.crash("peer02")
    world.run(30.0)
    assert world.machines["peer03"].listener.licensed_until < world.now


def test_who_is_left_alone_by_leavers_is_licensed_for_ever() -> None:
    world = World(6)
    world.mesh(1, until=8.0)
    world.say("boot", LeaveMesh())
    world.run(10.0)
    assert world.machines["peer00"].listener.licensed_until == inf
    world.add("late", [door_of("peer00")])
    world.run(20.0)
    assert 20.0 < world.machines["peer00"].listener.licensed_until < inf


@pytest.mark.parametrize(
    ("crashed", "left", "is_licensed"), [("peer00", "boot", True), ("boot", "peer00", False)]
)
def test_of_two_members_the_one_with_the_smaller_id_goes_on_alone(
    crashed: str, left: str, *, is_licensed: bool
) -> None:
    world = World(8)
    world.mesh(1, until=8.0)
    world.crash(crashed)
    for _ in range(100):
        world.run(world.now + 0.5)
        is_now = world.machines[left].listener.licensed_until > world.now
        assert is_now == is_licensed or world.now < 8.0 + PACE.licence_s


@pytest.mark.parametrize("n", [1, 2, 4, 8])
def test_nothing_is_revoked_while_members_come_to_rest_and_begin_again(n: int) -> None:
    """Each change of the pace comes before the licence ends that was given for the other one."""
    world = World(11 + n)
    world.mesh(n, until=8.0)
    random, peers = Random(n), list(world.machines)
    for round_ in range(12):
        busy = random.choice(peers)
        world.say(busy, QueueMeasured(round_ % 2))
        until = world.now + random.uniform(1.0, 25.0)
        while world.now < until:
            world.run(world.now + 0.05)
            assert all(machine.listener.licensed_until > world.now for machine in world.up())
        world.say(busy, QueueMeasured(0))
    assert not any(machine.holder.revocations for machine in world.up())


def test_a_member_that_starts_again_costs_no_other_its_licence() -> None:
    world = World(31)
    world.mesh(2, until=30.0)
    stayed = [world.machines["boot"], world.machines["peer00"]]
    for phase in range(12):
        world.crash("peer01")
        world.run(world.now + 0.3)
        world.restart("peer01")
        until = world.now + 24.0 + phase / 4.0
        while world.now < until:
            world.run(world.now + 0.05)
            assert all(machine.listener.licensed_until > world.now for machine in stayed)
    assert not any(machine.holder.revocations for machine in stayed)


@pytest.mark.parametrize("is_loaded", [False, True])
@pytest.mark.parametrize("n", [2, 4, 7])
def test_most_hold_a_member_dead_only_when_its_licence_has_run_out(n: int, *, is_loaded: bool) -> None:
    """Also where the mesh has been at rest, and one of the others comes to have something to fetch."""
    for seed in range(12):
        world = World(seed)
        world.mesh(n, until=30.0 + seed / 3.0)
        cut_off = world.machines["peer01"]
        others = [machine for machine in world.up() if machine is not cut_off]
        if is_loaded:
            world.say("peer00", QueueMeasured(5))
            world.run(world.now + seed / 12.0)
        assert cut_off.listener.licensed_until > world.now
        world.partition(["peer01"], [machine.node.peer for machine in others])
        buried_by = 0
        while 2 * buried_by <= n:
            world.run(world.now + 0.02)
            believed = [machine.membership._members.get("peer01") for machine in others]
            buried_by = sum(rumour is not None and rumour.state == State.DEAD for rumour in believed)
        assert cut_off.listener.licensed_until <= world.now


@pytest.mark.parametrize("seconds", [2.5, 4.0, 30.0])
def test_a_peer_that_was_paused_is_not_licensed_by_answers_from_before(seconds: float) -> None:
    world = World(7)
    world.mesh(4, until=8.0)
    paused = world.machines["peer01"]
    started = world.now
    world.pause("peer01", seconds)
    world.run(started + seconds)  # what waited for it has been delivered, at that moment
    assert paused.listener.licensed_until <= started + PACE.licence_s
    world.run(started + seconds + 6.0)
    assert paused.listener.licensed_until > world.now


def test_an_answer_that_says_it_suspects_us_is_no_witness() -> None:
    for rumours, is_renewed in [((), True), ((Rumour(record_of("me"), State.SUSPECT),), False)]:
        membership = member_of(record_of("a"), record_of("b"))
        sends: list[Send] = []
        for i in range(40):
            for send in membership.wake(2.0 + 0.1 * i):
                if isinstance(send.message, Ping):
                    answer = PingAnswered(send.message.sequence, send.target.peer, rumours)
                    sends += membership.receive(send.target, answer, 2.0 + 0.1 * i)
        assert any(isinstance(send.message, CrawlLicensed) for send in sends) is is_renewed


def test_who_has_no_majority_lets_no_stranger_in() -> None:
    world = World(8)
    world.mesh(4, until=8.0)
    for peer in ("peer00", "peer01", "peer02"):
        world.crash(peer)
    world.run(16.0)
    stranger = world.add("stranger", [door_of("boot")])
    world.run(30.0)
    assert not stranger.observe().is_member
    world.restart("peer00")
    world.run(40.0)
    assert not stranger.refusal
    world.run(75.0)
    assert stranger.observe().is_member


# --- Void holdings ---------------------------------------------------------------------------------


def test_a_member_held_for_dead_is_told_once_that_what_it_holds_is_void() -> None:
    membership = member_of(record_of("a"))
    idle(membership, until=4.0)
    dead = RumoursSpread((Rumour(own_record(membership), State.DEAD),))
    sends = membership.receive(Address("a", "membership"), dead, 4.0)
    assert revocations(sends) == 1
    assert revocations(membership.receive(Address("a", "membership"), dead, 4.1)) == 0
    assert membership.observe().holdings_revoked == 1


def test_it_is_told_too_when_it_has_written_a_newer_record_meanwhile() -> None:
    membership = member_of(record_of("a"))
    old = own_record(membership)
    idle(membership, until=4.0)
    membership.receive(Address("me", "handover"), ServeSlots(), 4.0)
    new = own_record(membership)
    sends = membership.receive(Address("a", "membership"), RumoursSpread((Rumour(old, State.DEAD),)), 4.0)
    assert revocations(sends) == 1
    assert own_record(membership) == new, "the rumour is old, so there is nothing to refute"


def test_who_was_licensed_all_along_cannot_have_lost_anything_whoever_held_it_for_dead() -> None:
    world = World(3)
    world.mesh(4, until=8.0)
    machine = world.machines["peer01"]
    world.say("peer01", ServeSlots())  # a record that was published while it was licensed
    before = own_record(machine.membership)
    dead = Rumour(before, State.DEAD)
    machine.node.receive(Address("boot", "membership"), "membership", RumoursSpread((dead,)), world.now)
    assert own_record(machine.membership).incarnation == before.incarnation + 1
    assert machine.holder.revocations == []


def test_a_suspect_keeps_what_it_holds() -> None:
    membership = member_of(record_of("a"))
    suspect = RumoursSpread((Rumour(own_record(membership), State.SUSPECT),))
    assert revocations(membership.receive(Address("a", "membership"), suspect, 1.0)) == 0
    assert membership.observe().refutations == 1


def test_who_was_a_suspect_while_it_had_long_no_licence_holds_nothing() -> None:
    membership = member_of(record_of("a"))
    idle(membership, until=4.0)
    before = own_record(membership)
    suspect, dead = (RumoursSpread((Rumour(before, state),)) for state in (State.SUSPECT, State.DEAD))
    assert revocations(membership.receive(Address("a", "membership"), suspect, 4.0)) == 1
    assert own_record(membership).incarnation == before.incarnation + 1, "others let it answer again by this"
    assert revocations(membership.receive(Address("a", "membership"), dead, 4.1)) == 0


def test_what_it_came_to_hold_after_a_pause_is_void_when_it_is_held_for_dead_again() -> None:
    world = World(10)
    machine = pause_all_others(world, 4.0)
    world.run(20.0)
    assert machine.listener.licensed_until > world.now, "it has earned a licence, and may hold slots"
    before = len(machine.holder.revocations)
    assert before > 0
    for other in world.up():
        if other is not machine:
            world.crash(other.node.peer)
    world.run(machine.listener.licensed_until + 0.1)
    dead = RumoursSpread((Rumour(own_record(machine.membership), State.DEAD),))
    machine.node.receive(Address("boot", "membership"), "membership", dead, world.now)
    assert len(machine.holder.revocations) == before + 1


@pytest.mark.parametrize("seed", SEEDS)
def test_who_stood_still_holds_nothing_before_anybody_takes_it_for_live_again(seed: int) -> None:
    world = World(seed)
    world.mesh(5, until=8.0)
    machine = world.machines["peer01"]
    for _ in range(3):
        world.run(world.now + 8.0)
        before = len(machine.holder.revocations)
        world.pause("peer01", 12.0)
        world.run_until_all_believe("peer01", State.DEAD, within=11.0)
        while State.ALIVE not in world.states_of("peer01").values():
            world.run(world.now + 0.001)
            assert world.now < 100.0
        assert len(machine.holder.revocations) > before


def test_who_was_dead_is_told_by_those_who_hear_it_first() -> None:
    membership = member_of(record_of("a"), record_of("b"))
    dead = Rumour(record_of("a"), State.DEAD)
    membership.receive(Address("a", "membership"), RumoursSpread((dead,)), 1.0)
    membership.receive(Address("a", "membership"), Ping(1), 1.9)  # the whole list has just been sent
    back = Rumour(record_of("a", incarnation=1), State.ALIVE)
    sends = membership.receive(Address("a", "membership"), Ping(2, (back,)), 2.0)
    assert Send(Address("a", "membership"), RumoursSpread((dead,))) in sends


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("writes_meanwhile", [False, True])
def test_members_cut_off_and_back_hold_nothing_before_they_own_anything(
    writes_meanwhile: bool, seed: int
) -> None:
    world = World(seed, loss=0.1)
    world.mesh(6, until=8.0)
    minority = ["peer00", "peer03"]
    world.partition(minority, set(world.machines) - set(minority))
    world.run(16.0)
    for peer in minority if writes_meanwhile else ():
        world.say(peer, ServeSlots())
    world.run(20.0)
    world.heal()
    for peer in minority:
        while "peer01" not in ownership_of(world.machines[peer]).alive:
            world.run(world.now + 0.05)
            assert world.now < 60.0
    world.run(world.now + 3.0)
    for peer in minority:
        assert len(world.machines[peer].holder.revocations) >= 1
    assert all(not m.holder.revocations for p, m in world.machines.items() if p not in minority)


def test_a_restart_voids_nothing() -> None:
    world = World(9)
    world.mesh(4, until=8.0)
    world.crash("peer01")
    world.run(15.0)
    back = world.restart("peer01")
    world.run(25.0)
    assert back.observe().is_member
    assert back.holder.revocations == []


def test_after_a_pause_in_which_it_may_have_died_a_member_holds_nothing_though_nobody_tells() -> None:
    world = World(10)
    machine = pause_all_others(world, 4.0)
    world.run(20.0)
    assert machine.holder.revocations != []


# --- False suspicions --------------------------------------------------------------------------------


def test_a_late_wake_neither_accuses_nor_buries() -> None:
    membership = member_of(record_of("a"), record_of("b"))
    suspect = Rumour(record_of("b"), State.SUSPECT, ("a",))
    membership.receive(Address("a", "membership"), RumoursSpread((suspect,)), 0.1)
    idle(membership, until=1.4)
    assert membership.observe().suspect == 1
    membership.wake(61.4)
    seen = membership.observe()
    assert (seen.alive, seen.suspect, seen.dead) == (2, 1, 0)
    assert (seen.stalls, seen.distrust) == (1, 2)
    membership.receive(Address("b", "membership"), RumoursSpread((newer("b"),)), 61.5)
    assert membership.observe().suspect == 0
    assert membership.observe().false_suspicions == 1


def test_a_message_that_comes_before_the_late_wake_counts_as_one_stall() -> None:
    membership = member_of(record_of("a"))
    idle(membership, until=1.0)
    for _ in range(3):
        membership.receive(Address("a", "membership"), Ping(1), 50.0)
    membership.wake(50.0)
    assert membership.observe().stalls == 1


def test_a_member_that_has_to_refute_distrusts_itself() -> None:
    membership = member_of(record_of("a"))
    suspect = RumoursSpread((Rumour(own_record(membership), State.SUSPECT),))
    membership.receive(Address("a", "membership"), suspect, 0.1)
    assert membership.observe().distrust == 2


def test_who_says_bad_things_that_were_taken_back_is_set_right() -> None:
    membership = member_of(record_of("a", incarnation=1), record_of("b"))
    old = Rumour(record_of("a"), State.SUSPECT)
    right = Rumour(record_of("a", incarnation=1), State.ALIVE)
    sends = membership.receive(Address("b", "membership"), Ping(1, (old,)), 0.1)
    assert Send(Address("b", "membership"), RumoursSpread((right,))) in sends
    assert membership.receive(Address("b", "membership"), RumoursSpread((right,)), 0.1) == []


def test_suspicion_of_several_is_passed_on_with_their_names() -> None:
    membership = member_of(*map(record_of, "abcdef"))
    for accuser in "bc":
        suspect = Rumour(record_of("a"), State.SUSPECT, (accuser,))
        membership.receive(Address(accuser, "membership"), RumoursSpread((suspect,)), 1.0)
    spread = [send.message for send in membership.wake(1.2) if isinstance(send.message, RumoursSpread)]
    assert Rumour(record_of("a"), State.SUSPECT, ("b", "c")) in spread[0].gossip


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("n", [4, 12])
def test_ten_percent_loss_buries_nobody_and_voids_nothing(n: int, seed: int) -> None:
    world = World(seed, loss=0.1)
    world.mesh(n, until=8.0)
    for _ in range(120):
        world.run(world.now + 0.5)
        assert {machine.observe().dead for machine in world.up()} == {0}
    assert [machine.holder.revocations for machine in world.up()] == [[]] * (n + 1)


@pytest.mark.parametrize("seed", SEEDS)
def test_members_that_stand_still_every_other_second_bury_nobody_and_are_not_buried(seed: int) -> None:
    world = World(seed, loss=0.01)
    world.mesh(9, until=8.0)
    slow = ["peer02", "peer05", "peer07"]
    for _ in range(40):
        for peer in slow:
            world.pause(peer, world.random.uniform(0.3, 1.2))
        world.run(world.now + world.random.uniform(1.3, 2.0))
        assert {machine.observe().dead for machine in world.up()} == {0}
    assert all(world.machines[peer].observe().stalls > 10 for peer in slow)


@pytest.mark.parametrize("seed", SEEDS)
def test_a_crash_among_slow_members_is_found_all_the_same(seed: int) -> None:
    world = World(seed)
    world.mesh(6, until=8.0)
    world.crash("peer04")
    ends_at = world.now + 12.0
    while world.now < ends_at:
        for peer in ("peer00", "peer01", "peer02", "peer03", "peer05", "boot"):
            world.pause(peer, 0.4)
        world.run(world.now + 1.0)
    assert set(world.states_of("peer04").values()) == {State.DEAD}


def test_a_peer_that_stops_is_out_of_the_tables_at_once() -> None:
    world = World(11)
    first, *_ = world.mesh(4, until=8.0)
    world.say("peer03", StopMembership())
    world.run(world.now + 1.0)
    assert "peer03" not in ownership_of(first).table.weights
    assert first.observe().distrust == 1


# --- Weights by queue length -----------------------------------------------------------------------


def test_queue_lengths_ride_on_pings_and_weights_follow_them() -> None:
    world = World(12, balance=BalanceSettings(threshold=100, interval_s=5.0))
    first, *_ = world.mesh(3, until=8.0)
    for peer, length in (("peer00", 8_000), ("peer01", 1_000), ("peer02", 3_000)):
        world.say(peer, ServeSlots())
        world.say(peer, QueueMeasured(length))
    world.run(20.0)
    assert ownership_of(first).table.weights == {"boot": 0, "peer00": 56, "peer01": 144, "peer02": 100}
    assert ownership_of(first).serving.weights["peer00"] == 100
    world.run(80.0)
    assert ownership_of(first).table.weights["peer00"] == 56, "the move is not over"


def test_equal_machines_have_equal_weights_again_when_their_queues_are_empty() -> None:
    world = World(13, balance=BalanceSettings(threshold=100, interval_s=5.0))
    first, *_ = world.mesh(3, until=8.0)
    for peer, length in (("peer00", 8_000), ("peer01", 1_000), ("peer02", 3_000)):
        world.say(peer, ServeSlots())
        world.say(peer, QueueMeasured(length))
    world.run(20.0)
    for peer in ("peer00", "peer01", "peer02"):
        world.say(peer, ServeSlots())
        world.say(peer, QueueMeasured(0))
    world.run(50.0)
    assert ownership_of(first).table.weights == {"boot": 0, "peer00": 100, "peer01": 100, "peer02": 100}


def test_a_drained_peer_takes_nothing_from_a_long_queue() -> None:
    world = World(13, balance=BalanceSettings(threshold=100, interval_s=5.0))
    first, *_ = world.mesh(2, until=8.0)
    for peer, length in (("peer00", 8_000), ("peer01", 0), ("boot", 0)):
        world.say(peer, ServeSlots())
        world.say(peer, QueueMeasured(length))
    world.run(9.0)
    assert ownership_of(first).table.weights["boot"] == 0


# --- Builders --------------------------------------------------------------------------------------


def actor(peer: str) -> Membership:
    return Membership(
        record_of(peer),
        CONFIG,
        Random(1),
        MemoryTable(),
        TrustingCredentials(),
        listeners=("controller", "handover"),
    )


def member_of(*members: MemberRecord) -> Membership:
    """A member at time 0 that knows these others."""
    membership = actor("me")
    membership.wake(0.0)
    for record in members:
        membership._intake.learn(Rumour(record, State.ALIVE), 0.0, is_news=False)
    membership._flush(0.0)
    return membership


def idle(membership: Membership, until: float) -> None:
    """Wake it whenever it wants to be woken, and answer nothing."""
    while membership.wake_at() < until:
        membership.wake(membership.wake_at())


def pause_all_others(world: World, seconds: float) -> Machine:
    """Have all members but one stand still, so that none of them notices; returns that one."""
    world.mesh(4, until=8.0)
    for peer in world.machines:
        if peer != "peer01":
            world.pause(peer, seconds)
    return world.machines["peer01"]


def newer(peer: str) -> Rumour:
    return Rumour(record_of(peer, incarnation=1), State.ALIVE)


def own_record(membership: Membership) -> MemberRecord:
    rumour = membership._members.get(membership.me)
    assert rumour is not None
    return rumour.record


def revocations(sends: list[Send]) -> int:
    messages: list[Message] = [send.message for send in sends if send.target.actor == "handover"]
    return messages.count(HoldingsRevoked())


def believed(machine: Machine, peer: str) -> int:
    rumour = machine.membership._members.get(peer)
    assert rumour is not None
    return rumour.state


def ownership_of(machine: Machine | None) -> Ownership:
    assert machine is not None
    assert machine.ownership is not None
    return machine.ownership
