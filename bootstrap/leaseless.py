"""From a member that asks no web server to a member that asks for its leases: it has none.

Who comes to hold slots lends their addresses when every live member has told what it has leased of them
(`peers.crawler.addresses.lent_addresses`), and the bootstrap node is one. Without its word they would wait
until all leases that there can be have ended: nothing public would be asked for a minute after each change
of members.
"""

from __future__ import annotations

from typing import ClassVar

from mesh.actors.actor import Actor, Address, Message, Send, Statistics
from mesh.actors.ownership import OwnershipChanged
from mesh.errors import LocalProtocolError
from mesh.membership.messages import HoldingsRevoked
from peers.crawler.model.wire_messages import LeasesTold, TellLeases


class LeaselessStatistics(Statistics, frozen=True):
    """Counts since the start."""

    told: int  # inquiries


class Leaseless(Actor):
    """Stands where peers have their lessor."""

    name: ClassVar[str] = "lessor"
    remote_messages: ClassVar[frozenset[type[Message]]] = frozenset({TellLeases})

    def __init__(self) -> None:
        self._n_told = 0

    def receive(self, source: Address, message: Message, now: float) -> list[Send]:
        match message:
            case TellLeases(number):
                self._n_told += 1
                return [Send(source, LeasesTold(number))]
            case OwnershipChanged() | HoldingsRevoked():
                return []
            case _:
                raise LocalProtocolError(f"{type(message).__name__} for a member without leases")

    def observe(self) -> LeaselessStatistics:
        return LeaselessStatistics(self._n_told)
