"""Public graphs: an encoder after the paper, and what the reader makes of its bits."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest

from mesh.errors import ConfigError
from mesh.trace import read_trace
from peers.policy.rules import EVERYTHING
from simulations.traces.web_graph import pages_of_graph, read_graph
from simulations.webs.trace import TraceWeb
from simulations.world.crawl import SimulatedCrawl
from tests.benchmarks.bench_crawl_graph import reachable
from tests.simulations.traces.test_commands import run

WINDOW, INTERVAL_MIN, ZETA_K = 7, 4, 3


def unary(value: int) -> str:
    return "0" * value + "1"


def gamma(value: int) -> str:
    digits = f"{value + 1:b}"
    return unary(len(digits) - 1) + digits[1:]


def zeta(value: int) -> str:
    h = (len(f"{value + 1:b}") - 1) // ZETA_K
    low, rest = 1 << h * ZETA_K, value + 1 - (1 << h * ZETA_K)
    width = h * ZETA_K + ZETA_K
    spare = (1 << width) - ((low << ZETA_K) - low)  # as many of the numbers have a bit less
    return unary(h) + (f"{rest:0{width - 1}b}" if rest < spare and width > 1 else f"{rest + spare:0{width}b}")


def signed(value: int) -> int:
    return 2 * value if value >= 0 else -2 * value - 1


def encoded(graph: list[list[int]], random: Random) -> bytes:
    """Write a graph, with references and intervals wherever they are possible."""
    bits = ""
    for page, links in enumerate(graph):
        bits += gamma(len(links))
        if not links:
            continue
        reference = random.randint(0, min(WINDOW, page))
        bits += unary(reference)
        rest = set(links)
        if reference:
            runs = [0]  # copied and left out, in turns
            for target in graph[page - reference]:
                if (target in rest) == (len(runs) % 2 == 1):
                    runs[-1] += 1
                else:
                    runs.append(1)
                rest.discard(target)
            runs.pop()  # what the last run is, is known
            bits += gamma(len(runs)) + "".join(gamma(n - (1 if i else 0)) for i, n in enumerate(runs))
        bits += _extra(page, sorted(rest)) if rest else ""
    return int(bits.ljust(-len(bits) % 8 + len(bits), "0"), 2).to_bytes(-(-len(bits) // 8))


def _extra(page: int, rest: list[int]) -> str:
    intervals: list[tuple[int, int]] = []
    begin = 0
    for at in range(1, len(rest) + 1):
        if at == len(rest) or rest[at] != rest[at - 1] + 1:
            if at - begin >= INTERVAL_MIN:
                intervals.append((rest[begin], at - begin))
            begin = at
    bits, behind = gamma(len(intervals)), page
    for number, (left, length) in enumerate(intervals):
        bits += gamma(left - behind - 1) if number else gamma(signed(left - page))
        behind = left + length
        bits += gamma(length - INTERVAL_MIN)
    inside = {target for left, length in intervals for target in range(left, left + length)}
    last = page
    for number, target in enumerate(target for target in rest if target not in inside):
        bits += zeta(target - last - 1) if number else zeta(signed(target - page))
        last = target
    return bits


def a_graph(pages: int, random: Random) -> list[list[int]]:
    """Links to neighbours, to runs of pages, and far away; some pages have none, and nobody links to some."""
    graph: list[list[int]] = []
    for page in range(pages):
        links = {random.randrange(pages) for _ in range(random.choice((0, 1, 2, 8)))}
        first = random.randrange(pages)
        links |= set(range(first, min(pages, first + random.choice((0, 3, 6)))))
        if graph and random.random() < 0.5:
            links |= set(random.sample(graph[-1], len(graph[-1]) // 2))
        graph.append(sorted(links - {page}))
    return graph


class FromOne(TraceWeb):
    """A web that is crawled from one page, from which not all can be reached."""

    @property
    def seeds(self) -> tuple[str, ...]:
        return super().seeds[:1]


@pytest.fixture
def graph(tmp_path: Path) -> list[list[int]]:
    random = Random(3)
    graph = a_graph(400, random)
    (tmp_path / "g.graph").write_bytes(encoded(graph, random))
    (tmp_path / "g.properties").write_text(
        f"graphclass=it.unimi.dsi.webgraph.BVGraph\nnodes={len(graph)}\ncompressionflags=\n"
        f"windowsize={WINDOW}\nminintervallength={INTERVAL_MIN}\nzetak={ZETA_K}\n"
    )
    return graph


def test_a_graph_in_the_format_of_webgraph_is_read(graph: list[list[int]], tmp_path: Path) -> None:
    assert read_graph(tmp_path / "g") == graph


def test_a_graph_that_is_cut_off_or_not_there_is_refused(graph: list[list[int]], tmp_path: Path) -> None:
    path = tmp_path / "g.graph"
    path.write_bytes(path.read_bytes()[:300])
    with pytest.raises(ConfigError, match="damaged"):
        read_graph(tmp_path / "g")
    with pytest.raises(ConfigError, match="cannot read"):
        read_graph(tmp_path / "h")


def test_a_graph_becomes_a_trace_whose_pages_are_all_found_from_its_seeds(
    graph: list[list[int]], tmp_path: Path
) -> None:
    run("from-graph", tmp_path / "g", "--out", tmp_path / "trace", "--host-pages", 20)
    web = TraceWeb(read_trace(tmp_path / "trace"))
    assert (web.pages, web.host_count) == (400, 20)
    assert reachable(graph, [int(seed.rpartition("/p")[2]) for seed in web.seeds]) == list(range(400))


def test_eight_peers_fetch_what_can_be_reached_in_a_graph_and_nothing_else() -> None:
    graph = a_graph(400, Random(4))
    web = FromOne(pages_of_graph(graph, pages_per_host=20, seconds_median=0.25, seed=1))
    crawl = SimulatedCrawl(web, peers=8, seed=7, policy=EVERYTHING)
    crawl.run()
    fetched = sorted(int(r.url.rpartition("/p")[2]) for r in crawl.log if r.status == 200)
    assert fetched == reachable(graph, [0])
    assert len(fetched) < 400
    assert crawl.judge().total == 0
