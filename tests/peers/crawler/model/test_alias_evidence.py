"""Hosts that are other names of one site, and those that only look like it."""

from __future__ import annotations

from itertools import permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from peers.crawler.model.alias_evidence import (
    NO_PAGE,
    SAMPLE_MAX,
    SAMPLE_MIN,
    UNKNOWN,
    AliasVerdict,
    Sampled,
    is_alias_still,
    is_name,
    is_preferred,
    judge,
    mark_in,
    moved,
    plain_name,
    sample_of,
)
from peers.crawler.model.url_rows import UrlRow
from peers.crawler.model.visit_memory import VisitMemory

MINE = list(range(1, SAMPLE_MAX + 1))


def page(path: str, mark: int, depth: int = 1) -> Sampled:
    return Sampled(f"http://www.a.test{path}", mark, depth, 0.0)


# --- Names ---


def test_a_site_is_known_by_the_shorter_name_and_without_www() -> None:
    names = ["a.test", "www.a.test", "www.b.a.test", "aa.a.test", "www.aa.a.test"]
    assert sorted(names, key=lambda name: sum(is_preferred(other, name) for other in names)) == names


@given(
    st.lists(st.sampled_from(["a.test", "www.b.a.test", "www.a.test", "n.a.test", "m.a.test"]), unique=True)
)
def test_no_two_hosts_come_before_each_other(names: list[str]) -> None:
    for one, other in permutations(names, 2):
        assert is_preferred(one, other) != is_preferred(other, one)


@pytest.mark.parametrize("stranger", ["b.test", "a.example", "10.0.0.1", "[2001:db8::1]", "a.github.io"])
def test_no_host_stands_for_one_of_another_domain(stranger: str) -> None:
    for host in ("www.a.test", "a.test", "b.github.io", "10.0.0.2"):
        assert not is_preferred(stranger, host)
        assert not is_preferred(host, stranger)


@pytest.mark.parametrize(
    ("host", "name"), [("www.a.test", "a.test"), ("a.test", None), ("www.test", None), ("wwwa.test", None)]
)
def test_a_name_without_www(host: str, name: str | None) -> None:
    assert plain_name(host) == name


@pytest.mark.parametrize(
    "name", ["", "A.test", "a.test:80", "a.test/", "a b", "x@a.test", "a..test", "a" * 300]
)
def test_what_is_no_host_is_no_name(name: str) -> None:
    assert not is_name(name)


def test_a_page_keeps_scheme_port_path_and_query_elsewhere() -> None:
    assert moved("https://www.a.test:8443/x?y=www.a.test", "a.test") == "https://a.test:8443/x?y=www.a.test"
    assert moved("http://www.a.test/", "a.test") == "http://a.test/"
    assert moved("http://[2001:db8::1]:81/x", "a.test") == "http://a.test:81/x"
    assert moved("http://www.a.test/", "no host") is None


# --- What pages say ---


def test_two_names_with_the_same_pages_are_one_site() -> None:
    """Of net.pku.edu.cn and net.cs.pku.edu.cn, which show the same: second reading, 1.4."""
    assert judge(MINE, MINE) is AliasVerdict.ALIAS


def test_two_names_at_one_address_with_other_pages_are_two_sites() -> None:
    """As net.pku.edu.cn and i3s.pku.edu.cn were, and four sites at 162.105.129.12."""
    assert judge(MINE, [mark + 100 for mark in MINE]) is AliasVerdict.OTHER


@pytest.mark.parametrize("n_alike", [1, 4, 12])
def test_hosts_that_share_their_home_page_or_a_manual_are_two_sites(n_alike: int) -> None:
    told = MINE[:n_alike] + [NO_PAGE] * (len(MINE) - n_alike)
    assert judge(MINE, told) is AliasVerdict.OTHER


def test_what_was_not_visited_yet_says_nothing() -> None:
    assert judge(MINE, MINE[:10] + [UNKNOWN] * 6) is AliasVerdict.OPEN
    assert judge(MINE, [UNKNOWN] * len(MINE)) is AliasVerdict.OPEN


def test_pages_that_have_changed_between_two_visits_are_few() -> None:
    assert judge(MINE, [*MINE[:-2], 77, 78]) is AliasVerdict.ALIAS
    assert judge(MINE, [*MINE[:-3], 77, 78, 79]) is AliasVerdict.OTHER


@given(st.integers(0, SAMPLE_MIN - 1))
def test_of_few_pages_nothing_follows(count: int) -> None:
    assert judge(MINE[:count], MINE[:count]) is AliasVerdict.OPEN


def test_an_alias_stays_one_until_a_quarter_of_its_pages_are_others() -> None:
    assert is_alias_still(MINE, [*MINE[:12], *[99] * 4])
    assert not is_alias_still(MINE, [*MINE[:11], *[99] * 5])
    assert is_alias_still(MINE, [UNKNOWN] * len(MINE))


# --- Which pages are compared ---


def test_a_host_that_says_the_same_under_all_paths_has_one_page_to_be_compared() -> None:
    """Names for sale and servers that were never set up: they have nothing that could be told apart."""
    assert len(sample_of(page(f"/{number}", mark=7) for number in range(100))) == 1


def test_all_folders_are_compared_and_not_only_the_one_with_a_manual() -> None:
    manual = [page(f"/manual/{number}", number + 10) for number in range(90)]
    own = [page("/", 1, 0), page("/own/a", 2), page("/own/b", 3), page("/c", 4)]
    sample = sample_of([*manual, *own])
    assert len(sample) == SAMPLE_MAX
    assert {each.url for each in own} <= {each.url for each in sample}
    assert sample[0] == own[0]


def test_what_is_told_of_a_page() -> None:
    stored = UrlRow(bytes(8), 0, 0, 0, "D200", 1, url="http://a.test/", memory=VisitMemory(text=5))
    assert mark_in(stored) == 5
    assert mark_in(None) == mark_in(UrlRow(bytes(8), 0, 0, 0)) == UNKNOWN
    gone = {"F404", "F410", "F403", "D301", "Xrobots"}
    assert {mark_in(stored._replace(outcome=outcome, url="")) for outcome in gone} == {NO_PAGE}
    open_ones = {"F429", "F503", "Ftimeout", "Xpolicy", "Xalias"}
    assert {mark_in(stored._replace(outcome=outcome, url="")) for outcome in open_ones} == {UNKNOWN}
