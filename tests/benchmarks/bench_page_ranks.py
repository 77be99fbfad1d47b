"""Ranks of a mesh: how exact they come to be, what is said for it, and what they take of a peer. [io]

python -m tests.benchmarks.bench_page_ranks mesh 1,3,8      simulated peers with all their actors
python -m tests.benchmarks.bench_page_ranks mesh 3 --graph cnr-2000 --pages 100000
    the same on a graph of WebGraph, or the folder of an export; of many pages the first ones
python -m tests.benchmarks.bench_page_ranks work 100000     pages of one peer, in this process
"""

from __future__ import annotations

import argparse
import resource
import time
from pathlib import Path

import numpy as np
from msgspec.structs import replace

from mesh.actors.ownership import Ownership
from mesh.slots import SlotTable
from peers.link_graph.rank_work import LinkedTo, RankNews, RankWork
from peers.link_graph.wire_messages import SUM_NAME_BYTES, RanksTold
from peers.policy.graph_rules import LINKS_OF_PAGE_MAX
from simulations.link_graphs.drawn_graph import DrawnGraph, drawn_graph
from simulations.link_graphs.graph import part_of
from simulations.link_graphs.graph_files import read_named_graph
from simulations.link_graphs.ranks import distance, exact_ranks, tau_of_top
from tests.simulations.test_link_graph import SLOTS
from tests.simulations.test_page_ranks import RANKED, ToldMesh

SLOTS_OF_PEER = 50_000
SLOTS_OF_WEB = 1_024  # of a graph of some hundred hosts: most of them have their own
PAGES_OF_HOST = 500
LINKS_MAX = 10_000_000


def mesh(peers: int, graph: DrawnGraph | None) -> None:
    """Print L1, tau, and messages and bytes about ranks for each page, from nothing and after changes.

    Between them 5 % of the links change, and while that is told a peer dies as by kill -9, and starts again.
    """
    rules = replace(RANKED, ranks_links_max=LINKS_MAX, links_per_page=LINKS_OF_PAGE_MAX)
    n_slots = SLOTS if graph is None else SLOTS_OF_WEB
    told = ToldMesh(peers, seed=90 + peers, graph=graph, rules=rules, slot_count=n_slots)
    n_pages = len(told.urls)
    print(f"{peers} peers, {n_pages} pages, {told.told.link_count} links", flush=True)
    for what in ("from nothing", "after kill -9 and 5 % changed links"):
        told.rest()
        found, exact = told.found_ranks(), exact_ranks(told.told)
        tallies = [tally for kind, tally in told.world.traffic.sent.items() if kind.startswith("Ranks")]
        sent = sum(tally.messages for tally in tallies) / n_pages
        size = sum(tally.bytes for tally in tallies) / n_pages
        used = resource.getrusage(resource.RUSAGE_SELF)
        print(
            f"  {what}: L1 {distance(found, exact):.5f} tau {tau_of_top(found, exact):.4f} "
            f"messages a page {sent:.3f} bytes a page {size:.0f}; {told.world.now:.0f} virtual s, "
            f"{used.ru_utime + used.ru_stime:.0f} CPU s, {used.ru_maxrss / 1024:.0f} MiB at most",
            flush=True,
        )
        if what == "from nothing":
            changed = told.change_links(0.05)
            victim = told.machines[-1]
            told.pass_time(3.0)
            victim.crash(is_power_loss=True)
            told.pass_time(20.0)
            victim.start()
            told.pass_time(40.0)
            told.tell(changed)  # what an owner had not stored when it died is visited again
            told.pass_time(5.0)


def graph_in(path: Path, n_pages: int) -> DrawnGraph:
    """Read the first pages of a graph with the links between them; in one without names 500 are a host."""
    named = read_named_graph(path)
    is_in = np.arange(named.graph.page_count) < n_pages
    graph = part_of(named.graph, is_in)
    pages = np.arange(graph.page_count)
    return DrawnGraph(graph, named.host[is_in] if named.urls else pages // PAGES_OF_HOST)


def work(page_count: int) -> None:
    """Print what one of two peers takes that has the pages of a drawn graph, about half of them its own."""
    view = Ownership("ann", SlotTable({"ann": 100, "bob": 100}, SLOTS_OF_PEER, 2), ("ann", "bob"))
    graph, host = drawn_graph(page_count, page_count // PAGES_OF_HOST, 1)
    slot = np.array([view.slot_of(f"h{number}.test") for number in range(int(host.max()) + 1)])[host]
    targets = np.zeros(graph.link_count, np.dtype([("slot", ">u2"), ("name", ">i8"), ("rest", "V12")]))
    targets["slot"], targets["name"] = slot[graph.target], graph.target
    starts, packed = graph.starts, targets.tobytes()
    news = RankNews(view)
    for page in range(page_count):
        row = packed[22 * int(starts[page]) : 22 * int(starts[page + 1])]
        news.pages[int(slot[page]), page] = LinkedTo(f"http://h{host[page]}.test/{page}", row)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    ranks = RankWork("ann", 1 << 40)
    for what in ("all pages", "nothing new", "1 % of the pages without links"):
        began = time.process_time()
        outcome = ranks.run(news, 0.0)
        took = time.process_time() - began
        told = (message for _, message in outcome.messages if isinstance(message, RanksTold))
        n_sums = sum(len(part.names) // SUM_NAME_BYTES for each in told for part in each.parts)
        grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
        view_of = outcome.view
        print(
            f"{what}: {view_of.n_pages} pages {view_of.n_links} links {took:.2f} CPU s, {n_sums} sums told, "
            f"{grown / 1024:.0f} MiB more ({1024 * grown / max(1, view_of.n_links):.0f} bytes a link)"
        )
        news = RankNews()
        if what == "nothing new":
            some = range(0, page_count, 100)
            news.pages.update({(int(slot[page]), page): LinkedTo("http://a.test/", b"") for page in some})


if __name__ == "__main__":
    arguments = argparse.ArgumentParser()
    arguments.add_argument("what", choices=("mesh", "work"))
    arguments.add_argument("numbers", help="of peers, by comma; of pages")
    arguments.add_argument("--graph", type=Path)
    arguments.add_argument("--pages", type=int, default=1 << 40)
    given = arguments.parse_args()
    if given.what == "work":
        work(int(given.numbers))
    else:
        read = graph_in(given.graph, given.pages) if given.graph else None
        for n_peers in map(int, given.numbers.split(",")):
            mesh(n_peers, read)
