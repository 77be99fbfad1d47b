"""A node of a lab as a process of its own: `python -m bootstrap.node peer FOLDER/config.toml`. [io]

It does as `tianmesh peer` and `tianmesh bootstrap` do, with less to load: no other commands and nothing that
is for people. It begins when a line comes in, so that a lab has all its nodes load at the same time, and
begin one after the other; and it ends when its input closes, so that no node outlives its lab.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path

import trio

from mesh.process.process import Tell, run_node


def main() -> int:
    """Load the modules of this kind of node, wait for a newline, and run it; return its exit code."""
    kind, config = sys.argv[1:]
    runs = _loaded(kind)
    if os.read(sys.stdin.fileno(), 1) != b"\n":
        return 0
    return run_node(partial(runs, Path(config)), while_stdin=True, verbose=False)


def _loaded(kind: str) -> Callable[[Path, trio.Event, Tell], Awaitable[None]]:
    if kind == "bootstrap":
        from bootstrap.rendezvous import run_bootstrap

        return run_bootstrap
    from peers.peer import run_peer

    return run_peer


if __name__ == "__main__":
    sys.exit(main())
