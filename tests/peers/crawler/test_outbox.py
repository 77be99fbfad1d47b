"""Links on their way: what is kept, when it goes out again, when it is forgotten."""

from __future__ import annotations

from math import inf

from mesh.memory_table import MemoryTable
from mesh.messages import LINKS_MAX, FoundLink
from peers.crawler.outbox import BATCHES_PER_TURN, RESEND_MAX_S, RESEND_S, Batch, Outbox


def links(n: int, host: str = "http://a.test") -> list[FoundLink]:
    return [FoundLink(f"{host}/{number}", "text", depth=2, hops=1) for number in range(n)]


def added(outbox: Outbox, n: int = 1, peer: str = "b", now: float = 0.0) -> Batch:
    (batch,) = outbox.add(peer, links(n), now)
    return batch


def test_a_batch_is_kept_until_its_peer_accepts_it() -> None:
    table = MemoryTable()
    outbox = Outbox(table)
    batch = added(outbox, 3)
    assert batch.links == tuple(links(3))
    assert (outbox.batch_count, outbox.link_count) == (1, 3)
    assert outbox.accepted(batch.number, "b")
    assert (outbox.batch_count, outbox.link_count, len(table)) == (0, 0, 0)
    assert not outbox.accepted(batch.number, "b")


def test_nobody_accepts_for_another_peer() -> None:
    outbox = Outbox(MemoryTable())
    batch = added(outbox)
    assert not outbox.accepted(batch.number, "c")
    assert outbox.batch_count == 1


def test_more_links_than_a_message_takes_make_several_batches() -> None:
    outbox = Outbox(MemoryTable())
    batches = outbox.add("b", links(2 * LINKS_MAX + 1), 0.0)
    assert [len(batch.links) for batch in batches] == [LINKS_MAX, LINKS_MAX, 1]
    assert len({batch.number for batch in batches}) == 3
    assert outbox.add("b", [], 0.0) == []


def test_an_unanswered_batch_goes_out_again_after_pauses_that_grow_to_a_limit() -> None:
    outbox = Outbox(MemoryTable())
    batch = added(outbox, now=100.0)
    pauses, now = [], 100.0
    for _ in range(8):
        at = outbox.next_time()
        assert outbox.due(at - 0.01) == []
        assert outbox.due(at) == [(batch.number, "b")]
        pauses.append(at - now)
        now = at
    assert pauses == [RESEND_S, 4.0, 8.0, 16.0, 32.0, RESEND_MAX_S, RESEND_MAX_S, RESEND_MAX_S]
    assert outbox.batch(batch.number) == batch


def test_what_was_accepted_wakes_nobody() -> None:
    outbox = Outbox(MemoryTable())
    first, second = added(outbox, now=1.0), added(outbox, now=2.0)
    outbox.accepted(first.number, "b")
    assert outbox.next_time() == 2.0 + RESEND_S
    outbox.accepted(second.number, "b")
    assert outbox.next_time() == inf


def test_few_batches_go_out_at_a_time() -> None:
    outbox = Outbox(MemoryTable())
    for _ in range(BATCHES_PER_TURN + 3):
        added(outbox)
    assert len(outbox.due(RESEND_S)) == BATCHES_PER_TURN
    assert outbox.next_time() == RESEND_S
    assert len(outbox.due(RESEND_S)) == 3


def test_after_a_restart_everything_is_due_at_once() -> None:
    table = MemoryTable()
    before = Outbox(table)
    batches = [added(before, n, peer) for n, peer in ((2, "b"), (3, "c"))]
    again = Outbox(table)
    assert (again.batch_count, again.link_count, again.next_time()) == (2, 5, 0.0)
    assert again.due(0.0) == [(batch.number, batch.peer) for batch in batches]
    assert [again.batch(batch.number) for batch in batches] == batches


def test_a_late_answer_to_an_earlier_life_is_no_answer_to_a_batch_of_this_one() -> None:
    """Numbers began at 1 after each restart: the late answer deleted a batch that had not arrived."""
    table = MemoryTable()
    before = Outbox(table)
    old = added(before, now=1_000.0)
    assert before.accepted(old.number, "b")
    again = Outbox(table)
    new = added(again, now=1_001.0)
    assert not again.accepted(old.number, "b")
    assert again.batch_count == 1
    assert again.accepted(new.number, "b")
