"""Names that share an address take turns."""

from __future__ import annotations

from heapq import heapify, heappop, heappush
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mesh.actors.actor import Message
from peers.crawler.addresses.address_queues import (
    ADDRESSES_MAX,
    ASK_S,
    BOOKED_S_MAX,
    PAUSE_S_MIN,
    QUESTION_S_MAX,
    QUEUE_HOSTS_MAX,
    TURNS_MAX,
    WAIT_S,
    AddressQueues,
)
from peers.crawler.fetching.connection import FetchLimits
from peers.crawler.model.messages import AddressLent, LeaveAddress, WantAddress

PUBLIC, PRIVATE = "8.8.8.8", "127.0.0.1"
HOST = "a.test"


def test_an_address_is_asked_one_thing_at_a_time_and_left_alone_for_the_delay() -> None:
    turns = AddressQueues()
    assert turns.take(PUBLIC, HOST, 2.0, 10.0)
    assert not turns.take(PUBLIC, HOST, 2.0, 50.0)
    turns.release(PUBLIC, 60.0)
    assert not turns.take(PUBLIC, HOST, 2.0, 61.9)
    assert turns.take("8.8.4.4", HOST, 2.0, 61.9)
    assert turns.take(PUBLIC, HOST, 2.0, 62.0)


def test_a_question_takes_no_longer_than_leases_reckon_with() -> None:
    assert FetchLimits().total_s <= QUESTION_S_MAX


def test_what_is_not_public_is_not_held_back() -> None:
    turns = AddressQueues()
    assert all(turns.take(PRIVATE, HOST, 2.0, 1.0) for _ in range(3))
    turns.release(PRIVATE, 1.0)


def test_a_question_that_was_not_asked_costs_no_delay() -> None:
    turns = AddressQueues()
    turns.take(PUBLIC, HOST, 2.0, 1.0)
    turns.give_back(PUBLIC)
    assert turns.take(PUBLIC, HOST, 2.0, 1.0)


def test_ipv6_addresses_of_one_network_are_one() -> None:
    turns = AddressQueues()
    assert turns.take("2a00:1450:4001:80b::200e", HOST, 2.0, 1.0)
    assert not turns.take("2a00:1450:4001:80b:1::1", HOST, 2.0, 1.0)
    assert turns.take("2a00:1450:4001:80c::200e", HOST, 2.0, 1.0)


def test_hosts_are_told_to_come_one_after_the_other_and_nobody_else_comes_between() -> None:
    turns = AddressQueues()
    assert turns.take(PUBLIC, HOST, 2.0, 0.0)
    turns.release(PUBLIC, 1.0)
    assert [turns.book((PUBLIC,), host, 2.0, 1.0) for host in "bcd"] == [2.0, 5.0, 8.0]
    assert not turns.take(PUBLIC, HOST, 2.0, 3.0), "b has the next turn"
    assert turns.book((PUBLIC,), HOST, 2.0, 3.0) == 9.0
    assert turns.take(PUBLIC, "b", 2.0, 3.0)
    assert not turns.take(PUBLIC, "c", 2.0, 6.0), "b takes its time"
    assert turns.book((PUBLIC,), "c", 2.0, 6.0) == 5.0
    turns.release(PUBLIC, 6.5)
    assert not turns.take(PUBLIC, HOST, 2.0, 16.0), "c may still come"
    assert turns.take(PUBLIC, HOST, 2.0, 16.1), "c and d have not come in time"


def lent(number: int = 1, after_s: float = 0.0, seconds: float = 40.0, **changes: Any) -> AddressLent:
    return AddressLent(PUBLIC, number, after_s, seconds, **changes)


def leaving(turns: AddressQueues) -> list[Message]:
    return [order for order in turns.take_orders() if isinstance(order, LeaveAddress)]


def test_who_gets_leases_asks_nothing_without_one_and_looks_soon_whether_it_is_there() -> None:
    turns = AddressQueues(is_leasing=True)
    assert not turns.take(PUBLIC, HOST, 2.0, 10.0)
    assert turns.book((PUBLIC,), HOST, 2.0, 10.0) == pytest.approx(ASK_S)
    assert turns.take_orders() == [WantAddress(PUBLIC, 2.0, is_held=False)]
    assert turns.take_orders() == []
    turns.lend(lent(after_s=1.0), 10.0)
    assert turns.book((PUBLIC,), HOST, 2.0, 10.1) == pytest.approx(0.9)
    assert turns.take(PUBLIC, HOST, 2.0, 11.0)
    assert turns.take_orders() == []


def test_a_question_begins_only_while_the_lease_outlasts_it() -> None:
    turns = AddressQueues(is_leasing=True)
    turns.lend(lent(seconds=QUESTION_S_MAX + 1.0), 10.0)
    assert not turns.take(PUBLIC, HOST, 2.0, 11.1)
    turns.book((PUBLIC,), HOST, 2.0, 11.1)
    assert turns.take_orders() == [WantAddress(PUBLIC, 2.0, is_held=True)]
    turns.lend(lent(2), 11.2)
    assert turns.take(PUBLIC, HOST, 2.0, 11.2)


def test_a_lease_in_use_is_renewed_ahead_and_given_back_when_others_want_it() -> None:
    for is_wanted in (False, True):
        turns = AddressQueues(is_leasing=True)
        turns.lend(lent(is_wanted=False), 0.0)
        assert turns.take(PUBLIC, HOST, 1.0, 6.0)
        turns.lend(lent(seconds=0.0, is_wanted=is_wanted), 6.0)
        turns.release(PUBLIC, 6.0)
        orders = turns.take_orders()
        assert orders[0] == WantAddress(PUBLIC, 1.0, is_held=True)
        assert orders[1:] == ([LeaveAddress(PUBLIC, 1, 1.0)] if is_wanted else [])


def test_a_lease_that_others_want_is_given_back_after_a_few_turns_with_the_delay_to_come() -> None:
    turns, now = AddressQueues(is_leasing=True), 0.0
    hosts = [f"{number}.test" for number in range(10)]
    turns.lend(lent(8, is_wanted=False), now)
    for number in range(TURNS_MAX):
        for host in hosts[number:]:
            turns.book((PUBLIC,), host, 1.0, now)
        turns.lend(lent(8, seconds=0.0, is_wanted=True), now)
        assert turns.take(PUBLIC, hosts[number], 1.0, now)
        assert leaving(turns) == []
        turns.release(PUBLIC, now + 1.0)
        now += 2.0
    assert leaving(turns) == [LeaveAddress(PUBLIC, 8, 1.0)]
    assert not turns.take(PUBLIC, hosts[TURNS_MAX], 1.0, now)


def test_a_lease_that_nobody_here_wants_is_given_back_as_soon_as_others_do() -> None:
    turns = AddressQueues(is_leasing=True)
    turns.lend(lent(7), 0.0)
    assert turns.take(PUBLIC, HOST, 2.0, 1.0)
    turns.lend(lent(7, seconds=0.0, is_wanted=True), 1.5)
    assert turns.take_orders() == [], "it is being asked"
    turns.release(PUBLIC, 2.0)
    assert turns.take_orders() == [LeaveAddress(PUBLIC, 7, 2.0)]
    assert not turns.take(PUBLIC, HOST, 2.0, 9.0)


def test_while_others_have_it_the_first_looks_again_before_a_delay_is_over() -> None:
    turns = AddressQueues(is_leasing=True)
    turns.book((PUBLIC,), HOST, 2.0, 0.0)
    turns.lend(lent(7, after_s=3.0, seconds=0.0), 0.1)
    assert turns.book((PUBLIC,), HOST, 2.0, 0.1) == pytest.approx(3.0), "others wait before us"
    assert turns.book((PUBLIC,), HOST, 2.0, 3.1) == pytest.approx(WAIT_S)
    assert turns.book((PUBLIC,), "b.test", 2.0, 3.1) == pytest.approx(WAIT_S + 2.0), (
        "after the turn of the first"
    )


def test_nothing_is_asked_after_leases_were_lost() -> None:
    turns = AddressQueues(is_leasing=True)
    turns.lend(lent(), 0.0)
    turns.drop_leases(0.5)
    assert leaving(turns) == [LeaveAddress(PUBLIC, 1, 0.0)]
    assert not turns.take(PUBLIC, HOST, 2.0, 1.0)


def test_a_lease_that_was_lost_while_it_was_in_use_is_given_back_with_the_delay_to_come() -> None:
    turns = AddressQueues(is_leasing=True)
    turns.lend(lent(), 0.0)
    assert turns.take(PUBLIC, HOST, 2.0, 0.5)
    turns.drop_leases(1.0)
    assert leaving(turns) == []
    turns.release(PUBLIC, 20.0)
    assert leaving(turns) == [LeaveAddress(PUBLIC, 1, 2.0)]
    assert not turns.take(PUBLIC, HOST, 2.0, 30.0)


def test_where_nobody_grants_turns_an_address_of_many_names_is_left_alone_for_other_peers_too() -> None:
    """As long as there are peers or as names were met, whatever is less."""
    turns, now = AddressQueues(is_leasing=True), 0.0
    pauses = []
    for number in range(8):
        turns.lend(lent(number, peers=5), now)
        assert turns.take(PUBLIC, f"{number}.test", 2.0, now)
        turns.release(PUBLIC, now)
        pauses.append(turns._turns[PUBLIC].free_s - now)
        now += pauses[-1]
    assert pauses == [2.0, 4.0, 6.0, 8.0, 10.0, 10.0, 10.0, 10.0]
    assert turns.take_orders() == []


def test_what_nobody_granted_ends_with_the_first_word_of_who_grants_turns() -> None:
    turns = AddressQueues(is_leasing=True)
    turns.lend(lent(1, peers=3), 10.0)
    assert turns.take(PUBLIC, HOST, 2.0, 10.0)
    turns.lend(lent(2, after_s=5.0, seconds=0.0), 11.0)
    assert leaving(turns) == [], "it is being asked"
    turns.release(PUBLIC, 12.0)
    assert leaving(turns) == [LeaveAddress(PUBLIC, 1, 2.0)]
    assert turns.book((PUBLIC,), HOST, 2.0, 14.0) == pytest.approx(2.0)
    assert not turns.take(PUBLIC, HOST, 2.0, 16.0)


def test_of_several_addresses_the_one_is_booked_that_fewest_wait_for() -> None:
    turns = AddressQueues()
    assert [turns.book((PUBLIC, "8.8.4.4"), host, 2.0, 1.0) for host in "abcd"] == pytest.approx(
        [PAUSE_S_MIN, PAUSE_S_MIN, 2.0, 2.0]
    )


@pytest.mark.parametrize("delay_s", [0.0, 2.0])
def test_queues_are_bounded_in_time_and_number(delay_s: float) -> None:
    turns = AddressQueues()
    pauses = [turns.book((PUBLIC,), str(number), delay_s, 1.0) for number in range(10_000)]
    assert max(pauses) == BOOKED_S_MAX
    assert len(turns._turns[PUBLIC].queue) <= QUEUE_HOSTS_MAX


def test_addresses_that_anybody_may_ask_are_forgotten() -> None:
    turns = AddressQueues()
    for number in range(3 * ADDRESSES_MAX):
        address = f"8.{number >> 16}.{number >> 8 & 255}.{number & 255}"
        assert turns.take(address, HOST, 2.0, float(number))
        turns.release(address, float(number))
    assert len(turns._turns) <= ADDRESSES_MAX


@given(st.integers(2, 60), st.floats(0.05, 20.0), st.floats(0.1, 5.0))
def test_names_that_come_when_they_are_told_all_have_their_turns(
    names: int, seconds: float, delay_s: float
) -> None:
    turns = AddressQueues()
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
    turns, now = AddressQueues(lambda address: True), 0.0
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
