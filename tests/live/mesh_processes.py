"""A mesh whose peers a test starts, kills, pauses and restarts one by one. [io]

`tianmesh up` ends when it loses peers, and starts all at once; here each is a process of the test, as on
machines of their own. They read their standard input, so that none outlives the test.
"""

from __future__ import annotations

import json
import shutil
import signal
import subprocess
import time
from base64 import b32encode
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from random import Random
from types import MappingProxyType
from typing import Any, Final

import numpy as np

from bootstrap.provision import (
    BOOTSTRAP,
    MeshFolder,
    Settings,
    create_mesh,
    keep_serial,
    ports_from,
    write_bootstrap,
    write_peer,
)
from mesh.client.admin_token import tokens_for
from mesh.client.gateway_client import GatewayClient, GatewayError
from mesh.config import WEIGHT_DEFAULT, DoorConfig
from mesh.keys.key_file import load_identity
from mesh.slot_ranking import rank_peers
from mesh.slots import slot_of, slot_table
from tests.live.lab_process import COMMAND, PATIENCE, START_S, tianmesh, wait_for
from tests.live.loaded_processes import Popen
from tests.live.place import Place
from tests.live.web import ServedWeb
from tests.patience import PATIENCE_S

AGENT: Final = "tianmesh-test/0.1"  # and the name of the peer, so that the log of the web tells them apart
PORT: Final = 7_400  # of a peer with an address of its own, which a restart must not change
DRAWS: Final = 32  # of keys, of which the best are taken


class Mesh:
    """Processes by number: the peers from 1 on, and 0 for the bootstrap node if there is one."""

    def __init__(
        self,
        folder: Path,
        web: ServedWeb,
        places: Sequence[Place],
        *,
        replicas: int,
        delay_s: float,
        has_bootstrap: bool,
        key_seed: int,
        settings: Settings,
        bootstrap: Place | None,
        bootstrap_settings: Settings,
    ) -> None:
        self.folder = folder
        self.web = web
        self.described: dict[int, dict[str, Any]] = {}  # what each said of itself at its last start
        self.commands: dict[int, Sequence[str]] = {}  # for who runs another program than this version's
        self._places = places
        self._bootstrap = bootstrap or Place()
        self._mesh: MeshFolder = create_mesh(folder, "chaos", replicas)
        self._tokens = tokens_for(folder)
        self._processes: dict[int, subprocess.Popen[bytes]] = {}
        self._paused: set[int] = set()
        self._ready: set[int] = set()
        self._settings: Settings = {
            "crawl.delay_s": delay_s,
            "crawl.backoff_s": 0.3,
            "machine.patience": PATIENCE,
            "web.resolver": str(web.resolver),
            "web.allow_private": tuple(web.addresses),
            # All searchers of a test have one address.
            "gateway.client_queries_per_s": 0.0,
            **settings,
        }
        _draw_serials(self._mesh, len(places), list(web.addresses), key_seed)
        if has_bootstrap:
            write_bootstrap(self._mesh, bootstrap_settings)
            self._launch(0)
            self._wait_ready([0])

    # --- what happens to peers ---

    def start(self, *numbers: int) -> None:
        """Start these peers, new or again, and wait until each has opened its gateway."""
        for number in numbers:
            assert not self.is_running(number), f"peer-{number} runs"
            if number:
                self._configure(number)
            self._launch(number)
        self._wait_ready(numbers)

    def kill(self, *numbers: int) -> None:
        """kill -9, all at once."""
        for number in numbers:
            self._ready.discard(number)
            self._paused.discard(number)
            self._processes[number].send_signal(signal.SIGKILL)
        for number in numbers:
            self._processes[number].wait()

    def stop(self, number: int) -> int:
        """End a peer as a service manager does; return its exit code."""
        self._ready.discard(number)
        self._processes[number].send_signal(signal.SIGTERM)
        return self._processes[number].wait(PATIENCE_S)

    def pause(self, number: int) -> None:
        self._paused.add(number)
        self._processes[number].send_signal(signal.SIGSTOP)

    def resume(self, number: int) -> None:
        self._processes[number].send_signal(signal.SIGCONT)
        self._paused.discard(number)

    def empty(self, number: int) -> None:
        """Lose the disk of a peer that is down, but not its key."""
        assert not self.is_running(number)
        shutil.rmtree(self.data(number))

    # --- how they are ---

    def is_running(self, number: int) -> bool:
        process = self._processes.get(number)
        return process is not None and process.poll() is None

    def running(self) -> list[int]:
        """The peers that have started and are not paused."""
        return [n for n in sorted(self._ready - self._paused) if n and self.is_running(n)]

    def pid(self, number: int) -> int:
        return self._processes[number].pid

    @property
    def slot_count(self) -> int:
        return self._mesh.mesh.slot_count

    def peer_id(self, number: int) -> str:
        return str(self.described[number]["id"])

    def team_of(self, host: str) -> list[int]:
        """Who has the pages of a host while all that run have their share and no other weight."""
        numbers = {self.peer_id(number): number for number in self.running()}
        table = slot_table(dict.fromkeys(numbers, WEIGHT_DEFAULT), self.slot_count, self._mesh.mesh.replicas)
        return [numbers[peer] for peer in table.team_of(slot_of(host, self.slot_count))]

    def gateway(self, number: int) -> str:
        return str(self.described[number]["gateway"])

    def gateways(self) -> list[str]:
        """Of the peers that can answer."""
        return [self.gateway(number) for number in self.running()]

    def data(self, number: int) -> Path:
        return self.folder / f"peer-{number}" / "data"

    def log(self, number: int) -> str:
        return (self._home(number) / "log").read_text(encoding="utf-8", errors="replace")

    def report(self, number: int | None = None) -> dict[str, Any]:
        """The status of the mesh as this peer's gateway gives it, or the first that answers."""

        def answered() -> dict[str, Any] | None:
            for each in [number] if number is not None else self.running():
                client = GatewayClient(self.gateway(each), self._tokens)
                try:
                    return client.status()
                except GatewayError:
                    continue
                finally:
                    client.close()
            return None

        return wait_for(answered, f"gateway of {number or self.running()} that answers")

    def row(self, number: int, seen_by: int | None = None) -> dict[str, Any]:
        """The status of one peer; empty when the others have none of it."""
        rows = self.report(seen_by if seen_by is not None else number)["peers"]
        return next((row for row in rows if row["id"] == self.peer_id(number)), {})

    def wait_until(
        self, is_so: Callable[[Mapping[str, Any]], bool], what: str, timeout: float = PATIENCE_S
    ) -> dict[str, Any]:
        """Wait for a report that is so."""

        def fitting() -> dict[str, Any] | None:
            report = self.report()
            return report if is_so(report) else None

        return wait_for(fitting, what, timeout)

    def wait_until_met(self, timeout: float = PATIENCE_S) -> dict[str, Any]:
        """Wait until the peers that run have one view, with all of them and nobody else in it."""
        members = len(self.running()) + self.is_running(0)

        def have_met(report: Mapping[str, Any]) -> bool:
            rows = report["peers"]
            return len(rows) == len(self.running()) and {(row["members"], row["epoch"]) for row in rows} == {
                (members, rows[0]["epoch"])
            }

        return self.wait_until(have_met, f"one view of {members} members", timeout)

    def wait_until_idle(self, timeout: float = 4 * PATIENCE_S) -> dict[str, Any]:
        """Wait until all that run rest, for two reports in a row between which nothing has happened."""
        before: dict[str, Any] = {}

        def at_rest(report: Mapping[str, Any]) -> bool:
            nonlocal before
            was, before = before, dict(report)
            return bool(
                len(report["peers"]) == len(self.running())
                and report["total"]["idle"]
                and was
                and was["total"]["idle"]
                and was["total"]["activity"] == report["total"]["activity"]
            )

        return self.wait_until(at_rest, "rest", timeout)

    def wait_until_balanced(self, timeout: float = 3 * PATIENCE_S) -> dict[str, Any]:
        """Wait until every slot is crawled, kept and searched where it belongs, and nowhere else."""
        before: Mapping[str, Any] = {}

        def is_balanced(report: Mapping[str, Any]) -> bool:
            nonlocal before
            before = report
            rows = report["peers"]
            return (
                len(rows) == len(self.running())
                and all(_is_settled(row["slots"]) for row in rows)
                and sum(row["slots"]["owned"] for row in rows) == self.slot_count
                and sum(row["slots"]["answered"] for row in rows) == self.slot_count
            )

        try:
            return self.wait_until(is_balanced, "balance", timeout)
        except AssertionError as error:
            shown = [(row["id"], row["state"], row["slots"]) for row in before["peers"]]
            raise AssertionError(f"{error}: {shown}") from error

    def drain(self, number: int) -> None:
        """`tianmesh drain`, through the gateway of another peer."""
        other = next(each for each in self.running() if each != number)
        done = tianmesh(
            "drain",
            self.peer_id(number),
            "--yes",
            "--gateway",
            self.gateway(other),
            "--key",
            str(self.folder / "admin.key"),
            "--data",
            str(self.folder),
        )
        assert done.returncode == 0, (
            f"{done.stderr}: as another sees it {self.row(number, seen_by=other)}, "
            f"exit {self._processes[number].poll()}: {self.log(number)[-6_000:]}"
        )

    def seed(self, hosts: Collection[str] | None = None) -> None:
        """Hand the seeds of these hosts to the mesh; None for the whole web."""
        seeds = self.web.seeds if hosts is None else self.web.seeds_of(hosts)
        client = GatewayClient(self.gateways()[0], self._tokens)
        answer = client.add_seeds(seeds)
        client.close()
        assert answer["accepted"] == len(seeds), answer

    def assert_logs_are_clean(self, but: Collection[str] = ()) -> None:
        """No peer has said anything of a bug of its own, but for lines in which one of these stands."""
        for number in self._processes:
            for line in self.log(number).splitlines():
                assert "Traceback" not in line, f"{number}: {self.log(number)[-3_000:]}"
                assert " ERROR " not in line or any(each in line for each in but), f"{number}: {line}"

    def close(self) -> None:
        """End all that runs: the peers first, kindly."""
        for process in self._processes.values():
            if process.poll() is None:
                process.send_signal(signal.SIGCONT)
                process.send_signal(signal.SIGTERM)
        deadline = time.monotonic() + PATIENCE_S
        for process in self._processes.values():
            try:
                process.wait(max(0.1, deadline - time.monotonic()))
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
            assert process.stdin is not None
            process.stdin.close()

    # --- details ---

    def _home(self, number: int) -> Path:
        return self.folder / (f"peer-{number}" if number else BOOTSTRAP)

    def _configure(self, number: int) -> None:
        """Write the configuration; peers without a bootstrap node knock at those that came before them."""
        place = self._places[number - 1]
        has_own_address = place.listen != Place().listen
        settings = {
            **self._settings,
            **(ports_from(PORT) if has_own_address else {}),
            "member.listen": place.listen,
            "member.announce": place.announce,
            "member.doors": self._doors_for(number),
            "gateway.listen": f"{place.gateway}:0",
            "crawl.user_agent": f"{AGENT} peer-{number}",
        }
        write_peer(self._mesh, number, settings)

    def _doors_for(self, number: int) -> tuple[DoorConfig, ...]:
        if 0 in self.described:
            return (DoorConfig(endpoint=self.described[0]["door"], key=self.described[0]["key"]),)
        return tuple(door for other, door in sorted(self._peer_doors().items()) if other != number)

    def _peer_doors(self) -> dict[int, DoorConfig]:
        """The doors of the peers that have been started, which have addresses of their own."""
        return {
            number: DoorConfig(
                endpoint=f"tcp://{self._places[number - 1].listen}:{PORT + 2}",
                key=load_identity(self._home(number) / "peer.key").curve_public.decode(),
            )
            for number in self._processes
            if number
        }

    def _launch(self, number: int) -> None:
        home = self._home(number)
        command = (self._places[number - 1] if number else self._bootstrap).command
        kind = "peer" if number else "bootstrap"
        program = self.commands.get(number, COMMAND)
        arguments = [*command, *program, kind, "--while-stdin", "--config", str(home / "config.toml")]
        told = home / "told"
        with (home / "log").open("ab") as log, told.open("wb") as out:
            # A session of its own: a Ctrl-C is for the test.
            before = self._processes.get(number)
            if before is not None and before.stdin is not None:
                before.stdin.close()
            self._processes[number] = Popen(
                arguments, stdin=subprocess.PIPE, stdout=out, stderr=log, start_new_session=True
            )

    def _wait_ready(self, numbers: Sequence[int]) -> None:
        for number in numbers:

            def line(number: int = number) -> str:
                assert self.is_running(number), f"peer-{number} ended: {self.log(number)[-3_000:]}"
                told = (self._home(number) / "told").read_text(encoding="utf-8")
                return told if told.endswith("\n") else ""

            self.described[number] = json.loads(wait_for(line, f"sign of life of {number}", START_S))
            self._ready.add(number)


def _is_settled(slots: Mapping[str, int]) -> bool:
    """Nothing of these is on its way."""
    return (
        slots["held"] == slots["owned"]
        and slots["complete"] == slots["kept"]
        and not slots["wanted"]
        and not slots["strays"]
    )


def _draw_serials(mesh: MeshFolder, peers: int, hosts: Sequence[str], key_seed: int) -> None:
    """Draw ids by which the hosts are shared out about evenly once all peers are there.

    There are few hosts: left to chance, a peer that is killed would often have had nothing to do.
    """
    slots = np.array([slot_of(host, mesh.mesh.slot_count) for host in hosts])
    random = Random(key_seed)

    def unevenness(serials: list[str]) -> int:
        [owners], _ = rank_peers(dict.fromkeys(sorted(serials), WEIGHT_DEFAULT), slots, replicas=1)
        return int(np.ptp(np.bincount(owners, minlength=peers)))

    def serial() -> str:
        return b32encode(random.randbytes(10)).decode().lower()

    draws = [[serial() for _ in range(peers)] for _ in range(DRAWS)]
    best: list[str] = min(draws, key=unevenness)
    for number, each in enumerate(best, 1):
        keep_serial(mesh, number, each)


@contextmanager
def mesh_of(
    folder: Path,
    web: ServedWeb,
    places: Sequence[Place] | int,
    *,
    replicas: int = 2,
    delay_s: float = 0.0,
    has_bootstrap: bool = True,
    key_seed: int = 1,
    settings: Settings = MappingProxyType({}),
    bootstrap: Place | None = None,
    bootstrap_settings: Settings = MappingProxyType({}),
) -> Iterator[Mesh]:
    """Found a mesh with as many peers as places, none of which is started; end all of them at last.

    Args:
      key_seed: from which the peers' keys are drawn, and so who owns what.
      settings: of all peers.
      bootstrap: where the bootstrap node runs, with settings of its own.
    """
    if isinstance(places, int):
        places = [Place()] * places
    mesh = Mesh(
        folder,
        web,
        places,
        replicas=replicas,
        delay_s=delay_s,
        has_bootstrap=has_bootstrap,
        key_seed=key_seed,
        settings=settings,
        bootstrap=bootstrap,
        bootstrap_settings=bootstrap_settings,
    )
    try:
        yield mesh
    finally:
        mesh.close()
