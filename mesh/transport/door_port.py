"""The port "door": strangers ask for admission here, and through it we ask at others' doors. [io]"""

from __future__ import annotations

import logging
from collections import OrderedDict
from functools import partial
from itertools import count
from math import inf
from typing import ClassVar, Final

import trio

from mesh.actors.actor import Address, Message
from mesh.actors.codec import OLDEST_VERSION, PROTOCOL_VERSION, Decoder, ForeignVersionError, encode
from mesh.actors.port import Deliver
from mesh.errors import LocalProtocolError, RemoteProtocolError
from mesh.membership.model.messages import (
    AddressesTried,
    AnswerDoor,
    DoorKnocked,
    Knock,
    Knocked,
    LendPorts,
    PortsAsked,
    TryAddresses,
)
from mesh.membership.model.wire_messages import (
    BorrowPorts,
    CallBack,
    CalledBack,
    JoinMesh,
    JoinRefused,
    PortsLent,
    Welcomed,
)
from mesh.transport.door import DoorVisit
from mesh.transport.reachability import TRY_S, why_unreachable
from mesh.transport.relay import Relay
from mesh.transport.transport import Transport

SHUT_TOLD_S: Final = 10.0  # pause between two complaints of who is not let in anywhere
KNOCK_TIMEOUT_S: Final = 4.0  # a little less than a door keeps a visitor waiting
VISITS_MAX: Final = 64  # unanswered; the oldest go first

_DECODER: Final = Decoder((JoinMesh, CallBack, BorrowPorts))  # a door takes nothing else
_ANSWERS: Final = Decoder((Welcomed, JoinRefused, CalledBack))

logger = logging.getLogger(__name__)


class DoorPort:
    """Both sides of admission, over a transport with a door that may be closed (then nobody comes)."""

    name: ClassVar[str] = "door"

    def __init__(self, me: str, transport: Transport, relay: Relay | None = None) -> None:
        """Args: relay: of this peer, if it is one."""
        self._relay = relay
        self._address = Address(me, self.name)
        self._transport = transport
        self._is_let_in = False
        self._complained_at = -inf
        self._handles = count(1)
        self._visits: OrderedDict[int, tuple[DoorVisit, int]] = OrderedDict()  # and the version they speak
        self._orders, self._inbox = trio.open_memory_channel[Knock | TryAddresses](float("inf"))

    def receive(self, source: Address, message: Message) -> None:
        match message:
            case Knock() | TryAddresses():
                self._orders.send_nowait(message)
            case AnswerDoor(handle, answer):
                visitor = self._visits.pop(handle, None)
                if visitor is not None:
                    self._answer(*visitor, answer)
            case LendPorts():
                visitor = self._visits.pop(message.handle, None)
                if visitor is not None and self._relay is not None:
                    self._answer(*visitor, _lent_by(self._relay, message))
            case _:
                raise LocalProtocolError(f"the door got a {type(message).__name__}")

    async def run(self, deliver: Deliver) -> None:
        async with trio.open_nursery() as nursery:
            if self._transport.door_endpoint is not None:
                nursery.start_soon(self._open, deliver)
            async for order in self._inbox:
                if isinstance(order, Knock):
                    nursery.start_soon(self._knock, deliver, order)
                else:
                    nursery.start_soon(self._try_addresses, deliver, order)

    async def _open(self, deliver: Deliver) -> None:
        while True:
            visit, key, frame = await self._transport.receive_door()
            try:
                envelope = _DECODER.decode(frame)
            except ForeignVersionError as error:
                logger.warning("stranger of another version refused error=%s", error)
                self._answer(visit, error.version, JoinRefused(str(error)))
                continue
            except RemoteProtocolError as error:
                logger.warning("stranger not understood error=%s", error)
                continue
            version = min(envelope.spoken, PROTOCOL_VERSION)
            if isinstance(envelope.message, CallBack):
                self._transport.send_door(visit, encode("membership", "membership", CalledBack(), version))
            elif isinstance(envelope.message, JoinMesh):
                handle = self._note(visit, version)
                deliver(self._address, "membership", DoorKnocked(handle, key, envelope.message))
            elif isinstance(envelope.message, BorrowPorts):
                handle = self._note(visit, version)
                deliver(self._address, "membership", PortsAsked(handle, key, envelope.message))

    def _note(self, visit: DoorVisit, version: int) -> int:
        """Let a stranger wait for the membership's answer; return the handle for that answer."""
        handle = next(self._handles)
        self._visits[handle] = visit, version
        if len(self._visits) > VISITS_MAX:
            self._visits.popitem(last=False)
        return handle

    def _answer(self, visit: DoorVisit, version: int, answer: Welcomed | JoinRefused | PortsLent) -> None:
        """Answer in a version that the stranger speaks; a refusal looks the same in all of them."""
        if isinstance(answer, Welcomed):
            self._is_let_in = True  # who lets others in is in itself
        self._transport.send_door(visit, encode("membership", "membership", answer, version))

    async def _try_addresses(self, deliver: Deliver, order: TryAddresses) -> None:
        """Find out whether a stranger at our door can be reached, as others will have to."""
        record = order.record
        visitor = self._visits.get(order.handle)
        seen_from = "" if visitor is None else visitor[0].seen_from
        call_door = partial(self._call_back, record.door, record.curve_key)
        failure = await why_unreachable(record, seen_from, call_door)
        if failure:
            logger.warning("stranger not let in peer=%s reason=%r", record.peer, failure)
        deliver(self._address, "membership", AddressesTried(order.handle, failure))

    async def _call_back(self, endpoint: str, key: bytes) -> None:
        frame = encode("membership", "membership", CallBack(), OLDEST_VERSION)
        reply = await self._transport.knock(endpoint, key, frame, TRY_S)
        if not isinstance(_ANSWERS.decode(reply).message, CalledBack):
            raise RemoteProtocolError("no answer to being called back")

    def _complain(self, text: str, *fields: object) -> None:
        """Log the reason that keeps this peer out, now and then as a warning for a person."""
        now = trio.current_time()
        is_due = now >= self._complained_at + SHUT_TOLD_S
        if is_due:
            self._complained_at = now
        logger.log(logging.WARNING if is_due else logging.INFO, text, *fields)

    async def _knock(self, deliver: Deliver, knock: Knock) -> None:
        # Who is behind the door has not told so far what it speaks.
        frame = encode("membership", "membership", knock.join, OLDEST_VERSION)
        answer: Welcomed | JoinRefused | None = None
        try:
            reply = await self._transport.knock(knock.endpoint, knock.server_key, frame, KNOCK_TIMEOUT_S)
            message = _ANSWERS.decode(reply).message
            if isinstance(message, Welcomed | JoinRefused):
                answer = message
                self._is_let_in = True
        except (trio.TooSlowError, OSError, RemoteProtocolError) as error:
            self._note_shut(knock.endpoint, error)
        if isinstance(answer, JoinRefused) and not answer.is_final:
            self._complain("not let in yet at=%s reason=%r", knock.endpoint, answer.reason)
        deliver(self._address, "membership", Knocked(answer, knock.endpoint, knock.server_key))

    def _note_shut(self, endpoint: str, error: Exception) -> None:
        tell = partial(logger.log, logging.INFO) if self._is_let_in else self._complain
        tell(
            "no answer at the door endpoint=%s error=%s: is a node of the mesh running at this address, "
            "and do the firewalls on the way let this machine through",
            endpoint,
            str(error) or "too slow",
        )


def _lent_by(relay: Relay, order: LendPorts) -> PortsLent | JoinRefused:
    lent = relay.lend(order.peer, order.before, order.claimed)
    if lent is None:
        reason = "the relay has lent all its ports: give it more, in member.relay_ports of its config.toml"
        return JoinRefused(reason, is_final=False)
    return PortsLent(*lent.places, lent.lease, lent.secret)
