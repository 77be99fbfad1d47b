from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from simulations.model.crawl_time import CrawlTime
from simulations.model.hosts import capped_power_law, power_law
from simulations.studies.politeness import PolitenessParameters, crawl_course

WEBS = st.lists(st.tuples(st.integers(1, 10_000), st.floats(0.1, 60.0)), min_size=1, max_size=50)


def time_of(pages: list[int], period_s: list[float], alike: float = 1.0) -> CrawlTime:
    return CrawlTime(np.array(pages, np.float64), np.array(period_s), alike)


def test_hosts_that_are_alike_take_the_longer_of_both() -> None:
    time = time_of([100] * 10, [2.0] * 10)
    assert time.alone_s == 200.0
    assert time.seconds(5.0) == pytest.approx((200.0, 200.0))  # as fast as they want to be asked
    assert time.seconds(2.0) == pytest.approx((500.0, 0.0))
    assert time.seconds(10.0)[0] == pytest.approx(200.0)


def test_a_large_host_goes_on_alone_when_the_small_ones_are_empty() -> None:
    """Ten pages of each of eleven hosts at 5 a second, then 90 of one, one in 2 s."""
    time = time_of([10] * 10 + [100], [2.0] * 11)
    total_s, alone_s = time.seconds(5.0)
    assert total_s == pytest.approx(11 * 10 / 5 + 90 * 2.0, rel=0.01)
    assert alone_s == pytest.approx(180.0, rel=0.01)


def test_each_host_may_stand_for_many() -> None:
    few, many = time_of([10, 40], [1.0, 3.0], alike=25.0), time_of([10, 40] * 25, [1.0, 3.0] * 25)
    assert few.seconds(3.0) == pytest.approx(many.seconds(3.0))


@given(WEBS, st.floats(0.1, 1_000.0))
def test_it_is_no_less_than_a_steady_state_or_any_host_alone_and_no_more_than_both(
    web: list[tuple[int, float]], pages_s: float
) -> None:
    pages, period_s = map(list, zip(*web, strict=True))
    steady_s, alone_s = sum(pages) / pages_s, max(n * t for n, t in web)
    total_s, tail_s = time_of(pages, period_s).seconds(pages_s)
    assert max(steady_s, alone_s) <= total_s * (1 + 1e-9)
    assert total_s <= (steady_s + alone_s) * (1 + 1e-9)
    assert tail_s <= min(alone_s, total_s) * (1 + 1e-9)


@pytest.mark.parametrize("exponent", [0.5, 0.9, 1.2])
@pytest.mark.parametrize("n", [1, 8, 64])
def test_it_tells_the_course_of_a_crawl_within_a_tenth(exponent: float, n: int) -> None:
    parameters = PolitenessParameters(mbps=1e9, fetches=100_000, peer_pages=40.0)
    pages = power_law(200_000, 4_000, exponent)
    seconds = np.full(4_000, 0.25)
    peer = np.arange(4_000) % n
    course = crawl_course(parameters, pages, seconds, seconds + 1.0, peer, n)
    planned_s, _ = CrawlTime(pages.astype(np.float64), seconds + 1.0).seconds(n * parameters.peer_pages)
    assert 0.99 < course.times_s[-1] / planned_s < 1.1


@given(st.integers(1, 500), st.floats(1.0, 300.0), st.floats(1.0, 20.0), st.floats(0.0, 1.5))
def test_hosts_at_their_limit_leave_their_pages_to_the_others(
    count: int, mean: float, room: float, exponent: float
) -> None:
    total, most = count * mean, mean * room
    sizes = capped_power_law(total, count, most, exponent)
    assert sizes.sum() == pytest.approx(total)
    assert sizes.max() <= most * (1 + 1e-9)
    assert sizes.min() >= 1.0 - 1e-9
    assert (np.diff(sizes) <= 1e-9).all()


def test_without_a_limit_it_is_the_law_of_the_others() -> None:
    assert capped_power_law(5e6, 50_000, 1e9) == pytest.approx(power_law(5_000_000, 50_000, 0.9), abs=1.0)
