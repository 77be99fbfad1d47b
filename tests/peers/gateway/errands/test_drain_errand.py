"""The order to drain a peer, by what goes into the searcher and what comes out."""

from __future__ import annotations

from mesh.actors.actor import Address, Message, Send
from mesh.keys.decree import DRAIN, WRITE_OFF, number_body
from mesh.membership.model.members import State
from mesh.membership.model.messages import DrainPeer
from mesh.membership.model.wire_messages import MemberRecord, MembersTold, MembersWanted, Rumour
from peers.gateway.errands.drain_errand import DRAINING_S_MAX, REPEAT_S
from peers.gateway.model.messages import DrainOrder, DrainOrdered, DrainRefused
from tests.peers.gateway.mesh_of_three import Conversation

MEMBERSHIP = Address("ann", "membership")
HTTP = Address("ann", "http")
LOOK = [Send(MEMBERSHIP, MembersWanted(()))]


def member(peer: str, state: State = State.ALIVE, *, weight: int = 100, is_draining: bool = False) -> Rumour:
    record = MemberRecord(peer, "", "", "", "", b"", b"", b"", 1, weight, weight, is_draining)
    return Rumour(record, state)


def answer_of(sends: list[Send]) -> Message:
    [(target, message)] = sends
    assert target == HTTP
    return message


class Order:
    """An order to drain, and a membership that answers what it is told to."""

    def __init__(self, peer: str, *, is_draining: bool = True) -> None:
        self.talk = Conversation()
        assert self.talk.order(DrainOrder(9, peer, is_draining)) == LOOK

    def told(self, *members: Rumour) -> list[Send]:
        return self.talk.from_peer("ann", MembersTold(members), "membership")


ANN, BOB, BEA = member("ann"), member("bob-1"), member("bea-2")


def test_order_to_drain_this_peer_is_carried_out_and_done_when_the_record_says_so() -> None:
    order = Order("an")
    assert order.told(ANN, BOB) == [Send(MEMBERSHIP, DrainPeer(True))]
    assert order.talk.wait(REPEAT_S) == LOOK
    drained = member("ann", weight=0, is_draining=True)
    assert answer_of(order.told(BOB, drained)) == DrainOrdered(9, "ann", True)
    assert order.talk.searcher.observe().in_flight == 0


def test_order_is_repeated_while_the_record_does_not_say_so() -> None:
    order = Order("ann")
    for _ in range(3):
        assert order.told(ANN, BOB) == [Send(MEMBERSHIP, DrainPeer(True))]
        assert order.talk.wait(REPEAT_S) == LOOK


def test_order_to_another_peer_takes_a_decree() -> None:
    to_decree = DrainOrdered(9, "bob-1", True, kind=DRAIN, body=number_body(1))
    assert answer_of(Order("bo").told(ANN, BOB)) == to_decree
    drained = member("bob-1", weight=0, is_draining=True)
    assert answer_of(Order("bo").told(ANN, drained)) == DrainOrdered(9, "bob-1", True)


def test_drain_is_cancelled_likewise() -> None:
    drained = member("bob-1", weight=0, is_draining=True)
    to_decree = DrainOrdered(9, "bob-1", False, kind=DRAIN, body=number_body(0))
    assert answer_of(Order("bob", is_draining=False).told(ANN, drained)) == to_decree
    assert answer_of(Order("bob", is_draining=False).told(ANN, BOB)) == DrainOrdered(9, "bob-1", False)


def test_dead_peer_is_written_off_by_decree_up_to_what_it_said_last() -> None:
    to_decree = DrainOrdered(9, "bob-1", True, kind=WRITE_OFF, body=number_body(1))
    assert answer_of(Order("bob").told(ANN, member("bob-1", State.DEAD))) == to_decree
    order = Order("bob")
    gone = answer_of(order.told(ANN, member("bob-1", State.LEFT)))
    assert gone == DrainOrdered(9, "bob-1", True, is_written_off=True)


def test_drain_of_a_dead_peer_cannot_be_cancelled() -> None:
    refusal = answer_of(Order("bob", is_draining=False).told(ANN, member("bob-1", State.DEAD)))
    assert isinstance(refusal, DrainRefused)
    assert "is down" in refusal.reason


def test_unknown_peer_is_refused_with_those_that_there_are() -> None:
    refusal = answer_of(Order("x").told(ANN, member("bob-1", State.DEAD), member("eve", State.LEFT)))
    assert refusal == DrainRefused(
        9, "no peer's id begins with 'x'; there are ann, bob-1 (down)", is_known=False
    )


def test_beginning_of_several_is_refused_with_these() -> None:
    refusal = answer_of(Order("b").told(ANN, BOB, BEA))
    assert refusal == DrainRefused(9, "'b' is the beginning of several: bea-2, bob-1", is_known=True)


def test_peer_that_has_left_does_not_make_a_beginning_ambiguous() -> None:
    ordered = answer_of(Order("b").told(ANN, BOB, member("bea-2", State.LEFT)))
    assert isinstance(ordered, DrainOrdered)
    assert ordered.peer == "bob-1"


def test_last_peer_that_has_a_share_is_not_drained() -> None:
    others = [member("ann", weight=0), member("bea-2", State.DEAD)]
    refusal = answer_of(Order("bob").told(BOB, *others))
    assert isinstance(refusal, DrainRefused)
    assert "no other live peer" in refusal.reason


def test_bootstrap_node_has_nothing_to_give_away() -> None:
    node = Rumour(MemberRecord("boot", "", "", "", "", b"", b"", b"", 1, 0), State.ALIVE)
    refusal = answer_of(Order("boot").told(ANN, node))
    assert isinstance(refusal, DrainRefused)
    assert "just stop it" in refusal.reason


def test_order_that_is_not_carried_out_in_time_is_refused() -> None:
    order = Order("ann")
    order.told(ANN, BOB)
    refusal = answer_of(order.talk.wait(DRAINING_S_MAX))
    assert isinstance(refusal, DrainRefused)
    assert "has not carried out the order" in refusal.reason


def test_members_told_by_another_peer_are_not_believed() -> None:
    order = Order("bob")
    told = MembersTold((ANN, member("bob-1", State.LEFT)))
    assert order.talk.from_peer("eve", told, "membership") == []
    assert order.talk.searcher.observe().in_flight == 1
