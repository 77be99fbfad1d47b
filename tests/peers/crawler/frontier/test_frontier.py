"""The frontier against a model that is too simple to be wrong, and its promises one by one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import count, islice
from math import inf
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule
from msgspec.structs import replace

from mesh.tables.memory_table import MemoryTable
from mesh.urls import fingerprint
from peers.crawler.frontier.anchor_rows import ANCHORS_MAX
from peers.crawler.frontier.frontier import WINDOW_URLS, Frontier
from peers.crawler.frontier.held_hosts import WINDOW_URLS_MIN, WINDOWS_URLS
from peers.crawler.frontier.host_state import HostState
from peers.crawler.frontier.items import RobotsRecord
from peers.crawler.frontier.parked_hosts import SOON_S
from peers.crawler.frontier.url_queues import LinkTo, QueuedUrl
from peers.crawler.model import politeness
from peers.crawler.model.course import Course, as_kept
from peers.crawler.model.politeness import HostRecord
from peers.crawler.model.settings import CrawlSettings
from peers.crawler.model.url_rows import Conclusion, UrlRow
from peers.engine.pages.linkers import is_text
from tests.peers.crawler.frontiers import queue, tell

SETTINGS = CrawlSettings(delay_s=0.0)
HOST = "a.test"
ORIGIN = f"http://{HOST}"
STORED = Conclusion("D200", digest=b"somepage")


def slot_of(host: str) -> int:
    return len(host) % 3  # several hosts share a slot


def url_of(path: int, host: str = HOST) -> str:
    return f"http://{host}/{path}"


SMALL_WINDOW = 2  # so that the windows of the hosts are filled and refilled


def held(table: MemoryTable, window_urls: int = WINDOW_URLS, settings: CrawlSettings = SETTINGS) -> Frontier:
    """A frontier that holds every slot."""
    frontier = Frontier(table, settings, window_urls)
    frontier.know_slots(slot_of)
    frontier.hold(range(64))
    return frontier


def filled(n: int, host: str = HOST, depth: int = 0) -> Frontier:
    frontier = held(MemoryTable())
    for path in range(n):
        queue(frontier, url_of(path, host), host, slot_of(host), depth, 0, now=0.0)
    return frontier


def must_take(frontier: Frontier, now: float = 0.0) -> tuple[HostState, QueuedUrl]:
    state = frontier.take_host(now)
    assert state is not None
    taken = frontier.take_url(state, now)
    assert taken is not None
    return state, taken


# --- Against a model ---


@dataclass
class Queued:
    """A URL of the model that is not settled."""

    url: str
    depth: int
    attempts: int = 0
    hops: int = 0
    rank: int = 0
    taken: QueuedUrl | None = None


@dataclass
class ModelHost:
    """A host of the model."""

    clock: float = 0.0
    fetched: int = 0
    is_out: bool = False
    given_up: bool = False
    queue: list[Queued] = field(default_factory=list)

    def untaken(self) -> list[Queued]:
        free = [each for each in self.queue if each.taken is None]
        return sorted(free, key=lambda each: (each.rank, each.attempts, fingerprint(each.url)))


HOSTS = ["a.one.test", "bb.one.test", "ccc.two.test", "d.two.test"]
# Host, path, depth, and by how much its rank is better than that.
LINKS = st.tuples(st.sampled_from(HOSTS), st.integers(0, 30), st.integers(0, 3), st.integers(-3, 3))


class FrontierMachine(RuleBasedStateMachine):
    """Every step on the frontier is made on the model too; then both must look alike."""

    settings = replace(SETTINGS, hosts_idle_max=1)  # hosts leave memory and come back

    def __init__(self) -> None:
        super().__init__()
        self.table = MemoryTable()
        self.frontier = held(self.table, SMALL_WINDOW, self.settings)
        self.model: dict[str, ModelHost] = {}
        self.settled: dict[str, str] = {}
        self.out: list[HostState] = []
        self.now = 0.0
        self.number = 0

    @rule(links=st.lists(LINKS, min_size=1, max_size=6))
    def add(self, links: list[tuple[str, int, int, int]]) -> None:
        batch: list[LinkTo] = []
        for host, path, depth, better in links:
            rank = max(0, depth - better)
            url = url_of(path, host)
            hops = (path + depth) % 3
            mine = self.model.setdefault(host, ModelHost())
            queued = next((each for each in mine.queue if each.url == url), None)
            if queued is not None:
                queued.depth, queued.hops = min(depth, queued.depth), min(hops, queued.hops)
                queued.rank = min(rank, queued.rank)
            elif url not in self.settled:
                mine.queue.append(Queued(url, depth, hops=hops, rank=rank))
            batch.append(LinkTo(url, host, slot_of(host), depth, hops, as_kept(Course(rank), depth)))
        self.frontier.add(batch, self.now)

    @rule(host=st.sampled_from(HOSTS), depth=st.integers(0, 3), n=st.integers(3, 12))
    def add_many(self, host: str, depth: int, n: int) -> None:
        self.add([(host, 100 + path, depth, 0) for path in range(self.number, self.number + n)])
        self.number += n

    @rule(seconds=st.sampled_from([0.5, 1.0, 5.0]))
    def let_time_pass(self, seconds: float) -> None:
        self.now += seconds

    @rule()
    def take_host(self) -> None:
        may = {
            name: host
            for name, host in self.model.items()
            if not host.is_out and host.untaken() and host.clock <= self.now
        }
        state = self.frontier.take_host(self.now)
        if state is None:
            assert not may
            return
        host = self.model[state.host]
        assert not host.is_out
        assert host.clock <= self.now
        of_domain = [each for name, each in may.items() if name[-9:] == state.host[-9:]]
        if any(each.fetched == 0 for each in of_domain):
            assert host.fetched == 0, "a host of the domain without any page had to come first"
        host.is_out = True
        if host.given_up:
            host.given_up = False
            self.frontier.save(state, politeness.with_courage(state.record))
        self.out.append(state)

    @precondition(lambda self: self.out)
    @rule(data=st.data())
    def take_url(self, data: Any) -> None:
        state = data.draw(st.sampled_from(self.out))
        host = self.model[state.host]
        taken = self.frontier.take_url(state, self.now)
        first = next(iter(host.untaken()), None)
        if first is None:
            assert taken is None
            return
        assert taken is not None
        assert taken[0] == first.url
        assert taken[2:6] == (first.depth, first.attempts, first.hops, None)
        assert taken.course == (None if first.rank == first.depth else Course(first.rank))
        first.taken = taken
        host.fetched += 1
        self.frontier.save(state, replace(state.record, fetched=host.fetched))

    def a_taken(self, data: Any, *, is_out: bool) -> tuple[HostState, ModelHost, Queued] | None:
        found = [
            (name, each)
            for name, host in self.model.items()
            for each in host.queue
            if each.taken is not None and (host.is_out or not is_out)
        ]
        if not found:
            return None
        name, queued = data.draw(st.sampled_from(found))
        state = self.frontier.find(name)
        assert state is not None
        return state, self.model[name], queued

    @rule(data=st.data(), outcome=st.sampled_from(["D", "F", "X"]))
    def settle(self, data: Any, outcome: str) -> None:
        found = self.a_taken(data, is_out=False)
        if found is not None:
            state, host, queued = found
            assert queued.taken is not None
            self.frontier.settle(state, queued.taken, Conclusion(f"{outcome}200"))
            self.settled[queued.url] = f"{outcome}200"
            host.queue.remove(queued)

    @rule(data=st.data())
    def retry(self, data: Any) -> None:
        found = self.a_taken(data, is_out=True)
        if found is not None:
            state, _, queued = found
            assert queued.taken is not None
            self.frontier.retry(state, queued.taken)
            queued.taken, queued.attempts = None, queued.attempts + 1

    @rule(data=st.data())
    def put_back(self, data: Any) -> None:
        found = self.a_taken(data, is_out=True)
        if found is not None:
            state, _, queued = found
            assert queued.taken is not None
            self.frontier.put_back(state, queued.taken)
            queued.taken = None

    @precondition(lambda self: self.out)
    @rule(data=st.data(), pause=st.sampled_from([0.0, 0.5, 3.0]), gives_up=st.booleans())
    def release(self, data: Any, pause: float, gives_up: bool) -> None:
        state = data.draw(st.sampled_from(self.out))
        host = self.model[state.host]
        host.clock = max(host.clock, self.now + pause)
        if gives_up:
            host.given_up = True
            self.frontier.save(state, replace(state.record, given_up=True, next_fetch_s=host.clock))
        else:
            self.frontier.save(state, replace(state.record, next_fetch_s=host.clock))
        self.frontier.release(state, self.now)
        self.out.remove(state)
        host.is_out = False

    @precondition(lambda self: self.model)
    @rule(data=st.data(), pause=st.sampled_from([0.5, 3.0]))
    def put_a_clock_forward(self, data: Any, pause: float) -> None:
        name = data.draw(st.sampled_from(sorted(self.model)))
        state, host = self.frontier.find(name), self.model[name]
        assert state is not None
        host.clock = max(host.clock, self.now + pause)
        self.frontier.save(state, replace(state.record, next_fetch_s=host.clock))

    @rule()
    def start_again(self) -> None:
        self.frontier = held(self.table, SMALL_WINDOW, self.settings)
        self.out.clear()
        for host in self.model.values():
            host.is_out = False
            for queued in host.queue:
                queued.taken = None

    @invariant()
    def every_url_is_in_exactly_one_state(self) -> None:
        queued = [each.url for host in self.model.values() for each in host.queue]
        states = dict.fromkeys(queued, "Q") | self.settled
        for host in HOSTS:
            for url in [each for each in states if each.startswith(f"http://{host}/")]:
                row = self.frontier.row_of(url, slot_of(host))
                assert (None if row is None else row.outcome) == states[url]
        kinds = [key[2:3] for key, _ in self.table.scan(b"")]
        assert kinds.count(b"u") == len(states) == self.frontier.url_count
        assert kinds.count(b"q") == len(queued) == self.frontier.queued_count
        alive = [each for host in self.model.values() if not host.given_up for each in host.queue]
        assert self.frontier.due_count == len(alive)
        assert self.frontier.host_count == len(self.model)
        queues = {state.host: state.queued for state in self.frontier._hosts.in_memory() if state.queued}
        assert queues == {host: len(mine.queue) for host, mine in self.model.items() if mine.queue}

    @invariant()
    def a_host_takes_a_window_of_memory(self) -> None:
        for name in self.model:
            state = self.frontier.find(name)
            assert state is not None
            assert len(state.window) <= 2 * SMALL_WINDOW

    @invariant()
    def nobody_who_may_be_asked_is_slept_over(self) -> None:
        clocks = [host.clock for host in self.model.values() if not host.is_out and host.untaken()]
        assert self.frontier.next_time() <= min(clocks, default=float("inf"))


TestFrontierMachine = FrontierMachine.TestCase
TestFrontierMachine.settings = settings(max_examples=150, stateful_step_count=50, deadline=None)


# --- Order ---


def test_a_url_is_added_once() -> None:
    frontier = filled(1)
    assert queue(frontier, url_of(0), HOST, slot_of(HOST), 5, 0, 0.0) is False
    assert frontier.url_count == frontier.queued_count == 1


@given(
    links=st.lists(
        st.builds(
            lambda host, path, depth, is_queued, entries: LinkTo(
                url_of(path, host), host, slot_of(host), depth, 0, None, entries, is_queued
            ),
            st.sampled_from(HOSTS),
            st.integers(0, 2),
            st.integers(0, 2),
            st.booleans(),
            st.lists(st.sampled_from(["one", "two", "three"]), max_size=2).map(tuple),
        ),
        max_size=12,
    )
)
def test_links_taken_in_at_once_leave_what_one_after_the_other_does(links: list[LinkTo]) -> None:
    tables = MemoryTable(), MemoryTable()
    at_once, one_by_one = (held(table, SMALL_WINDOW) for table in tables)
    for frontier in (at_once, one_by_one):
        frontier.changes = {}
        queue(frontier, url_of(0), HOST, slot_of(HOST), 1, 0, 0.0)
        stored = must_take(frontier)
        frontier.settle(*stored, STORED)
        frontier.release(stored[0], 0.0)
    at_once.add(links, 0.0)
    for link in links:
        one_by_one.add([link], 0.0)
    assert list(tables[0].scan(b"")) == list(tables[1].scan(b""))
    assert at_once.changes == one_by_one.changes
    assert at_once.changed_texts.take(9) == one_by_one.changed_texts.take(9)
    assert at_once.queued_count == one_by_one.queued_count


def test_urls_come_breadth_first_then_those_not_tried_then_by_fingerprint() -> None:
    frontier = held(MemoryTable())
    for path, depth in enumerate([2, 0, 1, 0, 2, 1]):
        queue(frontier, url_of(path), HOST, 0, depth, 0, 0.0)
    state, first = must_take(frontier)
    frontier.retry(state, first)
    order = [frontier.take_url(state, 0.0) for _ in range(6)]

    def by_fingerprint(*paths: int) -> list[str]:
        return sorted(map(url_of, paths), key=fingerprint)

    roots = by_fingerprint(1, 3)
    assert first.url == roots[0]
    assert [taken.url for taken in order if taken] == [
        *reversed(roots),
        *by_fingerprint(2, 5),
        *by_fingerprint(0, 4),
    ]
    assert frontier.take_url(state, 0.0) is None


def test_order_holds_beyond_the_window_whatever_comes_in_between() -> None:
    n = 5 * WINDOW_URLS
    frontier = filled(n, depth=7)
    state = frontier.take_host(0.0)
    assert state is not None
    depths = []
    for turn in range(n):
        taken = frontier.take_url(state, 0.0)
        assert taken is not None
        depths.append(taken.depth)
        frontier.settle(state, taken, STORED)
        if turn % 10 == 0:
            queue(frontier, url_of(10_000 + turn), HOST, slot_of(HOST), 3, 0, 0.0)
    assert depths.count(3) == n / 10
    for turn in range(0, n - 1, 10):
        assert depths[turn + 1] == 3
    assert frontier.queued_count == n / 10


def with_pages(hosts: Iterable[str], n: int) -> Frontier:
    """A frontier with so many pages of each host."""
    frontier = held(MemoryTable())
    for path in range(n):
        for number, host in enumerate(hosts):
            queue(frontier, url_of(path, host), host, number % 64, 0, 0, 0.0)
    return frontier


def turns(frontier: Frontier, late: str = "", n: int | None = None) -> Iterator[str]:
    """Fetch a page of one host after the other, and tell of which; before the n-th a late one is found."""
    for number in count():
        if number == n:
            queue(frontier, f"http://{late}/", late, 1, 9, 0, 0.0)
        state = frontier.take_host(0.0)
        if state is None:
            return
        taken = frontier.take_url(state, 0.0)
        assert taken is not None
        frontier.save(state, replace(state.record, fetched=state.record.fetched + 1))
        frontier.settle(state, taken, STORED)
        frontier.release(state, 0.0)
        yield state.host


def test_webcrawler_every_host_of_a_domain_gives_a_page_before_any_gives_its_second() -> None:
    order = list(turns(with_pages([f"h{n}.one.test" for n in range(20)], 3), "late.one.test", 25))
    assert len(set(order[:20])) == 20
    assert order[25] == "late.one.test"
    assert len(order) == 61


def test_a_domain_of_many_new_hosts_has_the_turns_of_a_site_of_one() -> None:
    sites = [f"site{n}.test" for n in range(4)]
    order = list(turns(with_pages([*(f"x{n}.trap.test" for n in range(500)), *sites], 10)))
    assert Counter(order[:50]) == dict.fromkeys(sites, 10) | {
        host: 1 for host in order if host.endswith(".trap.test") and host in order[:50]
    }
    assert len(order) == 5_040


def test_new_domains_have_every_second_turn_and_keep_no_known_one_waiting() -> None:
    frontier = with_pages([f"old{n}.test" for n in range(3)], 20)
    assert len(list(islice(turns(frontier), 9))) == 9
    for number in range(1_000):
        queue(frontier, f"http://new{number}.test/", f"new{number}.test", number % 64, 0, 0, 0.0)
    order = list(islice(turns(frontier), 60))
    known = [host.startswith("old") for host in order]
    assert known == [known[0], not known[0]] * 30
    assert set(Counter(host for host in order if host.startswith("old")).values()) == {10}


def test_of_a_domain_only_so_many_hosts_are_out_at_a_time() -> None:
    frontier = with_pages([*(f"x{n}.trap.test" for n in range(300)), "site.test"], 2)
    out = []
    while (state := frontier.take_host(0.0)) is not None:
        assert frontier.take_url(state, 0.0) is not None
        out.append(state)
    limit = SETTINGS.fetches_per_domain_max
    assert Counter(state.domain.name for state in out) == {"trap.test": limit, "site.test": 1}
    assert frontier.next_time() == float("inf")
    frontier.release(out[0], 0.0)
    assert frontier.next_time() == -float("inf")
    assert frontier.take_host(0.0) is not None
    assert frontier.take_host(0.0) is None


def test_a_stopped_slot_takes_its_hosts_out_of_the_turns_of_their_domain() -> None:
    frontier = with_pages(["a.one.test", "b.one.test", "c.two.test"], 2)  # in slots 0, 1 and 2
    frontier.stop({0, 2})
    assert set(turns(frontier)) == {"b.one.test"}
    frontier.drop({0, 2})
    assert frontier.next_time() == float("inf")
    frontier.hold({0, 2})
    assert set(turns(frontier)) == {"a.one.test", "c.two.test"}


def test_a_host_that_is_out_is_not_given_out_again_for_a_turn_that_it_had_before() -> None:
    """Something new came sooner than what it waited for: its later turn was taken for a valid one."""
    frontier = held(MemoryTable())
    queue(frontier, url_of(0), HOST, 0, 0, 0, 0.0)
    state, taken = must_take(frontier)
    frontier.settle(state, taken, Conclusion("D200", 0.0, 500.0, digest=b"somepage"))
    frontier.release(state, 0.0)
    queue(frontier, url_of(1), HOST, 0, 0, 0, 0.0)
    assert must_take(frontier)[0] is state
    frontier.stop([0])
    frontier.hold([0])
    queue(frontier, url_of(2), HOST, 0, 0, 0, 0.0)
    assert frontier.take_host(1.0) is None
    frontier.release(state, 1.0)
    assert frontier.take_host(1.0) is state


def test_a_host_that_is_out_is_not_given_to_anybody_else() -> None:
    frontier = filled(5)
    state, _ = must_take(frontier)
    assert frontier.take_host(0.0) is None
    assert frontier.next_time() == float("inf")
    frontier.release(state, 0.0)
    assert frontier.take_host(0.0) is state


# --- Clocks ---


def test_the_politeness_clock_survives_a_restart() -> None:
    table = MemoryTable()
    frontier = held(table)
    queue(frontier, url_of(1), HOST, 0, 0, 0, 0.0)
    queue(frontier, url_of(2), HOST, 0, 0, 0, 0.0)
    state, _ = must_take(frontier, 10.0)
    frontier.save(state, replace(state.record, next_fetch_s=17.0))
    again = held(table)
    assert again.next_time() == 17.0
    assert again.take_host(16.9) is None
    assert again.take_host(17.0) is not None


def test_what_is_put_back_has_the_shorter_way_that_was_found_meanwhile() -> None:
    frontier = held(MemoryTable())
    frontier.add([LinkTo(url_of(1), HOST, slot_of(HOST), 2, 2)], 0.0)
    state, taken = must_take(frontier)
    frontier.add([LinkTo(url_of(1), HOST, slot_of(HOST), 1, 0)], 0.0)
    frontier.put_back(state, taken)
    again = frontier.take_url(state, 0.0)
    assert again is not None
    assert (taken.depth, taken.hops) == (2, 2)
    assert (again.depth, again.hops) == (1, 0)


def test_a_restart_repeats_only_what_was_out() -> None:
    table = MemoryTable()
    frontier = held(table)
    for path in range(4):
        queue(frontier, url_of(path), HOST, 0, 0, 0, 0.0)
    state, first = must_take(frontier)
    second = frontier.take_url(state, 0.0)
    assert second is not None
    frontier.settle(state, first, STORED)
    again = held(table)
    assert again.queued_count == 3
    state, repeated = must_take(again)
    assert repeated.url == second.url
    row = again.row_of(first.url, 0)
    assert row is not None
    assert row.outcome == "D200"


def test_a_host_without_a_queue_is_remembered_and_left_alone() -> None:
    table = MemoryTable()
    frontier = held(table)
    queue(frontier, url_of(1), HOST, 0, 0, 0, 0.0)
    state, taken = must_take(frontier)
    frontier.save(state, replace(state.record, fetched=9, next_fetch_s=50.0))
    frontier.settle(state, taken, Conclusion("F404"))
    again = held(table)
    assert (again.host_count, again.queued_count, again.next_time()) == (1, 0, float("inf"))
    queue(again, url_of(2), HOST, 0, 0, 0, 1.0)
    assert again.next_time() == 50.0
    found = again.find(HOST)
    assert found is not None
    assert found.record.fetched == 9


def test_the_record_and_the_rules_of_a_host_survive_a_restart() -> None:
    table = MemoryTable()
    frontier = held(table)
    queue(frontier, url_of(1), HOST, 0, 0, 0, 0.0)
    state, _ = must_take(frontier)
    body = b"User-agent: *\nDisallow: /private\nCrawl-delay: 7"
    frontier.origins.save(state, RobotsRecord(ORIGIN, 200, 99.0, body))
    frontier.save(state, replace(state.record, failures=3))
    restarted = held(table)
    again = restarted.find(HOST)
    assert again is not None
    assert again.record == state.record
    assert again.record.failures == 3
    known = restarted.origins.of(again)[ORIGIN]
    assert (known.status, known.expires_s) == (200, 99.0)
    assert not known.rules.allows(f"{ORIGIN}/private/1")
    assert known.rules.crawl_delay_s == 7.0


def test_new_rules_take_the_place_of_old_ones() -> None:
    frontier = filled(1)
    state, _ = must_take(frontier)
    frontier.origins.save(state, RobotsRecord(ORIGIN, 200, 1.0, b"User-agent: *\nDisallow: /"))
    assert not frontier.origins.of(state)[ORIGIN].rules.allows(url_of(1))
    frontier.origins.save(state, RobotsRecord(ORIGIN, 404, 2.0, b""))
    assert frontier.origins.of(state)[ORIGIN].rules.allows(url_of(1))


def test_rfc9309_2_3_rules_hold_for_one_scheme_and_port_of_a_host() -> None:
    frontier = filled(1)
    state, _ = must_take(frontier)
    secure = "https://a.test"
    frontier.origins.save(state, RobotsRecord(ORIGIN, 200, 1.0, b"User-agent: *\nDisallow: /"))
    frontier.origins.save(state, RobotsRecord(secure, 404, 1.0, b""))
    origins = frontier.origins.of(state)
    assert (origins[ORIGIN].rules.allows(url_of(1)), origins[secure].rules.allows(f"{secure}/1")) == (
        False,
        True,
    )


def test_a_host_has_another_origin_when_that_has_answered_or_stands_in_the_queue() -> None:
    frontier = filled(1)
    state, _ = must_take(frontier)
    assert not frontier.origins.has_other(state, ORIGIN)
    frontier.origins.save(state, RobotsRecord("http://a.test:81", 0, 1.0, b""))
    assert not frontier.origins.has_other(state, ORIGIN), "that did not answer"
    queue(frontier, "https://a.test/", HOST, slot_of(HOST), 0, 0, 0.0)
    assert frontier.origins.has_other(state, ORIGIN)
    answering = filled(1)
    state, _ = must_take(answering)
    answering.origins.save(state, RobotsRecord("https://a.test", 404, 1.0, b""))
    assert answering.origins.has_other(state, ORIGIN)
    assert not answering.origins.has_other(state, "https://a.test")


# --- Hosts that were given up ---


def test_a_host_that_was_given_up_keeps_its_urls_and_comes_back() -> None:
    table = MemoryTable()
    frontier = held(table)
    for path in range(3):
        queue(frontier, url_of(path), HOST, 0, 0, 0, 0.0)
    state, taken = must_take(frontier)
    frontier.save(state, replace(state.record, given_up=True, next_fetch_s=100.0))
    frontier.put_back(state, taken)
    frontier.release(state, 0.0)
    assert (frontier.due_count, frontier.queued_count) == (0, 3)
    again = held(table)
    assert (again.due_count, again.queued_count, again.given_up_count) == (0, 3, 3)
    queue(again, url_of(3), HOST, 0, 0, 0, 0.0)
    assert (again.due_count, again.queued_count) == (0, 4)
    assert again.take_host(99.0) is None
    state, taken = must_take(again, 100.0)
    again.save(state, politeness.with_courage(state.record))
    assert (again.due_count, again.given_up_count) == (4, 0)
    assert state.record.failures == 0


def test_giving_up_twice_counts_once() -> None:
    frontier = filled(3)
    state, _ = must_take(frontier)
    frontier.save(state, replace(state.record, given_up=True, next_fetch_s=10.0))
    frontier.save(state, replace(state.record, given_up=True, next_fetch_s=20.0))
    assert frontier.given_up_count == 3
    frontier.save(state, politeness.with_courage(state.record))
    frontier.save(state, politeness.with_courage(state.record))
    assert frontier.given_up_count == 0


# --- Memory ---


def bounded(hosts: int, places: int, slots: int = 64) -> tuple[MemoryTable, Frontier]:
    """A frontier of hosts under a wildcard, two pages each, with so many places."""
    table = MemoryTable()
    frontier = held(table, settings=replace(SETTINGS, hosts_per_domain_max=places, hosts_idle_max=5))
    frontier.know_slots(lambda host: int(host.partition(".")[0].removeprefix("x")) % slots)
    for path in range(2):
        for number in range(hosts):
            host = f"x{number}.trap.test"
            queue(frontier, url_of(path, host), host, number % slots, 0, 0, 0.0)
    return table, frontier


def n_in_memory(frontier: Frontier) -> int:
    return len(list(frontier._hosts.in_memory()))


@pytest.mark.parametrize("slots", [1, 7, 64])
def test_of_a_domain_only_so_many_hosts_are_in_memory_and_all_have_their_turns(slots: int) -> None:
    _, frontier = bounded(300, 10, slots)
    assert (n_in_memory(frontier), frontier.host_count, frontier.queued_count) == (10, 300, 600)
    order = []
    for host in turns(frontier):
        order.append(host)
        assert n_in_memory(frontier) <= 10 + 5
    assert Counter(order) == {f"x{number}.trap.test": 2 for number in range(300)}
    assert (frontier.queued_count, frontier.host_count, n_in_memory(frontier)) == (0, 300, 5)
    assert not frontier._turns._domains["trap.test"].parked


def test_parked_hosts_are_found_again_after_a_restart_and_by_their_name() -> None:
    table, before = bounded(100, 10)
    first = next(turns(before))
    settings = replace(SETTINGS, hosts_per_domain_max=20)
    frontier = held(table, settings=settings)
    assert (n_in_memory(frontier), frontier.host_count, frontier.queued_count) == (20, 100, 199)
    frontier.know_slots(lambda host: int(host.partition(".")[0].removeprefix("x")) % 64)
    state = frontier.find("x99.trap.test")
    assert state is not None
    assert (state.queued, n_in_memory(frontier)) == (2, 21)
    rest = Counter(turns(frontier))
    assert rest == {f"x{number}.trap.test": 2 for number in range(100)} | {first: 1}


def test_a_host_that_has_to_wait_for_long_gives_its_place_to_one_that_is_parked() -> None:
    _, frontier = bounded(30, 3)
    seen = []
    while (state := frontier.take_host(0.0)) is not None:
        seen.append(state.host)
        assert n_in_memory(frontier) <= 4
        taken = frontier.take_url(state, 0.0)
        assert taken is not None
        frontier.put_back(state, taken)
        frontier.save(state, replace(state.record, given_up=True, next_fetch_s=90_000.0))
        frontier.release(state, 0.0)
    assert sorted(seen) == sorted(f"x{number}.trap.test" for number in range(30))
    assert (frontier.due_count, frontier.queued_count, frontier.given_up_count) == (0, 60, 60)
    assert frontier.next_time() == 90_000.0
    assert len(frontier._turns._waiting) <= 7
    state = frontier.take_host(90_000.0)
    assert state is not None
    frontier.save(state, politeness.with_courage(state.record))
    assert (frontier.due_count, frontier.given_up_count) == (2, 58)


def name_of(number: int) -> str:
    return f"x{number}.trap.test"


def find_hosts(frontier: Frontier, numbers: Iterable[int], now: float = 0.0) -> None:
    """Let a page of each of some hosts under a wildcard be found."""
    for number in numbers:
        queue(frontier, url_of(0, name_of(number)), name_of(number), number % 64, 0, 0, now)


def rest_all(frontier: Frontier, conclusion: Conclusion, **record: Any) -> list[str]:
    """Ask every host that may be asked now, and have it rest as its record says then; tell of which."""
    asked = []
    while (state := frontier.take_host(conclusion.at_s)) is not None:
        taken = frontier.take_url(state, conclusion.at_s)
        if taken is not None:
            asked.append(state.host)
            frontier.save(state, replace(state.record, **record))
            frontier.settle(state, taken, conclusion)
        frontier.release(state, conclusion.at_s)
    return asked


AGAIN_LATER = Conclusion("D200", 10.0, 9_000.0, digest=b"somepage")


@pytest.mark.parametrize(
    ("conclusion", "record"),
    [
        (Conclusion("Xrobots", 10.0), {}),  # nothing of it is ever to be asked
        (AGAIN_LATER, {}),
        (Conclusion("D200", 10.0, 20.0, digest=b"somepage"), {"given_up": True, "next_fetch_s": 9_000.0}),
    ],
)
def test_hosts_that_rest_make_room_for_hosts_that_are_found_later(
    conclusion: Conclusion, record: dict[str, Any]
) -> None:
    _, frontier = bounded(0, 3)
    for first in range(0, 12, 3):  # of which each three have all places
        find_hosts(frontier, range(first, first + 3), now=10.0)
        assert set(rest_all(frontier, conclusion, **record)) == {name_of(first + n) for n in range(3)}
        assert n_in_memory(frontier) <= 3
    if conclusion.due_s < 1e9:
        assert frontier.next_time() == 9_000.0
        again = rest_all(frontier, Conclusion("D200", 9_000.0, digest=b"somepage"), next_fetch_s=9_000.0)
        assert sorted(again) == sorted(map(name_of, range(12)))


def test_hosts_that_wait_make_room_for_new_ones_after_a_restart() -> None:
    table, before = bounded(3, 3)
    rest_all(before, AGAIN_LATER)
    find_hosts(before, range(3, 9), now=10.0)
    frontier = held(table, settings=replace(SETTINGS, hosts_per_domain_max=3))
    assert sorted(rest_all(frontier, AGAIN_LATER)) == sorted(map(name_of, range(3, 9)))


def test_a_host_that_has_left_memory_is_parked_by_the_end_of_a_visit_to_it() -> None:
    """Another peer's visit was merged before the end of ours: the host had nothing to come and made room."""
    _, frontier = bounded(0, 1)
    find_hosts(frontier, [0])
    state, taken = must_take(frontier)
    frontier.release(state, 0.0)
    done = UrlRow(state.hash, 0, 0, 0, "F404", 1)._replace(due_s=inf)
    frontier.merge_visited(0, fingerprint(taken.url), done, "")
    find_hosts(frontier, [1])
    assert rest_all(frontier, Conclusion("Xrobots", 10.0)) == [name_of(1)]
    assert not is_in_memory(frontier, name_of(0))
    frontier.settle(state, taken, AGAIN_LATER)
    assert frontier.next_time() <= 9_000.0
    assert rest_all(frontier, Conclusion("Xrobots", 9_000.0)) == [name_of(0)]


def test_an_idle_host_that_leaves_memory_leaves_its_place_to_one_that_is_parked() -> None:
    _, frontier = bounded(5, 5)
    while rest_all(frontier, Conclusion("D200", 10.0)):
        pass  # all five are idle, as many as may be
    find_hosts(frontier, range(5, 7), now=10.0)
    queue(frontier, "http://other.test/", "other.test", 1, 0, 0, 10.0)
    assert set(rest_all(frontier, Conclusion("D200", 10.0))) == {name_of(5), name_of(6), "other.test"}


def test_of_more_hosts_than_places_none_waits_for_those_that_rest() -> None:
    """All rest again and again, for minutes to hours; who has a place and rests for less may keep it."""
    random, places, now = Random(5), 4, 0.0
    _, frontier = bounded(0, places)
    due_s = dict.fromkeys(map(name_of, range(120)), 0.0)
    asked: Counter[str] = Counter()
    to_find = list(range(120))
    while now < 40_000.0:
        if to_find and random.random() < 0.2:
            number = to_find.pop()
            due_s[name_of(number)] = now
            find_hosts(frontier, [number], now)
        while (state := frontier.take_host(now)) is not None:
            assert n_in_memory(frontier) <= places
            if (taken := frontier.take_url(state, now)) is not None:
                assert due_s[state.host] <= now <= due_s[state.host] + SOON_S, "it had no place"
                asked[state.host] += 1
                due_s[state.host] = now + random.choice((100.0, 500.0, 3_000.0, 9_000.0))
                is_again = random.random() < 0.8
                again_s = due_s[state.host] if is_again else now
                if not is_again:
                    frontier.save(state, politeness.wait_until(state.record, due_s[state.host]))
                frontier.settle(state, taken, Conclusion("D200", now, again_s, digest=b"somepage"))
            frontier.release(state, now)
        now += 1.0
    assert not to_find
    assert len(asked) == 120


def test_a_parked_host_counts_as_what_other_peers_know_of_it() -> None:
    _, frontier = bounded(5, 2)
    parked = next(name for name in map("x{}.trap.test".format, range(5)) if not is_in_memory(frontier, name))
    slot = int(parked[1])
    frontier.merge_host(slot, HostRecord(parked, next_fetch_s=9.0, given_up=True))
    assert (frontier.given_up_count, frontier.due_count) == (2, 8)
    queue(frontier, url_of(7, parked), parked, slot, 0, 0, 0.0)
    assert (frontier.given_up_count, frontier.due_count) == (3, 8)
    frontier.merge_host(slot, HostRecord(parked, next_fetch_s=10.0))
    assert (frontier.given_up_count, frontier.due_count) == (0, 11)


def is_in_memory(frontier: Frontier, host: str) -> bool:
    return any(state.host == host for state in frontier._hosts.in_memory())


def test_places_of_slots_that_are_dropped_go_to_hosts_of_others() -> None:
    _, frontier = bounded(100, 10)
    frontier.drop(range(10))  # those of the first hosts, which have the places
    order = turns(frontier)
    assert next(order)
    assert n_in_memory(frontier) == 10
    left = {f"x{number}.trap.test" for number in range(100) if number % 64 >= 10}
    assert (frontier.host_count, frontier.queued_count) == (len(left), 2 * len(left) - 1)
    assert set(order) == left
    frontier.hold(range(10))
    assert len(set(turns(frontier))) == 100 - len(left)


def test_links_of_less_depth_do_not_make_the_window_grow() -> None:
    frontier = held(MemoryTable())
    n = 20 * WINDOW_URLS
    for path in range(n):
        queue(frontier, url_of(path), HOST, 0, n - path, 0, 0.0)
    state = frontier.take_host(0.0)
    assert state is not None
    assert len(state.window) <= 2 * WINDOW_URLS
    depths = [taken.depth for _ in range(n) if (taken := frontier.take_url(state, 0.0))]
    assert depths == sorted(depths)
    assert len(depths) == n


def test_windows_are_small_where_there_are_many_hosts_and_no_url_is_left_out() -> None:
    frontier = held(MemoryTable())
    for number in range(WINDOWS_URLS // WINDOW_URLS_MIN):  # no two of a domain
        host = f"a.{number}.test"
        queue(frontier, url_of(0, host), host, slot_of(host), 0, 0, now=0.0)
    urls = [url_of(path) for path in range(20)]
    for url in urls:
        queue(frontier, url, HOST, slot_of(HOST), 0, 0, now=0.0)
    state = frontier.hosts.find(HOST)
    assert state is not None
    assert WINDOW_URLS_MIN <= len(state.window) <= 2 * WINDOW_URLS_MIN
    taken = [each.url for _ in urls if (each := frontier.take_url(state, 0.0)) is not None]
    assert taken == sorted(urls, key=fingerprint)


def test_a_url_that_is_out_is_not_read_from_the_table_a_second_time() -> None:
    """Links of less depth push the window's bound below a URL that is out; refilling came to it again."""
    frontier = filled(3, depth=9)
    state, first = must_take(frontier)
    for path in range(100, 100 + 4 * WINDOW_URLS):
        queue(frontier, url_of(path), HOST, slot_of(HOST), 1, 0, 0.0)
    urls = []
    while (taken := frontier.take_url(state, 0.0)) is not None:
        urls.append(taken.url)
    assert first.url not in urls
    assert len(urls) == len(set(urls)) == 2 + 4 * WINDOW_URLS


# --- Anchors ---


def kept(texts: list[str]) -> tuple[str, ...]:
    frontier = held(MemoryTable())
    for text in texts:
        tell(frontier, url_of(1), 0, text)
    return frontier.texts.of(url_of(1), 0)


@given(st.lists(st.text(min_size=1, max_size=8), max_size=80), st.randoms(use_true_random=False))
@settings(deadline=None)
def test_which_anchors_are_kept_does_not_depend_on_the_order_of_their_arrival(
    texts: list[str], random: Any
) -> None:
    shuffled = texts + texts[: len(texts) // 2]
    random.shuffle(shuffled)
    anchors = kept(texts)
    assert anchors == kept(shuffled)
    assert len(anchors) == min(len(set(filter(is_text, texts))), ANCHORS_MAX)
    assert set(anchors) <= set(texts)
    assert list(anchors) == sorted(anchors)


def stored_page(table: MemoryTable) -> Frontier:
    frontier = held(table)
    queue(frontier, url_of(1), HOST, 0, 0, 0, 0.0)
    tell(frontier, url_of(1), 0, "before")
    state, taken = must_take(frontier)
    assert frontier.changed_texts.count == 0
    frontier.settle(state, taken, STORED)
    return frontier


def test_a_new_anchor_of_a_stored_page_is_noted_until_it_is_taken_restart_or_not() -> None:
    table = MemoryTable()
    frontier = stored_page(table)
    tell(frontier, url_of(1), 0, "before")
    assert frontier.changed_texts.count == 0
    tell(frontier, url_of(1), 0, "after")
    tell(frontier, url_of(1), 0, "later")
    again = held(table)
    assert again.changed_texts.count == 1
    assert again.changed_texts.take(10) == [(url_of(1), 0)]
    assert again.changed_texts.take(10) == []
    assert held(table).changed_texts.count == 0
    assert again.texts.of(url_of(1), 0) == ("after", "before", "later")


@pytest.mark.parametrize("outcome", ["F404", "Xrobots", "D301"])
def test_anchors_of_what_is_no_stored_page_change_nothing(outcome: str) -> None:
    frontier = filled(1)
    state, taken = must_take(frontier)
    frontier.settle(state, taken, Conclusion(outcome))
    tell(frontier, url_of(0), slot_of(HOST), "text")
    assert frontier.changed_texts.count == 0


def test_changed_anchors_of_slots_that_are_forgotten_are_not_told() -> None:
    table = MemoryTable()
    frontier = Frontier(table, SETTINGS)
    for path in range(3):
        frontier.changed_texts.mark(0, fingerprint(url_of(path)), url_of(path))
        tell(frontier, url_of(path), 0, "text")
    frontier.forget_later([0])
    assert (frontier.changed_texts.count, frontier.changed_texts.take(9)) == (0, [])
    frontier.slots.forget_some(1)
    tell(frontier, url_of(7), 0, "something new, so the rest stays")
    assert frontier.changed_texts.count == Frontier(table, SETTINGS).changed_texts.count > 0


def test_changed_anchors_are_taken_in_portions() -> None:
    frontier = held(MemoryTable())
    for path in range(5):
        frontier.changed_texts.mark(0, fingerprint(url_of(path)), url_of(path))
    assert [len(frontier.changed_texts.take(2)) for _ in range(4)] == [2, 2, 1, 0]


def test_the_longest_queues_are_shown_first_and_empty_ones_not_at_all() -> None:
    frontier = filled(3)
    queue(frontier, "http://bb.test/1", "bb.test", slot_of("bb.test"), 0, 0, now=0.0)
    state = frontier.find("bb.test")
    assert state is not None
    assert frontier.hosts.longest_queues(5) == ((HOST, 3), ("bb.test", 1))
    assert frontier.hosts.longest_queues(1) == ((HOST, 3),)
    taken = frontier.take_url(state, 0.0)
    assert taken is not None
    frontier.settle(state, taken, STORED)
    assert frontier.hosts.longest_queues(5) == ((HOST, 3),)
