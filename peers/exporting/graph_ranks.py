"""The PageRank of all pages of a mesh that ranks them, from the files of its peers.

Running peers come to ranks by what they tell each other, and hold them in memory alone. The links that they
go by are in the rows of the link graph, of which each peer has those of its slots. All rows together, as of
one slot that has all pages, give by the same arithmetic (`slot_ranks`) the ranks that the mesh has when it is
at rest, but for its tolerance. How many links a peer has room for in memory is no limit here.

All of it is in memory: some 30 bytes a link, and 500 a page.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from mesh.domains import registrable_domain
from mesh.urls import fingerprint, host_of
from peers.exporting.peer_files import PeerFiles
from peers.link_graph.rank_work import links_in, name_of_mark
from peers.link_graph.slot_ranks import DAMPING, PageLinks, RankSums, SlotRanks
from peers.link_graph.source_row import SourceRow

Floats = npt.NDArray[np.float64]

EXACT: Final = 1e-9  # of a rank, in the last sweep, in the mean


class HostRanks(NamedTuple):
    """Of each host, the sums of the ranks of the visited pages of it, and of its registrable domain."""

    of_host: Floats
    of_domain: Floats


class MeshRanks:
    """The ranks of all pages that a mesh has visited, and of those that they link to."""

    def __init__(self, rows: Iterable[SourceRow]) -> None:
        """Rank all pages.

        Args:
          rows: of each page the newest.
        """
        slot = SlotRanks(0)
        hosts: dict[str, list[int]] = {}
        for row in rows:
            names = links_in(row.targets).names
            page = name_of_mark(fingerprint(row.url))
            slot.link(page, PageLinks(np.zeros_like(names), names))
            hosts.setdefault(host_of(row.url), []).append(page)
        slot.settle(EXACT)
        self._ranks: RankSums = slot.ranks
        self._of_host = {host: float(self._of(pages).sum()) for host, pages in hosts.items()}
        self._of_domain: dict[str, float] = {}
        for host, rank in self._of_host.items():
            domain = registrable_domain(host)
            self._of_domain[domain] = self._of_domain.get(domain, 0.0) + rank

    def of_pages(self, urls: Iterable[str]) -> Floats:
        """Return the ranks of pages; of those that the mesh knows no links of or to the least, 1 - d."""
        return self._of([name_of_mark(fingerprint(url)) for url in urls])

    def of_hosts(self, hosts: Sequence[str]) -> HostRanks:
        """Return the ranks of hosts; 0 of those without a visited page."""
        of_domain = (self._of_domain.get(registrable_domain(host), 0.0) for host in hosts)
        return HostRanks(
            np.array([self._of_host.get(host, 0.0) for host in hosts]), np.fromiter(of_domain, np.float64)
        )

    def _of(self, pages: Sequence[int]) -> Floats:
        names, values = self._ranks
        wanted = np.array(pages, np.int64)
        if not len(names):
            return np.full(len(wanted), 1.0 - DAMPING)
        at = np.minimum(np.searchsorted(names, wanted), len(names) - 1)
        return np.where(names[at] == wanted, values[at], 1.0 - DAMPING)


def ranks_of_mesh(peers: Iterable[PeerFiles]) -> MeshRanks:
    """Rank the pages of a mesh by the rows of the link graph that these peers have."""
    newest: dict[bytes, SourceRow] = {}
    for peer in peers:
        for mark, row in peer.link_rows():
            known = newest.get(mark)
            if known is None or row.telling > known.telling:
                newest[mark] = row
    return MeshRanks(newest.values())
