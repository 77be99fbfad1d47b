"""PageRank by power iteration, and how like two rankings are."""

from __future__ import annotations

from typing import Final

import numpy as np

from mesh.errors import ConfigError
from peers.link_graph.slot_ranks import DAMPING
from simulations.link_graphs.graph import LinkGraph
from simulations.traces.columns import Floats

EXACT: Final = 1e-12  # of a rank, in the last iteration, in the mean


def exact_ranks(graph: LinkGraph, weight: Floats | None = None) -> Floats:
    """Rank all pages by the formula of `peers.link_graph.slot_ranks`; float64, the mean at most 1.

    A page without links gives nothing; links of a page to itself do not count.

    Args:
      weight: of each link, above 0; a page gives by weights, `W_j = (1 - d) + d sum_i w_ij W_i / sum_k w_ik`.
        None for equal ones.
    """
    is_other = graph.source != graph.target
    source, target = graph.source[is_other], graph.target[is_other]
    weights = np.ones(len(source)) if weight is None else weight[is_other]
    share = DAMPING * weights / np.bincount(source, weights, graph.page_count)[source]
    ranks = np.full(graph.page_count, 1.0 - DAMPING)
    while True:
        before = ranks
        given = np.bincount(target, before[source] * share, graph.page_count)
        ranks = (1.0 - DAMPING + given).astype(np.float64, copy=False)
        if np.abs(ranks - before).sum() <= EXACT * graph.page_count:
            return ranks


def distance(ranks: Floats, exact: Floats) -> float:
    """Return the L1 distance of two rankings, as a share of all rank."""
    return float(np.abs(ranks - exact).sum() / exact.sum())


def tau_of_top(ranks: Floats, exact: Floats, n_top: int = 1_000) -> float:
    """Return Kendall's tau-b of the pages that are first in an exact ranking; 1 for the same order.

    Raises:
      ConfigError: scipy is not installed.
    """
    try:
        from scipy.stats import kendalltau
    except ImportError as error:
        raise ConfigError("Kendall's tau needs scipy: pip install scipy") from error
    top = np.argsort(-exact, kind="stable")[:n_top]
    return float(kendalltau(ranks[top], exact[top]).statistic)
