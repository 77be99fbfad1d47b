"""The command `tianmesh` of a member that sends messages without content once a file says so. [io]"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Final

import trio
import zmq

from mesh.transport.transport import Transport

SIGN: Final = "flood"  # a file beside the configuration
FRAMES: Final = 8_000  # to each member
FRAMES_AT_ONCE: Final = 100  # every 10 ms

_serve = Transport.serve


async def flood(self: Transport) -> None:
    """Serve, and flood everybody."""
    async with trio.open_nursery() as nursery:
        nursery.start_soon(_serve, self)
        while not (Path(sys.argv[-1]).parent / SIGN).exists():
            await trio.sleep(0.05)
        left = dict.fromkeys(self.peers, FRAMES)
        while any(left.values()):
            for peer in self.peers & left.keys():
                left[peer] -= _queued(self._links[peer].dealer, min(FRAMES_AT_ONCE, left[peer]))
            await trio.sleep(0.01)


def _queued(dealer: zmq.Socket[bytes], n_frames: int) -> int:
    for number in range(n_frames):
        try:
            dealer.send(b"", zmq.NOBLOCK)
        except zmq.Again:
            return number
    return n_frames


if __name__ == "__main__":
    Transport.serve = flood  # type: ignore[method-assign]
    from peers.cli import main

    main()
