"""Two connections made one: bytes that come in at either go out at the other. [io]

Nothing is kept but one piece for each direction: who sends faster than the other end takes is slowed down
by TCP.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import trio

PIECE_BYTES: Final = (
    32 << 10
)  # on its way in each direction, beside what the kernel keeps; 64 carry half as much again
IDLE_S: Final = 60.0  # without a byte in any direction; members of a mesh beat every 5 s
HALF_OPEN_S: Final = 5.0  # likewise, when the caller has said all; our sockets hang up then


async def splice(
    caller: trio.SocketStream,
    served: trio.SocketStream,
    note: Callable[[int, int], None],
    *,
    idle_s: float = IDLE_S,
) -> bool:
    """Carry bytes both ways until `served` has ended, either breaks, or nothing comes for too long.

    Args:
      served: leads to the socket that was called; when it has ended there is nothing more to say.
      note: told of each piece how many bytes went to who serves, and how many to the caller.

    Returns:
      Whether it ended since nothing came.
    """
    with trio.move_on_after(idle_s) as scope:
        bearable_s = idle_s

        def carried(to_served: int, to_caller: int) -> None:
            scope.deadline = trio.current_time() + bearable_s
            note(to_served, to_caller)

        async with trio.open_nursery() as nursery:

            async def inward() -> None:
                nonlocal bearable_s
                if await _carry(caller, served, lambda n: carried(n, 0)):
                    nursery.cancel_scope.cancel()
                bearable_s = min(idle_s, HALF_OPEN_S)
                carried(0, 0)

            nursery.start_soon(inward)
            await _carry(served, caller, lambda n: carried(0, n))
            nursery.cancel_scope.cancel()
    return scope.cancelled_caught


async def _carry(source: trio.SocketStream, target: trio.SocketStream, note: Callable[[int], None]) -> bool:
    """Carry bytes one way to the end, and say there that it is the end; tells whether either broke."""
    try:
        while piece := await source.receive_some(PIECE_BYTES):
            await target.send_all(piece)
            note(len(piece))
        await target.send_eof()
    except (trio.BrokenResourceError, trio.ClosedResourceError):
        return True
    return False
