"""What is shipped to the others of a team while the team changes."""

from __future__ import annotations

import msgspec

from mesh.actors.actor import Address, Send
from mesh.actors.ownership import Ownership
from mesh.slots import SlotTable
from mesh.tables.memory_table import MemoryTable
from peers.handover.item_store import Item, ItemStore
from peers.handover.mirror import FORMER_KEPT, RESEND_S, Mirror, Pledge
from peers.handover.wire_messages import ItemsChanged, ItemsKept

SLOTS = 64
ANN, BOB, CYD = "ann", "bob", "cyd"


def seen_by(me: str, **weights: int) -> Ownership:
    return Ownership(me, SlotTable(weights, SLOTS, 2), weights)


def peer(me: str, ownership: Ownership) -> tuple[Mirror, ItemStore]:
    store = ItemStore(MemoryTable(), max)
    mirror = Mirror(me, "toys", store, 1)
    mirror.change_ownership(ownership)
    return mirror, store


def test_shipment_goes_on_without_the_slots_whose_team_its_receiver_has_left() -> None:
    before, after = {ANN: 100, BOB: 100}, {ANN: 100, BOB: 50, CYD: 100}
    ours, store = peer(ANN, seen_by(ANN, **before))
    theirs, kept = peer(BOB, seen_by(BOB, **after))
    new = seen_by(ANN, **after)
    shared = [slot for slot in range(SLOTS) if {ANN, BOB} == set(new.team_of(slot))]
    left = [slot for slot in range(SLOTS) if BOB not in new.team_of(slot) and ANN in new.team_of(slot)]
    for slot in (shared[0], left[0]):
        store.put(slot, b"name", b"value")
    promise = Send(Address(CYD, "toys"), ItemsKept(7))
    ours.pledge(Pledge(sends=(promise,)))
    [first] = ours.ship(0.0)
    assert isinstance(first.message, ItemsChanged)
    assert theirs.receive(Address(ANN, "toys"), first.message, 0.0) == [], "bob is not in that team"

    ours.change_ownership(new)
    [again] = ours.wake(RESEND_S)
    assert isinstance(again.message, ItemsChanged)
    assert again.message.batch == first.message.batch
    [answer] = theirs.receive(Address(ANN, "toys"), again.message, RESEND_S)
    assert [item.slot for slot in range(SLOTS) for item in kept.items(slot)] == [shared[0]]
    assert isinstance(answer.message, ItemsKept)
    ours.receive(Address(BOB, "toys"), answer.message, 2.0)
    assert [pledge.sends for pledge in ours.redeem()] == [(promise,)]


def test_who_was_in_the_team_until_a_moment_ago_is_still_heard_and_a_stranger_to_it_is_not() -> None:
    table = SlotTable({ANN: 100, BOB: 100, CYD: 100, "dan": 100}, SLOTS, 2)

    def pinned_to(me: str, who: str) -> Ownership:
        return Ownership(me, table.pinned({slot: who}), table.weights, serving=table)

    slot = next(each for each in range(SLOTS) if table.team_of(each) == (BOB, CYD))
    ours, store = peer(ANN, pinned_to(ANN, ANN))
    theirs, kept = peer(BOB, pinned_to(BOB, ANN))
    store.put(slot, b"name", b"visited before it stopped")
    for mirror, me in ((ours, ANN), (theirs, BOB)):
        mirror.change_ownership(pinned_to(me, "dan"))
    changes = {send.target.peer: send.message for send in ours.ship(0.0)}
    assert set(changes) == {BOB, CYD, "dan"}, "whose team it is now"
    changed = changes[BOB]
    assert isinstance(changed, ItemsChanged)
    assert theirs.receive(Address("eve", "toys"), changed, 0.0) == []
    assert not list(kept.items(slot))
    [answer] = theirs.receive(Address(ANN, "toys"), changed, 0.0)
    assert isinstance(answer.message, ItemsKept)
    assert [item.slot for item in kept.items(slot)] == [slot]
    for _ in range(FORMER_KEPT):
        theirs.change_ownership(pinned_to(BOB, "dan"))
    assert theirs.receive(Address(ANN, "toys"), changed, 0.0) == [], "that is long ago"


def test_changes_of_slots_that_the_mesh_has_not_are_refused() -> None:
    """They raised IndexError, and one such message of any member ended a peer."""
    ownership = seen_by(ANN, ann=100, bob=100)
    mirror, store = peer(ANN, ownership)
    for slot in (SLOTS, 65_535):
        changed = ItemsChanged(slot, 0.0, msgspec.msgpack.encode([Item(slot, b"name", b"value")]))
        assert mirror.receive(Address(BOB, "toys"), changed, 0.0) == []
    assert mirror.refused_count == 2
    assert not store.has_changes
