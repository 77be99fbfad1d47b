"""Nothing costs more than `tests/budgets.toml` allows."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TypeAlias

import pytest

from tests.budgets import budgets
from tests.budgets.budgets import hold, limits, spread_of
from tests.budgets.crawled import crawled_costs
from tests.budgets.sections import LIVE, SECTIONS, measured
from tests.run_report import BUDGET

Record: TypeAlias = Callable[[str, object], None]


@pytest.mark.parametrize("section", SECTIONS)
def test_nothing_costs_more_than_its_budget(section: str, record_property: Record) -> None:
    for sentence in hold(section, measured(section)):
        record_property(BUDGET, sentence)


@pytest.mark.live
@pytest.mark.timed  # commits and trips are made by time: a busy machine makes more of them for a page
def test_a_page_of_a_real_peer_costs_no_more_than_its_budget(tmp_path: Path, record_property: Record) -> None:
    for sentence in hold(LIVE, crawled_costs(tmp_path)):
        record_property(BUDGET, sentence)


def test_the_file_has_no_limit_that_nothing_is_held_against() -> None:
    assert limits().keys() == {*SECTIONS, LIVE, budgets.SPREADS}


def test_a_count_above_its_limit_fails_and_one_far_below_is_noted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(budgets, "limits", lambda: {"some": {"calls": 100.0}, "spread": {"some": 0.02}})
    assert spread_of("some") == 0.02
    assert hold("some", {"calls": 102.0}) == []
    assert hold("some", {"calls": 96.0}) == []
    assert hold("some", {"calls": 94.0}) == ["some.calls: 94 of 100"]
    with pytest.raises(AssertionError, match="more than"):
        hold("some", {"calls": 102.1})
    with pytest.raises(AssertionError):
        hold("some", {"other": 1.0})
