"""The work of one peer on ranks: from rows to ranks, with hostile statements and little memory."""

from __future__ import annotations

import numpy as np
import pytest

from mesh.actors.ownership import Ownership
from mesh.slots import SlotTable
from mesh.stamp import Stamp
from mesh.urls import fingerprint, host_of
from peers.link_graph.rank_exchange import SumsTold
from peers.link_graph.rank_wire import messages_of
from peers.link_graph.rank_work import (
    GIVEN_MAX,
    PAGES_MIN,
    LinkedTo,
    RankNews,
    RankWork,
    name_of_mark,
)
from peers.link_graph.slot_ranks import DAMPING, RankSums, Statement, Version
from peers.link_graph.source_row import TargetLink, row_after
from peers.link_graph.wire_messages import SUMS_MAX, HeldSums, RanksHeld, RanksTold

ALONE = Ownership("ann", SlotTable({"ann": 100}, 64, 2), ("ann",))
BOTH = Ownership("ann", SlotTable({"ann": 100, "bob": 100}, 64, 2), ("ann", "bob"))
LEAST = 1 - DAMPING


def key_of(url: str, view: Ownership = ALONE) -> tuple[int, int]:
    return view.slot_of(host_of(url)), name_of_mark(fingerprint(url))


def linked(url: str, *targets: str, view: Ownership = ALONE) -> LinkedTo:
    row = row_after(None, url, Stamp(1, 1.0), "", [TargetLink(each) for each in targets], view.slot_of)
    assert row is not None
    return LinkedTo(url, row.targets)


def news(*pages: LinkedTo, view: Ownership | None = ALONE) -> RankNews:
    return RankNews(view, pages={key_of(page.url): page for page in pages})


def slot_of_owner(owner: str) -> int:
    return next(slot for slot in range(64) if BOTH.owner_of(slot) == owner)


def told(value: float, number: int = 1, n_sums: int = 1) -> SumsTold:
    """A statement of bob about pages of ann."""
    names = np.arange(n_sums, dtype=np.int64)
    sums = RankSums(names, np.full(n_sums, value))
    return SumsTold(slot_of_owner("bob"), slot_of_owner("ann"), Statement(Version(number, "bob"), sums))


def wire(said: SumsTold) -> RanksTold:
    """Return a statement as it crosses the wire."""
    [message] = messages_of([said])
    assert isinstance(message, RanksTold)
    return message


def test_pages_of_rows_are_ranked_with_their_hosts() -> None:
    a, b, c = "http://a.test/", "http://a.test/b", "http://c.test/"
    outcome = RankWork("ann", 100).run(news(linked(a, b, c), linked(b, c), linked(c)), 0.0)
    rank_b = LEAST + DAMPING * LEAST / 2
    rank_c = rank_b + DAMPING * rank_b
    view = outcome.view
    assert [view.rank_of(*key_of(url)) for url in (a, b, c)] == pytest.approx(
        [LEAST, rank_b, rank_c], abs=1e-3
    )
    assert view.rank_of(*key_of("http://x.test/")) is None
    assert [page.mark for page in view.pages] == [fingerprint(url)[:8] for url in (c, b, a)]
    assert {host.host: host.n_pages for host in view.hosts} == {"a.test": 2, "c.test": 1}
    assert [host.rank for host in view.hosts] == pytest.approx([rank_c, LEAST + rank_b], abs=1e-3)
    assert (view.n_pages, view.n_links, view.n_left_out, outcome.messages) == (3, 3, 0, ())


def test_pages_beyond_the_memory_give_nothing_until_there_is_room() -> None:
    a, b, c = "http://a.test/", "http://b.test/", "http://c.test/"
    work = RankWork("ann", 2)
    view = work.run(news(linked(a, b, c), linked(b, c), linked(c)), 0.0).view
    assert (view.n_pages, view.n_links, view.n_left_out) == (3, 2, 1)
    assert view.rank_of(*key_of(c)) == pytest.approx(LEAST + DAMPING * LEAST / 2)
    view = work.run(news(linked(a), linked(b, c), view=None), 1.0).view
    assert (view.n_links, view.n_left_out) == (1, 0)


def test_a_page_that_is_forgotten_gives_nothing_and_is_listed_no_more() -> None:
    a, b = "http://a.test/", "http://b.test/"
    work = RankWork("ann", 100)
    work.run(news(linked(a, b), linked(b)), 0.0)
    view = work.run(RankNews(pages={key_of(a): None}), 1.0).view
    assert [page.mark for page in view.pages] == [fingerprint(b)[:8]]
    assert view.rank_of(*key_of(b)) == pytest.approx(LEAST)


def test_a_member_gives_no_more_than_a_multiple_of_its_share() -> None:
    work = RankWork("ann", 100)
    work.run(RankNews(BOTH), 0.0)
    honest = work.run(RankNews(messages=[("bob", wire(told(3.0)))]), 1.0).view
    assert honest.n_clipped == 0
    assert honest.rank_of(slot_of_owner("ann"), 0) == pytest.approx(LEAST + 3.0)
    lied = work.run(RankNews(messages=[("bob", wire(told(1e12, 2, 10)))]), 2.0).view
    share = sum(BOTH.owner_of(slot) == "bob" for slot in range(64)) / 64
    most = GIVEN_MAX * DAMPING * PAGES_MIN * share
    assert lied.n_clipped == 1
    ranks = [lied.rank_of(slot_of_owner("ann"), page) or 0.0 for page in range(10)]
    assert sum(ranks) == pytest.approx(10 * LEAST + most)
    again = work.run(RankNews(messages=[("bob", wire(told(3.0, 3)))]), 3.0).view
    assert again.n_clipped == 0
    assert again.rank_of(slot_of_owner("ann"), 0) == pytest.approx(LEAST + 3.0)


def test_statements_beyond_a_members_share_of_the_memory_are_not_taken(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("peers.link_graph.rank_work.SUMS_MIN", 5)
    work = RankWork("ann", 1)
    work.run(RankNews(BOTH), 0.0)
    outcome = work.run(RankNews(messages=[("bob", wire(told(1.0, 1, 5)))]), 1.0)
    assert outcome.view.rank_of(slot_of_owner("ann"), 4) == pytest.approx(LEAST + 1.0)
    outcome = work.run(RankNews(messages=[("bob", wire(told(1.0, 2, 9)))]), 2.0)
    assert outcome.view.rank_of(slot_of_owner("ann"), 8) is None
    assert outcome.messages == ()
    outcome = work.run(RankNews(messages=[("bob", wire(told(2.0, 3, 5)))]), 3.0)
    assert outcome.view.rank_of(slot_of_owner("ann"), 4) == pytest.approx(LEAST + 2.0)


def test_the_greatest_version_of_an_owner_before_does_not_bind_the_next() -> None:
    work = RankWork("ann", 100)
    work.run(RankNews(BOTH), 0.0)
    work.run(RankNews(messages=[("bob", wire(told(5.0, 1 << 53)))]), 1.0)
    source, target = slot_of_owner("bob"), slot_of_owner("ann")
    without = Ownership("ann", SlotTable({"ann": 100, "cyd": 100}, 64, 2), ("ann", "cyd"))
    slots = [slot for slot in range(64) if BOTH.owner_of(slot) == "bob" and without.owner_of(slot) == "cyd"]
    assert source in slots or slots
    source = slots[0]
    stated = told(5.0, 1 << 53)._replace(source=source)
    work.run(RankNews(messages=[("bob", wire(stated))]), 2.0)
    outcome = work.run(RankNews(without), 3.0)
    asked = HeldSums(source, target, 0, "", is_asked=True)
    assert [message.held for _, message in outcome.messages if isinstance(message, RanksHeld)] == [(asked,)]
    new = SumsTold(source, target, Statement(Version(1, "cyd"), RankSums(np.array([0]), np.array([0.5]))))
    outcome = work.run(RankNews(messages=[("cyd", wire(new))]), 4.0)
    assert outcome.messages == (("cyd", RanksHeld((HeldSums(source, target, 1, "cyd"),))),)


def test_parts_of_a_statement_go_with_the_member_that_sent_them() -> None:
    work = RankWork("ann", 100)
    work.run(RankNews(BOTH), 0.0)
    whole = told(0.01, 1, SUMS_MAX + 5)
    first, last = (
        part for message in messages_of([whole]) if isinstance(message, RanksTold) for part in message.parts
    )
    work.run(RankNews(messages=[("bob", RanksTold((first,)))]), 1.0)
    assert work._reader._partial.keys() == {"bob"}
    work.run(RankNews(BOTH), 2.0)
    assert work._reader._partial.keys() == {"bob"}
    work.run(RankNews(ALONE), 3.0)
    assert not work._reader._partial
    work.run(RankNews(BOTH, messages=[("bob", RanksTold((last,)))]), 4.0)
    outcome = work.run(RankNews(messages=[("bob", RanksTold((first, last)))]), 5.0)
    assert outcome.view.rank_of(slot_of_owner("ann"), SUMS_MAX) == pytest.approx(LEAST + 0.01)
