"""Rows of the links to a page: they join in any order, are bounded, and tell how many links there are."""

from __future__ import annotations

from itertools import chain

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mesh.slots import slot_of
from mesh.urls import fingerprint, host_of
from peers.link_graph.target_row import (
    DOMAINS_MAX,
    GONE_S,
    SOURCES_MAX,
    SourceLink,
    TargetRow,
    by_domains,
    domain_of,
    is_target_row,
    join_target_rows,
    name_of_target,
    purged,
    target_row_bytes,
    target_row_in,
    total_of,
)

TARGET = "http://target.test/"
SLOTS = 64
MARK = fingerprint(TARGET)


def row_of(*links: SourceLink, url: str = TARGET) -> TargetRow:
    row = TargetRow(url, ())
    for link in links:
        row = joined(row, TargetRow(url, (link,)))
    return row


def joined(*rows: TargetRow) -> TargetRow:
    first, *others = map(target_row_bytes, rows)
    for other in others:
        first = join_target_rows(first, other)
    return target_row_in(first)


def pages(n: int, host: str = "a.test") -> list[SourceLink]:
    return [SourceLink(f"http://{host}/{number}", 1, float(number), f"page {number}") for number in range(n)]


def slot_in_mesh(host: str) -> int:
    return slot_of(host, SLOTS)


rows = st.lists(
    st.builds(
        SourceLink,
        st.integers(0, 60).map(lambda n: f"http://a.test/{n}"),
        st.integers(0, 3),
        st.just(1.0),
        st.sampled_from(["", "one", "two"]),
        st.just(""),
        st.booleans(),
    ),
    max_size=80,
).map(lambda links: target_row_bytes(row_of(*links)))


@given(rows, rows, rows)
def test_rows_join_in_any_order_and_any_number_of_times(a: bytes, b: bytes, c: bytes) -> None:
    assert join_target_rows(a, b) == join_target_rows(b, a)
    assert join_target_rows(join_target_rows(a, b), c) == join_target_rows(a, join_target_rows(b, c))
    assert join_target_rows(a, a) == a


def test_of_two_words_about_a_link_that_of_the_later_version_counts() -> None:
    early, late = SourceLink("http://a.test/", 1, 9.0, "early"), SourceLink("http://a.test/", 2, 1.0, "late")
    gone = SourceLink("http://a.test/", 3, 1.0, is_there=False)
    assert row_of(late, early).links == (late,)
    assert row_of(gone, late, early).links == (gone,)
    assert row_of(gone, SourceLink("http://a.test/", 4, 1.0, "again")).links[0].title == "again"


def test_of_a_domain_so_many_links_are_kept_whatever_order_they_come_in() -> None:
    links = pages(500)
    row = row_of(*links)
    assert len(row.links) == SOURCES_MAX
    assert row == row_of(*reversed(links))
    assert len(target_row_bytes(row)) < 32 * SOURCES_MAX * 4


@pytest.mark.parametrize("n", [5, SOURCES_MAX - 1])
def test_few_links_are_counted(n: int) -> None:
    row = row_of(*pages(n))
    assert total_of([(name_of_target(MARK, domain_of("http://a.test/")), row)]) == (n, 1, True)


def test_many_links_and_domains_are_estimated_within_a_third() -> None:
    row = row_of(*pages(2_000))
    n_links, n_domains, is_exact = total_of([(name_of_target(MARK, domain_of("http://a.test/")), row)])
    assert n_domains == 1
    assert not is_exact
    assert n_links == pytest.approx(2_000, rel=1 / 3)
    hosts = [f"http://site{number}.test/" for number in range(1_000)]
    kept = sorted((name_of_target(MARK, domain_of(url)), row_of(SourceLink(url, 1, 1.0))) for url in hosts)
    n_links, n_domains, is_exact = total_of(kept[:DOMAINS_MAX])
    assert not is_exact
    assert n_links == n_domains == pytest.approx(1_000, rel=1 / 3)


def test_links_that_have_gone_count_for_nothing_and_are_forgotten_after_a_month() -> None:
    gone = SourceLink("http://a.test/gone", 1, 1_000.0, is_there=False)
    row = row_of(gone, *pages(2))
    assert total_of([(b"", row)]) == (2, 1, True)
    assert [link.url for link in by_domains(TARGET, [row])] == ["http://a.test/1", "http://a.test/0"]
    assert purged(row, 1_000.0 + GONE_S - 1, lambda url: False) is row
    assert gone not in purged(row, 1_000.0 + GONE_S, lambda url: False).links
    left = purged(row, 0.0, lambda url: url.endswith("/0"))
    assert {link.url for link in left.links} == {"http://a.test/gone", "http://a.test/1"}


def test_the_newest_of_each_domain_comes_first_and_the_own_domain_last() -> None:
    own = row_of(*pages(3, "target.test"))
    many, one = row_of(*pages(3, "a.test")), row_of(SourceLink("http://b.test/", 1, 1.0))
    urls = [link.url for link in by_domains(TARGET, [own, many, one])]
    assert urls[:2] == ["http://a.test/2", "http://b.test/"]
    assert urls[2:4] == ["http://a.test/1", "http://a.test/0"]
    assert [host_of(url) for url in urls[4:]] == ["target.test"] * 3


def test_rows_that_are_none_or_lie_elsewhere_are_told() -> None:
    domain, slot = domain_of("http://a.test/"), slot_in_mesh("target.test")
    name, row = name_of_target(MARK, domain), row_of(*pages(3))
    assert is_target_row(slot, name, row, slot_in_mesh)
    link = row.links[0]
    wrong = [
        (slot + 1, name, row),
        (slot, name_of_target(MARK, domain_of("http://b.test/")), row),
        (slot, name_of_target(fingerprint("http://other.test/"), domain), row),
        (slot, name, TargetRow(TARGET, ())),
        (slot, name, TargetRow(TARGET, row.links[::-1])),
        (slot, name, TargetRow("", row.links)),
        (slot, name, TargetRow("http://target.test", row.links)),
        (slot, name, TargetRow(TARGET, (SourceLink("http://A.test/", 1, 1.0),))),
        (slot, name, TargetRow(TARGET, (SourceLink(link.url, 1, float("nan")),))),
        (slot, name, TargetRow(TARGET, (SourceLink("http://b.test/", 1, 1.0),))),
    ]
    assert [is_target_row(*each, slot_in_mesh) for each in wrong] == [False] * len(wrong)
    with pytest.raises(ValueError, match="no links to a page"):
        target_row_in(b"\x90")
    too_many = chain(*(row_of(*pages(SOURCES_MAX, host)).links for host in ("a.test", "b.test")))
    with pytest.raises(ValueError, match="no links to a page"):
        target_row_in(target_row_bytes(TargetRow(TARGET, tuple(too_many))))
