"""Repetitions of experiments, and values of their parameters, on all cores or on a Dask cluster. [io]

What is done is kept, a file for each run, in a folder; a sweep that was stopped goes on from there, and one
that is asked for more seeds runs only these. Workers of a cluster, which others have set up, need this
version of tianmesh, and the files that parameters name (traces, queries) under the same path.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from importlib.metadata import version
from itertools import product
from multiprocessing import get_context
from pathlib import Path
from typing import Any, Final

import msgspec
from xxhash import xxh3_64_hexdigest

from mesh.errors import ConfigError
from mesh.process.cores import core_count
from mesh.tables.private_files import put_in_place
from simulations.outcomes.study import Outcome, Parameters, Row, Study
from simulations.studies.catalogue import STUDIES

Progress = Callable[[int, int], None]
PATIENCE_S: Final = 15.0  # a cluster that is being started has its first workers some seconds later


def sweep(
    study: Study,
    parameters: Sequence[Parameters],
    seeds: Iterable[int],
    *,
    jobs: int | None = None,
    scheduler: str = "",
    kept: Path | None = None,
    progress: Progress = lambda done, total: None,
) -> list[Outcome]:
    """Run an experiment with each of some parameters and each of some seeds.

    Args:
      jobs: processes; as many as there are cores by default, none but this one for 1.
      scheduler: address of that of a Dask cluster, whose workers run everything; empty for this machine.
      kept: folder of what is done, or None to keep nothing.
    """
    chosen = tuple(seeds)
    tasks = list(product(range(len(parameters)), chosen))
    found: dict[tuple[int, int], list[Row]] = {}
    if kept is not None:
        kept.mkdir(parents=True, exist_ok=True)
        found = {
            (at, seed): rows
            for at, seed in tasks
            if (rows := _read(_file_of(kept, study, parameters[at], seed), study)) is not None
        }
    missing = [task for task in tasks if task not in found]
    progress(len(found), len(tasks))
    done = (
        run_on_cluster(scheduler, study, parameters, missing)
        if scheduler and missing
        else _run_all(study, parameters, missing, jobs)
    )
    for (at, seed), rows in done:
        found[at, seed] = rows
        if kept is not None:
            _write(_file_of(kept, study, parameters[at], seed), rows)
        progress(len(found), len(tasks))
    return [
        Outcome(study, each, chosen, tuple(tuple(found[at, seed]) for seed in chosen))
        for at, each in enumerate(parameters)
    ]


def varied(base: Parameters, values: Sequence[str]) -> list[tuple[str, Parameters]]:
    """All combinations of values of parameters, each with a name that says which it is.

    Args:
      values: as `delay=0,2,10`; what a parameter has with commas itself, with semicolons between.

    Raises:
      ConfigError: there is no such parameter, or it cannot have such a value.
    """
    choices = []
    for each in values:
        name, is_given, listed = each.partition("=")
        if not is_given or name not in base.__struct_fields__:
            known = ", ".join(base.__struct_fields__)
            raise ConfigError(f"--vary wants NAME=VALUE,VALUE with one of {known}; not {each!r}")
        choices.append([(name, value) for value in listed.split(";" if ";" in listed else ",")])
    named = []
    for combination in product(*choices):
        fields = msgspec.to_builtins(base) | dict(combination)
        try:
            parameters = msgspec.convert(fields, type(base), strict=False)
        except msgspec.ValidationError as error:
            raise ConfigError(f"--vary: {error}") from error
        named.append((", ".join(f"{name}={value}" for name, value in combination), parameters))
    return named


def _run_all(
    study: Study, parameters: Sequence[Parameters], tasks: Sequence[tuple[int, int]], jobs: int | None
) -> Iterable[tuple[tuple[int, int], list[Row]]]:
    workers = min(jobs or core_count(), len(tasks))
    if workers <= 1 or study.name not in STUDIES:
        for at, seed in tasks:
            yield (at, seed), study.run(parameters[at], seed)
        return
    with ProcessPoolExecutor(workers, mp_context=get_context("spawn")) as pool:
        futures: dict[Future[list[Row]], tuple[int, int]] = {
            pool.submit(_run, study.name, parameters[at], seed): (at, seed) for at, seed in tasks
        }
        try:
            for future in as_completed(futures):
                yield futures[future], future.result()
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def _run(name: str, parameters: Parameters, seed: int) -> list[Row]:
    return STUDIES[name].run(parameters, seed)


def _file_of(folder: Path, study: Study, parameters: Parameters, seed: int) -> Path:
    """A run is the same again when study, parameters, seed and version are, and a trace that it names."""
    given = msgspec.to_builtins(parameters)
    names = "trace", "queries", "times", "measured"
    files = [Path(given[name]) for name in names if isinstance(given.get(name), str)]
    stamps = [(str(path), path.stat().st_size, path.stat().st_mtime_ns) for path in files if path.is_file()]
    what = msgspec.json.encode((study.name, version("tianmesh"), given, stamps))
    return folder / f"{study.name}-{xxh3_64_hexdigest(what)}-{seed}.json"


def _read(path: Path, study: Study) -> list[Row] | None:
    """Return the rows of a run, or None where they are missing, broken, or of other columns."""
    try:
        rows: list[dict[str, Any]] = msgspec.json.decode(path.read_bytes(), type=list[dict[str, Any]])
    except (OSError, msgspec.DecodeError):
        return None
    return rows if {name for row in rows for name in row} == set(study.columns) else None


def _write(path: Path, rows: list[Row]) -> None:
    """Write whole or not at all: after a stop in the middle, the run is missing."""
    part = path.with_suffix(".part")
    part.write_bytes(msgspec.json.encode(rows))
    put_in_place(part, path)


def run_on_cluster(
    address: str,
    study: Study,
    parameters: Sequence[Parameters],
    tasks: Sequence[tuple[int, int]],
    *,
    patience_s: float = PATIENCE_S,
) -> Iterable[tuple[tuple[int, int], list[Row]]]:
    """Run an experiment with parameters and seeds; yield the results in the order of getting done.

    Args:
      address: of the scheduler, such as `tcp://10.0.0.7:8786`.
      tasks: place among the parameters, and seed.
      patience_s: until the scheduler has answered, and then until there is a worker.

    Raises:
      ConfigError: Dask is not installed, there is no scheduler at the address, it has no workers, or these
        have another version or die.
    """
    try:
        from distributed import Client, KilledWorker, as_completed
    except ImportError as error:
        raise ConfigError(
            "--scheduler needs Dask: pip install distributed, or pipx inject tianmesh distributed"
        ) from error
    try:
        client = Client(address, timeout=patience_s)
    except (OSError, ValueError) as error:
        raise ConfigError(f"no Dask scheduler answers at {address}: {error}; give another address") from error
    with client:
        try:
            client.wait_for_workers(1, timeout=patience_s)
        except TimeoutError as error:
            raise ConfigError(f"the scheduler at {address} has no workers; start some") from error
        check_versions(client.run(_own_version, on_error="return"))
        futures = {
            client.submit(study.run, parameters[at], seed, pure=False): (at, seed) for at, seed in tasks
        }
        try:
            for future in as_completed(futures):
                yield futures[future], future.result()
        except KilledWorker as error:
            raise ConfigError(
                f"workers of {address} have died: {error}; see what they have logged"
            ) from error
        finally:
            client.cancel(list(futures))


def _own_version() -> str:
    return version("tianmesh")


def check_versions(versions: dict[str, str | Exception]) -> None:
    for worker, other in versions.items():
        if other != _own_version():
            raise ConfigError(f"worker {worker} has not tianmesh {_own_version()}: {other}; install it there")
