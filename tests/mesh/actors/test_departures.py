"""The messages that leave with a commit, the time that it is due, and how they are packed."""

from __future__ import annotations

from math import inf
from typing import ClassVar

from mesh.actors.actor import Address, Message
from mesh.actors.departures import (
    ENVELOPE_BYTES_MAX,
    ENVELOPE_FRAMES_MAX,
    GATHER_S,
    HELD_MAX,
    Departures,
    envelopes,
)
from mesh.actors.node import Outgoing

PAUSE_S = 0.02


class Promise(Message, frozen=True):
    """Leaves when what is behind it is durable."""

    is_promise: ClassVar[bool] = True


class News(Message, frozen=True):
    """Gets there, however late."""

    waits_for_company: ClassVar[bool] = True


class Patient(Message, frozen=True):
    """Gets there with others, or late."""

    waits_for_company: ClassVar[bool] = True
    patience_s: ClassVar[float] = 5.0


def for_peer(message: Message, peer: str = "b") -> Outgoing:
    return Outgoing(Address("a", "actor"), Address(peer, "actor"), message)


def test_news_wait_for_company_and_leave_with_a_promise_that_does_not() -> None:
    departures = Departures(PAUSE_S)
    assert departures.due_s == inf
    departures.add(for_peer(News()), 1.0)
    assert departures.due_s == 1.0 + GATHER_S
    departures.add(for_peer(News()), 1.1)
    assert departures.due_s == 1.0 + GATHER_S
    departures.add(for_peer(Promise()), 1.15)
    assert departures.due_s == 1.15 + PAUSE_S
    assert [type(item.message) for item in departures.take(2.0)] == [News, News, Promise]
    assert (len(departures), departures.due_s) == (0, inf)


def test_what_has_patience_leaves_with_what_else_is_for_its_peer_or_when_its_time_has_come() -> None:
    departures = Departures(PAUSE_S)
    for peer in ("b", "c", "d"):
        departures.add(for_peer(Patient(), peer), 1.0)
    departures.add(for_peer(News(), "b"), 2.0)
    assert (len(departures), departures.due_s) == (4, 2.0 + GATHER_S)
    assert [item.target.peer for item in departures.take(2.0 + GATHER_S)] == ["b", "b"]
    departures.add(for_peer(Patient(), "c"), 5.9)
    assert (len(departures), departures.due_s) == (3, 6.0)
    assert [item.target.peer for item in departures.take(6.0)] == ["c", "d", "c"]
    assert (len(departures), departures.due_s) == (0, inf)


def test_what_is_for_an_actor_of_this_peer_waits_for_nobody() -> None:
    departures = Departures(PAUSE_S)
    departures.add(for_peer(News(), "a"), 1.0)
    assert departures.due_s == 1.0 + PAUSE_S


def test_many_are_company_enough() -> None:
    departures = Departures(PAUSE_S)
    for _ in range(HELD_MAX):
        departures.add(for_peer(News()), 1.0)
    assert departures.due_s == 1.0 + PAUSE_S


def test_after_a_failed_commit_only_promises_are_held_again_and_come_first() -> None:
    departures = Departures(PAUSE_S)
    for message in (News(), Promise()):
        departures.add(for_peer(message), 1.0)
    held = departures.take(2.0)
    departures.add(for_peer(News(), "c"), 1.1)
    departures.put_back(held)
    assert [type(item.message) for item in departures.take(2.0)] == [Promise, News]


def test_envelopes_keep_the_order_and_hold_no_more_than_they_may() -> None:
    small = [(number, 1) for number in range(2 * ENVELOPE_FRAMES_MAX + 1)]
    packed = list(envelopes(small))
    assert [len(envelope) for envelope in packed] == [ENVELOPE_FRAMES_MAX, ENVELOPE_FRAMES_MAX, 1]
    assert [number for envelope in packed for number in envelope] == [number for number, _ in small]
    half = ENVELOPE_BYTES_MAX // 2
    large = [("a", half), ("b", half), ("c", 1), ("d", 9 * half), ("e", 1)]
    assert list(envelopes(large)) == [["a", "b"], ["c"], ["d"], ["e"]]
    assert not list(envelopes(()))
