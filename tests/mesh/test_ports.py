"""The ports of every member, network and door, over a transport of paper."""

from __future__ import annotations

import logging
from typing import cast

import msgpack
import pytest
import trio
import trio.testing

from mesh.actors.actor import Address, Message
from mesh.actors.codec import PROTOCOL_VERSION, encode
from mesh.errors import ConfigError, LocalProtocolError, RemoteProtocolError
from mesh.membership.model.messages import (
    AnswerDoor,
    ConnectPeer,
    DisconnectPeer,
    DoorKnocked,
    Knock,
    Knocked,
    MembershipEnded,
    MembershipRefused,
)
from mesh.membership.model.wire_messages import JoinMesh, JoinRefused, MemberRecord, Ping, Welcomed
from mesh.transport.door import DoorVisit
from mesh.transport.door_port import VISITS_MAX, DoorPort
from mesh.transport.network_port import NetworkPort
from mesh.transport.transport import Transport
from tests.frames import decode

ME = "me"
SOURCE = Address(ME, "membership")
JOIN = JoinMesh(
    MemberRecord("you", "tcp://127.0.0.1:1", "tcp://127.0.0.1:2", "", "", b"key", b"", b"", 0, 100), b"mesh"
)


class PaperTransport:
    """Writes down what it is told; strangers come and doors answer as a test says."""

    def __init__(self) -> None:
        self.told: list[tuple[object, ...]] = []
        self.door_endpoint: str | None = "tcp://127.0.0.1:3"
        self.reply: bytes | Exception = b""
        self.frames: list[bytes] = []  # to visitors and doors
        self._strangers, self._visitors = trio.open_memory_channel[tuple[DoorVisit, bytes, bytes]](
            float("inf")
        )

    def allow(self, key: bytes, peer: str) -> None:
        self.told.append(("allow", key, peer))

    def disallow(self, peer: str) -> None:
        self.told.append(("disallow", peer))

    def connect(self, peer: str, endpoint: str, multicast: str, key: bytes) -> None:
        if endpoint == "nonsense":
            raise RemoteProtocolError("endpoint is not tcp://host:port")
        self.told.append(("connect", peer, endpoint, multicast, key))

    def disconnect(self, peer: str) -> None:
        self.told.append(("disconnect", peer))

    def come(self, frame: bytes) -> DoorVisit:
        visit = DoorVisit("192.0.2.7")
        self._strangers.send_nowait((visit, b"their key", frame))
        return visit

    async def receive_door(self) -> tuple[DoorVisit, bytes, bytes]:
        return await self._visitors.receive()

    def send_door(self, visit: DoorVisit, frame: bytes) -> bool:
        self.frames.append(frame)
        if msgpack.unpackb(frame)[0] == PROTOCOL_VERSION:
            self.told.append(("answer", visit, decode(frame).message))
        return True

    async def knock(self, endpoint: str, key: bytes, frame: bytes, timeout_s: float) -> bytes:
        self.frames.append(frame)
        self.told.append(("knock", endpoint, key, decode(frame).message))
        if isinstance(self.reply, Exception):
            raise self.reply
        return self.reply


def network_on(transport: PaperTransport) -> NetworkPort:
    return NetworkPort(cast(Transport, transport))


# --- Network ---


def test_members_are_let_in_and_connected_to() -> None:
    transport = PaperTransport()
    port = network_on(transport)
    port.receive(SOURCE, ConnectPeer(JOIN.record))
    port.receive(SOURCE, DisconnectPeer("you"))
    assert transport.told == [
        ("allow", b"key", "you"),
        ("connect", "you", "tcp://127.0.0.1:1", "tcp://127.0.0.1:2", b"key"),
        ("disallow", "you"),
        ("disconnect", "you"),
    ]


def test_a_member_whose_address_is_nonsense_costs_nobody_else(caplog: pytest.LogCaptureFixture) -> None:
    record = MemberRecord("you", "nonsense", "", "", "", b"key", b"", b"", 0, 100)
    with caplog.at_level(logging.WARNING):
        network_on(PaperTransport()).receive(SOURCE, ConnectPeer(record))
    assert "member without address peer=you" in caplog.text


async def test_a_refusal_ends_the_peer_with_its_reason() -> None:
    port = network_on(PaperTransport())
    port.receive(SOURCE, MembershipRefused("you are not from here"))
    with pytest.raises(ConfigError, match=r"^the mesh refused this peer: you are not from here$"):
        await port.run(lambda source, actor, message: None)


def test_the_end_of_the_membership_can_be_waited_for() -> None:
    port = network_on(PaperTransport())
    assert not port.has_ended.is_set()
    port.receive(SOURCE, MembershipEnded())
    assert port.has_ended.is_set()


def test_orders_for_somebody_else_are_our_bug() -> None:
    for port in (network_on(PaperTransport()), DoorPort(ME, cast(Transport, PaperTransport()))):
        with pytest.raises(LocalProtocolError, match="got a Ping"):
            port.receive(SOURCE, Ping(1))


# --- Door ---


class Doorkeeper:
    """A door port that runs over a transport of paper, and what it delivered."""

    def __init__(self, transport: PaperTransport) -> None:
        self.transport = transport
        self.port = DoorPort(ME, cast(Transport, transport))
        self.delivered: list[Message] = []

    def deliver(self, source: Address, actor: str, message: Message) -> None:
        assert (source, actor) == (Address(ME, "door"), "membership")
        self.delivered.append(message)


@pytest.fixture
async def door(nursery: trio.Nursery) -> Doorkeeper:
    keeper = Doorkeeper(PaperTransport())
    nursery.start_soon(keeper.port.run, keeper.deliver)
    return keeper


def joining() -> bytes:
    return encode("membership", "membership", JOIN)


async def test_a_stranger_is_heard_and_answered_once(door: Doorkeeper) -> None:
    visit = door.transport.come(joining())
    await trio.testing.wait_all_tasks_blocked()
    assert door.delivered == [DoorKnocked(1, b"their key", JOIN)]
    for _ in range(2):
        door.port.receive(SOURCE, AnswerDoor(1, JoinRefused("no")))
    assert door.transport.told == [("answer", visit, JoinRefused("no"))]


async def test_who_does_not_ask_to_join_is_not_heard(door: Doorkeeper) -> None:
    for frame in (b"", b"\xc1\x00", encode("membership", "membership", Ping(1))):
        door.transport.come(frame)
    door.transport.come(joining())
    await trio.testing.wait_all_tasks_blocked()
    assert [type(message) for message in door.delivered] == [DoorKnocked]


@pytest.mark.parametrize(
    "frame",
    [
        encode("membership", "membership", JOIN),
        encode("membership", "membership", JOIN, newest=PROTOCOL_VERSION + 1),
    ],
    ids=["ours", "ours and newer ones"],
)
async def test_a_stranger_is_answered_in_the_newest_version_that_both_speak(
    door: Doorkeeper, frame: bytes
) -> None:
    door.transport.come(frame)
    await trio.testing.wait_all_tasks_blocked()
    door.port.receive(SOURCE, AnswerDoor(1, JoinRefused("no")))
    assert msgpack.unpackb(door.transport.frames[0])[0] == PROTOCOL_VERSION


@pytest.mark.parametrize("version", [PROTOCOL_VERSION - 1, PROTOCOL_VERSION + 1])
async def test_a_stranger_of_another_version_is_told_so_in_its_own(door: Doorkeeper, version: int) -> None:
    door.transport.come(msgpack.packb([version, "membership", "membership", ["of another shape"]]))
    await trio.testing.wait_all_tasks_blocked()
    assert door.delivered == []
    told, _, _, message, *_ = msgpack.unpackb(door.transport.frames[0])
    assert (told, message[0]) == (version, 6)  # the tag of a refusal, for ever
    assert f"protocol version {version} meets a peer that speaks {PROTOCOL_VERSION} to" in message[1]


async def test_of_too_many_visitors_the_first_wait_in_vain(door: Doorkeeper) -> None:
    for _ in range(VISITS_MAX + 1):
        door.transport.come(joining())
    await trio.testing.wait_all_tasks_blocked()
    door.port.receive(SOURCE, AnswerDoor(1, JoinRefused("late")))
    assert door.transport.told == []
    door.port.receive(SOURCE, AnswerDoor(2, JoinRefused("no")))
    assert len(door.transport.told) == 1


@pytest.mark.parametrize(
    ("reply", "heard"),
    [
        (encode("membership", "membership", Welcomed(())), Welcomed(())),
        (encode("membership", "membership", JoinRefused("no")), JoinRefused("no")),
        (encode("membership", "membership", Ping(1)), None),
        (b"noise", None),
        (trio.TooSlowError(), None),
        (OSError("nobody there"), None),
        (RemoteProtocolError("another key"), None),
    ],
)
async def test_every_knock_is_answered_if_only_by_silence(
    door: Doorkeeper, reply: bytes | Exception, heard: Message | None
) -> None:
    door.transport.reply = reply
    door.port.receive(SOURCE, Knock("tcp://127.0.0.1:9", b"its key", JOIN))
    await trio.testing.wait_all_tasks_blocked()
    assert door.transport.told == [("knock", "tcp://127.0.0.1:9", b"its key", JOIN)]
    answer = cast(Welcomed | JoinRefused | None, heard)
    assert door.delivered == [Knocked(answer, "tcp://127.0.0.1:9", b"its key")]


async def test_a_member_with_its_door_shut_still_knocks(nursery: trio.Nursery) -> None:
    transport = PaperTransport()
    transport.door_endpoint = None
    keeper = Doorkeeper(transport)
    nursery.start_soon(keeper.port.run, keeper.deliver)
    transport.come(joining())
    keeper.port.receive(SOURCE, Knock("tcp://127.0.0.1:9", b"its key", JOIN))
    await trio.testing.wait_all_tasks_blocked()
    assert keeper.delivered == [Knocked(None, "tcp://127.0.0.1:9", b"its key")]


async def test_who_lets_others_in_does_not_complain_of_shut_doors(
    autojump_clock: trio.testing.MockClock, door: Doorkeeper, caplog: pytest.LogCaptureFixture
) -> None:
    door.transport.come(joining())
    await trio.testing.wait_all_tasks_blocked()
    door.port.receive(SOURCE, AnswerDoor(1, Welcomed(())))
    door.transport.reply = ConnectionRefusedError("nobody")
    door.port.receive(SOURCE, Knock("tcp://127.0.0.1:9", b"its key", JOIN))
    await trio.sleep(1.0)
    assert [record for record in caplog.records if record.levelname == "WARNING"] == []


async def test_who_is_let_in_nowhere_says_so_every_ten_seconds(
    autojump_clock: trio.testing.MockClock, door: Doorkeeper, caplog: pytest.LogCaptureFixture
) -> None:
    async def complaints_of(knocks: int) -> int:
        caplog.clear()
        for _ in range(knocks):
            door.port.receive(SOURCE, Knock("tcp://127.0.0.1:9", b"its key", JOIN))
            await trio.sleep(1.0)
        told = [record for record in caplog.records if record.levelname == "WARNING"]
        assert all("endpoint=tcp://127.0.0.1:9 error=nobody: is a node" in each.message for each in told)
        return len(told)

    door.transport.reply = ConnectionRefusedError("nobody")
    assert await complaints_of(25) == 3
    door.transport.reply = encode("membership", "membership", Welcomed(()))
    assert await complaints_of(1) == 0
    door.transport.reply = ConnectionRefusedError("nobody")
    assert await complaints_of(25) == 0  # a member finds the others without it
