"""Curves of new hosts, and where they become flat."""

from __future__ import annotations

import numpy as np
import pytest

from simulations.traces.link_structure import Flags
from simulations.web_reports.growth import first_seen, growth_of


def curve(*flags: int, times: int = 1) -> Flags:
    return np.repeat(np.array(flags, np.bool_), times)


def test_a_curve_is_flat_from_where_a_tenth_of_the_mean_is_left() -> None:
    # 100 pages, all new ones are the first 10, and one at 50: a window is 10 pages, the mean 11/100.
    is_new = curve(1, 0, 0, 0, 0, 0, 0, 0, 0, 0, times=10)
    is_new[50] = True
    found = growth_of(is_new)
    assert found.window == 10
    assert found.new == [10, 0, 0, 0, 0, 1, 0, 0, 0, 0]
    assert found.per_1000 == pytest.approx(110)
    # Behind page 10 one in 90 is left, 0.0111, which is more than a tenth of 0.11; behind page 60 none.
    assert found.flat_from == 60
    assert found.per_1000_behind == 0


def test_what_is_left_is_compared_with_the_mean_of_all() -> None:
    # 11 hosts on 120 pages, ten of them on the first 10, one on page 100: the mean is 0.0917.
    is_new = np.zeros(120, np.bool_)
    is_new[[*range(10), 100]] = True
    found = growth_of(is_new)
    assert found.window == 12
    # Behind page 12 it is 1 of 108, 0.00926, more than a tenth of the mean; so it is until 100 is over.
    assert found.flat_from == 108
    is_new[11] = True  # 12 hosts: 1 of 108 is less than a tenth of 0.1
    assert growth_of(is_new).flat_from == 12


def test_a_curve_that_goes_on_is_never_flat() -> None:
    found = growth_of(curve(1, 0, times=500))  # half of the pages, the first ones
    assert found.flat_from == 500
    found = growth_of(np.tile(curve(1, 0), 500))  # every second page
    assert (found.flat_from, found.per_1000, found.per_1000_behind) == (None, 500.0, 500.0)


def test_a_few_pages_at_the_end_prove_nothing() -> None:
    is_new = np.ones(1_000, np.bool_)
    is_new[950:] = False  # half of the last tenth
    assert growth_of(is_new).flat_from is None
    is_new[900:] = False
    assert growth_of(is_new).flat_from == 900


@pytest.mark.parametrize(("n", "window"), [(1, 1), (5, 1), (50, 5), (10_000, 1_000), (60_000, 1_000)])
def test_windows_are_of_a_thousand_pages_unless_those_are_few(n: int, window: int) -> None:
    found = growth_of(np.ones(n, np.bool_))
    assert (found.window, sum(found.new)) == (window, n)


def test_a_long_curve_has_a_hundred_windows() -> None:
    found = growth_of(np.ones(1_000_050, np.bool_))
    assert (found.window, len(found.new), found.new[-1]) == (10_001, 100, 9_951)


def test_what_is_new_is_there_for_the_first_time() -> None:
    assert first_seen(np.array([3, 3, 1, 3, 1, 2])).tolist() == [True, False, True, False, False, True]
