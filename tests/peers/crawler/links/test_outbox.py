"""Links on their way: what is kept, when it goes out again, when it is forgotten, how much is in memory."""

from __future__ import annotations

from math import inf

from mesh.tables.memory_table import MemoryTable
from peers.crawler.links.outbox import (
    BATCH_BYTES,
    BATCHES_UNDER_WAY,
    RESEND_MAX_S,
    RESEND_S,
    LinkBatch,
    LinkOutbox,
)
from peers.crawler.model.wire_messages import LINKS_MAX, FoundLink


def links(n: int, host: str = "http://a.test") -> list[FoundLink]:
    return [FoundLink(f"{host}/{number}", "text", depth=2, hops=1) for number in range(n)]


def begun(table: MemoryTable | None = None, life: int = 1, links_max: float = inf) -> LinkOutbox:
    return LinkOutbox(MemoryTable() if table is None else table, life, links_max)


def added(outbox: LinkOutbox, n: int = 1, peer: str = "b", now: float = 0.0) -> LinkBatch:
    (number,) = outbox.add(peer, links(n), now)
    (batch,) = [each for each in outbox.wake(now) if each.number == number]
    return batch


def test_a_batch_is_kept_until_its_peer_accepts_it() -> None:
    table = MemoryTable()
    outbox = begun(table)
    batch = added(outbox, 3)
    assert batch.links == tuple(links(3))
    assert (outbox.batch_count, outbox.link_count) == (1, 3)
    assert outbox.accepted(batch.number, "b", 0.0)
    assert (outbox.batch_count, outbox.link_count, len(table)) == (0, 0, 0)
    assert not outbox.accepted(batch.number, "b", 0.0)


def test_nobody_accepts_for_another_peer() -> None:
    outbox = begun()
    batch = added(outbox)
    assert not outbox.accepted(batch.number, "c", 0.0)
    assert outbox.batch_count == 1


def test_more_links_than_a_message_takes_make_several_batches() -> None:
    outbox = begun()
    numbers = outbox.add("b", links(2 * LINKS_MAX + 1), 0.0)
    batches = outbox.wake(0.0)
    assert [batch.number for batch in batches] == numbers
    assert [len(batch.links) for batch in batches] == [LINKS_MAX, LINKS_MAX, 1]
    assert outbox.add("b", [], 0.0) == []


def test_long_links_make_small_batches() -> None:
    outbox = begun()
    long = [FoundLink("http://a.test/" + "x" * 2_000, "text " * 40) for _ in range(LINKS_MAX)]
    outbox.add("b", long, 0.0)
    batches = outbox.wake(0.0)
    assert sum(len(batch.links) for batch in batches) == LINKS_MAX
    assert all(
        sum(len(link.url) + len(link.anchor) for link in each.links) <= BATCH_BYTES for each in batches
    )


def test_an_unanswered_batch_goes_out_again_after_pauses_that_grow_to_a_limit() -> None:
    outbox = begun()
    batch = added(outbox, now=100.0)
    assert not batch.has_waited
    pauses, now = [], 100.0
    for _ in range(8):
        at = outbox.wake_at()
        assert outbox.wake(at - 0.01) == []
        assert outbox.wake(at) == [batch._replace(has_waited=True)]
        pauses.append(at - now)
        now = at
    assert pauses == [RESEND_S, 12.0, 24.0, 48.0, RESEND_MAX_S, RESEND_MAX_S, RESEND_MAX_S, RESEND_MAX_S]


def test_what_was_accepted_wakes_nobody() -> None:
    outbox = begun()
    batch = added(outbox, now=1.0)
    outbox.accepted(batch.number, "b", 1.0)
    assert outbox.wake_at() == inf


def test_few_batches_are_under_way_to_a_peer_and_in_memory() -> None:
    outbox = begun()
    for number in range(10 * BATCHES_UNDER_WAY):
        outbox.add("b", links(1, f"http://{number}.test"), 0.0)
    outbox.add("c", links(1), 0.0)
    under_way = outbox.wake(0.0)
    assert [batch.peer for batch in under_way] == ["b"] * BATCHES_UNDER_WAY + ["c"]
    assert outbox.batches_in_memory == BATCHES_UNDER_WAY + 1
    assert outbox.accepted(under_way[0].number, "b", 0.1)
    (following,) = outbox.wake(0.1)
    assert following.links[0].url == f"http://{BATCHES_UNDER_WAY}.test/0"


def test_after_a_restart_everything_is_due_at_once() -> None:
    table = MemoryTable()
    before = begun(table)
    batches = [added(before, n, peer) for n, peer in ((2, "b"), (3, "c"))]
    again = begun(table, life=2)
    assert (again.batch_count, again.link_count) == (2, 5)
    assert again.wake_at() == -inf
    assert again.wake(0.0) == [batch._replace(has_waited=True) for batch in batches]


def test_what_is_for_who_is_gone_is_due_at_once() -> None:
    outbox = begun()
    batches = {peer: added(outbox, peer=peer) for peer in "bc"}
    outbox.hasten(frozenset("b"), 1.0)
    (batch,) = outbox.wake(1.0)
    assert batch == batches["c"]._replace(has_waited=True)
    outbox.remove(batch)
    assert outbox.batch_count == 1


def test_with_more_links_than_it_should_have_it_is_full_and_loses_none() -> None:
    outbox = begun(links_max=10)
    first = added(outbox, 10)
    assert not outbox.is_full
    added(outbox, 1)
    assert outbox.is_full
    assert outbox.link_count == 11
    outbox.accepted(first.number, "b", 0.0)
    assert not outbox.is_full


def test_a_late_answer_to_an_earlier_life_is_no_answer_to_a_batch_of_this_one() -> None:
    """Numbers began at 1 after each restart: the late answer deleted a batch that had not arrived."""
    table = MemoryTable()
    before = begun(table)
    old = added(before, now=1_000.0)
    assert before.accepted(old.number, "b", 1_000.0)
    again = begun(table, life=2)
    new = added(again, now=1_001.0)
    assert not again.accepted(old.number, "b", 1_001.0)
    assert again.batch_count == 1
    assert again.accepted(new.number, "b", 1_001.0)
