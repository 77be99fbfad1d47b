"""Real sockets: whether others reach a stranger where it says it is, and what it is told if not."""

from __future__ import annotations

import logging
import socket
from pathlib import Path

import pytest
import trio
from msgspec.structs import replace

from bootstrap.provision import MeshFolder, create_mesh
from mesh.errors import RemoteProtocolError
from mesh.membership.membership import MembershipStatistics
from mesh.process.member import Member
from mesh.transport.reachability import why_unreachable
from tests.mesh.membership_world import record_of
from tests.mesh.process.test_member import bootstrapped, running, until

ELSEWHERE = "127.0.0.9"  # of this machine, and nobody listens there


@pytest.fixture
def mesh(tmp_path: Path) -> MeshFolder:
    return create_mesh(tmp_path / "mesh", "test", replicas=2)


def unreachable_at(member: Member) -> dict[str, str]:
    assert member.runtime is not None
    seen = member.runtime.observe()["membership"]
    assert isinstance(seen, MembershipStatistics)
    return seen.unreachable


async def test_a_peer_with_a_wrong_address_is_told_its_own_and_harms_nobody(
    mesh: MeshFolder, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING)
    async with bootstrapped(mesh) as door, running(mesh, 1, door) as (right, heard, _):
        await until(lambda: right.peer_id in heard.alive)
        async with running(mesh, 2, door, announce=ELSEWHERE) as (wrong, _, _):
            await until(lambda: bool(unreachable_at(wrong)))
            (why,) = unreachable_at(wrong).values()
            assert f"{ELSEWHERE}:" in why
            assert "it came from 127.0.0.1, set member.announce" in why
            assert wrong.peer_id not in heard.alive
    told = [each.getMessage() for each in caplog.records if "not let in" in each.getMessage()]
    assert any(each.startswith("not let in yet") for each in told)
    assert any(each.startswith(f"stranger not let in peer={wrong.peer_id}") for each in told)


async def test_an_address_that_leads_to_another_member_is_not_ones_own(mesh: MeshFolder) -> None:
    """As 127.0.0.1 does on a machine whose peers have the ports that all others have."""
    async with bootstrapped(mesh) as door, running(mesh, 1, door) as (one, heard, _):
        await until(lambda: one.peer_id in heard.alive)
        other = one.record

        async def call_door() -> None:
            raise RemoteProtocolError("not sealed by the holder of the key")

        why = await why_unreachable(other, "127.0.0.1", call_door)
    assert why.startswith(f"others do not reach this peer at {other.door} (another program answers): ")
    assert why.endswith("let other members through the firewall of its machine to door_port")


async def no_answer_needed() -> None:
    return


async def test_every_port_that_is_shut_is_named() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        free = taken.getsockname()[1]
    record = record_of(
        "new", endpoint=f"tcp://127.0.0.1:{free}", multicast="tcp://nonsense:1", door="tcp://127.0.0.1:1"
    )
    why = await why_unreachable(record, "127.0.0.1", no_answer_needed)
    assert f"tcp://127.0.0.1:{free} (connection refused)" in why
    assert "tcp://nonsense:1 (no address with a port)" in why
    assert "inbox_port, multicast_port" in why


async def test_whoever_comes_over_our_own_relay_is_not_told_that_it_came_from_here() -> None:
    record = record_of("new", endpoint="tcp://nowhere:1", multicast="tcp://nowhere:2", door="tcp://nowhere:3")
    record = replace(record, endpoint="tcp://192.0.2.7:0")  # is not tried, as there is no such port
    why = await why_unreachable(record, "127.0.0.1", no_answer_needed)
    assert "it came from" not in why
    assert why.endswith(
        "let other members through the firewall of its machine to inbox_port, multicast_port, door_port"
    )


async def test_a_program_that_is_no_peer_is_told_from_one(nursery: trio.Nursery) -> None:
    async def greet(stream: trio.SocketStream) -> None:
        await stream.send_all(b"HTTP/1.1 400 Bad Request\r\n\r\n")

    (listener,) = await trio.open_tcp_listeners(0, host="127.0.0.1")
    nursery.start_soon(trio.serve_listeners, greet, [listener])
    port = listener.socket.getsockname()[1]
    endpoint = f"tcp://127.0.0.1:{port}"
    record = record_of("new", endpoint=endpoint, multicast=endpoint)
    why = await why_unreachable(record, "127.0.0.1", no_answer_needed)
    assert why.count(endpoint) == 2
    assert "(another program answers)" in why


async def test_what_swallows_all_is_given_up_in_time(autojump_clock: trio.testing.MockClock) -> None:
    async def never() -> None:
        await trio.sleep_forever()

    record = record_of(
        "new", endpoint="tcp://127.0.0.1:1", multicast="tcp://127.0.0.1:1", door="tcp://127.0.0.1:1"
    )
    began = trio.current_time()
    why = await why_unreachable(record, "192.0.2.7", never)
    assert trio.current_time() - began < 4.0
    assert "tcp://127.0.0.1:1 (no answer in 2.5 s)" in why
    assert len(why) <= 300
