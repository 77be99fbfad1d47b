"""The log as an actor: rows that it takes and refuses, how they join, and what it tells in parts."""

from __future__ import annotations

from math import inf

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mesh.actors.actor import Address, Message, Send
from mesh.actors.ownership import Ownership, OwnershipChanged
from mesh.keys.decree import POLICY, Decree
from mesh.membership.model.messages import DecreesInForce
from mesh.slot_set import encode_slot_list
from mesh.slots import SlotTable
from mesh.tables.memory_table import MemoryTable
from peers.handover.item_store import ItemStore
from peers.handover.messages import SlotsSynchronised, SynchroniseSlots
from peers.handover.wire_messages import CompareSlots
from peers.policy.log_rules import QueryLogRules, query_digest
from peers.policy.rules import DAY_S, EVERYTHING, Policy, policy_bytes
from peers.query_log import query_log
from peers.query_log.log_part import log_part
from peers.query_log.log_row import CLICKS_MAX, LogRow, RowName, is_row, join, joined, number_in, row_bytes
from peers.query_log.messages import ResultsShown
from peers.query_log.query_log import OwnQueryLog
from peers.query_log.wire_messages import SearchesNoted, SearchesTold, ToldRow

SLOTS = 64
VIEW = Ownership("ann", SlotTable({"ann": 100}, SLOTS, 1), ("ann",))
OTHER = Address("bob", "query_log")

rows = st.builds(
    lambda pages, clicks: joined(LogRow("q", (), ()), LogRow("q", pages, clicks)),
    st.lists(st.tuples(st.integers(1, 3), st.integers(0, 10)), max_size=3).map(tuple),
    st.sets(st.tuples(st.integers(1, 99), st.sampled_from(["http://a/", "http://b/"])), max_size=10).map(
        lambda clicks: tuple(sorted(clicks))
    ),
)


def told(query: str = "glacier", client: int = 1, day: int = 0, row: LogRow | None = None) -> ToldRow:
    name = RowName(query_digest(query), day, client.to_bytes(8, "big"))
    return ToldRow(name.encoded, row_bytes(row or LogRow(query, ((1, 10),))))


def log_of(rules: QueryLogRules | None, view: Ownership = VIEW) -> OwnQueryLog:
    log = OwnQueryLog("ann", MemoryTable())
    log.receive(Address("ann", "membership"), OwnershipChanged(view), 0.0)
    hear(log, rules)
    return log


def hear(log: OwnQueryLog, rules: QueryLogRules | None) -> None:
    body = policy_bytes(Policy(rules=EVERYTHING.rules, query_log=rules))
    decrees = DecreesInForce(POLICY, (Decree(POLICY, "", 1, 0.0, inf, body, b"", b""),))
    log.receive(Address("ann", "membership"), decrees, 0.0)


def to(sends: list[Send], kind: type[Message]) -> list[Message]:
    return [send.message for send in sends if isinstance(send.message, kind)]


@given(rows, rows, rows)
def test_rows_join_in_any_order_and_any_number_of_times(a: LogRow, b: LogRow, c: LogRow) -> None:
    x, y, z = map(row_bytes, (a, b, c))
    assert join(x, y) == join(y, x)
    assert join(join(x, y), z) == join(x, join(y, z))
    assert join(x, x) == x
    assert len(joined(a, b).clicks) <= CLICKS_MAX


def test_rows_that_no_honest_gateway_writes_are_refused_and_the_others_kept() -> None:
    log, good = log_of(QueryLogRules(days=7)), told()
    long, unsorted = LogRow("x" * 201, ((1, 1),)), LogRow("glacier", ((2, 1), (1, 1)))
    line = LogRow("glacier", (), ((1, "http://a/\nb"),))
    bad = (
        ToldRow(good.name, b"\xc1"),
        ToldRow(good.name, told("other").value),  # of another query than its name says
        told("x" * 201, row=long),
        told(row=unsorted),
        told(row=line),
        told("a\nb"),
        told(day=9),  # from tomorrow's tomorrow
    )
    sends = log.receive(OTHER, SearchesTold(5, (*bad, good)), 0.0)
    assert to(sends, SearchesNoted) == [SearchesNoted(5)], "or they would come again for ever"
    assert (log.observe().taken, log.observe().refused) == (1, len(bad))
    assert [item.name for item in log._store.items_after(b"", 10)] == [good.name]


def test_rows_of_slots_that_others_answer_for_are_not_noted() -> None:
    view = Ownership("ann", SlotTable({"ann": 100, "bob": 100}, SLOTS, 1), ("ann", "bob"))
    log = log_of(QueryLogRules(days=7), view)
    queries = [f"query {n}" for n in range(20)]
    own = [each for each in queries if view.answerer_of(number_in(query_digest(each)) % SLOTS) == "ann"]
    others = [each for each in queries if each not in own]
    assert own
    assert others
    assert not to(log.receive(OTHER, SearchesTold(1, (told(own[0]), told(others[0]))), 0.0), SearchesNoted)
    assert to(log.receive(OTHER, SearchesTold(2, (told(own[0]),)), 0.0), SearchesNoted)
    assert log.observe().taken == 1


def test_a_member_has_so_many_rows_on_a_day() -> None:
    log = log_of(QueryLogRules(days=7))
    log.wake(0.0)
    log._of_members["bob"] = query_log.ROWS_OF_MEMBER_MAX - 1
    log.receive(OTHER, SearchesTold(1, (told(client=1), told(client=2))), 1.0)
    assert (log.observe().taken, log.observe().refused) == (1, 1)
    log.receive(Address("cyd", "query_log"), SearchesTold(1, (told(client=2),)), 1.0)
    assert log.observe().taken == 2
    assert log.wake_at() <= DAY_S
    log.wake(DAY_S)
    log.receive(OTHER, SearchesTold(2, (told(client=3, day=1),)), DAY_S)
    assert log.observe().taken == 3


def test_slots_are_compared_only_while_there_is_a_log() -> None:
    view = Ownership("ann", SlotTable({"ann": 100, "bob": 100}, SLOTS, 2), ("ann", "bob"))
    handover, slots = Address("ann", "handover"), encode_slot_list(range(SLOTS), SLOTS)
    for is_routine in (False, True):
        order = SynchroniseSlots(1, "bob", slots, inf, is_routine=is_routine)
        for log in (log_of(None, view), OwnQueryLog("ann", MemoryTable())):
            log.receive(Address("ann", "membership"), OwnershipChanged(view), 0.0)
            assert to(log.receive(handover, order, 0.0), SlotsSynchronised) == [SlotsSynchronised(1, slots)]
        sends = log_of(QueryLogRules(days=7), view).receive(handover, order, 0.0)
        assert to(sends, CompareSlots)
        assert not to(sends, SlotsSynchronised)


def test_a_restart_deletes_nothing_before_the_policy_is_known() -> None:
    table = MemoryTable()
    log = OwnQueryLog("ann", table)
    log.receive(Address("ann", "membership"), OwnershipChanged(VIEW), 0.0)
    hear(log, QueryLogRules(days=7))
    log.receive(OTHER, SearchesTold(1, (told(),)), 0.0)
    again = OwnQueryLog("ann", table, 2)
    again.receive(Address("ann", "membership"), OwnershipChanged(VIEW), 0.0)
    again.wake(1.0)
    assert not to(again.receive(OTHER, SearchesTold(1, (told("other"),)), 1.0), SearchesNoted)
    assert len(again._store.items_after(b"", 10)) == 1
    hear(again, None)
    again.wake(2.0)
    assert again._store.items_after(b"", 10) == []
    assert again.wake_at() == inf


def test_while_there_is_no_log_a_gateway_leaves_no_trace_in_the_table() -> None:
    table = MemoryTable()
    log = OwnQueryLog("ann", table)
    log.receive(Address("ann", "membership"), OwnershipChanged(VIEW), 0.0)
    hear(log, None)
    assert log.receive(Address("ann", "http"), ResultsShown("glacier", b"12345678", 1, 10), 0.0) == []
    assert list(table.scan(b"")) == []


@pytest.mark.parametrize("rows_max", [5, 6, 7, 100])
def test_parts_have_together_all_queries_and_split_none_that_is_rare(rows_max: int) -> None:
    store = ItemStore(MemoryTable(), join)
    for query, clients in (("a", 4), ("b", 5), ("c", 12), ("d", 1), ("e", 2)):
        for client in range(clients):
            row = told(query, client)
            store.put(number_in(row.name) % 4, row.name, row.value)
            assert is_row(row.name, row.value)
    counts: dict[str, int] = {}
    rare: list[tuple[int, ...]] = []
    after, is_over = b"", False
    while not is_over:
        part = log_part(store, after, lambda item: True, rows_max=rows_max)
        for told_of in part.queries:
            counts[told_of.query] = counts.get(told_of.query, 0) + told_of.clients
        rare += [each.queries for each in part.rare]
        after, is_over = part.next, not part.next
    assert counts == {"b": 5, "c": 12}
    assert [sum(each) for each in zip(*rare, strict=True)] == [1, 1, 0, 1]
