"""What the living members of a team have still to answer: the policy of asking again, and of giving up.

Says to whom what is to be sent, sends nothing. Nothing of it is in a table: who does not answer is left to
the comparison of slots.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, field
from math import inf
from typing import Generic, TypeVar

import msgspec

from mesh.actor import Message


class ReplicationSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Patience with a team."""

    again_s: float = 2.0  # first pause for a member to answer, doubled each time
    tries_max: int = 4  # 2 + 4 + 8 + 16 s, then the slots are compared instead
    repeats_per_wake_max: int = 64  # so that a slow member is not buried under repetitions


Key = TypeVar("Key", bound=Hashable)


@dataclass(slots=True)
class _Replication:
    """One message and who has it still to answer."""

    message: Message
    slot: int
    missing: set[str] = field(default_factory=set)
    asked: set[str] = field(default_factory=set)
    tries: int = 0
    repeat_at: float = inf


class Replications(Generic[Key]):
    """Messages by key that are repeated until the members of their team have answered."""

    def __init__(self, settings: ReplicationSettings) -> None:
        self._settings = settings
        self._under_way: dict[Key, _Replication] = {}
        self._wake_at = inf

    def __len__(self) -> int:
        return len(self._under_way)

    def wake_at(self) -> float:
        return self._wake_at

    def is_waiting(self, key: Key) -> bool:
        return key in self._under_way

    def begin(self, key: Key, slot: int, message: Message, members: Iterable[str], now: float) -> list[str]:
        """Note a message, in place of the one before of that key; return whom to send it."""
        members = list(members)
        self._under_way.pop(key, None)
        if not members:
            return []
        repeat_at = now + self._settings.again_s
        self._under_way[key] = _Replication(message, slot, set(members), set(members), repeat_at=repeat_at)
        self._wake_at = min(self._wake_at, repeat_at)
        return members

    def message(self, key: Key) -> Message | None:
        """Return what has still to be answered."""
        replication = self._under_way.get(key)
        return None if replication is None else replication.message

    def note_answer(self, key: Key, peer: str) -> bool:
        """Strike a member out; return whether that was the last one."""
        replication = self._under_way.get(key)
        if replication is None:
            return False
        replication.missing.discard(peer)
        return self._end_if_done(key, replication)

    def drop(self, key: Key) -> None:
        self._under_way.pop(key, None)

    def under_way(self) -> list[tuple[Key, int, Message]]:
        """Return all messages with their keys and slots."""
        return [(key, each.slot, each.message) for key, each in self._under_way.items()]

    def change_members(
        self, key: Key, slot: int, message: Message, members: Sequence[str], now: float
    ) -> list[str]:
        """Wait for these members, and for no others; return whom to send the message.

        Who was away is asked again, and so is everybody when nobody was waited for any more.
        """
        replication = self._under_way.get(key)
        if replication is None:
            return self.begin(key, slot, message, members, now)
        new = [peer for peer in members if peer not in replication.asked]
        replication.missing = (replication.missing & set(members)) | set(new)
        replication.asked = set(members)
        self._end_if_done(key, replication)
        return new

    def wake(self, now: float) -> tuple[list[tuple[str, Message]], list[tuple[Key, int, list[str]]]]:
        """Return what is to be sent again to whom, and what was given up: key, slot, silent members."""
        settings = self._settings
        again: list[tuple[str, Message]] = []
        given_up: list[tuple[Key, int, list[str]]] = []
        due = [item for item in self._under_way.items() if item[1].repeat_at <= now]
        for key, replication in due[: settings.repeats_per_wake_max]:
            replication.tries += 1
            silent = sorted(replication.missing)
            if replication.tries >= settings.tries_max:
                del self._under_way[key]
                given_up.append((key, replication.slot, silent))
                continue
            replication.repeat_at = now + settings.again_s * 2**replication.tries
            again += [(peer, replication.message) for peer in silent]
        soonest = min((each.repeat_at for each in self._under_way.values()), default=inf)
        # What was due but over the limit has its turn a little later, not at once.
        self._wake_at = max(soonest, now + settings.again_s / 8)
        return again, given_up

    def _end_if_done(self, key: Key, replication: _Replication) -> bool:
        if replication.missing:
            return False
        del self._under_way[key]
        return True
