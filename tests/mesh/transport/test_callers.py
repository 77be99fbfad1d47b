"""Who is connected to the ports of a relayed peer."""

from __future__ import annotations

import pytest

from mesh.transport.callers import Callers
from mesh.transport.handshakes import SENT_TO_STRANGERS_MAX


def test_the_oldest_stranger_of_the_address_that_has_most_makes_room() -> None:
    callers = Callers(strangers_max=3)
    assert callers.enter("192.0.2.1") == (1, None)
    assert callers.enter("192.0.2.9") == (2, None)
    assert callers.enter("192.0.2.9") == (3, None)
    assert callers.enter("192.0.2.1") == (4, 1)
    assert callers.enter("192.0.2.9") == (5, 2)
    assert len(callers) == 3


def test_who_was_told_more_than_a_greeting_stays() -> None:
    callers = Callers(strangers_max=1)
    known, _ = callers.enter("192.0.2.1")
    callers.note_told(known, SENT_TO_STRANGERS_MAX)
    callers.note_told(known, 1)
    stranger, turned_out = callers.enter("192.0.2.1")
    assert turned_out is None
    assert callers.enter("192.0.2.2")[1] == stranger
    callers.note_told(stranger, 10**6)  # it has gone: what comes late is of no account
    assert len(callers) == 2


def test_there_is_an_end_to_all_of_them_and_who_goes_makes_room() -> None:
    callers = Callers(callers_max=2)
    one, _ = callers.enter("192.0.2.1")
    callers.enter("192.0.2.1")
    assert callers.is_full
    callers.leave(one)
    callers.leave(one)
    assert not callers.is_full


def test_a_crowd_may_come_at_once_and_then_at_a_pace() -> None:
    callers = Callers(calls_per_s=10.0, calls_at_once=3)
    pauses = [callers.pause_s(100.0) for _ in range(5)]
    assert pauses == pytest.approx([0.0, 0.0, 0.0, 0.1, 0.2])
    assert callers.pause_s(101.0) == 0.0
