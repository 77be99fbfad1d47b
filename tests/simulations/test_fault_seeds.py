"""The mesh under faults from many seeds: some fixed ones, and some that nobody has seen before."""

from __future__ import annotations

import os

from simulations.fault_runs import Sizes, run_all
from simulations.report import FAILURES_SHOWN
from simulations.results import FaultsResult

FIXED = range(1, 51)
FRESH = 20


def told(result: FaultsResult) -> str:
    """What is wrong and how to see it again."""
    shown = result.failures[:FAILURES_SHOWN]
    return "\n".join(f"{failure.replay}\n  {failure.violations}" for failure in shown)


def test_fifty_fixed_seeds_pass() -> None:
    result = run_all(FIXED, Sizes(3, 9))
    assert not result.failures, told(result)
    assert result.passed == len(FIXED)
    assert result.searches > 1_000


# FIXME: of 260 seeds from 500 on, four fail: 517 (4 peers) and 590 (5) claim a page to be found too early,
# 591 (5) lacks copies at the end, 750 (3) asks a host for its robots.txt too early. Until they are understood
# a few fresh ones may fail as well; what fails is told. Three of twenty would be something new.
FRESH_FAILURES_MAX = 2


def test_nearly_all_of_twenty_fresh_seeds_pass() -> None:
    first = 1_000_000 + int.from_bytes(os.urandom(4), "big")
    print(f"fresh seeds from {first}")
    result = run_all(range(first, first + FRESH), Sizes(3, 9))
    if result.failures:
        print(told(result))
    assert len(result.failures) <= FRESH_FAILURES_MAX, told(result)
