"""Messages that each member of a team has to answer: who is waited for, and who no more."""

from __future__ import annotations

from math import inf

from mesh.actors.delivery import DeliverySettings
from peers.storage.replication import Replications, Silence
from peers.storage.wire_messages import ReplicatePage, StoredPage

MESSAGE = ReplicatePage(StoredPage("http://a.test/", 3, 1.0, 200, b"records"))


def replications(waiting_max: float = inf) -> Replications[str, ReplicatePage]:
    settings = DeliverySettings(again_s=2.0, again_max_s=16.0, give_up_s=30.0, waiting_max=waiting_max)
    return Replications(settings, lambda order: len(order.page.url))


def begun(*members: str) -> Replications[str, ReplicatePage]:
    replicas = replications()
    replicas.begin("key", 3, MESSAGE, members, 0.0)
    assert replicas.wake(0.0) == ([(member, MESSAGE) for member in members], [])
    return replicas


def test_the_last_answer_ends_it() -> None:
    replicas = begun("b", "c")
    assert not replicas.note_answer("key", "b", 0.1)
    assert not replicas.note_answer("key", "b", 0.1), "it has answered before"
    assert replicas.is_waiting("key")
    assert replicas.note_answer("key", "c", 0.2)
    assert not replicas.is_waiting("key")
    assert replicas.wake_at() == inf


def test_only_the_silent_are_sent_it_again_and_each_is_given_up_once() -> None:
    replicas = begun("b", "c")
    replicas.note_answer("key", "b", 0.1)
    assert replicas.wake(2.0) == ([("c", MESSAGE)], [])
    assert replicas.wake(30.0)[1] == [Silence("key", 3, "c")]
    assert not replicas.is_waiting("key")
    assert replicas.wake(60.0) == ([], [])


def test_who_has_answered_is_waited_for_once_more_when_asked_again() -> None:
    replicas = begun("b", "c")
    replicas.note_answer("key", "b", 0.1)
    replicas.ask_again("key", 3, MESSAGE, ["b", "c"], 0.2)
    assert replicas.wake(0.2) == ([("b", MESSAGE)], []), "c is being waited for as it is"
    assert not replicas.note_answer("key", "c", 0.3)
    assert replicas.note_answer("key", "b", 0.3)
    replicas.ask_again("key", 3, MESSAGE, ["b"], 0.4)
    assert replicas.wake(0.4) == ([("b", MESSAGE)], [])
    assert replicas.note_answer("key", "b", 0.5)


def test_without_members_nothing_is_waited_for() -> None:
    replicas = begun()
    assert not replicas.is_waiting("key")
    assert len(replicas) == 0


def test_a_newer_message_of_a_key_takes_the_place_of_the_one_before() -> None:
    replicas = begun("b")
    newer = ReplicatePage(StoredPage("http://a.test/", 3, 2.0, 200, b"newer"))
    replicas.begin("key", 3, newer, ["b", "c"], 1.0)
    assert replicas.wake(1.0) == ([("b", newer), ("c", newer)], [])


def test_who_is_no_member_any_more_is_not_waited_for_and_who_comes_is_asked() -> None:
    replicas = begun("b", "c")
    replicas.change_members("key", 3, MESSAGE, ["c", "d"], 1.0)
    assert replicas.wake(1.0) == ([("d", MESSAGE)], [])
    assert not replicas.note_answer("key", "b", 1.0)
    replicas.note_answer("key", "c", 1.0)
    assert replicas.note_answer("key", "d", 1.0)


def test_the_last_one_waited_for_may_be_gone() -> None:
    replicas = begun("b")
    replicas.change_members("key", 3, MESSAGE, [], 1.0)
    assert not replicas.is_waiting("key")


def test_who_has_too_much_before_it_is_silent_at_once() -> None:
    replicas = replications(waiting_max=1)
    replicas.begin("first", 3, MESSAGE, ["b"], 0.0)
    replicas.begin("second", 4, MESSAGE, ["b", "c"], 0.0)
    assert replicas.wake_at() == -inf
    leaving, silent = replicas.wake(0.0)
    assert leaving == [("b", MESSAGE), ("c", MESSAGE)]
    assert silent == [Silence("second", 4, "b")]
    assert replicas.note_answer("second", "c", 0.1)
