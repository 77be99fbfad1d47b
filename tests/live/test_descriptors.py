"""A peer with few file descriptors, and a crowd without keys that takes all it can get of them."""

from __future__ import annotations

import shutil
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

import pytest

from tests.live.chaos import Chaos
from tests.live.mesh_processes import mesh_of
from tests.live.place import Place
from tests.live.truth import Truth
from tests.live.web import SMALL_HOSTS, served_web

pytestmark = [pytest.mark.live, pytest.mark.timeout(300)]

DESCRIPTORS: Final = 200
IDLERS: Final = 400
CROWD_S: Final = 12.0  # longer than a handshake may take, so that all come again


@contextmanager
def crowd(endpoint: str) -> Iterator[None]:
    """Connect to a socket of the mesh all the time, and say nothing."""
    host, port = endpoint.removeprefix("tcp://").split(":")
    is_over = threading.Event()

    def press() -> None:
        idlers: list[socket.socket] = []
        while not is_over.is_set():
            with suppress(OSError):
                idlers.append(socket.create_connection((host, int(port)), timeout=0.2))
            if len(idlers) >= IDLERS:
                idlers.pop(0).close()
        for idler in idlers:
            idler.close()

    thread = threading.Thread(target=press)
    thread.start()
    try:
        yield
    finally:
        is_over.set()
        thread.join()


@pytest.mark.skipif(shutil.which("prlimit") is None, reason="no prlimit")
def test_a_crowd_that_takes_all_descriptors_does_not_end_a_peer(
    packages: Path, small_truth: Truth, tmp_path: Path
) -> None:
    few = Place(("prlimit", f"--nofile={DESCRIPTORS}:{DESCRIPTORS}"))
    with (
        served_web(packages, SMALL_HOSTS, gbk=True, is_split=True) as web,
        mesh_of(tmp_path / "mesh", web, [few], replicas=1, delay_s=0.02) as mesh,
    ):
        chaos = Chaos(mesh, small_truth)
        chaos.found(1)
        mesh.wait_until(lambda report: report["total"]["pages_stored"] > 50, "50 pages")
        with crowd(mesh.described[1]["endpoint"]):
            for _ in range(int(CROWD_S)):
                threading.Event().wait(1.0)
                assert mesh.is_running(1), mesh.log(1)[-2_000:]
        mesh.wait_until_idle()
        chaos.assert_all_found()
        mesh.assert_logs_are_clean()
