"""Names that share an address take turns."""

from __future__ import annotations

from heapq import heapify, heappop, heappush

import pytest
from hypothesis import given
from hypothesis import strategies as st

from peers.crawler.address_turns import ADDRESSES_MAX, BOOKED_S_MAX, QUEUE_HOSTS_MAX, AddressTurns

PUBLIC, PRIVATE = "8.8.8.8", "127.0.0.1"
HOST = "a.test"


def test_an_address_is_asked_one_thing_at_a_time_and_left_alone_for_the_delay() -> None:
    turns = AddressTurns()
    assert turns.take(PUBLIC, HOST, 2.0, 10.0)
    assert not turns.take(PUBLIC, HOST, 2.0, 50.0)
    turns.release(PUBLIC, 60.0)
    assert not turns.take(PUBLIC, HOST, 2.0, 61.9)
    assert turns.take("8.8.4.4", HOST, 2.0, 61.9)
    assert turns.take(PUBLIC, HOST, 2.0, 62.0)


def test_what_is_not_public_is_not_held_back() -> None:
    turns = AddressTurns()
    assert all(turns.take(PRIVATE, HOST, 2.0, 1.0) for _ in range(3))
    turns.release(PRIVATE, 1.0)


def test_a_question_that_was_not_asked_costs_no_delay() -> None:
    turns = AddressTurns()
    turns.take(PUBLIC, HOST, 2.0, 1.0)
    turns.give_back(PUBLIC)
    assert turns.take(PUBLIC, HOST, 2.0, 1.0)


def test_ipv6_addresses_of_one_network_are_one() -> None:
    turns = AddressTurns()
    assert turns.take("2a00:1450:4001:80b::200e", HOST, 2.0, 1.0)
    assert not turns.take("2a00:1450:4001:80b:1::1", HOST, 2.0, 1.0)
    assert turns.take("2a00:1450:4001:80c::200e", HOST, 2.0, 1.0)


def test_hosts_are_told_to_come_one_after_the_other_and_nobody_else_comes_between() -> None:
    turns = AddressTurns()
    assert turns.take(PUBLIC, HOST, 2.0, 0.0)
    turns.release(PUBLIC, 1.0)
    assert [turns.book((PUBLIC,), host, 2.0, 1.0) for host in "bcd"] == [2.0, 5.0, 8.0]
    assert not turns.take(PUBLIC, HOST, 2.0, 3.0), "b has the next turn"
    assert turns.book((PUBLIC,), HOST, 2.0, 3.0) == 11.0
    assert turns.take(PUBLIC, "b", 2.0, 3.0)
    assert not turns.take(PUBLIC, "c", 2.0, 6.0), "b takes its time"
    assert turns.book((PUBLIC,), "c", 2.0, 6.0) == 5.0
    turns.release(PUBLIC, 6.5)
    assert not turns.take(PUBLIC, HOST, 2.0, 16.0), "c may still come"
    assert turns.take(PUBLIC, HOST, 2.0, 16.1), "c and d have not come in time"


def test_an_address_of_many_names_is_left_alone_for_the_names_of_other_peers_too() -> None:
    """As long as there are peers or as names were met, whatever is less."""
    turns, now = AddressTurns(), 0.0
    pauses = []
    for number in range(8):
        assert turns.take(PUBLIC, f"{number}.test", 2.0, now, peers=5)
        turns.release(PUBLIC, now)
        pauses.append(turns._turns[PUBLIC].free_s - now)
        now += pauses[-1]
    assert pauses == [2.0, 4.0, 6.0, 8.0, 10.0, 10.0, 10.0, 10.0]
    assert turns.take("8.8.4.4", HOST, 2.0, now, peers=5)
    turns.release("8.8.4.4", now)
    assert turns.take("8.8.4.4", HOST, 2.0, now + 2.0, peers=5), "a name that is alone waits for nobody"


def test_who_waits_at_an_address_of_many_names_is_told_of_the_longer_delay() -> None:
    turns = AddressTurns()
    assert turns.take(PUBLIC, HOST, 2.0, 0.0, peers=3)
    turns.release(PUBLIC, 1.0)
    assert [turns.book((PUBLIC,), host, 2.0, 1.0, peers=3) for host in "bcd"] == [2.0, 9.0, 16.0]


def test_of_several_addresses_the_one_is_booked_that_fewest_wait_for() -> None:
    turns = AddressTurns()
    assert [turns.book((PUBLIC, "8.8.4.4"), host, 2.0, 1.0) for host in "abcd"] == [2.0, 2.0, 4.0, 4.0]


@pytest.mark.parametrize("delay_s", [0.0, 2.0])
def test_queues_are_bounded_in_time_and_number(delay_s: float) -> None:
    turns = AddressTurns()
    pauses = [turns.book((PUBLIC,), str(number), delay_s, 1.0) for number in range(10_000)]
    assert max(pauses) == BOOKED_S_MAX
    assert len(turns._turns[PUBLIC].queue) <= QUEUE_HOSTS_MAX


def test_addresses_that_anybody_may_ask_are_forgotten() -> None:
    turns = AddressTurns()
    for number in range(3 * ADDRESSES_MAX):
        address = f"8.{number >> 16}.{number >> 8 & 255}.{number & 255}"
        assert turns.take(address, HOST, 2.0, float(number))
        turns.release(address, float(number))
    assert len(turns._turns) <= ADDRESSES_MAX


@given(st.integers(2, 60), st.floats(0.05, 20.0), st.floats(0.1, 5.0))
def test_names_that_come_when_they_are_told_all_have_their_turns(
    names: int, seconds: float, delay_s: float
) -> None:
    turns = AddressTurns()
    coming = [(0.0, name) for name in range(names)]
    heapify(coming)
    free_s, served, tries = 0.0, [0] * names, 0
    ends: list[tuple[float, int]] = []
    while min(served) < 3:
        if ends and (not coming or ends[0][0] <= coming[0][0]):
            now, name = heappop(ends)
            turns.release(PUBLIC, now)
            heappush(coming, (now + delay_s, name))
            free_s = now + delay_s
            continue
        now, name = heappop(coming)
        tries += 1
        if turns.take(PUBLIC, str(name), delay_s, now):
            assert not ends
            assert now >= free_s
            served[name] += 1
            heappush(ends, (now + seconds, name))
        else:
            heappush(coming, (now + turns.book((PUBLIC,), str(name), delay_s, now), name))
        assert tries < 60 * names, served


def test_300_names_at_three_addresses_are_never_asked_more_than_three_things_at_once() -> None:
    turns, now = AddressTurns(lambda address: True), 0.0
    addresses = ("192.0.2.1", "192.0.2.2", "192.0.2.3")
    due = [(0.0, f"h{number}.test", addresses[number % 3]) for number in range(300)]
    busy: dict[str, float] = {}  # by address, until when
    asked: set[str] = set()
    while len(asked) < 300:
        heapify(due)
        now, name, address = heappop(due)
        for each in [each for each, until_s in busy.items() if until_s <= now]:
            turns.release(each, busy.pop(each))
        if turns.take(address, name, 1.0, now):
            assert address not in busy
            busy[address] = now + 0.5
            assert len(busy) <= 3
            asked.add(name)
        else:
            due.append((now + turns.book((address,), name, 1.0, now), name, address))
    assert now >= 99 * 1.5 - 1.5, "each address has a hundred turns of half a second, with a second between"
