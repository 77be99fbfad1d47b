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


def test_ten_fixed_seeds_pass_on_a_web_that_does_not_change() -> None:
    result = run_all(range(1, 11), Sizes(3, 6), has_revisits=False)
    assert not result.failures, told(result)


def test_seeds_that_once_failed_pass() -> None:
    # Disks full in turn: a standby that could not keep a page answered as if it had it (517, 591), or took
    # the slot over (1409); a slot of which all copies lacked something was waited for for ever (2071); a
    # standby compared its slot before the owner had the page that it had declined (10).
    # Drained down to one peer: its copy was the only one, and it died (1278).
    for seed, peers in ((10, 3), (517, 4), (591, 5), (1278, 4), (1409, 4), (2071, 5)):
        result = run_all(range(seed, seed + 1), Sizes(peers, peers), has_revisits=False)
        assert not result.failures, told(result)


def test_seeds_in_which_a_clock_set_back_made_the_older_version_rule_pass() -> None:
    for seed, peers in ((28, 4), (33, 7), (39, 8), (47, 8), (53, 7), (55, 7)):
        result = run_all(range(seed, seed + 1), Sizes(peers, peers))
        assert not result.failures, told(result)


def test_twenty_fresh_seeds_pass() -> None:
    first = 1_000_000 + int.from_bytes(os.urandom(4), "big")
    print(f"fresh seeds from {first}")
    result = run_all(range(first, first + FRESH), Sizes(3, 9))
    assert not result.failures, told(result)
