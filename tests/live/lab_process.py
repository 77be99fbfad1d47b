"""`tianmesh up` as a user starts it, a process to be watched, interrupted and killed. [io]"""

from __future__ import annotations

import http.client
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import cached_property
from pathlib import Path
from typing import Any, Final, TypeVar
from urllib.parse import urlencode, urlsplit

from mesh.client.admin_token import tokens_for
from mesh.client.gateway_client import GatewayClient, GatewayError
from tests.live.loaded_processes import Popen
from tests.live.web import ServedWeb
from tests.patience import PATIENCE_S

COMMAND: Final = (sys.executable, "-m", "peers.cli")
START_S: Final = 3 * PATIENCE_S
PAUSE_S: Final = 0.2  # between two looks at what is going on: each is work for all peers
# Of all peers that tests start: from when a peer is held for dead until others make up for its copies are 8 s
# then, and not 20; whoever is only started again is back before.
PATIENCE: Final = 0.4

Value = TypeVar("Value")


def tianmesh(
    *arguments: str | Path, given: str = "", timeout: float = 3 * PATIENCE_S
) -> subprocess.CompletedProcess[str]:
    """Run one command to its end.

    Args:
      given: to its standard input.
    """
    command = [*COMMAND, *map(str, arguments)]
    pipe = subprocess.PIPE
    with Popen(command, text=True, stdin=pipe, stdout=pipe, stderr=pipe) as process:
        try:
            said, complained = process.communicate(given, timeout)
        except BaseException:
            process.kill()
            raise
    return subprocess.CompletedProcess(command, process.returncode, said, complained)


def with_free_ports(mesh: Path) -> list[Path]:
    """Have the nodes of a mesh that `init` founded take ports that are free; those it chose may be in use.

    Returns:
      The files of their configurations, that of the bootstrap node first.
    """
    configs = sorted(mesh.glob("*/config.toml"))
    for config in configs:
        text = re.sub(r"(inbox|multicast|door)_port = \d+", r"\1_port = 0", config.read_text())
        config.write_text(re.sub(r'"127\.0\.0\.1:80\d\d"', '"127.0.0.1:0"', text))
    return configs


def wait_for(look: Callable[[], Value | None], what: str, timeout: float = PATIENCE_S) -> Value:
    """Look again and again until there is something."""
    deadline = time.monotonic() + timeout
    while time.monotonic() < deadline:
        found = look()
        if found:
            return found
        time.sleep(PAUSE_S)
    raise AssertionError(f"no {what} after {timeout:g} s")


class Up:
    """A running `tianmesh up`."""

    def __init__(self, process: subprocess.Popen[bytes], log: Path, folder: Path, *, has_seeds: bool) -> None:
        self.process = process
        self.has_seeds = has_seeds
        self.folder = folder  # of the mesh
        self.log = log  # what it writes to stderr

    @cached_property
    def _tokens(self) -> Callable[[], str]:
        return tokens_for(self.folder)

    @property
    def messages(self) -> str:
        return self.log.read_text(encoding="utf-8", errors="replace")

    def gateways(self) -> list[str]:
        """URLs of all gateways, as the lab prints them once the peers have met."""

        def printed() -> list[str]:
            assert self.process.poll() is None, self.messages
            return re.findall(r"http://127\.0\.0\.1:\d+", self.messages)

        return wait_for(printed, f"gateways in {self.log}", START_S)

    def status(self) -> dict[str, Any]:
        """The report of the mesh, from the first gateway that answers."""

        def answered() -> dict[str, Any] | None:
            for url in self.gateways():
                client = GatewayClient(url, self._tokens)
                try:
                    return client.status()
                except GatewayError:
                    continue
                finally:
                    client.close()
            return None

        return wait_for(answered, "gateway that answers")

    def wait_until(
        self, is_so: Callable[[dict[str, Any]], bool], timeout: float = PATIENCE_S
    ) -> dict[str, Any]:
        """Wait for a report that is so."""

        def fitting() -> dict[str, Any] | None:
            report = self.status()
            return report if is_so(report) else None

        return wait_for(fitting, "such a report", timeout)

    def wait_until_idle(self, timeout: float = 4 * PATIENCE_S) -> dict[str, Any]:
        """Wait until all peers rest for two reports in a row, and stored pages are searchable.

        Peers rest too before the first seed: those are handed out once slots have come to rest.
        """
        before: dict[str, Any] = {}

        def at_rest(report: dict[str, Any]) -> bool:
            nonlocal before
            total, before_total = report["total"], before.get("total", {})
            before = report
            return bool(
                total["idle"]
                and before_total.get("idle")
                and total["activity"] == before_total["activity"]
                and (total["urls_seen"] or not self.has_seeds)
            )

        return self.wait_until(at_rest, timeout)

    def end(self, timeout: float = 6 * PATIENCE_S) -> int:
        """Wait for the command to end by itself; return its exit code."""
        return self.process.wait(timeout)

    def interrupt(self) -> int:
        """Ctrl-C; return the exit code."""
        self.process.send_signal(signal.SIGINT)
        return self.end()


def setting(name: str, value: object) -> tuple[str, str]:
    """The option of `tianmesh up` that sets this in the configurations of all peers."""
    return "--set", f"{name}={value}"


@contextmanager
def up(
    folder: Path,
    web: ServedWeb | None,
    *arguments: str | Path,
    seeds: Sequence[str] = (),
    delay_s: float = 0.0,
) -> Iterator[Up]:
    """Start `tianmesh up --data FOLDER/mesh`; whatever still runs at the end is stopped.

    Args:
      web: the one to crawl by its resolver table; without it names are looked up as usual.

    Peers that a test has killed stay dead unless it gives --restart.
    """
    options = ["--data", folder / "mesh", "--delay", delay_s, "--allow-private"]
    options += setting("gateway.listen", "127.0.0.1:0")
    options += setting("machine.patience", PATIENCE)
    options += ["--no-restart"] if "--restart" not in arguments else []
    options += ["--anywhere"] if seeds or "--seeds" in arguments else []
    if web is not None:
        options += setting("web.resolver", web.resolver)
    command = [*COMMAND, "up", *map(str, [*options, *arguments, *seeds])]
    folder.mkdir(parents=True, exist_ok=True)
    log = folder / f"up-{time.monotonic_ns()}.log"
    with log.open("wb") as stderr:
        process = Popen(command, stdout=subprocess.DEVNULL, stderr=stderr, start_new_session=True)
    try:
        yield Up(process, log, folder / "mesh", has_seeds=bool(seeds))
    finally:
        if process.poll() is None:
            process.send_signal(signal.SIGTERM)
            try:
                process.wait(PATIENCE_S)
            except subprocess.TimeoutExpired:
                process.kill()  # its peers end with their standard input
                process.wait()


@contextmanager
def node(
    kind: str, config: Path, within: Sequence[str] = (), *, program: Sequence[str] = COMMAND
) -> Iterator[dict[str, Any]]:
    """Run `tianmesh peer` or `tianmesh bootstrap`, started by hand; yields what it says when it is ready.

    Args:
      within: the command by which a place runs others.
      program: which `tianmesh`.
    """
    command = [*within, *program, kind, "--config", str(config)]
    with (config.parent / "log").open("ab") as log:
        process = Popen(command, stdout=subprocess.PIPE, stderr=log, start_new_session=True)
    assert process.stdout is not None
    line = process.stdout.readline()
    try:
        assert line, (config.parent / "log").read_text()
        yield json.loads(line)
    finally:
        process.terminate()
        process.wait(PATIENCE_S)
        process.stdout.close()


def kill(pid: int) -> None:
    """kill -9, and wait until the process is gone."""
    os.kill(pid, signal.SIGKILL)
    wait_for(lambda: not _is_running(pid), f"end of process {pid}")


def kill_all(lab: Up) -> None:
    """kill -9 of `tianmesh up` and all nodes that it has started, and wait until all are gone."""
    pid = lab.process.pid
    nodes = Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="ascii").split()
    pids = (pid, *map(int, nodes))
    for each in pids:
        with suppress(ProcessLookupError):  # it has ended with the first
            os.kill(each, signal.SIGKILL)
    lab.end()
    wait_for(lambda: not any(map(_is_running, pids)), "end of all processes")


def get(gateway: str, path: str, *, address: str = "", **parameters: str) -> tuple[int, str]:
    """Ask a gateway over HTTP, again when it says later; return the status and the body.

    Args:
      address: from which it is asked; "" for whichever leads there.
    """
    while True:
        netloc = urlsplit(gateway).netloc
        source = (address, 0) if address else None
        connection = http.client.HTTPConnection(netloc, timeout=PATIENCE_S, source_address=source)
        connection.request("GET", path + ("?" + urlencode(parameters) if parameters else ""))
        response = connection.getresponse()
        body = response.read().decode()
        connection.close()
        if response.status != 429:
            return response.status, body
        time.sleep(float(response.headers["Retry-After"]))


def search(gateway: str, query: str, k: int = 10, address: str = "") -> dict[str, Any]:
    """Ask a gateway over its JSON interface."""
    status, body = get(gateway, "/api/search", address=address, q=query, k=str(k))
    assert status == 200, body
    answer: dict[str, Any] = json.loads(body)
    return answer


def search_all(gateway: str, query: str, k: int = 10) -> dict[str, Any]:
    """Ask until the answer is of all slots: on a machine that others use, too, a peer may answer late."""

    def whole() -> dict[str, Any] | None:
        answer = search(gateway, query, k)
        return None if answer["coverage"]["missing"] else answer

    return wait_for(whole, f"answer of all slots to {query!r}")


def _is_running(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"
