"""Rows of pages with their links: what of a new version is to be told, and how versions join."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mesh.slots import slot_of
from mesh.stamp import VISITS_MAX, Stamp
from mesh.urls import fingerprint, host_of
from peers.handover.item_store import VALUE_BYTES_MAX
from peers.link_graph.source_row import (
    SourceRow,
    TargetLink,
    distinct,
    is_source_row,
    join_source_rows,
    lost_links,
    name_of_source,
    row_after,
    source_row_bytes,
    source_row_in,
    told_row,
    url_in_source_row,
    with_lost,
)

PAGE = "http://page.test/"
SLOTS = 64


def slot_in_mesh(host: str) -> int:
    return slot_of(host, SLOTS)


def after(
    before: SourceRow | None, visit: int, *links: str | TargetLink, title: str = "t"
) -> SourceRow | None:
    found = [TargetLink(each) if isinstance(each, str) else each for each in links]
    return row_after(before, PAGE, Stamp(visit, 1.0), title, distinct(found, 100), slot_in_mesh)


def row(*args: Any, **more: Any) -> SourceRow:
    made = after(*args, **more)
    assert made is not None
    return made


def untold(made: SourceRow) -> list[str]:
    return [link.url for link in made.untold]


def gone(made: SourceRow) -> set[bytes]:
    return {link.mark for link in made.gone}


A, B, C = "http://a.test/", "http://b.test/", "http://c.test/"


def test_links_that_are_new_or_gone_are_told_and_no_others() -> None:
    first = row(None, 1, A, B, PAGE)
    assert (untold(first), first.n_links, first.is_told) == ([A, B], 2, False)
    told = told_row(first)
    same = row(told, 2, A, B)
    assert (same.visit, same.is_told, untold(same), same.gone) == (2, True, [], ())
    second = row(told, 2, B, C)
    assert (untold(second), gone(second)) == ([C], {fingerprint(A)})
    assert row(told, 2).is_told is False
    assert told_row(second).n_links == 2
    assert len(source_row_bytes(told_row(second))) < 120


def test_a_link_whose_text_or_title_has_changed_is_told_again() -> None:
    told = told_row(row(None, 1, TargetLink(A, "one"), B))
    assert untold(row(told, 2, TargetLink(A, "two"), B)) == [A]
    assert untold(row(told, 2, TargetLink(A, "one"), B, title="other")) == [A, B]


def test_what_an_untold_version_had_to_tell_is_told_by_the_next() -> None:
    first = row(None, 1, A, B)
    second = row(first, 2, B)
    assert (untold(second), gone(second)) == ([B], {fingerprint(A)})
    third = row(second, 3, A, B)
    assert (set(untold(third)), gone(third)) == ({A, B}, set())


def test_an_older_version_makes_no_row_and_a_page_without_links_has_nothing_to_tell() -> None:
    told = told_row(row(None, 2, A))
    assert after(told, 1, B) is None
    assert after(told, 2, B) is None
    for links in ((), (PAGE,)):
        first = row(None, 1, *links)
        assert (first.is_told, first.n_links) == (True, 0)


def test_links_of_a_version_that_another_did_not_know_of_are_told_to_have_gone_in_another_round() -> None:
    unknown, newer = told_row(row(None, 1, A, B)), told_row(row(None, 2, B, C))
    lost = lost_links(newer, unknown)
    assert {link.mark for link in lost} == {fingerprint(A)}
    assert lost == lost_links(unknown, newer)
    again = with_lost(newer, lost)
    assert (again.is_told, gone(again), again.telling > newer.telling) == (False, {fingerprint(A)}, True)
    assert lost_links(unknown, again) == lost_links(unknown, told_row(again)) == ()
    values = [source_row_bytes(each) for each in (unknown, newer, again)]
    assert join_source_rows(join_source_rows(*values[:2]), values[2]) == values[2]
    known = row(told_row(row(None, 1, A, B)), 2, B)
    assert lost_links(told_row(row(None, 1, A, B)), told_row(known)) == ()


def test_of_several_links_to_a_page_there_is_one_with_the_first_text() -> None:
    links = [TargetLink(A), TargetLink(A, "one"), TargetLink(A, "two"), TargetLink(B, "b"), TargetLink(C)]
    assert distinct(links, 2) == [TargetLink(A, "one"), TargetLink(B, "b")]


def test_of_a_hostile_page_there_are_no_more_links_than_have_room_in_a_value_of_a_store() -> None:
    path = "x" * 2_000
    links = distinct((TargetLink(f"http://h{n}.test/{path}", "字" * 200) for n in range(3_000)), 2_000)
    assert 100 < len(links) < 300
    made = row_after(None, PAGE, Stamp(1, 1.0), "t", links, slot_in_mesh)
    assert made is not None
    assert len(source_row_bytes(made)) < VALUE_BYTES_MAX
    many = [TargetLink(f"http://h{n}.test/") for n in range(3_000)]
    assert len(distinct(many, 2_000)) == 2_000


@given(st.permutations(range(4)))
def test_versions_join_by_the_latest_and_that_which_is_told(order: list[int]) -> None:
    first = row(None, 1, A)
    second = row(first, 2, B)
    versions = [source_row_bytes(each) for each in (first, told_row(first), second, told_row(second))]
    value = versions[order[0]]
    for number in order[1:]:
        value = join_source_rows(value, versions[number])
    assert source_row_in(value) == told_row(second)


def test_rows_that_are_none_or_lie_elsewhere_are_told() -> None:
    made, name, slot = row(None, 1, A), name_of_source(fingerprint(PAGE)), slot_in_mesh(host_of(PAGE))
    assert is_source_row(slot, name, made, slot_in_mesh, SLOTS)
    wrong = [
        (slot + 1, name, made),
        (slot, name_of_source(fingerprint(A)), made),
        (slot, name, SourceRow("http://PAGE.test/", 1, 1.0, True)),
        (slot, name, SourceRow(PAGE, 1, float("inf"), True)),
        (slot, name, SourceRow(PAGE, 1, 1.0, True, b"odd")),
        (slot, name, SourceRow(PAGE, 1, 1.0, False, b"", "", (TargetLink("javascript:x"),))),
        (slot, name, SourceRow(PAGE, 1, 1.0, True, b"", "", (TargetLink(A),))),
    ]
    assert [is_source_row(*each, slot_in_mesh, SLOTS) for each in wrong] == [False] * len(wrong)
    with pytest.raises(ValueError, match="no links of a page"):
        source_row_in(b"\x01")


def test_a_row_of_a_visit_that_nobody_made_gives_way_to_the_next_visit_of_the_page() -> None:
    links = [TargetLink(A)]
    made_up = row_after(None, PAGE, Stamp(VISITS_MAX, 50.0), "", [TargetLink(B)], slot_in_mesh)
    assert made_up is not None
    assert row_after(made_up, PAGE, Stamp(7, 50.0), "", links, slot_in_mesh) is None  # not later
    assert row_after(made_up, PAGE, Stamp(0, 60.0), "", links, slot_in_mesh) is None  # a file has no visits
    mended = row_after(made_up, PAGE, Stamp(7, 60.0), "", links, slot_in_mesh)
    assert mended is not None
    assert (mended.stamp, untold(mended), gone(mended)) == (Stamp(VISITS_MAX, 60.0), [A], {fingerprint(B)})
    assert join_source_rows(source_row_bytes(mended), source_row_bytes(made_up)) == source_row_bytes(mended)
    assert row_after(mended, PAGE, Stamp(7, 60.0), "", links, slot_in_mesh) is None  # the same again
    ahead = row_after(None, PAGE, Stamp(1_000, 50.0), "", [], slot_in_mesh)
    following = row_after(ahead, PAGE, Stamp(8, 70.0), "", links, slot_in_mesh)
    assert following is not None
    assert following.stamp == Stamp(1_001, 70.0)


def test_links_of_a_row_from_before_a_moment_are_told_anew() -> None:
    before = told_row(row(None, 1, A, B))
    links = [TargetLink(A), TargetLink(B)]
    args = before, PAGE, Stamp(2, 9.0), "t", links, slot_in_mesh
    unchanged = row_after(*args, 1.0)
    assert unchanged is not None
    assert (untold(unchanged), unchanged.is_told) == ([], True)
    anew = row_after(*args, 1.5)
    assert anew is not None
    assert (untold(anew), anew.is_told, anew.gone) == ([A, B], False, ())


def test_the_url_of_a_row_is_read_without_its_links() -> None:
    """A list of ranks reads 1,000 of them on the event loop; broken links behind it are not looked at."""
    links = [TargetLink(f"http://b.test/{n}", "text") for n in range(2_000)]
    row = row_after(None, "http://a.test/", Stamp(1, 1.0), "title", links, lambda _: 1)
    assert row is not None
    assert url_in_source_row(source_row_bytes(row)) == "http://a.test/"
    odd = source_row_bytes(row).replace(b"http://b.test/7\xa4text", b"http://b.test/7\xa4\xff\xff\xff\xff")
    with pytest.raises(ValueError, match="no links of a page"):
        source_row_in(odd)
    assert url_in_source_row(odd) == "http://a.test/"
