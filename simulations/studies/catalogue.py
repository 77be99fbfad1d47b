"""All experiments, by name."""

from __future__ import annotations

from typing import Final

from simulations.studies import (
    balance,
    cache,
    freshness,
    orders,
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
from simulations.studies.study import Study

STUDIES: Final[dict[str, Study]] = {
    each.STUDY.name: each.STUDY
    for each in (
        balance,
        speedup,
        partition,
        weights,
        politeness,
        freshness,
        orders,
        search,
        postings,
        cache,
        querylog,
        recovery,
        plan,
    )
}
