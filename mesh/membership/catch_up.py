"""Whether this peer has heard the decrees issued while it was away: before that it answers nobody.

What is taken down, or not to be crawled, it knows by decrees about the whole mesh, and those on its disk may
be old. So it announces no owners, without which nobody here answers, until it has all decrees of that kind
that somebody names who has caught up itself: the member whose door it came through, or one of those it asks.
When a whole mesh starts, nobody has; then it is enough that all have told what they know, or most of them
after `MOST_S`. Who is the first of its mesh, or remembers nobody who has not left, has nobody to hear.

They may all be gone, and one may name decrees that nobody has: after `catch_up_s` it answers by what it
knows, and what it lacks comes as all news does.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable
from math import inf
from typing import Final

from mesh.keys.decree import DecreeName
from mesh.membership.anti_entropy import AntiEntropy
from mesh.membership.model.decrees import Decrees
from mesh.membership.model.members import MemberList
from mesh.membership.model.others import Others
from mesh.membership.model.swim_settings import SwimSettings

ASKED_MAX: Final = 8  # members at a time
MOST_S: Final = 1.0  # within which somebody who is there and has caught up has said so
AWAITED_MAX: Final = 64  # decrees

logger = logging.getLogger(__name__)


class CatchUp:
    """Asks other members for all that they know, and tells when that has been heard."""

    def __init__(
        self,
        me: str,
        members: MemberList,
        others: Others,
        decrees: Decrees,
        sync: AntiEntropy,
        settings: SwimSettings,
    ) -> None:
        self.is_done = False
        self._members = members
        self._others = others
        self._decrees = decrees
        self._sync = sync
        self._settings = settings
        self._is_told = False  # by somebody who has caught up
        self._tellers = {me}  # who have told, whether they had caught up or not
        self._are_most_enough = False
        self._awaited: set[DecreeName] = set()
        self._ask_at = self._most_at = self._until = inf

    def begin(self, now: float) -> None:
        """Be a member from now on."""
        self._ask_at, self._most_at, self._until = now, now + MOST_S, now + self._settings.catch_up_s
        self.follow(now)

    def wake_at(self) -> float:
        return inf if self.is_done else min(self._ask_at, self._most_at, self._until)

    def wake(self, now: float) -> None:
        """Ask some of the members that have told nothing yet."""
        if self.is_done:
            return
        if now >= self._most_at:
            self._most_at, self._are_most_enough = inf, True
        if now >= self._ask_at:
            self._ask_at = now + self._settings.probe_interval_s
            for peer in self._others.some_of(self._untold(), ASKED_MAX):
                self._sync.ask(peer)

    def hear_welcome(self, has_caught_up: bool) -> None:
        """Hear from the door, which has told its decrees already, whether those are all."""
        self._is_told = self._is_told or has_caught_up

    def hear(self, teller: str, names: Iterable[DecreeName], has_caught_up: bool, now: float) -> None:
        """Hear of a member which decrees about the whole mesh it knows, and whether those are all."""
        if self.is_done:
            return
        self._tellers.add(teller)
        self._is_told = self._is_told or has_caught_up
        wanted = [name for name in names if self._decrees.is_wanted(name, now)]
        self._awaited.update(wanted[: AWAITED_MAX - len(self._awaited)])

    def follow(self, now: float) -> None:
        """Note whether all is heard by now."""
        if self.is_done or self._until == inf:
            return
        if self._is_told or self._have_enough_told():
            self.is_done = not any(self._decrees.is_wanted(name, now) for name in self._awaited)
        if not self.is_done and now >= self._until:
            self.is_done = True
            logger.warning(
                "answering without having heard from others what was decreed told=%d silent=%d awaited=%d",
                len(self._tellers) - 1,
                len(self._untold()),
                len(self._awaited),
            )

    def _have_enough_told(self) -> bool:
        n_untold = len(self._untold())
        return not n_untold or (self._are_most_enough and 2 * n_untold < len(self._members.remaining()))

    def _untold(self) -> list[str]:
        return [peer for peer in self._members.remaining() if peer not in self._tellers]
