"""The last file descriptors are for the disk, however many connections somebody opens."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
EXHAUST = """
import errno, resource, socket, sys
from pathlib import Path
resource.setrlimit(resource.RLIMIT_NOFILE, (100, 256))
from mesh.transport.descriptors import RESERVED_MAX, for_disk, keep_reserve
from peers.engine.files.directory import DirectoryStorage
from peers.storage.archive.archive import Archive
from mesh.stamp import Stamp
from peers.storage.archive.warc import absence_record
folder = Path(sys.argv[1])
archive = Archive(folder / "archive", "a" * 52, None).__enter__()
index = DirectoryStorage(folder / "index")
if sys.argv[2] == "kept":
    keep_reserve()
connections = []
def connect_until_refused():
    try:
        while True:
            connections.append(socket.socket())
    except OSError as error:
        assert error.errno == errno.EMFILE
connect_until_refused()
"""


def outcome_of(folder: Path, program: str, reserve: str) -> str:
    command = [sys.executable, "-c", EXHAUST + program, str(folder), reserve]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=200)
    return "done" if done.returncode == 0 else done.stderr.splitlines()[-1]


WRITE = """
index.write("a", [b"content"])
views = [index.read("a") for _ in range(5)]
index.scratch(1_000)
extents = archive.append([absence_record("http://a.test/", "404", Stamp(1, 1.0))])
assert archive.read(extents[0])
connect_until_refused()
index.write("b", [b"content"])
print(len(connections))
"""


def test_files_are_written_and_read_while_connections_have_all_other_descriptors(tmp_path: Path) -> None:
    assert outcome_of(tmp_path, WRITE, "kept") == "done"


def test_without_the_reserve_they_are_not(tmp_path: Path) -> None:
    assert "Too many open files" in outcome_of(tmp_path, WRITE, "none")


MEMBER = """
for _ in range(60):
    connections.pop().close()
from mesh.keys.identity import Identity
from mesh.transport.transport import Transport
transport = Transport(Identity.of_secret(b"a" * 32))
connect_until_refused()
key = Identity.of_secret(b"b" * 32).curve_public
transport.connect("b", "tcp://127.0.0.1:9", "tcp://127.0.0.1:10", key)
transport.abandon()
"""


def test_a_member_that_comes_while_a_crowd_has_all_descriptors_ends_no_peer(tmp_path: Path) -> None:
    assert outcome_of(tmp_path, MEMBER, "kept") == "done"


COUNT = """
n = len(connections)
for _ in range(3):
    with for_disk():
        pass
    with for_disk(), for_disk():
        connections.append(socket.socket())
    connect_until_refused()
assert len(connections) == n + 3, "others got more than what was opened for the disk"
assert resource.getrlimit(resource.RLIMIT_NOFILE) == (256 - 32, 256)
"""


def test_the_reserve_is_closed_again_behind_who_used_it(tmp_path: Path) -> None:
    assert outcome_of(tmp_path, COUNT, "kept") == "done"


@pytest.mark.skipif(not Path("/proc/self/limits").exists(), reason="no /proc")
def test_a_process_that_keeps_a_reserve_takes_all_that_it_may_have(tmp_path: Path) -> None:
    """256 is the hard limit, 100 the soft one that it was started with."""
    assert outcome_of(tmp_path, "assert len(connections) > 200", "kept") == "done"
