"""Members that live and accept no links: their links go to peers with the same slots, so nobody waits.

Theory of operation. Links wait for their owner until it has promised to keep them, and what has many of them
waiting fetches no more pages. A member may stay in the mesh and never promise anything; then it would stop
everybody. So who accepts none for long, or has most of what waits when that becomes much, is *passed by* for
a while: what is for it goes to the next one of each slot's team, who keeps it as it keeps the slot, tells
the owner in its own way (`peers.handover.mirror`, comparison), and crawls it once the owner is gone. Nothing
is lost, also where the member was merely slow.

Most of the mesh being slow is no fault of one member: so few are passed by at a time, and with the others
fetching waits as ever.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, NamedTuple

DEAF_S: Final = 60.0  # with nothing accepted; twice what the team of an honest one may be waited for
PASSED_BY_S: Final = 120.0  # at first; doubled each time it is found so again soon
PASSED_BY_S_MAX: Final = 3_600.0
SHARE_MAX: Final = 0.25  # of the links that may wait for all, for one
PART_OF_MEMBERS: Final = 3  # one in so many, and one at least, is passed by at a time


class Waiting(NamedTuple):
    """The links that wait for one member: their number, and since when."""

    n_links: int
    since_s: float  # how long what it was sent first and has not accepted


@dataclass(slots=True)
class _Passed:
    until_s: float
    pause_s: float


class DeafMembers:
    """The members that no links are sent to for now."""

    def __init__(self) -> None:
        self.n_found = 0  # count: times that one was found to be so
        self._passed: dict[str, _Passed] = {}
        self.now: frozenset[str] = frozenset()  # those that are passed by

    def look(
        self,
        waiting: Mapping[str, Waiting],
        alive: frozenset[str],
        now: float,
        *,
        links_max: float,
        is_pressed: bool,
    ) -> bool:
        """Find the members that are deaf now; tell whether these are others than before.

        Args:
          waiting: by member.
          alive: live members, of which alone one can be deaf; who is dead owns nothing.
          links_max: that may wait for all.
          is_pressed: whether so much waits that fetching might have to stop.
        """
        before = self.now
        deaf = {peer for peer in before if peer in alive and self._passed[peer].until_s > now}
        room = max(1, len(alive) // PART_OF_MEMBERS) - len(deaf)
        others = sorted(
            ((each, peer) for peer, each in waiting.items() if peer in alive and peer not in deaf),
            reverse=True,
        )
        for place, (each, peer) in enumerate(others):
            is_worst = is_pressed and place == 0
            if room > 0 and (
                is_worst or now - each.since_s >= DEAF_S or each.n_links > SHARE_MAX * links_max
            ):
                deaf.add(peer)
                self._pass_by(peer, now)
                room -= 1
        self.now = frozenset(deaf)
        return self.now != before

    def _pass_by(self, peer: str, now: float) -> None:
        self.n_found += 1
        passed, pause_s = self._passed.get(peer), PASSED_BY_S
        if passed is not None and now < passed.until_s + passed.pause_s:
            pause_s = min(2 * passed.pause_s, PASSED_BY_S_MAX)
        self._passed[peer] = _Passed(now + pause_s, pause_s)
