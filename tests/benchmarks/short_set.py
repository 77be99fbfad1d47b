"""The figures that must not slide unseen: run before a large change and after it, kept in HISTORY.md.

    python -m tests.benchmarks.short_set                        # of this checkout
    python -m tests.benchmarks.short_set --checkout ../before   # of another one, with a .venv of its own

Prints one column of the table in HISTORY.md. Everything is driven through commands, so that the same script
measures checkouts of different shape, and counted in processor time where the load of the machine would
matter. About 15 minutes; TIANMESH_BENCH_WEB (see `real_documents`) is needed for the index's figures.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import resource
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from datetime import date
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final
from urllib.request import Request, urlopen

CRAWL: Final = ["sim", "crawl", "--peers", "8", "--seed", "7", "--pages", "20000", "--json"]
FAULTS: Final = ["sim", "faults", "--seeds", "15", "--first-seed", "1000", "--peers", "3..9", "--json"]
DOCUMENTS: Final = "5000"  # for the index: a small mesh's peer
GATEWAY: Final = "127.0.0.1:8017"  # of a first peer, as checkouts of any time have it
IDLE_S: Final = 20.0  # after which an idle peer is weighed

Figures = Iterator[tuple[str, str]]


class Checkout:
    """A checkout of this project with its environment."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder.resolve()
        self.bin = self.folder / ".venv" / "bin"

    def tianmesh(self, *arguments: str) -> str:
        return self._output([str(self.bin / "tianmesh"), *arguments])

    def benchmark(self, name: str, **variables: str) -> str:
        path = f"tests/benchmarks/{name}.py"
        command = [str(self.bin / "pytest"), path, "--benchmark-enable", "-s", "--timeout=0"]
        return self._output(command, **variables)

    def commit(self) -> str:
        return self._output(["git", "rev-parse", "--short", "HEAD"]).strip()

    def _output(self, command: list[str], **variables: str) -> str:
        environment = os.environ | variables
        done = subprocess.run(command, cwd=self.folder, env=environment, capture_output=True, text=True)
        if done.returncode:
            raise SystemExit(f"{' '.join(command)} ended with {done.returncode}:\n{done.stdout}{done.stderr}")
        return done.stdout


def simulated_crawl(checkout: Checkout) -> Figures:
    before = _children_cpu_s()
    checkout.tianmesh(*CRAWL)
    yield "simulated crawl, 20,000 pages, 8 peers, CPU s", f"{_children_cpu_s() - before:.1f}"


def simulated_faults(checkout: Checkout) -> Figures:
    result = json.loads(checkout.tianmesh(*FAULTS))
    yield "15 simulated meshes with faults, events/s", f"{result['events_per_second']:,.0f}"


def whole_path(checkout: Checkout) -> Figures:
    printed = checkout.benchmark("bench_whole_path")
    rates = _found(r"^tianmesh ([\d ]+) pages", printed).split()
    yield "whole path, pages/CPU-s (best of 3)", max(rates, key=int)
    yield "the same beside Scrapy, links only", _found(r"^ratio +([\d.]+)", printed)
    if share := re.search(r"^of them +([\d.]+)", printed, re.MULTILINE):  # older checkouts do not tell
        yield "the same, of its parts alone", share[1]


def index(checkout: Checkout) -> Figures:
    printed = checkout.benchmark("bench_index", BENCH_DOCUMENTS=DOCUMENTS)
    of = f"index of {int(DOCUMENTS):,} documents"
    for name in ("OR", "AND", "phrase"):
        found = _found(rf"^ +{name} +p50 .*= +([\d.]+) ", printed)
        yield f"{of}: {name}, p50, times tantivy's", found
    yield f"{of}: indexing from text, documents/s", _found(r"indexing from text +(\d+)", printed)


def idle_peer(checkout: Checkout) -> Figures:
    """Weigh a peer that has nothing, and how long it takes until it is ready."""
    with TemporaryDirectory() as folder:
        command = [str(checkout.bin / "tianmesh"), "up", "--peers", "1", "--data", folder, "--json"]
        began = time.monotonic()
        lab = subprocess.Popen(command, cwd=checkout.folder)
        try:
            pid = _pid_of_peer(Path(folder))
            yield "first answer of `up`, s", f"{time.monotonic() - began:.1f}"
            time.sleep(IDLE_S)
            private, resident = _memory_of(pid)
            yield "idle peer, private MB", f"{private / 1e6:.0f}"
            yield "idle peer, resident MB", f"{resident / 1e6:.0f}"
        finally:
            lab.terminate()
            lab.wait()


def _pid_of_peer(folder: Path) -> int:
    """The process of the lab's peer, once its gateway answers."""
    ends_at = time.monotonic() + 180
    while time.monotonic() < ends_at:
        with suppress(OSError, ValueError, IndexError), urlopen(_status_wanted(folder)) as answer:
            pid = int(json.load(answer)["peers"][0]["pid"])
            if pid:
                return pid
        time.sleep(0.1)
    raise SystemExit("the peer did not answer in three minutes")


def _status_wanted(folder: Path) -> Request:
    """Checkouts from before there were tokens tell everybody."""
    file = folder / "peer-1" / "admin.token"
    rights = {"Authorization": f"Bearer {file.read_text().strip()}"} if file.exists() else {}
    return Request(f"http://{GATEWAY}/api/status", headers=rights)


def _memory_of(pid: int) -> tuple[int, int]:
    """Bytes of memory that are this process's alone, and that are resident."""
    lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()[1:]
    sizes = {name: int(size.split()[0]) * 1024 for name, size in (line.split(":") for line in lines)}
    return sizes["Private_Dirty"] + sizes["Private_Clean"], sizes["Rss"]


MEASUREMENTS: Final[tuple[Callable[[Checkout], Figures], ...]] = (
    simulated_crawl,
    simulated_faults,
    whole_path,
    index,
    idle_peer,
)


def _found(pattern: str, text: str) -> str:
    match = re.search(pattern, text, re.MULTILINE)
    if match is None:
        raise SystemExit(f"nothing like {pattern!r} was printed:\n{text}")
    return match[1]


def _children_cpu_s() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def main() -> None:
    """Print the column."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--checkout", type=Path, default=Path(), help="whose figures; default: this one's")
    parser.add_argument("--only", nargs="*", help="names of measurements")
    options = parser.parse_args()
    checkout = Checkout(options.checkout)
    print(f"| | {date.today()}, {checkout.commit()} |\n|---|---|")
    for measure in MEASUREMENTS:
        if not options.only or measure.__name__ in options.only:
            for name, value in measure(checkout):
                print(f"| {name} | {value} |", flush=True)


if __name__ == "__main__":
    main()
