"""The historian, by what goes in and what comes out."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from mesh.actors.actor import Address, Message, Send
from mesh.errors import LocalProtocolError
from mesh.keys.decree import POLICY, Signer
from mesh.keys.signing_key import SigningKey
from mesh.membership.model.members import State
from mesh.membership.model.messages import DecreesInForce
from mesh.membership.model.wire_messages import MemberRecord, MembersTold, MembersWanted, Rumour
from mesh.tables.memory_table import MemoryTable
from peers.history.event import Event, EventKind, PeerCondition
from peers.history.historian import Historian
from peers.history.messages import Happened, VitalsTaken
from peers.history.sample import Counts
from peers.history.wire_messages import HistoryTold, HistoryWanted
from peers.policy.edits import taken_down
from peers.policy.rules import Action, Rule, policy_bytes
from tests.helpers import ME, ownership_changed

METER, MEMBERSHIP = Address(ME, "meter"), Address(ME, "membership")
GATEWAY = Address("bob", "searcher")
NOW = 1_750_000_200.0
HERE = PeerCondition(version="1")
ASKS = [Send(MEMBERSHIP, MembersWanted(()))]


def vitals(pages: int = 0, standing: PeerCondition = HERE, *, has_joined: bool = True) -> VitalsTaken:
    return VitalsTaken(Counts({"pages": pages}), {"queued": 3}, standing, has_joined)


def members(**states: State) -> MembersTold:
    return MembersTold(
        tuple(
            Rumour(MemberRecord(peer, "", "", "", "", b"", b"", b"", 1, 100), state)
            for peer, state in {ME: State.ALIVE, **states}.items()
        )
    )


def look(
    historian: Historian,
    now: float,
    told: MembersTold | None = None,
    standing: PeerCondition = HERE,
    pages: int = 0,
) -> list[Event]:
    """Tell it how its peer is, and who the members are; return what it has logged."""
    assert historian.receive(METER, vitals(pages, standing), now) == ASKS
    sends = historian.receive(MEMBERSHIP, told or members(), now)
    assert all(send.target == METER for send in sends)
    return [send.message.event for send in sends if isinstance(send.message, Happened)]


def ask(historian: Historian, now: float, span_s: float = 3_600.0) -> HistoryTold:
    [send] = historian.receive(GATEWAY, HistoryWanted(5, span_s), now)
    assert send.target == GATEWAY
    assert isinstance(send.message, HistoryTold)
    assert send.message.request == 5
    return send.message


def test_what_was_counted_between_looks_is_told() -> None:
    historian = Historian(ME, MemoryTable())
    for n in range(6):
        look(historian, NOW + 2.0 * n, pages=100 + 10 * n)
    [sample] = ask(historian, NOW + 10.0).samples
    assert (sample.start_s, sample.span_s, sample.seconds) == (NOW, 40.0, 10.0)
    assert (sample.counters.values, sample.gauges) == ({"pages": 50}, {"queued": 3})


def test_answers_are_made_once_between_two_looks() -> None:
    historian = Historian(ME, MemoryTable())
    look(historian, NOW)
    look(historian, NOW + 2.0, pages=1)
    assert ask(historian, NOW + 2.5).samples is ask(historian, NOW + 3.5, 17.0).samples
    look(historian, NOW + 4.0, pages=2)
    assert ask(historian, NOW + 4.0).samples[0].counters.values["pages"] == 2


def test_what_happens_is_logged_and_told() -> None:
    historian = Historian(ME, MemoryTable())
    first = look(historian, NOW, members(bob=State.ALIVE))
    then = look(historian, NOW + 2.0, members(bob=State.DEAD, cyd=State.ALIVE))
    assert first == [Event(NOW, EventKind.STARTED, text="1")]
    assert then == [Event(NOW + 2.0, EventKind.DOWN, "bob"), Event(NOW + 2.0, EventKind.JOINED, "cyd")]
    assert ask(historian, NOW + 3.0).events == (*first, *then)
    assert look(historian, NOW + 3_601.0, members(bob=State.DEAD, cyd=State.ALIVE)) == []
    assert ask(historian, NOW + 3_601.0).events == tuple(then)


def test_after_a_restart_only_what_is_new_is_told() -> None:
    table = MemoryTable()
    before = look(Historian(ME, table), NOW, members(bob=State.ALIVE, cyd=State.ALIVE))
    again = Historian(ME, table)
    later = look(again, NOW + 9.0, members(bob=State.ALIVE, cyd=State.DEAD), replace(HERE, version="2"))
    assert later == [
        Event(NOW + 9.0, EventKind.STARTED, text="2"),
        Event(NOW + 9.0, EventKind.DOWN, "cyd"),
    ]
    assert ask(again, NOW + 9.0).events == (*before, *later)


def test_before_it_has_joined_nothing_is_worth_telling() -> None:
    historian = Historian(ME, MemoryTable())
    assert historian.receive(METER, vitals(has_joined=False), NOW) == []
    assert historian.receive(MEMBERSHIP, members(bob=State.ALIVE), NOW) == []


def test_policies_and_take_downs_are_events() -> None:
    historian = Historian(ME, MemoryTable())
    look(historian, NOW)
    historian.receive(MEMBERSHIP, policy(3), NOW)
    assert look(historian, NOW + 2.0) == [
        Event(NOW + 2.0, EventKind.POLICY, amount=3.0),
        Event(NOW + 2.0, EventKind.TAKEN_DOWN, amount=1.0),
    ]
    historian.receive(MEMBERSHIP, DecreesInForce("revocation", ()), NOW)
    assert look(historian, NOW + 4.0) == []


def policy(number: int) -> DecreesInForce:
    body = policy_bytes(taken_down(None, Rule(action=Action.TAKE_DOWN, hosts=("a.test",)), "asked"))
    signer = Signer(SigningKey.of_secret(bytes(32)), b"mesh")
    return DecreesInForce(POLICY, (signer.decree(POLICY, "", number, body),))


def test_a_running_handover_is_told_with_its_beginning_and_size() -> None:
    historian = Historian(ME, MemoryTable())
    look(historian, NOW, standing=replace(HERE, slots_wanted=90))
    look(historian, NOW + 2.0, standing=replace(HERE, slots_wanted=50))
    told = ask(historian, NOW + 2.0)
    assert (told.wanted_since_s, told.wanted_most) == (NOW, 90)


def test_owners_are_no_business_of_its_and_what_is_not_for_it_is_refused() -> None:
    historian = Historian(ME, MemoryTable())
    assert historian.receive(MEMBERSHIP, ownership_changed(), NOW) == []
    for source, message in ((METER, Message()), (Address("eve", "membership"), members())):
        with pytest.raises(LocalProtocolError):
            historian.receive(source, message, NOW)


def test_a_simulated_one_that_is_told_nothing_writes_nothing() -> None:
    table = MemoryTable()
    historian = Historian(ME, table)
    historian.receive(MEMBERSHIP, policy(3), NOW)
    assert ask(historian, NOW) == HistoryTold(5, (), ())
    assert len(table) == 0
