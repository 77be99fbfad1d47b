"""Whether others reach a peer where it says it is, tried before it is let in. [io]

A wrong address, a port that a firewall keeps shut, or a machine behind a router that lets nothing in make a
member that hears nobody: it would be given its share of the slots, held for dead, and come back, for ever.
That the right machine is there is what its door proves, sealed by its key: where all machines have the same
ports, an address like 127.0.0.1 leads to ourselves. Of the other two sockets it is enough that ZeroMQ
listens.
"""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable
from ipaddress import ip_address
from typing import Final, TypeAlias

import trio

from mesh.errors import RemoteProtocolError
from mesh.membership.model.wire_messages import MemberRecord
from mesh.transport.tcp_endpoint import check_address, host_and_port

TRY_S: Final = 2.5  # all of it; the stranger waits for 4 s at our door
REASON_MAX: Final = 300  # characters, as `JoinRefused` takes them
GREETING: Final = b"\xff"  # the first byte that a listener of ZeroMQ says (ZMTP 3.1, section 3.1)

Call: TypeAlias = Callable[[], Awaitable[object]]


async def why_unreachable(record: MemberRecord, seen_from: str, call_door: Call) -> str:
    """Say why others do not reach a peer, with the fix; "" when they do.

    Args:
      seen_from: the address from which it has come to us.
      call_door: asks at its door, and raises what `mesh.transport.door.knock` raises.
    """
    failures: dict[str, str] = {}
    endpoints = {"inbox_port": record.endpoint, "multicast_port": record.multicast, "door_port": record.door}

    async def attempt(field: str, call: Call) -> None:
        failure = await _failure_of(endpoints[field], call)
        if failure:
            failures[field] = failure

    async with trio.open_nursery() as nursery:
        nursery.start_soon(attempt, "door_port", call_door)
        for field in ("inbox_port", "multicast_port"):
            nursery.start_soon(attempt, field, _greeting_at(endpoints[field]))
    return _sentence(record, seen_from, failures, endpoints) if failures else ""


def _sentence(
    record: MemberRecord, seen_from: str, failures: dict[str, str], endpoints: dict[str, str]
) -> str:
    failed = [field for field in endpoints if field in failures]
    told = ", ".join(
        f"{', '.join(endpoints[field] for field in failed if failures[field] == failure)} ({failure})"
        for failure in dict.fromkeys(failures[field] for field in failed)
    )
    announced = _host_of(record.endpoint)
    # Who comes to a relayed peer comes from its own machine, which says nothing of where it is.
    is_over_relay = _is_loopback(seen_from) and not _is_loopback(announced)
    if announced != seen_from and not is_over_relay:
        fix = f"it came from {seen_from}, set member.announce in its config.toml to its machine's address"
    else:
        fix = f"let other members through the firewall of its machine to {', '.join(failed)}"
    return f"others do not reach this peer at {told}: {fix}"[:REASON_MAX]


def _is_loopback(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False


def _host_of(endpoint: str) -> str:
    try:
        return host_and_port(endpoint)[0]
    except RemoteProtocolError:
        return endpoint


async def _failure_of(endpoint: str, call: Call) -> str:
    try:
        check_address(endpoint)
    except RemoteProtocolError:
        return "no address with a port"
    try:
        with trio.fail_after(TRY_S):
            await call()
    except trio.TooSlowError:
        return f"no answer in {TRY_S:g} s"
    except RemoteProtocolError:
        return "another program answers"
    except trio.BrokenResourceError:
        return "cut off"
    except OSError as error:
        return _reason(error)
    return ""


def _reason(error: BaseException) -> str:
    """Return the innermost cause as text: trio itself only tells that no attempt has succeeded."""
    while error.__cause__ is not None or isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0] if isinstance(error, BaseExceptionGroup) else error.__cause__ or error
    number = error.errno if isinstance(error, OSError) else None
    return (str(error) if number is None else os.strerror(number)).lower()


def _greeting_at(endpoint: str) -> Call:
    async def call() -> None:
        async with await trio.open_tcp_stream(*host_and_port(endpoint)) as stream:
            if not (await stream.receive_some(1)).startswith(GREETING):
                raise RemoteProtocolError("no ZeroMQ")

    return call
