"""The beliefs of one peer about every member: the newest record of each and its state.

Theory of operation. Rumours reach peers in any order, twice, or not at all, and all peers have to end
up believing the same. So rumours about a peer are totally ordered, and a member list keeps the
greatest one it was told: merging is a maximum, hence commutative, associative and idempotent.

The order is SWIM's rule of precedence. An incarnation is written by its peer alone, into a record it
signs; within one incarnation others may say the peer is suspect, then dead, and only the peer itself can
take that back, by writing the next incarnation.

Source: Das, Gupta, Motivala 2002, section 4.2. There a dead peer never returns; here, as in memberlist,
it does with a higher incarnation.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from enum import IntEnum
from functools import cached_property
from hashlib import blake2b
from typing import Final

import msgspec

from mesh.membership.model.licence import has_majority
from mesh.membership.model.wire_messages import MemberRecord, Rumour


class State(IntEnum):
    """The believed state of a member. The order is that of precedence; the numbers are on the wire.

    Nobody says of another that it left: that follows from the record or from a decree.
    """

    ALIVE = 0
    SUSPECT = 1  # did not answer; counts as alive until the time to refute is over
    DEAD = 2  # down; remembered, since it may be back
    LEFT = 3  # gone for good, by its own word or a decree


_LIVE: Final = frozenset((State.ALIVE, State.SUSPECT))
_REMAINING: Final = _LIVE | {State.DEAD}


def is_live(rumour: Rumour) -> bool:
    """Does this member take part, as far as is known?"""
    return rumour.state <= State.SUSPECT


def beats(new: Rumour, old: Rumour) -> bool:
    """Tell whether `new` replaces `old`, a rumour about the same peer.

    The higher incarnation wins, then the graver state. Two records of one incarnation come only from
    a peer that runs twice or lies; their bytes decide, so that all believe the same one of them.
    """
    new_rank, old_rank = _rank(new), _rank(old)
    if new_rank != old_rank:
        return new_rank > old_rank
    return new.record != old.record and _bytes_of(new.record) > _bytes_of(old.record)


class MemberList:
    """The greatest rumour about each member, in the order they became known."""

    def __init__(self) -> None:
        self.revision = 0  # count: changes, so that who looked at it knows whether to look again
        self._rumours: dict[str, Rumour] = {}
        self._in_states: dict[frozenset[State], tuple[str, ...]] = {}  # until the next change
        self.newcomers: frozenset[str] = frozenset()  # who count against a majority only, see `licence`

    def __len__(self) -> int:
        return len(self._rumours)

    def __iter__(self) -> Iterator[Rumour]:
        return iter(self._rumours.values())

    def get(self, peer: str) -> Rumour | None:
        return self._rumours.get(peer)

    def merge(self, rumour: Rumour) -> bool:
        """Believe the rumour if it beats the present belief; tell whether it does."""
        known = self._rumours.get(rumour.record.peer)
        if known is not None and not beats(rumour, known):
            return False
        self.__dict__.pop("believed_digest", None)
        if known is None:
            self.newcomers |= {rumour.record.peer}
            self.__dict__.pop("known_digest", None)
        self._rumours[rumour.record.peer] = rumour
        self._in_states.clear()
        self.revision += 1
        return True

    def settle(self, peers: Iterable[str]) -> None:
        """Count these like all others from now on, if they were newcomers."""
        remaining = self.newcomers.difference(peers)
        if remaining != self.newcomers:
            self.newcomers = remaining
            self.revision += 1

    @cached_property
    def known_digest(self) -> bytes:
        """8 bytes that are equal on two peers exactly when both have known the same ids.

        Who has left is among them, so that they only grow.
        """
        digest = blake2b(digest_size=8)
        for peer in sorted(self._rumours):
            digest.update(f"{peer}\n".encode())
        return digest.digest()

    @cached_property
    def believed_digest(self) -> bytes:
        """8 bytes that are equal on two peers exactly when both believe the same of all members."""
        rumours = sorted(self, key=lambda rumour: rumour.record.peer)
        return blake2b(msgspec.msgpack.encode(rumours), digest_size=8).digest()

    def live(self) -> tuple[str, ...]:
        """The ids of the members that take part."""
        return self._of(_LIVE)

    def remaining(self) -> tuple[str, ...]:
        """The ids of all members that have not left: of these most must be there."""
        return self._of(_REMAINING)

    def settled(self) -> frozenset[str]:
        """The ids of all that are no newcomers."""
        return frozenset(self._rumours) - self.newcomers

    def are_most(self, present: Iterable[str]) -> bool:
        """Are these, of the members that have not left, a majority?"""
        return has_majority(self.remaining(), present, self.newcomers)

    def has_majority(self) -> bool:
        """Are most members live, as far as is known? Suspects are, so that tables do not flap."""
        return self.are_most(self.live())

    def in_state(self, state: State) -> tuple[str, ...]:
        return self._of(frozenset((state,)))

    def _of(self, states: frozenset[State]) -> tuple[str, ...]:
        peers = self._in_states.get(states)
        if peers is None:
            peers = tuple(peer for peer, rumour in self._rumours.items() if rumour.state in states)
            self._in_states[states] = peers
        return peers

    def with_key(self, curve_key: bytes) -> Rumour | None:
        """The member that has this CURVE key."""
        return next((rumour for rumour in self if rumour.record.curve_key == curve_key), None)

    def live_records(self) -> list[MemberRecord]:
        """Return the own records of the members that take part."""
        return [rumour.record for rumour in self if is_live(rumour)]


def _rank(rumour: Rumour) -> tuple[int, int]:
    return rumour.record.incarnation, rumour.state


def _bytes_of(record: MemberRecord) -> bytes:
    return msgspec.msgpack.encode(record)
