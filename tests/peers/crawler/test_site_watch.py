"""Submitted sites in the crawl: the cost of looking at how they stand. The rest is tried in whole meshes."""

from __future__ import annotations

from math import inf
from types import SimpleNamespace
from typing import Any, cast

from msgspec.structs import replace

from mesh.slots import slot_of
from mesh.urls import fingerprint
from peers.crawler.frontier.host_state import OriginRules
from peers.crawler.frontier.keys import new_queue_key
from peers.crawler.model.messages import WatchedSite, WatchSites
from peers.crawler.model.path_rules import WILDCARDS_MAX, PathRules
from peers.crawler.model.robots import RobotsRules
from peers.crawler.site_watch import ADMITTED_AT_ONCE, CHECK_S, GO_ON_S, ROWS_AT_ONCE, ROWS_OF_SITE, SiteWatch
from peers.policy.rules import OF_SEEDS

MARKS = frozenset(fingerprint(f"http://a.test/{n}") for n in range(100))
EVERYTHING = OF_SEEDS.at(0.0)


class Rows:
    """A frontier and links of all slots that know no page, and count the rows that are looked up."""

    def __init__(self) -> None:
        self.n_read = 0
        self.asked: list[str] = []  # hosts
        self.has_owners, self.visitor, self.hosts, self.own = True, 0, self, self

    def is_ours(self, host: str) -> bool:
        return True

    is_held = is_ours

    def place_of(self, host: str) -> tuple[int, str]:
        self.asked.append(host)
        return slot_of(host, 64), "ann"

    def find(self, host: str) -> None:
        return None

    def row_of(self, *_: object) -> None:
        self.n_read += 1

    row_at = row_of

    def add(self, *_: object) -> None:
        pass


def watch_of(rows: Rows) -> SiteWatch:
    return SiteWatch(cast("Any", rows), cast("Any", rows), set)


def site(number: int, admitted: frozenset[bytes] = MARKS, *, is_open: bool = True) -> WatchedSite:
    url, code = f"http://a{number}.test/", number.to_bytes(15)
    return WatchedSite(code, "", url, is_open, True, True, True, False, 5_000, 0, 0, admitted)


def test_a_look_at_thousands_of_sites_reads_a_bounded_number_of_rows_and_comes_to_all() -> None:
    rows, now = Rows(), 0.0
    watch = watch_of(rows)
    watch.take(WatchSites(tuple(site(n) for n in range(300)), ()), EVERYTHING, now)
    while watch.check_at_s == now + GO_ON_S:
        assert 0 < rows.n_read <= ROWS_AT_ONCE + len(MARKS) + ROWS_OF_SITE
        rows.n_read, now = 0, watch.check_at_s
        watch.check(EVERYTHING, now)
    assert sorted(set(rows.asked)) == sorted(f"a{n}.test" for n in range(300))
    assert len(rows.asked) == 300
    assert (watch.check_at_s, now) == (now + CHECK_S, 29 * GO_ON_S)


def test_news_come_before_what_waits_and_what_is_gone_is_not_looked_at() -> None:
    rows = Rows()
    watch = watch_of(rows)
    watch.take(WatchSites(tuple(site(n) for n in range(40)), ()), EVERYTHING, 0.0)
    rows.asked.clear()
    watch.take(WatchSites((site(35), site(99)), (site(36).code,)), EVERYTHING, 0.1)
    assert rows.asked[:2] == ["a35.test", "a99.test"]
    watch.check(EVERYTHING, 0.6)
    watch.check(EVERYTHING, 1.1)
    watch.check(EVERYTHING, 1.6)
    assert "a36.test" not in rows.asked
    assert rows.asked.count("a35.test") == 1


def test_a_submission_that_is_of_another_site_now_leaves_nothing_behind() -> None:
    watch = watch_of(Rows())
    watch.take(WatchSites((site(1),), ()), EVERYTHING, 0.0)
    moved = replace(site(1), url="http://b.test/")
    watch.take(WatchSites((moved,), ()), EVERYTHING, 1.0)
    assert (watch.is_watched("a1.test"), watch.is_watched("b.test")) == (False, True)
    watch.take(WatchSites((), (moved.code,)), EVERYTHING, 2.0)
    assert not watch.is_watched("b.test")


def test_without_open_sites_there_is_nothing_to_look_at() -> None:
    rows = Rows()
    watch = watch_of(rows)
    assert watch.check_at_s == inf
    watch.take(WatchSites((site(1, is_open=False),), ()), EVERYTHING, 0.0)
    watch.check(EVERYTHING, 5.0)
    assert (watch.check_at_s, rows.n_read) == (inf, 0)


def test_few_urls_are_held_against_dear_rules_at_once() -> None:
    """Each may take 14 ms: of a submitted site 128 were looked at in one step."""
    watch = watch_of(Rows())
    url = "http://a0.test/"
    watch.take(WatchSites((replace(site(0, frozenset()), is_known=False),), ()), EVERYTHING, 0.0)
    dear = PathRules.of((False, f"/*{n:04x}b") for n in range(WILDCARDS_MAX))
    for rules, n_proposed in ((PathRules.of(()), ADMITTED_AT_ONCE), (dear, 3)):
        pages = [f"{url}{n}" for n in range(500)]
        window = [(new_queue_key(0, fingerprint(page), bytes(8), 0), page, 0) for page in pages]
        state = cast("Any", SimpleNamespace(host="a0.test", window=window))
        taken = cast("Any", SimpleNamespace(url=url, before=None))
        known = OriginRules(200, inf, RobotsRules(rules))
        assert watch.may_ask(state, taken, known, 0.0) is None
        assert len(watch.seen.pop().admitted) == n_proposed
