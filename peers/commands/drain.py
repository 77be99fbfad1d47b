"""The command `tianmesh drain`: empty a peer, or strike off one that is lost. [io]"""

from __future__ import annotations

import time
from typing import Annotated, Any, Final

import typer
from rich.console import Console
from rich.progress import Progress

from mesh.gateway_client import GatewayClient, GatewayError
from peers.gateway.status import PeerState
from peers.options import GATEWAY, GatewayOption, JsonOption, TokenOption, print_json

DRAIN_POLL_S: Final = 0.5
DRAIN_SILENCE_S: Final = 15.0  # a peer that is busy misses a report now and then
EPILOG: Final = "Examples: tianmesh drain k3v2   tianmesh drain k3v2 --cancel"


def drain(
    peer: Annotated[str, typer.Argument(help="Id of the peer, or its first letters.")],
    cancel: Annotated[bool, typer.Option("--cancel", help="Have it take its share again.")] = False,
    wait: Annotated[bool, typer.Option("--wait/--no-wait", help="Wait until nothing depends on it.")] = True,
    token: TokenOption = "",
    gateway: GatewayOption = GATEWAY,
    as_json: JsonOption = False,
) -> None:
    """Empty a peer before its machine is taken away: the others take over all that it has.

    A peer that is down for good is struck off instead. Ctrl-C ends the waiting, not the draining.
    """
    with GatewayClient(gateway) as client:
        answer = client.drain(peer, token, is_draining=not cancel)
        whole = answer["peer"]
        is_waited_for = wait and not cancel and not answer["is_written_off"]
        if is_waited_for:
            wait_until_drained(client, whole, Console(stderr=True, quiet=as_json))
    if as_json:
        print_json(answer | {"is_drained": is_waited_for or answer["is_written_off"]})
    elif cancel:
        Console().print(f"{whole} takes its share again")
    elif answer["is_written_off"]:
        Console().print(f"{whole} was down and does not belong to the mesh any more")
    elif wait:
        Console().print(f"{whole} is empty: stop it whenever you like")
    else:
        Console().print(f"{whole} gives away what it has; `tianmesh status` says when it is drained")


def wait_until_drained(
    client: GatewayClient,
    peer: str,
    console: Console,
    *,
    poll_s: float = DRAIN_POLL_S,
    silence_s: float = DRAIN_SILENCE_S,
) -> None:
    """Show how much is left until nothing depends on the peer.

    Args:
      silence_s: for which the peer may be missing from the reports.

    Raises:
      GatewayError: it has gone, or drains no more, before that.
    """
    heard_at = time.monotonic()
    most = 1
    with Progress(console=console) as progress:
        bar = progress.add_task("draining", total=None)
        while True:
            row = next((row for row in client.status()["peers"] if row["id"] == peer), None)
            if row is not None:
                heard_at = time.monotonic()
                left = slots_left(row)
                most = max(most, left)
                progress.update(bar, total=most, completed=most - left, description=f"{left:,} slots left")
                if row["state"] == PeerState.DRAINED.value:
                    return
                if not row["is_draining"]:
                    raise GatewayError(f"{peer} drains no more: somebody has cancelled it")
            elif time.monotonic() > heard_at + silence_s:
                raise GatewayError(
                    f"{peer} does not answer any more, and it was not empty yet: start it again to go on; "
                    "if its machine is lost, give the order once more, and it is struck off"
                )
            time.sleep(poll_s)


def slots_left(row: dict[str, Any]) -> int:
    """How much of a peer that drains is still in use: one for each slot and use."""
    slots = row["slots"]
    return sum(slots[use] for use in ("owned", "answered", "kept", "strays", "stopping"))
