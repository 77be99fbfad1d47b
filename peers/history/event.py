"""Events of a peer that are worth telling, made from its state now beside its state before. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Set
from enum import StrEnum
from typing import Annotated, Final

import msgspec
from msgspec import Meta

from mesh.membership.model.members import State
from mesh.wire_fields import Count
from peers.history.sample import Amount, Time

PEER_CHARS_MAX: Final = 64
TEXT_CHARS_MAX: Final = 64
# A hand-over is told of if it takes longer: routine comparisons bring something all the time.
MOVING_TOLD_S: Final = 4.0


class EventKind(StrEnum):
    """The kinds of events. Append-only: they are kept in tables, and other versions know fewer."""

    STARTED = "started"  # this peer; text: its version
    JOINED = "joined"  # a member, for the first time
    SUSPECTED = "suspected"
    DOWN = "down"
    BACK = "back"  # after it was down
    LEFT = "left"  # for good
    TOOK_OVER = "took over"  # amount: slots that are this peer's to crawl, more than before
    GAVE_UP = "gave up"  # likewise, fewer
    HANDOVER_BEGUN = "hand-over begun"  # amount: slots to be brought here
    HANDOVER_ENDED = "hand-over ended"  # amount: seconds
    DISK_FULL = "disk full"
    DISK_FREE = "disk has space"
    QUARANTINED = "quarantined"  # a member, by this peer
    RELEASED = "released"
    CUT_OFF = "cut off"
    UNLICENSED = "unlicensed"
    CONNECTED = "connected"  # after either of these
    DRAINING = "draining"  # this peer
    POLICY = "policy"  # amount: its number, 0 for none
    TAKEN_DOWN = "taken down"  # amount: rules that take down, more than before
    RESTORED = "restored"  # likewise, fewer
    KEPT_OUT = "kept out"  # a peer that others do not reach, or this one


# A person should look at these.
GRAVE: Final = frozenset(
    {
        EventKind.DOWN,
        EventKind.DISK_FULL,
        EventKind.QUARANTINED,
        EventKind.CUT_OFF,
        EventKind.UNLICENSED,
        EventKind.KEPT_OUT,
    }
)


class Event(msgspec.Struct, frozen=True, array_like=True):
    """Something that happened to a peer, or that it noticed of another."""

    at_s: Time  # mesh clock
    # Of `EventKind`, or of a later version's.
    kind: Annotated[str, Meta(max_length=TEXT_CHARS_MAX)]
    peer: Annotated[str, Meta(max_length=PEER_CHARS_MAX)] = ""  # another member; "" for who tells it
    amount: Amount = 0.0
    text: Annotated[str, Meta(max_length=TEXT_CHARS_MAX)] = ""


class Crawling(StrEnum):
    """Whether a peer may begin fetches, as far as other members decide that."""

    ALLOWED = "allowed"
    CUT_OFF = "cut off"
    UNLICENSED = "unlicensed"


class PeerCondition(msgspec.Struct, frozen=True, kw_only=True):
    """How a peer stands, as far as events follow from it."""

    at_s: float = 0.0  # mesh clock
    version: str = ""  # of tianmesh; "" before the process has told anything
    members: Mapping[str, State] = {}  # the others
    slots_owned: int = 0
    slots_wanted: int = 0
    wanted_since_s: float = 0.0  # without a break; 0.0 while none is
    wanted_most: int = 0  # since then
    is_disk_full: bool = False
    is_draining: bool = False
    quarantined: frozenset[str] = frozenset()
    unreachable: frozenset[str] = frozenset()  # who is kept out
    crawling: Crawling = Crawling.ALLOWED
    policy_number: Count = 0
    taken_down: Count = 0  # rules of the policy


def continued(before: PeerCondition, now: PeerCondition) -> PeerCondition:
    """Note since when slots are wanted, and how many were at most."""
    if not now.slots_wanted:
        return now
    return msgspec.structs.replace(
        now,
        wanted_since_s=before.wanted_since_s or now.at_s,
        wanted_most=max(before.wanted_most, now.slots_wanted),
    )


def events_between(before: PeerCondition, now: PeerCondition) -> list[Event]:
    """Return the events between two standings of one peer, the second `continued`."""

    def told(kind: EventKind, peer: str = "", amount: float = 0.0, text: str = "") -> Event:
        return Event(now.at_s, kind, peer[:PEER_CHARS_MAX], float(amount), text[:TEXT_CHARS_MAX])

    events: list[Event] = []
    if now.version != before.version:
        events.append(told(EventKind.STARTED, text=now.version))
    events += (told(kind, peer) for kind, peer in _of_members(before.members, now.members))
    events += (told(EventKind.QUARANTINED, peer) for peer in _new(before.quarantined, now.quarantined))
    events += (told(EventKind.RELEASED, peer) for peer in _new(now.quarantined, before.quarantined))
    events += (told(EventKind.KEPT_OUT, peer) for peer in _new(before.unreachable, now.unreachable))
    if now.crawling != before.crawling:
        events.append(told(_CRAWLING[now.crawling]))
    if now.is_draining and not before.is_draining:
        events.append(told(EventKind.DRAINING))
    if now.is_disk_full != before.is_disk_full:
        events.append(told(EventKind.DISK_FULL if now.is_disk_full else EventKind.DISK_FREE))
    if now.policy_number != before.policy_number:
        events.append(told(EventKind.POLICY, amount=now.policy_number))
    events += (told(kind, amount=amount) for kind, amount in _of_counts(before, now))
    return events


def line_of(event: Event) -> str:
    """Say it for the log."""
    of = (
        f"peer={event.peer}" * bool(event.peer),
        f"amount={event.amount:.0f}" * bool(event.amount),
        f"text={event.text!r}" * bool(event.text),
    )
    return " ".join((f"event {event.kind.replace(' ', '_')}", *filter(None, of)))


_CRAWLING: Final = {
    Crawling.ALLOWED: EventKind.CONNECTED,
    Crawling.CUT_OFF: EventKind.CUT_OFF,
    Crawling.UNLICENSED: EventKind.UNLICENSED,
}
_OF_STATE: Final = {
    State.SUSPECT: EventKind.SUSPECTED,
    State.DEAD: EventKind.DOWN,
    State.LEFT: EventKind.LEFT,
}


def _of_members(before: Mapping[str, State], now: Mapping[str, State]) -> Iterator[tuple[EventKind, str]]:
    for peer, state in now.items():
        was = before.get(peer)
        if state == was:
            continue
        if was is None and state <= State.SUSPECT:
            yield EventKind.JOINED, peer
        elif was is not None and was >= State.DEAD and state <= State.SUSPECT:
            yield EventKind.BACK, peer
        if was is not None and state in _OF_STATE:
            yield _OF_STATE[state], peer


def _of_counts(before: PeerCondition, now: PeerCondition) -> Iterator[tuple[EventKind, float]]:
    """Yield the counts that became more or less, and hand-overs that take their time."""
    if more := now.taken_down - before.taken_down:
        yield EventKind.TAKEN_DOWN if more > 0 else EventKind.RESTORED, abs(more)
    if more := now.slots_owned - before.slots_owned:
        yield EventKind.TOOK_OVER if more > 0 else EventKind.GAVE_UP, abs(more)
    was_told, is_told = _is_told(before), _is_told(now)
    if was_told and not now.slots_wanted:
        yield EventKind.HANDOVER_ENDED, now.at_s - before.wanted_since_s
    elif is_told and not was_told:
        yield EventKind.HANDOVER_BEGUN, now.slots_wanted


def _is_told(standing: PeerCondition) -> bool:
    """Has it wanted slots for so long that this is told?"""
    return standing.slots_wanted > 0 and standing.at_s - standing.wanted_since_s >= MOVING_TOLD_S


def _new(before: Set[str], now: Set[str]) -> list[str]:
    return sorted(now - before)
