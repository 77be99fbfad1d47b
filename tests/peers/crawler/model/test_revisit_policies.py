"""Policies of visiting again: each by its formula, and all within what the settings allow."""

from __future__ import annotations

from math import exp, inf
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from peers.crawler.model.revisit_policies import (
    Finding,
    changes_between,
    concluded_by,
    finding_of,
    is_given_up,
)
from peers.crawler.model.settings import CrawlSettings, Revisit
from peers.crawler.model.url_rows import Conclusion, UrlRow, after_visit
from peers.crawler.model.visit_memory import VisitMemory

URL = "http://a.test/1"
NEW = UrlRow(b"hosthash", 0, 0, 0)
DAY_S = 86_400.0


def settings_of(revisit: Revisit, **changes: Any) -> CrawlSettings:
    return CrawlSettings(**{"revisit": revisit, "revisit_after_s": DAY_S, **changes})


def visited(settings: CrawlSettings, *findings: Finding, now: float = 1e9) -> list[UrlRow]:
    """The row after each visit, all of them made when they are due."""
    rows: list[UrlRow] = []
    before: UrlRow | None = None
    for finding in (Finding.FIRST, *findings):
        is_seen = finding in (Finding.FIRST, Finding.SAME, Finding.CHANGED)
        conclusion = concluded_by(settings, "D200" if is_seen else "F404", before, finding, now)
        digest = b"%8d" % len(rows) if is_seen else b""
        before = after_visit(before or NEW, URL, conclusion._replace(digest=digest))
        rows.append(before)
        now = min(before.due_s, now + 1e8)
    return rows


def intervals(rows: list[UrlRow]) -> list[float]:
    return [row.due_s - row.visited_s for row in rows]


SAME, CHANGED = Finding.SAME, Finding.CHANGED


def test_a_fixed_cycle_minds_nothing() -> None:
    rows = visited(settings_of(Revisit.FIXED), SAME, CHANGED, Finding.NOTHING)
    assert intervals(rows) == [DAY_S] * 4


def test_an_interval_is_at_most_doubled_by_one_visit_and_ends_at_the_longest() -> None:
    settings = settings_of(Revisit.OPTIMAL)
    rows = visited(settings, *[SAME] * 20)
    assert intervals(rows)[:3] == pytest.approx([DAY_S, 2 * DAY_S, 4 * DAY_S], abs=3)
    assert intervals(rows)[-1] == settings.revisit_max_s


def test_the_optimum_spends_little_on_what_changes_all_the_time_and_more_on_what_changes_seldom() -> None:
    settings = settings_of(Revisit.OPTIMAL, revisit_after_s=10 * DAY_S)
    assert intervals(visited(settings, *[CHANGED] * 12))[-1] > 14 * DAY_S
    for life_days, most_days in ((10.0, 12.0), (80.0, 30.0)):
        n, changes = 60, round(60 * (1 - exp(-10.0 / life_days)))
        memory = VisitMemory(int(30 * DAY_S), n, changes, int(n * 10 * DAY_S), int(1e9 - 10 * DAY_S))
        before = NEW._replace(outcome="D200", visit=n, url=URL, memory=memory)
        conclusion = concluded_by(settings, "D200", before, Finding.NOTHING, 1e9)
        assert 0.6 * most_days < (conclusion.due_s - conclusion.at_s) / DAY_S < most_days
    assert changes_between(1.0) == inf
    for between in (0.01, 0.5, 1.0, 3.0):
        assert changes_between(1 - exp(-between) * (1 + between)) == pytest.approx(between, rel=1e-3)


@pytest.mark.parametrize("revisit", Revisit)
def test_where_pages_are_visited_once_no_policy_visits_them_again(revisit: Revisit) -> None:
    settings = settings_of(revisit, revisit_after_s=inf)
    for finding in (Finding.FIRST, Finding.GONE, Finding.NOTHING):
        assert concluded_by(settings, "D200", None, finding, 1e9).due_s == inf
    missed = concluded_by(settings, "F404", visited(settings)[0], Finding.MISSED, 1e9)
    assert missed.due_s == 1e9 + settings.gone_after_s, "but whether one is gone is found out"


@given(
    st.sampled_from(list(Revisit)),
    st.lists(st.sampled_from(list(Finding)), max_size=30),
    st.sampled_from([0.0, 1.0, 0.3, DAY_S, 1e9, 1e12, inf]),
)
def test_every_policy_gives_rows_that_can_be_kept(
    revisit: Revisit, findings: list[Finding], after_s: float
) -> None:
    settings = settings_of(revisit, revisit_after_s=after_s)
    for row in visited(settings, *findings):
        assert row.due_s >= row.visited_s
        assert row.memory.is_sound


def test_a_page_is_the_same_by_its_text_if_that_is_known_and_else_by_its_body() -> None:
    stored = after_visit(NEW, URL, Conclusion("D200", 9.0, 20.0, b"one page"))
    assert finding_of(None, b"one page", 7) is finding_of(NEW, b"one page", 7) is Finding.FIRST
    assert finding_of(stored, b"one page", 7) is SAME
    assert finding_of(stored, b"otherone", 7) is CHANGED, "nobody remembers its text"
    stored = stored._replace(memory=VisitMemory(text=7))
    assert finding_of(stored, b"otherone", 7) is SAME, "only what is not read has changed"
    assert finding_of(stored, b"one page", 8) is CHANGED


def test_a_page_is_given_up_after_so_many_visits_and_so_long() -> None:
    settings = CrawlSettings(gone_visits=2, gone_after_s=7 * DAY_S)
    missed = NEW._replace(url=URL, memory=VisitMemory(misses=1, missed_s=1_000_000))
    assert not is_given_up(None, Finding.MISSED, 1e9, settings)
    assert not is_given_up(missed, Finding.MISSED, 1e6 + 7 * DAY_S - 1, settings)
    assert is_given_up(missed, Finding.MISSED, 1e6 + 7 * DAY_S, settings)
    assert not is_given_up(missed, Finding.UNANSWERED, 1e6 + 7 * DAY_S, settings)
