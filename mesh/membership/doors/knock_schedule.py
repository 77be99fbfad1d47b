"""Which door a stranger knocks at next, and when: one at a time, all of them, then a growing pause."""

from __future__ import annotations

from collections.abc import Iterable
from math import inf
from typing import TYPE_CHECKING, NamedTuple

from mesh.membership.model.swim_settings import SwimSettings

if TYPE_CHECKING:
    from random import Random


class DoorAddress(NamedTuple):
    """Where a member admits strangers."""

    endpoint: str  # tcp://host:port
    server_key: bytes  # Z85 text of its CURVE key


class KnockSchedule:
    """The doors known, and the round of knocking under way."""

    def __init__(self, doors: Iterable[DoorAddress], settings: SwimSettings, random: Random) -> None:
        """Args: doors: those given by a person first, in the order of trying; repeated ones count once."""
        self._doors = tuple(dict.fromkeys(doors))
        self._settings = settings
        self._random = random
        self._position = 0
        self._pause_s = settings.knock_backoff_s
        self._is_waiting = False  # for the answer to a knock
        self._due_at = inf  # the next knock, or the end of waiting for an answer

    @property
    def has_doors(self) -> bool:
        return bool(self._doors)

    def learn(self, doors: Iterable[DoorAddress]) -> None:
        """Knock at these as well, behind those that are known."""
        self._doors = tuple(dict.fromkeys((*self._doors, *doors)))

    @property
    def door(self) -> DoorAddress:
        """The door knocked at last, or to be knocked at next."""
        return self._doors[self._position]

    def start(self, now: float) -> None:
        self._is_waiting, self._due_at = False, now

    def stop(self) -> None:
        self._is_waiting, self._due_at = False, inf

    def wake_at(self) -> float:
        return self._due_at

    def has_waited_in_vain(self, now: float) -> bool:
        return self._is_waiting and now >= self._due_at

    def knocks(self, now: float) -> DoorAddress | None:
        """The door to knock at now; the answer is to be given to `stop`, `start` or `move_on`."""
        if self._is_waiting or now < self._due_at:
            return None
        self._is_waiting, self._due_at = True, now + self._settings.knock_timeout_s
        return self.door

    def come_again(self, now: float) -> None:
        """There was an answer, and it may be another one as soon as a person has seen to it: so stay near."""
        self._is_waiting = False
        self._position = (self._position + 1) % len(self._doors)
        self._due_at = now + self._settings.knock_again_s

    def move_on(self, now: float) -> bool:
        """There was no answer: try the next door; tells whether all have been tried in this round."""
        self._is_waiting = False
        self._position = (self._position + 1) % len(self._doors)
        if self._position > 0:
            self._due_at = now
            return False
        # Jitter keeps a mesh that starts all at once from knocking all at once, over and over.
        self._due_at = now + self._pause_s * (0.5 + self._random.random())
        self._pause_s = min(2 * self._pause_s, self._settings.knock_backoff_max_s)
        return True
