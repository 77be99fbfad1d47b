"""A mesh of handovers under a seed: real `Handover` and `Exchange` actors, and twins of all around them.

What a twin stands for: the *controller* fetches now and then for what it may, and each fetch makes an item
that counts once the live team has it; both stores are dicts that survive a crash. The *membership* is the
records as they truly are, which every peer gets to see at its own time, in order but not every version. A
peer that is cut off loses its licence before the others drop it, and hears `HoldingsRevoked` before they
take it in again. Messages between peers are late, out of order, twice or lost; a promise waits for a commit.

`World` checks all the time that no slot may be fetched for by two peers, that no item that counts is gone
from all disks, and that owners who call a slot complete have all items of it that count.
"""

from __future__ import annotations

import heapq
from collections import defaultdict, deque
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from math import inf
from random import Random

import numpy as np

from mesh.actors.actor import EVERYBODY, Address, Message, Send
from mesh.actors.ownership import Ownership, OwnershipChanged
from mesh.membership.model.messages import HoldingsRevoked, ServeSlots
from mesh.slot_set import SlotMask, decode_slots, encode_slot_list, encode_slots
from mesh.slots import SlotTable
from peers.handover.exchange import Exchange
from peers.handover.handover import Handover
from peers.handover.messages import (
    ForgetSlots,
    HoldSlots,
    SlotsComplete,
    SlotsFilled,
    SlotsStopped,
    StopSynchronising,
    SynchroniseSlots,
)
from peers.handover.settings import ExchangeSettings, HandoverSettings
from peers.handover.store import StoreDeclaration
from tests.peers.handover.dict_store import DictStore, Item

SLOTS = 8
WEIGHT = 100
SETTINGS = HandoverSettings(replicate_after_s=3.0, compare_every_s=2.0, tasks_max=2)
DECLARED = (
    StoreDeclaration("frontier", "controller", task_slots_max=3, is_needed_to_crawl=True),
    StoreDeclaration("pages", "cell", task_slots_max=4),
)
STORES = tuple(declaration.actor for declaration in DECLARED)
EXCHANGE = ExchangeSettings(group_slots_max=2, again_s=0.5, tries_max=3, idle_s=5.0)


class Ship(Message, frozen=True):
    """Controller to controller: this is new."""

    item: Item


class Shipped(Message, frozen=True):
    """Answer: it is here."""

    item: Item


@dataclass(frozen=True)
class Record:
    """What the membership knows of a peer."""

    weight: int = WEIGHT
    serving: int = 0
    is_alive: bool = True


@dataclass
class Peer:
    """One life of a peer; the stores outlast it."""

    name: str
    stores: dict[str, DictStore]
    handover: Handover
    exchanges: dict[str, Exchange]
    ownership: Ownership | None = None
    version: int = -1  # of the records it has seen
    may_fetch: set[int] = field(default_factory=set)
    fetching: set[int] = field(default_factory=set)
    filled: dict[str, set[int]] = field(default_factory=lambda: {name: set() for name in STORES})
    complete: SlotMask = field(default_factory=lambda: np.zeros(SLOTS, np.bool_))
    shipping: dict[Item, set[str]] = field(default_factory=dict)  # who has it
    woken_at: dict[str, float] = field(default_factory=dict)
    inbox: deque[tuple[Address, str, Message]] = field(default_factory=deque)

    def wake_at(self, actor: str) -> float:
        return self.handover.wake_at() if actor == "handover" else self.exchanges[actor].wake_at_s


class World:
    """All peers, their network and their disks."""

    def __init__(self, seed: int, names: str = "abc", replicas: int = 2, loss: float = 0.05) -> None:
        self.random = Random(seed)
        self.now = 0.0
        self.loss = loss
        self.replicas = replicas
        self.records: dict[str, Record] = {}
        self.lives: dict[str, int] = {}  # how often each was started
        self.left: set[str] = set()
        # Live members, whether they are most of all, and whether they have everything between them.
        self.versions: list[tuple[dict[str, Record], bool, int]] = []
        self.running: dict[str, Peer] = {}
        self.disks: dict[str, dict[str, DictStore]] = {}
        self.cut_off: set[str] = set()  # by whom nothing is heard, and who has no licence
        self.acknowledged: set[Item] = set()
        self.is_crawling = True
        self.n_fetched = 0
        self.trace: list[tuple[float, str, str, object]] = []
        self._events: list[tuple[float, int, Callable[[], None]]] = []
        self._n_events = 0
        self._last_commit: dict[str, float] = defaultdict(float)
        for name in names:
            self.start(name)

    # --- What happens to the mesh

    def start(self, name: str) -> None:
        """A new peer, or one that comes back: with its weight at once, and serving when it is ready."""
        disk = self.disks.setdefault(name, {store: DictStore(name) for store in STORES})
        self.lives[name] = life = self.lives.get(name, 0) + 1
        exchanges = {store: Exchange(name, store, disk[store], EXCHANGE, life) for store in STORES}
        handover = Handover(name, DECLARED, life, SETTINGS)
        self.running[name] = Peer(name, disk, handover, exchanges)
        self.left.discard(name)
        old = self.records.get(name, Record())
        self.change(name, Record(old.weight))
        self._fetch_later(self.running[name])

    def crash(self, name: str) -> None:
        self.running.pop(name)
        self.cut_off.discard(name)

    def drop(self, name: str) -> None:
        """The others find a peer dead that is down or cut off."""
        assert name in self.cut_off or name not in self.running
        self.change(name, replace(self.records[name], is_alive=False))

    def cut(self, name: str, dropped_after_s: float, healed_after_s: float) -> None:
        """Nobody hears a peer for a while, and so its licence runs out; only then may it be dropped.

        It finds itself alone meanwhile.
        """
        peer = self.running[name]
        self.cut_off.add(name)

        def if_still_cut_off(action: Callable[[], None]) -> None:
            if self._still_cut_off(peer):
                action()

        dropped_s, healed_s = self.now + dropped_after_s, self.now + healed_after_s
        self.at(dropped_s, partial(if_still_cut_off, partial(self.drop, name)))
        self.at(dropped_s, partial(if_still_cut_off, partial(self._find_alone, peer)))
        self.at(healed_s, partial(if_still_cut_off, partial(self._heal, name)))

    def _still_cut_off(self, peer: Peer) -> bool:
        return self.running.get(peer.name) is peer and peer.name in self.cut_off

    def _find_alone(self, peer: Peer) -> None:
        if peer.ownership is not None:
            table = SlotTable({peer.name: peer.ownership.table.weights[peer.name]}, SLOTS, self.replicas)
            self._show(peer, Ownership(peer.name, table, table.weights, has_majority=False, missed=2))

    def _heal(self, name: str) -> None:
        """A peer that was cut off hears that it was dropped, and then the others hear of it again."""
        if not self.records[name].is_alive:
            self._local(self.running[name], "handover", HoldingsRevoked(), source="membership")
        self.cut_off.discard(name)
        self.change(name, replace(self.records[name], is_alive=True))

    def leave(self, name: str) -> None:
        """A peer goes for good."""
        self.crash(name)
        self.left.add(name)
        self.drop(name)

    def change(self, name: str, record: Record) -> None:
        """Something true becomes known, by and by, to all that can hear it."""
        self.records = self.records | {name: record}
        live = {peer: record for peer, record in self.records.items() if record.is_alive}
        is_most = 2 * len(live) > len(self.records.keys() - self.left)
        self.versions.append((live, is_most, self.count_missed()))
        for peer in self.running.values():
            self.at(self.now + self.random.choice((0.0, 0.05, 0.3, 1.0)), partial(self._tell, peer))

    # --- Running

    def at(self, time: float, action: Callable[[], None]) -> None:
        self._n_events += 1
        heapq.heappush(self._events, (time, self._n_events, action))

    def run(self, seconds: float) -> None:
        """Let time pass; check after everything that happens."""
        end = self.now + seconds
        while self._events and self._events[0][0] <= end:
            self.now, _, action = heapq.heappop(self._events)
            action()
            self.check()
        self.now = end

    def check(self) -> None:
        for slot in range(SLOTS):
            crawling = [
                peer.name
                for peer in self.running.values()
                if peer.name not in self.cut_off and slot in peer.may_fetch | peer.fetching
            ]
            assert len(crawling) <= 1, f"slot {slot} is crawled by {crawling} at {self.now}"

    def check_complete(self, peer: Peer) -> None:
        """An owner that says it has everything that counts does."""
        if peer.name in self.cut_off:
            return
        slots = {slot for slot in peer.may_fetch if peer.complete[slot]}
        counting = {item for item in self.acknowledged if item[0] in slots}
        for store in STORES:
            lacking = counting - peer.stores[store].all()
            assert not lacking, f"{peer.name} calls slots complete and lacks {lacking} at {self.now}"

    def count_missed(self) -> int:
        """Members that are dead, may come back, and have or may have something."""
        dead = [self.records[name] for name in self.records.keys() - self.left]
        return sum(not each.is_alive and (each.weight > 0 or each.serving > 0) for each in dead)

    def check_nothing_is_lost(self) -> None:
        for store in STORES:
            somewhere = {item for disk in self.disks.values() for item in disk[store].all()}
            assert self.acknowledged <= somewhere, f"lost at {self.now}: {self.acknowledged - somewhere}"

    def is_quiet(self) -> bool:
        """Does nobody see anything that has to move, and does everybody see the same?"""
        newest = len(self.versions) - 1
        return all(
            peer.version == newest and not peer.shipping and peer.handover.observe().is_quiet
            for peer in self.running.values()
        )

    def check_settled(self) -> None:
        """Every slot is crawled by its owner, kept by its team, by nobody else, and served."""
        live = {name: record.weight for name, record in self.records.items() if record.is_alive}
        assert set(live) == set(self.running)
        table = SlotTable(live, SLOTS, self.replicas)
        reachable = {
            store: {item for peer in self.running.values() for item in peer.stores[store].all()}
            for store in STORES
        }
        for slot in range(SLOTS):
            assert [p.name for p in self.running.values() if slot in p.may_fetch] == [table.owner_of(slot)]
            for name, peer in self.running.items():
                for store in STORES:
                    here = {item for item in peer.stores[store].all() if item[0] == slot}
                    counting = {item for item in self.acknowledged & reachable[store] if item[0] == slot}
                    if name in table.team_of(slot):
                        assert peer.complete[slot], f"{name} is not complete in {slot}"
                        assert counting <= here, f"{name} lacks {counting - here} in {store}"
                    else:
                        assert not here, f"{name} has {here} in {store}"
        for name, record in self.records.items():
            assert not record.is_alive or record.serving == record.weight, name
        for peer in self.running.values():
            assert peer.handover.observe().is_quiet, (peer.name, peer.handover.observe())
            assert not peer.handover.observe().refused
            assert not any(exchange.observe().parts_refused for exchange in peer.exchanges.values())

    # --- Membership

    def _tell(self, peer: Peer) -> None:
        """Let a peer see the newest records, which need not be the next ones."""
        newest = len(self.versions) - 1
        if self.running.get(peer.name) is not peer or peer.name in self.cut_off or peer.version == newest:
            return
        peer.version = newest
        live, is_most, missed = self.versions[newest]
        table = SlotTable({name: record.weight for name, record in live.items()}, SLOTS, self.replicas)
        serving = {name: record.serving for name, record in live.items()}
        served = None
        if any(serving.values()) and serving != table.weights:
            served = SlotTable(serving, SLOTS, self.replicas)
        self._show(
            peer,
            Ownership(peer.name, table, live, serving=served, has_majority=is_most, missed=missed),
        )

    def _show(self, peer: Peer, ownership: Ownership) -> None:
        is_first = peer.ownership is None
        peer.ownership = ownership
        for exchange in peer.exchanges.values():
            exchange.change_ownership(peer.ownership)
        self._local(peer, "handover", OwnershipChanged(peer.ownership), source="membership")
        for store in STORES:
            self._tell_filled(peer, store, is_first=is_first)
        self._ship_all(peer)

    def _serve(self, name: str) -> None:
        record = self.records[name]
        if record.serving != record.weight:
            self.change(name, replace(record, serving=record.weight))

    # --- Delivery

    def _local(self, peer: Peer, actor: str, message: Message, source: str) -> None:
        self._arrive(peer, Address(peer.name, source), actor, message)

    def _carry(self, peer: Peer, actor: str, sends: list[Send]) -> None:
        source = Address(peer.name, actor)
        for target, message in sends:
            self.trace.append((self.now, peer.name, f"{target.peer}.{target.actor}", message))
            ready = self.now
            if message.is_promise:
                ready = max(self.now + self.random.uniform(0, 0.02), self._last_commit[peer.name])
                self._last_commit[peer.name] = ready
            if target.peer == peer.name:
                if message.is_promise:
                    self.at(ready, partial(self._arrive, peer, source, target.actor, message))
                else:
                    self._arrive(peer, source, target.actor, message)
            else:
                others = [target.peer] if target.peer != EVERYBODY else sorted(self.records)
                for other in others:
                    self.at(
                        ready,
                        partial(self._send, peer, other, source, target.actor, message),
                    )

    def _send(self, sender: Peer, other: str, source: Address, actor: str, message: Message) -> None:
        """Put a message on the wire, if its sender is still there to do it."""
        if self.running.get(sender.name) is not sender or sender.name in self.cut_off:
            return
        for _ in range(1 + (self.random.random() < self.loss)):
            if self.random.random() < self.loss:
                continue
            delay = self.random.choice((0.001, 0.01, 0.05)) if self.random.random() > 0.02 else 3.0
            self.at(self.now + delay, lambda: self._arrive_at(other, source, actor, message))

    def _arrive_at(self, name: str, source: Address, actor: str, message: Message) -> None:
        peer = self.running.get(name)
        if peer is not None and name not in self.cut_off and source.peer not in self.left:
            self._arrive(peer, source, actor, message)

    def _arrive(self, peer: Peer, source: Address, actor: str, message: Message) -> None:
        """First in, first out, as in a node."""
        if self.running.get(peer.name) is not peer:
            return
        peer.inbox.append((source, actor, message))
        if len(peer.inbox) == 1:
            while peer.inbox:
                self._receive(peer, *peer.inbox[0])
                peer.inbox.popleft()

    def _receive(self, peer: Peer, source: Address, actor: str, message: Message) -> None:
        sends: list[Send] = []
        match message:
            case ServeSlots():
                self._serve(peer.name)
            case HoldSlots(slots):
                self._hold(peer, decode_slots(slots, SLOTS))
            case Ship(item):
                self._take(peer, source, item)
            case Shipped(item):
                peer.shipping.get(item, set()).add(source.peer)
                self._acknowledge(peer)
            case SlotsComplete(slots):
                if actor in STORES:
                    peer.complete = decode_slots(slots, SLOTS)
                    peer.exchanges[actor].note_complete(peer.complete)
            case ForgetSlots(slots):
                if actor in STORES:
                    peer.stores[actor].forget(decode_slots(slots, SLOTS))
                    peer.filled[actor] -= set(np.flatnonzero(decode_slots(slots, SLOTS)).tolist())
                    self.check_nothing_is_lost()
            case _ if actor == "handover":
                sends = peer.handover.receive(source, message, self.now)
            case _ if actor in STORES:
                assert source.peer != peer.name or isinstance(message, SynchroniseSlots | StopSynchronising)
                sends = peer.exchanges[actor].receive(source, message, self.now)
                self._tell_filled(peer, actor)
        if isinstance(message, HoldSlots | SlotsComplete):
            self.check_complete(peer)
        self._carry(peer, actor, sends)
        self._plan(peer)

    def _plan(self, peer: Peer) -> None:
        for actor in (*STORES, "handover"):
            due = peer.wake_at(actor)
            if due < inf and not (self.now <= peer.woken_at.get(actor, -1.0) <= due):
                peer.woken_at[actor] = max(due, self.now)
                self.at(peer.woken_at[actor], partial(self._wake, peer, actor))

    def _wake(self, peer: Peer, actor: str) -> None:
        if self.running.get(peer.name) is not peer:
            return
        peer.woken_at[actor] = -1.0
        machine = peer.handover if actor == "handover" else peer.exchanges[actor]
        if peer.wake_at(actor) <= self.now:
            self._carry(peer, actor, machine.wake(self.now))
        self._plan(peer)

    # --- Controller and stores

    def _hold(self, peer: Peer, slots: SlotMask) -> None:
        before = peer.may_fetch
        peer.may_fetch = set(np.flatnonzero(slots).tolist())
        idle = before - peer.may_fetch - peer.fetching
        if idle:
            self._say_stopped(peer, idle)

    def _say_stopped(self, peer: Peer, slots: set[int]) -> None:
        stopped = SlotsStopped(encode_slot_list(slots, SLOTS))
        self._carry(peer, "controller", [Send(Address(peer.name, "handover"), stopped)])

    def _fetch_later(self, peer: Peer) -> None:
        self.at(self.now + self.random.expovariate(2.0), lambda: self._fetch(peer))

    def _fetch(self, peer: Peer) -> None:
        if self.running.get(peer.name) is not peer:
            return
        self._fetch_later(peer)
        self._ship_all(peer)  # what was not answered goes out again
        idle = sorted(peer.may_fetch - peer.fetching)
        if idle and self.is_crawling and peer.name not in self.cut_off:
            slot = self.random.choice(idle)
            peer.fetching.add(slot)
            self.at(self.now + self.random.expovariate(3.0), lambda: self._finish(peer, slot))

    def _finish(self, peer: Peer, slot: int) -> None:
        if self.running.get(peer.name) is not peer:
            return
        self.n_fetched += 1
        item = (slot, f"{peer.name}{self.n_fetched}")
        peer.fetching.discard(slot)
        for store in STORES:
            peer.stores[store].put(*item)
            self._tell_filled(peer, store)
        peer.shipping[item] = {peer.name}
        self._ship_all(peer)
        if slot not in peer.may_fetch:
            self._say_stopped(peer, {slot})

    def _tell_filled(self, peer: Peer, store: str, *, is_first: bool = False) -> None:
        if peer.ownership is None:
            return
        filled = {slot for slot, items in peer.stores[store].items.items() if items}
        new = filled - peer.filled[store]
        if new or is_first:
            peer.filled[store] |= new
            self._local(peer, "handover", SlotsFilled(encode_slot_list(new, SLOTS)), source=store)

    def _team(self, peer: Peer, slot: int) -> set[str]:
        assert peer.ownership is not None
        return set(peer.ownership.team_of(slot))

    def _ship_all(self, peer: Peer) -> None:
        self._acknowledge(peer)
        for item, having in peer.shipping.items():
            for other in sorted(self._team(peer, item[0]) - having):
                self._carry(peer, "controller", [Send(Address(other, "controller"), Ship(item))])

    def _acknowledge(self, peer: Peer) -> None:
        """Let count what all of the team have; among a few it counts for nobody else."""
        if peer.ownership is None or not peer.ownership.has_majority:
            return
        for item, having in list(peer.shipping.items()):
            if self._team(peer, item[0]) <= having:
                del peer.shipping[item]
                self.acknowledged.add(item)
                for other in self.running.values():
                    self.check_complete(other)

    def _take(self, peer: Peer, source: Address, item: Item) -> None:
        """Keep what others ship, if we are in the team."""
        if peer.ownership is None or peer.name not in self._team(peer, item[0]):
            return
        for store in STORES:
            peer.stores[store].put(*item)
            self._tell_filled(peer, store)
        self._carry(peer, "controller", [Send(source, Shipped(item))])


def slots(*numbers: int) -> bytes:
    mask = np.zeros(SLOTS, np.bool_)
    mask[list(numbers)] = True
    return encode_slots(mask)
