"""What must arrive after a crash too: what is in the table, what in memory, and what is sent when."""

from __future__ import annotations

from math import inf

from mesh.actors.delivery import DeliverySettings
from mesh.actors.durable_delivery import DurableDelivery, DurableParcel
from mesh.tables.memory_table import MemoryTable

SETTINGS = DeliverySettings(again_s=2.0, again_max_s=8.0, window=3, window_bytes=1_000)


def begun(table: MemoryTable | None = None, life: int = 1) -> DurableDelivery[bytes]:
    return DurableDelivery(MemoryTable() if table is None else table, life, SETTINGS, bytes, bytes)


def filled(table: MemoryTable, n: int, receiver: str = "b") -> tuple[DurableDelivery[bytes], list[int]]:
    delivery = begun(table)
    return delivery, [delivery.add(receiver, b"%d" % number, 1, 0.0) for number in range(n)]


def leaving(delivery: DurableDelivery[bytes], now: float) -> list[int]:
    return [parcel.number for parcel in delivery.wake(now)]


def test_a_parcel_is_in_the_table_until_it_is_answered() -> None:
    table = MemoryTable()
    delivery = begun(table)
    number = delivery.add("b", b"content", 5, 0.0)
    assert (delivery.n_parcels, delivery.weight, len(table)) == (1, 5, 1)
    assert delivery.wake(0.0) == [DurableParcel("b", number, b"content", has_waited=False)]
    assert delivery.wake(2.0) == [DurableParcel("b", number, b"content", has_waited=True)]
    assert not delivery.note_answer("c", number, 2.0)
    assert delivery.note_answer("b", number, 2.0)
    assert not delivery.note_answer("b", number, 2.0)
    assert (delivery.n_parcels, delivery.weight, len(table), delivery.wake_at()) == (0, 0, 0, inf)


def test_only_what_is_under_way_is_in_memory_and_the_rest_follows_in_order() -> None:
    table = MemoryTable()
    delivery, numbers = filled(table, 1_000)
    assert delivery.n_in_memory == 3
    sent = []
    while delivery.n_parcels:
        parcels = delivery.wake(0.0)
        assert [int(parcel.item) for parcel in parcels] == [
            numbers.index(parcel.number) for parcel in parcels
        ]
        assert delivery.n_in_memory <= 3
        for parcel in parcels:
            sent.append(parcel.number)
            assert delivery.note_answer("b", parcel.number, 0.0)
    assert sent == numbers
    assert len(table) == 0
    assert delivery.wake_at() == inf


def test_what_is_added_while_others_wait_goes_behind_them() -> None:
    delivery, numbers = filled(MemoryTable(), 5)
    assert leaving(delivery, 0.0) == numbers[:3]
    delivery.note_answer("b", numbers[0], 0.0)
    last = delivery.add("b", b"5", 1, 0.0)
    assert leaving(delivery, 0.0) == [numbers[3]]
    for number in numbers[1:4]:
        delivery.note_answer("b", number, 0.0)
    assert leaving(delivery, 0.0) == [numbers[4], last]


def test_after_a_restart_everything_is_due_at_once_a_window_at_a_time() -> None:
    table = MemoryTable()
    before, numbers = filled(table, 5)
    others = [before.add("c", b"for c", 2, 0.0) for _ in range(2)]
    again = begun(table, life=2)
    assert (again.n_parcels, again.weight, again.n_in_memory, again.wake_at()) == (7, 9, 0, -inf)
    assert leaving(again, 0.0) == [*numbers[:3], *others]
    assert again.receivers() == ["b", "c"]


def test_a_late_answer_to_an_earlier_life_is_no_answer_to_a_parcel_of_this_one() -> None:
    table = MemoryTable()
    before, (old,) = filled(table, 1)
    before.wake(0.0)
    assert before.note_answer("b", old, 0.0)
    again = begun(table, life=2)
    new = again.add("b", b"not yet arrived", 1, 0.0)
    again.wake(0.0)
    assert not again.note_answer("b", old, 0.0)
    assert again.note_answer("b", new, 0.0)


def test_a_withdrawn_parcel_makes_room_for_the_next() -> None:
    table = MemoryTable()
    delivery, numbers = filled(table, 4)
    leaving(delivery, 0.0)
    delivery.withdraw("b", numbers[1])
    assert leaving(delivery, 0.0) == [numbers[3]]
    assert (delivery.n_parcels, len(table)) == (3, 3)


def test_all_that_waits_is_forgotten_and_late_answers_are_not_taken_for_others() -> None:
    table = MemoryTable()
    delivery, numbers = filled(table, 5)
    delivery.add("c", b"for c", 2, 0.0)
    leaving(delivery, 0.0)
    delivery.note_answer("b", numbers[0], 0.0)  # so that there is room for one from the table
    delivery.clear()
    assert (delivery.n_parcels, delivery.weight, len(table), delivery.receivers()) == (0, 0, 0, [])
    assert delivery.wake(3.0) == []
    assert delivery.wake_at() == inf
    new = delivery.add("b", b"new", 1, 3.0)
    assert leaving(delivery, 3.0) == [new]
    assert not any(delivery.note_answer("b", number, 3.0) for number in numbers)
    assert delivery.note_answer("b", new, 3.0)


def test_hastening_gives_out_what_is_under_way() -> None:
    delivery, numbers = filled(MemoryTable(), 4)
    leaving(delivery, 0.0)
    delivery.hasten("b", 1.0)
    assert leaving(delivery, 1.0) == numbers[:3]


def test_what_is_held_off_is_read_from_the_table_when_it_leaves() -> None:
    delivery = begun()
    number = delivery.add("b", b"content", 1, 0.0, hold_off_s=2.0)
    assert delivery.wake(0.0) == []
    assert delivery.wake(2.0) == [DurableParcel("b", number, b"content", has_waited=True)]


def test_a_parcel_larger_than_the_window_goes_alone() -> None:
    delivery = begun()
    large = [delivery.add("b", bytes(2_000), 1, 0.0) for _ in range(2)]
    assert leaving(delivery, 0.0) == large[:1]
    delivery.note_answer("b", large[0], 0.0)
    assert leaving(delivery, 0.0) == large[1:]
