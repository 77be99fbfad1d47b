"""The row of a URL: what is kept comes back, and histories of visits on several peers join into one."""

from __future__ import annotations

from math import inf
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from peers.crawler.frontier.keys import new_queue_key, queue_key
from peers.crawler.model.course import Course, as_kept, course_bytes
from peers.crawler.model.url_rows import (
    ETAG_CHARS_MAX,
    NO_DIGEST,
    VALIDATOR_CHARS_MAX,
    Conclusion,
    UrlRow,
    after_visit,
    course_part,
    is_sound,
    join_rows,
    join_urls,
    new_row_bytes,
    row_bytes,
    row_in,
    without_course,
)
from peers.crawler.model.visit_memory import (
    CHECKS_MAX,
    VisitMemory,
    with_check,
    with_miss,
)

URL = "http://a.test/1"
NEW = UrlRow(b"hosthash", 3, 0, 1)

digests = st.sampled_from([b"", b"one page", b"otherone"])
seconds = st.sampled_from([0, 7, (1 << 32) - 1])
few = st.integers(0, 3)
memories = st.builds(VisitMemory, seconds, st.just(3), few, seconds, seconds, few, seconds, seconds)
visits = st.builds(
    Conclusion,
    st.sampled_from(["D200", "D301", "F404", "Ftimeout", "Xrobots"]),
    st.integers(0, 9).map(float),
    st.sampled_from([5.0, 9.0, inf]),
    digests,
    st.sampled_from(["", '"1"', 'W/"2"']),
    st.sampled_from(["", "Sun, 06 Nov 1994 08:49:37 GMT"]),
    st.booleans(),
    st.just(0),
    st.none() | memories,
)
numbers = st.integers(0, 3)
courses = st.builds(Course, numbers, numbers, numbers, st.booleans())


def new_row(depth: int, attempts: int, hops: int, course: Course | None) -> UrlRow:
    kept = None if course is None else as_kept(course, depth)
    return UrlRow(b"hosthash", depth, attempts, hops, course=kept)


news = st.builds(new_row, numbers, numbers, numbers, st.none() | courses)


def history(row: UrlRow, made: list[Conclusion]) -> UrlRow:
    for visit in made:
        row = after_visit(row, URL, visit)
    return row


histories = st.builds(history, news, st.lists(visits, max_size=4))


@given(histories)
def test_a_row_is_read_as_it_was_written(row: UrlRow) -> None:
    assert row_in(row_bytes(row)) == row
    assert is_sound(row) == (row.visit > 0)


@given(histories, histories, histories)
def test_joins_are_idempotent_commutative_and_associative(one: UrlRow, two: UrlRow, three: UrlRow) -> None:
    assert join_rows(one, one) == one
    assert join_rows(one, two) == join_rows(two, one)
    assert join_rows(one, join_rows(two, three)) == join_rows(join_rows(one, two), three)
    assert row_in(join_urls(row_bytes(one), row_bytes(two))) == join_rows(one, two)


@given(news, st.lists(st.tuples(st.integers(0, 2), st.integers(0, 2), visits), max_size=12))
def test_peers_that_visit_and_tell_each_other_in_any_order_end_alike(
    new: UrlRow, steps: list[tuple[int, int, Conclusion]]
) -> None:
    """Who is a step's first peer makes a visit, the second hears of all that the first knows."""
    peers = [new] * 3
    for visitor, listener, visit in steps:
        peers[visitor] = after_visit(peers[visitor], URL, visit)
        peers[listener] = join_rows(peers[listener], peers[visitor])
    ends = []
    for seed in range(3):
        order = Random(seed).sample(peers, 3)
        ends.append(join_rows(join_rows(order[0], order[1]), order[2]))
    assert ends[0] == ends[1] == ends[2]
    assert ends[0].visit == max(peer.visit for peer in peers)


def test_more_visits_win_whatever_came_of_them() -> None:
    done = after_visit(NEW, URL, Conclusion("D200", 9.0, digest=b"one page"))
    gone = after_visit(done, URL, Conclusion("F404", 5.0, is_gone=True))
    assert join_rows(done, gone) == gone
    assert not gone.is_stored


def test_of_as_many_visits_done_wins_over_failed_over_excluded_over_none() -> None:
    rows = [NEW, *(after_visit(NEW, URL, Conclusion(outcome)) for outcome in ("Xrobots", "F404", "D301"))]
    for number, row in enumerate(rows):
        assert all(join_rows(row, before) == row for before in rows[:number])


def test_of_two_never_visited_the_least_depth_and_hops_and_the_most_attempts_stay() -> None:
    one, other = UrlRow(b"hosthash", 5, 1, 0), UrlRow(b"hosthash", 2, 0, 3)
    assert join_rows(one, other) == UrlRow(b"hosthash", 2, 1, 0)


def test_a_page_that_is_the_same_has_not_changed() -> None:
    first = after_visit(NEW, URL, Conclusion("D200", 10.0, 20.0, b"one page", '"1"'))
    same = after_visit(first, URL, Conclusion("D200", 20.0, 30.0, b"one page", '"1"'))
    other = after_visit(same, URL, Conclusion("D200", 30.0, 40.0, b"otherone", '"2"'))
    assert [(row.visit, row.visited_s, row.changed_s) for row in (first, same, other)] == [
        (1, 10.0, 10.0),
        (2, 20.0, 10.0),
        (3, 30.0, 30.0),
    ]


def test_a_visit_that_says_nothing_of_the_page_leaves_what_is_known_of_it() -> None:
    done = after_visit(NEW._replace(attempts=2), URL, Conclusion("D200", 10.0, 20.0, b"one page", '"1"'))
    failed = after_visit(done, URL, Conclusion("Ftimeout", 20.0, 30.0))
    assert (failed.digest, failed.etag, failed.changed_s, failed.url) == (b"one page", '"1"', 10.0, URL)
    assert (failed.outcome, failed.attempts, failed.is_stored) == ("Ftimeout", 0, True)
    gone = after_visit(failed, URL, Conclusion("F410", 30.0, 40.0, is_gone=True))
    assert (gone.digest, gone.etag, gone.changed_s, gone.url) == (NO_DIGEST, "", 30.0, "")


@pytest.mark.parametrize("etag", ["x" * (VALIDATOR_CHARS_MAX + 1), "two\nlines", "\x80", "h\u00e9"])
def test_validators_that_no_server_should_send_are_not_kept(etag: str) -> None:
    row = after_visit(NEW, URL, Conclusion("D200", 1.0, 2.0, b"one page", etag, etag))
    assert (row.etag, row.last_modified) == ("", "")
    assert row_in(row_bytes(row)) == row


def test_an_etag_that_is_too_long_is_not_kept() -> None:
    for length, kept in ((ETAG_CHARS_MAX, "x" * ETAG_CHARS_MAX), (ETAG_CHARS_MAX + 1, "")):
        assert after_visit(NEW, URL, Conclusion("D200", 1.0, 2.0, b"one page", "x" * length)).etag == kept


@pytest.mark.parametrize("data", [b"", b"Q", b"D" + bytes(12), b"D" + bytes(49) + b"200", bytes(60)])
def test_what_is_no_row_is_told(data: bytes) -> None:
    with pytest.raises(ValueError):  # noqa: PT011 - of several kinds
        row_in(data)


@given(histories)
def test_a_row_is_taken_apart_into_its_course_and_the_rest(row: UrlRow) -> None:
    kept = row_bytes(row)
    assert without_course(kept) == row_bytes(row._replace(course=None))
    assert course_part(kept) == (b"" if row.course is None else course_bytes(row.course))


def test_of_two_of_the_same_visit_the_one_that_remembers_stays() -> None:
    told = after_visit(NEW, URL, Conclusion("D200", 9.0, 20.0, b"one page"))
    own = told._replace(memory=VisitMemory(interval_s=11, checked_s=9))
    assert join_rows(told, own) == join_rows(own, told) == own


def test_what_a_page_did_long_ago_is_forgotten_by_halves() -> None:
    memory = VisitMemory(checked_s=1_000)
    for number in range(1, 10 * CHECKS_MAX):
        memory = with_check(memory, 1_000.0 + 10.0 * number, is_changed=number % 4 == 0)
        assert memory.is_sound
    assert CHECKS_MAX // 2 <= memory.checks <= CHECKS_MAX
    assert 0.2 < memory.changes / memory.checks < 0.3
    assert memory.span_s == pytest.approx(10 * memory.checks, abs=10)


def test_misses_count_from_the_first_in_a_row() -> None:
    memory = with_miss(with_miss(VisitMemory(), 10.0), 30.0)
    assert (memory.misses, memory.missed_s) == (2, 10)
    assert with_check(memory, 40.0, is_changed=False).misses == 0


def test_where_two_peers_made_the_same_visit_and_found_different_things_the_next_one_asks_for_all() -> None:
    # A clock that was set back can make the earlier of them the version that is shown (fault seed 53).
    one = UrlRow(b"hosthash", 0, 0, 0, "D200", 3, 9.0, 5.0, 5.0, b"content1", '"one"', "", "http://a.test/")
    other = one._replace(visited_s=6.0, changed_s=6.0, digest=b"content2", etag='"two"')
    joined = join_rows(one, other)
    assert (joined.visited_s, joined.digest, joined.etag) == (6.0, b"content2", "")
    assert join_rows(joined, other) == joined
    later = other._replace(visit=4)
    assert join_rows(joined, later) == later


@given(numbers, numbers, st.none() | courses)
def test_a_new_url_is_written_as_any_other(depth: int, hops: int, course: Course | None) -> None:
    row, mark = new_row(depth, 0, hops, course), b"fingerprint of 1"
    assert new_row_bytes(row.host, depth, hops, row.course) == row_bytes(row)
    assert new_queue_key(7, mark, row.host, row.rank) == queue_key(7, mark, row)
