"""What a further store costs: an actor of a few lines, declared once. All else is done to it by itself."""

from __future__ import annotations

from typing import ClassVar

from mesh.actors.actor import Address, Message, Send
from mesh.slot_set import encode_slot_list
from mesh.tables.table import Table, TableSection
from peers.handover.item_store import ItemStore
from peers.handover.keeper import Keeper
from peers.handover.messages import SlotsDiffer
from peers.handover.mirror import Mirror
from peers.handover.settings import HandoverSettings
from peers.handover.store import HolderStatistics, StoreActor, StoreDeclaration
from peers.vitals import store_counts
from simulations.faults.machine import Machine
from simulations.webs.web import SyntheticWeb
from simulations.world.chance import random_of
from simulations.world.members import Members
from simulations.world.network import Network
from simulations.world.world import World
from tests.simulations.machines import PlayedMesh

SLOTS = 64
REST_S = 120.0  # within which a mesh has moved all that is to be moved, by far
REPLICATED_S = 1.0  # within which the standby has what the owner got
COMPARED_S = HandoverSettings().compare_every_s  # within which so few slots are all compared once


class Score(Message, frozen=True):
    """Somebody to the scores: this name has reached that much."""

    slot: int
    name: bytes
    score: int


class Scores(StoreActor):
    """The toy: the highest score of each name."""

    name: ClassVar[str] = "scores"
    keeps: ClassVar = StoreDeclaration("scores", name)

    def __init__(self, me: str, table: Table, life: int) -> None:
        self.store = ItemStore(table, max)
        mirror = Mirror(me, self.name, self.store, life)
        self._keeper = Keeper(me, self.keeps, self.store, life=life, mirror=mirror)

    def receive(self, source: Address, message: Message, now: float) -> list[Send]:
        match message:
            case Score(slot, name, score):
                self.store.put(slot, name, score.to_bytes(4, "big"))
                sends = []
            case _:
                sends = self._keeper.receive(source, message, now)
        return sends + self._keeper.end_turn(now)

    def wake(self, now: float) -> list[Send]:
        return self._keeper.wake(now) + self._keeper.end_turn(now)

    def wake_at(self) -> float:
        return self._keeper.wake_at()

    @property
    def has_news(self) -> bool:
        return self._keeper.has_news

    def before_commit(self, now: float) -> list[Send]:
        return self._keeper.before_commit(now)

    def observe(self) -> HolderStatistics:
        return HolderStatistics(store=self._keeper.observe())


class Mesh(PlayedMesh):
    """Machines with such a store each, two copies of everything, and what they were told."""

    def __init__(self, started: int = 3, machines: int = 4, seed: int = 5) -> None:
        self.world = World(Network(random_of(seed, "network")), start_s=1_000.0)
        self.members = Members(seed, machines, replicas=2, slot_count=SLOTS)
        self.scores: dict[str, Scores] = {}  # by peer, of its last life
        self.told: dict[tuple[int, bytes], int] = {}
        web = SyntheticWeb(seed, pages=1)
        self.begin(machines, web, started=started, further=self._make_scores)
        self.rest()

    def _make_scores(self, me: str, table: Table, life: int) -> list[StoreActor]:
        self.scores[me] = Scores(me, TableSection(table, b"T"), life)
        return [self.scores[me]]

    def team_of(self, slot: int) -> tuple[str, ...]:
        ownership = self.running[0].ownership
        assert ownership is not None
        return ownership.team_of(slot)

    def machine_of(self, peer: str) -> Machine:
        return next(machine for machine in self.machines if machine.peer == peer)

    def tell(self, slot: int, name: bytes, score: int, rank: int = 0) -> None:
        """Tell a member of a slot's team, by default its owner."""
        self.told[slot, name] = max(score, self.told.get((slot, name), 0))
        peer = self.team_of(slot)[rank]
        self.world.deliver(Address(peer, "somebody"), Address(peer, "scores"), Score(slot, name, score))

    def tell_all(self, score: int = 1) -> None:
        for slot in range(SLOTS):
            for number in range(3):
                self.tell(slot, b"name %d" % number, score + number)

    def rest(self) -> None:
        """Wait until all who run know each other, and nothing has to move."""
        until = self.world.now + REST_S
        while True:
            self.pass_time(2.0)
            if self.is_at_rest():
                return
            assert self.world.now < until, [machine.trouble() for machine in self.running]

    def is_at_rest(self) -> bool:
        peers = {machine.peer for machine in self.running}
        return all(
            machine.ownership is not None
            and machine.ownership.alive == peers
            and machine.handover().is_quiet
            and not machine.handover().differing
            and not self.scores[machine.peer].observe().store.is_forgetting
            for machine in self.running
        )

    def found(self, machine: Machine) -> dict[tuple[int, bytes], int]:
        items = (item for slot in range(SLOTS) for item in self.scores[machine.peer].store.items(slot))
        return {(item.slot, item.name): int.from_bytes(item.value, "big") for item in items}

    def check(self) -> None:
        """Everybody has all that was told of the slots in whose team it is, and nothing else."""
        for machine in self.running:
            kept = {slot for slot, _ in self.told if machine.peer in self.team_of(slot)}
            expected = {key: score for key, score in self.told.items() if key[0] in kept}
            assert self.found(machine) == expected, machine.name
            assert self.scores[machine.peer].observe().store.slots_filled == len(kept)


def test_a_further_store_is_replicated_to_the_standby_at_once_and_in_both_directions() -> None:
    mesh = Mesh()
    mesh.tell_all()
    mesh.tell(7, b"name 0", 100, rank=1)
    mesh.tell(7, b"name 0", 50)
    mesh.pass_time(REPLICATED_S)
    mesh.check()
    assert not any(scores.observe().store.unkept for scores in mesh.scores.values())


def test_a_further_store_follows_the_slots_to_a_peer_that_joins_and_is_forgotten_where_it_was() -> None:
    mesh = Mesh()
    mesh.tell_all()
    mesh.pass_time(REPLICATED_S)
    mesh.machines[3].start()
    mesh.rest()
    assert mesh.machines[3].handover().owned > 0
    mesh.check()


def test_a_further_store_leaves_a_peer_that_is_drained() -> None:
    mesh = Mesh(started=4)
    mesh.tell_all()
    mesh.machines[1].drain(is_draining=True)
    mesh.pass_time(5.0)  # for that to be known
    mesh.rest()
    assert mesh.machines[1].handover().kept == 0
    assert mesh.found(mesh.machines[1]) == {}
    mesh.check()


def test_a_further_store_survives_its_owner_and_is_copied_again() -> None:
    mesh = Mesh()
    mesh.tell_all()
    mesh.pass_time(REPLICATED_S)
    mesh.machines[2].crash()
    mesh.rest()
    mesh.check()
    mesh.tell_all(score=10)
    mesh.machines[2].start()  # on what its disk holds
    mesh.rest()
    mesh.check()


def test_a_further_store_is_compared_and_what_was_lost_comes_back() -> None:
    mesh = Mesh()
    mesh.tell_all()
    mesh.rest()
    losers = [mesh.team_of(slot)[slot % 2] for slot in range(SLOTS)]
    for slot, peer in enumerate(losers):
        store = mesh.scores[peer].store
        key = slot.to_bytes(2, "big") + b"name 1"
        store._digests.note((key,))
        store._table.delete(key)
        if slot % 2 == 0:  # an owner: routine comparisons are begun by standbys, who bring nothing to others
            other = mesh.team_of(slot)[1]
            differ = SlotsDiffer(other, encode_slot_list([slot], SLOTS))
            mesh.world.deliver(Address(peer, "scores"), Address(peer, "handover"), differ)
    assert len(set(losers)) == 3
    mesh.pass_time(COMPARED_S)
    mesh.rest()
    mesh.check()


def test_status_shows_a_further_store_beside_the_others() -> None:
    mesh = Mesh()
    mesh.tell_all()
    mesh.pass_time(REPLICATED_S)
    mesh.machines[3].start()
    mesh.rest()
    node = mesh.world.node(mesh.machines[3].peer)
    shown = store_counts(node.observe().values(), mesh.machines[3].handover().wanted)
    assert sorted(shown) == ["copies", "frontier", "pages", "scores"]
    kept = [slot for slot in range(SLOTS) if mesh.machines[3].peer in mesh.team_of(slot)]
    assert shown["scores"].slots == len(kept)
    assert shown["scores"].bytes_received > 0
    assert shown["scores"].wanted == shown["scores"].moving == 0
    assert shown["pages"].slots == 0
