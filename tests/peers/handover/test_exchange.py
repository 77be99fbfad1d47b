"""Two stores brought to the same content over a bad network, and what a hostile peer can do to one."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterator
from functools import partial
from math import inf, nan
from random import Random
from typing import Any, Final

import msgspec
import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from mesh.actors.actor import Address, Message, Send
from mesh.actors.codec import encode
from mesh.actors.conduct import CONDUCT, Misbehaved, Offence
from mesh.actors.ownership import Ownership
from mesh.errors import LocalProtocolError, RemoteProtocolError
from mesh.membership.model.wire_messages import Ping
from mesh.slot_set import NO_SLOTS, decode_slots, encode_slot_list
from mesh.slots import SlotTable
from peers.handover.exchange import Exchange
from peers.handover.incoming_transfers import IDS_PER_TURN, PARTS_WAITING_MAX
from peers.handover.messages import SlotsDiffer, SlotsSynchronised, StopSynchronising, SynchroniseSlots
from peers.handover.outgoing_transfers import FEW, item_ids_in
from peers.handover.part_checksum import checksum_of
from peers.handover.settings import ExchangeSettings
from peers.handover.store import Part
from peers.handover.wire_messages import (
    BULK_BYTES_MAX,
    DIGEST_BYTES,
    ROOT_BYTES,
    CompareSlots,
    ItemsSent,
    ItemsTaken,
    SendItems,
    SlotsCompared,
)
from tests.frames import decode
from tests.peers.handover.dict_store import DictStore, MergeDone, ReadPart, id_of

SLOTS = 6
ANN, BEN, EVE = "ann", "ben", "eve"
SETTINGS = ExchangeSettings(group_slots_max=2, parts_in_flight_max=3, again_s=1.0, tries_max=4, idle_s=10.0)
ALL = encode_slot_list(range(SLOTS), SLOTS)
TABLE = SlotTable({ANN: 100, BEN: 100, EVE: 0}, SLOTS, 2)


def slots(*numbers: int) -> bytes:
    return encode_slot_list(numbers, SLOTS)


class Side:
    """One peer: a store and its exchange, which may be restarted."""

    def __init__(self, name: str, *, has_port: bool, settings: ExchangeSettings = SETTINGS) -> None:
        self.name = name
        self.settings = settings
        self.store = DictStore(name, has_port=has_port)
        self.lives = 0
        self.told: list[Message] = []  # to the handover
        self.start()

    def start(self) -> None:
        self.lives += 1
        self.exchange = Exchange(self.name, "cell", self.store, self.settings, self.lives)
        self.exchange.change_ownership(Ownership(self.name, TABLE, TABLE.peers))
        self.exchange.note_complete(np.ones(SLOTS, np.bool_))


class Pump:
    """Carries messages between two sides, late, twice or not at all, and orders to their ports."""

    def __init__(
        self,
        seed: int = 0,
        loss: float = 0.0,
        *,
        has_port: bool = False,
        settings: ExchangeSettings = SETTINGS,
    ) -> None:
        self.random = Random(seed)
        self.loss = loss
        self.now = 0.0
        self.sides = {name: Side(name, has_port=has_port, settings=settings) for name in (ANN, BEN)}
        self.asked: list[CompareSlots] = []  # by ann
        self.parts_on_their_way = self.most_parts = 0
        self.taken_at: list[tuple[float, int]] = []  # when ann got a part, and how large
        self._events: list[tuple[float, int, Callable[[], None]]] = []
        self._n = 0

    def order(self, name: str, message: Message) -> None:
        side = self.sides[name]
        self._carry(side, side.exchange.receive(Address(name, "handover"), message, self.now))

    def run(self, until: float = inf) -> None:
        """Until nothing is to be done any more, or that time."""
        while True:
            wakes = [(side.exchange.wake_at_s, side.name) for side in self.sides.values()]
            wake_at, name = min(wakes)
            at = min(wake_at, self._events[0][0] if self._events else inf)
            if at == inf or at > until:
                self.now = self.now if until == inf else max(self.now, until)
                return
            self.now = max(self.now, at)
            if self._events and self._events[0][0] <= wake_at:
                heapq.heappop(self._events)[2]()
            else:
                side = self.sides[name]
                self._carry(side, side.exchange.wake(self.now))

    def _at(self, delay: float, action: Callable[[], None]) -> None:
        self._n += 1
        heapq.heappush(self._events, (self.now + delay, self._n, action))

    def _carry(self, side: Side, sends: list[Send]) -> None:
        life = side.lives
        for target, message in sends:
            if target.actor == "port":
                self._at(0.01, partial(self._answer, side, life, message))
            elif target.actor == "handover":
                side.told.append(message)
            else:
                self._transmit(side.name, target.peer, encode("cell", target.actor, message))

    def _answer(self, side: Side, life: int, message: Message) -> None:
        if side.lives != life:
            return
        match message:
            case ReadPart(ticket, part):
                self._carry(side, side.exchange.give_part(ticket, part, self.now))
            case MergeDone(ticket):
                side.store.finish(ticket)
                self._carry(side, side.exchange.end_merge(ticket, self.now))

    def _transmit(self, sender: str, receiver: str, frame: bytes) -> None:
        for _ in range(1 + (self.random.random() < self.loss)):
            if self.random.random() >= self.loss:
                delay = self.random.choice((0.001, 0.01, 0.3)) if self.loss else 0.01
                self._at(delay, lambda: self._arrive(sender, receiver, frame))

    def _arrive(self, sender: str, receiver: str, frame: bytes) -> None:
        side = self.sides.get(receiver)
        if side is None:
            return
        source, message = Address(sender, "cell"), decode(frame).message
        if isinstance(message, ItemsSent) and side.name == ANN:
            self.taken_at.append((self.now, len(message.items) + len(message.bulk)))
        if isinstance(message, CompareSlots) and side.name == BEN:
            self.asked.append(message)
        self._carry(side, side.exchange.receive(source, message, self.now))


def filled(pump: Pump, random: Random, count: int = 30) -> set[tuple[int, str]]:
    """Give both sides some items, some of them the same; return the union."""
    for number in range(count):
        slot, text = random.randrange(SLOTS), f"item {number}"
        for side in random.choice(([ANN], [BEN], [ANN, BEN])):
            pump.sides[side].store.put(slot, text)
    return pump.sides[ANN].store.all() | pump.sides[BEN].store.all()


def synchronise(pump: Pump, name: str, bytes_per_s: float = inf, which: bytes = ALL) -> None:
    """As a handover does: repeat what is lacking, in new tasks, until it has come."""
    side, other = pump.sides[name], BEN if name == ANN else ANN
    left = decode_slots(which, SLOTS)
    for task in range(1, 60):
        side.told.clear()
        pump.order(
            name, SynchroniseSlots(task, other, encode_slot_list(np.flatnonzero(left), SLOTS), bytes_per_s)
        )
        pump.run()
        done = [each for each in side.told if isinstance(each, SlotsSynchronised)]
        assert [each.task for each in done] == [task]
        left &= ~decode_slots(done[0].slots, SLOTS)
        if not left.any():
            return
    pytest.fail("gets nowhere")


# --- Routine


def compare_routinely(pump: Pump, name: str) -> set[int]:
    """Have one side ask for what has moved there; return the slots that it says differ."""
    side, other = pump.sides[name], BEN if name == ANN else ANN
    side.told.clear()
    pump.order(name, SynchroniseSlots(1, other, ALL, inf, is_routine=True))
    pump.run()
    assert SlotsSynchronised(1, ALL) in side.told
    told = [decode_slots(each.slots, SLOTS) for each in side.told if isinstance(each, SlotsDiffer)]
    return {slot for mask in told for slot in np.flatnonzero(mask).tolist()}


def differing(pump: Pump) -> set[int]:
    ann, ben = (pump.sides[name].store.items for name in (ANN, BEN))
    return {slot for slot in range(SLOTS) if ann.get(slot, {}) != ben.get(slot, {})}


def test_what_was_equal_is_not_asked_again_by_either_side_before_it_changes() -> None:
    pump = Pump()
    for side in pump.sides.values():
        side.store.put(3, "the same")
    assert not compare_routinely(pump, ANN)
    assert not compare_routinely(pump, ANN)
    assert not compare_routinely(pump, BEN)
    assert [pump.sides[name].exchange.observe().slots_compared for name in (ANN, BEN)] == [0, SLOTS]
    pump.sides[ANN].store.put(3, "more")
    assert compare_routinely(pump, BEN) == set(), "it is for the side that has changed to ask"
    assert compare_routinely(pump, ANN) == {3}


def test_a_routine_comparison_brings_nothing_but_what_is_said_to_differ_can_be_brought() -> None:
    pump = Pump()
    union = filled(pump, Random(1))
    different = differing(pump)
    assert compare_routinely(pump, ANN) == different
    assert differing(pump) == different
    synchronise(pump, ANN)
    synchronise(pump, BEN)
    assert pump.sides[ANN].store.all() == pump.sides[BEN].store.all() == union


def test_after_a_restart_all_is_asked_once_more() -> None:
    pump = Pump()
    filled(pump, Random(1))
    synchronise(pump, ANN)
    synchronise(pump, BEN)
    assert not compare_routinely(pump, ANN)
    n_asked = len(pump.asked)
    pump.sides[ANN].start()
    assert not compare_routinely(pump, ANN)
    assert len(pump.asked) > n_asked


@settings(deadline=None)  # the machine may have other work
@given(st.integers(0, 2**32), st.sampled_from([0.0, 0.1, 0.5]))
@example(seed=3676, loss=0.1)  # a slot changed, was asked about, and changed back before the question came
def test_each_slot_that_differs_is_found_by_one_side_whatever_was_lost_before(seed: int, loss: float) -> None:
    pump, random = Pump(seed, loss), Random(seed)
    for number in range(40):
        name = random.choice((ANN, BEN))
        side, other = pump.sides[name], BEN if name == ANN else ANN
        match random.randrange(8):
            case 0:
                side.store.forget(np.arange(SLOTS) == random.randrange(4))
            case 1:
                side.start()
            case 2 | 3:
                pump.order(name, SynchroniseSlots(number + 2, other, ALL, inf, is_routine=True))
            case _:
                sides = random.choice(((ANN,), (BEN,), (ANN, BEN)))
                slot, text = random.randrange(4), f"item {random.randrange(4)}"
                for each in sides:
                    pump.sides[each].store.put(slot, text)
        pump.run(until=pump.now + random.choice((0.0, 0.005, 0.4)))
    pump.run()
    pump.loss = 0.0
    assert compare_routinely(pump, ANN) | compare_routinely(pump, BEN) == differing(pump)


# --- Bringing two stores together


@settings(deadline=None)  # the machine may have other work
@given(st.integers(0, 2**32), st.sampled_from([0.0, 0.1, 0.3]), st.booleans())
def test_both_have_the_union_whatever_the_network_does(seed: int, loss: float, has_port: bool) -> None:
    pump = Pump(seed, loss, has_port=has_port)
    union = filled(pump, Random(seed))
    synchronise(pump, ANN)
    assert pump.sides[ANN].store.all() == union
    synchronise(pump, BEN)
    assert pump.sides[BEN].store.all() == union


@settings(deadline=None)  # the machine may have other work
@given(
    st.integers(0, 2**32), st.lists(st.tuples(st.sampled_from([ANN, BEN]), st.floats(0.01, 3)), max_size=4)
)
def test_a_restart_of_either_side_only_delays(seed: int, restarts: list[tuple[str, float]]) -> None:
    pump = Pump(seed, 0.1, has_port=True)
    union = filled(pump, Random(seed))
    pump.order(ANN, SynchroniseSlots(1, BEN, ALL, inf))
    for name, after in restarts:
        pump.run(pump.now + after)
        pump.sides[name].start()
    synchronise(pump, ANN)
    assert pump.sides[ANN].store.all() == union


def test_what_is_equal_costs_a_digest_and_no_items() -> None:
    pump = Pump()
    for side in pump.sides.values():
        side.store.put(0, "same")
    synchronise(pump, ANN)
    statistics = pump.sides[BEN].exchange.observe()
    assert (statistics.slots_compared, statistics.slots_differing, statistics.parts_sent) == (SLOTS, 0, 0)


def compared(pump: Pump) -> list[CompareSlots]:
    """What ann asks ben in one synchronisation."""
    pump.asked.clear()
    synchronise(pump, ANN)
    return pump.asked


def equal_pump() -> Pump:
    """Two sides that have the same, and have found that out; they compare half of the slots at a time."""
    pump = Pump(settings=msgspec.structs.replace(SETTINGS, group_slots_max=SLOTS // 2))
    for slot in range(SLOTS):
        for side in pump.sides.values():
            side.store.put(slot, "same")
    assert [(len(each.digests), each.is_root) for each in compared(pump)] == [
        (SLOTS // 2 * DIGEST_BYTES, False),
        (ROOT_BYTES, True),
    ]
    return pump


def test_where_nothing_differed_last_time_one_root_is_compared() -> None:
    pump = equal_pump()
    assert [(len(each.digests), each.is_root) for each in compared(pump)] == [(ROOT_BYTES, True)] * 2
    assert pump.sides[BEN].exchange.observe().slots_compared == 2 * SLOTS


@pytest.mark.parametrize("has_more", [[ANN], [BEN], [ANN, BEN]])
def test_where_a_root_is_another_digests_are_compared(has_more: list[str]) -> None:
    pump = equal_pump()
    for name in has_more:
        pump.sides[name].store.put(1, f"more of {name}")
    assert [each.is_root for each in compared(pump)] == [True, False, False]
    assert pump.sides[ANN].store.all() >= pump.sides[BEN].store.all()
    assert pump.sides[BEN].exchange.observe().slots_differing == 1
    assert SlotsDiffer(ANN, slots(1)) in pump.sides[BEN].told


def test_only_slots_that_were_asked_for_are_brought() -> None:
    pump = Pump()
    for slot in range(SLOTS):
        pump.sides[BEN].store.put(slot, f"of {slot}")
    synchronise(pump, ANN, which=slots(1, 4))
    assert pump.sides[ANN].store.all() == {(1, "of 1"), (4, "of 4")}


def test_what_is_here_already_is_not_sent_again() -> None:
    pump = Pump()
    for number in range(10):
        pump.sides[BEN].store.put(0, f"{number}")
        if number:
            pump.sides[ANN].store.put(0, f"{number}")
    synchronise(pump, ANN)
    assert pump.sides[BEN].exchange.observe().parts_sent == 2  # one, and the empty last one


def test_a_long_list_of_what_is_here_is_made_in_several_turns() -> None:
    ann = Side(ANN, has_port=False)
    for number in range(2 * IDS_PER_TURN + 1):
        ann.store.put(0, f"{number}")
    order = SynchroniseSlots(1, BEN, slots(0), inf)
    [comparing] = ann.exchange.receive(Address(ANN, "handover"), order, 0.0)
    assert isinstance(comparing.message, CompareSlots)
    answer = SlotsCompared(comparing.message.request, slots(0), NO_SLOTS)
    turns = [ann.exchange.receive(Address(BEN, "cell"), answer, 0.0)]
    while ann.exchange.wake_at_s == -inf:
        turns.append(ann.exchange.wake(0.0))
    [first, second, [asking]] = turns
    assert first == second == []
    assert isinstance(asking.message, SendItems)
    assert list(item_ids_in(asking.message.have)) == sorted(ann.store.item_ids(0))


def test_a_transfer_that_pauses_lets_other_messages_have_their_turn() -> None:
    ben = Side(BEN, has_port=False)
    ben.store.put(0, "same")
    ben.store.put(1, "more")
    have = id_of("same")
    question = SendItems(7, slots(0, 1), have)
    assert ben.exchange.receive(Address(ANN, "cell"), question, 0.0) == []
    assert ben.exchange.wake_at_s == -inf
    sent = [send.message for send in ben.exchange.wake(0.0)]
    assert [(each.part, each.is_last) for each in sent if isinstance(each, ItemsSent)] == [
        (0, False),
        (1, True),
    ]
    assert ben.exchange.wake_at_s == SETTINGS.idle_s


def test_a_store_that_has_nothing_is_not_compared_item_by_item() -> None:
    class Counting(DictStore):
        walked = 0

        def item_ids(self, slot: int) -> Iterator[bytes]:
            for item_id in super().item_ids(slot):
                self.walked += 1
                yield item_id

    store = Counting(BEN)
    for number in range(1_000):
        store.put(0, f"{number}")
    exchange = exchange_of(store)
    answer = exchange.receive(Address(ANN, "cell"), CompareSlots(1, slots(0), bytes(8)), 0.0)[0].message
    assert answer == SlotsCompared(1, slots(0), NO_SLOTS)
    assert store.walked == 1


def test_who_is_compared_with_hears_what_differs() -> None:
    pump = Pump()
    pump.sides[ANN].store.put(3, "only ann has it")
    synchronise(pump, ANN)
    assert SlotsDiffer(ANN, slots(3)) in pump.sides[BEN].told


def test_slots_that_the_other_side_is_only_getting_are_not_done() -> None:
    pump = Pump()
    owned = np.flatnonzero(TABLE.slots_of(BEN)).tolist()
    pump.sides[BEN].exchange.note_complete(np.zeros(SLOTS, np.bool_))
    for slot in range(SLOTS):
        pump.sides[BEN].store.put(slot, f"{slot}")
    pump.order(ANN, SynchroniseSlots(1, BEN, ALL, inf))
    pump.run()
    done = slots(*(slot for slot in range(SLOTS) if slot not in owned))
    assert pump.sides[ANN].told == [SlotsSynchronised(1, done)]
    assert owned


def test_times_are_told_by_the_clock_of_the_receiver() -> None:
    pump = Pump()
    pump.sides[BEN].store.put(0, "x")
    synchronise(pump, ANN)
    assert pump.sides[ANN].store.clock_offsets == [pytest.approx(0.01)]


# --- Pace and window


@settings(deadline=None)  # the machine may have other work
@given(st.integers(0, 2**32), st.sampled_from([200.0, 1_000.0]), st.integers(1, 40))
def test_the_pace_is_kept_over_many_small_groups(seed: int, bytes_per_s: float, count: int) -> None:
    pump = Pump(seed)
    filled(pump, Random(seed), count)
    synchronise(pump, ANN, bytes_per_s)
    largest = max((size for _, size in pump.taken_at), default=0)
    total = 0
    for at, size in pump.taken_at:
        total += size
        assert total <= at * bytes_per_s + (SETTINGS.parts_in_flight_max + 1) * largest


def test_no_more_parts_are_on_their_way_than_there_is_leave_for() -> None:
    store = DictStore(BEN, items_per_part=1)
    for number in range(20):
        store.put(0, f"{number}")
    exchange = exchange_of(store)
    sent = exchange.receive(Address(ANN, "cell"), SendItems(7, slots(0), b""), 0.0)
    assert [message.part for message in parts_in(sent)] == [0, 1, 2]
    more = exchange.receive(Address(ANN, "cell"), ItemsTaken(7, 1), 0.0)
    assert [message.part for message in parts_in(more)] == [3, 4]
    assert exchange.receive(Address(ANN, "cell"), ItemsTaken(7, 0), 0.0) == []  # late: it was counted with 1


def test_a_transfer_that_nobody_takes_is_forgotten() -> None:
    store = DictStore(BEN)
    store.put(0, "x")
    exchange = exchange_of(store)
    exchange.receive(Address(ANN, "cell"), SendItems(7, slots(0), b""), 0.0)
    assert exchange.observe().transfers == 1
    exchange.wake(SETTINGS.idle_s)
    assert exchange.observe().transfers == 0
    assert exchange.wake_at_s == inf


def test_a_transfer_to_a_peer_that_is_gone_ends() -> None:
    exchange = exchange_of(DictStore(BEN))
    exchange.receive(Address(ANN, "cell"), SendItems(7, slots(0), b""), 0.0)
    exchange.change_ownership(Ownership(BEN, TABLE, [BEN]))
    assert exchange.observe().transfers == 0


# --- When it gets nowhere


def test_a_task_without_answers_ends_with_what_it_has() -> None:
    pump = Pump()
    pump.order(ANN, SynchroniseSlots(1, "nobody", ALL, inf))
    pump.run()
    assert pump.sides[ANN].told == [SlotsSynchronised(1, NO_SLOTS)]
    assert pump.now == pytest.approx(1 + 2 + 4 + 8)
    assert pump.sides[ANN].exchange.observe().tasks == 0


def test_what_was_done_before_the_other_fell_silent_counts() -> None:
    pump = Pump()
    for slot in range(SLOTS):
        pump.sides[BEN].store.put(slot, f"{slot}")
    pump.order(ANN, SynchroniseSlots(1, BEN, ALL, inf))
    pump.run(0.05)
    pump.loss = 1.0
    pump.run()
    done = pump.sides[ANN].told[-1]
    assert isinstance(done, SlotsSynchronised)
    have = {slot for slot, _ in pump.sides[ANN].store.all()}
    assert 0 < len(have) < SLOTS
    assert set(np.flatnonzero(decode_slots(done.slots, SLOTS)).tolist()) <= have


def test_a_task_that_is_stopped_says_and_takes_nothing_more() -> None:
    pump = Pump(has_port=True)
    for slot in range(SLOTS):
        pump.sides[BEN].store.put(slot, f"{slot}")
    pump.order(ANN, SynchroniseSlots(1, BEN, ALL, inf))
    pump.run(0.05)
    pump.order(ANN, StopSynchronising(1))
    before = pump.sides[ANN].store.all()
    received = pump.sides[ANN].exchange.observe().parts_received
    pump.run()
    # What the port was merging just then comes still; no part after it.
    assert len(pump.sides[ANN].store.all()) <= len(before) + 2
    assert pump.sides[ANN].exchange.observe().parts_received == received
    assert pump.sides[ANN].told == []


# --- Hostile or damaged messages


def exchange_of(store: DictStore) -> Exchange:
    exchange = Exchange(BEN, "cell", store, SETTINGS)
    exchange.change_ownership(Ownership(BEN, TABLE, TABLE.peers))
    exchange.note_complete(np.ones(SLOTS, np.bool_))
    return exchange


def parts_in(sends: list[Send]) -> list[ItemsSent]:
    return [message for _, message in sends if isinstance(message, ItemsSent)]


def part_of(request: int, items: list[tuple[int, str]], part: int = 0, **changes: object) -> ItemsSent:
    encoded = msgspec.msgpack.encode(items) if items else b""
    message = ItemsSent(request, part, 0.0, encoded, b"", checksum_of(encoded, b""), is_last=False)
    return msgspec.structs.replace(message, **changes)


DAMAGED_BY_ANN: Final = Send(Address(BEN, CONDUCT), Misbehaved(ANN, Offence.DAMAGED_PARTS))


class Receiving:
    """Ben has asked ann for what she has of slot 0, and waits for parts."""

    def __init__(self, *, has_port: bool = False) -> None:
        self.store = DictStore(BEN, has_port=has_port)
        self.exchange = exchange_of(self.store)
        order = SynchroniseSlots(1, ANN, slots(0), inf)
        [(_, asked)] = self.exchange.receive(Address(BEN, "handover"), order, 0.0)
        assert isinstance(asked, CompareSlots)
        [(_, wanted)] = self.hear(SlotsCompared(asked.request, slots(0), NO_SLOTS))
        assert isinstance(wanted, SendItems)
        self.request = wanted.request

    def hear(self, message: Message, peer: str = ANN) -> list[Send]:
        return self.exchange.receive(Address(peer, "cell"), message, 0.0)

    @property
    def refused(self) -> int:
        return self.exchange.observe().parts_refused


def test_a_part_of_the_right_request_and_peer_is_taken() -> None:
    ben = Receiving()
    assert ben.hear(part_of(ben.request, [(0, "x")])) == [
        Send(Address(ANN, "cell"), ItemsTaken(ben.request, 0))
    ]
    assert ben.store.all() == {(0, "x")}


def test_a_part_of_another_peer_is_not_taken() -> None:
    ben = Receiving()
    assert ben.hear(part_of(ben.request, [(0, "x")]), EVE) == []
    assert not ben.store.all()


def test_a_part_of_a_request_that_was_never_made_is_not_taken() -> None:
    ben = Receiving()
    assert ben.hear(part_of(ben.request + 1, [(0, "x")])) == []
    assert not ben.store.all()


def test_a_part_that_comes_twice_is_taken_once() -> None:
    ben = Receiving()
    ben.hear(part_of(ben.request, [(0, "x")]))
    assert ben.hear(part_of(ben.request, [(0, "x")])) == []
    assert ben.exchange.observe().parts_received == 1


@pytest.mark.parametrize(
    "changes", [{"checksum": 1}, {"sent_at": nan}, {"sent_at": inf}], ids=["checksum", "no time", "no end"]
)
def test_a_damaged_part_is_counted_and_asked_for_again(changes: dict[str, Any]) -> None:
    ben = Receiving()
    assert ben.hear(part_of(ben.request, [(0, "x")], **changes)) == [DAMAGED_BY_ANN]
    assert ben.refused == 1
    assert not ben.store.all()
    [(_, again)] = ben.exchange.wake(ben.exchange.wake_at_s)
    assert isinstance(again, SendItems)
    assert again.request != ben.request


def test_a_part_after_one_that_was_lost_is_not_taken_and_what_lacks_is_asked_for() -> None:
    ben = Receiving()
    ben.hear(part_of(ben.request, [(0, "x")]))
    assert ben.hear(part_of(ben.request, [(0, "z")], part=2)) == []
    [(_, again)] = ben.exchange.wake(ben.exchange.wake_at_s)
    assert isinstance(again, SendItems)
    assert list(item_ids_in(again.have)) == [id_of("x")]
    assert ben.store.all() == {(0, "x")}


def test_items_of_slots_that_were_not_asked_for_end_the_task() -> None:
    ben = Receiving()
    assert ben.hear(part_of(ben.request, [(1, "x")])) == [
        DAMAGED_BY_ANN,
        Send(Address(BEN, "handover"), SlotsSynchronised(1, NO_SLOTS)),
    ]
    assert ben.refused == 1
    assert not ben.store.all()


def test_a_sender_that_does_not_wait_for_leave_is_refused() -> None:
    ben = Receiving(has_port=True)  # merging takes its time, here for ever
    for number in range(PARTS_WAITING_MAX + 3):
        ben.hear(part_of(ben.request, [(0, f"{number}")], part=number))
    assert ben.exchange.observe().parts_received == PARTS_WAITING_MAX
    assert ben.refused == 3


@pytest.mark.parametrize(
    "message",
    [
        CompareSlots(1, slots(0, 1), bytes(8)),
        CompareSlots(1, slots(0), bytes(8), is_root=True),
        CompareSlots(1, b"M\x00\x00", b""),
        CompareSlots(1, b"L\xff\xff", bytes(8)),
        SendItems(1, b"", b""),
        SendItems(1, slots(0), b"seven b"),
        SendItems(1, slots(0), b"bbbbbbbbaaaaaaaa"),
    ],
    ids=[
        "digest lacks",
        "no root",
        "another mesh's",
        "no such slot",
        "no slot set",
        "half an id",
        "ids fall",
    ],
)
def test_questions_that_make_no_sense_are_refused_and_counted(message: Message) -> None:
    exchange = exchange_of(DictStore(BEN))
    assert exchange.receive(Address(EVE, "cell"), message, 0.0) == []
    assert exchange.observe().parts_refused == 1
    assert exchange.observe().transfers == 0


def test_one_peer_cannot_take_up_all_transfers() -> None:
    exchange = exchange_of(DictStore(BEN))
    for request in range(1_000):
        exchange.receive(Address(EVE, "cell"), SendItems(request, slots(0), b""), 0.0)
    assert exchange.observe().transfers == SETTINGS.transfers_per_peer_max
    assert parts_in(exchange.receive(Address(ANN, "cell"), SendItems(1, slots(0), b""), 0.0))


def test_leave_for_parts_that_were_never_sent_counts_for_nothing() -> None:
    store = DictStore(BEN, items_per_part=1)
    for number in range(9):
        store.put(0, f"{number}")
    exchange = exchange_of(store)
    exchange.receive(Address(ANN, "cell"), SendItems(1, slots(0), b""), 0.0)
    assert exchange.receive(Address(ANN, "cell"), ItemsTaken(1, 99), 0.0) == []
    assert exchange.receive(Address(EVE, "cell"), ItemsTaken(1, 0), 0.0) == []


def test_what_is_no_message_of_this_conversation_is_our_own_mistake() -> None:
    with pytest.raises(LocalProtocolError):
        exchange_of(DictStore(BEN)).receive(Address(BEN, "x"), Ping(1), 0.0)


def test_nothing_is_answered_before_the_slots_are_known() -> None:
    exchange = Exchange(BEN, "cell", DictStore(BEN))
    assert exchange.receive(Address(ANN, "cell"), CompareSlots(1, slots(0), bytes(8)), 0.0) == []


# --- Parts and ids


def test_the_largest_part_fits_a_frame() -> None:
    part = Part(bytes(4 << 20), bytes(BULK_BYTES_MAX))
    message = ItemsSent(1, 0, 0.0, part.items, part.bulk, checksum_of(*part), is_last=False)
    assert decode(encode("cell", "cell", message)).message == message


@settings(deadline=None, max_examples=20)  # of tens of thousands of ids
@given(st.sets(st.binary(min_size=8, max_size=8), max_size=50), st.binary(min_size=8, max_size=8))
def test_a_list_of_ids_contains_what_was_put_in(ids: set[bytes], other: bytes) -> None:
    for padding in (0, FEW + 1):
        more = {number.to_bytes(8, "big") for number in range(padding)}
        found = item_ids_in(b"".join(sorted(ids | more)))
        assert all(each in found for each in ids)
        assert (other in found) == (other in ids | more)
        assert set(found) == ids | more
        assert len(found) == len(ids | more)


def test_ids_that_do_not_rise_are_refused() -> None:
    with pytest.raises(RemoteProtocolError):
        item_ids_in(b"bbbbbbbbaaaaaaaa")
