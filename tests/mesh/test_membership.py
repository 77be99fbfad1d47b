"""Meshes of membership actors in virtual time, and single actors by their inputs and outputs."""

from __future__ import annotations

import os
import subprocess
import sys
from itertools import permutations
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from mesh.actors.actor import Address, Message, Send
from mesh.actors.node import Node
from mesh.actors.ownership import OwnershipChanged
from mesh.config import MeshConfig
from mesh.errors import ConfigError, LocalProtocolError, RemoteProtocolError
from mesh.keys.certificate import Grant, issue
from mesh.keys.decree import DRAIN, WRITE_OFF, Signer, number_body
from mesh.keys.identity import Identity
from mesh.keys.signing_key import SigningKey
from mesh.membership.admission import refusal_of
from mesh.membership.doors.knock_schedule import DoorAddress, KnockSchedule
from mesh.membership.failures.prober import RELAYS_MAX, Prober
from mesh.membership.membership import Membership
from mesh.membership.model.credentials import PeerCredentials
from mesh.membership.model.members import MemberList, State, beats
from mesh.membership.model.messages import (
    AnswerDoor,
    ConnectPeer,
    DisconnectPeer,
    DoorKnocked,
    DrainPeer,
    Knock,
    Knocked,
    LeaveMesh,
    MembershipEnded,
    MembershipRefused,
    PublishDecree,
    QueueMeasured,
    ServeSlots,
    StopMembership,
)
from mesh.membership.model.rumours import RumourQueue
from mesh.membership.model.swim_settings import SwimSettings
from mesh.membership.model.wire_messages import (
    GOSSIP_MAX,
    MEMBERS_MAX,
    DecreesTold,
    JoinMesh,
    JoinRefused,
    MemberRecord,
    MembersTold,
    MembersWanted,
    Ping,
    PingAnswered,
    PingRequested,
    Rumour,
    RumoursSpread,
    Welcomed,
)
from mesh.membership.own.refutation import ECHOES_MAX, NEWCOMER_S
from mesh.membership.own.serving_weights import READY
from mesh.slots import SlotTable
from mesh.tables.memory_table import MemoryTable
from peers.crawler.model.wire_messages import LinksAccepted
from tests.mesh.membership_world import CONFIG, ROOT, TrustingCredentials, World, door_of, record_of

SEEDS = range(3)
BY_ROOT = Signer(ROOT, CONFIG.digest())


# --- Joining -----------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("n", [1, 3, 20])
def test_peers_that_join_through_one_bootstrap_agree_on_one_epoch(n: int, seed: int) -> None:
    world = World(seed, loss=0.05)
    peers = world.mesh(n, until=15.0)
    assert len(world.epochs()) == 1
    assert all(machine.observe().alive == n + 1 for machine in world.up())
    assert {machine.observe().dead for machine in world.up()} == {0}
    ownership = peers[0].ownership
    assert ownership is not None
    assert ownership.table.weights == {"boot": 0} | {machine.node.peer: 100 for machine in peers}


def test_fifty_peers_agree_and_nobody_is_suspected_of_being_new() -> None:
    world = World(1)
    world.mesh(50, until=12.0)
    assert len(world.epochs()) == 1
    assert sum(machine.observe().refutations for machine in world.up()) == 0


def test_the_table_grown_peer_by_peer_is_that_of_its_weights() -> None:
    world = World(2)
    for machine in world.mesh(5, until=10.0):
        for ownership in machine.listener.ownerships:
            table = ownership.table
            anew = SlotTable(table.weights, CONFIG.slot_count, CONFIG.replicas)
            assert (table.ranking == anew.ranking).all()


def history(seed: int) -> str:
    world = World(seed, loss=0.1)
    world.mesh(8, until=20.0)
    return f"{world.messages} {[machine.observe() for machine in world.up()]}"


def test_same_seed_same_history() -> None:
    assert history(5) == history(5)
    assert history(5) != history(6)


def test_same_seed_same_history_under_another_hash_seed() -> None:
    output = subprocess.run(
        [sys.executable, "-c", "from tests.mesh.test_membership import history; print(history(5))"],
        env=os.environ | {"PYTHONHASHSEED": "4242"},
        cwd=Path(__file__).parents[2],
        capture_output=True,
        check=True,
        text=True,
    ).stdout
    assert output.strip() == history(5)


def test_a_stranger_waits_for_its_bootstrap_and_tries_the_next_door() -> None:
    world = World(3)
    late = world.add("peer00", [door_of("boot"), door_of("boot2")])
    world.run(20.0)
    assert late.ownership is None
    assert not late.observe().is_member
    world.add("boot2", weight=0)
    world.run(60.0)
    assert late.observe().is_member
    assert len(world.epochs()) == 1


def test_pauses_between_rounds_of_knocking_grow_to_their_limit() -> None:
    pace = SwimSettings()
    joiner = KnockSchedule([door_of("a"), door_of("b"), door_of("a")], pace, Random(1))
    joiner.start(0.0)
    now, pauses = 0.0, []
    for _ in range(12):
        for name in ("a", "b"):
            assert joiner.knocks(now) == door_of(name)
            assert joiner.knocks(now) is None
            is_round_over = joiner.move_on(now)
        assert is_round_over
        pauses.append(joiner.wake_at() - now)
        now = joiner.wake_at()
    assert 0.25 <= pauses[0] <= 0.75
    assert 15.0 <= pauses[-1] <= 45.0


def test_a_door_that_does_not_even_report_back_is_given_up() -> None:
    membership = actor("me", doors=[door_of("a"), door_of("b")])
    assert knocked_at(membership.wake(0.0)) == [door_of("a").endpoint]
    assert membership.wake_at() == SwimSettings().knock_timeout_s
    assert knocked_at(membership.wake(membership.wake_at())) == [door_of("b").endpoint]


def test_an_own_door_is_not_knocked_at() -> None:
    membership = actor("me", doors=[door_of("me")])
    assert knocked_at(membership.wake(0.0)) == []
    assert membership.observe().is_member


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"config": MeshConfig(name="other", root_key="00" * 32, analysis_version=6)}, "configured for mesh"),
        ({"curve_key": b"another"}, "another key: make new keys"),
    ],
)
def test_a_refused_stranger_says_why(changes: dict[str, Any], words: str) -> None:
    world = World(4)
    world.mesh(1, until=5.0)
    peer = "peer00" if "curve_key" in changes else "stranger"
    if peer == "peer00":
        world.crash(peer)
    stranger = world.add(peer, [door_of("boot")], **changes)
    world.run(10.0)
    assert words in stranger.refusal
    assert stranger.observe().refusal == stranger.refusal
    assert stranger.membership.wake_at() == float("inf")
    assert world.machines["boot"].observe().joins_refused == 1


def test_admission_refuses_with_one_sentence() -> None:
    members = MemberList()
    members.merge(Rumour(record_of("known"), State.ALIVE))
    digest = CONFIG.digest()

    def reason(record: MemberRecord, key: bytes | None = None, mesh: bytes = digest) -> str:
        return refusal_of(
            JoinMesh(record, mesh),
            record.curve_key if key is None else key,
            mesh_digest=digest,
            members=members,
            credentials=TrustingCredentials(),
        )

    stranger = record_of("stranger")
    assert reason(stranger) == ""
    assert "another key than the connection" in reason(stranger, key=b"x")
    assert "configured for mesh" in reason(stranger, mesh=bytes(16))
    assert "certificate" in reason(replace(stranger, signature=b"forged"))
    assert "taken" in reason(record_of("known", curve_key=b"x"))
    assert len(reason(stranger, mesh=bytes(128))) <= 300
    for i in range(len(members), MEMBERS_MAX):
        members.merge(Rumour(record_of(str(i)), State.ALIVE))
    assert "full" in reason(stranger)
    assert reason(record_of("known")) == ""


def test_a_stranger_at_the_door_is_welcomed_with_all_members() -> None:
    membership = founder()
    sends = membership.receive(local("door"), knock_of(record_of("new", weight=0)), 1.0)
    (answer,) = [send.message for send in sends if isinstance(send.message, AnswerDoor)]
    assert answer.handle == 7
    assert isinstance(answer.answer, Welcomed)
    assert [rumour.record.peer for rumour in answer.answer.members] == ["me", "new"]
    assert Send(local("network"), ConnectPeer(record_of("new", weight=0))) in sends
    assert membership.observe().joins_admitted == 1


def test_two_machines_that_join_at_once_choose_different_ids() -> None:
    """Both ask by one token, before either has started."""
    membership = founder()

    def answer(key: bytes, now: float) -> str:
        record = replace(record_of("free", curve_key=key), signature=b"")
        sends = membership.receive(local("door"), knock_of(record), now)
        (told,) = [send.message.answer for send in sends if isinstance(send.message, AnswerDoor)]
        assert isinstance(told, JoinRefused)
        return told.reason

    assert "certificate" in answer(b"one", 1.0)
    assert answer(b"other", 2.0).startswith("the id free is taken")
    assert "certificate" in answer(b"one", 3.0)
    assert "certificate" in answer(b"other", 700.0)  # the first one was not started


def test_who_is_no_member_yet_admits_nobody() -> None:
    membership = actor("me", doors=[door_of("a")])
    sends = membership.receive(local("door"), knock_of(record_of("new")), 0.0)
    assert not [send for send in sends if isinstance(send.message, AnswerDoor)]


# --- Shares --------------------------------------------------------------------------------------


def test_a_newcomer_takes_its_weight_at_once_and_serves_when_it_says_so() -> None:
    world = World(6)
    first = world.mesh(2, until=10.0)[0]
    for peer in ("peer00", "peer01"):
        world.say(peer, ServeSlots())
    world.run(11.0)
    newcomer = world.add("late", [door_of("boot")])
    world.run(16.0)
    view = first.ownership
    assert view is not None
    assert view.table.weights == {"boot": 0, "peer00": 100, "peer01": 100, "late": 100}
    assert view.serving.weights == {"boot": 0, "peer00": 100, "peer01": 100, "late": 0}
    world.say("late", ServeSlots())
    world.run(18.0)
    view = first.ownership
    assert view is not None
    assert view.serving is view.table
    assert newcomer.observe().serving == 100
    assert len(world.epochs()) == 1


def test_while_nobody_serves_who_owns_a_slot_answers_for_it() -> None:
    world = World(7)
    first, *_ = world.mesh(2, until=10.0)
    assert first.ownership is not None
    assert first.ownership.serving is first.ownership.table
    assert first.ownership.table.weights["peer01"] == 100


def test_serving_is_said_once_in_a_new_incarnation() -> None:
    membership = founder()
    before = own_record(membership)
    membership.receive(local("handover"), ServeSlots(), 1.0)
    assert own_record(membership) == replace(before, serving=100, incarnation=before.incarnation + 1)
    membership.receive(local("handover"), ServeSlots(), 2.0)
    assert membership.observe().incarnation == before.incarnation + 1


def test_those_who_are_ready_serve_as_soon_as_the_last_of_them_is() -> None:
    world = World(6)
    first, *_ = world.mesh(1, until=10.0)
    world.say("peer00", ServeSlots())
    for late in ("late1", "late2"):
        world.add(late, [door_of("boot")])
    world.run(16.0)
    world.say("late1", ServeSlots(is_together=True))
    world.run(18.0)
    assert first.ownership is not None
    assert first.ownership.serving.weights == {"boot": 0, "peer00": 100, "late1": 0, "late2": 0}
    world.say("late2", ServeSlots(is_together=True))
    world.run(20.0)
    assert first.ownership is not None
    assert first.ownership.serving is first.ownership.table
    assert first.ownership.table.weights == {"boot": 0, "peer00": 100, "late1": 100, "late2": 100}


def test_who_is_ready_is_not_ready_for_another_weight() -> None:
    membership = founder()
    membership.receive(local("handover"), ServeSlots(is_together=True), 1.0)
    ready = own_record(membership)
    assert (ready.weight, ready.serving) == (100, READY)
    membership.receive(local("handover"), ServeSlots(is_together=True), 2.0)
    assert own_record(membership) == ready
    membership.receive(Address("me", "driver"), DrainPeer(), 3.0)
    assert (own_record(membership).weight, own_record(membership).serving) == (0, 0)


def test_who_serves_waits_for_nobody_to_serve_more_or_less() -> None:
    membership = founder()
    membership.receive(local("handover"), ServeSlots(), 1.0)
    membership.receive(Address("me", "driver"), DrainPeer(), 2.0)
    membership.receive(local("handover"), ServeSlots(is_together=True), 3.0)
    assert own_record(membership).serving == 0


def test_a_restarted_peer_takes_its_weight_and_serves_nothing() -> None:
    world = World(8)
    first, *_ = world.mesh(3, until=10.0)
    for peer in ("peer00", "peer01", "peer02"):
        world.say(peer, ServeSlots())
    world.run(12.0)
    world.crash("peer02")
    world.run_until_all_believe("peer02", State.DEAD, within=6.0)
    back = world.restart("peer02", weight=55)
    world.run(world.now + 4.0)
    assert (back.observe().weight, back.observe().serving) == (55, 0)
    assert first.ownership is not None
    assert first.ownership.table.weights["peer02"] == 55
    assert first.ownership.serving.weights["peer02"] == 0


def test_a_member_that_lost_its_disk_comes_back_in_a_later_life() -> None:
    world = World(8)
    world.mesh(3, until=10.0)
    world.say("peer02", ServeSlots())
    world.run(12.0)
    incarnation = world.machines["peer02"].observe().incarnation
    world.crash("peer02")
    world.run(12.5)
    back = world.add("peer02", [door_of("boot")], endpoint="tcp://elsewhere:1")
    world.run(30.0)
    assert back.observe().incarnation > incarnation
    assert (back.observe().weight, back.observe().serving) == (100, 0)
    assert len(world.epochs()) == 1


def test_a_drained_peer_has_no_weight_until_it_is_told_to_take_its_share_again() -> None:
    source = Address("me", "driver")
    membership = founder(record_of("a"))
    membership.receive(local("handover"), ServeSlots(), 1.0)
    membership.receive(source, DrainPeer(), 2.0)
    seen, drained = membership.observe(), own_record(membership)
    assert (seen.weight, seen.serving, seen.is_draining) == (0, 100, True)
    membership.receive(source, DrainPeer(), 3.0)
    assert own_record(membership) == drained, "the same order again changes nothing"
    membership.receive(local("handover"), ServeSlots(), 4.0)
    assert membership.observe().serving == 0
    membership.receive(source, DrainPeer(is_draining=False), 5.0)
    seen = membership.observe()
    assert (seen.weight, seen.serving, seen.is_draining) == (100, 0, False)


def test_draining_outlives_a_restart() -> None:
    world = World(9)
    first, *_ = world.mesh(3, until=10.0)
    world.say("peer02", DrainPeer())
    world.run(12.0)
    world.crash("peer02")
    world.run(20.0)
    back = world.restart("peer02")
    world.run(25.0)
    assert (back.observe().weight, back.observe().is_draining) == (0, True)
    assert first.ownership is not None
    assert first.ownership.table.weights["peer02"] == 0
    world.say("peer02", DrainPeer(is_draining=False))
    assert back.observe().weight == 100


def order(kind: str, peer: str, number: int, value: int, signer: Signer = BY_ROOT) -> PublishDecree:
    return PublishDecree(1, signer.decree(kind, peer, number, number_body(value)))


def test_an_order_to_drain_finds_its_peer_and_is_carried_out_once() -> None:
    world = World(10)
    world.mesh(3, until=10.0)
    world.say("peer00", order(DRAIN, "peer02", 1, 1))
    world.run(11.0)
    assert world.machines["peer02"].observe().is_draining
    assert not world.machines["peer00"].observe().is_draining
    world.say("peer02", DrainPeer(is_draining=False))
    world.crash("peer02")
    back = world.restart("peer02")
    world.run(20.0)
    assert not back.observe().is_draining, "a person there has said otherwise since"
    world.say("peer00", order(DRAIN, "peer02", 2, 1))
    world.run(21.0)
    assert back.observe().is_draining
    world.say("boot", order(DRAIN, "peer02", 3, 0))
    world.run(22.0)
    assert not back.observe().is_draining


def test_an_order_is_obeyed_by_one_that_was_down_when_it_was_given() -> None:
    world = World(10)
    world.mesh(3, until=10.0)
    world.crash("peer02")
    world.say("peer00", order(DRAIN, "peer02", 1, 1))
    world.run(20.0)
    back = world.restart("peer02")
    world.run(25.0)
    assert back.observe().is_draining


def test_no_member_can_order_another_to_drain() -> None:
    """A member that did owned 512 slots of 512 within seconds."""
    world = World(10)
    world.mesh(3, until=10.0)
    eve = Signer(SigningKey.of_secret(b"e" * 32), CONFIG.digest())
    forged = order(DRAIN, "peer02", 1, 1, eve).decree
    victim = world.machines["peer02"].node
    victim.receive_remote(Address("peer00", "membership"), "membership", DecreesTold((forged,)), 10.0)
    with pytest.raises(RemoteProtocolError):
        victim.receive_remote(Address("peer00", "membership"), "membership", DrainPeer(), 10.0)
    world.run(12.0)
    assert not world.machines["peer02"].observe().is_draining


def test_a_machine_that_never_comes_back_is_written_off_by_decree() -> None:
    world = World(11)
    first, *_ = world.mesh(4, until=10.0)
    world.crash("peer03")
    world.run_until_all_believe("peer03", State.DEAD, within=6.0)
    known = first.membership._members.get("peer03")
    assert known is not None
    world.say("peer00", order(WRITE_OFF, "peer03", 1, known.record.incarnation))
    world.run_until_all_believe("peer03", State.LEFT, within=2.0)
    assert "peer03" not in first.connected
    back = world.restart("peer03")
    world.run_until_all_believe("peer03", State.ALIVE, within=5.0)
    assert back.observe().is_member
    assert not back.observe().is_draining


def test_who_is_alive_is_not_written_off() -> None:
    world = World(11)
    world.mesh(4, until=10.0)
    world.say("peer00", order(WRITE_OFF, "peer03", 1, 0))
    world.run(20.0)
    assert set(world.states_of("peer03").values()) == {State.ALIVE}


def test_nobody_is_written_off_without_a_majority() -> None:
    membership = founder(record_of("a"), record_of("b"))
    for peer in ("a", "b"):
        membership.receive(Address(peer, "membership"), dead(record_of(peer)), 1.0)
    membership.receive(local("driver"), order(WRITE_OFF, "a", 1, 0), 2.0)
    membership.wake(3.0)
    assert membership.observe().dead == 2
    assert membership.observe().left == 0


def test_the_dead_are_in_neither_table() -> None:
    world = World(12)
    first, *_ = world.mesh(4, until=10.0)
    for i in range(4):
        world.say(f"peer{i:02}", ServeSlots())
    world.run(12.0)
    world.crash("peer03")
    world.run_until_all_believe("peer03", State.DEAD, within=8.0)
    view = first.ownership
    assert view is not None
    assert "peer03" not in view.table.weights
    assert "peer03" not in view.serving.weights
    assert view.alive == {"boot", "peer00", "peer01", "peer02"}
    assert view.has_majority


@pytest.mark.parametrize(
    ("down", "missed"),
    [
        (record_of("b"), 1),
        (replace(record_of("b"), weight=0, serving=100), 1),
        (replace(record_of("b"), weight=0, is_draining=True), 1),
        (replace(record_of("b"), weight=0), 0),
    ],
    ids=["crawls", "answers", "drains", "a bootstrap node"],
)
def test_who_is_down_and_may_have_something_is_missed(down: MemberRecord, missed: int) -> None:
    membership = founder(down)
    membership.receive(Address("b", "membership"), dead(down), 1.0)
    assert membership._announcer.ownership is not None
    assert membership._announcer.ownership.missed == missed


# --- Failure detection ---------------------------------------------------------------------------


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("n", [3, 10, 30])
def test_a_crashed_peer_is_dead_everywhere_in_five_seconds(n: int, seed: int) -> None:
    world = World(seed)
    first, *_ = world.mesh(n, until=8.0)
    world.crash("peer01")
    assert world.run_until_all_believe("peer01", State.DEAD, within=5.0) > SwimSettings().suspicion_min_s
    world.run(world.now + 1.0)
    assert len(world.epochs()) == 1
    assert first.ownership is not None
    assert "peer01" not in first.ownership.alive


def test_a_slow_peer_refutes() -> None:
    world = World(10)
    world.mesh(6, until=8.0)
    before = world.machines["peer02"].observe().incarnation
    world.pause("peer02", 2.2)
    world.run(10.1)
    assert State.SUSPECT in world.states_of("peer02").values()
    epochs = world.epochs()
    world.run(30.0)
    assert set(world.states_of("peer02").values()) == {State.ALIVE}
    assert world.machines["peer02"].observe().incarnation > before
    assert world.machines["peer02"].observe().refutations > 0
    assert world.epochs() == epochs, "a suspect counts as alive"


def test_a_peer_paused_for_a_minute_is_taken_back() -> None:
    world = World(11)
    world.mesh(6, until=15.0)
    world.pause("peer02", 60.0)
    world.run(70.0)
    assert set(world.states_of("peer02").values()) == {State.DEAD}
    world.run(110.0)
    assert len(world.epochs()) == 1
    assert {machine.observe().alive for machine in world.up()} == {7}


def test_a_lost_link_between_two_peers_makes_nobody_dead() -> None:
    world = World(12)
    world.mesh(5, until=15.0)
    del world.machines["peer00"].connected["peer01"]
    del world.machines["peer01"].connected["peer00"]
    world.run(60.0)
    assert {machine.observe().dead for machine in world.up()} == {0}
    assert sum(machine.observe().refutations for machine in world.up()) == 0


@pytest.mark.parametrize("seed", SEEDS)
def test_a_restarted_peer_comes_back_with_a_higher_incarnation(seed: int) -> None:
    world = World(seed)
    world.mesh(5, until=15.0)
    before = world.machines["peer03"].observe().incarnation
    world.crash("peer03")
    world.run_until_all_believe("peer03", State.DEAD, within=20.0)
    back = world.restart("peer03", endpoint="tcp://peer03:99")
    world.run_until_all_believe("peer03", State.ALIVE, within=5.0)
    assert back.observe().incarnation > before
    world.run(world.now + 5.0)
    assert len(world.epochs()) == 1


@pytest.mark.parametrize("seed", SEEDS)
def test_partitions_heal(seed: int) -> None:
    world = World(seed)
    world.mesh(9, until=15.0)
    whole = world.epochs()
    names = list(world.machines)
    world.partition(names[:4], names[4:])
    world.run(60.0)
    assert {machine.observe().alive for machine in world.up()} == {4, 6}
    world.heal()
    world.run(80.0)
    assert {machine.observe().alive for machine in world.up()} == {10}
    assert world.epochs() == whole


def test_ten_percent_loss_kills_nobody() -> None:
    world = World(14, loss=0.1)
    world.mesh(10, until=15.0)
    world.run(120.0)
    assert sum(machine.observe().dead for machine in world.up()) == 0


def test_a_bootstrap_without_memory_is_found_again() -> None:
    world = World(15)
    world.mesh(4, until=15.0)
    world.crash("boot")
    world.run(25.0)
    world.add("boot", weight=0)
    world.run(65.0)
    assert {machine.observe().alive for machine in world.up()} == {5}
    assert len(world.epochs()) == 1


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize(("moves", "within"), [(False, 5.0), (True, 120.0)])
@pytest.mark.parametrize("ending", [StopMembership(), None])
def test_a_mesh_that_was_all_down_comes_back_without_its_bootstrap(
    ending: Message | None, moves: bool, within: float, seed: int
) -> None:
    world = World(seed)
    world.mesh(4, until=15.0)
    before = world.machines["peer00"].ownership
    for peer in list(world.machines):
        if ending is None:
            world.crash(peer)
        else:
            world.say(peer, ending)
    world.run(20.0)
    for i in range(4):
        world.restart(f"peer{i:02}", **({"endpoint": f"tcp://moved{i}:1"} if moves else {}))
    world.run(world.now + within)
    for machine in world.up():
        others = [rumour for rumour in machine.membership._members if rumour.record.peer != "boot"]
        assert {rumour.state for rumour in others} == {State.ALIVE}
        assert min(rumour.record.incarnation for rumour in others) > 0
    after = world.machines["peer00"].ownership
    assert before is not None
    assert after is not None
    assert after.table.weights | {"boot": 0} == before.table.weights


def rate_in(world: World) -> float:
    """Messages that a member sends in a second, of 30 s from now on."""
    before = world.messages
    world.run(world.now + 30.0)
    return (world.messages - before) / 30.0 / len(world.machines)


@pytest.mark.parametrize("is_crawling", [True, False])
def test_messages_per_member_and_second_do_not_grow_with_the_mesh(*, is_crawling: bool) -> None:
    def rate(n: int) -> float:
        world = World(17)
        world.mesh(n, until=30.0)
        if is_crawling:
            world.say("boot", QueueMeasured(1))
            world.run(33.0)
        return rate_in(world)

    rates = [rate(n) for n in (9, 32)]
    assert max(rates) < 2.1 / SwimSettings().probe_interval_s  # a ping, its answer, now and then all
    assert max(rates) < 1.1 * min(rates)


def test_where_nobody_has_anything_to_fetch_members_ping_as_often_as_their_licences_want() -> None:
    world = World(18)
    world.mesh(2, until=30.0)
    settings = SwimSettings()
    at_rest = rate_in(world)
    assert at_rest < 1.2 * 2.0 / settings.idle_pause_s(3, settings.idle_licence_s)  # a ping and its answer
    world.say("peer00", QueueMeasured(7))
    world.run(world.now + 3.0)  # all have heard of it
    assert rate_in(world) > 0.95 * 2.0 / settings.probe_interval_s > 4.0 * at_rest
    world.say("peer00", QueueMeasured(0))
    world.run(world.now + settings.idle_after_s + 3.0)
    assert rate_in(world) == pytest.approx(at_rest, rel=0.1)


def test_where_a_member_goes_the_others_ping_each_other_as_often_as_where_they_crawl() -> None:
    """Its slots move, and fewer are left to let them crawl: this is no rest."""
    world = World(18)
    world.mesh(4, until=30.0)
    at_rest = rate_in(world)
    world.say("peer03", StopMembership())
    world.run(world.now + 1.0)
    before = world.messages
    world.run(world.now + SwimSettings().idle_after_s - 1.0)
    rate = (world.messages - before) / (SwimSettings().idle_after_s - 1.0) / len(world.up())
    assert rate > 0.95 * 2.0 / SwimSettings().probe_interval_s > 2.0 * at_rest


@pytest.mark.parametrize("n", [2, 4, 12])
def test_a_crash_at_rest_is_known_everywhere_almost_as_soon(n: int) -> None:
    world = World(19)
    world.mesh(n, until=30.0)
    world.crash("peer01")
    settings = SwimSettings()
    first_probe_s = settings.idle_pause_s(n + 1, settings.idle_licence_s) + settings.probe_interval_s
    world.run_until_all_believe(
        "peer01", State.DEAD, within=first_probe_s + settings.probe_deadline_s + settings.suspicion_max_s
    )


# --- Leaving -------------------------------------------------------------------------------------


def test_a_leaver_is_in_no_table_and_no_majority() -> None:
    world = World(18)
    first, *_ = world.mesh(4, until=15.0)
    world.say("peer03", LeaveMesh())
    assert world.machines["peer03"].has_ended
    world.run_until_all_believe("peer03", State.LEFT, within=2.0)
    assert first.ownership is not None
    assert set(first.ownership.table.weights) == {"boot", "peer00", "peer01", "peer02"}
    assert set(first.membership._members.remaining()) == {"boot", "peer00", "peer01", "peer02"}
    assert len(world.epochs()) == 1
    assert "peer03" not in first.connected
    assert any(isinstance(event, DisconnectPeer) for event in first.events)


def test_a_leaver_may_come_back() -> None:
    world = World(19)
    first, *_ = world.mesh(4, until=15.0)
    world.say("peer03", LeaveMesh())
    world.run_until_all_believe("peer03", State.LEFT, within=2.0)
    world.restart("peer03")
    world.run_until_all_believe("peer03", State.ALIVE, within=5.0)
    assert first.ownership is not None
    assert first.ownership.alive == {"boot", "peer00", "peer01", "peer02", "peer03"}
    assert len(world.epochs()) == 1


def test_a_leaver_that_lost_its_disk_too_is_let_in_again() -> None:
    world = World(20)
    first, *_ = world.mesh(3, until=15.0)
    world.say("peer02", LeaveMesh())
    world.run(18.0)
    back = world.add("peer02", [door_of("boot")])
    world.run(25.0)
    assert back.observe().is_member
    assert back.observe().weight == 100
    assert first.ownership is not None
    assert first.ownership.table.weights["peer02"] == 100
    assert len(world.epochs()) == 1


def test_a_stopped_peer_is_dead_at_once_and_comes_back() -> None:
    world = World(21)
    world.mesh(4, until=15.0)
    world.say("peer03", StopMembership())
    assert world.run_until_all_believe("peer03", State.DEAD, within=2.0) < 1.0
    world.restart("peer03")
    world.run_until_all_believe("peer03", State.ALIVE, within=3.0)


def test_who_has_ended_is_silent() -> None:
    membership = founder(record_of("a"))
    sends = membership.receive(local("driver"), StopMembership(), 1.0)
    assert sends[-1] == Send(local("driver"), MembershipEnded())
    assert sends[0] == Send(
        Address("a", "membership"), RumoursSpread((Rumour(own_record(membership), State.DEAD),))
    )
    assert membership.wake_at() == float("inf")
    assert membership.receive(Address("a", "membership"), Ping(1), 2.0) == []
    assert membership.receive(local("driver"), StopMembership(), 3.0) == [
        Send(local("driver"), MembershipEnded())
    ]


# --- What others say -----------------------------------------------------------------------------


def test_a_ping_is_answered_at_once() -> None:
    membership = founder(record_of("a"))
    (send,) = membership.receive(Address("a", "membership"), Ping(9), 30.0)
    assert send.target == Address("a", "membership")
    assert isinstance(send.message, PingAnswered)
    assert (send.message.sequence, send.message.peer) == (9, "me")


def test_a_probe_for_another_is_passed_on_and_its_answer_back() -> None:
    membership = founder(record_of("a"), record_of("b"))
    own_word, send = membership.receive(Address("a", "membership"), PingRequested(9, "b"), 30.0)
    assert own_word.target.peer == "a"
    assert isinstance(own_word.message, PingAnswered)
    assert (own_word.message.sequence, own_word.message.peer) == (9, "me")
    assert send.target.peer == "b"
    assert isinstance(send.message, Ping)
    answer = PingAnswered(send.message.sequence, "b")
    (send,) = membership.receive(Address("b", "membership"), answer, 30.1)
    assert send.target.peer == "a"
    assert isinstance(send.message, PingAnswered)
    assert (send.message.sequence, send.message.peer) == (9, "b")
    assert membership.receive(Address("b", "membership"), answer, 30.2) == []


def test_probes_for_others_are_limited() -> None:
    prober = Prober(SwimSettings(), Random(1))
    for i in range(RELAYS_MAX):
        assert prober.relay("a", PingRequested(i, "b"), 0.0) is not None
    assert prober.relay("a", PingRequested(RELAYS_MAX, "b"), 0.0) is None
    prober.next_probe(10.0, ["b"])
    assert prober.relay("a", PingRequested(RELAYS_MAX, "b"), 10.0) is not None


def test_a_probe_of_a_stranger_or_of_oneself_is_not_made_for_others() -> None:
    membership = founder(record_of("a"))
    for target in ("nobody", "me"):
        (send,) = membership.receive(Address("a", "membership"), PingRequested(9, target), 30.0)
        assert isinstance(send.message, PingAnswered)
        assert send.message.peer == "me"


@pytest.mark.parametrize("state", list(State))
def test_an_older_record_changes_nothing(state: State) -> None:
    membership = founder(record_of("a", incarnation=5), record_of("b"))
    before = members_of(membership)
    older = Rumour(record_of("a", incarnation=4, weight=1, endpoint="tcp://evil:1"), state)
    membership.receive(Address("b", "membership"), RumoursSpread((older,)), 1.0)
    assert members_of(membership) == before


@pytest.mark.parametrize(
    "forged",
    [
        replace(record_of("a"), incarnation=9, signature=b"forged"),
        replace(record_of("unknown"), signature=b"forged"),
        record_of("a", incarnation=9, curve_key=b"another"),
        replace(record_of("me"), incarnation=99, signature=b"forged"),
    ],
)
@pytest.mark.parametrize("carrier", [RumoursSpread, MembersTold, MembersWanted, lambda g: Ping(1, g)])
def test_a_forged_record_changes_nothing_and_is_counted(forged: MemberRecord, carrier: Any) -> None:
    membership = founder(record_of("a"), record_of("b"))
    before = members_of(membership)
    membership.receive(Address("b", "membership"), carrier((Rumour(forged, State.ALIVE),)), 1.0)
    assert members_of(membership) == before
    assert membership.observe().records_refused == 1


def test_a_member_told_to_be_dead_takes_that_back_and_tells() -> None:
    membership = founder(record_of("a"))
    own = own_record(membership)
    rumour = Rumour(own, State.DEAD)
    membership.receive(Address("a", "membership"), RumoursSpread((rumour,)), 1.0)
    assert own_record(membership) == replace(own, incarnation=own.incarnation + 1)
    spread = [send.message for send in membership.wake(1.5) if isinstance(send.message, RumoursSpread)]
    assert Rumour(own_record(membership), State.ALIVE) in spread[0].gossip
    membership.receive(Address("a", "membership"), RumoursSpread((rumour,)), 2.0)
    assert membership.observe().refutations == 1, "an old rumour is not refuted again"


def test_a_key_that_is_in_use_twice_ends_the_peer_with_a_sentence() -> None:
    membership = founder(record_of("a"))
    sends: list[Send] = []
    for i in range(ECHOES_MAX + 1):
        assert membership.observe().refusal == ""
        twin = Rumour(record_of("me", incarnation=10 * (i + 1), endpoint="tcp://twin:1"), State.ALIVE)
        now = NEWCOMER_S + 1.0 + i
        sends = membership.receive(Address("a", "membership"), RumoursSpread((twin,)), now)
    (refused,) = (send.message for send in sends)
    assert isinstance(refused, MembershipRefused)
    assert "another process" in refused.reason
    assert membership.wake_at() == float("inf")


def test_of_two_processes_with_one_key_the_one_that_came_last_ends_at_once() -> None:
    twin = RumoursSpread((Rumour(record_of("me", incarnation=10, endpoint="tcp://twin:1"), State.ALIVE),))
    newcomer, settled = founder(record_of("a")), founder(record_of("a"))
    newcomer.receive(Address("a", "membership"), twin, 1.0)
    settled.receive(Address("a", "membership"), twin, NEWCOMER_S + 1.0)
    assert "another process" in newcomer.observe().refusal
    assert settled.observe().refusal == ""
    assert own_record(settled).incarnation > 10


def test_a_second_process_that_was_cut_off_when_it_was_new_ends_when_it_hears_of_the_first() -> None:
    twin = RumoursSpread((Rumour(record_of("me", incarnation=10, endpoint="tcp://twin:1"), State.ALIVE),))
    cut_off, settled = founder(record_of("a")), founder(record_of("a"))
    for second in range(1, 2 * int(NEWCOMER_S)):
        cut_off.wake(float(second))
        for send in settled.wake(float(second)):
            if isinstance(send.message, Ping):
                answer = PingAnswered(send.message.sequence, "a")
                settled.receive(Address("a", "membership"), answer, second + 0.01)
    for membership in (cut_off, settled):
        membership.receive(Address("a", "membership"), twin, 2 * NEWCOMER_S)
    assert "another process" in cut_off.observe().refusal
    assert settled.observe().refusal == ""


def test_newcomer_takes_back_what_is_old_of_itself_at_the_same_address() -> None:
    membership = founder(record_of("a"))
    old = Rumour(replace(own_record(membership), incarnation=10), State.ALIVE)
    membership.receive(Address("a", "membership"), RumoursSpread((old,)), 1.0)
    assert membership.observe().refusal == ""


def test_a_lone_member_does_not_wake_to_tell_news_to_nobody() -> None:
    membership = actor("me")
    membership.wake(0.0)
    membership.wake(0.0)
    assert membership.wake_at() > 0.5


def test_strangers_and_leavers_are_not_listened_to() -> None:
    membership = founder(record_of("a"), record_of("b"))
    assert membership.receive(Address("stranger", "membership"), Ping(1), 1.0) == []
    left = RumoursSpread((Rumour(record_of("a", incarnation=1, parting=State.LEFT), State.LEFT),))
    membership.receive(Address("b", "membership"), left, 1.0)
    assert membership.receive(Address("a", "membership"), Ping(1), 1.0) == []
    assert membership.observe().strangers_refused == 2


@pytest.mark.parametrize("source", [Address("a", "membership"), Address("me", "controller")])
def test_what_it_does_not_take_is_refused_before_it_gets_here(source: Address) -> None:
    membership = founder(record_of("a"))
    assert LinksAccepted not in membership.remote_messages
    with pytest.raises(LocalProtocolError):
        membership.receive(source, LinksAccepted(1), 1.0)


def test_an_actor_beside_it_is_told_of_all_members() -> None:
    membership = founder(record_of("a"), record_of("b"))
    sends = membership.receive(local("searcher"), MembersWanted(()), 1.0)
    assert sends == [Send(local("searcher"), MembersTold(tuple(members_of(membership))))]


def test_local_orders_are_not_taken_from_other_peers() -> None:
    membership = founder(record_of("a"))
    node = Node("me", [membership])
    for order in (LeaveMesh(), ServeSlots(), QueueMeasured(9), StopMembership(), knock_of(record_of("b"))):
        with pytest.raises(RemoteProtocolError):
            node.receive_remote(Address("a", "membership"), "membership", order, 1.0)
    assert membership.observe().serving == 0
    assert membership.observe().alive == 2


def test_a_dead_member_that_speaks_is_sent_everything() -> None:
    membership = founder(record_of("a"), record_of("b"))
    membership.receive(Address("a", "membership"), dead(record_of("a")), 1.0)
    sends = membership.receive(Address("a", "membership"), Ping(1), 2.0)
    wanted, answer = (send.message for send in sends)
    assert isinstance(wanted, MembersWanted)
    assert len(wanted.members) == 3
    assert isinstance(answer, PingAnswered)
    assert answer.gossip[:2] == (
        Rumour(record_of("a"), State.DEAD),
        Rumour(own_record(membership), State.ALIVE),
    )
    again = membership.receive(Address("a", "membership"), Ping(2), 2.1)
    assert not [send for send in again if isinstance(send.message, MembersWanted)]


def test_members_that_believe_the_same_tell_so_and_others_exchange_all() -> None:
    membership, ann = founder(record_of("a")), Address("a", "membership")
    everything = tuple(members_of(membership))
    [wanted] = [
        send.message
        for now in (1.0, 32.0)
        for send in [*membership.receive(ann, Ping(1), now), *membership.wake(now)]
        if isinstance(send.message, MembersWanted)
    ][-1:]
    assert isinstance(wanted, MembersWanted)
    sends = membership.receive(ann, MembersWanted((), wanted.believed), 33.0)
    assert [(m.members, m.believed) for m in (wanted,)] == [((), wanted.believed)]
    assert [send.message.members for send in sends if isinstance(send.message, MembersTold)] == [()]
    sends = membership.receive(ann, MembersWanted((), b"another!"), 33.0)
    assert Send(ann, MembersWanted(everything)) in sends
    sends = membership.receive(ann, MembersWanted(()), 33.0)
    assert [m.message.members for m in sends if isinstance(m.message, MembersTold)] == [everything]


def test_gossip_stays_within_its_limit() -> None:
    membership = founder(record_of("a"))
    told = tuple(Rumour(record_of(f"x{i:03}"), State.ALIVE) for i in range(3 * GOSSIP_MAX))
    membership.receive(Address("a", "membership"), MembersTold(told), 1.0)
    (send,) = [
        send
        for send in membership.receive(Address("a", "membership"), Ping(1), 2.0)
        if isinstance(send.message, PingAnswered)
    ]
    assert isinstance(send.message, PingAnswered)
    assert len(send.message.gossip) == GOSSIP_MAX


def test_members_beyond_the_limit_are_not_believed() -> None:
    membership = founder(record_of("a"))
    told = tuple(Rumour(record_of(f"x{i}"), State.ALIVE) for i in range(MEMBERS_MAX))
    membership.receive(Address("a", "membership"), MembersTold(told), 1.0)
    assert membership.observe().alive == MEMBERS_MAX
    assert membership.observe().records_refused == 2


def test_a_data_folder_of_another_peer_is_refused_with_a_sentence() -> None:
    table = MemoryTable()
    actor("me", table=table).wake(0.0)
    with pytest.raises(ConfigError, match="belongs to peer me"):
        actor("you", table=table)


def test_neighbours_hear_of_the_ownership_at_the_start() -> None:
    listeners = ("controller", "cell", "searcher")
    membership = Membership(
        record_of("me"), CONFIG, Random(1), MemoryTable(), TrustingCredentials(), listeners=listeners
    )
    told = [send.target.actor for send in membership.wake(0.0) if isinstance(send.message, OwnershipChanged)]
    assert told == [*listeners]


def test_a_known_member_that_changes_address_is_connected_anew() -> None:
    membership = founder(record_of("a"), record_of("b"))
    moved = record_of("a", incarnation=1, endpoint="tcp://moved:1")
    same = record_of("b", incarnation=1, weight=7)
    told = MembersTold((Rumour(moved, State.ALIVE), Rumour(same, State.ALIVE)))
    sends = membership.receive(Address("b", "membership"), told, 1.0)
    assert [s.message.record for s in sends if isinstance(s.message, ConnectPeer)] == [moved]


def test_a_refusal_after_joining_does_not_end_a_member() -> None:
    membership = founder(record_of("a"))
    assert membership.receive(local("door"), Knocked(JoinRefused("full")), 1.0) == []
    assert membership.observe().refusal == ""


def test_a_refusal_before_joining_ends_the_stranger() -> None:
    membership = actor("me", doors=[door_of("a")])
    membership.wake(0.0)
    sends = membership.receive(local("door"), Knocked(JoinRefused("no")), 1.0)
    assert sends == [Send(local("network"), MembershipRefused("no"))]


# --- The merge rule --------------------------------------------------------------------------------

RUMOURS = st.builds(
    lambda incarnation, weight, state: Rumour(record_of("p", incarnation=incarnation, weight=weight), state),
    st.integers(0, 3),
    st.integers(0, 1),
    st.sampled_from(State),
)


@settings(deadline=None)
@given(st.lists(RUMOURS, min_size=1, max_size=4))
def test_the_order_in_which_rumours_arrive_is_irrelevant(rumours: list[Rumour]) -> None:
    beliefs = set()
    for order in permutations(rumours):
        members = MemberList()
        for rumour in (*order, *order[:1]):  # one of them twice
            members.merge(rumour)
        beliefs.add(members.get("p"))
    assert len(beliefs) == 1


@settings(deadline=None)
@given(RUMOURS, RUMOURS, RUMOURS)
def test_rumours_about_a_peer_are_totally_ordered(a: Rumour, b: Rumour, c: Rumour) -> None:
    assert beats(a, b) + beats(b, a) + (a == b) == 1
    if beats(a, b) and beats(b, c):
        assert beats(a, c)


@pytest.mark.parametrize(
    ("new", "old", "wins"),
    [
        (("alive", 2), ("suspect", 1), True),
        (("alive", 1), ("suspect", 1), False),
        (("suspect", 1), ("alive", 1), True),
        (("suspect", 1), ("alive", 2), False),
        (("dead", 1), ("suspect", 1), True),
        (("dead", 1), ("alive", 2), False),
        (("alive", 2), ("dead", 1), True),
        (("left", 1), ("dead", 1), True),
    ],
)
def test_swim_4_2_precedence_of_rumours(new: tuple[str, int], old: tuple[str, int], wins: bool) -> None:
    rumours = [Rumour(record_of("p", incarnation=i), State[name.upper()]) for name, i in (new, old)]
    assert beats(*rumours) is wins


# --- Parts -----------------------------------------------------------------------------------------


def test_a_rumour_is_told_a_limited_number_of_times_fresh_ones_first() -> None:
    queue = RumourQueue()
    old, new = (Rumour(record_of(name), State.ALIVE) for name in ("old", "new"))
    queue.put(old)
    assert queue.take(1, 3) == (old,)
    queue.put(new)
    assert queue.take(1, 3) == (new,)
    assert queue.take(5, 3) == (new, old)
    assert queue.take(5, 3) == (new, old)
    assert queue.take(5, 3) == ()
    assert not queue


def test_newer_news_about_a_peer_replaces_older() -> None:
    queue = RumourQueue()
    queue.put(Rumour(record_of("a"), State.ALIVE))
    queue.take(1, 2)
    queue.put(Rumour(record_of("a"), State.DEAD))
    assert [rumour.state for rumour in queue.take(5, 2) + queue.take(5, 2)] == [State.DEAD, State.DEAD]
    assert len(queue) == 0


@pytest.mark.parametrize(("live", "transmissions"), [(1, 3), (7, 9), (63, 18), (255, 24)])
def test_swim_4_1_a_rumour_is_passed_on_a_multiple_of_log_n_times(live: int, transmissions: int) -> None:
    assert SwimSettings().transmissions_max(live) == transmissions


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"probe_timeout_s": 2.0}, "probe_timeout_s"),
        ({"suspicion_min_s": 9.0}, "suspicion_max_s"),
        ({"licence_s": 2.5}, "licence_s"),
    ],
)
def test_a_pace_that_cannot_work_is_no_setting(changes: dict[str, Any], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        SwimSettings(**changes)


def test_every_member_is_probed_once_a_round_while_others_come_and_go() -> None:
    prober = Prober(SwimSettings(), Random(3))
    probed = []
    for second in range(60):
        members = [f"p{i}" for i in range(10 if second % 20 < 10 else 7)]
        probe = prober.next_probe(float(second), members)
        assert probe is not None
        probed.append(probe[0])
    for start in range(50):
        assert {f"p{i}" for i in range(7)} <= set(probed[start : start + 10])
    assert probed[:10] != sorted(probed[:10])


# --- Real credentials ------------------------------------------------------------------------------


def test_real_records_are_genuine_and_nothing_else_is() -> None:
    root = SigningKey.of_secret(bytes(32))
    config = MeshConfig(name="real", root_key=root.public.hex(), analysis_version=6)
    identity, other = (Identity.of_secret(bytes([i]) * 32) for i in (1, 2))
    serials = {identity.curve_public: "a" * 16, other.curve_public: "b" * 16}
    credentials = PeerCredentials(identity, config)

    def record(who: Identity, certified: MeshConfig = config) -> MemberRecord:
        grant = Grant(serials[who.curve_public], weight_max=100)
        certificate = issue(root, certified.digest(), who.curve_public, who.signing_public, grant)
        return record_of(
            grant.serial,
            curve_key=who.curve_public,
            signing_key=who.signing_public,
            certificate=certificate.encoded(),
        )

    genuine = credentials.sign(record(identity))
    assert PeerCredentials(other, config).is_genuine(genuine)
    changes: list[dict[str, Any]] = [
        {"weight": 1},
        {"incarnation": 1},
        {"peer": serials[other.curve_public]},
        {"serving": 1},
        {"is_draining": True},
        {"signature": b""},
        {"signing_key": other.signing_public},
        {"curve_key": other.curve_public},
        {"certificate": bytes(64)},
        {"signing_key": b"short"},
    ]
    for change in changes:
        assert not credentials.is_genuine(replace(genuine, **change)), change
    assert not credentials.is_genuine(credentials.sign(replace(genuine, weight=101))), "more than is granted"
    assert not credentials.is_genuine(credentials.sign(replace(genuine, serving=101)))
    assert not credentials.is_genuine(credentials.sign(replace(genuine, peer="c" * 16))), (
        "an id of its choice"
    )
    elsewhere = MeshConfig(name="elsewhere", root_key=root.public.hex(), analysis_version=6)
    assert not credentials.is_genuine(credentials.sign(record(identity, certified=elsewhere)))


# --- Builders --------------------------------------------------------------------------------------


def actor(peer: str, doors: list[DoorAddress] | None = None, table: MemoryTable | None = None) -> Membership:
    return Membership(
        record_of(peer),
        CONFIG,
        Random(1),
        MemoryTable() if table is None else table,
        TrustingCredentials(),
        doors or (),
        listeners=(),
    )


def founder(*members: MemberRecord) -> Membership:
    """A member at time 0 that was told of others by an exchange, and has told its news."""
    membership = actor("me")
    membership.wake(0.0)
    for record in members:
        membership.receive(local("door"), knock_of(record), 0.0)
    for i in range(8):
        membership._gossip.spread(0.01 * i + i)
    membership._gossip._spread_at = 0.0
    membership._flush(0.0)
    return membership


def knock_of(record: MemberRecord) -> DoorKnocked:
    return DoorKnocked(7, record.curve_key, JoinMesh(record, CONFIG.digest()))


def dead(record: MemberRecord) -> RumoursSpread:
    """What a peer that goes down says of itself."""
    return RumoursSpread((Rumour(record, State.DEAD),))


def local(name: str) -> Address:
    return Address("me", name)


def members_of(membership: Membership) -> list[Rumour]:
    return list(membership._members)


def own_record(membership: Membership) -> MemberRecord:
    rumour = membership._members.get(membership.me)
    assert rumour is not None
    return rumour.record


def knocked_at(sends: list[Send]) -> list[str]:
    return [send.message.endpoint for send in sends if isinstance(send.message, Knock)]


def test_the_only_member_that_there_ever_was_has_little_to_wake_for() -> None:
    world = World(18)
    [boot] = world.mesh(0, until=100.0) or [world.machines["boot"]]
    wakes = 0
    while world.now < 200.0:
        wakes += 1
        world.run(boot.membership.wake_at())
    assert wakes < 100
