"""Whatever strangers say at a door, and one member to another: who hears it lives on, and serves others."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import pytest
import trio
import zmq

import mesh.transport.door
from bootstrap.provision import MeshFolder, create_mesh, write_bootstrap, write_peer
from mesh.actors.codec import encode
from mesh.config import DoorConfig
from mesh.errors import RemoteProtocolError
from mesh.keys import decree
from mesh.keys.identity import bytes_of_z85
from mesh.keys.key_file import load_administrator
from mesh.membership.model.credentials import PeerCredentials
from mesh.membership.model.wire_messages import DecreesTold, JoinMesh, Welcomed
from mesh.process.member import Member
from mesh.transport.door import MAGIC, QUESTION_BYTES_MAX, SALT_BYTES
from mesh.transport.tcp_endpoint import host_and_port
from mesh.transport.transport import FRAMES_MAX
from peers.policy.policy_file import read_policy
from peers.policy.rules import policy_bytes
from peers.topics.topic_list import list_body as topics_body
from peers.watch.list_file import entries_of
from peers.watch.watch_list import list_body
from tests.frames import DECODER
from tests.fuzzing.harness import Fuzzer, unharmed
from tests.fuzzing.wire_frames import COUNTED, frames_of
from tests.live.lab_process import get, node
from tests.mesh.process.test_member import config_of, member_of, running, until

pytestmark = pytest.mark.live

# Whoever sends nonsense would be in quarantine soon, and most of it not get far.
PATIENT_PEER: Final = (sys.executable, "-m", "tests.live.patient_peer")
STRANGERS: Final = 32  # at a time; a door has room for twice as many
PATIENCE_S: Final = 0.2  # a door says nothing to nonsense: who has waited so long goes
HONEST_S: Final = 100.0  # for an honest question behind all that
LARGE_BYTES: Final = 1 << 20
FILES_MAX: Final = 16  # of the archive and the index, and connections to a newcomer
REFUSED_S: Final = 0.01  # before a queue that was full is tried again
LOG_BYTES_MAX: Final = 1 << 20  # some lines a minute of each kind, whatever is refused
EVERYTHING_ON: Final = """
[[rules]]
action = "crawl"

[query_log]
days = 30
clicks = true
click_weight = 0.1

[query_log.second]
name = "titles"
weights = { title = 1.0 }

[submissions]
reports_per_client = 10000

[entities]

[link_graph]
ranks = true

[search_history]
days = 365
"""
TOPICS: Final = (b"", b"membership", b"indexer", b"searcher", b"controller", b"x" * 300)


@pytest.fixture
def folder(tmp_path: Path) -> MeshFolder:
    made = create_mesh(tmp_path / "mesh", "test", replicas=1)
    write_bootstrap(made)
    return made


@pytest.mark.inputs(1_000)
async def test_nothing_that_a_stranger_says_harms_the_member_behind_the_door(
    folder: MeshFolder, fuzzer: Fuzzer
) -> None:
    with node("bootstrap", folder.folder / "bootstrap" / "config.toml") as owner:
        guest = member_of(folder, 2, config_of(folder, 2))
        join = _join_of(guest, folder)
        frames = [join, *frames_of(fuzzer.random, [guest.peer_id, owner["id"]])]
        spoken = [MAGIC + bytes_of_z85(guest.identity.curve_public) + bytes(SALT_BYTES + 4), MAGIC]
        assert await _is_welcome(guest, owner, join)
        ends = (guest.transport.endpoint, guest.transport.multicast_endpoint)
        await until(lambda: all(map(_is_connected_to, ends)))  # these are the guest's, and not of a stranger
        with unharmed(owner["pid"]):
            async with trio.open_nursery() as nursery:
                turns = trio.Semaphore(STRANGERS)
                for data in fuzzer.inputs([*spoken, *frames]):
                    await turns.acquire()
                    is_sealed = fuzzer.random.random() < 0.7
                    nursery.start_soon(_visit, guest, owner, data, is_sealed, turns)
            assert await _is_welcome(guest, owner, join)
        guest.transport.abandon()
        guest.table.close()
    _assert_no_bug(folder.folder / "bootstrap")


@pytest.mark.inputs(1_000)
async def test_nothing_that_a_member_sends_harms_another_or_keeps_a_newcomer_out(
    folder: MeshFolder, fuzzer: Fuzzer
) -> None:
    with _bootstrap_and_peer(folder) as (owner, victim):
        async with running(folder, 2, owner, weight=0) as (member, hears, _):
            await until(lambda: victim["id"] in hears.alive)
            await _have_all_switched_on(folder, member, victim)
            frames = frames_of(fuzzer.random, [member.peer_id, victim["id"], owner["id"]])
            assert await _answers(victim)
            with unharmed(victim["pid"], growth_bytes_max=128 << 20, descriptors_more_max=FILES_MAX):
                for data in fuzzer.inputs(frames, LARGE_BYTES):
                    await _send(member, victim["id"], data, fuzzer)
                assert await _answers(victim)
                async with running(folder, 3, owner, weight=0) as (_, newcomer_hears, _):
                    await until(lambda: victim["id"] in newcomer_hears.alive)
    _assert_no_bug(folder.folder / "peer-1")
    _assert_no_bug(folder.folder / "bootstrap")


async def _have_all_switched_on(mesh: MeshFolder, member: Member, victim: dict[str, Any]) -> None:
    """Tell a peer a policy with all that is off otherwise, a watch list and topics, until it goes by them."""
    administrator = load_administrator(mesh.folder / "admin.key")
    decrees = (
        administrator.decree(decree.POLICY, "", 1, policy_bytes(read_policy(EVERYTHING_ON, "policy"))),
        administrator.decree(decree.WATCH, "", 1, list_body(entries_of(["page", "标题 文本"]), 1.0)),
        administrator.decree(decree.TOPICS, "", 1, topics_body(COUNTED)),
    )
    told = encode("membership", "membership", DecreesTold(decrees))

    def is_on() -> bool:
        paths = ("/api/backlinks", "/compare", "/submit", "/api/topic/page")
        return all(get(victim["gateway"], path, url="http://a.test/")[0] == 200 for path in paths)

    with trio.fail_after(HONEST_S):
        while not await trio.to_thread.run_sync(is_on):
            _queued(member, victim["id"], [told])
            await trio.sleep(PATIENCE_S)


@contextmanager
def _bootstrap_and_peer(mesh: MeshFolder) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
    with node("bootstrap", mesh.folder / "bootstrap" / "config.toml") as owner:
        door = DoorConfig(endpoint=owner["door"], key=owner["key"])
        write_peer(mesh, 1, {"member.doors": (door,), "gateway.listen": "127.0.0.1:0"})
        with node("peer", mesh.folder / "peer-1" / "config.toml", program=PATIENT_PEER) as victim:
            yield owner, victim


def _join_of(guest: Member, mesh: MeshFolder) -> bytes:
    record = PeerCredentials(guest.identity, mesh.mesh).sign(guest.record)
    return encode("membership", "membership", JoinMesh(record, mesh.mesh.digest()))


async def _is_welcome(guest: Member, owner: dict[str, Any], join: bytes) -> bool:
    with trio.fail_after(HONEST_S):
        answer = await mesh.transport.door.knock(guest.identity, owner["door"], owner["key"].encode(), join)
    return isinstance(DECODER.decode(answer).message, Welcomed)


def _is_connected_to(endpoint: str) -> bool:
    """Tell whether a TCP connection of this machine leads to an endpoint."""
    port = host_and_port(endpoint)[1]
    rows = [line.split() for line in Path("/proc/net/tcp").read_text("ascii").splitlines()[1:]]
    return any(remote.endswith(f":{port:04X}") and state == "01" for _, _, remote, state, *_ in rows)


async def _visit(
    guest: Member,
    owner: dict[str, Any],
    data: bytes,
    is_sealed: bool,
    turns: trio.Semaphore,
) -> None:
    """Say something to a door, sealed for it as it has to be, or as it is."""
    try:
        with trio.move_on_after(PATIENCE_S):
            if is_sealed:
                question = data[:QUESTION_BYTES_MAX]
                await mesh.transport.door.knock(
                    guest.identity, owner["door"], owner["key"].encode(), question
                )
            else:
                async with await trio.open_tcp_stream(*host_and_port(owner["door"])) as stream:
                    await stream.send_all(data)
                    while await stream.receive_some():
                        pass
    except (OSError, RemoteProtocolError, trio.BrokenResourceError):
        pass
    finally:
        turns.release()


async def _send(member: Member, to: str, data: bytes, fuzzer: Fuzzer) -> None:
    """Send this to a member, or multicast it, in whatever parts; wait while it does not keep up."""
    random = fuzzer.random
    kind = random.randrange(20)
    parts = [data] if kind > 2 else [data[at : at + 100] for at in range(0, len(data), 100)][: 2 * FRAMES_MAX]
    if kind == 0:
        member.transport._publisher.send_multipart([random.choice(TOPICS), *(parts or [b""])], zmq.NOBLOCK)
        return
    with trio.fail_after(HONEST_S):
        while not _queued(member, to, parts or [b""]):
            await trio.sleep(REFUSED_S)
    await trio.lowlevel.checkpoint()


def _queued(member: Member, to: str, parts: list[bytes]) -> bool:
    link = member.transport._links.get(to)
    if link is None:
        return False
    try:
        link.dealer.send_multipart(parts, zmq.NOBLOCK)
    except zmq.Again:
        return False
    return True


async def _answers(peer: dict[str, Any]) -> bool:
    def ask() -> int:
        return get(peer["gateway"], "/api/search", q="page", k="1")[0]

    with trio.fail_after(HONEST_S):
        return await trio.to_thread.run_sync(ask) == 200


def _assert_no_bug(folder: Path) -> None:
    assert (folder / "log").stat().st_size < LOG_BYTES_MAX
    for line in (folder / "log").read_text(encoding="utf-8", errors="replace").splitlines():
        assert "Traceback" not in line, line
        assert " ERROR " not in line, line
