"""Many fresh seeds, half of them beside a malicious member; goes on where it was stopped. [io]

A file has what came of each run, a line of JSON each, behind one that says which seeds there are. By it the
same command does, after Ctrl-C or a crash, those that are missing; a line that was cut off is a run missing.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

import msgspec

from mesh.errors import ConfigError
from simulations.faults.fault_runs import RunTask, Sizes, outcomes_of
from simulations.faults.run_extras import RunExtras

FRESH_FROM: Final = 1_000_000  # seeds below are those of tests


class Campaign(msgspec.Struct, frozen=True):
    """Which seeds are run: those that follow the first, on so many peers."""

    first_seed: int
    seeds: int
    least: int
    most: int

    def orders(self) -> Iterator[RunTask]:
        sizes = Sizes(self.least, self.most)
        for seed in range(self.first_seed, self.first_seed + self.seeds):
            yield RunTask(seed, sizes.of(seed), extras=RunExtras(has_liar=bool(seed % 2)))


class Finished(msgspec.Struct, frozen=True):
    """The outcome of one run."""

    seed: int
    replay: str
    violations: tuple[str, ...]

    def describe(self) -> str:
        return f"seed {self.seed}: " + ("passed" if not self.violations else f"FAILED  {self.replay}")


class Soak:
    """The runs of a file."""

    def __init__(self, path: Path, seeds: int, sizes: Sizes) -> None:
        """Take up the file, or draw seeds that nobody has seen and begin one."""
        self._path = path
        if not path.exists():
            first_seed = FRESH_FROM + int.from_bytes(os.urandom(4))
            self._append(Campaign(first_seed, seeds, sizes.least, sizes.most))
        first, *lines = path.read_bytes().splitlines() or [b""]
        try:
            self.campaign = msgspec.json.decode(first, type=Campaign)
        except msgspec.DecodeError as error:
            raise ConfigError(f"{path} is no file of a soak: {error}") from None
        self.finished = {each.seed: each for each in _whole(lines)}

    @property
    def failures(self) -> list[Finished]:
        return [each for _, each in sorted(self.finished.items()) if each.violations]

    def run(self, tell: Callable[[Finished], None], workers: int | None = None) -> None:
        """Carry out the missing runs, and note each as soon as it is done."""
        missing = [order for order in self.campaign.orders() if order.seed not in self.finished]
        for outcome in outcomes_of(missing, workers):
            done = Finished(outcome.seed, outcome.replay, outcome.violations)
            self._append(done)
            self.finished[done.seed] = done
            tell(done)

    def _append(self, line: msgspec.Struct) -> None:
        with self._path.open("a+b") as file:
            size = file.seek(0, os.SEEK_END)
            file.seek(max(0, size - 1))
            is_cut_off = file.read(1) not in (b"", b"\n")
            file.write(b"\n" * is_cut_off + msgspec.json.encode(line) + b"\n")


def _whole(lines: list[bytes]) -> Iterator[Finished]:
    for line in lines:
        try:
            yield msgspec.json.decode(line, type=Finished)
        except msgspec.DecodeError:
            pass  # cut off; its run is done again
