"""The world with toy actors: time, order, loss, promises, crashes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from functools import partial
from math import inf
from random import Random
from typing import ClassVar

import pytest

from mesh.actors.actor import EVERYBODY, Actor, Address, Message, Send
from mesh.actors.node import Node
from mesh.errors import LocalProtocolError, RemoteProtocolError
from mesh.membership.model.wire_messages import Ping, PingAnswered
from peers.gateway.model.wire_messages import StatusWanted
from peers.handover.wire_messages import ItemsTaken
from simulations.faults.clock import VirtualClock
from simulations.faults.nemesis import of_tomorrow, unknown_frame
from simulations.world.network import Network
from simulations.world.world import PortAnswer, World


class Order(Message, frozen=True):
    """To the toy port."""

    number: int


class Echo(Actor):
    """Answers pings, notes what it hears and when; sends and wakes as it is told."""

    name: ClassVar[str] = "membership"
    remote_messages = frozenset({Ping, PingAnswered, ItemsTaken})

    def __init__(self, peer: str) -> None:
        self.peer = peer
        self.heard: list[tuple[float, Message]] = []
        self.woken: list[float] = []
        self.alarms: list[float] = []
        self.to_send: list[Send] = []

    def receive(self, source: Address, message: Message, now: float) -> list[Send]:
        self.heard.append((now, message))
        match message:
            case Ping(sequence):
                return [Send(source, PingAnswered(sequence, self.peer))]
            case Order(number):
                return [Send(Address(self.peer, "clock"), message)] if number == 0 else []
        return []

    def wake(self, now: float) -> list[Send]:
        self.woken.append(now)
        self.alarms = [at for at in self.alarms if at > now]
        sends, self.to_send = self.to_send, []
        return sends

    def wake_at(self) -> float:
        return min(self.alarms, default=inf)


class Echoes:
    """A port that answers at once."""

    name = "echo"

    def receive(self, source: Address, message: Message, now: float) -> Iterable[PortAnswer]:
        return (PortAnswer(0.0, source, message),)


class Clock:
    """A port that answers three seconds later."""

    name = "clock"

    def receive(self, source: Address, message: Message, now: float) -> Iterable[PortAnswer]:
        return (PortAnswer(3.0, source, Order(1)),)


def world_of(*peers: str, **network: float) -> tuple[World, dict[str, Echo]]:
    world = World(Network(Random(1), **network))
    actors = {peer: Echo(peer) for peer in peers}
    for peer, actor in actors.items():
        world.add_peer(Node(peer, [actor]), [Clock(), Echoes()], MemoryTableThatCommits())
    return world, actors


class MemoryTableThatCommits:
    """Only notes what is asked of it."""

    has_changes = False

    def __init__(self) -> None:
        self.calls: list[str] = []

    def commit(self) -> None:
        self.calls.append("commit")

    def revert(self) -> None:
        self.calls.append("revert")


def send_at(world: World, actor: Echo, at: float, *sends: Send) -> None:
    """Let an actor send something when it wakes at a time."""

    def tell() -> None:
        actor.to_send += sends
        actor.alarms.append(at)
        world.deliver(Address(actor.peer, "clock"), Address(actor.peer, "membership"), Order(9))

    world.plan(world.now, tell)


def send_each_at(world: World, actor: Echo, at: float, *sends: Send) -> None:
    """Let an actor send so at a time, each in an event of its own: each message is an envelope."""
    for send in sends:
        world.plan(at, partial(send_at, world, actor, at, send))


def to(peer: str, actor: str = "membership") -> Address:
    return Address(peer, actor)


def test_a_frame_arrives_after_the_delay_of_the_network() -> None:
    world, actors = world_of("a", "b", delay_min_s=0.5, delay_mean_s=0.5)
    send_at(world, actors["a"], 1.0, Send(to("b"), PingAnswered(1, "a")))
    world.run(until=10.0)
    assert actors["b"].heard == [(1.5, PingAnswered(1, "a"))]
    assert world.now == 10.0


def test_a_port_answers_after_its_delay_and_nobody_else_hears_it() -> None:
    world, actors = world_of("a", "b")
    world.deliver(to("a", "clock"), to("a"), Order(0))
    world.run(until=10.0)
    assert [(at, message) for at, message in actors["a"].heard] == [(0.0, Order(0)), (3.0, Order(1))]
    assert actors["b"].heard == []


def test_what_is_due_without_delay_is_one_event() -> None:
    world, actors = world_of("a")
    echo = actors["a"]
    world.plan(1.0, lambda: world.deliver(to("a", "clock"), to("a", "membership"), Order(9)))
    world.run(until=0.5)
    echo.alarms = [1.0]
    echo.to_send = [Send(to("a", "echo"), Order(2))]
    world.run(until=10.0)
    assert [(at, message) for at, message in echo.heard] == [(1.0, Order(9)), (1.0, Order(2))]
    assert (echo.woken, world.n_events) == ([1.0], 1)


def test_wakes_that_were_given_up_are_no_events() -> None:
    world, actors = world_of("a")
    for alarm in (5.0, 2.0, 7.0):
        actors["a"].alarms = [alarm]
        world.deliver(to("a", "clock"), to("a"), Order(9))
    world.run(until=10.0)
    assert (actors["a"].woken, world.n_events) == ([7.0], 1)


class ReadingWorld(World):
    """Counts by sender what is decoded."""

    def __init__(self, network: Network, read_frames: int) -> None:
        super().__init__(network, read_frames=read_frames)
        self.n_read = Counter[str]()

    def _unpack(self, frame: bytes) -> tuple[str, Message]:
        actor, message = super()._unpack(frame)
        assert isinstance(message, PingAnswered)
        self.n_read[message.peer] += 1
        return actor, message


def test_of_each_kind_the_first_messages_are_read_as_bytes_and_all_of_who_is_distrusted() -> None:
    world, peers = ReadingWorld(Network(Random(1)), read_frames=2), ("a", "b", "c")
    actors = {peer: Echo(peer) for peer in peers}
    for peer in peers:
        world.add_peer(Node(peer, [actors[peer]]), [], MemoryTableThatCommits())
    world.distrust("c")
    for peer in ("a", "c"):
        send_each_at(world, actors[peer], 1.0, *(Send(to("b"), PingAnswered(n, peer)) for n in range(5)))
    world.run(until=10.0)
    assert len(actors["b"].heard) == 10
    assert world.n_read == {"a": 2, "c": 5}


def test_a_peer_wakes_at_its_time_and_not_at_one_it_has_given_up() -> None:
    world, actors = world_of("a")
    echo = actors["a"]
    echo.alarms = [5.0]
    world.deliver(to("a", "clock"), to("a"), Order(9))
    echo.alarms = [2.0, 7.0]
    world.deliver(to("a", "clock"), to("a"), Order(9))
    echo.alarms = [7.0]  # what was planned for 2 has gone: nothing may happen then
    world.deliver(to("a", "clock"), to("a"), Order(9))
    world.run(until=10.0)
    assert echo.woken == [7.0]


def test_a_multicast_reaches_all_other_peers_and_is_counted_for_each() -> None:
    world, actors = world_of("a", "b", "c")
    send_at(world, actors["a"], 1.0, Send(to(EVERYBODY), PingAnswered(4, "a")))
    world.run(until=10.0)
    assert [message for _, message in actors["a"].heard if isinstance(message, PingAnswered)] == [
        PingAnswered(4, "a")  # the node itself delivers here
    ]
    assert [message for _, message in actors["b"].heard] == [PingAnswered(4, "a")]
    assert [message for _, message in actors["c"].heard] == [PingAnswered(4, "a")]
    assert world.traffic.sent["PingAnswered"].messages == 2
    assert world.traffic.delivered == 2


def test_frames_of_a_link_keep_their_order() -> None:
    world, actors = world_of("a", "b", delay_min_s=0.0, delay_mean_s=5.0)
    send_at(world, actors["a"], 0.0, *(Send(to("b"), PingAnswered(n, "a")) for n in range(200)))
    world.run(until=1_000.0)
    numbers = [message.sequence for _, message in actors["b"].heard if isinstance(message, PingAnswered)]
    assert numbers == list(range(200))


def test_lost_frames_are_counted_and_messages_balance() -> None:
    world, actors = world_of("a", "b", loss=0.5)
    send_each_at(world, actors["a"], 0.0, *(Send(to("b"), PingAnswered(n, "a")) for n in range(1_000)))
    world.run(until=100.0)
    assert 400 < world.traffic.lost < 600
    assert world.traffic.lost + world.traffic.delivered == 1_000
    assert len(numbers(actors["b"])) == world.traffic.delivered
    assert (world.in_flight, world.unbalanced) == (0, 0)


def test_frames_on_their_way_are_in_the_balance() -> None:
    world, actors = world_of("a", "b", delay_min_s=5.0, delay_mean_s=5.0)
    send_each_at(world, actors["a"], 1.0, *(Send(to("b"), PingAnswered(n, "a")) for n in range(7)))
    world.run(until=3.0)
    assert (world.traffic.delivered, world.in_flight, world.unbalanced) == (0, 7, 0)
    world.run(until=10.0)
    assert (world.traffic.delivered, world.in_flight, world.unbalanced) == (7, 0, 0)


def test_what_one_event_has_for_a_peer_comes_or_is_lost_as_one_and_counts_once() -> None:
    world, actors = world_of("a", "b", loss=0.5)
    for at in range(1, 101):
        sends = [Send(to("b"), PingAnswered(10 * at + n, "a")) for n in range(10)]
        world.plan(float(at), partial(send_at, world, actors["a"], float(at), *sends))
    world.run(until=200.0)
    assert world.traffic.sent["PingAnswered"].messages == 1_000
    assert world.traffic.lost + world.traffic.delivered == world.traffic.envelopes == 100
    heard = Counter(number // 10 for number in numbers(actors["b"]))
    assert len(heard) == world.traffic.delivered < 100
    assert set(heard.values()) == {10}
    assert (world.in_flight, world.unbalanced) == (0, 0)


def test_the_sides_of_a_partition_do_not_hear_each_other_until_it_heals() -> None:
    network = Network(Random(1))
    network.part(["a", "b"], ["c"])
    assert network.arrival("a", "c", is_multicast=False, now=0.0) is None
    assert network.arrival("c", "b", is_multicast=True, now=0.0) is None
    assert network.arrival("a", "b", is_multicast=False, now=0.0) is not None
    network.heal()
    assert network.arrival("a", "c", is_multicast=False, now=0.0) is not None


def test_a_promise_waits_for_the_commit_and_other_messages_do_not() -> None:
    world, actors = world_of("a", "b", delay_min_s=0.0, delay_mean_s=0.0)
    promise, other = ItemsTaken(1, 1), PingAnswered(1, "a")
    send_at(world, actors["a"], 1.0, Send(to("b"), promise), Send(to("b"), other))
    world.run(until=10.0)
    assert actors["b"].heard == [(1.0, other), (1.02, promise)]


def test_a_promise_to_an_actor_of_the_same_peer_waits_too() -> None:
    world, actors = world_of("a")
    send_at(world, actors["a"], 1.0, Send(to("a"), ItemsTaken(1, 1)))
    world.run(until=1.01)
    assert ItemsTaken(1, 1) not in [message for _, message in actors["a"].heard]
    world.run(until=2.0)
    assert actors["a"].heard[-1] == (1.02, ItemsTaken(1, 1))


def test_a_crash_takes_promises_that_were_not_committed_and_reverts_the_table() -> None:
    world = World(Network(Random(1)))
    table, actor, other = MemoryTableThatCommits(), Echo("a"), Echo("b")
    world.add_peer(Node("a", [actor]), [Clock()], table)
    world.add_peer(Node("b", [other]), [])
    send_at(world, actor, 1.0, Send(to("b"), ItemsTaken(1, 1)))
    world.plan(1.01, lambda: world.crash("a"))
    world.run(until=2.0)
    assert other.heard == []
    assert table.calls == ["revert"]
    assert not world.is_up("a")


def test_what_a_port_was_doing_for_a_peer_that_crashed_is_not_told_to_its_next_life() -> None:
    world, actors = world_of("a")
    world.deliver(to("a", "clock"), to("a"), Order(0))
    world.run(until=1.0)
    world.crash("a")
    again = Echo("a")
    world.add_peer(Node("a", [again]), [Clock()])
    world.run(until=10.0)
    assert again.heard == []
    assert actors["a"].heard == [(0.0, Order(0))]


def test_frames_to_a_peer_that_is_down_are_lost() -> None:
    world, actors = world_of("a", "b")
    world.crash("b")
    send_at(world, actors["a"], 1.0, Send(to("b"), PingAnswered(1, "a")), Send(to("z"), PingAnswered(1, "a")))
    world.run(until=10.0)
    assert world.traffic.lost == 2
    assert actors["b"].heard == []


MISPLACED = (
    Send(to("b", "clock"), PingAnswered(1, "a")),  # a port
    Send(to("b"), StatusWanted(1)),  # an actor that takes no such thing from others
)


@pytest.mark.parametrize("send", MISPLACED)
def test_a_misplaced_frame_is_refused_and_counted(send: Send) -> None:
    world, actors = world_of("a", "b")
    world.skew("a", of_tomorrow)
    send_at(world, actors["a"], 1.0, send)
    world.run(until=10.0)
    assert actors["b"].heard == []
    assert (world.traffic.refused, world.unbalanced) == (1, 0)


@pytest.mark.parametrize("send", MISPLACED)
def test_a_misplaced_frame_of_a_peer_of_our_version_is_a_bug(send: Send) -> None:
    world, actors = world_of("a", "b")
    send_at(world, actors["a"], 1.0, send)
    with pytest.raises(RemoteProtocolError):
        world.run(until=10.0)


def test_an_actor_that_does_not_understand_what_it_takes_is_a_bug_whoever_sent_it() -> None:
    class Deaf(Echo):
        def receive(self, source: Address, message: Message, now: float) -> list[Send]:
            raise LocalProtocolError("deaf")

    world, actors = world_of("a")
    world.skew("a", of_tomorrow)
    world.add_peer(Node("b", [Deaf("b")]), [])
    send_at(world, actors["a"], 1.0, *pongs("b", 1))
    with pytest.raises(LocalProtocolError):
        world.run(until=10.0)


def test_a_message_that_is_none_of_the_wire_does_not_get_through() -> None:
    world, actors = world_of("a", "b")
    send_at(world, actors["a"], 1.0, Send(to("b"), Order(5)))
    with pytest.raises(Exception, match="frame"):
        world.run(until=10.0)


def test_an_order_to_a_port_that_is_not_there_is_our_bug() -> None:
    world, actors = world_of("a")
    send_at(world, actors["a"], 1.0, Send(to("a", "fetcher"), Order(5)))
    with pytest.raises(LocalProtocolError, match="nobody"):
        world.run(until=10.0)


def test_an_actor_that_wakes_in_a_loop_is_found_out() -> None:
    class Restless(Echo):
        def wake_at(self) -> float:
            return 4.0

    world = World(Network(Random(1)))
    world.add_peer(Node("a", [Restless("a")]), [])
    with pytest.raises(LocalProtocolError, match="again and again"):
        world.run(until=10.0)


# --- Faults ---


def numbers(echo: Echo) -> list[int]:
    return [message.sequence for _, message in echo.heard if isinstance(message, PingAnswered)]


def pongs(target: str, *sequences: int) -> list[Send]:
    return [Send(to(target), PingAnswered(sequence, "a")) for sequence in sequences]


def test_a_paused_peer_sees_nothing_and_then_everything_in_order() -> None:
    world, actors = world_of("a", "b", delay_min_s=0.5, delay_mean_s=0.5)
    world.deliver(to("b", "clock"), to("b"), Order(0))  # its port answers at 3
    world.plan(1.0, lambda: world.pause("b"))
    send_each_at(world, actors["a"], 1.5, *pongs("b", 1, 2))
    world.plan(3.5, lambda: send_at(world, actors["a"], 4.0, *pongs("b", 3)))
    actors["b"].alarms = [5.0]
    world.run(until=8.0)
    assert not world.is_running("b")
    assert world.is_up("b")
    assert (numbers(actors["b"]), actors["b"].woken) == ([], [])
    assert (world.in_flight, world.unbalanced) == (3, 0)
    world.resume("b")
    world.run(until=8.0)
    assert [message for at, message in actors["b"].heard if at == 8.0] == [
        PingAnswered(1, "a"),
        PingAnswered(2, "a"),
        Order(1),
        PingAnswered(3, "a"),
    ]
    assert (world.in_flight, world.unbalanced) == (0, 0)


def test_what_waited_for_a_paused_peer_is_lost_when_it_crashes() -> None:
    world, actors = world_of("a", "b")
    world.plan(1.0, lambda: world.pause("b"))
    send_at(world, actors["a"], 1.5, *pongs("b", 1))
    world.plan(3.0, lambda: world.crash("b"))
    world.run(until=10.0)
    assert numbers(actors["b"]) == []
    assert (world.traffic.lost, world.unbalanced) == (1, 0)


def test_frames_of_a_clogged_link_come_when_it_is_unclogged_and_others_before() -> None:
    world, actors = world_of("a", "b", "c", delay_min_s=0.1, delay_mean_s=0.1)
    world.plan(1.0, lambda: world.clog("a", "b"))
    send_at(world, actors["a"], 2.0, *pongs("b", 1, 2), *pongs("c", 3))
    send_at(world, actors["b"], 2.0, *pongs("a", 4))
    world.plan(5.0, lambda: world.unclog("a", "b"))
    world.run(until=4.9)
    assert (numbers(actors["b"]), numbers(actors["c"]), numbers(actors["a"])) == ([], [3], [4])
    assert world.unbalanced == 0
    assert not world.is_connected("a", "b")
    world.run(until=6.0)
    assert numbers(actors["b"]) == [1, 2]
    assert world.is_connected("a", "b")


def test_a_link_can_be_cut_in_one_direction() -> None:
    network = Network(Random(1))
    network.cut([("a", "b")])
    assert network.arrival("a", "b", is_multicast=True, now=0.0) is None
    assert network.arrival("b", "a", is_multicast=True, now=0.0) is not None
    assert (network.reaches("a", "b"), network.reaches("b", "a")) == (False, True)
    network.mend([("a", "b")])
    assert network.reaches("a", "b")


def test_a_network_that_repeats_brings_frames_twice_and_messages_balance() -> None:
    network = Network(Random(1))
    network.set_repetition(0.5)
    world = World(network)
    actors = {peer: Echo(peer) for peer in "ab"}
    for peer, actor in actors.items():
        world.add_peer(Node(peer, [actor]), [Clock()])
    send_each_at(world, actors["a"], 1.0, *pongs("b", *range(100)))
    world.run(until=10.0)
    assert 130 < world.traffic.delivered < 170
    assert world.traffic.delivered == 100 + world.traffic.repeated == len(numbers(actors["b"]))
    assert world.unbalanced == 0


def test_healing_ends_loss_repetition_and_delay() -> None:
    network = Network(Random(1), delay_min_s=0.1, delay_mean_s=0.1)
    network.set_loss(0.9)
    network.set_repetition(0.9)
    network.set_delay(5.0, 5.0)
    network.part(["a"], ["b"])
    network.heal()
    arrivals = [network.arrival("a", "b", is_multicast=False, now=0.0) for _ in range(100)]
    assert arrivals == [0.1] * 100
    assert network.repetition("a", "b", is_multicast=False, now=0.0) is None


def test_a_fuse_kills_a_peer_between_two_sends_of_one_handler() -> None:
    world, actors = world_of("a", "b")
    world.light_fuse("a", 2, lambda: world.crash("a"))
    send_at(world, actors["a"], 1.0, *pongs("b", 1, 2, 3, 4))
    world.run(until=10.0)
    assert numbers(actors["b"]) == [1, 2]
    assert not world.is_up("a")


def test_a_peer_that_is_stopped_keeps_its_promises() -> None:
    world, actors = world_of("a", "b")
    send_at(world, actors["a"], 1.0, Send(to("b"), ItemsTaken(1, 1)))
    world.plan(1.01, lambda: world.stop("a"))
    world.run(until=2.0)
    assert ItemsTaken(1, 1) in [message for _, message in actors["b"].heard]
    assert not world.is_up("a")


def test_a_slow_disk_holds_promises_back() -> None:
    world, actors = world_of("a", "b", delay_min_s=0.0, delay_mean_s=0.0)
    world.slow_disk("a", 100.0)
    send_at(world, actors["a"], 1.0, Send(to("b"), ItemsTaken(1, 1)))
    world.run(until=10.0)
    assert actors["b"].heard == [(3.0, ItemsTaken(1, 1))]


def test_a_peer_lives_by_its_own_clock() -> None:
    world = World(Network(Random(1), delay_min_s=0.0, delay_mean_s=0.0), start_s=1_000.0)
    fast, slow = Echo("fast"), Echo("slow")
    world.add_peer(Node("fast", [fast]), [Clock()], clock=VirtualClock(100.0, 0.25))
    world.add_peer(Node("slow", [slow]), [Clock()], clock=VirtualClock(-100.0, -0.25))
    send_at(world, fast, 1_105.0, *pongs("slow", 1))
    world.run(until=1_010.0)
    assert fast.woken == [1_105.0]
    assert [at for at, message in slow.heard if isinstance(message, PingAnswered)] == [903.0]


def test_frames_of_another_version_are_refused_and_counted() -> None:
    world, actors = world_of("a", "b")
    world.skew("a", of_tomorrow)
    world.transmit("a", "b", unknown_frame("membership"))
    send_at(world, actors["a"], 1.0, *pongs("b", 1))
    world.run(until=10.0)
    assert numbers(actors["b"]) == [1]  # a field that is appended is not seen
    assert (world.traffic.refused, world.unbalanced) == (1, 0)


def digest_of(seed: int) -> str:
    world = World(Network(Random(seed), loss=0.1))
    peers = "abcdef"
    actors = {peer: Echo(peer) for peer in peers}
    for peer, actor in actors.items():
        world.add_peer(Node(peer, [actor]), [Clock()])
        send_at(world, actor, 1.0, *(Send(to(other), Ping(n)) for other in peers for n in range(5)))
    world.run(until=100.0)
    return world.digest


def test_one_seed_gives_one_run_and_another_seed_another() -> None:
    assert digest_of(1) == digest_of(1)
    assert digest_of(1) != digest_of(2)


def test_the_digest_changes_with_the_time_of_a_message() -> None:
    digests = set()
    for at in (1.0, 1.5):
        world, actors = world_of("a", "b", delay_min_s=0.0, delay_mean_s=0.0)
        send_at(world, actors["a"], at, Send(to("b"), PingAnswered(1, "a")))
        world.run(until=10.0)
        digests.add(world.digest)
    assert len(digests) == 2


def test_a_peer_without_a_table_that_commits_cannot_crash() -> None:
    world = World(Network(Random(1)))
    world.add_peer(Node("a", [Echo("a")]), [])
    with pytest.raises(AssertionError, match="cannot crash"):
        world.crash("a")
