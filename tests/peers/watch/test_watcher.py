"""The notices of one peer: kept through restarts, said once, counted, and no more of them than stated."""

from __future__ import annotations

from collections.abc import Iterator
from math import inf

import pytest

from mesh.actors.actor import Address, Statistics
from mesh.errors import LocalProtocolError
from mesh.keys.decree import WATCH, Decree
from mesh.membership.model.messages import DecreesInForce
from mesh.tables.memory_table import MemoryTable
from peers.watch.list_file import entries_of
from peers.watch.messages import PageWatched
from peers.watch.watch_list import list_body
from peers.watch.watched import PageWatch, WatchHit
from peers.watch.watcher import Watcher, WatchStatistics
from peers.watch.wire_messages import EntryCount, NoticesTold, NoticesWanted

CONTROLLER, GATEWAY = Address("me", "controller"), Address("you", "searcher")
NOW = 1_000.0


def page(n: int, *entries: str, mark: bytes = b"mark", number: int = 3, left_out: int = 0) -> PageWatched:
    hits = tuple(WatchHit(entry, 2, f"a {entry}", 2, 2 + len(entry)) for entry in entries)
    return PageWatched(f"http://a.test/{n}", 5.0, mark, PageWatch(number, f"Page {n}", hits, left_out))


def decrees(*words: str) -> DecreesInForce:
    body = list_body(entries_of(words), 1.0)
    return DecreesInForce(WATCH, (Decree(WATCH, "", 3, 0.0, inf, body, b"", b""),))


def told(watcher: Watcher, after: int = 0, most: int = 200, *, counts: bool = False) -> NoticesTold:
    [send] = watcher.receive(GATEWAY, NoticesWanted(8, after, most, counts), NOW)
    assert send.target == GATEWAY
    assert isinstance(send.message, NoticesTold)
    assert send.message.request == 8
    assert send.message.is_promise, "what is told has been committed"
    return send.message


def test_each_entry_of_a_page_is_one_notice_with_its_count_so_far() -> None:
    watcher = Watcher("me", MemoryTable())
    assert watcher.receive(CONTROLLER, page(1, "glass", "lead", left_out=4), NOW) == []
    watcher.receive(CONTROLLER, page(2, "glass"), NOW)
    said = told(watcher, counts=True)
    assert [(each.url[-1], each.entry, each.so_far) for each in said.notices] == [
        ("1", "glass", 1),
        ("1", "lead", 1),
        ("2", "glass", 2),
    ]
    first = said.notices[0]
    assert (first.at_s, first.title, first.count, first.number) == (5.0, "Page 1", 2, 3)
    assert first.excerpt[first.start : first.end] == "glass"
    assert set(said.counts) == {EntryCount("glass", 2, 4), EntryCount("lead", 1, 2)}
    assert said.last == said.notices[-1].place
    assert watcher.observe() == WatchStatistics(0, 3, 3, 0, 4)


def test_a_page_told_again_is_known_and_another_text_of_it_is_not() -> None:
    table = MemoryTable()
    watcher = Watcher("me", table)
    watcher.receive(CONTROLLER, page(1, "glass"), NOW)
    watcher.receive(CONTROLLER, page(1, "glass", number=4), NOW)  # by a later list, as after a crash
    watcher = Watcher("me", table)  # another life
    watcher.receive(CONTROLLER, page(1, "glass"), NOW + 5.0)
    assert len(told(watcher).notices) == 1
    watcher.receive(CONTROLLER, page(1, "glass", mark=b"other"), NOW + 6.0)
    said = told(watcher, counts=True)
    assert [(each.mark, each.so_far) for each in said.notices] == [(b"mark", 1), (b"other", 2)]
    assert said.counts == (EntryCount("glass", 2, 4),)
    assert watcher.observe() == WatchStatistics(0, 2, 1, 1, 0)


def test_a_reader_goes_on_behind_the_last_notice_that_it_has() -> None:
    watcher = Watcher("me", MemoryTable())
    for n in range(7):
        watcher.receive(CONTROLLER, page(n, "glass"), NOW)
    assert [each.url[-1] for each in told(watcher, most=3).notices] == ["4", "5", "6"], "the last ones"
    first = told(watcher, after=1, most=3)
    assert [each.url[-1] for each in first.notices] == ["0", "1", "2"], "the oldest first"
    assert [each.url[-1] for each in told(watcher, first.notices[-1].place).notices] == ["3", "4", "5", "6"]
    assert told(watcher, told(watcher).last).notices == ()
    assert told(watcher, most=0).notices == ()


def test_no_more_are_kept_than_stated_and_the_counts_stay() -> None:
    table = MemoryTable()
    watcher = Watcher("me", table, notices_max=5)
    for n in range(9):
        watcher.receive(CONTROLLER, page(n, "glass"), NOW)
    assert [each.url[-1] for each in told(watcher).notices] == ["4", "5", "6", "7", "8"]
    assert len(list(table.scan(b""))) == 5 + 1
    assert told(watcher, counts=True).counts == (EntryCount("glass", 9, 18),)


def test_places_grow_also_when_a_disk_was_lost() -> None:
    before = Watcher("me", MemoryTable())
    for n in range(50):
        before.receive(CONTROLLER, page(n, "glass"), NOW)
    after = Watcher("me", MemoryTable())
    after.receive(CONTROLLER, page(99, "glass"), NOW + 1.0)
    assert told(after, told(before).last).notices[0].url == "http://a.test/99"


def test_a_new_list_ends_the_counts_of_entries_that_it_has_not() -> None:
    watcher = Watcher("me", MemoryTable())
    watcher.receive(CONTROLLER, page(1, "glass", "lead"), NOW)
    watcher.receive(CONTROLLER, decrees("glass", "iron"), NOW)
    assert told(watcher, counts=True).counts == (EntryCount("glass", 1, 2),)
    assert isinstance(statistics := watcher.observe(), WatchStatistics)
    assert statistics.entries == 2
    assert len(told(watcher).notices) == 2, "what was noticed stays"


def test_without_a_list_the_table_is_not_looked_at() -> None:
    class Untouched(MemoryTable):
        def scan(
            self, start: bytes, stop: bytes | None = None, *, limit: int | None = None
        ) -> Iterator[tuple[bytes, bytes]]:
            raise AssertionError("the table was read")

    watcher = Watcher("me", Untouched())
    assert watcher.receive(Address("me", "membership"), DecreesInForce(WATCH, ()), NOW) == []
    assert watcher.is_dormant
    assert watcher.observe() == Statistics()
    assert watcher.wake_at() == inf


def test_another_message_is_a_bug_of_ours() -> None:
    with pytest.raises(LocalProtocolError):
        Watcher("me", MemoryTable()).receive(CONTROLLER, NoticesTold(1), NOW)
