"""Processor time of a gateway for a search, against the number of peers that it asks. [io]

    python -m tests.benchmarks.bench_multicast 10 30 100 300 1000:5
    python -m tests.benchmarks.bench_multicast direct 300 1000:5

Of the mesh of `sim multicast`, in one process: decoding, the gateway's actors and encoding, without sockets
and without its own index. Medians of ten searches: all well; a tenth slow and a twentieth dead. Behind the
number of peers, that of documents of each; `direct` has no peer aggregate answers for the gateway.
"""

from __future__ import annotations

import gc
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from statistics import median

from peers.gateway.search.shared_state import AGGREGATED_FROM
from simulations.world.searched_mesh import SearchedMesh, SlowPeers, made_up_documents, made_up_queries

DOCUMENTS = 50  # of each peer
QUERIES = 10


class ProcessorMeter:
    """Measures milliseconds of this thread."""

    def __init__(self) -> None:
        self._depth = 0
        self._seconds = 0.0

    @contextmanager
    def running(self) -> Iterator[None]:
        began = time.thread_time()
        self._depth += 1
        try:
            yield
        finally:
            self._depth -= 1
            if not self._depth:
                self._seconds += time.thread_time() - began

    def take(self) -> float:
        seconds, self._seconds = self._seconds, 0.0
        return seconds * 1e3


def main() -> None:
    queries = made_up_queries(QUERIES, 1)
    sizes = [size for size in sys.argv[1:] if size != "direct"]
    aggregated_from = AGGREGATED_FROM if sizes == sys.argv[1:] else sys.maxsize
    for size in sizes:
        peers, _, documents = size.partition(":")
        n = int(peers)
        made_up = made_up_documents(int(documents or DOCUMENTS) * n, 1)
        for slow, dead in ((0.0, 0.0), (0.1, 0.05)):
            mesh = SearchedMesh(
                made_up,
                n,
                seed=1,
                slow=SlowPeers(slow),
                meter=ProcessorMeter(),
                aggregated_from=aggregated_from,
            )
            mesh.kill(dead)
            mesh.search("first")  # what is loaded and worked out once
            gc.freeze()  # or the collector goes through all other peers in the time of the gateway
            took = [mesh.search(text)[1] for text in queries]
            print(
                f"{n} peers, {slow:.0%} slow, {dead:.0%} dead: {median(each.work for each in took):.1f} ms, "
                f"{median(each.messages for each in took):.0f} messages, "
                f"{median(each.n_bytes for each in took) / 1e3:.0f} kB",
                flush=True,
            )


if __name__ == "__main__":
    main()
