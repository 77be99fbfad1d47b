"""The port "door": strangers ask for admission here, and through it we ask at others' doors. [io]"""

from __future__ import annotations

import logging
from collections import OrderedDict
from itertools import count
from typing import ClassVar, Final

import trio

from mesh.actor import Address, Message
from mesh.codec import Decoder, encode
from mesh.door import Visit
from mesh.errors import LocalProtocolError, RemoteProtocolError
from mesh.membership.messages import AnswerDoor, DoorKnocked, Knock, Knocked
from mesh.membership.wire_messages import JoinMesh, JoinRefused, Welcomed
from mesh.port import Deliver
from mesh.transport import Transport

KNOCK_TIMEOUT_S: Final = 4.0  # a little less than a door keeps a visitor waiting
VISITS_MAX: Final = 64  # unanswered; the oldest go first

_DECODER: Final = Decoder((JoinMesh, Welcomed, JoinRefused))  # a door takes nothing else

logger = logging.getLogger(__name__)


class DoorPort:
    """Both sides of admission, over a transport whose door may be closed (then nobody comes)."""

    name: ClassVar[str] = "door"

    def __init__(self, me: str, transport: Transport) -> None:
        self._address = Address(me, self.name)
        self._transport = transport
        self._handles = count(1)
        self._visits: OrderedDict[int, Visit] = OrderedDict()
        self._knocks, self._inbox = trio.open_memory_channel[Knock](float("inf"))

    def receive(self, source: Address, message: Message) -> None:
        match message:
            case Knock():
                self._knocks.send_nowait(message)
            case AnswerDoor(handle, answer):
                visit = self._visits.pop(handle, None)
                if visit is not None:
                    self._transport.send_door(visit, encode("membership", "membership", answer))
            case _:
                raise LocalProtocolError(f"the door got a {type(message).__name__}")

    async def run(self, deliver: Deliver) -> None:
        async with trio.open_nursery() as nursery:
            if self._transport.door_endpoint is not None:
                nursery.start_soon(self._open, deliver)
            async for knock in self._inbox:
                nursery.start_soon(self._knock, deliver, knock)

    async def _open(self, deliver: Deliver) -> None:
        while True:
            visit, key, frame = await self._transport.receive_door()
            try:
                join = _DECODER.decode(frame).message
            except RemoteProtocolError as error:
                logger.warning("stranger not understood error=%s", error)
                continue
            if isinstance(join, JoinMesh):
                handle = next(self._handles)
                self._visits[handle] = visit
                if len(self._visits) > VISITS_MAX:
                    self._visits.popitem(last=False)
                deliver(self._address, "membership", DoorKnocked(handle, key, join))

    async def _knock(self, deliver: Deliver, knock: Knock) -> None:
        frame = encode("membership", "membership", knock.join)
        answer: Welcomed | JoinRefused | None = None
        try:
            reply = await self._transport.knock(knock.endpoint, knock.server_key, frame, KNOCK_TIMEOUT_S)
            message = _DECODER.decode(reply).message
            if isinstance(message, Welcomed | JoinRefused):
                answer = message
        except (trio.TooSlowError, OSError, RemoteProtocolError) as error:
            logger.info("no answer at the door endpoint=%s error=%s", knock.endpoint, error)
        deliver(self._address, "membership", Knocked(answer))
