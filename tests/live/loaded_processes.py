"""Processes of `tianmesh` that have its modules already: forked from one that has loaded them. [io]

Theory of operation
===================
A peer uses 1.3 s of processor time before it does anything, a command .4 s, nearly all of it to load modules;
that was half of what tests with real peers took. Here one process, the *source*, loads them once for a worker
of the tests and is forked for each command. What it has loaded is code and dictionaries, and nothing that a
process makes for itself: it has one thread, and no file, no key and no settings of a mesh.

The child is to be one of the process that asked for it, which waits for it and signals it as usual. So the
source forks twice, the process between ends at once, and the child falls to the nearest ancestor that takes
such orphans (prctl(2), PR_SET_CHILD_SUBREAPER), which is the one that asked, for just that moment.
`tianmesh up` starts processes itself: it takes a source of its own along, before it begins.

What differs from a process that is started anew: the seed of its hashes is that of the source (runs under
several are simulated), and `/proc` has the source's command line. Started anew as ever are the processes in
which a peer takes pages apart and builds segments; the nodes of `tianmesh start` and `demo`; what documented
commands start; and programs, users, limits and environments that are not those of the tests. A network of its
own a child enters itself.
"""

from __future__ import annotations

import ctypes
import gc
import importlib
import json
import os
import runpy
import signal
import socket
import struct
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from threading import Lock
from typing import Any, Final, NamedTuple

from mesh.domains import load_suffixes
from peers.text.regional_words import load_regional_words
from peers.text.segmentation import load_dictionary

ROOT: Final = Path(__file__).parents[2]
PROGRAMS: Final = ("peers.cli", "bootstrap.node")
LOADED: Final = (
    "bootstrap.cli",
    "bootstrap.commands",
    "bootstrap.lab",
    "bootstrap.node",
    "bootstrap.owner_commands",
    "bootstrap.rendezvous",
    "peers.application",
    "peers.classes.cli",
    "peers.commands.peer",
    "peers.commands.policy",
    "peers.commands.search",
    "peers.commands.seed",
    "peers.commands.status",
    "peers.commands.why",
    "peers.evaluation.cli",
    "peers.index.words_command",
    "peers.peer",
    "simulations.cli",
    "encodings.idna",
    "typer._adapters",  # what typer loads when it meets the first option; another version may have another
)
SET_CHILD_SUBREAPER: Final = 36  # PR_SET_CHILD_SUBREAPER of linux/prctl.h
CLONE_NEWNET: Final = 0x40000000  # of linux/sched.h
INSIDE: Final = "ip", "netns", "exec"  # and the name of a network namespace
COUNTS: Final = "TIANMESH_COUNTS"  # see `tests.budgets.sitecustomize`
LENGTH: Final = struct.Struct("<I")  # of an order, and the number of a process
_PARAMETERS: Final = (
    *("args", "executable", "preexec_fn", "close_fds", "pass_fds", "cwd", "env", "startupinfo"),
    *("creationflags", "shell", "p2cread", "p2cwrite", "c2pread", "c2pwrite", "errread", "errwrite"),
    *("restore_signals", "gid", "gids", "uid", "umask", "start_new_session", "process_group"),
)  # of `subprocess.Popen._execute_child`
# What has to be as a start anew would have it.
_USUAL: Final = {
    "executable": None,
    "preexec_fn": None,
    "close_fds": True,
    "pass_fds": (),
    "cwd": None,
    "env": None,
    "shell": False,
    "gid": None,
    "gids": None,
    "uid": None,
    "umask": -1,
    "process_group": -1,
}


class Order(NamedTuple):
    """An order for a child."""

    words: list[str]  # module and arguments
    folder: str
    environment: dict[str, str]
    is_session: bool  # with a session of its own
    network: str  # the namespace that it is in, as `ip netns` names it; "" for that of the test


class Source:
    """The process that children are forked from; it ends when this one does."""

    def __init__(self, orders: socket.socket, process: subprocess.Popen[bytes] | None = None) -> None:
        self._orders = orders
        self._process = process  # to be waited for, where it is a child
        self._turn = Lock()
        self._interpreter = _of_interpreter(os.environ)

    def fits(self) -> bool:
        """Would a process started anew have the same interpreter?"""
        return self._interpreter == _of_interpreter(os.environ)

    def begin(self, order: Order, files: tuple[int, int, int]) -> int:
        """Have a child begin with these as its standard files; return its number."""
        data = json.dumps(order).encode()
        prctl = ctypes.CDLL(None).prctl
        with self._turn:
            prctl(SET_CHILD_SUBREAPER, 1, 0, 0, 0)
            try:
                socket.send_fds(self._orders, [LENGTH.pack(len(data))], files)
                self._orders.sendall(data)
                (pid,) = LENGTH.unpack(_received(self._orders, LENGTH.size))
            except BaseException:  # a test's time is up: its answer would be taken for that to the next
                _sources[:] = [each for each in _sources if each is not self]
                self.end()
                raise
            finally:
                prctl(SET_CHILD_SUBREAPER, 0, 0, 0, 0)
        return int(pid)

    def end(self) -> None:
        self._orders.close()
        if self._process is not None:
            self._process.wait()


class Popen(subprocess.Popen[Any]):
    """As `subprocess.Popen`, and for `tianmesh` as users call it sooner done."""

    def _execute_child(self, *values: Any) -> None:
        named = dict(zip(_PARAMETERS, values, strict=True))
        network, words = _without_network(named["args"])
        if (
            tuple(words[:2]) != (sys.executable, "-m")
            or words[2] not in PROGRAMS
            or COUNTS in os.environ  # of calls, from the first line of a process on
            or any(named[name] != value for name, value in _USUAL.items())
            or not (source := _source()).fits()
        ):
            super()._execute_child(*values)  # type: ignore[misc]
            return
        order = Order(words[2:], os.getcwd(), dict(os.environ), named["start_new_session"], network)
        ends = (named["p2cread"], named["c2pwrite"], named["errwrite"])
        files = tuple(own if end == -1 else end for own, end in enumerate(ends))
        self.pid = source.begin(order, files)  # type: ignore[arg-type]
        self._child_created = True
        self._close_pipe_fds(*values[10:16])  # type: ignore[attr-defined]


def serve(number: int) -> None:
    """Be a source until the other end of this socket is closed; a child becomes what it is to be."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    orders = socket.socket(fileno=number)
    _load()
    order = _next_child(orders)
    while order.words[1:2] == ["up"]:
        ours, theirs = socket.socketpair()
        if os.fork():
            theirs.close()
            _sources.append(Source(ours))
            subprocess.Popen = Popen  # type: ignore[misc]
            break
        ours.close()
        _take_files([os.open(os.devnull, os.O_RDWR)] * 3)
        order = _next_child(theirs)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    sys.argv[1:] = order.words[1:]
    runpy.run_module(order.words[0], run_name="__main__", alter_sys=True)


def _load() -> None:
    for name in LOADED:
        with suppress(ModuleNotFoundError):
            importlib.import_module(name)
    load_dictionary()
    load_regional_words()
    load_suffixes()
    gc.collect()
    gc.freeze()  # so that the collector does not write to pages that all children share


def _next_child(orders: socket.socket) -> Order:
    """Fork for each order; return in the children only."""
    while True:
        head, files, _, _ = socket.recv_fds(orders, LENGTH.size, 3)
        if len(head) < LENGTH.size:
            os._exit(0)
        (length,) = LENGTH.unpack(head)
        order = Order(*json.loads(_received(orders, length)))
        reading, writing = os.pipe()
        between = os.fork()
        if not between:
            pid = os.fork()
            if not pid:
                for each in (reading, writing, orders.detach()):
                    os.close(each)
                _take_files(files)
                _take_place(order)
                return order
            os.write(writing, LENGTH.pack(pid))
            os._exit(0)
        os.waitpid(between, 0)
        orders.sendall(os.read(reading, LENGTH.size))
        for each in (reading, writing, *files):
            os.close(each)


def _take_files(files: list[int]) -> None:
    for number, each in enumerate(files):
        os.dup2(each, number)
    for each in set(files):
        os.close(each)


def _without_network(words: str | bytes | Sequence[str]) -> tuple[str, list[str]]:
    """Take `ip netns exec` off a command; return the name of the namespace, and the words left."""
    if isinstance(words, str | bytes):
        return "", []
    is_inside = tuple(words[: len(INSIDE)]) == INSIDE
    return (words[len(INSIDE)], list(words[len(INSIDE) + 1 :])) if is_inside else ("", list(words))


def _take_place(order: Order) -> None:
    if order.network:
        with open(f"/run/netns/{order.network}", "rb") as namespace:
            if ctypes.CDLL(None, use_errno=True).setns(namespace.fileno(), CLONE_NEWNET):
                raise OSError(ctypes.get_errno(), order.network)
    if order.is_session:
        os.setsid()
    os.chdir(order.folder)
    sys.path[0] = order.folder  # as python -m has it
    os.environ.clear()
    os.environ.update(order.environment)


def _received(stream: socket.socket, n_bytes: int) -> bytes:
    data = b""
    while len(data) < n_bytes:
        piece = stream.recv(n_bytes - len(data))
        if not piece:
            raise EOFError("the process that others are forked from has ended")
        data += piece
    return data


_sources: Final[list[Source]] = []  # of this process: none or one


def _source() -> Source:
    if not _sources:
        ours, theirs = socket.socketpair()
        with theirs:
            program = f"from tests.live.loaded_processes import serve; serve({theirs.fileno()})"
            process = subprocess.Popen(
                [sys.executable, "-c", program],
                cwd=ROOT,
                env=os.environ | {"OPENBLAS_NUM_THREADS": "1"},  # no threads of its own
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
            )
        _sources.append(Source(ours, process))
    return _sources[0]


def end_source() -> None:
    """End the source of this process, if there is one, so that its processor time is counted."""
    while _sources:
        _sources.pop().end()


def _of_interpreter(environment: Mapping[str, str]) -> dict[str, str]:
    """Return the variables that the interpreter and the C library read at their start."""
    heads = "PYTHON", "MALLOC_", "LD_"
    return {name: value for name, value in environment.items() if name.startswith(heads)}
