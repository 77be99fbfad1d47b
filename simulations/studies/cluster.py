"""Runs of experiments on the workers of a Dask cluster, which others have set up. [io]

The workers need this version of tianmesh, and the files that parameters name (traces, queries) under the same
path.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from importlib.metadata import version
from typing import Final

from mesh.errors import ConfigError
from simulations.studies.study import Parameters, Row, Study

PATIENCE_S: Final = 15.0  # a cluster that is being started has its first workers some seconds later


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
