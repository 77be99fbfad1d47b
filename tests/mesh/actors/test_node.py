"""Who gets what: the routing among the actors of one peer and out of it."""

from __future__ import annotations

from collections.abc import Callable
from math import inf

from mesh.actors.actor import EVERYBODY, Actor, Address, Message, Send, Statistics
from mesh.actors.conduct import CONDUCT, Conduct
from mesh.actors.node import Node, Outgoing


class Said(Message, frozen=True):
    """Something said by somebody."""

    text: str


class Heard(Statistics, frozen=True):
    """How much an actor has heard."""

    messages: int


class Parrot(Actor):
    """Answers by a rule and remembers what it heard."""

    def __init__(self, name: str, rule: Callable[[str], list[Send]] = lambda text: []) -> None:
        self.name = name  # type: ignore[misc]
        self._rule = rule
        self.heard: list[tuple[Address, str]] = []
        self.due_at = inf

    def receive(self, source: Address, message: Message, now: float) -> list[Send]:
        assert isinstance(message, Said)
        self.heard.append((source, message.text))
        return self._rule(message.text)

    def wake(self, now: float) -> list[Send]:
        self.due_at = inf
        return self._rule("wake")

    def wake_at(self) -> float:
        return self.due_at

    def observe(self) -> Heard:
        return Heard(len(self.heard))


def to(peer: str, actor: str, text: str) -> Send:
    return Send(Address(peer, actor), Said(text))


def test_a_message_to_an_actor_of_this_peer_is_delivered_at_once() -> None:
    ear = Parrot("ear")
    node = Node("me", [Parrot("mouth", lambda text: [to("me", "ear", text + "!")]), ear])
    assert node.receive(Address("you", "x"), "mouth", Said("hello"), 0.0) == []
    assert ear.heard == [(Address("me", "mouth"), "hello!")]


def test_messages_to_other_peers_and_to_ports_leave_with_their_source() -> None:
    sends = [to("you", "ear", "a"), to("me", "door", "b"), to("you", "mouth", "c")]
    node = Node("me", [Parrot("mouth", lambda text: sends)])
    assert node.receive(Address("you", "x"), "mouth", Said("go"), 0.0) == [
        Outgoing(Address("me", "mouth"), target, message) for target, message in sends
    ]


def test_a_message_to_everybody_is_delivered_here_and_leaves() -> None:
    ear = Parrot("ear")
    node = Node("me", [Parrot("mouth", lambda text: [to(EVERYBODY, "ear", "all")]), ear])
    outgoing = node.receive(Address("you", "x"), "mouth", Said("go"), 0.0)
    assert outgoing == [Outgoing(Address("me", "mouth"), Address(EVERYBODY, "ear"), Said("all"))]
    assert ear.heard == [(Address("me", "mouth"), "all")]


def test_others_are_asked_before_an_actor_of_this_peer_is() -> None:
    happened: list[str] = []

    def listen(text: str) -> list[Send]:
        happened.append("heard here")
        return [to("you", "mouth", "answer"), to("me", "door", "knock")]

    node = Node("me", [Parrot("mouth", lambda text: [to(EVERYBODY, "ear", "all")]), Parrot("ear", listen)])
    node.send_at_once(lambda outgoing: happened.append(f"sent to {outgoing.target.peer}"))
    outgoing = node.receive(Address("you", "x"), "mouth", Said("go"), 0.0)
    assert happened == ["sent to *", "heard here", "sent to you"]
    assert [leaving.target for leaving in outgoing] == [Address("me", "door")]


def test_a_message_to_everybody_leaves_also_when_no_such_actor_is_here() -> None:
    node = Node("me", [Parrot("mouth", lambda text: [to(EVERYBODY, "ear", "all")])])
    outgoing = node.receive(Address("you", "x"), "mouth", Said("go"), 0.0)
    assert [leaving.target for leaving in outgoing] == [Address(EVERYBODY, "ear")]


def test_local_messages_are_delivered_first_in_first_out() -> None:
    def lead(text: str) -> list[Send]:
        return [to("me", "left", "1"), to("me", "right", "2"), to("me", "left", "3")]

    order: list[str] = []

    def relay(text: str) -> list[Send]:
        order.append(text)
        return [to("me", "right", text + "'")] if text == "1" else []

    node = Node("me", [Parrot("lead", lead), Parrot("left", relay), Parrot("right", relay)])
    node.receive(Address("you", "x"), "lead", Said("go"), 0.0)
    assert order == ["1", "2", "3", "1'"]


def test_an_actor_may_send_to_itself() -> None:
    mouth = Parrot("mouth", lambda text: [to("me", "mouth", "twice")] if text == "once" else [])
    Node("me", [mouth]).receive(Address("you", "x"), "mouth", Said("once"), 0.0)
    assert mouth.heard == [(Address("you", "x"), "once"), (Address("me", "mouth"), "twice")]


def test_only_those_are_woken_that_are_due() -> None:
    early, late = (Parrot(name, lambda text: [to("you", "ear", text)]) for name in ("early", "late"))
    early.due_at, late.due_at = 1.0, 2.0
    node = Node("me", [early, late])
    assert node.wake_at() == 1.0
    assert node.wake(0.5) == []
    assert [leaving.source.actor for leaving in node.wake(1.0)] == ["early"]
    assert node.wake_at() == 2.0


def test_those_are_told_of_a_commit_that_have_something_to_write_then() -> None:
    written: list[str] = []

    class Counter(Parrot):
        def before_commit(self, now: float) -> list[Send]:
            written.append(self.name)
            return [Send(Address("you", "x"), Said("news"))]

    node = Node("me", [Parrot("mouth"), Counter("ear")])
    [news] = node.before_commit(0.0)
    assert (written, news.message) == (["ear"], Said("news"))


def test_a_node_tells_its_actors_and_what_they_let_be_seen() -> None:
    node = Node("me", [Parrot("mouth")])
    node.receive(Address("you", "x"), "mouth", Said("hello"), 0.0)
    assert node.has_actor("mouth")
    assert not node.has_actor("door")
    assert node.observe() == {"mouth": Heard(1), CONDUCT: Conduct().observe()}
