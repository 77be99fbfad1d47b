"""Until when this peer may begin fetches, by what others have said to it of late.

Theory of operation
===================
No host may be asked by two peers at once, though the one whose slots are taken cannot always be told: it is
cut off, or was stopped and goes on where it was, or its machine is slow. So it may crawl only with a
*licence* that runs out by itself, and others take its slots only when it has.

A member pings others all the time. Those who answer are its *witnesses*, each for the time at which the
ping was sent, not at which the answer came: what waited in a queue while this process stood still is
old. The licence is good for `licence_s` after the newest time since which witnesses that make a
majority, this member included, have answered. An answer that says the answerer suspects us is no witness.
A majority is most of the members known that have not left, alive and not suspected by us; of
two halves it is the one with the smallest id.

*Why that is safe.* Let m be cut off from a majority Q at time P. Its witnesses and itself were a majority,
so one of them, k, is in Q, and answered a ping sent before P. When k answered it did not suspect m. If any
member suspected m before, m's refutation or the suspicion, whichever is newer, reaches k within `news_s`;
so all in Q hold m dead at the earliest `suspicion_min_s - news_s` after k's ping was sent. By then
the licence, `licence_s` after that ping, has run out. Nobody takes a slot before *all* live members of Q have
yielded it under a table without m (`peers/handover`), and k would not.

*Large meshes.* One ping goes out per interval, so a majority of witnesses would be too old before there were
enough of them. Of a mesh of more than nine, the newest `WITNESSES_MAX` count: a sample. A minority with a
share f of the mesh may find so many among itself, one after the other, with probability f^4. But each of its
other probes makes a suspect, and its members tell each other; so while more are suspects, or died as
such a short while ago, than a few machines that crash together, it is unclear who is cut off, and no licence
is renewed. That leaves the minority a second, and others bury it only after `suspicion_min_s`; besides
they have to bury all of it before any slot moves. `tests/benchmarks/bench_membership.py` measures the time
between the two.

*What it does not cover.* The majority is one of the members known here. Where two sides know different
members, since one of them has just joined when the cut comes, or since a peer has been away while the
mesh grew, both may find themselves to be most. So no stranger is let in by who has no majority.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from math import inf
from typing import Final

WITNESSES_MAX: Final = 4  # answers that must be new, at 0.3 s each, and leave the licence time to spare

SUSPECTS_MIN: Final = 2  # suspects that are taken for crashed, so that meshes of ten crawl on
SUSPECTS_PART: Final = 8  # and in large ones this part of the members, as on one machine or switch


def has_majority(members: Collection[str], present: Iterable[str]) -> bool:
    """Tell whether those present are more than half of the members, or half with the smallest id.

    Args:
      members: all that are known and have not left.
      present: some of them.
    """
    smallest = min(members, default="")
    return sum(_votes(peer, smallest) for peer in present) > len(members)


def is_calm(unclear_count: int, member_count: int) -> bool:
    """Tell whether a sample of witnesses says enough, there being few suspects or none.

    Args:
      unclear_count: suspects, and those who were until they died a short while ago.
      member_count: all that are known and have not left.
    """
    is_sample = member_count > 2 * WITNESSES_MAX + 1
    return not is_sample or unclear_count <= max(SUSPECTS_MIN, member_count // SUSPECTS_PART)


def renewed_since(
    me: str, members: Collection[str], answered: Mapping[str, float], now: float
) -> float | None:
    """The newest time since which witnesses and `me` make a majority of the members; None for never.

    Args:
      members: all that are known and have not left.
      answered: witness to when the newest ping was sent that it answered; only members that are alive.
    """
    smallest = min(members)
    votes = _votes(me, smallest)
    since = now
    newest_first = sorted(answered.items(), key=lambda item: (-item[1], item[0]))
    for witness, sent_at in newest_first[:WITNESSES_MAX]:
        if votes > len(members):
            return since
        votes += _votes(witness, smallest)
        since = sent_at
    return since if votes > len(members) or len(newest_first) >= WITNESSES_MAX else None


def _votes(peer: str, smallest: str) -> int:
    """Two for each member, and one more for the smallest, so that there is no tie."""
    return 3 if peer == smallest else 2


class Licence:
    """The witnesses of one member and how long they let it crawl."""

    def __init__(self, me: str, licence_s: float) -> None:
        self._me = me
        self._licence_s = licence_s
        self._answered: dict[str, float] = {}
        self.until = 0.0  # mesh clock; there is none before the first answers

    def witness(self, peer: str, sent_at: float) -> None:
        """`peer` has answered a ping that was sent then, and held us for alive."""
        self._answered[peer] = max(sent_at, self._answered.get(peer, sent_at))

    def renew(
        self, members: Collection[str], present: Collection[str], unclear_count: int, now: float
    ) -> bool:
        """Have it follow the witnesses; tell whether `until` has changed.

        It is never shortened, with one exception: who is no longer alone needs witnesses from now on.

        Args:
          members: all that are known and have not left.
          present: those that are alive and not suspected, this one included.
          unclear_count: as for `is_calm`.
        """
        before = self.until
        if len(members) == 1:
            self.until = inf
        else:
            if self.until == inf:
                self.until = now + self._licence_s
            if is_calm(unclear_count, len(members)) and has_majority(members, present):
                self.until = max(self.until, self._earned(members, present, now))
        return self.until != before

    def _earned(self, members: Collection[str], present: Collection[str], now: float) -> float:
        answered = {peer: at for peer, at in self._answered.items() if peer in present}
        self._answered = answered
        since = renewed_since(self._me, members, answered, now)
        return 0.0 if since is None else since + self._licence_s
