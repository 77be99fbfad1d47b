"""The port "network": carries out the orders of the membership about connections. [io]"""

from __future__ import annotations

import logging
from typing import ClassVar

import trio

from mesh.actors.actor import Address, Message
from mesh.actors.port import Deliver
from mesh.errors import ConfigError, LocalProtocolError, RemoteProtocolError
from mesh.membership.model.messages import ConnectPeer, DisconnectPeer, MembershipEnded, MembershipRefused
from mesh.transport.transport import Transport

logger = logging.getLogger(__name__)


class NetworkPort:
    """Keeps the sockets and the allow-list of a transport in step with the membership."""

    name: ClassVar[str] = "network"

    def __init__(self, transport: Transport) -> None:
        self._transport = transport
        self._refusal = ""
        self._is_refused = trio.Event()
        self.has_ended = trio.Event()  # the membership has told the others that we go

    def receive(self, source: Address, message: Message) -> None:
        match message:
            case ConnectPeer(record):
                self._transport.allow(record.curve_key, record.peer)
                try:
                    self._transport.connect(record.peer, record.endpoint, record.multicast, record.curve_key)
                except RemoteProtocolError as error:
                    logger.warning("member without address peer=%s error=%s", record.peer, error)
            case DisconnectPeer(peer):
                self._transport.disallow(peer)
                self._transport.disconnect(peer)
            case MembershipRefused(reason):
                self._refusal = reason
                self._is_refused.set()
            case MembershipEnded():
                self.has_ended.set()
            case _:
                raise LocalProtocolError(f"the network got a {type(message).__name__}")

    async def run(self, deliver: Deliver) -> None:
        """Wait for the day the mesh does not want us.

        Raises:
          ConfigError: it refused us; the text says why.
        """
        await self._is_refused.wait()
        raise ConfigError(f"the mesh refused this peer: {self._refusal}")
