"""The actors of a peer together: what crosses the wire finds one that takes it."""

from __future__ import annotations

from typing import get_args

from mesh.actor import Actor
from mesh.membership.membership import Membership
from mesh.memory_table import MemoryTable
from mesh.messages import JoinMesh, JoinRefused, Welcomed, WireMessage
from peers.actors import make_actors
from peers.crawler.settings import CrawlSettings
from peers.index.counting_index import CountingIndex

DOOR = {JoinMesh, Welcomed, JoinRefused}  # goes through the door, to no actor


def test_every_message_of_the_wire_is_taken_by_an_actor_and_no_other_is() -> None:
    actors: list[type[Actor]] = [Membership]
    actors += map(type, make_actors("me", MemoryTable(), CrawlSettings(), CountingIndex()))
    taken = [actor.remote_messages for actor in actors]
    assert frozenset().union(*taken) == set(get_args(WireMessage)) - DOOR
