"""The time until which this peer may begin fetches, by the answers of other members of late.

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

*At rest.* Where nobody has anything to fetch, is suspected or is new, the answer of a witness says so and is
good for `idle_licence_s`, so that members may ping each other less often. Those whom a member suspects within
`idle_suspicion_min_s` of such an answer it holds for dead only after that time, longer by as much as the
licence is: with these two numbers the same holds as above. A member that has given no such answer of late,
since it has more to do, may bury m sooner, by the difference at most; then it yields nothing for longer than
that (`fence_s` of `peers/handover`). Who has anything to fetch itself counts no answer for longer.

*Large meshes.* One ping goes out per interval, so a majority of witnesses would be too old before there were
enough of them. Of a mesh of more than nine, the newest `WITNESSES_MAX` count: a sample. A minority with a
share f of the mesh may find so many among itself, one after the other, with probability f^4. But each of its
other probes makes a suspect, and its members tell each other; so while more are suspects, or died as
such a short while ago, than a few machines that crash together, it is unclear who is cut off, and no licence
is renewed. That leaves the minority a second, and others bury it only after `suspicion_min_s`; besides
they have to bury all of it before any slot moves. `tests/benchmarks/bench_membership.py` measures the time
between the two.

*Who is counted.* Two sides that know different members may both find themselves to be most, when somebody
has just joined as the cut comes, or one side was away while the mesh grew. So each member tells with its
pings and answers the digest of all ids that it has ever known, which only grow. Who hears of a new id counts
it as a *newcomer* until most have told the same digest as its own: then all it knows are *settled* here
(`newcomers`). A newcomer never counts for a majority, and it counts against one that it is not part of. So
that is a majority of the settled members S, and of those with any of the newcomers added. A witness counts
only if it knows the same ids K.

Two such majorities have a member in common, if there is a set of members between S and K for both. *The K of
all majorities are in a chain*, by induction: each S is the K of an earlier one. If S1 is in K2 and S2 in K1,
their union is such a set between, and the common member told one K after the other, so one contains the
other. If not, say S1 is not in K2; it is the K of an earlier one, so it contains K2; then so does K1. *Of two
sides one is licensed*: let K1 be in K2. If S2 is in K1, they have a member in common, and what was said of Q
above holds. If not, S2 was settled by majorities, of which the first that went beyond K1 has a member k in
common with every majority of the first side. It told K1 to those before it told more to the others, who did
not suspect it then. So either k is in Q, and suspects m by its own clock, as above; or all in Q hold k
for dead, earliest `suspicion_min_s - news_s` after that, when the licences it was a witness to have run out.

Who leaves needs none of this: it is silent, so most of those with it are most of those without it. In meshes
that grow by more than one member in a second, few know the same ids, so they crawl when that is over.

*What it costs.* A newcomer that is gone before it is settled counts against the majority for as long: where
fewer are settled than such newcomers are away, as in the first moments of a mesh that begins with one member,
nobody crawls or lets others in until they are back or written off.

*What it does not cover.* A member whose disk has forgotten whom it knew, if it hears that first from a side
that did not know them either. Who is expelled and goes on is counted by those who have not heard of it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from math import inf
from typing import Final

WITNESSES_MAX: Final = 4  # answers that must be new, at 0.3 s each, and leave the licence time to spare

SUSPECTS_MIN: Final = 2  # suspects that are taken for crashed, so that meshes of ten crawl on
SUSPECTS_PART: Final = 8  # and in large ones this part of the members, as on one machine or switch


def has_majority(
    members: Collection[str], present: Iterable[str], newcomers: Collection[str] = frozenset()
) -> bool:
    """Tell whether those present are more than half of the members, or half with the smallest id.

    Args:
      members: all that are known and have not left.
      present: some of them.
      newcomers: those among the members who count against a majority where they are absent, and never for it.
    """
    there = frozenset(present)
    counted = [peer for peer in members if peer not in newcomers or peer not in there]
    voters = there.difference(newcomers)
    # Two votes for each member, and one more for the smallest, so that there is no tie.
    return 2 * len(voters) + (min(counted, default="") in voters) > len(counted)


def is_calm(unclear_count: int, member_count: int) -> bool:
    """Tell whether a sample of witnesses says enough, there being few suspects or none.

    Args:
      unclear_count: suspects, and those who were until they died a short while ago.
      member_count: all that are known and have not left.
    """
    return not is_sample(member_count) or unclear_count <= max(SUSPECTS_MIN, member_count // SUSPECTS_PART)


def witnesses_wanted(member_count: int) -> int:
    """Return how many other members, no matter which, have to answer for a licence in a mesh of this size."""
    return WITNESSES_MAX if is_sample(member_count) else member_count // 2


def earned_until(
    me: str,
    members: Collection[str],
    answered: Mapping[str, float],
    own: float,
    newcomers: Collection[str] = frozenset(),
) -> float | None:
    """Until when those witnesses let `me` crawl that make a majority with it; None if there are too few.

    Args:
      members: all that are known and have not left.
      answered: witness to the end of what its answer allows; only members that are alive.
      own: the end where `me` alone is a majority.
      newcomers: as for `has_majority`.
    """
    last_first = sorted(answered.items(), key=lambda item: (-item[1], item[0]))
    if is_sample(len(members)):
        return last_first[WITNESSES_MAX - 1][1] if len(last_first) >= WITNESSES_MAX else None
    witnesses = [me, *(witness for witness, _ in last_first)]
    until = [own, *(at for _, at in last_first)]
    # Fewer than half of those who count for good are never enough.
    fewest = max((len(members) - len(newcomers)) // 2, 1)
    for count in range(fewest, len(witnesses) + 1):
        if has_majority(members, witnesses[:count], newcomers):
            return until[count - 1]
    return None


def is_sample(member_count: int) -> bool:
    """Are they too many to wait for the answers of most?"""
    return member_count > 2 * WITNESSES_MAX + 1


class Licence:
    """The witnesses of one member and how long they let it crawl."""

    def __init__(self, me: str, licence_s: float) -> None:
        self._me = me
        self._licence_s = licence_s
        self._answered: dict[str, float] = {}
        self.until = 0.0  # mesh clock; there is none before the first answers
        self.wants_nobody = False  # this member alone was a majority at the last look, as one of two may be

    def witness(self, peer: str, until: float) -> None:
        """`peer` has answered a ping, held us for alive, and lets us crawl until then."""
        self._answered[peer] = max(until, self._answered.get(peer, until))

    def forget_witnesses(self) -> None:
        """Forget the witnesses: when they answered, they did not know all members that we know now."""
        self._answered.clear()

    def renew(
        self,
        members: Collection[str],
        present: Collection[str],
        unclear_count: int,
        now: float,
        newcomers: Collection[str] = frozenset(),
    ) -> bool:
        """Have it follow the witnesses; tell whether `until` has changed.

        It is never shortened, with one exception: who is no longer alone needs witnesses from now on.

        Args:
          members: all that are known and have not left.
          present: those that are alive and not suspected, this one included.
          unclear_count: as for `is_calm`.
          newcomers: as for `has_majority`.
        """
        before = self.until
        if len(members) == 1:
            self.until = inf
        else:
            if self.until == inf:
                self.until = now + self._licence_s
            if is_calm(unclear_count, len(members)) and has_majority(members, present, newcomers):
                self.until = max(self.until, self._earned(members, present, now, newcomers))
        return self.until != before

    def _earned(
        self, members: Collection[str], present: Collection[str], now: float, newcomers: Collection[str]
    ) -> float:
        answered = {peer: at for peer, at in self._answered.items() if peer in present}
        self._answered = answered
        own = now + self._licence_s
        until = earned_until(self._me, members, answered, own, newcomers)
        self.wants_nobody = until == own
        return until or 0.0
