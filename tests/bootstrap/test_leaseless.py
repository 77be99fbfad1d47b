"""A member that asks no web server keeps nobody from lending addresses."""

from __future__ import annotations

import pytest

from bootstrap.rendezvous import Leaseless
from mesh.actors.actor import Address
from mesh.actors.node import Node
from mesh.errors import RemoteProtocolError
from mesh.slot_set import encode_slots
from peers.crawler.model.wire_messages import LeaseAddress, LeasesTold, TellLeases
from tests.helpers import ownership_changed

ME, PEER = "me", "peer"
LESSOR = Address(PEER, "lessor")


def test_it_says_each_time_that_it_has_no_leases() -> None:
    node = Node(ME, [Leaseless()])
    changed = ownership_changed([PEER], me=ME)
    assert node.receive(Address(ME, "membership"), "lessor", changed, 0.0) == []
    asked = TellLeases(7, encode_slots(changed.ownership.table.slots_of(PEER)))
    for now in (1.0, 2.0):
        [(_, target, answer)] = node.receive_remote(LESSOR, "lessor", asked, now)
        assert (target, answer) == (LESSOR, LeasesTold(7))


def test_other_peers_lease_nothing_from_it() -> None:
    node = Node(ME, [Leaseless()])
    with pytest.raises(RemoteProtocolError):
        node.receive_remote(LESSOR, "lessor", LeaseAddress("192.0.2.1", 1, 1.0), 2.0)
