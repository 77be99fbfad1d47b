"""The port "relay": has this peer reached over a relay, as the membership orders. [io]"""

from __future__ import annotations

import logging
from functools import partial
from typing import ClassVar, Final

import trio

from mesh.actors.actor import Address, Message
from mesh.actors.codec import OLDEST_VERSION, Decoder, encode
from mesh.actors.port import Deliver
from mesh.errors import LocalProtocolError, RemoteProtocolError
from mesh.membership.model.messages import Borrow, Borrowed, Knocked
from mesh.membership.model.wire_messages import JoinRefused, PortsLent
from mesh.transport.relay import Lent
from mesh.transport.relay_client import RelayClient
from mesh.transport.transport import Transport

ASK_S: Final = 4.0  # as at any door

_ANSWERS: Final = Decoder((PortsLent, JoinRefused))

logger = logging.getLogger(__name__)


class RelayPort:
    """Asks for ports, and keeps those that were lent last."""

    name: ClassVar[str] = "relay"

    def __init__(self, me: str, transport: Transport, borrower: RelayClient) -> None:
        self._address = Address(me, self.name)
        self._transport = transport
        self._borrower = borrower
        self._orders, self._inbox = trio.open_memory_channel[Borrow](float("inf"))

    def receive(self, source: Address, message: Message) -> None:
        if not isinstance(message, Borrow):
            raise LocalProtocolError(f"the relay got a {type(message).__name__}")
        self._orders.send_nowait(message)

    async def run(self, deliver: Deliver) -> None:
        kept = trio.CancelScope()
        async with trio.open_nursery() as nursery:
            async for order in self._inbox:
                kept.cancel()
                kept = trio.CancelScope()
                nursery.start_soon(self._borrow, deliver, order, kept)

    async def _borrow(self, deliver: Deliver, order: Borrow, scope: trio.CancelScope) -> None:
        """Ask for ports, and have them until the relay is gone."""
        tell = partial(deliver, self._address, "membership")
        with scope:
            lent, why = await self._ask(tell, order)
            if lent is not None:
                ports = Lent((lent.endpoint, lent.multicast, lent.door), lent.lease, lent.secret)

                def opened() -> None:
                    logger.warning("reached over a relay at=%s as=%s", order.endpoint, lent.endpoint)
                    tell(Borrowed(order.server_key, lent))

                why = await self._borrower.keep(order.endpoint, ports, opened)
                logger.warning("not reached over the relay any more at=%s error=%s", order.endpoint, why)
            tell(Borrowed(order.server_key, None, f"{order.endpoint} ({why})"))

    async def _ask(self, tell: partial[None], order: Borrow) -> tuple[PortsLent | None, str]:
        """Return the ports that are lent, or the reason why none are."""
        # Who is behind the door has not told so far what it speaks.
        frame = encode("membership", "membership", order.borrow, OLDEST_VERSION)
        try:
            reply = await self._transport.knock(order.endpoint, order.server_key, frame, ASK_S)
            answer = _ANSWERS.decode(reply).message
        except (trio.TooSlowError, OSError, RemoteProtocolError) as error:
            why = str(error) or "too slow"
            logger.info("no relay to be had at=%s error=%s", order.endpoint, why)
            return None, why
        if isinstance(answer, PortsLent):
            return answer, ""
        assert isinstance(answer, JoinRefused), "the decoder knows these two"
        logger.warning("no relay to be had at=%s reason=%r", order.endpoint, answer.reason)
        if answer.is_final:  # it would be refused as a stranger, too
            tell(Knocked(answer, order.endpoint, order.server_key))
        return None, answer.reason
