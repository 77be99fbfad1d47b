"""Ranks of a mesh: how exact they come to be, what is said for it, and what they take of a peer. [io]

python -m tests.benchmarks.bench_page_ranks mesh 1,3,8      simulated peers with all their actors
python -m tests.benchmarks.bench_page_ranks work 100000     pages of one peer, in this process
"""

from __future__ import annotations

import resource
import sys
import time

import numpy as np

from mesh.actors.ownership import Ownership
from mesh.slots import SlotTable
from peers.link_graph.rank_work import LinkedTo, RankNews, RankWork
from peers.link_graph.wire_messages import SUM_NAME_BYTES, RanksTold
from simulations.link_graphs.drawn_graph import drawn_graph
from simulations.link_graphs.ranks import distance, exact_ranks, tau_of_top
from tests.simulations.test_page_ranks import ToldMesh

SLOTS = 50_000
PAGES_OF_HOST = 500


def mesh(peers: int) -> None:
    """Print L1, tau, and messages and bytes about ranks for each page, from nothing and after changes."""
    told = ToldMesh(peers, seed=90 + peers)
    for what in ("from nothing", "after 5 % changed links"):
        told.rest()
        found, exact = told.found_ranks(), exact_ranks(told.told)
        tallies = [tally for kind, tally in told.world.traffic.sent.items() if kind.startswith("Ranks")]
        sent = sum(tally.messages for tally in tallies) / len(found)
        size = sum(tally.bytes for tally in tallies) / len(found)
        print(
            f"{peers} peers {what}: L1 {distance(found, exact):.5f} tau {tau_of_top(found, exact):.4f} "
            f"messages a page {sent:.2f} bytes a page {size:.0f}"
        )
        told.change_links(0.05)


def work(page_count: int) -> None:
    """Print what one of two peers takes that has the pages of a drawn graph, about half of them its own."""
    view = Ownership("ann", SlotTable({"ann": 100, "bob": 100}, SLOTS, 2), ("ann", "bob"))
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
    if sys.argv[1] == "work":
        work(int(sys.argv[2]))
    else:
        for peers in map(int, sys.argv[2].split(",")):
            mesh(peers)
