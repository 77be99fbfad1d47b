"""Messages between the meter and the historian of one peer."""

from __future__ import annotations

from mesh.actors.actor import Message
from peers.history.event import Event, PeerCondition
from peers.history.sample import Counts, Values


class VitalsTaken(Message, frozen=True):
    """Meter to historian, every other second: how this peer is."""

    counters: Counts  # since the start of the process
    gauges: Values
    standing: PeerCondition  # without the other members and the policy, of which others tell the historian
    has_joined: bool  # False before its mesh has let it in: nothing of that is worth telling


class Happened(Message, frozen=True):
    """Historian to meter: have this written to the log."""

    event: Event
