"""The owners of two slots and what they tell each other, message by message."""

from __future__ import annotations

from math import inf

import numpy as np
import pytest

from peers.link_graph.rank_exchange import (
    RETRY_S,
    RankEnvelope,
    RankExchange,
    RankMessage,
    SumsHeld,
    SumsTold,
)
from peers.link_graph.slot_ranks import DAMPING, NO_SUMS, NO_VERSION, SlotRows, Statement, Version
from tests.peers.link_graph.test_slot_ranks import links, statement

A, B, C = "a", "b", "c"
TOLERANCE = 1e-6
LEAST = 1 - DAMPING
GIVEN = DAMPING * LEAST  # by a page that nobody links to, over its one link
PAGE = 7


def source() -> RankExchange:
    """The owner of slot 0, whose page links to a page of slot 1, which is another peer's."""
    peer = RankExchange(A, [A, B], TOLERANCE)
    peer.take_slot(0)
    peer.link(0, 1, links((1, PAGE)))
    return peer


def target() -> RankExchange:
    peer = RankExchange(B, [A, B], TOLERANCE)
    peer.take_slot(1)
    return peer


def only(envelopes: list[RankEnvelope]) -> RankMessage:
    [[_, [message]]] = envelopes
    return message


def told(peer: RankExchange, now: float) -> Statement:
    message = only(peer.wake(now))
    assert isinstance(message, SumsTold)
    return message.statement


def rank(peer: RankExchange, slot: int, page: int) -> float:
    peer.wake(0.0)
    names, values = peer.slots[slot].ranks
    return float(values[np.searchsorted(names, page)])


def test_a_statement_is_told_until_it_is_held() -> None:
    peer = source()
    assert peer.wake_at() == -inf
    [[to, [message]]] = peer.wake(1.0)
    assert isinstance(message, SumsTold)
    assert (to, message[:2], message.statement.version) == (B, (0, 1), Version(1, A))
    assert message.statement.sums.values.tolist() == pytest.approx([GIVEN])
    assert (peer.wake(1.5), peer.wake_at()) == ([], 1.0 + RETRY_S)
    assert told(peer, 1.0 + RETRY_S) is message.statement
    answer = target().receive(A, [message])
    assert answer == [RankEnvelope(A, (SumsHeld(0, 1, Version(1, A)),))]
    assert peer.receive(B, answer[0].messages) == []
    assert peer.wake_at() == inf


def test_what_is_told_twice_or_late_changes_nothing() -> None:
    peer = target()
    old, new = SumsTold(0, 1, statement(1, {PAGE: 0.5})), SumsTold(0, 1, statement(2, {PAGE: 0.25}))
    peer.receive(A, [new, new, old, new, old])
    assert rank(peer, 1, PAGE) == pytest.approx(LEAST + 0.25)
    assert only(peer.receive(A, [old])) == SumsHeld(0, 1, Version(2, A))


def test_a_changed_link_is_a_smaller_sum_and_none_an_empty_statement() -> None:
    peer = source()
    peer.receive(B, [SumsHeld(0, 1, told(peer, 0.0).version)])
    peer.link(0, 1, links((1, PAGE), (1, PAGE + 1)))
    sums = told(peer, 1.0).sums
    assert (sums.names.tolist(), sums.values.tolist()) == ([PAGE, PAGE + 1], pytest.approx([GIVEN / 2] * 2))
    peer.remove(0, 1)
    assert told(peer, 2.0) == (Version(3, A), NO_SUMS)


def test_what_changes_by_less_than_the_tolerance_is_not_told() -> None:
    peer = source()
    peer.receive(B, [SumsHeld(0, 1, told(peer, 0.0).version)])
    peer.receive(B, [SumsTold(1, 0, statement(1, {1: TOLERANCE / 2}, B))])
    assert peer.wake(1.0) == []
    peer.receive(B, [SumsTold(1, 0, statement(2, {1: 0.5}, B))])
    assert told(peer, 2.0).sums.values.tolist() == pytest.approx([DAMPING * (LEAST + 0.5)])


def test_the_word_of_a_peer_that_does_not_own_the_slot_is_not_taken() -> None:
    peer = target()
    assert peer.receive(C, [SumsTold(0, 1, statement(1, {PAGE: 0.5}, C))]) == []
    assert peer.receive(A, [SumsTold(0, 2, statement(1, {PAGE: 0.5}))]) == []
    teller = source()
    version = told(teller, 0.0).version
    teller.receive(C, [SumsHeld(0, 1, version)])
    assert teller.wake_at() == RETRY_S


def test_a_new_owner_of_the_target_is_told_what_the_old_one_held() -> None:
    peer = source()
    version = told(peer, 0.0).version
    peer.receive(B, [SumsHeld(0, 1, version)])
    peer.change_owners([A, C])
    peer.receive(B, [SumsHeld(0, 1, version)])  # late, by the old owner
    [[to, [message]]] = peer.wake(1.0)
    assert (to, message) == (C, SumsTold(0, 1, Statement(version, message.statement.sums)))  # type: ignore[union-attr]


def test_a_new_owner_of_the_source_is_asked_and_bound_by_no_version_of_the_old_one() -> None:
    peer = target()
    peer.receive(A, [SumsTold(0, 1, statement(9, {PAGE: 0.5}))])
    peer.wake(0.0)
    peer.change_owners([C, B])
    [[to, [question]]] = peer.wake(1.0)
    assert (to, question) == (C, SumsHeld(0, 1, NO_VERSION, is_asked=True))
    assert peer.wake_at() == 1.0 + RETRY_S
    new = RankExchange(C, [C, B], TOLERANCE)
    new.take_slot(0)  # with nothing: the links to slot 1 have gone
    new.wake(1.0)
    new.receive(B, [question])
    statement_of_new = told(new, 1.0)
    assert statement_of_new.version == Version(1, C)
    peer.receive(A, [SumsTold(0, 1, statement(10, {PAGE: 0.5}))])  # late, by the old owner
    peer.receive(C, [SumsTold(0, 1, statement_of_new)])
    assert peer.wake_at() == -inf
    assert rank(peer, 1, PAGE) == pytest.approx(LEAST)
    assert peer.wake_at() == inf


def test_an_owner_that_tells_from_below_after_a_crash_is_told_what_is_held_and_tells_again() -> None:
    peer = target()
    peer.receive(A, [SumsTold(0, 1, statement(9, {PAGE: 0.5}))])
    peer.wake(0.0)
    new = source()
    answer = peer.receive(A, [SumsTold(0, 1, told(new, 0.0))])
    assert only(answer) == SumsHeld(0, 1, Version(9, A))
    new.receive(B, answer[0].messages)
    peer.receive(A, [SumsTold(0, 1, told(new, 0.0))])
    assert rank(peer, 1, PAGE) == pytest.approx(LEAST + GIVEN)


def test_to_a_peer_that_has_begun_anew_all_is_told_again_and_it_is_asked_for_all() -> None:
    peer = source()
    version = told(peer, 0.0).version
    peer.receive(B, [SumsHeld(0, 1, version)])
    peer.receive(B, [SumsTold(1, 0, statement(4, {1: 0.5}, B))])
    peer.wake(1.0)
    peer.receive(B, [SumsHeld(0, 1, Version(2, A))])
    assert peer.wake_at() == inf
    peer.note_begun(C)
    assert peer.wake_at() == inf
    peer.note_begun(B)
    [[to, messages]] = peer.wake(2.0)
    assert to == B
    assert SumsHeld(1, 0, Version(4, B), is_asked=True) in messages
    assert [message.target for message in messages if isinstance(message, SumsTold)] == [1]


def test_whoever_holds_less_than_what_is_told_and_asks_is_told_again() -> None:
    peer = source()
    first = told(peer, 0.0)
    peer.link(0, 1, links((1, PAGE), (1, PAGE + 1)))
    second = told(peer, 1.0)
    peer.receive(B, [SumsHeld(0, 1, second.version)])
    peer.receive(B, [SumsHeld(0, 1, first.version)])  # late
    assert peer.wake(2.0) == []
    peer.receive(B, [SumsHeld(0, 1, first.version, is_asked=True)])
    assert told(peer, 2.0) is second


def test_a_peer_tells_itself_without_messages() -> None:
    peer = RankExchange(A, [A, A], TOLERANCE)
    for slot in (0, 1):
        peer.take_slot(slot)
    peer.link(0, 1, links((1, PAGE)))
    peer.link(1, PAGE, links((0, 1)))
    assert peer.wake(0.0) == []
    assert peer.wake_at() == inf
    assert rank(peer, 0, 1) == pytest.approx(1.0, abs=1e-5)


def test_whoever_is_asked_for_a_slot_of_another_says_nothing() -> None:
    peer = target()
    assert peer.receive(A, [SumsHeld(1, 0, Version(1, B), is_asked=True)]) == []
    assert [type(each) for envelope in peer.wake(0.0) for each in envelope.messages] == [SumsTold]
    assert peer.receive(C, [SumsHeld(1, 0, Version(9, B), is_asked=True)]) == []
    assert peer.receive(A, [SumsHeld(0, 1, Version(1, A), is_asked=True)]) == []


def test_a_slot_that_is_not_ours_any_more_is_dropped_and_comes_back_by_its_rows() -> None:
    peer = source()
    told(peer, 0.0)
    rows: SlotRows = peer.slots[0].rows
    peer.change_owners([B, B])
    assert (dict(peer.slots), peer.wake_at()) == ({}, inf)
    peer.change_owners([A, B])
    peer.take_slot(0, rows)
    assert told(peer, 1.0).version == Version(2, A)


def test_a_number_that_the_owner_of_one_target_makes_up_binds_neither_others_nor_the_next_owner() -> None:
    """It counted for all slots that a slot gives to: their owners took no later statement of it, for ever."""
    peer = RankExchange(A, [A, B, C], TOLERANCE)
    peer.take_slot(0)
    peer.link(0, 1, links((1, PAGE), (2, PAGE)))
    peer.wake(0.0)
    greatest = 1 << 53
    peer.receive(B, [SumsHeld(0, 1, Version(greatest, "z"))])
    peer.receive(C, [SumsHeld(0, 2, Version(1, A))])
    peer.wake(1.0)
    peer.link(0, 1, links((2, PAGE)))
    messages = {to: message for to, [message] in peer.wake(2.0)}
    assert messages[C].statement.version == Version(2, A)  # type: ignore[union-attr]
    assert messages[B].statement.version.number > greatest  # type: ignore[union-attr]
    peer.change_owners([A, C, C])
    [[to, [message]]] = peer.wake(2.0)
    assert (to, message.target) == (C, 1)
    assert message.statement.version == Version(1, A)  # type: ignore[union-attr]


def test_a_peer_that_begins_anew_without_end_keeps_no_statement_from_the_others() -> None:
    """A turn has room for some sums: told in one order, those of this peer took all of it each time."""
    peer = RankExchange(A, [A, B, C], TOLERANCE, sums_max=2)
    peer.take_slot(0)
    peer.link(0, 1, links(*((1, page) for page in range(5)), (2, PAGE)))
    told_to: list[str] = []
    for turn in range(4):
        told_to += [to for to, _ in peer.wake(turn)]
        peer.note_begun(B)
    assert C in told_to
