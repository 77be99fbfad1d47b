"""One seed gives one run in every process: nothing follows from the order of sets of strings."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

FAULTS = (
    "from simulations.faults.fault_run import run_faults; print(run_faults(9, 3, has_revisits=False).digest)"
)
LIAR = "from simulations.faults.fault_run import run_faults; print(run_faults(2, 5, has_liar=True).digest)"

IMPORT = """
from simulations.world.crawl import SimulatedCrawl
from simulations.webs.web import SyntheticWeb
from tests.peers.importing.test_simulated import Import, pages_of

web = SyntheticWeb(21, 200)
run = SimulatedCrawl(web, peers=3, seed=21)
Import(run, pages_of(web)).finish()
print(run.world.digest)
"""


def digest_of(code: str, hash_seed: str) -> str:
    environment = os.environ | {"PYTHONHASHSEED": hash_seed}
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True
    )
    return done.stdout.strip()


@pytest.mark.parametrize("code", [FAULTS, LIAR, IMPORT], ids=["faults", "liar", "import"])
def test_the_same_seed_gives_the_same_run_under_three_hash_seeds(code: str) -> None:
    digests = {digest_of(code, hash_seed) for hash_seed in ("1", "2", "3")}
    assert len(digests) == 1
    assert len(digests.pop()) == 32
