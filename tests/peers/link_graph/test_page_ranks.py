"""Ranks in the actor: when work is given away, and what crosses the wire."""

from __future__ import annotations

from math import inf, nan

import numpy as np
import pytest
from msgspec.structs import replace

from mesh.actors.actor import Address, Message, Send
from mesh.actors.ownership import Ownership
from mesh.actors.port import BACKGROUND, CarryOut
from mesh.slots import SlotTable
from mesh.stamp import Stamp
from mesh.urls import fingerprint, host_of
from peers.link_graph.page_ranks import (
    BEGUN_AGAIN_S,
    PAUSE_S,
    REST_SHARE,
    WAITING_BYTES_MAX,
    WAITING_MAX,
    PageRanks,
)
from peers.link_graph.rank_work import RankOutcome
from peers.link_graph.slot_ranks import DAMPING
from peers.link_graph.source_row import SourceRow, TargetLink, row_after
from peers.link_graph.wire_messages import (
    SUMS_MAX,
    HeldSums,
    RanksBegun,
    RanksHeard,
    RanksHeld,
    RanksTold,
    SumsPart,
)

ME, BOB = "ann", "bob"
ALONE = Ownership(ME, SlotTable({ME: 100}, 64, 2), (ME,))
VIEW = Ownership(ME, SlotTable({ME: 100, BOB: 100, "boot": 0}, 64, 2), (ME, BOB, "boot"))
FROM_BOB = Address(BOB, "link_graph")
OURS = next(slot for slot in range(64) if VIEW.owner_of(slot) == ME)
THEIRS = next(slot for slot in range(64) if VIEW.owner_of(slot) == BOB)
LEAST = 1 - DAMPING
URL = "http://a.test/"


def ranks_of(view: Ownership = VIEW) -> PageRanks:
    ranks = PageRanks(ME, "link_graph", 5, 1_000)
    ranks.follow(view)
    return ranks


def row_of(url: str, *targets: str) -> SourceRow:
    row = row_after(None, url, Stamp(1, 1.0), "", [TargetLink(each) for each in targets], VIEW.slot_of)
    assert row is not None
    return row


def worked(ranks: PageRanks, now: float, took_s: float = 0.0) -> list[Message]:
    """Let it work once; return what it tells others."""
    [order] = [send.message for send in ranks.wake(now) if isinstance(send.message, CarryOut)]
    outcome = order.work()
    assert isinstance(outcome, RankOutcome)
    return [send.message for send in ranks.take_outcome(outcome, now + took_s)]


def part(names: list[int], values: list[float], number: int = 1, part: int = 0, n_parts: int = 1) -> SumsPart:
    numbers = np.array(names, ">i8").tobytes(), np.array(values, ">f4").tobytes()
    return SumsPart(THEIRS, OURS, number, part, n_parts, *numbers)


def rank(ranks: PageRanks, name: int) -> float | None:
    return ranks.view.rank_of(OURS, name)


def test_one_thread_at_a_time_works_and_rests_after_as_long_as_it_took() -> None:
    ranks = ranks_of(ALONE)
    slot = ALONE.slot_of(host_of(URL))
    ranks.note_page(slot, fingerprint(URL), row_of(URL))
    assert ranks.wake_at() == -inf
    [send] = ranks.wake(10.0)
    assert send.target == Address(ME, BACKGROUND)
    assert isinstance(send.message, CarryOut)
    ranks.note_page(slot, fingerprint(URL), row_of(URL, "http://b.test/"))
    assert (ranks.wake_at(), ranks.wake(20.0), ranks.is_settled) == (inf, [], False)
    outcome = send.message.work()
    assert isinstance(outcome, RankOutcome)
    assert ranks.take_outcome(outcome, 15.0) == []
    assert ranks.rank_of(slot, fingerprint(URL)) == pytest.approx(LEAST)
    assert ranks.wake_at() == 15.0 + 5.0 * REST_SHARE
    assert worked(ranks, 40.0) == []
    assert (ranks.wake_at(), ranks.is_settled) == (inf, True)
    ranks.note_page(slot, fingerprint(URL), row_of(URL))
    assert ranks.wake_at() == 40.0 + PAUSE_S


def test_others_that_own_slots_are_told_of_the_begin_until_they_have_heard() -> None:
    ranks = ranks_of()
    worked(ranks, 0.0)
    begun = Send(FROM_BOB, RanksBegun(5))
    assert ranks.wake_at() == BEGUN_AGAIN_S
    assert ranks.wake(BEGUN_AGAIN_S) == [begun]
    ranks.receive(FROM_BOB, RanksHeard(4))  # to an earlier life
    assert ranks.wake(2 * BEGUN_AGAIN_S) == [begun]
    assert not ranks.is_settled
    ranks.receive(FROM_BOB, RanksHeard(5))
    assert (ranks.wake_at(), ranks.is_settled) == (inf, True)
    assert ranks.receive(FROM_BOB, RanksBegun(9)) == [Send(FROM_BOB, RanksHeard(9))]
    assert not ranks.is_settled
    ranks.follow(ALONE)
    worked(ranks, 100.0)
    ranks.follow(VIEW)
    assert begun in ranks.wake(200.0)  # it may have been started again meanwhile


def test_a_statement_is_taken_and_answered_and_one_in_parts_when_all_are_there() -> None:
    ranks = ranks_of()
    worked(ranks, 0.0)
    ranks.receive(FROM_BOB, RanksTold((part([-3, 7], [0.5, 1.0]),)))
    assert worked(ranks, 10.0) == [RanksHeld((HeldSums(THEIRS, OURS, 1, BOB),))]
    assert rank(ranks, 7) == pytest.approx(LEAST + 1.0)
    ranks.receive(FROM_BOB, RanksTold((part([7, 9], [2.0, 2.0], 2, 1, 2),)))
    ranks.receive(FROM_BOB, RanksTold((part([7, 9], [2.0, 2.0], 2, 1, 2),)))
    assert ranks.is_settled is False  # bob has not heard of the begin
    assert rank(ranks, 9) is None
    ranks.receive(FROM_BOB, RanksTold((part([-3], [4.0], 2, 0, 2),)))
    worked(ranks, 20.0)
    assert [rank(ranks, name) for name in (-3, 7, 9)] == pytest.approx([LEAST + 4, LEAST + 2, LEAST + 2])


@pytest.mark.parametrize(
    "odd",
    [
        part([1], [nan]),
        part([1], [inf]),
        part([1], [-1.0]),
        part([2, 1], [1.0, 1.0]),
        part([1, 1], [1.0, 1.0]),
        part([1, 2], [1.0]),
        part([1], [1.0], part=3, n_parts=2),
        replace(part([1], [1.0]), names=b"odd"),
        replace(part([1], [1.0]), source=64),
        replace(part([1], [1.0]), target=65_000),
        replace(part([1], [1.0]), source=OURS),
        replace(part([1], [1.0]), target=THEIRS),
    ],
)
def test_sums_that_cannot_be_or_are_of_others_slots_change_nothing(odd: SumsPart) -> None:
    ranks = ranks_of()
    worked(ranks, 0.0)
    ranks.receive(FROM_BOB, RanksTold((odd,)))
    ranks.receive(FROM_BOB, RanksHeld((HeldSums(odd.source, odd.target, 1, "x", is_asked=True),)))
    ranks.receive(FROM_BOB, RanksBegun(9))
    worked(ranks, 10.0)
    assert rank(ranks, 1) is None


def test_parts_that_overlap_are_no_statement() -> None:
    ranks = ranks_of()
    worked(ranks, 0.0)
    ranks.receive(FROM_BOB, RanksTold((part([1], [1.0], 1, 0, 2), part([1], [1.0], 1, 1, 2))))
    ranks.receive(FROM_BOB, RanksBegun(9))
    worked(ranks, 10.0)
    assert rank(ranks, 1) is None


def test_a_large_statement_goes_in_parts_that_its_target_puts_together() -> None:
    source, names = f"http://{_host_in(OURS)}/", range(SUMS_MAX + 5)
    targets = np.zeros(len(names), np.dtype([("slot", ">u2"), ("name", ">i8"), ("rest", "V12")]))
    targets["slot"], targets["name"] = THEIRS, names
    ranks = PageRanks(ME, "link_graph", 5, 10 * SUMS_MAX)
    ranks.follow(VIEW)
    row = SourceRow(source, 1, 1.0, True, targets.tobytes())
    ranks.note_page(OURS, fingerprint(source), row)
    told = [message for message in worked(ranks, 0.0) if isinstance(message, RanksTold)]
    assert [[(each.part, each.n_parts) for each in message.parts] for message in told] == [[(0, 2), (1, 2)]]
    bob = PageRanks(BOB, "link_graph", 6, 1_000)
    bob.follow(Ownership(BOB, VIEW.table, VIEW.alive))
    bob.receive(Address(ME, "link_graph"), told[0])
    worked(bob, 0.0)
    assert bob.view.rank_of(THEIRS, len(names) - 1) == pytest.approx(LEAST + DAMPING * LEAST / len(names))


def test_with_many_pages_waiting_no_more_should_be_looked_through() -> None:
    ranks = ranks_of()
    for number in range(WAITING_MAX):
        assert not ranks.is_full
        ranks.note_page(OURS, number.to_bytes(16, "big")[::-1], row_of(URL))
    assert ranks.is_full


def test_a_peer_that_floods_leaves_room_for_the_messages_of_others() -> None:
    view = Ownership(ME, SlotTable({ME: 100, BOB: 100, "cyd": 100}, 64, 2), (ME, BOB, "cyd"))
    ranks = ranks_of(view)
    worked(ranks, 0.0)
    sums = list(range(SUMS_MAX))
    for n_sums in (SUMS_MAX, SUMS_MAX // 64, SUMS_MAX // 2_048, 0):  # ever smaller ones fill what is left
        flood = RanksTold((part(sums[:n_sums], [1.0] * n_sums),))
        for _ in range(WAITING_BYTES_MAX // (12 * SUMS_MAX) + 30):
            ranks.receive(FROM_BOB, flood)
    ours, of_cyd = (next(slot for slot in range(64) if view.owner_of(slot) == peer) for peer in (ME, "cyd"))
    ranks.receive(Address("cyd", "link_graph"), RanksTold((SumsPart(of_cyd, ours, 1),)))
    assert RanksHeld((HeldSums(of_cyd, ours, 1, "cyd"),)) in worked(ranks, 10.0)


def _host_in(slot: int) -> str:
    return next(host for n in range(10_000) if VIEW.slot_of(host := f"h{n}.test") == slot)
