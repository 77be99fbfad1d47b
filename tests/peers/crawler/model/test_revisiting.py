"""Policies of visiting again: each by its formula, and all within what the settings allow."""

from __future__ import annotations

from math import exp, inf, log
from random import Random
from statistics import median
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from peers.crawler.model.revisiting import Finding, changes_between, concluded_by, finding_of, is_given_up
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


def test_adaptive_waits_longer_for_what_stays_and_less_for_what_changes() -> None:
    rows = visited(settings_of(Revisit.ADAPTIVE), SAME, SAME, CHANGED)
    assert intervals(rows) == pytest.approx([DAY_S, 1.4 * DAY_S, 1.96 * DAY_S, 1.568 * DAY_S], abs=3)
    rows = visited(settings_of(Revisit.ADAPTIVE, revisit_max_s=2 * DAY_S), *[SAME] * 9)
    assert intervals(rows)[-1] == 2 * DAY_S
    rows = visited(settings_of(Revisit.ADAPTIVE), *[CHANGED] * 40)
    assert intervals(rows)[-1] == 3_600.0


def test_cho_and_garcia_molina_2003_the_estimator_is_of_the_mean_interval() -> None:
    settings = settings_of(Revisit.CHO)
    memory = VisitMemory(int(DAY_S), checks=19, changes=4, span_s=int(19 * DAY_S), checked_s=int(1e9 - DAY_S))
    before = NEW._replace(outcome="D200", visit=20, url=URL, memory=memory)
    conclusion = concluded_by(settings, "D200", before, CHANGED, 1e9)
    rate = -log((20 - 5 + 0.5) / (20 + 0.5)) / DAY_S
    assert conclusion.due_s - conclusion.at_s == pytest.approx(min(1 / rate, 2 * DAY_S), abs=1)
    conclusion = concluded_by(settings_of(Revisit.CHO, revisit_max_s=9e9), "D200", before, SAME, 1e9)
    assert conclusion.due_s - conclusion.at_s == pytest.approx(2 * DAY_S, abs=1), "not at once so much longer"
    assert intervals(visited(settings, *[SAME] * 20))[-1] == settings.revisit_max_s


def test_cho_finds_out_how_often_a_page_changes() -> None:
    for mean_days in (0.5, 3.0, 20.0):
        settings, random = settings_of(Revisit.CHO), Random(5)
        rows = visited(settings)
        for _ in range(200):
            waited_s = rows[-1].due_s - rows[-1].visited_s
            finding = CHANGED if random.random() > exp(-waited_s / (mean_days * DAY_S)) else SAME
            conclusion = concluded_by(settings, "D200", rows[-1], finding, rows[-1].due_s)
            rows.append(after_visit(rows[-1], URL, conclusion._replace(digest=b"%8d" % len(rows))))
        assert median(intervals(rows[100:])) == pytest.approx(mean_days * DAY_S, rel=0.5)


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


def test_expiry_goes_by_classes() -> None:
    rows = visited(settings_of(Revisit.EXPIRY), SAME, SAME, CHANGED, CHANGED, CHANGED)
    assert [each / DAY_S for each in intervals(rows)] == [1, 2, 4, 2, 1, 0.5]


def test_a_batch_begins_at_once_for_all() -> None:
    settings = settings_of(Revisit.BATCH)
    dues = {visited(settings, now=10 * DAY_S + each)[0].due_s for each in (0.0, 1.0, DAY_S - 1.0)}
    assert dues == {11 * DAY_S}


def test_a_list_drops_what_is_gone() -> None:
    rows = visited(settings_of(Revisit.LIST), SAME, Finding.GONE)
    assert intervals(rows) == [DAY_S, DAY_S, inf]


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
