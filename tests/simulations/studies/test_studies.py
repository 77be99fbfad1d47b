"""The experiments, small, each with what must come out."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mesh.errors import ConfigError
from mesh.trace import TracedPage, write_trace
from peers.engine.queries.query import Mode
from simulations.model import caches, costs
from simulations.model.flow import Flow
from simulations.outcomes.study import Outcome, Parameters, Row, Study, interval_of, numbers
from simulations.outcomes.tables import seeds_in_words
from simulations.studies import (
    balance,
    cache,
    freshness,
    machines,
    orders,
    partition,
    plan,
    politeness,
    postings,
    querylog,
    search,
    speedup,
    weights,
)
from simulations.studies.catalogue import QUICK, STUDIES
from simulations.studies.commands import check
from simulations.world.hardware import ANSWER_S, COMMIT_PAGE_S, PARSE_S, QUESTIONS
from simulations.world.posting_lists import bytes_read, posting_lists
from tests.simulations.traces.test_columns import recorded


def small(study: Study, seeds: int = 2, **given: Any) -> Outcome:
    """Run an experiment with few of everything, once for all tests that look at it."""
    return _small(study.name, seeds, **given)


@functools.cache
def _small(name: str, seeds: int, **given: Any) -> Outcome:
    study = STUDIES[name]
    return study.repeat(study.parameters(**(QUICK[name] | given)), range(seeds))


@pytest.mark.parametrize("name", STUDIES)
def test_an_experiment_is_the_same_again_from_its_seed_and_tells_of_each_column(name: str) -> None:
    study = STUDIES[name]
    outcome = small(study)
    assert outcome.runs[:1] == small(study, seeds=1).runs
    rows = outcome.summary()
    assert outcome.headline()
    measured = {column for row in rows for column in row if not column.endswith((" low", " high"))}
    assert measured == set(study.columns)
    assert len({tuple(row[key] for key in study.keys) for row in rows}) == len(rows)
    assert all(claim.ours for claim in outcome.claims())


def test_book_6_7_a_mesh_is_as_fast_as_the_part_that_binds() -> None:
    given = machines.MachinesParameters()
    rows = {(row["web"], row["machines"]): row for row in small(machines.STUDY).summary()}
    per_core = 1e3 / given.page_ms
    for n in (1, 4):
        assert rows[machines.PROCESSORS, n]["rate"] == pytest.approx(given.cores * per_core * n, rel=0.1)
        assert rows[machines.DISKS, n]["rate"] <= given.syncs * n  # a page or more for each sync
    assert rows[machines.OUTLET, 4]["rate"] < 2 * rows[machines.OUTLET, 1]["rate"]


def test_searches_take_from_a_crawl_what_they_cost_on_each_machine() -> None:
    given = machines.MachinesParameters()
    speed = 1e3 * (PARSE_S + COMMIT_PAGE_S) / given.page_ms
    half = given.cores / 2 / (QUESTIONS * ANSWER_S / speed)
    meshes = [
        {(row["web"], row["machines"]): row for row in outcome.summary()}
        for outcome in (small(machines.STUDY), small(machines.STUDY, searches=half))
    ]
    alone, beside = (of_meshes[machines.PROCESSORS, 1]["rate"] for of_meshes in meshes)
    assert beside / alone == pytest.approx(0.5, rel=0.1)
    for n in (1, 4):  # however many there are, each answers every search
        alone, beside = (of_meshes[machines.HOSTS, n][machines.PROCESSORS] for of_meshes in meshes)
        assert beside - alone == pytest.approx(speed / 2, rel=0.05)


def test_an_interval_is_students_where_values_are_nearly_alike_or_may_be_negative() -> None:
    half = 4.30 / np.sqrt(3)
    assert interval_of([-1.0, 0.0, 1.0]) == pytest.approx((-half, half))
    assert interval_of([1.0, 2.0, 3.0], may_be_negative=True) == pytest.approx((2 - half, 2 + half))
    assert interval_of([1_001.0, 1_002.0, 1_003.0]) == pytest.approx((1_002 - half, 1_002 + half), rel=1e-5)


def test_an_interval_of_what_cannot_be_negative_is_above_zero_and_holds_the_mean() -> None:
    low, high = interval_of([0.0, 1e-6, 4e-5]) or (0.0, 0.0)
    assert 0 < low < 4.1e-5 / 3 < high
    assert low * high == pytest.approx((4.1e-5 / 3) ** 2)
    assert interval_of([0.0, 0.0]) == (0.0, 0.0)


@pytest.mark.parametrize("n", [3, 20])
def test_nineteen_of_twenty_intervals_hold_the_mean_of_what_is_log_normal(n: int) -> None:
    random = np.random.default_rng(1)
    mean = np.exp(0.5**2 / 2)
    held = 0
    for values in random.lognormal(0, 0.5, (2_000, n)).tolist():
        low, high = interval_of(values) or (0.0, 0.0)
        held += low < mean < high
    assert held / 2_000 == pytest.approx(0.95, abs=0.03)


def test_one_seed_has_no_interval_and_the_table_and_the_page_say_so() -> None:
    outcome = small(politeness.STUDY, seeds=1)
    assert not [name for row in outcome.summary() for name in row if name.endswith((" low", " high"))]
    assert seeds_in_words(outcome) == "seed 0 alone, so that nothing is known of chance"
    assert seeds_in_words(small(politeness.STUDY)) == (
        "means over the seeds 0 to 1; [from, to] are their 95 % intervals"
    )


def test_a_text_that_not_all_seeds_have_is_told_with_its_number() -> None:
    def run(parameters: Parameters, seed: int) -> list[Row]:
        return [{"key": 1, "binds": "hosts" if seed else "outlet", "same": "a"}]

    study = Study("x", "?", "", Parameters, run, ("key",), {}, lambda figure, outcome: None, "")
    (row,) = study.repeat(Parameters(), [0, 1, 2]).summary()
    assert (row["binds"], row["same"]) == ("hosts (2 of 3)", "a")


def test_who_goes_by_guide_words_finds_more_of_what_is_wanted_than_breadth_first() -> None:
    outcome = small(orders.STUDY, seeds=1, pages=1_000, shares="0.4", orders="breadth,fish,focused")
    rows = {row["order"]: row for row in outcome.summary()}
    for order in ("fish", "focused"):
        assert rows[order]["recall"] > 1.1 * rows["breadth"]["recall"]
        assert rows[order]["pages"] == 400


def test_book_6_5_pages_are_counted_and_units_are_not_alike() -> None:
    rows = [row for row in small(balance.STUDY).runs[0] if row["unit"] != balance.WHOLE]
    pages = [row["pages_per_peer"] * row["peers"] for row in rows]
    assert pages == [int(each) for each in pages]
    assert len({row["variance"] for row in rows if row["peers"] == 4}) > 5  # of ten units
    assert {row["peers"] for row in rows} == {2, 4}


def test_units_of_an_exact_crawl_have_the_pages_that_its_peers_own() -> None:
    parameters = balance.DrawnWebParameters(pages=500, fetches=20, peers="3", unit=10_000.0)
    course = balance.crawled(parameters, [3], seed=1)
    assert course.flows[3].pages[-1].tolist() == course.owned(3, seed=1).tolist()
    assert course.owned(3, seed=1).sum() == 500
    assert course.flows[3].busy_s[-1].sum() >= course.columns.seconds.sum()  # errors and robots.txt besides


def test_fetches_lack_hosts_that_are_not_found_before_and_that_run_out_behind_half_of_the_pages() -> None:
    done = Flow(np.array([[2.0, 9.0], [6.0, 10.0]]), np.array([[5.0, 10.0], [15.0, 12.0]]), np.zeros((2, 2)))
    not_found, run_out = balance.idle_fetches(done, np.array([10.0, 10.0]), fetches=1, unit_s=10.0)
    assert not_found.tolist() == [[0.5, 0.0], [0.0, 0.0]]
    assert run_out.tolist() == [[0.0, 0.0], [0.0, 0.8]]


def test_units_are_as_long_for_every_seed_so_that_their_means_are_of_the_same_time() -> None:
    lengths = {row["unit_s"] for run in small(speedup.STUDY, seeds=2).runs for row in run}
    assert len(lengths) == 1


def test_book_6_7_the_speed_up_is_against_one_peer_with_the_same_mix_of_hosts() -> None:
    rows = small(speedup.STUDY).headline()
    assert rows[0]["speed_up"] == 1.0
    for row in rows:
        assert row["speed_up"] == pytest.approx(row["efficiency"] * row["same_mix"], rel=0.1)
        assert 0.5 < row["efficiency"] < 1.2


def test_few_hosts_bound_the_speed_up_and_the_table_says_so(tmp_path: Path) -> None:
    write_trace(tmp_path / "web.trace", recorded(1_000))
    outcome = small(speedup.STUDY, trace=str(tmp_path / "web.trace"), peers="1,16", fetches=20, delay=1.0)
    row = outcome.headline()[-1]
    assert row["speed_up"] < 3
    assert row["binds"] in ("few hosts", "hosts run out")
    assert 0 < row["cross_share"] < 0.2


def test_the_one_fetch_of_a_peer_is_busy_though_each_page_is_found_by_the_one_before(tmp_path: Path) -> None:
    urls = [[f"http://h{host}.test/{number}" for number in range(500)] for host in range(12)]
    pages = [
        TracedPage(url, float(number), 0.25, 700, tuple(host[number + 1 : number + 2]))
        for host in urls
        for number, url in enumerate(host)
    ]
    write_trace(tmp_path / "web.trace", pages)
    given: dict[str, Any] = {"trace": str(tmp_path / "web.trace"), "peers": "1", "fetches": 1, "unit": 60.0}
    (row,) = small(speedup.STUDY, seeds=1, **given).headline()
    assert row["pages"] == pytest.approx(600 / 0.25, rel=0.12)


def test_a_trace_without_pages_is_refused(tmp_path: Path) -> None:
    write_trace(tmp_path / "web.trace", [])
    for study in (balance.STUDY, plan.STUDY):
        with pytest.raises(ConfigError, match="no pages"):
            small(study, trace=str(tmp_path / "web.trace"))


def test_book_6_2_the_three_schemes_move_what_they_should() -> None:
    rows = {(row["by"], row["scheme"], row["change"]): row for row in small(partition.STUDY).summary()}
    by_url = {
        scheme: row["moved"]
        for (by, scheme, change), row in rows.items()
        if (by, change) == ("URL", "10 -> 11")
    }
    assert by_url["1: mod n"] == pytest.approx(10 / 11, abs=0.03)
    assert by_url["3: array"] == pytest.approx(1 / 11, abs=0.03)
    assert by_url["rendezvous (ours)"] == pytest.approx(1 / 11, abs=0.03)
    assert rows["host", "rendezvous (ours)", "10 -> 11"]["shared_hosts"] == 0
    for change, share in (("10 -> 11", 1 / 11), ("10 -> 9", 1 / 10)):
        assert rows["host", "1: mod n", change]["fair_share"] == pytest.approx(share)
    assert rows["URL", "rendezvous (ours)", "10 -> 11"]["shared_hosts"] > 0.5


def test_pages_are_fetched_again_by_peers_that_have_not_fetched_them_or_were_gone_meanwhile() -> None:
    def again(sizes: list[int], *owners: list[int]) -> int:
        return partition.fetches_again([np.array(each) for each in owners], sizes)

    assert again([2, 3], [0, 1, 1], [0, 2, 1]) == 1
    assert again([2, 3, 2], [0], [2], [0]) == 1  # it comes back to who has fetched it
    assert again([3, 2, 3], [2], [0], [2]) == 2  # who was gone has forgotten it
    assert again([2, 3, 2, 3], [1], [2], [1], [2]) == 2


def test_a_storm_moves_less_at_once_and_the_busiest_peer_decides_how_long() -> None:
    outcome = small(partition.STUDY, seeds=1, pages=20_000, peers=4, storm=3, mbps=8.0, stored_kb=8.0)
    rows = {(row["scheme"], row["change"]): row for row in outcome.summary() if row["by"] == "URL"}
    ours, mod = "rendezvous (ours)", "1: mod n"
    once, by_one, back = (rows[ours, f"4 -> 7{how}"] for how in (" at once", " by one", " -> 4 by one"))
    assert once["moved"] == pytest.approx(3 / 7, abs=0.03)
    assert by_one["moved"] == pytest.approx(1 / 5 + 1 / 6 + 1 / 7, abs=0.03)
    assert back["moved"] == pytest.approx(2 * by_one["moved"], abs=0.01)
    assert back["fetched_twice"] == pytest.approx(by_one["fetched_twice"])  # those that stayed remember
    assert rows[mod, "4 -> 7 -> 4 by one"]["fetched_twice"] > 2 * back["fetched_twice"]
    # One newcomer takes a fifth of 20,000 pages, half of which were fetched: 8,072 bytes each, 1 MB a second.
    assert rows[ours, "4 -> 5"]["balance_s"] == pytest.approx(
        20_000 / 5 * (0.5 * 8_016 + 0.5 * 128) / 1e6, rel=0.05
    )
    assert once["balance_s"] < by_one["balance_s"]


def test_the_rule_for_queues_makes_the_longest_one_shorter() -> None:
    last = {row["rule"]: row for row in small(weights.STUDY).summary()}
    assert last["with the rule"]["longest"] < last["without"]["longest"]
    assert last["without"]["weight_spread"] == 1


def test_hosts_bound_the_throughput_however_many_peers_there_are() -> None:
    rows = {(row["delay_s"], row["peers"]): row for row in small(politeness.STUDY).summary()}
    assert rows[10.0, 16]["bottleneck"] == "hosts"
    assert rows[10.0, 16]["pages_s"] == pytest.approx(rows[10.0, 1]["pages_s"], rel=0.05)
    assert rows[10.0, 16]["pages_s"] < rows[10.0, 16]["hosts_bound"]  # small ones are empty before the end
    assert rows[10.0, 16]["hours"] == pytest.approx(rows[10.0, 16]["largest_hours"], rel=0.01)


def test_hosts_that_empty_give_all_of_their_pages_and_the_slowest_is_last() -> None:
    parameters = politeness.PolitenessParameters(fetches=1_000, peer_pages=1e9, mbps=1e9)
    pages, seconds = np.array([10, 100, 1_000]), np.array([1.0, 0.5, 0.1])
    course = politeness.crawl_course(parameters, pages, seconds, seconds + 1.0, np.zeros(3, np.int64), 1)
    assert course.pages[-1] == pytest.approx(1_110)
    assert course.times_s[-1] == pytest.approx(1_000 * 1.1)
    assert course.binds == "hosts"


@pytest.mark.parametrize(
    ("given", "binds", "pages_s"),
    [
        ({"peer_pages": 2.0}, "processors", 4.0),
        ({"mbps": 8e-3 * 19 * 3}, "bandwidth", 3.0),
        ({"fetches": 1}, "fetches in flight", 2 / 0.25),
    ],
)
def test_each_bound_of_a_crawl_binds_where_it_is_least(given: Any, binds: str, pages_s: float) -> None:
    parameters = politeness.PolitenessParameters(**given)
    pages, seconds, peer = np.full(100, 50), np.full(100, 0.25), np.arange(100) % 2
    course = politeness.crawl_course(parameters, pages, seconds, seconds + 1.0, peer, 2)
    assert course.binds == binds
    assert pages.sum() / course.times_s[-1] == pytest.approx(pages_s, rel=0.01)


def test_hedging_helps_with_slow_peers_and_standbys_answer_for_dead_ones() -> None:
    rows = {
        (row["peers"], row["hedging"]): row for row in small(search.STUDY, slow=0.003, dead=0.0).summary()
    }
    assert rows[10, "hedged"]["p99_ms"] < 0.5 * rows[10, "not hedged"]["p99_ms"]
    rows = {(row["peers"], row["hedging"]): row for row in small(search.STUDY, dead=0.05).summary()}
    assert rows[10, "not hedged"]["coverage"] == pytest.approx(0.95, abs=0.02)
    assert rows[10, "hedged"]["coverage"] > 0.99


def test_cho_and_garcia_molina_2003_all_alike_is_fresher_than_as_often_as_pages_change() -> None:
    outcome = small(freshness.STUDY)
    rows = {(row["policy"], row["period_days"]): row for row in outcome.summary()}
    for period in (5.0, 20.0):
        fixed, cho = rows["fixed", period], rows["cho", period]
        assert cho["freshness"] < fixed["freshness"] < fixed["optimum"] + 0.02
        assert fixed["beside_fixed"] == pytest.approx(1.0, abs=0.05)
    assert rows["fixed", 20.0]["freshness"] < rows["fixed", 5.0]["freshness"]
    with pytest.raises(ConfigError, match="--policies"):
        small(freshness.STUDY, policies="fixed,list")


def test_book_8_1_queries_of_terms_that_are_alike_read_what_the_model_says_of_real_lists() -> None:
    rows = {
        (row["at_once"], row["asked"], row["read"]): row
        for row in small(postings.STUDY, drawn=400_000, at_once="1,100,10000").summary()
    }
    for k in (1, 100, 10_000):
        assert rows[k, "all alike", "documents"]["real_over_model"] == pytest.approx(1.0, abs=0.1)
    assert rows[1, "as in the text", "documents"]["real_over_model"] > 2
    assert rows[10_000, "as in the text", "and positions"]["index_share"] < 1
    assert postings.data_read(1, 100_000, 5e5) == pytest.approx(5e5)  # book, (8-1)


def test_lists_are_those_that_the_engine_wrote() -> None:
    lists = posting_lists(200, seed=1)
    assert (lists.doc_freqs > 0).all()
    assert (lists.doc_freqs <= np.minimum(lists.frequencies, 200)).all()
    assert lists.doc_freqs[0] > 150  # the most frequent word is nearly everywhere
    assert (lists.n_bytes >= lists.doc_freqs).all()  # a varint or more for each posting
    assert (lists.positional_bytes >= lists.n_bytes + lists.frequencies).all()
    ends = lists.starts + lists.n_bytes
    order = np.argsort(lists.starts)
    assert (ends[order][:-1] <= lists.starts[order][1:]).all()


def test_a_search_reads_whole_lists_of_rare_words_and_of_frequent_ones_what_it_cannot_skip() -> None:
    lists = posting_lists(3_000, seed=1)
    frequent, rare = 0, int(np.flatnonzero(lists.doc_freqs == 20)[0])
    sizes = lists.n_bytes.tolist()
    assert bytes_read(lists, [rare], Mode.AND) == sizes[rare]
    assert 0 < bytes_read(lists, [frequent], Mode.AND) <= sizes[frequent]
    # Of a list of 24 blocks those are read that one of 20 documents may be in.
    assert sizes[rare] < bytes_read(lists, [rare, frequent], Mode.AND) < sizes[frequent]


QUERIES = [1, 2, 3, 1, 4, 1, 2, 5, 1, 2]


def test_caches_replace_what_they_should() -> None:
    # Of size 2. FIFO: 1 | 1 2 | 2 3 | 3 1 | 1 4 | hit 1 | 4 2 | 2 5 | 5 1 | 1 2
    assert caches.fifo_hits(QUERIES, 2) == 1
    # LRU: 1 2 | 2 3 | 3 1 | 1 4 | hit 1 | 1 2 | 2 5 | 5 1 | 1 2
    assert caches.lru_hits(QUERIES, 2) == 1
    # LFU without decay keeps 1 once it was asked twice: 3 1 | 1 4 | hit 1 | 1 2 | 1 5 | hit 1 | 1 2
    assert caches.lfu_hits(QUERIES, 2, 1.0) == 2
    for hits_of in (caches.fifo_hits, caches.lru_hits, caches.gdsf_hits):
        assert hits_of(QUERIES, 100) == len(QUERIES) - len(set(QUERIES))


def test_book_8_5_posting_lists_are_kept_by_size_and_by_age() -> None:
    small_one, large_one, next_one = (1, 1), (2, 8), (3, 5)
    recent, greedy = caches.LeastRecent(10), caches.GreedyDualSize(10)
    for each in (recent, greedy):
        assert not any(each.touch(*of) for of in (small_one, large_one, next_one))
    assert [recent.touch(*of) for of in (small_one, next_one)] == [False, True]  # what was read first went
    assert [greedy.touch(*of) for of in (small_one, next_one, large_one)] == [True, True, False]
    for each in (recent, greedy):
        assert not each.touch(9, 11)  # larger than all of the cache, which keeps what it has
        assert each.touch(*next_one)
    outcome = small(cache.STUDY, seeds=1, count=30_000, distinct=30_000, documents=2_000, shares="0.1,0.2")
    rows = {(row["policy"], row["size"]): row for row in outcome.summary() if row["of"] == "postings"}
    for share in (0.1, 0.2):
        by_size, by_age, pages = (
            rows[name, share] for name in ("lists, GD-Size(1)", "lists, LRU", "pages, LRU")
        )
        assert by_size["hit_rate"] > by_age["hit_rate"] > pages["hit_rate"]
        assert by_size["byte_rate"] < by_age["byte_rate"]  # it spares reads, not bytes


def test_a_log_of_a_few_queries_has_the_figures_that_it_can_have(tmp_path: Path) -> None:
    for count in (1, 2_500):
        (tmp_path / "log").write_text("".join(f"{number % 50}\n" for number in range(count)))
        (rows,) = querylog.STUDY.repeat(querylog.QuerylogParameters(queries=str(tmp_path / "log")), [1]).runs
        figures = {row["figure"]: row["value"] for row in rows}
        assert figures["requests"] == count
        assert figures.get("share of group 2 asked in group 1", 1.0) == 1.0


def test_a_plan_grows_with_what_is_wanted_and_names_what_it_waits_for() -> None:
    few = small(plan.STUDY, seeds=1, pages=1e6, hosts=1_000_000, delay=0.0)
    many = small(plan.STUDY, seeds=1, pages=1e9, hosts=100_000_000, delay=0.0, mbps=1e5)
    assert few.summary()[0]["peers"] == 2
    assert many.summary()[0]["peers"] > 20
    assert many.summary()[0]["hours"] <= 24
    polite = small(plan.STUDY, seeds=1, pages=1e6, hosts=10, delay=10.0)
    assert "would not help" in polite.summary()[0]["bottleneck"]
    words = plan.in_words(polite)
    assert "and not 24 as you wish" in words
    assert words.startswith("You need 2 machines of 2 cores.")


@pytest.mark.parametrize(
    ("peers", "replicas", "measured"),
    [(1, 1, 289), (2, 1, 320), (4, 1, 299), (4, 2, 167)],  # tests/benchmarks/bench_plan.py
)
def test_a_plan_is_within_20_percent_of_crawls_of_peers_that_share_two_cores(
    peers: int, replicas: int, measured: float, tmp_path: Path
) -> None:
    # Calibrated by the first of them alone, which had 4,622 pages of 26.8 seconds of CPU.
    report = tmp_path / "report.json"
    report.write_text('{"total": {"documents": 4622, "cpu_seconds": 26.8}, "peers": []}')
    given: dict[str, Any] = {"pages": 4_622, "hosts": 1_000, "delay": 0.0, "seconds": 0.001, "machines": 1}
    given |= {"peers_each": peers, "replicas": replicas, "queries": 0.0, "measured": str(report)}
    rows = small(plan.STUDY, **given).summary()
    assert rows[0]["waits_for"] == "processors"
    assert 4_622 / rows[0]["hours"] / 3_600 == pytest.approx(measured, rel=0.2)


def test_a_plan_refuses_a_report_of_nothing(tmp_path: Path) -> None:
    report = tmp_path / "report.json"
    report.write_text('{"total": {"documents": 0, "cpu_seconds": 1.0}}')
    with pytest.raises(ConfigError, match="fetched nothing"):
        small(plan.STUDY, measured=str(report))
    with pytest.raises(ConfigError, match="cannot read"):
        small(plan.STUDY, measured=str(tmp_path / "none"))


def test_a_plan_leaves_a_host_alone_for_as_long_as_peers_do(tmp_path: Path) -> None:
    trace = str(tmp_path / "one.trace")
    write_trace(Path(trace), [TracedPage(f"http://a.test/{n}", 0.0, 0.25, 700, ()) for n in range(3_600)])

    def hours(delay: float) -> float:
        (row, *_) = small(plan.STUDY, trace=trace, delay=delay, replicas=1, machines=1).summary()
        return float(row["hours"])

    assert hours(1.0) == pytest.approx(0.25 + 5 * 0.25, rel=0.001)
    assert hours(2.0) == pytest.approx(0.25 + 2.0, rel=0.001)
    assert hours(0.0) == pytest.approx(0.25, rel=0.001)


def test_a_plan_names_the_options_that_decide_and_that_nobody_gave() -> None:
    words = plan.in_words(small(plan.STUDY, seeds=1, pages=5e7, hosts=200_000, hours=24.0))
    assert "the largest host" in words
    assert "nobody gave and is assumed" in words
    assert "--host-pages 100,000" in words
    given = plan.in_words(small(plan.STUDY, seeds=1, pages=5e7, hosts=200_000, hours=24.0, host_pages=90_000))
    assert "--host-pages" not in given


def test_machines_are_also_for_visiting_pages_again() -> None:
    given: dict[str, Any] = {"pages": 1e8, "hosts": 10_000_000, "hours": 1e4, "mbps": 1e5}
    given |= {"memory_gb": 1e4, "disk_gb": 1e6}
    often, seldom = (
        small(plan.STUDY, seeds=1, revisit_days=days, **given).summary()[0] for days in (2.0, 200.0)
    )
    assert often["bottleneck"] == plan.REVISITS
    assert often["machines"] > 1.2 * seldom["machines"]
    # 579 visits a second of two copies, 172 pages of a core: all that these machines have.
    assert often["revisit_cores"] == pytest.approx(1e8 / 172_800 * 2 / 172 / often["machines"])
    assert often["revisit_cores"] < 1.7


def test_a_crawl_that_is_longer_than_the_time_between_visits_takes_longer_by_them() -> None:
    given: dict[str, Any] = {"pages": 1e6, "hosts": 100_000, "machines": 1, "mbps": 0.5, "replicas": 1}
    free = small(plan.STUDY, seeds=1, revisit_days=1e4, **given).summary()[0]["hours"]
    bound, pages = 0.5e6 / 8 / (plan.PlanParameters().page_kb * 1e3), 1e6
    due_s = 0.6 * pages / bound
    hours = small(plan.STUDY, seeds=1, revisit_days=due_s / 86_400, **given).summary()[0]["hours"]
    assert hours > 1.05 * free
    made_again = (hours * 3_600 - due_s) ** 2 * pages / (2 * due_s * hours * 3_600)
    assert bound * hours * 3_600 == pytest.approx(pages + made_again)
    assert small(plan.STUDY, seeds=1, revisit_days=free / 72, **given).summary()[0]["hours"] == np.inf


def test_searches_slow_down_with_the_documents_of_a_peer() -> None:
    usual = costs.Costs()
    at = [costs.answers(documents, usual) for documents in (5_000, 25_000, 50_000, 100_000, 1e6, 1e12)]
    assert [each[1:] for each in at[:2]] == [each[1:] for each in costs.ANSWERS[:2]]
    assert costs.ANSWERS[1].hits < at[2].hits < costs.ANSWERS[2].hits
    assert at[4].hits == pytest.approx(costs.ANSWERS[3].hits * 2.5**usual.growth)
    assert at[5].hits == costs.HITS_MS_MAX
    assert costs.query_cpu_s(costs.MESH_DOCUMENTS, usual) == pytest.approx(usual.query_cpu_s)
    assert costs.answer_ms(costs.LATENCY_DOCUMENTS, usual) == pytest.approx((5.0, 14.0))
    few = small(plan.STUDY, seeds=1, pages=1e5, machines=4).summary()[0]
    many = small(plan.STUDY, seeds=1, pages=1e7, machines=4).summary()[0]
    assert many["search_p99_ms"] > few["search_p99_ms"]
    assert many["search_cores"] > few["search_cores"]


def test_costs_are_drawn_within_what_was_measured_and_alike_for_all_plans() -> None:
    drawn = costs.drawn_costs(200, 3)
    assert drawn == costs.drawn_costs(200, 3)
    assert drawn != costs.drawn_costs(200, 4)
    for name, (least, most) in costs.RANGES.items():
        values = [getattr(each, name) for each in drawn]
        assert least <= min(values) < max(values) <= most
    usual, low, high = small(plan.STUDY, seeds=1, pages=5e7, hosts=500_000, hours=60.0).summary()
    for name in ("machines", "disk_gb", "search_cores", "search_p99_ms"):
        assert low[name] <= usual[name] <= high[name]
    assert high["machines"] > low["machines"]


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"pages": 1e11, "hosts": 1, "hours": 0.001}, "of a host 100,000 pages are crawled at most"),
        ({"pages": 10, "hosts": 1_000_000}, "each of which has one at least"),
        ({"pages": 1e11, "hosts": 1_000_000_000}, "take .* machines or more, for their memory"),
    ],
)
def test_a_plan_refuses_webs_that_cannot_be_in_a_sentence(given: dict[str, Any], says: str) -> None:
    with pytest.raises(ConfigError, match=says):
        small(plan.STUDY, **given)


def test_a_value_out_of_range_is_named_by_its_option_and_meaning() -> None:
    with pytest.raises(ConfigError, match=r"--mbps is to be above 0, not 0\.0: Bandwidth of the outlet"):
        check(plan.PlanParameters(mbps=0.0))
    with pytest.raises(ConfigError, match="--host-pages is to be at least 1, not -1"):
        check(plan.PlanParameters(host_pages=-1))


@pytest.mark.parametrize("text", ["", "a", "1,,2", "0", "1.5"])
def test_numbers_that_are_none_are_refused(text: str) -> None:
    with pytest.raises(ConfigError, match="--peers"):
        numbers(text, "--peers")
