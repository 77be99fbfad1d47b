"""One seed gives one run in every process: nothing follows from the order of sets of strings."""

from __future__ import annotations

import os
import subprocess
import sys
from itertools import zip_longest
from pathlib import Path
from typing import Final

import pytest

# Runs with faults beside a malicious member, and of an import before a crawl; both in one process, which is
# dear to start. Each writes down every message that its digest is of: one that differs may never do so again.
RUNS: Final = """
import sys
from pathlib import Path
from struct import unpack_from
from xxhash import xxh3_64_hexdigest, xxh3_128
from simulations.faults.fault_run import FaultRun
from simulations.faults.faults import plan_of
from simulations.webs.web import SyntheticWeb
from simulations.world.crawl import SimulatedCrawl
from tests.peers.importing.test_simulated import Import, pages_of

class WrittenHash:
    def __init__(self, name):
        self.hash, self.file = xxh3_128(), Path(sys.argv[1], name).open("w")
        self.hexdigest = self.hash.hexdigest

    def update(self, message):
        self.hash.update(message)
        (at,), digest = unpack_from("<d", message), xxh3_64_hexdigest(message)
        self.file.write(f"{at:.6f} {message[8:208]!r} {len(message)} {digest}\\n")

liar = FaultRun(plan_of(2, 5), has_liar=True)
liar.world._hash = WrittenHash("liar")
print(liar.run().digest)
web = SyntheticWeb(21, 200)
run = SimulatedCrawl(web, peers=3, seed=21)
run.world._hash = WrittenHash("import")
Import(run, pages_of(web)).finish()
run.run()
print(run.world.digest)
"""
LINES_BEFORE: Final = 3  # of the messages that both runs had, and as many of each after them


def digests_under(hash_seed: str, folder: Path) -> list[str]:
    folder.mkdir()
    environment = os.environ | {"PYTHONHASHSEED": hash_seed}
    done = subprocess.run(
        [sys.executable, "-c", RUNS, folder], env=environment, capture_output=True, text=True, check=True
    )
    return done.stdout.split()


def first_difference(one: Path, other: Path) -> list[str]:
    """Where the messages of two runs part, with some before and after that; empty if they do not."""
    lines = [path.read_text().splitlines() for path in (one, other)]
    same = next((n for n, (a, b) in enumerate(zip_longest(*lines)) if a != b), None)
    if same is None:
        return []
    parted = [
        f"{path}:{same + 1}: " + "\n  ".join(each[same : same + LINES_BEFORE])
        for path, each in zip((one, other), lines, strict=True)
    ]
    return [*lines[0][max(0, same - LINES_BEFORE) : same], *parted]


def test_the_same_seeds_give_the_same_runs_under_three_hash_seeds(tmp_path: Path) -> None:
    first, *others = (digests_under(hash_seed, tmp_path / hash_seed) for hash_seed in ("1", "2", "3"))
    for hash_seed, digests in zip(("2", "3"), others, strict=True):
        if digests != first:
            names = ("liar", "import")
            parted = [first_difference(tmp_path / "1" / name, tmp_path / hash_seed / name) for name in names]
            pytest.fail("\n".join((f"{first} and {digests}", *(line for each in parted for line in each))))
    assert [len(digest) for digest in first] == [32, 32]
    assert len(set(first)) == 2


def test_the_messages_at_which_two_runs_part_are_shown(tmp_path: Path) -> None:
    one, other = tmp_path / "one", tmp_path / "other"
    one.write_text("a\nb\nc\nd\ne\n")
    other.write_text("a\nb\nc\nd\n")
    assert first_difference(one, one) == []
    assert first_difference(one, other) == ["b", "c", "d", f"{one}:5: e", f"{other}:5: "]
