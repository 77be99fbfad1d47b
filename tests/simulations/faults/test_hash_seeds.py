"""One seed gives one run in every process: nothing follows from the order of sets of strings."""

from __future__ import annotations

import os
import subprocess
import sys

# Runs with faults, beside a malicious member, and of an import; all in one process, which is dear to start.
RUNS = """
from simulations.faults.fault_run import run_faults
from simulations.webs.web import SyntheticWeb
from simulations.world.crawl import SimulatedCrawl
from tests.peers.importing.test_simulated import Import, pages_of

print(run_faults(9, 3, has_revisits=False).digest)
print(run_faults(2, 5, has_liar=True).digest)
web = SyntheticWeb(21, 200)
run = SimulatedCrawl(web, peers=3, seed=21)
Import(run, pages_of(web)).finish()
print(run.world.digest)
"""


def digests_under(hash_seed: str) -> list[str]:
    environment = os.environ | {"PYTHONHASHSEED": hash_seed}
    done = subprocess.run(
        [sys.executable, "-c", RUNS], env=environment, capture_output=True, text=True, check=True
    )
    return done.stdout.split()


def test_the_same_seeds_give_the_same_runs_under_three_hash_seeds() -> None:
    first, *others = (digests_under(hash_seed) for hash_seed in ("1", "2", "3"))
    assert others == [first, first]
    assert [len(digest) for digest in first] == [32, 32, 32]
    assert len(set(first)) == 3
