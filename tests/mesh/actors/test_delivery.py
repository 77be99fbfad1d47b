"""What must arrive: when it leaves, when again, how much waits, and how it ends."""

from __future__ import annotations

from math import inf

from mesh.actors.delivery import Delivery, DeliverySettings, Parcel, in_batches


def delivery(**changes: float) -> Delivery[int, str]:
    return Delivery(DeliverySettings(**{"again_s": 2.0, "again_max_s": 8.0, **changes}))  # type: ignore[arg-type]


def filled(n: int, now: float = 0.0, receiver: str = "b", **changes: float) -> Delivery[int, str]:
    """Parcels 1 to n of ten bytes for one receiver."""
    begun = delivery(**changes)
    for number in range(1, n + 1):
        assert begun.add(receiver, number, f"item {number}", 10, now)
    return begun


def leaving(begun: Delivery[int, str], now: float) -> list[int]:
    due = begun.wake(now)
    assert due.given_up == []
    return [parcel.key for parcel in due.leaving]


def test_what_is_added_leaves_with_the_next_wake_and_an_answer_ends_it() -> None:
    begun = filled(2)
    assert begun.wake_at_s == -inf
    assert begun.wake(0.0).leaving == [Parcel("b", 1, "item 1"), Parcel("b", 2, "item 2")]
    assert begun.wake_at_s == 2.0
    assert begun.note_answer("b", 1, 0.5) == "item 1"
    assert begun.note_answer("b", 1, 0.5) is None
    assert begun.note_answer("b", 2, 0.5) == "item 2"
    assert (len(begun), begun.wake_at_s, begun.receivers()) == (0, inf, [])


def test_nobody_answers_for_another_receiver() -> None:
    begun = filled(1)
    assert begun.note_answer("c", 1, 0.0) is None
    assert begun.withdraw("c", 1) is None
    assert len(begun) == 1


def test_pauses_double_up_to_the_longest() -> None:
    begun = filled(1, now=100.0)
    leaving(begun, 100.0)
    pauses, now = [], 100.0
    for _ in range(5):
        at = begun.wake_at_s
        assert leaving(begun, at - 0.01) == []
        assert leaving(begun, at) == [1]
        pauses.append(at - now)
        now = at
    assert pauses == [2.0, 4.0, 8.0, 8.0, 8.0]


def test_only_a_window_of_parcels_is_under_way_and_answers_let_the_next_leave() -> None:
    begun = filled(5, window=2)
    assert leaving(begun, 0.0) == [1, 2]
    assert not begun.has_room("b", 10)
    begun.note_answer("b", 2, 1.0)
    assert begun.wake_at_s == -inf
    assert leaving(begun, 1.0) == [3]
    assert leaving(begun, 2.0) == [1]
    assert leaving(begun, 3.0) == [3]


def test_the_bytes_under_way_are_bounded_and_a_single_parcel_may_have_more() -> None:
    begun = delivery(window_bytes=25)
    for number, n_bytes in enumerate((30, 10, 10, 10)):
        begun.add("b", number, "item", n_bytes, 0.0)
    assert leaving(begun, 0.0) == [0]
    begun.note_answer("b", 0, 0.0)
    assert leaving(begun, 0.0) == [1, 2]
    begun.note_answer("b", 1, 0.0)
    assert leaving(begun, 0.0) == [3]


def test_receivers_do_not_wait_for_each_other() -> None:
    begun = filled(3, window=1)
    begun.add("c", 1, "for c", 10, 0.0)
    assert begun.wake(0.0).leaving == [Parcel("b", 1, "item 1"), Parcel("c", 1, "for c")]


def test_more_than_may_wait_for_a_receiver_is_refused_and_counted() -> None:
    begun = filled(3, waiting_max=3)
    assert not begun.add("b", 4, "one too many", 10, 0.0)
    assert begun.add("c", 4, "for another", 10, 0.0)
    begun = filled(3, waiting_bytes_max=35)
    assert not begun.add("b", 4, "too large", 10, 0.0)
    assert begun.add("b", 4, "small", 5, 0.0)
    assert begun.observe().refused == 1
    assert delivery(waiting_bytes_max=35).add("b", 1, "larger than all that may wait", 100, 0.0)


def test_what_is_not_answered_in_time_is_given_up_once_be_it_under_way_or_queued() -> None:
    begun = filled(3, window=1, give_up_s=5.0)
    leaving(begun, 0.0)
    begun.add("b", 4, "a later one", 10, 1.0)
    assert leaving(begun, 4.9) == [1]
    due = begun.wake(5.0)
    assert [parcel.key for parcel in due.given_up] == [1, 2, 3]
    assert [parcel.key for parcel in due.leaving] == [4]
    assert begun.wake_at_s == 6.0
    assert [parcel.key for parcel in begun.wake(6.0).given_up] == [4]
    assert (len(begun), begun.wake_at_s, begun.observe().given_up) == (0, inf, 4)


def test_a_queue_is_given_up_in_time_though_nothing_is_under_way_that_is_due() -> None:
    begun = filled(1, window=1, give_up_s=5.0, again_s=100.0, again_max_s=100.0)
    leaving(begun, 0.0)
    begun.add("b", 2, "queued", 10, 0.0)
    leaving(begun, 0.0)
    assert begun.wake_at_s == 5.0
    assert [parcel.key for parcel in begun.wake(5.0).given_up] == [1, 2]


def test_what_is_held_off_leaves_later_and_its_pauses_begin_then() -> None:
    begun = delivery()
    begun.add("b", 1, "item", 10, 10.0, hold_off_s=3.0)
    assert leaving(begun, 10.0) == []
    assert begun.wake_at_s == 13.0
    assert leaving(begun, 13.0) == [1]
    assert begun.wake_at_s == 15.0


def test_who_answers_others_is_given_time_when_it_may_be_merely_slow() -> None:
    begun = filled(2, slow_s=7.0, again_max_s=2.0)
    leaving(begun, 0.0)
    begun.note_answer("b", 2, 1.5)
    assert leaving(begun, 2.0) == []
    assert begun.wake_at_s == 3.5
    for number, now in ((3, 3.0), (4, 5.0), (5, 6.9)):
        begun.add("b", number, "another", 10, now)
        leaving(begun, now)
        begun.note_answer("b", number, now)
        assert leaving(begun, now) == []
    assert leaving(begun, 7.0) == [1], "so old, it was lost"


def test_a_silent_receiver_is_not_buried_under_repetitions() -> None:
    begun = filled(10, repeats_max=4)
    leaving(begun, 0.0)
    assert len(leaving(begun, 2.0)) == 4
    assert leaving(begun, 2.2) == []
    assert len(leaving(begun, begun.wake_at_s)) == 4
    assert len(leaving(begun, begun.wake_at_s)) == 2


def test_what_is_under_way_can_be_hastened() -> None:
    begun = filled(2)
    leaving(begun, 0.0)
    begun.hasten("b", 0.5)
    begun.hasten("nobody", 0.5)
    assert begun.wake_at_s == 0.5
    assert leaving(begun, 0.5) == [1, 2]


def test_a_receiver_that_is_gone_leaves_what_waited_for_it_in_order() -> None:
    begun = filled(3, window=2)
    leaving(begun, 0.0)
    assert [parcel.key for parcel in begun.remove_receiver("b")] == [1, 2, 3]
    assert begun.remove_receiver("b") == []
    assert (len(begun), begun.wake_at_s) == (0, inf)
    assert begun.note_answer("b", 1, 0.0) is None


def test_a_parcel_that_is_withdrawn_makes_room() -> None:
    begun = filled(3, window=1)
    leaving(begun, 0.0)
    assert begun.withdraw("b", 2) == "item 2"
    assert begun.withdraw("b", 1) == "item 1"
    assert leaving(begun, 0.0) == [3]
    assert [parcel.item for parcel in begun.parcels()] == ["item 3"]


def test_the_first_keys_are_those_that_have_waited_longest() -> None:
    begun = filled(3, window=1)
    begun.add("c", 7, "for c", 10, 0.0)
    leaving(begun, 0.0)
    begun.note_answer("b", 1, 0.0)
    assert sorted(begun.first_keys()) == [2, 7]


def test_statistics_count_what_happened() -> None:
    begun = filled(3, window=2)
    leaving(begun, 0.0)
    leaving(begun, 2.0)
    begun.note_answer("b", 1, 2.0)
    seen = begun.observe()
    assert (seen.waiting, seen.waiting_bytes, seen.under_way) == (2, 20, 1)
    assert (seen.sent, seen.repeated, seen.answered) == (2, 2, 1)


def test_batches_are_bounded_by_number_and_bytes() -> None:
    words = ["a", "bb", "ccc", "dddddddd", "e", "f"]
    assert list(in_batches(words, len, items_max=2)) == [["a", "bb"], ["ccc", "dddddddd"], ["e", "f"]]
    assert list(in_batches(words, len, items_max=9, bytes_max=6)) == [
        ["a", "bb", "ccc"],
        ["dddddddd"],
        ["e", "f"],
    ]
    assert list(in_batches([], len, items_max=2)) == []
