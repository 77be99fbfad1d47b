"""The log as an actor: rows that it takes and refuses, how they join, and what it tells in parts."""

from __future__ import annotations

from math import inf

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.msgpack import encode

from mesh.actors.actor import Address, Message, Send, Statistics
from mesh.actors.ownership import Ownership, OwnershipChanged
from mesh.keys.decree import POLICY, Decree
from mesh.membership.model.messages import DecreesInForce
from mesh.slot_set import encode_slot_list
from mesh.slots import SlotTable
from mesh.tables.memory_table import MemoryTable
from mesh.tables.table import Table
from peers.handover.item_store import Item, ItemStore
from peers.handover.messages import SlotsFilled, SlotsSynchronised, SynchroniseSlots, UseStore
from peers.handover.wire_messages import CompareSlots, ItemsChanged, ItemsKept
from peers.policy.log_rules import QueryLogRules, query_digest
from peers.policy.rules import DAY_S, EVERYTHING, Policy, policy_bytes
from peers.query_log import query_log
from peers.query_log.log_part import log_part
from peers.query_log.log_row import (
    CLICKS_MAX,
    LogRow,
    RowName,
    is_row,
    join,
    joined,
    name_through,
    number_in,
    row_bytes,
    row_in,
)
from peers.query_log.messages import ResultClicked, ResultsShown
from peers.query_log.query_log import OwnQueryLog, QueryLogStatistics
from peers.query_log.wire_messages import (
    ClicksTold,
    ClicksWanted,
    ComparedDay,
    LogTold,
    LogWanted,
    SearchesNoted,
    SearchesTold,
    ToldRow,
)

SLOTS = 64
VIEW = Ownership("ann", SlotTable({"ann": 100}, SLOTS, 1), ("ann",))
OTHER, OWN_HTTP = Address("bob", "query_log"), Address("ann", "http")
KEPT = QueryLogRules(days=7)

rows = st.builds(
    lambda pages, clicks, credited: joined(LogRow("q", (), ()), LogRow("q", pages, clicks, credited)),
    st.lists(st.tuples(st.integers(1, 3), st.integers(0, 10)), max_size=3).map(tuple),
    st.sets(st.tuples(st.integers(1, 99), st.sampled_from(["http://a/", "http://b/"])), max_size=10).map(
        lambda clicks: tuple(sorted(clicks))
    ),
    st.sets(
        st.tuples(st.sampled_from([f"a.{0:08x}", f"b.{1:08x}"]), st.integers(1, 9), st.integers(0, 1)),
        max_size=10,
    ).map(lambda credited: tuple(sorted(credited))),
)


def told(query: str = "glacier", client: int = 1, day: int = 0, row: LogRow | None = None) -> ToldRow:
    name = RowName(query_digest(query), day, client.to_bytes(8, "big"))
    return ToldRow(name.encoded, row_bytes(row or LogRow(query, ((1, 10),))))


def log_of(
    rules: QueryLogRules | None, view: Ownership = VIEW, table: Table | None = None, life: int = 1
) -> OwnQueryLog:
    log = OwnQueryLog("ann", MemoryTable() if table is None else table, life)
    log.receive(Address("ann", "membership"), OwnershipChanged(view), 0.0)
    hear(log, rules)
    return log


def hear(log: OwnQueryLog, rules: QueryLogRules | None) -> list[Send]:
    body = policy_bytes(Policy(rules=EVERYTHING.rules, query_log=rules))
    decrees = DecreesInForce(POLICY, (Decree(POLICY, "", 1, 0.0, inf, body, b"", b""),))
    return log.receive(Address("ann", "membership"), decrees, 0.0)


def seen(log: OwnQueryLog) -> QueryLogStatistics:
    statistics = log.observe()
    assert isinstance(statistics, QueryLogStatistics)
    return statistics


def to(sends: list[Send], kind: type[Message]) -> list[Message]:
    return [send.message for send in sends if isinstance(send.message, kind)]


@given(rows, rows, rows)
def test_rows_join_in_any_order_and_any_number_of_times(a: LogRow, b: LogRow, c: LogRow) -> None:
    x, y, z = map(row_bytes, (a, b, c))
    assert join(x, y) == join(y, x)
    assert join(join(x, y), z) == join(x, join(y, z))
    assert join(x, x) == x
    assert len(joined(a, b).clicks) <= CLICKS_MAX
    assert len(joined(a, b).credits) <= CLICKS_MAX


def test_rows_that_no_honest_gateway_writes_are_refused_and_the_others_kept() -> None:
    log, good = log_of(KEPT), told()
    long, unsorted = LogRow("x" * 201, ((1, 1),)), LogRow("glacier", ((2, 1), (1, 1)))
    line = LogRow("glacier", (), ((1, "http://a/\nb"),))
    credited = encode(("glacier", (), (), (("no comparison", 1, 0),)))
    bad = (
        ToldRow(good.name, credited),
        ToldRow(good.name, encode(("glacier", (), (), (("a.00000000", 1, 2),)))),  # there are two teams
        ToldRow(good.name, encode(("glacier", ((1, 10),), (), ()))),  # none is told by no field
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
    assert (seen(log).taken, seen(log).refused) == (1, len(bad))
    assert [item.name for item in log._store.items_after(b"", 10)] == [name_through(good.name, OTHER.peer)]


def test_rows_of_slots_that_others_answer_for_are_not_noted() -> None:
    view = Ownership("ann", SlotTable({"ann": 100, "bob": 100}, SLOTS, 1), ("ann", "bob"))
    log = log_of(KEPT, view)
    queries = [f"query {n}" for n in range(20)]
    own = [each for each in queries if view.answerer_of(number_in(query_digest(each)) % SLOTS) == "ann"]
    others = [each for each in queries if each not in own]
    assert own
    assert others
    assert not to(log.receive(OTHER, SearchesTold(1, (told(own[0]), told(others[0]))), 0.0), SearchesNoted)
    assert to(log.receive(OTHER, SearchesTold(2, (told(own[0]),)), 0.0), SearchesNoted)
    assert seen(log).taken == 1


def test_a_member_has_so_many_rows_on_a_day() -> None:
    log = log_of(KEPT)
    log.wake(0.0)
    log._of_members["bob"] = query_log.ROWS_OF_MEMBER_MAX - 1
    log.receive(OTHER, SearchesTold(1, (told(client=1), told(client=2))), 1.0)
    assert (seen(log).taken, seen(log).refused) == (1, 1)
    log.receive(Address("cyd", "query_log"), SearchesTold(1, (told(client=2),)), 1.0)
    assert seen(log).taken == 2
    assert log.wake_at() <= DAY_S
    log.wake(DAY_S)
    log.receive(OTHER, SearchesTold(2, (told(client=3, day=1),)), DAY_S)
    assert seen(log).taken == 3


def test_slots_are_compared_only_while_there_is_a_log() -> None:
    view = Ownership("ann", SlotTable({"ann": 100, "bob": 100}, SLOTS, 2), ("ann", "bob"))
    handover, slots = Address("ann", "handover"), encode_slot_list(range(SLOTS), SLOTS)
    for is_routine in (False, True):
        order = SynchroniseSlots(1, "bob", slots, inf, is_routine=is_routine)
        for log in (log_of(None, view), OwnQueryLog("ann", MemoryTable())):
            log.receive(Address("ann", "membership"), OwnershipChanged(view), 0.0)
            assert to(log.receive(handover, order, 0.0), SlotsSynchronised) == [SlotsSynchronised(1, slots)]
        sends = log_of(KEPT, view).receive(handover, order, 0.0)
        assert to(sends, CompareSlots)
        assert not to(sends, SlotsSynchronised)


def test_a_restart_deletes_nothing_before_the_policy_is_known() -> None:
    table = MemoryTable()
    log_of(KEPT, table=table).receive(OTHER, SearchesTold(1, (told(),)), 0.0)
    before = list(table.scan(b""))
    assert len(before) == 1
    again = OwnQueryLog("ann", table, 2)
    again.receive(Address("ann", "membership"), OwnershipChanged(VIEW), 0.0)
    assert again.is_dormant
    assert not to(again.receive(OTHER, SearchesTold(1, (told("other"),)), 1.0), SearchesNoted)
    assert list(table.scan(b"")) == before
    hear(again, None)
    assert not again.is_dormant, "there is something to be deleted"
    again.wake(2.0)
    assert list(table.scan(b"")) == []
    assert again.wake_at() == inf


def test_rows_that_nobody_has_noted_are_deleted_where_the_log_ends() -> None:
    table = MemoryTable()
    view = Ownership("ann", SlotTable({"bob": 100}, SLOTS, 1), ("ann", "bob"))
    log = log_of(KEPT, view, table)
    shown = [ResultsShown(f"query {n}", b"12345678", 1, 10) for n in range(50)]
    first = [each for row in shown for each in to(log.receive(OWN_HTTP, row, 0.0), SearchesTold)]
    assert seen(log).untold == len(list(table.scan(b""))) == len(shown) > len(first) > 0
    if_down = MemoryTable()
    if_down.put_many(list(table.scan(b"")))
    hear(log, None)
    assert seen(log).untold == 0
    assert list(table.scan(b"")) == []
    hear(log, KEPT)
    [again] = to(log.receive(OWN_HTTP, ResultsShown("later", b"12345678", 1, 10), 1.0), SearchesTold)
    assert isinstance(again, SearchesTold)
    for each in first:
        assert isinstance(each, SearchesTold)
        log.receive(OTHER, SearchesNoted(each.batch), 2.0)
    assert seen(log).untold == 1, "a late answer is not about the new row"
    log.receive(OTHER, SearchesNoted(again.batch), 2.0)
    assert seen(log).untold == 0
    restarted = log_of(None, view, if_down, life=2)
    assert seen(restarted).untold == 0
    assert list(if_down.scan(b"")) == []


def test_without_a_log_the_actor_is_dormant_and_the_handover_knows_of_no_store() -> None:
    log = OwnQueryLog("ann", MemoryTable())
    sends = log.receive(Address("ann", "membership"), OwnershipChanged(VIEW), 0.0) + hear(log, None)
    sends += log.receive(OTHER, SearchesTold(1, (told(),)), 0.0)
    sends += log.receive(OTHER, SearchesNoted(1), 0.0)
    assert (sends, log.is_dormant, log.observe()) == ([], True, Statistics())
    answers = log.receive(Address("bob", "searcher"), LogWanted(7), 0.0)
    assert to(answers, LogTold) == [LogTold(7, (), ())]
    sends = hear(log, KEPT)
    assert to(sends, UseStore) == [UseStore()]
    assert to(sends, SlotsFilled), "all of its slots, as the handover waits for"
    assert hear(log, QueryLogRules(days=8)) == [], "it is in use"
    hear(log, None)
    assert to(hear(log, KEPT), UseStore), "nothing was kept for others meanwhile"


def test_a_row_that_comes_while_there_is_no_log_here_yet_is_told_again_and_not_lost() -> None:
    log = log_of(None)
    assert not to(log.receive(OTHER, SearchesTold(5, (told(),)), 0.0), SearchesNoted)
    hear(log, KEPT)
    hear(log, None)
    assert not to(log.receive(OTHER, SearchesTold(5, (told(),)), 0.0), SearchesNoted)
    hear(log, KEPT)
    assert to(log.receive(OTHER, SearchesTold(5, (told(),)), 0.0), SearchesNoted) == [SearchesNoted(5)]
    assert seen(log).taken == 1


def test_changes_of_a_member_that_has_heard_of_a_log_are_taken_once_it_is_heard_of_here() -> None:
    view = Ownership("ann", SlotTable({"ann": 100, "bob": 100}, SLOTS, 2), ("ann", "bob"))
    log = OwnQueryLog("ann", MemoryTable())
    log.receive(Address("ann", "membership"), OwnershipChanged(view), 0.0)
    row = told()
    changes = ItemsChanged(3, 0.0, encode([Item(row.number % SLOTS, row.name, row.value)]))
    assert log.receive(OTHER, changes, 0.0) == [], "they are said again"
    hear(log, None)
    assert log.receive(OTHER, changes, 0.0) == []
    assert log.is_dormant
    assert to(hear(log, KEPT), UseStore), "what was not said again meanwhile is found by comparison"
    assert to(log.receive(OTHER, changes, 0.0), ItemsKept) == [ItemsKept(3, 0)]
    assert seen(log).store.items_merged == 1


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


def test_a_row_without_a_comparison_is_written_as_before_there_were_any() -> None:
    row = LogRow("glacier", ((1, 10),), ((2, "http://a/"),))
    assert row_bytes(row) == encode(("glacier", ((1, 10),), ((2, "http://a/"),)))
    assert is_row(told(row=row).name, row_bytes(row))


def test_each_client_counts_once_for_the_ranking_of_more_of_its_clicks() -> None:
    """Also for queries that are told of to nobody, and for each comparison by itself."""
    log = log_of(KEPT)
    clicks = {
        1: ((1, 1), (2, 0), (3, 1)),  # rank and team: the second
        2: ((1, 0),),  # the first
        3: ((1, 0), (2, 1)),  # a tie
        4: ((1, 1), (1, 1), (1, 1)),  # the same again and again: once
    }
    told = [
        ResultClicked("glacier", client.to_bytes(8, "big"), rank, "http://a/", "new.0a0b0c0d", team)
        for client, of_client in clicks.items()
        for rank, team in of_client
    ]
    told += [
        ResultClicked("ice", b"12345678", 1, "http://a/", "older.00000000", 0),
        ResultClicked("ice", b"87654321", 1, "http://a/"),
    ]
    sends = [send for each in told for send in log.receive(OWN_HTTP, each, 0.0)] + log.wake(1.0)
    own = Address("ann", "query_log")
    while sends:  # the log of this peer is that of the slots, too
        messages = [*to(sends, SearchesTold), *to(sends, SearchesNoted)]
        sends = [send for each in messages for send in log.receive(own, each, 1.0)]
    [answer] = to(log.receive(OTHER, LogWanted(1), 1.0), LogTold)
    assert isinstance(answer, LogTold)
    assert answer.queries == ()
    assert answer.compared == (
        ComparedDay(0, "new.0a0b0c0d", first=1, second=2, ties=1),
        ComparedDay(0, "older.00000000", first=1, second=0, ties=0),
    )


def test_a_gateway_that_makes_up_clients_leaves_those_of_others_their_places_and_counts() -> None:
    log = log_of(QueryLogRules(days=30, clicks=True, click_weight=0.1))
    now = 25 * DAY_S
    log.wake(now)
    queries = [f"glacier {number}" for number in range(4)]  # in which the order of gateways differs
    for query in queries:
        for peer, clients, url in (
            ("bob", 5, "http://a/"),
            ("eve", 200, "http://x/"),
            ("dan", 5, "http://a/"),
        ):
            row = LogRow(query, ((1, 10),), ((1, url),))
            rows = tuple(told(query, client, 24, row) for client in range(clients))
            log.receive(Address(peer, "query_log"), SearchesTold(1, rows), now)
    for query in queries:
        [answer] = to(log.receive(OTHER, ClicksWanted(1, query_digest(query)), now), ClicksTold)
        assert answer == ClicksTold(1, (("http://a/", 1_000),))


def test_however_long_rows_members_write_no_question_reads_more_than_a_few_milliseconds_of_them() -> None:
    log = log_of(QueryLogRules(days=30, clicks=True, click_weight=0.1))
    now = 25 * DAY_S
    log.wake(now)
    clicks = tuple((n, f"http://x/{n:010}" + "\U00020000" * 450) for n in range(1, CLICKS_MAX + 1))
    long = LogRow("glacier", ((1, 10),), clicks)
    for day in range(4, 25):
        log.receive(
            OTHER, SearchesTold(day, tuple(told(client=n, day=day, row=long) for n in range(100))), now
        )
    assert seen(log).taken == 2_100
    read: list[int] = []

    def counting(value: bytes) -> LogRow:
        read.append(len(value))
        return row_in(value)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(query_log, "row_in", counting)
        assert to(log.receive(OTHER, ClicksWanted(1, query_digest("glacier")), now), ClicksTold)
        assert sum(read) <= 21 * (query_log.ROWS_OF_DAY_BYTES_MAX + len(row_bytes(long)))
    parts, clients, after = 0, 0, b""
    while after or not parts:
        [answer] = to(log.receive(OTHER, LogWanted(1, after), now), LogTold)
        assert isinstance(answer, LogTold)
        clients += sum(each.clients for each in answer.queries)
        assert sum(each.clients for each in answer.queries) * len(row_bytes(long)) <= (1 << 20) + (32 << 10)
        after, parts = answer.next, parts + 1
    assert clients == 2_100, "each is told once, though in more parts"
