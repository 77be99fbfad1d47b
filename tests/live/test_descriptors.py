"""A peer with few file descriptors, and a crowd without keys that takes all it can get of them."""

from __future__ import annotations

import selectors
import shutil
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import pytest

from tests.live.chaos import Chaos
from tests.live.mesh_processes import mesh_of
from tests.live.place import Place
from tests.live.sites import split_sites
from tests.live.truth import Truth
from tests.live.web import served_web

pytestmark = pytest.mark.live

DESCRIPTORS: Final = 200
IDLERS: Final = 400
CROWD_S: Final = 12.0  # longer than a handshake may take, so that all come again
USUAL_DESCRIPTORS: Final = 1_024  # `ulimit -n` of most systems
MANY_IDLERS: Final = 1_500
TAKEN: Final = "accept returned EMFILE", "Too many open files"  # what a crowd makes a peer say


@contextmanager
def crowd(endpoint: str, idlers: int) -> Iterator[None]:
    """Have so many connections to a socket of the mesh, say nothing, and come again when one is shut."""
    host, port = endpoint.removeprefix("tcp://").split(":")
    is_there, is_over = threading.Event(), threading.Event()

    def press() -> None:
        with selectors.DefaultSelector() as selector:
            while not is_over.is_set():
                while len(selector.get_map()) < idlers:
                    idler = socket.socket()
                    idler.setblocking(False)
                    idler.connect_ex((host, int(port)))
                    selector.register(idler, selectors.EVENT_READ)
                is_there.set()
                for key, _ in selector.select(0.05):
                    assert isinstance(key.fileobj, socket.socket)
                    if _is_shut(key.fileobj):
                        selector.unregister(key.fileobj)
                        key.fileobj.close()
            for key in list(selector.get_map().values()):
                assert isinstance(key.fileobj, socket.socket)
                key.fileobj.close()

    thread = threading.Thread(target=press)
    thread.start()
    try:
        is_there.wait()
        yield
    finally:
        is_over.set()
        thread.join()


def _is_shut(idler: socket.socket) -> bool:
    try:
        return not idler.recv(4_096)
    except BlockingIOError:
        return False
    except OSError:
        return True


@pytest.mark.skipif(shutil.which("prlimit") is None, reason="no prlimit")
def test_a_crowd_that_takes_all_descriptors_does_not_end_a_peer(truth: Truth, tmp_path: Path) -> None:
    few = Place(("prlimit", f"--nofile={DESCRIPTORS}:{DESCRIPTORS}"))
    with (
        served_web(split_sites()) as web,
        mesh_of(tmp_path / "mesh", web, [few], replicas=1, delay_s=0.02) as mesh,
    ):
        chaos = Chaos(mesh, truth)
        chaos.found(1)
        mesh.wait_until(lambda report: report["total"]["pages_stored"] > 50, "50 pages")
        with crowd(mesh.described[1]["endpoint"], IDLERS):
            for _ in range(int(CROWD_S)):
                threading.Event().wait(1.0)
                assert mesh.is_running(1), mesh.log(1)[-2_000:]
        mesh.wait_until_idle()
        chaos.assert_all_found()
        mesh.assert_logs_are_clean(but=TAKEN)


@pytest.mark.skipif(shutil.which("prlimit") is None, reason="no prlimit")
def test_a_newcomer_joins_in_spite_of_a_crowd_that_is_larger_than_the_limit_of_descriptors(
    tmp_path: Path,
) -> None:
    usual = Place(("prlimit", f"--nofile={USUAL_DESCRIPTORS}:{USUAL_DESCRIPTORS}"))
    with (
        served_web(split_sites()) as web,
        mesh_of(tmp_path / "mesh", web, [usual, Place()], replicas=1) as mesh,
    ):
        mesh.start(1)
        mesh.wait_until_met()
        with crowd(mesh.described[1]["endpoint"], MANY_IDLERS):
            mesh.start(2)  # until its sockets are open
            began = time.monotonic()
            mesh.wait_until_met()
            print(f"joined after {time.monotonic() - began:.1f} s")
        mesh.assert_logs_are_clean(but=TAKEN)
