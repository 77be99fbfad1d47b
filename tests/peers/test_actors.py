"""The actors of a peer together: what crosses the wire finds one that takes it."""

from __future__ import annotations

from mesh.actors.actor import Actor
from mesh.membership.membership import Membership
from mesh.membership.model.wire_messages import (
    BorrowPorts,
    CallBack,
    CalledBack,
    JoinMesh,
    JoinRefused,
    PortsLent,
    Welcomed,
)
from mesh.tables.memory_table import MemoryTable
from peers.actors import make_actors
from peers.crawler.model.settings import CrawlSettings
from peers.index.counting_index import CountingIndex
from peers.wire_tags import WIRE_TAGS

DOOR = {
    JoinMesh,
    Welcomed,
    JoinRefused,
    CallBack,
    CalledBack,
    BorrowPorts,
    PortsLent,
}  # goes through the door, to no actor


def test_every_message_of_the_wire_is_taken_by_an_actor_and_no_other_is() -> None:
    actors: list[type[Actor]] = [Membership]
    actors += map(type, make_actors("me", MemoryTable(), CrawlSettings(), CountingIndex()))
    taken = [actor.remote_messages for actor in actors]
    assert frozenset().union(*taken) == set(WIRE_TAGS.values()) - DOOR
