"""A trace as arrays, its statistics, parts of it, and larger webs made after it."""

from __future__ import annotations

import numpy as np
import pytest

from mesh.trace import TracedPage
from simulations.traces.columns import columns_of
from simulations.traces.statistics import fit_log_normal, info_of, rank_exponent
from simulations.traces.synthesis import synthesise
from simulations.traces.trace_part import cut
from simulations.webs.trace import recorded as read_breadth_first
from simulations.webs.web import SyntheticWeb


def page(url: str, *links: str, at: float = 0.0, seconds: float = 0.5) -> TracedPage:
    return TracedPage(url, at, seconds, 700, links, (4,) * len(links))


PAGES = [
    page("http://a.test/", "http://a.test/1", "http://b.test/", at=1.0),
    page("http://a.test/1", "http://a.test/gone", "http://c.test/x", "http://a.test/", at=2.0),
    page("http://b.test/", "http://a.test/1", at=3.0),
    page("http://a.test/1", "http://b.test/", at=4.0),
]


def recorded(pages: int = 3_000) -> list[TracedPage]:
    """A crawl of one synthetic web."""
    return recorded_from(SyntheticWeb(5, pages))


def recorded_from(web: SyntheticWeb) -> list[TracedPage]:
    """A crawl of a web, breadth first, without waiting for anybody."""
    return list(read_breadth_first(web))


def test_columns_tell_hosts_parents_and_where_links_lead() -> None:
    columns = columns_of(PAGES)
    assert columns.hosts == ("a.test", "b.test", "c.test")
    assert (columns.page_count, columns.host_count) == (3, 2)
    assert columns.host_sizes.tolist() == [2, 1]
    assert columns.parent.tolist() == [-1, 0, 0]
    assert columns.link_target.tolist() == [1, 2, -1, -2, 0, 1]
    assert columns.is_inside.tolist() == [True, False, True, False, True, False]
    assert columns.missing_host.tolist() == [0, 2]
    assert columns.missing_parent.tolist() == [1, 1]


def test_info_counts_pages_visits_links_and_hosts() -> None:
    info = info_of(PAGES)
    assert (info.pages, info.visits, info.hosts, info.domains, info.seeds) == (3, 4, 2, 2, 1)
    assert info.by_status == {"200": 4}
    assert info.largest_host == "a.test"
    assert (info.inside_share, info.outside_share, info.missing_share) == (2 / 6, 2 / 6, 2 / 6)
    assert info.text_chars.mean == 4
    assert info.hours == pytest.approx(3 / 3_600)


def test_fits_find_what_was_drawn() -> None:
    random = np.random.default_rng(1)
    fit = fit_log_normal(random.lognormal(-1.0, 0.5, 20_000))
    assert fit.mu == pytest.approx(-1.0, abs=0.02)
    assert fit.sigma == pytest.approx(0.5, abs=0.02)
    sizes = (10_000 * np.arange(1, 300) ** -0.9).astype(np.int64)
    assert rank_exponent(sizes) == pytest.approx(0.9, abs=0.02)


def test_parts_are_by_hosts_pages_and_time() -> None:
    assert [each.url for each in cut(PAGES, hosts_max=1, pages_max=2)] == [
        "http://a.test/",
        "http://a.test/1",
    ]
    assert [each.fetched_at for each in cut(PAGES, from_s=1.0, to_s=3.0)] == [2.0, 3.0]


@pytest.mark.parametrize("count", [1, 500, 9_000])
def test_a_synthetic_trace_has_so_many_pages_which_can_all_be_reached(count: int) -> None:
    columns = columns_of(synthesise(columns_of(recorded()), count, seed=3))
    assert columns.page_count == count
    reached = {0}
    targets: dict[int, list[int]] = {}
    for source, target in zip(columns.link_page.tolist(), columns.link_target.tolist(), strict=True):
        targets.setdefault(source, []).append(target)
    queue = [0]
    for each in queue:
        new = [target for target in targets.get(each, ()) if target not in reached]
        reached.update(new)
        queue += new
    assert len(reached) == count


def test_a_synthetic_trace_is_like_the_one_it_is_modelled_on() -> None:
    before = info_of(recorded())
    after = info_of(list(synthesise(columns_of(recorded()), 12_000, seed=3)))
    assert after.hosts == pytest.approx(4 * before.hosts, rel=0.02)
    for name in ("host_pages", "page_seconds", "page_bytes", "links", "linked"):
        old, new = getattr(before, name), getattr(after, name)
        assert new.mean == pytest.approx(old.mean, rel=0.2), name
        assert new.median == pytest.approx(old.median, rel=0.3), name
    there = before.inside_share + before.outside_share
    assert after.inside_share == pytest.approx(before.inside_share / there, abs=0.05)


def test_the_same_seed_makes_the_same_trace() -> None:
    columns = columns_of(recorded(300))
    assert list(synthesise(columns, 500, 1)) == list(synthesise(columns, 500, 1))
    assert list(synthesise(columns, 500, 1)) != list(synthesise(columns, 500, 2))
