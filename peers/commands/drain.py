"""The command `tianmesh drain`: empty a peer, or strike off one that is lost. [io]"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Annotated, Any, Final

import typer
from rich.console import Console
from rich.progress import Progress

from mesh.client.admin_token import key_in
from mesh.client.gateway_client import GatewayClient, GatewayError
from mesh.counts import counted
from mesh.errors import ConfigError
from mesh.keys.decree import DRAIN, WRITE_OFF, number_body
from mesh.keys.key_file import load_administrator
from peers.commands.members import named
from peers.gateway.model.status import PeerState
from peers.options import (
    DATA,
    GATEWAY,
    DataOption,
    GatewayOption,
    JsonOption,
    KeyOption,
    TokenOption,
    administrator_of,
    print_json,
)

DRAIN_POLL_S: Final = 0.5
OBEYED_S: Final = 15.0  # news takes about one second
DOWN_S_MAX: Final = 15.0  # a peer that is started again is back before
EPILOG: Final = (
    "Examples: tianmesh drain k3v2   tianmesh drain mill --cancel   "
    "tianmesh drain k3v2 --yes, to write off a dead one without being asked"
)


def drain(
    peer: Annotated[str, typer.Argument(help="Id of the peer, its first four letters or more, or its name.")],
    key: KeyOption = None,
    cancel: Annotated[bool, typer.Option("--cancel", help="Have it take its share again.")] = False,
    wait: Annotated[bool, typer.Option("--wait/--no-wait", help="Wait until nothing depends on it.")] = True,
    yes: Annotated[bool, typer.Option("--yes", help="Write a dead peer off without asking.")] = False,
    token: TokenOption = "",
    data: DataOption = DATA,
    gateway: GatewayOption = GATEWAY,
    as_json: JsonOption = False,
) -> None:
    """Empty a peer before its machine is taken away: the others take over all that it has.

    A peer that is down for good is written off instead, when you say so.
    Ctrl-C ends the waiting, not the draining.
    """
    with administrator_of(gateway, token, data, key) as client:
        peer = named(client, peer)
        answer = order(client, peer, key_in(data, key), is_draining=not cancel, may_write_off=_may(yes))
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


def _may(yes: bool) -> Callable[[str], bool]:
    """Return a function that asks whether a dead peer, shown by its whole id, may be written off."""

    def may_write_off(peer: str) -> bool:
        if yes or not sys.stdin.isatty():
            return yes
        return typer.confirm(
            f"{peer} is down. If its machine comes back, start it instead: nothing is lost then. Written off "
            "it is a member no more, and what only it had is gone. Write it off?"
        )

    return may_write_off


def order(
    client: GatewayClient,
    peer: str,
    key: Path,
    *,
    is_draining: bool,
    may_write_off: Callable[[str], bool],
    obeyed_s: float = OBEYED_S,
) -> dict[str, Any]:
    """Have a peer drain, or drain no more; return the answer of the gateway when it is obeyed.

    Args:
      may_write_off: tells of a peer that is down, by its id, whether it is lost.

    Raises:
      GatewayError: it was not obeyed in time.
      ConfigError: it takes a decree, and the key to sign it is not there; or it is down and not lost.
    """
    answer = client.drain(peer, is_draining=is_draining)
    to_decree = answer.pop("to_decree")
    if to_decree is None:
        return answer
    if not answer["peer"].startswith(peer):
        raise GatewayError(
            f"the gateway wants an order about {answer['peer']} signed, which you have not named"
        )
    if to_decree["kind"] == WRITE_OFF and not may_write_off(answer["peer"]):
        raise ConfigError(
            f"{answer['peer']} is down and stays a member: start it again, or write it off with "
            f"`tianmesh drain {answer['peer']} --yes`, if its machine is lost"
        )
    _decree(client, answer["peer"], to_decree, key, is_draining=is_draining)
    until = time.monotonic() + obeyed_s
    while time.monotonic() < until:
        answer = client.drain(answer["peer"], is_draining=is_draining)
        if answer.pop("to_decree") is None:
            return answer
        time.sleep(DRAIN_POLL_S)
    raise GatewayError(
        f"the mesh knows of the order, and {answer['peer']} has not followed in {obeyed_s:g} s: it does when "
        "it hears of it; a dead peer is only written off by a side that sees most of the members"
    )


def _decree(
    client: GatewayClient, subject: str, to_decree: Mapping[str, str], key: Path, *, is_draining: bool
) -> None:
    """Sign the decree that the gateway asks for, if that is the order about this one peer; else refuse."""
    kind, body = to_decree["kind"], bytes.fromhex(to_decree["body"])
    is_ordered = is_draining if kind == WRITE_OFF else (kind, body) == (DRAIN, number_body(is_draining))
    if not is_ordered:
        raise GatewayError(
            f"the gateway wants a decree of kind {kind!r} signed, which is not the order you gave"
        )
    number = client.next_number(kind, subject)
    client.publish(load_administrator(key).decree(kind, subject, number, body))


def wait_until_drained(
    client: GatewayClient,
    peer: str,
    console: Console,
    *,
    poll_s: float = DRAIN_POLL_S,
    down_s_max: float = DOWN_S_MAX,
) -> None:
    """Show how much is left until nothing depends on the peer.

    A busy peer misses reports; it is waited for as long as the others believe it to be there.

    Args:
      down_s_max: for which the others may believe it to be down.

    Raises:
      GatewayError: it has gone, or drains no more, before that.
    """
    there_at = time.monotonic()
    most = 1
    with Progress(console=console) as progress:
        bar = progress.add_task("draining", total=None)
        while True:
            report = client.status()
            row = next((row for row in report["peers"] if row["id"] == peer), None)
            if row is not None:
                there_at = time.monotonic()
                left = slots_left(row)
                most = max(most, left)
                progress.update(
                    bar, total=most, completed=most - left, description=f"{counted(left, 'slot')} left"
                )
                if row["state"] == PeerState.DRAINED.value:
                    return
                if not row["is_draining"]:
                    raise GatewayError(f"{peer} drains no more: somebody has cancelled it")
            elif _is_live(report, peer):
                there_at = time.monotonic()
                progress.update(bar, description=f"{peer} is busy and does not answer yet")
            elif time.monotonic() > there_at + down_s_max:
                raise GatewayError(
                    f"{peer} does not answer any more, and it was not empty yet: start it again to go on; "
                    "if its machine is lost, give the order once more, and it is written off"
                )
            time.sleep(poll_s)


def _is_live(report: Mapping[str, Any], peer: str) -> bool:
    """Whether the peer that tells believes another to be there, whether it answers or not."""
    return any(each["id"] == peer and each["state"] in ("alive", "suspect") for each in report["members"])


def slots_left(row: dict[str, Any]) -> int:
    """How much of a peer that drains is still in use: one for each slot and use."""
    slots = row["slots"]
    return sum(slots[use] for use in ("owned", "answered", "kept", "strays", "stopping"))
