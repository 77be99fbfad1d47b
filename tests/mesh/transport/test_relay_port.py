"""The port that has a peer reached over a relay, and the door's part in that, over a transport of paper."""

from __future__ import annotations

from collections.abc import Callable
from typing import cast

import pytest
import trio
import trio.testing

from mesh.actors.actor import Address, Message
from mesh.actors.codec import encode
from mesh.errors import LocalProtocolError, RemoteProtocolError
from mesh.membership.model.messages import Borrow, Borrowed, Knocked, LendPorts, PortsAsked
from mesh.membership.model.wire_messages import BorrowPorts, JoinRefused, Ping, PortsLent
from mesh.transport.door_port import DoorPort
from mesh.transport.relay import Lent, Relay
from mesh.transport.relay_client import RelayClient
from mesh.transport.relay_port import RelayPort
from mesh.transport.transport import Transport
from tests.mesh.test_ports import JOIN, ME, SOURCE, PaperTransport

AT = "tcp://127.0.0.1:9"
KEY = b"its key"
BORROW = Borrow(AT, KEY, BorrowPorts(JOIN.record, b"mesh"))
LENT = PortsLent("tcp://192.0.2.7:1", "tcp://192.0.2.7:2", "tcp://192.0.2.7:3", b"lease", b"secret")


class PaperBorrower:
    """Has ports until a test says that the relay is gone."""

    def __init__(self) -> None:
        self.kept: list[tuple[str, Lent]] = []
        self.is_gone = trio.Event()

    async def keep(self, door: str, lent: Lent, opened: Callable[[], None]) -> str:
        self.kept.append((door, lent))
        opened()
        await self.is_gone.wait()
        return "it has hung up"


class PaperRelay:
    """Lends what it has."""

    def __init__(self, lent: Lent | None) -> None:
        self.lent = lent
        self.asked: list[tuple[str, str, tuple[str, ...]]] = []

    def lend(self, peer: str, before: str, claimed: tuple[str, ...]) -> Lent | None:
        self.asked.append((peer, before, claimed))
        return self.lent


class Running:
    """A relay port that runs, and what it delivered."""

    def __init__(self, nursery: trio.Nursery) -> None:
        self.transport, self.borrower = PaperTransport(), PaperBorrower()
        transport, borrower = cast(Transport, self.transport), cast(RelayClient, self.borrower)
        self.port = RelayPort(ME, transport, borrower)
        self.delivered: list[Message] = []
        nursery.start_soon(self.port.run, self._deliver)

    def _deliver(self, source: Address, actor: str, message: Message) -> None:
        assert (source, actor) == (Address(ME, "relay"), "membership")
        self.delivered.append(message)

    async def borrow(self, reply: Message | Exception) -> None:
        if isinstance(reply, Message):
            self.transport.reply = encode("membership", "membership", reply)
        else:
            self.transport.reply = reply
        self.port.receive(SOURCE, BORROW)
        await trio.testing.wait_all_tasks_blocked()


async def test_what_a_door_lends_is_had_until_the_relay_is_gone(nursery: trio.Nursery) -> None:
    running = Running(nursery)
    await running.borrow(LENT)
    assert running.transport.told == [("knock", AT, KEY, BORROW.borrow)]
    places = LENT.endpoint, LENT.multicast, LENT.door
    assert running.borrower.kept == [(AT, Lent(places, b"lease", b"secret"))]
    assert running.delivered == [Borrowed(KEY, LENT)]
    running.borrower.is_gone.set()
    await trio.testing.wait_all_tasks_blocked()
    assert running.delivered[1:] == [Borrowed(KEY, None, f"{AT} (it has hung up)")]


async def test_who_asks_anew_hears_nothing_more_of_what_it_had(nursery: trio.Nursery) -> None:
    running = Running(nursery)
    await running.borrow(LENT)
    await running.borrow(LENT)
    running.borrower.is_gone.set()
    await trio.testing.wait_all_tasks_blocked()
    assert [message.lent for message in running.delivered if isinstance(message, Borrowed)] == [
        LENT,
        LENT,
        None,
    ]


@pytest.mark.parametrize(
    ("reply", "why"),
    [
        (JoinRefused("no ports left", is_final=False), "no ports left"),
        (trio.TooSlowError(), "too slow"),
        (OSError("nobody there"), "nobody there"),
        (RemoteProtocolError("another key"), "another key"),
    ],
)
async def test_every_order_is_answered(nursery: trio.Nursery, reply: Message | Exception, why: str) -> None:
    running = Running(nursery)
    await running.borrow(reply)
    assert running.delivered == [Borrowed(KEY, None, f"{AT} ({why})")]


async def test_an_answer_that_is_none_is_as_good_as_silence(nursery: trio.Nursery) -> None:
    running = Running(nursery)
    await running.borrow(Ping(1))
    (borrowed,) = running.delivered
    assert isinstance(borrowed, Borrowed)
    assert borrowed.lent is None


async def test_who_is_refused_for_good_hears_so_as_at_any_door(nursery: trio.Nursery) -> None:
    running = Running(nursery)
    refusal = JoinRefused("expelled")
    await running.borrow(refusal)
    assert running.delivered == [Knocked(refusal, AT, KEY), Borrowed(KEY, None, f"{AT} (expelled)")]


def test_orders_for_somebody_else_are_our_bug() -> None:
    port = RelayPort(ME, cast(Transport, PaperTransport()), RelayClient(["tcp://127.0.0.1:1"] * 3))
    with pytest.raises(LocalProtocolError, match="got a Ping"):
        port.receive(SOURCE, Ping(1))


@pytest.mark.parametrize("has_ports", [True, False])
async def test_a_door_asks_the_membership_before_its_relay_lends(
    nursery: trio.Nursery, has_ports: bool
) -> None:
    transport, delivered = PaperTransport(), list[Message]()
    places = LENT.endpoint, LENT.multicast, LENT.door
    relay = PaperRelay(Lent(places, LENT.lease, LENT.secret) if has_ports else None)
    port = DoorPort(ME, cast(Transport, transport), cast(Relay, relay))
    nursery.start_soon(port.run, lambda source, actor, message: delivered.append(message))
    visit = transport.come(encode("membership", "membership", BORROW.borrow))
    await trio.testing.wait_all_tasks_blocked()
    assert delivered == [PortsAsked(1, b"their key", BORROW.borrow)]
    assert relay.asked == []
    port.receive(SOURCE, LendPorts(1, "you", "tcp://192.0.2.7:1", ("tcp://192.0.2.7:4",)))
    port.receive(SOURCE, LendPorts(1, "you", "", ()))  # it has been answered
    assert relay.asked == [("you", "tcp://192.0.2.7:1", ("tcp://192.0.2.7:4",))]
    ((_, visitor, answer),) = transport.told
    assert visitor is visit
    if has_ports:
        assert answer == LENT
    else:
        assert isinstance(answer, JoinRefused)
        assert not answer.is_final
        assert "has lent all its ports" in answer.reason
