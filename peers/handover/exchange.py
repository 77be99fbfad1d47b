"""The conversation of one store with the same store of other peers, in both directions.

So two stores find what one of them lacks, and move it: who lacks something asks, and sees to it that it
comes (`incoming_transfers`); who is asked compares, and sends what the other lacks (`outgoing_transfers`).

What is repeated is a question, put anew with what is lacking by then, which may end without an answer:
nothing here has to arrive as it was, as what `mesh.actors.delivery` brings has to.

An exchange belongs to a `keeper.Keeper`, which hands it the messages of this conversation.
"""

from __future__ import annotations

from math import inf

import msgspec

from mesh.actors.actor import Address, Message, Send
from mesh.actors.ownership import Ownership
from mesh.errors import LocalProtocolError, RemoteProtocolError
from mesh.slot_set import SlotMask, decode_slots
from mesh.tables.lives import numbers_of
from peers.handover.equal_slots import EqualSlots
from peers.handover.incoming_transfers import IncomingTransfers
from peers.handover.messages import StopSynchronising, SynchroniseSlots
from peers.handover.outgoing_transfers import OutgoingTransfers
from peers.handover.settings import ExchangeSettings
from peers.handover.store import Part, Store
from peers.handover.wire_messages import CompareSlots, ItemsSent, ItemsTaken, SendItems, SlotsCompared


class ExchangeStatistics(msgspec.Struct, frozen=True):
    """Counts since the start; gauges of now."""

    tasks: int  # gauge: being pulled
    transfers: int  # gauge: going out
    parts_received: int
    bytes_received: int  # of items and what they describe
    parts_sent: int
    bytes_sent: int
    slots_compared: int
    slots_differing: int  # of those compared for others
    parts_refused: int  # and other messages that were damaged or made no sense


class Exchange:
    """The transfers to and from one store, and which of the two a message is for."""

    def __init__(
        self, me: str, actor: str, store: Store, settings: ExchangeSettings | None = None, life: int = 1
    ) -> None:
        """Begin with nothing to do.

        Args:
          actor: name of the actor it belongs to, here and at the other peers.
          life: of this peer, whose numbers no question of an earlier life has.
        """
        settings = settings or ExchangeSettings()
        numbers = numbers_of(life)  # of both, so that no ticket stands for two orders to a port
        self._equal = EqualSlots()
        self._incoming = IncomingTransfers(me, actor, store, settings, numbers, self._equal)
        self._outgoing = OutgoingTransfers(me, actor, store, settings, numbers, self._equal)
        self.wake_at_s = inf  # when to call `wake`
        self._refused_count = 0  # messages of others that made no sense

    def receive(self, source: Address, message: Message, now: float) -> list[Send]:
        """React to a message of this conversation, of the handover or of the same actor of another peer."""
        if not self._equal.slot_count:
            return []  # nothing is known of slots yet; others repeat it, our own handover does not know more
        match message:
            case SynchroniseSlots():
                sends = self._incoming.begin(
                    message, decode_slots(message.slots, self._equal.slot_count), now
                )
            case StopSynchronising(number):
                self._incoming.drop(number)
                sends = []
            case _:
                sends = self._receive_remote(source, message, now)
        self._plan()
        return sends

    def _receive_remote(self, source: Address, message: Message, now: float) -> list[Send]:
        try:
            match message:
                case CompareSlots():
                    return self._outgoing.compare(source, message)
                case SlotsCompared():
                    return self._incoming.note_compared(source.peer, message, now)
                case SendItems():
                    return self._outgoing.send_items(source.peer, message, now)
                case ItemsSent():
                    return self._incoming.take_part(source.peer, message, now)
                case ItemsTaken(request, part):
                    return self._outgoing.note_taken(source.peer, request, part, now)
                case _:
                    raise LocalProtocolError(f"exchange does not understand {type(message).__name__}")
        except RemoteProtocolError:
            self._refused_count += 1
            return []

    def change_ownership(self, ownership: Ownership) -> None:
        """Go on with the tasks under way; the handover stops those with peers that are gone."""
        self._equal.compare_anew(ownership.table)
        self._outgoing.change_ownership(ownership)
        self._plan()

    def note_complete(self, slots: SlotMask) -> None:
        """Of our own slots only these are fit for others to be compared with."""
        self._outgoing.note_complete(slots)

    def give_part(self, ticket: int, part: Part, now: float) -> list[Send]:
        """Send a part that an order of `Store.parts` was for."""
        sends = self._outgoing.give_part(ticket, part, now)
        self._plan()
        return sends

    def end_merge(self, ticket: int, now: float) -> list[Send]:
        """Go on after an order of `Store.merge` has been carried out."""
        sends = self._incoming.end_merge(ticket, now)
        self._plan()
        return sends

    def wake(self, now: float) -> list[Send]:
        sends = self._incoming.wake(now)
        sends += self._outgoing.wake(now)
        self._plan()
        return sends

    @property
    def is_pulling(self) -> bool:
        """Is there a task under way?"""
        return self._incoming.n_tasks > 0

    def observe(self) -> ExchangeStatistics:
        incoming, outgoing = self._incoming, self._outgoing
        return ExchangeStatistics(
            tasks=incoming.n_tasks,
            transfers=outgoing.n_transfers,
            parts_received=incoming.parts_received,
            bytes_received=incoming.bytes_received,
            parts_sent=outgoing.parts_sent,
            bytes_sent=outgoing.bytes_sent,
            slots_compared=outgoing.slots_compared,
            slots_differing=outgoing.slots_differing,
            parts_refused=incoming.refused_count + self._refused_count,
        )

    def _plan(self) -> None:
        self.wake_at_s = min(self._incoming.wake_at(), self._outgoing.wake_at())
