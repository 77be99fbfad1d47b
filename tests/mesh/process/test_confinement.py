"""What a process that works on strangers' pages can still do."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from mesh.process.confinement import confine

TRY = """
import os, sys
from mesh.process.confinement import confine
for lack in confine():
    print(lack, file=sys.stderr)
try:
    exec(sys.argv[1])
except OSError as error:
    print(type(error).__name__)
else:
    print("done")
"""


def outcome_of(code: str, *arguments: str | Path) -> str:
    """What becomes of some code in a confined process."""
    done = subprocess.run(
        [sys.executable, "-c", TRY, code, *map(str, arguments)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    if done.stderr:
        pytest.skip(done.stderr)
    return done.stdout.strip()


def test_where_there_is_no_such_kernel_it_says_so_and_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.platform", "darwin")
    assert confine() == ["no confinement: darwin has neither seccomp nor Landlock"]


@pytest.fixture
def key(tmp_path: Path) -> Path:
    path = tmp_path / "peer.key"
    path.write_bytes(b"secret")
    return path


@pytest.mark.parametrize(
    "code",
    [
        "open(sys.argv[2]).read()",
        "os.listdir(os.path.dirname(sys.argv[2]))",
        "open(sys.argv[2], 'w')",
        "open(sys.argv[2], 'r+')",
        "os.unlink(sys.argv[2])",
        "os.rename(sys.argv[2], sys.argv[2] + '.old')",
        "os.chmod(sys.argv[2], 0o777)",
        "open(f'/proc/{os.getppid()}/environ').read()",
        "import socket; socket.socket()",
        "import socket; socket.socketpair()",
        "os.execv('/bin/true', ['true'])",
        "os.fork()",
        "import subprocess; subprocess.run(['/bin/true'])",
        "os.posix_spawn('/bin/true', ['true'], {})",
        "os.kill(os.getppid(), 0)",
        "os.mkdir('/tmp/made')",
        "os.utime(sys.argv[2])",
        "os.setxattr(sys.argv[2], 'user.mark', b'')",
        # Ways around `kill`, and ways to have others slowed down or ended.
        "import ctypes; c = ctypes.PyDLL(None); c.sigqueue(os.getppid(), 0, None) and os.kill(1, 0)",
        "import fcntl; fcntl.fcntl(os.pipe()[0], fcntl.F_SETOWN, os.getppid())",
        "import fcntl; fcntl.fcntl(os.pipe()[0], fcntl.F_SETSIG, 9)",
        "import fcntl; fcntl.ioctl(0, 0x8901, os.getppid().to_bytes(4, sys.byteorder))  # FIOSETOWN",
        "import fcntl, termios; fcntl.ioctl(0, termios.TIOCSTI, b'x')",
        "import resource; resource.prlimit(os.getppid(), resource.RLIMIT_CORE)",
        "os.setpriority(os.PRIO_PROCESS, os.getppid(), 19)",
        "os.sched_setaffinity(os.getppid(), os.sched_getaffinity(0))",
    ],
)
def test_it_reads_no_key_asks_no_network_starts_nothing_and_stops_nobody(key: Path, code: str) -> None:
    assert outcome_of(code, key) == "PermissionError"
    assert key.read_bytes() == b"secret"


@pytest.mark.parametrize(
    "code",
    [
        "import email.mime.text, encodings.gb18030, sqlite3; assert b'\\xb1\\xb1'.decode('gb18030') == '北'",
        "import threading; t = threading.Thread(target=print); t.start(); t.join()",
        "open('/proc/self/statm').read()",
        "import ssl, json",
        "import resource; resource.setrlimit(resource.RLIMIT_CORE, resource.getrlimit(resource.RLIMIT_CORE))",
        "r, w = os.pipe(); os.set_inheritable(r, True); os.set_blocking(r, False); open(r).isatty()",
    ],
)
def test_it_imports_what_it_needs_and_works(code: str) -> None:
    assert outcome_of(code) == "done"
