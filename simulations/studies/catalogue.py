"""All experiments, by name."""

from __future__ import annotations

from typing import Any, Final

from simulations.outcomes.study import Study
from simulations.studies import (
    balance,
    cache,
    churn,
    demand,
    freshness,
    machines,
    multicast,
    orders,
    pagerank,
    partition,
    plan,
    politeness,
    postings,
    querylog,
    recovery,
    search,
    speedup,
    weights,
)

STUDIES: Final[dict[str, Study]] = {
    each.STUDY.name: each.STUDY
    for each in (
        balance,
        speedup,
        machines,
        partition,
        churn,
        weights,
        politeness,
        freshness,
        orders,
        demand,
        pagerank,
        search,
        multicast,
        postings,
        cache,
        querylog,
        recovery,
        plan,
    )
}

# Parameters with few of everything, for a look at all experiments in a minute or two; the defaults are those
# of the sources.
QUICK: Final[dict[str, dict[str, Any]]] = {
    "balance": {"peers": "2,4", "pages": 2_000, "fetches": 2},
    "speedup": {"peers": "1,2,4", "pages": 2_000, "fetches": 2},
    "machines": {"peers": "1,4", "pages": 600},
    "partition": {"pages": 2_000, "slots": 5_000, "storm": 2},
    "churn": {"peers": 6, "slots": 30, "days": 3.0},
    "weights": {"peers": 3, "slow": 1, "pages": 60_000, "rate": 20.0, "minutes": 20, "threshold": 1_000},
    "politeness": {"peers": "1,16", "delays": "0,10", "hosts": 500, "pages": 20_000},
    "freshness": {"pages": 1_000, "days": 120, "periods": "5,20", "policies": "fixed,cho"},
    "orders": {"pages": 500, "shares": "0.1,0.2", "orders": "breadth,focused"},
    "demand": {"pages": 200, "pages_per_host": 5.0, "shares": "0.3", "changing": 100, "pause": 120.0},
    "pagerank": {"peers": "1,3", "pages": 1_500, "hosts": 10},
    "search": {"peers": "1,10", "queries": 1_000},
    "multicast": {"peers": "3,12", "queries": 3, "documents": 20},
    "postings": {"documents": 200, "at_once": "1,100", "drawn": 20_000},
    "cache": {"count": 3_000, "distinct": 3_000, "sizes": "50,200", "documents": 200, "shares": "0.05,0.2"},
    "querylog": {"count": 20_000, "distinct": 5_000},
    "recovery": {"least": 3, "most": 3},
    "plan": {"pages": 1e5, "hosts": 2_000, "hours": 24.0},
}
