"""What each member may send, and what follows from what it does wrong."""

from __future__ import annotations

from typing import Final

import pytest

from mesh.actors.actor import Actor, Address, Message, Send
from mesh.actors.conduct import (
    CONDUCT,
    MEMBERS_TOLD_MAX,
    MESSAGE_BYTES_MIN,
    POINTS,
    Conduct,
    ConductSettings,
    Misbehaved,
    Offence,
    Quota,
)
from mesh.actors.node import Node
from mesh.errors import RemoteProtocolError

SETTINGS: Final = ConductSettings(links_per_minute=60, bytes_per_minute=100_000)
OFTEN: Final = 100


class Links(Message, frozen=True):
    """So many of them."""

    count: int


class Gossip(Message, frozen=True):
    """Something that is no content."""


class Odd(Message, frozen=True):
    """What nobody takes."""


class Ear(Actor):
    """Hears what comes from others, and reports who says 13."""

    name = "ear"
    remote_messages = frozenset({Links, Gossip})

    def __init__(self) -> None:
        self.heard: list[Message] = []

    def receive(self, source: Address, message: Message, now: float) -> list[Send]:
        self.heard.append(message)
        is_odd = isinstance(message, Links) and message.count == 13
        report = Misbehaved(source.peer, Offence.ODD_LINKS)
        return [Send(Address("me", CONDUCT), report)] if is_odd else []


def watched() -> Conduct:
    return Conduct(SETTINGS, {Links: lambda message: (Quota.LINKS, message.count)}, frozenset({Links}))


def quarantine(conduct: Conduct, peer: str, now: float = 0.0) -> None:
    for _ in range(OFTEN):
        conduct.note(peer, Offence.FORGED_DECREES, now)


def test_what_goes_beyond_a_quota_is_not_taken_and_taken_later() -> None:
    conduct = watched()
    assert conduct.admits("eve", Links(60), 0.0)
    assert not conduct.admits("eve", Links(30), 1.0)
    assert conduct.admits("bob", Links(60), 1.0), "each has its own"
    assert conduct.admits("eve", Links(30), 30.0)
    assert conduct.observe().over_quota == {"links": 1}


def test_a_message_that_is_larger_than_an_allowance_is_taken_when_all_of_it_is_there() -> None:
    conduct = watched()
    assert conduct.admits("eve", Links(1_000), 0.0)
    assert not conduct.admits("eve", Links(1_000), 59.0)
    assert conduct.admits("eve", Links(1_000), 61.0)


def test_bytes_are_counted_whatever_they_are() -> None:
    conduct = watched()
    assert conduct.admits_bytes("eve", 90_000, 0.0)
    assert not conduct.admits_bytes("eve", 20_000, 0.0)
    assert conduct.admits_bytes("eve", 20_000, 60.0)


def test_messages_without_content_count_too() -> None:
    conduct = watched()
    n_taken = sum(conduct.admits_bytes("eve", 35, 0.0) for _ in range(1_000))
    assert n_taken == SETTINGS.bytes_per_minute // MESSAGE_BYTES_MIN
    assert conduct.is_quarantined("eve", 0.0)


def test_messages_in_one_envelope_count_as_much_as_each_by_itself() -> None:
    conduct = watched()
    n_taken = sum(4 * conduct.admits_bytes("eve", 4 * 35, 0.0, n_messages=4) for _ in range(1_000))
    assert n_taken == SETTINGS.bytes_per_minute // MESSAGE_BYTES_MIN // 4 * 4


def test_who_is_a_little_too_fast_stays_in_good_standing_and_who_floods_does_not() -> None:
    """An honest sender repeats what was not taken after two seconds, four, eight."""
    conduct = watched()
    for second in range(0, 600, 2):
        conduct.admits("bob", Links(3), float(second))
    assert not conduct.is_quarantined("bob", 600.0)
    for second in range(600):
        conduct.admits("eve", Links(10), float(second))
    assert conduct.is_quarantined("eve", 600.0)


def test_of_who_is_in_quarantine_no_content_is_taken_for_a_while_and_gossip_is() -> None:
    conduct = watched()
    quarantine(conduct, "eve")
    assert not conduct.admits("eve", Links(1), 0.0)
    assert conduct.admits("eve", Gossip(), 0.0)
    assert conduct.admits("bob", Links(1), 0.0)
    at_most_s = 2 * SETTINGS.half_life_s
    assert not conduct.admits("eve", Links(1), at_most_s - 1.0)
    assert conduct.admits("eve", Links(1), at_most_s + 1.0)
    assert conduct.observe().kept_out == 2


def test_the_log_says_who_is_in_quarantine_why_and_what_to_do() -> None:
    conduct = watched()
    quarantine(conduct, "eve")
    [line] = conduct.take_news()
    assert "eve" in line
    assert "forged decrees" in line
    assert "tianmesh expel eve" in line
    assert not conduct.take_news()
    conduct.is_quarantined("eve", 1_000.0)
    [line] = conduct.take_news()
    assert "out of quarantine" in line


def test_points_are_forgiven_with_time() -> None:
    conduct = watched()
    for number in range(OFTEN):
        conduct.note("bob", Offence.FORGED_RECORDS, number * SETTINGS.half_life_s)
    assert not conduct.is_quarantined("bob", OFTEN * SETTINGS.half_life_s)


def test_what_another_version_may_say_counts_and_has_no_points() -> None:
    conduct = watched()
    for _ in range(10_000):
        conduct.note("bob", Offence.UNREADABLE, 0.0)
    assert not conduct.is_quarantined("bob", 0.0)
    assert conduct.observe().offences == {"unreadable messages": 10_000}


def test_the_worst_members_are_told_first_with_what_weighs_most() -> None:
    conduct = watched()
    for number in range(2 * MEMBERS_TOLD_MAX):
        for _ in range(number + 1):
            conduct.note(f"peer {number}", Offence.ODD_LINKS, 0.0)
    conduct.note("peer 0", Offence.FORGED_DECREES, 0.0)
    quarantine(conduct, "eve")
    told = conduct.observe().members
    assert len(told) == MEMBERS_TOLD_MAX
    assert told[0].peer == "eve"
    assert told[0].is_quarantined
    assert [each.points for each in told] == sorted((each.points for each in told), reverse=True)


@pytest.mark.parametrize("offence", Offence)
def test_every_offence_has_points(offence: Offence) -> None:
    assert POINTS[offence] >= 0


def test_a_node_hands_in_only_what_its_conduct_admits() -> None:
    ear = Ear()
    node = Node("me", [ear], watched())
    for _ in range(2):
        node.receive_remote(Address("eve", "ear"), "ear", Links(60), 0.0)
    assert ear.heard == [Links(60)]


def test_a_node_notes_what_cannot_be_and_what_its_actors_report() -> None:
    node = Node("me", [Ear()], watched())
    node.receive_remote(Address("eve", "ear"), "ear", Links(13), 0.0)
    with pytest.raises(RemoteProtocolError):
        node.receive_remote(Address("eve", "ear"), "ear", Odd(), 0.0)
    assert node.conduct.observe().offences == {"links that are none": 1, "messages that cannot be": 1}
