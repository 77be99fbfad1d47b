"""Histories of deliveries: messages get lost, doubled and late, senders die, clocks go back, receivers leave.

Whatever happens, every parcel ends in exactly one way, and none counts as answered that its receiver lacks.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from mesh.actors.delivery import Delivery, DeliverySettings
from mesh.actors.durable_delivery import DurableDelivery
from mesh.tables.lives import numbers_of
from mesh.tables.memory_table import MemoryTable

RECEIVERS = ("b", "c", "d")
LIMITS = DeliverySettings(
    again_s=2.0,
    again_max_s=8.0,
    give_up_s=20.0,
    window=3,
    window_bytes=60,
    waiting_max=6,
    waiting_bytes_max=100,
)
receivers = st.sampled_from(RECEIVERS)


class Message(NamedTuple):
    """On its way to a receiver, or the answer on its way back."""

    receiver: str
    number: int
    item: str


class _Network(RuleBasedStateMachine):
    """Messages and answers are a bag: any of them may come next, stay for ever, or come again."""

    def __init__(self) -> None:
        super().__init__()
        self.now = 100.0
        self.life = 1
        self.n_added = 0
        self.messages: list[Message] = []
        self.answers: list[Message] = []
        self.kept: set[tuple[str, str]] = set()  # receiver and item

    @precondition(lambda self: self.messages)
    @rule(data=st.data(), is_doubled=st.booleans())
    def arrive(self, data: Any, is_doubled: bool) -> None:
        """A message arrives; its receiver keeps the item and answers."""
        index = data.draw(st.integers(0, len(self.messages) - 1))
        message = self.messages[index] if is_doubled else self.messages.pop(index)
        self.kept.add((message.receiver, message.item))
        self.answers.append(message)

    @precondition(lambda self: self.messages or self.answers)
    @rule(data=st.data())
    def lose(self, data: Any) -> None:
        bag = data.draw(st.sampled_from([bag for bag in (self.messages, self.answers) if bag]))
        del bag[data.draw(st.integers(0, len(bag) - 1))]

    def draw_answer(self, data: Any) -> Message:
        index = data.draw(st.integers(0, len(self.answers) - 1))
        return self.answers[index] if data.draw(st.booleans()) else self.answers.pop(index)

    def name_item(self) -> str:
        self.n_added += 1
        return f"item {self.n_added}"


class DeliveryHistory(_Network):
    """A delivery in memory: what waits when its owner dies, the owner's next life has to find otherwise."""

    def __init__(self) -> None:
        super().__init__()
        self.begin_life()

    def begin_life(self) -> None:
        self.numbers = numbers_of(self.life)
        self.delivery: Delivery[int, str] = Delivery(LIMITS)
        self.open: dict[tuple[str, int], tuple[str, float]] = {}  # item, and when it was added
        self.ended: dict[tuple[str, int], str] = {}

    def end(self, receiver: str, number: int, item: str, how: str) -> None:
        key = (receiver, number)
        assert key not in self.ended, "ended twice"
        assert self.open.pop(key)[0] == item
        self.ended[key] = how

    @rule(receiver=receivers, n_bytes=st.integers(1, 80), hold_off_s=st.sampled_from((0.0, 3.0)))
    def add(self, receiver: str, n_bytes: int, hold_off_s: float) -> None:
        item, number = self.name_item(), next(self.numbers)
        if self.delivery.add(receiver, number, item, n_bytes, self.now, hold_off_s=hold_off_s):
            self.open[receiver, number] = item, self.now

    @rule(pause_s=st.sampled_from((0.0, 0.1, 2.0, 5.0, 21.0)))
    def wake(self, pause_s: float) -> None:
        self.now += pause_s
        due = self.delivery.wake(self.now)
        for receiver, number, item in due.leaving:
            assert self.open[receiver, number][0] == item
            self.messages.append(Message(receiver, number, item))
        for receiver, number, item in due.given_up:
            assert self.open[receiver, number][1] + LIMITS.give_up_s <= self.now
            self.end(receiver, number, item, "given up")
        assert self.delivery.wake_at_s > self.now, "it would be woken without end"
        assert all(since + LIMITS.give_up_s > self.now for _, since in self.open.values())

    @precondition(lambda self: self.answers)
    @rule(data=st.data())
    def answer(self, data: Any) -> None:
        answer = self.draw_answer(data)
        item = self.delivery.note_answer(answer.receiver, answer.number, self.now)
        if item is not None:
            assert (answer.receiver, item) in self.kept
            self.end(answer.receiver, answer.number, item, "answered")

    @precondition(lambda self: self.open)
    @rule(data=st.data())
    def withdraw(self, data: Any) -> None:
        receiver, number = data.draw(st.sampled_from(sorted(self.open)))
        item = self.delivery.withdraw(receiver, number)
        assert item is not None
        self.end(receiver, number, item, "withdrawn")

    @rule(receiver=receivers)
    def leave(self, receiver: str) -> None:
        for parcel in self.delivery.remove_receiver(receiver):
            self.end(*parcel, how="withdrawn")
        assert all(key[0] != receiver for key in self.open)

    @rule(receiver=receivers)
    def hasten(self, receiver: str) -> None:
        self.delivery.hasten(receiver, self.now)

    @rule(now=st.sampled_from((1.0, 50.0, 1_000.0)))
    def restart(self, now: float) -> None:
        self.life += 1
        self.now = now  # whatever its clock shows by then
        self.begin_life()

    @invariant()
    def nothing_is_forgotten_and_nothing_is_over_the_bounds(self) -> None:
        waiting = self.delivery.parcels()
        assert {(parcel.receiver, parcel.key) for parcel in waiting} == set(self.open)
        assert len(waiting) == len(self.delivery) == self.delivery.observe().waiting
        for receiver in RECEIVERS:
            assert sum(parcel.receiver == receiver for parcel in waiting) <= LIMITS.waiting_max
        assert self.delivery.observe().under_way <= LIMITS.window * len(RECEIVERS)

    def teardown(self) -> None:
        """A network that works from now on: everything is answered or given up."""
        for _ in range(100):
            for receiver, number, item in self.delivery.wake(self.now).leaving:
                assert self.delivery.note_answer(receiver, number, self.now) == item
            self.now += 1.0
        assert len(self.delivery) == 0


class DurableHistory(_Network):
    """A delivery in a table: it goes on where its owner died, and every item arrives."""

    def __init__(self) -> None:
        super().__init__()
        self.table = MemoryTable()
        self.added: set[tuple[str, str]] = set()
        self.under_way: dict[tuple[str, int], str] = {}  # as given out in this life
        self.withdrawn: set[tuple[str, str]] = set()
        self.begin_life()

    def begin_life(self) -> None:
        self.delivery = DurableDelivery(self.table, self.life, LIMITS, str.encode, bytes.decode)
        self.under_way.clear()

    @rule(receiver=receivers, n_bytes=st.integers(0, 80), hold_off_s=st.sampled_from((0.0, 3.0)))
    def add(self, receiver: str, n_bytes: int, hold_off_s: float) -> None:
        item = self.name_item()
        self.delivery.add(receiver, item.ljust(n_bytes), 1, self.now, hold_off_s=hold_off_s)
        self.added.add((receiver, item))

    @rule(pause_s=st.sampled_from((0.0, 0.1, 2.0, 5.0)))
    def wake(self, pause_s: float) -> None:
        self.now += pause_s
        for receiver, number, content, _ in self.delivery.wake(self.now):
            item = content.strip()
            self.under_way[receiver, number] = item
            self.messages.append(Message(receiver, number, item))
        assert self.delivery.wake_at() > self.now, "it would be woken without end"

    @precondition(lambda self: self.answers)
    @rule(data=st.data())
    def answer(self, data: Any) -> None:
        receiver, number, item = self.draw_answer(data)
        if self.delivery.note_answer(receiver, number, self.now):
            assert self.under_way.get((receiver, number), item) == item
            assert (receiver, item) in self.kept
            self.under_way.pop((receiver, number), None)

    @precondition(lambda self: self.under_way)
    @rule(data=st.data(), to=receivers)
    def change_owner(self, data: Any, to: str) -> None:
        """An item that is under way belongs to another receiver now."""
        receiver, number = data.draw(st.sampled_from(sorted(self.under_way)))
        item = self.under_way.pop((receiver, number))
        self.delivery.withdraw(receiver, number)
        self.withdrawn.add((receiver, item))
        self.delivery.add(to, item, 1, self.now)
        self.added.add((to, item))

    @rule(receiver=receivers)
    def hasten(self, receiver: str) -> None:
        self.delivery.hasten(receiver, self.now)

    @rule(now=st.sampled_from((1.0, 50.0, 1_000.0)))
    def restart(self, now: float) -> None:
        self.life += 1
        self.now = now
        self.begin_life()

    @invariant()
    def memory_is_bounded_and_the_table_has_all_that_is_not_kept(self) -> None:
        assert self.delivery.n_in_memory <= LIMITS.window * len(RECEIVERS)
        assert self.delivery.n_parcels == self.delivery.weight == len(self.table)
        kept_here = {value[4:].decode().strip() for _, value in self.table.scan(b"")}
        lost = {item for receiver, item in self.added - self.kept - self.withdrawn if item not in kept_here}
        assert not lost

    def teardown(self) -> None:
        """A network that works from now on: everything arrives."""
        for _ in range(len(self.table) + 1):
            for receiver, number, content, _ in self.delivery.wake(self.now):
                self.kept.add((receiver, content.strip()))
                assert self.delivery.note_answer(receiver, number, self.now)
            self.now += LIMITS.again_max_s
        assert self.added - self.withdrawn <= self.kept
        assert len(self.table) == 0


TestDeliveryHistory = DeliveryHistory.TestCase
TestDeliveryHistory.settings = settings(max_examples=150, stateful_step_count=60, deadline=None)
TestDurableHistory = DurableHistory.TestCase
TestDurableHistory.settings = settings(max_examples=150, stateful_step_count=60, deadline=None)
